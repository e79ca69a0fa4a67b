"""GBRFF with least squares: boosting of landmark kernels that fit residuals (Gautheron et al., 2019)."""

from .._data import validation as check
from .._estimator.base import Classifier, Regressor, register
from .._estimator.links import LinearLink
from .fit import restored_rounds, staged_scores, train
from .landmark_learner import check_landmarks, landmarks_of, learner_maker
from .loss_states import Residuals


def _check_params(model):
    check.check_choice("scale_residuals", model.scale_residuals, (True, False))
    check.check_scalar("c", model.c, float, low=0, high=1e100)
    check_landmarks(model)


def _learner_of(model):
    return learner_maker(model, lambda rows: model.c, model.scale_residuals)


@register("gbrff_regressor")
class GBRFFRegressor(Regressor):
    """Gradient boosting of learned landmarks for the squared error.

    The model is H(x) = H_0 + sum over t of v alpha_t sum over j of q_tj cos(omega_tj . (x_t - x)).  Each round draws K
    omegas from the spectral density of the Gaussian kernel, learns the landmark x_t whose mean cosine is next to the
    residuals r = y - H in the mean square, weighs the cosines by the pseudo-posterior q_tj proportional to exp(-(c / n)
    sum over i of (r_i - cos(omega_tj . (x_t - x_i)))^2), and adds their sum with its least-squares step (L. Gautheron
    et al., Learning Landmark-Based Ensembles with Random Fourier Features and Gradient Boosting, 2019).  Targets are
    learned in units of their spread; several are learned one by one, all in the same rounds.

    Parameters
    ----------
    n_estimators : int >= 1, default 200
        Number of boosting rounds T, and of landmarks.
    n_components : int >= 1, default 100
        Number of cosines K of a landmark.
    gamma : "scale" or float in (0, 1e100], default "scale"
        Width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I).  "scale" is 1 / n_features on
        standardised columns, and 1 / (n_features times their mean variance) without standardisation.  The paper has
        0.5.
    c : float >= 0, default 16
        Inverse temperature of the pseudo-posterior; 0 weighs all cosines of a landmark alike.
    landmarks : "learn" or "random", default "learn"
        "random" takes rows, drawn with replacement, instead.
    scale_residuals : bool, default True
        Fit landmark and pseudo-posterior to residuals in units of their root mean square, for a cosine has size 1 and
        residuals shrink round by round.  False fits them as they are, as the paper prints it.
    learning_rate : float in (0, 1], default 0.5
        Factor v on every step.
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
        Arithmetic of the training kernels.  Sums over tiles and residuals kept in training are double in both.
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
    expansion_ : FourierExpansion
        The trained function of a raw row: K terms of amplitude v alpha_t q_tj for each landmark.
    landmarks_ : array of shape (n_estimators_, n_features), or (n_estimators_, n_outputs, n_features)
        In feature units; not kept in model files.
    n_estimators_ : int
        Rounds kept.
    n_components_ : int
        Cosines of each landmark.
    n_iter_ : int
        L-BFGS iterations of all descents together; not kept in model files.
    train_loss_, eval_loss_ : arrays
        Mean squared residual (over outputs too) before the first round and after each, in units of the variance of y;
        eval_loss_ is empty without an `eval_set`.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    Memory beside X, in bytes, with n rows, d columns, m rows in a part (n where there is one), and u = 4 in single
    precision, 8 in double: n (u d + u + (8 + u) n_outputs) + u m (2 K + 3), 24 n_estimators n_outputs K d for draws and
    expansion, and as `GBRFF2Classifier` for RowBlocks.  The cost of a landmark's descent does not depend on the number
    of features.

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

    fitted_curves = ("train_loss_", "eval_loss_")

    def __init__(self, n_estimators=200, *, n_components=100, gamma="scale", c=16.0, landmarks="learn",
                 scale_residuals=True, learning_rate=0.5, max_iter=10, max_samples=16384, standardize=True,
                 early_stopping_rounds=20, precision="single", random_state=None, n_threads=None, verbose=0):
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.c = c
        self.landmarks = landmarks
        self.scale_residuals = scale_residuals
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
        _check_params(self)

    def fit(self, X, y, sample_weight=None, *, eval_set=None, callback=None):
        """Learn from rows X and targets y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block in every pass, never held whole.
        y : array of shape (n_samples,) or (n_samples, n_targets), finite numbers
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
        learner, rounds, scaling, fitted = train(
            self, Residuals, self._check_training(X, y, sample_weight, eval_set), _learner_of(self), callback,
            self.n_components)
        self._keep(**fitted, landmarks_=landmarks_of(learner, rounds, scaling))
        return self

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_rounds(expansion, arrays, self.n_components)

    def staged_predict(self, X):
        """Yield `predict(X)` after each round kept; the last equals it up to rounding."""
        return staged_scores(self, X)


@register("gbrff")
class GBRFFClassifier(Classifier):
    """Gradient boosting of learned landmarks for the squared error on labels -1 and +1.

    As `GBRFFRegressor` with y in {-1, +1} as it is; H estimates the mean of y, so that P(y = +1 | x) = (1 + H) / 2,
    held to [0, 1].  More than two classes are learned one against the rest, all in the same rounds.

    Parameters
    ----------
    n_estimators : int >= 1, default 200
        Number of boosting rounds T, and of landmarks.
    n_components : int >= 1, default 100
        Number of cosines K of a landmark.
    gamma : "scale" or float in (0, 1e100], default "scale"
        Width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I).  "scale" is 1 / n_features on
        standardised columns, and 1 / (n_features times their mean variance) without standardisation.  The paper has
        0.5.
    c : float >= 0, default 16
        Inverse temperature of the pseudo-posterior; 0 weighs all cosines of a landmark alike.
    landmarks : "learn" or "random", default "learn"
        "random" takes rows, drawn with replacement, instead.
    scale_residuals : bool, default True
        Fit landmark and pseudo-posterior to residuals in units of their root mean square, for a cosine has size 1 and
        residuals shrink round by round.  False fits them as they are, as the paper prints it.
    learning_rate : float in (0, 1], default 0.1
        Factor v on every step.
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
        Arithmetic of the training kernels.  Sums over tiles and residuals kept in training are double in both.
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
        The trained function of a raw row: K terms of amplitude v alpha_t q_tj for each landmark.
    landmarks_ : array of shape (n_estimators_, n_features), or (n_estimators_, n_outputs, n_features)
        In feature units; not kept in model files.
    n_estimators_ : int
        Rounds kept.
    n_components_ : int
        Cosines of each landmark.
    n_iter_ : int
        L-BFGS iterations of all descents together; not kept in model files.
    train_loss_, eval_loss_ : arrays
        Mean squared residual (over outputs too) before the first round and after each; eval_loss_ is empty
        without an `eval_set`.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    Memory and departures as for `GBRFFRegressor`.

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

    fitted_curves = ("train_loss_", "eval_loss_")

    def __init__(self, n_estimators=200, *, n_components=100, gamma="scale", c=16.0, landmarks="learn",
                 scale_residuals=True, learning_rate=0.1, max_iter=10, max_samples=16384, standardize=True,
                 early_stopping_rounds=20, precision="single", random_state=None, n_threads=None, verbose=0):
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.gamma = gamma
        self.c = c
        self.landmarks = landmarks
        self.scale_residuals = scale_residuals
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
        _check_params(self)

    def _link(self):
        return LinearLink()

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
        learner, rounds, scaling, fitted = train(
            self, Residuals, self._check_training(X, y, sample_weight, eval_set), _learner_of(self), callback,
            self.n_components)
        self._keep(**fitted, landmarks_=landmarks_of(learner, rounds, scaling))
        return self

    def _restored(self, expansion, arrays):
        return super()._restored(expansion, arrays) | restored_rounds(expansion, arrays, self.n_components)

    def staged_decision_function(self, X):
        """Yield `decision_function(X)` after each round kept; the last equals it up to rounding."""
        return staged_scores(self, X)
