"""GBRFF2: gradient boosting of single Fourier features whose frequencies are learned (ECML 2020, Algorithm 3)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..._estimator.parameters import (
    CLASS_WEIGHT,
    CLASSES_,
    COLUMNS,
    EARLY_STOPPING_ROUNDS,
    EVAL_LOSSES_,
    EXPANSION_,
    GAMMA,
    LEARNING_RATE,
    MAX_ITER,
    MAX_SAMPLES,
    N_COMPONENTS_,
    N_ESTIMATORS,
    N_ESTIMATORS_,
    N_FEATURES_IN_,
    N_JOBS,
    PRECISION,
    RANDOM_STATE,
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
from ..._protocol.arguments import Number, Precision, RandomSource
from .kept_rounds import restored_rounds, staged_scores
from .parameters import (
    ARGUMENTS,
    CURVES,
    FEATURE_IMPORTANCES_,
    N_LBFGS_ITER_,
    loss_curves,
)

if TYPE_CHECKING:  # a model that scores loads no training
    from .fit import Callback
    from .recipe import Recipe


class GBRFF2Classifier(StagedClassifier):
    """Gradient boosting of learned random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t cos(omega_t . x - b_t).  Each round draws omega from the spectral
    density of the Gaussian kernel, finds the phase b with the globally smallest exponential loss against the residuals
    y_tilde = y exp(-y H), minimises that loss over omega by L-BFGS, and adds the cosine with its closed-form step
    (L. Gautheron et al., Landmark-based Ensemble Learning with Random Fourier Features and Gradient Boosting, ECML
    2020, Algorithm 3).  More than two classes are learned one against the rest, all in the same rounds.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs (1 for two classes), m rows in a subset (n
    where there is one), T rounds, u = 4 in single precision and 8 in double, s = n where there are several subsets and
    0 else, and b = max(2^20, 2048 d) numbers in a block:

        array:  n (u d + u + (9 + 2 u) k) + 2 u m + 8 s + 24 T k d
        blocks: n (u + 9 k + 4) + m ((8 + u) d + 2 u) + (8 + u) b + 2 u min(n, 2^17) + 24 T k d

    Sample weights take n (8 + u) more; an X that is neither float32 nor float64 is copied, in 8 n d, and where it is
    read by blocks, block by block.  `RowBlocks` and `numpy.memmap` are read by blocks: packed anew in every pass.

    Departures from the printed algorithm: |y_tilde| is held to 64 inside the surrogate loss, whose exponential would
    overflow; alpha is held to 9.4 for a weak learner that separates all rows; the rounds end early once the mean loss
    is below 1e-30.  `sample_weight` multiplies a row's term in every sum: on up to `max_samples` rows an integer
    weight differs from repetition by rounding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import GBRFF2Classifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = GBRFF2Classifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    family = "gbrff2"
    _parameters = (
        N_ESTIMATORS,
        GAMMA,
        Parameter("reg_lambda", Number(float, 0), "Weight of |omega|^2 in the descent."),
        LEARNING_RATE,
        MAX_ITER.described("L-BFGS iterations per round; 0 keeps the drawn omega."),
        MAX_SAMPLES.described(
            "Largest number of rows that one round's phase search and descent use; step and update use all.  More rows "
            "than this are shuffled once and divided into equal subsets, which the rounds take in turn.  None: all "
            "rows in every descent, so that RowBlocks are held in memory too.  Fewer rows train faster and smooth the "
            "model; on data whose classes have curved boundaries in few columns, 8192 have cost 0.2 points of "
            "accuracy."),
        STANDARDIZE,
        EARLY_STOPPING_ROUNDS,
        VALIDATION_FRACTION,
        WARM_START,
        PRECISION,
        CLASS_WEIGHT,
        COLUMNS,
        RANDOM_STATE.described(
            "Source of one `standard_normal` draw of shape (n_estimators, n_outputs, n_features) and, where there are "
            "more than `max_samples` rows, one `permutation` of those with positive weight."),
        N_JOBS,
        VERBOSE,
    )
    _attributes = (
        CLASSES_,
        EXPANSION_,
        N_ESTIMATORS_,
        N_COMPONENTS_.described("Cosines of a round and an output: 1."),
        N_LBFGS_ITER_,
        loss_curves("exponential loss (over outputs too)"),
        EVAL_LOSSES_,
        FEATURE_IMPORTANCES_,
        N_FEATURES_IN_,
    )
    _fitted_curves = CURVES
    _arguments = ARGUMENTS

    def __init__(self, n_estimators: int = 100, *, gamma: Gamma = "scale", reg_lambda: float = 2**-5,
                 learning_rate: float = 1.0, max_iter: int = 10, max_samples: int | None = 16384,
                 standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, precision: Precision = "single",
                 class_weight: ClassWeight = None, columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.reg_lambda = reg_lambda
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
        from .recipes import of_cosines

        return of_cosines(self.reg_lambda, self.max_iter)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, NDArray[np.float64]],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        return super()._restored(expansion, arrays, classes) | restored_rounds(expansion, arrays)

    def _staged(self, X: Any) -> Iterator[NDArray[np.float64]]:
        return staged_scores(self, X)
