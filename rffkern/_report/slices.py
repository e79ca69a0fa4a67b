"""Where the model is worst: slices of the rows by one column, and single rows."""

import itertools
import math
from typing import Any

import numpy as np

from .._column_map.cells import CATEGORY
from .._native.array_types import Indices, Mask
from .._rows.scaling import power_of_two
from .labelled_rows import LabelledRows, value_text

_LEAST_ROWS = 20  # of a slice
_N_BINS, _MOST_LEVELS = 5, 50


def worst_slices(rows: LabelledRows) -> tuple[list[dict[str, Any]], int]:
    """The ten slices in which the mean loss is most above that of all rows, by their p-values; and how many there were.

    A slice is the rows that have a level of a column, or a value between two quantiles of it, or none.
    Where the loss does not depend on the slice, its rows are a random sample of all: their mean has the variance
    s^2 / m (1 - m / n) n / (n - 1) of sampling without replacement, for m of n rows whose losses have variance s^2,
    and, for losses of skewness g, the skewness g (n - 2 m) / (n - 2) sqrt((n - 1) / (m (n - m))).  One-sided p-values
    are adjusted by Holm (1979), "A simple sequentially rejective multiple test procedure", for all slices together.
    """
    n_rows = len(rows)
    unit = max(1.0, power_of_two(float(rows.losses.max())))  # beside which squares do not overflow
    losses = rows.losses / unit
    mean, variance = float(losses.mean()), float(losses.var())
    half_step = 0.5 if np.isin(losses, (0, 1)).all() else 0.0  # as many errors are more than half an error less
    skewness = float((((losses - mean) / math.sqrt(variance)) ** 3).mean()) if variance > 0 else 0.0
    found: list[dict[str, Any]] = []
    for column in range(len(rows.names)):
        for text, chosen in _slices_of(rows, column):
            size = int(chosen.sum())
            if not _LEAST_ROWS <= size < n_rows or n_rows - size < 1:
                continue
            own = losses[chosen]
            difference = float(own.mean()) - mean
            error = math.sqrt(variance / size * (n_rows - size) / (n_rows - 1))
            skewed = skewness * (n_rows - 2 * size) * math.sqrt((n_rows - 1) / (size * (n_rows - size))) / (n_rows - 2)
            p_value = _upper_tail((difference - half_step / size) / error, skewed) if error > 0 else 1.0
            found.append({"column": rows.names[column], "text": text, "n_rows": size, "loss": float(own.mean()) * unit,
                          "standard_error": float(own.std(ddof=1)) / math.sqrt(size) * unit,
                          "difference": difference * unit, "p_value": p_value})
    found.sort(key=lambda each: (each["p_value"], -each["difference"]))
    largest = 0.0
    for k, each in enumerate(found):
        each["p_value"] = largest = max(largest, min(1.0, each["p_value"] * (len(found) - k)))
    return [each for each in found if each["difference"] > 0][:10], len(found)


def _upper_tail(z: float, skewness: float) -> float:
    """The probability that a standardised sum of some skewness is above z.

    That of the gamma distribution with this skewness, whose cube root is nearly normal (Wilson and Hilferty, 1931, "The
    distribution of chi-square").  The normal distribution calls a few large errors in a small slice far too unlikely.
    """
    if abs(skewness) > 1e-6:
        base = 1 + skewness * z / 2
        z = 6 / skewness * (math.copysign(abs(base) ** (1 / 3), base) - 1) + skewness / 6
    return 0.5 * math.erfc(z / math.sqrt(2))


def _slices_of(rows: LabelledRows, column: int) -> list[tuple[str, Mask]]:
    """Names and rows of the slices of a column: levels, or bins by quantiles, and missing values."""
    raw = rows.raw.columns[column]
    missing = np.isnan(raw.values)
    slices = [("missing", missing)] if missing.any() else []
    present = raw.values[~missing]
    distinct = np.unique(present)
    if raw.kind == CATEGORY or len(distinct) <= _N_BINS:
        counts = [(int((present == value).sum()), value) for value in distinct]
        chosen = sorted(counts, key=lambda each: -each[0])[:_MOST_LEVELS]
        return [(value_text(raw, value), raw.values == value) for _, value in chosen] + slices
    edges = np.unique(np.quantile(present, np.arange(1, _N_BINS) / _N_BINS, method="inverted_cdf"))
    place = np.where(missing, -1, np.searchsorted(edges, raw.values, side="left"))
    ends = [value_text(raw, edge) for edge in edges]
    first = f"up to {ends[0]}" if edges[0] > distinct[0] else ends[0]
    texts = [first, *(f"above {low}, up to {high}" for low, high in itertools.pairwise(ends)), f"above {ends[-1]}"]
    return [(text, place == k) for k, text in enumerate(texts) if (place == k).any()] + slices


def worst_rows(rows: LabelledRows, n_rows: int) -> Indices:
    """Indices of the rows that the model is most wrong about, the worst first."""
    return np.argsort(-rows.surprises, kind="stable")[:n_rows]
