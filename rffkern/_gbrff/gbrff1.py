"""GBRFF1: gradient boosting of landmarks, each a cosine kernel with a pseudo-posterior (ECML 2020, Algorithm 2)."""

import math

from .._data import validation as check
from .._estimator.base import Classifier, register
from .fit import restored_rounds, staged_scores, train
from .landmark_learner import check_landmarks, landmarks_of, learner_maker
from .loss_states import ExactMargins, Margins


@register("gbrff1")
class GBRFF1Classifier(Classifier):
    """Gradient boosting of learned landmarks on random Fourier features.

    The model is H(x) = H^0 + sum over t of alpha_t sum over j of q_tj cos(omega_tj . (x_t - x)).  Each round draws K
    omegas from the spectral density of the Gaussian kernel, learns the landmark x_t whose mean cosine has the smallest
    exponential loss against the residuals y_tilde = y exp(-y H), weighs the cosines by the pseudo-posterior q_tj
    proportional to exp(-(beta / sqrt n) sum over i of exp(-y_tilde_i cos(omega_tj . (x_t - x_i)))), and adds their sum
    with its closed-form step (L. Gautheron et al., Landmark-based Ensemble Learning with Random Fourier Features and
    Gradient Boosting, ECML 2020, Algorithm 2).  More than two classes are learned one against the rest.

    Parameters
    ----------
    n_estimators : int >= 1, default 100
        Number of boosting rounds T, and of landmarks.
    n_components : int >= 1, default 10
        Number of cosines K of a landmark.  With 1 a round learns one phase, by a search for the global minimum.
    gamma : "scale" or float in (0, 1e100], default "scale"
        Width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I).  "scale" is 1 / n_features on
        standardised columns, and 1 / (n_features times their mean variance) without standardisation.
    beta : float >= 0, default 1
        Inverse temperature of the pseudo-posterior; 0 weighs all cosines of a landmark alike.  In it n is the sum of
        the sample weights.
    landmarks : "learn" or "random", default "learn"
        "random" takes rows, drawn with replacement, instead.
    step : "closed" or "exact", default "closed"
        Size of a step: the closed form of the paper, which minimises a bound of the loss that is tight where |h| is 1,
        or the minimum of the loss itself.  Means of K cosines are small, so that exact steps are much longer: better
        with few landmarks, and with many where the learning rate is about 0.2.
    learning_rate : float in (0, 1], default 1
        Factor on every step.
    max_iter : int >= 0, default 10
        L-BFGS iterations per landmark, which starts from the mean of the rows.
    max_samples : int >= 128 or None, default 16384
        Largest number of rows that one round's landmark and pseudo-posterior are learned on; the step uses all.  More
        rows than this are shuffled once and divided in equal parts, which the rounds take in turn.  None: all rows.
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.
    early_stopping_rounds : int >= 1 or None, default 20
        Rounds without a lower evaluation loss after which to stop; used only with an `eval_set`.
    precision : "single" or "double", default "single"
        Arithmetic of the training kernels.  Sums over tiles and predictions kept in training are double in both.
        "single" becomes "double" where angles omega . x may exceed 4000 radians.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are one `standard_normal` draw of shape (n_estimators, n_outputs, n_components, n_features), where
        there are more than `max_samples` rows one `permutation` of those with positive weight, and for random landmarks
        one `random` draw of n_estimators n_outputs numbers.
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.
    verbose : int >= 0, default 0
        Print a line on stderr every so many rounds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    expansion_ : FourierExpansion
        The trained function of a raw row: K terms of amplitude alpha_t q_tj for each landmark.
    landmarks_ : array of shape (n_estimators_, n_features), or (n_estimators_, n_classes, n_features)
        In feature units; not kept in model files.  Where other points have the same phases it is the one next to the
        mean.
    n_estimators_ : int
        Rounds kept.
    n_components_ : int
        Cosines of each landmark.
    n_iter_ : int
        L-BFGS iterations of all descents together; not kept in model files.
    train_loss_, eval_loss_ : arrays
        Mean exponential loss (over outputs too) before the first round and after each; eval_loss_ is empty without an
        `eval_set`.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    Memory beside X as for `GBRFF2Classifier`, 2 u K bytes for each row of a part, u = 4 in single precision and 8 in
    double, and 24 n_estimators n_outputs K d for draws and expansion.  The cost of a landmark's descent does not depend
    on the number of features.

    Departures from the printed algorithm: those of `GBRFF2Classifier`; the gradient of the landmark has omega_j inside
    the sum over j, where the paper prints it outside; for K <= n_features the descent is over the K phases of the
    landmark, which reach every landmark.

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

    fitted_curves = ("train_loss_", "eval_loss_")

    def __init__(self, n_estimators=100, *, n_components=10, gamma="scale", beta=1.0, landmarks="learn",
                 step="closed", learning_rate=1.0, max_iter=10, max_samples=16384, standardize=True,
                 early_stopping_rounds=20, precision="single", random_state=None, n_threads=None, verbose=0):
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
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_params(self):
        check.check_scalar("beta", self.beta, float, low=0, high=1e100)
        check.check_choice("step", self.step, ("closed", "exact"))
        check_landmarks(self)

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block in every pass, never held whole.
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

        def temperature(rows):
            return self.beta * math.sqrt(check.total_weight(sample_weight, rows.n_samples))

        loss = Margins if self.step == "closed" else ExactMargins
        learner, rounds, scaling, fitted = train(
            self, loss, self._check_training(X, y, sample_weight, eval_set), learner_maker(self, temperature), callback,
            self.n_components)
        self._keep(**fitted, landmarks_=landmarks_of(learner, rounds, scaling))
        return self

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_rounds(expansion, arrays, self.n_components)

    def staged_decision_function(self, X):
        """Yield `decision_function(X)` after each round kept; the last equals it up to rounding."""
        return staged_scores(self, X)
