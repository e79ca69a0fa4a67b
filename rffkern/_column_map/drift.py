"""How rows to score differ from the training rows: new levels, values outside the range, missing shares, shifts.

The map keeps a small reference of each column of the training table: shares of ten bins by its quantiles, or of its
most frequent levels, its range and its share of missing values.  Counts of blocks of rows are added up and compared
with it.  The shift of a column is its population stability index, the sum over bins of (a - e) ln(a / e) with the
shares e of training and a of the rows (and n_bins rows more that are as in training), missing values being a bin, less
what it is in the mean where nothing has changed, (n_bins - 1) (1 / n_rows + 1 / n_training); below 0.1 it is usually
called small and above 0.25 large.

Of categories with very many levels, and of texts, most rows may be new without any change.  By how many is what Good
says ("The population frequencies of species and the estimation of population parameters", 1953): of new rows a share
(r + 1) n_{r+1} / n has a level that r rows of training have, where n_r levels have r of n rows.  It holds in the mean
of many levels: those of r < 10 are one bin, and each other has one of the share r / n, less what Good's leave.  Rows
with a new level are a bin of their own; where there are more than 200 levels, those without a level of two rows are,
and none where texts are read, of whose n-grams there are ten bins by how many texts have them.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._native.array_types import Double, Indices, Mask
from .._rows.row_blocks import evenly_spaced, take_rows
from .._rows.weights import RowWeights
from ..errors import InvalidInputError
from .cells import CATEGORY, DATE, EMPTY, known_level
from .fitted_column import FittedColumn
from .fitted_map import FittedMap
from .sketch import Summary, compressed, joined
from .tables import RawColumn, RawTable, category_of_numbers, column_name
from .text import Grams, TextForm

if TYPE_CHECKING:  # rows are compared without what learns a map
    from .learning import ColumnStatistics


N_QUANTILES, MOST_LEVELS = 10, 200

# Values of a column that stand for its distribution, and values of all columns together, at most.
_MOST_VALUES, _MOST_OF_ALL = 128, 16384

# Rows of a block whose numbers are counted at most, evenly spaced, so that scoring takes hardly longer; levels are
# those of all rows.
_MOST_COUNTED = 1024

# Texts of a block whose n-grams are counted: one of so many, but no fewer than these.
_TEXTS_OF_ONE, _FEWEST_TEXTS = 32, 32

_FEWEST_OF_A_BIN = 10  # rows or texts, whose level or n-gram is expected as often as in training
_LEAST_SHARE = 1e-4  # of a bin, so that its logarithm is finite
_MOST_SHOWN = 20  # new levels of a column in a report

# What a summary says: shifts, differences of missing shares, and shares of rows outside the range, from these on and
# where they are more than chance.
_NOTABLE_SHIFT, _NOTABLE_MISSING, _NOTABLE_OUTSIDE, _MOST_NAMED = 0.2, 0.05, 0.001, 6
_LEAST_CHANCE = 0.005  # of as many rows outside the range, where nothing has changed


class ColumnReference(NamedTuple):
    """What is kept of a column of the training table."""

    missing: float  # share of the rows
    low: float | None  # of numbers and dates
    high: float | None
    edges: list[float]  # ascending; a value is in the bin of the first edge that is not below it
    levels: list[str]  # of a category, those of the largest shares
    is_complete: bool  # whether these are all levels
    shares: list[float]  # of the values that are there, for each bin; those of levels, and of all others
    values: list[float] | None = None  # of numbers and dates: all, or those in the middle of equal shares of the rows
    value_shares: list[float] | None = None  # of the rows that have a value, for each of `values`; None: equal ones
    rare: float | None = None  # of a category, the share of new rows that have none of these, or none of two rows

    @classmethod
    def of_numbers(cls, missing: float, low: float, high: float, values: Double, weights: Double,
                   n_values: int = _MOST_VALUES) -> Self:
        """That of a column of these distinct values, ascending, and their weights."""
        ends = np.cumsum(weights)
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, N_QUANTILES) / N_QUANTILES).clip(max=len(ends) - 1)
        edges = np.unique(values[cuts])
        shares = np.bincount(np.searchsorted(edges, values), weights, len(edges) + 1) / ends[-1]
        if not n_values:
            return cls(missing, low, high, edges.tolist(), [], True, shares.tolist())
        kept = compressed(Summary(values[weights > 0], weights[weights > 0]), n_values)
        kept_shares = kept.weights / kept.total
        if np.count_nonzero(weights) > n_values:  # equal shares, of which a frequent value has several
            kept_shares = np.round(kept_shares * n_values) / n_values
        some = None if (kept_shares == kept_shares[0]).all() else _short(kept_shares)
        return cls(missing, low, high, edges.tolist(), [], True, shares.tolist(), _short(kept.values), some)

    def shares_of_values(self) -> Double:
        """Of the rows that have a value, for each of `values`."""
        n_values = len(self.values or ())
        return np.full(n_values, 1 / max(1, n_values)) if self.value_shares is None else np.array(self.value_shares)

    @classmethod
    def of_levels(cls, missing: float, levels: Sequence[str], weights: Double, unit: float = 1.0) -> Self:
        """That of a category of these levels; `unit` is the weight of a row.

        Those that no file can hold count among the others.
        """
        storable = np.array([level.isprintable() for level in levels])
        chosen = np.sort(np.argsort(np.where(storable, -weights, 1.0), kind="stable")[:MOST_LEVELS])
        chosen = chosen[storable[chosen]]
        shares = weights[chosen] / weights.sum()
        is_complete, others = len(chosen) == len(levels), max(0.0, 1 - float(shares.sum()))
        rare = float(weights[weights <= (1.5 if is_complete else 2.5) * unit].sum() / weights.sum())
        return cls(missing, None, None, [], [levels[k] for k in chosen.tolist()], is_complete,
                   [*shares.tolist(), others], rare=rare)


def _short(values: Double) -> list[float]:
    """Nine digits of each, which take half the place of all in a file."""
    return [float(f"{value:.9g}") for value in values.tolist()]


class Reference(NamedTuple):
    """What is kept of the training table; None for columns that have no values, or too many levels."""

    n_rows: int
    columns: list[ColumnReference | None]

    @classmethod
    def of(cls, statistics: "Sequence[ColumnStatistics]", total: float, n_rows: int) -> Self:
        """That of the statistics of a pass over rows of some total weight."""
        n_values = most_values(len(statistics))
        return cls(n_rows, [_of_column(each, total, total / max(n_rows, 1), n_values) for each in statistics])

    def to_json(self) -> dict[str, Any]:
        """As a file's header holds it."""
        return {"rows": self.n_rows, "columns": [None if each is None else {
            name: value for name, value in each._asdict().items() if value is not None or name in ("low", "high")}
            for each in self.columns]}

    @classmethod
    def from_json(cls, entry: Any, n_columns: int) -> Self:
        """What a file's header holds; ValueError, TypeError or KeyError for what `to_json` cannot have written."""
        if len(entry["columns"]) != n_columns:
            raise ValueError("columns are missing")
        columns = [None if each is None else ColumnReference(**each) for each in entry["columns"]]
        for each in columns:
            if each is None:
                continue
            numbers = np.array([each.missing, *each.edges, *each.shares, each.rare or 0.0, *(
                () if each.low is None else (each.low, each.high))], dtype=np.float64)
            if not np.isfinite(numbers).all() or len(each.shares) != max(len(each.edges), len(each.levels)) + 1:
                raise ValueError("the reference of a column is malformed")
            values = np.array([] if each.values is None else each.values, dtype=np.float64)
            value_shares = each.shares_of_values().astype(np.float64)
            if (values.ndim != 1 or values.shape != value_shares.shape or not np.isfinite(values).all()
                    or not (value_shares >= 0).all() or (len(values) and abs(value_shares.sum() - 1) > 1e-6)):
                raise ValueError("the values of the reference of a column are malformed")
        return cls(int(entry["rows"]), columns)


def read_reference(kept: Any, n_columns: int, owner: str, what: str) -> Reference:
    """The reference that an owner keeps; InvalidInputError where it is malformed, with what follows from that."""
    try:
        return Reference.from_json(kept, n_columns)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise InvalidInputError(f"the reference of this {owner} is malformed, so that {what}: {error}") from error


def coarser(kept: dict[str, Any], n_values: int) -> dict[str, Any]:
    """What a smaller file holds of the training table: fewer values of a column, and shares of six digits."""
    columns = []
    for column in kept["columns"]:
        found = column
        if column is not None:
            each = ColumnReference(**column)
            found = {**column, "shares": [float(f"{share:.6g}") for share in each.shares],
                     "missing": float(f"{each.missing:.6g}")}
            if each.values is not None and len(each.values) > n_values:
                few = compressed(Summary(np.array(each.values), each.shares_of_values()), n_values)
                equal = (few.weights == few.weights[0]).all()
                found = {**found, "values": few.values.tolist(), "value_shares": _short(few.weights / few.total)}
                if equal:
                    del found["value_shares"]
        columns.append(found)
    return {**kept, "columns": columns}


# Rows of an array of which the values of its columns are kept at most, evenly spaced, and numbers in them.
_MOST_ROWS, _MOST_NUMBERS = 8192, 1 << 20


def reference_of_rows(X: Any, weights: RowWeights) -> dict[str, Any] | None:
    """The reference of training rows that no map takes, as a file's header holds it; None of very many columns."""
    n_features = X.shape[1]
    n_values = most_values(n_features)
    if not n_values:
        return None
    n_rows = int(weights.n_positive)
    rows = evenly_spaced(n_rows, min(_MOST_ROWS, max(n_values, _MOST_NUMBERS // n_features)))
    if n_rows < X.shape[0]:  # else without an index of each row, which would add to the peak of memory
        rows = weights.positive()[rows]
    taken, each = take_rows(X, rows), weights.each[rows]
    columns = [joined(column, each) for column in taken.T]
    return Reference(n_rows, [ColumnReference.of_numbers(
        0.0, float(column.values[0]), float(column.values[-1]), *column, n_values) for column in columns]).to_json()


def most_values(n_columns: int) -> int:
    """How many values of each of so many columns are kept: none where columns are very many."""
    return min(_MOST_VALUES, _MOST_OF_ALL // n_columns)


def _of_column(statistics: "ColumnStatistics", total: float, unit: float, n_values: int) -> ColumnReference | None:
    missing = statistics.missing / total
    if statistics.levels is not None and len(statistics.levels.names):
        return ColumnReference.of_levels(missing, statistics.levels.names, statistics.levels.totals, unit)
    if statistics.kind in (CATEGORY, EMPTY) or not len(statistics.summary.values):
        return None
    return ColumnReference.of_numbers(missing, *statistics.range, *statistics.summary, n_values)


def values_of_training(column: FittedColumn, reference: ColumnReference) -> tuple[Double, Double]:
    """Values of a column of the training table, as its forms take them, nan for missing ones, and their shares.

    Levels that the reference does not name share their rows evenly: they are the others that the column knows, the rare
    ones among them.  Of a column of texts, those that it names stand for all others too.
    """
    if column.kind == CATEGORY:
        named = column.values_of(RawColumn(CATEGORY, np.arange(float(len(reference.levels))),
                                           tuple(reference.levels)), "")
        if column.text is not None:
            values = np.hstack([named, column.missing_values(1)])
            shares = np.array([*reference.shares[:-1], 0.0])
            shares *= (1 - reference.missing) / shares.sum()
            shares[-1] = reference.missing
            return values[:, shares > 0], shares[shares > 0]
        others = np.setdiff1d(np.arange(float(len(column.levels) + column.has_rare)), named)
        others = others if len(others) else np.full(1, float(len(column.levels)) if column.has_rare else np.nan)
        values = np.concatenate([named[0], others])
        shares = np.concatenate([reference.shares[:-1], np.full(len(others), reference.shares[-1] / len(others))])
    else:
        values, shares = np.array(reference.values), reference.shares_of_values()
    values, shares = np.append(values, np.nan), np.append((1 - reference.missing) * shares, reference.missing)
    values, shares = values[shares > 0], shares[shares > 0]
    return values[None], shares / shares.sum()


class ColumnCounts(NamedTuple):
    """Counts of one column over some rows."""

    n_rows: int
    n_counted: int  # some of these, of which the other counts are
    n_missing: int
    n_outside: int  # values outside the range of training
    bins: Indices  # (n_bins + 1,) rows by bin, those without a value last
    new: Mapping[str, int]  # rows by level that training had not
    grams: Double | None = None  # (n_bins,) of texts: shares of their n-grams by bin, summed over some texts

    def __add__(self, other: object) -> "ColumnCounts":
        """Those of these rows and of others."""
        assert isinstance(other, ColumnCounts)
        new = dict(self.new)
        for level, count in other.new.items():
            new[level] = new.get(level, 0) + count
        grams = other.grams if self.grams is None else self.grams if other.grams is None else self.grams + other.grams
        return ColumnCounts(self.n_rows + other.n_rows, self.n_counted + other.n_counted,
                            self.n_missing + other.n_missing, self.n_outside + other.n_outside,
                            self.bins + other.bins, new, grams)


Counts = list[ColumnCounts | None]


def count_rows(fitted: FittedMap, reference: Reference, table: RawTable) -> Counts:
    """Counts of the columns of a table; None for columns without a reference, and those that are dropped."""
    return [None if each is None or not column.forms else
            _counted(column, each, raw, column_name(fitted.names, j), reference.n_rows)
            for j, (column, each, raw) in enumerate(zip(fitted.columns, reference.columns, table.columns, strict=True))]


def added(a: Counts | None, b: Counts | None) -> Counts | None:
    """The sum of counts of the same columns; None stands for no rows."""
    if a is None or b is None:
        return a if b is None else b
    return [None if one is None or other is None else one + other for one, other in zip(a, b, strict=True)]


def _counted(column: FittedColumn, reference: ColumnReference, raw: RawColumn, name: str,
             n_training: int) -> ColumnCounts:
    if column.kind != CATEGORY:
        return _counted_numbers(column.values_of(raw, name)[0], reference)
    if raw.kind == DATE:
        raise InvalidInputError(f"{name} must hold categories, as in training, got dates")
    levels: tuple[str, ...] = ()
    if raw.kind != EMPTY:
        raw = category_of_numbers(raw)
        levels = raw.levels
    tells_rare = _tells_rare(column, reference)
    n_bins = len(reference.shares) + tells_rare
    present = raw.values[~np.isnan(raw.values)].astype(np.intp)
    n_missing = len(raw.values) - len(present)
    bins, new = np.zeros(n_bins + 1, dtype=np.intp), dict[str, int]()
    index = {level: k for k, level in enumerate(reference.levels)}
    if tells_rare and not reference.is_complete:
        of_few = _have_few_rows(reference, n_training)
        index = {level: k for level, k in index.items() if not of_few[k]}
        index = dict.fromkeys(_levels_of_two_rows(column, reference, n_training), n_bins - 2) | index
    for level, count in zip(levels, np.bincount(present, minlength=len(levels)).tolist(), strict=True):
        meant = known_level(level, index)  # as the model takes it: "no" is False
        if meant is None:
            n_missing += count
            continue
        bins[index.get(meant, n_bins - 1)] += count
        if count and reference.is_complete and meant not in index:
            new[level] = count
    bins[-1] = n_missing
    grams = None if column.text is None or not levels else _counted_grams(
        column.text, n_training * (1 - reference.missing), levels, present)
    return ColumnCounts(len(raw.values), len(raw.values), n_missing, 0, bins, new, grams)


def _counted_grams(form: TextForm, n_texts: float, levels: Sequence[str], codes: Indices) -> Double:
    """Shares of n-grams by bin, summed over some of the texts of these codes."""
    some = codes[:: max(1, len(codes) // max(_FEWEST_TEXTS, len(codes) // _TEXTS_OF_ONE))]
    texts, n_of_text = np.unique(some, return_counts=True)
    bin_of_bucket, _ = _bins_of_grams(form, n_texts)
    found = Grams.of([levels[k] for k in texts.tolist()], len(bin_of_bucket).bit_length() - 1)
    sizes = np.diff(found.starts)
    shares = np.repeat(n_of_text / np.maximum(sizes, 1), sizes)
    return np.bincount(bin_of_bucket[found.buckets], shares, N_QUANTILES).astype(np.float64)


def _have_few_rows(reference: ColumnReference, n_training: int) -> Mask:
    """For each level of a reference, whether as many rows of training had it as say little of how many will."""
    rows = np.array(reference.shares[:-1]) * n_training * (1 - reference.missing)
    return rows < _FEWEST_OF_A_BIN - 0.5


def _tells_rare(column: FittedColumn, reference: ColumnReference) -> bool:
    """Whether levels of no row are told from others, or where only the map knows all, those of fewer than two rows."""
    return reference.rare is not None and (reference.is_complete or (column.text is None and any(
        form.name in ("target", "frequency") or (form.name == "levels" and not column.has_rare)
        for form in column.forms)))


def _levels_of_two_rows(column: FittedColumn, reference: ColumnReference, n_training: int) -> Sequence[str]:
    """The levels of a map that two rows or more of training have; only indicators of all levels know others too."""
    shares = next((form.numbers for form in column.forms if form.name == "levels"), None)
    if shares is None or len(shares) < len(column.levels):  # two levels have one indicator
        return column.levels
    least_share = 1.5 / (n_training * (1 - reference.missing))
    return [level for level, share in zip(column.levels, shares.tolist(), strict=True) if share >= least_share]


@functools.lru_cache(maxsize=4)  # of columns whose rows are scored block by block
def _bins_of_grams(form: TextForm, n_texts: float) -> tuple[Indices, Double]:
    """The bin of each bucket of n-grams, by how many texts of training have one there, and the shares of new texts.

    These numbers follow from idf, 1 + ln((1 + n) / (1 + number)).
    """
    numbers = np.rint((1 + n_texts) * np.exp(1 - form.idf) - 1).clip(0).astype(np.intp)
    n_with = np.bincount(numbers, minlength=2).astype(np.float64)
    expected = np.arange(len(n_with)) * n_with  # r n_r for each r
    total, of_many = expected.sum(), expected[_FEWEST_OF_A_BIN:].sum()
    expected[_FEWEST_OF_A_BIN:] *= 1 - expected[_FEWEST_OF_A_BIN : _FEWEST_OF_A_BIN + 1].sum() / max(of_many, 1.0)
    n_few = min(_FEWEST_OF_A_BIN, len(n_with) - 1)
    expected[:n_few] = np.arange(1, n_few + 1) * n_with[1 : n_few + 1]  # (r + 1) n_{r+1}
    expected /= max(total, 1.0)
    bin_of_number = (N_QUANTILES * (expected.cumsum() - expected / 2)).astype(np.intp).clip(0, N_QUANTILES - 1)
    return bin_of_number[numbers], np.bincount(bin_of_number, expected, N_QUANTILES).astype(np.float64)


def _counted_numbers(values: Double, reference: ColumnReference) -> ColumnCounts:
    """Counts of numbers or dates, of some of the rows where they are many."""
    some = np.sort(values[:: max(1, len(values) // _MOST_COUNTED)])  # nan last; a sort is faster than 1,024 searches
    n_present = len(some) - int(np.count_nonzero(np.isnan(some)))
    ends = np.searchsorted(some[:n_present], np.array(reference.edges), side="right")
    bins = np.diff(ends, prepend=0, append=[n_present, len(some)])
    n_outside = 0
    if reference.low is not None and reference.high is not None:
        low, high = some[:n_present].searchsorted(reference.low), some[:n_present].searchsorted(reference.high, "right")
        n_outside = int(low + n_present - high)
    return ColumnCounts(len(values), len(some), len(some) - n_present, n_outside, bins, {})


def report(fitted: FittedMap, reference: Reference, counts: Counts | None) -> dict[str, Any]:
    """What `drift` of an estimator returns."""
    columns: list[dict[str, Any]] = []
    for name, column, each, found in zip(fitted.column_names(), fitted.columns, reference.columns,
                                         counts or [None] * len(reference.columns), strict=True):
        if each is None or found is None or not found.n_rows:
            continue
        ranked = sorted(found.new.items(), key=lambda item: (-item[1], item[0]))
        columns.append({
            "column": name, "kind": column.kind, "shift": _shift(column, each, found, reference.n_rows),
            "missing": found.n_missing / found.n_counted, "missing_in_training": each.missing,
            "outside": found.n_outside / found.n_counted, "range": None if each.low is None else [each.low, each.high],
            "new_levels": dict(ranked[:_MOST_SHOWN]), "n_new_levels": len(ranked),
            "new": sum(found.new.values()) / found.n_rows})
    largest = max(columns, key=lambda column: column["shift"], default=None)
    n_rows = max((each.n_rows for each in counts or () if each is not None), default=0)
    return {"rows": n_rows, "training_rows": reference.n_rows, "largest_shift": 0.0 if largest is None else
            largest["shift"], "largest_shift_of": None if largest is None else largest["column"], "columns": columns}


def _shift(column: FittedColumn, reference: ColumnReference, counts: ColumnCounts, n_training: int) -> float:
    """The population stability index of a column, less its mean where nothing has changed.

    Of texts it is that of their n-grams, if this is larger.
    """
    shares, found = np.array(reference.shares), counts.bins[:-1].astype(np.float64)
    if column.kind == CATEGORY:  # levels of few rows are one bin, with all others
        few, others = np.flatnonzero(_have_few_rows(reference, n_training)), len(reference.levels)
        rows = shares[:others] * n_training * (1 - reference.missing)
        many = np.setdiff1d(np.arange(others), few)
        of_many, of_fewest = shares[many].sum(), shares[many[rows[many] < _FEWEST_OF_A_BIN + 0.5]].sum()
        of_fewest *= of_fewest < of_many  # of one or two levels alone this says nothing
        shares[many] *= 1 - of_fewest / of_many if of_many else 1.0
        shares[others] += of_fewest + shares[few].sum()
        found[others] += found[few].sum()
        shares[few] = found[few] = 0.0
        if _tells_rare(column, reference):
            shares = np.append(shares, reference.rare or 0.0)
            # Fewer new levels than expected are no shift: rows may be those of training, or all groups known.
            new = min(shares[-1], found[-1] / max(found.sum(), 1.0))
            shares[others], shares[-1] = max(0.0, shares[others] - new), new
    expected = np.append(shares * (1 - reference.missing), reference.missing)
    shift = _stability(expected, np.append(found, float(counts.bins[-1])), n_training)
    if counts.grams is not None and column.text is not None and counts.grams.any():
        _, of_grams = _bins_of_grams(column.text, n_training * (1 - reference.missing))
        shift = max(shift, _stability(of_grams, counts.grams, n_training))
    return shift


def _stability(expected: Double, found: Double, n_training: int) -> float:
    """The index of shares of training and of counts, less its mean where nothing has changed."""
    occupied, n_found = (expected > 0) | (found > 0), float(found.sum())
    e, n_bins = np.maximum(expected[occupied], _LEAST_SHARE), int(np.count_nonzero(occupied))
    # As if n_bins rows more were as in training: the logarithm of an empty bin would say too much of a few rows.
    a = (found[occupied] + n_bins * e) / (n_found + n_bins)
    noise = (n_bins - 1) * (1 / n_found + 1 / max(n_training, 1))
    return max(0.0, float(((a - e) * np.log(a / e)).sum()) - noise)


def _is_notable(share: float, n_rows: int, share_before: float, n_before: int, least: float) -> bool:
    """Whether a share of the rows has changed by more than chance, four standard errors, and by so much at least."""
    pooled = (share * n_rows + share_before * n_before + 1) / (n_rows + n_before + 2)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_rows + 1 / n_before))
    return abs(share - share_before) >= max(least, 4 * error)


def _chance_outside(share: float, n_rows: int, n_training: int) -> float:
    """The probability that so large a share of rows like those of training is outside of their range.

    The n_rows + n_training values are in random order: k or more of the rows are below the least value of training with
    the probability r^k, nearly, with r = n_rows / (n_rows + n_training), and on both sides with (1 + k (1 - r)) r^k.
    """
    n_outside, ratio = share * n_rows, n_rows / (n_rows + n_training)
    return (1 + n_outside * (1 - ratio)) * ratio**n_outside


def summary(found: Mapping[str, Any]) -> str:
    """What is notable in a report, on one line; empty where nothing is."""
    facts: list[tuple[float, str]] = []
    n_rows, n_training = found["rows"], found["training_rows"]
    # Where nothing has changed, the index of ten bins and of missing values is chi-square of ten degrees of freedom,
    # of deviation sqrt(20), times 1 / n_rows + 1 / n_training.
    least_shift = max(_NOTABLE_SHIFT, 3 * math.sqrt(2 * N_QUANTILES) * (1 / max(n_rows, 1) + 1 / max(n_training, 1)))
    for column in found["columns"]:
        name, said = repr(column["column"]), []
        if column["new"]:
            first = next(iter(column["new_levels"]))
            more = f" and {column['n_new_levels'] - 1} more" if column["n_new_levels"] > 1 else ""
            said.append(f"{column['new']:.1%} new levels, {first!r}{more}")
        if (column["outside"] >= max(_NOTABLE_OUTSIDE, 20 / n_training)
                and _chance_outside(column["outside"], n_rows, n_training) < _LEAST_CHANCE):
            said.append(f"{column['outside']:.1%} outside the range of training")
        if _is_notable(column["missing"], n_rows, column["missing_in_training"], n_training, _NOTABLE_MISSING):
            said.append(f"{column['missing']:.1%} missing, {column['missing_in_training']:.1%} in training")
        if column["shift"] >= least_shift:
            said.append(f"shift {column['shift']:.2f}")
        if said:
            size = max(column["shift"], column["new"], column["outside"])
            facts.append((-size, f"{name} ({', '.join(said)})"))
    named = [text for _, text in sorted(facts)]
    more = f" and {len(named) - _MOST_NAMED} more columns" if len(named) > _MOST_NAMED else ""
    return f"rows differ from training: {'; '.join(named[:_MOST_NAMED])}{more}" if named else ""
