"""RFFNet: random Fourier features of an ARD kernel with learned relevances (Otto and Izbicki, 2022)."""

from .._data import validation as check
from .._estimator.base import Classifier, Regressor, register
from .._estimator.links import SoftmaxLink
from .._fourier.spectral_densities import SPECTRAL_DENSITIES
from .._gbrff.fit import check_common
from ..errors import InvalidInputError
from .losses import Huber, Logistic, Pinball, Softmax, Squared
from .relevance import importances, selection_path, top_k
from .training import CURVES, continued, fit_rffnet, more_labels, partial_fit_rffnet, restored_rffnet


def _check_params(model):
    if model.n_components is not None:
        check.check_scalar("n_components", model.n_components, int, low=1, high=10**6)
    check.check_choice("kernel", model.kernel, tuple(SPECTRAL_DENSITIES))
    check.check_choice("solver", model.solver, ("alternating", "joint"))
    check.check_scalar("learning_rate", model.learning_rate, float, low=0, high=1, open_low=True)
    if isinstance(model.reg_lambda, str) and model.reg_lambda != "auto":
        raise InvalidInputError(f"reg_lambda must be 'auto' or a number >= 0, got {model.reg_lambda!r}")
    if not isinstance(model.reg_lambda, str):
        check.check_scalar("reg_lambda", model.reg_lambda, float, low=0, high=1e10)
    check.check_scalar("reg_l1", model.reg_l1, float, low=0, high=1e10)
    check.check_scalar("batch_size", model.batch_size, int, low=1, high=1 << 16)
    check.check_scalar("max_epochs", model.max_epochs, int, low=1, high=10**8)
    if model.patience is not None:
        check.check_scalar("patience", model.patience, int, low=1)
    check.check_scalar("validation_fraction", model.validation_fraction, float, low=0, high=0.9)
    if model.n_restarts is not None:
        check.check_scalar("n_restarts", model.n_restarts, int, low=1, high=10**6)
    check.check_choice("warm_start", model.warm_start, (True, False))
    check.check_scalar("verbose", model.verbose, int, low=0)
    check_common(model)


@register("rffnet_regressor")
class RFFNetRegressor(Regressor):
    """Kernel regression on random Fourier features, with a relevance of each column that is learned too.

    The model is f(x) = constant + sum over k of beta_k sqrt(2 / s) cos(omega_k . (lambda o x) + phi_k), with omega_k of
    the spectral density of a kernel and relevances lambda: random features of that kernel with a length 1 / lambda_j
    for each column (automatic relevance determination).  It minimises the mean loss plus mu |beta|^2 over beta and
    lambda by Algorithm 1 (M. P. Otto and R. Izbicki, RFFNet: Scalable and interpretable kernel methods via Random
    Fourier Features, 2022): mini-batch steps on one and then the other, with Adam's moments.  Targets are learned in
    units of their spread; several share features and relevances.

    Parameters
    ----------
    n_components : int >= 1 or None, default None
        Number of random features s; None for sqrt(n) ln(n) of n rows, rounded down, at least 100 and at most 4096.
    kernel : "gaussian", "laplace", "matern32" or "matern52", default "gaussian"
        The kernel h(relevances o (x - z)) whose spectral density omegas are drawn from: exp(-|.|^2 / 2), exp(-|.|_1),
        and those of Matern of smoothness 3/2 and 5/2.
    loss : "squared", "huber" or "pinball", default "squared"
        (y - f)^2; the same up to |y - f| = delta and a straight line on; or that of a quantile of y.
    delta : float > 0, default 1.35
        Where the Huber loss becomes straight, in units of the spread of y.
    quantile : float in [1e-6, 1 - 1e-6], default 0.5
        Which quantile the pinball loss estimates.
    solver : "alternating" or "joint", default "alternating"
        Whether a batch's step on the relevances is taken where that on the coefficients has led to, as in Algorithm 1,
        or both are taken from the same point, as in the authors' later code, at the same price.
    learning_rate : float in (0, 1], default 0.03
        Step size eta at first: eta / sqrt(n_features) of relevances, which begin at 1 over the root of the number of
        columns that vary, and 16 eta / sqrt(s) of coefficients.  When 6 validations have not been better, training goes
        back to the best one and on with 0.3 of it, twice.
    reg_lambda : "auto" or float >= 0, default "auto"
        Weight mu of the penalty on the squared coefficients.  "auto" begins with 50 / n of n rows, and falls to a
        tenth when 3 validations have not been better, down to 0.05 / n, before steps are shortened.  Training that
        goes on has 0.05 / n, in `partial_fit` of the rows of all calls so far.
    reg_l1 : float >= 0, default 0
        Weight of a penalty on the sum of |relevances|, which makes some of them 0.
    batch_size : int >= 1, default 32
        Rows in a mini-batch.
    max_epochs : int >= 1, default 300
        Passes over the rows at most; an epoch of fewer than 32 steps passes over them again until it has as many.
    patience : int >= 1 or None, default 10
        Validations without a lower loss after which to stop, once penalty and steps are at their least; None for all
        epochs.  They take place after each epoch, and in one of more than 500 steps after each part of so many, and
        count once the loss has fallen by 2 % from where it began, or after 2000 steps.
    validation_fraction : float in [0, 0.9], default 0.1
        Share of the rows that are held out where there is no `eval_set`, at most 65536 rows and 2^24 numbers: what
        has the lowest loss on them is kept.  Where none are, the training loss of whole epochs decides.
    n_restarts : int >= 1 or None, default None
        Number of trainings, each from other random features, of which the one of lowest loss is kept; None for 3 on up
        to 10000 rows and 1 on more.
    warm_start : bool, default False
        Whether `fit` goes on from where the last call ended, once, with the same random features and units; the rows
        held out stay the same where all are as many.
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.  False keeps the ratios of
        their spreads.
    precision : "single" or "double", default "single"
        Arithmetic of training.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are, where rows are to be held out, a `permutation` of all, whose first they are; then for each
        restart omegas, as one `standard_normal` or `standard_cauchy` draw of shape (s, n_features), for Matern kernels
        followed by a `chisquare` draw of shape (s, 1); a `uniform` draw of s phases; and for each pass a `permutation`
        of the rows (streamed: one of the chunks, where they are of an array, and one of the rows of each).
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.  Batches of more
        than 128 rows are shared among threads.
    verbose : int >= 0, default 0
        Print a line on stderr every so many epochs.

    Attributes
    ----------
    expansion_ : FourierExpansion
        The trained function of a raw row.
    relevances_ : array of shape (n_features,)
        |lambda|, for columns in units of their spread (without `standardize`, of the root of their mean variance); 0
        for columns that do not vary.
    feature_importances_ : array of shape (n_features,)
        `relevances_` over the largest of them.
    n_components_ : int
        Number of random features.
    n_epochs_, best_epoch_ : int
        Epochs run, the last perhaps in part, and the one whose best was kept.
    train_loss_, eval_loss_ : arrays
        Mean loss (summed over outputs, of targets in units of their spread) before the first epoch, of some rows, and
        during each; and that on the rows held out, before the first epoch and the lowest of each.  They are those of
        the restart that was kept, and empty after `partial_fit`.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    A step costs O(batch_size s n_features).  Memory beside X in bytes, with u = 4 in single precision and 8 in double:
    (3 u + 16) s n_features, 2 u (s + 2 n_features) for each row of a batch, 8 n_features for each row held out, 40 for
    each row, and about 8 MB.  Rows of arrays are standardised as batches take them; `numpy.memmap` and RowBlocks are
    read chunk by chunk, and shuffled within chunks; those of one array or memmap come in random order too.  Values
    beyond 10000 spreads of their column, of which rows of equal weight have none, count as there.

    Departures from the paper: proximal steps are taken in the metric of Adam's steps, so that they end where the
    objective is least; a constant is learned, and not penalised; and penalty and steps fall as validation asks for it,
    for a heavy penalty finds the columns that matter, and a light one the function of them.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import RFFNetRegressor
    >>> X = np.random.default_rng(0).standard_normal((1000, 5))
    >>> y = np.sin(2 * X[:, 1]) + X[:, 3] ** 2
    >>> model = RFFNetRegressor(random_state=0).fit(X[:800], y[:800])
    >>> bool(model.score(X[800:], y[800:]) > 0.9)
    True
    >>> sorted(model.select_top_k(2).tolist())
    [1, 3]
    """

    fitted_curves = CURVES

    def __init__(self, n_components=None, *, kernel="gaussian", loss="squared", delta=1.35, quantile=0.5,
                 solver="alternating", learning_rate=0.03, reg_lambda="auto", reg_l1=0.0, batch_size=32,
                 max_epochs=300, patience=10, validation_fraction=0.1, n_restarts=None, warm_start=False,
                 standardize=True, precision="single", random_state=None, n_threads=None, verbose=0):
        self.n_components = n_components
        self.kernel = kernel
        self.loss = loss
        self.delta = delta
        self.quantile = quantile
        self.solver = solver
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_l1 = reg_l1
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.standardize = standardize
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_params(self):
        check.check_choice("loss", self.loss, ("squared", "huber", "pinball"))
        check.check_scalar("delta", self.delta, float, low=0, high=1e10, open_low=True)
        check.check_scalar("quantile", self.quantile, float, low=1e-6, high=1 - 1e-6)
        _check_params(self)

    def _loss(self, rows):
        return {"squared": Squared, "huber": lambda: Huber(self.delta), "pinball": lambda: Pinball(self.quantile)}[
            self.loss]()

    feature_importances_ = property(lambda self: importances(self.relevances_))

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_rffnet(expansion, arrays)

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and targets y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block in every pass.
        y : array of shape (n_samples,) or (n_samples, n_targets), finite numbers
        sample_weight : array of shape (n_samples,) or None, not negative
            Factors on the losses of rows.
        eval_set : (X, y) or (X, y, sample_weight) or None, with X as above
            Rows to validate on, instead of some that are held out.
        callback : callable or None
            Called with a `RoundInfo` after each epoch, counted from 1 in each restart; returning True ends training.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        NotFittedError
            With `warm_start`, for a model read from a file.
        """
        self._check_params()
        training = self._check_training(X, y, sample_weight, eval_set)
        state = continued(self, training) if self.warm_start else None
        self._keep(**fit_rffnet(self, training, self._loss(training.rows), callback, state))
        return self

    def partial_fit(self, X, y, sample_weight=None):
        """Pass over some more rows once, with steps of `learning_rate` and the penalty `reg_lambda`.

        The first call, where there was no `fit`, chooses everything that depends on the rows: the number of features,
        the units of columns and of targets.  It should see many, shuffled.

        Parameters
        ----------
        X, y, sample_weight : as of `fit`
            Weights are relative to the others of a call.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        NotFittedError
            For a model read from a file.
        """
        self._check_params()
        training = self._check_training(X, y, sample_weight, min_samples=1)
        self._keep(**partial_fit_rffnet(self, training, self._loss(training.rows), continued(self, training)))
        return self

    def select_top_k(self, k):
        """Return the indices of the k columns of largest relevance, the most relevant first."""
        return top_k(self, k)

    def selection_path(self, X, y, sizes=None, sample_weight=None):
        """Score the model on its most relevant columns alone, the others held at their means, without training again.

        Parameters
        ----------
        X, y, sample_weight : as of `score`
        sizes : iterable of int or None
            Numbers of columns, for each of which all rows are scored; None for 1, 2, ... up to all.

        Returns
        -------
        SelectionPath
            sizes, columns (all of them, the most relevant first) and the scores of the first so many.
        """
        return selection_path(self, X, y, sizes, sample_weight)


@register("rffnet")
class RFFNetClassifier(Classifier):
    """Kernel logistic regression on random Fourier features, with a relevance of each column that is learned too.

    As `RFFNetRegressor`, with the loss ln(1 + exp(-y f)) for two classes, y in {-1, +1}, and with one output for each
    class and the multinomial logistic loss for more, whose probabilities are the softmax of the scores.

    Parameters
    ----------
    n_components, kernel, solver, learning_rate, reg_l1, batch_size, max_epochs, patience, validation_fraction,
    n_restarts, warm_start, standardize, precision, random_state, n_threads, verbose
        As of `RFFNetRegressor`.
    reg_lambda : "auto" or float >= 0, default "auto"
        As there, but that "auto" begins with 1 / n and ends with 0.001 / n.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    expansion_, relevances_, feature_importances_, n_components_, n_epochs_, best_epoch_, train_loss_, eval_loss_
        As of `RFFNetRegressor`, in units of the loss.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import RFFNetClassifier
    >>> X = np.random.default_rng(0).standard_normal((1000, 5))
    >>> y = np.where(X[:, 1] ** 2 + X[:, 3] ** 2 > 1.5, "out", "in")
    >>> model = RFFNetClassifier(random_state=0).fit(X[:800], y[:800])
    >>> bool(model.score(X[800:], y[800:]) > 0.9)
    True
    """

    fitted_curves = CURVES

    def __init__(self, n_components=None, *, kernel="gaussian", solver="alternating", learning_rate=0.03,
                 reg_lambda="auto", reg_l1=0.0, batch_size=32, max_epochs=300, patience=10,
                 validation_fraction=0.1, n_restarts=None, warm_start=False, standardize=True, precision="single",
                 random_state=None, n_threads=None, verbose=0):
        self.n_components = n_components
        self.kernel = kernel
        self.solver = solver
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_l1 = reg_l1
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.standardize = standardize
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_params(self):
        _check_params(self)

    def _link(self):
        return SoftmaxLink()

    def _loss(self, rows):
        return Logistic() if rows.n_classes == 2 else Softmax()

    feature_importances_ = property(lambda self: importances(self.relevances_))

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_rffnet(expansion, arrays)

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and labels y of any sortable type; else as `RFFNetRegressor.fit`."""
        self._check_params()
        training = self._check_training(X, y, sample_weight, eval_set)
        state = continued(self, training) if self.warm_start else None
        self._keep(**fit_rffnet(self, training, self._loss(training.rows), callback, state))
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Pass over some more rows once; else as `RFFNetRegressor.partial_fit`.

        `classes` are all labels that will ever come, for the first call; None for those of its y.
        """
        self._check_params()
        training = more_labels(self, X, y, classes, sample_weight)
        self._keep(**partial_fit_rffnet(self, training, self._loss(training.rows), continued(self, training)))
        return self

    def select_top_k(self, k):
        """Return the indices of the k columns of largest relevance, the most relevant first."""
        return top_k(self, k)

    def selection_path(self, X, y, sizes=None, sample_weight=None):
        """Accuracy on the most relevant columns alone; else as `RFFNetRegressor.selection_path`."""
        return selection_path(self, X, y, sizes, sample_weight)
