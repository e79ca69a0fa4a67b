"""All members of a model, one after the other or side by side."""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._estimator.monitor import RoundInfo
from ..._protocol.arguments import Auto
from ..._rows.threads import check_n_threads
from .ensemble import Ensemble
from .kinds import Kind, Lines, Tables, Waves
from .member import Member, Standing, train_member
from .parameters import BaseLearner
from .progress import Told
from .rows import Columns
from .rules import Pace, Rules, rules
from .side_by_side import in_threads
from .state import Losses, Stand

Double = NDArray[np.float64]
Callback = Callable[[RoundInfo], Any]

_ALL = 1 << 62  # rows


class BoostedModel(Protocol):
    """An estimator with the parameters that classifier and regressor share."""

    n_estimators: int
    n_bags: int | None
    learning_rate: float | Auto
    reg_lambda: float | Auto
    base_learners: Sequence[BaseLearner]
    max_samples: int | None
    early_stopping_rounds: int | Auto | None
    validation_fraction: float | Auto
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    verbose: int
    kernel_ridge: str | bool


class Plan(NamedTuple):
    """What members are trained by."""

    columns: Columns  # of which the rows may be elsewhere
    rules: Rules
    pace: Pace


def settled(model: BoostedModel, n_rows: int) -> Rules:
    """The rules for so many rows, with what the parameters say."""
    found = rules(n_rows)
    if model.n_bags is not None:
        found = found._replace(n_bags=model.n_bags)
    if model.validation_fraction != "auto":
        n_folds = 1 / float(model.validation_fraction)
        is_whole = abs(n_folds - round(n_folds)) < 1e-9 * n_folds  # 1 / (1 / 49) is not 49 in floating point
        found = found._replace(n_folds=round(n_folds) if is_whole else n_folds)
    if not isinstance(model.early_stopping_rounds, str):
        found = found._replace(patience=model.early_stopping_rounds)
    if model.reg_lambda != "auto":
        found = found._replace(reg_lambda=float(model.reg_lambda))
    if model.learning_rate != "auto":
        factor = float(model.learning_rate) / found.pair_rate
        found = found._replace(pair_rate=found.pair_rate * factor, table_rate=found.table_rate * factor)
    return found._replace(n_folds=max(2, min(found.n_folds, n_rows)))


class Members:
    """Trains members, and tells of their rounds.

    `stands` makes, for a member by its index, where its boosting stands, and where sets of rows do that are watched.
    """

    def __init__(self, plan: Plan, model: BoostedModel, callback: Callback | None,
                 stands: Callable[[int], tuple[Stand, Sequence[Stand]]]) -> None:
        self._plan, self._model, self._callback, self._stands = plan, model, callback, stands
        self._stop, self._lock, self._started = threading.Event(), threading.Lock(), time.perf_counter()
        self._told = Told(plan.rules.n_bags, model.n_estimators)

    def train(self, starts: Sequence[Standing], side_by_side: bool = True) -> list[Member]:
        """All members, in their order, each from where it stands."""
        n_threads = 1
        if side_by_side and self._callback is None:  # else which rounds a callback keeps would be up to chance
            n_threads = min(len(starts), check_n_threads(self._model.n_jobs, _ALL))
        jobs = [partial(self._one, k, start) for k, start in enumerate(starts)]
        return in_threads(jobs, n_threads, self._stop)

    @property
    def was_stopped(self) -> bool:
        """Whether the callback ended the fit."""
        return self._stop.is_set()

    def _one(self, index: int, start: Standing) -> Member:
        (columns, of_rows, pace), model = self._plan, self._model
        stand, watched = self._stands(index)
        of_waves, of_tables = pace.factors(of_rows.size)
        kinds: dict[str, Kind] = {
            "fourier": Waves(columns, of_rows, of_waves * of_rows.pair_rate, pace.ridge, model.max_samples or _ALL),
            "tree": Tables(columns, of_rows, of_tables * of_rows.table_rate)}
        if "linear" in model.base_learners:
            kinds["linear"] = Lines(columns, stand, of_waves * of_rows.pair_rate)
        member = train_member(stand, watched, [kinds[name] for name in model.base_learners], model.n_estimators,
                              of_rows.patience, start, partial(self._goes_on, index))
        self._told.ended(index)
        return member if model.warm_start else member._replace(standing=None)

    def _goes_on(self, member: int, n_rounds: int, losses: Losses) -> bool:
        """Whether training goes on after a round."""
        model = self._model
        self._told.round(member, n_rounds, losses)
        if self._callback is not None:
            info = RoundInfo(n_rounds, model.n_estimators, losses.learned, losses.held_out,
                             time.perf_counter() - self._started, member)
            if self._callback(info):
                self._stop.set()
        if model.verbose and n_rounds % model.verbose == 0:
            with self._lock:
                print(f"bag {member + 1}/{self._plan.rules.n_bags}  round {n_rounds}/{model.n_estimators}  train "
                      f"loss {losses.learned:.6g}  eval loss {losses.held_out:.6g}  "
                      f"{time.perf_counter() - self._started:.1f} s", file=sys.stderr)
        return not self._stop.is_set()


def importances(members: Sequence[Member], n_sources: int) -> Double:
    """Of columns of the table that are used: gains of kinds, divided by what their terms owe to columns; sum 1."""
    found = np.zeros(n_sources)
    for member in filter(lambda member: member.taken, members):
        for kind, share in member.shares.items():
            found += share * member.relevances[kind]
    return found / max(found.sum(), 1e-300)


def fitted_attributes(members: Sequence[Member], ensemble: Ensemble, set_names: Sequence[str]) -> dict[str, Any]:
    """What is kept of members beside their terms."""
    longest = max(len(member.curve) for member in members)
    rows = [[(losses.learned, losses.held_out, *losses.watched) for losses in member.curve] for member in members]
    train_loss, *held_out = np.array([[*row, *row[-1:] * (longest - len(row))] for row in rows]).mean(axis=0).T
    n_rounds = np.array([len(member.taken) for member in members])
    return {"n_estimators_": longest - 1, "n_bags_": len(members),
            "bag_counts_": (n_rounds[:, None] >= np.arange(longest)).sum(axis=0).astype(np.float64),
            "train_loss_": train_loss.copy(), "eval_loss_": held_out[0].copy(),
            "eval_losses_": dict(zip(set_names, map(np.copy, held_out), strict=True)),
            "term_rounds_": ensemble.rounds}
