"""All partitions of a table: commands, queries, sums in the order of the partitions, and checks that need all of them.

A result depends on how rows are partitioned, and neither on where partitions are nor on when they answer.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._estimator.training_rows import class_factors
from ..._rows.scaling import scaling_from
from ..._rows.validation import check_known_labels, check_names
from ...errors import InvalidInputError
from .partition import Command, MissingCommands, PartitionSummary, Request

Double = NDArray[np.float64]


class PartitionBackend(Protocol):
    """Where the partitions of a table are: on the workers of a cluster, or in this process."""

    def run(self, request: Request, which: Sequence[int]) -> list[Any]:
        """The answers of some of the partitions to a request, in their order."""

    def keep(self, which: Sequence[int]) -> None:
        """Forget all partitions but some, which are numbered anew."""

    def __len__(self) -> int:
        """Number of partitions."""


class Partitions:
    """All partitions of a table, with the commands that were sent to them so far."""

    def __init__(self, backend: PartitionBackend) -> None:
        self._backend = backend
        self._commands: list[Command] = []
        self._n_sent = 0

    def command(self, name: str, *arguments: Any) -> None:
        """Have each partition carry out a command; it travels with the next query."""
        self._commands.append((name, arguments))

    def query(self, name: str, *arguments: Any) -> list[Any]:
        """The answers of the partitions, in their order; one that was lost and opened anew first catches up."""
        request = Request(self._n_sent, self._commands[self._n_sent :], name, arguments)
        answers = self._backend.run(request, range(len(self._backend)))
        behind = [index for index, answer in enumerate(answers) if isinstance(answer, MissingCommands)]
        if behind:
            all_commands = request._replace(since=0, commands=self._commands)
            for index, answer in zip(behind, self._backend.run(all_commands, behind), strict=True):
                answers[index] = answer
        self._n_sent = len(self._commands)
        return answers

    def sum_over_rows(self, name: str, *arguments: Any) -> Any:
        """The sum of the answers, arrays or numbers, added in the order of the partitions from the first on."""
        first, *others = self.query(name, *arguments)
        total = np.array(first, dtype=np.float64)
        for answer in others:
            total += answer
        return total

    def drop(self, which: Sequence[int]) -> None:
        """Leave out some partitions."""
        if which:
            self._backend.keep([index for index in range(len(self._backend)) if index not in which])


class ColumnSums:
    """The sums over the columns of X, or over "values", the targets, that `scaling_from` asks for."""

    def __init__(self, partitions: Partitions, of: str, total: float) -> None:
        self._partitions, self._of, self.total = partitions, of, total

    def column_range(self) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        lows, highs = zip(*self._partitions.query("column_range", self._of), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    def column_sums(self, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        sums: Double = self._partitions.sum_over_rows("column_sums", self._of, unit, center, power)
        return sums


class PartitionedTable(NamedTuple):
    """Partitions whose rows are checked and weighted."""

    partitions: Partitions
    summaries: list[PartitionSummary]  # of each partition
    totals: list[float]  # sums of their weights, of mean 1
    given_total: float  # sum of all weights as they were given

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return math.fsum(self.totals)

    @property
    def n_rows(self) -> list[int]:
        """Rows of each partition."""
        return [summary.n_rows for summary in self.summaries]

    def shares(self, n_most: int | None) -> dict[int, int]:
        """Numbers of rows, in proportion to those of each partition by its number, of at most so many in all."""
        return proportional_shares(self.summaries, self.n_rows, n_most)


def proportional_shares(summaries: Sequence[PartitionSummary], n_rows: Sequence[int],
                        n_most: int | None) -> dict[int, int]:
    """Numbers of rows, in proportion to n_rows by the number of the partition, of at most so many in all."""
    ends = np.cumsum([0, *n_rows]).tolist()
    n_all = ends[-1]
    n_most = n_all if n_most is None else min(n_most, n_all)
    cuts = [n_most * end // n_all for end in ends]
    return {summary.number: stop - start for summary, start, stop in zip(summaries, cuts, cuts[1:], strict=False)}


class CheckedTables(NamedTuple):
    """Partitions to train on and evaluation sets in partitions, all of the same columns, and what they have in common.

    Targets are held in units of their spread over all training rows: center and 1 / spread are (n_outputs,).
    """

    names: NDArray[np.object_] | None  # of the columns
    training: PartitionedTable
    evaluation: dict[str, PartitionedTable]  # by the name of the set
    classes: NDArray[Any] | None  # labels of a classifier
    center: Double
    inverse_scale: Double  # 0 for a target that does not vary

    @property
    def scale(self) -> Double:
        """Spread of the targets, 1 for one that does not vary."""
        return 1 / np.where(self.inverse_scale > 0, self.inverse_scale, 1.0)


def refuse_values(model: Any, accepted: Mapping[str, Sequence[Any]]) -> None:
    """Refuse values of parameters that need all rows in one place."""
    for name, values in accepted.items():
        given = getattr(model, name)
        if given not in values:
            raise InvalidInputError(f"{name} must be {' or '.join(map(repr, values))} where rows are in partitions, "
                                    f"got {given!r}")


def check_tables(has_labels: bool, class_weight: Any, training: PartitionBackend,
                 evaluation: Mapping[str, PartitionBackend]) -> CheckedTables:
    """Check what `open_partition` has opened; rows with labels are weighted by `class_weight`."""
    partitions = Partitions(training)
    summaries = _check_columns(partitions, "", None)
    if has_labels:
        classes, table = _check_labels(class_weight, partitions, summaries)
        n_outputs = 1 if len(classes) == 2 else len(classes)
        checked = CheckedTables(None, table, {}, classes, np.zeros(n_outputs), np.ones(n_outputs))
    else:
        table, center, inverse_scale = _check_targets(partitions, summaries)
        checked = CheckedTables(None, table, {}, None, center, inverse_scale)
    names = summaries[0].names
    return checked._replace(
        names=None if names is None else np.array(names, dtype=object),
        evaluation={name: _check_evaluation(Partitions(backend), checked) for name, backend in evaluation.items()})


def _check_columns(partitions: Partitions, what: str, first: PartitionSummary | None) -> list[PartitionSummary]:
    """Summaries of the partitions that have rows, all of the same columns as the first of these or a given one."""
    found: list[PartitionSummary] = partitions.query("summary")
    for summary in found:
        first = first or summary
        place = f"{what}X of partition {summary.number}"
        if summary.n_features != first.n_features:
            raise InvalidInputError(f"{place} must have {first.n_features} features, got {summary.n_features}")
        try:
            check_names(summary.names, first.names)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: {error}") from None
    partitions.drop([place for place, summary in enumerate(found) if not summary.n_rows])
    found = [summary for summary in found if summary.n_rows]
    if not found:
        raise InvalidInputError(f"{what}X must have rows of positive weight, got none in any partition")
    return found


def _check_labels(class_weight: Any, partitions: Partitions,
                  summaries: list[PartitionSummary]) -> tuple[NDArray[Any], PartitionedTable]:
    """Classes of all partitions, and rows with labels."""
    classes = join_classes([(summary.number, summary.classes) for summary in summaries])
    if len(classes) < 2:
        raise InvalidInputError(f"y must hold at least two classes, got 1 class with positive weight: "
                                f"{classes.tolist()!r}")
    return classes, _weighted(partitions, summaries, classes, class_weight, "")


def join_classes(found: Sequence[tuple[int, NDArray[Any]]]) -> NDArray[Any]:
    """Labels of all partitions, from the number and the labels of each: numbers in all, or in none."""
    first, labels_of_first = found[0]
    for number, labels in found:
        if (labels.dtype.kind in "biuf") != (labels_of_first.dtype.kind in "biuf"):
            raise InvalidInputError(f"y of partition {number} must hold labels of one kind with those of partition "
                                    f"{first}, got {labels!r}")
    return np.unique(np.concatenate([labels for _, labels in found]))


def _check_targets(partitions: Partitions,
                   summaries: list[PartitionSummary]) -> tuple[PartitionedTable, Double, Double]:
    """Rows with targets in units of their spread, and the center and 1 / spread of these over all partitions."""
    if sum(summary.n_rows for summary in summaries) < 2:
        raise InvalidInputError("X: Found partitions with 1 sample(s) in all while a minimum of 2 is required.")
    for summary in summaries:
        if summary.n_targets != summaries[0].n_targets:
            raise InvalidInputError(f"y of partition {summary.number} must have {summaries[0].n_targets} targets, got "
                                    f"{summary.n_targets}")
    table = _weighted(partitions, summaries, None, None, "")
    center, inverse_scale, *_ = scaling_from(ColumnSums(partitions, "values", table.total), standardize=True)
    partitions.command("standardise_targets", center, inverse_scale, "")
    return table, center, inverse_scale


def _check_evaluation(partitions: Partitions, training: CheckedTables) -> PartitionedTable:
    """Rows of an evaluation set, whose weights count as they are given."""
    what = "eval_set "
    summaries = _check_columns(partitions, what, training.training.summaries[0])
    for summary in summaries:
        if training.classes is not None:
            check_known_labels(summary.classes, training.classes, np.size(summary.classes),
                               f"{what}y of partition {summary.number}")
        elif summary.n_targets != training.center.size:
            raise InvalidInputError(f"{what}y of partition {summary.number} must have {training.center.size} targets, "
                                    f"got {summary.n_targets}")
    table = _weighted(partitions, summaries, training.classes, None, what)
    if training.classes is None:
        partitions.command("standardise_targets", training.center, training.inverse_scale, what)
    return table


def _weighted(partitions: Partitions, summaries: list[PartitionSummary], classes: NDArray[Any] | None,
              class_weight: Any, what: str) -> PartitionedTable:
    """Partitions with weights of mean 1 over all rows, multiplied by those of their classes."""
    weights, factors = [summary.class_totals for summary in summaries], np.ones(1)
    if classes is not None:
        places = [np.searchsorted(classes, summary.classes) for summary in summaries]
        totals = np.zeros(len(classes))
        for place, found in zip(places, weights, strict=True):
            totals[place] += found
        factors = np.ones(len(classes))
        if class_weight is not None:
            factors = class_factors(class_weight, classes, totals)
        weights = [factors[place] * found for place, found in zip(places, weights, strict=True)]
    given_total = math.fsum(float(found.sum()) for found in weights)
    is_uniform = class_weight is None and all(summary.is_uniform for summary in summaries)
    n_rows = sum(summary.n_rows for summary in summaries)
    partitions.command("set_classes_and_weights", classes, factors, given_total / n_rows, is_uniform, what)
    return PartitionedTable(partitions, summaries, partitions.query("total_weight"), given_total)
