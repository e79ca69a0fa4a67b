"""Standard output and standard error, which may be closed, full, or a pipe that nobody reads."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Self, TextIO

from .._files.atomic_file import atomic_write, check_writable

if TYPE_CHECKING:
    from .table import Rejected


STDIN = "-"


def replace_closed_streams() -> None:
    """Make a closed stderr swallow what is written, and a closed stdout fail as a broken file does."""
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def abandon(stream: TextIO) -> None:
    """Write nothing more to a stream, not even what the interpreter would flush when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text: str, end: str = "\n") -> None:
    """Write a remark on stderr; that nobody can read it is no reason to fail."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        abandon(sys.stderr)


def printable(text: str) -> str:
    """A text from a file with its control characters escaped, so that it cannot steer a terminal."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
                   for character in text)


class UsageError(Exception):
    """The arguments of a command contradict each other or what they name; it ends as argparse's own errors do."""


def check_output(path: str, *inputs: str) -> None:
    """Refuse, before any work, an output that is an input or that cannot be written."""
    files = [given for given in inputs if given != "-" and os.path.exists(given)]
    if os.path.isfile(path) and any(os.path.samefile(path, given) for given in files):
        raise UsageError(f"the output must not be an input, got {path!r} for both")
    check_writable(path)


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


_HEADER = ["row", "line", "column", "reason", "text"]


class Rejects:
    """Writes rejected rows as a table, and counts them."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file
        self.n_rows = 0
        self._write([_HEADER])

    def add(self, rejected: Sequence["Rejected"]) -> None:
        """Append rows."""
        self.n_rows += len(rejected)
        self._write([[str(row), "" if line is None else str(line), column, reason, text]
                     for row, line, column, reason, text in rejected])

    def _write(self, rows: list[list[str]]) -> None:
        if self._file is not None and rows:
            import csv  # only here are there texts that hold anything
            import io

            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            # Bytes that were no text come out as they came in.
            self._file.write(text.getvalue().encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def opened_rejects(path: str | None) -> Iterator[Rejects]:
    """The file of rejected rows, which is complete or not written; without a path there can be none."""
    if path is None:
        yield Rejects(None)
        return
    with atomic_write(path) as file:
        yield Rejects(file)


def tell_rejected(rejects: Rejects, n_kept: int, path: str | None) -> None:
    """Say how many rows were rejected, if they might be."""
    if path is not None:
        say(f"{rejects.n_rows} of {rejects.n_rows + n_kept} rows rejected: {printable(path)}")
