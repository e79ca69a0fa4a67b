"""Ensembles of weak learners, one for each output, that grow round by round by one of the update schemes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.tiles import DOUBLE, TILE, aligned, tiled
from .._estimator.monitor import Monitor
from .basis import Subsets, make_selection
from .kernel import RegularisedKernel
from .least_squares import Targets, make_least_squares
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
    held_out: tuple[Targets, ...]  # one or none
    settings: Settings
    columns: NDArray[Any]  # (capacity, n_tiles, 128) memory for the columns of a group
    rng: "np.random.Generator"


class Group:
    """Weak learners whose coefficients are optimal together, learned from all rows.

    Parameters
    ----------
    shared : Shared
    rows : KernelRows
    target : array of shape (n_tiles, 128), which becomes the residual
    """

    idle_loss = 0.0  # weighted sum of squares of the residual at rows that are left out

    def __init__(self, shared: Shared, rows: KernelRows, target: Double) -> None:
        settings, capacity = shared.settings, len(shared.columns)
        size = capacity * rows.n_tiles * TILE
        columns = shared.columns.reshape(-1)[:size].reshape(capacity, rows.n_tiles, TILE)
        self.least_squares = make_least_squares(Targets(rows, target, columns), shared.held_out, settings)
        self.selection = make_selection(settings, rows)
        self.subsets = Subsets.of_settings(rows.weights, settings, shared.rng)

    def placed(self, learner: WeakLearner) -> WeakLearner:
        """A weak learner of the group with the indices that its basis vectors have among all rows."""
        return learner

    def remainder(self) -> Double:
        """What the group leaves of the targets of all rows, in tiles."""
        return self.least_squares.training.residual


class ActiveGroup(Group):
    """Weak learners whose coefficients are optimal together, learned from the active rows alone.

    Parameters
    ----------
    shared : Shared
    target : array of shape (n_tiles, 128), of all rows
    active, idle : arrays of indices
    """

    def __init__(self, shared: Shared, target: Double, active: Indices, idle: Indices) -> None:
        flat = target.reshape(-1)
        super().__init__(shared, shared.rows.taken(active), tiled(flat[active], DOUBLE))
        self._shared, self._target = shared, target
        self.active = active
        self.idle_loss = float((shared.rows.flat_weight[idle] * flat[idle] ** 2).sum())

    def placed(self, learner: WeakLearner) -> WeakLearner:
        """A weak learner of the group with the indices that its basis vectors have among all rows."""
        return learner._replace(indices=self.active[learner.indices])

    def remainder(self) -> Double:
        """What the group leaves of the targets of all rows, in tiles."""
        rows, kernel = self._shared.rows, self._shared.settings.kernel
        column = aligned(self._target.shape, rows.dtype)
        indices, weights = combine(self.least_squares.learners, self.least_squares.coef)
        rows.fill(column, rows.centers(self.active[indices]), kernel.amplitude * weights, kernel.bias * weights.sum())
        return self._target - column


# Makes a group of what the groups before it leave of the targets.
GroupMaker = Callable[[Shared, Double], Group]


def group_of_all_rows(shared: Shared, target: Double) -> Group:
    """A group that learns from all rows."""
    return Group(shared, shared.rows, target)


def group_of_active_rows(sign: Double, shared: Shared, target: Double) -> ActiveGroup:
    """A group that learns from the rows not yet fitted well, at most half of all; `sign` holds their labels."""
    counting = shared.rows.weights.positive()
    margins = sign[counting] * (sign[counting] - target.reshape(-1)[counting])
    order = counting[np.argsort(margins, kind="stable")]
    n_active = max(2, min(np.count_nonzero(margins < _ACTIVE_MARGIN), len(counting) // 2))
    return ActiveGroup(shared, target, np.sort(order[:n_active]), order[n_active:])


def learn_from_all_rows(targets: Double) -> list[GroupMaker]:
    """For each output, a maker of groups that learn from all rows."""
    return [group_of_all_rows] * targets.shape[1]


def learn_from_active_rows(targets: Double) -> list[GroupMaker]:
    """For each output, whose targets are labels -1 and +1, a maker of groups that learn from active rows."""
    return [partial(group_of_active_rows, sign) for sign in targets.T]


class Ensemble:
    """The weak learners of one output, all of whose coefficients are kept optimal.

    Parameters
    ----------
    shared : Shared
    target : array of shape (n_tiles, 128), targets less the intercept, which becomes the residual
    later_group : callable (shared, target) -> Group, for the groups after the first
    """

    def __init__(self, shared: Shared, target: Double, later_group: GroupMaker) -> None:
        self._shared, self._later_group = shared, later_group
        self.group = group_of_all_rows(shared, target)
        self.learners: list[WeakLearner] = []
        self.steps: list[Double] = []  # after each, the coefficients of its group
        self._n_skipped, self._exhausted = 0, False

    @property
    def n_skipped(self) -> int:
        """Near-duplicates met so far: rows in selections, and whole weak learners."""
        return self._n_skipped + self.group.selection.n_skipped

    @property
    def loss(self) -> float:
        """Mean squared residual; rows that a group leaves out count with what they had when it began."""
        return (self.group.least_squares.training.loss + self.group.idle_loss) / self._shared.rows.weights.total

    @property
    def eval_loss(self) -> float | None:
        """Mean squared residual of held-out rows, if there are any."""
        if not self._shared.held_out:
            return None
        (targets,) = self._shared.held_out
        return targets.loss / targets.rows.weights.total

    def grow(self) -> bool:
        """Add a weak learner; False if none is left to add, then and in every later call."""
        self._exhausted = self._exhausted or not self._grow()
        return not self._exhausted

    def _is_full(self) -> bool:
        return len(self.group.least_squares.learners) == self._shared.settings.capacity

    def _grow(self) -> bool:
        return not self._is_full() and self._add_one()

    def _add_one(self) -> bool:
        """Add a weak learner; False if the others span every one found in all rows, or in ten subsets."""
        group, fit = self.group, self.group.least_squares
        for _ in range(1 if group.subsets.holds_all else _MAX_TRIES):
            proposal = group.selection.propose(group.subsets.draw(), fit.target, fit.training.residual)
            if proposal is None:
                continue
            if fit.add(proposal):
                self.learners.append(group.placed(proposal.learner))
                self.steps.append(fit.coef)
                return True
            group.selection.refuse()
            self._n_skipped += 1
        return False

    def refine(self) -> None:
        """Refine the coefficients of the last group."""
        self.group.least_squares.refine()
        if self.group.least_squares.learners:
            self.steps[-1] = self.group.least_squares.coef

    def path(self, n_learners: int) -> CoefficientPath:
        """The first weak learners and their coefficients after each was added."""
        return CoefficientPath(self.learners[:n_learners], self.steps[:n_learners])


class NewestOptimal(Ensemble):
    """The weak learners of one output, of which the newest gets the optimal coefficient, (31), and keeps it."""

    def _grow(self) -> bool:
        return self._add_one()


class GroupOptimal(Ensemble):
    """The weak learners of one output, whose coefficients are optimal group by group."""

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


class RowsWithTargets(NamedTuple):
    """Packed rows, and their targets less the intercepts."""

    rows: KernelRows
    targets: Double  # (n_samples, n_outputs)


def make_ensembles(parameters: SparseParameters, learned: RowsWithTargets, held_out: RowsWithTargets | None,
                   machine: RegularisedKernel, later_groups: Sequence[GroupMaker],
                   rng: "np.random.Generator") -> list[Ensemble]:
    """An ensemble for each output; `machine` is normalised, for weights of mean 1."""
    rows, n_positive = learned.rows, learned.rows.weights.n_positive
    n_learners = min(parameters.n_estimators, n_positive)  # of which no more are independent
    scheme, capacity = {"full": (Ensemble, n_learners), "one": (NewestOptimal, 1),
                        "group": (GroupOptimal, min(parameters.group_size, n_learners))}[parameters.update]
    learner_size = min(parameters.learner_size, parameters.subset_size or n_positive, n_positive)
    settings = Settings(*machine, learner_size, capacity, parameters.selection,
                        min(parameters.n_candidates, n_positive), parameters.subset_size,
                        keeps_dictionary=learner_size == 1 and capacity > 1)
    ensembles = []
    for k, later_group in enumerate(later_groups):
        columns = aligned((capacity, rows.n_tiles, TILE), rows.dtype)
        others: tuple[Targets, ...] = ()
        if held_out is not None:
            others = Targets(held_out.rows, tiled(held_out.targets[:, k], DOUBLE),
                             aligned((capacity, held_out.rows.n_tiles, TILE), rows.dtype)),
        ensembles.append(scheme(Shared(rows, others, settings, columns, rng), tiled(learned.targets[:, k], DOUBLE),
                                later_group))
    return ensembles


def grow_all(ensembles: Sequence[Ensemble], monitor: Monitor) -> list[list[int]]:
    """Grow the ensembles of all outputs round by round; return how many weak learners each had after each round."""
    counts: list[list[int]] = []
    go_on = monitor.record(*_mean_losses(ensembles))
    while go_on:
        grown = [ensemble.grow() for ensemble in ensembles]
        if not any(grown):
            break
        counts.append([len(ensemble.learners) for ensemble in ensembles])
        go_on = monitor.record(*_mean_losses(ensembles))
    return counts


def finish(ensembles: Sequence[Ensemble], counts: Sequence[int]) -> tuple[list[CoefficientPath], int]:
    """Refine the last coefficients; return the paths of the first weak learners, and how many were skipped."""
    paths, n_skipped = [], 0
    for ensemble, n_learners in zip(ensembles, counts, strict=True):
        ensemble.refine()
        paths.append(ensemble.path(n_learners))
        n_skipped += ensemble.n_skipped
    return paths, n_skipped


def _mean_losses(ensembles: Sequence[Ensemble]) -> tuple[float, float | None]:
    held_out = [loss for loss in (ensemble.eval_loss for ensemble in ensembles) if loss is not None]
    return (sum(ensemble.loss for ensemble in ensembles) / len(ensembles),
            sum(held_out) / len(ensembles) if held_out else None)
