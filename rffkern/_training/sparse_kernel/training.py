"""Training of a sparse kernel machine on checked rows."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.held_out import check_training
from ..._estimator.monitor import Monitor
from ..._estimator.warm_start import RowPrints, fixed_params, state_to_continue
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._protocol.arguments import check_rng
from ..._rows.scaling import measure_scaling
from ..._rows.tiles import in_precision
from ..._rows.training_rows import Training
from ...errors import InvalidInputError
from .ensemble import (
    Ensemble,
    EnsembleState,
    GroupMaker,
    RowsWithTargets,
    make_ensembles,
)
from .kernel import RegularisedKernel, given_kernel
from .kernel_choice import KernelParameters, learn_kernel
from .leaving_out import calibrated_scores
from .likelihood import LengthScales
from .logistic import with_logistic_loss
from .packed_rows import KernelRows, needs_double, pack_rows
from .rounds import finish, grow_all
from .stages import CoefficientPath, StagedMachine, Stages, make_stages

Double = NDArray[np.float64]

CURVES = ("train_loss_", "eval_loss_", "kernel_parameters_")


class Parameters(KernelParameters, Protocol):
    """Parameters of an estimator, beside those that rows are checked by."""

    standardize: bool
    early_stopping_rounds: int | None
    random_state: Any
    verbose: int


class Method(NamedTuple):
    """What differs between regression and classification."""

    length_scales: tuple[LengthScales, ...]  # candidates; the first serves `kernel="likelihood"`
    loss: str  # "squared_error", "log_loss" or "calibrated"
    later_groups: Callable[[Double], Callable[[slice], GroupMaker]]  # `learn_from_all_rows` or `..._active_rows`


class SoFar(NamedTuple):
    """Where training stands after its last round.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowPrints
    seeds: Sequence[int]  # of the sources of random draws
    draws: Mapping[str, Any]  # the state of that of subsets
    machine: RegularisedKernel  # in units of the columns that learning takes place in
    ensembles: tuple[EnsembleState, ...]
    counts: Sequence[list[int]]  # of weak learners, after each round
    losses: tuple[Any, ...]  # as `Monitor.resume` takes them

    @property
    def n_rounds(self) -> int:
        """Number of rounds that have been."""
        return len(self.counts)


class Sources(NamedTuple):
    """Where random draws come from: one generator for all, in this order, or one for each where training may go on."""

    held_out: "np.random.Generator"
    rounds: "np.random.Generator"  # and the kernel
    seeds: Sequence[int] = ()

    @classmethod
    def of(cls, model: Any, before: SoFar | None) -> "Sources":
        """Those of a model, or those that its training began with, as far as it has come."""
        rng = check_rng(model.random_state)
        if not model.warm_start:
            return cls(rng, rng)
        seeds = rng.integers(1 << 63, size=2).tolist() if before is None else before.seeds
        held_out, rounds = map(np.random.default_rng, seeds)
        if before is not None:
            rounds.bit_generator.state = before.draws
        return cls(held_out, rounds, seeds)


def train(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any, callback: Callable[..., Any] | None,
          method: Method) -> Fitted:
    """Check rows and train a machine on them, from the first round or from where its training stands."""
    before = state_to_continue(model)
    sources = Sources.of(model, before)
    training = check_training(model, X, y, sample_weight, eval_set, sources.held_out)
    if method.loss == "log_loss" and training.rows.n_classes > 2 and not model.shared:
        raise InvalidInputError('loss must be "squared_error" where more than two classes are not shared, got '
                                '"log_loss"')
    prints = RowPrints.of_training(training) if model.warm_start else None
    if before is not None and prints is not None:
        before.prints.check(prints)
    return _trained(model, training, callback, method, sources, before, prints)


def _trained(parameters: Any, training: Training, callback: Callable[..., Any] | None, method: Method,
             sources: Sources, before: SoFar | None, prints: RowPrints | None) -> Fitted:
    monitor = Monitor(parameters.n_estimators, parameters.early_stopping_rounds, callback, parameters.verbose)
    data, rng, n_threads = training.rows, sources.rounds, parameters.n_jobs
    sets = dict(training.watched) or ({} if training.evaluation is None else {"valid_0": training.evaluation})
    training = training._replace(rows=None, evaluation=None, watched=())  # which go with `data` and `sets`
    standardize = parameters.standardize and training.column_map is None  # mapped columns have their units
    scaling = measure_scaling(data.X, data.weights, standardize, n_threads)
    data = data._replace(X=scaling.held_back(data.X))
    targets = np.column_stack(data.targets()).astype(np.float64)
    intercepts = np.array(list(map(data.weights.mean, targets.T)))
    residuals, later_groups = targets - intercepts, method.later_groups(targets)
    signs = targets if method.loss != "squared_error" else np.empty(0)
    del targets
    machine = before.machine if before is not None else learn_kernel(
        parameters, data, residuals, scaling, method.length_scales, rng)
    X, weights = data.X, data.weights
    del data  # with the labels or targets
    in_lengths, inverse_lengths = machine.kernel.scaling(scaling), machine.kernel.inverse_lengths(scaling)
    normalised = machine.normalised_beside_mean_one(weights)
    packed = partial(pack_rows, X, in_lengths, weights, n_threads, machine.kernel.number)
    rows = in_precision(packed, parameters.precision, needs_double)
    held_out = [RowsWithTargets(KernelRows(each.X, in_lengths, each.weights, rows.dtype, n_threads,
                                           machine.kernel.number), np.column_stack(each.targets()) - intercepts)
                for each in sets.values()]
    ensembles = make_ensembles(parameters, [RowsWithTargets(rows, residuals), *held_out], normalised, later_groups, rng,
                               parameters.n_estimators)
    del residuals, held_out
    if before is not None:
        monitor.resume(*before.losses)
        for ensemble, state in zip(ensembles, before.ensembles, strict=True):
            ensemble.resume(state)
    counts = grow_all(ensembles, monitor, tuple(sets), () if before is None else before.counts)
    so_far = None
    if prints is not None:
        so_far = SoFar(fixed_params(parameters), prints, sources.seeds, rng.bit_generator.state, machine,
                       tuple(ensemble.state() for ensemble in ensembles), counts,
                       (monitor.train_loss, monitor.eval_loss, monitor.watched))
    counts = counts[: monitor.best_round]
    paths, n_skipped = finish(ensembles, counts[-1] if counts else [0] * len(ensembles))
    stages = _stages(method.loss, ensembles, paths, counts, training, signs, intercepts, rows, normalised)
    expansion = stages.expansion(X, inverse_lengths)
    return Fitted(training.names, training.classes, expansion, {
        "n_estimators_": len(counts),
        "n_skipped_": n_skipped,
        "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
        "eval_losses_": {name: np.array(losses) for name, losses in monitor.watched.items()},
        "kernel_parameters_": np.array([machine.reg_lambda, machine.kernel.amplitude, machine.kernel.bias,
                                        *machine.kernel.length_scale]),
    }, StagedMachine(stages, expansion, so_far), training.column_map)


def _stages(loss: str, ensembles: Sequence[Ensemble], paths: list[CoefficientPath], counts: Sequence[Sequence[int]],
            training: Training, signs: Double, intercepts: Double, rows: KernelRows,
            machine: RegularisedKernel) -> Stages:
    """The stages of a trained machine in units of its scores: of the targets, or those of its loss."""
    kernel = machine.kernel
    if loss == "log_loss":
        paths, last_intercept = with_logistic_loss(ensembles, paths, signs, intercepts)
        return make_stages(paths, counts, 2 * intercepts, 2 * last_intercept, 2 * training.scale, kernel)
    if loss == "calibrated":
        slope, shifts = calibrated_scores(rows, machine, signs, intercepts)
        intercept = slope * intercepts + shifts
        return make_stages(paths, counts, intercept, intercept, slope * training.scale, kernel)
    intercept = training.center + training.scale * intercepts
    return make_stages(paths, counts, intercept, intercept, training.scale, kernel)


def restored(model: Any, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train_loss, eval_loss, kernel_parameters = (arrays[name] for name in CURVES)
    if train_loss.ndim != 1 or train_loss.size == 0 or eval_loss.ndim != 1 or (
            eval_loss.size not in (0, train_loss.size)):
        raise ValueError("loss curves do not agree in number")
    n_rounds = int(eval_loss.argmin()) if eval_loss.size else train_loss.size - 1
    if expansion.n_terms > n_rounds * model.learner_size * expansion.n_outputs or n_rounds > model.n_estimators:
        raise ValueError("centers, rounds and learner_size do not agree")
    if kernel_parameters.shape != (3 + expansion.n_features,) or not (kernel_parameters[[0, 1]] > 0).all() or (
            kernel_parameters[2] < 0 or not (kernel_parameters[3:] > 0).all()):
        raise ValueError("kernel parameters are malformed")
    if isinstance(model.kernel, dict):
        given_kernel(model.kernel, expansion.n_features)
    return {"n_estimators_": n_rounds}
