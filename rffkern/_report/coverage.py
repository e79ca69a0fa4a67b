"""How often intervals and label sets contain the truth, beside the coverage that was asked for."""

from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .labelled_rows import LabelledRows

Double = NDArray[np.float64]

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


class Coverage(NamedTuple):
    """Intervals or label sets for a coverage, on some rows."""

    coverage: float  # asked for
    share: float  # of the rows whose target or label is contained; a mean over several targets
    standard_error: float | None
    size: float  # mean width, or mean number of labels


def coverages(rows: LabelledRows) -> list[Coverage]:
    """Intervals or label sets for coverages from 50 % to 95 %, without those that need more rows than the model has.

    TrainingStateError or InvalidInputError where the model gives none.
    """
    found: list[Coverage] = []
    refusal: InvalidInputError | None = None
    for coverage in COVERAGES:
        try:
            contained, sizes = _contained(rows, coverage)
        except InvalidInputError as reason:
            refusal = refusal or reason
            continue
        error = float(contained.std(ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else None
        found.append(Coverage(coverage, float(contained.mean()), error, float(sizes.mean())))
    if not found and refusal is not None:
        raise refusal
    return found


def _contained(rows: LabelledRows, coverage: float) -> tuple[Double, NDArray[Any]]:
    """Whether the truth of each row is contained, or the share of its targets; and widths or numbers of labels."""
    if rows.classes:
        sets = rows.model.predict_set(rows.X, coverage)
        contained = (rows.codes >= 0) & sets[np.arange(len(rows)), rows.codes]
        return contained.astype(np.float64), sets.sum(axis=1)
    ends = rows.model.predict_interval(rows.X, coverage).reshape(len(rows), -1, 2)
    inside = (ends[..., 0] <= rows.targets) & (rows.targets <= ends[..., 1])
    return inside.mean(axis=1), (ends[..., 1] - ends[..., 0]).mean(axis=1)
