"""The whole algorithm, from rows to a fitted model: folds, bags, their mean, kernel ridge regression, calibration."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._column_map.cells import DATE
from ..._estimator.base import Fitted
from ..._estimator.checkpoints import (
    CheckpointWriter,
    RowFingerprints,
    fixed_params,
    marks_of_sets,
    state_to_continue,
)
from ..._estimator.links import quantiles_of
from ..._estimator.monitor import TimeLimit, check_callback
from ..._model.expansion import Expansion
from ..._model.parts import PARTS, FourierTerms, Part
from ..._native.array_types import Double, Indices, Mask, NDArray
from ..._protocol.arguments import check_rng
from ..._rows.copies import merge_copies
from ..._rows.groups import Division, check_groups, group_folds, start_of_last, start_with_all_labels
from ..._rows.scaling import Scaling, measure_scaling, no_scaling
from ..._rows.threads import check_n_threads
from ..._rows.training_rows import LabelledRows, Training
from ..._rows.validation import as_numeric, to_array
from ...errors import InvalidInputError
from .bags import Callback, refit_bags, train_bags
from .base_learners import LEARNERS, SparseLinearLearner
from .boosting import Bag, BagState, UnseenScores
from .calibration import intercept_shifts, mix_bags, out_of_fold_record, quantile_shifts
from .constraints import check_constraints, constraints_of
from .eval_metric import check_eval_metric, validation_metrics
from .losses import Loss, in_robust_units, in_units_of_mean, loss_of
from .pairs import strongest_pairs
from .parameters import BASE_LEARNERS, Hyperparameters, resolve_hyperparameters, with_tree_bags
from .sparse_columns import SparseColumns, dense_training
from .stacking import Stack, reason_not_to_stack, stack_kernel_ridge
from .training_rows import (
    Columns,
    LocalRows,
    Losses,
    RowOrder,
    Table,
    assign_folds,
    read_columns,
)


class WarmStart(NamedTuple):
    """What `fit` with `warm_start` goes on from.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowFingerprints | None  # None without `warm_start`
    orders: Sequence[RowOrder]
    bag_states: Sequence[BagState]
    pairs: Indices | None = None  # of columns that were chosen to interact

    @property
    def n_rounds(self) -> int:
        """The largest number of rounds of a bag."""
        return max(len(each.steps) for each in self.bag_states)


_STATE_TYPES = (WarmStart, RowFingerprints, RowOrder, BagState, UnseenScores, Losses,
                *(learner.term for learner in LEARNERS.values()))


def fit(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, eval_set: Any,
        callback: Callback | None, eval_metric: Callable[..., Any] | None = None) -> Fitted:
    """Train a Fourier boosting model, from the first round or from where the last `fit` ended.

    The order of random draws is documented and stays: a seed of each bag, then the folds of the rows.
    """
    check_callback(callback)
    check_eval_metric(eval_metric)
    state: WarmStart | None = state_to_continue(model, _STATE_TYPES)
    limit, writer = TimeLimit(model.max_seconds), CheckpointWriter(model, _STATE_TYPES)

    # Checked rows, mapped to numbers, and the loss.
    has_groups = groups is not None and y is not None  # without y the rows are refused
    numbers = check_groups(groups, len(np.atleast_1d(to_array(y, "y")))) if has_groups else None
    training = model._check_training(X, y, sample_weight, eval_set, division=Division(model.validation, numbers))
    classes = training.classes
    loss = loss_of(model, None if classes is None else training.rows.n_classes, len(training.center))
    if loss.link == "log":
        training = in_units_of_mean(training, model.loss)
    elif loss.estimates_quantiles:
        training = in_robust_units(training)

    # Columns in single precision, and their bins; of sparse rows the fullest columns.
    training, sparse = dense_training(training)
    if numbers is not None:
        numbers = _groups_to_train_on(numbers, sample_weight, training.rows.X.shape[0])
    table = read_table(model, training, loss, sparse, numbers)
    prints = _row_prints(training, table) if model.warm_start else None
    if state is not None and state.prints is not None and prints is not None:
        state.prints.check(prints)
    set_names = [name for name, _ in training.eval_sets] or ["valid_0"]
    names, column_map, reference = training.names, training.column_map, training.reference
    center, scale = training.center, training.scale
    del training  # mapped rows take twice what columns take

    # Each bag validates on one fold and trains on the others; with an evaluation set all bags validate on it.
    sizes = resolve_hyperparameters(model, len(table.learned), loss.facts.rates, len(table.data.intercept))
    sizes = with_tree_bags(model, sizes)
    if state is None:
        rng = check_rng(model.random_state)
        bag_states = [BagState(np.random.default_rng(seed)) for seed in rng.integers(1 << 63, size=sizes.n_bags)]
        state = WarmStart(fixed_params(model), prints, draw_folds(model, table, sizes, rng), bag_states)
    orders = state.orders
    evaluation_orders = [RowOrder.of_evaluation(rows) for rows in table.evaluation[1:]]  # the first one is in `orders`
    in_order = model.validation == "last" and not table.evaluation  # an evaluation set decides alone
    table_of_bags = _clipped_to_training(table, orders[0]) if in_order else table

    def open_rows(bag: int, n_threads: int) -> tuple[LocalRows, list[LocalRows]]:
        rows, *evaluation_sets = (table_of_bags.rows(order, n_threads) for order in (orders[bag], *evaluation_orders))
        return rows, evaluation_sets

    constraints, pairs = table.columns.constraints, state.pairs
    if constraints is not None and constraints.n_pairs:
        if pairs is None:
            first_rows, _ = open_rows(0, check_n_threads(model.n_jobs, table.columns.values.size))
            pairs = strongest_pairs(model, table.columns, sizes, first_rows, limit)
            state = state._replace(pairs=pairs)
        table, table_of_bags = table.with_pairs(pairs), table_of_bags.with_pairs(pairs)

    # Bags: rounds of boosting until the validation loss falls no further.
    start: WarmStart = state

    def save(make_states: Callable[[], Sequence[BagState]], has_ended: bool) -> None:
        writer.offer(lambda: start._replace(bag_states=make_states()), has_ended)

    metrics = () if eval_metric is None else validation_metrics(eval_metric, orders, table, center, scale, classes)
    bags, was_stopped = train_bags(model, table_of_bags.columns, sizes, state.bag_states, open_rows, callback, limit,
                                   save if model.warm_start else None, metrics=metrics)
    timed_out = not (was_stopped or all(bag.is_complete for bag in bags))

    # Calibration on out-of-fold rows, and kernel ridge regression where it improves their scores.
    out_of_fold, shares = mix_bags(bags, orders, table.weights, table.data, sizes.n_tree_bags)
    quantiles = quantile_shifts(table.data, out_of_fold.scores, out_of_fold.weights)
    reason = reason_not_to_stack(model, loss, table.columns, len(table.learned), was_stopped or timed_out)
    stack = stack_kernel_ridge(model, reason, table, bags, orders, sizes, out_of_fold, limit)
    timed_out = timed_out or stack.timed_out
    judged = out_of_fold.some(stack.judged)
    if not table.evaluation and not in_order:  # whose rows are not drawn as those that bags learn from
        scores = stack.scores(judged.scores.astype(np.float64), judged)
        shifts = intercept_shifts(table.data, scores, judged.rows, judged.weights)
        stack = stack._replace(shifts=stack.shifts + shifts)

    # What out-of-fold rows say of the model: figures, and residuals for intervals.
    record = out_of_fold_record(stack.scores(judged.unseen + quantiles[:, None], judged),
                                stack.weight_of_bags**2 * judged.excess, judged, center, scale, quantiles_of(model),
                                bool(table.evaluation),
                                None if table.evaluation or table.groups is None else table.groups[judged.rows])

    # Bags that have held out the last rows learn from them, too, by as many rounds as were best without them.
    if in_order and not (was_stopped or timed_out):
        def open_all(rng: "np.random.Generator", n_threads: int) -> LocalRows:
            return table.rows(RowOrder.of(table.learned, table.learned[:0], rng), n_threads)

        bags = refit_bags(model, table.columns, sizes, bags, open_all, limit)

    # The mean of the bags and kernel ridge regression, as one function of raw rows.
    expansion, attributes = function_of_bags(table, bags, shares, center, scale, quantiles, stack, set_names)
    attributes |= {"timed_out_": timed_out, "_out_of_fold": record}
    if model.warm_start:
        state = state._replace(params=fixed_params(model), prints=prints, bag_states=[
            bag.state for bag in bags if bag.state is not None])  # of all
    return Fitted(names, classes, expansion, attributes, state if model.warm_start else None, column_map, reference)


def _groups_to_train_on(numbers: Indices, sample_weight: Any, n_train: int) -> Indices:
    """The groups of the training rows, which have rows of weight 0 among them only where they are streamed."""
    if len(numbers) > n_train:
        numbers = numbers[np.ravel(as_numeric(sample_weight, "sample_weight")) > 0]
    if (numbers == numbers[0]).all():
        raise InvalidInputError("groups must be two or more among the rows of positive weight, got 1: rows of one "
                                "group cannot be divided into training and validation rows")
    return numbers


def read_table(model: Any, training: Training, loss: Loss, sparse: SparseColumns | None,
               groups: Indices | None) -> Table:
    """Rows of `fit` and of evaluation sets, one after the other, as bags read them."""
    parts = [training.rows, *(rows for _, rows in training.eval_sets)]
    n_train, n_features = parts[0].X.shape
    column_map = training.column_map
    sources, forms, n_raw_columns, extrapolates, fenced = describe_columns(model, column_map, n_features)
    if sparse is not None or (model.validation == "last" and len(parts) == 1):
        extrapolates = np.zeros(n_features, dtype=bool)
    scaling = no_scaling(n_features)
    if column_map is None:
        scaling = measure_scaling(parts[0].X, parts[0].weights, n_threads=model.n_jobs)
    columns = read_columns(parts, scaling, sources, forms, extrapolates, fenced,
                           n_threads=check_n_threads(model.n_jobs, n_train * n_features))
    constraints = constraints_of(model, training.names, column_map, sources, forms, n_raw_columns, training.classes)
    columns = columns._replace(constraints=constraints, sparse=sparse)
    weights = np.concatenate([part.weights.each for part in parts])
    targets = np.concatenate([np.atleast_2d(part.codes if isinstance(part, LabelledRows) else part.values.T)
                              for part in parts], axis=1)
    starts = np.cumsum([0, *(part.X.shape[0] for part in parts)])
    learned, *evaluation = (start + part.weights.positive() for start, part in zip(starts[:-1], parts, strict=True))
    if model.validation == "random" and sparse is None:  # copies in order of time are rows of their own
        weights = merge_copies(columns.values, targets, weights, learned,
                               None if groups is None else groups[learned])
        learned = learned[weights[learned] > 0]
    n_with_first_set = starts[min(2, len(parts))]  # initial scores are also of the validation rows
    data = loss.data(targets, weights[:n_with_first_set])
    if sparse is not None:
        sources, n_raw_columns = sparse.dense, sparse.rows.n_columns
    return Table(columns, scaling, sources, n_raw_columns, targets, weights, data, learned, evaluation, groups,
                 model.n_jobs)


def describe_columns(model: Any, column_map: Any, n_features: int
                     ) -> tuple[Indices, NDArray[np.str_] | None, int, Mask, Mask]:
    """Facts of mapped columns that follow from the column map and the base learners, before any row is read.

    Returns
    -------
    sources : array of shape (n_columns,), the raw column of each
    forms : array of shape (n_columns,), or None without a map
    n_raw_columns : int
    extrapolates : array of shape (n_columns,)
        Whether base learners follow trends of a column beyond the training rows.
    fenced : array of shape (n_columns,)
        Whether the column is clipped at three IQR from its quartiles.
    """
    extrapolates = np.full(n_features, any(BASE_LEARNERS[name].extrapolates for name in model.base_learners))
    fenced = np.zeros(n_features, dtype=bool)
    if column_map is None:
        return np.arange(n_features), None, n_features, extrapolates, fenced
    sources, forms = column_map.sources_, column_map.forms_
    # Standardised columns that linear functions read are clipped where the ranks of the same column are read too, which
    # tell values further out apart.  Not with monotone constraints: bins would then be those of ranks, which do not
    # keep an order to the last bit.
    if extrapolates.any() and model.monotone_constraints is None:
        fenced = (forms == "standard") & np.isin(sources, sources[forms == "rank"])
    is_date = column_map._fitted.kinds()[sources] == DATE  # rows to score are mostly later
    return sources, forms, column_map.n_features_in_, extrapolates & ~is_date, fenced


def _row_prints(training: Training, table: Table) -> RowFingerprints:
    """Hashes by which a later `fit` with warm_start knows the same rows."""
    columns, targets, weights, n_train = table.columns, table.targets, table.weights, training.rows.X.shape[0]
    own, others = slice(n_train), slice(n_train, None)
    return RowFingerprints.of(n_train, [columns.sources, columns.binned, *columns.values[:, own]], targets[:, own],
                        [weights[own]], [marks_of_sets(training), weights[others], *targets[:, others],
                                         *columns.values[:, others]], training.classes is not None,
                        () if table.groups is None else [table.groups])


def draw_folds(model: Any, table: Table, sizes: Hyperparameters, rng: "np.random.Generator") -> list[RowOrder]:
    """Training and validation rows of each bag.

    - With an evaluation set, all bags validate on it.
    - With `validation="last"`, all bags validate on the last rows, so that none learns from rows that are later than
      some that it is judged by; on more of them where a label is missing among these.
    - Otherwise bags validate on the folds of one random assignment in turn, then on those of another.
    """
    learned, n_bags, n_folds = table.learned, sizes.n_bags, sizes.n_folds
    if table.evaluation:
        return [RowOrder.of(learned, table.evaluation[0], rng)] * n_bags
    strata, groups = table.data.strata[learned], None if table.groups is None else table.groups[learned]
    if model.validation == "last":
        n_rows, share = len(learned), 1 / n_folds
        start = start_of_last(n_rows, share)
        if table.data.loss.link == "softmax" and n_rows > 1:
            start = start_with_all_labels(strata.astype(np.intp), start, share)
        if groups is not None:
            start = start_of_last(n_rows, 1 - start / n_rows, groups)
        parts = None if groups is None else groups[start:]
        return [RowOrder.of(learned[:start], learned[start:], rng, parts, in_order=True) for _ in range(n_bags)]
    if groups is not None:
        n_folds = min(n_folds, len(np.unique(groups)))
    orders, held_out, first = [], list[Mask](), n_bags - sizes.n_tree_bags
    folds: Any = None
    for bag in range(n_bags):
        if bag >= first and sizes.n_tree_bags < int(n_folds):
            held_out.append(held_out[bag - first])  # that rows are held out by bags of either kind
        else:
            if bag % int(n_folds) == 0:
                folds = (assign_folds(strata, n_folds, rng) if groups is None else
                         group_folds(groups, strata, n_folds, rng))
            held_out.append((folds == bag % int(n_folds)) & (len(learned) > 1))  # one row cannot be held out
        parts = None if groups is None else groups[held_out[bag]]
        orders.append(RowOrder.of(learned[~held_out[bag]], learned[held_out[bag]], rng, parts))
    return orders


def _clipped_to_training(table: Table, order: RowOrder) -> Table:
    """Validation rows that are later than the training rows clipped to the range of these, as new rows will be."""
    training, held_out = order.rows[: order.n_train][order.used[: order.n_train]], order.validation_rows()
    values, bins = table.columns.values.copy(), table.columns.bins.copy()
    for each in (*values, *bins[: len(table.columns.binned)]):  # of bundles only training rows are read
        some = each[training]
        each[held_out] = each[held_out].clip(some.min(), some.max())
    return table._replace(columns=table.columns._replace(values=values, bins=bins))


def function_of_bags(table: Table, bags: Sequence[Bag], shares: Double, center: Double, scale: Double,
                     quantile_shifts: Double, stack: Stack, set_names: Sequence[str],
                     ) -> tuple[Expansion, dict[str, Any]]:
    """The model as a function of raw rows, which keeps the constraints, and what bags tell of training.

    It is the mean of the bags by their shares, moved by the shifts of quantiles, with kernel ridge regression stacked
    on it; targets are `center` and `scale` times scores.
    Loss curves are means over bags, of which one that has ended counts with its last losses.  Importances are of the
    columns of the raw table: improvements by base learners, divided by the relevances of columns; sum 1.
    """
    columns = table.columns
    intercept = center + scale * (stack.weight_of_bags * (table.data.intercept + quantile_shifts) + stack.shifts)
    stacked = None if stack.regression is None else stack.regression.part(
        table.scaling, scale * stack.weight_of_regression)
    expansion, term_rounds = mean_of_bags(bags, shares, columns, table.scaling, intercept,
                                          scale * stack.weight_of_bags, stacked)
    if columns.constraints is not None:
        check_constraints(expansion, columns.constraints, columns.sources)

    longest = max(len(bag.losses) for bag in bags)
    curves = [[(losses.train, losses.validation, *losses.evaluation) for losses in bag.losses] for bag in bags]
    train_loss, *others = np.array([[*curve, *curve[-1:] * (longest - len(curve))] for curve in curves]).mean(axis=0).T
    n_rounds = np.array([len(bag.steps) for bag in bags])

    # A map leaves out constant columns.  Of sparse rows linear terms read all columns, the others the fullest.
    used = np.unique(table.raw_columns) if columns.sparse is None else np.arange(table.n_raw_columns)
    total, importances = np.zeros(len(used)), np.zeros(table.n_raw_columns)
    for bag, share in zip(bags, shares, strict=True):
        for name, gain_share in bag.gain_shares.items() if bag.steps else ():
            relevances = bag.relevances[name]
            if len(relevances) < len(used):
                relevances = columns.sparse.of_all(relevances)
            total += share * gain_share * relevances
    importances[used] = total / max(total.sum(), 1e-300)
    return expansion, {
        "n_estimators_": longest - 1, "n_bags_": len(bags),
        "bag_counts_": (n_rounds[:, None] >= np.arange(longest)).sum(axis=0).astype(np.float64),
        "train_loss_": train_loss.copy(), "eval_loss_": others[0].copy(),
        "eval_losses_": dict(zip(set_names, map(np.copy, others), strict=True)),
        "term_rounds_": term_rounds, "feature_importances_": importances, "_kernel_ridge_report": stack.report}


def mean_of_bags(bags: Sequence[Bag], shares: Double, columns: Columns, scaling: Scaling, intercept: Double,
                 scale: Double, stacked: Part | None = None) -> tuple[Expansion, Double]:
    """The mean of the bags as a function of unscaled rows, and the round of each of its terms, cosines before trees.

    Shares of bags sum to 1; a bag whose share is 0 is left out.  Scores are in units of `scale`.  Rounds
    count from 1 in each bag.  Fourier terms that are stacked on the bags have the round 0, and kernels none.
    """
    steps = [(term, step * share, t) for bag, share in zip(bags, shares.tolist(), strict=True) if share
             for t, (term, step) in enumerate(bag.steps, 1)]
    # Two base learners may add terms of one class, which make one part.
    learners = {learner.term: learner for learner in (*LEARNERS.values(), SparseLinearLearner)}
    added = {term: [each for each in steps if isinstance(each[0], term)] for term in learners}
    made = [learners[term].part(of_term, columns, scaling, scale) for term, of_term in added.items() if of_term]
    made.append((stacked, [0] * stacked.n_terms if isinstance(stacked, FourierTerms) else []))
    found = sorted(((part, rounds) for part, rounds in made if part is not None),
                   key=lambda each: PARTS.index(type(each[0])))  # as terms stand in an expansion
    parts: list[Part] = [functools.reduce(lambda a, b: a._plus(b), (part for part, _ in same))
                         for _, same in itertools.groupby(found, key=lambda each: type(each[0]))]
    center, lower, upper, sparse = scaling.center, columns.lower, columns.upper, columns.sparse
    if sparse is not None:
        parts = [sparse.widened(part) for part in parts]
        center, lower, upper = sparse.center, sparse.of_all(lower, sparse.lower), sparse.of_all(upper, sparse.upper)
    return (Expansion(intercept, center, *parts, lower=lower, upper=upper),
            np.array([each for _, rounds in found for each in rounds], dtype=np.float64))
