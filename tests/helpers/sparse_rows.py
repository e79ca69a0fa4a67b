"""Rows and settings that tests of sparse kernel machines share."""

import numpy as np

from rffkern import ColumnMap
from rffkern._rows.scaling import no_scaling
from rffkern._rows.tiles import DOUBLE, tiled
from rffkern._rows.weights import RowWeights
from rffkern._training.kernel_ridge.kernel import Kernel
from rffkern._training.sparse_kernel.basis_selection import Settings
from rffkern._training.sparse_kernel.kernel_rows import KernelRows

KERNEL = {"length_scale": [1.0, 2.0, 4.0], "amplitude": 1.5, "bias": 0.2}
RAW = ColumnMap(("raw",))  # columns as they are, which would otherwise be standardised
GIVEN = {"kernel": KERNEL, "reg_lambda": 0.02, "random_state": 0}
WIDE = {"kernel": {"length_scale": 1.0}, "reg_lambda": 1e-3, "random_state": 0}


def waves(rng, n, noise=0.1):
    """Rows of three columns, and a function of them with noise."""
    X = rng.uniform(-3, 3, (n, 3))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * X[:, 2] + noise * rng.standard_normal(n)


def given_kernel():
    """The kernel of KERNEL."""
    return Kernel(np.array(KERNEL["length_scale"]), KERNEL["amplitude"], KERNEL["bias"])


def make_settings(kernel, reg_lambda=0.02, basis_size=5, capacity=4, rule="max-res", max_samples=100, n_together=1,
                  group_size=None):
    """Settings of an ensemble."""
    return Settings(kernel._replace(reg_lambda=reg_lambda), rule, basis_size, max_samples, n_together, group_size,
                    capacity)


def kernel_rows(X, kernel, weight=None, dtype=DOUBLE, n_threads=1):
    """Rows in the units of a kernel."""
    weights = RowWeights(len(X), None if weight is None else np.asarray(weight, float))
    return KernelRows(X, kernel.scaling(no_scaling(X.shape[1])), weights, np.dtype(dtype), n_threads)


def in_tiles(values):
    """Values of rows in tiles."""
    return tiled(values, DOUBLE)


def in_outputs(values):
    """Values (n_samples,) or (n_samples, n_outputs) of rows in tiles, output by output."""
    return np.array([tiled(column, DOUBLE) for column in np.reshape(values, (len(values), -1)).T])
