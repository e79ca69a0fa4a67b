"""Which reader a table needs: by the name of its file, and by the first bytes; of folders and patterns, many files."""

import errno
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import InvalidInputError
from .binary_table import ARROW_ENDINGS, ArrayTable, ArrowTable
from .csv_table import CsvTable
from .csv_text import BINARY_MARKS
from .output import DASH, say
from .table import Block, CsvFormat, Selection, Table, column_index

# Files of text, whatever separates their columns; each may be compressed, as .csv.gz.
TEXT_ENDINGS = (".csv", ".tsv", ".txt")

# First bytes of files, and the ending that such a file should have.
_MARKS = {**BINARY_MARKS, b"\x1f\x8b": ".csv.gz"}
_FORMATS = {".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".npy": "NumPy", ".csv.gz": "gzip"}


def open_table(path: str, form: CsvFormat = CsvFormat(), names: Sequence[str] = ()) -> Table:  # noqa: B008
    """Open the table in a file, or in all files of a folder or pattern; a pipe with another name contains text.

    `names` are those of the columns of a model, if any: they decide whether the first row of a .csv has names.
    """
    return open_files(path, input_files(path), form, names)


def open_files(path: str, files: Sequence[str], form: CsvFormat, names: Sequence[str],
               only: str | None = None) -> Table:
    """Open the files that a name means; with `only`, the rows of one of them, with the columns of the first."""
    if files == [path]:
        return _open_file(path, form, names)
    formats = {ending(file) for file in files}
    if formats <= {".parquet"} or formats <= {".feather", ".arrow"}:
        return ArrowTable(path, formats == {".parquet"}, form.dates, files, only)
    if formats <= {".csv", ".csv.gz"} or formats == {".npy"}:
        return FileSequence(path, files, form, names, only)
    raise InvalidInputError(f"{path}: expected files of one format, .csv, .npy, .parquet or .arrow, got "
                            f"{', '.join(sorted(formats))}; names that begin with . or _ are ignored")


def input_files(path: str) -> list[str]:
    """The files that a name means: itself, or all in a folder and its folders, or all that match a pattern, sorted."""
    if os.path.isdir(path):
        files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        hidden = [any(part.startswith((".", "_")) for part in os.path.relpath(file, path).split(os.sep))
                  for file in files]
        files = sorted(file for file, is_hidden in zip(files, hidden, strict=True) if not is_hidden)
    elif glob.has_magic(path) and not os.path.exists(path):
        files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    else:
        return [path]
    if not files:
        text = "no file in the folder" if os.path.isdir(path) else "no file matches"
        raise FileNotFoundError(errno.ENOENT, text, path)
    return files


def ending(path: str) -> str:
    """The end of a name that says the format, in lower case; ".csv" of all text."""
    lower = path.lower()
    base, last = os.path.splitext(lower)
    if last in TEXT_ENDINGS:
        return ".csv"
    return ".csv.gz" if last == ".gz" and base.endswith(TEXT_ENDINGS) else last


def _open_file(path: str, form: CsvFormat, names: Sequence[str]) -> Table:
    format_of_name = ending(path)
    stream = path == DASH or path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
    found = None if stream or not os.path.exists(path) else _format_of_content(path)
    if found is not None and _FORMATS[found] != _FORMATS.get(format_of_name) and format_of_name != ".npz":
        say(f"{path}: the name ends in {format_of_name or 'no format'}, but the file contains "
            f"{_FORMATS[found]}; it is read as {found}")
        format_of_name = found
    if format_of_name in (".npy", ".npz"):
        return ArrayTable(path)
    if format_of_name in ARROW_ENDINGS:
        return ArrowTable(path, format_of_name == ".parquet", form.dates)
    if stream or format_of_name in (".csv", ".csv.gz"):
        return CsvTable(path, form, names)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, "no such file or folder", path)
    raise InvalidInputError(f"{path}: the name must end in .csv, .tsv, .txt, .csv.gz, .npy, .npz, .parquet, .feather "
                            "or .arrow, or be - for standard input, a folder, or a pattern such as 'part-*.csv'; save "
                            "tables of other programs, such as .xlsx, as .csv")


def _format_of_content(path: str) -> str | None:
    """The ending that a file should have by its first bytes; None where they do not say."""
    with open(path, "rb") as file:
        start = file.read(8)
    return next((ending for mark, ending in _MARKS.items() if start.startswith(mark)), None)


class FileSequence:
    """Rows of several files with the same columns, one file after the other; `total` counts as those of the files do.

    Files are opened when their rows are read.  The names of columns are those of the first; others may have them in
    another order.
    """

    has_labels = False

    def __init__(self, path: str, files: Sequence[str], form: CsvFormat, names: Sequence[str],
                 only: str | None = None) -> None:
        self.path, self._files = (path, files) if only is None else (only, [only])
        self._first = _open_file(next((file for file in files if not is_empty(file)), files[0]), form, names)
        self.first_file = self._first.path
        self.columns, self.n_columns = self._first.columns, self._first.n_columns
        self.header_guessed = self._first.header_guessed
        self.delimiter: str | None = getattr(self._first, "delimiter", None)
        self._form = _form_of(self._first, form)
        self.total: int | None = sum(map(os.path.getsize, self._files))

    def read(self, selection: Selection) -> tuple[Iterator[Any], Callable[[Any], Block]]:
        """All rows; labels are those of the files, and kinds that are inferred in one hold for the next."""
        return self._raw_blocks(selection, list(selection.types)), _parse

    def _raw_blocks(self, selection: Selection, types: list[Any]) -> Iterator[Any]:
        """Raw blocks with the function that parses them, the bytes of all files before, and the types so far."""
        before = 0
        for file in self._files:
            if is_empty(file):
                continue
            table = self._first if file == self._first.path else _open_file(file, self._form, ())
            raw_blocks, parse = table.read(self._matching(selection, table)._replace(types=tuple(types)))
            for raw in raw_blocks:
                yield parse, raw, before, types
            before += os.path.getsize(file)

    def _matching(self, selection: Selection, table: Table) -> Selection:
        """The same columns of one of the files."""
        _check_columns(table, self._first)
        if self.columns is None or table.columns == self.columns:
            return selection
        names = self.columns
        features, kept = ([column_index(table, names[j]) for j in each] for each in (selection.features,
                                                                                     selection.kept))
        target = None if selection.target is None else column_index(table, names[selection.target])
        return selection._replace(features=features, kept=kept, target=target)


def same_columns(files: Sequence[str], form: CsvFormat) -> tuple[Table, list[list[str] | None]]:
    """The table in the first of many .csv files, and the names in the header of each, which may have another order."""
    first = _open_file(files[0], form, ())
    headers, form = [first.columns], _form_of(first, form)
    for file in files[1:]:
        table = _open_file(file, form, ())
        _check_columns(table, first)
        for name in first.columns or ():
            column_index(table, name)
        headers.append(table.columns)
    return first, headers


def is_empty(file: str) -> bool:
    """Whether it is a .csv without even a header, as programs write parts without rows."""
    return ending(file) != ".npy" and not os.path.getsize(file)


def _form_of(first: Table, form: CsvFormat) -> CsvFormat:
    """The form of the files that are read with a first one."""
    return form._replace(header="no" if first.columns is None else "yes", delimiter=getattr(first, "delimiter", None))


def _check_columns(table: Table, first: Table) -> None:
    """Refuse a file with more or fewer columns than the first one."""
    if table.n_columns != first.n_columns or (table.columns is None) != (first.columns is None):
        lacking = [name for name in first.columns or () if name not in (table.columns or ())]
        raise InvalidInputError(f"{table.path}: expected {first.n_columns} columns, as {first.path} has, got "
                                f"{table.n_columns}{f': no {lacking[0]!r}' if lacking else ''}")


def _parse(raw: Any) -> Block:
    """A block by the parser of its file; `done` counts the files before."""
    parse, block, before, types = raw
    parsed: Block = parse(block)
    if types:
        types[:] = parsed.types
    return parsed._replace(done=before + parsed.done)
