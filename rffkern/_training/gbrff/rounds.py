"""The boosting loop: rounds of weak learners and steps for every output (Algorithm 1)."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from ..._estimator.monitor import Monitor
from .loss_states import CosineSum, LossState

_loss_of = attrgetter("loss")


class Addition(NamedTuple):
    """What a round adds to the predictions of one output."""

    learner: CosineSum
    step: float


class Search(Protocol):
    """Fits weak learners."""

    @property
    def n_iterations(self) -> int:
        """L-BFGS iterations so far."""

    def __call__(self, state: Any, round_index: int, output: int) -> CosineSum:
        """The weak learner for the residuals of a loss state."""


def _mean_loss(states: Sequence[LossState]) -> float:
    return sum(map(_loss_of, states)) / len(states)


def boost(outputs: Sequence[LossState], eval_outputs: Mapping[str, Sequence[LossState]], search: Search,
          learning_rate: float, monitor: Monitor, done: Sequence[Sequence[Addition]] = ()) -> list[Sequence[Addition]]:
    """Boost all outputs round by round, until the monitor ends it.

    `outputs` has a loss state for each output, and `eval_outputs` those of each set of held-out rows by its name; the
    first set decides when to stop.  Returns, for each round, what it adds to each output, beginning with the rounds
    that are `done` and that the monitor knows of.
    """

    def record() -> bool:
        held_out = {name: _mean_loss(states) for name, states in eval_outputs.items()}
        return monitor.record(_mean_loss(outputs), next(iter(held_out.values()), None), held_out)

    rounds: list[Sequence[Addition]] = [*done]
    goes_on = not monitor.has_finished() if done else record()
    while goes_on:
        additions = []
        for k, state in enumerate(outputs):
            learner = search(state, len(rounds), k)
            evaluation = state.evaluate(learner)
            step = learning_rate * state.step(evaluation)
            state.update(evaluation, step)
            for held_out in (states[k] for states in eval_outputs.values()):
                held_out.update(held_out.evaluate(learner), step)
            additions.append(Addition(learner, step))
        rounds.append(additions)
        goes_on = record()
    return rounds
