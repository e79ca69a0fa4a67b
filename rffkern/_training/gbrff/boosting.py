"""Gradient boosting of random Fourier features: from checked rows to a fitted model.

The loop is that of all three papers' algorithms (docs/algorithms/gbrff.md); what they differ in, the loss and the weak
learner h_t, is chosen by `_loss_of` and `_search_of`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.checkpoints import (
    Checkpoint,
    CheckpointWriter,
    RowFingerprints,
    fixed_params,
    sources_of_draws,
    state_to_continue,
)
from ..._estimator.monitor import Monitor, RoundInfo, TimeLimit
from ..._estimator.validation_split import check_training
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native.array_types import Double
from ..._rows.scaling import Scaling
from ..spectral import draw_omegas, largest_single_length, resolved_gamma
from .losses import ExactStepRows, ExponentialRows, LocalRows, SquaredRows
from .packed_rows import LocalData
from .weak_learners import CosineSearch, LandmarkSearch, Round, WeakLearner, fitted_landmarks

Callback = Callable[[RoundInfo], Any]

# Sources of random draws, in the order of their use: rows held out, omegas, order of the rows, landmarks.
N_SOURCES = 4

_STATE_TYPES = Checkpoint, RowFingerprints, WeakLearner


def train(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any, callback: Callback | None) -> Fitted:
    """Check rows and boost a model on them, from the first round or from where its last fit ended."""
    checkpoint = state_to_continue(model, _STATE_TYPES)
    limit = TimeLimit(model.max_seconds)
    rngs, seeds = sources_of_draws(model, N_SOURCES, checkpoint)
    # Nothing here keeps the checked rows: `boost` releases them once they are packed.
    return boost(model, LocalData(check_training(model, X, y, sample_weight, eval_set, rngs[0]), model), callback, rngs,
                 seeds, limit, checkpoint)


def boost(model: Any, data: Any, callback: Callback | None, rngs: Sequence["np.random.Generator"],
          seeds: Sequence[int], limit: TimeLimit, checkpoint: Checkpoint | None = None) -> Fitted:
    """Boost a model on checked rows (ECML 2020, Algorithms 2 and 3; 2019, Algorithm 1).

    `data` is `LocalData`, or `PartitionedData`, which has the same of rows in partitions.
    """
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose, limit=limit)
    names, classes, column_map, reference, prints = (data.names, data.classes, data.column_map, data.reference,
                                                     data.prints)
    center, scale = data.center, data.scale
    if checkpoint is not None and prints is not None:
        checkpoint.prints.check(prints)

    # Draw omega_tj ~ N(0, 2 gamma I), or from the spectral density of another kernel, for all rounds t, outputs and
    # components j.
    standardize = model.standardize and column_map is None  # mapped columns have their units
    scaling = data.scaling(standardize)
    gamma = resolved_gamma(model.gamma, model.kernel, standardize, scaling)
    n_components = getattr(model, "n_components", 1)
    shape = (model.n_estimators, data.n_outputs, n_components, data.n_features)
    omegas = draw_omegas(model.kernel, gamma, rngs[1], shape)

    # H = H_0 at all rows.
    loss = _loss_of(model)
    outputs, evaluation, intercepts, samples = data.pack(
        loss, n_components, scaling, model.max_samples, model.precision, largest_single_length(gamma, model.kernel),
        rngs[2])
    search = _search_of(model, data, samples, omegas, gamma, scaling, rngs[3])
    del data  # only the packed rows are needed from here on
    all_rows = [*outputs, *(rows for of_set in evaluation.values() for rows in of_set)]
    rounds: list[Round] = []
    if checkpoint is not None:
        before, all_scores, search.n_iterations = checkpoint.state
        rounds = [*before]
        monitor.resume(*checkpoint.losses)
        for rows, scores in zip(all_rows, all_scores, strict=True):
            rows.restore(scores)

    def state_now() -> Checkpoint | None:
        if prints is None:
            return None
        return Checkpoint(fixed_params(model), prints, seeds, monitor.losses,
                          (rounds, [rows.scores for rows in all_rows], search.n_iterations))

    writer = CheckpointWriter(model, _STATE_TYPES)
    run_rounds(rounds, outputs, evaluation, samples, search, model.learning_rate, monitor,
               lambda: writer.offer(state_now))
    writer.offer(state_now, is_last=True)
    state = state_now()
    kept = rounds[: monitor.best_round]
    attributes = monitor.curves() | {
        "n_estimators_": len(kept), "n_components_": n_components, "n_iter_": search.n_iterations,
        "feature_importances_": feature_importances(kept, monitor.train_loss, scaling.deviations, column_map)}
    if loss is not SquaredRows:
        attributes["convergence_bound_"] = (convergence_bound(rounds, intercepts, model.learning_rate)
                                            if loss is ExponentialRows else np.zeros(0))
    if model.family != "gbrff2":
        attributes["landmarks_"] = fitted_landmarks(kept, omegas, scaling)
    expansion = _to_expansion(kept, omegas.shape, scaling, center + scale * intercepts, scale)
    return Fitted(names, classes, expansion, attributes, state, column_map, reference)


def run_rounds(rounds: list[Round], outputs: Sequence[Any], evaluation: Mapping[str, Sequence[Any]], samples: Any,
               search: CosineSearch | LandmarkSearch, learning_rate: float, monitor: Monitor,
               after_round: Callable[[], None]) -> None:
    """The boosting loop: append to the rounds so far until the monitor ends it.

    `outputs` are `LocalRows` of each output, or `PartitionedRows`, and `evaluation` the same of each evaluation set, of
    which the first decides when to stop.
    """
    def record_losses() -> bool:
        return monitor.record(_mean_loss(outputs), {name: _mean_loss(of_set) for name, of_set in evaluation.items()})

    continues = not monitor.has_finished() if monitor.train_loss else record_losses()
    while continues:
        t, terms = len(rounds), []
        sample = samples.sample(t)
        for k, rows in enumerate(outputs):
            h = search.fit(sample, rows, t, k)  # to the residuals of the sample
            rows.set_direction(h)
            step = learning_rate * rows.best_step()  # v alpha
            rows.add_step(step)  # H += v alpha h
            for of_set in evaluation.values():
                of_set[k].set_direction(h)
                of_set[k].add_step(step)
            terms.append((h, step))
        rounds.append(terms)
        continues = record_losses()
        after_round()


def _mean_loss(outputs: Sequence[Any]) -> float:
    return sum(rows.loss for rows in outputs) / len(outputs)


def _loss_of(model: Any) -> type[LocalRows]:
    """Squared error in the 2019 paper, the exponential loss in the ECML paper."""
    if model.family in ("gbrff", "gbrff_regressor"):
        return SquaredRows
    return ExactStepRows if getattr(model, "step", "closed") == "exact" else ExponentialRows


def _search_of(model: Any, data: Any, samples: Any, omegas: Double, gamma: float, scaling: Scaling,
               rng: "np.random.Generator") -> CosineSearch | LandmarkSearch:
    """What fits the weak learners of a model."""
    if model.family == "gbrff2":
        return CosineSearch(samples, omegas, gamma, model.reg_lambda, model.max_iter, model.n_jobs)
    if model.family == "gbrff1" and model.landmarks == "learn" and model.n_components == 1:
        # A landmark of one cosine is a phase, which has a search for the global minimum.
        return CosineSearch(samples, omegas, gamma, 0.0, 0, model.n_jobs)
    landmarks = None
    if model.landmarks == "random":
        n_rounds, n_outputs, _, n_features = omegas.shape
        landmarks = data.draw(rng, n_rounds * n_outputs, scaling).reshape(n_rounds, n_outputs, n_features)
    is_squared = model.family != "gbrff1"
    # Of mean losses: the exponents are -(beta / sqrt n) sum exp(...) in the ECML paper, -(c / n) sum (...)^2 in that of
    # 2019, whose c is our beta.
    temperature = model.beta * (1.0 if is_squared else math.sqrt(data.given_weight))
    return LandmarkSearch(samples, omegas, gamma, temperature, model.max_iter, model.n_jobs, is_squared,
                          is_squared and model.scale_residuals, landmarks)


def convergence_bound(rounds: Sequence[Round], intercepts: Double, learning_rate: float) -> Double:
    """Bounds of the mean exponential loss before the first round and after each, from the steps alone.

    With the edge r = sum of w y h / sum of w of a round, w = exp(-y H), and |h| <= 1, convexity of the exponential
    gives loss_t / loss_{t-1} <= cosh(a) - r sinh(a) for a step a.  That of the paper is a = v artanh(r), held to 9.4,
    by which a is less and so is what is taken for r: the bound stays one.
    """
    steps = np.array([[step for _, step in terms] for terms in rounds]).reshape(-1, len(intercepts))
    falls = np.cosh(steps) - np.tanh(steps / learning_rate) * np.sinh(steps)
    return np.cumprod(np.vstack([1 / np.cosh(intercepts), falls]), axis=0).mean(axis=1)


def feature_importances(rounds: Sequence[Round], losses: Sequence[float], deviations: Double, column_map: Any
                        ) -> Double:
    """The share of each column of the table in what the rounds gained, of sum 1, or 0 where there is nothing.

    The gain of round t is by how much the training loss falls (J. Friedman, Greedy function approximation, 2001,
    section 8.1, has the same for splits of trees):

        importance_j proportional to sum over t of (L_{t-1} - L_t) s_tj / sum over j of s_tj,
        s_tj = sum over terms m of round t of (amplitude_m omega_mj)^2,

    with omegas in units of the standard deviations of the columns: s_tj is the mean square of the gradient of the round
    along column j, up to a factor, where the angles are spread over the circle.
    """
    found: Double = np.zeros(len(deviations))
    units = deviations / (deviations.max() or 1.0)  # whose products with omegas are finite
    for t, terms in enumerate(rounds):
        gradients = np.concatenate([(step * h.q)[:, None] * h.omegas for h, step in terms]) * units
        squares = ((gradients / (np.abs(gradients).max() or 1.0)) ** 2).sum(axis=0)
        found += max(losses[t] - losses[t + 1], 0.0) * squares / max(squares.sum(), 1e-300)
    if column_map is not None:
        found = np.bincount(column_map.sources_, found, column_map.n_features_in_).astype(np.float64, copy=False)
    total = found.sum()
    return found / total if total > 0 else np.zeros(len(found))


def _to_expansion(rounds: Sequence[Round], shape: Sequence[int], scaling: Scaling, intercepts: Double,
                  scale: Double) -> Expansion:
    """Terms in the order of the rounds, within a round of the outputs, within an output of the components."""
    n_rounds, (n_outputs, n_components, n_features) = len(rounds), shape[1:]
    omegas = np.zeros((n_rounds, n_outputs, n_components, n_features))
    phases, amplitudes = np.zeros(omegas.shape[:3]), np.zeros((*omegas.shape[:3], n_outputs))
    for t, terms in enumerate(rounds):
        for k, (h, step) in enumerate(terms):
            omegas[t, k] = h.omegas * scaling.inverse_scale
            phases[t, k] = h.phases
            amplitudes[t, k, :, k] = scale[k] * step * h.q
    n_terms = n_rounds * n_outputs * n_components
    cosines = FourierTerms(omegas.reshape(n_terms, n_features), phases.reshape(n_terms),
                           amplitudes.reshape(n_terms, n_outputs))
    return Expansion(intercepts, scaling.center, cosines)
