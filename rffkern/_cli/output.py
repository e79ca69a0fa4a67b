"""What a command writes beside its result: messages and a progress bar on stderr, and rejected rows in a file."""

import contextlib
import csv
import io
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, Self, TextIO

from .._files.atomic_file import atomic_write, check_writable
from ..errors import InvalidInputError

DASH = "-"  # standard input as the name of a table, and standard output as that of an output

EXIT_CODES = {  # what each means, and what to do; docs/messages.md has the same
    0: ("success; rows may have been rejected where --reject was given", ""),
    2: ("wrong usage: an option, or a name that cannot be; a .parquet, .feather or .arrow file without pyarrow",
        "The message names the option and what it takes; rffkern COMMAND --help lists all."),
    3: ("shift above --max-shift; the predictions are written",
        "Look at the columns that the message names, or at the figures of --check FILE; train again on newer rows."),
    4: ("no match: an exported file, or its scores, are not those of the receipt",
        "Give the file, the model and the rows that the receipt was written for, or export again with --verify."),
    5: ("nothing to verify with: no program that runs the exported file is installed",
        "Install one of the programs that the message names, and run the command again."),
    65: ("invalid data: a table or a model file",
         "Correct the row and column that the message names, or skip such rows with --reject FILE. A model file that "
         "is damaged must be copied or trained again."),
    66: ("input not found",
         "Look at the name and the folder that the command runs in; a pattern must match a file."),
    74: ("input or output error, too little memory, or a process of --jobs was killed",
         "Look at the permissions of the folder, the space on the disk, and the memory, of which fewer --jobs take "
         "less; then run the command again."),
    130: ("interrupted by Ctrl-C",
          "Run the command again; a fit with --checkpoint FILE goes on where it was."),
    143: ("ended by SIGTERM", ""),
}

_SECONDS_BETWEEN = 0.1
_REJECTED_HEADER = ["row", "line", "column", "reason", "text"]


class JsonLog(io.TextIOBase):
    """A stream of messages in which each line is a JSON object: {"message": line}, or what `add` is called with."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._started = stream, ""

    def write(self, text: str) -> int:
        """Write the lines that end in a text, each as an object."""
        *lines, self._started = (self._started + text).split("\n")
        for line in lines:
            self.add(message=line)
        return len(text)

    def add(self, **fields: object) -> None:
        """Write an object."""
        self._stream.write(json.dumps(fields) + "\n")
        self._stream.flush()

    def flush(self) -> None:
        """Hand on what is written; a line that has not ended waits."""
        self._stream.flush()

    def fileno(self) -> int:
        """That of the stream."""
        return self._stream.fileno()


class Finding(Exception):
    """What a command that has done its work found, and tells by its exit code too."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class UsageError(Exception):
    """Arguments that contradict each other or the files they name; reported as argparse reports its own errors."""


def given_once(option: str, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """What an option that may be repeated gives by name; a name with two values is refused."""
    found: dict[Any, Any] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise UsageError(f"{option} gives {name!r} two values: leave out one")
    return found


def pointer(code: int) -> str:
    """What the last line of an error ends with."""
    return f"[rffkern help E{code}]"


def say(text: str) -> None:
    """Write a line to stderr, whose control characters are escaped."""
    _write(f"{printable(text)}\n")


def _write(text: str) -> None:
    """Write to stderr.  That it is closed or broken is no reason to fail."""
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send what is still written to a stream to the null device, also what the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(text: str) -> str:
    """Escape the control characters of a text from a file, so that it cannot steer a terminal."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
                   for character in text)


def check_outputs(paths: Mapping[str, str | None], *inputs: str | None) -> None:
    """Refuse, before any work, outputs that are inputs, or in a folder of these, or one file, or cannot be written.

    `paths` has them by what the help of the command calls them.
    """
    files = [name for name in inputs if name not in (None, DASH) and os.path.exists(name)]
    option_of: dict[str, str] = {}
    for option, path in paths.items():
        if path is None or path == DASH:
            continue
        for name in files:
            if os.path.isdir(name) and os.path.realpath(path).startswith(os.path.join(os.path.realpath(name), "")):
                raise UsageError(f"the output must not be in a folder that is read, got {path!r} in {name!r}")
        if os.path.isfile(path) and any(os.path.samefile(path, name) for name in files):
            raise UsageError(f"the output must not be an input, got {path!r} for both")
        other = option_of.setdefault(os.path.realpath(path), option)
        if other != option:
            raise UsageError(f"{other} and {option} must be two files, got {path!r} for both")
        check_writable(path)


def output_path(name: str) -> str:
    """The path of an output."""
    return "/dev/stdout" if name == DASH else name


class Progress:
    """A progress bar if stderr is a terminal, else nothing; it is removed when its `with` block ends."""

    def __init__(self, label: str, total: int | None) -> None:
        self.label, self.total = label, None if total is None else max(1, total)
        self.shown = sys.stderr.isatty()
        self.started, self.drawn = time.monotonic(), -math.inf
        self._other: Progress | None = None
        self._other_done = 0

    def update(self, done: int, n_rows: int | None = None, note: str = "") -> None:
        """Draw the bar at `done` of `total`: first and last, and at most ten times a second in between.

        With `n_rows`, the number of rows and the rows per second are shown in place of a note.
        """
        now = time.monotonic()
        last = self.total is not None and done >= self.total
        if not self.shown or (now - self.drawn < _SECONDS_BETWEEN and not last):
            return
        self.drawn = now
        seconds = now - self.started
        if n_rows is not None:
            note = f"{n_rows} rows, {n_rows / max(seconds, 1e-3):.3g} rows/s"
        if self.total is None:
            bar = f"{seconds:4.0f} s"
        else:
            share = min(1.0, done / self.total)
            left = seconds * (1 - share) / share if share else 0.0
            bar = f"[{'#' * round(24 * share):<24}] {100 * share:3.0f} %  {left:4.0f} s left"
        _write(f"\r{self.label} {bar}  {note}\x1b[K")

    def show(self, work: str, done: int, total: int | None, note: str) -> None:
        """Draw the bar of another task in place of this one, until the next `update`."""
        if self._other is None or work != self._other.label or done < self._other_done:  # or the same task again
            self._other = Progress(work, total)
        self._other_done = done
        self._other.update(done, note=note)
        self.started = time.monotonic()  # the time of the other task is not counted here

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            _write("\r\x1b[K")


class RejectedRow(NamedTuple):
    """A row that cannot be used."""

    row: int  # number of the data row, from 1
    line: int | None  # number of the line in the file, from 1, if the file has lines
    column: str  # its index and name, or empty if the whole row is wrong
    reason: str
    text: str  # the row as it is in the file

    def error(self, path: str) -> InvalidInputError:
        """The error to raise if rows may not be rejected."""
        line = "" if self.line is None else f" (line {self.line})"
        column = f", column {self.column}" if self.column else ""
        return InvalidInputError(f"{path}: data row {self.row}{line}{column}: {self.reason}")


class RejectedRows:
    """The .csv file of rows that cannot be used, and their number; without a file there can be none."""

    def __init__(self, path: str | None, file: BinaryIO | None) -> None:
        self.path, self._file = path, file
        self.n_rows = 0
        self._write([_REJECTED_HEADER])

    def add(self, rejected: Sequence[RejectedRow]) -> None:
        """Append rows."""
        self.n_rows += len(rejected)
        self._write([[str(row), "" if line is None else str(line), column, reason, text]
                     for row, line, column, reason, text in rejected])

    def report(self, n_kept: int) -> None:
        """Print how many rows were rejected, if rows may be rejected."""
        if self.path is not None:
            say(f"{self.n_rows} of {self.n_rows + n_kept} rows rejected: {self.path}")

    def _write(self, rows: list[list[str]]) -> None:
        if self._file is not None and rows:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            # Bytes that could not be decoded are written as they were read.
            self._file.write(text.getvalue().encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def open_rejected(path: str | None) -> Iterator[RejectedRows]:
    """Open the file of rejected rows, which is written completely or not at all."""
    if path is None:
        yield RejectedRows(None, None)
        return
    with atomic_write(path) as file:
        yield RejectedRows(path, file)
