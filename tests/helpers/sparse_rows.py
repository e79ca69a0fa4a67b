"""Rows and settings that tests of sparse kernel machines share."""

import numpy as np

from rffkern._rows.scaling import no_scaling
from rffkern._rows.tiles import aligned, tiled
from rffkern._rows.weights import RowWeights
from rffkern._training.sparse_kernel.ensemble import Shared
from rffkern._training.sparse_kernel.kernel import Kernel
from rffkern._training.sparse_kernel.packed_rows import KernelRows
from rffkern._training.sparse_kernel.weak_learner import Settings

KERNEL = {"length_scale": [1.0, 2.0, 4.0], "amplitude": 1.5, "bias": 0.2}
GIVEN = {"kernel": KERNEL, "reg_lambda": 0.02, "standardize": False, "random_state": 0}
WIDE = {"kernel": {"length_scale": 1.0}, "reg_lambda": 1e-3, "random_state": 0}
DOUBLE = np.dtype(np.float64)


def waves(rng, n, noise=0.1):
    """Rows of three columns, and a function of them with noise."""
    X = rng.uniform(-3, 3, (n, 3))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * X[:, 2] + noise * rng.standard_normal(n)


def given_kernel():
    """The kernel of KERNEL."""
    return Kernel(np.array(KERNEL["length_scale"]), KERNEL["amplitude"], KERNEL["bias"])


def make_settings(kernel, reg_lambda=0.02, learner_size=5, capacity=4, rule="max-res", n_candidates=60,
                  subset_size=100, n_together=1):
    """Settings of an ensemble."""
    return Settings(kernel, reg_lambda, learner_size, n_together, 1, capacity, rule, n_candidates, subset_size,
                    keeps_dictionary=learner_size == 1 and capacity > 1)


def kernel_rows(X, kernel, weight=None, dtype=DOUBLE, n_threads=1):
    """Rows in the units of a kernel."""
    weights = RowWeights(len(X), None if weight is None else np.asarray(weight, float))
    return KernelRows(X, kernel.scaling(no_scaling(X.shape[1])), weights, np.dtype(dtype), n_threads)


def make_shared(rows, settings, seed=0):
    """What the groups of an ensemble share, without held-out rows."""
    columns = aligned((settings.capacity, rows.n_tiles, 128), rows.dtype)
    return Shared(rows, (), settings, columns, np.random.default_rng(seed))


def in_tiles(values):
    """Values of rows in tiles."""
    return tiled(values, DOUBLE)


def in_outputs(values):
    """Values (n_samples,) or (n_samples, n_outputs) of rows in tiles, output by output."""
    return np.array([tiled(column, DOUBLE) for column in np.reshape(values, (len(values), -1)).T])
