"""Shapley values of rows: what each column contributes to the score, over many rows and for single ones."""

from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import CATEGORY
from .._estimator.explanations import check_marginals
from .._native.array_types import Double
from ..errors import InvalidInputError
from .labelled_rows import BINARY, MULTICLASS, LabelledRows

_MOST_ROWS, _FEWEST_ROWS = 200, 20
_MOST_FACTORS = 2e8  # of kernel functions, by column and node of quadrature, over all rows
_MOST_OF_A_ROW = 1e6  # above which Shapley values take minutes
_BACKGROUND_ROWS = 100


class Contributions(NamedTuple):
    """Shapley values of some rows, in units of the score."""

    rows: LabelledRows
    values: Double  # (n_rows, n_columns, n_outputs)
    base_values: Double  # (n_outputs,)


def contributions(rows: LabelledRows, background: LabelledRows | None) -> Contributions:
    """Shapley values of rows, compared with background rows, or with what the model keeps of its training rows."""
    found = rows.model.explain(rows.X, "marginals" if background is None else background.X)
    values = found.values.reshape(*found.values.shape[:2], -1)
    return Contributions(rows, values, np.reshape(found.base_values, -1))


def summary_of(rows: LabelledRows, background: LabelledRows | None) -> Contributions:
    """Shapley values of at most 200 rows, evenly spaced, and of fewer where the model has many kernel functions."""
    most = max(_FEWEST_ROWS, min(_MOST_ROWS, int(_MOST_FACTORS / max(1.0, _factors_of_a_row(rows)))))
    return contributions(rows.some(most), background)


def takes_minutes(rows: LabelledRows) -> bool:
    """Whether kernel functions and columns are so many that a report does without Shapley values."""
    return _factors_of_a_row(rows) > _MOST_OF_A_ROW


def _factors_of_a_row(rows: LabelledRows) -> float:
    kernels = rows.model.expansion_.kernels
    return 0.0 if kernels is None else kernels.n_terms * len(rows.names) ** 2 / 2


def background_of(rows: LabelledRows) -> LabelledRows | None:
    """At most 100 of the rows as background, if the model keeps no distributions of its columns."""
    try:
        check_marginals(rows.model)
    except InvalidInputError:
        return rows.some(_BACKGROUND_ROWS)
    return None


def main_output(rows: LabelledRows) -> int:
    """The output of the score whose contributions are shown: that of the main response."""
    return rows.ranked_responses[0] if len(rows.responses) > 1 else 0


def strengths(found: Contributions, output: int) -> list[tuple[int, float, float | None]]:
    """(Column, mean absolute contribution to an output, its standard error), the largest first."""
    sizes = np.abs(found.values[:, :, output])
    n_rows = len(sizes)
    errors = sizes.std(axis=0, ddof=1) / np.sqrt(n_rows) if n_rows > 1 else np.full(sizes.shape[1], np.nan)
    means = sizes.mean(axis=0)
    return [(int(j), float(means[j]), float(errors[j]) if n_rows > 1 else None)
            for j in np.argsort(-means, kind="stable")]


def ranks(rows: LabelledRows, column: int) -> list[float | None]:
    """Values of a column from 0, the lowest, to 1, the highest; None for missing ones, and for more than two levels."""
    raw = rows.raw.columns[column]
    distinct, places = np.unique(raw.values, return_inverse=True)  # nan comes last
    n_distinct = int((~np.isnan(distinct)).sum())
    if n_distinct < 2 or (raw.kind == CATEGORY and n_distinct > 2):
        return [None] * len(rows)
    return [None if place >= n_distinct else place / (n_distinct - 1) for place in places.tolist()]


def reasons(found: Contributions, row: int) -> list[dict[str, Any]]:
    """The three columns that contribute most to what is predicted for a row, with their values.

    Of classes, to the score of the predicted one, against the others; of numbers, up or down.
    """
    rows = found.rows
    if rows.task == BINARY:
        own = found.values[row, :, 0] * (1 if rows.predicted_codes[row] else -1)
    elif rows.task == MULTICLASS:
        values = found.values[row]
        own = values[:, rows.predicted_codes[row]] - values.mean(axis=1)
    else:
        own = found.values[row, :, main_output(rows)]
    size = own if rows.classes else np.abs(own)
    order = np.argsort(-size, kind="stable")[:3].tolist()
    return [{"column": rows.names[j], "value": rows.text(j, row), "contribution": float(own[j])}
            for j in order if size[j] > 0]
