"""The choice of shape, length scales and lambda: by marginal likelihood on some rows, then by the loss on others.

The likelihood is maximised on a thousand rows, which resolve only coarse structure.  With more rows, all length scales
are shortened as long as a ridge regression then predicts held-out rows better.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._estimator.monitor import Steps, printing
from ..._native.array_types import NDArray
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import Scaling
from .basis import Subsets
from .dense_ridge import DenseRidge
from .ensemble import SparseParameters
from .ensemble_trial import EnsembleTrial
from .kernel import RegularisedKernel, given_kernel
from .likelihood import MOST_ROWS, Given, KernelSearch, LengthScales

Double = NDArray[np.float64]
Indices = NDArray[np.intp]
Loss = Callable[[RegularisedKernel], float]

SHAPES = "gaussian", "exponential"

# Factors of lambda and of all length scales, tried in turn while they lower the loss by more than a share of it.
_FACTORS_OF_LAMBDA = 1.0, 0.3, 0.1, 0.03
_FACTORS_OF_LENGTHS = 1.0, 0.7, 0.5, 0.35, 0.25
_LEAST_GAIN = 0.005

# Rows beside those of the likelihood: that lengths are shortened with, and that are held out; of those that there are,
# one in so many is held out.
_MORE_ROWS, _MOST_HELD_OUT = 1000, 2000
_ROWS_PER_HELD_OUT = 3
_MANY_ROWS = 8000  # from which on ensembles of more rows then shorten lengths further
_N_FOLDS = 5  # where all rows serve the likelihood


class KernelParameters(SparseParameters, Protocol):
    """Parameters of an estimator whose kernel may be learned."""

    kernel: Any
    reg_lambda: Any
    n_jobs: int | None
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


class RowsOfChoice(NamedTuple):
    """Some rows in the units that learning takes place in, their targets less the intercepts, and their weights."""

    X: Double  # (n_rows, n_features)
    targets: Double  # (n_rows, n_outputs)
    weights: Double  # (n_rows,) as they were given, in which lambda counts
    n_threads: int | None
    precision: str

    def ridge(self, learned: Indices, held_out: Indices) -> Loss:
        """The loss on held-out rows of what is learned from others."""
        regression = DenseRidge(self.X[learned], self.targets[learned], self.weights[learned], self.X[held_out],
                                self.targets[held_out], self.n_threads, self.precision)
        return lambda machine: regression.loss(machine, self.weights[held_out])

    def search(self, n_rows: int, given: Given, length_scales: LengthScales, shape: str) -> KernelSearch:
        """A search on the first rows."""
        return KernelSearch(self.X[:n_rows], self.targets[:n_rows], given, length_scales, shape, self.n_threads,
                            self.precision)


def _learn(parameters: KernelParameters, given: Given, data: Any, targets: Double, scaling: Scaling,
           candidates: Sequence[LengthScales], rng: "np.random.Generator") -> RegularisedKernel:
    """What `learn_kernel` returns where kernel or lambda is not given."""
    n_positive, weights = data.weights.n_positive, data.weights
    is_free = given.kernel is None and parameters.kernel == "auto"
    n_rows = min(n_positive, MOST_ROWS)
    if is_free and n_positive > MOST_ROWS:
        n_rows = min(n_rows, 3 * n_positive // 4)
    indices = Subsets(weights, n_rows, rng).draw()
    n_rows = len(indices)
    if is_free and n_positive > MOST_ROWS:
        others = rng.permutation(np.setdiff1d(weights.positive(), indices))
        indices = np.concatenate([indices, others[: _MORE_ROWS + _MOST_HELD_OUT]])
    X = (take_rows(data.X, indices) - scaling.center) * scaling.inverse_scale
    rows = RowsOfChoice(X, targets[indices], weights.unit * weights.each[indices], parameters.n_jobs,
                        parameters.precision)
    if not is_free:
        return rows.search(n_rows, given, candidates[0], SHAPES[0]).likeliest()
    if n_rows == len(indices):
        return _best_of_shapes(rows, given, candidates[0])
    machine = _best_on_held_out_rows(rows, n_rows, given, candidates)
    if n_positive < _MANY_ROWS:
        return machine
    trial = EnsembleTrial(parameters, data, targets, scaling, parameters.n_jobs, rng)
    return _shortened(machine, told(trial.loss, Steps("length scales on held-out rows", len(_FACTORS_OF_LENGTHS))))


def told(loss_of: Loss, steps: Steps) -> Loss:
    """A loss that tells of its values."""
    def loss(machine: RegularisedKernel) -> float:
        value = loss_of(machine)
        steps.step(f"loss {value:.6g}")
        return value
    return loss


def _best_of_shapes(rows: RowsOfChoice, given: Given, length_scales: LengthScales) -> RegularisedKernel:
    """The likeliest kernel of that shape which predicts each fifth of the rows best from the others."""
    machines = [rows.search(len(rows.X), given, length_scales, shape).likeliest() for shape in SHAPES]
    folds = np.arange(len(rows.X)) % _N_FOLDS
    losses = np.zeros(len(machines))
    for fold in range(min(_N_FOLDS, len(rows.X)) if len(rows.X) > 1 else 0):
        loss = rows.ridge(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
        losses += [loss(machine) for machine in machines]
    return machines[int(np.argmin(losses))]


def quick_kernel(rows: RowsOfChoice, given: Given, candidates: Sequence[LengthScales],
                 n_held_out: int) -> RegularisedKernel:
    """The best kernel for the last rows of what is likeliest on a few of the others."""
    if given.kernel is not None and given.noise is not None:
        return RegularisedKernel(given.kernel, given.noise)
    n_learned = len(rows.X) - n_held_out
    shapes = SHAPES if given.kernel is None else SHAPES[:1]
    machines = [rows.search(n_learned, given, length_scales, shape).on_few_rows()
                for shape in shapes for length_scales in candidates[: len(candidates) if given.kernel is None else 1]]
    if len(machines) == 1 or not n_held_out:
        return machines[0]
    return min(machines, key=rows.ridge(np.arange(n_learned), np.arange(n_learned, len(rows.X))))


def _best_on_held_out_rows(rows: RowsOfChoice, n_likely: int, given: Given,
                           candidates: Sequence[LengthScales]) -> RegularisedKernel:
    """The kernel of lowest loss, its length scales shortened as far as that lowers it.

    The first rows serve the likelihood.  The shape is that which is best after a search on few of them.
    """
    n_held_out = min(_MOST_HELD_OUT, -(-(len(rows.X) - n_likely) // _ROWS_PER_HELD_OUT))
    held_out = np.arange(n_likely, n_likely + n_held_out)
    learned = np.setdiff1d(np.arange(min(len(rows.X), n_likely + n_held_out + _MORE_ROWS)), held_out)
    steps = Steps("kernels on held-out rows", (len(SHAPES) + 1) * len(candidates) + len(_FACTORS_OF_LAMBDA) - 1
                  + len(_FACTORS_OF_LENGTHS))

    loss_of = told(rows.ridge(np.arange(n_likely), held_out), steps)
    searches = {(shape, length_scales): rows.search(n_likely, given, length_scales, shape)
                for shape in SHAPES for length_scales in candidates}
    found = [(loss_of(search.on_few_rows()), shape) for (shape, _), search in searches.items()]
    best_shape = min(found, key=lambda pair: pair[0])[1]
    machines = [search.on_all_rows() for (shape, _), search in searches.items() if shape == best_shape]
    lowest, machine = min(((loss_of(machine), machine) for machine in machines), key=lambda pair: pair[0])
    if given.noise is None:
        machine = first_best([machine._replace(reg_lambda=factor * machine.reg_lambda)
                              for factor in _FACTORS_OF_LAMBDA], loss_of, lowest)
    return _shortened(machine, told(rows.ridge(learned, held_out), steps))


def _shortened(machine: RegularisedKernel, loss_of: Loss) -> RegularisedKernel:
    return first_best([machine._replace(kernel=machine.kernel.shortened(factor)) for factor in _FACTORS_OF_LENGTHS],
                      loss_of)


def first_best(machines: Sequence[RegularisedKernel], loss_of: Loss,
               of_first: float | None = None) -> RegularisedKernel:
    """The first machine that the next one is hardly better than, or the last; the loss of the first may be known."""
    best, lowest = machines[0], loss_of(machines[0]) if of_first is None else of_first
    for machine in machines[1:]:
        loss = loss_of(machine)
        if loss > (1 - _LEAST_GAIN) * lowest:
            break
        best, lowest = machine, loss
    return best
