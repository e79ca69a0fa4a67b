"""RFFNet: random Fourier features of an ARD kernel with learned relevances (Otto and Izbicki, 2022)."""

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ..._column_map.copies import merged_weights
from ..._estimator import parameters as shared
from ..._estimator.base import Fitted, Model
from ..._estimator.explanations import sources_of
from ..._estimator.links import SoftmaxLink
from ..._estimator.monitor import TimeLimit
from ..._estimator.parameters import Attribute, ClassWeight, Density, MapOrNone, Parameter, eval_sets
from ..._estimator.tasks import Classifier, Regressor
from ..._model.expansion import Expansion
from ..._native.array_types import Double, Indices
from ..._protocol.arguments import Auto, Precision, RandomSource, check_rng, check_scalar, choice, number
from ..._rows.groups import Division
from ..._rows.training_rows import Training, check_more_labels, with_class_weights
from ..._rows.validation import to_array
from ...errors import InvalidInputError
from .losses import Loss, classification_loss, regression_loss
from .rows import n_validation_rows
from .training import counted_epochs, fit_network, partial_fit_network

_N_COMPONENTS = Parameter(
    "n_components", number(int, 1, 10**6, optional=True),
    "Number of random features s; None for sqrt(n) ln(n) of n rows, rounded down, at least 100 and at most 4096.")
_KERNEL = shared.KERNEL.described(
    "The kernel h(relevances * (x - z)), from whose spectral density the omegas are drawn: exp(-|.|^2 / 2), "
    "exp(-|.|_1), or the Matern kernel of smoothness 3/2 or 5/2.")
_LOSS = Parameter(
    "loss", choice("squared_error", "huber", "quantile"),
    "(y - f)^2; the Huber loss, which is the same up to |y - f| = delta and linear beyond; or the pinball loss of a "
    "quantile of y.")
_QUANTILE = Parameter("quantile", number(float, 1e-6, 1 - 1e-6),
                      "The quantile that the pinball loss estimates; other losses only take 0.5.", ("quantile", 0.5))
_DELTA = Parameter("delta", number(float, 0, 1e10, open_low=True),
                   "Where the Huber loss becomes linear, in units of the standard deviation of y; other losses only "
                   "take 1.35.", ("huber", 1.35))
_LEARNING_RATE = shared.LEARNING_RATE.described(
    "Initial step size eta; it falls during training, by the schedule in the notes.")
_TRAINING = (
    Parameter("max_epochs", number(int, 1, 10**8),
              "Largest number of epochs.  An epoch passes over all rows once, or several times until it has taken 32 "
              "steps."),
    shared.EARLY_STOPPING_ROUNDS.described(
        "Validations without improvement after which to stop, at the end of the schedule in the notes; None for all "
        "epochs."),
    Parameter("validation_fraction", number(float, 0, 0.9),
              "Fraction of the rows to validate on if there is no `eval_set`, at most 65536 rows and 2^24 numbers.  "
              "The values of lowest loss on them are kept.  With 0, the training loss of whole epochs decides."),
)
_COMMON = (
    shared.COLUMNS,
    shared.RANDOM_STATE,
    shared.N_JOBS.described(
        "Number of threads; None for the CPUs this process may use.  The result is the same to the last bit for any "
        "number.  Only batches of more than 128 rows are shared among threads."),
    shared.VERBOSE.described("Print a line on stderr every so many epochs; 0 for none."),
)
_RARE = (
    Parameter("reg_l1", number(float, 0, 1e10),
              "Weight of a penalty on the sum of |relevances|, which sets some of them to 0."),
    Parameter("batch_size", number(int, 1, 1 << 16), "Rows in a mini-batch."),
    Parameter("n_restarts", number(int, 1, 10**6, optional=True),
              "Number of restarts, each with new random features; the one of lowest loss is kept.  None for 3 on up to "
              "10000 rows and 1 on more."),
    Parameter("warm_start", choice(True, False),
              "Whether `fit` continues from the state in which the last call ended, without restarts and with the same "
              "random features and units.  The same rows are validated on if the number of rows is the same."),
    shared.MAX_SECONDS.described(shared.MAX_SECONDS.text.replace("after each round, so that there is always one;",
                                                   "after each epoch, and between the parts of a long one;")),
    shared.STANDARDIZE.described(
        "Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.  False keeps the ratios of "
        "their standard deviations."),
    shared.PRECISION.described("Arithmetic of the training kernels."),
)


def _reg_lambda(first: float, last: float) -> Parameter:
    """The penalty, with its first and its last default times the number of rows."""
    return Parameter(
        "reg_lambda", number(float, 0, 1e10, word="auto"),
        f'Weight mu of the penalty on the squared coefficients.  "auto" falls from {first:g} / n to {last:g} / n for n '
        f"rows, by the schedule in the notes.  Continued training uses {last:g} / n, where n counts the rows of all "
        "calls in `partial_fit`.")


_ATTRIBUTES = (
    shared.EXPANSION_,
    Attribute("relevances_", "array of shape (n_features,)",
              "|lambda| for columns in units of their standard deviation (without `standardize`, of the root of their "
              "mean variance); 0 for columns that do not vary."),
    Attribute("feature_importances_", "array of shape (n_features,)", "`relevances_` over their sum.  "
              "A linear effect has a long length scale, and so a small importance: see `explain`."),
    shared.N_COMPONENTS_.described("Number of random features."),
    Attribute("n_epochs_, best_epoch_", "int",
              "Number of epochs, of which the last may be incomplete, and the epoch whose values were kept."),
    Attribute("train_loss_, eval_loss_", "arrays",
              "Mean training loss before the first epoch, measured on some of the rows, and during each epoch; mean "
              "loss on held-out rows before the first epoch, and the lowest during each epoch.  The loss of a row is "
              "the sum over outputs, with real targets in units of their standard deviation.  Both belong to the "
              "restart that was kept.  They are empty after `partial_fit`."),
    shared.EVAL_LOSSES_.described(shared.EVAL_LOSSES_.text + "  Where an epoch has several parts, the losses are those "
                                  "of all sets after the part in which that of the first was lowest."),
    shared.TIMED_OUT_,
    shared.N_FEATURES_IN_,
)

_ARGUMENTS = {
    "eval_set": eval_sets("Rows to validate on, in the forms of X and y; None to hold out a fraction of the rows."),
    "callback": shared.ARGUMENTS["callback"].described(
        "Called with a `RoundInfo` after each epoch, counted from 1 in each restart; returning True ends training."),
    "weight_of_more_rows": shared.ARGUMENTS["sample_weight"].described(
        "Weights >= 0 that multiply a row's loss, relative to the other rows of the same call."),
    "weight_in_score": shared.ARGUMENTS["sample_weight"].described("Weights >= 0 of the rows."),
    "k": Attribute("k", "int in [1, n_features]", "Number of columns."),
    "sizes": Attribute("sizes", "iterable of int or None",
                       "Numbers of columns, each of which takes one pass over the rows; None for 1, 2, ... up to all."),
}


class SelectionPath(NamedTuple):
    """Scores of a model that uses only the columns of largest relevance."""

    sizes: Indices  # (n_sizes,) numbers of columns
    columns: Indices  # (n_features,) indices of all columns, the most relevant first
    scores: Double  # (n_sizes,) of the model on the first `sizes` of them


class _RFFNet(Model):
    """Base of the regressor and the classifier."""

    _fitted_curves = ("train_loss_", "eval_loss_", "relevances_")
    _arguments = _ARGUMENTS
    _keeps_map, _shrinks = True, True
    _draws = ("if there are validation rows to choose, a `permutation` of all rows, whose first rows they are.  Then "
              "each restart draws its omegas, as one `standard_normal` or `standard_cauchy` array of shape (s, "
              "n_features), for Matern kernels followed by a `chisquare` array of shape (s, 1); a `uniform` array of "
              "s phases; and for each pass a `permutation` of the rows.  For streamed rows this is one of the rows "
              "of each block, after one of the blocks if they are those of an array.")
    _rare_parameters = ("delta", "reg_l1", "batch_size", "n_restarts", "warm_start", "max_seconds", "standardize",
                        "precision")

    warm_start: bool
    validation_fraction: float
    max_seconds: float | None
    random_state: RandomSource
    relevances_: Double
    _check_training: Callable[..., Training]

    def _relevances_of_columns(self) -> Double:
        """Relevances of the columns of the table: with a map, the largest of what it makes of a column."""
        relevances, found = self.relevances_, np.zeros(self.n_features_in_)
        np.maximum.at(found, sources_of(self), relevances)
        return found

    @property
    def feature_importances_(self) -> Double:
        """`relevances_` over their sum."""
        relevances = self._relevances_of_columns()
        return relevances / (relevances.sum() or 1.0)

    def _loss(self, n_outputs: int) -> Loss:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callable[..., Any] | None = None) -> Self:
        """Learn from rows X and y, their labels or targets.

        {fit}
        TrainingStateError
            With `warm_start`, for a model read from a file.
        """
        self._check_params()
        limit = TimeLimit(self.max_seconds)
        rng = check_rng(self.random_state)
        if eval_set is None:
            sample_weight = merged_weights(X, y, sample_weight)
        division = Division(held_out=self._validation_rows(y, sample_weight, eval_set, rng))
        training = self._check_training(X, y, sample_weight, eval_set, division=division)
        self._keep(fit_network(self, training, callback, rng, limit))
        return self

    def _validation_rows(self, y: Any, sample_weight: Any, eval_set: Any, rng: "np.random.Generator") -> Any:
        """Indices of the rows that `fit` will validate on at most, from which a map must not learn; None without a map.

        They are drawn from a copy of the generator, which is left as it is.
        """
        if self.columns is None or eval_set is not None:
            return None
        n_samples = len(np.atleast_1d(to_array(y, "y")))
        weight = np.ones(n_samples) if sample_weight is None else to_array(sample_weight, "sample_weight").ravel()
        positive = np.flatnonzero(weight)
        order = copy.deepcopy(rng).permutation(len(positive))
        return positive[order[: n_validation_rows(len(positive), 1, self.validation_fraction)]]

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        train_loss, eval_loss, relevances = (arrays[name] for name in self._fitted_curves)
        if train_loss.ndim != 1 or eval_loss.ndim != 1 or eval_loss.size not in (0, train_loss.size):
            raise ValueError("loss curves do not agree in number")
        if relevances.shape != (expansion.n_features,) or not (relevances >= 0).all():
            raise ValueError("relevances are malformed")
        return {"n_components_": expansion.n_terms, **counted_epochs(train_loss, eval_loss)}

    def select_top_k(self, k: int) -> Indices:
        """Return the indices of the columns of largest relevance.

        Parameters
        ----------
        {k}

        Returns
        -------
        array of shape (k,), the most relevant column first
        """
        order = self._columns_by_relevance()
        return order[: check_scalar("k", k, int, low=1, high=len(order))]

    def _columns_by_relevance(self) -> Indices:
        """Indices of columns, the most relevant first; equal ones in their order."""
        self._check_fitted()
        return np.argsort(-self._relevances_of_columns(), kind="stable")

    def selection_path(self, X: Any, y: Any, sizes: Iterable[int] | None = None,
                       sample_weight: Any = None) -> SelectionPath:
        """Score the model on its most relevant columns only, without training again.

        The other columns are held at their means.

        Parameters
        ----------
        {X_scored}
        {y}
        {sizes}
        {weight_in_score}

        Returns
        -------
        SelectionPath
            sizes, columns (all of them, the most relevant first) and scores: what `score` returns (R^2, or the accuracy
            of labels) with the first `sizes[i]` columns.
        """
        order = self._columns_by_relevance()
        if sizes is None:
            sizes = range(1, len(order) + 1)
        if not np.iterable(sizes) or isinstance(sizes, str):
            raise InvalidInputError(f"sizes must be an iterable of numbers of columns, got {sizes!r}")
        checked = [check_scalar("sizes", size, int, low=0, high=len(order)) for size in sizes]
        scores = [self._restricted(order[:size]).score(X, y, sample_weight) for size in checked]
        return SelectionPath(np.array(checked, np.intp), order, np.array(scores))

    def truncated(self, k: int) -> Self:
        """Return a model of its own on the columns of largest relevance alone, without training again.

        The other columns are held at their means, and their relevances are 0.

        Parameters
        ----------
        {k}

        Returns
        -------
        model of the same class, like one that is read from a file
        """
        return self._restricted(self.select_top_k(k))

    def _restricted(self, columns: Indices) -> Any:
        """A model of the same class that predicts from some columns only."""
        arrays, is_used = self.expansion_.arrays(), np.isin(sources_of(self), columns)
        expansion = Expansion._of_arrays(arrays | {"omegas": np.where(is_used, arrays["omegas"], 0.0)})
        curves = {name: getattr(self, name) for name in self._fitted_curves}
        curves["relevances_"] = np.where(is_used, self.relevances_, 0.0)
        classes = getattr(self, "classes_", None)
        copied = type(self)(**self.get_params(deep=False))
        copied._keep(Fitted(getattr(self, "feature_names_in_", None), classes, expansion,
                            curves | copied._restored(expansion, curves), column_map=vars(self).get("column_map_"),
                            reference=vars(self).get("_reference")))
        return copied


class RFFNetRegressor(_RFFNet, Regressor):
    """Kernel regression on random Fourier features, with a learned relevance of each column.

    The model is f(x) = constant + sum over k of beta_k sqrt(2 / s) cos(omega_k . (lambda * x) + phi_k).  The
    omega_k are drawn from the spectral density of a kernel; lambda, the relevances, multiply the columns of x.
    These are random features of that kernel with a length scale 1 / lambda_j per column (automatic relevance
    determination).  Training minimises the mean loss plus mu |beta|^2 over beta and lambda by Algorithm 1 of M. P.
    Otto and R. Izbicki, RFFNet: Scalable and interpretable kernel methods via Random Fourier Features, 2022:
    mini-batch steps on beta and lambda in turn, with Adam's moments.  Targets are learned in units of their
    standard deviation; several targets share features and relevances.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Training validates after each epoch, and within one of more than 500 steps after each 500 or so; validations count
    once the loss has fallen by 2 % from its first value, or after 2000 steps.  After 3 without improvement the penalty
    of `reg_lambda="auto"` falls to a tenth, down to its last value.  Then after 6 without improvement training returns
    to the best values and multiplies the step size by 0.3, twice.  After `early_stopping_rounds` more it ends.  Steps
    are eta / sqrt(n_features) on relevances, which begin at 1 over the root of the number of columns that vary, and 16
    eta / sqrt(s) on coefficients.

    A step costs O(batch_size s n_features).  Rows of arrays are standardised batch by batch.  `numpy.memmap` and
    RowBlocks are read block by block and shuffled within blocks; the blocks of an array or memmap come in random order
    too.  Values beyond 10000 standard deviations of their column, which rows of equal weight cannot have, are clipped.

    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k targets, h rows held out, batches of a rows, p
    terms, u = 4 in single precision and 8 in double, and b = max(2^20, 2048 d) numbers in a block:

        array:  (28 + 8 k) n + 8 (d + k) h + 18 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d
        blocks: (20 + 8 k) n + 8 (d + k) h + 8 b + 18 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d

    Sample weights take 9 n more.

    Departures from the paper: proximal steps use the metric of Adam's steps, so that they end where the objective is
    minimal; a constant is learned and not penalised; penalty and step size fall when the validation loss stops
    falling: a large penalty first finds the relevant columns, then a small one lets the model fit them closely; of
    several restarts on few rows the best is kept; copies of a row count as one with their weight; `n_components` is
    100 to 4,096 by default; columns and targets are standardised.  What it prints wrongly: docs/errata.md#rffnet.

    {draws}

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

    family = "rffnet_regressor"
    _parameters = (_N_COMPONENTS, _KERNEL, _LOSS, _QUANTILE, _LEARNING_RATE, _reg_lambda(50, 0.05), *_TRAINING,
                   *_COMMON, _DELTA, *_RARE)
    _attributes = _ATTRIBUTES

    def __init__(self, n_components: int | None = None, *, kernel: Density = "gaussian",
                 loss: Literal["squared_error", "huber", "quantile"] = "squared_error", quantile: float = 0.5,
                 learning_rate: float = 0.03, reg_lambda: float | Auto = "auto", max_epochs: int = 300,
                 early_stopping_rounds: int | None = 10, validation_fraction: float = 0.1, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0, delta: float = 1.35,
                 reg_l1: float = 0.0, batch_size: int = 32, n_restarts: int | None = None, warm_start: bool = False,
                 max_seconds: float | None = None, standardize: bool = True, precision: Precision = "single") -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_epochs = max_epochs
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.delta = delta
        self.reg_l1 = reg_l1
        self.batch_size = batch_size
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.standardize = standardize
        self.precision = precision

    def _loss(self, n_outputs: int) -> Loss:
        return regression_loss(self.loss, self.delta, self.quantile)

    def _error_metric(self) -> tuple[str, float | None]:
        return "rmse" if self.loss == "squared_error" else "mae", None

    def _losses_of_rows(self, X: Any, y: Any) -> Double:
        scores = self._raw_scores(X)
        targets = np.ascontiguousarray(np.reshape(y, scores.shape), np.float64)
        n_outputs = scores.shape[1]
        return self._loss(n_outputs).of_rows(np.ascontiguousarray(scores, np.float64), targets) / n_outputs

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Pass over some more rows once, with steps of `learning_rate` and the penalty `reg_lambda`.

        The first call, if there was no `fit`, chooses everything that depends on the rows: the number of features and
        the units of columns and of targets.  Give it many rows in random order.

        Parameters
        ----------
        {X}
        {targets}
        {weight_of_more_rows}

        {more_rows}
        """
        self._keep(partial_fit_network(self, self._check_training(X, y, sample_weight, continues=True)))
        return self


class RFFNetClassifier(_RFFNet, Classifier):
    """Kernel logistic regression on random Fourier features, with a learned relevance of each column.

    The scores f(x) are the functions that `RFFNetRegressor` describes, with its features, relevances and training.
    Two classes have one score and the loss ln(1 + exp(-y f)), y in {-1, +1}; more classes have one score each and the
    multinomial logistic loss, and their probabilities are the softmax of the scores.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `RFFNetRegressor`:

        array:  44 n + 8 (d + 1) h + 18 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d
        blocks: 36 n + 8 (d + 1) h + 8 b + 18 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d

    Sample weights take 9 n more.  The schedule of training, the treatment of streamed rows and the departures from the
    paper are described in the notes of `RFFNetRegressor`, errata in docs/errata.md#rffnet.

    {draws}

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

    family = "rffnet"
    _parameters = (_N_COMPONENTS, _KERNEL, _LEARNING_RATE, _reg_lambda(1, 0.001), *_TRAINING, shared.CLASS_WEIGHT,
                   *_COMMON, *_RARE)
    _attributes = (shared.CLASSES_, *_ATTRIBUTES)

    def __init__(self, n_components: int | None = None, *, kernel: Density = "gaussian", learning_rate: float = 0.03,
                 reg_lambda: float | Auto = "auto", max_epochs: int = 300, early_stopping_rounds: int | None = 10,
                 validation_fraction: float = 0.1, class_weight: ClassWeight = None, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0, reg_l1: float = 0.0,
                 batch_size: int = 32, n_restarts: int | None = None, warm_start: bool = False,
                 max_seconds: float | None = None, standardize: bool = True, precision: Precision = "single") -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_epochs = max_epochs
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.reg_l1 = reg_l1
        self.batch_size = batch_size
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.standardize = standardize
        self.precision = precision

    def _link(self) -> SoftmaxLink:
        return SoftmaxLink()

    def _loss(self, n_outputs: int) -> Loss:
        return classification_loss(n_outputs)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Pass over some more rows once, with steps of `learning_rate` and the penalty `reg_lambda`.

        The first call, if there was no `fit`, chooses everything that depends on the rows: the classes, the number of
        features and the units of columns.  Give it many rows in random order.

        Parameters
        ----------
        {X}
        {labels}
        classes : array of shape (n_classes,) or None
            All labels that will occur, for the first call; None for those of its y.
        {weight_of_more_rows}

        {more_rows}
        """
        self._check_params()
        known = getattr(self, "classes_", None)

        def check(X: Any, y: Any, sample_weight: Any) -> Training:
            return check_more_labels(X, y, classes, sample_weight, known)

        training = self._checked(check, X, y, sample_weight, continues=True)
        if self.class_weight == "balanced":
            raise InvalidInputError('class_weight must be a dict or None in partial_fit, which does not see all rows, '
                                    'got "balanced"')
        self._keep(partial_fit_network(self, with_class_weights(training, self.class_weight)))
        return self
