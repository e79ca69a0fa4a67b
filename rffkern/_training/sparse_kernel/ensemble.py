"""Ensembles of weak learners, for one output or several, that grow round by round by one of the update schemes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._native.array_types import NDArray
from ..._rows.tiles import DOUBLE, TILE, aligned, tiled
from .basis import Subsets, make_selection
from .kernel import RegularisedKernel
from .least_squares import Coefficients, FitState, Targets, make_least_squares
from .packed_rows import KernelRows
from .stages import CoefficientPath, combine
from .weak_learner import Settings, WeakLearner

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Subsets that are tried before the ensemble stops growing.
_MAX_TRIES = 10

# Rows whose margin y F is above this are left out of later groups of a classifier with `all_rows=False`.
_ACTIVE_MARGIN = 0.5


class Shared(NamedTuple):
    """Rows, settings, memory and random draws that all groups of an ensemble share."""

    rows: KernelRows
    held_out: tuple[Targets, ...]  # the first decide when to stop
    settings: Settings
    columns: NDArray[Any]  # (capacity, n_tiles, 128) memory for the columns of a group
    rng: "np.random.Generator"


class GroupState(NamedTuple):
    """Where a group stands.  Nothing in it is ever changed."""

    fit: FitState
    selection: tuple[Indices, ...]
    begun: tuple[Double, Indices, Indices] | None = None  # arguments of an `ActiveGroup`


class Group:
    """Weak learners whose coefficients are optimal together, learned from all rows.

    Parameters
    ----------
    shared : Shared
    rows : KernelRows
    target : array of shape (n_outputs, n_tiles, 128), which becomes the residual
    """

    idle_loss = 0.0  # weighted sum of squares of the residual at rows that are left out

    def __init__(self, shared: Shared, rows: KernelRows, target: Double) -> None:
        settings, capacity = shared.settings, len(shared.columns)
        size = capacity * rows.n_tiles * TILE
        columns = shared.columns.reshape(-1)[:size].reshape(capacity, rows.n_tiles, TILE)
        self.least_squares = make_least_squares(Targets(rows, target, columns), shared.held_out, settings)
        self.selection = make_selection(settings, rows)
        self.subsets = Subsets.of_settings(rows.weights, settings, shared.rng)

    def placed(self, learners: Sequence[WeakLearner]) -> Sequence[WeakLearner]:
        """Weak learners of the group with the indices that their basis vectors have among all rows."""
        return learners

    def remainder(self) -> Double:
        """What the group leaves of the targets of all rows, in tiles."""
        return self.least_squares.training.residual

    def state(self) -> GroupState:
        """Where it stands."""
        return GroupState(self.least_squares.state(), self.selection.state())

    @staticmethod
    def resumed(shared: Shared, state: GroupState) -> "Group":
        """A group that stands where another has stood."""
        group = (Group(shared, shared.rows, state.fit.target.copy()) if state.begun is None
                 else ActiveGroup(shared, *state.begun))
        group.least_squares.resume(state.fit)
        group.selection.resume(state.selection)
        return group


class ActiveGroup(Group):
    """Weak learners whose coefficients are optimal together, learned from the active rows alone.

    Parameters
    ----------
    shared : Shared
    target : array of shape (n_outputs, n_tiles, 128), of all rows
    active, idle : arrays of indices
    """

    def __init__(self, shared: Shared, target: Double, active: Indices, idle: Indices) -> None:
        flat = target.reshape(len(target), -1)
        super().__init__(shared, shared.rows.taken(active), tiled_outputs(flat[:, active].T))
        self._shared, self._target = shared, target
        self.active, self._idle = active, idle
        self.idle_loss = float((shared.rows.flat_weight[idle] * flat[:, idle] ** 2).sum())

    def placed(self, learners: Sequence[WeakLearner]) -> Sequence[WeakLearner]:
        """Weak learners of the group with the indices that their basis vectors have among all rows."""
        return [learner._replace(indices=self.active[learner.indices]) for learner in learners]

    def remainder(self) -> Double:
        """What the group leaves of the targets of all rows, in tiles."""
        rows, kernel = self._shared.rows, self._shared.settings.kernel
        columns = aligned(self._target.shape, rows.dtype)
        indices, weights = combine(self.least_squares.learners, self.least_squares.coef)
        rows.fill(columns, rows.centers(self.active[indices]), kernel.amplitude * weights.T,
                  kernel.bias * weights.sum(axis=0))
        return self._target - columns

    def state(self) -> GroupState:
        """Where it stands, and on which rows it began."""
        return super().state()._replace(begun=(self._target, self.active, self._idle))


# Makes a group of what the groups before it leave of the targets.
GroupMaker = Callable[[Shared, Double], Group]


def group_of_all_rows(shared: Shared, target: Double) -> Group:
    """A group that learns from all rows."""
    return Group(shared, shared.rows, target)


def group_of_active_rows(signs: Double, shared: Shared, target: Double) -> ActiveGroup:
    """A group that learns from the rows not yet fitted well in some output, at most half of all.

    `signs` (n_samples, n_outputs) holds their labels -1 and +1.
    """
    counting = shared.rows.weights.positive()
    counted = signs.T[:, counting]
    margins = (counted * (counted - target.reshape(len(target), -1)[:, counting])).min(axis=0)
    order = counting[np.argsort(margins, kind="stable")]
    n_active = max(2, min(np.count_nonzero(margins < _ACTIVE_MARGIN), len(counting) // 2))
    return ActiveGroup(shared, target, np.sort(order[:n_active]), order[n_active:])


def learn_from_all_rows(targets: Double) -> Callable[[slice], GroupMaker]:
    """For some of the outputs, a maker of groups that learn from all rows."""
    return lambda _: group_of_all_rows


def learn_from_active_rows(targets: Double) -> Callable[[slice], GroupMaker]:
    """For some of the outputs, whose targets are labels -1 and +1, a maker of groups that learn from active rows."""
    return lambda outputs: partial(group_of_active_rows, targets[:, outputs])


class EnsembleState(NamedTuple):
    """Where an ensemble stands.  Nothing in it is ever changed."""

    group: GroupState
    learners: tuple[WeakLearner, ...]
    finished: tuple[Coefficients, ...]
    n_skipped: int
    exhausted: bool


class Ensemble:
    """Weak learners of one output or several, all of whose coefficients are kept optimal.

    Parameters
    ----------
    shared : Shared
    target : array of shape (n_outputs, n_tiles, 128), targets less the intercepts, which becomes the residual
    later_group : callable (shared, target) -> Group, for the groups after the first
    """

    def __init__(self, shared: Shared, target: Double, later_group: GroupMaker) -> None:
        self._shared, self._later_group = shared, later_group
        self.n_outputs = len(target)
        self.group = group_of_all_rows(shared, target)
        self.learners: list[WeakLearner] = []
        self._finished: list[Coefficients] = []  # of the groups before
        self._n_skipped, self._exhausted = 0, False

    @property
    def n_skipped(self) -> int:
        """Near-duplicates met so far: rows in selections, and whole weak learners."""
        return self._n_skipped + self.group.selection.n_skipped

    @property
    def loss(self) -> float:
        """Mean squared residual, summed over outputs; rows that a group leaves out count as when it began."""
        loss = self._loss_of(self.group.least_squares.training) + self.group.idle_loss
        return loss / self._shared.rows.weights.total

    @property
    def eval_losses(self) -> list[float]:
        """Mean squared residual of each set of held-out rows, summed over outputs."""
        return [self._loss_of(targets) / targets.rows.weights.total for targets in self._shared.held_out]

    def _loss_of(self, targets: Targets) -> float:
        return targets.loss

    def state(self) -> EnsembleState:
        """Where it stands, for another to resume."""
        return EnsembleState(self.group.state(), tuple(self.learners), tuple(self._finished), self.n_skipped,
                             self._exhausted)

    def resume(self, state: EnsembleState) -> None:
        """Stand where another has stood with the same rows and targets."""
        self.group = Group.resumed(self._shared, state.group)
        self.learners, self._finished = [*state.learners], [*state.finished]
        self._n_skipped, self._exhausted = state.n_skipped, state.exhausted

    def grow(self) -> bool:
        """Add the weak learners of a round; False if none is left to add, then and in every later call."""
        self._exhausted = self._exhausted or not self._grow()
        return not self._exhausted

    def _is_full(self) -> bool:
        return len(self.group.least_squares.learners) == self._shared.settings.capacity

    def _grow(self) -> bool:
        return not self._is_full() and self._add_one()

    def _add_one(self) -> bool:
        """Add weak learners; False if the others span every one found in all rows, or in ten subsets."""
        group, fit = self.group, self.group.least_squares
        for _ in range(1 if group.subsets.holds_all else _MAX_TRIES):
            subsets = [group.subsets.draw() for _ in range(self._shared.settings.n_sets)]
            proposal = group.selection.propose(subsets, fit.target, fit.training.residual)
            if proposal is None:
                continue
            n_added = fit.add(proposal)
            if n_added:
                self.learners.extend(group.placed(fit.learners[-n_added:]))
                return True
            group.selection.refuse()
            self._n_skipped += 1
        return False

    def refine(self) -> None:
        """Refine the coefficients of the last group."""
        self.group.least_squares.refine()

    def _finish_group(self) -> None:
        self._finished.append(self.group.least_squares.coefficients)

    def path(self, n_learners: int, outputs: slice) -> CoefficientPath:
        """The first weak learners, with their coefficients for the outputs when there were no more."""
        return CoefficientPath(self.learners[:n_learners], [*self._finished, self.group.least_squares.coefficients],
                               outputs)


class PairsOptimal(Ensemble):
    """Weak learners all of whose coefficients are made optimal after every two, which come out one by one."""

    def _n_to_come(self) -> int:
        return len(self.group.least_squares.learners) - len(self.learners)

    def _grow(self) -> bool:
        before = len(self.learners)
        if not self._n_to_come() and not super()._grow():
            return False
        self.learners[before:] = self.group.least_squares.learners[before : before + 1]
        return True

    def _loss_of(self, targets: Targets) -> float:
        return targets.loss_before_last if self._n_to_come() else targets.loss


class NewestOptimal(Ensemble):
    """Weak learners of which the newest, those of a round, get the optimal coefficients, (31), and keep them."""

    def _grow(self) -> bool:
        if self.group.least_squares.learners:
            self._finish_group()
            self.group.least_squares.begin_anew()
        return self._add_one()


class GroupOptimal(Ensemble):
    """Weak learners whose coefficients are optimal group by group."""

    def _grow(self) -> bool:
        if self._is_full():
            self._begin_group()
        if self._add_one():
            return True
        if not self.group.least_squares.learners:
            return False
        self._begin_group()  # which may have other rows, and may select those of the last group again
        return self._add_one()

    def _begin_group(self) -> None:
        """Learn from now on what the groups so far leave of the targets."""
        self.refine()
        self._finish_group()
        self._n_skipped += self.group.selection.n_skipped
        self.group = self._later_group(self._shared, self.group.remainder())


class SparseParameters(Protocol):
    """Parameters of an estimator that its ensembles follow."""

    n_estimators: int
    learner_size: int
    subset_size: int | None
    selection: str
    n_candidates: int
    update: str
    group_size: int
    shared: bool
    warm_start: bool
    precision: str


class RowsWithTargets(NamedTuple):
    """Packed rows, and their targets less the intercepts."""

    rows: KernelRows
    targets: Double  # (n_samples, n_outputs)


# Weak learners that a round adds where several outputs share them.
_TOGETHER = 2


def make_ensembles(parameters: SparseParameters, sets: Sequence[RowsWithTargets], machine: RegularisedKernel,
                   later_groups: Callable[[slice], GroupMaker], rng: "np.random.Generator",
                   n_rounds: int) -> list[Ensemble]:
    """An ensemble for all outputs or for each, with room for so many rounds.

    They learn from the first of the sets, and the others are held out; `machine` is normalised, for weights of mean 1.
    """
    learned, *held_out = sets
    rows, n_outputs = learned.rows, learned.targets.shape[1]
    settings = _settings(parameters, rows.weights.n_positive, machine, n_outputs, n_rounds)
    is_paired = settings.n_sets > 1
    scheme = {"full": Ensemble, "pairs": PairsOptimal if is_paired else Ensemble, "one": NewestOptimal,
              "group": GroupOptimal}[parameters.update]
    ensembles = []
    for outputs in outputs_of_ensembles(parameters.shared, n_outputs):
        columns = aligned((settings.capacity, rows.n_tiles, TILE), rows.dtype)
        others = tuple(Targets(other.rows, tiled_outputs(other.targets[:, outputs]),
                               aligned((settings.capacity, other.rows.n_tiles, TILE), rows.dtype))
                       for other in held_out)
        ensembles.append(scheme(Shared(rows, others, settings, columns, rng),
                                tiled_outputs(learned.targets[:, outputs]), later_groups(outputs)))
    return ensembles


def outputs_of_ensembles(shared: bool, n_outputs: int) -> list[slice]:
    """The outputs of each ensemble."""
    return [slice(0, n_outputs)] if shared else [slice(k, k + 1) for k in range(n_outputs)]


def tiled_outputs(targets: Double) -> Double:
    """Targets (n_samples, n_outputs) in tiles, output by output."""
    return np.array([tiled(target, DOUBLE) for target in targets.T])


def _settings(parameters: SparseParameters, n_positive: int, machine: RegularisedKernel, n_outputs: int,
              n_rounds: int) -> Settings:
    learner_size = min(parameters.learner_size, parameters.subset_size or n_positive, n_positive)
    n_together = min(learner_size, n_outputs, _TOGETHER) if parameters.shared else 1
    is_joint, n_each = parameters.update in ("full", "pairs"), n_outputs if parameters.shared else 1
    n_sets = 2 if parameters.update == "pairs" and n_each == 1 and learner_size > 1 else 1
    # As many as rounds give, of which no more than rows are independent; the last pair is whole, as in a longer fit.
    n_learners = min((n_rounds + n_sets - 1) * n_together, n_positive)
    capacity = {"full": n_learners, "pairs": n_learners, "one": min(n_together, n_learners),
                "group": min(parameters.group_size * n_together, n_learners)}[parameters.update]
    return Settings(*machine, learner_size, n_together, n_sets, capacity, parameters.selection,
                    min(parameters.n_candidates, n_positive), parameters.subset_size,
                    keeps_dictionary=learner_size == 1 and (
                        is_joint or (parameters.update == "group" and parameters.group_size > 1)))
