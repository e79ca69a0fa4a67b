"""Kernel ridge regression on all rows: a classifier and a regressor."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..._column_map.copies import merged_weights
from ..._estimator.base import Model
from ..._estimator.explanations import rows_in_memory
from ..._estimator.links import Link, SoftmaxLink
from ..._estimator.monitor import printing
from ..._estimator.parameters import ARGUMENTS, CLASS_WEIGHT, CLASSES_, ClassWeight, MapOrNone
from ..._estimator.tasks import Classifier, Regressor
from ..._model.expansion import Expansion
from ..._native.array_types import Double
from ..._protocol.arguments import Auto, Precision, RandomSource, check_choice, check_rng
from ...errors import TrainingStateError
from .fit import fit
from .parameters import ATTRIBUTES, KERNEL, REST, LengthScalesSpec, Shape, given_length_scales, shares_of_columns


class _KernelRidge(Model):
    """What the regressor and the classifier share."""

    _draws = ("one `permutation` of the rows, which are in the same order folds, landmarks and the rows that length "
              "scales are chosen on.")

    _parts = ("kernels",)
    _shrinks = True
    _rare_parameters = ("n_landmarks", "cache_size", "tol", "max_iter", "standardize", "precision")
    _fitted_curves = ("kernel_parameters_",)
    _arguments = {"X": ARGUMENTS["X_packed"].described(ARGUMENTS["X_packed"].text[:-1] + ", and the model keeps them.")}

    length_scale: Any
    random_state: Any
    verbose: int
    kernel_parameters_: Double

    @property
    def length_scale_(self) -> Double:
        """Length scales, in units of the columns that learning takes place in."""
        return self.kernel_parameters_[1:].copy()

    @property
    def reg_lambda_(self) -> float:
        """The weight lambda of the regulariser."""
        return float(self.kernel_parameters_[0])

    @property
    def feature_importances_(self) -> Double:
        """The share of each column of the table in the squared distances between rows."""
        return shares_of_columns(self.expansion_, vars(self).get("column_map_"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and y, their labels or targets.

        {fit}
        """
        sample_weight = merged_weights(X, y, sample_weight)
        training = self._check_training(X, y, sample_weight)  # type: ignore[attr-defined]
        with printing(self.verbose), np.errstate(under="ignore"):  # of tiny weights
            self._keep(fit(self, training, check_rng(self.random_state)))
        return self

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        kernel = arrays["kernel_parameters_"]
        if kernel.shape != (1 + expansion.n_features,) or not (kernel > 0).all():
            raise ValueError("kernel parameters are malformed")
        if not isinstance(self.length_scale, str):
            given_length_scales(self.length_scale, expansion.n_features)
        return {}


class KernelRidgeRegressor(_KernelRidge, Regressor):
    """Ridge regression with a kernel on all rows (kernel ridge regression).

    The model is f(x) = f_0 + sum over rows i of a_i k(x_i, x), with f_0 the mean of y, and a minimises sum over rows of
    (y - f)^2 + lambda |f|^2, with the norm in the space of the kernel: (K + lambda) a = y - f_0.  This is solved by
    conjugate gradients with a preconditioner, the Nystroem approximation of K by some rows.  Targets are learned in
    units of their standard deviation; several are learned with one kernel, in the same passes.

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs, u = 4 in single precision and 8 in
    double, L = `n_landmarks`, and C = 2^20 `cache_size`:

        array, blocks: n (u (2 d + L) + 48 + 48 k) + min(C, u n^2) + 60 L^2 + 2^20

    Of rows that are divided, those that the largest region learns from, some 1.6 `region_size`, take the place of n,
    and all take n (20 d + 60) more.  Length scales that are chosen take up to
    6000 (u (2 d + 300) + 600 k) + min(C, 2^27) + 2^26 before that.  Up to 1,500 rows take 16 n^2 and n^3 operations for
    their leave-one-out errors.
    The model takes 8 n (d + k), with regions 1.1 to 1.6 times as much.
    An iteration takes n^2 (2 d + 16) operations for the kernels that are not kept, and
    2 n^2 k for products with them; there are some ten to some hundred iterations, more for small lambda and tol.

    {draws}

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import KernelRidgeRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    >>> model = KernelRidgeRegressor(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.98)
    True
    """

    family = "kernel_ridge_regressor"
    _parameters = (*KERNEL, *REST)
    _attributes = ATTRIBUTES

    def __init__(self, kernel: Shape = "exponential", *, length_scale: LengthScalesSpec = "auto",
                 reg_lambda: float | Auto = "auto", region_size: int | Auto | None = "auto", n_landmarks: int = 512,
                 cache_size: int = 512, tol: float = 1e-3, max_iter: int = 500, standardize: bool = True,
                 precision: Precision = "single", columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.reg_lambda = reg_lambda
        self.region_size = region_size
        self.n_landmarks = n_landmarks
        self.cache_size = cache_size
        self.tol = tol
        self.max_iter = max_iter
        self.standardize = standardize
        self.precision = precision
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the predicted targets at the rows of X, and what they vary by as those of a Gaussian process.

        Parameters
        ----------
        {X}
        return_std : bool, default False
            Whether to return standard deviations, too.

        Returns
        -------
        float64 array: (n_samples,) for one target, (n_samples, n_targets) for more
        or, with `return_std`, a tuple of it and of an array of its shape, the standard deviations of targets: of the
        function and of the noise, of variance s^2 lambda where the covariance of the function is s^2 k.  s^2 is that of
        residuals of training rows that are left out.

        {raises}
        TrainingStateError
            With `return_std`, if the model keeps no s^2: it was trained on more than 1,500 rows, in regions or with
            sample weights, or `conformalize` has replaced what is known of rows that are left out.

        Notes
        -----
        With `return_std` each call takes n^3 operations and 16 n^2 bytes for n training rows.
        """
        check_choice("return_std", return_std, (True, False))
        now = self._snapshot()
        predicted = super(KernelRidgeRegressor, now).predict(X)
        if not return_std:
            return predicted
        from .dense_regression import standard_deviations

        record = vars(now).get("_out_of_fold") or {}
        if "signal_variance" not in record or now.expansion_.kernels.n_regions > 1:
            raise TrainingStateError("return_std needs a model that was trained on 1,500 rows or fewer, in one region, "
                                     "without sample weights, on targets below 1e150, and not conformalized: "
                                     "predict_interval takes any")
        rows = rows_in_memory(now, X, "X").astype(np.float64)
        found = standard_deviations(now.expansion_.kernels, now.reg_lambda_, np.array(record["signal_variance"]), rows,
                                    now.n_jobs)
        return predicted, found.reshape(predicted.shape)


class KernelRidgeClassifier(_KernelRidge, Classifier):
    """Ridge regression with a kernel on labels -1 and +1 of all rows, and probabilities from rows left out.

    The regression f is that of `KernelRidgeRegressor`, which describes the training, with y in {-1, +1}.  Five more
    leave out a fifth of the rows each, in the same passes.  On these out-of-fold predictions the score slope f + shift
    is fitted by logistic regression, so that P(y = +1 | x) = 1 / (1 + exp(-score)).  Of more than two classes each is
    learned against the rest, with one kernel; probabilities are the softmax of scores with one slope and a shift for
    each class.

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `KernelRidgeRegressor`, with k = 1 for two classes:

        array, blocks: n (u (2 d + L) + 100 + 440 k) + min(C, u n^2) + 100 L^2 + 2^20

    Regions, length scales that are chosen, the model and an iteration take what `KernelRidgeRegressor` says, but for
    products with the kernels: 12 n^2 k operations.

    {draws}

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import KernelRidgeClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = KernelRidgeClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    family = "kernel_ridge"
    _parameters = (*KERNEL, CLASS_WEIGHT, *REST)
    _attributes = (CLASSES_, *ATTRIBUTES)

    def __init__(self, kernel: Shape = "exponential", *, length_scale: LengthScalesSpec = "auto",
                 reg_lambda: float | Auto = "auto", region_size: int | Auto | None = "auto", n_landmarks: int = 512,
                 cache_size: int = 512, tol: float = 1e-3, max_iter: int = 500, standardize: bool = True,
                 precision: Precision = "single", class_weight: ClassWeight = None, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.reg_lambda = reg_lambda
        self.region_size = region_size
        self.n_landmarks = n_landmarks
        self.cache_size = cache_size
        self.tol = tol
        self.max_iter = max_iter
        self.standardize = standardize
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _link(self) -> Link:
        return SoftmaxLink()
