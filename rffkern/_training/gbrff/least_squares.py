"""GBRFF with least squares: boosting of landmark kernels that fit residuals (Gautheron et al., 2019)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..._estimator.links import LinearLink, Link
from ..._estimator.parameters import (
    BETA,
    CLASS_WEIGHT,
    CLASSES_,
    COLUMNS,
    EARLY_STOPPING_ROUNDS,
    EVAL_LOSSES_,
    EXPANSION_,
    GAMMA,
    LEARNING_RATE,
    N_COMPONENTS,
    N_COMPONENTS_,
    N_ESTIMATORS_,
    N_FEATURES_IN_,
    N_JOBS,
    PRECISION,
    STANDARDIZE,
    VALIDATION_FRACTION,
    VERBOSE,
    WARM_START,
    ClassWeight,
    Gamma,
    MapOrNone,
    Parameter,
)
from ..._estimator.tasks import StagedClassifier, StagedRegressor
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._protocol.arguments import Choice, Precision, RandomSource
from .kept_rounds import restored_rounds, staged_scores
from .parameters import (
    ARGUMENTS,
    CURVES,
    FEATURE_IMPORTANCES_,
    LANDMARK_MAX_ITER,
    LANDMARK_MAX_SAMPLES,
    LANDMARK_RANDOM_STATE,
    LANDMARKS,
    LANDMARKS_,
    N_LANDMARKS,
    N_LBFGS_ITER_,
    loss_curves,
)

if TYPE_CHECKING:  # a model that scores loads no training
    from .fit import Callback
    from .recipe import Recipe

_PARAMETERS = (
    N_LANDMARKS,
    N_COMPONENTS,
    GAMMA.described(GAMMA.text + "  The paper has 0.5."),
    BETA,
    LANDMARKS,
    Parameter("scale_residuals", Choice((True, False)),
              "Fit landmark and pseudo-posterior to residuals in units of their root mean square, because a cosine has "
              "size 1 and residuals shrink round by round.  False fits them as they are, as the paper prints it."),
    LEARNING_RATE.described("Factor v on every step."),
    LANDMARK_MAX_ITER,
    LANDMARK_MAX_SAMPLES,
    STANDARDIZE,
    EARLY_STOPPING_ROUNDS,
    VALIDATION_FRACTION,
    WARM_START,
    PRECISION.described(PRECISION.text.replace("predictions kept", "residuals kept")),
    COLUMNS,
    LANDMARK_RANDOM_STATE,
    N_JOBS,
    VERBOSE,
)
_N_TRAINING = [parameter.name for parameter in _PARAMETERS].index("columns")
_ATTRIBUTES = (
    EXPANSION_.described("The trained function of a raw row, immutable: K terms of amplitude v alpha_t q_tj for each "
                         "landmark."),
    LANDMARKS_,
    N_ESTIMATORS_,
    N_COMPONENTS_,
    N_LBFGS_ITER_,
    loss_curves("squared residual (over outputs too), of a regressor in units of the variance of y,"),
    EVAL_LOSSES_,
    FEATURE_IMPORTANCES_,
    N_FEATURES_IN_,
)


class GBRFFRegressor(StagedRegressor):
    """Gradient boosting of learned landmarks for the squared error.

    The model is H(x) = H_0 + sum over t of v alpha_t sum over j of q_tj cos(omega_tj . (x_t - x)).  Each round draws K
    omegas from the spectral density of the Gaussian kernel and learns the landmark x_t whose mean cosine minimises the
    squared error to the residuals r = y - H.  It weights the cosines by the pseudo-posterior q_tj proportional to
    exp(-(beta / n) sum over i of (r_i - cos(omega_tj . (x_t - x_i)))^2), and adds their sum with its least-squares step
    (L. Gautheron et al., Learning Landmark-Based Ensembles with Random Fourier Features and Gradient Boosting, 2019,
    which calls beta c).  Targets are learned in units of their standard deviation; several are learned one by one, all
    in the same rounds.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs, T rounds, K cosines
    of a landmark, m rows in a subset (n where there is one), u = 4 in single precision and 8 in double, s = n where
    there are several subsets and 0 else, and b = max(2^20, 2048 d) numbers in a block:

        array:  n (u d + 2 u + (16 + u) k) + u m (2 K + 2) + 16 s + 24 T k K d
        blocks: n (u + 8 k + 4) + m ((8 + u) d + u (2 K + 3)) + max(8 n k, (8 + u) b + u min(n, 2^17)) + 24 T k K d

    Sample weights take n (8 + u) more.  `RowBlocks` and `numpy.memmap` are read by blocks: packed anew in every pass.
    The time of a landmark's descent does not depend on the number of features.

    Departures from the printed algorithm: the pseudo-posterior has the minus sign that the second line of eq. 7 lacks;
    residuals are scaled (`scale_residuals`); for K <= n_features the descent is over the K phases of the landmark,
    which reach every landmark.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import GBRFFRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    >>> model = GBRFFRegressor(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    family = "gbrff_regressor"
    _parameters = _PARAMETERS
    _attributes = _ATTRIBUTES
    _fitted_curves = CURVES
    _arguments = ARGUMENTS

    def __init__(self, n_estimators: int = 200, *, n_components: int = 100, gamma: Gamma = "scale",
                 beta: float = 16.0, landmarks: Literal["learn", "random"] = "learn", scale_residuals: bool = True,
                 learning_rate: float = 0.5, max_iter: int = 10, max_samples: int | None = 16384,
                 standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, precision: Precision = "single",
                 columns: MapOrNone = "auto", random_state: RandomSource = None, n_jobs: int | None = None,
                 verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.beta = beta
        self.landmarks = landmarks
        self.scale_residuals = scale_residuals
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_samples = max_samples
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
            callback: "Callback | None" = None) -> Self:
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
        TrainingStateError
            With `warm_start`, for a model read from a file or trained without it.
        """
        from .fit import train

        self._keep(train(self, X, y, sample_weight, eval_set, self._recipe(), callback))
        return self

    def _recipe(self) -> "Recipe[Any]":
        """What training does for the parameters."""
        from .recipes import of_least_squares

        return of_least_squares(self)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, NDArray[np.float64]],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        restored = super()._restored(expansion, arrays, classes)
        return restored | restored_rounds(expansion, arrays, self.n_components)

    def _staged(self, X: Any) -> Iterator[NDArray[np.float64]]:
        return staged_scores(self, X)


class GBRFFClassifier(StagedClassifier):
    """Gradient boosting of learned landmarks for the squared error on labels -1 and +1.

    The algorithm is that of `GBRFFRegressor` on y in {-1, +1}, which is not standardised.  H estimates the mean of y,
    so that P(y = +1 | x) = (1 + H) / 2, held to [0, 1].  More than two classes are learned one against the rest, all in
    the same rounds.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs (1 for two classes), T rounds, K cosines
    of a landmark, m rows in a subset (n where there is one), u = 4 in single precision and 8 in double, s = n where
    there are several subsets and 0 else, and b = max(2^20, 2048 d) numbers in a block:

        array:  n (u d + 2 u + (9 + u) k) + u m (2 K + 2) + 8 s + 24 T k K d
        blocks: n (u + 9 k + 4) + m ((8 + u) d + u (2 K + 3)) + (8 + u) b + 2 u min(n, 2^17) + 24 T k K d

    Sample weights take n (8 + u) more.  `RowBlocks` and `numpy.memmap` are read by blocks: packed anew in every pass.

    Departures from the printed algorithm are those of `GBRFFRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import GBRFFClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = GBRFFClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    family = "gbrff"
    _parameters = (*_PARAMETERS[:_N_TRAINING], CLASS_WEIGHT, *_PARAMETERS[_N_TRAINING:])
    _attributes = (CLASSES_, *_ATTRIBUTES)
    _fitted_curves = CURVES
    _arguments = ARGUMENTS

    def __init__(self, n_estimators: int = 200, *, n_components: int = 100, gamma: Gamma = "scale",
                 beta: float = 16.0, landmarks: Literal["learn", "random"] = "learn", scale_residuals: bool = True,
                 learning_rate: float = 0.1, max_iter: int = 10, max_samples: int | None = 16384,
                 standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, precision: Precision = "single",
                 class_weight: ClassWeight = None, columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.beta = beta
        self.landmarks = landmarks
        self.scale_residuals = scale_residuals
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_samples = max_samples
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

    def _link(self) -> Link:
        return LinearLink()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: "Callback | None" = None) -> Self:
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
        TrainingStateError
            With `warm_start`, for a model read from a file or trained without it.
        """
        from .fit import train

        self._keep(train(self, X, y, sample_weight, eval_set, self._recipe(), callback))
        return self

    def _recipe(self) -> "Recipe[Any]":
        """What training does for the parameters."""
        from .recipes import of_least_squares

        return of_least_squares(self)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, NDArray[np.float64]],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        restored = super()._restored(expansion, arrays, classes)
        return restored | restored_rounds(expansion, arrays, self.n_components)

    def _staged(self, X: Any) -> Iterator[NDArray[np.float64]]:
        return staged_scores(self, X)
