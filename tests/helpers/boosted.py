"""Rows whose classes have wavy boundaries, and what tests of boosted models read from them."""

import numpy as np


def waves(rng, n_samples=500, n_features=4):
    X = rng.standard_normal((n_samples, n_features))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n_samples) > 0, 1, -1)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def learners_of(model, n_components):
    """Phases, posterior and step of each landmark, taken from the expansion."""
    amplitudes = model.expansion_.amplitudes[:, 0].reshape(-1, n_components)
    steps = amplitudes.sum(axis=1)
    return list(zip(model.expansion_.phases.reshape(-1, n_components), amplitudes / steps[:, None], steps, strict=True))


def mean_score(make, X, y, n_train, n_splits=6):
    """Mean over splits of their own, for on one the last bit of a loss decides over points of accuracy."""
    scores = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:]
        scores.append(make(random_state=seed).fit(X[train], y[train]).score(X[test], y[test]))
    return np.mean(scores)
