"""The map between the raw table of an estimator and the rows that it learns from."""

from typing import Any, NamedTuple

import numpy as np

from .._column_map.column_map import ColumnMap, fit_copy, map_rows
from .._column_map.compiled import PlainForms
from .._model.expansion import Expansion
from .._native import scoring
from .._native.array_types import NDArray
from .._rows.threads import check_n_threads
from .._rows.validation import as_numeric, to_array
from .column_choice import searched_map

Double = NDArray[np.float64]

# Bytes of mapped rows for each thread: few enough to stay in the cache until they are scored.
_BLOCK_BYTES = 1 << 21


class MappedTraining(NamedTuple):
    """What the checks of training rows take in place of a raw table."""

    X: Any  # array, or RowBlocks
    eval_set: Any
    column_map: ColumnMap | None  # fitted; None where rows stay as they are


def map_training(model: Any, X: Any, y: Any, sample_weight: Any, has_labels: bool,
                 unmapped: NDArray[np.intp] | None = None) -> MappedTraining:
    """Fit a copy of a model's map, or of the one that "auto" or "search" takes, on training rows but those `unmapped`.

    All rows are mapped by it.
    """
    if unmapped is not None and len(unmapped):
        given = np.ones(len(to_array(y, "y"))) if sample_weight is None else as_numeric(sample_weight, "sample_weight")
        weights = np.array(given)
        weights.reshape(-1)[unmapped] = 0
        sample_weight = weights
    columns = model.columns
    if columns == "search":
        columns = searched_map(model, X, y, sample_weight, has_labels)
    elif columns == "auto":
        columns = model._auto_map(X)
    if columns is None:
        return MappedTraining(X, None, None)
    column_map, mapped = fit_copy(columns, X, y, sample_weight, has_labels)
    return MappedTraining(mapped, None, column_map)


def map_more(column_map: ColumnMap | None, X: Any, owner: str) -> MappedTraining:
    """Map rows with which the training of an owner goes on; the map stays."""
    return MappedTraining(X if column_map is None else map_rows(column_map, X, owner), None, column_map)


def with_mapped_evaluation(mapped: MappedTraining, eval_set: Any, owner: str) -> MappedTraining:
    """The same with the rows of an eval_set mapped too; what is none is left to the check of eval_set."""
    from .._rows.training_rows import is_set, named_sets  # a model that scores loads no training

    if mapped.column_map is None:
        return mapped._replace(eval_set=eval_set)
    sets = {name: (map_rows(mapped.column_map, each[0], owner, "eval_set X"), *each[1:]) if is_set(each) else each
            for name, each in named_sets(eval_set)}
    return mapped._replace(eval_set=sets)


def score_table(column_map: ColumnMap, expansion: Expansion, X: Any, owner: str, n_threads: int | None) -> Double:
    """Scores of the rows of the raw table of an owner, whom errors name."""
    forms = column_map._plain
    if forms is not None and forms.take(X) and len(X) >= scoring.LANE_COUNT:
        scores = _score_plain(forms, expansion, X, n_threads)
        if scores is not None:
            return scores
    return expansion._scorer.score(column_map._mapped(X, owner, n_threads=n_threads), n_threads)


def _score_plain(forms: PlainForms, expansion: Expansion, X: NDArray[Any], n_threads: int | None) -> Double | None:
    """The same for an array of numbers, mapped block by block into tiles to score; None where `fill` is False."""
    n_features, n_bytes = expansion.n_features, X.dtype.itemsize
    width = scoring.tile_width(n_features, n_bytes)
    n_tiles = max(1, _BLOCK_BYTES * check_n_threads(n_threads, X.size) // (n_features * n_bytes * width))
    tiles = np.empty((min(n_tiles, -(-len(X) // width)), n_features, width), X.dtype)
    scores = np.empty((len(X), expansion.n_outputs))
    for start in range(0, len(X), n_tiles * width):
        rows = X[start : start + n_tiles * width]
        mapped = tiles[: -(-len(rows) // width)]
        if not forms.fill(rows, mapped, n_threads):
            return None
        scores[start : start + len(rows)] = expansion._scorer.score_tiles(mapped, len(rows), n_threads)
    return scores
