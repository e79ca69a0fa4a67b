"""GBRFF2, GBRFF1 and GBRFF: gradient boosting of random Fourier features (ECML 2020, Algorithms 3 and 2; 2019)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..._estimator import parameters as shared
from ..._estimator.base import Model
from ..._estimator.links import LinearLink, Link
from ..._estimator.parameters import Attribute, ClassWeight, Density, Gamma, MapOrNone, Parameter, eval_sets
from ..._estimator.tasks import StagedClassifier, StagedRegressor
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native import scoring
from ..._native.array_types import Double
from ..._protocol.arguments import Precision, RandomSource, choice, number
from ..posterior import POSTERIOR, posterior_of

if TYPE_CHECKING:  # a model that scores loads no training
    from .boosting import Callback

_N_LANDMARKS = shared.N_ESTIMATORS.described("Number of boosting rounds T, and of landmarks.")
_LANDMARKS = Parameter("landmarks", choice("learn", "random"),
                      '"learn" learns each landmark by a descent; "random" takes rows, drawn with replacement.')
_LANDMARK_MAX_ITER = shared.MAX_ITER.described(
    "L-BFGS iterations per landmark, which starts from the mean of the rows.")
_SAMPLES = ("  More rows than this are shuffled once and divided into equal samples, which the rounds take in turn.  "
            "None: all rows")
_LANDMARK_MAX_SAMPLES = shared.MAX_SAMPLES.described(
    "Largest number of rows that one round's landmark and pseudo-posterior are learned on; the step uses all rows."
    f"{_SAMPLES}.")
_LANDMARK_DRAWS = (
    "one `standard_normal` of shape (n_estimators, n_outputs, n_components, n_features), where there are more than "
    "`max_samples` rows one `permutation` of those with positive weight, and for random landmarks one `random` of "
    "n_estimators n_outputs numbers.")

_LANDMARKS_ = Attribute("landmarks_", "array of shape (n_estimators_, n_features), or (n_estimators_, n_outputs, "
                       "n_features) for several outputs",
                       "In feature units; not kept in model files.  Where several points have the same phases it is "
                       "the one closest to the mean of the rows.")
_POSTERIOR_ = Attribute("posterior_", "array of shape (n_estimators_, n_components_), or (n_estimators_, n_outputs, "
                        "n_components_) for several outputs", POSTERIOR)
_CONVERGENCE_BOUND_ = Attribute(
    "convergence_bound_", "array of shape (n_rounds + 1,)",
    "Bound of `train_loss_`, from the steps alone: mean over outputs of 1 / cosh(H_0) times the product over rounds t "
    "of cosh(v alpha_t) - tanh(alpha_t) sinh(v alpha_t), which is 1 / cosh(alpha_t) where the learning rate v is 1.  "
    "It follows from the closed form of the step, by which alpha_t = artanh of the edge of round t, and bounds the "
    "share of wrong training rows, too.  It holds up to the rounding of exp(-y H) at single rows: a relative 5e-7, or "
    '1e-14 with `precision="double"`.  Not kept in model files.')
_N_LBFGS_ITER_ = Attribute("n_iter_", "int",
                          "L-BFGS iterations of all descents together; not kept in model files.")
_FEATURE_IMPORTANCES_ = Attribute(
    "feature_importances_", "array of shape (n_features_in_,)",
    "For each column of the table, its share in what the rounds gained: sum over rounds t of (L_{t-1} - L_t) s_tj / "
    "sum over j of s_tj, divided by its sum over j.  L_t is the training loss after round t, and s_tj the sum over the "
    "cosines of round t of (amplitude omega_j)^2, with omega in units of the standard deviations of the columns.  The "
    "sum is 1, or 0 where there is no round.")
_LAST = *shared.LAST, shared.VERBOSE
_OF_TRAINING = (shared.STANDARDIZE, shared.EARLY_STOPPING_ROUNDS, shared.VALIDATION_FRACTION, shared.WARM_START,
                shared.MAX_SECONDS)


def _loss_curves(what: str) -> Attribute:
    """The attributes train_loss_ and eval_loss_, of a mean of some loss."""
    return Attribute("train_loss_, eval_loss_", "arrays of shape (n_rounds + 1,)",
                     f"Mean {what} before the first round and after each; eval_loss_ is empty where no row is held "
                     "out.")


class _Boosted(Model):
    """What the four classes have in common."""

    n_components_: int

    _rare_parameters = ("kernel", "max_iter", "max_samples", "standardize", "validation_fraction", "warm_start",
                        "max_seconds", "precision")
    _fitted_curves = ("train_loss_", "eval_loss_", "feature_importances_")
    _arguments = {"eval_set": eval_sets(shared.ARGUMENTS["eval_set"].text)}

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: "Callback | None" = None) -> Self:
        """Learn from rows X and y, their labels or targets.

        {fit}
        TrainingStateError
            With `warm_start`, for a model read from a file or trained without it.
        """
        from .boosting import train

        with np.errstate(under="ignore"):  # of tiny weights
            self._keep(train(self, X, y, sample_weight, eval_set, callback))
        return self

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        n_components: int = getattr(self, "n_components", 1)  # of a weak learner; GBRFF2 has no such parameter
        n_rounds, left_over = divmod(expansion.n_terms, expansion.n_outputs * n_components)
        train_loss, eval_loss = arrays["train_loss_"], arrays["eval_loss_"]
        if (left_over or train_loss.ndim != 1 or eval_loss.ndim != 1 or eval_loss.size not in (0, train_loss.size)
                or n_rounds != (eval_loss.argmin() if eval_loss.size else train_loss.size - 1)):
            raise ValueError("rounds and loss curves do not agree in number")
        return {"n_estimators_": n_rounds, "n_components_": n_components}

    def _staged(self, X: Any) -> Iterator[Double]:
        X, expansion = self._check_rows(X), self.expansion_
        terms, n_outputs = expansion.fourier, expansion.n_outputs
        terms_per_stage = n_outputs * self.n_components_
        # A few stages are scored together, as outputs of one expansion that differ in how many terms they have.
        per_group = max(1, scoring.TERM_MULTIPLES[1] // terms_per_stage) * terms_per_stage
        total = np.tile(expansion.intercept, (X.shape[0], 1))
        for start in range(0, terms.n_terms, per_group):
            some = slice(start, start + per_group)
            stage_of_term = np.arange(len(terms.phases[some])) // terms_per_stage
            reached = stage_of_term[:, None] <= np.arange(stage_of_term[-1] + 1)
            amplitudes = (terms.amplitudes[some][:, None, :] * reached[:, :, None]).reshape(len(stage_of_term), -1)
            group = Expansion(np.zeros(amplitudes.shape[1]), expansion.center,
                              FourierTerms(terms.omegas[some], terms.phases[some], amplitudes))
            scores = group._scorer.score(X, self.n_jobs).reshape(X.shape[0], -1, n_outputs)
            for stage in range(scores.shape[1]):
                yield total + scores[:, stage]
            total = total + scores[:, -1]


class _Landmarks(_Boosted):
    """What those with landmarks have in common."""

    _draws = _LANDMARK_DRAWS


    n_estimators_: int

    @property
    def posterior_(self) -> Double:
        """The weights of the cosines of each landmark, whose sum is 1."""
        n_outputs = self.expansion_.n_outputs
        outputs = () if n_outputs == 1 else (n_outputs,)
        return posterior_of(self, (self.n_estimators_, *outputs, self.n_components_))


class GBRFF2Classifier(_Boosted, StagedClassifier):
    """Gradient boosting of learned random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t cos(omega_t . x - b_t).  Each round draws omega from the spectral
    density of the kernel, finds the phase b with the globally smallest exponential loss against the residuals
    y_tilde = y exp(-y H), minimises that loss over omega by L-BFGS, and adds the cosine with its closed-form step
    (L. Gautheron et al., Landmark-based Ensemble Learning with Random Fourier Features and Gradient Boosting, ECML
    2020, Algorithm 3).  More than two classes are learned one against the rest, all in the same rounds.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k outputs (1 for two classes), m rows in a sample (n
    where there is one), T rounds, u = 4 in single precision and 8 in double, s = n where there are several samples and
    0 else, and b = max(2^20, 2048 d) numbers in a block:

        array:  n (u d + u + (9 + 2 u) k) + 2 u m + 8 s + 24 T k d
        blocks: n (u + 9 k + 4) + m ((8 + u) d + 2 u) + (8 + u) b + 2 u min(n, 2^17) + 24 T k d

    Sample weights take n (8 + u) more; an X that is neither float32 nor float64 is copied, in 8 n d, and where it is
    read by blocks, block by block.  `RowBlocks` and `numpy.memmap` are read by blocks: packed anew in every pass.

    Departures from the printed algorithm: |y_tilde| is held to 64 inside the surrogate loss, whose exponential would
    overflow; alpha is held to 9.4 for a weak learner that separates all rows; the rounds end early once the mean loss
    is below 1e-30; rounds learn on at most `max_samples` rows; the phase b is the global minimum, not that of a
    descent; gamma and lambda have defaults, where the paper searches both; columns are standardised.  What the paper
    prints wrongly: docs/errata.md#gbrff1-and-gbrff2.  `sample_weight` multiplies a row's term in every sum: on up to
    `max_samples` rows an integer weight differs from repetition by rounding alone.

    {draws}

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
        shared.N_ESTIMATORS,
        shared.GAMMA, shared.KERNEL,
        Parameter("reg_lambda", number(float, 0), "Weight of |omega|^2 in the descent."),
        shared.LEARNING_RATE,
        shared.MAX_ITER.described("L-BFGS iterations per round; 0 keeps the drawn omega."),
        shared.MAX_SAMPLES.described(
            f"Largest number of rows that one round's phase search and descent use; step and update use all.{_SAMPLES} "
            "in every descent, so that RowBlocks are held in memory too.  Fewer rows train faster and smooth the "
            "model; on data whose classes have curved boundaries in few columns, 8192 have cost 0.2 points of "
            "accuracy."),
        *_OF_TRAINING, shared.PRECISION, shared.CLASS_WEIGHT, *_LAST,
    )
    _draws = ("one `standard_normal` of shape (n_estimators, n_outputs, n_features) and, where there are more than "
              "`max_samples` rows, one `permutation` of those with positive weight.")
    _attributes = (
        shared.CLASSES_, shared.EXPANSION_, shared.N_ESTIMATORS_,
        shared.N_COMPONENTS_.described("Cosines of a round and an output: 1."),
        _N_LBFGS_ITER_, _loss_curves("exponential loss (over outputs too)"), _CONVERGENCE_BOUND_,
        shared.EVAL_LOSSES_, shared.TIMED_OUT_, _FEATURE_IMPORTANCES_, shared.N_FEATURES_IN_,
    )

    def __init__(self, n_estimators: int = 100, *, gamma: Gamma = "scale", kernel: Density = "gaussian",
                 reg_lambda: float = 2**-5, learning_rate: float = 1.0, max_iter: int = 10,
                 max_samples: int | None = 16384, standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, max_seconds: float | None = None,
                 precision: Precision = "single", class_weight: ClassWeight = None, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.kernel = kernel
        self.reg_lambda = reg_lambda
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_samples = max_samples
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBRFF1Classifier(_Landmarks, StagedClassifier):
    """Gradient boosting of learned landmarks on random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t sum over j of q_tj cos(omega_tj . (x_t - x)).  Each round draws K
    omegas from the spectral density of the kernel and learns the landmark x_t whose mean cosine has the
    smallest exponential loss against the residuals y_tilde = y exp(-y H).  It weights the cosines by the
    pseudo-posterior q_tj proportional to exp(-(beta / sqrt n) sum over i of exp(-y_tilde_i cos(omega_tj . (x_t -
    x_i)))), and adds their sum with its closed-form step (L. Gautheron et al., Landmark-based Ensemble Learning with
    Random Fourier Features and Gradient Boosting, ECML 2020, Algorithm 2).  More than two classes are learned one
    against the rest, all in the same rounds.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `GBRFF2Classifier`, with K cosines of a landmark:

        array:  n (u d + u + (9 + 2 u) k) + u m (2 K + 2) + 8 s + 24 T k K d
        blocks: n (u + 9 k + 4) + m ((8 + u) d + u (2 K + 2)) + (8 + u) b + 2 u min(n, 2^17) + 24 T k K d

    Sample weights and streamed rows take what they do there.  The time of a landmark's descent does not depend on the
    number of features.

    Departures from the printed algorithm are those of `GBRFF2Classifier`; for K <= n_features the descent is also over
    the K phases of the landmark, which reach every landmark.  The gradient of the landmark has omega_j inside the sum
    over j, where the paper prints it outside; this and other errata: docs/errata.md#gbrff1-and-gbrff2.
    The descents of landmarks magnify the rounding by which integer weights differ there from repetition.  n in the
    formula of q_j is the sum of the weights, so that their unit matters: with weights of mean 1 beta means what it does
    without any.

    {draws}

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
        _N_LANDMARKS,
        shared.N_COMPONENTS.described(
            "Number of cosines K of a landmark.  With 1 a round learns one phase, by a search for the global minimum."),
        shared.GAMMA, shared.KERNEL,
        shared.BETA.described(shared.BETA.text + "  In its formula n is the sum of the sample weights."),
        _LANDMARKS,
        Parameter("step", choice("closed", "exact"),
                  'Size of a step.  "closed" is the closed form of the paper, which minimises a bound of the loss that '
                  'is tight where |h| is 1.  "exact" minimises the loss itself.  Means of K cosines are small, so that '
                  "exact steps are much longer; they are better with few landmarks, and with many where the learning "
                  "rate is about 0.2."),
        shared.LEARNING_RATE, _LANDMARK_MAX_ITER, _LANDMARK_MAX_SAMPLES, *_OF_TRAINING, shared.PRECISION,
        shared.CLASS_WEIGHT, *_LAST,
    )
    _attributes = (
        shared.CLASSES_,
        shared.EXPANSION_.described(
            "The trained function of a raw row, immutable: K terms of amplitude alpha_t q_tj for each landmark."),
        _LANDMARKS_, _POSTERIOR_, shared.N_ESTIMATORS_, shared.N_COMPONENTS_, _N_LBFGS_ITER_,
        _loss_curves("exponential loss (over outputs too)"),
        _CONVERGENCE_BOUND_.described(_CONVERGENCE_BOUND_.text + "  Empty with exact steps."),
        shared.EVAL_LOSSES_, shared.TIMED_OUT_, _FEATURE_IMPORTANCES_, shared.N_FEATURES_IN_,
    )

    def __init__(self, n_estimators: int = 100, *, n_components: int = 10, gamma: Gamma = "scale",
                 kernel: Density = "gaussian", beta: float = 1.0, landmarks: Literal["learn", "random"] = "learn",
                 step: Literal["closed", "exact"] = "closed", learning_rate: float = 1.0, max_iter: int = 10,
                 max_samples: int | None = 16384, standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, max_seconds: float | None = None,
                 precision: Precision = "single", class_weight: ClassWeight = None, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
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
        self.max_seconds = max_seconds
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


_PARAMETERS = (
    _N_LANDMARKS, shared.N_COMPONENTS, shared.GAMMA.described(shared.GAMMA.text + "  The paper has 0.5."),
    shared.KERNEL, shared.BETA, _LANDMARKS,
    Parameter("scale_residuals", choice(True, False),
              "Fit landmark and pseudo-posterior to residuals in units of their root mean square, because a cosine has "
              "size 1 and residuals shrink round by round.  False fits them as they are, as the paper prints it."),
    shared.LEARNING_RATE.described("Factor v on every step."), _LANDMARK_MAX_ITER, _LANDMARK_MAX_SAMPLES,
    *_OF_TRAINING, shared.PRECISION.described(shared.PRECISION.text.replace("predictions kept", "residuals kept")),
)
_ATTRIBUTES = (
    shared.EXPANSION_.described(
        "The trained function of a raw row, immutable: K terms of amplitude v alpha_t q_tj for each landmark."),
    _LANDMARKS_, _POSTERIOR_, shared.N_ESTIMATORS_, shared.N_COMPONENTS_, _N_LBFGS_ITER_,
    _loss_curves("squared residual (over outputs too), of a regressor in units of the variance of y,"),
    shared.EVAL_LOSSES_, shared.TIMED_OUT_, _FEATURE_IMPORTANCES_, shared.N_FEATURES_IN_,
)


class GBRFFRegressor(_Landmarks, StagedRegressor):
    """Gradient boosting of learned landmarks for the squared error.

    The model is H(x) = H_0 + sum over t of v alpha_t sum over j of q_tj cos(omega_tj . (x_t - x)).  Each round draws K
    omegas from the spectral density of the kernel and learns the landmark x_t whose mean cosine minimises the
    squared error to the residuals r = y - H.  It weights the cosines by the pseudo-posterior q_tj proportional to
    exp(-(beta / n) sum over i of (r_i - cos(omega_tj . (x_t - x_i)))^2), and adds their sum with its least-squares step
    (L. Gautheron et al., Learning Landmark-Based Ensembles with Random Fourier Features and Gradient Boosting, 2019,
    which calls beta c).  Targets are learned in units of their standard deviation; several are learned one by one, all
    in the same rounds.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `GBRFF2Classifier`, with K cosines of a landmark:

        array:  n (u d + 2 u + (16 + u) k) + u m (2 K + 2) + 16 s + 24 T k K d
        blocks: n (u + 8 k + 4) + m ((8 + u) d + u (2 K + 3)) + max(8 n k, (8 + u) b + u min(n, 2^17)) + 24 T k K d

    Sample weights take n (8 + u) more.  `RowBlocks` and `numpy.memmap` are read by blocks: packed anew in every pass.
    The time of a landmark's descent does not depend on the number of features.

    Departures from the printed algorithm: the pseudo-posterior has the minus sign that the second line of eq. 7 lacks;
    residuals are scaled (`scale_residuals`); gamma is 1 / n_features, where the paper prints 0.5; rounds learn on at
    most `max_samples` rows; for K <= n_features the descent is over the K phases of the landmark, which reach every
    landmark.  What the paper prints wrongly: docs/errata.md#gbrff.

    {draws}

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
    _parameters = (*_PARAMETERS, *_LAST)
    _attributes = _ATTRIBUTES

    def __init__(self, n_estimators: int = 200, *, n_components: int = 100, gamma: Gamma = "scale",
                 kernel: Density = "gaussian", beta: float = 16.0, landmarks: Literal["learn", "random"] = "learn",
                 scale_residuals: bool = True, learning_rate: float = 0.5, max_iter: int = 10,
                 max_samples: int | None = 16384, standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, max_seconds: float | None = None,
                 precision: Precision = "single", columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
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
        self.max_seconds = max_seconds
        self.precision = precision
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBRFFClassifier(_Landmarks, StagedClassifier):
    """Gradient boosting of learned landmarks for the squared error on labels -1 and +1.

    The algorithm is that of `GBRFFRegressor` on y in {-1, +1}, which is not standardised.  H estimates the mean of y,
    so that P(y = +1 | x) = (1 + H) / 2, held to [0, 1].  More than two classes are learned one against the rest, all in
    the same rounds.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `GBRFF2Classifier`, with K cosines of a landmark:

        array:  n (u d + 2 u + (9 + u) k) + u m (2 K + 2) + 8 s + 24 T k K d
        blocks: n (u + 9 k + 4) + m ((8 + u) d + u (2 K + 3)) + (8 + u) b + 2 u min(n, 2^17) + 24 T k K d

    Sample weights take n (8 + u) more.

    Departures from the printed algorithm are those of `GBRFFRegressor`; docs/errata.md#gbrff has the errata.

    {draws}

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
    _parameters = (*_PARAMETERS, shared.CLASS_WEIGHT, *_LAST)
    _attributes = (shared.CLASSES_, *_ATTRIBUTES)

    def __init__(self, n_estimators: int = 200, *, n_components: int = 100, gamma: Gamma = "scale",
                 kernel: Density = "gaussian", beta: float = 16.0, landmarks: Literal["learn", "random"] = "learn",
                 scale_residuals: bool = True, learning_rate: float = 0.1, max_iter: int = 10,
                 max_samples: int | None = 16384, standardize: bool = True, early_stopping_rounds: int | None = 20,
                 validation_fraction: float | None = None, warm_start: bool = False, max_seconds: float | None = None,
                 precision: Precision = "single", class_weight: ClassWeight = None, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
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
        self.max_seconds = max_seconds
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _link(self) -> Link:
        return LinearLink()
