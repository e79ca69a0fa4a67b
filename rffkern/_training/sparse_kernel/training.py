"""Training of a sparse kernel machine on checked rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._column_map.copies import merged_weights
from ..._estimator.base import Fitted
from ..._estimator.checkpoints import (
    Checkpoint,
    CheckpointWriter,
    RowFingerprints,
    fixed_params,
    sources_of_draws,
    state_to_continue,
)
from ..._estimator.monitor import Monitor, TimeLimit
from ..._estimator.validation_split import check_training
from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._native.array_types import Double, NDArray
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import measure_scaling
from ..._rows.training_rows import TargetRows
from ...errors import InvalidInputError
from ..kernel_ridge.kernel import Kernel
from .basis_selection import BaseLearner, combine
from .ensemble import make_ensemble
from .kernel_choice import choose_kernel
from .least_squares import Coefficients
from .leave_one_out import calibrated_scores


class TrainingState(NamedTuple):
    """What an estimator keeps of its training, beside what is in model files: scores are intercept + scale F."""

    learners: Sequence[BaseLearner]  # whose indices are those of training rows
    groups: Sequence[Coefficients]  # of the base learners, one group after the other
    counts: Sequence[int]  # number of base learners after each round
    intercept: Double  # (n_outputs,)
    scale: Double  # (n_outputs,)
    kernel: Kernel  # with k(x, x) = 1
    expansion: Expansion  # after the last round
    checkpoint: Checkpoint | None

    def staged_scores(self, X: NDArray[Any], n_threads: int | None) -> Iterator[Double]:
        """Yield the scores after each round kept, shape (n_samples, n_outputs)."""
        kernel, done = self.kernel, 0
        columns = np.empty((len(self.learners), len(X)))
        terms: Any = self.expansion.kernels
        rows = np.unique(np.concatenate([np.empty(0, np.intp), *(learner.indices for learner in self.learners)]))
        for count in self.counts:
            for m in range(done, count):
                learner = self.learners[m]
                alone = Expansion([kernel.bias * learner.weights.sum()], self.expansion.center, KernelTerms(
                    terms.centers[np.searchsorted(rows, learner.indices)],
                    kernel.amplitude * learner.weights[:, None], terms.inverse_length_scales, [kernel.number]))
                columns[m] = alone._scorer.score(X, n_threads)[:, 0]
            done = count
            yield self.intercept + self.scale * (columns[:count].T @ first_coefficients(self.groups, count))


_STATE_TYPES = Checkpoint, RowFingerprints, Kernel, BaseLearner, Coefficients


def train(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any,
          callback: Callable[..., Any] | None) -> Fitted:
    """Check rows and train a machine on them, from the first round or from where its training stands."""
    before: Checkpoint | None = state_to_continue(model, _STATE_TYPES)
    limit = TimeLimit(model.max_seconds)
    (held_out_rng, rng), seeds = sources_of_draws(model, 2, before)
    sample_weight = merged_weights(X, y, sample_weight)
    training = check_training(model, X, y, sample_weight, eval_set, held_out_rng)
    prints = RowFingerprints.of_training(training) if model.warm_start else None
    if before is not None and prints is not None:
        before.prints.check(prints)

    # The kernel, in units of standardised columns, and lambda.
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose, limit=limit)
    data, n_threads = training.rows, model.n_jobs
    sets = dict(training.eval_sets)
    training = training._replace(rows=None, eval_sets=())  # which go with `data` and `sets`
    scaling = measure_scaling(data.X, data.weights, training.column_map is None, n_threads)  # maps have units
    data = data._replace(X=scaling.clip_outliers(data.X))
    targets = np.column_stack(data.targets()).astype(np.float64)
    intercepts = np.array(list(map(data.weights.mean, targets.T)))
    residuals = targets - intercepts
    is_class = training.classes is not None
    signs = targets if is_class else np.empty(0)
    del targets
    if before is None:
        kernel, counts = choose_kernel(model, data, residuals, scaling, rng), []
    else:
        rng.bit_generator.state, kernel, ensemble_state, counts = before.state
        counts = [*counts]
    X, weights = data.X, data.weights
    del data  # with the labels or targets

    # The ensemble.
    normalised = kernel.normalised(weights)
    held_out = [TargetRows(each.X, np.column_stack(each.targets()) - intercepts, each.weights)
                for each in sets.values()]
    ensemble = make_ensemble(model, normalised, scaling, TargetRows(X, residuals, weights), held_out,
                             model.n_estimators, rng, signs if model.update == "active" else None)
    del residuals, held_out
    if before is not None:
        monitor.resume(*before.losses)
        ensemble.resume(ensemble_state)

    def state_now() -> Checkpoint | None:
        if prints is None:
            return None
        return Checkpoint(fixed_params(model), prints, seeds, monitor.losses,
                          (rng.bit_generator.state, kernel, ensemble.state(), [*counts]))

    def record_losses() -> bool:
        return monitor.record(ensemble.loss, dict(zip(sets, ensemble.eval_losses, strict=True)))

    # Rounds.
    writer = CheckpointWriter(model, _STATE_TYPES)
    go_on = record_losses() if not monitor.train_loss else not monitor.has_finished()
    while go_on and ensemble.grow():
        counts.append(len(ensemble.learners))
        go_on = record_losses()
        writer.offer(state_now)
    writer.offer(state_now, is_last=True)
    checkpoint = state_now()

    # The model: the rounds up to the best one, in units of targets or of log odds.
    counts = counts[: monitor.best_round]
    ensemble.least_squares.refine()
    scale, intercept = training.scale, training.center + training.scale * intercepts
    if is_class:
        slope, shifts = calibrated_scores(ensemble.rows, normalised, signs, intercepts)
        scale, intercept = slope * training.scale, slope * intercepts + shifts
    learners = ensemble.learners[: counts[-1] if counts else 0]
    indices, combined = combine(learners, first_coefficients(ensemble.groups, len(learners)))
    with np.errstate(over="ignore", invalid="ignore"):
        of_centers = scale * (normalised.amplitude * combined)
        constant = intercept + scale * (normalised.bias * combined.sum(axis=0))
    if not (np.isfinite(of_centers).all() and np.isfinite(constant).all()):
        raise InvalidInputError("y must be smaller: the weights of its basis vectors overflow, got a spread of "
                                f"{scale.max():.3g}")
    expansion = Expansion(constant, np.zeros(X.shape[1]), KernelTerms(
        take_rows(X, indices), of_centers, kernel.inverse_lengths(scaling), [kernel.number]))
    state = TrainingState(learners, ensemble.groups, counts, intercept, scale, normalised, expansion, checkpoint)
    attributes = monitor.curves() | {
        "n_estimators_": len(counts), "n_skipped_": ensemble.n_skipped,
        "kernel_parameters_": np.array([kernel.reg_lambda, kernel.amplitude, kernel.bias, *kernel.length_scale])}
    return Fitted(training.names, training.classes, expansion, attributes, state, training.column_map,
                  training.reference)


def first_coefficients(groups: Sequence[Coefficients], n_learners: int) -> Double:
    """Coefficients (n_learners, n_outputs) of the first base learners, as they were when there were no more."""
    found = [groups[0].last[:0]]
    for group in groups:
        n_here = min(n_learners, len(group.last))
        found.append(group.at(n_here))
        n_learners -= n_here
    return np.concatenate(found)
