"""Sparse kernel machines by boosting: least squares on weak learners of many basis vectors (Sun and Yao, 2010)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..._estimator.base import Model
from ..._estimator.links import LinearLink, Link, SoftmaxLink
from ..._estimator.parameters import (
    ARGUMENTS,
    CLASS_WEIGHT,
    CLASSES_,
    COLUMNS,
    EARLY_STOPPING_ROUNDS,
    EVAL_LOSSES_,
    EXPANSION_,
    N_ESTIMATORS_,
    N_FEATURES_IN_,
    N_JOBS,
    PRECISION,
    RANDOM_STATE,
    STANDARDIZE,
    VALIDATION_FRACTION,
    VERBOSE,
    Attribute,
    ClassWeight,
    MapOrNone,
    Parameter,
)
from ..._estimator.staged import StagedClassifier, StagedRegressor
from ..._native.array_types import NDArray
from ..._protocol.arguments import Auto, Number, Precision, RandomSource, check_all
from ...errors import InvalidInputError
from ..kernel_ridge.shares import shares_of_columns
from .ensemble import learn_from_active_rows, learn_from_all_rows
from .likelihood import LengthScales, one_for_all, one_per_column
from .parameters import (
    ALL_ROWS,
    BASIS,
    DRAWS,
    EVAL_SET,
    FEATURE_IMPORTANCES_,
    GOES_ON,
    KERNEL_OF_CLASSES,
    KERNEL_OF_TARGETS,
    LOSS,
    KernelSpec,
    Selection,
    Update,
)
from .stages import staged_scores
from .training import CURVES, Method, restored, train
from .trials import Tried

Double = NDArray[np.float64]

_LAMBDA = Parameter("reg_lambda", Number(float, 0, 1e100, open_low=True, word="auto"),
                    'Weight lambda of the regulariser; "auto" takes the noise of the likeliest Gaussian process, in '
                    "units of the variance of y.")
_REST = (
    _LAMBDA,
    STANDARDIZE.described("Learn on columns of mean 0 and variance 1, in whose units length scales are then given.  "
                          "Prediction takes raw rows either way."),
    EARLY_STOPPING_ROUNDS,
    VALIDATION_FRACTION,
    GOES_ON,
    PRECISION.described(
        "Precision in which kernels are computed and columns are kept.  Sums over rows, coefficients and residuals are "
        'double in both.  "single" takes half of the memory and less time; its kernels are right to about 1e-6.  '
        'It becomes "double" where rows lie farther than 353 length scales from the center of the data.'),
)
_THREADS = (N_JOBS, VERBOSE.described("Print a line on stderr every so many rounds, and at most one a second while "
                                         "a kernel is chosen; 0 for none."))
_FITTED = (
    EXPANSION_.described("The trained function of a raw row, on the distinct basis vectors; immutable."),
    Attribute("kernel_", "dict", "The kernel, in the form of the parameter `kernel`."),
    Attribute("reg_lambda_", "float", "The weight lambda of the regulariser."),
    N_ESTIMATORS_.described("Number of weak learners kept."),
    Attribute("n_skipped_", "int",
              "Number of near-duplicates that were skipped: rows in selections, and whole weak learners; not kept in "
              "model files."),
    Attribute("train_loss_, eval_loss_", "arrays",
              "Mean squared residual (over outputs too) before the first round and after each, for a regressor in "
              "units of the variance of y; eval_loss_ is empty without an `eval_set`.  Rows that a group leaves "
              "out count in train_loss_ with the residual they had when it began."),
    EVAL_LOSSES_,
    FEATURE_IMPORTANCES_,
    Attribute("kernel_parameters_", "array of shape (3 + n_features,)", "Lambda, amplitude, bias and length scales."),
    N_FEATURES_IN_,
)


class _SparseKernelMachine(Model):
    """What the regressor and the classifier share."""

    _parts = ("kernels",)
    _fitted_curves = CURVES
    _arguments = {"X": ARGUMENTS["X"].described(
        "float32 and float64 are kept as given, others are converted to float64.  RowBlocks and `numpy.memmap` are "
        "read block by block; the rows are packed in memory."), "eval_set": EVAL_SET}

    _length_scales: ClassVar[tuple[LengthScales, ...]]  # candidates; the first serves `kernel="likelihood"`

    learner_size: int
    subset_size: int | None
    kernel_parameters_: Double

    def _tried(self, X: Any, y: Any, sample_weight: Any, standardize: bool) -> Any:
        return Tried(self, self._length_scales, X, y, sample_weight, standardize)

    def _check_params(self) -> None:
        size = Number(int, self.learner_size, optional=True)  # learner_size is checked before subset_size
        check_all([parameter._replace(check=size) if parameter.name == "subset_size" else parameter
                   for parameter in self._parameters], self)

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
        return None if state is None else state.so_far

    def _staged(self, X: Any) -> Iterator[Double]:
        return staged_scores(self, X)

    def _restored(self, expansion: Any, arrays: Mapping[str, Double],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        return super()._restored(expansion, arrays, classes) | restored(self, expansion, arrays)


class SparseKernelRegressor(_SparseKernelMachine, StagedRegressor):
    """Least squares on a growing ensemble of sparse kernel learners.

    The model is F(x) = F_0 + sum over m of c_m f_m(x) with weak learners f_m(x) = sum over s of a_ms k(x_ms, x).  The
    kernel is k(x, z) = amplitude exp(-r^2 / 2) + bias, "gaussian", or amplitude exp(-r) + bias, "exponential", with r^2
    the sum over columns l of ((x_l - z_l) / length_scale_l)^2.  The objective is 1/2 |y - F|^2 + lambda/2 |F|^2, with
    norms over rows and in the space of the kernel.  Each round draws a random subset of the rows, selects S basis
    vectors among them, combines them along the gradient of the objective, and makes all coefficients c optimal by a
    step of an incremental factorisation (P. Sun and X. Yao, Sparse Approximation Through Boosting for Learning Large
    Scale Kernel Machines, IEEE Transactions on Neural Networks, 2010).  Targets are learned in units of their standard
    deviation, after subtracting their mean F_0.  Several targets are learned with one kernel, all in the same rounds,
    and share their weak learners unless `shared=False`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs, u = 4 in single precision and 8 in
    double, S = learner_size (twice that of "pairs"), P columns kept (n_estimators of "full" and "pairs", group_size of
    "group", 1 of "one"; twice that where outputs are shared, k times where they are not), and b = max(2^20, 2048 d)
    numbers in a block of `RowBlocks` or `numpy.memmap`:

        array:  n (u (d + 1 + P) + 16 + 32 k) + min(u n S, 2^26) + 16 P^2
        blocks: n (u (d + 1 + P) + 16 + 32 k) + min(u n S, 2^26) + max(8 b - 8 n k, 0) + 16 P^2

    Each held-out row takes u (d + P) + 8 + 32 k, sample weights 16 n, `kernel="auto"` up to 120 MB while it learns, and
    basis vectors with their coefficients, for staged predictions, 8 (S + d + 10) P + 16 P^2, with S = 1 three times
    that.  The n S kernels of a round are kept where they take up to 64 MB; beyond, they are computed twice.

    Departures from the paper: weak learners have length 1 in the space of the kernel, where the paper scales them by
    a_0.  This has no effect on the model, and neither has the amplitude, but for the threshold of "ran": k(x, x) is 1
    there.  Near-duplicates are skipped.  With S = 1, "ald" and "ran" compare a row with all basis vectors, else with
    those of its weak learner; and weak learners are made orthonormal, which changes the model by rounding errors only.

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

    _parameters = (
        *BASIS,
        KERNEL_OF_TARGETS,
        *_REST,
        COLUMNS,
        RANDOM_STATE.described(
            "Source of the random draws: where kernel or reg_lambda is learned, one subset of rows; "
            "where kernels are then compared, one `permutation` of the other rows, and from 8000 rows on one of all "
            "and one `integers`; " + DRAWS),
        *_THREADS,
    )
    _attributes = _FITTED
    _length_scales = (one_per_column,)

    def __init__(self, n_estimators: int = 500, *, learner_size: int = 50, subset_size: int | None = 500,
                 selection: Selection = "max-res", n_candidates: int = 60, update: Update = "pairs",
                 group_size: int = 50, shared: bool = True, kernel: KernelSpec = "auto",
                 reg_lambda: float | Auto = "auto", standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, precision: Precision = "single",
                 columns: MapOrNone = None, random_state: RandomSource = None, n_jobs: int | None = None,
                 verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.learner_size = learner_size
        self.subset_size = subset_size
        self.selection = selection
        self.n_candidates = n_candidates
        self.update = update
        self.group_size = group_size
        self.shared = shared
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.precision = precision
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callable[..., Any] | None = None) -> Self:
        """Learn from rows X and targets y.

        Parameters
        ----------
        {X}
        {targets}
        {sample_weight}
        {eval_set}
        {callback}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        method = Method(self._length_scales, "squared_error", learn_from_all_rows)
        self._keep(train(self, X, y, sample_weight, eval_set, callback, method))
        return self


class SparseKernelClassifier(_SparseKernelMachine, StagedClassifier):
    """Least squares on labels -1 and +1 by a growing ensemble of sparse kernel learners.

    The model F(x) = F_0 + sum over m of c_m f_m(x), with weak learners f_m(x) = sum over s of a_ms k(x_ms, x), is that
    of `SparseKernelRegressor`, which describes the training, with y in {-1, +1}.  F estimates the mean of y; scores are
    by default a slope times F plus a shift, and P(y = +1 | x) = 1 / (1 + exp(-score)).  More than two classes are
    learned one against the rest, all in the same rounds, and share their weak learners unless `shared=False`; their
    probabilities are then in proportion to exp(score).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs (1 for two classes), u = 4 in single
    precision and 8 in double, S = learner_size (twice that of "pairs"), P columns kept (n_estimators of "full" and
    "pairs", group_size of "group", 1 of "one"; twice that where outputs are shared, k times where they are not), and
    b = max(2^20, 2048 d) numbers in a block of `RowBlocks` or `numpy.memmap`:

        array:  n (u (d + 1 + P) + 24 + 24 k) + min(u n S, 2^26) + 16 P^2 + 4 u min(n, 1500)^2
        blocks: n (u (d + 1 + P) + 24 + 24 k) + min(u n S, 2^26) + max(8 b - 8 n k, 0) + 16 P^2 + 4 u min(n, 1500)^2

    The last term is that of loss="calibrated".  Each held-out row takes u (d + P) + 8 + 32 k, sample weights 16 n,
    `kernel="auto"` up to 120 MB while it learns, `all_rows=False` 8 n k, and basis vectors with their coefficients, for
    staged predictions, 8 (S + d + 10) P + 16 P^2, with S = 1 three times that.  The n S kernels of a round are kept
    where they take up to 64 MB; beyond, they are computed twice.

    Departures from the paper are those of `SparseKernelRegressor`.  The mean of y, F_0, is part of F.

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

    _parameters = (
        *BASIS,
        ALL_ROWS,
        LOSS,
        KERNEL_OF_CLASSES,
        *_REST,
        CLASS_WEIGHT,
        COLUMNS,
        RANDOM_STATE.described(
            "Source of the random draws: where kernel or reg_lambda is learned, one subset of rows; "
            "where kernels are then compared, one `permutation` of the other rows, and from 8000 rows on one of all "
            "and one `integers`; " + DRAWS),
        *_THREADS,
    )
    _attributes = (CLASSES_, *_FITTED)
    _length_scales = (one_for_all, one_per_column)  # labels hardly determine one for each column

    def __init__(self, n_estimators: int = 500, *, learner_size: int = 50, subset_size: int | None = 500,
                 selection: Selection = "max-res", n_candidates: int = 60, update: Update = "pairs",
                 group_size: int = 50, shared: bool = True, all_rows: bool = True,
                 loss: Literal["calibrated", "squared_error", "log_loss"] = "calibrated", kernel: KernelSpec = "auto",
                 reg_lambda: float | Auto = "auto", standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, precision: Precision = "single",
                 class_weight: ClassWeight = None, columns: MapOrNone = None, random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.learner_size = learner_size
        self.subset_size = subset_size
        self.selection = selection
        self.n_candidates = n_candidates
        self.update = update
        self.group_size = group_size
        self.shared = shared
        self.all_rows = all_rows
        self.loss = loss
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        if self.loss == "log_loss" and self.update in ("one", "group"):
            raise InvalidInputError(f'loss must be "squared_error" with update={self.update!r}, got "log_loss"')

    def _loss(self) -> str:
        return "squared_error" if self.loss == "calibrated" and self.update in ("one", "group") else self.loss

    def _link(self) -> Link:
        return LinearLink() if self._loss() == "squared_error" else SoftmaxLink()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callable[..., Any] | None = None) -> Self:
        """Learn from rows X and labels y.

        Parameters
        ----------
        {X}
        {labels}
        {sample_weight}
        {eval_set}
        {callback}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        method = Method(self._length_scales, self._loss(),
                        learn_from_all_rows if self.all_rows else learn_from_active_rows)
        self._keep(train(self, X, y, sample_weight, eval_set, callback, method))
        return self
