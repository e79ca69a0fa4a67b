"""The way from checked rows to a trained network: epochs, the rows held out, step sizes, restarts (Algorithm 1)."""

import math
from typing import NamedTuple

import numpy as np

from .._data import validation as check
from .._data.row_blocks import RowBlocks, check_rows, take_rows
from .._data.scaling import Scaling, measure_scaling, standardised_targets
from .._estimator.base import LabelledRows, Training
from .._estimator.monitor import Monitor
from .._fourier.spectral_densities import SPECTRAL_DENSITIES
from .._gbrff.fit import rows_variance
from ..errors import InvalidInputError, NotFittedError
from .network import Descent, Network

CURVES = ("train_loss_", "eval_loss_", "relevances_")

# Number of terms where it is not given: the paper's sqrt(n) ln n, within these.
_FEWEST_TERMS, _MOST_TERMS = 100, 4096

# Of the rows at hand no more are held out, and no more numbers.
_MOST_HELD_OUT = 1 << 16
_MOST_HELD_OUT_NUMBERS = 1 << 24

# Numbers of the rows on which the loss before any epoch is measured.
_START_NUMBERS = 1 << 18

# Trainings of which the best is kept, where rows are few; on more, it costs more than it gains.
_FEW_ROWS, _RESTARTS_OF_FEW = 10_000, 3

# An epoch passes over few rows again and again, until it has taken so many steps.
_STEPS_PER_EPOCH = 32

# One that takes more than so many is validated in parts.
_STEPS_PER_PART = 500

# Penalties on the squared coefficients, times the number of rows: a heavy one finds the columns that matter, a light
# one the function of them.  After so many validations without a lower loss, the network goes back to the best, and on
# with the next penalty; and after the last, with shorter steps.
_RIDGES, _VALIDATIONS_PER_RIDGE = (50.0, 5.0, 0.5, 0.05), 3
_STEP_CUT, _MOST_STEP_CUTS, _VALIDATIONS_PER_STEP = 0.3, 2, 6

# Before so many steps no loss is too high, unless one has fallen by such a share.
_FIRST_STEPS = 2000
_FIRST_FALL = 0.02

# What stands for a loss that is none.
_LARGEST_LOSS = 1e300

_NO_ROWS = np.empty(0, np.intp)


class Problem(NamedTuple):
    """Rows with their targets as a loss reads them."""

    X: np.ndarray | RowBlocks  # (n_samples, n_features)
    targets: np.ndarray  # (n_samples, n_targets) float64: reals, signs, or classes counted from 0
    weight: np.ndarray | None  # (n_samples,)
    n_outputs: int

    def members(self):
        """Indices of the rows of positive weight."""
        return np.arange(len(self.targets)) if self.weight is None else np.flatnonzero(self.weight)

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

    def taken(self, members):
        """Some of the rows, in memory."""
        weight = None if self.weight is None else self.weight[members]
        return Problem(take_rows(self.X, members), self.targets[members], weight, self.n_outputs)

    def mean_loss(self, loss, state, n_threads):
        """Of a network."""
        mean = loss.mean(state.network.scores(self.X, state.scaling, n_threads), self.targets, self.weight)
        return _finite(mean)


class State(NamedTuple):
    """What more epochs go on from."""

    network: Network
    scaling: Scaling
    center: np.ndarray  # (n_outputs,) of targets
    scale: np.ndarray  # (n_outputs,)
    n_seen: int  # rows, in all calls
    n_samples: int  # rows of the last `fit`, of which
    held_out: np.ndarray  # these were validated on


class _Schedule:
    """Which values of a network were best, and how long steps and how heavy a ridge are from here on."""

    def __init__(self, network, ridges, patience):
        self._network, self._ridges, self._patience = network, list(ridges), patience
        self.step_factor, self._n_cuts = 1.0, 0
        self._since, self._first, self.lowest = 0, None, math.inf

    ridge = property(lambda self: self._ridges[0])

    def judge(self, loss):
        """Take the loss after some steps (the first call: before any); say whether to go on."""
        self._first = loss if self._first is None else self._first
        if loss < self.lowest:
            self.lowest, self._best, self._since = loss, self._network.values(), 0
        elif self._network.n_steps >= _FIRST_STEPS or self.lowest < (1 - _FIRST_FALL) * self._first:
            self._since += 1
        if len(self._ridges) > 1:
            if self._since >= _VALIDATIONS_PER_RIDGE:
                del self._ridges[0]
                self.go_back()
            return True
        if self._n_cuts < _MOST_STEP_CUTS:
            if self._since >= _VALIDATIONS_PER_STEP:
                self.step_factor *= _STEP_CUT
                self._n_cuts += 1
                self.go_back()
            return True
        return self._patience is None or self._since < self._patience

    def go_back(self):
        """Restore the best values."""
        self._network.restore(self._best)
        self._since = 0


def fit_rffnet(model, training, loss, callback, state=None):
    """Fitted attributes of a model, from checked rows; `state` is where an earlier fit ended, to go on from."""
    rng, names = check.check_rng(model.random_state), _names(model, training, state)
    problem = _as_problem(training.rows, training, state)
    members = problem.members()
    n_samples = len(members)
    held_out = _held_out(model, n_samples, training, rng, state)
    if state:
        starts = [state._replace(network=state.network.copy(), n_seen=state.n_seen + n_samples, n_samples=n_samples,
                                 held_out=held_out)]
    else:
        n_restarts = model.n_restarts or (_RESTARTS_OF_FEW if n_samples <= _FEW_ROWS else 1)
        scaling = _measured_scaling(model, problem)
        starts = (_new_state(model, problem, training, scaling, loss, rng, held_out) for _ in range(n_restarts))
    validation = None
    if training.evaluation is not None:
        validation = _as_problem(training.evaluation, training, state)
    elif held_out.size:
        validation = problem.taken(members[held_out])
    members, best = np.delete(members, held_out), None
    for index, start in enumerate(starts, 1):
        unit = "epoch" if state or n_restarts == 1 else f"restart {index}, epoch"
        monitor = Monitor(model.max_epochs, callback=callback, verbose=model.verbose, unit=unit)
        lowest = _train(model, start, loss, problem, members, validation, monitor, rng)
        if best is None or lowest < best[0]:
            best = lowest, start, monitor
        if monitor.asked_to_stop:
            break
    _, state, monitor = best
    return training.fitted | _fitted(state, monitor.train_loss, monitor.eval_loss) | {
        "names": names, "n_features": problem.X.shape[1]}


def partial_fit_rffnet(model, training, loss, state=None):
    """Fitted attributes after one more pass, or the first, over some rows; nothing is held out."""
    rng, names = check.check_rng(model.random_state), _names(model, training, state)
    problem = _as_problem(training.rows, training, state)
    members = problem.members()
    if state:
        state = state._replace(network=state.network.copy(), n_seen=state.n_seen + len(members))
    else:
        state = _new_state(model, problem, training, _measured_scaling(model, problem), loss, rng, _NO_ROWS)
    descent = _new_descent(model, state, loss, len(members))
    ridge = _ridges(model, loss, state.n_seen)[-1]
    for visit in problem.visits(members, rng):
        descent.take(*visit, model.learning_rate, ridge, model.reg_l1)
    return training.fitted | _fitted(state, [], []) | {"names": names, "n_features": problem.X.shape[1]}


def _as_problem(rows, training, state):
    """The problem that checked rows pose, with targets in the units of `state` where there is one."""
    if not isinstance(rows, LabelledRows):
        values = rows.values
        if state:
            with np.errstate(over="ignore", invalid="ignore"):
                values = values * training.scale + training.center
            values = standardised_targets(values, rows.weight, state.center, 1 / state.scale, "y")
        return Problem(rows.X, np.ascontiguousarray(values), rows.weight, values.shape[1])
    targets = np.where(rows.codes == 1, 1.0, -1.0) if rows.n_classes == 2 else rows.codes.astype(np.float64)
    return Problem(rows.X, targets[:, None], rows.weight, rows.n_outputs)


def _names(model, training, state):
    """Names of the columns, which rows to go on with need not repeat."""
    return getattr(model, "feature_names_in_", None) if state and training.names is None else training.names


def _held_out(model, n_samples, training, rng, state):
    """Which rows to validate on: the same as before, where rows, and those to hold out, are as many."""
    if training.evaluation is not None:
        return _NO_ROWS
    largest = min(_MOST_HELD_OUT, _MOST_HELD_OUT_NUMBERS // training.rows.X.shape[1])
    n_held_out = min(int(model.validation_fraction * n_samples), largest)
    if state and (state.n_samples, state.held_out.size) == (n_samples, n_held_out):
        return state.held_out
    if n_held_out == 0:
        return _NO_ROWS
    return np.sort(rng.permutation(n_samples)[:n_held_out])


def _measured_scaling(model, problem):
    """Columns in units of their spread, or without `standardize` of the spread that they have on average."""
    scaling = measure_scaling(problem.X, problem.weight, model.standardize, model.n_threads)
    return scaling._replace(inverse_scale=scaling.inverse_scale / math.sqrt(rows_variance(model, scaling)))


def _new_state(model, problem, training, scaling, loss, rng, held_out):
    """A network at its start: relevances equal, coefficients 0, scores constant."""
    n_samples, n_terms = len(problem.members()), model.n_components
    if n_terms is None:
        n_terms = min(max(int(math.sqrt(n_samples) * math.log(n_samples)), _FEWEST_TERMS), _MOST_TERMS)
    omegas = SPECTRAL_DENSITIES[model.kernel](rng, (n_terms, problem.X.shape[1]))
    offsets = rng.uniform(0, 2 * math.pi, n_terms)
    # Typical rows are then as far apart as the kernel is wide.
    relevance = 1 / math.sqrt(max(np.count_nonzero(scaling.inverse_scale), 1))
    start = loss.start(problem.targets, problem.weight, problem.n_outputs)
    network = Network(omegas, offsets, relevance, start, np.float64 if model.precision == "double" else np.float32)
    return State(network, scaling, training.center, training.scale, n_samples, n_samples, held_out)


def _ridges(model, loss, n_samples):
    """The penalties on the squared coefficients, one after the other."""
    if not isinstance(model.reg_lambda, str):
        return [float(model.reg_lambda)]
    return [loss.ridge_size * ridge / n_samples for ridge in _RIDGES]


def _new_descent(model, state, loss, n_samples):
    """What takes the steps of a model on so many rows."""
    return Descent(state.network, loss, state.scaling, min(model.batch_size, n_samples), model.solver == "joint",
                   model.n_threads)


def _train(model, state, loss, problem, members, validation, monitor, rng):
    """Run epochs on a network, which ends at the best; return the loss there."""
    network = state.network
    descent = _new_descent(model, state, loss, len(members))
    ridges = _ridges(model, loss, len(members))
    schedule = _Schedule(network, ridges[-1:] if network.n_steps else ridges, model.patience)
    n_first = max(1, _START_NUMBERS // network.n_features)
    train_loss = problem.taken(members[:: -(-len(members) // n_first)]).mean_loss(loss, state, model.n_threads)
    eval_loss = None if validation is None else validation.mean_loss(loss, state, model.n_threads)
    go_on = schedule.judge(train_loss if eval_loss is None else eval_loss)
    while monitor.record(train_loss, eval_loss) and go_on:
        total, total_weight, eval_losses = 0.0, 0.0, []
        for visit, ends_part in _epoch(problem, members, descent.batch_size, rng):
            total += descent.take(*visit, model.learning_rate * schedule.step_factor, schedule.ridge, model.reg_l1)
            total_weight += len(visit[1]) if visit[3] is None else visit[3][visit[1]].sum()
            if ends_part and validation is not None:
                eval_losses.append(validation.mean_loss(loss, state, model.n_threads))
                go_on = schedule.judge(eval_losses[-1])
                if not go_on:
                    break
        train_loss, eval_loss = _finite(total / total_weight), min(eval_losses, default=None)
        if validation is None:
            go_on = schedule.judge(train_loss)
    schedule.go_back()
    return schedule.lowest


def _epoch(problem, members, batch_size, rng):
    """Yield (what `Problem.visits` yields, or a part of it, whether a part of the epoch ends there)."""
    n_passes = -(-_STEPS_PER_EPOCH // -(-len(members) // batch_size))
    n_parts = -(-len(members) // (_STEPS_PER_PART * batch_size))
    part_size = -(-len(members) // (n_parts * batch_size)) * batch_size
    n_taken, n_left = 0, n_passes * len(members)
    for _ in range(n_passes):
        for X, order, targets, weight in problem.visits(members, rng):
            for start in range(0, len(order), part_size):
                part = order[start : start + part_size]
                n_taken, n_left = n_taken + len(part), n_left - len(part)
                ends_part = n_left == 0 or (n_passes == 1 and n_taken >= part_size)
                yield (X, part, targets, weight), ends_part
                n_taken = 0 if ends_part else n_taken


def _finite(loss):
    return _LARGEST_LOSS if math.isnan(loss) else min(loss, _LARGEST_LOSS)


def _fitted(state, train_loss, eval_loss):
    """Fitted attributes that follow from a network and its loss curves."""
    relevances = np.abs(state.network.relevances[0].astype(np.float64))
    relevances[state.scaling.inverse_scale == 0] = 0  # of columns that do not vary
    return {"expansion_": state.network.expansion(state.center, state.scale, state.scaling), "relevances_": relevances,
            "n_components_": state.network.n_terms, "train_loss_": np.array(train_loss, np.float64),
            "eval_loss_": np.array(eval_loss, np.float64), "_state": state, **_epochs(train_loss, eval_loss)}


def _epochs(train_loss, eval_loss):
    """Epochs run, and the one of the lowest loss."""
    judged = eval_loss if len(eval_loss) else train_loss
    return {"n_epochs_": max(len(judged) - 1, 0), "best_epoch_": int(np.argmin(judged)) if len(judged) else 0}


def restored_rffnet(expansion, arrays):
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train, held_out, relevances = (arrays[name] for name in CURVES)
    if train.ndim != 1 or held_out.ndim != 1 or held_out.size not in (0, train.size):
        raise ValueError("loss curves do not agree in number")
    if relevances.shape != (expansion.n_features,) or not (relevances >= 0).all():
        raise ValueError("relevances are malformed")
    return {"n_components_": expansion.n_terms, **_epochs(train, held_out)}


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
    if model.precision != ("double" if network.dtype == np.float64 else "single"):
        raise InvalidInputError(f"precision must be that of the training that goes on, got {model.precision!r}")
    return model._state


def more_labels(model, X, y, classes, sample_weight):
    """`Training` of rows that need not show all classes: those of the model, or else `classes`, or else those of y."""
    X, names = check_rows(X)
    labels, codes = check.check_labels(y, X.shape[0])
    weight = check.check_weights(sample_weight, X.shape[0])
    present = np.unique(codes if weight is None else codes[weight > 0])
    stated = None if classes is None else check.check_labels(classes, np.size(classes), "classes")[0]
    known = getattr(model, "classes_", labels[present] if stated is None else stated)
    if stated is not None and not np.array_equal(stated, known):
        raise InvalidInputError(f"classes must be those of the training that goes on, {known.tolist()!r}, got "
                                f"{stated.tolist()!r}")
    if len(known) < 2:
        raise InvalidInputError(f"y must hold at least two classes, or `classes` name them, got {known.tolist()!r}")
    position = np.zeros(len(labels), np.intp)  # of labels whose rows have no weight, whatever
    position[present] = check.check_known_labels(labels[present], known, len(present), "y")
    rows = LabelledRows(X, position[codes], weight, len(known)).without_weightless()
    return Training(names, rows, None, np.zeros(rows.n_outputs), np.ones(rows.n_outputs), {"classes_": known})
