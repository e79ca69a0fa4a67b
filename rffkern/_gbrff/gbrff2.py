"""GBRFF2: gradient boosting of single Fourier features whose frequencies are learned (ECML 2020, Algorithm 3)."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._data.arguments import Number
from .._estimator.base import Classifier
from .._estimator.parameters import (
    CLASSES_,
    EARLY_STOPPING_ROUNDS,
    EXPANSION_,
    GAMMA,
    LEARNING_RATE,
    MAX_ITER,
    MAX_SAMPLES,
    N_COMPONENTS_,
    N_ESTIMATORS,
    N_ESTIMATORS_,
    N_FEATURES_IN_,
    N_THREADS,
    PRECISION,
    RANDOM_STATE,
    STANDARDIZE,
    VERBOSE,
    Attribute,
    Parameter,
)
from .._kernels import gbrff_omega, gbrff_phase, lbfgs
from ..expansion import Expansion
from .fit import restored_rounds, staged_scores, train
from .loss_states import CosineSum, Margins
from .tolerances import GRADIENT_TOLERANCE, LOSS_TOLERANCE, NOISE


class _CosineLearner:
    """Fits one weak learner cos(omega . x - phase) to residuals: lines 6 and 7 of Algorithm 3."""

    def __init__(self, rows, draws, reg_lambda, max_iter, first_length):
        self.rows = rows
        self.draws = draws
        self.reg_lambda = reg_lambda
        self.first_length = first_length
        self.n_iterations = 0
        self.search = lbfgs.LBFGS(rows.n_features, max_iter, LOSS_TOLERANCE, GRADIENT_TOLERANCE, NOISE[rows.dtype])

    def __call__(self, margins, round_index, output):
        """Return the learner whose descent starts from the omega drawn for a round and an output."""
        rows, omega = self.rows, self.draws[round_index, output, 0].copy()
        sample = rows.sample(round_index)
        r, n_tiles = sample.of(margins.r), len(sample.tiles)
        phase = gbrff_phase.search_phase(sample.tiles, r, sample.weight, omega, sample.total_weight,
                                    margins.largest_residual, rows.cosine[:n_tiles], rows.sine[:n_tiles],
                                    rows.scaled, rows.circle, rows.partial, rows.part_threads)
        gbrff_omega.descend_omega(self.search, sample.tiles, r, sample.weight, omega, phase, self.reg_lambda,
                               sample.total_weight, self.first_length, rows.scaled, rows.lanes, rows.partial,
                               rows.part_threads)
        self.n_iterations += self.search.n_iterations
        return CosineSum(omega[None], np.array([phase]), _ALONE)


_ALONE = np.ones(1)  # the posterior of a single cosine


class GBRFF2Classifier(Classifier):
    """Gradient boosting of learned random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t cos(omega_t . x - b_t).  Each round draws omega from the spectral
    density of the Gaussian kernel, finds the phase b with the globally smallest exponential loss against the residuals
    y_tilde = y exp(-y H), lets omega descend on that loss by L-BFGS, and adds the learner with its closed-form step
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
    Memory beside X, in bytes, with n rows, d columns, K outputs (1 for two classes), m rows in a part (n where there
    is one) and u = 4 in single precision, 8 in double: n (u d + u + (8 + 2 u) K) + 2 u m, 8 n for the order where there
    are parts, and u n with sample weights.  A `RowBlocks` or `numpy.memmap` X is packed anew in every pass instead:
    n (u + (8 + 2 u) K) + m ((8 + u) d + 2 u), the order, and (8 + u) max(2^20, 2048 d) of buffers.  To either
    8 n_estimators K d for the draws, and before the first round up to n (d + 16) more for checking rows and labels;
    8 n d for the copy of an X that is neither float32 nor float64 (of a block, where it is read by blocks).

    Departures from the printed algorithm: |y_tilde| is held to 64 inside the surrogate loss, whose exponential would
    overflow; alpha is held to 9.4 for a learner that separates all rows; the rounds end early once the mean loss is
    below 1e-30.  `sample_weight` multiplies a row's term in every sum, so that an integer weight equals repetition.

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

    parameters = (
        N_ESTIMATORS,
        GAMMA,
        Parameter("reg_lambda", Number(float, 0), "Weight of |omega|^2 in the descent."),
        LEARNING_RATE,
        MAX_ITER.described("L-BFGS iterations per round; 0 keeps the drawn omega."),
        MAX_SAMPLES.described(
            "Largest number of rows that one round's phase search and descent use; step and update use all.  More rows "
            "than this are shuffled once and divided into equal subsets, which the rounds take in turn.  None: all rows "
            "in every descent, so that RowBlocks are held in memory too.  Fewer rows train faster and smooth the model; "
            "on data whose classes have curved boundaries in few columns, 8192 have cost 0.2 points of accuracy."),
        STANDARDIZE,
        EARLY_STOPPING_ROUNDS,
        PRECISION,
        RANDOM_STATE.described(
            "Source of one `standard_normal` draw of shape (n_estimators, n_outputs, n_features) and, where there are "
            "more than `max_samples` rows, one `permutation` of those with positive weight."),
        N_THREADS,
        VERBOSE,
    )
    attributes = (
        CLASSES_,
        EXPANSION_,
        N_ESTIMATORS_,
        N_COMPONENTS_.described("Cosines of a round and an output: 1."),
        Attribute("n_iter_", "int", "L-BFGS iterations of all descents together; not kept in model files."),
        Attribute("train_loss_, eval_loss_", "arrays",
                  "Mean exponential loss (over outputs too) before the first round and after each; eval_loss_ is empty "
                  "without an `eval_set`."),
        N_FEATURES_IN_,
    )
    fitted_curves = ("train_loss_", "eval_loss_")
    params_before = {2: lambda params: params | {"max_samples": None}}

    def __init__(self, n_estimators=100, *, gamma="scale", reg_lambda=2**-5, learning_rate=1.0, max_iter=10,
                 max_samples=16384, standardize=True, early_stopping_rounds=20, precision="single", random_state=None,
                 n_threads=None, verbose=0):
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.reg_lambda = reg_lambda
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_samples = max_samples
        self.standardize = standardize
        self.early_stopping_rounds = early_stopping_rounds
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
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
        self._check_params()

        def make_learner(rows, draws, gamma, *_):
            return _CosineLearner(rows, draws, self.reg_lambda, self.max_iter, math.sqrt(gamma * rows.n_features))

        *_, fitted = train(self, Margins, self._check_training(X, y, sample_weight, eval_set), make_learner, callback)
        self._keep(fitted)
        return self

    def _restored(self, expansion: Expansion, arrays: Mapping[str, NDArray[np.float64]],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        return super()._restored(expansion, arrays, classes) | restored_rounds(expansion, arrays)

    def staged_decision_function(self, X):
        """Yield `decision_function(X)` after each round kept; the last equals it up to rounding."""
        return staged_scores(self, X)
