"""Imputation of missing values from the other columns of a row, as far as these explain them.

Each output of a column with missing values is predicted from a few outputs of other columns, by ridge regression on a
sample of the training rows.  In these, missing values count as their neutral ones, as in the rows that are mapped
later, so that the neutral value is imputed if all of them are missing.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from .._native.array_types import Double, Indices, Mask
from .._rows.validation import LARGEST_VALUE

MAX_PREDICTORS = 8  # outputs from which one is imputed, at most

_RIDGE = 10.0  # penalty on the coefficients of standardised outputs, in rows
_SMALLEST_GAIN = 0.01  # share of the variance that must be explained

# What a factor may be at most, between columns of odd units.
_LARGEST_FACTOR = 1e250

# Limits on the work: products of numbers, and rows fewer than which are not worth it.
_MOST_PRODUCTS = 2e8
_FEWEST_ROWS = 200


class Imputation(NamedTuple):
    """The linear function by which an output is imputed where its column is missing."""

    output: int
    predictors: Indices  # outputs
    factors: Double  # coefficients of their distances from their neutral values
    low: float  # within which it is imputed: twice the range of the output in training
    high: float

    def numbers(self) -> Double:
        """The range, then the factors."""
        return np.array([self.low, self.high, *self.factors])

    @classmethod
    def from_numbers(cls, output: int, predictors: list[int], numbers: Double) -> Self:
        """Rebuild it from a file."""
        low, high, *factors = numbers.tolist()
        if low > high or not all(abs(number) <= _LARGEST_FACTOR for number in factors):
            raise ValueError("an imputation is out of range")
        return cls(output, np.array(predictors, dtype=np.intp), np.array(factors), low, high)

    def values(self, outputs: Double, rows: Indices, neutral: Double) -> Double:
        """Imputed values of some rows of outputs, (n_outputs, n_rows)."""
        found = np.full(len(rows), neutral[self.output])
        with np.errstate(over="ignore", invalid="ignore"):
            for k, factor in zip(self.predictors, self.factors, strict=True):  # in this order for any number of rows
                found += factor * (outputs[k, rows] - neutral[k])
        return np.where(np.isnan(found), neutral[self.output], found).clip(self.low, self.high)


def impute(outputs: Double, imputations: Sequence[Imputation], missing: Mapping[int, Mask], neutral: Double) -> None:
    """Impute outputs, (n_outputs, n_rows), where they are missing; predictors count as they were before."""
    imputed = []
    for imputation in imputations:
        rows = np.flatnonzero(missing[imputation.output])
        if len(rows):
            imputed.append((imputation.output, rows, imputation.values(outputs, rows, neutral)))
    for output, rows, values in imputed:
        outputs[output, rows] = values


def learn_imputations(outputs: Double, weights: Double, sources: Indices, neutral: Double, missing: Mapping[int, Mask],
                      usable: Mask) -> list[Imputation]:
    """How to impute the usable outputs of some columns from those of other columns.

    Parameters
    ----------
    outputs : (n_outputs, n_rows) a sample of mapped rows, in which missing values are neutral
    weights : (n_rows,) in rows
    sources : (n_outputs,) raw columns
    neutral : (n_outputs,)
    missing : of some columns the rows in which they are missing
    usable : (n_outputs,)
    """
    targets = [t for t in np.flatnonzero(usable).tolist() if sources[t] in missing]
    n_rows = len(weights)
    n_used = int(min(n_rows, _MOST_PRODUCTS // max(1, len(targets) * len(usable))))
    if not targets or n_used < min(n_rows, _FEWEST_ROWS):
        return []
    weights = weights[:n_used]
    distances = outputs[:, :n_used] - neutral[:, None]
    units = np.abs(distances).max(axis=1)
    units[units == 0] = 1.0
    distances /= units[:, None]
    spread = np.sqrt((distances**2 * weights).sum(axis=1) / weights.sum())
    usable = usable & (spread > 0)
    spread[spread == 0] = 1.0
    distances /= spread[:, None]
    imputations = []
    for column in dict.fromkeys(sources[targets].tolist()):
        present = np.where(missing[column][:n_used], 0.0, weights)
        others = np.flatnonzero(usable & (sources != column))
        if not present.any() or not len(others):
            continue
        rest = distances[others]
        powers = (rest**2 * present).sum(axis=1)
        for output in [t for t in targets if sources[t] == column]:
            found = _regression(distances[output], rest, present, powers)
            if found is not None:
                predictors, factors = others[found[0]], found[1]
                seen = outputs[output, :n_used][present > 0]
                with np.errstate(over="ignore"):
                    factors = factors / (units[predictors] * spread[predictors]) * (units[output] * spread[output])
                if np.abs(factors).max() <= _LARGEST_FACTOR:
                    low, high = float(seen.min()), float(seen.max())
                    beyond = high / 2 - low / 2  # those that are missing may be larger than all that are there
                    imputations.append(Imputation(output, predictors, factors, max(low - beyond, -LARGEST_VALUE),
                                                  min(high + beyond, LARGEST_VALUE)))
    return imputations


@np.errstate(over="ignore", invalid="ignore")  # products of extreme weights
def _regression(distances: Double, others: Double, weights: Double, powers: Double) -> tuple[Indices, Double] | None:
    """The predictors that explain an output best, and their coefficients; None if they explain next to nothing."""
    target = distances * weights
    variance = float((distances * target).sum())
    products = (others * target).sum(axis=1)
    explained = products**2 / (powers + _RIDGE)
    by_chance = (8 + 2 * math.log(len(others))) / float(weights.sum())  # more than the best of so many noises explains
    best = np.argsort(-np.round(explained / (variance or 1.0), 9), kind="stable")  # of equal ones the first
    best = np.sort([k for k in best[:MAX_PREDICTORS] if explained[k] > by_chance * variance]).astype(np.intp)
    if not len(best):
        return None
    products, chosen = products[best], others[best]
    gram = (chosen[:, None] * chosen * weights).sum(axis=2) + _RIDGE * np.eye(len(best))
    try:
        factors = np.linalg.solve(gram, products)
    except np.linalg.LinAlgError:  # the ridge is lost in the rounding of extreme weights
        return None
    return (best, factors) if float((factors * products).sum()) > _SMALLEST_GAIN * variance else None
