"""The way from checked rows to a fitted model, which the boosted families share."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._estimator.base import Fitted
from ..._estimator.monitor import Monitor, RoundInfo
from ..._estimator.training_rows import RowPrints, check_training, fixed_params, state_to_continue
from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._protocol.arguments import check_rng
from ..._rows.row_blocks import drawn
from ..._rows.training_rows import Training
from ..spectral import largest_single_length, resolved_gamma
from .ground import Ground, LocalRows, Plan
from .importances import importances
from .recipe import FittedRounds, Recipe, SearchSetting
from .rounds import Addition, boost

Double = NDArray[np.float64]
Callback = Callable[[RoundInfo], Any]


class BoostedModel(Protocol):
    """An estimator with the parameters that all boosted families have."""

    n_estimators: int
    gamma: str | float
    learning_rate: float
    max_samples: int | None
    standardize: bool
    early_stopping_rounds: int | None
    validation_fraction: float | None
    warm_start: bool
    precision: str
    random_state: Any
    n_jobs: int | None
    verbose: int


class TrainingState(NamedTuple):
    """Where training stands after its last round.  Nothing in it is ever changed."""

    params: dict[str, Any]
    prints: RowPrints
    seeds: Sequence[int]  # of the sources of random draws
    rounds: Sequence[Sequence[Addition]]
    losses: tuple[Any, ...]  # as `Monitor.resume` takes them
    values: Sequence[NDArray[Any]]  # of each output, then of each on sets of held-out rows: `LossState.values`
    n_iterations: int

    @property
    def n_rounds(self) -> int:
        """Number of rounds that have been."""
        return len(self.rounds)


class Sources(NamedTuple):
    """Where random draws come from: one generator for all, in this order, or one for each where training may go on."""

    held_out: "np.random.Generator"
    omegas: "np.random.Generator"
    order: "np.random.Generator"
    landmarks: "np.random.Generator"
    seeds: Sequence[int] = ()

    @classmethod
    def of(cls, model: BoostedModel, before: TrainingState | None) -> "Sources":
        """Those of a model, or those that its training began with."""
        rng = check_rng(model.random_state)
        if not model.warm_start:
            return cls(rng, rng, rng, rng)
        seeds = rng.integers(1 << 63, size=4).tolist() if before is None else before.seeds
        held_out, omegas, order, landmarks = map(np.random.default_rng, seeds)
        return cls(held_out, omegas, order, landmarks, seeds)


class Checked(NamedTuple):
    """Checked rows, and what a fit keeps of them beside the function."""

    rows: Ground
    names: NDArray[np.object_] | None  # of the columns
    classes: NDArray[Any] | None  # labels of a classifier
    center: Double  # (n_outputs,) of the targets, which `rows` has in units of `scale`
    scale: Double  # (n_outputs,)
    column_map: Any = None
    prints: RowPrints | None = None  # where training may go on


def train(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any, recipe: Recipe[Any],
          callback: Callback | None) -> Fitted:
    """Check rows and boost a model on them, from the first round or from where its training stands."""
    before = state_to_continue(model)
    sources = Sources.of(model, before)
    return train_on(model, _checked(model, check_training(model, X, y, sample_weight, eval_set, sources.held_out)),
                    recipe, callback, sources, before)


def _checked(model: BoostedModel, training: Training) -> Checked:
    """Rows that are here."""
    sets = dict(training.watched) or ({} if training.evaluation is None else {"valid_0": training.evaluation})
    return Checked(LocalRows(training.rows, sets, model.n_jobs), training.names, training.classes, training.center,
                   training.scale, training.column_map, RowPrints.of_training(training) if model.warm_start else None)


def train_on(model: BoostedModel, checked: Checked, recipe: Recipe[Any], callback: Callback | None, sources: Sources,
             before: TrainingState | None = None) -> Fitted:
    """Boost a model on checked rows.

    The order of random draws is documented and stays: rows held out, omegas, the order of the rows, landmarks.
    """
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose)
    ground, names, classes, center, scale, column_map, prints = checked
    del checked
    if before is not None and prints is not None:
        before.prints.check(prints)
    standardize = model.standardize and column_map is None  # mapped columns have their units
    scaling = ground.scaling(standardize)
    gamma = resolved_gamma(model.gamma, standardize, scaling)
    shape = model.n_estimators, ground.n_outputs, recipe.n_components, ground.n_features
    draws = drawn(sources.omegas.standard_normal, shape)
    draws *= math.sqrt(2 * gamma)
    plan = Plan(recipe, scaling, model.max_samples, model.precision, largest_single_length(gamma))
    outputs, eval_outputs, intercepts, subsets, workspace, landmarks = ground.stand(plan, sources.order)
    search = recipe.make_search(SearchSetting(subsets, workspace, draws, gamma), landmarks, sources.landmarks)
    del ground, landmarks  # only the packed rows are needed from here on
    n_iterations, done = 0, []
    if before is not None:
        n_iterations, done = before.n_iterations, [*before.rounds]
        monitor.resume(*before.losses)
        for output, values in zip(itertools.chain(outputs, *eval_outputs.values()), before.values, strict=True):
            output.resume(values)
    rounds = boost(outputs, eval_outputs, search, model.learning_rate, monitor, done)
    n_iterations += search.n_iterations
    state = None
    if prints is not None:
        state = TrainingState(fixed_params(model), prints, sources.seeds, rounds,
                              (monitor.train_loss, monitor.eval_loss, monitor.watched),
                              [output.values for output in itertools.chain(outputs, *eval_outputs.values())],
                              n_iterations)
    kept = FittedRounds(rounds[: monitor.best_round], scaling, draws)
    attributes = {"n_estimators_": len(kept.rounds), "n_components_": recipe.n_components, "n_iter_": n_iterations,
                  "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
                  "eval_losses_": {name: np.array(losses) for name, losses in monitor.watched.items()},
                  "feature_importances_": importances(kept.rounds, monitor.train_loss, draws.shape[-1], column_map),
                  **recipe.attributes(kept)}
    expansion = _to_expansion(kept, center + scale * intercepts, scale)
    return Fitted(names, classes, expansion, attributes, state, column_map)


def _to_expansion(kept: FittedRounds, intercepts: Double, scale: Double) -> Expansion:
    """Terms in the order of the rounds, within a round of the outputs, within an output of the components."""
    n_outputs, n_components, n_features = kept.draws.shape[1:]
    shape = len(kept.rounds), n_outputs, n_components
    omegas, phases, amplitudes = np.zeros((*shape, n_features)), np.zeros(shape), np.zeros((*shape, n_outputs))
    for t, additions in enumerate(kept.rounds):
        for k, (learner, step) in enumerate(additions):
            omegas[t, k] = learner.omegas * kept.scaling.inverse_scale
            phases[t, k] = learner.phases
            amplitudes[t, k, :, k] = scale[k] * step * learner.posterior
    n_terms = math.prod(shape)
    terms = FourierTerms(omegas.reshape(n_terms, n_features), phases.reshape(n_terms),
                         amplitudes.reshape(n_terms, n_outputs))
    return Expansion(intercepts, kept.scaling.center, terms)
