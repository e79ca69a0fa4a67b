"""Rows of one partition and their predictions, on whatever machine they are.

What a partition answers follows from its rows and from the commands that it was given, in their order, and from nothing
else.  One that is lost is opened anew and catches up; it then gives the same bits.
"""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.scaling import RowSums, Scaling, standardised_targets
from .._data.threads import check_n_threads
from .._data.tiles import SINGLE, TILE, pack
from .._data.training_rows import LabelledRows, TargetRows
from .._data.validation import (
    as_column,
    as_numeric,
    check_array,
    check_known_labels,
    check_labels,
    check_targets,
    feature_names,
)
from .._data.weights import RowWeights, check_weights
from .loss_states import CosineSum, Evaluation, LossState, Products
from .packed_rows import RowsInMemory
from .workspace import EvaluationWorkspace, Sizes

Double = NDArray[np.float64]
Sample = tuple[NDArray[Any], Double | None]  # packed rows, and their weights where these differ
Command = tuple[str, tuple[Any, ...]]  # the name of a method of `Partition`, and its arguments


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
    query: str  # the name of a method of `Partition`
    arguments: tuple[Any, ...]


class Behind(NamedTuple):
    """The answer of a partition that lacks commands before those of a request."""

    position: int


class Partition:
    """Checked rows of one partition."""

    def __init__(self, rows: Any, summary: Summary, n_threads: int | None) -> None:
        self._summary, self._number, self._place = summary, summary.number, f" of partition {summary.number}"
        self._rows = rows  # LabelledRows, TargetRows, or None where no row counts or all are packed
        self._n_threads = 1 if rows is None else check_n_threads(n_threads, rows.X.size)
        self._lock = threading.Lock()
        self._position = self._base = 0  # commands so far, and those that a copy need not repeat
        self._states: list[LossState] = []
        self._evaluated: tuple[int, CosineSum, Evaluation] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What travels: rows as they are packed.  The predictions are made anew from the commands."""
        with self._lock:
            state = vars(self) | {"_position": self._base, "_states": [], "_evaluated": None}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self._lock = threading.Lock()

    def __sizeof__(self) -> int:
        """Bytes, by which schedulers judge what it costs to move."""
        held = vars(self).get("_tiles") if self._rows is None else self._rows.X
        return 1000 if held is None else 2 * int(held.nbytes)

    def answer(self, request: Request) -> Any:
        """Carry out the commands of a request that are new, and answer it; `Behind` where earlier ones are missing."""
        with self._lock:
            if self._position < request.since:
                return Behind(self._position)
            for name, arguments in request.commands[self._position - request.since :]:
                getattr(self, name)(*arguments)
                self._position += 1
                if not self._states:
                    self._base = self._position
            return getattr(self, request.query)(*request.arguments)

    def summary(self) -> Summary:
        """What the rows of all partitions are put together by."""
        return self._summary

    # Commands before the first round.

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

    def pack(self, scaling: Scaling, dtype: np.dtype[Any], n_subsets: int, seed: int) -> None:
        """Keep the rows in tiles, and divide them into shares of the subsets."""
        rows = self._rows
        self._tiles, self._weights, self._targets = (
            pack(rows.X, scaling, dtype, self._n_threads)[0], rows.weights, rows.targets())
        n_rows = len(rows.X)
        order = np.arange(n_rows)
        if n_subsets > 1:
            order = np.random.default_rng([seed, self._number]).permutation(n_rows)
        self._shares = [np.sort(order[t * n_rows // n_subsets : (t + 1) * n_rows // n_subsets])
                        for t in range(n_subsets)]
        self._rows = None

    def start(self, loss: type[LossState], intercepts: Double, n_components: int) -> None:
        """Predict the intercepts."""
        rows = RowsInMemory(self._tiles, self._weights)
        workspace = EvaluationWorkspace(rows, Sizes(n_components, self._n_threads))
        self._states = [loss(rows, target, intercept, workspace)
                        for target, intercept in zip(self._targets, intercepts, strict=True)]

    # The command of a round.

    def advance(self, output: int, learner: CosineSum, step: float) -> None:
        """Add step times a weak learner to the predictions of an output."""
        self._states[output].update(self._evaluation(output, learner), step)
        self._evaluated = None

    # Questions.

    def column_range(self, of: str) -> tuple[Double, Double]:
        """Smallest and largest value of each column."""
        return self._sums(of).column_range()

    def column_sums(self, of: str, unit: Double, center: Double, power: int) -> Double:
        """Sums over rows of weight (X unit - center)^power."""
        return self._sums(of).column_sums(unit, center, power)

    def _sums(self, of: str) -> RowSums:
        rows = self._rows
        return RowSums(rows.X if of == "X" else rows.values, rows.weights, self._n_threads)

    def longest_row(self, scaling: Scaling) -> float:
        """The largest length of a row."""
        rows = self._rows
        return pack(rows.X, scaling, SINGLE, self._n_threads)[1]

    def target_sums(self, loss: type[LossState]) -> list[Products]:
        """The sums that the intercept of each output follows from."""
        rows = self._rows
        return [loss.target_sums(target, rows.weights) for target in rows.targets()]

    def total_weight(self) -> float:
        """Sum of the weights."""
        rows = self._rows
        return float(rows.weights.total)

    def sample(self, subset: int) -> Sample:
        """Packed rows of the share of a subset, and their weights where these differ."""
        share = self._shares[subset]
        weights = None if self._weights.is_uniform else self._weights.each[share]
        return self._packed(share), weights

    def drawn(self, places: Sequence[tuple[int, float]]) -> NDArray[Any]:
        """Packed rows at places given as a partition and a cumulative weight in it, of those in this partition."""
        wanted = np.array([weight for number, weight in places if number == self._number])
        reached = np.cumsum(self._weights.each)
        return self._packed(np.searchsorted(reached, wanted, side="right").clip(max=len(reached) - 1))

    def _packed(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._tiles[rows // TILE, :, rows % TILE]

    def standing(self, output: int, subset: int | None,
                 with_rows: bool) -> tuple[float, float, NDArray[Any] | None, Sample | None]:
        """Sum of the losses of an output, its largest residual, and residuals, and rows, of the share of a subset."""
        state: Any = self._states[output]
        residuals = rows = None
        if subset is not None:
            residuals = state.residuals_in(slice(0, len(self._tiles))).reshape(-1)[self._shares[subset]]
            rows = self.sample(subset) if with_rows else None
        return state.loss * self._weights.total, getattr(state, "largest_residual", 0.0), residuals, rows

    def products(self, output: int, learner: CosineSum) -> Products:
        """Sums over the rows of a weak learner, as the loss defines them."""
        return self._evaluation(output, learner).products

    def along(self, output: int, learner: CosineSum, step: float) -> tuple[float, float]:
        """Slope and curvature of the sum of losses after a step along a weak learner."""
        return self._states[output].along(self._evaluation(output, learner), step)

    def _evaluation(self, output: int, learner: CosineSum) -> Evaluation:
        """A weak learner at all rows; that which was last asked for is kept."""
        if self._evaluated is not None:
            of, known, evaluation = self._evaluated
            if of == output and all(map(np.array_equal, known[:3], learner[:3])):
                return evaluation
        evaluation = self._states[output].evaluate(learner)
        self._evaluated = output, learner, evaluation
        return evaluation


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
