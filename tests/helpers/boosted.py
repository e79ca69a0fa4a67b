"""Rows whose classes have wavy boundaries, what tests read from boosted models, and rows packed for loss states."""

import numpy as np

from rffkern._rows.scaling import Scaling
from rffkern._rows.weights import RowWeights
from rffkern._training.gbrff.packed_rows import pack_samples
from rffkern._training.gbrff.weak_learners import WeakLearner

DTYPES = (np.float32, np.float64)


def waves(rng, n_samples=500, n_features=4):
    X = rng.standard_normal((n_samples, n_features))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n_samples) > 0, 1, -1)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def learners_of(model, n_components):
    """Phases, posterior and step of each landmark, taken from the expansion."""
    amplitudes = model.expansion_.fourier.amplitudes[:, 0].reshape(-1, n_components)
    steps = amplitudes.sum(axis=1)
    phases = model.expansion_.fourier.phases.reshape(-1, n_components)
    return list(zip(phases, amplitudes / steps[:, None], steps, strict=True))


def mean_score(make, X, y, n_train, n_splits=6):
    """Mean over splits of their own, for on one the last bit of a loss decides over points of accuracy."""
    scores = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:]
        scores.append(make(random_state=seed).fit(X[train], y[train]).score(X[test], y[test]))
    return np.mean(scores)


class PackedProblem:
    """Random rows, labels, weights and predictions, in both forms."""

    def __init__(self, seed, n_samples, n_features, dtype, weighted, n_components=1):
        rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((n_samples, n_features)).astype(dtype).astype(np.float64)
        self.y = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
        weight = rng.uniform(0.1, 2, n_samples) if weighted else np.ones(n_samples)
        self.weight = weight.astype(dtype).astype(np.float64)
        self.values = rng.standard_normal(n_samples)
        self.omega = rng.standard_normal(n_features) * np.sqrt(2 / n_features)
        self.phase = rng.uniform(-np.pi, np.pi)
        scaling = Scaling(np.zeros(n_features), np.ones(n_features), 1.0)
        weights = RowWeights(n_samples, self.weight if weighted else None)
        precision = "single" if dtype is np.float32 else "double"
        self.rows = pack_samples(self.X, weights, scaling, precision, np.inf, n_components, 1, 1, None)
        self.omegas = rng.standard_normal((n_components, n_features)) * np.sqrt(2 / n_features)
        self.phases = rng.uniform(-np.pi, np.pi, n_components)
        self.posterior = rng.dirichlet(np.ones(n_components))

    def flat(self, tiled):
        """Values of the rows alone, without padding."""
        return np.asarray(tiled, dtype=np.float64).reshape(-1)[: len(self.y)]

    @property
    def cosine(self):
        """The weak learner of one cosine, of `omega` and `phase`."""
        return WeakLearner(self.omega[None], np.array([self.phase]), np.ones(1))

    @property
    def cosines(self):
        """The weak learner of all components."""
        return WeakLearner(self.omegas, self.phases, self.posterior)
