"""PBRFF: a pseudo-Bayesian kernel for each of many landmarks, then a linear SVM (Letarte et al., AISTATS 2019)."""

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from ..._estimator import parameters as shared
from ..._estimator.base import Fitted, Model
from ..._estimator.links import Link, LogisticLink
from ..._estimator.monitor import printing
from ..._estimator.parameters import Attribute, ClassWeight, Density, Gamma, MapOrNone, Parameter
from ..._estimator.tasks import Classifier
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native.array_types import Double, NDArray
from ..._protocol.arguments import Precision, RandomSource, check_rng, choice, number
from ..._protocol.set_output import check_input_features, contained, set_output
from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import no_scaling
from ..._rows.sparse_rows import SparseRows, is_sparse
from ..._rows.threads import check_n_threads
from ..._rows.tiles import PackedTiles, pack
from ..._rows.training_rows import Training, check_labelled
from ...errors import InvalidInputError, TrainingStateError
from ..posterior import POSTERIOR, pac_bayes_bound, posterior_of
from .linear_svm import fit_linear_svms, probability_slope
from .pseudo_posterior import LandmarkKernels, learn_kernels, svm_features

# Of C times the weight of a row: beyond these, in double precision, a row has no influence, or must be right.
_BOUNDS = 1e-12, 1e8

_KERNELS = (
    Parameter("n_landmarks", number(int, 1, 10**8), "Number of landmarks, and of features."),
    shared.N_COMPONENTS,
    shared.GAMMA,
    shared.KERNEL,
    shared.BETA.described(shared.BETA.text + "  The posterior is proportional to exp(-beta sqrt(n) loss), where n is "
                          "the sum of the sample weights."),
)
_LANDMARKS = Parameter("landmarks", choice("random", "kmeans"),
                       "Rows drawn with replacement, or k-means centers, equally many for each class and computed from "
                       "at most 16384 of its rows.")
_VERBOSE = shared.VERBOSE.described("Print lines on stderr about landmarks, features and the linear SVM, at most one a "
                             "second; 0 for none.")
_ATTRIBUTES = (
    Attribute("landmarks_", "array of shape (n_landmarks, n_features)", "In feature units; not kept in model files."),
    Attribute("posterior_", "array of shape (n_landmarks, n_components)", POSTERIOR),
    Attribute("landmark_loss_", "array of shape (n_landmarks,)",
              "The loss of each landmark's kernel on the training rows, sum over j of q_lj loss_lj, in [0, 1]; 1/2 "
              "tells nothing.  Not kept in model files."),
    Attribute("n_effective_", "float",
              "(sum of weights)^2 / sum of their squares: the number of rows where all count alike.  Not kept in "
              "model files."),
    shared.N_COMPONENTS_,
    shared.N_FEATURES_IN_,
)


class _LandmarkKernels(Model):
    """What the classifier and the transformer know of their kernels."""

    _draws = ("one `random` of n_landmarks numbers (k-means: for each class as many as it has centers, after 16384 "
              "where it has more rows), then one `standard_normal` of shape (n_landmarks, n_components, n_features).")

    n_landmarks: int
    n_components: int
    beta: float
    landmarks: str
    n_components_: int
    landmark_loss_: Double
    n_effective_: float

    @property
    def posterior_(self) -> Double:
        """The weights of the cosines of each landmark, of shape (n_landmarks, n_components) and sum 1."""
        terms: Any = self.expansion_.fourier
        return posterior_of(self, (terms.n_terms // self.n_components_, self.n_components_))

    def pac_bayes_bound(self, delta: float = 0.05) -> Double:
        """Bound what each landmark's kernel loses on new rows, by its loss on the training rows.

        The loss of the kernel of landmark l at a row (x, y) is (1 - y_l y k_l(x)) / 2.  For each landmark by itself,
        its mean over all rows that could be is at most

            landmark_loss_ + (KL(q | 1/K) + s^2 / (2 (n - 1)) + ln(1 / delta)) / s,   s = beta sqrt(n)

        with probability 1 - delta over the draw of the training rows (2019, Theorem 1; Letarte et al., 2019), where n
        is `n_effective_`.  For all L landmarks at once take delta / L.  A bound of 1/2 or more says nothing: a kernel
        that ignores the rows loses 1/2.  It bounds the alignment of single kernels, not the errors of the classifier,
        and takes the scale of the columns for known.

        Parameters
        ----------
        delta : float in (0, 1], default 0.05
            Probability that the bound of a landmark does not hold.

        Returns
        -------
        array of shape (n_landmarks,)

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            Where the theorem does not apply: for landmarks by k-means, which depend on all rows, and for beta = 0.
        TrainingStateError
            For a model read from a file.
        """
        now = self._snapshot()
        now._check_fitted()
        number(float, 0, 1, open_low=True)("delta", delta)
        if now.landmarks != "random":
            raise InvalidInputError('landmarks must be "random" for a bound, which holds for landmarks that do not '
                                    f"depend on all rows, got {now.landmarks!r}: fit with landmarks=\"random\"")
        if not now.beta > 0:
            raise InvalidInputError(f"beta must be > 0 for a bound, got {now.beta!r}: fit with another beta")
        if not hasattr(now, "landmark_loss_"):
            raise TrainingStateError("losses of landmarks are not kept in model files: call pac_bayes_bound on the "
                                     "model that was fitted")
        n = now.n_effective_
        if not n > 1:
            raise InvalidInputError(f"pac_bayes_bound needs two rows of equal weight, or more, got {n:.3g}")
        return pac_bayes_bound(now.landmark_loss_, now.posterior_, now.beta * math.sqrt(n), n, delta)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        if expansion.n_terms != self.n_landmarks * self.n_components:
            raise ValueError("landmarks and terms do not agree in number")
        return {"n_components_": self.n_components}


class PBRFFClassifier(_LandmarkKernels, Classifier):
    """Linear support vector machine on landmark features with pseudo-Bayesian kernels.

    For each landmark (x_l, y_l) K omegas are drawn from the spectral density of the kernel.  Their cosines are
    weighted by the pseudo-posterior q_lj proportional to exp(-beta sqrt(n) loss_lj), with loss_lj = 1/2 - 1/2
    (1 / (n - 1)) sum over i != l of y_l y_i cos(omega_lj . (x_l - x_i)).  Feature l of a row is sum over j of
    q_lj cos(omega_lj . (x_l - x)).  A linear SVM that minimises 1/2 |w|^2 + C sum of losses is learned on the
    features and a constant (G. Letarte, E. Morvant, P. Germain, Pseudo-Bayesian Learning with Kernel Fourier Transform
    as Prior, AISTATS 2019).  With more than two classes y_l y_i is 1 within a class and -1 otherwise, and there is a
    linear SVM for each class against the rest.

    {unseen_rows}

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, L landmarks, W = L + 1 rounded up to a multiple of
    16, k linear SVMs (1 for two classes), u = 4 in single precision and 8 in double, and b = max(2^20, 2048 d) numbers
    in a block:

        array:  max(n (u (d + W) + 9 + k), n (u W + 131 + 17 k), n (24 + 50 k)) + S
        blocks: max(n (u W + 9 + k) + (8 + u) b, n (u W + 131 + 17 k), n (24 + 50 k)) + S

    S is for Newton's systems, and 0 where conjugate gradients solve them fast: at most 16 n^2 + 10000 n with up to 2 W
    rows, else 64 W^2 where W is 1000 at most, and 8 W^2 + 8000 W beyond.  Sample weights take 8 n more.  `RowBlocks`
    and `numpy.memmap` are read by blocks, and their features are held, twice where some rows have weight 0.

    A linear SVM takes 5 to 100 Newton steps, more with the hinge loss and with a large C.  With p the rows near the
    margin (hinge loss) or with a loss (squared), a step is of at most p^3 / 6 multiply-adds with up to 2 W rows, whose
    products take n^2 W / 2 once, else of p W min(p, W) / 2 + min(p, W)^3 / 6.

    The landmarks take n d L K multiply-adds and n L K cosines, twice, and L K d random numbers: with 100,000 columns
    and the default parameters 2e8 multiply-adds for a row.  `verbose` reports progress.

    Departures from the printed algorithm: the landmark's own term is left out of its loss only where it is a row; the
    constant feature is regularised, as the dual method needs it; n is the sum of the sample weights, which multiply C
    too, so that their unit matters: with weights of mean 1 beta and C mean what they do without any; gamma has a
    default, where the papers search it; columns are standardised.  What the papers print wrongly: docs/errata.md#pbrff.

    {draws}

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

    family = "pbrff"
    _parameters = (
        *_KERNELS,
        Parameter("C", number(float, 0, 1e6, open_low=True),
                  "Weight of the losses in the linear SVM: a larger one fits the rows more closely.  Worth trying: "
                  "0.01 to 100, in factors of 10.  It is multiplied by the sample weight of a row; the product is "
                  "clipped to [1e-12, 1e8]."),
        _LANDMARKS,
        Parameter("loss", choice("squared_hinge", "hinge"), "Loss of the linear SVM."),
        shared.CLASS_WEIGHT, *shared.LAST, _VERBOSE,
        Parameter("tol", number(float, 1e-12, 1),
                  "Training ends when (primal - dual) / primal, the relative gap of the objectives, is at most this."),
        shared.STANDARDIZE,
        shared.PRECISION.described(shared.PRECISION.text + "  This is the precision of the features; sums of the "
                                   "linear SVM over them are always in double precision."),
    )
    _rare_parameters = ("kernel", "tol", "standardize", "precision")
    _attributes = (
        shared.CLASSES_,
        shared.EXPANSION_.described(
            "The trained function of a raw row, immutable: K terms of amplitude w_l q_lj for each landmark."),
        Attribute("proba_slope_", "array of shape (1,)",
                  "P(y = +1 | x) = 1 / (1 + exp(-slope score)); the slope of highest likelihood on the training rows, "
                  "whose labels count as wrong with the small probabilities of J. Platt."),
        Attribute("n_iter_", "int", "Newton steps of all linear SVMs; not kept in model files."),
        *_ATTRIBUTES,
    )
    _fitted_curves = ("proba_slope_",)

    proba_slope_: Double

    def __init__(self, n_landmarks: int = 100, *, n_components: int = 10, gamma: Gamma = "scale",
                 kernel: Density = "gaussian", beta: float = 1.0, C: float = 1.0,
                 landmarks: Literal["random", "kmeans"] = "random",
                 loss: Literal["squared_hinge", "hinge"] = "squared_hinge", class_weight: ClassWeight = None,
                 columns: MapOrNone = "auto", random_state: RandomSource = None, n_jobs: int | None = None,
                 verbose: int = 0, tol: float = 1e-4, standardize: bool = True,
                 precision: Precision = "single") -> None:
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.beta = beta
        self.C = C
        self.landmarks = landmarks
        self.loss = loss
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.tol = tol
        self.standardize = standardize
        self.precision = precision

    def _link(self) -> Link:
        return LogisticLink(self.proba_slope_[0])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and labels y.

        {fit}
        """
        training = self._check_training(X, y, sample_weight)
        with printing(self.verbose), np.errstate(under="ignore"):  # of tiny weights
            self._keep(self._learned(training, check_rng(self.random_state)))
        return self

    def _learned(self, training: Training, rng: "np.random.Generator") -> Fitted:
        rows, n_samples = training.rows, training.rows.X.shape[0]
        signs = rows.targets()
        kernels, attributes, scaling, tiles = learn_kernels(self, training, rng)
        features = svm_features(kernels, tiles, n_samples, self.n_jobs)
        del tiles  # the rows make room for what is learned on their features
        weight = rows.weights.unit * rows.weights.each
        if rows.weights.has_zeros:  # only streamed rows
            positive = weight > 0
            features, weight, signs = features[positive], weight[positive], [sign[positive] for sign in signs]
        coef, margins, n_steps = fit_linear_svms(
            features, signs, np.clip(self.C * weight, *_BOUNDS), self.loss, self.tol,
            check_n_threads(self.n_jobs, n_samples * self.n_landmarks),
            check_n_threads(self.n_jobs, n_samples * self.n_landmarks**2))
        del features
        expansion = kernels.expansion(scaling, coef[: self.n_landmarks], coef[self.n_landmarks])
        attributes |= {"n_iter_": n_steps,
                       "proba_slope_": np.array([probability_slope(margins, np.column_stack(signs), weight)])}
        return Fitted(training.names, training.classes, expansion, attributes, column_map=training.column_map,
                      reference=training.reference)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        slope = arrays["proba_slope_"]
        if slope.shape != (1,) or not slope[0] > 0:
            raise ValueError("the slope of the probabilities is not one positive number")
        return super()._restored(expansion, arrays)


class PBRFFTransformer(_LandmarkKernels):
    """The landmark features of `PBRFFClassifier`, for any linear method.

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `PBRFFClassifier`, with c classes:

        array:  n (u d + max(2 c u + 8, c u + 21))
        blocks: n (c u + 8) + (8 + u + c u / d) b

    n, the factor beside beta, is the sum of the sample weights, as there.  Departures from the papers and their errata:
    docs/errata.md#pbrff.

    {draws}

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import PBRFFTransformer
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> PBRFFTransformer(50, random_state=0).fit(X, X[:, 0] > 0).transform(X[:10]).shape
    (10, 50)
    """

    family = "pbrff_transformer"
    _parameters = (
        *_KERNELS,
        _LANDMARKS, *shared.LAST, _VERBOSE,
        shared.STANDARDIZE.described(
            "Learn on columns of mean 0 and variance 1.  `transform` takes raw rows either way."),
        shared.PRECISION,
    )
    _rare_parameters = ("kernel", "standardize", "precision")
    _attributes = (
        shared.EXPANSION_.described("The sum of all features, immutable: K terms of amplitude q_lj for each landmark."),
        *_ATTRIBUTES,
    )

    def __init__(self, n_landmarks: int = 100, *, n_components: int = 10, gamma: Gamma = "scale",
                 kernel: Density = "gaussian", beta: float = 1.0, landmarks: Literal["random", "kmeans"] = "random",
                 columns: MapOrNone = "auto", random_state: RandomSource = None, n_jobs: int | None = None,
                 verbose: int = 0, standardize: bool = True, precision: Precision = "single") -> None:
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.beta = beta
        self.landmarks = landmarks
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.standardize = standardize
        self.precision = precision

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn landmarks and their kernels from rows X and labels y.

        {fit}
        """
        self._check_params()
        rng = check_rng(self.random_state)
        training = self._checked(check_labelled, X, y, sample_weight)
        with printing(self.verbose), np.errstate(under="ignore"):  # of tiny weights
            kernels, attributes, scaling, _ = learn_kernels(self, training, rng)
        expansion = kernels.expansion(scaling, np.ones((self.n_landmarks, 1)), np.zeros(1))
        self._keep(Fitted(training.names, None, expansion, attributes, column_map=training.column_map,
                      reference=training.reference))
        return self

    def _trial_copy(self, standardize: bool) -> PBRFFClassifier:
        """The classifier on these features."""
        return PBRFFClassifier(**super()._trial_copy(standardize).get_params(deep=False))

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the features of the rows that are learned from."""
        if isinstance(X, RowBlocks):
            np.asarray(X)  # raises, before the fit rather than after it: `transform` needs an array
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """Return the features of rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_landmarks), float32 for rows in float32, else float64, or what
        `set_output` says

        {raises}
        """
        now = self._snapshot()
        blocks = SparseRows.of(X).blocks() if is_sparse(X) else [X]  # sparse rows are dense block by block
        features = [now._features_of(block) for block in blocks]
        return contained(now, features[0] if len(features) == 1 else np.concatenate(features),
                         now.get_feature_names_out, X)

    def _features_of(self, X: Any) -> NDArray[Any]:
        """The features of rows, as an array."""
        X = self._check_rows(X)
        expansion, shape = self.expansion_, (-1, self.n_components_)
        terms = expansion.fourier
        kernels = LandmarkKernels(terms.omegas.reshape(*shape, X.shape[1]), terms.phases.reshape(shape),
                                  terms.amplitudes.reshape(shape))
        n_threads = check_n_threads(self.n_jobs, X.shape[0] * terms.omegas.size)
        scaling = no_scaling(X.shape[1])._replace(center=expansion.center)
        features = np.empty((X.shape[0], len(kernels.posterior)), X.dtype)
        for rows, part in expansion._scorer.in_precisions(X):
            tiles, _ = pack(part, scaling, part.dtype, n_threads)
            features[rows] = kernels.features(PackedTiles(tiles), len(part), features.shape[1], self.n_jobs)
        return features

    set_output = set_output

    def _exported(self) -> Expansion:
        """The features as outputs of one expansion."""
        terms: Any = self.expansion_.fourier
        each = np.repeat(np.eye(terms.n_terms // self.n_components_), self.n_components_, axis=0)
        return Expansion(np.zeros(each.shape[1]), self.expansion_.center,
                         FourierTerms(terms.omegas, terms.phases, terms.amplitudes * each))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each feature; `input_features`, which must be the columns of `fit`, changes nothing."""
        now = self._snapshot()
        now._check_fitted()
        check_input_features(input_features, getattr(now, "feature_names_in_", None), now.n_features_in_)
        n_features = now.expansion_.n_terms // now.n_components_
        return np.array([f"{type(self).__name__.lower()}{m}" for m in range(n_features)], dtype=object)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        if expansion.n_outputs != 1:
            raise ValueError("features are the terms of one output")
        return super()._restored(expansion, arrays)
