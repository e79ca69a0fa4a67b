"""Transforms of a raw column: functions of one value, learned from its quantiles and moments.

Each transform maps the values of a column, nan where missing, to the rows of an array: one for each of its outputs.
Over the training rows the outputs have mean 0 and the variances of a transform's outputs sum to 1, so that 0, the
neutral value, is as near to all others as can be, and every column is one unit.  `RawForm` alone keeps its units.

A transform is kept in files as its numbers; `from_numbers` takes no others than `numbers` gives, and raises ValueError.
"""

import math
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from .._native import unfused
from .._native.array_types import NDArray
from .sketch import LevelStatistics, Summary

Double = NDArray[np.float64]

PARTS = ("hour", "weekday", "yearday")

_NONE = np.empty(0)

_DAY = 86400.0
_SECOND_LIMIT = 1e11  # seconds from 1970 up to which days are distinguished: some 3000 years


def date_parts(seconds: Double) -> dict[str, tuple[Double, float]]:
    """(Values, period) of each part of dates in seconds since 1970: the time of day, the days of the week and the year.

    A day of the year is its place among twelve months of 31 days, so that 24 December is the same one in all years.
    """
    clipped = np.clip(np.where(np.isnan(seconds), 0.0, seconds), -_SECOND_LIMIT, _SECOND_LIMIT)
    days = np.floor(clipped / _DAY)
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    days_of_month = (dates - months.astype("datetime64[D]")).astype(np.float64)
    return {
        "hour": ((clipped - days * _DAY) / 3600, 24.0),
        "weekday": ((days + 3) % 7, 7.0),  # 1 January 1970 was a Thursday; Monday is 0
        "yearday": (31 * (months.astype(np.int64) % 12) + days_of_month, 372.0),
    }


def part_angles(seconds: Double, part: str) -> Double:
    """Sine and cosine of a part, shape (2, n_rows), nan where the date is missing; of compiled code, which C shares."""
    which = float(unfused.DATE_PARTS[part])
    return _compiled("part", np.array([[np.nan, 1.0, which, 0.5, 0.0, 0.0], [np.nan, 1.0, which, 0.0, 0.0, 0.0]]),
                     seconds)


def _compiled(kind: str, numbers: Double, values: Double, knots: Double = _NONE, heights: Double = _NONE) -> Double:
    """Outputs of forms of one kind of compiled code, a form for each row of `numbers`, shape (n_forms, n_rows)."""
    n_forms = len(numbers)
    kernel = unfused.ColumnForms(
        np.array([0, n_forms], np.intp), np.full(n_forms, unfused.KINDS[kind], np.intp), numbers,
        np.full(n_forms, len(knots), np.intp), knots, heights)
    outputs, rows = np.empty((len(values), n_forms)), values.reshape(-1, 1)
    unfused.map_rows(kernel, rows, np.inf, outputs.reshape(-1, n_forms, 1),
                     np.empty((1, unfused.scratch_size(*rows.shape))), 1)
    return outputs.T


# What a mapped value may be at most: an extreme row must stay finite.
_LARGEST_OUTPUT = 1e30

# Neighbouring knots are farther apart than this, so that slopes between them are finite.
_SMALLEST_GAP = 1e-290


class Form(Protocol):
    """A fitted function of the values of one column."""

    @property
    def name(self) -> str:
        """The word for it, in `forms_` and in files."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """What distinguishes the outputs by name."""

    def numbers(self) -> Double:
        """The numbers it is made of."""

    def describe(self) -> dict[str, object]:
        """What `ColumnMap.describe` shows of it."""

    def __call__(self, values: Double, /) -> Double:
        """Outputs, shape (n_outputs, n_rows), nan where the value is missing."""


def require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _exactly(numbers: Double, size: int, name: str) -> list[float]:
    require(numbers.size == size, f"a form {name!r} has {size} numbers, got {numbers.size}")
    return [float(number) for number in numbers]


class RawForm:
    """Values as they are, and their mean where they are missing."""

    name: ClassVar[str] = "raw"
    outputs: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, mean: float) -> None:
        self.mean = mean

    def numbers(self) -> Double:
        """The mean."""
        return np.array([self.mean])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        return cls(*_exactly(numbers, 1, "raw"))

    def describe(self) -> dict[str, object]:
        """The value of missing ones."""
        return {"missing_as": self.mean}

    def __call__(self, values: Double) -> Double:
        """The values, with none missing."""
        return np.where(np.isnan(values), self.mean, values)[None]

    def slope(self, low: Double, high: Double) -> Double:
        """The largest derivative between two values, and at one value its derivative; 0 of those that are constant."""
        return np.ones((1, len(low)))


class StandardForm:
    """Values less their mean, over their standard deviation."""

    name: ClassVar[str] = "standard"
    outputs: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, mean: float, inverse_deviation: float) -> None:
        self.mean, self.inverse_deviation = mean, inverse_deviation

    def numbers(self) -> Double:
        """Mean and inverse deviation."""
        return np.array([self.mean, self.inverse_deviation])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        found = cls(*_exactly(numbers, 2, "standard"))
        require(found.inverse_deviation > 0, "a deviation is not positive")
        return found

    def describe(self) -> dict[str, object]:
        """Mean and deviation."""
        return {"mean": self.mean, "deviation": 1 / self.inverse_deviation}

    def __call__(self, values: Double) -> Double:
        """The standardised values."""
        with np.errstate(over="ignore"):
            return ((values - self.mean) * self.inverse_deviation).clip(-_LARGEST_OUTPUT, _LARGEST_OUTPUT)[None]

    def slope(self, low: Double, high: Double) -> Double:
        """As of `RawForm`."""
        return np.full((1, len(low)), self.inverse_deviation)


class BoundedForm:
    """Values squashed to a bounded range: z / sqrt(1 + z^2), z their distance from the median in robust deviations."""

    name: ClassVar[str] = "bounded"
    outputs: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, median: float, inverse_width: float, mean: float, inverse_deviation: float) -> None:
        self.median, self.inverse_width = median, inverse_width
        self.mean, self.inverse_deviation = mean, inverse_deviation  # of the bounded values

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Learn it; the width is that of a normal distribution with the same quartiles, or wider quantiles."""
        median = summary.quantile(0.5)
        for tail, deviations in ((0.25, 1.349), (0.1, 2.563), (0.02, 4.107)):
            width = summary.quantile(1 - tail) / deviations - summary.quantile(tail) / deviations
            if width > 0:
                break
        else:
            width = (float(summary.values[-1]) - float(summary.values[0])) / 4
        unscaled = cls(median, min(1 / width, 1e300) if width > 1e-300 else 1e300, 0.0, 1.0)
        bounded = unscaled(summary.values)[0]
        mean = float(np.average(bounded, weights=summary.weights))
        variance = float(np.average((bounded - mean) ** 2, weights=summary.weights))
        return cls(median, unscaled.inverse_width, mean, 1 / math.sqrt(variance) if variance > 0 else 1.0)

    def numbers(self) -> Double:
        """The four numbers."""
        return np.array([self.median, self.inverse_width, self.mean, self.inverse_deviation])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        found = cls(*_exactly(numbers, 4, "bounded"))
        require(found.inverse_width > 0 and found.inverse_deviation > 0, "a width is not positive")
        return found

    def describe(self) -> dict[str, object]:
        """Median and width."""
        return {"median": self.median, "width": 1 / self.inverse_width}

    def __call__(self, values: Double) -> Double:
        """The bounded values."""
        with np.errstate(over="ignore"):
            z = ((values - self.median) * self.inverse_width).clip(-1e150, 1e150)
        return ((z / np.sqrt(1 + z * z) - self.mean) * self.inverse_deviation)[None]

    def slope(self, low: Double, high: Double) -> Double:
        """As of `RawForm`."""
        with np.errstate(over="ignore"):
            nearest = np.clip(self.median, low, high)  # where the slope is largest
            z = ((nearest - self.median) * self.inverse_width).clip(-1e100, 1e100)
            found: Double = self.inverse_width * self.inverse_deviation / (1 + z * z) ** 1.5
        return found[None]


class RankForm:
    """Mid-ranks, by linear interpolation between knots; beyond the outer knots constant."""

    name: ClassVar[str] = "rank"
    outputs: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, knots: Double, ranks: Double) -> None:
        self.knots, self.ranks = knots, ranks  # both increasing

    @classmethod
    def of(cls, summary: Summary, n_knots: int) -> Self:
        """Learn it: all values are knots where there are few, else those in the middle of equal shares, and the ends.

        A value that many rows have is a knot, as it fills a share.
        """
        middles = summary.middles()
        places = np.arange(len(middles))
        if len(places) > n_knots:
            places = np.searchsorted(middles, np.linspace(0, 1, n_knots)).clip(max=len(middles) - 1)
            places = np.unique(np.concatenate([[0], places[1:-1], [len(middles) - 1]]))
        gaps = np.concatenate([[np.inf], np.diff(summary.values[places])])
        places = places[gaps > _SMALLEST_GAP]
        knots, ranks = summary.values[places], middles[places] - 0.5
        there = np.interp(summary.values, knots, ranks)
        mean = float(np.average(there, weights=summary.weights))
        variance = float(np.average((there - mean) ** 2, weights=summary.weights))
        return cls(knots, (ranks - mean) / math.sqrt(variance) if variance > 0 else np.zeros(len(ranks)))

    def thinned(self, tolerance: float) -> "RankForm":
        """The same with fewer knots, which is nowhere between the knots of this one farther off than a tolerance."""
        kept, last = [0], len(self.knots) - 1
        while kept[-1] < last:
            start, stop = kept[-1], kept[-1] + 1
            while stop < last:
                between = slice(start + 1, stop + 1)
                line = np.interp(self.knots[between], self.knots[[start, stop + 1]], self.ranks[[start, stop + 1]])
                if np.abs(line - self.ranks[between]).max() > tolerance:
                    break
                stop += 1
            kept.append(stop)
        return RankForm(self.knots[kept], self.ranks[kept])

    def numbers(self) -> Double:
        """The knots, then their ranks."""
        return np.concatenate([self.knots, self.ranks])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        require(numbers.size >= 2 and numbers.size % 2 == 0, "knots and ranks differ in number")
        found = cls(*np.split(numbers, 2))
        require((np.diff(found.knots) > _SMALLEST_GAP).all() and (np.diff(found.ranks) >= 0).all(),
                 "knots or ranks do not increase")
        require(np.abs(found.ranks).max() <= _LARGEST_OUTPUT and np.abs(found.knots).max() <= 2.0**1022,
                 "knots or ranks are too large")
        return found

    def describe(self) -> dict[str, object]:
        """Number of knots and their range."""
        return {"knots": len(self.knots), "low": float(self.knots[0]), "high": float(self.knots[-1])}

    def __call__(self, values: Double) -> Double:
        """The ranks."""
        return _compiled("rank", np.array([[np.nan, 1.0, 0.0, 0.0, 0.0, 0.0]]), values, self.knots, self.ranks)

    def slope(self, low: Double, high: Double) -> Double:
        """As of `RawForm`; at a knot the larger one of both sides."""
        with np.errstate(over="ignore"):
            slopes = np.concatenate([[0.0], np.diff(self.ranks) / np.diff(self.knots), [0.0]])
        firsts, lasts = np.searchsorted(self.knots, low), np.searchsorted(self.knots, high, side="right")
        return np.array([[slopes[first : last + 1].max() for first, last in zip(firsts.tolist(), lasts.tolist(),
                                                                               strict=True)]])


class GroupForm:
    """Indicators of bins or levels: which of them a row is in, less their shares, in one unit together.

    `shares` are those of the groups that have an output.  Of two groups that fill the column one has an output.
    """

    def __init__(self, shares: Double) -> None:
        self.shares = shares

    def __call__(self, codes: Double) -> Double:
        """Outputs for codes, nan where missing; a code beyond the last stands for a group without an output."""
        spread = math.sqrt(float((self.shares * (1 - self.shares)).sum()))
        outputs = (codes == np.arange(len(self.shares))[:, None]) - self.shares[:, None]
        return np.where(np.isnan(codes), np.nan, outputs / spread)

    def check(self) -> None:
        """ValueError unless the shares are some of a whole."""
        require(self.shares.size and ((self.shares > 0) & (self.shares < 1)).all() and self.shares.sum() < 1 + 1e-9,
                 "shares of groups are not those of a whole")


class BinsForm:
    """Indicators of quantile bins."""

    name: ClassVar[str] = "bins"

    def __init__(self, edges: Double, group: GroupForm) -> None:
        self.edges = edges  # increasing; bin k holds edges[k - 1] <= x < edges[k]
        self.group = group

    @classmethod
    def of(cls, summary: Summary, n_bins: int) -> Self:
        """Learn it; values that occur often may leave fewer bins."""
        ends = np.cumsum(summary.weights)
        places = np.searchsorted(ends, ends[-1] * np.arange(1, n_bins) / n_bins, side="right").clip(max=len(ends) - 1)
        if np.count_nonzero(summary.weights) <= n_bins:
            places = np.flatnonzero(summary.weights)[1:]
        places = np.unique(places)
        if places.tolist() == [0]:  # the first value fills all bins but the last
            places = np.flatnonzero(summary.weights)[1:2]
        cuts = np.concatenate([[0], places])
        shares = np.add.reduceat(summary.weights, cuts) / ends[-1]
        if cuts[:2].tolist() == [0, 0]:
            places, shares = places[1:], shares[1:]
        filled = shares > 0
        return cls(summary.values[places][filled[1:]], GroupForm(shares_of_outputs(shares[filled])))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Numbers of the bins, from 0."""
        return tuple(f"bin{k}" for k in range(len(self.group.shares)))

    def numbers(self) -> Double:
        """The edges, then the shares: one of two bins, else one more than edges."""
        return np.concatenate([self.edges, self.group.shares])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        n_edges = 1 if numbers.size == 2 else (numbers.size - 1) // 2
        require(numbers.size == 2 or (numbers.size >= 5 and numbers.size % 2 == 1),
                "edges and shares of bins do not agree in number")
        found = cls(numbers[:n_edges], GroupForm(numbers[n_edges:]))
        found.group.check()
        require((np.diff(found.edges) > 0).all(), "edges of bins do not increase")
        return found

    def describe(self) -> dict[str, object]:
        """The edges."""
        return {"edges": self.edges.tolist()}

    def __call__(self, values: Double) -> Double:
        """The indicators."""
        codes = np.searchsorted(self.edges, values, side="right").astype(np.float64)
        return self.group(np.where(np.isnan(values), np.nan, codes))

    def slope(self, low: Double, high: Double) -> Double:
        """As of `RawForm`; infinite where there is an edge between two values."""
        is_same = np.searchsorted(self.edges, low, side="right") == np.searchsorted(self.edges, high, side="right")
        return np.tile(np.where(is_same, 0.0, np.inf), (len(self.outputs), 1))


def shares_of_outputs(shares: Double) -> Double:
    """The shares of the groups that have an output: of two groups, one is enough."""
    return shares[:1] if len(shares) == 2 else shares


class MissingForm:
    """Whether the value is missing: 1 or 0, less the share of the missing.

    It has no unit of its own, as it would count for as much as the values of a column.
    """

    name: ClassVar[str] = "missing"
    outputs: ClassVar[tuple[str, ...]] = ("missing",)

    def __init__(self, share: float) -> None:
        self.share = share

    def numbers(self) -> Double:
        """The share of the missing."""
        return np.array([self.share])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        require(numbers.size == 1, f"a form 'missing' has 1 number, got {numbers.size}")
        share = float(numbers[0])
        require(0 < share < 1, "the share of the missing is not that of a part")
        return cls(share)

    def describe(self) -> dict[str, object]:
        """The share of the missing."""
        return {"share": self.share}

    def __call__(self, values: Double) -> Double:
        """The indicator, never nan."""
        return (np.isnan(values) - self.share)[None]


class PartForm:
    """Sine and cosine of the time of day, the day of the week or the day of the year."""

    def __init__(self, part: str) -> None:
        self.part = part

    @property
    def name(self) -> str:
        """The part."""
        return self.part

    @property
    def outputs(self) -> tuple[str, ...]:
        """Sine and cosine of the part."""
        return f"{self.part}_sin", f"{self.part}_cos"

    def numbers(self) -> Double:
        """None."""
        return np.empty(0)

    def describe(self) -> dict[str, object]:
        """Nothing beside the part."""
        return {}

    def __call__(self, values: Double) -> Double:
        """The angles of seconds since 1970."""
        return part_angles(values, self.part)


class DifferenceForm(StandardForm):
    """Seconds from another date of the row to this one, standardised."""

    name: ClassVar[str] = "difference"
    outputs: ClassVar[tuple[str, ...]] = ("difference",)

    def __init__(self, other: int, mean: float, inverse_deviation: float) -> None:
        super().__init__(mean, inverse_deviation)
        self.other = other  # index of the column of the other date

    def numbers(self) -> Double:
        """The other column, mean and inverse deviation."""
        return np.array([self.other, *super().numbers()])

    @classmethod
    def from_numbers(cls, numbers: Double) -> Self:
        """Rebuild it."""
        other, mean, inverse_deviation = _exactly(numbers, 3, "difference")
        require(0 <= other < 2.0**31 and other == int(other), "the other column of a difference is malformed")
        require(inverse_deviation > 0, "a deviation is not positive")
        return cls(int(other), mean, inverse_deviation)

    def describe(self) -> dict[str, object]:
        """The index of the other column, mean and deviation."""
        return {"other": self.other} | super().describe()


# Weights, in rows, of the overall mean in the target statistic of a level; with the last one all levels are alike.
_SHRINKAGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 1e12)


class Levels(NamedTuple):
    """The levels of a category that are kept; all others are pooled as rare."""

    kept: tuple[str, ...]  # sorted
    weights: Double  # (n_kept + 1, N_FOLDS) the rare ones last
    targets: Double  # (n_kept + 1, N_FOLDS, n_outputs)
    n_rare: int = 0

    @classmethod
    def of(cls, statistics: LevelStatistics, smallest: float, most: int | None) -> Self:
        """Pool levels of less weight than `smallest`, and all but the `most` heaviest; of equal ones the first."""
        totals = statistics.weights.sum(axis=1)
        own = totals >= smallest
        if most is not None and np.count_nonzero(own) > most:
            heaviest = np.argsort(np.where(own, -totals, np.inf), kind="stable")[:most]
            own = np.isin(np.arange(len(totals)), heaviest)
        kept = np.flatnonzero(own)
        return cls(tuple(statistics.names[k] for k in kept),
                   np.concatenate([statistics.weights[own], statistics.weights[~own].sum(axis=0)[None]]),
                   np.concatenate([statistics.targets[own], statistics.targets[~own].sum(axis=0)[None]]),
                   int(np.count_nonzero(~own & (totals > 0))))

    def shares(self) -> Double:
        """Shares of the kept levels, and of the rare ones if there are any."""
        totals = self.weights.sum(axis=1)
        return (totals if totals[-1] > 0 else totals[:-1]) / totals.sum()


class LevelsForm:
    """Indicators of the levels, and of the rare ones together where training had any."""

    name: ClassVar[str] = "levels"

    def __init__(self, group: GroupForm, outputs: tuple[str, ...]) -> None:
        self.group, self.outputs = group, outputs  # of the levels

    @classmethod
    def of(cls, levels: Levels) -> Self:
        """Learn it from levels of which at least two groups occur."""
        shares = shares_of_outputs(levels.shares())
        return cls(GroupForm(shares), _labels(levels.kept, len(shares)))

    def numbers(self) -> Double:
        """The shares."""
        return self.group.shares

    @classmethod
    def from_numbers(cls, numbers: Double, kept: tuple[str, ...]) -> Self:
        """Rebuild it."""
        found = cls(GroupForm(numbers), _labels(kept, len(numbers)))
        found.group.check()
        require(numbers.size in ((1,) if len(kept) == 1 else (1, 3) if len(kept) == 2 else (len(kept), len(kept) + 1)),
                "levels and shares differ in number")
        return found

    def describe(self) -> dict[str, object]:
        """The levels and their shares."""
        return {"shares": dict(zip(self.outputs, self.group.shares.tolist(), strict=True))}

    def __call__(self, codes: Double) -> Double:
        """The indicators."""
        return self.group(codes)


def _labels(kept: tuple[str, ...], n_outputs: int) -> tuple[str, ...]:
    return (*kept, "rare levels")[:n_outputs]


class TargetForm:
    """The mean target of the rows of a level, shrunk towards the mean of all, in one unit for all outputs.

    The weight m of the mean of all, s = (t + m mean) / (w + m) for a level of weight w and target sum t, is the one of
    `_SHRINKAGES` with the smallest squared error in folds whose rows s does not know, for each output.

    On training rows it is estimated from the rows of the other folds (`of` returns these values), not kept in files.
    """

    name: ClassVar[str] = "target"

    def __init__(self, values: Double) -> None:
        self.values = values  # (n_kept + 1, n_outputs) the rare ones last

    @classmethod
    def of(cls, levels: Levels, unit: float) -> "tuple[TargetForm, Double] | None":
        """The form, and its values for the training rows of each fold, shape (n_kept + 1, N_FOLDS, n_outputs).

        `unit` is the weight of one row.  None where levels that differ have no smaller error.
        """
        weights, targets = levels.weights.sum(axis=1), levels.targets.sum(axis=1)
        total = weights.sum()
        others = total - levels.weights.sum(axis=0)
        means = (targets.sum(axis=0) - levels.targets.sum(axis=0)) / np.where(others > 0, others, 1.0)[:, None]
        rest, rest_targets = weights[:, None] - levels.weights, targets[:, None] - levels.targets
        held_out = [_shrunk(rest, rest_targets, means, m * unit) for m in _SHRINKAGES]
        # The squared error of p in a cell of weight w and target sum t is w p^2 - 2 p t, less what p does not change.
        errors = np.array([(levels.weights[..., None] * p * p - 2 * p * levels.targets).sum(axis=(0, 1))
                           for p in held_out])
        best = errors.argmin(axis=0)
        if (best == len(_SHRINKAGES) - 1).all():
            return None
        values = _shrunk(weights, targets, targets.sum(axis=0) / total, np.array(_SHRINKAGES)[best] * unit)
        folds = np.stack([held_out[m][..., k] for k, m in enumerate(best.tolist())], axis=-1)
        center = (weights[:, None] / total * values).sum(axis=0)
        spread = math.sqrt(float((weights[:, None] / total * (values - center) ** 2).sum()))
        spread = spread if spread > 0 else 1.0
        return cls((values - center) / spread), (folds - center) / spread

    @property
    def outputs(self) -> tuple[str, ...]:
        """Numbers of the outputs where there are several."""
        n_outputs = self.values.shape[1]
        return ("target",) if n_outputs == 1 else tuple(f"target{k}" for k in range(n_outputs))

    def numbers(self) -> Double:
        """The values, level by level."""
        return self.values.ravel()

    @classmethod
    def from_numbers(cls, numbers: Double, kept: tuple[str, ...]) -> Self:
        """Rebuild it."""
        require(numbers.size and numbers.size % (len(kept) + 1) == 0, "levels and their values differ in number")
        require(np.abs(numbers).max() <= 1e30, "values of levels are too large")
        return cls(numbers.reshape(len(kept) + 1, -1))

    def describe(self) -> dict[str, object]:
        """The number of levels with a value of their own."""
        return {"levels": len(self.values) - 1}

    def __call__(self, codes: Double) -> Double:
        """The values of the levels."""
        missing = np.isnan(codes)
        return np.where(missing, np.nan, self.values[np.where(missing, 0, codes).astype(np.intp)].T)


def _shrunk(weights: Double, targets: Double, mean: Double, prior: Double | float) -> Double:
    return (targets + prior * mean) / (weights[..., None] + prior)


class FrequencyForm(TargetForm):
    """The logarithm of the number of rows of a level, standardised; of the rare ones that of their mean."""

    name: ClassVar[str] = "frequency"

    @classmethod
    def of_rows(cls, levels: Levels, unit: float) -> Self | None:
        """Learn it, `unit` being the weight of one row; None where all levels have equally many rows."""
        weights = levels.weights.sum(axis=1)
        sizes = weights / np.append(np.ones(len(levels.kept)), max(levels.n_rare, 1))
        logs = np.log(sizes + unit)
        center = float(np.average(logs, weights=weights))
        spread = math.sqrt(float(np.average((logs - center) ** 2, weights=weights)))
        return cls(((logs - center) / spread)[:, None]) if spread > 1e-6 else None

    @property
    def outputs(self) -> tuple[str, ...]:
        """One."""
        return ("frequency",)

    @classmethod
    def from_numbers(cls, numbers: Double, kept: tuple[str, ...]) -> Self:
        """Rebuild it."""
        require(numbers.size == len(kept) + 1, "levels and their values differ in number")
        return super().from_numbers(numbers, kept)
