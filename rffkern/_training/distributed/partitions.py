"""All partitions of a table: commands, queries, sums in the order of the partitions, and checks that need all of them.

A result depends on how rows are partitioned, and neither on where partitions are nor on when they answer.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..._native.array_types import Double, NDArray
from ..._rows.scaling import scaling_from
from ..._rows.training_rows import Training, check_several, class_factors
from ..._rows.validation import check_known_labels, check_names, too_few_samples
from ...errors import InvalidInputError
from .partition import Command, PartitionSummary, Request, partition_named


class PartitionBackend(Protocol):
    """Where the partitions of a table are: on the workers of a cluster, or in this process."""

    def run(self, request: Request, which: Sequence[int]) -> list[Any]:
        """`Partition.answer` of some of the partitions to a request, in their order."""

    def solve(self, learners: Iterator[Any]) -> Iterator[Any]:
        """What `solve` of learners gives, in their order."""

    @property
    def memory(self) -> float:
        """Bytes that the process that calls this may have."""

    def __len__(self) -> int:
        """Number of partitions."""


def bytes_of_all_rows(n_rows: int, n_columns: int) -> int:
    """What a model that keeps all rows takes of the process that trains it, about."""
    return n_rows * (40 * n_columns + 100)


class PartitionedTable:
    """Checked and weighted rows in partitions, with the commands that were sent to them so far.

    Parameters
    ----------
    training : PartitionedTable or None
        The training rows, of an evaluation set, whose columns, classes and targets these have too.
    class_weight : as classifiers take it
        By which training rows are weighted.
    """

    def __init__(self, backend: PartitionBackend, training: "PartitionedTable | None" = None, *, has_labels: bool,
                 class_weight: Any = None) -> None:
        self._backend, self.numbers = backend, list(range(len(backend)))
        self._commands: list[Command] = []
        self._n_sent = 0
        what, first = ("", None) if training is None else ("eval_set ", training.summaries[0])
        self.summaries: list[PartitionSummary] = self._checked_summaries(what, first)
        self.n_rows = [summary.n_rows for summary in self.summaries]
        self.n_features = self.summaries[0].n_features
        self.classes: Any = None  # labels of a classifier

        weights, factors = [summary.class_totals for summary in self.summaries], np.ones(1)
        if has_labels:
            self.classes = self._joined_classes() if training is None else training.classes
            places = []
            for summary in self.summaries:
                with partition_named(summary.number) as place:
                    places.append(check_known_labels(summary.classes, self.classes, len(summary.classes),
                                                     f"{what}y{place}"))
            totals, factors = np.zeros(len(self.classes)), np.ones(len(self.classes))
            for codes, found in zip(places, weights, strict=True):
                totals[codes] += found
            if class_weight is not None:
                factors = class_factors(class_weight, self.classes, totals)
            weights = [factors[codes] * found for codes, found in zip(places, weights, strict=True)]
        self.given_total = math.fsum(float(found.sum()) for found in weights)  # of all weights
        is_uniform = class_weight is None and all(summary.is_uniform for summary in self.summaries)
        self.command("set_classes_and_weights", self.classes, factors, self.given_total / sum(self.n_rows), is_uniform)
        self.totals: list[float] = self.query("total_weight")  # sums of weights of mean 1
        self.total = math.fsum(self.totals)

    def _checked_summaries(self, what: str, first: PartitionSummary | None) -> list[PartitionSummary]:
        """Summaries of the partitions that have rows, which alone take part, like the first of these or another."""
        found: list[PartitionSummary] = self.query("summary")
        summaries = [summary for summary in found if summary.n_rows]
        if not summaries:
            raise InvalidInputError(f"{what}X must have rows of positive weight, got none in any partition")
        first = first or summaries[0]
        for summary in found:
            with partition_named(summary.number) as place:
                if summary.n_features != first.n_features:
                    raise InvalidInputError(f"{what}X{place} must have {first.n_features} features, got "
                                            f"{summary.n_features}")
                try:
                    check_names(summary.names, first.names)
                except InvalidInputError as error:
                    raise InvalidInputError(f"{what}X{place}: {error}") from None
                if summary.n_rows and summary.n_targets != first.n_targets:
                    raise InvalidInputError(f"{what}y{place} must have {first.n_targets} targets, got "
                                            f"{summary.n_targets}")
        self.numbers = [summary.number for summary in summaries]
        return summaries

    def _joined_classes(self) -> NDArray[Any]:
        classes = join_classes([(summary.number, summary.classes) for summary in self.summaries])
        check_several(classes)
        return classes

    def command(self, name: str, *arguments: Any) -> None:
        """Have each partition carry out a command; it travels with the next query."""
        self._commands.append((name, arguments))

    def query(self, name: str, *arguments: Any) -> list[Any]:
        """The answers of the partitions, in their order; one that was lost and opened anew first catches up."""
        request = self._n_sent, self._commands[self._n_sent :], name, arguments
        answers = dict(zip(self.numbers, self._backend.run(request, self.numbers), strict=True))
        behind = [number for number, answer in answers.items() if answer is None]
        if behind:
            request = 0, self._commands, name, arguments
            answers |= zip(behind, self._backend.run(request, behind), strict=True)
        self._n_sent = len(self._commands)
        return list(answers.values())

    def sum_over_rows(self, name: str, *arguments: Any) -> Any:
        """The sum of the answers, arrays or numbers, added in the order of the partitions from the first on."""
        first, *others = self.query(name, *arguments)
        total = np.array(first, dtype=np.float64)
        for answer in others:
            total += answer
        return total

    def shares(self, n_most: int | None, n_rows: Sequence[int] | None = None) -> dict[int, int]:
        """By partition, numbers of rows in proportion to n_rows or to all, of at most so many in all."""
        ends = np.cumsum([0, *(n_rows or self.n_rows)]).tolist()
        n_most = ends[-1] if n_most is None else min(n_most, ends[-1])
        cuts = [n_most * end // ends[-1] for end in ends]
        return {number: stop - start for number, start, stop in zip(self.numbers, cuts, cuts[1:], strict=False)}


class ColumnSums:
    """The sums over the columns of "X", or of "values", the targets, that `scaling_from` asks for."""

    def __init__(self, table: PartitionedTable, of: str) -> None:
        self._table, self._of, self.total = table, of, table.total

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        lows, highs = zip(*self._table.query("column_range", self._of), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        return self._table.sum_over_rows("column_sums", self._of, unit, center, power)


def check_tables(model: Any, training: PartitionBackend, evaluation: Mapping[str, PartitionBackend],
                 column_map: Any = None) -> Training:
    """The checked arguments of a fit, whose rows and evaluation sets are `PartitionedTable`.

    Targets are held in units of their spread over all training rows.
    """
    has_labels = model._has_labels
    table = PartitionedTable(training, has_labels=has_labels, class_weight=getattr(model, "class_weight", None))
    sets = tuple((name, PartitionedTable(each, table, has_labels=has_labels)) for name, each in evaluation.items())
    names = table.summaries[0].names
    column_names = None if names is None else np.array(names, dtype=object)
    if column_map is not None:
        column_names = getattr(column_map, "feature_names_in_", None)
    if has_labels:
        n_outputs = 1 if len(table.classes) == 2 else len(table.classes)
        center, inverse_scale = np.zeros(n_outputs), np.ones(n_outputs)
    else:
        if sum(table.n_rows) < 2:
            raise too_few_samples("X", "partitions with 1 sample(s) in all", 2)
        center, inverse_scale, *_ = scaling_from(ColumnSums(table, "values"), standardize=True)
        for each in (table, *(rows for _, rows in sets)):
            each.command("standardise_targets", center, inverse_scale)
    scale = 1 / np.where(inverse_scale > 0, inverse_scale, 1.0)
    return Training(column_names, table, center, scale, inverse_scale, table.classes, sets, column_map)


def join_classes(found: Sequence[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
    """Labels of all partitions, from the number and the labels of each: numbers in all, or in none."""
    first, labels_of_first = found[0]
    for number, labels in found:
        with partition_named(number) as place:
            if (labels.dtype.kind in "biuf") != (labels_of_first.dtype.kind in "biuf"):
                raise InvalidInputError(f"y{place} must hold labels of one kind with those of partition {first}, got "
                                        f"{labels!r}")
    return np.unique(np.concatenate([labels for _, labels in found]))


def refuse_values(model: Any, accepted: Mapping[str, Sequence[Any]]) -> None:
    """Refuse values of parameters that need all rows in one place."""
    for name, values in accepted.items():
        given = getattr(model, name)
        if given not in values:
            raise InvalidInputError(f"{name} must be {' or '.join(map(repr, values))} where rows are in partitions, "
                                    f"got {given!r}")
