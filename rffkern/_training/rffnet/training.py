"""Training of a network on checked rows: restarts, each of some epochs (Algorithm 1)."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.monitor import Monitor
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._protocol.arguments import Precision, RandomSource, check_rng
from ..._rows.scaling import Scaling, measure_scaling
from ..._rows.training_rows import Training
from ...errors import InvalidInputError
from ..spectral import SPECTRAL_DENSITIES, rows_variance
from .epochs import epochs, visits
from .losses import Loss
from .network import LARGEST_LOSS, STEP_ORDERS, Network, StepPlan, Values, Workspace
from .parameters import Density, Solver
from .problem import NO_ROWS, Division, Problem, divide, pose
from .schedule import Schedule, ScheduleSettings, Stage, stages_from_start, stages_to_continue
from .training_state import TrainingState

Double = NDArray[np.float64]

CURVES = ("train_loss_", "eval_loss_", "relevances_")

# Number of terms by default: the paper's sqrt(n) ln n, within these limits.
_FEWEST_TERMS, _MOST_TERMS = 100, 4096

# Number of restarts by default: several on few rows; on more rows they cost more than they gain.
_FEW_ROWS, _RESTARTS_OF_FEW = 10_000, 3


class Settings(ScheduleSettings, Protocol):
    """The parameters that training reads."""

    n_components: int | None
    kernel: Density
    solver: Solver
    batch_size: int
    max_epochs: int
    validation_fraction: float
    n_restarts: int | None
    standardize: bool
    precision: Precision
    random_state: RandomSource
    n_jobs: int | None
    verbose: int


class _Task(NamedTuple):
    """What all restarts have in common."""

    settings: Settings
    loss: Loss
    problem: Problem
    division: Division
    rng: "np.random.Generator"
    callback: Callable[..., Any] | None
    make_stages: Callable[[ScheduleSettings, float, int], list[Stage]]


class _Outcome(NamedTuple):
    """A trained network, and what it was at its best."""

    state: TrainingState
    best: Values
    lowest_loss: float
    monitor: Monitor


def fit_network(settings: Settings, training: Training, loss: Loss, callback: Callable[..., Any] | None,
                state: TrainingState | None, rng: "np.random.Generator") -> Fitted:
    """Train on checked rows, from the start or from the state in which an earlier training ended."""
    problem = pose(training.rows, training, state)
    validation = {name: pose(rows, training, state) for name, rows in training.watched}
    division = divide(problem, validation, settings.validation_fraction, rng, state)
    make_stages = stages_from_start if state is None else stages_to_continue
    task = _Task(settings, loss, problem, division, rng, callback, make_stages)
    best = None
    for unit, start in _starts(task, training, state):
        outcome = _train(task, start, unit)
        if best is None or outcome.lowest_loss < best.lowest_loss:
            best = outcome
        if outcome.monitor.asked_to_stop:
            break
    assert best is not None  # there is always a start
    return _fitted(training, best.state, best.best, best.monitor)


def partial_fit_network(settings: Settings, training: Training, loss: Loss, state: TrainingState | None) -> Fitted:
    """Pass over some rows once, from the start or from an earlier state; no rows are held out."""
    rng = check_rng(settings.random_state)
    problem = pose(training.rows, training, state)
    members = problem.weights.positive()
    if state is None:
        scaling = _measured_scaling(settings, training, problem)
        if not scaling.inverse_scale.any():
            raise InvalidInputError("X must have rows that differ in the first call of partial_fit, which chooses the "
                                    f"units of columns, got {len(members)} row(s) without spread: pass more rows")
        state = _initial_state(settings, problem, training, scaling, loss, rng)
    else:
        state = state.continued(training, len(members))
    workspace = _workspace(settings, state, loss, len(members), 0)
    stage = stages_to_continue(settings, loss.ridge_scale, state.n_seen)[0]
    for visit in visits(problem, members, 1, len(members), rng):
        state.network.descend(visit, stage.settings, workspace)
    return _fitted(training, state, state.network.values(), Monitor(0))


def _starts(task: _Task, training: Training, state: TrainingState | None) -> Iterator[tuple[str, TrainingState]]:
    """Yield (name of an epoch in lines of progress, state to train from) for each restart."""
    settings, division = task.settings, task.division
    n_samples, held_out = division.n_samples, division.held_out
    if state is not None:
        yield "epoch", state.continued(training, n_samples)._replace(n_samples=n_samples, held_out=held_out)
        return
    n_restarts = settings.n_restarts or (_RESTARTS_OF_FEW if n_samples <= _FEW_ROWS else 1)
    scaling = _measured_scaling(settings, training, task.problem)
    for index in range(1, n_restarts + 1):
        start = _initial_state(settings, task.problem, training, scaling, task.loss, task.rng)
        yield "epoch" if n_restarts == 1 else f"restart {index}, epoch", start._replace(held_out=held_out)


def _measured_scaling(settings: Settings, training: Training, problem: Problem) -> Scaling:
    """Columns in units of their spread, or without `standardize` in units of the root of their mean variance."""
    standardize = settings.standardize and training.column_map is None  # mapped columns have their units
    scaling = measure_scaling(problem.X, problem.weights, standardize, settings.n_jobs)
    variance = rows_variance(standardize, scaling)
    return scaling._replace(inverse_scale=scaling.inverse_scale / math.sqrt(variance))


def _initial_state(settings: Settings, problem: Problem, training: Training, scaling: Scaling, loss: Loss,
                   rng: "np.random.Generator") -> TrainingState:
    """A network with equal relevances, coefficients of 0 and constant scores."""
    n_samples, n_terms = problem.weights.n_positive, settings.n_components
    if n_terms is None:
        n_terms = min(max(int(math.sqrt(n_samples) * math.log(n_samples)), _FEWEST_TERMS), _MOST_TERMS)
    omegas = SPECTRAL_DENSITIES[settings.kernel](rng, (n_terms, problem.X.shape[1]))
    offsets = rng.uniform(0, 2 * math.pi, n_terms)
    # Distances between typical rows are then about the length scale of the kernel.
    relevance = 1 / math.sqrt(max(int(np.count_nonzero(scaling.inverse_scale)), 1))
    start = loss.start(problem.targets, problem.weights, problem.n_outputs)
    network = Network(omegas, offsets, relevance, start, np.float64 if settings.precision == "double" else np.float32)
    return TrainingState(training.names, network, scaling, training.center, training.scale, n_samples, n_samples,
                         NO_ROWS)


def _workspace(settings: Settings, state: TrainingState, loss: Loss, n_samples: int, n_scored: int) -> Workspace:
    plan = StepPlan(loss, state.scaling, min(settings.batch_size, n_samples), STEP_ORDERS[settings.solver],
                    settings.n_jobs)
    return Workspace(state.network, plan, n_scored)


def _train(task: _Task, state: TrainingState, unit: str) -> _Outcome:
    """Run epochs on a network until its schedule or its monitor ends them."""
    settings, loss, problem, division, rng, callback, make_stages = task
    _, _, members, probe, validation, n_measured = division
    network = state.network
    workspace = _workspace(settings, state, loss, len(members), n_measured)

    def measured() -> dict[str, float]:
        return {name: network.mean_loss(*each[:3], workspace) for name, each in validation.items()}

    train_loss, losses = network.mean_loss(*probe[:3], workspace), measured()
    schedule = Schedule(network, make_stages(settings, loss.ridge_scale, len(members)), _deciding(losses, train_loss))
    monitor = Monitor(settings.max_epochs, callback=callback, verbose=settings.verbose, unit=unit)
    monitor.record(train_loss, _deciding(losses), losses)
    total, total_weight, of_parts, go_on = 0.0, 0.0, [], True
    for visit, ends_part, ends_epoch in epochs(problem, members, workspace.plan.batch_size, rng):
        total += network.descend(visit, schedule.settings, workspace)
        total_weight += visit.total_weight
        if ends_part and validation:
            of_parts.append(measured())
            go_on = schedule.judge(_deciding(of_parts[-1]))
        if ends_epoch or not go_on:
            train_loss = min(LARGEST_LOSS, total / total_weight)  # LARGEST_LOSS first: also for nan
            if not validation:
                go_on = schedule.judge(train_loss)
            losses = min(of_parts, key=_deciding, default={})
            if not monitor.record(train_loss, _deciding(losses), losses) or not go_on:
                break
            total, total_weight, of_parts = 0.0, 0.0, []
    return _Outcome(state, schedule.best, schedule.lowest, monitor)


def _deciding(losses: Mapping[str, float], without: Any = None) -> Any:
    """The loss on the set that decides, the first."""
    return next(iter(losses.values()), without)


def _fitted(training: Training, state: TrainingState, best: Values, monitor: Monitor) -> Fitted:
    """What an estimator keeps of a network, which is restored to its best values."""
    network, scaling = state.network, state.scaling
    train_loss, eval_loss = monitor.train_loss, monitor.eval_loss
    n_epochs = _counted_epochs(train_loss, eval_loss)
    network.restore(best)
    attributes = {"n_components_": network.n_terms, "relevances_": network.relevances_of(scaling),
                  "train_loss_": np.array(train_loss, np.float64), "eval_loss_": np.array(eval_loss, np.float64),
                  "eval_losses_": {name: np.array(losses) for name, losses in monitor.watched.items()}, **n_epochs}
    expansion = network.expansion(state.center, state.scale, scaling)
    return Fitted(state.names, training.classes, expansion, attributes, state, training.column_map)


def _counted_epochs(train_loss: list[float] | Double, eval_loss: list[float] | Double) -> dict[str, int]:
    """The number of epochs, and the epoch of the lowest loss."""
    judged = eval_loss if len(eval_loss) else train_loss
    return {"n_epochs_": max(len(judged) - 1, 0), "best_epoch_": int(np.argmin(judged)) if len(judged) else 0}


def restored_training(expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train, held_out, relevances = (arrays[name] for name in CURVES)
    if train.ndim != 1 or held_out.ndim != 1 or held_out.size not in (0, train.size):
        raise ValueError("loss curves do not agree in number")
    if relevances.shape != (expansion.n_features,) or not (relevances >= 0).all():
        raise ValueError("relevances are malformed")
    return {"n_components_": expansion.n_terms, **_counted_epochs(train, held_out)}
