"""PBRFF: a pseudo-Bayesian kernel for each of many landmarks, then a linear machine (Letarte et al., AISTATS 2019)."""

import numpy as np

from .._data import validation as check
from .._data.row_blocks import RowBlocks
from .._data.scaling import Scaling
from .._data.threads import check_n_threads
from .._data.tiles import pack
from .._estimator.base import Classifier, Model, check_labelled, register
from .._estimator.links import LogisticLink
from .._gbrff.fit import check_common, check_gamma
from .landmark_features import LandmarkKernels, Representation
from .linear_svm import fit_machine, probability_slope

# Of C times a row's weight: beyond, in double precision, a row counts for nothing, or must be right.
_BOUNDS = 1e-12, 1e8


def _check_params(model):
    check.check_scalar("n_landmarks", model.n_landmarks, int, low=1, high=10**8)
    check.check_scalar("n_components", model.n_components, int, low=1, high=10**6)
    check.check_scalar("beta", model.beta, float, low=0, high=1e100)
    check.check_choice("landmarks", model.landmarks, ("random", "kmeans"))
    check_gamma(model)
    check_common(model)


@register("pbrff")
class PBRFFClassifier(Classifier):
    """Linear support vector machine on landmark features with pseudo-Bayesian kernels.

    Each landmark (x_l, y_l) draws K omegas from the spectral density of the Gaussian kernel and weighs their cosines by
    the pseudo-posterior q_lj proportional to exp(-beta sqrt(n) loss_lj), loss_lj = 1/2 - 1/2 (1 / (n - 1)) sum over
    i != l of y_l y_i cos(omega_lj . (x_l - x_i)).  Feature l of a row is sum over j of q_lj cos(omega_lj . (x_l - x)),
    and a linear machine of minimal 1/2 |w|^2 + C sum of losses is learned on the features and a constant (G. Letarte,
    E. Morvant, P. Germain, Pseudo-Bayesian Learning with Kernel Fourier Transform as Prior, AISTATS 2019).  With more
    than two classes y_l y_i is 1 within a class and -1 otherwise, and there is a machine for each class against the
    rest.

    Parameters
    ----------
    n_landmarks : int >= 1, default 100
        Number of landmarks, and of features.
    n_components : int >= 1, default 10
        Number of cosines K of a landmark.
    gamma : "scale" or float in (0, 1e100], default "scale"
        Width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I).  "scale" is 1 / n_features on
        standardised columns, and 1 / (n_features times their mean variance) without standardisation.
    beta : float >= 0, default 1
        Inverse temperature of the pseudo-posterior; 0 weighs all cosines of a landmark alike.  In it n is the sum of
        the sample weights.
    C : float in (0, 1e6], default 1
        Weight of the losses in the linear machine, further multiplied by a row's sample weight; the product is held to
        [1e-12, 1e8].
    landmarks : "random" or "kmeans", default "random"
        Rows drawn with replacement, or k-means centers, equally many for each class (of 16384 of its rows at most).
    loss : "squared_hinge" or "hinge", default "squared_hinge"
        Of the linear machine.
    tol : float in [1e-12, 1), default 1e-4
        The machine is learned until primal and dual objective differ by this share.
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.
    precision : "single" or "double", default "single"
        Arithmetic of the training kernels; sums over tiles are double in both.  "single" becomes "double" where angles
        omega . x may exceed 4000 radians, and for a machine that rounding keeps from tol, or with a tol below 1e-6.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are one `random` draw of n_landmarks numbers (k-means: for each class that many as it has centers,
        after 16384 where it has more rows), one `standard_normal` draw of shape (n_landmarks, n_components,
        n_features), and one `integers` draw of a seed for each machine.
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    expansion_ : FourierExpansion
        The trained function of a raw row: K terms of amplitude w_l q_lj for each landmark.
    landmarks_ : array of shape (n_landmarks, n_features)
        In feature units; not kept in model files.
    proba_slope_ : array of shape (1,)
        P(y = +1 | x) = 1 / (1 + exp(-slope score)); of highest likelihood on the training rows, whose labels count as
        wrong with Platt's small odds.
    n_iter_ : int
        Passes of all machines over their rows; not kept in model files.
    n_components_ : int
        Cosines of each landmark.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Notes
    -----
    Memory beside X, in bytes, with n rows, d columns, L landmarks of K cosines, W = L + 1 rounded up to a multiple of
    16, and u = 4 in single precision, 8 in double: n (u (d + W) + 24 + 8 n_machines), or where that is more
    n (u d + (2 u + 8) n_classes + L K / 256); with the hinge loss instead n (u W + 200), and 8 n W more in single
    precision; 64 W^2 where W is 1000 at most.  Rows in RowBlocks are not held, their features are,
    twice where some rows have no weight.

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

    fitted_curves = ("proba_slope_",)

    def __init__(self, n_landmarks=100, *, n_components=10, gamma="scale", beta=1.0, C=1.0, landmarks="random",
                 loss="squared_hinge", tol=1e-4, standardize=True, precision="single", random_state=None,
                 n_threads=None):
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
        self.random_state = random_state
        self.n_threads = n_threads

    def _check_params(self):
        check.check_scalar("C", self.C, float, low=0, high=1e6, open_low=True)
        check.check_choice("loss", self.loss, ("squared_hinge", "hinge"))
        check.check_scalar("tol", self.tol, float, low=1e-12, high=1)
        _check_params(self)

    def _link(self):
        return LogisticLink(self.proba_slope_[0])

    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks
            float32 and float64 are kept as given, others converted to float64.  RowBlocks and `numpy.memmap` are read
            block by block in every pass, never held whole; their landmark features are.
        y : array of shape (n_samples,), labels of any sortable type
        sample_weight : array of shape (n_samples,) or None, not negative

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        self._check_params()
        rng = check.check_rng(self.random_state)
        names, data, _, _, _, fitted = self._check_training(X, y, sample_weight)
        learned = Representation(self, data, sample_weight, rng)
        features, weight, signs = learned.features(), data.weight, list(data.targets())
        if weight is not None and not weight.all():  # only streamed rows
            features, weight, signs = features[weight > 0], weight[weight > 0], [sign[weight > 0] for sign in signs]
        weight = learned.unit * (np.ones(len(features)) if weight is None else weight)
        bound = np.clip(self.C * weight, *_BOUNDS)
        machines = [fit_machine(features, sign, bound, self.loss == "squared_hinge", self.tol, int(seed),
                                self.n_threads)
                    for sign, seed in zip(signs, rng.integers(1, 2**63, len(signs)), strict=True)]
        coef = np.column_stack([machine.coef for machine in machines])
        margins = np.column_stack([machine.margins for machine in machines])
        self._keep(names, data.X.shape[1], **fitted, n_components_=self.n_components,
                   n_iter_=sum(machine.n_passes for machine in machines),
                   landmarks_=learned.landmarks(),
                   proba_slope_=np.array([probability_slope(margins, np.column_stack(signs), weight)]),
                   expansion_=learned.expansion(coef[: self.n_landmarks], coef[self.n_landmarks]))
        return self

    def _restored(self, expansion, arrays):
        slope = arrays["proba_slope_"]
        if slope.shape != (1,) or not slope[0] > 0:
            raise ValueError("the slope of the probabilities is not one positive number")
        if expansion.n_terms != self.n_landmarks * self.n_components:
            raise ValueError("landmarks and terms do not agree in number")
        return super()._restored(expansion, arrays) | {"n_components_": self.n_components}


@register("pbrff_transformer")
class PBRFFTransformer(Model):
    """The landmark features of `PBRFFClassifier`, for any linear method.

    Parameters
    ----------
    n_landmarks : int >= 1, default 100
        Number of landmarks, and of features.
    n_components : int >= 1, default 10
        Number of cosines K of a landmark.
    gamma : "scale" or float in (0, 1e100], default "scale"
        Width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I).  "scale" is 1 / n_features on
        standardised columns, and 1 / (n_features times their mean variance) without standardisation.
    beta : float >= 0, default 1
        Inverse temperature of the pseudo-posterior; 0 weighs all cosines of a landmark alike.  In it n is the sum of
        the sample weights.
    landmarks : "random" or "kmeans", default "random"
        Rows drawn with replacement, or k-means centers, equally many for each class (of 16384 of its rows at most).
    standardize : bool, default True
        Learn on columns of mean 0 and variance 1.  `transform` takes raw rows either way.
    precision : "single" or "double", default "single"
        Arithmetic of the training kernels; sums over tiles are double in both.  "single" becomes "double" where angles
        omega . x may exceed 4000 radians.
    random_state : int >= 0, numpy.random.Generator or None, default None
        Taken from it are the first two draws of `PBRFFClassifier`.
    n_threads : int >= 1 or None, default None
        None for the CPUs this process may use.  The result is the same to the last bit for any number.

    Attributes
    ----------
    expansion_ : FourierExpansion
        The sum of all features: K terms of amplitude q_lj for each landmark.
    landmarks_ : array of shape (n_landmarks, n_features)
        In feature units; not kept in model files.
    n_components_ : int
        Cosines of each landmark.
    n_features_in_ : int
        Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import PBRFFTransformer
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> PBRFFTransformer(50, random_state=0).fit(X, X[:, 0] > 0).transform(X[:10]).shape
    (10, 50)
    """

    def __init__(self, n_landmarks=100, *, n_components=10, gamma="scale", beta=1.0, landmarks="random",
                 standardize=True, precision="single", random_state=None, n_threads=None):
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.gamma = gamma
        self.beta = beta
        self.landmarks = landmarks
        self.standardize = standardize
        self.precision = precision
        self.random_state = random_state
        self.n_threads = n_threads

    def __sklearn_tags__(self):
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        return tags

    def _check_params(self):
        _check_params(self)

    def fit(self, X, y, sample_weight=None):
        """Learn landmarks and their kernels from rows X and labels y, as `PBRFFClassifier.fit` does."""
        self._check_params()
        names, data, _ = check_labelled(X, y, sample_weight)
        learned = Representation(self, data, sample_weight, check.check_rng(self.random_state))
        self._keep(names, data.X.shape[1], n_components_=self.n_components, landmarks_=learned.landmarks(),
                   expansion_=learned.expansion(np.ones((self.n_landmarks, 1)), np.zeros(1)))
        return self

    def fit_transform(self, X, y, sample_weight=None):
        """Return the features of the rows that are learned from."""
        if isinstance(X, RowBlocks):
            np.asarray(X)  # says that an array is expected, before the fit rather than after it
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X):
        """Return the features of rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_landmarks), float32 for rows in float32, else float64

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not finite and numeric, or its columns are not those of `fit`.
        """
        X = self._check_rows(X)
        expansion, given = self.expansion_, X.dtype
        X = X if expansion.fits_single() else X.astype(np.float64, copy=False)
        shape = -1, self.n_components_
        kernels = LandmarkKernels(expansion.omegas.reshape(*shape, X.shape[1]), expansion.phases.reshape(shape),
                                  expansion.amplitudes.reshape(shape))
        n_threads = check_n_threads(self.n_threads, X.shape[0] * expansion.omegas.size)
        out = np.empty((X.shape[0], len(kernels.posterior)), X.dtype)
        tiles, _ = pack(X, Scaling(expansion.center, np.ones(X.shape[1]), 1.0), X.dtype, n_threads)
        kernels.features(tiles, out, n_threads)
        return out.astype(given, copy=False)

    def get_feature_names_out(self, input_features=None):
        """Return a name for each feature; `input_features` is there for scikit-learn and changes nothing."""
        self._check_fitted()
        n_features = self.expansion_.n_terms // self.n_components_
        return np.array([f"{type(self).__name__.lower()}{m}" for m in range(n_features)], dtype=object)

    def _restored(self, expansion, arrays):
        if expansion.n_outputs != 1 or expansion.n_terms != self.n_landmarks * self.n_components:
            raise ValueError("landmarks and terms do not agree in number")
        return super()._restored(expansion, arrays) | {"n_components_": self.n_components}
