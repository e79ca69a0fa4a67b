"""GBRFF2: gradient boosting of single Fourier features whose frequencies are learned (ECML 2020, Algorithm 3)."""

import math

import numpy as np

from .. import _validation as check
from .._base import Classifier, register
from .._boosted import (
    GRADIENT_TOLERANCE,
    LOSS_TOLERANCE,
    NOISE,
    check_boosted,
    restored_rounds,
    staged_scores,
    train,
)
from .._kernels import _descent, _lbfgs, _phase
from .._losses import CosineSum, Margins


class _CosineLearner:
    """Fits one weak learner cos(omega . x - phase) to residuals: lines 6 and 7 of Algorithm 3."""

    def __init__(self, rows, draws, reg_lambda, max_iter, first_length):
        self.rows = rows
        self.draws = draws
        self.reg_lambda = reg_lambda
        self.first_length = first_length
        self.n_iterations = 0
        self.search = _lbfgs.LBFGS(rows.n_features, max_iter, LOSS_TOLERANCE, GRADIENT_TOLERANCE, NOISE[rows.dtype])

    def __call__(self, margins, round_index, output):
        """Return the learner whose descent starts from the omega drawn for a round and an output."""
        rows, omega = self.rows, self.draws[round_index, output, 0].copy()
        sample = rows.sample(round_index)
        r, n_tiles = sample.of(margins.r), len(sample.tiles)
        phase = _phase.search_phase(sample.tiles, r, sample.weight, omega, sample.total_weight,
                                    margins.largest_residual, rows.cosine[:n_tiles], rows.sine[:n_tiles],
                                    rows.scaled, rows.circle, rows.partial, rows.part_threads)
        _descent.descend_omega(self.search, sample.tiles, r, sample.weight, omega, phase, self.reg_lambda,
                               sample.total_weight, self.first_length, rows.scaled, rows.lanes, rows.partial,
                               rows.part_threads)
        self.n_iterations += self.search.n_iterations
        return CosineSum(omega[None], np.array([phase]), _ALONE)


_ALONE = np.ones(1)  # the posterior of a single cosine


@register("gbrff2")
class GBRFF2Classifier(Classifier):
    """Gradient boosting of learned random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t cos(omega_t . x - b_t).  Each round draws omega from the spectral
    density of the Gaussian kernel, finds the phase b with the globally smallest exponential loss against the residuals
    y_tilde = y exp(-y H), lets omega descend on that loss by L-BFGS, and adds the learner with its closed-form step
    (L. Gautheron et al., Landmark-based Ensemble Learning with Random Fourier Features and Gradient Boosting, ECML
    2020, Algorithm 3).  More than two classes are learned one against the rest, all in the same rounds.

    Parameters
    ----------
    n_estimators : int >= 1, default 100
        Number of boosting rounds T.
    gamma : "scale" or float in (0, 1e100], default "scale"
        Width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I).  "scale" is 1 / n_features on
        standardised columns, and 1 / (n_features times their mean variance) without standardisation.
    reg_lambda : float >= 0, default 2**-5
        Weight of |omega|^2 in the descent.
    learning_rate : float in (0, 1], default 1
        Factor on every step.
    max_iter : int >= 0, default 10
        L-BFGS iterations per round; 0 keeps the drawn omega.
    max_samples : int >= 128 or None, default 16384
        Largest number of rows that one round's phase search and descent use; step and update use all.  More rows than
        this are shuffled once and divided in equal parts, which the rounds take in turn.  None: all rows in every
        descent, so that RowBlocks are held in memory too.  Fewer rows train faster and smooth the model; on data whose
        classes have curved boundaries in few columns, 8192 have cost 0.2 points of accuracy.
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.
    early_stopping_rounds : int >= 1 or None, default 20
        Rounds without a lower evaluation loss after which to stop; used only with an `eval_set`.
    precision : "single" or "double", default "single"
        Arithmetic of the training kernels.  Sums over tiles and predictions kept in training are double in both.
        "single" becomes "double" where angles omega . x may exceed 4000 radians.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are one `standard_normal` draw of shape (n_estimators, n_outputs, n_features) and, where there are
        more than `max_samples` rows, one `permutation` of those with positive weight.
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.
    verbose : int >= 0, default 0
        Print a line on stderr every so many rounds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    expansion_ : FourierExpansion
        The trained function of a raw row.
    n_estimators_ : int
        Rounds kept.
    n_components_ : int
        Cosines of a round and an output: 1.
    n_iter_ : int
        L-BFGS iterations of all descents together; not kept in model files.
    train_loss_, eval_loss_ : arrays
        Mean exponential loss (over outputs too) before the first round and after each; eval_loss_ is empty without an
        `eval_set`.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

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

    fitted_curves = ("train_loss_", "eval_loss_")
    params_since = {2: {"max_samples": None}}

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

    def _check_params(self):
        check.check_scalar("reg_lambda", self.reg_lambda, float, low=0)
        check_boosted(self)

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block in every pass, never held whole: for rows that do not fit in memory.
        y : array of shape (n_samples,), labels of any sortable type
        sample_weight : array of shape (n_samples,) or None, not negative
        eval_set : (X, y) or (X, y, sample_weight) or None, with X as above
            Held-out rows on which to stop early; the round of lowest loss on them is kept.
        callback : callable or None
            Called with a `RoundInfo` after each round; returning True ends the fit.

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
        self._keep(**fitted)
        return self

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_rounds(expansion, arrays)

    def staged_decision_function(self, X):
        """Yield `decision_function(X)` after each round kept; the last equals it up to rounding."""
        return staged_scores(self, X)
