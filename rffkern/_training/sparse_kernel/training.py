"""Training of a sparse kernel machine on checked rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.checkpoints import CheckpointWriter
from ..._estimator.monitor import Monitor, TimeLimit
from ..._estimator.training_rows import RowFingerprints, check_training, fixed_params, state_to_continue
from ..._model.expansion import Expansion
from ..._native.array_types import NDArray
from ..._protocol.arguments import check_rng
from ..._rows.scaling import measure_scaling
from .basis_selection import BaseLearner
from .ensemble import Ensemble, EnsembleState, RowsWithTargets, make_ensemble
from .kernel import Kernel, RegularisedKernel, given_kernel
from .kernel_choice import choose_kernel
from .least_squares import Coefficients, FitState
from .leave_one_out import calibrated_scores
from .stages import Stages, TrainingState

Double = NDArray[np.float64]

CURVES = ("train_loss_", "eval_loss_", "kernel_parameters_")


class Checkpoint(NamedTuple):
    """Where training stands after its last round.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowFingerprints
    seeds: Sequence[int]  # of the sources of random draws
    draws: Mapping[str, Any]  # the state of that of samples
    machine: RegularisedKernel  # in units of the columns that learning takes place in
    ensemble: EnsembleState
    counts: Sequence[int]  # of base learners, after each round
    losses: tuple[Any, ...]  # as `Monitor.resume` takes them

    @property
    def n_rounds(self) -> int:
        """Number of rounds that have been."""
        return len(self.counts)


_STATE_TYPES = (Checkpoint, RowFingerprints, RegularisedKernel, Kernel, EnsembleState, FitState, BaseLearner,
                Coefficients)


def train(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any,
          callback: Callable[..., Any] | None) -> Fitted:
    """Check rows and train a machine on them, from the first round or from where its training stands."""
    before: Checkpoint | None = state_to_continue(model, _STATE_TYPES)
    limit = TimeLimit(model.max_seconds)
    # One generator for all draws, or one for each purpose where training may go on.
    held_out_rng = rng = check_rng(model.random_state)
    seeds: Sequence[int] = ()
    if model.warm_start:
        seeds = rng.integers(1 << 63, size=2).tolist() if before is None else before.seeds
        held_out_rng, rng = map(np.random.default_rng, seeds)
        if before is not None:
            rng.bit_generator.state = before.draws
    training = check_training(model, X, y, sample_weight, eval_set, held_out_rng)
    prints = RowFingerprints.of_training(training) if model.warm_start else None
    if before is not None and prints is not None:
        before.prints.check(prints)

    # The kernel, in units of standardised columns, and lambda.
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose, limit=limit)
    data, n_threads = training.rows, model.n_jobs
    sets = dict(training.eval_sets) or ({} if training.validation is None else {"valid_0": training.validation})
    training = training._replace(rows=None, validation=None, eval_sets=())  # which go with `data` and `sets`
    scaling = measure_scaling(data.X, data.weights, training.column_map is None, n_threads)  # maps have units
    data = data._replace(X=scaling.clip_outliers(data.X))
    targets = np.column_stack(data.targets()).astype(np.float64)
    intercepts = np.array(list(map(data.weights.mean, targets.T)))
    residuals = targets - intercepts
    is_class = training.classes is not None
    signs = targets if is_class else np.empty(0)
    del targets
    machine = choose_kernel(model, data, residuals, scaling, rng) if before is None else before.machine
    X, weights = data.X, data.weights
    del data  # with the labels or targets

    # The ensemble.
    kernel, normalised = machine.kernel, machine.normalised_beside_mean_one(weights)
    held_out = [RowsWithTargets(each.X, each.weights, np.column_stack(each.targets()) - intercepts)
                for each in sets.values()]
    ensemble = make_ensemble(model, normalised, scaling, RowsWithTargets(X, weights, residuals), held_out,
                             model.n_estimators, rng, signs if model.update == "active" else None)
    del residuals, held_out
    if before is not None:
        monitor.resume(*before.losses)
        ensemble.resume(before.ensemble)
    counts = [] if before is None else [*before.counts]

    def state_now() -> Checkpoint | None:
        if prints is None:
            return None
        return Checkpoint(fixed_params(model), prints, seeds, rng.bit_generator.state, machine, ensemble.state(),
                          [*counts], (monitor.train_loss, monitor.eval_loss, monitor.eval_losses))

    writer = CheckpointWriter(model, _STATE_TYPES)
    _grow(ensemble, monitor, tuple(sets), counts, lambda: writer.offer(state_now))
    writer.offer(state_now, is_last=True)
    checkpoint = state_now()

    # The model: the rounds up to the best one, in units of targets or of log odds.
    counts = counts[: monitor.best_round]
    ensemble.refine()
    scale, intercept = training.scale, training.center + training.scale * intercepts
    if is_class:
        slope, shifts = calibrated_scores(ensemble.rows, normalised, signs, intercepts)
        scale, intercept = slope * training.scale, slope * intercepts + shifts
    stages = Stages(ensemble.learners[: counts[-1] if counts else 0], ensemble.groups, counts, intercept, scale,
                    normalised.kernel)
    expansion = stages.expansion(X, kernel.inverse_lengths(scaling))
    return Fitted(training.names, training.classes, expansion, {
        "n_estimators_": len(counts),
        "n_skipped_": ensemble.n_skipped, "timed_out_": monitor.timed_out,
        "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
        "eval_losses_": {name: np.array(losses) for name, losses in monitor.eval_losses.items()},
        "kernel_parameters_": np.array([machine.reg_lambda, kernel.amplitude, kernel.bias, *kernel.length_scale]),
    }, TrainingState(stages, expansion, checkpoint), training.column_map, training.reference)


def _grow(ensemble: Ensemble, monitor: Monitor, names: Sequence[str], counts: list[int],
          after_round: Callable[[], None]) -> None:
    """Grow an ensemble round by round; append to `counts` how many base learners it has after each.

    `names` are those of the held-out sets.
    """
    def record() -> bool:
        losses = ensemble.eval_losses
        return monitor.record(ensemble.loss, losses[0] if losses else None, dict(zip(names, losses, strict=True)))

    go_on = record() if not monitor.train_loss else not monitor.has_finished()
    while go_on and ensemble.grow():
        counts.append(len(ensemble.learners))
        go_on = record()
        after_round()


def restored(model: Any, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train_loss, eval_loss, kernel_parameters = (arrays[name] for name in CURVES)
    if train_loss.ndim != 1 or train_loss.size == 0 or eval_loss.ndim != 1 or (
            eval_loss.size not in (0, train_loss.size)):
        raise ValueError("loss curves do not agree in number")
    n_rounds = int(eval_loss.argmin()) if eval_loss.size else train_loss.size - 1
    if expansion.n_terms > n_rounds * model.basis_size or n_rounds > model.n_estimators:
        raise ValueError("centers, rounds and basis_size do not agree")
    if kernel_parameters.shape != (3 + expansion.n_features,) or not (kernel_parameters[[0, 1]] > 0).all() or (
            kernel_parameters[2] < 0 or not (kernel_parameters[3:] > 0).all()):
        raise ValueError("kernel parameters are malformed")
    if isinstance(model.kernel, dict):
        given_kernel(model.kernel, expansion.n_features)
    return {"n_estimators_": n_rounds}
