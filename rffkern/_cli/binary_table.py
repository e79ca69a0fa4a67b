"""Tables in NumPy files (.npy, or X and y of a .npz) and in Arrow files (.parquet, .feather, .arrow; needs pyarrow)."""

import contextlib
import io
import os
import re
import stat
import weakref
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._column_map.cells import BOOLEANS, CATEGORY, DATE, EMPTY, NUMERIC, read_column
from .._column_map.tables import RawColumn, has_large_integers, read_table
from .._protocol.arguments import truncated
from .._rows.validation import LARGEST_VALUE, check_finite
from ..errors import InvalidInputError
from .csv_table import cell_error
from .csv_text import RecordError
from .output import RejectedRow, UsageError
from .table import (
    BLOCK_ROWS,
    SKIP,
    UNKNOWN,
    Block,
    ColumnType,
    Selection,
    Table,
    check_column_names,
    column_label,
    infer_types,
)

ARROW_ENDINGS = (".parquet", ".feather", ".arrow")


class ArrayTable:
    """Rows of a .npy file, which stay in the file until they are read, or of a .npz, which is read at once.

    `total` counts bytes.
    """

    header_guessed = False

    def __init__(self, path: str) -> None:
        self.path = path
        self.y: NDArray[Any] | None = None
        self.columns: list[str] | None = None
        try:
            if os.path.exists(path) and not os.path.isfile(path):  # a pipe can be neither mapped nor read twice
                with open(path, "rb") as file:
                    loaded = np.load(io.BytesIO(file.read()), allow_pickle=False)
            else:
                loaded = np.load(path, mmap_mode="r", allow_pickle=False)
            self.X: NDArray[Any] = self._read_archive(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
        except (ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"{path}: not a NumPy file of plain arrays: {error}") from error
        if self.X.ndim != 2 or self.X.dtype.kind not in "fiub":
            raise InvalidInputError(f"{path}: expected a 2-D numeric array, got dtype {self.X.dtype} of shape "
                                    f"{self.X.shape}")
        self.n_columns: int = self.X.shape[1]
        self.total: int | None = self.X.nbytes
        self.has_labels = self.y is not None

    def _read_archive(self, archive: Any) -> NDArray[Any]:
        """X of a .npz; y and the column names are kept."""
        with archive:
            if "header" in archive.files:
                raise InvalidInputError(f"{self.path}: expected a table, got a model file: give the model where the "
                                        "command takes MODEL, and rows as DATA")
            if "X" not in archive.files:
                raise InvalidInputError(f"{self.path}: expected an array named X, got {archive.files}")
            X: NDArray[Any] = archive["X"]
            y = archive["y"] if "y" in archive.files else None
            if y is not None and (y.ndim not in (1, 2) or y.shape[0] != X.shape[0]):
                raise InvalidInputError(f"{self.path}: expected y of shape {X.shape[:1]}, or a column for each target, "
                                        f"got {y.shape}")
            self.y = y[:, 0] if y is not None and y.shape[1:] == (1,) else y
            if "feature_names" in archive.files and archive["feature_names"].shape == X.shape[1:]:
                self.columns = [str(name) for name in archive["feature_names"]]
                check_column_names(self.path, self.columns)
        return X

    def in_memory(self, features: Sequence[int]) -> bool:
        """Whether these columns are in memory already, as an array to train on."""
        return not isinstance(self.X, np.memmap) and self.X.dtype in (np.float32, np.float64) \
            and self.X.flags.c_contiguous and list(features) == list(range(self.n_columns))

    def read(self, selection: Selection) -> tuple[Iterator[Block], Callable[[Block], Block]]:
        """All rows; labels come from the column `target` or else from y, text without the blanks around it."""
        return self._blocks(selection), _unchanged

    def _blocks(self, selection: Selection) -> Iterator[Block]:
        types = [each if each.kind == EMPTY else each._replace(kind=NUMERIC) for each in selection.feature_types()]
        unread = [k for k, each in enumerate(types) if each.kind == EMPTY]
        in_order = list(selection.features) == list(range(self.n_columns))
        for start in range(0, self.X.shape[0], BLOCK_ROWS):
            rows = self.X[start : start + BLOCK_ROWS]
            labels = rows[:, selection.target] if selection.target is not None \
                else self.y[start : start + BLOCK_ROWS] if self.y is not None else None
            if labels is not None and labels.dtype.kind == "U":
                labels = np.char.strip(labels)  # as in .csv
            done = self.X.itemsize * self.n_columns * min(start + BLOCK_ROWS, self.X.shape[0])
            kept: list[Any] = [rows[:, j] for j in selection.kept]
            if selection.kept_as_text:
                kept = [list(map(str, column.tolist())) for column in kept]
            # All columns in their order are not copied, which would cost as much as scoring a model of few terms.
            X = np.ascontiguousarray(rows if in_order and not unread else rows[:, selection.features]).view(np.ndarray)
            if unread:
                X[:, unread] = 0
            rounded = [k for k in range(X.shape[1]) if X.dtype.kind in "iu" and X.dtype.itemsize == 8
                       and has_large_integers(X[:, k])]
            yield _checked(Block(X, labels, done, kept, types=types, rounded=rounded), selection, start, self)


def check_has_columns(file: str, found: Container[str], names: Iterable[str], first: str) -> None:
    """Refuse a file that lacks a column of the first of its folder, where pyarrow has missing values."""
    for name in names:
        if name not in found:
            raise InvalidInputError(f"{file}: expected the column {name!r}, which {first} has: write it, empty where "
                                    "nothing is known, or leave the file out")


class ArrowTable:
    """Rows of a Parquet or Arrow file, or of several, which are read batch by batch; `total` counts rows.

    Of several files in folders such as `year=2024`, year is a column, as in the data sets of pyarrow.
    """

    header_guessed = has_labels = False

    def __init__(self, path: str, is_parquet: bool, dates: str | None, files: Sequence[str] = (),
                 only: str | None = None) -> None:
        self.path, self._is_parquet, self._dates = only or path, is_parquet, dates
        pyarrow = import_pyarrow()
        self._types = pyarrow.types
        self._double = pyarrow.float64()
        self.total: int | None = None
        with _pyarrow_errors(path):
            schema = self._open_files(files, only) if files else self._open_file(pyarrow)
            check_column_names(path, schema.names)
            self._names = _columns_of(schema)
            self._kinds = [schema.field(name).type for name in self._names]
        self.first_file = files[0] if files else path
        self.columns: list[str] | None = self._names
        self.n_columns = len(self._names)

    def _open_file(self, pyarrow: Any) -> Any:
        """The schema of a file; `_batches` reads it."""
        file = open(self.path, "rb")  # noqa: SIM115, closed with the table
        weakref.finalize(self, file.close)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidInputError(f"{self.path}: expected a file, which can be read in any order, got a pipe or "
                                    "device")
        if self._is_parquet:
            from pyarrow import parquet

            table = parquet.ParquetFile(file, pre_buffer=False)
            self.total = table.metadata.num_rows
            self._batches: Callable[[list[str]], Iterator[Any]] = lambda names: table.iter_batches(
                batch_size=BLOCK_ROWS, columns=names, use_threads=False)
            return table.schema_arrow
        self._batches = lambda names: (batch.slice(start, BLOCK_ROWS)
                                       for batch in _read_ipc(pyarrow, file, names)[1]
                                       for start in range(0, batch.num_rows, BLOCK_ROWS))
        return _read_ipc(pyarrow, file)[0]

    def _open_files(self, files: Sequence[str], only: str | None) -> Any:
        """The schema of several files, that of the first and of the folders; `_batches` reads one after the other."""
        from pyarrow import dataset

        wanted = list(files) if only is None else list(dict.fromkeys((files[0], only)))
        rows = dataset.dataset(wanted, format="parquet" if self._is_parquet else "ipc",
                               partitioning=dataset.partitioning(flavor="hive"))
        fragments = list(rows.get_fragments())[0 if only is None else -1 :]

        def batches(names: list[str]) -> Iterator[Any]:
            for fragment in fragments:
                with _pyarrow_errors(fragment.path):
                    of_folders = dataset.get_partition_keys(fragment.partition_expression)
                    check_has_columns(fragment.path, {*fragment.physical_schema.names, *of_folders}, names, files[0])
                    yield from fragment.to_batches(schema=rows.schema, columns=names, batch_size=BLOCK_ROWS,
                                                   batch_readahead=1, fragment_readahead=1, use_threads=False)

        self.total, self._batches = sum(fragment.count_rows() for fragment in fragments), batches
        return rows.schema

    def type_of(self, j: int) -> Any:
        """The Arrow type of a column, of a dictionary that of its values."""
        kind = self._kinds[j]
        return kind.value_type if self._types.is_dictionary(kind) else kind

    def read(self, selection: Selection) -> tuple[Iterator[Block], Callable[[Block], Block]]:
        """All rows; labels come from the column `target`."""
        return self._blocks(selection), _unchanged

    def _blocks(self, selection: Selection) -> Iterator[Block]:
        types = [self._type(j, each) for j, each in zip(selection.features, selection.feature_types(), strict=True)]
        target = () if selection.target is None else (selection.target,)
        indices = {*selection.features, *target, *selection.kept}
        names = [name for j, name in enumerate(self._names) if j in indices]
        start = 0
        with _pyarrow_errors(self.path):
            for batch in self._batches(names):
                columns = {j: batch.column(batch.schema.get_field_index(self._names[j])) for j in indices}
                if batch.num_rows:
                    yield self._block(columns, selection, types, start, batch.num_rows)
                start += batch.num_rows

    def _type(self, j: int, wanted: ColumnType) -> ColumnType:
        """The type of a column by its Arrow type, unless its cells must be numbers."""
        types, kind = self._types, self._kinds[j]
        if wanted.is_target and not self._is_text(j):
            return wanted._replace(kind=NUMERIC)
        if wanted.kind == EMPTY or (wanted.kind == NUMERIC and not (self._is_text(j) and wanted.nullable)):
            return wanted
        if self._is_text(j):
            return wanted  # or inferred from the cells
        if types.is_boolean(kind):
            return wanted._replace(kind=NUMERIC, boolean=True)
        if types.is_null(kind):
            return wanted._replace(kind=UNKNOWN)
        if wanted.kind == CATEGORY and types.is_integer(kind):  # float64 may not represent all of its digits
            booleans = wanted.levels and {*wanted.levels} <= {*BOOLEANS}
            return wanted._replace(kind=NUMERIC if booleans else CATEGORY)
        if types.is_dictionary(kind):
            return wanted._replace(kind=CATEGORY)
        return wanted._replace(kind=DATE if types.is_timestamp(kind) or types.is_date(kind) else NUMERIC)

    def _is_text(self, j: int) -> bool:
        return str(self._kinds[j]) in ("string", "large_string", "string_view")

    def _block(self, columns: dict[int, Any], selection: Selection, types: list[ColumnType], start: int,
               n_rows: int) -> Block:
        features = selection.features
        cells = {k: _texts(columns[j]) for k, j in enumerate(features) if types[k].kind == UNKNOWN and self._is_text(j)}
        infer_types(types, cells, features, self.columns, self.path, self._dates)
        X = np.empty((n_rows, len(features)))
        levels, rounded = {}, []
        bad: dict[int, RecordError] = {}
        for k, (j, each) in enumerate(zip(features, types, strict=True)):
            if self._is_text(j) and (each.nullable or each.inferred or each.is_target) \
                    and each.kind in (NUMERIC, DATE):
                X[:, k] = _read_text(columns[j], j, each, bad)
            elif each.kind == NUMERIC:
                column = _decoded(columns[j])
                X[:, k] = self._numbers(column, j, start)
                if self._types.is_integer(column.type) and has_large_integers(X[:, k]):
                    rounded.append(k)
            elif each.kind in (EMPTY, UNKNOWN):
                X[:, k] = 0.0 if each.kind == EMPTY else np.nan
            else:
                raw = self._raw_column(columns[j], j, each.kind)
                X[:, k] = raw.values
                if raw.levels:
                    levels[k] = raw.levels
        target = None if selection.target is None else columns[selection.target]
        labels = None if target is None else self._labels(_decoded(target))
        kept = [_decoded(columns[j]) for j in selection.kept]
        if selection.kept_as_text:
            kept = [*map(_texts, kept)]
        if target is not None and labels is not None and selection.needs_labels:
            missing = labels == "" if labels.dtype.kind == "U" else target.is_null().to_numpy(zero_copy_only=False)
            bad |= dict.fromkeys(np.flatnonzero(missing).tolist(), (
                selection.target, f"expected a label or target, got none: fill it in, or {SKIP}"))
        block = Block(X, labels, start + n_rows, kept, types=types, levels=levels, rounded=rounded)
        return _checked(block, selection, start, self, bad)

    def _numbers(self, column: Any, j: int, start: int) -> NDArray[np.float64]:
        """A column as numbers; nan where it is null."""
        types, kind = self._types, column.type
        if types.is_null(kind):
            return np.full(len(column), np.nan)
        if types.is_duration(kind) or types.is_time(kind):
            return self._raw_column(column, j, NUMERIC).values
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
            text = truncated(next(filter(None, _texts(column)), ""), 60)
            reason = f"expected a column of numbers, got {text!r} in one of type {kind}: save it as numbers, or " \
                     "train without it (fit --drop)"
            raise RejectedRow(start + 1, None, column_label(j, self.columns), reason, "").error(self.path)
        return column.cast(self._double, safe=False).to_numpy(zero_copy_only=False)

    def _raw_column(self, column: Any, j: int, kind: str) -> RawColumn:
        """A column of categories or dates."""
        categorical = [self._names[j]] if kind == CATEGORY else None
        raw = read_table({self._names[j]: column}, self.path, categorical=categorical).columns[0]
        if raw.kind not in (kind, EMPTY):
            raise InvalidInputError(f"{self.path}: column {column_label(j, self.columns)}: expected values of kind "
                                    f"{kind!r}, got {raw.kind!r}")
        return raw

    def _labels(self, column: Any) -> NDArray[Any]:
        """Labels in their own type if they are numbers or booleans, else as text."""
        types, kind = self._types, column.type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            if column.null_count:
                column = column.cast(self._double, safe=False)  # nan for null
            return column.to_numpy(zero_copy_only=False)
        return np.array([*map(str.strip, _texts(column))], dtype=np.str_)  # as in .csv


def import_pyarrow() -> Any:
    """The module pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise UsageError("tables in .parquet, .feather and .arrow files need pyarrow, which is not installed: "
                         "pip install 'rffkern[arrow]'") from error
    return pyarrow


def type_of_column(table: Table, j: int) -> Any:
    """The Arrow type in which a column of a table is kept: text where the file has no types."""
    if isinstance(table, ArrowTable):
        return table.type_of(j)
    pyarrow = import_pyarrow()
    return pyarrow.from_numpy_dtype(table.X.dtype) if isinstance(table, ArrayTable) else pyarrow.string()


def _unchanged(block: Block) -> Block:
    """The parser of tables whose rows need no parsing."""
    return block


def _read_ipc(pyarrow: Any, file: BinaryIO, names: list[str] | None = None) -> tuple[Any, Iterator[Any]]:
    """Schema and batches of an Arrow file, or of a stream in a file."""
    file.seek(0)
    magic = file.read(6)
    file.seek(0)
    if magic != b"ARROW1":
        stream = pyarrow.ipc.open_stream(file)
        return stream.schema, iter(stream)
    columns = None
    if names is not None:
        schema = pyarrow.ipc.open_file(file).schema
        columns = [schema.get_field_index(name) for name in names]
    reader = pyarrow.ipc.open_file(file, options=pyarrow.ipc.IpcReadOptions(included_fields=columns,
                                                                           use_threads=False))
    return reader.schema, (reader.get_batch(k) for k in range(reader.num_record_batches))


# What pandas calls an index without a name.
_NO_COLUMN = re.compile("__index_level_[0-9]+__")


def _columns_of(schema: Any) -> list[str]:
    """The names of the columns in the order of the data frame, of which pandas writes the index last.

    An index without a name, as rows have that were selected or shuffled, is no column; others come first, as in .csv.
    """
    of_index = [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)]
    first = [name for name in schema.names if name in of_index]
    return [name for name in [*first, *(name for name in schema.names if name not in first)]
            if not _NO_COLUMN.fullmatch(name)]


@contextlib.contextmanager
def _pyarrow_errors(path: str) -> Iterator[None]:
    """Add the name of the file to the errors of pyarrow."""
    try:
        yield
    except (ValueError, KeyError, TypeError, NotImplementedError, OSError, IndexError) as error:
        # Errors of our own, and of the system, which have numbers, stay as they are.
        if isinstance(error, InvalidInputError) or getattr(error, "errno", None) is not None:
            raise
        raise InvalidInputError(f"{path}: not a table that pyarrow can read: {' '.join(str(error).split())}") from error


def _decoded(column: Any) -> Any:
    """A column whose values are not indices into a dictionary."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def _texts(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _read_text(column: Any, j: int, each: ColumnType, bad: dict[int, RecordError]) -> NDArray[np.float64]:
    """Numbers or dates of a column of text; the rows of cells that are neither are added to `bad`."""
    values, odd = read_column(cells := _texts(column), each.reading)
    reasons = {cell: (j, cell_error(cell, each, ".", "") or "") for cell in odd}
    for row, cell in enumerate(cells if odd else ()):
        if cell.strip() in reasons:
            bad.setdefault(row, reasons[cell.strip()])
    return values


def _checked(block: Block, selection: Selection, start: int, table: Table, bad: Mapping[int, RecordError] = {}
             ) -> Block:
    """The block as float32 or float64, without rows that are bad, or have a number that cannot be used.

    The first of them is an error unless they may be rejected.  `start` rows of the table precede the block.
    """
    X = block.X if block.X.dtype in (np.float32, np.float64) else block.X.astype(np.float64)
    if not bad:
        with contextlib.suppress(InvalidInputError):
            check_finite(X, "X")
            return block._replace(X=X)
    usable = np.abs(X) <= (LARGEST_VALUE if X.dtype == np.float64 else np.finfo(np.float32).max)  # false for nan
    if any(each.nullable for each in block.types):
        usable |= np.isnan(X) & np.array([each.nullable for each in block.types])
    complete = usable.all(axis=1)
    complete[list(bad)] = False
    rejected = []
    for i in np.flatnonzero(~complete).tolist():
        if i in bad:
            column, reason = bad[i]
        else:
            j = int(usable[i].argmin())
            value = float(X[i, j])
            column = selection.features[j]
            reason = f"expected a finite number below {LARGEST_VALUE:.2g} in magnitude, got {value!r}" \
                if value == value else f"expected a finite number, got nan: the value is missing; fill it in, or {SKIP}"
        label = "" if column is None else column_label(column, table.columns)
        text = ",".join(block.levels[k][int(value)] if k in block.levels and value == value else str(value)
                        for k, value in enumerate(X[i].tolist()))
        rejected.append(RejectedRow(start + i + 1, None, label, reason, text))
        if not selection.reject:
            raise rejected[0].error(table.path)
    kept = [[text for text, keep in zip(column, complete.tolist(), strict=True) if keep] if isinstance(column, list)
            else column[complete] if isinstance(column, np.ndarray) else column.filter(complete)
            for column in block.kept]
    labels = None if block.labels is None else block.labels[complete]
    return block._replace(X=X[complete], labels=labels, kept=kept, rejected=rejected)
