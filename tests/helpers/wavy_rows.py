"""Rows of which few columns matter, and targets."""

import numpy as np


def wavy(n_samples, seed=0, n_features=8):
    """Rows of which only columns 2 and 5 matter, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.sin(2 * X[:, 2]) + X[:, 5] ** 2 + 0.1 * rng.standard_normal(n_samples)
