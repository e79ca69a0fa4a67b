"""A progress bar on stderr."""

import math
import sys
import time
from typing import Self

from .streams import say

_SECONDS_BETWEEN = 0.1


class Progress:
    """A bar where stderr is a terminal, nothing elsewhere; leaving its `with` block removes it."""

    def __init__(self, label: str, total: int | None) -> None:
        self.label, self.total = label, None if total is None else max(1, total)
        self.shown = sys.stderr.isatty()
        self.started, self.drawn = time.monotonic(), -math.inf
        self._other: Progress | None = None
        self._other_done = 0

    def update(self, done: int, n_rows: int | None = None, note: str = "") -> None:
        """Draw the bar at `done` of `total`: the first time, the last, and at most ten times a second between.

        With a number of rows, it shows this and how many there are in a second.
        """
        now = time.monotonic()
        last = self.total is not None and done >= self.total
        if not self.shown or (now - self.drawn < _SECONDS_BETWEEN and not last):
            return
        self.drawn = now
        if n_rows is not None:
            seconds = max(now - self.started, 1e-3)
            note = f"{n_rows} rows, {n_rows / seconds:.3g} rows/s"
        say(f"\r{self.label} {self._bar(done, now - self.started)}  {note}\x1b[K", end="")

    def show(self, work: str, done: int, total: int | None, note: str) -> None:
        """Draw a bar of other work in place of this one, until the next `update`."""
        if self._other is None or work != self._other.label or done < self._other_done:  # or the same work anew
            self._other = Progress(work, total)
        self._other_done = done
        self._other.update(done, note=note)
        self.started = time.monotonic()  # what this bar shows begins after the other work

    def _bar(self, done: int, seconds: float) -> str:
        """How much is done and, where the total is known, how long the rest will take."""
        if self.total is None:
            return f"{seconds:4.0f} s"
        share = min(1.0, done / self.total)
        left = seconds * (1 - share) / share if share else 0.0
        return f"[{'#' * round(24 * share):<24}] {100 * share:3.0f} %  {left:4.0f} s left"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            say("\r\x1b[K", end="")
