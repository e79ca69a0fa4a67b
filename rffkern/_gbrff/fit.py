"""The way from checked rows to a fitted model, which the boosted families share."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._data.pieces import drawn
from .._data.row_blocks import blocks
from .._data.scaling import Scaling, scaling_in_threads
from .._data.threads import check_n_threads
from .._data.tiles import TILE
from .._data.training_rows import Training
from .._estimator.base import Fitted
from .._estimator.held_out import check_training
from .._estimator.monitor import Monitor, RoundInfo
from .._estimator.warm_start import RowPrints, fixed_params, state_to_continue
from .._fourier.bandwidth import largest_single_length, resolved_gamma
from ..expansion import FourierExpansion
from .importances import importances
from .loss_states import LossState
from .packed_rows import PackedRows, RowSource, pack_rows
from .rounds import Addition, Search, boost
from .subsets import Division, Subsets, divide_rows
from .workspace import EvaluationWorkspace, Sizes, TrainingWorkspace

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
    n_threads: int | None
    verbose: int


Workspace = TypeVar("Workspace", bound=TrainingWorkspace)


class SearchSetting(NamedTuple, Generic[Workspace]):
    """What weak learners are fitted with."""

    subsets: Subsets  # taken in turn by the rounds
    workspace: Workspace
    draws: Double  # (n_estimators, n_outputs, n_components, n_features) omegas
    gamma: float


class FittedRounds(NamedTuple):
    """The rounds that a fitted model keeps."""

    rounds: Sequence[Sequence[Addition]]  # for each round, what it adds to each output
    scaling: Scaling
    draws: Double  # (n_estimators, n_outputs, n_components, n_features) omegas of all rounds


class Boosted(NamedTuple):
    """What training returns."""

    fitted: Fitted
    kept: FittedRounds


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
        rng = np.random.default_rng(model.random_state)
        if not model.warm_start:
            return cls(rng, rng, rng, rng)
        seeds = rng.integers(1 << 63, size=4).tolist() if before is None else before.seeds
        held_out, omegas, order, landmarks = map(np.random.default_rng, seeds)
        return cls(held_out, omegas, order, landmarks, seeds)


class Recipe(NamedTuple, Generic[Workspace]):
    """What a family brings to training.

    `make_search` may draw landmarks from the source of the rows, which is not kept afterwards.
    """

    loss: type[LossState]
    make_workspace: Callable[[PackedRows, Sizes], Workspace]
    make_search: Callable[[SearchSetting[Workspace], RowSource, "np.random.Generator"], Search]
    n_components: int = 1  # cosines in a weak learner


def train(model: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any, recipe: Recipe[Any],
          callback: Callback | None) -> Boosted:
    """Check rows and boost a model on them, from the first round or from where its training stands."""
    before = state_to_continue(model)
    sources = Sources.of(model, before)
    return _trained(model, check_training(model, X, y, sample_weight, eval_set, sources.held_out), recipe, callback,
                    sources, before)


def _trained(model: BoostedModel, training: Training, recipe: Recipe[Any], callback: Callback | None,
             sources: Sources, before: TrainingState | None) -> Boosted:
    """The order of random draws is documented and stays: rows held out, omegas, the order of the rows, landmarks."""
    n_subsets, largest_subset = _subset_sizes(model.max_samples, training.rows.weights.n_positive)
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose)
    prints = _prints(training) if model.warm_start else None
    if before is not None and prints is not None:
        before.prints.check(prints)
    names, data, evaluation, center, scale, _, classes, watched, column_map = training
    sets = dict(watched) or ({} if evaluation is None else {"valid_0": evaluation})
    X, weights, targets, n_components = data.X, data.weights, data.targets(), recipe.n_components
    del training, data  # with the class indices
    n_threads = check_n_threads(model.n_threads, math.prod(X.shape))
    search_threads = min(n_threads, check_n_threads(model.n_threads, largest_subset * TILE * X.shape[1]))
    standardize = model.standardize and column_map is None  # mapped columns have their units
    scaling = scaling_in_threads(X, weights, standardize, n_threads)
    gamma = resolved_gamma(model.gamma, standardize, scaling)
    single_length = largest_single_length(gamma)
    draws = drawn(sources.omegas.standard_normal, (model.n_estimators, len(center), n_components, X.shape[1]))
    draws *= math.sqrt(2 * gamma)
    source = RowSource(X, weights, scaling, n_threads)
    division = Division(n_subsets, sources.order.permutation(weights.n_positive) if n_subsets > 1 else None)
    rows, subsets = divide_rows(source, division, model.precision, single_length)
    workspace = recipe.make_workspace(rows, Sizes(n_components, n_threads, largest_subset, search_threads))
    intercepts = np.empty(len(center))
    outputs: list[LossState] = []
    for k, target in enumerate(targets):
        intercepts[k] = recipe.loss.intercept(target, weights)
        outputs.append(recipe.loss(rows, target, intercepts[k], workspace))
    del target, targets
    eval_outputs = {name: _start_evaluation(recipe, held_out, intercepts, scaling, model.n_threads, rows.dtype)
                    for name, held_out in sets.items()}
    search = recipe.make_search(SearchSetting(subsets, workspace, draws, gamma), source, sources.landmarks)
    del X, weights, evaluation, watched, sets, source, division  # only the packed rows are needed from here on
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
    attributes = {"n_estimators_": len(kept.rounds), "n_components_": n_components, "n_iter_": n_iterations,
                  "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
                  "eval_losses_": {name: np.array(losses) for name, losses in monitor.watched.items()},
                  "feature_importances_": importances(kept.rounds, monitor.train_loss, draws.shape[-1], column_map)}
    expansion = _to_expansion(kept, center + scale * intercepts, scale)
    return Boosted(Fitted(names, classes, expansion, attributes, state, column_map), kept)


def _prints(training: Training) -> RowPrints:
    """Marks of checked rows."""
    def numbers(rows: Any) -> Iterable[NDArray[Any]]:
        return () if rows is None else (block.astype(np.float64, copy=False) for _, block in blocks(rows.X))

    def targets(rows: Any) -> list[NDArray[Any]]:
        return [] if rows is None else [rows.codes if training.classes is not None else rows.values, rows.weights.each]

    data, held_out = training.rows, [rows for _, rows in training.watched] or [training.evaluation]
    y, weights = targets(data)
    evaluations = (array for rows in held_out for array in itertools.chain(targets(rows), numbers(rows)))
    return RowPrints.of(data.X.shape[0], numbers(data), [y], [weights], evaluations, training.classes is not None)


def _subset_sizes(max_samples: int | None, n_rows: int) -> tuple[int, int]:
    """Number of subsets that rows are divided into, and the tiles of the largest."""
    n_tiles = -(-n_rows // TILE)
    if max_samples is None or n_rows <= max_samples:
        return 1, n_tiles
    n_subsets = -(-n_rows // (max_samples // TILE * TILE))
    return n_subsets, -(-n_tiles // n_subsets)


def _start_evaluation(recipe: Recipe[Any], held_out: Any, intercepts: Double, scaling: Scaling, n_threads: int | None,
                      dtype: np.dtype[Any]) -> list[LossState]:
    """Loss state of each output on checked rows that are held out, before the first round."""
    n_threads = check_n_threads(n_threads, math.prod(held_out.X.shape))
    rows = pack_rows(RowSource(held_out.X, held_out.weights, scaling, n_threads), dtype)
    workspace = EvaluationWorkspace(rows, Sizes(recipe.n_components, n_threads))
    return [recipe.loss(rows, target, intercept, workspace)
            for target, intercept in zip(held_out.targets(), intercepts, strict=True)]


def _to_expansion(kept: FittedRounds, intercepts: Double, scale: Double) -> FourierExpansion:
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
    return FourierExpansion(omegas.reshape(n_terms, n_features), phases.reshape(n_terms),
                            amplitudes.reshape(n_terms, n_outputs), intercepts, kept.scaling.center)


def restored_rounds(expansion: Any, curves: Mapping[str, Double], n_components: int = 1) -> dict[str, Any]:
    """Fitted attributes that follow from a file's expansion and loss curves; ValueError if they contradict."""
    n_rounds, left_over = divmod(expansion.n_terms, expansion.n_outputs * n_components)
    train_loss, eval_loss = curves["train_loss_"], curves["eval_loss_"]
    if (left_over or train_loss.ndim != 1 or eval_loss.ndim != 1 or eval_loss.size not in (0, train_loss.size)
            or n_rounds != (eval_loss.argmin() if eval_loss.size else train_loss.size - 1)):
        raise ValueError("rounds and loss curves do not agree in number")
    return {"n_estimators_": n_rounds, "n_components_": n_components}


def staged_scores(model: Any, X: Any) -> Iterator[Double]:
    """Yield the scores of a snapshot after each round kept, (n_samples, n_outputs)."""
    X, expansion = model._check_rows(X), model.expansion_
    yield from expansion.staged_score(X, expansion.n_outputs * model.n_components_, n_threads=model.n_threads)
