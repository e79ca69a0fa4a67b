"""What columns do: permutation importance, and how the mean response depends on one column and on two."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._column_map.cells import CATEGORY
from .._column_map.tables import RawColumn
from .._estimator.evaluation import SHARES
from .._estimator.inspection import spread
from .._estimator.metrics import ASCENDING, mean_of
from .._native.array_types import Double, Indices
from .._rows.row_blocks import evenly_spaced
from .labelled_rows import LabelledRows, value_text

Facts = dict[str, Any]

N_REPEATS = 5
_MOST_PERMUTED, _MOST_COLUMNS = 2000, 64  # rows and columns of permutation importance
_MOST_SUMMED, _FEWEST_PERMUTED = 1e9, 300  # terms of all rows that are scored for it, and the fewest rows
_FEW_ROWS = 200  # of the first pass that selects these columns

_MOST_ROWS, _MOST_CURVES = 500, 25  # over which dependence is a mean, and rows whose own curves are kept
_MOST_LEVELS = 12
_N_POINTS, _N_PAIR_POINTS = 25, 12
_LOW, _HIGH = 0.01, 0.99  # quantiles between which dependence is shown
_MOST_TICKS = 200  # values of the data that a rug shows

_BLOCK = 1 << 20  # numbers of rows that are scored together


def importance_metric(rows: LabelledRows) -> str:
    """The metric of permutation importance: what the model minimises, or the share that it explains of it."""
    judged = rows.evaluation.predictions.judged_by
    return SHARES.get(judged, judged)


def permutation_importance(rows: LabelledRows) -> dict[int, Facts]:
    """Permutation importance (Breiman, 2001, "Random forests", section 10) of the columns, the largest first.

    By how much `importance_metric` is worse where the values of a column are exchanged among the rows, as a mean over
    `N_REPEATS` permutations of at most 2,000 rows, evenly spaced, or fewer of large models, but not below 300.  The
    standard error is that of the difference on the same rows.  Values that a column map imputes stay as they are.  Of
    more than 64 columns those are taken that matter most on 200 rows.
    """
    rng, metric = np.random.default_rng(0), importance_metric(rows)
    columns: Sequence[int] = np.unique(rows.sources).tolist()  # all others are not read
    n_summed = N_REPEATS * min(len(columns), _MOST_COLUMNS) * max(1, rows.model.expansion_.n_terms)
    rows = rows.some(max(_FEWEST_PERMUTED, min(_MOST_PERMUTED, int(_MOST_SUMMED / n_summed))))
    if len(columns) > _MOST_COLUMNS:
        found = _importances(rows.some(_FEW_ROWS), metric, columns, 1, rng)
        columns = sorted([*found][:_MOST_COLUMNS])
    return _importances(rows, metric, columns, N_REPEATS, rng)


def _importances(rows: LabelledRows, name: str, columns: Sequence[int], n_repeats: int, rng: Any) -> dict[int, Facts]:
    sign = -1 if name in ASCENDING else 1
    metrics = rows.evaluation_of(rows.scores_of(rows.mapped)).metrics
    if name not in metrics:  # R^2 or D^2 of a single row
        return {}
    before = metrics[name]
    found: dict[int, Facts] = {}
    for column in columns:
        own = np.flatnonzero(rows.sources == column)
        gains = []
        for _ in range(n_repeats):
            permuted = rows.mapped.copy()
            permuted[:, own] = rows.mapped[rng.permutation(len(rows))][:, own]
            gains.append(rows.evaluation_of(rows.scores_of(permuted)).metrics[name].less(before))
        mean = mean_of(gains)
        found[column] = {"importance": sign * mean.value, "standard_error": mean.standard_error}
    return dict(sorted(found.items(), key=lambda each: -each[1]["importance"]))


# --- dependence

def dependence(rows: LabelledRows, column: int) -> Facts:
    """Mean response over at most 500 rows, evenly spaced, for some values of a column that all of them get.

    Means are of shape (n_points, n_responses), and curves, those of the main response of some rows alone, of
    (n_curves, n_points).  Numbers and dates have positions, None for a missing value, and ticks, some values of the
    data; levels have the shares of the rows that have them.

    It is partial dependence (Friedman, 2001, "Greedy function approximation: a gradient boosting machine", equation 53)
    of the response, and individual conditional expectation of some rows.  The values are quantiles from 1 % to 99 %, or
    the most frequent levels; a missing value is one more, the last.
    """
    raw, points = rows.raw.columns[column], points_of(rows, column, _N_POINTS)
    others = rows.some(_MOST_ROWS)
    responses = _responses_at(rows, others, [(column, points)])
    chosen = evenly_spaced(len(others), _MOST_CURVES)
    is_level = raw.kind == CATEGORY
    counts = np.bincount(raw.values[~np.isnan(raw.values)].astype(np.intp)) if is_level else np.empty(0)
    values = raw.values[points]
    n_missing = int(np.isnan(raw.values).sum())
    shares = [(n_missing if np.isnan(value) else counts[int(value)]) / len(rows) for value in values if is_level]
    present = np.sort(raw.values[~np.isnan(raw.values)])
    ticks = present[evenly_spaced(len(present), 0 if is_level else _MOST_TICKS)]
    return {"column": rows.names[column], "kind": raw.kind, "values": [value_text(raw, value) for value in values],
            "positions": None if is_level else values, "means": responses.mean(axis=1),
            "curves": responses[:, chosen, rows.ranked_responses[0]].T, "shares": shares, "ticks": ticks}


def pair_dependence(rows: LabelledRows, columns: Sequence[int]) -> Facts:
    """The same as `dependence` for two columns, over at most 100 rows; without missing values.

    Means, of shape (n_first, n_second), are of the main response.
    """
    points = [points_of(rows, column, _N_PAIR_POINTS, missing=False) for column in columns]
    grid, main = np.meshgrid(*points, indexing="ij"), rows.ranked_responses[0]
    settings = [(column, each.reshape(-1)) for column, each in zip(columns, grid, strict=True)]
    means = _responses_at(rows, rows.some(_MOST_ROWS // 5), settings)[..., main].mean(axis=1).reshape(grid[0].shape)
    raws = [rows.raw.columns[column] for column in columns]
    values = [raw.values[each] for raw, each in zip(raws, points, strict=True)]
    texts = [[value_text(raw, value) for value in each] for raw, each in zip(raws, values, strict=True)]
    positions = [None if raw.kind == CATEGORY else each for raw, each in zip(raws, values, strict=True)]
    return {"columns": [rows.names[column] for column in columns], "values": texts, "positions": positions,
            "means": means, "kinds": [raw.kind for raw in raws]}


def points_of(rows: LabelledRows, column: int, n_points: int, missing: bool = True) -> Indices:
    """Rows with distinct values of a column: quantiles in ascending order, or frequent levels; a missing one last."""
    raw: RawColumn = rows.raw.columns[column]
    present = np.flatnonzero(~np.isnan(raw.values))
    gone = np.flatnonzero(np.isnan(raw.values))[:1] if missing else np.empty(0, dtype=np.intp)
    if not len(present):
        return gone if len(gone) else np.zeros(1, dtype=np.intp)
    values = raw.values[present]
    if raw.kind == CATEGORY:
        _, firsts, counts = np.unique(values, return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
        return np.concatenate([present[firsts[order]], gone])
    places = np.linspace(_LOW * (len(present) - 1), _HIGH * (len(present) - 1), n_points).round().astype(np.intp)
    return np.concatenate([present[spread(values, places)], gone])


def _responses_at(rows: LabelledRows, others: LabelledRows, settings: Sequence[tuple[int, Indices]]) -> Double:
    """Responses (n_points, n_others, n_responses) of rows whose columns get the values of other rows, at each point."""
    sources = [rows.take(points).mapped for _, points in settings]
    own = [np.flatnonzero(rows.sources == column) for column, _ in settings]
    base, n_points = others.mapped, len(settings[0][1])
    together = max(1, _BLOCK // max(1, base.size))
    blocks = []
    for start in range(0, n_points, together):
        stop = min(n_points, start + together)
        changed = np.repeat(base[None], stop - start, axis=0)
        for columns, source in zip(own, sources, strict=True):
            changed[:, :, columns] = source[start:stop, None][:, :, columns]
        responses = others.responses_of(others.scores_of(changed.reshape(-1, base.shape[1])))
        blocks.append(responses.reshape(stop - start, len(base), -1))
    return np.concatenate(blocks)

