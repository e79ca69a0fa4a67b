"""The choice of length scales and lambda: by marginal likelihood on some rows, then by the loss on held-out rows.

The likelihood is maximised on a thousand rows, which resolve only coarse structure.  With more rows, all length scales
are shortened as long as an ensemble then predicts held-out rows better.
"""

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.row_blocks import take_rows
from .._data.scaling import Scaling
from .._data.tiles import DOUBLE
from .._estimator.monitor import Monitor, Steps, printing
from .basis import Subsets
from .ensemble import RowsWithTargets, SparseParameters, grow_all, learn_from_all_rows, make_ensembles
from .kernel import RegularisedKernel, given_kernel
from .likelihood import MOST_ROWS, Given, LengthScales, likeliest_kernel
from .packed_rows import KernelRows

Double = NDArray[np.float64]

# Factors of all length scales, tried in turn while they lower the loss.  A trial: its weak learners, the rows that it
# learns from, and the ratio of these to its held-out rows.
_FACTORS = 0.7, 0.5, 0.35, 0.25
_MOST_TRIALS = 2 + len(_FACTORS)
_TRIAL_LEARNERS = 300
_TRIAL_ROWS = 16384
_ROWS_PER_HELD_OUT = 4


class KernelParameters(SparseParameters, Protocol):
    """Parameters of an estimator whose kernel may be learned."""

    kernel: Any
    reg_lambda: Any
    n_threads: int | None
    verbose: int


def learn_kernel(parameters: KernelParameters, data: Any, targets: Double, scaling: Scaling,
                 candidates: Sequence[LengthScales], rng: "np.random.Generator") -> RegularisedKernel:
    """Kernel and lambda; what is not given is learned.

    Parameters
    ----------
    parameters : KernelParameters
    data : LabelledRows or TargetRows
    targets : array of shape (n_samples, n_outputs), less the intercepts
    scaling : Scaling
    candidates : sequence of `one_per_column` and `one_for_all`; the first serves `kernel="likelihood"`
    rng : numpy.random.Generator
    """
    given = Given(None if isinstance(parameters.kernel, str) else given_kernel(parameters.kernel, data.X.shape[1]),
                  None if isinstance(parameters.reg_lambda, str) else float(parameters.reg_lambda))
    if given.kernel is not None and given.noise is not None:
        return RegularisedKernel(given.kernel, given.noise)
    with printing() if parameters.verbose else contextlib.nullcontext():
        return _learn(parameters, given, data, targets, scaling, candidates, rng)


def _learn(parameters: KernelParameters, given: Given, data: Any, targets: Double, scaling: Scaling,
           candidates: Sequence[LengthScales], rng: "np.random.Generator") -> RegularisedKernel:
    """What `learn_kernel` returns where kernel or lambda is not given."""
    subsets = Subsets(data.weights, min(len(targets), MOST_ROWS), rng)
    indices = subsets.draw()
    rows = (take_rows(data.X, indices) - scaling.center) * scaling.inverse_scale

    def likeliest(length_scales: LengthScales) -> RegularisedKernel:
        return likeliest_kernel(rows, targets[indices], given, length_scales, rng, parameters.n_threads)

    if given.kernel is not None or parameters.kernel == "likelihood" or subsets.holds_all:
        return likeliest(candidates[0])
    machines = [likeliest(length_scales) for length_scales in candidates]
    return best_on_held_out_rows(machines, Trial(parameters, data, targets, scaling, rng))


class Trial:
    """Loss of an ensemble on held-out rows, as a function of kernel and lambda; the draws are the same for all kernels.

    All rows are taken from the training rows, by one `permutation` and one `integers` of `rng`.
    """

    def __init__(self, parameters: KernelParameters, data: Any, targets: Double, scaling: Scaling,
                 rng: "np.random.Generator") -> None:
        order = rng.permutation(data.weights.positive())
        order = order[: _TRIAL_ROWS * (1 + _ROWS_PER_HELD_OUT) // _ROWS_PER_HELD_OUT]
        self._held_out, self._learned = np.split(order, [len(order) // (1 + _ROWS_PER_HELD_OUT)])
        self._seed = int(rng.integers(2**63))
        self._held_out_X, self._learned_X = take_rows(data.X, self._held_out), take_rows(data.X, self._learned)
        self._steps = Steps("kernels on held-out rows", _MOST_TRIALS)
        self._parameters, self._targets, self._scaling, self._weights = parameters, targets, scaling, data.weights

    def _packed(self, X: Double, indices: NDArray[np.intp], scaling: Scaling) -> RowsWithTargets:
        rows = KernelRows(X, scaling, self._weights.of(indices), DOUBLE, self._parameters.n_threads)
        return RowsWithTargets(rows, self._targets[indices])

    def __call__(self, machine: RegularisedKernel) -> float:
        """Lowest mean loss over the rounds."""
        scaling = machine.kernel.scaling(self._scaling)
        ensembles = make_ensembles(
            self._parameters, self._packed(self._learned_X, self._learned, scaling),
            self._packed(self._held_out_X, self._held_out, scaling), machine.normalised_beside_mean_one(self._weights),
            learn_from_all_rows(self._targets), np.random.default_rng(self._seed))
        monitor = Monitor(min(self._parameters.n_estimators, _TRIAL_LEARNERS))
        grow_all(ensembles, monitor)
        loss = min(monitor.eval_loss)
        self._steps.step(f"loss {loss:.6g}")
        return loss


def best_on_held_out_rows(candidates: Iterable[RegularisedKernel], trial: Trial) -> RegularisedKernel:
    """The candidate of lowest loss, its length scales shortened as far as that lowers it."""
    lowest, _, found = min((trial(candidate), index, candidate) for index, candidate in enumerate(candidates))
    best = found
    for factor in _FACTORS:
        shortened = found._replace(kernel=found.kernel.shortened(factor))
        loss = trial(shortened)
        if loss >= lowest:
            break
        best, lowest = shortened, loss
    return best
