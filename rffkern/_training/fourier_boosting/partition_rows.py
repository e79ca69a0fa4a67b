"""What Fourier boosting does with the rows of a partition: columns, codes, and the scores of the member in training."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting
from ..._rows.scaling import Scaling
from ..._rows.training_rows import LabelledRows
from ..distributed.partition import PartitionRows
from .bins import coded_by
from .calibration import HeldOut, HeldOutMeans
from .counts import counts_of
from .losses import Loss, Start
from .rows import Bounds, Columns, Layout, partition, standardise
from .state import MemberRows, Slopes, State
from .terms import Line, Table, Term

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows whose products with each other are summed in single precision, and by one call that takes no threads.
_BLOCK = 4096


class Targets(NamedTuple):
    """How the targets that a partition holds become those of the loss."""

    loss: Loss
    counts: tuple[Double, Double, float] | None  # of targets that are counts: center, inverse scale and unit

    def of(self, part: PartitionRows, what: str) -> Double:
        """Class indices (1, n_rows), or values (n_outputs, n_rows)."""
        rows = part.rows
        if isinstance(rows, LabelledRows):
            return rows.codes[None].astype(np.float64)
        if self.counts is None:
            return np.ascontiguousarray(rows.values.T)
        return np.ascontiguousarray(counts_of(rows.values, *self.counts, f"{what}y of partition {part.number}").T)


class Settings(NamedTuple):
    """What all partitions know of all."""

    targets: Targets
    start: Start
    scaling: Scaling
    edges: tuple[Double, ...]  # of the bins of each column
    bounds: Bounds  # that rows are clipped to
    shares: Mapping[int, int]  # the largest numbers of rows that calibrate, by partition
    seed: int


class Part(NamedTuple):
    """The rows of a partition that a member learns from, and holds out."""

    member: int
    seed: int  # of the order of the rows, and of samples
    fold: tuple[int, float, int] | None = None  # seed of a partition, number of folds and the fold held out
    is_held_out: bool = False  # all of them

    def layout(self, strata: Double, number: int) -> Layout:
        """The order of the rows of the partition of this number."""
        rows, rng = np.arange(len(strata)), np.random.default_rng([self.seed, number])
        if self.is_held_out:
            return Layout.of_watched(rows)
        out = np.zeros(len(rows), dtype=bool)
        if self.fold is not None and len(rows) > 1:  # one row cannot be held out
            seed, n_folds, fold = self.fold
            out = partition(strata, n_folds, np.random.default_rng([seed, number])) == fold
        return Layout.of(rows[~out], rows[out], rng)


class Size(NamedTuple):
    """The rows of a member in a partition."""

    n_learned: int
    totals: tuple[float, float]  # sums of the weights of those learned from and held out


class Looked(NamedTuple):
    """Where a member stands in a partition."""

    sums: tuple[float, float]  # of the losses of rows learned from and held out
    sample: MemberRows | None


def condensed_targets(part: PartitionRows, targets: Targets, shares: Mapping[int, int],
                      seed: int) -> tuple[Double, Double]:
    """Targets and weights of few rows that say where boosting starts."""
    weights = part.rows.weights.each
    return targets.loss.condensed(targets.of(part, ""), weights, _some(part, shares, seed))


def sampled_columns(part: PartitionRows, scaling: Scaling, shares: Mapping[int, int], seed: int) -> Single:
    """Columns of some rows in units of the scaling, (n_columns, n_chosen)."""
    return _standardised(part.rows.X[_some(part, shares, seed)], scaling)


def _some(part: PartitionRows, shares: Mapping[int, int], seed: int) -> Indices:
    """Some rows, sorted."""
    return drawn_rows(len(part.rows.X), shares[part.number], np.random.default_rng([seed, part.number]))


def drawn_rows(n_rows: int, n_drawn: int, rng: "np.random.Generator") -> Indices:
    """Indices of some of the rows, or of all where there are not more, sorted."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, n_drawn, replace=False))


def _standardised(X: NDArray[Any], scaling: Scaling) -> Single:
    out = np.empty(X.shape[::-1], dtype=np.float32)
    standardise(X, scaling, out)
    return out


class BoostedPartition:
    """Rows of a partition column by column, with the state of the member that is trained."""

    def __init__(self, part: PartitionRows, settings: Settings, what: str) -> None:
        rows = part.rows
        self._number, self._settings, self._weights = part.number, settings, np.array(rows.weights.each)
        values = _standardised(rows.X.clip(*settings.bounds), settings.scaling)  # training rows are within them
        coded = np.arange(len(values))
        self._columns = Columns(values, coded, coded_by(values, coded, settings.edges), settings.bounds)
        targets = settings.targets.of(part, what)
        self._problem = settings.targets.loss.problem(targets, self._weights, settings.start)
        self._begun: tuple[Part, Layout, State] | None = None
        self._held: dict[int, tuple[Indices, Single]] = {}  # rows and scores of members
        self._share = self._table_share = 0

    def __getstate__(self) -> dict[str, Any]:
        """What travels.  The scores are made anew from the commands."""
        return vars(self) | {"_begun": None, "_held": {}}

    @property
    def has_scores(self) -> bool:
        """Whether there are scores."""
        return self._begun is not None

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return int(self._columns.values.nbytes)

    @property
    def _state(self) -> State:
        assert self._begun is not None
        return self._begun[2]

    # Commands.

    def begin(self, part: Part) -> None:
        """Lay out the rows of a member, before its first round."""
        self._begun = None  # before its successor takes memory
        layout = part.layout(self._problem.strata, self._number)
        rows = MemberRows.of(self._columns, self._problem, self._weights, layout)
        self._begun = part, layout, State(rows, self._problem)

    def sample_from(self, shares: Mapping[int, int], table_shares: Mapping[int, int]) -> None:
        """Take so many rows of each partition for the sample of a round, and so many to grow a table on."""
        self._share, self._table_share = shares[self._number], table_shares[self._number]

    def advance(self, term: Term, step: float) -> None:
        """Add step times a term to the scores."""
        _point(self._state, term)
        self._state.move(step)

    def keep_held(self) -> None:
        """Keep the scores of the rows held out as they are now, in place of earlier ones of the member."""
        assert self._begun is not None
        part, layout, state = self._begun
        self._held[part.member] = layout.held_out(state.held_scores())

    # Questions.

    def size(self) -> Size:
        """The rows of the member."""
        assert self._begun is not None
        _, layout, state = self._begun
        return Size(int(layout.used[: layout.n_train].sum()), (state.totals[0], state.totals[1]))

    def look(self, n_rounds: int | None) -> Looked:
        """Sums of losses, and a block of the shuffled rows learned from, another after each number of rounds."""
        state = self._state
        return Looked(state.sums, None if n_rounds is None else state.block(self._drawn(self._share, 0, n_rounds)))

    def slopes(self, candidates: Indices, n_rounds: int) -> Slopes:
        """Codes and slopes of a block of the shuffled rows learned from."""
        state, rows = self._state, self._drawn(self._table_share, 1, n_rounds)
        codes = np.stack([state.codes[j, rows] for j in candidates])
        return Slopes(candidates, codes, state.gradient[:, rows].copy(), state.hessian[:, rows].copy(),
                      rows.stop - rows.start)

    def _drawn(self, n_rows: int, purpose: int, n_rounds: int) -> slice:
        """A block of the rows learned from, another for each purpose after each number of rounds."""
        assert self._begun is not None
        part, layout, _ = self._begun
        n_learned = int(layout.used[: layout.n_train].sum())
        rng = np.random.default_rng([part.seed, self._number, n_rounds, purpose])
        first = int(rng.integers(n_learned - n_rows + 1))
        return slice(first, first + n_rows)

    def trial(self, term: Term) -> tuple[float, float]:
        """Sums of losses after a step of 1 along a term, which is taken back."""
        state = self._state
        scores = state.scores.copy()
        _point(state, term)
        state.move(1.0)
        sums = state.sums
        state.resume(scores)
        return sums

    def cell_sums(self, columns: Indices, cuts: Indices) -> Double:
        """Sums of slopes and curvatures over the rows learned from in each cell of a table, (2, n_cells, n_outputs)."""
        state, n_cells = self._state, 1 << len(columns)
        cells = np.empty((1, state.codes.shape[1]), dtype=np.float32)
        boosting.evaluate_table(state.codes, columns, cuts, np.arange(n_cells, dtype=np.float64)[:, None], cells)
        places = cells[0, : state.n_train].astype(np.intp)
        return np.stack([np.stack([np.bincount(places, each[: state.n_train], n_cells) for each in sums], axis=1)
                         for sums in (state.gradient, state.hessian)])

    def moments(self, chosen: Indices) -> Double:
        """Products of the columns chosen and of 1 with each other, summed over the rows learned from by weight."""
        state = self._state
        rows = state.chosen(chosen)
        total = np.zeros((len(rows) + 1, len(rows) + 1))
        for start in range(0, state.n_train, _BLOCK):
            block = slice(start, min(start + _BLOCK, state.n_train))
            root = np.sqrt(state.weight[block])
            weighted = np.concatenate([rows[:, block] * root, root[None]])
            total += weighted @ weighted.T
        return total

    def products(self, chosen: Indices) -> Double:
        """Products of the columns chosen and of 1 with the slopes, summed over the rows learned from."""
        state = self._state
        rows = state.chosen(chosen)
        total = np.zeros((len(rows) + 1, len(state.gradient)))
        for start in range(0, state.n_train, _BLOCK):
            block = slice(start, min(start + _BLOCK, state.n_train))
            slopes = state.gradient[:, block]
            total[:-1] += np.einsum("in,kn->ik", rows[:, block], slopes)
            total[-1] += slopes.sum(axis=1, dtype=np.float64)
        return total

    def held_out(self) -> HeldOut:
        """Rows that members have held out, with the mean scores of those that have; of many, some."""
        means = HeldOutMeans(len(self._problem.intercept), len(self._weights))
        for held in self._held.values():
            means.add(*held)
        rows = np.flatnonzero(means.counts)
        settings = self._settings
        rng = np.random.default_rng([settings.seed, self._number])
        rows = rows[drawn_rows(len(rows), settings.shares[self._number], rng)]
        return HeldOut(means.of(rows), self._problem.targets[rows], self._weights[rows])


def _point(state: State, term: Term) -> None:
    """Let the next moves of a state go along a term; lines by sums whose bits do not depend on threads."""
    if isinstance(term, Line):
        slopes = term.slopes[term.chosen].astype(np.float32)
        state.directions[:] = 0
        for column, slope in zip(state.chosen(term.chosen), slopes, strict=True):
            for direction, each in zip(state.directions, slope, strict=True):
                direction += each * column
    else:
        state.point(term)


def settled_values(table: Table, sums: Double, ridge: float) -> Table:
    """A table with the values that sums of its cells say."""
    return table._replace(values=sums[0] / (sums[1] + ridge))
