"""PBRFF: a pseudo-Bayesian kernel for each of many landmarks, then a linear machine (Letarte et al., AISTATS 2019)."""

import contextlib
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.links import Link, LogisticLink
from ..._estimator.monitor import printing
from ..._estimator.parameters import (
    CLASS_WEIGHT,
    CLASSES_,
    COLUMNS,
    EXPANSION_,
    N_JOBS,
    PRECISION,
    RANDOM_STATE,
    STANDARDIZE,
    Attribute,
    ClassWeight,
    Gamma,
    MapOrNone,
    Parameter,
)
from ..._estimator.tasks import Classifier
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native.array_types import NDArray
from ..._protocol.arguments import Choice, Number, Precision, RandomSource, check_rng
from ..._rows.threads import check_n_threads
from ..._rows.training_rows import Training
from .landmark_features import learn_representation, machine_features
from .linear_svm import fit_machines, probability_slope
from .parameters import KERNEL_ATTRIBUTES, KERNEL_PARAMETERS, LANDMARKS, TELLING
from .preparation import prepared, restored_components

Double = NDArray[np.float64]

# Of C times the weight of a row: beyond these, in double precision, a row has no influence, or must be right.
_BOUNDS = 1e-12, 1e8


class PBRFFClassifier(Classifier):
    """Linear support vector machine on landmark features with pseudo-Bayesian kernels.

    For each landmark (x_l, y_l) K omegas are drawn from the spectral density of the Gaussian kernel.  Their cosines are
    weighted by the pseudo-posterior q_lj proportional to exp(-beta sqrt(n) loss_lj), with loss_lj = 1/2 - 1/2
    (1 / (n - 1)) sum over i != l of y_l y_i cos(omega_lj . (x_l - x_i)).  Feature l of a row is sum over j of
    q_lj cos(omega_lj . (x_l - x)).  A linear machine that minimises 1/2 |w|^2 + C sum of losses is learned on the
    features and a constant (G. Letarte, E. Morvant, P. Germain, Pseudo-Bayesian Learning with Kernel Fourier Transform
    as Prior, AISTATS 2019).  With more than two classes y_l y_i is 1 within a class and -1 otherwise, and there is a
    machine for each class against the rest.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, L landmarks, W = L + 1 rounded up to a multiple of
    16, k machines (1 for two classes), u = 4 in single precision and 8 in double, and b = max(2^20, 2048 d) numbers in
    a block:

        array:  max(n (u (d + W) + 9 + k), n (u W + 131 + 17 k), n (24 + 50 k)) + S
        blocks: max(n (u W + 9 + k) + (8 + u) b, n (u W + 131 + 17 k), n (24 + 50 k)) + S

    S is for Newton's systems, and 0 where conjugate gradients solve them fast: at most 16 n^2 + 10000 n with up to 2 W
    rows, else 64 W^2 where W is 1000 at most, and 8 W^2 + 8000 W beyond.  Sample weights take 8 n more.  `RowBlocks`
    and `numpy.memmap` are read by blocks, and their features are held, twice where some rows have weight 0.

    Machines take 5 to 100 Newton steps, more with the hinge loss and with a large C.  With p the rows near the margin
    (hinge loss) or with a loss (squared), a step is of at most p^3 / 6 multiply-adds with up to 2 W rows, whose
    products take n^2 W / 2 once, else of p W min(p, W) / 2 + min(p, W)^3 / 6.

    The landmarks take n d L K multiply-adds and n L K cosines, twice, and L K d random numbers: with 100,000 columns
    and the default parameters 2e8 multiply-adds for a row.  `verbose` tells how this and the machine go on.

    Departures from the printed algorithm: the landmark's own term is left out of its loss only where it is a row; the
    constant feature is regularised, as the dual descent needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import PBRFFClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = PBRFFClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    _parameters = (
        *KERNEL_PARAMETERS,
        Parameter("C", Number(float, 0, 1e6, open_low=True),
                  "Weight of the losses in the linear machine.  It is multiplied by the sample weight of a row; the "
                  "product is clipped to [1e-12, 1e8]."),
        LANDMARKS,
        Parameter("loss", Choice(("squared_hinge", "hinge")), "Loss of the linear machine."),
        Parameter("tol", Number(float, 1e-12, 1),
                  "The machine is learned until (primal - dual) / primal, the relative gap of its objectives, is at "
                  "most this."),
        STANDARDIZE,
        PRECISION.described(PRECISION.text + "  This is the precision of the features; sums of the machine over them "
                            "are always in double precision."),
        CLASS_WEIGHT,
        COLUMNS,
        RANDOM_STATE.described(
            "Source of one `random` draw of n_landmarks numbers (k-means: for each class as many as it has centers, "
            "after 16384 where it has more rows), then one `standard_normal` draw of shape (n_landmarks, n_components, "
            "n_features)."),
        N_JOBS,
        TELLING,
    )
    _attributes = (
        CLASSES_,
        EXPANSION_.described("The trained function of a raw row, immutable: K terms of amplitude w_l q_lj for each "
                             "landmark."),
        Attribute("proba_slope_", "array of shape (1,)",
                  "P(y = +1 | x) = 1 / (1 + exp(-slope score)); the slope of highest likelihood on the training rows, "
                  "whose labels count as wrong with the small probabilities of J. Platt."),
        Attribute("n_iter_", "int", "Newton steps of all machines; not kept in model files."),
        *KERNEL_ATTRIBUTES,
    )
    _fitted_curves = ("proba_slope_",)

    proba_slope_: Double

    def __init__(self, n_landmarks: int = 100, *, n_components: int = 10, gamma: Gamma = "scale", beta: float = 1.0,
                 C: float = 1.0, landmarks: Literal["random", "kmeans"] = "random",
                 loss: Literal["squared_hinge", "hinge"] = "squared_hinge", tol: float = 1e-4, standardize: bool = True,
                 precision: Precision = "single", class_weight: ClassWeight = None, columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.gamma = gamma
        self.beta = beta
        self.C = C
        self.landmarks = landmarks
        self.loss = loss
        self.tol = tol
        self.standardize = standardize
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _link(self) -> Link:
        return LogisticLink(self.proba_slope_[0])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and labels y.

        Parameters
        ----------
        {X}
        {labels}
        {sample_weight}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        training = self._check_training(X, y, sample_weight)
        rng = check_rng(self.random_state)
        signs = training.rows.targets()
        with printing() if self.verbose else contextlib.nullcontext():
            self._keep(self._learned(training, signs, rng))
        return self

    def _learned(self, training: Training, signs: list[NDArray[np.int8]], rng: "np.random.Generator") -> Fitted:
        rows, n_samples = training.rows, training.rows.X.shape[0]
        scaling, settings = prepared(self, training)
        learned, tiles = learn_representation(rows, scaling, settings, rng)
        features = machine_features(learned.kernels, tiles, n_samples, settings.n_threads)
        del tiles  # the rows give way to what is learned on their features
        weight = rows.weights.unit * rows.weights.each
        if rows.weights.has_zeros:  # only streamed rows
            positive = weight > 0
            features, weight, signs = features[positive], weight[positive], [sign[positive] for sign in signs]
        machines = fit_machines(features, signs, np.clip(self.C * weight, *_BOUNDS), self.loss, self.tol,
                                check_n_threads(self.n_jobs, n_samples * self.n_landmarks),
                                check_n_threads(self.n_jobs, n_samples * self.n_landmarks**2))
        del features
        amplitudes = learned.kernels.posterior[:, :, None] * machines.coef[: self.n_landmarks, None, :]
        attributes = {
            "n_components_": self.n_components, "n_iter_": machines.n_steps,
            "landmarks_": learned.landmarks,
            "proba_slope_": np.array([probability_slope(machines.margins, np.column_stack(signs), weight)]),
        }
        terms = FourierTerms(learned.omegas, learned.phases, amplitudes.reshape(learned.phases.size, -1))
        expansion = Expansion(machines.coef[self.n_landmarks], scaling.center, terms)
        return Fitted(training.names, training.classes, expansion, attributes, column_map=training.column_map)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        slope = arrays["proba_slope_"]
        if slope.shape != (1,) or not slope[0] > 0:
            raise ValueError("the slope of the probabilities is not one positive number")
        return super()._restored(expansion, arrays, classes) | restored_components(self, expansion)
