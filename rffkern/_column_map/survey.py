"""What one pass over a table finds out about each column, in bounded memory.

Rows are gathered into chunks of `CHUNK_ROWS` before anything is counted, so that the blocks in which they come change
no bit of the result.
"""

from typing import NamedTuple

import numpy as np

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .dates import PARTS, date_parts
from .raw import CATEGORY, DATE, EMPTY, RawColumn, category
from .reservoir import Reservoir
from .sketch import CHUNK_ROWS, Moments, QuantileSketch, Summary
from .tables import RawTable

Double = NDArray[np.float64]

# Of a category, all levels together: what is beyond is taken for an identifier.
MAX_KEPT_LEVELS = 100_000

N_FOLDS = 5  # of target statistics; a row is in the fold of its index modulo this

_MISSING = np.array([np.nan]).view(np.uint64)[0]


class LevelFacts(NamedTuple):
    """The levels of a category, sorted, and what stands at each."""

    names: tuple[str, ...]
    weights: Double  # (n_levels, N_FOLDS)
    targets: Double  # (n_levels, N_FOLDS, n_outputs) weighted sums; no outputs without targets


class ColumnFacts(NamedTuple):
    """What is known of a column after a pass."""

    kind: str
    missing: float  # weight of the rows without a value
    moments: Moments
    summary: Summary
    levels: LevelFacts | None  # None of a category that has too many, and of other columns
    varying_parts: tuple[str, ...]  # of a date
    digest: bytes  # equal for columns of equal values
    name: str = ""  # what messages call it


class _Levels:
    """The levels of one category, as they come."""

    def __init__(self, n_outputs: int) -> None:
        self.index: dict[str, int] = {}
        self.digests = np.empty(0, dtype=np.uint64)
        self.weights = np.zeros((0, N_FOLDS))
        self.targets = np.zeros((0, N_FOLDS, n_outputs))

    def codes_of(self, column: RawColumn) -> Double:
        """Codes of a piece of the column in the order in which levels came."""
        import hashlib  # slow to load; only fits need it

        new = [level for level in column.levels if level not in self.index]
        self.index |= {level: k for k, level in enumerate(new, len(self.index))}
        digests = [hashlib.blake2b(level.encode("utf-8", "surrogatepass"), digest_size=8).digest() for level in new]
        self.digests = np.concatenate([self.digests, np.frombuffer(b"".join(digests), np.uint64)])
        table = np.array([self.index[level] for level in column.levels] + [np.nan])
        return table[np.where(np.isnan(column.values), -1, column.values).astype(np.intp)]

    def add(self, codes: NDArray[np.intp], folds: NDArray[np.intp], weights: Double, targets: Double) -> None:
        """Count a chunk of codes, none of them missing."""
        n_levels = len(self.index)
        if n_levels > len(self.weights):
            grown = max(n_levels, 2 * len(self.weights)) - len(self.weights)
            self.weights = np.concatenate([self.weights, np.zeros((grown, N_FOLDS))])
            self.targets = np.concatenate([self.targets, np.zeros((grown, *self.targets.shape[1:]))])
        cells, places = np.unique(codes * N_FOLDS + folds, return_inverse=True)
        self.weights.reshape(-1)[cells] += np.bincount(places, weights)
        for k in range(targets.shape[1]):
            self.targets[..., k].reshape(-1)[cells] += np.bincount(places, weights * targets[:, k])

    def facts(self) -> LevelFacts:
        """The levels that rows have, sorted."""
        found = [(name, code) for name, code in sorted(self.index.items())
                 if code < len(self.weights) and self.weights[code].any()]
        codes = np.array([code for _, code in found], dtype=np.intp)
        return LevelFacts(tuple(name for name, _ in found), self.weights[codes], self.targets[codes])


class _ColumnSurvey:
    """Counts of one column."""

    def __init__(self, name: str, n_outputs: int) -> None:
        import hashlib  # slow to load; only fits need it

        self.kind, self._name = EMPTY, name
        self._missing = 0.0
        self._moments, self._sketch = Moments(), QuantileSketch()
        self._levels: _Levels | None = _Levels(n_outputs)
        self._digest = hashlib.blake2b(digest_size=16)
        self._low, self._high = np.full(len(PARTS), np.inf), np.full(len(PARTS), -np.inf)

    def placed(self, column: RawColumn) -> Double:
        """Values of a piece of the column, as the chunks hold them."""
        if column.kind != EMPTY:
            if self.kind not in (EMPTY, column.kind):
                raise InvalidInputError(f"{self._name} must hold values of one kind, got {self.kind} values, then "
                                        f"{column.kind} ones")
            self.kind = column.kind
        if column.kind != CATEGORY:
            return column.values
        if self._levels is None:
            return np.zeros(len(column.values))
        codes = self._levels.codes_of(column)
        if len(self._levels.index) > MAX_KEPT_LEVELS:
            self._levels = None
        return codes

    def add(self, values: Double, folds: NDArray[np.intp], weights: Double, targets: Double) -> None:
        """Count a chunk."""
        missing = np.isnan(values)
        if missing.any():
            self._missing += float(weights[missing].sum())
        present = ~missing
        if self.kind != CATEGORY:
            self._digest.update(np.where(missing, np.nan, values).tobytes())
            self._add_numbers(values[present], weights[present])
        elif self._levels is not None:
            codes = values[present].astype(np.intp)
            marks = np.full(len(values), _MISSING)
            marks[present] = self._levels.digests[codes]
            self._digest.update(marks.tobytes())
            self._levels.add(codes, folds[present], weights[present], targets[present])

    def _add_numbers(self, values: Double, weights: Double) -> None:
        self._sketch.add(values, weights)
        self._moments += Moments.of(values, weights)
        if self.kind == DATE and len(values):
            parts = np.array([date_parts(values)[part][0] for part in PARTS])
            self._low, self._high = np.minimum(self._low, parts.min(1)), np.maximum(self._high, parts.max(1))

    def piece(self, values: Double) -> RawColumn:
        """A raw column of some values as the chunks hold them."""
        if self.kind != CATEGORY:
            return RawColumn(self.kind, values)
        return RawColumn(EMPTY, values) if self._levels is None else category(values, self._levels.index)

    def facts(self) -> ColumnFacts:
        """What the counts say."""
        varying = tuple(part for part, low, high in zip(PARTS, self._low, self._high, strict=True) if low < high)
        levels = self._levels.facts() if self.kind == CATEGORY and self._levels is not None else None
        return ColumnFacts(self.kind, self._missing, self._moments, self._sketch.summary(), levels, varying,
                           self.kind.encode() + self._digest.digest(), self._name)


class Survey:
    """Facts about all columns of the rows of some tables, which are added one after the other.

    `names` are what errors call the columns.  Rows of weight 0 count for nothing.
    """

    def __init__(self, names: list[str], n_outputs: int = 0) -> None:
        self.n_rows = 0  # added, whatever their weight
        self.weight = 0.0
        self.n_positive = 0
        self._columns = [_ColumnSurvey(name, n_outputs) for name in names]
        self._values = np.empty((len(names), CHUNK_ROWS))
        self._weights, self._targets = np.empty(CHUNK_ROWS), np.empty((CHUNK_ROWS, n_outputs))
        self._filled = 0
        self._some = Reservoir(len(names))

    def add(self, table: RawTable, weights: Double, targets: Double) -> None:
        """Add the rows of a table, (n_rows,) weights and (n_rows, n_outputs) targets."""
        placed = [survey.placed(column) for survey, column in zip(self._columns, table.columns, strict=True)]
        start = 0
        while start < table.n_rows:
            taken = slice(start, start + min(CHUNK_ROWS - self._filled, table.n_rows - start))
            into = slice(self._filled, self._filled + taken.stop - start)
            for row, values in zip(self._values, placed, strict=True):
                row[into] = values[taken]
            self._weights[into], self._targets[into] = weights[taken], targets[taken]
            self._filled, start = into.stop, taken.stop
            if self._filled == CHUNK_ROWS:
                self._count()

    def facts(self) -> list[ColumnFacts]:
        """What is known of each column, after the last row."""
        self._count()
        return [column.facts() for column in self._columns]

    def sample(self) -> tuple[RawTable, Double]:
        """Some of the rows, after the last, and their weights."""
        columns = [column.piece(values) for column, values in zip(self._columns, self._some.values, strict=True)]
        return RawTable(None, columns, len(self._some.weights)), self._some.weights

    def _count(self) -> None:
        counting = np.flatnonzero(self._weights[: self._filled] > 0)
        folds = (self.n_rows + counting) % N_FOLDS
        weights, targets = self._weights[counting], self._targets[counting]
        for column, values in zip(self._columns, self._values, strict=True):
            column.add(values[counting], folds, weights, targets)
        self._some.add(self.n_rows + counting, self._values, counting, weights)
        self.weight += float(weights.sum())
        self.n_positive += len(counting)
        self.n_rows += self._filled
        self._filled = 0
