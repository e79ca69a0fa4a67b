"""The way from checked rows to a fitted model: columns, folds, members, and their mean."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.scaling import measure_scaling, no_scaling
from .._data.threads import check_n_threads
from .._data.training_rows import LabelledRows, Training
from .._estimator.base import Fitted
from .._estimator.monitor import RoundInfo, printing
from .._estimator.warm_start import RowPrints, fixed_params, marks_of_sets
from ..errors import InvalidInputError
from .calibration import inverse_temperature, quantile_shifts
from .ensemble import Ensemble, to_ensemble
from .kernel_choice import Reason, reason_not_to_try
from .kernel_part import Boosting
from .kinds import Kind, Lines, Tables, Waves
from .losses import Loss, Problem
from .member import Member, Standing, train_member
from .parts import with_kernels
from .progress import Told
from .rows import Columns, Layout, partition
from .rules import Rules, rules
from .side_by_side import in_threads
from .stack import STACKED_LOSSES, Stack, stacked, without_kernels
from .state import Losses, State

Double = NDArray[np.float64]
Indices = NDArray[np.intp]
Callback = Callable[[RoundInfo], Any]


class BoostedModel(Protocol):
    """An estimator with the parameters that classifier and regressor share."""

    n_estimators: int
    n_members: int | None
    learning_rate: str | float
    reg_lambda: str | float
    kinds: Sequence[str]
    max_samples: int | None
    early_stopping_rounds: str | int | None
    validation_fraction: str | float
    warm_start: bool
    random_state: Any
    n_threads: int | None
    verbose: int
    kernel: str | bool


class Pace(NamedTuple):
    """Factors of a loss on the rates of `Rules`, and the ridge of the amplitudes of waves."""

    waves: float
    tables: float
    ridge: float


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
    pace: Pace
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
        scaling = measure_scaling(data.X, data.weights, n_threads=model.n_threads)
    else:
        sources, forms = column_map.sources_, column_map.forms_
        n_features = column_map.n_features_in_
    columns = Columns.of(parts, scaling, sources, forms)
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
    work = _Work(columns, loss.problem(targets, weights[:n_deciding]), weights, _settled(model, len(learned)), pace,
                 [Layout.of_watched(rows) for rows in sets[1:]])
    del targets
    layouts, standings = (before.layouts, before.standings) if before is not None else _begun(
        work, learned, sets[0] if sets else None, np.random.default_rng(model.random_state))
    trainer = _Members(work, model, callback)
    members = trainer.train(layouts, standings)
    stack = _stacked(model, Boosting(members, layouts, columns, work.problem, weights, learned), trainer.was_stopped)
    shifts = stack.terms * (work.problem.intercept + quantile_shifts(members, layouts, work.problem, weights))
    ensemble = to_ensemble(members, columns.bins, scaling, center + scale * (shifts + stack.shifts),
                           stack.terms * scale)
    used = np.unique(sources)  # a map leaves out columns that tell nothing
    importances = np.zeros(n_features)
    importances[used] = _importances(members, len(used))
    attributes = _attributes(members, ensemble, set_names) | {
        "feature_importances_": importances, "kernel_choice_": stack.choice.array()}
    kernels = None if stack.part is None else stack.part.expansion(columns, scaling, scale * stack.kernels)
    state = None
    if prints is not None:
        standings = [member.standing for member in members if member.standing is not None]  # of all
        state = TrainingState(fixed_params(model), prints, layouts, standings)
    return Fitted(names, classes, with_kernels(ensemble.expansion, kernels), attributes, state, column_map)


def _stacked(model: BoostedModel, given: Boosting, was_stopped: bool) -> Stack:
    """The members, with a kernel machine where the parameter `kernel` and held-out rows ask for one."""
    factor = inverse_temperature(given.members, given.layouts, given.problem, given.weights)
    reason = reason_not_to_try(model.kernel, given.problem.kernel in STACKED_LOSSES, len(given.learned),
                               len(given.columns.values))
    reason = Reason.STOPPED if reason is None and was_stopped else reason
    if reason is not None:
        return without_kernels(factor, len(given.problem.intercept), reason)
    started = time.perf_counter()
    with printing() if model.verbose else contextlib.nullcontext():
        stack = stacked(given, factor, model.kernel is True, model.n_threads)
    if model.verbose:
        print(f"kernel machine {stack.choice.sentence}  {time.perf_counter() - started:.1f} s", file=sys.stderr)
    return stack


def _targets(rows: Any) -> NDArray[Any]:
    """Class indices, or values (n_outputs, n_rows)."""
    return rows.codes if isinstance(rows, LabelledRows) else rows.values.T


def _settled(model: BoostedModel, n_rows: int) -> Rules:
    """The rules for so many rows, with what the parameters say."""
    found = rules(n_rows)
    if model.n_members is not None:
        found = found._replace(n_members=model.n_members)
    if model.validation_fraction != "auto":
        found = found._replace(n_folds=max(2, round(1 / float(model.validation_fraction))))
    if not isinstance(model.early_stopping_rounds, str):
        found = found._replace(patience=model.early_stopping_rounds)
    if model.reg_lambda != "auto":
        found = found._replace(reg_lambda=float(model.reg_lambda))
    if model.learning_rate != "auto":
        factor = float(model.learning_rate) / found.pair_rate
        found = found._replace(pair_rate=found.pair_rate * factor, table_rate=found.table_rate * factor)
    return found._replace(n_folds=max(2, min(found.n_folds, n_rows)))


def _begun(work: _Work, learned: Indices, evaluated: Indices | None,
           rng: "np.random.Generator") -> tuple[list[Layout], list[Standing]]:
    """The rows of each member, and where it stands before the first round."""
    seeds = rng.integers(1 << 63, size=work.rules.n_members)
    starts = [Standing(np.random.default_rng(seed)) for seed in seeds]
    if evaluated is None:
        return _folds(work, learned, rng), starts
    return [Layout.of(learned, evaluated, rng)] * len(starts), starts


def _folds(work: _Work, learned: Indices, rng: "np.random.Generator") -> list[Layout]:
    """What each member learns from and holds out: the folds of a partition in turn, then those of another."""
    n_folds = work.rules.n_folds
    strata = work.problem.strata[learned]
    layouts = []
    folds: Any = None
    for member in range(work.rules.n_members):
        if member % n_folds == 0:
            folds = partition(strata, n_folds, rng)
        out = (folds == member % n_folds) & (len(learned) > 1)  # one row cannot be held out
        layouts.append(Layout.of(learned[~out], learned[out], rng))
    return layouts


class _Members:
    """Trains members, and tells of their rounds."""

    def __init__(self, work: _Work, model: BoostedModel, callback: Callback | None) -> None:
        self._work, self._model, self._callback = work, model, callback
        self._stop, self._lock, self._started = threading.Event(), threading.Lock(), time.perf_counter()
        self._told = Told(work.rules.n_members, model.n_estimators)

    def train(self, layouts: Sequence[Layout], starts: Sequence[Standing]) -> list[Member]:
        """All members, in their order, each from where it stands."""
        n_threads = 1
        if self._callback is None:
            n_threads = min(len(layouts), check_n_threads(self._model.n_threads, 1 << 62))
        jobs = [partial(self._one, k, *each) for k, each in enumerate(zip(layouts, starts, strict=True))]
        return in_threads(jobs, n_threads, self._stop)

    @property
    def was_stopped(self) -> bool:
        """Whether the callback ended the fit."""
        return self._stop.is_set()

    def _one(self, index: int, layout: Layout, start: Standing) -> Member:
        work, model = self._work, self._model
        state, *watched = (State(work.columns, work.problem, work.weights, each) for each in (layout, *work.watched))
        kinds: dict[str, Kind] = {
            "waves": Waves(work.columns, work.rules, work.pace.waves * work.rules.pair_rate, work.pace.ridge,
                           model.max_samples or len(work.weights)),
            "tables": Tables(work.columns, work.rules, work.pace.tables * work.rules.table_rate)}
        if "lines" in model.kinds:
            kinds["lines"] = Lines(work.columns, state, work.pace.waves * work.rules.pair_rate)
        member = train_member(state, watched, [kinds[name] for name in model.kinds], model.n_estimators,
                              work.rules.patience, start, partial(self._goes_on, index))
        self._told.ended(index)
        return member if model.warm_start else member._replace(standing=None)

    def _goes_on(self, member: int, n_rounds: int, losses: Losses) -> bool:
        """Whether training goes on after a round."""
        model = self._model
        self._told.round(member, n_rounds, losses)
        if self._callback is not None:
            info = RoundInfo(n_rounds, model.n_estimators, losses.learned, losses.held_out,
                             time.perf_counter() - self._started)
            if self._callback(info):
                self._stop.set()
        if model.verbose and n_rounds % model.verbose == 0:
            with self._lock:
                print(f"member {member + 1}/{self._work.rules.n_members}  round {n_rounds}/{model.n_estimators}  train "
                      f"loss {losses.learned:.6g}  eval loss {losses.held_out:.6g}  "
                      f"{time.perf_counter() - self._started:.1f} s", file=sys.stderr)
        return not self._stop.is_set()


def _importances(members: Sequence[Member], n_sources: int) -> Double:
    """Of columns of the table that are used: gains of kinds, divided by what their terms owe to columns; sum 1."""
    found = np.zeros(n_sources)
    for member in filter(lambda member: member.taken, members):
        for kind, share in member.shares.items():
            found += share * member.relevances[kind]
    return found / max(found.sum(), 1e-300)


def _attributes(members: Sequence[Member], ensemble: Ensemble, set_names: Sequence[str]) -> dict[str, Any]:
    """What is kept of members beside their terms."""
    longest = max(len(member.curve) for member in members)
    rows = [[(losses.learned, losses.held_out, *losses.watched) for losses in member.curve] for member in members]
    train_loss, *held_out = np.array([[*row, *row[-1:] * (longest - len(row))] for row in rows]).mean(axis=0).T
    n_rounds = np.array([len(member.taken) for member in members])
    return {"n_estimators_": longest - 1, "n_members_": len(members),
            "member_counts_": (n_rounds[:, None] >= np.arange(longest)).sum(axis=0).astype(np.float64),
            "train_loss_": train_loss.copy(), "eval_loss_": held_out[0].copy(),
            "eval_losses_": dict(zip(set_names, map(np.copy, held_out), strict=True)),
            "term_rounds_": ensemble.rounds}
