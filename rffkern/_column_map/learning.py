"""Statistics of the columns of a table, in one pass and bounded memory, and the map that follows from them.

Rows are gathered into blocks of `BLOCK_ROWS` before anything is counted, so that the blocks in which they come change
no bit of the result.
"""

import functools
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import Double, Indices
from .._protocol.warning import quietly, warn
from .._rows.scaling import OUTLIER_RATIO, OUTLIER_SHARE
from ..errors import DataConversionWarning, InvalidInputError
from .cells import CATEGORY, DATE, EMPTY, Reading
from .compiled import mapped_values
from .fitted_column import FittedColumn
from .fitted_map import BY_INDEX, SCATTERED, FittedMap, OutOfFold, RowFolds
from .imputation import learn_imputations
from .sketch import BLOCK_ROWS, LevelStatistics, Moments, QuantileSketch, Reservoir, Summary, level_digests
from .tables import LARGEST_INTEGER, RawColumn, RawTable, category, column_name, recoded
from .text import learn_text
from .transforms import (
    PARTS,
    Form,
    Levels,
    date_parts,
    difference,
    intraclass_correlation,
    learn_bins,
    learn_bounded,
    learn_frequency,
    learn_indicators,
    learn_rank,
    learn_target,
    missing,
    part,
    raw,
    standard,
)

# Levels of a category at most; a column of more is taken for an identifier.
MAX_KEPT_LEVELS = 100_000

# Rows of levels that have target statistics; rare levels of so large a share of the rows are read as text, and of so
# large a one, without those of a single row, have target statistics instead of indicators.
_FEWEST_ROWS, _SHARE_OF_RARE, _SHARE_OF_REPEATED = 2, 0.1, 0.5

# Share of the rows of repeated levels that are in one fold from which on the folds follow the levels.
_SHARE_IN_ONE_FOLD = 0.5

# Rows of levels that are not rare by default.  Groups of repeated measurements, as subjects or firms, may have fewer:
# rows of a level on average at least and at most, and intraclass correlation at least.  They have indicators, levels
# times rows at most: of more, Fourier terms of one column take far longer than all else.
_MIN_LEVEL_ROWS = 5
_FEWEST_MEAN_ROWS, _MOST_MEAN_ROWS, _LEAST_CORRELATION, _MOST_INDICATORS = 1.1, 15.0, 0.5, 2e6

# Levels fewer than which may be distinct by chance, and words of a level on average from which it is text.
_FEWEST_IDENTIFIERS, _WORDS_OF_TEXT = 20, 3

# Seconds that training covers at least where "auto" takes a part of dates: two days, two weeks, a year.
_SPANS = {"hour": 2 * 86400.0, "weekday": 14 * 86400.0, "yearday": 365 * 86400.0}

N_FOLDS = 5  # of target statistics; `Division.folds` says in which a row is

_MISSING = np.array([np.nan]).view(np.uint64)[0]


class ColumnStatistics(NamedTuple):
    """The statistics of a column after a pass."""

    kind: str
    missing: float  # weight of the rows without a value
    moments: Moments
    summary: Summary
    levels: LevelStatistics | None  # None of a category that has too many, and of other columns
    varying_parts: tuple[str, ...]  # of a date
    digest: bytes  # equal for columns of equal values
    name: str = ""  # what messages call it
    range: tuple[float, float] = (np.inf, -np.inf)  # of numbers and dates
    reading: Reading | None = None  # of a column of text
    differences: Mapping[int, Moments] = MappingProxyType({})  # of dates: seconds since those of other columns


class _LevelCounts:
    """Weights and target sums of the levels of one category."""

    def __init__(self, n_outputs: int) -> None:
        self.index: dict[str, int] = {}
        self.digests = np.empty(0, dtype=np.uint64)
        self.weights = np.zeros((0, N_FOLDS))
        self.targets = np.zeros((0, N_FOLDS, n_outputs))

    def codes_of(self, column: RawColumn) -> Double:
        """Codes of a block of the column; levels are numbered in the order in which they come."""
        new = [level for level in column.levels if level not in self.index]
        self.index |= {level: k for k, level in enumerate(new, len(self.index))}
        self.digests = np.concatenate([self.digests, level_digests(new)])
        return recoded(column.values, np.array([*map(self.index.__getitem__, column.levels), np.nan]))

    def add(self, codes: Indices, folds: Indices, weights: Double, targets: Double) -> None:
        """Count a block of codes, none of them missing."""
        n_levels = len(self.index)
        if n_levels > len(self.weights):
            grown = max(n_levels, 2 * len(self.weights)) - len(self.weights)
            self.weights = np.concatenate([self.weights, np.zeros((grown, N_FOLDS))])
            self.targets = np.concatenate([self.targets, np.zeros((grown, *self.targets.shape[1:]))])
        cells, places = np.unique(codes * N_FOLDS + folds, return_inverse=True)
        self.weights.reshape(-1)[cells] += np.bincount(places, weights)
        for k in range(targets.shape[1]):
            self.targets[..., k].reshape(-1)[cells] += np.bincount(places, weights * targets[:, k])

    def merge(self, other: "_LevelCounts") -> Double:
        """Add the counts of other rows, and return the code here of each of their levels, nan at the end."""
        new = [level for level in other.index if level not in self.index]
        self.digests = np.concatenate([self.digests, other.digests[[other.index[level] for level in new]]])
        self.index |= {level: k for k, level in enumerate(new, len(self.index))}
        codes = np.array([self.index[level] for level in other.index], dtype=np.intp)
        for name in ("weights", "targets"):
            mine, theirs = getattr(self, name)[: len(self.index)], getattr(other, name)[: len(codes)]
            total = np.zeros((len(self.index), *mine.shape[1:]))
            total[: len(mine)] = mine
            total[codes[: len(theirs)]] += theirs
            setattr(self, name, total)
        return np.array([*codes, np.nan])

    def statistics(self) -> LevelStatistics:
        """The levels that rows have, sorted."""
        found = [(name, code) for name, code in sorted(self.index.items())
                 if code < len(self.weights) and self.weights[code].any()]
        codes = np.array([code for _, code in found], dtype=np.intp)
        return LevelStatistics(tuple(name for name, _ in found), self.weights[codes], self.targets[codes])


class _ColumnCollector:
    """Collects the statistics of one column."""

    def __init__(self, name: str, n_outputs: int) -> None:
        self.kind, self._name = EMPTY, name
        self._reading: Reading | None = None
        self._missing = 0.0
        self._moments, self._sketch = Moments(), QuantileSketch()
        self._levels: _LevelCounts | None = _LevelCounts(n_outputs)
        self._hash = hashlib.blake2b(digest_size=16)
        self._joined_hashes: bytes | None = None  # of merged or pickled rows, in place of the hash
        self._low, self._high = np.full(len(PARTS), np.inf), np.full(len(PARTS), -np.inf)
        self._differences: dict[int, Moments] = {}

    def encode(self, column: RawColumn) -> Double:
        """Values of some rows of the column, as the blocks store them."""
        self._take_kind(column.kind, column.reading)
        if column.kind != CATEGORY:
            return column.values
        if self._levels is None:
            return np.zeros(len(column.values))
        codes = self._levels.codes_of(column)
        if len(self._levels.index) > MAX_KEPT_LEVELS:
            self._levels = None
        return codes

    def add(self, values: Double, folds: Indices, weights: Double, targets: Double) -> None:
        """Count a block."""
        missing = np.isnan(values)
        if not missing.any() and self.kind != CATEGORY:
            self._hash.update(values.data)
            self._add_numbers(values, weights)
            return
        self._missing += float(weights[missing].sum())
        present = ~missing
        if self.kind != CATEGORY:
            self._hash.update(np.where(missing, np.nan, values).data)
            self._add_numbers(values[present], weights[present])
        elif self._levels is not None:
            codes = values[present].astype(np.intp)
            hashes = np.full(len(values), _MISSING)
            hashes[present] = self._levels.digests[codes]
            self._hash.update(hashes.tobytes())
            self._levels.add(codes, folds[present], weights[present], targets[present])

    def _add_numbers(self, values: Double, weights: Double) -> None:
        self._sketch.add(values, weights)
        self._moments += Moments.of(values, weights)
        if self.kind == DATE and len(values):
            parts = np.array([each for each, _ in date_parts(values).values()])
            self._low, self._high = np.minimum(self._low, parts.min(1)), np.maximum(self._high, parts.max(1))

    def add_differences(self, other: int, seconds: Double, weights: Double) -> None:
        """Count a block of differences between dates of this column and those of another."""
        present = ~np.isnan(seconds)
        self._differences[other] = self._differences.get(other, Moments()) + Moments.of(seconds[present],
                                                                                     weights[present])

    def decode(self, values: Double) -> RawColumn:
        """A raw column of some values as the blocks store them."""
        if self.kind != CATEGORY:
            return RawColumn(self.kind, values)
        return RawColumn(EMPTY, values) if self._levels is None else category(values, self._levels.index)

    def merge(self, other: "_ColumnCollector", sampled: Double) -> Double:
        """Add what another collector has counted of the same column; no rows are added after that.

        `sampled` are values of its rows as its blocks store them; they are returned as blocks here do.
        """
        self._take_kind(other.kind, other._reading)
        self._missing += other._missing
        self._moments += other._moments
        self._sketch.merge(other._sketch)
        self._joined_hashes = hashlib.blake2b(self._digest() + other._digest(), digest_size=16).digest()
        self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)
        for j, moments in other._differences.items():
            self._differences[j] = self._differences.get(j, Moments()) + moments
        if other.kind == CATEGORY and self._levels is not None and other._levels is not None:
            sampled = recoded(sampled, self._levels.merge(other._levels))
        if other._levels is None or (self._levels is not None and len(self._levels.index) > MAX_KEPT_LEVELS):
            self._levels = None
        return sampled

    def _take_kind(self, kind: str, reading: Reading | None) -> None:
        """Note the kind of more rows, which may have no values; refuse another one than before."""
        if kind == EMPTY:
            return
        if self.kind not in (EMPTY, kind):
            raise InvalidInputError(f"{self._name} must hold values of one kind, got {self.kind} values, then {kind} "
                                    "ones")
        self.kind = kind
        self._reading = self._reading or reading

    def _digest(self) -> bytes:
        return self._hash.digest() if self._joined_hashes is None else self._joined_hashes

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: hashes cannot be."""
        return vars(self) | {"_hash": None, "_joined_hashes": self._digest()}

    def statistics(self) -> ColumnStatistics:
        """The statistics of all rows so far."""
        varying = tuple(part for part, low, high in zip(PARTS, self._low, self._high, strict=True) if low < high)
        levels = self._levels.statistics() if self.kind == CATEGORY and self._levels is not None else None
        return ColumnStatistics(self.kind, self._missing, self._moments, self._sketch.summary(), levels, varying,
                                self.kind.encode() + self._digest(), self._name,
                                (self._sketch.low, self._sketch.high), self._reading, self._differences)


class StatisticsCollector:
    """Collects the statistics of all columns of some tables, which are added one after the other.

    `names` are those of the columns, if they have any, `row_folds` the folds of the rows of target statistics by their
    index, which is `first_row` for the first.  Rows of weight 0 are ignored.
    """

    def __init__(self, names: tuple[str, ...] | None, n_columns: int, n_outputs: int, row_folds: RowFolds,
                 first_row: int = 0) -> None:
        self.names, self.row_folds, self._first_row = names, row_folds, first_row
        self.n_rows = 0  # added, whatever their weight
        self.weight = 0.0
        self.n_positive = 0
        self._columns = [_ColumnCollector(column_name(names, j), n_outputs) for j in range(n_columns)]
        self._values = np.empty((n_columns, BLOCK_ROWS))
        self._weights, self._targets = np.empty(BLOCK_ROWS), np.empty((BLOCK_ROWS, n_outputs))
        self._filled = 0
        self._sample = Reservoir(n_columns)

    def add(self, table: RawTable, weights: Double, targets: Double) -> None:
        """Add the rows of a table, (n_rows,) weights and (n_rows, n_outputs) targets."""
        encoded = [collector.encode(column) for collector, column in zip(self._columns, table.columns, strict=True)]
        start = 0
        while start < table.n_rows:
            taken = slice(start, start + min(BLOCK_ROWS - self._filled, table.n_rows - start))
            into = slice(self._filled, self._filled + taken.stop - start)
            for row, values in zip(self._values, encoded, strict=True):
                row[into] = values[taken]
            self._weights[into], self._targets[into] = weights[taken], targets[taken]
            self._filled, start = into.stop, taken.stop
            if self._filled == BLOCK_ROWS:
                self._count()

    def merge(self, other: "StatisticsCollector") -> None:
        """Add what another collector has counted, when both have counted their last rows."""
        sampled = [mine.merge(theirs, values) for mine, theirs, values in zip(
            self._columns, other._columns, other._sample.values, strict=True)]
        self._sample.merge(other._sample, np.array(sampled))
        self.n_rows, self.n_positive = self.n_rows + other.n_rows, self.n_positive + other.n_positive
        self.weight += other.weight

    def finish(self) -> None:
        """Count the last rows, and give up the memory that blocks take."""
        self._count()
        self._values = np.empty((len(self._columns), 0))

    @functools.cached_property
    def statistics(self) -> list[ColumnStatistics]:
        """The statistics of each column, after the last row."""
        return [column.statistics() for column in self._columns]

    def unit(self) -> float:
        """The weight that counts as a row."""
        return min(1.0, self.weight / self.n_positive)

    def sample(self) -> tuple[RawTable, Double]:
        """A sample of the rows, after the last, and their weights."""
        columns = [column.decode(values) for column, values in zip(self._columns, self._sample.values, strict=True)]
        return RawTable(None, columns, len(self._sample.weights)), self._sample.weights

    def _count(self) -> None:
        counting = np.flatnonzero(self._weights[: self._filled] > 0)
        rows = self._first_row + self.n_rows + counting
        folds = self.row_folds.take(rows, N_FOLDS)
        weights, targets = self._weights[counting], self._targets[counting]
        every = slice(self._filled) if len(counting) == self._filled else counting
        for column, values in zip(self._columns, self._values, strict=True):
            column.add(values[every], folds, weights, targets)
        dates = [j for j, column in enumerate(self._columns) if column.kind == DATE]
        for other, j in itertools.pairwise(dates):
            seconds = self._values[j, counting] - self._values[other, counting]
            self._columns[j].add_differences(other, seconds, weights)
        self._sample.add(rows, self._values, counting, weights)
        self.weight += float(weights.sum())
        self.n_positive += len(counting)
        self.n_rows += self._filled
        self._filled = 0


# A column whose spread is below one part in this counts as constant.
_LARGEST_INVERSE = 1e305


Parameters = Mapping[str, Any]  # those of a `ColumnMap`


def collect_statistics(collect: Callable[[RowFolds], StatisticsCollector], parameters: Parameters,
                       row_folds: RowFolds | None) -> StatisticsCollector:
    """What `collect` finds in a pass over all rows.

    Where no folds are given they follow from the indices of rows.  The rows of a panel may be in order of time, with
    those of each firm in one fold, so that no fold tells of the others: then there is a second pass, with scattered
    folds.
    """
    collector = collect(row_folds or BY_INDEX)
    if row_folds is None and _follow_folds(collector, parameters):
        with quietly():  # as the rows are read again
            scattered = collect(SCATTERED)
        if not _follow_folds(scattered, parameters):
            return scattered
    return collector


def _follow_folds(collector: StatisticsCollector, parameters: Parameters) -> bool:
    """Whether the rows of most levels of a category are in one fold each.

    Levels of which no target statistics are made do not matter.
    """
    unit = collector.unit()
    for levels in (each.levels for each in collector.statistics):
        if levels is not None and levels.has_targets and (
                len(levels.names) > parameters["max_levels"] or (
                    parameters["min_level_rows"] == "auto" and _are_small_groups(levels, unit))):
            totals = levels.totals
            repeated = totals >= _FEWEST_ROWS * unit
            alone = repeated & (np.count_nonzero(levels.weights, axis=1) == 1)
            if totals[alone].sum() > _SHARE_IN_ONE_FOLD * totals[repeated].sum():
                return True
    return False


def build_column(statistics: ColumnStatistics, total: float, unit: float,
                 parameters: Parameters) -> tuple[FittedColumn, dict[int, Double]]:
    """The forms that a column takes, from the statistics of a pass over rows of some total weight.

    And, by form, the out-of-fold target statistics of its training rows, by level and fold.  `unit` is the weight of a
    row.
    """
    folds: dict[int, Double] = {}
    forms: list[Form] = []
    levels: tuple[str, ...] = ()
    has_rare, reason = False, "constant"
    if statistics.kind == EMPTY:
        return FittedColumn(EMPTY, (), dropped="all values are missing"), {}
    if statistics.kind == CATEGORY:
        if statistics.levels is None:
            return FittedColumn(CATEGORY, (), dropped="too many levels"), {}
        found, forms, folds = _of_levels(statistics.levels, unit, parameters)
        levels, has_rare = found.kept, bool(found.weights[-1].sum() > 0)
        if not levels and np.count_nonzero(statistics.levels.weights.any(axis=1)) > 1:
            reason = _reason_of_rare(statistics.levels, unit, parameters["max_levels"])
        elif len(levels) > 1:
            reason = _SILENT_LEVELS
    elif statistics.moments.deviation * _LARGEST_INVERSE <= 1:
        if abs(statistics.moments.mean) >= LARGEST_INTEGER:
            reason = "constant in float64, which rounds integers of 2^53 or more"
    else:
        _warn_of_outliers(statistics, parameters["numeric"])
        forms += [_numeric_form(name, statistics, parameters) for name in parameters["numeric"]]
    if statistics.kind == DATE and parameters["date_parts"] is not False:
        span = statistics.range[1] - statistics.range[0]
        forms += [part(name, np.empty(0)) for name in statistics.varying_parts
                  if parameters["date_parts"] is True or span >= _SPANS[name]]
    if statistics.missing > 0:
        forms.append(missing(np.array([statistics.missing / total])))
    column = FittedColumn(statistics.kind, tuple(forms), levels, has_rare, "" if forms else reason)
    if statistics.reading is not None and statistics.kind != CATEGORY:
        column = column._replace(format=statistics.reading.format, words=statistics.reading.words)
    return column, folds


# Columns of one reason that a message names.
_MOST_LISTED = 12

# Why columns are dropped, and what to do.
_RARE, _IDENTIFIER, _TEXT, _SILENT_TEXT, _SILENT_LEVELS = (
    "all levels are rare", "a different value in each row, as identifiers have", "a different text in each row",
    "a different text in each row, by whose words and letters the target is not predicted",
    "levels by which the target of held-out rows is not predicted")
_ADVICE = {
    _RARE: "to learn from them, lower min_level_rows of ColumnMap, as by --columns '{\"min_level_rows\": 2}'; or leave "
           "the column out",
    _IDENTIFIER: "leave the column out, or split it into parts that rows have in common",
    _TEXT: "leave the column out, or give fit the target, which texts are learned by",
    _SILENT_TEXT: "leave the column out, or make columns of what it says",
    _SILENT_LEVELS: "leave the column out, or make columns of what levels have in common",
    "too many levels": "leave the column out, or join levels"}


def advice_on(reason: str) -> str:
    """What to do about a column that is dropped for a reason."""
    return _ADVICE.get(reason, "leave the column out")


def words_on_dropped(described: Sequence[Mapping[str, Any]], show: Callable[[Any], str] = str) -> str:
    """What to say of the columns that are not used, by what `describe` of a map says; empty where all are used.

    Columns of one reason are named together.  Where none is used, only the reasons are told.
    """
    names: dict[str, list[str]] = {}
    for row in described:
        if row["form"] == "dropped":
            names.setdefault(str(row["reason"]), []).append(show(row["column"]))
    if names and sum(map(len, names.values())) == len(described):
        return f"all of them ({', '.join(names)}), so that the model is a constant"
    listed = [", ".join(each[:_MOST_LISTED]) + (f" and {len(each) - _MOST_LISTED} more, which describe() lists"
                                                if len(each) > _MOST_LISTED else "") for each in names.values()]
    return ", ".join(f"{each} ({reason}: {advice_on(reason)})" for each, reason in zip(listed, names, strict=True))


def _reason_of_rare(levels: LevelStatistics, unit: float, max_levels: int) -> str:
    """Why a category of rare levels is dropped."""
    if len(levels.names) < _FEWEST_IDENTIFIERS or float(levels.totals.max()) > unit:
        return _RARE
    if sum(len(name.split()) for name in levels.names) < _WORDS_OF_TEXT * len(levels.names):
        return _IDENTIFIER
    return _SILENT_TEXT if levels.has_targets and len(levels.names) > max_levels else _TEXT


def _warn_of_outliers(statistics: ColumnStatistics, numeric: Sequence[str]) -> None:
    """Warn of a column whose standard deviation comes from a few outliers, if no form separates the other rows."""
    if {*numeric} <= {"raw", "standard"}:
        low, high = statistics.summary.quantile(OUTLIER_SHARE / 2), statistics.summary.quantile(1 - OUTLIER_SHARE / 2)
        if 0 < (high - low) * OUTLIER_RATIO < statistics.moments.deviation:
            values = statistics.summary.values
            warn(
                f"{statistics.name} has a few rows so far out, between {values[0]:.3g} and {values[-1]:.3g}, that its "
                f"standard deviation says nothing of all others, which lie between {low:.3g} and {high:.3g}.  If these "
                'rows are errors, leave them out; else add a form that separates others, as '
                'ColumnMap(("standard", "rank"))',
                DataConversionWarning)


def _numeric_form(name: str, statistics: ColumnStatistics, parameters: Parameters) -> Form:
    _, mean, deviation = statistics.moments
    if name == "raw":
        return raw(np.array([mean]))
    if name == "standard":
        return standard(np.array([mean, 1 / deviation]))
    if name == "bounded":
        return learn_bounded(statistics.summary)
    if name == "rank":
        return learn_rank(statistics.summary, parameters["n_knots"])
    return learn_bins(statistics.summary, parameters["n_bins"])


def _of_levels(levels: LevelStatistics, unit: float,
               parameters: Parameters) -> tuple[Levels, list[Form], dict[int, Double]]:
    """The levels kept, their forms, and what these are on training rows; no form where only one group occurs.

    Where levels are groups of repeated measurements that explain much of the target, as in a panel, each has an
    indicator: so their effects are learned beside those of other columns, which target statistics hold too.  Of more
    than `_MOST_INDICATORS` all have target statistics.
    """
    max_levels, min_rows = parameters["max_levels"], parameters["min_level_rows"]
    totals = levels.totals
    least_weight = (_MIN_LEVEL_ROWS if min_rows == "auto" else min_rows) * unit
    least_of_statistics = min(_FEWEST_ROWS * unit, least_weight)
    if min_rows == "auto" and _are_small_groups(levels, unit):
        smallest = totals[totals > 0].min()
        groups = Levels.of(levels, smallest, None)
        if intraclass_correlation(groups, unit) >= _LEAST_CORRELATION:
            if len(groups.kept) * totals.sum() <= _MOST_INDICATORS * unit:
                return groups, [learn_indicators(groups)], {}
            least_of_statistics = smallest  # for a single row tells of others of its group
    if len(levels.names) <= max_levels or not levels.has_targets:
        found = Levels.of(levels, least_weight, max_levels)
        return found, [learn_indicators(found)] if len(found.shares()) > 1 else [], {}
    found = Levels.of(levels, least_weight, None)
    forms: list[Form] = []
    folds: dict[int, Double] = {}
    rare = totals < least_weight
    of_rare, of_repeated = totals[rare].sum(), totals[rare & (totals >= _FEWEST_ROWS * unit)].sum()
    if len(found.kept) <= max_levels and of_repeated < _SHARE_OF_REPEATED * totals.sum():
        if len(found.shares()) > 1:
            forms.append(learn_indicators(found))
    else:
        found = Levels.of(levels, least_of_statistics, None)
        target = learn_target(found, unit)
        if target is not None:
            folds[len(forms)] = target[1]
            forms.append(target[0])
        frequency = learn_frequency(found, unit)
        forms += [] if frequency is None else [frequency]
    if of_rare >= _SHARE_OF_RARE * totals.sum():
        text = learn_text(levels.names, levels.weights, levels.targets, unit)
        if text is not None:
            folds[len(forms)] = text[1]
            forms.append(text[0])
    return found, forms, folds


def _are_small_groups(levels: LevelStatistics, unit: float) -> bool:
    """Whether levels have few rows each, as groups of repeated measurements have."""
    totals = levels.totals
    n_groups, n_rows = int(np.count_nonzero(totals)), float(totals.sum()) / unit
    return levels.has_targets and n_groups > 1 and (
        _FEWEST_MEAN_ROWS * n_groups <= n_rows <= _MOST_MEAN_ROWS * n_groups)


def build_map(collector: StatisticsCollector, parameters: Parameters, imputes: bool) -> tuple[FittedMap, OutOfFold]:
    """The map that follows from statistics, and the out-of-fold target statistics of the training rows.

    `imputes` says whether missing values may be imputed from other columns.
    """
    names, statistics, unit = collector.names, collector.statistics, collector.unit()
    built = [_checked_column(each, collector.weight, unit, parameters) for each in statistics]
    first: dict[bytes, int] = {}
    for j, (each, (column, _)) in enumerate(zip(statistics, built, strict=True)):
        earlier = first.setdefault(each.digest, j)
        if column.forms and earlier < j:
            other = repr(names[earlier]) if names else f"column {earlier}"
            built[j] = FittedColumn(column.kind, (), dropped=f"equal to {other}"), {}
    if parameters["date_parts"] == "differences":
        dates = [j for j, (column, _) in enumerate(built) if column.kind == DATE and column.forms]
        for before, j in itertools.pairwise(dates):
            moments = statistics[j].differences.get(before, Moments())
            if moments.deviation * _LARGEST_INVERSE > 1:
                form = difference(np.array([before, moments.mean, 1 / moments.deviation]))
                fitted, folds = built[j]
                built[j] = fitted._replace(forms=(*fitted.forms, form)), folds
    if not any(column.forms for column, _ in built):  # one output, always 0: a table of no columns helps nobody
        built[0] = FittedColumn(EMPTY, (standard(np.array([0.0, 1.0])),), dropped=built[0][0].dropped), {}
    found = FittedMap(names, tuple(column for column, _ in built))
    has_missing = any(each.missing > 0 and column.forms for each, (column, _) in zip(statistics, built, strict=True))
    if imputes and has_missing:
        table, weights = collector.sample()
        found = _with_imputations(found, table, weights / unit)
    places = {j: {level: k for k, level in enumerate(each.levels.names)} for j, (each, (column, _)) in enumerate(
        zip(statistics, built, strict=True)) if column.text is not None and each.levels is not None}
    return found, OutOfFold([folds for _, folds in built], collector.row_folds, places)


def _checked_column(statistics: ColumnStatistics, total: float, unit: float,
                    parameters: Parameters) -> tuple[FittedColumn, dict[int, Double]]:
    """A column, or an error that names it where weights lie so far apart that no form of it can be made."""
    try:
        return build_column(statistics, total, unit, parameters)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(
            f"sample_weight must be of sizes that can be added up, got some beside which the rest of {statistics.name} "
            f"counts for nothing ({error}): leave out rows that weigh next to nothing, or weigh them more") from error


def _with_imputations(fitted_map: FittedMap, table: RawTable, weights: Double) -> FittedMap:
    """The same map with imputations, learned from a sample of the training rows."""
    columns, values = fitted_map.columns, fitted_map.values_of(table)
    of_values = np.array([form != "missing" for column in columns for form, _ in column.outputs])
    sources = np.repeat(np.arange(len(columns)), [len(column.outputs) for column in columns])
    missing = {j: np.isnan(each[0]) for j, (column, each) in enumerate(zip(columns, values, strict=True))
               if any(form.name == "missing" for form in column.forms)}
    outputs = mapped_values(columns, values)
    imputations = learn_imputations(outputs, weights, sources, fitted_map.neutral(), missing, of_values)
    return fitted_map._replace(columns=tuple(
        column._replace(imputations=tuple(imputation for imputation in imputations if sources[imputation.output] == j))
        for j, column in enumerate(columns)))
