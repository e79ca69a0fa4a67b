"""One member: rounds that ask the kind of weak learner for a term that has gained most on held-out rows."""

import bisect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kinds import Kind
from .state import Losses, State

# Rounds at the start in which the kinds take turns, waves twice as often.
_TURNS = 30

# Least chance of a kind, in units of that of the best, and least weight of a new gain in the mean of gains.
_LEAST_CHANCE, _LEAST_WEIGHT = 0.1, 0.03

# Mean loss of the rows learned from, below which more rounds would fit rounding errors.
_LOSS_FLOOR = 1e-12


class Taken(NamedTuple):
    """What a round has taken."""

    term: Any  # None where the kind found none
    step: float


class Member(NamedTuple):
    """What a member keeps."""

    taken: Sequence[Taken]  # of each round
    curve: Sequence[Losses]  # before the first round and after each
    shares: dict[str, float]  # of the gain on held-out rows, by kind
    relevances: dict[str, NDArray[np.float64]]  # by kind, sum 1
    held: NDArray[np.float32]  # (n_outputs, n_held) scores of the rows held out, after the rounds kept


class _Choice:
    """Draws kinds by their mean gain."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._turns = [kind for kind in kinds for _ in range(2 if kind.searches_steps and len(kinds) > 1 else 1)]
        self._kinds = kinds
        self._means, self._counts = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0)

    def draw(self, round_index: int, rng: "np.random.Generator") -> Kind:
        if round_index < _TURNS or len(self._kinds) == 1:
            return self._turns[round_index % len(self._turns)]
        gains = [max(self._means[kind], 0.0) for kind in self._kinds]
        largest = max(*gains, 1e-300)
        reached = list(itertools.accumulate(gain / largest + _LEAST_CHANCE for gain in gains))
        return self._kinds[bisect.bisect_right(reached, rng.random() * reached[-1], hi=len(gains) - 1)]

    def learn(self, kind: Kind, gain: float) -> None:
        self._counts[kind] += 1
        self._means[kind] += max(1 / self._counts[kind], _LEAST_WEIGHT) * (gain - self._means[kind])


def train_member(state: State, kinds: Sequence[Kind], n_rounds: int, patience: int | None,
                 rng: "np.random.Generator", go_on: Callable[[int, Losses], bool]) -> Member:
    """Boost; with patience, rounds end that many after the lowest held-out loss, and those up to it are kept."""
    choice = _Choice(kinds)
    taken: list[Taken] = []
    curve, held = [state.losses], state.held_scores()
    best, totals = 0, dict.fromkeys((kind.name for kind in kinds), 0.0)
    for round_index in range(n_rounds):
        kind = choice.draw(round_index, rng)
        term = kind.fit(state, rng)
        step = 0.0
        if term is not None:
            step = kind.rate * (state.best_step() if kind.searches_steps and state.searches_steps else 1.0)
            kind.take(term, step)
        before, after = state.losses, state.move(step)
        taken.append(Taken(term, step))
        curve.append(after)
        gain = before.held_out - after.held_out
        choice.learn(kind, gain)
        totals[kind.name] += gain
        if after.held_out < curve[best].held_out:
            best, held = round_index + 1, state.held_scores()
        stalled = patience is not None and round_index + 1 - best >= patience
        if not go_on(round_index + 1, after) or stalled or after.learned < _LOSS_FLOOR:
            break
    kept = best
    if patience is None:
        kept, held = len(taken), state.held_scores()
    return Member(taken[:kept], curve[: kept + 1], *_merits(kinds, totals), held)


def _merits(kinds: Sequence[Kind], totals: dict[str, float]) -> tuple[dict[str, float], dict[str, Any]]:
    """Shares of the kinds in what was gained, and relevances of columns for each, both of sum 1."""
    gained = {name: max(total, 0.0) for name, total in totals.items()}
    whole = sum(gained.values())
    shares = {name: each / whole if whole else 1 / len(gained) for name, each in gained.items()}
    relevances = {kind.name: kind.relevances / max(kind.relevances.sum(), 1e-300) for kind in kinds}
    return shares, relevances
