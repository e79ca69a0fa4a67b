"""One member: rounds that ask the kind of weak learner for a term that has gained most on held-out rows."""

import bisect
import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kinds import Kind
from .state import Losses, Stand

# Rounds at the start in which the kinds take turns, waves twice as often.
_TURNS = 30

# Least chance of a kind, in units of that of the best, and least weight of a new gain in the mean of gains.
_LEAST_CHANCE, _LEAST_WEIGHT = 0.1, 0.03

# Mean loss of the rows learned from, below which more rounds would fit rounding errors.
_LOSS_FLOOR = 1e-12


# Share by which a step without a search may raise the loss of the rows learned from, and halvings until it does not.
_LARGEST_RISE, _MOST_HALVINGS = 0.01, 10


class Taken(NamedTuple):
    """What a round has taken."""

    term: Any  # None where the kind found none
    step: float


class _Gains(NamedTuple):
    """What the rounds of a kind have gained on held-out rows."""

    n_rounds: int = 0
    mean: float = 0.0  # of which late rounds have more weight
    total: float = 0.0

    def with_one(self, gain: float) -> "_Gains":
        """The same after one more round."""
        weight = max(1 / (self.n_rounds + 1), _LEAST_WEIGHT)
        return _Gains(self.n_rounds + 1, self.mean + weight * (gain - self.mean), self.total + gain)


class Standing(NamedTuple):
    """Where the rounds of a member stand, for more to follow; it is never changed."""

    rng: "np.random.Generator"
    taken: Sequence[Taken] = ()  # of all rounds
    curve: Sequence[Losses] = ()
    best: int = 0  # number of rounds up to the lowest loss on held-out rows
    held: Any = None  # (n_outputs, n_held) scores of the rows held out after these
    gains: Mapping[str, _Gains] = {}  # by kind, as the next
    memories: Mapping[str, Any] = {}
    scores: Any = None  # (n_outputs, n_rows) after all rounds; None before the first
    watched: Sequence[Any] = ()  # the same of rows that decide nothing, set by set


class Member(NamedTuple):
    """What a member keeps."""

    taken: Sequence[Taken]  # of each round
    curve: Sequence[Losses]  # before the first round and after each
    shares: dict[str, float]  # of the gain on held-out rows, by kind
    relevances: dict[str, NDArray[np.float64]]  # by kind, sum 1
    held: NDArray[np.float32]  # (n_outputs, n_held) scores of the rows held out, after the rounds kept
    standing: Standing | None = None  # for more rounds


def _draw(kinds: Sequence[Kind], gains: Mapping[str, _Gains], round_index: int, rng: "np.random.Generator") -> Kind:
    """The kind of a round: in turns at first, then by mean gain."""
    if round_index < _TURNS or len(kinds) == 1:
        turns = [kind for kind in kinds for _ in range(2 if kind.searches_steps and len(kinds) > 1 else 1)]
        return turns[round_index % len(turns)]
    means = [max(gains[kind.name].mean, 0.0) for kind in kinds]
    largest = max(*means, 1e-300)
    reached = list(itertools.accumulate(mean / largest + _LEAST_CHANCE for mean in means))
    return kinds[bisect.bisect_right(reached, rng.random() * reached[-1], hi=len(means) - 1)]


def train_member(state: Stand, watched: Sequence[Stand], kinds: Sequence[Kind], n_rounds: int, patience: int | None,
                 start: Standing, go_on: Callable[[int, Losses], bool]) -> Member:
    """Boost up to so many rounds in all, from where a member stands; the rows of `watched` follow.

    With patience, rounds end that many after the lowest held-out loss, and those up to it are kept.  A member that
    stands where they end has no more.
    """
    rng, taken, best, held = copy.deepcopy(start.rng), [*start.taken], start.best, start.held
    gains = {kind.name: start.gains.get(kind.name, _Gains()) for kind in kinds}
    if start.scores is not None:
        for each, scores in zip((state, *watched), (start.scores, *start.watched), strict=True):
            each.resume(scores)
        for kind in kinds:
            kind.recall(start.memories[kind.name])
    else:
        held = state.held_scores()
    curve = [*start.curve] or [_with_watched(state.losses, watched)]
    while len(taken) < n_rounds and not _has_ended(len(taken), best, patience, state.losses):
        kind = _draw(kinds, gains, len(taken), rng)
        term = kind.fit(state, rng)
        step = 0.0
        if term is not None:
            step = kind.rate * (state.best_step() if kind.searches_steps and state.searches_steps else 1.0)
        before, after = state.losses, state.move(step)
        if not kind.searches_steps:
            step, after = _held_back(state, step, before, after)
        if term is not None:
            kind.take(term, step)
            for each in watched:
                each.point(term)
                each.move(step)
        taken.append(Taken(term, step))
        curve.append(_with_watched(after, watched))
        gains[kind.name] = gains[kind.name].with_one(before.held_out - after.held_out)
        if after.held_out < curve[best].held_out:
            best, held = len(taken), state.held_scores()
        if not go_on(len(taken), after):
            break
    standing = Standing(rng, taken, curve, best, held, gains, {kind.name: kind.memory for kind in kinds}, state.scores,
                        [each.scores for each in watched])
    kept = best
    if patience is None:
        kept, held = len(taken), state.held_scores()
    return Member(taken[:kept], curve[: kept + 1], *_merits(kinds, gains), held, standing)


def _held_back(state: Stand, step: float, before: Losses, after: Losses) -> tuple[float, Losses]:
    """A step without a search, halved until the loss rises little: Newton's method goes too far in cells that it finds
    flat.
    """
    for _ in range(_MOST_HALVINGS):
        if after.learned <= (1 + _LARGEST_RISE) * before.learned:
            break
        step *= 0.5
        after = state.move(-step)
    return step, after


def _with_watched(losses: Losses, watched: Sequence[Stand]) -> Losses:
    """Losses with those of sets of rows that are watched."""
    return losses._replace(watched=tuple(each.losses.held_out for each in watched))


def _has_ended(n_rounds: int, best: int, patience: int | None, losses: Losses) -> bool:
    """Whether more rounds would not help a member, which has had some."""
    stalled = patience is not None and n_rounds - best >= patience
    return n_rounds > 0 and (stalled or losses.learned < _LOSS_FLOOR)


def _merits(kinds: Sequence[Kind], gains: Mapping[str, _Gains]) -> tuple[dict[str, float], dict[str, Any]]:
    """Shares of the kinds in what was gained, and relevances of columns for each, both of sum 1."""
    gained = {name: max(each.total, 0.0) for name, each in gains.items()}
    whole = sum(gained.values())
    shares = {name: each / whole if whole else 1 / len(gained) for name, each in gained.items()}
    relevances = {kind.name: kind.relevances / max(kind.relevances.sum(), 1e-300) for kind in kinds}
    return shares, relevances
