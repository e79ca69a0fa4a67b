"""The way from checked rows to a trained network: epochs, the rows held out, step sizes, restarts (Algorithm 1)."""

import math
from typing import NamedTuple

import numpy as np

from . import _validation as check
from ._base import LabelledRows, Training
from ._boosted import rows_variance
from ._boosting_loop import Monitor
from ._network import Descent, Network
from ._row_blocks import RowBlocks, check_rows, take_rows
from ._scaling import Scaling, measure_scaling, standardised_targets
from ._spectral_densities import SPECTRAL_DENSITIES
from .errors import InvalidInputError, NotFittedError

CURVES = ("train_loss_", "eval_loss_", "relevances_")

# Number of terms where it is not given: the paper's sqrt(n) ln n, within these.
_FEWEST_TERMS, _MOST_TERMS = 100, 4096

# Of the rows at hand no more are held out, and no more numbers.
_MOST_HELD_OUT = 1 << 16
_MOST_HELD_OUT_NUMBERS = 1 << 24

# Rows on which the loss before any epoch is measured.
_START_ROWS = 4096

# Trainings of which the best is kept, where rows are few; on more, it costs more than it gains.
_FEW_ROWS, _RESTARTS_OF_FEW = 10_000, 3

# An epoch passes over few rows again and again, until it has taken so many steps.
_STEPS_PER_EPOCH = 32

# Penalties on the squared coefficients, times the number of rows: a heavy one finds the columns that matter, a light
# one the function of them.  After so many epochs without a better one, the network goes back to the best, and on with a
# lighter one; and when it is light enough, with shorter steps.
_FIRST_RIDGE, _LAST_RIDGE, _RIDGE_CUT, _EPOCHS_PER_RIDGE = 50.0, 0.05, 0.1, 3
_STEP_CUT, _MOST_STEP_CUTS, _EPOCHS_PER_STEP = 0.3, 2, 4

# Before so many steps no epoch is too bad, unless the loss has fallen by such a share.
_FIRST_STEPS = 2000
_FIRST_FALL = 0.02

# What stands for a loss that is none.
_LARGEST_LOSS = 1e300


class Problem(NamedTuple):
    """Rows with their targets as a loss reads them."""

    X: np.ndarray | RowBlocks  # (n_samples, n_features)
    targets: np.ndarray  # (n_samples, n_targets) float64: reals, signs, or classes counted from 0
    weight: np.ndarray | None  # (n_samples,)
    n_outputs: int

    def visits(self, members, rng):
        """Yield (array, indices into it in random order, targets, weights) that together are some rows.

        Rows that are streamed are shuffled within their chunk.
        """
        if not isinstance(self.X, RowBlocks):
            yield self.X, members[rng.permutation(len(members))], self.targets, self.weight
            return
        for rows, block in self.X.shuffled_chunks(rng):
            here = members[slice(*np.searchsorted(members, (rows.start, rows.stop)))] - rows.start
            if len(here):
                weight = None if self.weight is None else self.weight[rows]
                yield block, here[rng.permutation(len(here))], self.targets[rows], weight

    def standardised(self, members, scaling, dtype):
        """Some of the rows, in memory and as a network scores them."""
        rows = ((take_rows(self.X, members) - scaling.center) * scaling.inverse_scale).astype(dtype)
        weight = None if self.weight is None else self.weight[members]
        return Problem(rows, self.targets[members], weight, self.n_outputs)


class State(NamedTuple):
    """What more epochs go on from."""

    network: Network
    scaling: Scaling
    center: np.ndarray  # (n_outputs,) of targets
    scale: np.ndarray  # (n_outputs,)
    n_samples: int  # of positive weight, of which
    held_out: np.ndarray  # these were validated on


class _Schedule:
    """Which values of a network were best, and how long steps and how heavy a ridge are from here on."""

    def __init__(self, network, first_ridge, last_ridge, patience):
        self._network, self._patience, self._last_ridge = network, patience, last_ridge
        self.step_factor, self.ridge = 1.0, first_ridge
        self._n_cuts, self._since, self._first, self.lowest = 0, 0, None, math.inf

    def judge(self, loss):
        """Take the loss after an epoch (the first call: before any); say whether to go on."""
        self._first = loss if self._first is None else self._first
        if loss < self.lowest:
            self.lowest, self._best, self._since = loss, self._network.values(), 0
        elif self._network.n_steps >= _FIRST_STEPS or self.lowest < (1 - _FIRST_FALL) * self._first:
            self._since += 1
        if self.ridge > self._last_ridge and self._since >= _EPOCHS_PER_RIDGE:
            self.ridge = max(self._last_ridge, self.ridge * _RIDGE_CUT)
            self.go_back()
        elif self.ridge == self._last_ridge and self._n_cuts < _MOST_STEP_CUTS and self._since >= _EPOCHS_PER_STEP:
            self.step_factor *= _STEP_CUT
            self._n_cuts += 1
            self.go_back()
        return self._patience is None or self._since < self._patience

    def go_back(self):
        """Restore the best values."""
        self._network.restore(self._best)
        self._since = 0


def as_problem(rows, training, state=None):
    """The problem that checked rows pose, with targets in the units of `state` where there is one."""
    if not isinstance(rows, LabelledRows):
        values = rows.values
        if state:
            values = standardised_targets(values * training.scale + training.center, rows.weight, state.center,
                                          1 / state.scale, "y")
        return Problem(rows.X, np.ascontiguousarray(values), rows.weight, values.shape[1])
    if rows.n_classes == 2:
        return Problem(rows.X, np.where(rows.codes == 1, 1.0, -1.0)[:, None], rows.weight, 1)
    return Problem(rows.X, rows.codes[:, None].astype(np.float64), rows.weight, rows.n_classes)


def fit_rffnet(model, training, loss, callback, state=None):
    """Fitted attributes of a model, from checked rows; `state` is where an earlier fit ended, to go on from."""
    rng, names = check.check_rng(model.random_state), _names(model, training, state)
    problem = as_problem(training.rows, training, state)
    members = np.arange(len(problem.targets)) if problem.weight is None else np.flatnonzero(problem.weight)
    n_samples, held_out = len(members), _held_out(model, problem, len(members), training.evaluation, rng, state)
    if state:
        scaling = state.scaling
        starts = [state._replace(network=state.network.copy(), n_samples=n_samples, held_out=held_out)]
    else:
        scaling = _measured_scaling(model, problem)
        starts = (State(new_network(model, problem, scaling, loss, rng), scaling, training.center, training.scale,
                        n_samples, held_out) for _ in range(_n_restarts(model, n_samples)))
    validation = None
    if training.evaluation is not None:
        evaluation = as_problem(training.evaluation, training, state)
        validation = evaluation.standardised(np.arange(len(evaluation.targets)), scaling, _dtype(model))
    elif held_out.size:
        validation = problem.standardised(members[held_out], scaling, _dtype(model))
    members, best = np.delete(members, held_out), None
    for index, start in enumerate(starts, 1):
        monitor = Monitor(model.max_epochs, callback=callback, verbose=model.verbose, unit=f"restart {index}, epoch")
        lowest = _train(model, start, loss, problem, members, validation, monitor, rng)
        if best is None or lowest < best[0]:
            best = lowest, start, monitor
        if monitor.asked_to_stop:
            break
    _, state, monitor = best
    return training.fitted | fitted_network(state) | {
        "names": names, "n_features": problem.X.shape[1], "train_loss_": np.array(monitor.train_loss),
        "eval_loss_": np.array(monitor.eval_loss), **restored_epochs(monitor.train_loss, monitor.eval_loss),
    }


def fitted_network(state):
    """Fitted attributes that follow from a network."""
    relevances = np.abs(state.network.relevances[0].astype(np.float64))
    relevances[state.scaling.inverse_scale == 0] = 0  # of columns that do not vary
    return {"expansion_": state.network.expansion(state.center, state.scale, state.scaling), "relevances_": relevances,
            "n_components_": state.network.n_terms, "_state": state}


def _names(model, training, state):
    """Names of the columns, which rows to go on with need not repeat."""
    return getattr(model, "feature_names_in_", None) if state and training.names is None else training.names


def restored_epochs(train_loss, eval_loss):
    """Fitted attributes that follow from loss curves: epochs run, and the one of the lowest loss."""
    judged = eval_loss if len(eval_loss) else train_loss
    return {"n_epochs_": max(len(judged) - 1, 0), "best_epoch_": int(np.argmin(judged)) if len(judged) else 0}


def _measured_scaling(model, problem):
    """Columns in units of their spread, or without `standardize` of the spread that they have on average."""
    scaling = measure_scaling(problem.X, problem.weight, model.standardize, model.n_threads)
    return scaling._replace(inverse_scale=scaling.inverse_scale / math.sqrt(rows_variance(model, scaling)))


def _n_restarts(model, n_samples):
    if model.n_restarts is None:
        return _RESTARTS_OF_FEW if n_samples <= _FEW_ROWS else 1
    return model.n_restarts


def _dtype(model):
    return np.dtype(np.float64 if model.precision == "double" else np.float32)


def _held_out(model, problem, n_samples, evaluation, rng, state):
    """Which rows to validate on: the same as before, where there were any and rows are as many."""
    if evaluation is not None:
        return np.empty(0, np.intp)
    if state and state.held_out.size and state.n_samples == n_samples:
        return state.held_out
    largest = min(_MOST_HELD_OUT, _MOST_HELD_OUT_NUMBERS // problem.X.shape[1])
    return np.sort(rng.permutation(n_samples)[: min(int(model.validation_fraction * n_samples), largest)])


def new_network(model, problem, scaling, loss, rng):
    """A network at its start: relevances equal, coefficients 0, scores constant."""
    n_samples, n_features = problem.X.shape
    n_terms = model.n_components
    if n_terms is None:
        n_terms = min(max(int(math.sqrt(n_samples) * math.log(n_samples)), _FEWEST_TERMS), _MOST_TERMS)
    omegas = SPECTRAL_DENSITIES[model.kernel](rng, (n_terms, n_features))
    offsets = rng.uniform(0, 2 * math.pi, n_terms)
    # Typical rows are then as far apart as the kernel is wide.
    relevance = 1 / math.sqrt(max(np.count_nonzero(scaling.inverse_scale), 1))
    start = loss.start(problem.targets, problem.weight, problem.n_outputs)
    return Network(omegas, offsets, relevance, start, _dtype(model))


def ridges(model, loss, n_samples):
    """The first penalty on the squared coefficients, and the last."""
    if not isinstance(model.reg_lambda, str):
        return float(model.reg_lambda), float(model.reg_lambda)
    return loss.ridge_size * _FIRST_RIDGE / n_samples, loss.ridge_size * _LAST_RIDGE / n_samples


def new_descent(model, network, loss, scaling, n_samples):
    """What takes the steps of a model on so many rows."""
    return Descent(network, loss, scaling, min(model.batch_size, n_samples), model.solver == "joint", model.n_threads)


def _train(model, state, loss, problem, members, validation, monitor, rng):
    """Run epochs on a network, which ends at the best; return the loss there."""
    network = state.network
    descent = new_descent(model, network, loss, state.scaling, len(members))
    first_ridge, last_ridge = ridges(model, loss, len(members))
    schedule = _Schedule(network, last_ridge if network.n_steps else first_ridge, last_ridge, model.patience)
    n_passes = -(-_STEPS_PER_EPOCH // -(-len(members) // descent.batch_size))
    total_weight = n_passes * float(len(members) if problem.weight is None else problem.weight[members].sum())

    def mean_loss(some):
        return _finite(loss.mean(network.scores(some.X, model.n_threads), some.targets, some.weight))

    def go_on(train_loss):
        eval_loss = None if validation is None else mean_loss(validation)
        promising = schedule.judge(train_loss if eval_loss is None else eval_loss)
        return monitor.record(train_loss, eval_loss) and promising

    train_loss = mean_loss(problem.standardised(members[:_START_ROWS], state.scaling, network.dtype))
    while go_on(train_loss):
        total = sum(descent.take(*visit, model.learning_rate * schedule.step_factor, schedule.ridge, model.reg_l1)
                    for _ in range(n_passes) for visit in problem.visits(members, rng))
        train_loss = _finite(total / total_weight)
    schedule.go_back()
    return schedule.lowest


def _finite(loss):
    return _LARGEST_LOSS if math.isnan(loss) else min(loss, _LARGEST_LOSS)


def partial_fit_rffnet(model, training, loss, state=None):
    """Fitted attributes after one more pass, or the first, over some rows; nothing is held out."""
    rng, names = check.check_rng(model.random_state), _names(model, training, state)
    problem = as_problem(training.rows, training, state)
    members = np.arange(len(problem.targets)) if problem.weight is None else np.flatnonzero(problem.weight)
    if state:
        state = state._replace(network=state.network.copy())
    else:
        scaling = _measured_scaling(model, problem)
        state = State(new_network(model, problem, scaling, loss, rng), scaling, training.center, training.scale, 0,
                      np.empty(0, np.intp))
    descent = new_descent(model, state.network, loss, state.scaling, len(members))
    for visit in problem.visits(members, rng):
        descent.take(*visit, model.learning_rate, ridges(model, loss, len(members))[1], model.reg_l1)
    return training.fitted | fitted_network(state) | {
        "names": names, "n_features": problem.X.shape[1], "train_loss_": np.empty(0),
        "eval_loss_": np.empty(0), **restored_epochs([], [])}


def continued(model, training):
    """Where the model's training ended, to go on from; None before any.  InvalidInputError if it cannot."""
    if not hasattr(model, "expansion_"):
        return None
    if not hasattr(model, "_state"):
        raise NotFittedError(f"this {type(model).__name__} was read from a file, which keeps the trained function but "
                             "not what training goes on from: fit a new one")
    model._check_columns(training.names, training.rows.X.shape[1])
    network = model._state.network
    if model.n_components not in (None, network.n_terms):
        raise InvalidInputError(f"n_components must be {network.n_terms} or None in the training that goes on, got "
                                f"{model.n_components}")
    if training.center.size != network.n_outputs or (
            "classes_" in training.fitted and not np.array_equal(training.fitted["classes_"], model.classes_)):
        raise InvalidInputError("y must have the targets or classes of the training that goes on")
    if _dtype(model) != network.dtype:
        raise InvalidInputError(f"precision must be that of the training that goes on, got {model.precision!r}")
    return model._state


def more_labels(model, X, y, classes, sample_weight):
    """`Training` of rows that need not show all classes: those of the model, or else `classes`, or else those of y."""
    X, names = check_rows(X)
    known = getattr(model, "classes_", None)
    if known is None:
        known, _ = check.check_labels(y, X.shape[0]) if classes is None else check.check_labels(
            classes, len(classes), "classes")
    if len(known) < 2:
        raise InvalidInputError(f"y must hold at least two classes, or `classes` name them, got {known.tolist()!r}")
    codes = check.check_known_labels(y, known, X.shape[0], "y")
    rows = LabelledRows(X, codes, check.check_weights(sample_weight, X.shape[0]), len(known)).without_weightless()
    n_outputs = 1 if len(known) == 2 else len(known)
    return Training(names, rows, None, np.zeros(n_outputs), np.ones(n_outputs), {"classes_": known})


def restored_rffnet(expansion, arrays):
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train, held_out, relevances = (arrays[name] for name in CURVES)
    if train.ndim != 1 or held_out.ndim != 1 or held_out.size not in (0, train.size):
        raise ValueError("loss curves do not agree in number")
    if relevances.shape != (expansion.n_features,) or not (relevances >= 0).all():
        raise ValueError("relevances are malformed")
    return {"n_components_": expansion.n_terms, **restored_epochs(train, held_out)}
