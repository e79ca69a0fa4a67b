"""The rows of one partition, on whatever machine they are, and what a family keeps of them in training.

What a partition answers follows from its rows and from the commands that it carried out, in their order, and from
nothing else.  One that is lost is opened anew, carries out all commands again, and then gives the same bits.
"""

import contextlib
import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._native.array_types import Double, NDArray
from ..._rows.scaling import RowSums, standardised_targets
from ..._rows.threads import check_n_threads
from ..._rows.training_rows import LabelledRows, TargetRows
from ..._rows.validation import as_column, as_numeric, check_array, check_labels, check_targets, feature_names
from ..._rows.weights import RowWeights, check_weights
from ...errors import InvalidInputError

Command = tuple[str, tuple[Any, ...]]  # the name of a method of `Partition` or of what a family keeps, and arguments
Request = tuple[int, Sequence[Command], str, tuple[Any, ...]]  # the arguments of `Partition.answer`


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


@contextlib.contextmanager
def partition_named(number: int) -> Iterator[str]:
    """What names of arguments end with that are of a partition, and its number in errors about it."""
    try:
        yield f" of partition {number}"
    except InvalidInputError as error:
        error.partition = number
        raise


class Partition:
    """Checked rows of one partition, until a family converts them to its own form.

    That form is an object whose methods are commands and queries of the rounds.  It `has_scores`, or not yet, which are
    not pickled because they follow from the commands, and what is pickled takes `nbytes`.

    Parameters
    ----------
    what : str
        Of what it is a partition, for messages: nothing, or "eval_set ".
    X, y, sample_weight : arrays or data frames
    """

    def __init__(self, number: int, what: str, has_labels: bool, n_threads: int | None, X: Any, y: Any,
                 sample_weight: Any) -> None:
        with partition_named(number) as place:
            self.number, self.y_name = number, f"{what}y{place}"
            # LabelledRows, TargetRows, or None where no row counts or all are converted
            self.rows, self._summary = _checked_rows(number, what, place, has_labels, X, y, sample_weight)
        self.n_threads = 1 if self.rows is None else check_n_threads(n_threads, self.rows.X.size)
        self._training: Any = None
        self._lock = threading.Lock()
        self._n_done = self._n_kept = 0  # commands so far, and those whose effect is pickled

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not the scores, so that a copy carries out again the commands that made them."""
        with self._lock:  # of what changes while it is pickled, a copy
            state = vars(self) | {"_n_done": self._n_kept, "_training": copy.copy(self._training)}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self._lock = threading.Lock()

    def __sizeof__(self) -> int:
        """Bytes, by which schedulers judge what it costs to move."""
        held = 0 if self.rows is None else int(self.rows.X.nbytes)
        return 1000 + 2 * (held if self._training is None else self._training.nbytes)

    def answer(self, since: int, commands: Sequence[Command], query: str, arguments: tuple[Any, ...]) -> Any:
        """Carry out those of some commands that are new, then answer a query; None where earlier commands are missing.

        The first of the commands is the `since`-th of all.
        """
        with self._lock, partition_named(self.number):
            if self._n_done < since:
                return None
            for name, of_command in commands[self._n_done - since :]:
                self._method(name)(*of_command)
                self._n_done += 1
                if self._training is None or not self._training.has_scores:
                    self._n_kept = self._n_done
            return self._method(query)(*arguments)

    def _method(self, name: str) -> Callable[..., Any]:
        return getattr(self if self._training is None else self._training, name)

    # Commands.

    def set_classes_and_weights(self, classes: NDArray[Any] | None, factors: Double, mean_weight: float,
                                is_uniform: bool) -> None:
        """Take the classes of all partitions, and weights of mean 1 over all of them."""
        rows = self.rows
        if classes is not None:
            codes = np.searchsorted(classes, self._summary.classes)[rows.codes]
            rows, factors = rows._replace(codes=codes, n_classes=len(classes)), factors[codes]
        if not is_uniform:
            each = rows.weights.unit * rows.weights.each * factors
            rows = rows._replace(weights=RowWeights(len(each), each / mean_weight))
        self.rows = rows

    def standardise_targets(self, center: Double, inverse_scale: Double) -> None:
        """Take targets in units of their spread over all partitions."""
        rows = self.rows
        self.rows = rows._replace(
            values=standardised_targets(rows.values, rows.weights, center, inverse_scale, self.y_name))

    def convert(self, make: Callable[..., Any], *arguments: Any) -> None:
        """Convert the rows to the form of a family, which all further commands and queries go to."""
        self._training = make(self, *arguments)
        self.rows = None

    # Queries.

    def summary(self) -> PartitionSummary:
        """What the checks of a whole table need."""
        return self._summary

    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.rows.weights.total)

    def column_range(self, of: str) -> tuple[Double, Double]:
        """Smallest and largest value of each column of "X" or of "values", the targets."""
        return self._sums(of).column_range()

    def column_sums(self, of: str, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        return self._sums(of).column_sums(unit, center, power)

    def _sums(self, of: str) -> RowSums:
        return RowSums(getattr(self.rows, of), self.rows.weights, self.n_threads)

    def map_rows(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function of the partition."""
        return function(self, *arguments)


def _checked_rows(number: int, what: str, place: str, has_labels: bool, X: Any, y: Any,
                  sample_weight: Any) -> tuple[Any, PartitionSummary]:
    """LabelledRows or TargetRows of positive weight, or None where there are none, and their summary."""
    names, shape = feature_names(X), np.shape(X)
    column_names = None if names is None else names.tolist()
    if len(shape) == 2 and shape[0] == 0 and shape[1] > 0:
        return None, PartitionSummary(number, 0, shape[1], column_names, None, np.zeros(0), 0, True)
    X = check_array(X, f"{what}X{place}")
    classes: Any = None
    rows: Any
    if has_labels:
        classes, codes = check_labels(y, len(X), f"{what}y{place}")
        rows = LabelledRows(X, codes, RowWeights(len(X)), len(classes))
    else:
        rows = TargetRows(X, check_targets(y, len(X), f"{what}y{place}"), RowWeights(len(X)))
    if sample_weight is not None:
        weights_name = f"{what}sample_weight{place}"
        if not as_column(as_numeric(sample_weight, weights_name), weights_name, len(X)).any():
            return None, PartitionSummary(number, 0, X.shape[1], column_names, None, np.zeros(0), 0, True)
        rows = rows._replace(weights=check_weights(sample_weight, len(X), weights_name))
        if rows.weights.has_zeros:
            rows = rows.taken(rows.weights.positive())
    each, n_targets = rows.weights.unit * rows.weights.each, 0
    if has_labels:
        present, codes = np.unique(rows.codes, return_inverse=True)
        classes, rows = classes[present], rows._replace(codes=codes)
        totals = np.bincount(codes, each).astype(np.float64, copy=False)
    else:
        totals, n_targets = np.array([each.sum()]), rows.values.shape[1]
    return rows, PartitionSummary(number, len(rows.X), X.shape[1], column_names, classes, totals, n_targets,
                                  sample_weight is None)
