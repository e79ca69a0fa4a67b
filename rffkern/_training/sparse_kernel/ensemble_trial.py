"""Losses of ensembles on held-out rows, to judge length scales by more rows than one matrix holds."""

from functools import partial
from typing import Any

import numpy as np

from ..._estimator.monitor import Monitor
from ..._native.array_types import NDArray
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import Scaling
from ..._rows.tiles import in_precision
from .ensemble import RowsWithTargets, SparseParameters, learn_from_all_rows, make_ensembles
from .kernel import RegularisedKernel
from .packed_rows import needs_double, pack_rows
from .rounds import grow_all

Double = NDArray[np.float64]

# Weak learners of a trial, the rows that it learns from at most, and the ratio of these to its held-out rows.
_LEARNERS, _MOST_ROWS, _ROWS_PER_HELD_OUT = 200, 8192, 4


class EnsembleTrial:
    """Loss of an ensemble on held-out rows, as a function of kernel and lambda; the draws are the same for all kernels.

    All rows are taken from the training rows, by one `permutation` and one `integers` of `rng`.
    """

    def __init__(self, parameters: SparseParameters, data: Any, targets: Double, scaling: Scaling,
                 n_threads: int | None, rng: "np.random.Generator") -> None:
        order = rng.permutation(data.weights.positive())
        order = order[: _MOST_ROWS * (1 + _ROWS_PER_HELD_OUT) // _ROWS_PER_HELD_OUT]
        self._held_out, self._learned = np.split(order, [len(order) // (1 + _ROWS_PER_HELD_OUT)])
        self._seed = int(rng.integers(2**63))
        self._held_out_X, self._learned_X = take_rows(data.X, self._held_out), take_rows(data.X, self._learned)
        self._parameters, self._targets, self._scaling = parameters, targets, scaling
        # Fits that go on choose as one long fit would.
        self._n_rounds = _LEARNERS if parameters.warm_start else min(parameters.n_estimators, _LEARNERS)
        self._weights, self._n_threads = data.weights, n_threads

    def loss(self, machine: RegularisedKernel) -> float:
        """Lowest mean loss over the rounds."""
        scaling = machine.kernel.scaling(self._scaling)

        def packed(X: Double, indices: NDArray[np.intp]) -> RowsWithTargets:
            pack_in = partial(pack_rows, X, scaling, self._weights.of(indices), self._n_threads, machine.kernel.number)
            rows = in_precision(pack_in, self._parameters.precision, needs_double)
            return RowsWithTargets(rows, self._targets[indices])

        ensembles = make_ensembles(
            self._parameters, [packed(self._learned_X, self._learned), packed(self._held_out_X, self._held_out)],
            machine.normalised_beside_mean_one(self._weights), learn_from_all_rows(self._targets),
            np.random.default_rng(self._seed), self._n_rounds)
        monitor = Monitor(self._n_rounds)
        grow_all(ensembles, monitor)
        return min(monitor.eval_loss)
