"""From rows in partitions to a fitted model."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._estimator.base import Fitted
from ..._protocol.arguments import check_rng
from ..._rows.scaling import Scaling, scaling_from
from ...errors import InvalidInputError
from ..distributed.partitions import CheckedTables, ColumnSums, PartitionBackend, check_tables, refuse_values
from ..distributed.partitions import PartitionedTable as Rows
from .bins import coded_by, edges_of
from .calibration import HeldOut, in_tiles, likeliest_factor, shifts_of
from .counts import unit_of
from .ensemble import to_ensemble
from .kernel_choice import KernelChoice, Reason
from .losses import Problem
from .member import Member, Standing
from .members import Callback, Members, Plan, fitted_attributes, importances, settled
from .partition_rows import BoostedPartition, Part, Settings, Targets, condensed_targets, sampled_columns
from .partitioned import PartitionedMember, Sampling, WatchedRows
from .rows import Bounds, Columns
from .rules import Pace
from .tasks import loss_of_classes, loss_of_targets

Double = NDArray[np.float64]

# Rows of all partitions that bounds of bins, medians and quantiles, and calibration are told from at most.
_ROWS_OF_BINS, _ROWS_OF_TARGETS, _ROWS_OF_CALIBRATION = 1 << 16, 1 << 18, 1 << 17

# A model on a cluster has no kernel ridge regression, which keeps all rows.
_ACCEPTED: dict[str, list[Any]] = {"warm_start": [False], "columns": [None], "kernel_ridge": [False, "auto"]}


class _Ground(NamedTuple):
    """Rows in partitions that are ready for members."""

    training: Rows
    held_out: Sequence[Rows]  # the first decides, others are watched
    settings: Settings
    problem: Problem  # of no rows
    pace: Pace
    center: Double  # of the targets, and their scale
    scale: Double


def fit_partitions(model: Any, training: PartitionBackend, held_out: Mapping[str, PartitionBackend],
                   callback: Callback | None) -> None:
    """Fit a Fourier boosting model on rows in partitions, which were opened by `open_partition`."""
    model._check_params()
    refuse_values(model, _ACCEPTED)
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable or None, got {type(callback).__name__}")
    tables = check_tables(model._has_labels, getattr(model, "class_weight", None), training, held_out)
    rng = check_rng(model.random_state)
    ground = _prepared(model, tables, rng)
    n_features = tables.training.summaries[0].n_features
    coded = np.arange(n_features)
    empty = np.empty((n_features, 0), dtype=np.float32)
    columns = Columns(empty, coded, coded_by(empty, coded, ground.settings.edges), ground.settings.bounds)
    plan = Plan(columns, settled(model, sum(tables.training.n_rows)), ground.pace)
    seeds, starts, parts = rng.integers(1 << 62, size=3), [], []
    fold_seeds = np.random.default_rng(seeds[0]).integers(1 << 62, size=plan.rules.n_bags)
    for member, seed in enumerate(rng.integers(1 << 62, size=plan.rules.n_bags).tolist()):
        group, fold = divmod(member, int(plan.rules.n_folds))
        starts.append(Standing(np.random.default_rng(seed)))
        parts.append(Part(member, seed, None if held_out else (int(fold_seeds[group]), plan.rules.n_folds, fold)))

    def stands(member: int) -> tuple[Any, list[Any]]:
        sampling = Sampling(ground.problem, model.max_samples, parts[member].seed)
        deciding = ground.held_out[0] if ground.held_out else None
        watched = [WatchedRows(rows, parts[member]._replace(is_held_out=True)) for rows in ground.held_out[1:]]
        return PartitionedMember(ground.training, deciding, parts[member], sampling), watched

    members = Members(plan, model, callback, stands).train(starts, side_by_side=False)
    model._keep(_fitted(model, tables, ground, columns, members))


def _prepared(model: Any, tables: CheckedTables, rng: "np.random.Generator") -> _Ground:
    """Partitions that have taken their rows column by column."""
    training, classes = tables.training, tables.classes
    partitions = training.partitions
    n_outputs = tables.center.size
    loss, pace = (loss_of_classes(len(classes)) if classes is not None
                  else loss_of_targets(model, n_outputs))
    center, scale = tables.center, tables.scale
    counts = None
    if classes is None and model.loss == "poisson":
        unit = unit_of(center)
        counts = center, tables.inverse_scale, unit
        center, scale = np.log([unit]), np.ones(1)
    own = Targets(loss, counts)
    seeds = rng.integers(1 << 62, size=3).tolist()
    condensed = partitions.query("map_rows", condensed_targets, own, training.shares(_ROWS_OF_TARGETS), seeds[0])
    values, weights = zip(*condensed, strict=True)
    start = loss.start(np.concatenate(values, axis=1), np.concatenate(weights))
    of_columns = ColumnSums(partitions, "X", training.total)
    scaling = scaling_from(of_columns, standardize=True)
    sample = _sample(training, scaling, seeds[1])
    bounds = Bounds.of(*of_columns.column_range(), sample, scaling, extrapolates="linear" in model.base_learners)
    settings = Settings(own, start, scaling, edges_of(sample, np.arange(len(sample))), bounds, {}, seeds[2])
    held_out = list(tables.evaluation.values())
    for rows, what in [(training, ""), *((each, "eval_set ") for each in held_out)]:
        rows.partitions.command("convert", BoostedPartition,
                             settings._replace(shares=rows.shares(_ROWS_OF_CALIBRATION)), what)
    problem = loss.problem(np.empty((n_outputs if classes is None else 1, 0)), np.empty(0), start)
    return _Ground(training, held_out, settings, problem, pace, center, scale)


def _sample(training: Rows, scaling: Scaling, seed: int) -> NDArray[np.float32]:
    """Columns of some rows, from which bounds of bins and quartiles are estimated."""
    found = training.partitions.query("map_rows", sampled_columns, scaling, training.shares(_ROWS_OF_BINS), seed)
    return np.concatenate(found, axis=1)


def _fitted(model: Any, tables: CheckedTables, ground: _Ground, columns: Columns, members: list[Member]) -> Fitted:
    """What training leaves."""
    problem, scaling = ground.problem, ground.settings.scaling
    deciding = ground.held_out[0] if ground.held_out else ground.training
    found: list[HeldOut] = deciding.partitions.query("held_out")
    scores, targets, weights = zip(*found, strict=True)
    held = HeldOut(in_tiles(np.concatenate(scores, axis=1)), np.concatenate(targets), np.concatenate(weights))
    factor = likeliest_factor(problem, held)
    intercept = factor * (problem.intercept + shifts_of(problem, held))
    ensemble = to_ensemble(members, columns, scaling, ground.center + ground.scale * intercept,
                           factor * ground.scale)
    reason = Reason.OFF if model.kernel_ridge is False else Reason.PARTITIONS
    attributes = fitted_attributes(members, ensemble, list(tables.evaluation) or ["valid_0"]) | {
        "feature_importances_": importances(members, columns.n_sources),
        "_kernel_ridge_report": KernelChoice(reason).array()}
    return Fitted(tables.names, tables.classes, ensemble.expansion, attributes)
