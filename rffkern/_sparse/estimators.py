"""Sparse kernel machines by boosting: least squares on learners of many basis vectors (Sun and Yao, 2010)."""

from .._data import validation as check
from .._estimator.base import Classifier, Regressor, register
from .._estimator.links import LinearLink
from .._gbrff.fit import check_common, check_rounds
from .._kernels.sparse_selection import RULES
from ..expansion import KernelExpansion
from .kernel import check_kernel
from .training import CURVES, fit_sparse, restored_sparse, staged_sparse


def _check_params(model):
    check_rounds(model)
    check.check_scalar("learner_size", model.learner_size, int, low=1, high=10**6)
    if model.subset_size is not None:
        check.check_scalar("subset_size", model.subset_size, int, low=model.learner_size)
    check.check_choice("selection", model.selection, tuple(RULES))
    check.check_scalar("n_candidates", model.n_candidates, int, low=1)
    check.check_choice("update", model.update, ("full", "one", "block"))
    check.check_scalar("block_size", model.block_size, int, low=1)
    check_kernel(model.kernel)
    if not (isinstance(model.reg_lambda, str) and model.reg_lambda == "auto"):
        check.check_scalar("reg_lambda", model.reg_lambda, float, low=0, high=1e100, open_low=True)
    check_common(model)


def _as_parameter(kernel_parameters):
    """The parameter `kernel` that stands for some `kernel_parameters_`."""
    _, amplitude, bias, *lengthscales = kernel_parameters.tolist()
    return {"lengthscales": lengthscales, "amplitude": amplitude, "bias": bias}


@register("sparse_kernel_regressor")
class SparseKernelRegressor(Regressor):
    """Least squares on a growing ensemble of sparse kernel learners.

    The model is F(x) = F_0 + sum over m of c_m f_m(x) with f_m(x) = sum over s of a_ms k(x_ms, x), and the kernel is
    k(x, z) = amplitude exp(-1/2 sum over l of ((x_l - z_l) / lengthscale_l)^2) + bias.  Each round draws a subset of
    the rows, selects S basis vectors among them by a rule that looks at the residual, combines them along the gradient
    of the objective 1/2 |y - F|^2 + lambda/2 |F|^2 (norms over rows, and in the space of the kernel), and makes all
    coefficients c optimal by a step of an incremental factorisation (P. Sun and X. Yao, Sparse Approximation Through
    Boosting for Learning Large Scale Kernel Machines, IEEE Transactions on Neural Networks, 2010).  Targets are learned
    in units of their spread, less their mean F_0; several are learned one by one, with one kernel, all in the same
    rounds.

    Parameters
    ----------
    n_estimators : int >= 1, default 500
        Number of learners M at most; fewer where no row is left that others do not make up.
    learner_size : int >= 1, default 50
        Basis vectors S of a learner; 1 selects them one by one.
    subset_size : int >= learner_size or None, default 500
        Size T of the random subset of rows that the basis vectors of a learner are selected from, half of the rows at
        most; None for all rows.
    selection : "max-res", "random", "mp", "boost", "ald" or "ran", default "max-res"
        The rule: the largest residual; any row; the largest fall of the objective, (28), or its gradient, (27), among
        `n_candidates` rows; rows that those before them approximate badly; the same times the fall of the objective.
    n_candidates : int >= 1, default 60
        Rows kappa that "mp" and "boost" look at for each basis vector.
    update : "full", "one" or "block", default "full"
        Which coefficients are made optimal with a new learner: all, the newest, (31), or those of its block.
    block_size : int >= 1, default 50
        Learners L in a block.
    kernel : "auto", "likelihood" or dict, default "auto"
        "likelihood" maximises the marginal likelihood on up to 1000 rows, as in the paper.  So few show the coarse of
        the function only: with more rows, "auto" then shortens all lengths by the factor of 1, 0.7, 0.5, 0.35 or 0.25
        that an ensemble of up to 300 learners on up to 16384 rows predicts others best with.  A dict has
        "lengthscales", one number or one for each column, and if wanted "amplitude" (1) and "bias" (0); `kernel_` of
        another model is one.
    reg_lambda : "auto" or float > 0, default "auto"
        Weight lambda of the regulariser; "auto" takes the noise of the likeliest Gaussian process, in units of the
        variance of y.
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1, to which lengthscales then refer.  Prediction takes raw rows.
    early_stopping_rounds : int >= 1 or None, default 20
        Rounds without a lower evaluation loss after which to stop; used only with an `eval_set`.
    precision : "single" or "double", default "double"
        In which kernels are computed and columns kept; sums over rows, coefficients and residuals are double in both.
        "single" becomes "double" where rows lie farther than 250 lengths from the center of the data.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are, where kernel or reg_lambda is learned, one subset of rows and one `standard_normal` draw of
        shape (2, 3 + n_features); where lengths are then shortened, one `permutation` of the rows and one `integers`;
        then one subset for each learner, and another, ten times at most, where it holds none.  A subset is one
        `choice`, or, where rows have weights, one `random` draw and one `permutation`.
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.
    verbose : int >= 0, default 0
        Print a line on stderr every so many rounds.

    Attributes
    ----------
    expansion_ : KernelExpansion
        The trained function of a raw row, on the distinct basis vectors.
    kernel_ : dict
        The kernel, as the parameter `kernel` takes it.
    reg_lambda_ : float
        Lambda.
    n_estimators_ : int
        Learners kept.
    n_skipped_ : int
        Near-duplicates that were passed over: rows in selections, and whole learners; not kept in model files.
    train_loss_, eval_loss_ : arrays
        Mean squared residual (over outputs too) before the first round and after each, in units of the variance of y;
        eval_loss_ is empty without an `eval_set`.
    kernel_parameters_ : array of shape (3 + n_features,)
        Lambda, amplitude, bias and lengthscales.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    Memory beside X, in bytes, with n rows, d columns, u = 4 in single precision and 8 in double, and P the number of
    columns kept, n_estimators ("full"), block_size ("block") or 1 ("one"): n (u d + 8 + n_outputs (16 + u P)), the same
    for held-out rows, n_outputs (16 P^2 + 8 (S + d + 10) T), 8 S P n_outputs, and up to 120 MB while `kernel="auto"`
    learns.  Coefficients after every round, for staged answers: 4 M^2 n_outputs, with S = 1 three times that.  No
    matrix of n x S kernels is ever stored: they are computed twice.

    Departures from the paper: learners have length 1 in the space of the kernel, where the paper scales them by a_0,
    which has no effect on the model, and so has the amplitude, but on the threshold of "ran": k(x, x) is 1 there;
    near-duplicates are skipped; with S = 1 "ald" and "ran" compare a row with all basis vectors, else with those of its
    learner, and learners are made orthonormal, which only rounding tells from those of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import SparseKernelRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    >>> model = SparseKernelRegressor(20, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.99)
    True
    """

    expansion_form = KernelExpansion
    fitted_curves = CURVES
    one_length = False

    def __init__(self, n_estimators=500, *, learner_size=50, subset_size=500, selection="max-res", n_candidates=60,
                 update="full", block_size=50, kernel="auto", reg_lambda="auto", standardize=True,
                 early_stopping_rounds=20, precision="double", random_state=None, n_threads=None, verbose=0):
        self.n_estimators = n_estimators
        self.learner_size = learner_size
        self.subset_size = subset_size
        self.selection = selection
        self.n_candidates = n_candidates
        self.update = update
        self.block_size = block_size
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_params(self):
        _check_params(self)

    kernel_ = property(lambda self: _as_parameter(self.kernel_parameters_))
    reg_lambda_ = property(lambda self: float(self.kernel_parameters_[0]))

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_sparse(self, expansion, arrays)

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and targets y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block; the rows are packed in memory.
        y : array of shape (n_samples,) or (n_samples, n_targets), finite numbers
        sample_weight : array of shape (n_samples,) or None, not negative
            Factors on the squares of the objective: whole numbers are repetitions of a row.
        eval_set : (X, y) or (X, y, sample_weight) or None, with X as above
            Held-out rows on which to stop early; the round of lowest loss on them is kept.
        callback : callable or None
            Called with a `RoundInfo` after each round; returning True ends the fit.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        self._check_params()
        self._keep(**fit_sparse(self, self._check_training(X, y, sample_weight, eval_set), sample_weight, callback))
        return self

    def staged_predict(self, X):
        """Yield `predict(X)` after each round kept; NotFittedError for a model read from a file."""
        return staged_sparse(self, X)


@register("sparse_kernel")
class SparseKernelClassifier(Classifier):
    """Least squares on labels -1 and +1 by a growing ensemble of sparse kernel learners.

    As `SparseKernelRegressor` with y in {-1, +1}; F estimates the mean of y, so that P(y = +1 | x) = (1 + F) / 2, held
    to [0, 1].  More than two classes are learned one against the rest, all in the same rounds.

    Parameters
    ----------
    n_estimators : int >= 1, default 500
        Number of learners M at most; fewer where no row is left that others do not make up.
    learner_size : int >= 1, default 50
        Basis vectors S of a learner; 1 selects them one by one.
    subset_size : int >= learner_size or None, default 500
        Size T of the random subset of rows that the basis vectors of a learner are selected from, half of the rows at
        most; None for all rows.
    selection : "max-res", "random", "mp", "boost", "ald" or "ran", default "max-res"
        The rule: the largest residual; any row; the largest fall of the objective, (28), or its gradient, (27), among
        `n_candidates` rows; rows that those before them approximate badly; the same times the fall of the objective.
    n_candidates : int >= 1, default 60
        Rows kappa that "mp" and "boost" look at for each basis vector.
    update : "full", "one" or "block", default "full"
        Which coefficients are made optimal with a new learner: all, the newest, (31), or those of its block.
    block_size : int >= 1, default 50
        Learners L in a block.
    exact : bool, default True
        Whether every block learns from all rows.  False, for large data and with `update="block"` only: blocks after
        the first leave out the rows that are fitted well, y F >= 0.5, and at least half of all rows, as the paper does
        with classes that a narrow kernel separates; it harms where classes overlap.
    kernel : "auto", "likelihood" or dict, default "auto"
        "likelihood" maximises the marginal likelihood on up to 1000 rows, with one length for all columns, in units of
        their spread: labels tell too little for one each.  So few rows show the coarse of the function only: with more,
        "auto" tries lengths of each column too, and then shortens the better ones by the factor of 1, 0.7, 0.5, 0.35 or
        0.25, by what an ensemble of up to 300 learners on up to 16384 rows predicts of others.  A dict has
        "lengthscales", one number or one for each column, and if wanted "amplitude" (1) and "bias" (0); `kernel_` of
        another model is one.
    reg_lambda : "auto" or float > 0, default "auto"
        Weight lambda of the regulariser; "auto" takes the noise of the likeliest Gaussian process.
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1, to which lengthscales then refer.  Prediction takes raw rows.
    early_stopping_rounds : int >= 1 or None, default 20
        Rounds without a lower evaluation loss after which to stop; used only with an `eval_set`.
    precision : "single" or "double", default "double"
        In which kernels are computed and columns kept; sums over rows, coefficients and residuals are double in both.
        "single" becomes "double" where rows lie farther than 250 lengths from the center of the data.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are, where kernel or reg_lambda is learned, one subset of rows and a `standard_normal` draw of
        shape (2, 3 + n_features) for each kind of lengths; where these are then tried, one `permutation` of the rows
        and one `integers`; then one subset for each learner, and another, ten times at most, where it holds none.  A
        subset is one `choice`, or, where rows have weights, one `random` draw and one `permutation`.
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.
    verbose : int >= 0, default 0
        Print a line on stderr every so many rounds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    expansion_ : KernelExpansion
        The trained function of a raw row, on the distinct basis vectors.
    kernel_ : dict
        The kernel, as the parameter `kernel` takes it.
    reg_lambda_ : float
        Lambda.
    n_estimators_ : int
        Learners kept.
    n_skipped_ : int
        Near-duplicates that were passed over: rows in selections, and whole learners; not kept in model files.
    train_loss_, eval_loss_ : arrays
        Mean squared residual (over outputs too) before the first round and after each; eval_loss_ is empty without an
        `eval_set`.  Rows that a block leaves out count in train_loss_ with the residual they had when it began.
    kernel_parameters_ : array of shape (3 + n_features,)
        Lambda, amplitude, bias and lengthscales.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    Memory and departures as for `SparseKernelRegressor`; and the mean of y, F_0, is part of F.  `exact=False` leaves a
    block the rows of lowest y F.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import SparseKernelClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = SparseKernelClassifier(20, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    expansion_form = KernelExpansion
    fitted_curves = CURVES
    one_length = True  # labels tell too little of many

    def __init__(self, n_estimators=500, *, learner_size=50, subset_size=500, selection="max-res", n_candidates=60,
                 update="full", block_size=50, exact=True, kernel="auto", reg_lambda="auto", standardize=True,
                 early_stopping_rounds=20, precision="double", random_state=None, n_threads=None, verbose=0):
        self.n_estimators = n_estimators
        self.learner_size = learner_size
        self.subset_size = subset_size
        self.selection = selection
        self.n_candidates = n_candidates
        self.update = update
        self.block_size = block_size
        self.exact = exact
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_params(self):
        check.check_choice("exact", self.exact, (True, False))
        _check_params(self)

    kernel_ = property(lambda self: _as_parameter(self.kernel_parameters_))
    reg_lambda_ = property(lambda self: float(self.kernel_parameters_[0]))

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_sparse(self, expansion, arrays)

    def _link(self):
        return LinearLink()

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block; the rows are packed in memory.
        y : array of shape (n_samples,), labels of any sortable type
        sample_weight : array of shape (n_samples,) or None, not negative
            Factors on the squares of the objective: whole numbers are repetitions of a row.
        eval_set : (X, y) or (X, y, sample_weight) or None, with X as above
            Held-out rows on which to stop early; the round of lowest loss on them is kept.
        callback : callable or None
            Called with a `RoundInfo` after each round; returning True ends the fit.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        self._check_params()
        self._keep(**fit_sparse(self, self._check_training(X, y, sample_weight, eval_set), sample_weight, callback,
                                leave_out=self.update == "block" and not self.exact))
        return self

    def staged_decision_function(self, X):
        """Yield `decision_function(X)` after each round kept; NotFittedError for a model read from a file."""
        return staged_sparse(self, X)
