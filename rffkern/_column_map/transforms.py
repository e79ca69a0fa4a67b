"""Transforms of a raw column: functions of one value, learned from its quantiles, moments or levels.

A form maps the values of a column, nan where missing, to one output or several.  Over the training rows the outputs
have mean 0 and the variances of a form's outputs sum to 1, so that 0, the neutral value, is as near to all others as
can be, and every column is one unit.  "raw" alone keeps its units.

Each form stands in one place: what it is by its numbers, as files keep them, and below how they are learned.  Compiled
code computes it (`compiled`, `_native/columns/forms.h`).  Numbers that no training gives are a ValueError.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Indices
from .sketch import LevelStatistics, Summary

# Kind, what a missing value becomes, and a, b, c, d of forms.h; of a rank and a table c is their largest magnitude.
Entry = tuple[str, float, float, float, float, float]

# What a mapped value may be at most: an extreme row must stay finite.
_LARGEST_OUTPUT = 1e30

# Neighbouring knots are farther apart than this, so that slopes between them are finite.
_SMALLEST_GAP = 1e-290


@dataclass(frozen=True, eq=False)
class Form:
    """A fitted function of the values of one column: numbers, seconds, or indices of levels."""

    name: str  # in `forms_` and in files
    numbers: Double  # what it is made of
    outputs: tuple[str, ...]  # what distinguishes them by name
    entries: Sequence[Entry]  # of compiled code, one for each output
    described: Mapping[str, object] = field(default_factory=dict)  # what `ColumnMap.describe` shows
    tables: Sequence[tuple[Double, Double]] = ()  # knots and heights of each output of kind rank or table


def require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _exactly(numbers: Double, size: int, name: str) -> list[float]:
    require(numbers.size == size, f"a form {name!r} has {size} number{'s' * (name != 'missing')}, got {numbers.size}")
    return [float(number) for number in numbers]


# --- numbers

def raw(numbers: Double) -> Form:
    """Values as they are, and their mean where they are missing."""
    (mean,) = _exactly(numbers, 1, "raw")
    return Form("raw", numbers, ("",), [("raw", mean, 0.0, 0.0, 0.0, 0.0)], {"missing_as": mean})


def standard(numbers: Double) -> Form:
    """Values less their mean, over their standard deviation."""
    mean, inverse_deviation = _exactly(numbers, 2, "standard")
    require(inverse_deviation > 0, "a deviation is not positive")
    return Form("standard", numbers, ("",), [("standard", 0.0, mean, inverse_deviation, 0.0, 0.0)],
                {"mean": mean, "deviation": 1 / inverse_deviation})


def bounded(numbers: Double) -> Form:
    """Values squashed to a bounded range: z / sqrt(1 + z^2), z their distance from the median in robust deviations.

    The numbers are median and inverse width, then mean and inverse deviation of the bounded values.
    """
    median, inverse_width, mean, inverse_deviation = _exactly(numbers, 4, "bounded")
    require(inverse_width > 0 and inverse_deviation > 0, "a width is not positive")
    return Form("bounded", numbers, ("",), [("bounded", 0.0, median, inverse_width, mean, inverse_deviation)],
                {"median": median, "width": 1 / inverse_width})


def learn_bounded(summary: Summary) -> Form:
    """The width is that of a normal distribution with the same quartiles, or wider quantiles."""
    median = summary.quantile(0.5)
    for tail, deviations in ((0.25, 1.349), (0.1, 2.563), (0.02, 4.107)):
        width = summary.quantile(1 - tail) / deviations - summary.quantile(tail) / deviations
        if width > 0:
            break
    else:
        width = (float(summary.values[-1]) - float(summary.values[0])) / 4
    inverse_width = min(1 / width, 1e300) if width > 1e-300 else 1e300
    with np.errstate(over="ignore"):
        z = ((summary.values - median) * inverse_width).clip(-1e150, 1e150)
    found = z / np.sqrt(1 + z * z)
    mean = float(np.average(found, weights=summary.weights))
    variance = float(np.average((found - mean) ** 2, weights=summary.weights))
    return bounded(np.array([median, inverse_width, mean, 1 / math.sqrt(variance) if variance > 0 else 1.0]))


def rank(numbers: Double) -> Form:
    """Mid-ranks, by linear interpolation between knots, beyond the outer knots constant; knots, then their ranks."""
    require(numbers.size >= 2 and numbers.size % 2 == 0, "knots and ranks differ in number")
    knots, ranks = np.split(numbers, 2)
    require((np.diff(knots) > _SMALLEST_GAP).all() and (np.diff(ranks) >= 0).all(), "knots or ranks do not increase")
    require(np.abs(ranks).max() <= _LARGEST_OUTPUT and np.abs(knots).max() <= 2.0**1022,
            "knots or ranks are too large")
    return Form("rank", numbers, ("",), [("rank", 0.0, 0.0, 0.0, float(np.abs(ranks).max()), 0.0)],
                {"knots": len(knots), "low": float(knots[0]), "high": float(knots[-1])}, [(knots, ranks)])


def learn_rank(summary: Summary, n_knots: int) -> Form:
    """All values are knots where there are few, else those in the middle of equal shares, and the ends.

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
    return rank(np.concatenate([knots, (ranks - mean) / math.sqrt(variance) if variance > 0 else np.zeros(len(ranks))]))


def thinned(form: Form, tolerance: float) -> Form:
    """A rank with fewer knots, which is nowhere between the knots of this one farther off than a tolerance."""
    knots, ranks = form.tables[0]
    kept, last = [0], len(knots) - 1
    while kept[-1] < last:
        start, stop = kept[-1], kept[-1] + 1
        while stop < last:
            between = slice(start + 1, stop + 1)
            line = np.interp(knots[between], knots[[start, stop + 1]], ranks[[start, stop + 1]])
            if np.abs(line - ranks[between]).max() > tolerance:
                break
            stop += 1
        kept.append(stop)
    return rank(np.concatenate([knots[kept], ranks[kept]]))


def bins(numbers: Double) -> Form:
    """Indicators of quantile bins; bin k holds edges[k - 1] <= x < edges[k].

    The numbers are the edges, then the shares: one of two bins, else one more than edges.
    """
    require(numbers.size == 2 or (numbers.size >= 5 and numbers.size % 2 == 1),
            "edges and shares of bins do not agree in number")
    edges, shares = np.split(numbers, [1 if numbers.size == 2 else (numbers.size - 1) // 2])
    entries = _indicators(shares, [-math.inf, *edges.tolist(), math.inf])
    require((np.diff(edges) > 0).all(), "edges of bins do not increase")
    return Form("bins", numbers, tuple(f"bin{k}" for k in range(len(shares))), entries, {"edges": edges.tolist()})


def learn_bins(summary: Summary, n_bins: int) -> Form:
    """Values that occur often may leave fewer bins."""
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
    return bins(np.concatenate([summary.values[places][filled[1:]], _of_outputs(shares[filled])]))


def _of_outputs(shares: Double) -> Double:
    """The shares of the groups that have an output: of two groups that fill the column, one is enough."""
    return shares[:1] if len(shares) == 2 else shares


def _indicators(shares: Double, ends: Sequence[float]) -> list[Entry]:
    """Indicators of bins or levels: which of them a row is in, less their shares, in one unit together."""
    require(shares.size and ((shares > 0) & (shares < 1)).all() and shares.sum() < 1 + 1e-9,
            "shares of groups are not those of a whole")
    spread = math.sqrt(float((shares * (1 - shares)).sum()))
    inside, outside = ((1 - shares) / spread).tolist(), ((0 - shares) / spread).tolist()
    return [("within", 0.0, ends[k], ends[k + 1], inside[k], outside[k]) for k in range(len(shares))]


def missing(numbers: Double) -> Form:
    """Whether the value is missing: 1 or 0, less the share of the missing.

    It has no unit of its own, as it would count for as much as the values of a column.
    """
    (share,) = _exactly(numbers, 1, "missing")
    require(0 < share < 1, "the share of the missing is not that of a part")
    return Form("missing", numbers, ("missing",), [("within", 1 - share, -math.inf, math.inf, 0 - share, 0 - share)],
                {"share": share})


def largest_slope(form: Form, low: Double, high: Double) -> Double:
    """The largest derivative of a form of numbers between two values of each row, and at one value its derivative.

    It is infinite where there is an edge of bins between two values, and at a knot the larger one of both sides.
    """
    if form.name == "raw":
        return np.ones((1, len(low)))
    if form.name == "standard":
        return np.full((1, len(low)), form.numbers[1])
    if form.name == "bounded":
        median, inverse_width, _, inverse_deviation = form.numbers
        with np.errstate(over="ignore"):
            nearest = np.clip(median, low, high)  # where the slope is largest
            z = ((nearest - median) * inverse_width).clip(-1e100, 1e100)
            found: Double = inverse_width * inverse_deviation / (1 + z * z) ** 1.5
        return found[None]
    if form.name == "rank":
        knots, ranks = form.tables[0]
        with np.errstate(over="ignore"):
            slopes = np.concatenate([[0.0], np.diff(ranks) / np.diff(knots), [0.0]])
        firsts, lasts = np.searchsorted(knots, low), np.searchsorted(knots, high, side="right")
        return np.array([[slopes[first : last + 1].max() for first, last in zip(firsts.tolist(), lasts.tolist(),
                                                                               strict=True)]])
    edges = np.array(form.described["edges"])
    is_same = np.searchsorted(edges, low, side="right") == np.searchsorted(edges, high, side="right")
    return np.tile(np.where(is_same, 0.0, np.inf), (len(form.outputs), 1))


# --- dates

PARTS = ("hour", "weekday", "yearday")

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


def part(name: str, numbers: Double) -> Form:
    """Sine and cosine of the time of day, the day of the week or the day of the year."""
    require(numbers.size == 0, "a part of a date has no numbers")
    which = float(scoring.DATE_PARTS[name])
    return Form(name, numbers, (f"{name}_sin", f"{name}_cos"),
                [("part", 0.0, which, shift, 0.0, 0.0) for shift in (0.5, 0.0)])


class DifferenceForm(Form):
    """Seconds from another date of the row to this one, standardised."""

    @property
    def other(self) -> int:
        """Index of the column of the other date."""
        return int(self.numbers[0])


def difference(numbers: Double) -> DifferenceForm:
    """The numbers are the index of the other column, mean and inverse deviation."""
    other, *_ = _exactly(numbers, 3, "difference")
    require(0 <= other < 2.0**31 and other == int(other), "the other column of a difference is malformed")
    of_seconds = standard(numbers[1:])
    return DifferenceForm("difference", numbers, ("difference",), of_seconds.entries,
                          {"other": int(other), **of_seconds.described})


# --- categories

# Weights, in rows, of the overall mean in the target statistic of a level; with the last one all levels are alike.
_SHRINKAGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 1e12)

# Relative to the mean of all, effects of levels which rounding may make.
_ROUNDING = 64 * np.finfo(np.float64).eps


class Levels(NamedTuple):
    """The levels of a category that are kept; all others are pooled as rare."""

    kept: tuple[str, ...]  # sorted
    weights: Double  # (n_kept + 1, N_FOLDS) the rare ones last
    targets: Double  # (n_kept + 1, N_FOLDS, n_outputs)
    n_rare: int = 0

    @classmethod
    def of(cls, statistics: LevelStatistics, smallest: float, most: int | None) -> Self:
        """Pool levels of less weight than `smallest`, and all but the `most` heaviest; of equal ones the first."""
        totals = statistics.totals
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


def indicators(shares: Double, kept: tuple[str, ...]) -> Form:
    """Indicators of the levels, and of the rare ones together where training had any."""
    entries = _indicators(shares, [float(k) for k in range(len(shares) + 1)])
    require(shares.size in ((1,) if len(kept) == 1 else (1, 3) if len(kept) == 2 else (len(kept), len(kept) + 1)),
            "levels and shares differ in number")
    outputs = (*kept, "rare levels")[: len(shares)]
    return Form("levels", shares, outputs, entries, {"shares": dict(zip(outputs, shares.tolist(), strict=True))})


def learn_indicators(levels: Levels) -> Form:
    """At least two groups must occur."""
    return indicators(_of_outputs(levels.shares()), levels.kept)


def target(numbers: Double, kept: tuple[str, ...]) -> Form:
    """A value of each level and output, level by level, those of the rare ones last."""
    require(numbers.size and numbers.size % (len(kept) + 1) == 0, "levels and their values differ in number")
    values = numbers.reshape(len(kept) + 1, -1).T
    return _of_values("target", numbers, ("target",) if len(values) == 1 else
                      tuple(f"target{k}" for k in range(len(values))), values)


def _of_values(name: str, numbers: Double, outputs: tuple[str, ...], values: Double) -> Form:
    """A form by tables of levels, whose knots nothing reads."""
    require(np.abs(numbers).max() <= _LARGEST_OUTPUT, "values of levels are too large")
    return Form(name, numbers, outputs, [("table", 0.0, 0.0, 0.0, float(np.abs(each).max()), 0.0) for each in values],
                {"levels": values.shape[1] - 1}, [(np.zeros(len(each)), each) for each in values])


def learn_target(levels: Levels, unit: float) -> tuple[Form, Double] | None:
    """The mean target of the rows of a level, shrunk towards the mean of all, in one unit for all outputs.

    The weight m of the mean of all, s = (t + m mean) / (w + m) for a level of weight w and target sum t, is the one of
    `_SHRINKAGES` with the smallest squared error in folds whose rows s does not know, for each output.  On training
    rows s is estimated from the rows of the other folds; this is not kept in files.

    Parameters
    ----------
    unit : the weight of one row

    Returns
    -------
    The form, and its values for the training rows of each fold, shape (n_kept + 1, N_FOLDS, n_outputs); None where
    levels that differ have no smaller error.
    """
    weights, targets = levels.weights.sum(axis=1), levels.targets.sum(axis=1)
    total = weights.sum()
    held_out, _, best = _held_out(levels, unit)
    if (best == len(_SHRINKAGES) - 1).all():
        return None
    values = _shrunk(weights, targets, targets.sum(axis=0) / total, np.array(_SHRINKAGES)[best] * unit)
    folds = np.stack([held_out[m][..., k] for k, m in enumerate(best.tolist())], axis=-1)
    center = (weights[:, None] / total * values).sum(axis=0)
    spread = math.sqrt(float((weights[:, None] / total * (values - center) ** 2).sum()))
    spread = spread if spread > 0 else 1.0
    return target(((values - center) / spread).ravel(), levels.kept), (folds - center) / spread


def intraclass_correlation(levels: Levels, unit: float) -> float:
    """Share of the variance of the target that is between levels: 1 / (1 + m) for the m of `learn_target`.

    The largest one of all outputs; 0 where the error in held-out folds is not smaller by a standard error over these
    than that of the mean of all.
    """
    _, errors, best = _held_out(levels, unit)
    gains = -np.take_along_axis(errors, best[None, None], axis=0)[0]
    is_clear = gains.mean(axis=0) > gains.std(axis=0, ddof=1) / math.sqrt(len(gains))
    return float(np.where(is_clear, 1 / (1 + np.array(_SHRINKAGES)[best]), 0.0).max())


def _held_out(levels: Levels, unit: float) -> tuple[list[Double], Double, Indices]:
    """The statistics of levels by the rows of other folds for each m, their squared errors, and the best m.

    Returns
    -------
    held_out : arrays of shape (n_kept + 1, N_FOLDS, n_outputs), for each of `_SHRINKAGES`
    errors : array of shape (n_shrinkages, N_FOLDS, n_outputs)
        Of folds, less those of the means of the other folds.
    best : array of shape (n_outputs,)
        Indices of `_SHRINKAGES`; the last one where no error is lower, as where each level is in one fold, or by no
        more than rounding makes it, as where all targets are equal.
    """
    weights, targets = levels.weights.sum(axis=1), levels.targets.sum(axis=1)
    others = weights.sum() - levels.weights.sum(axis=0)
    means = (targets.sum(axis=0) - levels.targets.sum(axis=0)) / np.where(others > 0, others, 1.0)[:, None]
    rest, rest_targets = weights[:, None] - levels.weights, targets[:, None] - levels.targets
    held_out = [_shrunk(rest, rest_targets, means, m * unit) for m in _SHRINKAGES]
    # A statistic d above the mean changes the squared error of a cell of weight w by w d^2 - 2 d times the sum of its
    # targets above the mean.  Of a level that is in no other fold d is 0, to the last bit.
    cells, above = levels.weights[..., None], levels.targets - levels.weights[..., None] * means
    known = rest_targets - rest[..., None] * means
    errors = np.array([(cells * d**2 - 2 * d * above).sum(axis=0)
                       for d in (known / (rest[..., None] + m * unit) for m in _SHRINKAGES[:-1])])
    errors = np.concatenate([errors, np.zeros_like(errors[:1])])  # of the last one, whatever the weights
    of_all = errors.sum(axis=1)
    rounding = weights.sum() * (_ROUNDING * targets.sum(axis=0) / weights.sum()) ** 2
    return held_out, errors, np.where(of_all.min(axis=0) < -rounding, of_all.argmin(axis=0), len(_SHRINKAGES) - 1)


def _shrunk(weights: Double, targets: Double, mean: Double, prior: Double | float) -> Double:
    return (targets + prior * mean) / (weights[..., None] + prior)


def frequency(numbers: Double, kept: tuple[str, ...]) -> Form:
    """A value of each level, that of the rare ones last."""
    require(numbers.size == len(kept) + 1, "levels and their values differ in number")
    return _of_values("frequency", numbers, ("frequency",), numbers[None])


def learn_frequency(levels: Levels, unit: float) -> Form | None:
    """The logarithm of the number of rows of a level, standardised; of the rare ones that of their mean.

    `unit` is the weight of one row; None where all levels have equally many rows.
    """
    weights = levels.weights.sum(axis=1)
    sizes = weights / np.append(np.ones(len(levels.kept)), max(levels.n_rare, 1))
    logs = np.log(sizes + unit)
    center = float(np.average(logs, weights=weights))
    spread = math.sqrt(float(np.average((logs - center) ** 2, weights=weights)))
    return frequency((logs - center) / spread, levels.kept) if spread > 1e-6 else None
