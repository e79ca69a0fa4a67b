"""Forms that a raw column takes: functions of one value, learned from its quantiles and moments, then frozen.

Each form maps the values of a column, nan where missing, to the rows of an array: one for each of its outputs.  Over
the training rows the outputs have mean 0 and the variances of a form's outputs sum to 1, so that 0, the neutral value,
is as near to all others as can be, and every column is one unit.  `RawForm` alone keeps its units.

A form is kept in files as its numbers; `from_numbers` takes no others than `numbers` gives, and raises ValueError.
The classes have no decorator: making a frozen data class takes seven times as long, in each program that loads a model.
"""

import math
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np

from .._native import unfused
from .._native.array_types import NDArray
from .dates import part_angles

if TYPE_CHECKING:  # what is only applied was learned before
    from .sketch import Summary

Double = NDArray[np.float64]

# What a mapped value may be at most: an extreme row must stay finite.
_LARGEST_OUTPUT = 1e30

# Neighbouring knots are farther apart than this, so that slopes between them are finite.
_SMALLEST_GAP = 1e-290


class Form(Protocol):
    """A frozen function of the values of one column."""

    @property
    def name(self) -> str:
        """The word for it, in `forms_` and in files."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """What distinguishes the outputs by name."""

    def numbers(self) -> Double:
        """The numbers it is made of."""

    def facts(self) -> dict[str, object]:
        """The same for people."""

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

    def facts(self) -> dict[str, object]:
        """The value of missing ones."""
        return {"missing_as": self.mean}

    def __call__(self, values: Double) -> Double:
        """The values, with none missing."""
        return np.where(np.isnan(values), self.mean, values)[None]


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

    def facts(self) -> dict[str, object]:
        """Mean and deviation."""
        return {"mean": self.mean, "deviation": 1 / self.inverse_deviation}

    def __call__(self, values: Double) -> Double:
        """The standardised values."""
        with np.errstate(over="ignore"):
            return ((values - self.mean) * self.inverse_deviation).clip(-_LARGEST_OUTPUT, _LARGEST_OUTPUT)[None]


class BoundedForm:
    """Values bounded smoothly: z / sqrt(1 + z^2), z their distance from the median in robust deviations."""

    name: ClassVar[str] = "bounded"
    outputs: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, median: float, inverse_width: float, mean: float, inverse_deviation: float) -> None:
        self.median, self.inverse_width = median, inverse_width
        self.mean, self.inverse_deviation = mean, inverse_deviation  # of the bounded values

    @classmethod
    def of(cls, summary: "Summary") -> Self:
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

    def facts(self) -> dict[str, object]:
        """Median and width."""
        return {"median": self.median, "width": 1 / self.inverse_width}

    def __call__(self, values: Double) -> Double:
        """The bounded values."""
        with np.errstate(over="ignore"):
            z = ((values - self.median) * self.inverse_width).clip(-1e150, 1e150)
        return ((z / np.sqrt(1 + z * z) - self.mean) * self.inverse_deviation)[None]


class RankForm:
    """Mid-ranks, by linear interpolation between knots; beyond the outer knots constant."""

    name: ClassVar[str] = "rank"
    outputs: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, knots: Double, ranks: Double) -> None:
        self.knots, self.ranks = knots, ranks  # both increasing

    @classmethod
    def of(cls, summary: "Summary", n_knots: int) -> Self:
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

    def facts(self) -> dict[str, object]:
        """Number of knots and their range."""
        return {"knots": len(self.knots), "low": float(self.knots[0]), "high": float(self.knots[-1])}

    def __call__(self, values: Double) -> Double:
        """The ranks."""
        kernel = unfused.ColumnForms(
            np.array([0, 1], np.intp), np.array([unfused.KINDS["rank"]], np.intp),
            np.array([[np.nan, 1.0, 0.0, 0.0, 0.0, 0.0]]), np.array([len(self.knots)], np.intp), self.knots, self.ranks)
        outputs, rows = np.empty((1, len(values))), values.reshape(-1, 1)
        unfused.map_rows(kernel, rows, np.inf, outputs.reshape(-1, 1, 1),
                         np.empty((1, unfused.scratch_size(*rows.shape))), 1)
        return outputs


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
    def of(cls, summary: "Summary", n_bins: int) -> Self:
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
        return cls(summary.values[places][filled[1:]], GroupForm(outputs_of(shares[filled])))

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

    def facts(self) -> dict[str, object]:
        """The edges."""
        return {"edges": self.edges.tolist()}

    def __call__(self, values: Double) -> Double:
        """The indicators."""
        codes = np.searchsorted(self.edges, values, side="right").astype(np.float64)
        return self.group(np.where(np.isnan(values), np.nan, codes))


def outputs_of(shares: Double) -> Double:
    """The shares of the groups that have an output: one of two groups says all."""
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

    def facts(self) -> dict[str, object]:
        """The share of the missing."""
        return {"share": self.share}

    def __call__(self, values: Double) -> Double:
        """The indicator, never nan."""
        return (np.isnan(values) - self.share)[None]


class PartForm:
    """Sine and cosine of the time of day, the day of the week or the month."""

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

    def facts(self) -> dict[str, object]:
        """Nothing beside the part."""
        return {}

    def __call__(self, values: Double) -> Double:
        """The angles of seconds since 1970."""
        return np.where(np.isnan(values), np.nan, part_angles(values, self.part))
