"""Intervals and label sets that cover a chosen share of new rows, from predictions for rows that were not trained on.

A model is judged on n such rows: by residuals y - f, or by 1 - p(y | x) for labels.  A new row, exchangeable with
these, has a residual between two of their order statistics with the probability that their ranks say (Vovk, Gammerman
and Shafer, 2005, "Algorithmic learning in a random world"; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, 2018,
"Distribution-free predictive inference for regression").  Of several quantiles each has residuals of its own (Romano,
Patterson and Candes, 2019, "Conformalized quantile regression", section 4, asymmetric).  Residuals are divided by their
spread at the prediction, where that depends on it: errors of prices grow with the price.

Departure: out-of-fold residuals are those of single bags, while the mean of all predicts, and the same rows have chosen
base learners of the bags, their calibration and the weight of kernel ridge regression.  The first makes intervals
wider, the second narrower; `docs/intervals.md` has what is left, measured.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray
from .._rows.groups import check_groups
from .._rows.scaling import power_of_two
from .._rows.validation import as_column
from .._rows.weights import weighted_quantile
from ..errors import InvalidInputError, TrainingStateError

# Numbers that are kept of a sample; more are thinned out, least in the tails.
MOST_QUANTILES = 256

# Knots of the spread at most, rows of each at least, rows that hold it at that of all, the quantile of |y - f| that it
# is, and the least mean of a bin, in units of this quantile, that its likelihood is computed with.
_MOST_KNOTS, _ROWS_OF_KNOT, _PRIOR_ROWS, _TAIL, _LEAST_MEAN = 16, 100, 20.0, 0.9, 1e-3

_LARGEST = 1e300  # prediction or residual for which a spread is computed

_DIGITS = 7  # significant ones of numbers that are kept


# --- samples and their quantiles

def sample_of(values: Double, weights: Double | None = None) -> dict[str, Any]:
    """What is kept of some values: "rows", how many, and "values", some of them in ascending order."""
    order = np.argsort(values, kind="stable")
    values = values[order]
    n_rows = len(values)
    if weights is None and n_rows <= MOST_QUANTILES:
        return {"rows": n_rows, "values": _rounded(values)}
    if weights is None:
        shares = np.arange(1, n_rows + 1) / (n_rows + 1)
    else:
        w = weights[order] / power_of_two(float(weights.max()))  # whose squares may be 0 otherwise
        n_rows = max(1, int(w.sum() ** 2 / (w**2).sum()))  # of equal weight that say as much
        shares = (np.cumsum(w) - w / 2) / w.sum()
    levels = _levels(min(n_rows, MOST_QUANTILES), n_rows)
    return {"rows": n_rows, "values": _rounded(_interpolated(levels, shares, values))}


def _interpolated(x: Any, points: Double, values: Double) -> Double:
    """Linear interpolation, in a unit in which differences cannot overflow."""
    unit = float(np.abs(values).max()) or 1.0
    return unit * np.interp(x, points, np.asarray(values) / unit)


def _levels(n_values: int, n_rows: int) -> Double:
    """The levels of the numbers that are kept: all ranks, or some that lie closer to each other in the tails."""
    if n_values == n_rows:
        return np.arange(1, n_rows + 1) / (n_rows + 1)
    ends = 1 / (n_rows + 1)
    return ends + (1 - 2 * ends) * (1 - np.cos(np.pi * np.arange(n_values) / (n_values - 1))) / 2


def quantile(sample: Mapping[str, Any], level: float) -> float:
    """The value at a level from 1 / (rows + 1) to rows / (rows + 1)."""
    values = sample["values"]
    return float(_interpolated(level, _levels(len(values), sample["rows"]), values))


def _rounded(values: Double) -> list[float]:
    """Numbers with so many significant digits that they take little of a file."""
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]


def _ranks(sample: Mapping[str, Any], tail: float, what: str) -> float:
    """The level of the outermost residual that leaves at most a share `tail` of new rows beyond it."""
    n_rows = sample["rows"]
    rank = int(np.floor((n_rows + 1) * tail * (1 + 1e-12)))
    if not rank:
        largest = 1 - (2 if what == "interval" else 1) / (n_rows + 1)
        rounded = math.floor(largest * 1e6) / 1e6  # down, as what is named must be possible
        raise InvalidInputError(f"coverage must be at most {rounded:.6g} for what is known of {n_rows} rows: ask for "
                                "less, or call conformalize(X, y) with more rows")
    return rank / (n_rows + 1)


# --- what training keeps

def residuals_of(predictions: Double, residuals: Double, weights: Double | None, with_spread: bool) -> dict[str, Any]:
    """What is kept of the residuals y - f of one output: a sample of residuals / spread, and the spread by prediction.

    Parameters
    ----------
    predictions, residuals : arrays of shape (n_samples,)
    weights : array of shape (n_samples,) or None
    with_spread : bool
        Whether the spread may depend on the prediction.
    """
    knots, spreads = [0.0], [1.0]
    if with_spread and max(np.abs(predictions).max(), np.abs(residuals).max()) < _LARGEST:
        unit = float(np.abs(residuals).max()) or 1.0  # in which sums cannot overflow
        knots, spreads = _spread(predictions, np.abs(residuals / unit), weights)
    scaled = residuals / np.interp(predictions, knots, spreads)
    return {"knots": knots, "spreads": spreads, **sample_of(scaled, weights)}


def _spread(predictions: Double, sizes: Double, weights: Double | None) -> tuple[list[float], list[float]]:
    """Predictions, and a quantile of |y - f| near them; one knot where the sizes do not depend on them.

    They do if their likelihood, with an exponential distribution in each of some bins, is larger by more than chance:
    by the Bayesian information criterion.  A quantile of the tail has narrower intervals than the mean.
    """
    w = np.ones(len(sizes)) if weights is None else weights
    n_bins = min(len(sizes) // _ROWS_OF_KNOT, _MOST_KNOTS)
    whole = weighted_quantile(sizes, w, _TAIL)
    bins = np.array_split(np.argsort(predictions, kind="stable"), max(n_bins, 1))
    n_rows = np.array([w[rows].sum() for rows in bins]) * (len(sizes) / w.sum())  # weights of mean 1 count as rows
    if n_bins < 2 or not whole > 0 or not n_rows.all():
        return [0.0], [1.0]
    unit = float(np.abs(predictions).max()) or 1.0
    knots, means = (np.array([np.average(values[rows], weights=w[rows]) for rows in bins])
                    for values in (predictions / unit, sizes))
    knots *= unit
    gain = float((n_rows * np.log(np.average(sizes, weights=w) / np.maximum(means, _LEAST_MEAN * whole))).sum())
    if 2 * gain <= (n_bins - 1) * np.log(len(sizes)) or (np.diff(_rounded(knots)) <= 0).any():
        return [0.0], [1.0]
    spreads = np.array([weighted_quantile(sizes[rows], w[rows], _TAIL) for rows in bins])
    spreads = (n_rows * spreads + _PRIOR_ROWS * whole) / (n_rows + _PRIOR_ROWS)
    return _rounded(knots), _rounded(spreads / whole)


def record_of_targets(predictions: Double, residuals: Double, weights: Double | None, with_spread: bool,
                      source: str) -> dict[str, Any]:
    """What a model keeps of residuals y - f, arrays of shape (n_outputs, n_samples), and of where they come from."""
    if not np.isfinite(residuals).all() or not np.isfinite(predictions).all():
        raise InvalidInputError("targets and predictions must differ by finite numbers")
    return {"source": source, "rows": residuals.shape[1],
            "residuals": [residuals_of(f, r, weights, with_spread)
                          for f, r in zip(predictions, residuals, strict=True)]}


def record_of_labels(own: Double, weights: Double | None, source: str) -> dict[str, Any]:
    """The same of the probabilities of the labels of rows."""
    return {"source": source, "rows": len(own), "labels": [sample_of(1 - own, weights)]}


# --- intervals and sets

def check_coverage(coverage: Any) -> float:
    """The coverage, if it is a number above 0 and below 1."""
    is_number = isinstance(coverage, (int, float, np.integer, np.floating))
    if not is_number or not 0 < coverage < 1:
        raise InvalidInputError(f"coverage must be a number above 0 and below 1, such as 0.9, got {coverage!r}")
    return float(coverage)


def check_rows(record: Mapping[str, Any], coverage: float) -> None:
    """InvalidInputError if the coverage takes more rows than the record has."""
    for sample in record.get("labels", ()):
        _ranks(sample, 1 - coverage, "set")
    for sample in record.get("residuals", ()):
        _ranks(sample, (1 - coverage) / 2, "interval")


def check_largest(record: dict[str, Any]) -> dict[str, Any]:
    """A record; InvalidInputError if its rows allow no coverage above a half."""
    n_rows = min(sample["rows"] for sample in record.get("labels") or record["residuals"])
    fewest = 2 if "labels" in record else 4
    if n_rows < fewest:
        raise InvalidInputError(f"X must have at least {fewest} rows, got {n_rows} (rows of unequal weight count as "
                                f"fewer): a coverage of 0.9 takes {5 * fewest - 1}")
    return record


def record_for(model: Any) -> dict[str, Any]:
    """What a model keeps of rows that it was not trained on; TrainingStateError where it has nothing."""
    record: dict[str, Any] | None = vars(model).get("_out_of_fold")
    if record is None:
        raise TrainingStateError(f"this {type(model).__name__} knows no rows that it was not trained on: call "
                                 "conformalize(X, y) with such rows")
    return record


def intervals(record: Mapping[str, Any], predictions: Double, coverage: float, quantiles: Sequence[float]) -> Double:
    """Lower and upper ends, (n_samples, n_targets, 2), for predictions (n_samples, n_outputs) or several quantiles."""
    targets = ends_of(record, predictions.shape[1], coverage, quantiles)
    ends = np.empty((len(predictions), len(targets), 2))
    with np.errstate(over="ignore"):
        for k, pair in enumerate(targets):
            for side, (output, factor, knots, spreads) in enumerate(pair):
                f = predictions[:, output]
                ends[:, k, side] = f + factor * np.interp(f, knots, spreads)
    largest = np.finfo(np.float64).max
    return np.sort(np.clip(ends, -largest, largest), axis=2)


class End(NamedTuple):
    """An end of an interval: an output f, and a factor times the spread at f."""

    output: int
    factor: float
    knots: list[float]
    spreads: list[float]


def ends_of(record: Mapping[str, Any], n_outputs: int, coverage: float, quantiles: Sequence[float]
            ) -> list[tuple[End, End]]:
    """The lower and the upper end of each target."""
    tail = (1 - coverage) / 2
    outputs = [(k, k) for k in range(n_outputs)]
    if quantiles:
        outputs = [(_nearest(quantiles, tail), _nearest(quantiles, 1 - tail))]
    return [(_end(record, lower, tail, 1), _end(record, upper, tail, -1)) for lower, upper in outputs]


def _nearest(quantiles: Sequence[float], level: float) -> int:
    return int(np.argmin(np.abs(np.asarray(quantiles) - level)))


def _end(record: Mapping[str, Any], output: int, tail: float, side: int) -> End:
    residuals = record["residuals"][output]
    level = _ranks(residuals, tail, "interval")
    factor = quantile(residuals, level if side > 0 else 1 - level)
    return End(output, factor, residuals["knots"], residuals["spreads"])


def label_sets(record: Mapping[str, Any], proba: Double, coverage: float) -> Mask:
    """Which labels are in the set of each row, (n_samples, n_classes).

    They are the most likely one, and all that are as likely as those of a share `coverage` of the rows of the record
    (M. Sadinle, J. Lei and L. Wasserman, 2019, "Least ambiguous set-valued classifiers with bounded error levels").
    """
    (sample,) = record["labels"]
    least = 1 - quantile(sample, 1 - _ranks(sample, 1 - coverage, "set"))
    sets = proba >= least - 10.0 ** (1 - _DIGITS) * least
    sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return sets


# --- groups

def with_groups(groups: Any, n_rows: int, rows: Indices, record_of: Callable[[Indices], dict[str, Any]]
                ) -> dict[str, Any]:
    """The record of some of n rows, and in "groups" that of each group of theirs, by its name as text."""
    if groups is None:
        return record_of(rows)
    names = _group_names(groups, n_rows)[rows]
    return record_of(rows) | {"groups": {name: record_of(rows[names == name]) for name in np.unique(names).tolist()}}


def of_groups(record: Mapping[str, Any], groups: Any, predictions: Double,
              of_rows: Callable[[Mapping[str, Any], Double], NDArray[Any]]) -> NDArray[Any]:
    """What `of_rows` makes of predictions, those of a group by its own record."""
    if groups is None:
        return of_rows(record, predictions)
    known = record.get("groups")
    if known is None:
        raise TrainingStateError("groups need a model that knows some: call conformalize(X, y, groups=...) with rows "
                                 "that it was not trained on")
    names = _group_names(groups, len(predictions))
    unknown = next((name for name in np.unique(names).tolist() if name not in known), None)
    if unknown is not None:
        raise InvalidInputError(f"groups must be those of conformalize, such as {next(iter(known))!r}, got {unknown!r}")
    found: Any = None
    for name in np.unique(names).tolist():
        rows = names == name
        try:
            part = of_rows(known[name], predictions[rows])
        except InvalidInputError as error:
            raise InvalidInputError(f"group {name!r}: {error}") from error
        found = np.empty((len(predictions), *part.shape[1:]), part.dtype) if found is None else found
        found[rows] = part
    return np.asarray(found)


def _group_names(groups: Any, n_rows: int) -> NDArray[Any]:
    """Groups as text."""
    check_groups(groups, n_rows)
    return np.array([str(each) for each in as_column(groups, "groups", n_rows).tolist()])


# --- files

def check_record(record: Any, n_outputs: int | None) -> None:
    """ValueError for a record of a file that no model can have; `n_outputs` is None for labels."""
    groups = record.get("groups", {})
    if not isinstance(groups, dict) or not all(isinstance(each, dict) for each in groups.values()):
        raise ValueError("groups of out-of-fold rows are malformed")
    for part in (record, *groups.values()):
        samples = part.get("labels" if n_outputs is None else "residuals")
        variances = part.get("signal_variance", [0.0] * (n_outputs or 1))  # of kernel ridge regression
        if not isinstance(variances, list) or len(variances) != (n_outputs or 1) or not all(
                isinstance(each, (int, float)) and 0 <= each < np.inf for each in variances):
            raise ValueError("variances of out-of-fold rows are malformed")
        if not isinstance(part.get("source"), str) or not isinstance(part.get("figures", {}), dict) or not isinstance(
                samples, list) or len(samples) != (n_outputs or 1):
            raise ValueError("what is known of out-of-fold rows is malformed")
        for sample in samples:
            _check_sample(sample, n_outputs is None)


def _check_sample(sample: Any, is_labels: bool) -> None:
    """ValueError for what `sample_of` or `residuals_of` cannot have made."""
    names = {"rows", "values"} if is_labels else {"rows", "values", "knots", "spreads"}
    if not isinstance(sample, dict) or set(sample) != names or type(sample["rows"]) is not int or any(
            not isinstance(sample[name], list) or any(type(each) not in (int, float) for each in sample[name])
            for name in names - {"rows"}):
        raise ValueError("a sample of out-of-fold rows is malformed")
    n_values, values = len(sample["values"]), sample["values"]
    if n_values != min(sample["rows"], MOST_QUANTILES) or not n_values or any(np.diff(values) < 0):
        raise ValueError("a sample of out-of-fold rows must be in ascending order")
    if not is_labels and (not len(sample["knots"]) == len(sample["spreads"]) > 0 or any(np.diff(sample["knots"]) <= 0)
                          or min(sample["spreads"]) <= 0):
        raise ValueError("the spread of out-of-fold rows is malformed")
