"""How often intervals and label sets contain the truth, beside the coverage that was asked for."""

from typing import Any

import numpy as np

from .._estimator.metrics import share_of
from .._native.array_types import Double, NDArray
from ..errors import InvalidInputError
from .labelled_rows import LabelledRows

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def coverages(rows: LabelledRows) -> list[dict[str, Any]]:
    """Intervals or label sets for coverages from 50 % to 95 %, without those that need more rows than the model has.

    The share is that of the rows whose target or label is contained, or its mean over several targets; the size is the
    mean width, or the mean number of labels.  TrainingStateError or InvalidInputError where the model gives none.
    """
    found: list[dict[str, Any]] = []
    refusal: InvalidInputError | None = None
    for coverage in COVERAGES:
        try:
            contained, sizes = _contained(rows, coverage)
        except InvalidInputError as reason:
            refusal = refusal or reason
            continue
        share = share_of(contained, np.ones(len(rows)))
        found.append({"coverage": coverage, "share": share.value, "standard_error": share.standard_error,
                      "size": float(sizes.mean())})
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
