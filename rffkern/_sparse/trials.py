"""Small machines by which column maps are compared."""

from typing import Any

import numpy as np

# Rows from which they learn a kernel, and its length scale, in root mean square distances from the center, where one
# serves all columns.
_KERNEL_ROWS, _LENGTH = 300, 0.7

# One row of so many is held out where kernels are compared.
_ROWS_PER_HELD_OUT = 3


def tried(machine: Any, X: Any, y: Any, sample_weight: Any, standardize: bool) -> Any:
    """A trained copy of a machine, with a kernel that takes little time to learn.

    Length scales that few rows determine are at times far off, and one for all columns does not suit all tables: the
    better of both is taken, by rows that it has not learned from.
    """
    kernels = [machine.kernel]
    if isinstance(machine.kernel, str):
        with np.errstate(over="ignore", invalid="ignore"):
            spread = X.var(axis=0)
            width = _LENGTH * float(np.sqrt(np.count_nonzero(spread) if standardize else spread.sum()))
        kernels = [{"lengthscales": width or 1.0}, "likelihood"]
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    copies = [_with_kernel(machine, kernel, X, y, weight, standardize) for kernel in kernels]
    held_out = np.arange(len(X)) % _ROWS_PER_HELD_OUT == 0

    def loss(copied: Any) -> float:
        copied.fit(X[~held_out], y[~held_out], weight[~held_out])
        return float(weight[held_out] @ copied._losses_of_rows(X[held_out], y[held_out]))

    best = copies[0] if len(copies) == 1 else copies[int(np.argmin([loss(copied) for copied in copies]))]
    return best.fit(X, y, sample_weight)


def _with_kernel(machine: Any, kernel: Any, X: Any, y: Any, weight: Any, standardize: bool) -> Any:
    """An untrained copy with a kernel and lambda; what of them is not given is learned from a few rows."""
    copied = machine._trial_copy(standardize).set_params(kernel=kernel)
    if isinstance(kernel, str) or isinstance(copied.reg_lambda, str):
        few = slice(None, None, -(-len(X) // _KERNEL_ROWS))
        learned = machine._trial_copy(standardize).set_params(kernel=kernel, n_estimators=1)
        learned.fit(X[few], y[few], weight[few])
        copied.set_params(kernel=learned.kernel_, reg_lambda=learned.reg_lambda_)
    return copied
