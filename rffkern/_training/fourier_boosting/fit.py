"""The whole algorithm, from rows to a fitted model: folds, bags, their mean, kernel ridge regression, calibration."""

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._column_map.cells import DATE
from ..._estimator.base import Fitted
from ..._estimator.checkpoints import CheckpointWriter
from ..._estimator.monitor import OutOfTime, TimeLimit, printing
from ..._estimator.training_rows import RowFingerprints, fixed_params, marks_of_sets, state_to_continue
from ..._model.expansion import Expansion
from ..._protocol.arguments import check_rng
from ..._rows.groups import Division, check_groups, group_folds, start_of_last, start_with_all_labels
from ..._rows.scaling import measure_scaling, no_scaling
from ..._rows.sparse_rows import SparseRows
from ..._rows.threads import check_n_threads
from ..._rows.training_rows import LabelledRows, Training
from ..._rows.validation import as_numeric, to_array
from ...errors import InvalidInputError
from .base_learners import BASE_LEARNERS, extrapolate
from .boosting import Bag, Callback, Checkpoint, train_again, train_bags
from .calibration import excess_variance, inverse_temperature, mix_bags, out_of_fold_record, quantile_shifts
from .constraints import check_constraints, constraints_of
from .ensemble import mean_of_bags
from .eval_metric import check_eval_metric, validation_metrics
from .losses import in_units_of_mean, loss_of
from .pairs import strongest_pairs
from .parameters import LOG_LINKS, KernelRidgeReport, Reason, reason_not_to_try, resolve_hyperparameters
from .sparse_columns import dense_training
from .stacking import stack_kernel_ridge, without_kernels
from .training_rows import (
    Columns,
    LocalRows,
    Losses,
    RowOrder,
    assign_folds,
    fenced_columns,
    merge_copies,
    read_columns,
)

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class WarmStart(NamedTuple):
    """What training goes on from.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowFingerprints
    orders: Sequence[RowOrder]
    checkpoints: Sequence[Checkpoint]
    pairs: Indices | None = None  # of columns that were chosen to interact

    @property
    def n_rounds(self) -> int:
        """Rounds of the bag that has most."""
        return max(len(checkpoint.steps) for checkpoint in self.checkpoints)


_STATE_TYPES = (WarmStart, RowFingerprints, RowOrder, Checkpoint, Losses,
                *(learner.term for learner in BASE_LEARNERS.values()))


def fit(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, eval_set: Any,
        callback: Callback | None, eval_metric: Callable[..., Any] | None = None) -> Fitted:
    """Train a Fourier boosting model, from the first round or from where the last `fit` ended.

    The order of random draws is documented and stays: a seed of each bag, then the folds of the rows.
    """
    check_callback(callback)
    check_eval_metric(eval_metric)
    warm_start: WarmStart | None = state_to_continue(model, _STATE_TYPES)
    limit, writer = TimeLimit(model.max_seconds), CheckpointWriter(model, _STATE_TYPES)
    division = Division(model.validation, None if groups is None or y is None else
                        check_groups(groups, len(np.atleast_1d(to_array(y, "y")))))
    training = model._check_training(X, y, sample_weight, eval_set, division=division)
    loss = loss_of(model, training.rows.n_classes if training.classes is not None else None, len(training.center))
    if training.classes is None and model.loss in LOG_LINKS:
        training = in_units_of_mean(training, model.loss)

    # Training rows and those of evaluation sets, column by column; of sparse rows the fullest columns.
    sparse = None
    if isinstance(training.rows.X, SparseRows):
        training, sparse = dense_training(training)
    names, classes, center, scale = training.names, training.classes, training.center, training.scale
    column_map, reference = training.column_map, training.reference
    set_names = [name for name, _ in training.eval_sets] or ["valid_0"]
    parts = [training.rows, *(rows for _, rows in training.eval_sets)]
    n_train, n_features = parts[0].X.shape
    in_order = model.validation == "last" and len(parts) == 1  # an evaluation set decides alone
    extrapolates = np.full(n_features, extrapolate(model.base_learners) and not in_order and sparse is None)
    sources, forms, scaling, n_raw_columns = np.arange(n_features), None, no_scaling(n_features), n_features
    if column_map is None:
        scaling = measure_scaling(parts[0].X, parts[0].weights, n_threads=model.n_jobs)
    else:
        sources, forms, n_raw_columns = column_map.sources_, column_map.forms_, column_map.n_features_in_
        extrapolates &= column_map._fitted.kinds()[sources] != DATE
    fenced = fenced_columns(sources, forms, model)
    columns = read_columns(parts, scaling, sources, forms, extrapolates, fenced,
                           n_threads=check_n_threads(model.n_jobs, parts[0].X.shape[0] * n_features))
    columns = columns._replace(constraints=constraints_of(model, names, column_map, sources, forms, n_raw_columns,
                                                          classes), sparse=sparse)
    weights = np.concatenate([part.weights.each for part in parts])
    targets = np.concatenate([np.atleast_2d(part.codes if isinstance(part, LabelledRows) else part.values.T)
                              for part in parts], axis=1)
    starts = np.cumsum([0, *(part.X.shape[0] for part in parts)])
    training_rows, *evaluation = (start + part.weights.positive() for start, part in zip(starts[:-1], parts,
                                                                                        strict=True))
    row_groups = None if groups is None else _groups_of_rows(groups, y, sample_weight, n_train)
    if model.validation == "random" and sparse is None:  # copies in order of time are rows of their own
        weights = merge_copies(columns.values, targets, weights, training_rows,
                               None if row_groups is None else row_groups[training_rows])
        training_rows = training_rows[weights[training_rows] > 0]
    prints = None
    if model.warm_start:
        prints = _row_prints(training, columns, targets, weights, n_train, row_groups)
        if warm_start is not None:
            warm_start.prints.check(prints)
    del training, parts  # mapped rows, that only the callers hold now, take twice what columns take
    data = loss.data(targets, weights[: starts[min(2, len(starts) - 1)]])  # initial scores are also of the first set
    if eval_metric is None:
        del targets
    sizes = resolve_hyperparameters(model, len(training_rows), loss.rates, len(data.intercept))

    # Folds: each bag validates on one and trains on the others; with an evaluation set all bags validate on it.
    if warm_start is not None:
        orders, checkpoints = warm_start.orders, warm_start.checkpoints
    else:
        rng = check_rng(model.random_state)
        seeds = rng.integers(1 << 63, size=sizes.n_bags)
        checkpoints = [Checkpoint(np.random.default_rng(seed)) for seed in seeds]
        if evaluation:
            orders = [RowOrder.of(training_rows, evaluation[0], rng)] * sizes.n_bags
        else:
            orders = _folds(training_rows, data.strata[training_rows], sizes.n_bags, sizes.n_folds, rng,
                            model.validation, None if row_groups is None else row_groups[training_rows],
                            classes is not None)
    additional = [RowOrder.of_evaluation(rows) for rows in evaluation[1:]]

    # Bags: rounds of boosting until the validation loss falls no further.  Rows that are later than those learned from
    # are clipped as rows to score will be.
    columns_of_bags = _clipped_to_training(columns, orders[0]) if in_order else columns

    def open_rows(bag: int, n_threads: int) -> tuple[LocalRows, list[LocalRows]]:
        rows, *evaluation_sets = (
            LocalRows.of(columns_of_bags, data, weights, order, n_threads_for(order, n_threads))
            for order in (orders[bag], *additional))
        return rows, evaluation_sets

    def n_threads_for(order: RowOrder, n_threads: int) -> int:
        return min(n_threads, check_n_threads(model.n_jobs, len(order.rows) * len(columns.values)))

    pairs = None if warm_start is None else warm_start.pairs
    if columns.constraints is not None and columns.constraints.n_pairs:
        if pairs is None:
            n_threads = check_n_threads(model.n_jobs, n_train * n_features)
            pairs = strongest_pairs(model, columns, sizes, open_rows(0, n_threads)[0],
                                    columns.constraints.n_pairs, limit)
        columns, columns_of_bags = (each._replace(constraints=columns.constraints.with_pairs(pairs))
                                    for each in (columns, columns_of_bags))

    def save(make_checkpoints: Callable[[], Sequence[Checkpoint]], has_ended: bool) -> None:
        if prints is not None:
            params, known = fixed_params(model), prints
            writer.offer(lambda: WarmStart(params, known, orders, make_checkpoints(), pairs), has_ended)

    metrics = () if eval_metric is None else validation_metrics(
        eval_metric, orders, data, targets, weights, center, scale, classes)
    bags, was_stopped = train_bags(model, columns_of_bags, sizes, checkpoints, open_rows, callback, limit,
                                   None if prints is None else save, metrics=metrics)
    timed_out = not (was_stopped or all(bag.is_complete for bag in bags))

    # Calibration on out-of-fold rows, and kernel ridge regression where it improves their scores.
    rows, scores, shares = mix_bags(bags, orders, weights, data, sizes.n_tree_bags)
    factor = inverse_temperature(data, scores, data.targets[rows], weights[rows])
    reason = reason_not_to_try(model.kernel_ridge, data.loss.allows_stacking, len(training_rows),
                               len(columns.values))
    if sparse is not None and model.kernel_ridge is not False:
        reason = Reason.SPARSE
    if reason is None and columns.constraints is not None and not columns.constraints.allow_kernels:
        reason = Reason.CONSTRAINTS
    if reason is None and (was_stopped or timed_out):
        reason = Reason.STOPPED
    if reason is not None:
        stack = without_kernels(factor, len(data.intercept), reason)
    else:
        started = time.perf_counter()
        try:
            with printing() if model.verbose else contextlib.nullcontext(), limit.ending_steps():
                stack = stack_kernel_ridge(bags, orders, columns, data, weights, training_rows, (rows, scores), factor,
                                           model.kernel_ridge is True,
                                           [min(len(bag.steps) + (sizes.patience or 0), model.n_estimators)
                                            for bag in bags], model.n_jobs,
                                           not evaluation and (model.validation == "last" or groups is not None))
        except OutOfTime:
            timed_out, stack = True, without_kernels(factor, len(data.intercept), Reason.STOPPED)
        if model.verbose:
            sentence = KernelRidgeReport.of_numbers(stack.report).reason
            print(f"kernel ridge {sentence}  {time.perf_counter() - started:.1f} s", file=sys.stderr)
    quantiles = quantile_shifts(data, scores, weights[rows])
    shifts = stack.terms * (data.intercept + quantiles)

    # What out-of-fold rows say of the model: figures, and residuals for intervals.
    record = None
    if len(rows):
        of_bags = scores[:, : len(rows)] + quantiles[:, None]
        excess = stack.terms**2 * excess_variance(bags, orders, len(weights), shares, sizes.n_tree_bags)
        levels = model._quantiles() if classes is None else None
        source = "the evaluation set" if evaluation else "rows held out by bags"
        record = out_of_fold_record(stack.scores(of_bags, data, rows), excess, data, rows, weights[rows], center, scale,
                                    levels, source)

    # Bags that have held out the last rows learn from them, too, by as many rounds as were best without them.
    if in_order and not (was_stopped or timed_out):
        def open_all(rng: "np.random.Generator", n_threads: int) -> LocalRows:
            order = RowOrder.of(training_rows, training_rows[:0], rng)
            return LocalRows.of(columns, data, weights, order, n_threads_for(order, n_threads))

        bags = train_again(model, columns, sizes, bags, open_all, limit)

    # The mean of the bags, as one function of raw rows.
    expansion, term_rounds = mean_of_bags(bags, shares, columns, scaling, center + scale * (shifts + stack.shifts),
                                          stack.terms * scale)
    if stack.regression is not None:
        kernels = stack.regression.kernel_terms(columns, scaling, scale * stack.kernels)
        expansion = Expansion(expansion.intercept, expansion.center, *expansion.parts, kernels, lower=expansion.lower,
                              upper=expansion.upper)
    if columns.constraints is not None:
        check_constraints(expansion, columns.constraints, columns.sources)
    if sparse is None:
        importances, used = np.zeros(n_raw_columns), np.unique(sources)  # a map leaves out constant columns
        importances[used] = feature_importances(bags, shares, len(used))
    else:
        importances = feature_importances([bag._replace(relevances={
            name: each if name == "linear" else sparse.of_all(each) for name, each in bag.relevances.items()})
            for bag in bags], shares, sparse.rows.n_columns)
    attributes = fitted_attributes(bags, set_names) | {
        "term_rounds_": term_rounds, "feature_importances_": importances, "_kernel_ridge_report": stack.report,
        "timed_out_": timed_out, "_out_of_fold": record}
    state = None
    if prints is not None:
        state = WarmStart(fixed_params(model), prints, orders,
                          [bag.checkpoint for bag in bags if bag.checkpoint is not None], pairs)  # of all
    return Fitted(names, classes, expansion, attributes, state, column_map, reference)


def check_callback(callback: Any) -> None:
    """InvalidInputError unless it is callable or None."""
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable or None, got {type(callback).__name__}")


def _groups_of_rows(groups: Any, y: Any, sample_weight: Any, n_train: int) -> Indices:
    """The groups of the rows to train on, of which those without weight are gone unless they are streamed."""
    numbers = check_groups(groups, len(to_array(y, "y")))
    if len(numbers) > n_train:
        numbers = numbers[np.ravel(as_numeric(sample_weight, "sample_weight")) > 0]
    if (numbers == numbers[0]).all():
        raise InvalidInputError("groups must be two or more among the rows of positive weight, got 1: rows of one "
                                "group cannot be divided into training and validation rows")
    return numbers


def _row_prints(training: Training, columns: Columns, targets: Double, weights: Double, n_train: int,
                groups: Indices | None) -> RowFingerprints:
    """Hashes by which a later `fit` with warm_start knows the same rows."""
    own, others = slice(n_train), slice(n_train, None)
    return RowFingerprints.of(n_train, [columns.sources, columns.binned, *columns.values[:, own]], targets[:, own],
                        [weights[own]], [marks_of_sets(training), weights[others], *targets[:, others],
                                         *columns.values[:, others]], training.classes is not None,
                        () if groups is None else [groups])


def _folds(training_rows: Indices, strata: Double, n_bags: int, n_folds: float, rng: "np.random.Generator",
           validation: str = "random", groups: Indices | None = None, are_labels: bool = False) -> list[RowOrder]:
    """Training and validation rows of each bag.

    Drawn at random they are the folds of one assignment in turn, then those of another.  The last rows are validation
    rows of all bags, so that no bag learns from rows that are later than some that it is judged by; more are taken
    where some label is not among them, for rows of one label say nothing of the others.
    """
    if validation == "last":
        n_rows, share = len(training_rows), 1 / n_folds
        start = start_of_last(n_rows, share)
        if are_labels and n_rows > 1:
            start = start_with_all_labels(strata.astype(np.intp), start, share)
        if groups is not None:
            start = start_of_last(n_rows, 1 - start / n_rows, groups)
        return [RowOrder.of(training_rows[:start], training_rows[start:], rng) for _ in range(n_bags)]
    if groups is not None:
        n_folds = min(n_folds, len(np.unique(groups)))
    orders = []
    folds: Any = None
    for bag in range(n_bags):
        if bag % int(n_folds) == 0:
            folds = assign_folds(strata, n_folds, rng) if groups is None else group_folds(groups, strata, n_folds, rng)
        is_validation = (folds == bag % int(n_folds)) & (len(training_rows) > 1)  # one row cannot be held out
        orders.append(RowOrder.of(training_rows[~is_validation], training_rows[is_validation], rng))
    return orders


def _clipped_to_training(columns: Columns, order: RowOrder) -> Columns:
    """Columns whose values at validation rows are within the range of those at training rows."""
    training, held_out = order.rows[: order.n_train][order.used[: order.n_train]], order.validation_rows()
    values, bins = columns.values.copy(), columns.bins.copy()
    for each in (*values, *bins):
        some = each[training]
        each[held_out] = each[held_out].clip(some.min(), some.max())
    return columns._replace(values=values, bins=bins)


def feature_importances(bags: Sequence[Bag], shares: Double, n_sources: int) -> Double:
    """Of raw columns that are used: improvements by base learners, divided by the relevances of columns; sum 1."""
    total = np.zeros(n_sources)
    for bag, share in zip(bags, shares, strict=True):
        if bag.steps:
            for name, gain_share in bag.gain_shares.items():
                total += share * gain_share * bag.relevances[name]
    return total / max(total.sum(), 1e-300)


def fitted_attributes(bags: Sequence[Bag], set_names: Sequence[str]) -> dict[str, Any]:
    """Loss curves and numbers of rounds: means over bags, of which one that has ended counts with its last losses."""
    longest = max(len(bag.losses) for bag in bags)
    curves = [[(losses.train, losses.validation, *losses.evaluation) for losses in bag.losses] for bag in bags]
    train_loss, *others = np.array([[*curve, *curve[-1:] * (longest - len(curve))] for curve in curves]).mean(axis=0).T
    n_rounds = np.array([len(bag.steps) for bag in bags])
    return {"n_estimators_": longest - 1, "n_bags_": len(bags),
            "bag_counts_": (n_rounds[:, None] >= np.arange(longest)).sum(axis=0).astype(np.float64),
            "train_loss_": train_loss.copy(), "eval_loss_": others[0].copy(),
            "eval_losses_": dict(zip(set_names, map(np.copy, others), strict=True))}
