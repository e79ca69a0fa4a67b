"""The map between the raw table of an estimator and the rows that it learns from."""

from typing import Any, NamedTuple

from .._columns.column_map import ColumnMap, fit_copy, map_rows
from .column_choice import chosen_map


class MappedTraining(NamedTuple):
    """What the checks of training rows take in place of a raw table."""

    X: Any  # array, or RowBlocks
    eval_set: Any
    column_map: ColumnMap | None  # fitted; None where rows stay as they are


def map_training(model: Any, X: Any, y: Any, sample_weight: Any, has_labels: bool) -> MappedTraining:
    """Fit a copy of a model's map, or of the one that is chosen, on training rows, and map them."""
    columns = model.columns
    if isinstance(columns, str):
        columns = chosen_map(model, X, y, sample_weight, has_labels)
    if columns is None:
        return MappedTraining(X, None, None)
    column_map, mapped = fit_copy(columns, X, y, sample_weight, has_labels)
    return MappedTraining(mapped, None, column_map)


def map_more(column_map: ColumnMap | None, X: Any, owner: str) -> MappedTraining:
    """Map rows with which the training of an owner goes on; the map stays."""
    return MappedTraining(X if column_map is None else map_rows(column_map, X, owner), None, column_map)


def with_mapped_evaluation(mapped: MappedTraining, eval_set: Any, owner: str) -> MappedTraining:
    """The same with the rows of an eval_set mapped too; what is none is left to the check of eval_set."""
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if mapped.column_map is None or not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
        return mapped._replace(eval_set=eval_set)
    X, *rest = eval_set
    return mapped._replace(eval_set=(map_rows(mapped.column_map, X, owner, "eval_set X"), *rest))
