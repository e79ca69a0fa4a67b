"""Rows whose classes have wavy boundaries, what tests read from boosted models, and rows packed for loss states."""

import numpy as np

from rffkern._rows.scaling import no_scaling
from rffkern._rows.weights import RowWeights
from rffkern._training.gbrff.packed_rows import pack_samples
from rffkern._training.gbrff.weak_learners import WeakLearner

from .packing import Problem


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


class PackedProblem(Problem):
    """The rows of a problem as the package packs them."""

    def __init__(self, seed, n_samples, n_features, dtype, weighted, n_components=1):
        super().__init__(seed, n_samples, n_features, dtype, weighted, n_components=n_components)
        scaling = no_scaling(n_features)
        weights = RowWeights(n_samples, self.weight if weighted else None)
        precision = "single" if dtype is np.float32 else "double"
        self.rows = pack_samples(self.X, weights, scaling, precision, np.inf, n_components, 1, 1, None)

    @property
    def cosine(self):
        return WeakLearner(*super().cosine)

    @property
    def cosines(self):
        return WeakLearner(*super().cosines)
