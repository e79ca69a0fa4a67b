"""The way from checked rows to a fitted model: columns, folds, members, and their mean."""

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
from .._estimator.monitor import RoundInfo
from ..errors import InvalidInputError
from .ensemble import in_threads, to_expansion
from .kinds import Kind, Lines, Tables, Waves
from .losses import Loss, Problem
from .member import Member, train_member
from .progress import Told
from .rows import Columns, Layout, partition
from .rules import Rules, rules
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
    max_samples: int
    early_stopping_rounds: str | int | None
    validation_fraction: str | float
    random_state: Any
    n_threads: int | None
    verbose: int


class Pace(NamedTuple):
    """Factors of a loss on the rates of `Rules`, and the ridge of the amplitudes of waves."""

    waves: float
    tables: float
    ridge: float


class _Work(NamedTuple):
    """What all members share."""

    columns: Columns
    problem: Problem
    weights: Double
    rules: Rules
    pace: Pace


def train(model: BoostedModel, training: Training, loss: Loss, pace: Pace, callback: Callback | None) -> Fitted:
    """Boost a model on checked rows.

    The order of random draws is documented and stays: a seed of each member, then the partitions of the rows.
    """
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable or None, got {type(callback).__name__}")
    rng = np.random.default_rng(model.random_state)
    names, data, evaluation, center, scale, _, classes, column_map = training
    parts = [data] if evaluation is None else [data, evaluation]
    sources, forms = np.arange(data.X.shape[1]), None
    scaling = no_scaling(data.X.shape[1])
    if column_map is None:
        scaling = measure_scaling(data.X, data.weights, n_threads=model.n_threads)
    else:
        sources, forms = column_map.sources_, column_map.forms_
    columns = Columns.of([part.X for part in parts], scaling, sources, forms)
    weights = np.concatenate([part.weights.each for part in parts])
    targets = np.concatenate([np.atleast_2d(_targets(part)) for part in parts], axis=1)
    learned = data.weights.positive()
    work = _Work(columns, loss.problem(targets, weights), weights, _settled(model, len(learned)), pace)
    seeds = rng.integers(1 << 63, size=work.rules.n_members)
    if evaluation is None:
        layouts = _folds(work, learned, rng)
    else:
        layouts = [Layout.of(learned, len(data.weights.each) + evaluation.weights.positive(), rng)] * len(seeds)
    members = _Members(work, model, callback).train(layouts, seeds)
    expansion = to_expansion(members, columns.bins, scaling, center + scale * work.problem.intercept, scale)
    return Fitted(names, classes, expansion, _attributes(members, columns), column_map=column_map)


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
    if model.early_stopping_rounds != "auto":
        found = found._replace(patience=model.early_stopping_rounds)
    if model.reg_lambda != "auto":
        found = found._replace(reg_lambda=float(model.reg_lambda))
    if model.learning_rate != "auto":
        factor = float(model.learning_rate) / found.pair_rate
        found = found._replace(pair_rate=found.pair_rate * factor, table_rate=found.table_rate * factor)
    return found._replace(n_folds=min(found.n_folds, n_rows))


def _folds(work: _Work, learned: Indices, rng: "np.random.Generator") -> list[Layout]:
    """What each member learns from and holds out: the folds of a partition in turn, then those of another."""
    n_folds = work.rules.n_folds
    strata = work.problem.strata[learned]
    layouts = []
    folds: Any = None
    for member in range(work.rules.n_members):
        if member % n_folds == 0:
            folds = partition(strata, n_folds, rng)
        out = folds == member % n_folds
        layouts.append(Layout.of(learned[~out], learned[out], rng))
    return layouts


class _Members:
    """Trains members, and tells of their rounds."""

    def __init__(self, work: _Work, model: BoostedModel, callback: Callback | None) -> None:
        self._work, self._model, self._callback = work, model, callback
        self._stop, self._lock, self._started = threading.Event(), threading.Lock(), time.perf_counter()
        self._told = Told(work.rules.n_members, model.n_estimators)

    def train(self, layouts: Sequence[Layout], seeds: Sequence[int]) -> list[Member]:
        """All members, in their order."""
        n_threads = 1
        if self._callback is None:
            n_threads = min(len(layouts), check_n_threads(self._model.n_threads, 1 << 62))
        jobs = [partial(self._one, k, *each) for k, each in enumerate(zip(layouts, seeds, strict=True))]
        return in_threads(jobs, n_threads, self._stop)

    def _one(self, index: int, layout: Layout, seed: int) -> Member:
        work, model = self._work, self._model
        state = State(work.columns, work.problem, work.weights, layout)
        kinds: dict[str, Kind] = {
            "waves": Waves(work.columns, work.rules, work.pace.waves * work.rules.pair_rate, work.pace.ridge,
                           model.max_samples),
            "tables": Tables(work.columns, work.rules, work.pace.tables * work.rules.table_rate)}
        if "lines" in model.kinds:
            kinds["lines"] = Lines(work.columns, state, work.pace.waves * work.rules.pair_rate)
        member = train_member(state, [kinds[name] for name in model.kinds], model.n_estimators, work.rules.patience,
                              np.random.default_rng(seed), partial(self._goes_on, index))
        self._told.ended(index)
        return member

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


def _attributes(members: Sequence[Member], columns: Columns) -> dict[str, Any]:
    """What is kept of members beside their terms."""
    longest = max(len(member.curve) for member in members)
    curves = np.array([[*member.curve, *[member.curve[-1]] * (longest - len(member.curve))] for member in members])
    importances = np.zeros(columns.n_sources)
    for member in members:
        for kind, share in member.shares.items():
            importances += share / len(members) * member.relevances[kind]
    return {"n_estimators_": sum(len(member.taken) for member in members), "n_members_": len(members),
            "train_loss_": curves[:, :, 0].mean(axis=0), "eval_loss_": curves[:, :, 1].mean(axis=0),
            "feature_importances_": importances}
