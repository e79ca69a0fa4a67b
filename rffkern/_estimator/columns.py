"""The map between the raw table of an estimator and the rows that it learns from."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._columns.column_map import ColumnMap, fit_copy, map_rows
from .._data.validation import as_numeric


class MappedTraining(NamedTuple):
    """What the checks of training rows take in place of a raw table."""

    X: Any  # array, or RowBlocks
    eval_set: Any
    column_map: ColumnMap  # fitted


def map_training(columns: ColumnMap, X: Any, y: Any, sample_weight: Any, has_labels: bool,
                 unmapped: NDArray[np.intp] | None = None) -> MappedTraining:
    """Fit a copy of a map on training rows without those of `unmapped`, and map all of them."""
    if unmapped is not None and len(unmapped):
        weights = np.ones(len(y)) if sample_weight is None else np.array(as_numeric(sample_weight, "sample_weight"))
        weights.reshape(-1)[unmapped] = 0
        sample_weight = weights
    column_map, mapped = fit_copy(columns, X, y, sample_weight, has_labels)
    return MappedTraining(mapped, None, column_map)


def map_more(column_map: ColumnMap, X: Any, owner: str) -> MappedTraining:
    """Map rows with which the training of an owner goes on; the map stays."""
    return MappedTraining(map_rows(column_map, X, owner), None, column_map)


def with_mapped_evaluation(mapped: MappedTraining, eval_set: Any, owner: str) -> MappedTraining:
    """The same with the rows of an eval_set mapped too; what is none is left to the check of eval_set."""
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
        return mapped._replace(eval_set=eval_set)
    X, *rest = eval_set
    return mapped._replace(eval_set=(map_rows(mapped.column_map, X, owner, "eval_set X"), *rest))
