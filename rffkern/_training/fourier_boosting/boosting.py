"""The rounds of one bag."""

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._native.array_types import Double
from .base_learners import BaseLearner
from .training_rows import BaggedRows, Losses

Rounds = Sequence[tuple[Any, float]]  # of each round its term, None where the base learner has found none, and the step

# Rounds at the start in which the base learners take turns, all but trees twice as often.
_TURNS = 30

# Least chance of the base learner with the cheapest rounds, as a share of the chance of the best one, and the number of
# rounds without a gain after which this chance is half.
_LEAST_CHANCE, _MISSES = 0.1, 5

# Mean training loss below which more rounds would fit rounding errors.
_LOSS_FLOOR = 1e-12

# Share by which a step of Newton's method may raise the training loss, and halvings until it does not.
_LARGEST_RISE, _MOST_HALVINGS = 0.01, 10


class BagState(NamedTuple):
    """All that later rounds of a bag depend on; it is never changed."""

    rng: "np.random.Generator"
    steps: Rounds = ()
    losses: Sequence[Losses] = ()  # before the first round and after each
    best_round: int = 0  # number of rounds up to the lowest validation loss
    validation_scores: Any = None  # (n_outputs, n_validation) after these
    unseen: "UnseenScores | None" = None
    learners: Mapping[str, Mapping[str, Any]] = {}  # histories of base learners by name
    scores: Any = None  # (n_outputs, n_rows) after all rounds; None before the first
    evaluation_scores: Sequence[Any] = ()  # the same of additional evaluation sets


class UnseenScores(NamedTuple):
    """Validation scores without the optimism of early stopping.

    The rows of each half are scored after the rounds up to the lowest loss of the other half.  Early stopping chooses
    the rounds by all validation rows, and where these are few, their losses are then lower than those of new rows.
    """

    scores: Any  # (n_outputs, n_validation), padding too
    lowest: tuple[float, float]  # losses of both halves

    def after_round(self, rows: BaggedRows) -> "UnseenScores":
        """Those after one more round, by its losses."""
        losses = rows.half_sums
        first, second = losses[0] < self.lowest[0], losses[1] < self.lowest[1]
        if not (first or second):
            return self
        scores = rows.validation_scores()
        if first and second:
            return UnseenScores(scores, losses)
        lowest = (losses[0], self.lowest[1]) if first else (self.lowest[0], losses[1])
        return UnseenScores(np.where(rows.halves == second, self.scores, scores), lowest)


class Bag(NamedTuple):
    """A boosted model: the rounds that are kept."""

    steps: Rounds
    losses: Sequence[Losses]  # before the first round and after each
    gain_shares: dict[str, float]  # shares of the base learners in the improvement of the validation loss
    relevances: dict[str, Double]  # of columns, by base learner, sum 1
    validation_scores: Any  # (n_outputs, n_validation) after the rounds kept
    unseen_scores: Any = None  # `UnseenScores.scores`; None where `validation_scores` are as good
    state: BagState | None = None  # for more rounds
    is_complete: bool = True  # False where its time or the callback has ended it
    choices: Mapping[str, Mapping[str, Any]] = {}  # of base learners by name
    rng: "np.random.Generator | None" = None  # after all rounds


def boost_bag(rows: BaggedRows, evaluation_sets: Sequence[Any], learners: Sequence[BaseLearner],
              n_rounds: int, patience: int | None, state: BagState,
              after_round: Callable[[int, Losses, Callable[[], BagState]], bool],
              metric: Callable[[Any], float] | None = None, least_fall: float = 0.0) -> Bag:
    """The rounds of one bag, from a state on.

    Parameters
    ----------
    rows : BaggedRows
        Training and validation rows, with scores before the first round.
    evaluation_sets : sequence of BaggedRows
        Additional evaluation sets, whose losses are recorded and decide nothing.
    n_rounds : int
        Largest number of rounds, those of the state included.
    patience : int or None
        Number of rounds without a lower validation loss (or `metric`) after which the bag ends; the rounds up to the
        lowest are kept.  None: all rounds are kept.
    state : BagState
        Of an earlier fit with `warm_start`, or a new one.
    after_round : callable of (number of rounds, losses, a function that makes the present state)
        Returns whether to go on.
    metric : callable of the validation scores, or None
        Decides in place of the validation loss, lower being better.
    least_fall : float
        The bag also ends where the lowest validation loss has fallen by less than this share of the first loss in
        `patience` rounds.
    """
    rng, steps, best = copy.deepcopy(state.rng), [*state.steps], state.best_round
    validation_scores, unseen = state.validation_scores, state.unseen
    if state.scores is not None:
        for each, scores in zip((rows, *evaluation_sets), (state.scores, *state.evaluation_scores),
                                strict=True):
            each.restore(scores)
        for learner in learners:
            learner.restore(state.learners[learner.name])
    else:
        validation_scores = rows.validation_scores()
        if rows.halves is not None and patience is not None and metric is None:
            unseen = UnseenScores(validation_scores, rows.half_sums)
    curve = [*state.losses] or [_with_evaluation(rows.losses, evaluation_sets)]
    lowest = curve[best].validation if metric is None else metric(validation_scores)
    lows = [*itertools.accumulate((losses.validation for losses in curve), min)]

    def has_ended() -> bool:
        """Whether more rounds would not help."""
        if patience is not None and len(steps) >= patience and (
                len(steps) - best >= patience or lows[-1 - patience] - lows[-1] < least_fall * lows[0]):
            return True
        return len(steps) > 0 and rows.losses.train < _LOSS_FLOOR

    def state_of(scores: Any, others: Sequence[Any]) -> BagState:
        return BagState(copy.deepcopy(rng), [*steps], [*curve], best, validation_scores, unseen,
                        {learner.name: learner.history() for learner in learners}, scores, others)

    def state_now() -> BagState:
        return state_of(rows.scores.copy(), [each.scores.copy() for each in evaluation_sets])

    while len(steps) < n_rounds and not has_ended():
        learner = _sample_learner(learners, len(steps), rng)
        before = rows.losses
        term, step, after = add_term(rows, learner, rng, is_first=not steps)
        if term is not None:
            for each in evaluation_sets:
                each.set_direction(term)
                each.add_step(step)
        learner.record_gain(before.validation - after.validation)
        steps.append((term, step))
        curve.append(_with_evaluation(after, evaluation_sets))
        lows.append(min(lows[-1], after.validation))
        value = after.validation if metric is None else metric(rows.validation_scores())
        if value < lowest:
            lowest, best, validation_scores = value, len(steps), rows.validation_scores()
        unseen = None if unseen is None else unseen.after_round(rows)
        if not after_round(len(steps), after, state_now):
            break

    is_complete = len(steps) >= n_rounds or has_ended()
    state = state_of(rows.scores, [each.scores for each in evaluation_sets])
    n_kept = best
    if patience is None:
        n_kept, validation_scores = len(steps), rows.validation_scores()
    gains = {learner.name: max(learner.total_gain, 0.0) for learner in learners}
    total = sum(gains.values())
    gain_shares = {name: gain / total if total else 1 / len(gains) for name, gain in gains.items()}
    relevances = {learner.name: learner.relevance_shares for learner in learners}
    return Bag(steps[:n_kept], curve[: n_kept + 1], gain_shares, relevances, validation_scores,
               None if unseen is None or patience is None else unseen.scores, state, is_complete,
               {learner.name: learner.choices for learner in learners}, rng)


def add_term(rows: BaggedRows, learner: BaseLearner, rng: "np.random.Generator",
             is_first: bool) -> tuple[Any, float, Losses]:
    """Fit a term and add it to the scores; return the term, None where there is none, its step, and the new losses."""
    term, step, before = learner.fit(rows, rng), 0.0, rows.losses
    is_least_squares = rows.has_unit_hessian and learner.facts.takes_best_step
    if term is not None:
        if is_first and learner.is_first:
            step = 1.0  # with which the validation loss falls, as the learner has tried
        elif is_least_squares or not learner.facts.takes_best_step:
            step = learner.rate
        else:
            step = learner.rate * rows.best_step()
    after = rows.add_step(step)
    if not is_least_squares:
        # Newton's method goes too far in leaves where the Hessian is small, and along terms that are large in few rows
        # where the loss has exponentials: halve until it rises little.
        for _ in range(_MOST_HALVINGS):
            if after.train <= (1 + _LARGEST_RISE) * before.train:
                break
            step *= 0.5
            after = rows.add_step(-step)
    if term is not None:
        learner.record_term(term, step)
    return term, step, after


def _sample_learner(learners: Sequence[BaseLearner], round_index: int, rng: "np.random.Generator") -> BaseLearner:
    """The base learner of a round: in turns at first, then in proportion to recent gains of validation loss.

    A base learner without a gain keeps a small chance, which is smaller the more its rounds cost and the longer it has
    gained nothing.
    """
    if round_index == 0 and any(learner.is_first for learner in learners):
        return next(learner for learner in learners if learner.is_first)
    if len(learners) == 1:
        return learners[0]
    if round_index < _TURNS:
        turns = [each for each in learners for _ in range(2 if each.facts.takes_best_step else 1)]
        return turns[round_index % len(turns)]
    largest = max([learner.mean_gain for learner in learners])
    least = _LEAST_CHANCE * (largest if largest > 0 else 1.0) * min([learner.mean_cost for learner in learners])
    chances = [max(learner.mean_gain, 0.0) + least / (learner.mean_cost * (1 + learner.n_misses / _MISSES))
               for learner in learners]
    place = rng.random() * sum(chances)
    for learner, chance in zip(learners, chances, strict=True):
        place -= chance
        if place < 0:
            return learner
    return learners[-1]  # by rounding


def _with_evaluation(losses: Losses, evaluation_sets: Sequence[Any]) -> Losses:
    if not evaluation_sets:
        return losses
    return losses._replace(evaluation=tuple(each.losses.validation for each in evaluation_sets))
