"""How far members are that are trained side by side."""

import threading
import time

from ..._estimator.monitor import current_listener
from .state import Losses

# Shortest time between two calls of who listens, and the parts that the work is told in.
_SECONDS_BETWEEN, _PARTS = 0.1, 1000


class Told:
    """Tells who listens where this is made, from any thread and by one thread at a time.

    Members end early, nobody knows when: a member counts as long as the mean of those that have ended.
    """

    def __init__(self, n_bags: int, n_rounds: int) -> None:
        self._listener, self._lock = current_listener(), threading.Lock()
        self._rounds, self._most_rounds, self._ended = [0] * n_bags, n_rounds, set[int]()
        self._shown, self._due = 0, 0.0

    def round(self, member: int, n_rounds: int, losses: Losses) -> None:
        """A member has trained so many rounds."""
        self._rounds[member] = n_rounds
        if self._listener is None or time.monotonic() < self._due:
            return
        with self._lock:
            if time.monotonic() < self._due:
                return
            self._shown = max(self._shown, round(_PARTS * self._share()))
            self._listener("training", self._shown, _PARTS,
                           f"{len(self._ended)} of {len(self._rounds)} bags  train loss {losses.learned:.4g}  "
                           f"validation loss {losses.held_out:.4g}")
            self._due = time.monotonic() + _SECONDS_BETWEEN

    def ended(self, member: int) -> None:
        """A member is trained."""
        with self._lock:
            self._ended.add(member)

    def _share(self) -> float:
        """Share of the rounds that are done, as far as one can know."""
        lengths = [self._rounds[member] for member in self._ended]
        expected = max(1.0, sum(lengths) / len(lengths)) if lengths else float(self._most_rounds)
        done = [1.0 if member in self._ended else min(1.0, n_rounds / expected)
                for member, n_rounds in enumerate(self._rounds)]
        return sum(done) / len(done)
