"""A column map of rows in partitions: counted where they are, joined in the order of the partitions, applied there.

The statistics of a partition follow from its rows and its number alone, so that the map depends neither on workers nor
on when they answer.  That of one partition is the map of the same rows here, to the last bit.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._column_map.cells import CATEGORY, MOST_WORDS, Reading
from ..._column_map.column_map import ColumnMap, class_indicators, unit_of, warn_of_columns
from ..._column_map.fitted_map import FittedMap, OutOfFold, RowFolds
from ..._column_map.learning import StatisticsCollector, collect_statistics
from ..._column_map.tables import column_name, is_complete_numeric, read_table, report_reading
from ..._native.array_types import Double, NDArray
from ..._protocol.warning import quietly
from ..._rows.validation import check_known_labels, check_labels, check_names, check_targets
from ..._rows.weights import check_weights
from ...errors import InvalidInputError
from .partition import partition_named
from .partitions import join_classes

# The first row of a partition, as samples and folds of target statistics count rows, is its number times this.
_FIRST_ROW = 1 << 40


# Calls function(number, X, y, sample_weight, *arguments) of each partition, or of those that `which` numbers, where its
# rows are; returns the results in order.
PartitionRunner = Callable[..., list[Any]]


def fit_map(model: Any, run: PartitionRunner) -> tuple[ColumnMap, OutOfFold] | None:
    """Fit a copy of the map of a model on all rows; None where columns stay as they are.

    With the map comes what training rows get in place of what it has learned from their targets.  `columns="auto"`
    takes complete columns of numbers as they are where it does so here.
    """
    columns = model.columns
    if isinstance(columns, str) and columns == "search":
        raise InvalidInputError('columns must be "auto", a ColumnMap or None where rows are in partitions, got '
                                '"search", which trains on rows in one place')
    if isinstance(columns, str):
        needs_none = model._auto_forms is None and all(run(lambda _, X, *others: is_complete_numeric(X)))
        columns = None if needs_none else model._default_map()
    if columns is None:
        return None
    fitted = ColumnMap(**columns.get_params())
    fitted._check_params()
    classes, unit = _join_targets(run(_describe_targets, model._has_labels), model._has_labels)
    collected = collect_statistics(functools.partial(_collect, run, fitted, classes, unit), fitted.get_params(), None)
    fitted_map, folds, reference = fitted._learned(collected, model._imputes())
    fitted._keep(fitted_map, reference)
    warn_of_columns(fitted_map)
    return fitted, folds


def _collect(run: PartitionRunner, column_map: ColumnMap, classes: NDArray[Any] | None, unit: Double,
             row_folds: RowFolds) -> StatisticsCollector:
    """The statistics of the rows of all partitions."""
    found = run(count_rows, column_map, classes, unit, row_folds)
    counted = {number: each for number, each in enumerate(found) if each is not None}
    agreed = _agreed([readings for _, readings in counted.values()])
    others = [number for number, (_, readings) in counted.items()
              if any(agreed[j] != reading for j, reading in readings.items())]
    counted |= zip(others, run(count_rows, column_map, classes, unit, row_folds, agreed, which=others), strict=True)
    (collector, _), *_ = counted.values()
    for j, reading in agreed.items():
        report_reading(reading, column_name(collector.names, j))
    for number, (other, _) in [*counted.items()][1:]:
        with partition_named(number) as place:
            try:
                check_names(other.names, collector.names)
                collector.merge(other)
            except InvalidInputError as error:
                raise type(error)(f"X{place}: {error}") from error
    return collector


def _join_targets(found: Sequence[Any], has_labels: bool) -> tuple[NDArray[Any] | None, Double]:
    """Labels of all partitions, of a classifier, and the units that targets are divided by."""
    present = [each for each in found if each is not None]
    if not present:
        raise InvalidInputError("X must have rows, got none in any partition")
    if has_labels:
        return join_classes(present), np.ones(1)
    if len({len(each) for _, each in present}) > 1:
        raise InvalidInputError("y must have equally many targets in all partitions, got "
                                f"{[len(each) for _, each in present]}")
    return None, unit_of(np.max([each for _, each in present], axis=0))


def _agreed(readings: Sequence[Mapping[int, Reading]]) -> dict[int, Reading]:
    """How each column of text is read in all partitions.

    It is a category where it is one of any words in some partition.  Otherwise the first partition decides, but for an
    order of day and month that only a later one shows; words that are no values are those of all.
    """
    agreed = {}
    for j in sorted({j for each in readings for j in each}):
        found = [each[j] for each in readings if j in each]
        plain = [each for each in found if each.kind == CATEGORY and each.format != "boolean"]
        first = plain[0] if plain else next((each for each in found if not each.ambiguous), found[0])
        words = tuple(sorted({word for each in found if each.kind == first.kind for word in each.words}))
        agreed[j] = Reading() if len(words) > MOST_WORDS else first._replace(words=words)
    return agreed


# Where the rows are.



def _describe_targets(number: int, X: Any, y: Any, sample_weight: Any, has_labels: bool) -> Any:
    """Number and labels of a partition, or the largest sizes of its targets; None where it has no rows."""
    if not len(X):
        return None
    with partition_named(number) as place:
        if has_labels:
            return number, check_labels(y, len(X), f"y{place}")[0]
        return number, np.abs(check_targets(y, len(X), f"y{place}")).max(axis=0)


def count_rows(number: int, X: Any, y: Any, sample_weight: Any, column_map: ColumnMap, classes: NDArray[Any] | None,
               unit: Double, row_folds: RowFolds, readings: Mapping[int, Reading] | None = None
               ) -> tuple[StatisticsCollector, dict[int, Reading]] | None:
    """Statistics, and how columns of text were read, as they suggest or in a given way.

    Of the rows of a partition; None where it has none.
    """
    if not len(X):
        return None
    with partition_named(number) as place:
        with quietly():  # how columns are read is said once of all partitions, and rows are read again to be mapped
            table = read_table(X, f"X{place}", categorical=column_map.categorical_features, readings=readings,
                               dates=column_map.dates)
        weights = np.ones(len(X))
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64).reshape(-1)
            if weights.any():  # a partition without weight takes no part
                check_weights(weights, len(X), f"sample_weight{place}")
        if classes is None:
            values = check_targets(y, len(X), f"y{place}") / unit
        else:
            values = class_indicators(check_known_labels(y, classes, len(X), f"y{place}"), len(classes))
    collector = StatisticsCollector(table.names, len(table.columns), values.shape[1], row_folds, number * _FIRST_ROW)
    collector.add(table, weights, values)
    collector.finish()
    return collector, {j: column.reading for j, column in enumerate(table.columns)
                       if column.reading is not None}


def map_training_rows(number: int, X: Any, fitted_map: FittedMap, folds: OutOfFold) -> NDArray[Any]:
    """The training rows of a partition, mapped."""
    if not len(X):
        return np.empty((0, fitted_map.n_outputs))
    with partition_named(number) as place:
        return fitted_map.apply(fitted_map.read(X, "the training", f"X{place}"), folds, number * _FIRST_ROW)


def map_other_rows(number: int, X: Any, column_map: ColumnMap, owner: str) -> NDArray[Any]:
    """Rows of a partition of an evaluation set, mapped."""
    if not len(X):
        return np.empty((0, column_map._fitted_map().n_outputs))
    with partition_named(number) as place:
        return column_map._transform(X, owner, f"eval_set X{place}")
