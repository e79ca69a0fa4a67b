"""Rows that bags are trained on: columns in single precision, their bins, folds, and the scores of a bag."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from ..._model.tree_layout import UNREACHED
from ..._native import boosting
from ..._native.array_types import Double, Indices, Mask, NDArray, Single
from ..._rows.row_blocks import blocks
from ..._rows.scaling import Scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE
from .binning import Bins, bin_columns, binned_columns, bundle_indicators, evenly_spaced
from .constraints import Constraints
from .losses import LossData
from .terms import Term

# Numbers that are standardised at once, and the largest standardised value: single precision can hold its square.
_BLOCK_SIZE, _LARGEST_VALUE = 1 << 18, 1e18

# Distances of quartiles from them at which columns end whose ranks are read too.
_FENCE = 3.0

# Newton's method along a direction: iterations, the largest move, and the least that is worth another.  Of several
# classes both are so large for each two.
_NEWTON_ITERATIONS, _LARGEST_MOVE, _SMALLEST_MOVE = 6, 5.0, 1e-3

# Validation rows up to which their halves are told apart: more have hardly lower losses than new rows for having chosen
# the rounds of a bag.
_MOST_HALVED = 2048


class Columns(NamedTuple):
    """Rows column by column, in units of the scaling, and bins of their values for trees."""

    values: Single  # (n_columns, n_rows)
    sources: Indices  # (n_columns,) which column of the raw table each is made of
    binned: Indices  # (n_binned,) which columns have bins
    bins: Bins  # (n_binned + n_bundles, n_rows) a bin above b says that the value is above edges[b]
    edges: tuple[Double, ...]
    lower: Double  # (n_columns,) what raw rows are clipped to
    upper: Double
    constraints: Constraints | None = None  # that terms keep
    sparse: Any = None  # `SparseColumns` of which these are the fullest, where rows are sparse
    bundles: Indices = np.empty((0, 2), dtype=np.intp)  # of `bundle_indicators`
    ranks: Indices = np.empty(0, dtype=np.intp)  # of `rank_columns`

    @property
    def n_sources(self) -> int:
        """Number of columns of the raw table that are used."""
        return int(self.sources.max()) + 1

    @property
    def bin_counts(self) -> Indices:
        """Number of bins of each row of `bins`."""
        of_columns = [len(edges) + 1 for edges in self.edges]
        return np.concatenate([of_columns, np.diff(self.bundles)[:, 0] + 1], dtype=np.intp)

    @property
    def split_columns(self) -> Indices:
        """The column of each row of `bins`, that of the first indicator of a bundle."""
        return self.binned[np.concatenate([np.arange(len(self.binned)), self.bundles[:, 0]])]

    @property
    def indicators(self) -> Indices:
        """Of each row of `bins` -1, but of a bundle the place of its first indicator."""
        return np.concatenate([np.full(len(self.binned), -1), self.bundles[:, 0]])

    @property
    def searched(self) -> Mask:
        """Which rows of `bins` are searched for splits: all but indicators that are in a bundle."""
        searched = np.ones(len(self.bins), dtype=bool)
        for first, stop in self.bundles:
            searched[first:stop] = False
        return searched

    @property
    def signs(self) -> NDArray[np.int8]:
        """Of each column 1 or -1 where scores are to rise or to fall with it, else 0."""
        return np.zeros(len(self.sources), dtype=np.int8) if self.constraints is None else self.constraints.signs

    @property
    def usable(self) -> Mask:
        """Which columns terms may read."""
        return np.ones(len(self.sources), dtype=bool) if self.constraints is None else self.constraints.usable


def read_columns(parts: Sequence[Any], scaling: Scaling, sources: Indices, forms: NDArray[np.str_] | None,
                 extrapolates: Mask, fenced: Mask, n_threads: int = 1) -> Columns:
    """Read LabelledRows or TargetRows, one after the other; the first are those to learn from.

    They are clipped to the bounds that the first ones give, as rows to predict are.  `sources`, `forms`, `extrapolates`
    and `fenced` are those of `describe_columns`.
    """
    training, *others = parts
    n_features, n_train = training.X.shape[1], training.X.shape[0]
    values = np.empty((n_features, sum(part.X.shape[0] for part in parts)), dtype=np.float32)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    for rows, block in blocks(training.X):
        block = training.weights.hide(rows, block, scaling.center)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        standardise(block, scaling, values[:, rows.start : rows.start + len(block)])
    weights = training.weights
    weighted = weights.positive() if weights.has_zeros else slice(0, n_train)
    lower, upper = clipping_bounds(low, high, values, scaling, extrapolates, fenced, weighted)
    for j in np.flatnonzero((lower > low) | (upper < high)).tolist():  # which are fenced
        np.clip(values[j, :n_train], lower[j], upper[j], out=values[j, :n_train])
    start = n_train
    for part in others:
        for rows, block in blocks(part.X):
            block = part.weights.hide(rows, block, scaling.center).clip(lower, upper)
            first = start + rows.start
            standardise(block, scaling, values[:, first : first + len(block)])
        start += part.X.shape[0]
    _, source_codes = np.unique(sources, return_inverse=True)
    binned = binned_columns(sources, forms, fenced)
    bins, edges = bin_columns(values, binned, weighted, n_threads)
    bins, bundles = bundle_indicators(bins, edges, source_codes[binned], None if forms is None else forms[binned])
    return Columns(values, source_codes, binned, bins, edges, lower, upper, bundles=bundles,
                   ranks=rank_columns(sources, forms))


def rank_columns(sources: Indices, forms: NDArray[np.str_] | None) -> Indices:
    """The columns that are ranks of a column that stands beside them in its own units."""
    if forms is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero((forms == "rank") & np.isin(sources, sources[forms == "standard"]))


def standardise(rows: NDArray[Any], scaling: Scaling, out: Single) -> None:
    """Write rows column by column, in units of the scaling, block by block."""
    step = max(1, _BLOCK_SIZE // rows.shape[1])
    has_units = not scaling.center.any() and (scaling.inverse_scale == 1).all()  # as mapped columns have
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        units = rows[block]
        if not has_units:
            with np.errstate(over="ignore"):  # which is clipped
                units = (units - scaling.center) * scaling.inverse_scale
        np.clip(units.T, -_LARGEST_VALUE, _LARGEST_VALUE, out=out[:, block], casting="same_kind")


def clipping_bounds(low: Double, high: Double, values: Single, scaling: Scaling, extrapolates: Mask, fenced: Mask,
                    weighted: slice | Indices = slice(None)) -> tuple[Double, Double]:
    """What columns are clipped to, so that no row that is scored is far outside of the training rows.

    From the range of columns, and values (n_columns, n_rows) in units of the scaling.  A linear function goes on beyond
    the training range, for (2 IQR)^2 / width, with IQR the distance of the quartiles: for as long again where values
    are spread evenly, as times are, for little where few rows are far out, and in any case for no more than the width.
    Columns that are not to be extrapolated are clipped to the range, and so are all without linear functions: a cosine
    that was learned within it says nothing beyond.

    Fenced columns end three IQR from their quartiles, within the training rows too: the sum of many lines is far from
    all targets where a row is far out in all of its columns.  No normal distribution is cut, nor a column without IQR.
    """
    if not (extrapolates | fenced).any():
        return low, high
    quartiles = np.array([np.quantile(evenly_spaced(column[weighted]), (0.25, 0.75)) for column in values])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # of constant columns, and near 1e308
        half_width = 0.5 * high - 0.5 * low
        share = np.nan_to_num((quartiles[:, 1] - quartiles[:, 0]) / (half_width * scaling.inverse_scale), posinf=1)
        margin = 2 * np.minimum(share**2, 1) * half_width * extrapolates
        first, third = quartiles.T  # in units of the columns: a map, without which none is fenced, scales them itself
        reach = np.where(fenced & (third > first), _FENCE * (third - first), UNREACHED)
        return np.maximum(low - margin, first - reach), np.minimum(high + margin, third + reach)


def assign_folds(strata: NDArray[Any], n_folds: float, rng: "np.random.Generator") -> Indices:
    """The fold of each row: a fold has 1 / n_folds of the rows of each stratum.

    Every n_folds-th row of the shuffled strata is in fold 0, the next one in fold 1 and so on.  Where n_folds is not
    whole, rows numbered int(n_folds) are left over: they are in none of the int(n_folds) folds.
    """
    order = np.lexsort((rng.random(len(strata)), strata))
    places = np.arange(len(strata)) + rng.integers(int(n_folds))
    starts = np.ceil(np.arange(int(places[-1] / n_folds) + 2) * n_folds).astype(np.intp)
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = places - starts[np.searchsorted(starts, places, side="right") - 1]
    return folds


class RowOrder(NamedTuple):
    """The order of the rows of a bag: training rows, then validation rows, each padded to whole tiles."""

    rows: Indices  # index of the row, any where `used` is False
    used: Mask
    n_train: int  # padded
    halves: Mask | None = None  # of validation rows with padding: which of two halves each is in

    @classmethod
    def of(cls, training: Indices, validation: Indices, rng: "np.random.Generator",
           parts: Indices | None = None, in_order: bool = False) -> Self:
        """Training rows in random order, and validation rows, whose `parts`, such as groups, are in one half each."""
        halves = np.zeros(-(-len(validation) // TILE) * TILE, dtype=bool)
        parts = np.arange(len(validation)) if parts is None else np.unique(parts, return_inverse=True)[1]
        halves[: len(parts)] = 2 * parts > parts.max(initial=0) if in_order else parts % 2 == 1
        training, validation = _padded(rng.permutation(training)), _padded(validation)
        rows = np.concatenate([training, validation])
        return cls(np.maximum(rows, 0), rows >= 0, len(training), halves)

    @classmethod
    def of_evaluation(cls, evaluation: Indices) -> Self:
        """Validation rows alone."""
        rows = _padded(evaluation)
        return cls(np.maximum(rows, 0), rows >= 0, 0)

    @property
    def n_training_rows(self) -> int:
        """Number of training rows without those of padding."""
        return int(self.used[: self.n_train].sum())

    def validation_rows(self) -> Indices:
        """The validation rows, without those of padding."""
        return self.rows[self.n_train :][self.used[self.n_train :]]

    def validation_scores(self, scores: Single) -> Single:
        """Scores of the validation rows, (n_outputs, n_validation), from those with padding."""
        return scores[:, self.used[self.n_train :]]


def _padded(rows: Indices) -> Indices:
    """Rows, and -1 up to a whole number of tiles."""
    padded = np.full(-(-len(rows) // TILE) * TILE, -1, dtype=np.intp)
    padded[: len(rows)] = rows
    return padded


class Losses(NamedTuple):
    """Mean losses of the rows of a bag."""

    train: float
    validation: float
    evaluation: tuple[float, ...] = ()  # of additional evaluation sets

    @classmethod
    def of_sums(cls, sums: Sequence[float], totals: Sequence[float]) -> Self:
        """Losses of training and validation rows from their sums and total weights."""
        train_total, validation_total = totals
        return cls(sums[0] / train_total if train_total else 0.0,
                   sums[1] / validation_total if validation_total else 0.0)


class BaggedRows(Protocol):
    """The rows of a bag and their scores: here (`LocalRows`) or in partitions (`PartitionedRows`).

    Boosting needs nothing of rows but these steps and the sample that a term is fitted to, and does not know where they
    are.  Each sum over rows is added in a fixed order, so that neither threads nor machines change a bit.
    """

    losses: Losses
    halves: Mask | None  # which half of the validation rows each is in, with padding; None where rows are many
    half_sums: tuple[float, float]  # of the losses of both halves, up to a constant
    has_unit_hessian: bool  # of the loss

    def set_direction(self, term: Term) -> None:
        """Let the next steps go along a term."""

    def best_step(self) -> float:
        """The multiple of the direction to add, by the loss of the training rows."""

    def add_step(self, step: float) -> Losses:
        """Add step times the direction to the scores; return the losses of the new scores."""

    @property
    def scores(self) -> Any:
        """What training goes on from with `warm_start`; None where rows are in partitions."""

    def restore(self, scores: Any) -> Losses:
        """Take the `scores` that the same rows had before, which stay as they are; return their losses."""

    @property
    def sample(self) -> "LocalRows":
        """The rows that terms are fitted to."""

    def loss_after_unit_step(self) -> Losses:
        """The losses after a step of 1, which is taken back."""

    def leaf_sums(self, columns: Indices, threshold_bins: Indices) -> Double:
        """Sums of gradient and Hessian over the training rows in each leaf of a tree, (2, n_leaves, n_outputs)."""

    def moments(self, columns: Indices) -> tuple[float, Double, Double]:
        """Sum of the weights of training rows, and weighted sums and products of some columns (lower triangle)."""

    def gradient_products(self, columns: Indices) -> tuple[Double, Double]:
        """Products of the gradient with some columns, (n_outputs, n_columns), and sums of the gradient."""

    def validation_scores(self) -> Any:
        """A copy of the scores of the validation rows, or what stands for it."""


class LocalRows:
    """Rows of a bag that are here, training rows first, with their scores, gradient and Hessian."""

    def __init__(self, data: LossData, columns: Single, bins: Bins, weight: Single, scores: Single, targets: Single,
                 n_train: int, least_losses: tuple[float, float] = (0.0, 0.0), n_threads: int = 1,
                 cells: Any = None, halves: Mask | None = None) -> None:
        self.n_threads, self.cells = n_threads, cells
        self.columns, self.bins, self.weight, self.scores, self.n_train = columns, bins, weight, scores, n_train
        self._targets, self._least_losses = targets, least_losses
        self.directions, self.gradient, self.hessian = np.zeros((3, *self.scores.shape), dtype=np.float32)
        self._kernel, self._parameters, self._step_unit = data.loss.kernel, data.parameters, data.loss.step_unit
        self.has_unit_hessian, self._weights_by_hessian = data.loss.facts.has_unit_hessian, data.loss.link == "log"
        self.totals = [float(np.sum(part, dtype=np.float64)) for part in np.split(self.weight, [self.n_train])]
        self.halves, self._half_weight = halves, self.weight[:0]
        if halves is not None:
            self._half_weight = self.weight.copy()
            self._half_weight[: self.n_train] = 0
            self._half_weight[self.n_train :][~halves] = 0
            if self._half_weight.sum() in (0, self.weight[self.n_train :].sum()):  # all are in one of them
                self.halves, self._half_weight = None, self.weight[:0]
        self.losses = self.add_step(0.0)

    @classmethod
    def of(cls, columns: Columns, data: LossData, weights: Double, order: RowOrder, n_threads: int = 1) -> Self:
        """Rows in some order, before any round."""
        rows, used = order.rows, order.used
        weight = np.where(used, weights[rows], 0.0).astype(np.float32)
        scores = np.ascontiguousarray(np.where(used, data.initial_scores[:, rows], np.float32(0)))
        least = np.where(used, weights[rows] * data.least_losses[rows], 0.0)
        training, validation = (float(part.sum()) for part in np.split(least, [order.n_train]))
        has_halves = order.halves is not None and len(order.halves) <= _MOST_HALVED
        return cls(data, take_rows(columns.values, rows), take_rows(columns.bins, rows), weight, scores,
                   data.targets[rows], order.n_train, (training, validation), n_threads,
                   None if columns.sparse is None else columns.sparse.of_bag(order),
                   order.halves if has_halves else None)

    @property
    def sample(self) -> "LocalRows":
        """The rows that terms are fitted to: all."""
        return self

    def set_direction(self, term: Term) -> None:
        """Let the next steps add multiples of a term."""
        term.evaluate(self, self.directions)

    def best_step(self) -> float:
        """The multiple of the direction of lowest training loss, by Newton's method from 1."""
        return boosting.best_step(
            self._kernel, self._parameters, self.scores, self.directions, 1.0, self._targets, self.weight, self.n_train,
            _NEWTON_ITERATIONS, self._step_unit * _LARGEST_MOVE, self._step_unit * _SMALLEST_MOVE, self.n_threads)

    def add_step(self, step: float) -> Losses:
        """Add a multiple of the direction to the scores; gradient, Hessian and losses become those there."""
        sums = boosting.update(
            self._kernel, self._parameters, self.scores, self.directions, step, self._targets, self.weight,
            self._half_weight, self.n_train, self.gradient, self.hessian, self.n_threads)
        self.sums = sums[0] - self._least_losses[0], sums[1] - self._least_losses[1]
        self.half_sums = sums[1] - sums[2], sums[2]
        self.losses = Losses.of_sums(self.sums, self.totals)
        return self.losses

    def loss_after_unit_step(self) -> Losses:
        """The losses after a step of 1, which is taken back."""
        losses = self.add_step(1.0)
        self.add_step(-1.0)
        return losses

    def leaf_sums(self, columns: Indices, threshold_bins: Indices) -> Double:
        """Sums of gradient and Hessian in each leaf."""
        sums = np.empty((len(self.scores), 1 << len(columns), 2))
        boosting.leaf_sums(self.bins, columns, threshold_bins, self.gradient, self.hessian, self.n_train,
                           np.empty(self.n_train, dtype=np.uint16), sums, self.n_threads)
        return np.ascontiguousarray(sums.T)

    def moments(self, columns: Indices) -> tuple[float, Double, Double]:
        """Sums of weights, columns and products of columns."""
        gram, sums = np.empty((len(columns), len(columns))), np.empty((1, len(columns)))
        boosting.column_gram(self.columns, columns, self.weight, self.n_train, gram, self.n_threads)
        boosting.column_products(self.columns, columns, self.weight[None], self.n_train, sums, self.n_threads)
        return self.totals[0], sums[0], gram

    def gradient_products(self, columns: Indices) -> tuple[Double, Double]:
        """Products of the gradient with columns, and its sums."""
        products = np.empty((len(self.gradient), len(columns)))
        boosting.column_products(self.columns, columns, self.gradient, self.n_train, products, self.n_threads)
        return products, self.gradient[:, : self.n_train].sum(axis=1, dtype=np.float64)

    def validation_scores(self) -> Single:
        """A copy of the scores of the validation rows."""
        return self.scores[:, self.n_train :].copy()

    def restore(self, scores: Single) -> Losses:
        """Go on from these scores, which stay as they are."""
        self.scores[:], self.directions[:] = scores, 0
        return self.add_step(0.0)

    @property
    def fourier_weight(self) -> Single:
        """Weights of the rows in the least squares of Fourier terms."""
        if not self._weights_by_hessian:
            return self.weight
        return self.hessian[0] if len(self.hessian) == 1 else self.hessian.mean(axis=0)

    def block(self, rows: slice) -> tuple[NDArray[Any], ...]:
        """A copy of some of the rows: what `LocalRows` is made of, up to the targets."""
        return (self.columns[:, rows].copy(), self.bins[:, rows].copy(), self.weight[rows].copy(),
                self.scores[:, rows].copy(), self._targets[rows].copy())


class Table(NamedTuple):
    """The rows of `fit`, then those of each evaluation set, as all bags read them."""

    columns: Columns
    scaling: Scaling  # the units of columns
    raw_columns: Indices  # (n_columns,) which column of the raw table each is made of
    n_raw_columns: int
    targets: Double  # (n_targets, n_rows) class indices or values
    weights: Double  # (n_rows,) those of copies of a row are with the first
    data: LossData
    learned: Indices  # rows of `fit` of weight > 0
    evaluation: Sequence[Indices]  # the same of each evaluation set, of which the first decides when rounds end
    groups: Indices | None  # of the rows of `fit`
    n_jobs: int | None

    def rows(self, order: RowOrder, n_threads: int) -> LocalRows:
        """Rows of a bag in some order, before any round."""
        n_threads = min(n_threads, check_n_threads(self.n_jobs, len(order.rows) * len(self.columns.values)))
        return LocalRows.of(self.columns, self.data, self.weights, order, n_threads)

    def with_pairs(self, pairs: Indices) -> Self:
        """The same, where terms may read pairs of columns too."""
        assert self.columns.constraints is not None
        return self._replace(columns=self.columns._replace(constraints=self.columns.constraints.with_pairs(pairs)))


def take_rows(columns: NDArray[Any], rows: Indices) -> NDArray[Any]:
    """Some rows of columns, one column after the other, so that a signal need not wait for all."""
    out = np.empty((len(columns), len(rows)), dtype=columns.dtype)
    for column, place in zip(columns, out, strict=True):
        column.take(rows, out=place, mode="clip")
    return out
