"""The file of rows that cannot be used."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from .._files.atomic_file import atomic_write
from .streams import printable, say
from .table import Rejected

_HEADER = ["row", "line", "column", "reason", "text"]


class Rejects:
    """Writes rejected rows as a table, and counts them."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file
        self.n_rows = 0
        self._write([_HEADER])

    def add(self, rejected: Sequence[Rejected]) -> None:
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
