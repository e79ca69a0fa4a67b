"""Training of RFFNet: Algorithm 1 of Otto and Izbicki (2022), with restarts, validation and a falling penalty."""

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.monitor import Monitor, TimeLimit
from ..._native.array_types import Double, Indices, NDArray
from ..._protocol.arguments import check_rng
from ..._rows.scaling import Scaling
from ..._rows.training_rows import TargetRows, Training
from ...errors import InvalidInputError
from ..spectral import SPECTRAL_DENSITIES, rows_variance
from .losses import Loss
from .network import LARGEST_LOSS, Network, Objective, Values
from .rows import n_validation_rows, numeric_rows, shuffled_epoch, shuffled_passes, taken

# Number of terms by default: the paper's sqrt(n) ln n, within these limits.
_FEWEST_TERMS, _MOST_TERMS = 100, 4096

# Number of restarts by default: several on few rows; on more rows they cost more than they gain.
_FEW_ROWS, _RESTARTS_OF_FEW = 10_000, 3

# Numbers in the rows on which the training loss before the first step is measured.
_FIRST_LOSS_NUMBERS = 1 << 18

# With a large penalty on |beta|^2 training finds the relevant columns; with a small one it fits the function of these
# columns.  The penalties, times the number of rows, and the validations without a lower loss that each one lasts.
_PENALTIES, _PATIENCE_OF_PENALTY = (50.0, 5.0, 0.5, 0.05), 3

# With the last penalty, training shortens its steps this many times, each time by this factor.
_STEP_FACTOR, _N_STEP_CUTS, _PATIENCE_OF_STEP = 0.3, 2, 6

# Validations count from this number of steps on, or once the loss has fallen by this share.
_FIRST_STEPS = 2000
_FIRST_FALL = 0.02


class TrainingState(NamedTuple):
    """What training continues from: a network, the units it was trained in, and the rows it has seen."""

    names: NDArray[np.object_] | None  # of columns
    network: Network
    scaling: Scaling  # of columns
    center: Double  # (n_outputs,) of targets
    scale: Double  # (n_outputs,)
    n_seen: int  # rows, in all calls
    n_samples: int  # rows of the last `fit`
    validation_rows: Indices  # which of them it was validated on

    def continued(self, training: Training, n_more: int) -> "TrainingState":
        """Return a copy for training on some more rows, which need not repeat the names of columns."""
        return self._replace(names=self.names if training.names is None else training.names,
                             network=copy.deepcopy(self.network), n_seen=self.n_seen + n_more)


class Stage(NamedTuple):
    """A learning rate, a penalty, and the validations without a lower loss after which they end; None for never."""

    eta: float
    mu: float
    patience: int | None


def fit_network(model: Any, training: Training, callback: Callable[..., Any] | None, rng: "np.random.Generator",
                limit: TimeLimit) -> Fitted:
    """Train on checked rows, from the start or, with `warm_start`, from the state in which the training ended."""
    loss, state = model._loss(training.center.size), state_to_continue(model, training) if model.warm_start else None
    units = None if state is None else (state.center, state.scale)
    rows = numeric_rows(training.rows, training, units)
    validation = {name: numeric_rows(each, training, units) for name, each in training.eval_sets}

    # Rows to validate on.  Training that continues with as many rows keeps those of before.
    positive = rows.weights.positive()
    n_samples, n_features = len(positive), rows.X.shape[1]
    n_validation = 0 if validation else n_validation_rows(n_samples, n_features, model.validation_fraction)
    if n_validation == 0:
        validation_rows = np.empty(0, np.intp)
    elif state is not None and (state.n_samples, state.validation_rows.size) == (n_samples, n_validation):
        validation_rows = state.validation_rows
    else:
        validation_rows = np.sort(rng.permutation(n_samples)[:n_validation])
    training_rows = np.delete(positive, validation_rows)  # rows that steps are taken on
    first_rows = taken(rows, training_rows[:: -(-len(training_rows) // max(1, _FIRST_LOSS_NUMBERS // n_features))])
    if n_validation:
        validation = {"valid_0": taken(rows, positive[validation_rows])}

    if state is None:
        scaling = _measured_scaling(model, training)
        n_restarts = model.n_restarts or (_RESTARTS_OF_FEW if n_samples <= _FEW_ROWS else 1)
    else:
        scaling, n_restarts = state.scaling, 1
    best_loss, best, timed_out = math.inf, None, False
    for restart in range(1, n_restarts + 1):
        start = (_initial_state(model, rows, training, scaling, loss, rng) if state is None else
                 state.continued(training, n_samples))._replace(n_samples=n_samples, validation_rows=validation_rows)
        network, batch_size = start.network, min(model.batch_size, len(training_rows))
        objective = Objective(network, loss, scaling, batch_size, model.n_jobs)

        # Losses before the first step.  The first of the validation sets decides.
        train_loss = objective.mean_loss(first_rows)
        losses = {name: objective.mean_loss(each) for name, each in validation.items()}
        stages = stages_of(model, loss.penalty_factor, len(training_rows), continues=state is not None)
        schedule = Schedule(network, stages, _first(losses, train_loss))
        monitor = Monitor(model.max_epochs, callback=callback, verbose=model.verbose,
                          unit="epoch" if n_restarts == 1 else f"restart {restart}, epoch", limit=limit)
        monitor.record(train_loss, losses)
        continues = True
        while continues:
            epoch = shuffled_epoch(rows, training_rows, batch_size, rng)
            train_loss, losses, wants_more = _train_epoch(objective, schedule, epoch, validation, model.reg_l1, limit)
            continues = monitor.record(train_loss, losses) and wants_more
        del objective  # its scratch, before that of the next restart
        if best is None or schedule.lowest < best_loss:
            best_loss, best = schedule.lowest, (start, schedule.best, monitor)
        if monitor.asked_to_stop or limit.is_over():
            timed_out = not monitor.asked_to_stop and ((monitor.timed_out and wants_more) or restart < n_restarts)
            break
    assert best is not None  # there is always a restart
    fitted = _fitted(training, *best)
    return fitted._replace(attributes={**fitted.attributes, "timed_out_": timed_out})


def _train_epoch(objective: Objective, schedule: "Schedule", epoch: Iterable[tuple[TargetRows, list[Indices], bool]],
                 validation: Mapping[str, TargetRows], reg_l1: float,
                 limit: TimeLimit) -> tuple[float, dict[str, float], bool]:
    """Step along all mini-batches: the training loss, the lowest validation losses within, and whether to go on.

    The schedule judges after each part of the epoch by the first of the validation sets, or at its end by the training
    loss.
    """
    total, total_weight, of_parts, goes_on = 0.0, 0.0, [], True
    for block, orders, ends_part in epoch:
        eta, mu, _ = schedule.stage
        of_block, weight = objective.descend(block, orders, eta, mu, reg_l1)
        total, total_weight = total + of_block, total_weight + weight
        if ends_part and validation:
            of_parts.append({name: objective.mean_loss(each) for name, each in validation.items()})
            goes_on = schedule.judge(_first(of_parts[-1]))
        if not goes_on or (ends_part and limit.is_over()):
            break
    train_loss = min(LARGEST_LOSS, total / total_weight)  # LARGEST_LOSS first: also for nan
    if not validation:
        goes_on = schedule.judge(train_loss)
    return train_loss, min(of_parts, key=_first, default={}), goes_on


def _first(losses: Mapping[str, float], without: Any = None) -> Any:
    """The loss on the first of the validation sets."""
    return next(iter(losses.values()), without)


class Schedule:
    """The stage that training is in, and the best values of the network so far.

    A stage ends after a number of validations without a lower loss.  The next one starts from the best values.
    """

    def __init__(self, network: Network, stages: list[Stage], first_loss: float) -> None:
        self._network, self._later = network, stages[1:]
        self.stage = stages[0]
        self._first_loss = self.lowest = first_loss
        self.best: Values = network.values()
        self._n_without_improvement = 0

    def judge(self, loss: float) -> bool:
        """Record the loss of a validation; return whether to continue.

        The network gets its best values back when a stage ends.
        """
        if loss < self.lowest:
            self.lowest, self.best, self._n_without_improvement = loss, self._network.values(), 0
        elif self._network.n_steps >= _FIRST_STEPS or self.lowest < (1 - _FIRST_FALL) * self._first_loss:
            self._n_without_improvement += 1
        if self.stage.patience is None or self._n_without_improvement < self.stage.patience:
            return True
        if not self._later:
            return False
        self.stage, *self._later = self._later
        self._network.restore(self.best)
        self._n_without_improvement = 0
        return True


def stages_of(model: Any, penalty_factor: float, n_samples: int, continues: bool) -> list[Stage]:
    """The stages of a training on `n_samples` rows: the penalties in turn, then shorter and shorter steps.

    Training that continues has the last penalty alone.
    """
    *larger, mu = ([penalty_factor * penalty / n_samples for penalty in _PENALTIES]
                   if isinstance(model.reg_lambda, str) else [float(model.reg_lambda)])
    stages = [] if continues else [Stage(model.learning_rate, each, _PATIENCE_OF_PENALTY) for each in larger]
    factor = 1.0
    for patience in [_PATIENCE_OF_STEP] * _N_STEP_CUTS + [model.early_stopping_rounds]:
        stages.append(Stage(model.learning_rate * factor, mu, patience))
        factor *= _STEP_FACTOR
    return stages


def _measured_scaling(model: Any, training: Training) -> Scaling:
    """Columns in units of their spread, or without `standardize` in units of the root of their mean variance."""
    standardize, scaling = training.scaling(model)
    variance = rows_variance(standardize, scaling)
    return scaling._replace(inverse_scale=scaling.inverse_scale / math.sqrt(variance))


def _initial_state(model: Any, rows: TargetRows, training: Training, scaling: Scaling, loss: Loss,
                   rng: "np.random.Generator") -> TrainingState:
    """A network with equal relevances, coefficients of 0 and constant scores."""
    n_samples, n_terms = rows.weights.n_positive, model.n_components
    if n_terms is None:
        n_terms = min(max(int(math.sqrt(n_samples) * math.log(n_samples)), _FEWEST_TERMS), _MOST_TERMS)
    omegas = SPECTRAL_DENSITIES[model.kernel](rng, (n_terms, rows.X.shape[1]))
    offsets = rng.uniform(0, 2 * math.pi, n_terms)
    # Distances between typical rows are then about the length scale of the kernel.
    relevance = 1 / math.sqrt(max(int(np.count_nonzero(scaling.inverse_scale)), 1))
    start = loss.start(rows.values, rows.weights)
    network = Network(omegas, offsets, relevance, start, np.float64 if model.precision == "double" else np.float32)
    return TrainingState(training.names, network, scaling, training.center, training.scale, n_samples, n_samples,
                         np.empty(0, np.intp))


def partial_fit_network(model: Any, training: Training) -> Fitted:
    """Pass over some rows once, from the start or from an earlier state, without validation."""
    loss, state, rng = model._loss(training.center.size), state_to_continue(model, training), check_rng(
        model.random_state)
    rows = numeric_rows(training.rows, training, None if state is None else (state.center, state.scale))
    training_rows = rows.weights.positive()
    if state is None:
        scaling = _measured_scaling(model, training)
        if not scaling.inverse_scale.any():
            raise InvalidInputError("X must have rows that differ in the first call of partial_fit, which chooses the "
                                    f"units of columns, got {len(training_rows)} row(s) without spread: pass more rows")
        state = _initial_state(model, rows, training, scaling, loss, rng)
    else:
        state = state.continued(training, len(training_rows))
    objective = Objective(state.network, loss, state.scaling, min(model.batch_size, len(training_rows)), model.n_jobs)
    eta, mu, _ = stages_of(model, loss.penalty_factor, state.n_seen, continues=True)[0]
    for block, orders in shuffled_passes(rows, training_rows, 1, len(training_rows), rng):
        objective.descend(block, orders, eta, mu, model.reg_l1)
    return _fitted(training, state, state.network.values(), Monitor(0))


def _fitted(training: Training, state: TrainingState, best: Values, monitor: Monitor) -> Fitted:
    """What an estimator keeps of a network, which is restored to its best values."""
    network, curves = state.network, monitor.curves()
    network.restore(best)
    attributes = {"n_components_": network.n_terms, "relevances_": network.relevances_of(state.scaling), **curves,
                  **counted_epochs(curves["train_loss_"], curves["eval_loss_"])}
    expansion = network.expansion(state.center, state.scale, state.scaling)
    return Fitted(state.names, training.classes, expansion, attributes, state, training.column_map, training.reference)


def counted_epochs(train_loss: Double, eval_loss: Double) -> dict[str, int]:
    """Return the number of epochs, and the epoch of the lowest loss."""
    judged = eval_loss if len(eval_loss) else train_loss
    return {"n_epochs_": max(len(judged) - 1, 0), "best_epoch_": int(np.argmin(judged)) if len(judged) else 0}


def state_to_continue(model: Any, training: Training) -> TrainingState | None:
    """Return the state that a model's training ended in; None before any training.

    TrainingStateError for a model read from a file, InvalidInputError if the state does not agree with the rows or the
    parameters.
    """
    if not hasattr(model, "expansion_"):
        return None
    state: TrainingState = model._require_training_state("to continue training")
    model._check_columns(training.names, training.rows.X.shape[1])
    network = state.network
    if model.n_components not in (None, network.n_terms):
        raise InvalidInputError(f"n_components must be {network.n_terms}, as in the training that it continues, or "
                                f"None, got {model.n_components}")
    if training.classes is not None and not np.array_equal(training.classes, model.classes_):
        raise InvalidInputError("y must have the classes of the training that it continues, "
                                f"{model.classes_.tolist()!r}, got {training.classes.tolist()!r}")
    if training.center.size != network.n_outputs:
        raise InvalidInputError(f"y must have {network.n_outputs} target(s), as in the training that it continues, got "
                                f"{training.center.size}")
    precision = "double" if network.dtype == np.float64 else "single"
    if model.precision != precision:
        raise InvalidInputError(f"precision must be {precision!r}, as in the training that it continues, got "
                                f"{model.precision!r}")
    return state
