"""The rows of one partition, on whatever machine they are, and what a family keeps of them in training.

What a partition answers follows from its rows and from the commands that it carried out, in their order, and from
nothing else.  One that is lost is opened anew, carries out all commands again, and then gives the same bits.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._rows.scaling import RowSums, standardised_targets
from ..._rows.threads import check_n_threads
from ..._rows.training_rows import LabelledRows, TargetRows
from ..._rows.validation import (
    as_column,
    as_numeric,
    check_array,
    check_known_labels,
    check_labels,
    check_targets,
    feature_names,
)
from ..._rows.weights import RowWeights, check_weights

Double = NDArray[np.float64]
Command = tuple[str, tuple[Any, ...]]  # the name of a method of `Partition` or of what a family keeps, and arguments


class PartitionSummary(NamedTuple):
    """What the checks of a whole table need of one partition."""

    number: int  # of the partition
    n_rows: int  # of positive weight
    n_features: int
    names: list[str] | None  # of the columns
    classes: Any  # labels of rows of positive weight, sorted
    class_totals: Double  # sums of the weights as given, of each of the classes, or of all rows
    n_targets: int
    is_uniform: bool  # whether no weights were given


class Request(NamedTuple):
    """A query to a partition, after commands of which the first is the `since`-th of all."""

    since: int
    commands: Sequence[Command]
    query: str  # the name of a method of `Partition` or of what a family keeps
    arguments: tuple[Any, ...]


class MissingCommands(NamedTuple):
    """The answer of a partition that lacks commands before those of a request."""

    n_done: int


class PartitionRows(NamedTuple):
    """Checked rows of a partition, weighted as those of all partitions together."""

    number: int  # of the partition
    rows: Any  # LabelledRows or TargetRows
    n_threads: int


class TrainingPartition(Protocol):
    """What a family keeps of a partition in training; its methods are the commands and queries of the rounds."""

    has_scores: bool  # whether it holds scores, which are not pickled: they follow from the commands
    nbytes: int  # of what is pickled


class Partition:
    """Checked rows of one partition, until a family converts them to its own form."""

    def __init__(self, rows: Any, summary: PartitionSummary, n_threads: int | None) -> None:
        self._summary, self._number, self._place = summary, summary.number, f" of partition {summary.number}"
        self._rows = rows  # LabelledRows, TargetRows, or None where no row counts or all are converted
        self._training: TrainingPartition | None = None
        self._n_threads = 1 if rows is None else check_n_threads(n_threads, rows.X.size)
        self._lock = threading.Lock()
        self._n_done = self._n_kept = 0  # commands so far, and those whose effect is pickled

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not the scores, so that a copy carries out again the commands that made them."""
        with self._lock:
            state = vars(self) | {"_n_done": self._n_kept}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self._lock = threading.Lock()

    def __sizeof__(self) -> int:
        """Bytes, by which schedulers judge what it costs to move."""
        held = 0 if self._rows is None else int(self._rows.X.nbytes)
        return 1000 + 2 * (held if self._training is None else self._training.nbytes)

    def answer(self, request: Request) -> Any:
        """Carry out the new commands of a request, then answer its query; MissingCommands where earlier ones lack."""
        with self._lock:
            if self._n_done < request.since:
                return MissingCommands(self._n_done)
            for name, arguments in request.commands[self._n_done - request.since :]:
                self._method(name)(*arguments)
                self._n_done += 1
                if self._training is None or not self._training.has_scores:
                    self._n_kept = self._n_done
            return self._method(request.query)(*request.arguments)

    def _method(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self if self._training is None else self._training, name)
        return found

    # Commands.

    def set_classes_and_weights(self, classes: NDArray[Any] | None, factors: Double, mean_weight: float,
                                is_uniform: bool, what: str) -> None:
        """Take the classes of all partitions, and weights of mean 1 over all of them."""
        rows, codes = self._rows, None
        if classes is not None:
            own = self._summary.classes
            codes = check_known_labels(own, classes, len(own), f"{what}y{self._place}")[rows.codes]
            rows = rows._replace(codes=codes, n_classes=len(classes))
        if not is_uniform:
            each = rows.weights.unit * rows.weights.each * (factors[0] if codes is None else factors[codes])
            rows = rows._replace(weights=RowWeights(len(each), each / mean_weight))
        self._rows = rows

    def standardise_targets(self, center: Double, inverse_scale: Double, what: str) -> None:
        """Take targets in units of their spread over all partitions."""
        rows = self._rows
        name = f"{what}y{self._place}"
        self._rows = rows._replace(values=standardised_targets(rows.values, rows.weights, center, inverse_scale, name))

    def convert(self, make: Callable[..., TrainingPartition], *arguments: Any) -> None:
        """Convert the rows to the form of a family, which all further commands and queries go to."""
        self._training = make(PartitionRows(self._number, self._rows, self._n_threads), *arguments)
        self._rows = None

    # Queries.

    def summary(self) -> PartitionSummary:
        """What the checks of a whole table need."""
        return self._summary

    def column_range(self, of: str) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        return self._sums(of).column_range()

    def column_sums(self, of: str, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        return self._sums(of).column_sums(unit, center, power)

    def _sums(self, of: str) -> RowSums:
        rows = self._rows
        return RowSums(rows.X if of == "X" else rows.values, rows.weights, self._n_threads)

    def map_rows(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function of the rows."""
        return function(PartitionRows(self._number, self._rows, self._n_threads), *arguments)

    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self._rows.weights.total)


def open_partition(number: int, what: str, has_labels: bool, n_threads: int | None, X: Any, y: Any,
                   sample_weight: Any) -> Partition:
    """Check the rows of a partition; errors name it, and say of `what` it is (nothing, or "eval_set ")."""
    place, names = f" of partition {number}", feature_names(X)
    column_names = None if names is None else names.tolist()
    shape = np.shape(X)
    if len(shape) == 2 and shape[0] == 0 and shape[1] > 0:
        empty = PartitionSummary(number, 0, shape[1], column_names, None, np.zeros(0), 0, True)
        return Partition(None, empty, n_threads)
    X = check_array(X, f"{what}X{place}")
    classes: Any = None
    codes: Any = None
    values: Any = None
    if has_labels:
        classes, codes = check_labels(y, len(X), f"{what}y{place}")
    else:
        values = check_targets(y, len(X), f"{what}y{place}")
    n_targets = 0 if values is None else values.shape[1]
    is_uniform, weights_name = sample_weight is None, f"{what}sample_weight{place}"
    if sample_weight is not None and not as_column(as_numeric(sample_weight, weights_name), weights_name, len(X)).any():
        empty = PartitionSummary(number, 0, X.shape[1], column_names, None, np.zeros(0), n_targets, is_uniform)
        return Partition(None, empty, n_threads)
    weights = check_weights(sample_weight, len(X), weights_name)
    rows: Any = TargetRows(X, values, weights) if classes is None else LabelledRows(X, codes, weights, len(classes))
    if weights.has_zeros:
        rows = rows.taken(weights.positive())
    each = rows.weights.unit * rows.weights.each
    totals = np.array([each.sum()])
    if classes is not None:
        found = np.bincount(rows.codes, minlength=len(classes)) > 0
        classes, totals = classes[found], np.bincount(rows.codes, each, minlength=len(classes))[found]
        rows = rows._replace(codes=(np.cumsum(found) - 1)[rows.codes])
    summary = PartitionSummary(number, len(rows.X), X.shape[1], column_names, classes, totals, n_targets, is_uniform)
    return Partition(rows, summary, n_threads)
