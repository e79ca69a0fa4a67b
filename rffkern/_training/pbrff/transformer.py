"""The features of PBRFF alone."""

import contextlib
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from ..._estimator.base import Fitted, Model
from ..._estimator.monitor import printing
from ..._estimator.parameters import (
    COLUMNS,
    EXPANSION_,
    N_JOBS,
    PRECISION,
    RANDOM_STATE,
    STANDARDIZE,
    Gamma,
    MapOrNone,
)
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native.array_types import NDArray
from ..._protocol.arguments import Precision, RandomSource, check_rng
from ..._protocol.set_output import check_input_features, contained, set_output
from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import Scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import PackedTiles, pack
from ..._rows.training_rows import check_labelled
from .estimators import PBRFFClassifier
from .landmark_features import LandmarkKernels, learn_representation
from .parameters import KERNEL_ATTRIBUTES, KERNEL_PARAMETERS, LANDMARKS, TELLING
from .preparation import prepared, restored_components

Double = NDArray[np.float64]


class PBRFFTransformer(Model):
    """The landmark features of `PBRFFClassifier`, for any linear method.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, c classes, u = 4 in single precision and 8 in
    double, and b = max(2^20, 2048 d) numbers in a block of `RowBlocks` or `numpy.memmap`:

        array:  n (u d + max(2 c u + 8, c u + 21))
        blocks: n (c u + 8) + (8 + u + c u / d) b

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import PBRFFTransformer
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> PBRFFTransformer(50, random_state=0).fit(X, X[:, 0] > 0).transform(X[:10]).shape
    (10, 50)
    """

    _parameters = (
        *KERNEL_PARAMETERS,
        LANDMARKS,
        STANDARDIZE.described("Learn on columns of mean 0 and variance 1.  `transform` takes raw rows either way."),
        PRECISION,
        COLUMNS,
        RANDOM_STATE.described(
            "Source of one `random` draw of n_landmarks numbers (k-means: for each class as many as it has centers, "
            "after 16384 where it has more rows), then one `standard_normal` draw of shape (n_landmarks, n_components, "
            "n_features)."),
        N_JOBS,
        TELLING,
    )
    _attributes = (
        EXPANSION_.described("The sum of all features, immutable: K terms of amplitude q_lj for each landmark."),
        *KERNEL_ATTRIBUTES,
    )

    n_components_: int

    def __init__(self, n_landmarks: int = 100, *, n_components: int = 10, gamma: Gamma = "scale", beta: float = 1.0,
                 landmarks: Literal["random", "kmeans"] = "random", standardize: bool = True,
                 precision: Precision = "single", columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.gamma = gamma
        self.beta = beta
        self.landmarks = landmarks
        self.standardize = standardize
        self.precision = precision
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn landmarks and their kernels from rows X and labels y.

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
        self._check_params()
        rng = check_rng(self.random_state)
        training = self._checked(check_labelled, X, y, sample_weight)
        scaling, settings = prepared(self, training)
        with printing() if self.verbose else contextlib.nullcontext():
            learned, _ = learn_representation(training.rows, scaling, settings, rng)
        terms = FourierTerms(learned.omegas, learned.phases, learned.kernels.posterior.reshape(-1, 1))
        expansion = Expansion(np.zeros(1), scaling.center, terms)
        attributes = {"n_components_": self.n_components, "landmarks_": learned.landmarks}
        self._keep(Fitted(training.names, None, expansion, attributes, column_map=training.column_map))
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

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not finite and numeric, or its columns are not those of `fit`.
        """
        now, given = self._snapshot(), X
        X = now._check_rows(X)
        expansion, shape = now.expansion_, (-1, now.n_components_)
        terms = expansion.fourier
        kernels = LandmarkKernels(terms.omegas.reshape(*shape, X.shape[1]), terms.phases.reshape(shape),
                                  terms.amplitudes.reshape(shape))
        n_threads = check_n_threads(now.n_jobs, X.shape[0] * terms.omegas.size)
        scaling = Scaling(expansion.center, np.ones(X.shape[1]), 1.0)
        features = np.empty((X.shape[0], len(kernels.posterior)), X.dtype)
        for rows, part in expansion._scorer.in_precisions(X):
            tiles, _ = pack(part, scaling, part.dtype, n_threads)
            features[rows] = kernels.features(PackedTiles(tiles), (len(part), features.shape[1]), n_threads)
        return contained(now, features, now.get_feature_names_out, given)

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

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        if expansion.n_outputs != 1:
            raise ValueError("features are the terms of one output")
        return super()._restored(expansion, arrays, classes) | restored_components(self, expansion)
