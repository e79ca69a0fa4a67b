"""Rows of one partition and what a family makes of them, on whatever machine they are.

What a partition answers follows from its rows and from the commands that it was given, in their order, and from nothing
else.  One that is lost is opened anew and catches up; it then gives the same bits.
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
Command = tuple[str, tuple[Any, ...]]  # the name of a method of `Partition` or of its work, and its arguments


class Summary(NamedTuple):
    """What the rows of all partitions are put together by."""

    number: int  # of the partition
    n_rows: int  # of positive weight
    n_features: int
    names: list[str] | None  # of the columns
    classes: Any  # labels of rows of positive weight, sorted
    class_totals: Double  # sums of the weights given, of each of the classes, or of all rows
    n_targets: int
    is_uniform: bool  # whether no weights were given


class Request(NamedTuple):
    """A question to a partition, after commands of which the first is the `since`-th of all."""

    since: int
    commands: Sequence[Command]
    query: str  # the name of a method of `Partition` or of its work
    arguments: tuple[Any, ...]


class Behind(NamedTuple):
    """The answer of a partition that lacks commands before those of a request."""

    position: int


class PartRows(NamedTuple):
    """Checked rows of a partition, weighted as those of all partitions together."""

    number: int  # of the partition
    rows: Any  # LabelledRows or TargetRows
    n_threads: int


class Work(Protocol):
    """What a family does with the rows of a partition: its methods are the commands and questions of rounds."""

    has_begun: bool  # whether it holds what commands have made of the rows, which does not travel
    n_bytes: int  # of what does


class Partition:
    """Checked rows of one partition, until they are handed over to the work of a family."""

    def __init__(self, rows: Any, summary: Summary, n_threads: int | None) -> None:
        self._summary, self._number, self._place = summary, summary.number, f" of partition {summary.number}"
        self._rows = rows  # LabelledRows, TargetRows, or None where no row counts or all are handed over
        self._work: Work | None = None
        self._n_threads = 1 if rows is None else check_n_threads(n_threads, rows.X.size)
        self._lock = threading.Lock()
        self._position = self._base = 0  # commands so far, and those that a copy need not repeat

    def __getstate__(self) -> dict[str, Any]:
        """What travels.  What commands have made of the rows since is made anew from them."""
        with self._lock:
            state = vars(self) | {"_position": self._base}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self._lock = threading.Lock()

    def __sizeof__(self) -> int:
        """Bytes, by which schedulers judge what it costs to move."""
        held = 0 if self._rows is None else int(self._rows.X.nbytes)
        return 1000 + 2 * (held if self._work is None else self._work.n_bytes)

    def answer(self, request: Request) -> Any:
        """Carry out the commands of a request that are new, and answer it; `Behind` where earlier ones are missing."""
        with self._lock:
            if self._position < request.since:
                return Behind(self._position)
            for name, arguments in request.commands[self._position - request.since :]:
                self._method(name)(*arguments)
                self._position += 1
                if self._work is None or not self._work.has_begun:
                    self._base = self._position
            return self._method(request.query)(*request.arguments)

    def _method(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self if self._work is None else self._work, name)
        return found

    # Commands.

    def settle(self, classes: NDArray[Any] | None, factors: Double, mean_weight: float, is_uniform: bool,
               what: str) -> None:
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

    def hand_over(self, make: Callable[..., Work], *arguments: Any) -> None:
        """Let a family have the rows, to which all that follows is addressed."""
        self._work = make(PartRows(self._number, self._rows, self._n_threads), *arguments)
        self._rows = None

    # Questions.

    def summary(self) -> Summary:
        """What the rows of all partitions are put together by."""
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

    def of_rows(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the rows says."""
        return function(PartRows(self._number, self._rows, self._n_threads), *arguments)

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
        return Partition(None, Summary(number, 0, shape[1], column_names, None, np.zeros(0), 0, True), n_threads)
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
        nothing = Summary(number, 0, X.shape[1], column_names, None, np.zeros(0), n_targets, is_uniform)
        return Partition(None, nothing, n_threads)
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
    summary = Summary(number, len(rows.X), X.shape[1], column_names, classes, totals, n_targets, is_uniform)
    return Partition(rows, summary, n_threads)
