"""GBRFF1: gradient boosting of landmarks, each a cosine kernel with a pseudo-posterior (ECML 2020, Algorithm 2)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

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
from ..._estimator.tasks import StagedClassifier
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


class GBRFF1Classifier(StagedClassifier):
    """Gradient boosting of learned landmarks on random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t sum over j of q_tj cos(omega_tj . (x_t - x)).  Each round draws K
    omegas from the spectral density of the Gaussian kernel and learns the landmark x_t whose mean cosine has the
    smallest exponential loss against the residuals y_tilde = y exp(-y H).  It weights the cosines by the
    pseudo-posterior q_tj proportional to exp(-(beta / sqrt n) sum over i of exp(-y_tilde_i cos(omega_tj . (x_t -
    x_i)))), and adds their sum with its closed-form step (L. Gautheron et al., Landmark-based Ensemble Learning with
    Random Fourier Features and Gradient Boosting, ECML 2020, Algorithm 2).  More than two classes are learned one
    against the rest, all in the same rounds.

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

        array:  n (u d + u + (9 + 2 u) k) + u m (2 K + 2) + 8 s + 24 T k K d
        blocks: n (u + 9 k + 4) + m ((8 + u) d + u (2 K + 2)) + (8 + u) b + 2 u min(n, 2^17) + 24 T k K d

    Sample weights take n (8 + u) more.  `RowBlocks` and `numpy.memmap` are read by blocks: packed anew in every pass.
    The time of a landmark's descent does not depend on the number of features.

    Departures from the printed algorithm: |y_tilde| is held to 64 inside the surrogate loss, whose exponential would
    overflow; alpha is held to 9.4 for a weak learner that separates all rows; the rounds end early once the mean loss
    is below 1e-30.  The gradient of the landmark has omega_j inside the sum over j, where the paper prints it outside;
    for K <= n_features the descent is over the K phases of the landmark, which reach every landmark.  `sample_weight`
    multiplies a row's term in every sum: on up to `max_samples` rows an integer weight differs from repetition by
    rounding alone, which the descents of landmarks magnify.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import GBRFF1Classifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = GBRFF1Classifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    family = "gbrff1"
    _parameters = (
        N_LANDMARKS,
        N_COMPONENTS.described("Number of cosines K of a landmark.  With 1 a round learns one phase, by a search for "
                               "the global minimum."),
        GAMMA,
        BETA.described("Inverse temperature of the pseudo-posterior; 0 gives all cosines of a landmark equal weights.  "
                       "In its formula n is the sum of the sample weights."),
        LANDMARKS,
        Parameter("step", Choice(("closed", "exact")),
                  'Size of a step.  "closed" is the closed form of the paper, which minimises a bound of the loss that '
                  'is tight where |h| is 1.  "exact" minimises the loss itself.  Means of K cosines are small, so that '
                  "exact steps are much longer; they are better with few landmarks, and with many where the learning "
                  "rate is about 0.2."),
        LEARNING_RATE,
        LANDMARK_MAX_ITER,
        LANDMARK_MAX_SAMPLES,
        STANDARDIZE,
        EARLY_STOPPING_ROUNDS,
        VALIDATION_FRACTION,
        WARM_START,
        PRECISION,
        CLASS_WEIGHT,
        COLUMNS,
        LANDMARK_RANDOM_STATE,
        N_JOBS,
        VERBOSE,
    )
    _attributes = (
        CLASSES_,
        EXPANSION_.described("The trained function of a raw row, immutable: K terms of amplitude alpha_t q_tj for each "
                             "landmark."),
        LANDMARKS_,
        N_ESTIMATORS_,
        N_COMPONENTS_,
        N_LBFGS_ITER_,
        loss_curves("exponential loss (over outputs too)"),
        EVAL_LOSSES_,
        FEATURE_IMPORTANCES_,
        N_FEATURES_IN_,
    )
    _fitted_curves = CURVES
    _arguments = ARGUMENTS

    def __init__(self, n_estimators: int = 100, *, n_components: int = 10, gamma: Gamma = "scale", beta: float = 1.0,
                 landmarks: Literal["learn", "random"] = "learn", step: Literal["closed", "exact"] = "closed",
                 learning_rate: float = 1.0, max_iter: int = 10, max_samples: int | None = 16384,
                 standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, precision: Precision = "single",
                 class_weight: ClassWeight = None, columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.beta = beta
        self.landmarks = landmarks
        self.step = step
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
        from .recipes import of_landmarks

        return of_landmarks(self)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, NDArray[np.float64]],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        restored = super()._restored(expansion, arrays, classes)
        return restored | restored_rounds(expansion, arrays, self.n_components)

    def _staged(self, X: Any) -> Iterator[NDArray[np.float64]]:
        return staged_scores(self, X)
