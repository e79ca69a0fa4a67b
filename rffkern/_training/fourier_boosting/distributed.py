"""Fourier boosting on rows in partitions: work on the machines of the partitions, and the fit that adds up their sums.

Rounds fit terms to a sample of the training rows, equal shares of all partitions, which comes here once for each bag
and takes its steps.  The partitions are asked for sums over all rows.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.links import quantiles_of
from ..._estimator.monitor import TimeLimit, check_callback
from ..._native.array_types import Double, Indices, Mask, NDArray, Single
from ..._protocol.arguments import check_rng
from ..._rows.copies import merge_copies
from ..._rows.scaling import Scaling, no_scaling, scaling_from
from ..._rows.tiles import TILE
from ..._rows.training_rows import LabelledRows
from ...errors import InvalidInputError
from ..distributed.partition import Partition
from ..distributed.partitions import (
    ColumnSums,
    PartitionBackend,
    PartitionedTable,
    bytes_of_all_rows,
    check_tables,
    refuse_values,
)
from .bags import Callback, train_bags
from .binning import bin_edges, binned_columns, find_bins
from .boosting import BagState
from .calibration import (
    OutOfFoldRows,
    ScoreSums,
    intercept_shifts,
    inverse_temperature,
    out_of_fold_record,
    quantile_shifts,
)
from .constraints import constraints_of
from .fit import describe_columns, function_of_bags
from .losses import InitialScores, Loss, LossData, loss_of, targets_in_units, unit_of_means
from .pairs import strongest_pairs
from .parameters import LOG_LINKS, resolve_hyperparameters
from .stacking import reason_not_to_stack, stack_kernel_ridge
from .terms import Term
from .training_rows import (
    Columns,
    LocalRows,
    Losses,
    RowOrder,
    Table,
    assign_folds,
    clipping_bounds,
    rank_columns,
    standardise,
    take_rows,
)

MeanUnits = tuple[Double, Double, float, str] | None  # of a loss of means: center, inverse scale, unit, its name
Fold = tuple[int, float, int] | None  # seed of the folds, their number and the fold that a bag holds out

# Rows of all partitions that edges of bins, initial scores, and calibration are estimated from at most.
_BIN_ROWS, _TARGET_ROWS, _CALIBRATION_ROWS = 1 << 16, 1 << 18, 1 << 17

# A tree is grown on so many times the rows of a descent, for its leaves are thousands.  The sample has so many rows, or
# fewer where columns are many, but not fewer than a descent.
_TREE_FACTOR, _SAMPLE_NUMBERS = 8, 1 << 25

_ACCEPTED: dict[str, list[Any]] = {"warm_start": [False], "validation": ["random"]}


def fit_partitions(model: Any, training: PartitionBackend, evaluation: Mapping[str, PartitionBackend],
                   callback: Callback | None, column_map: Any = None) -> None:
    """Fit a Fourier boosting model on rows in partitions, mapped by a map if there is one."""
    model._check_params()
    limit = TimeLimit(model.max_seconds)
    refuse_values(model, _ACCEPTED)
    check_callback(callback)
    names, table, center, scale, inverse_scale, classes, sets, *_ = check_tables(model, training, evaluation,
                                                                                 column_map)
    n_rows, n_features = sum(table.n_rows), table.n_features
    n_bytes = bytes_of_all_rows(n_rows, n_features)
    if model.kernel_ridge is True and n_bytes > training.memory:
        raise InvalidInputError(
            "kernel_ridge must be False or 'auto' where this process has no memory for all rows, which kernel ridge "
            f"regression keeps, got True: {n_rows} rows of {n_features} columns take {n_bytes / 1e9:.3g} GB, and it "
            f"has {training.memory / 1e9:.3g}")
    rng = check_rng(model.random_state)
    loss = loss_of(model, None if classes is None else len(classes), center.size)
    mean_units = None
    if classes is None and model.loss in LOG_LINKS:
        unit = unit_of_means(center)
        mean_units = center, inverse_scale, unit, model.loss
        center, scale = np.log([unit]), np.ones(1)

    # Partitions take their rows column by column.
    target_seed, column_seed, calibration_seed = rng.integers(1 << 62, size=3).tolist()
    values, totals = zip(*table.query("map_rows", summary_rows, loss, mean_units, table.shares(_TARGET_ROWS),
                                       target_seed), strict=True)
    initial = loss.initial_scores(np.concatenate(values, axis=1), np.concatenate(totals))
    sums = ColumnSums(table, "X")
    sources, forms, n_raw_columns, extrapolates, fenced = describe_columns(model, column_map, n_features)
    scaling = scaling_from(sums, standardize=True) if column_map is None else no_scaling(n_features)
    binned = binned_columns(sources, forms, fenced)
    sample = np.concatenate(table.query("map_rows", sample_columns, scaling, table.shares(_BIN_ROWS), column_seed),
                            axis=1)
    lower, upper = clipping_bounds(*sums.column_range(), sample, scaling, extrapolates, fenced)
    edges = tuple(bin_edges(sample[j]) for j in binned)
    columns = Columns(np.empty((n_features, 0), np.float32), np.unique(sources, return_inverse=True)[1], binned,
                      np.empty((len(binned), 0), np.uint8), edges, lower, upper,
                      constraints_of(model, names, column_map, sources, forms, n_raw_columns, classes),
                      ranks=rank_columns(sources, forms))
    evaluation_tables = [each for _, each in sets]
    for each in (table, *evaluation_tables):
        each.command("convert", BoostedPartition, loss, mean_units, initial, scaling, columns,
                     each.shares(_CALIBRATION_ROWS), calibration_seed)
    data = loss.data(np.empty((center.size if classes is None else 1, 0)), np.empty(0), initial)  # of no rows
    sizes = resolve_hyperparameters(model, n_rows, loss.facts.rates, len(data.intercept))

    # Folds and bags.
    seeds, states, bag_folds = rng.integers(1 << 62, size=3), [], list[tuple[int, int, Fold]]()
    fold_seeds = np.random.default_rng(seeds[0]).integers(1 << 62, size=sizes.n_bags)
    for bag, seed in enumerate(rng.integers(1 << 62, size=sizes.n_bags).tolist()):
        group, fold = divmod(bag, int(sizes.n_folds))
        states.append(BagState(np.random.default_rng(seed)))
        bag_folds.append((bag, seed, None if evaluation else (int(fold_seeds[group]), sizes.n_folds, fold)))

    def open_rows(bag: int, _: int) -> tuple[PartitionedRows, list[TableRows]]:
        validation, *others = evaluation_tables or [None]
        return (PartitionedRows(table, validation, bag_folds[bag], data, sizes.max_samples),
                [TableRows(each, bag_folds[bag], True) for each in others])

    common = Table(columns, scaling, sources, n_raw_columns, np.empty((1, 0)), np.empty(0), data,
                   np.empty(0, dtype=np.intp), (), None, model.n_jobs)  # without rows, which stay where they are
    if columns.constraints is not None and columns.constraints.n_pairs:
        common = common.with_pairs(strongest_pairs(model, columns, sizes, open_rows(0, 1)[0], limit))
    bags, was_stopped = train_bags(model, common.columns, sizes, states, open_rows, callback, limit,
                                   one_by_one=True)

    # Calibration, and kernel ridge regression where it improves the scores of out-of-fold rows.
    validation = evaluation_tables[0] if evaluation_tables else table
    parts, *of_rows = zip(*validation.query("out_of_fold"), strict=True)
    score_sums = ScoreSums.joined(parts)
    targets, initial_scores, weights = (np.concatenate(each, axis=-1) for each in of_rows)
    means = score_sums.means()
    scores = means.astype(np.float32)
    factor = inverse_temperature(data, scores, targets, weights, n_rows)
    quantiles = quantile_shifts(data, scores, weights)
    timed_out = not (was_stopped or all(bag.is_complete for bag in bags))
    reason = reason_not_to_stack(model, loss, columns, n_rows, was_stopped or timed_out, n_bytes <= training.memory)
    held = common._replace(data=data._replace(targets=targets, initial_scores=initial_scores), weights=weights)
    orders, rows = list[RowOrder](), np.arange(len(weights))  # of out-of-fold rows
    if reason is None:
        held, orders, rows = _rows_here(common, table, validation, [part.rows for part in parts],
                                        [seed for _, seed, _ in bag_folds])
        is_counted = held.weights[rows] > 0
        rows, means = rows[is_counted], means[:, is_counted]
    out_of_fold = OutOfFoldRows(held.data, rows, held.weights[rows], means.astype(np.float32), means,
                                score_sums.excess_variance(len(bags)), factor)
    stack = stack_kernel_ridge(model, reason, held, bags, orders, sizes, out_of_fold, limit, training.solve)
    timed_out = timed_out or stack.timed_out
    judged = out_of_fold.some(stack.judged)
    if not evaluation:
        shifts = intercept_shifts(judged.data, stack.scores(judged.unseen, judged), judged.rows, judged.weights)
        stack = stack._replace(shifts=stack.shifts + shifts)
    record = out_of_fold_record(stack.scores(judged.unseen + quantiles[:, None], judged),
                                stack.weight_of_bags**2 * judged.excess, judged, center, scale, quantiles_of(model),
                                bool(evaluation))

    # The mean of the bags and kernel ridge regression, as one function of raw rows.
    expansion, attributes = function_of_bags(common, bags, np.full(len(bags), 1 / len(bags)), center, scale, quantiles,
                                             stack, [name for name, _ in sets] or ["valid_0"])
    attributes |= {"timed_out_": timed_out, "_out_of_fold": record}
    model._keep(Fitted(names, classes, expansion, attributes, column_map=column_map))


def _rows_here(common: Table, table: PartitionedTable, validation: PartitionedTable, held_out: Sequence[Indices],
               seeds: Sequence[int]) -> tuple[Table, list[RowOrder], Indices]:
    """All training rows, and those of an evaluation set that have scores, as kernel ridge regression reads them.

    Of copies, where they are many, the first has the weight of all, and the others have none.

    Parameters
    ----------
    common : Table
        Without rows.
    table, validation : PartitionedTable
        One and the same, or training rows and an evaluation set.
    held_out : sequence of indices
        The rows of each partition of `validation` that have scores.
    seeds : sequence of int, one for each bag

    Returns
    -------
    rows : Table
    orders : list of RowOrder, one for each bag
    out_of_fold : indices of the rows that have scores
    """
    parts = table.query("columns_and_targets", None)
    starts = np.cumsum([0, *table.n_rows])
    n_rows = starts[-1]
    if validation is table:
        out_of_fold = np.concatenate([start + rows for start, rows in zip(starts, held_out, strict=False)])
    else:
        parts += validation.query("columns_and_targets", dict(zip(validation.numbers, held_out, strict=True)))
        out_of_fold = np.arange(n_rows, n_rows + sum(map(len, held_out)))
    *arrays, validation_rows = zip(*parts, strict=True)
    values, targets, initial_scores, weights = (np.concatenate(each, axis=-1) for each in arrays)
    every = np.arange(n_rows)
    weights = merge_copies(values, np.concatenate([targets[None], initial_scores]).astype(np.float64), weights, every)
    learned = every[weights[:n_rows] > 0]
    orders = []
    for bag, seed in enumerate(seeds):
        held = out_of_fold
        if validation is table:
            held = np.concatenate([start + of_bags[bag]
                                   for start, of_bags in zip(starts, validation_rows, strict=False)])
        orders.append(RowOrder.of(np.setdiff1d(learned, held, assume_unique=True), held[weights[held] > 0],
                                  np.random.default_rng(seed)))
    data = common.data._replace(targets=targets, initial_scores=initial_scores)
    evaluation = () if validation is table else (out_of_fold,)
    return (common._replace(columns=common.columns._replace(values=values), weights=weights, data=data, learned=learned,
                            evaluation=evaluation), orders, out_of_fold)


# On the machines of partitions.


def targets_of(part: Partition, mean_units: MeanUnits) -> Double:
    """Class indices (1, n_rows), or values (n_outputs, n_rows), as the loss takes them."""
    rows = part.rows
    if isinstance(rows, LabelledRows):
        return rows.codes[None].astype(np.float64)
    if mean_units is None:
        return np.ascontiguousarray(rows.values.T)
    return np.ascontiguousarray(targets_in_units(rows.values, *mean_units, part.y_name).T)


def summary_rows(part: Partition, loss: Loss, mean_units: MeanUnits, shares: Mapping[int, int],
                 seed: int) -> tuple[Double, Double]:
    """Targets and weights of few rows with the initial scores of all."""
    return loss.summary_rows(targets_of(part, mean_units), part.rows.weights.each, _sample(part, shares, seed))


def sample_columns(part: Partition, scaling: Scaling, shares: Mapping[int, int], seed: int) -> Single:
    """Columns of some rows in units of the scaling, (n_columns, n_sampled)."""
    return _standardised(part.rows.X[_sample(part, shares, seed)], scaling)


def _sample(part: Partition, shares: Mapping[int, int], seed: int) -> Indices:
    return draw_rows(len(part.rows.X), shares[part.number], np.random.default_rng([seed, part.number]))


def draw_rows(n_rows: int, n_drawn: int, rng: "np.random.Generator") -> Indices:
    """Indices of some of the rows, or of all where there are not more, sorted."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, n_drawn, replace=False))


def _standardised(X: NDArray[Any], scaling: Scaling) -> Single:
    out = np.empty(X.shape[::-1], dtype=np.float32)
    standardise(X, scaling, out)
    return out


class BoostedPartition:
    """Rows of a partition column by column, with their scores in the bag that is trained."""

    def __init__(self, part: Partition, loss: Loss, mean_units: MeanUnits, initial: InitialScores, scaling: Scaling,
                 columns: Columns, calibration_shares: Mapping[int, int], calibration_seed: int) -> None:
        self._number, self._weights = part.number, np.array(part.rows.weights.each)
        self._n_calibration, self._calibration_seed = calibration_shares[part.number], calibration_seed
        values = _standardised(part.rows.X.clip(columns.lower, columns.upper), scaling)
        # Without rows while a bag is trained, whose rows are the same in another order: they are kept once.
        self._columns = columns._replace(values=values, bins=find_bins(values, columns.binned, columns.edges))
        self._data = loss.data(targets_of(part, mean_units), self._weights, initial)
        # `LocalRows` of the bag that is trained, their `RowOrder`, and the index of the bag.
        self._rows: Any = None
        self._order: Any = None
        self._bag = 0
        self._validation: dict[int, tuple[Indices, Single]] = {}  # validation rows and their scores, by bag

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled.  The scores are made anew from the commands."""
        return vars(self) | {"_columns": self._all_columns(), "_rows": None, "_order": None, "_validation": {}}

    def _all_columns(self) -> Columns:
        """The columns in the order of the partition."""
        if self._rows is None:
            return self._columns
        used, place = np.flatnonzero(self._order.used), np.empty(len(self._weights), dtype=np.intp)
        place[self._order.rows[used]] = used
        return self._columns._replace(values=take_rows(self._rows.columns, place),
                                      bins=take_rows(self._rows.bins, place))

    @property
    def has_scores(self) -> bool:
        """Whether there are scores."""
        return self._rows is not None

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return 4 * len(self._columns.values) * len(self._weights)

    # Commands.

    def begin(self, bag: int, seed: int, fold: Fold, is_evaluation: bool) -> None:
        """Take the rows of a bag, before its first round: a fold is held out, or all rows are."""
        columns, rows = self._all_columns(), np.arange(len(self._weights))
        self._rows = None  # before its successor takes memory
        is_validation = np.full(len(rows), is_evaluation)
        if fold is not None and len(rows) > 1:  # one row cannot be held out
            fold_seed, n_folds, held_out = fold
            rng = np.random.default_rng([fold_seed, self._number])
            is_validation |= assign_folds(self._data.strata, n_folds, rng) == held_out
        order_rng = np.random.default_rng([seed, self._number])
        self._bag = bag
        self._order = RowOrder.of(rows[~is_validation], rows[is_validation], order_rng)
        self._rows = LocalRows.of(columns, self._data, self._weights, self._order)
        self._columns = columns._replace(values=columns.values[:, :0].copy(), bins=columns.bins[:, :0].copy())

    def add_step(self, term: Term, step: float) -> None:
        """Add step times a term to the scores."""
        self._rows.set_direction(term)
        self._rows.add_step(step)

    def keep_validation_scores(self) -> None:
        """Keep the scores of the validation rows as they are now, in place of earlier ones of the bag."""
        scores = self._order.validation_scores(self._rows.validation_scores())
        self._validation[self._bag] = self._order.validation_rows(), scores

    # Queries.

    def n_rows_and_totals(self) -> tuple[int, tuple[float, float]]:
        """Number of training rows, and sums of the weights of training and validation rows."""
        return self._order.n_training_rows, (self._rows.totals[0], self._rows.totals[1])

    def loss_sums(self) -> tuple[float, float]:
        """Sums of the losses of training and validation rows."""
        return self._rows.sums

    def sample(self, shares: Mapping[int, int]) -> tuple[NDArray[Any], ...]:
        """So many of the training rows, the first, which are in random order."""
        return self._rows.block(slice(shares[self._number]))

    def loss_sums_after_unit_step(self, term: Term) -> tuple[float, float]:
        """Sums of losses after a step of 1 along a term, which is taken back."""
        rows = self._rows
        scores = rows.scores.copy()
        rows.set_direction(term)
        rows.add_step(1.0)
        sums = rows.sums
        rows.restore(scores)
        return sums

    def leaf_sums(self, columns: Indices, threshold_bins: Indices) -> Single:
        """Sums of gradient and Hessian over the training rows in each leaf of a tree, (2, n_leaves, n_outputs).

        In single precision, in which leaves are most of what travels.
        """
        return self._rows.leaf_sums(columns, threshold_bins).astype(np.float32)

    def moments(self, columns: Indices) -> Double:
        """Weighted sums over the training rows: products of some columns, the columns, and 1."""
        total, sums, gram = self._rows.moments(columns)
        return np.concatenate([gram.ravel(), sums, [total]])

    def gradient_products(self, columns: Indices) -> Double:
        """Products of the gradient with some columns and with 1, summed over the training rows."""
        products, sums = self._rows.gradient_products(columns)
        return np.concatenate([products, sums[:, None]], axis=1)

    def columns_and_targets(self, some: Mapping[int, Indices] | None
                            ) -> tuple[Single, Single, Single, Double, dict[int, Indices]]:
        """Columns, targets, initial scores and weights of all rows or some, and the validation rows of bags."""
        rows = np.arange(len(self._weights)) if some is None else some[self._number]
        return (take_rows(self._all_columns().values, rows), self._data.targets[rows],
                self._data.initial_scores[:, rows], self._weights[rows],
                {bag: validation for bag, (validation, _) in self._validation.items()})

    def out_of_fold(self) -> tuple[ScoreSums, Single, Single, Double]:
        """Sums of scores, targets, initial scores and weights of validation rows of the bags; of many, some."""
        sums = ScoreSums.of(self._validation.values(), len(self._data.intercept), len(self._weights))
        rng = np.random.default_rng([self._calibration_seed, self._number])
        some = draw_rows(len(sums.rows), self._n_calibration, rng)
        rows = sums.rows[some]
        return (sums.of_rows(rows), self._data.targets[rows], self._data.initial_scores[:, rows], self._weights[rows])


# Where the fit runs.


class TableRows:
    """The rows of a table in partitions, which follow the rounds of a bag: all its rows, or an evaluation set alone."""

    scores = None  # stay where they are

    def __init__(self, table: PartitionedTable, bag_fold: tuple[int, int, Fold], is_evaluation: bool) -> None:
        self.table = table
        table.command("begin", *bag_fold, is_evaluation)
        n_training_rows, totals = zip(*table.query("n_rows_and_totals"), strict=True)
        self.n_training_rows: Sequence[int] = n_training_rows
        self.totals = _add_pairs(totals)
        self._term: Term | None = None
        self.losses = self.add_step(0.0)

    def set_direction(self, term: Term) -> None:
        """Let the next steps add multiples of a term."""
        self._term = term

    def add_step(self, step: float) -> Losses:
        """Add a multiple of the term to the scores; return the new losses."""
        if step:
            self.table.command("add_step", self._term, step)
        self.sums = _add_pairs(self.table.query("loss_sums"))
        self.losses = Losses.of_sums(self.sums, self.totals)
        return self.losses

    def sums_after_unit_step(self) -> list[float]:
        """Sums of the losses after a step of 1, which is taken back."""
        return _add_pairs(self.table.query("loss_sums_after_unit_step", self._term))


def _add_pairs(pairs: Sequence[Sequence[float]]) -> list[float]:
    """Sums of the first and of the second numbers."""
    return [math.fsum(each) for each in zip(*pairs, strict=True)]


class PartitionedRows:
    """Training and validation rows of a bag in partitions, or in two tables: `BaggedRows`.

    Terms are fitted to a sample of the training rows, equal shares of all partitions; it is here and takes all steps.
    """

    scores = None  # stay where they are
    halves: Mask | None = None  # rows are many
    half_sums = 0.0, 0.0

    def __init__(self, table: PartitionedTable, validation: PartitionedTable | None,
                 bag_fold: tuple[int, int, Fold], data: LossData, max_samples: int) -> None:
        self._table, self.has_unit_hessian = table, data.loss.facts.has_unit_hessian
        tables = [table] if validation is None else [table, validation]
        self._parts = [TableRows(each, bag_fold, each is validation) for each in tables]
        n_most = max(max_samples, min(_TREE_FACTOR * max_samples, _SAMPLE_NUMBERS // table.n_features))
        self.sample = _joined(table.query("sample", table.shares(n_most, self._parts[0].n_training_rows)), data,
                              np.random.default_rng(bag_fold[1]))
        self.losses = self._losses_of([part.sums for part in self._parts])

    def set_direction(self, term: Term) -> None:
        """Let the next steps add multiples of a term."""
        self.sample.set_direction(term)
        for part in self._parts:
            part.set_direction(term)

    def best_step(self) -> float:
        """The multiple of lowest loss on the sample."""
        return self.sample.best_step()

    def add_step(self, step: float) -> Losses:
        """Add a multiple of the term to the scores."""
        if step:
            self.sample.add_step(step)
        for part in self._parts:
            part.add_step(step)
        self.losses = self._losses_of([part.sums for part in self._parts])
        return self.losses

    def loss_after_unit_step(self) -> Losses:
        """The losses after a step of 1, which is taken back."""
        return self._losses_of([part.sums_after_unit_step() for part in self._parts])

    def leaf_sums(self, columns: Indices, threshold_bins: Indices) -> Double:
        """Sums of gradient and Hessian in each leaf."""
        return self._table.sum_over_rows("leaf_sums", columns, threshold_bins)

    def moments(self, columns: Indices) -> tuple[float, Double, Double]:
        """Sums of weights, columns and products of columns."""
        sums, size = self._table.sum_over_rows("moments", columns), len(columns)
        return float(sums[-1]), sums[size * size : -1], sums[: size * size].reshape(size, size)

    def gradient_products(self, columns: Indices) -> tuple[Double, Double]:
        """Products of the gradient with columns, and its sums."""
        sums = self._table.sum_over_rows("gradient_products", columns)
        return sums[:, :-1].copy(), sums[:, -1]

    def validation_scores(self) -> None:
        """Let the scores of the validation rows be kept where they are."""
        for part in self._parts:
            part.table.command("keep_validation_scores")

    def restore(self, scores: Any) -> Losses:
        """Bags go on from no earlier fit."""
        raise NotImplementedError

    def _losses_of(self, sums: Sequence[Sequence[float]]) -> Losses:
        """The losses of all rows from the sums of the parts."""
        return Losses.of_sums(_add_pairs(sums), _add_pairs([part.totals for part in self._parts]))


def _joined(samples: Sequence[tuple[NDArray[Any], ...]], data: LossData, rng: "np.random.Generator") -> LocalRows:
    """Rows of all partitions, in random order, padded to whole tiles by rows of weight 0."""
    columns, bins, weight, scores, targets = (np.concatenate(each, axis=-1) for each in zip(*samples, strict=True))
    n_rows = len(weight)
    order = np.concatenate([rng.permutation(n_rows), np.zeros(-n_rows % TILE, dtype=np.intp)])
    weight = weight[order]
    weight[n_rows:] = 0
    return LocalRows(data, take_rows(columns, order), take_rows(bins, order), weight, take_rows(scores, order),
                     targets[order], len(order))
