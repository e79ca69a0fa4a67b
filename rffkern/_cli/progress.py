"""A progress bar on stderr."""

import math
import sys
import time
from typing import Self

_SECONDS_BETWEEN = 0.1


class Progress:
    """A bar where stderr is a terminal, nothing elsewhere; leaving its `with` block removes it."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total = label, max(1, total)
        self.shown = sys.stderr.isatty()
        self.started, self.drawn = time.monotonic(), -math.inf

    def update(self, done: int, note: str = "") -> None:
        """Draw the bar at `done` of `total`: the first time, the last, and between them at most ten times a second."""
        now = time.monotonic()
        if not self.shown or (now - self.drawn < _SECONDS_BETWEEN and done < self.total):
            return
        self.drawn = now
        share = min(1.0, done / self.total)
        left = (now - self.started) * (1 - share) / share if share else 0.0
        bar = "#" * round(24 * share)
        print(f"\r{self.label} [{bar:<24}] {100 * share:3.0f} %  {left:4.0f} s left  {note}\x1b[K", end="",
              file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
