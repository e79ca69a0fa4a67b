"""Sparse kernel machines by boosting: least squares on base learners of many basis vectors (Sun and Yao, 2010)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from ..._column_map.column_map import ColumnMap
from ..._estimator import parameters as shared
from ..._estimator.base import Model
from ..._estimator.links import Link, SoftmaxLink
from ..._estimator.parameters import Attribute, ClassWeight, MapOrNone, Parameter, eval_sets
from ..._estimator.tasks import StagedClassifier, StagedRegressor
from ..._native.array_types import Double
from ..._native.sparse import RULES
from ..._protocol.arguments import Auto, RandomSource, choice, number
from ..kernel_ridge.parameters import REG_LAMBDA_, importances_by_distances, shares_of_columns
from .kernel_choice import KERNEL_PARAMETER, given_kernel
from .training import train

Selection: TypeAlias = Literal["random", "max-res", "mp", "boost", "ald", "ran"]
KernelSpec: TypeAlias = Literal["auto", "likelihood"] | dict[str, Any]

_BASIS = (
    shared.N_ESTIMATORS.described(
        "Largest number of rounds M, each of which adds a base learner, or up to two where there are several outputs; "
        "fewer if every other row depends linearly on the basis vectors."),
    Parameter("basis_size", number(int, 1, 10**6),
              "Number of basis vectors S of a base learner; 1 selects them one by one."),
    Parameter("max_samples", number(int, 1, optional=True),
              "Size T >= basis_size of the random sample of rows that the basis vectors of a base learner are selected "
              "from, at most half of the rows; None for all rows."),
    Parameter("selection", choice(*RULES),
              'Which row becomes a basis vector.  "random": any.  "max-res": the one that is predicted worst.  "mp" '
              '(matching pursuit): of 60 the one that would lower the objective most.  "boost": of 60 the one along '
              'which the objective falls most steeply.  "ald" (approximate linear dependence): one that is unlike '
              'the basis vectors so far.  "ran" (resource-allocating network): one that is unlike them and lowers '
              "the objective.  docs/algorithms/sparse_kernel.md has the formulas."),
)
_UPDATE = Parameter(
    "update", choice("full", "one", "group"),
    'Which coefficients are made optimal with a new base learner.  "full": all.  "one": the newest.  "group": '
    "those of its group; a new group begins after every 50 rounds, and memory is that of one group.")
_UPDATE_OF_CLASSES = _UPDATE._replace(
    check=choice("full", "one", "group", "active"),
    text=_UPDATE.text + '  "active": as "group", but groups after the first leave out rows that are fitted well, '
    "y F >= 0.5, and at least half of all rows, those of largest y F, as the paper does with classes that a narrow "
    "kernel separates; where classes overlap, accuracy is much lower.")

_AUTO = (
    'The kernel.  "auto" chooses its shape and length scales, and lambda, by rows that are left out, of at most 1500 '
    'or, from 8000 rows on, 8192; "likelihood" by the marginal likelihood of up to 1000 rows, as in the paper: '
    "docs/algorithms/sparse_kernel.md.")
_DICT = (
    '  A dict has "length_scale", one number or one for each column, in units of their standard deviations, and '
    'optionally "amplitude" (default 1), "bias" (default 0) and "shape" ("gaussian", the default, or "exponential"); '
    "`kernel_` of a model is such a dict.  Mapped columns have units of their own.")
_KERNEL = Parameter("kernel", KERNEL_PARAMETER, _AUTO + _DICT)

_REST = (
    Parameter("reg_lambda", number(float, 0, 1e100, open_low=True, word="auto"),
              'Weight lambda of the regulariser; "auto" takes the noise of the likeliest Gaussian process, in '
              "units of the variance of y, for weights of mean 1."),
    shared.EARLY_STOPPING_ROUNDS,
    shared.VALIDATION_FRACTION,
    shared.WARM_START.described(
        shared.CONTINUES + "Draws come from two generators, that of rows held out and one for all others, so that each "
        "goes on: their seeds are the only draw, an `integers` of two.  For n rows and k outputs a model keeps 16 n k "
        "bytes for this, and 8 k for each held-out row, not in model files; columns of base learners are evaluated "
        "again."),
    shared.MAX_SECONDS,
)
_LAST = (*shared.LAST, shared.VERBOSE.described(
    "Print a line on stderr every so many rounds, and at most one a second while a kernel is chosen; 0 for none."))
_FITTED = (
    shared.EXPANSION_.described("The trained function of a raw row, on the distinct basis vectors; immutable."),
    Attribute("kernel_", "dict", "The kernel, in the form of the parameter `kernel`."),
    REG_LAMBDA_,
    shared.N_ESTIMATORS_.described("Number of rounds kept."),
    Attribute("n_skipped_", "int",
              "Number of near-duplicates that were skipped: rows in selections, and whole base learners; not kept in "
              "model files."),
    Attribute("train_loss_, eval_loss_", "arrays",
              "Mean squared residual (over outputs too) before the first round and after each, for a regressor in "
              "units of the variance of y; eval_loss_ is empty without an `eval_set`.  Rows that a group leaves "
              "out count in train_loss_ with the residual they had when it began."),
    shared.EVAL_LOSSES_,
    shared.TIMED_OUT_,
    importances_by_distances(
        "basis vectors", "  The sum is 1, or 0 where there is at most one basis vector.  A linear effect has a long "
        "length scale, and so a small importance, and where all columns share one length scale importances are about "
        "equal and say nothing: see `explain`."),
    Attribute("kernel_parameters_", "array of shape (3 + n_features,)", "Lambda, amplitude, bias and length scales."),
    shared.N_FEATURES_IN_,
)


class _SparseKernelMachine(Model):
    """What the regressor and the classifier share."""

    _parts = ("kernels",)
    _draws = ("where kernel or reg_lambda is learned, one sample of rows; where kernels are compared, from 8000 rows "
              "on, one `permutation` and one `integers`; then one sample for each round, and up to nine more if it "
              "has nothing to add.  A sample is one `choice`; if the weights of rows differ, one `random` and one "
              "`permutation`.")
    _rare_parameters = ("max_samples", "validation_fraction", "warm_start", "max_seconds")
    _fitted_curves = ("train_loss_", "eval_loss_", "kernel_parameters_")
    _arguments = {
        "X": shared.ARGUMENTS["X_packed"],
        "eval_set": eval_sets(shared.ARGUMENTS["eval_set"].text)}

    n_estimators: int
    basis_size: int
    max_samples: int | None
    kernel: Any
    kernel_parameters_: Double

    def _trial_copy(self, standardize: bool) -> Any:
        """A copy that learns its kernel fast, on columns that it standardises or takes as they are."""
        copy = super()._trial_copy(standardize)
        changes = {"columns": None if standardize else ColumnMap(("raw",))}
        return copy.set_params(**changes | ({"kernel": "likelihood"} if self.kernel == "auto" else {}))

    def _check_params(self) -> None:
        for name, check, *_ in self._parameters:  # of which basis_size comes before max_samples
            check = number(int, self.basis_size, optional=True) if name == "max_samples" else check
            check(name, getattr(self, name))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callable[..., Any] | None = None) -> Self:
        """Learn from rows X and y, their labels or targets.

        {fit}
        """
        with np.errstate(under="ignore"):  # of tiny weights
            self._keep(train(self, X, y, sample_weight, eval_set, callback))
        return self

    @property
    def kernel_(self) -> dict[str, Any]:
        """The kernel, in the form of the parameter `kernel`."""
        _, amplitude, bias, *length_scale = self.kernel_parameters_.tolist()
        terms: Any = self.expansion_.kernels
        return {"length_scale": length_scale, "amplitude": amplitude, "bias": bias, "shape": terms.shape}

    @property
    def reg_lambda_(self) -> float:
        """The weight lambda of the regulariser."""
        return float(self.kernel_parameters_[0])

    @property
    def feature_importances_(self) -> Double:
        """The share of each column of the table in the squared distances between basis vectors."""
        return shares_of_columns(self.expansion_, vars(self).get("column_map_"))

    def _rounds_so_far(self) -> Any:
        state = vars(self).get("_training_state")
        return None if state is None else state.checkpoint

    def _staged(self, X: Any) -> Iterator[Double]:
        X = self._check_rows(X)
        yield from self._require_training_state("for staged predictions").staged_scores(X, self.n_jobs)

    def _restored(self, expansion: Any, arrays: Mapping[str, Double]) -> dict[str, Any]:
        train_loss, eval_loss, kernel_parameters = (arrays[name] for name in self._fitted_curves)
        if train_loss.ndim != 1 or train_loss.size == 0 or eval_loss.ndim != 1 or (
                eval_loss.size not in (0, train_loss.size)):
            raise ValueError("loss curves do not agree in number")
        n_rounds = int(eval_loss.argmin()) if eval_loss.size else train_loss.size - 1
        if expansion.n_terms > n_rounds * self.basis_size or n_rounds > self.n_estimators:
            raise ValueError("centers, rounds and basis_size do not agree")
        if kernel_parameters.shape != (3 + expansion.n_features,) or not (kernel_parameters[[0, 1]] > 0).all() or (
                kernel_parameters[2] < 0 or not (kernel_parameters[3:] > 0).all()):
            raise ValueError("kernel parameters are malformed")
        if isinstance(self.kernel, dict):
            given_kernel(self.kernel, expansion.n_features)
        return {"n_estimators_": n_rounds}


class SparseKernelRegressor(_SparseKernelMachine, StagedRegressor):
    """Kernel ridge regression on few basis vectors, which boosting selects.

    Defaults are good; the size is at most `n_estimators` times `basis_size` basis vectors.

    The model is F(x) = F_0 + sum over m of c_m f_m(x) with base learners f_m(x) = sum over s of a_ms k(x_ms, x).  The
    kernel is k(x, z) = amplitude exp(-r^2 / 2) + bias, "gaussian", or amplitude exp(-r) + bias, "exponential", with r^2
    the sum over columns l of ((x_l - z_l) / length_scale_l)^2.  The objective is 1/2 |y - F|^2 + lambda/2 |F|^2, with
    norms over rows and in the space of the kernel.  Each round draws a random sample of the rows, selects S basis
    vectors among them, combines them along the gradient of the objective, and makes all coefficients c optimal by a
    step of an incremental factorisation (P. Sun and X. Yao, Sparse Approximation Through Boosting for Learning Large
    Scale Kernel Machines, IEEE Transactions on Neural Networks, 2010).  Targets are learned in units of their standard
    deviation, after subtracting their mean F_0, on columns of mean 0 and variance 1.  Several targets share kernel and
    base learners, and differ in coefficients alone: a round adds up to two base learners on one set of basis vectors,
    those along which the targets together have the largest gradients.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Kernels are computed and columns are kept in single precision, right to about 1e-6; sums over rows, coefficients and
    residuals are double.  Where rows lie farther than 353 length scales from the center of the data, or lambda is below
    1e-8 k(x, x), as of targets without noise, all is double.

    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs, u = 4 in single precision and 8 in
    double, S = basis_size, P columns kept (n_estimators of "full", 50 of "group", 1 of "one"; twice that with several
    outputs), and b = max(2^20, 2048 d) numbers in a block of `RowBlocks` or `numpy.memmap`:

        array:  n (u (d + 1 + P) + 16 + 32 k) + min(u n S, 2^26) + 16 P^2
        blocks: n (u (d + 1 + P) + 16 + 32 k) + min(u n S, 2^26) + max(8 b - 8 n k, 0) + 16 P^2

    Each held-out row takes u (d + P) + 8 + 32 k, sample weights 16 n, `kernel="auto"` up to 120 MB while it learns, and
    basis vectors with their coefficients, for staged predictions, 8 (S + d + 10) P + 16 P^2, with S = 1 three times
    that.  The n S kernels of a round are kept where they take up to 64 MB; beyond, they are computed twice.

    Departures from the paper: base learners have length 1 in the space of the kernel, where the paper scales them by
    a_0.  This has no effect on the model, and neither has the amplitude, but for the threshold of "ran": k(x, x) is 1
    there.  Near-duplicates are skipped.  With S = 1, "ald" and "ran" compare a row with all basis vectors, else with
    those of its base learner; and base learners are made orthonormal, which changes the model by rounding errors only.
    The kernel is chosen by held-out rows (`kernel="auto"`), where the paper has the likeliest; T is at most half of the
    rows.  What the paper prints wrongly: docs/errata.md#sparse-kernel-machines.

    {draws}

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

    family = "sparse_kernel_regressor"
    _parameters = (*_BASIS, _UPDATE, _KERNEL, *_REST, *_LAST)
    _attributes = _FITTED

    def __init__(self, n_estimators: int = 500, *, basis_size: int = 50, max_samples: int | None = 500,
                 selection: Selection = "max-res", update: Literal["full", "one", "group"] = "full",
                 kernel: KernelSpec = "auto", reg_lambda: float | Auto = "auto", early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, max_seconds: float | None = None,
                 columns: MapOrNone = "auto", random_state: RandomSource = None, n_jobs: int | None = None,
                 verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.basis_size = basis_size
        self.max_samples = max_samples
        self.selection = selection
        self.update = update
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SparseKernelClassifier(_SparseKernelMachine, StagedClassifier):
    """Classification by kernel ridge regression on few basis vectors, which boosting selects.

    The model F(x) and its size are those of `SparseKernelRegressor`, which describes the training, with y in {-1, +1}.
    F estimates the mean of y; scores are a slope times F plus a shift for each output, those of the largest likelihood
    of up to 1500 labels given what ridge regressions with the same kernel predict of each of these rows without it, and
    P(y = +1 | x) = 1 / (1 + exp(-score)).  Staged scores have the same slope and shifts.  More than two classes are
    learned one against the rest, on the same base learners; their probabilities are in proportion to exp(score).

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `SparseKernelRegressor`, with k = 1 for two classes and
    as many columns P of "active" as of "group":

        array:  n (u (d + 1 + P) + 24 + 24 k) + min(u n S, 2^26) + 16 P^2 + 4 u min(n, 1500)^2
        blocks: n (u (d + 1 + P) + 24 + 24 k) + min(u n S, 2^26) + max(8 b - 8 n k, 0) + 16 P^2 + 4 u min(n, 1500)^2

    The last term is that of the calibration; "active" takes 8 n k more.

    Departures from the paper are those of `SparseKernelRegressor`; scores are calibrated.  The mean of y, F_0, is part
    of F.  What the paper prints wrongly: docs/errata.md#sparse-kernel-machines.

    {draws}

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

    family = "sparse_kernel"
    _parameters = (*_BASIS, _UPDATE_OF_CLASSES, _KERNEL, *_REST, shared.CLASS_WEIGHT, *_LAST)
    _attributes = (shared.CLASSES_, *_FITTED)

    def __init__(self, n_estimators: int = 500, *, basis_size: int = 50, max_samples: int | None = 500,
                 selection: Selection = "max-res", update: Literal["full", "one", "group", "active"] = "full",
                 kernel: KernelSpec = "auto", reg_lambda: float | Auto = "auto", early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, max_seconds: float | None = None,
                 class_weight: ClassWeight = None, columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.basis_size = basis_size
        self.max_samples = max_samples
        self.selection = selection
        self.update = update
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _link(self) -> Link:
        return SoftmaxLink()
