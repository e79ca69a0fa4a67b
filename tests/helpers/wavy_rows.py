"""Problems of which RFFNet has to find out that few columns matter."""

import numpy as np


def wavy(n_samples, seed=0, n_features=8):
    """Rows of which columns 2 and 5 alone matter, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.sin(2 * X[:, 2]) + X[:, 5] ** 2 + 0.1 * rng.standard_normal(n_samples)
