"""The way from checked rows to a fitted model: columns, folds, members, and their mean."""

import contextlib
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._estimator.base import Fitted
from ..._estimator.monitor import printing
from ..._estimator.warm_start import RowPrints, fixed_params, marks_of_sets
from ..._model.expansion import Expansion
from ..._protocol.arguments import check_rng
from ..._rows.scaling import measure_scaling, no_scaling
from ..._rows.training_rows import LabelledRows, Training
from ...errors import InvalidInputError
from .calibration import inverse_temperature, quantile_shifts
from .ensemble import to_ensemble
from .kernel_choice import Reason, reason_not_to_try
from .kernel_part import Boosting
from .losses import Loss, Problem
from .member import Standing
from .members import BoostedModel, Callback, Members, Plan, fitted_attributes, importances, settled
from .rows import Columns, Layout, partition
from .rules import Pace, Rules
from .stack import STACKED_LOSSES, Stack, stacked, without_kernels
from .state import MemberRows, State

Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class TrainingState(NamedTuple):
    """Where the members of a model stand.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowPrints
    layouts: Sequence[Layout]
    standings: Sequence[Standing]

    @property
    def n_rounds(self) -> int:
        """Rounds of the member that has most."""
        return max(len(standing.taken) for standing in self.standings)


class _Work(NamedTuple):
    """What all members share."""

    columns: Columns
    problem: Problem
    weights: Double
    rules: Rules
    watched: Sequence[Layout]  # rows that decide nothing, set by set


def train(model: BoostedModel, training: Training, loss: Loss, pace: Pace, callback: Callback | None,
          before: TrainingState | None = None) -> Fitted:
    """Boost a model on checked rows, from the first round or from where training stood before.

    The order of random draws is documented and stays: a seed of each member, then the partitions of the rows.
    """
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable or None, got {type(callback).__name__}")
    names, data, _, center, scale, _, classes, watched, column_map = training
    set_marks, set_names = marks_of_sets(training), [name for name, _ in watched] or ["valid_0"]
    parts = [data, *(rows for _, rows in watched)]
    del training, watched
    n_features = data.X.shape[1]
    sources, forms, scaling = np.arange(n_features), None, no_scaling(n_features)
    if column_map is None:
        scaling = measure_scaling(data.X, data.weights, n_threads=model.n_jobs)
    else:
        sources, forms = column_map.sources_, column_map.forms_
        n_features = column_map.n_features_in_
    columns = Columns.of(parts, scaling, sources, forms, extrapolates="linear" in model.base_learners)
    weights = np.concatenate([part.weights.each for part in parts])
    targets = np.concatenate([np.atleast_2d(_targets(part)) for part in parts], axis=1)
    starts = np.cumsum([0, *(part.X.shape[0] for part in parts)])
    learned, *sets = (start + part.weights.positive() for start, part in zip(starts[:-1], parts, strict=True))
    n_deciding = starts[min(2, len(parts))]
    prints = None
    if model.warm_start:
        learned_rows, given_rows = slice(data.X.shape[0]), slice(data.X.shape[0], None)
        prints = RowPrints.of(
            data.X.shape[0], [columns.sources, columns.bins.columns, *columns.values[:, learned_rows]],
            targets[:, learned_rows], [weights[learned_rows]],
            [set_marks, weights[given_rows], *targets[:, given_rows], *columns.values[:, given_rows]],
            classes is not None)
        if before is not None:
            before.prints.check(prints)
    del data, parts  # mapped rows, that only the callers hold now, take twice what columns take
    work = _Work(columns, loss.problem(targets, weights[:n_deciding]), weights, settled(model, len(learned)),
                 [Layout.of_watched(rows) for rows in sets[1:]])
    del targets
    layouts, standings = (before.layouts, before.standings) if before is not None else _begun(
        work, learned, sets[0] if sets else None, check_rng(model.random_state))
    trainer = Members(Plan(columns, work.rules, pace), model, callback, partial(_stands, work, layouts))
    members = trainer.train(standings)
    stack = _stacked(model, Boosting(members, layouts, columns, work.problem, weights, learned), trainer.was_stopped)
    shifts = stack.terms * (work.problem.intercept + quantile_shifts(members, layouts, work.problem, weights))
    ensemble = to_ensemble(members, columns, scaling, center + scale * (shifts + stack.shifts),
                           stack.terms * scale)
    used = np.unique(sources)  # a map leaves out columns that tell nothing
    of_columns = np.zeros(n_features)
    of_columns[used] = importances(members, len(used))
    attributes = fitted_attributes(members, ensemble, set_names) | {
        "feature_importances_": of_columns, "_kernel_ridge_report": stack.choice.array()}
    expansion = ensemble.expansion
    if stack.part is not None:
        expansion = Expansion(expansion.intercept, expansion.center, *expansion.parts, stack.part.terms(
            columns, scaling, scale * stack.kernels), lower=expansion.lower, upper=expansion.upper)
    state = None
    if prints is not None:
        standings = [member.standing for member in members if member.standing is not None]  # of all
        state = TrainingState(fixed_params(model), prints, layouts, standings)
    return Fitted(names, classes, expansion, attributes, state, column_map)


def _stacked(model: BoostedModel, given: Boosting, was_stopped: bool) -> Stack:
    """The members, with kernel ridge regression where `kernel_ridge` and held-out rows ask for it."""
    factor = inverse_temperature(given.members, given.layouts, given.problem, given.weights)
    reason = reason_not_to_try(model.kernel_ridge, given.problem.kernel in STACKED_LOSSES, len(given.learned),
                               len(given.columns.values))
    reason = Reason.STOPPED if reason is None and was_stopped else reason
    if reason is not None:
        return without_kernels(factor, len(given.problem.intercept), reason)
    started = time.perf_counter()
    with printing() if model.verbose else contextlib.nullcontext():
        stack = stacked(given, factor, model.kernel_ridge is True, model.n_jobs)
    if model.verbose:
        print(f"kernel ridge {stack.choice.report().reason}  {time.perf_counter() - started:.1f} s", file=sys.stderr)
    return stack


def _targets(rows: Any) -> NDArray[Any]:
    """Class indices, or values (n_outputs, n_rows)."""
    return rows.codes if isinstance(rows, LabelledRows) else rows.values.T


def _begun(work: _Work, learned: Indices, evaluated: Indices | None,
           rng: "np.random.Generator") -> tuple[list[Layout], list[Standing]]:
    """The rows of each member, and where it stands before the first round."""
    seeds = rng.integers(1 << 63, size=work.rules.n_bags)
    starts = [Standing(np.random.default_rng(seed)) for seed in seeds]
    if evaluated is None:
        return _folds(work, learned, rng), starts
    return [Layout.of(learned, evaluated, rng)] * len(starts), starts


def _folds(work: _Work, learned: Indices, rng: "np.random.Generator") -> list[Layout]:
    """What each member learns from and holds out: the folds of a partition in turn, then those of another."""
    n_folds = int(work.rules.n_folds)
    strata = work.problem.strata[learned]
    layouts = []
    folds: Any = None
    for member in range(work.rules.n_bags):
        if member % n_folds == 0:
            folds = partition(strata, work.rules.n_folds, rng)
        out = (folds == member % n_folds) & (len(learned) > 1)  # one row cannot be held out
        layouts.append(Layout.of(learned[~out], learned[out], rng))
    return layouts


def _stands(work: _Work, layouts: Sequence[Layout], member: int) -> tuple[State, list[State]]:
    """Where a member stands on its rows, and on rows that are watched."""
    state, *watched = (State(MemberRows.of(work.columns, work.problem, work.weights, each), work.problem)
                       for each in (layouts[member], *work.watched))
    return state, watched
