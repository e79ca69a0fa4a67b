"""Blocks out of files that hold numbers, not text: rows that cannot be used are found."""

import contextlib
import io
import os
import stat
import weakref
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.raw import CATEGORY, DATE, EMPTY, NUMERIC, RawColumn, has_large_integers
from .._column_map.tables import read_table
from .._rows.validation import LARGEST_VALUE, check_finite
from ..errors import InvalidInputError
from .output import UsageError
from .table import (
    BLOCK_ROWS,
    UNKNOWN,
    Block,
    Cells,
    Reading,
    Rejected,
    Table,
    Wanted,
    as_given,
    check_column_names,
    column_label,
    located,
)


def number_block(block: Block, wanted: Wanted, start: int, table: Table, unlabelled: Sequence[int] = ()) -> Block:
    """The block as float32 or float64, without rows that have no label, or a number that cannot be used.

    The first of them is an error unless they may be rejected.  `start` rows of the table stand before the block.
    """
    X = block.X if block.X.dtype in (np.float32, np.float64) else block.X.astype(np.float64)
    if not unlabelled and _is_finite(X):
        return block._replace(X=X)
    usable = np.abs(X) <= (LARGEST_VALUE if X.dtype == np.float64 else np.finfo(np.float32).max)  # false for nan
    if block.cells and any(cells.gaps for cells in block.cells):
        usable |= np.isnan(X) & np.array([cells.gaps for cells in block.cells])
    kept = usable.all(axis=1)
    kept[list(unlabelled)] = False
    rejected = []
    for i in np.flatnonzero(~kept).tolist():
        if usable[i].all():
            column, reason = wanted.target, "expected a label or target, got none"
        else:
            j = int(usable[i].argmin())
            column, reason = wanted.features[j], _reason(float(X[i, j]))
        label = "" if column is None else column_label(column, table.columns)
        rejected.append(Rejected(start + i + 1, None, label, reason, _text(X[i].tolist(), block)))
        if not wanted.reject:
            raise located(table.path, rejected[0])
    words = [[word for word, keep in zip(column, kept.tolist(), strict=True) if keep] for column in block.words]
    labels = None if block.labels is None else block.labels[kept]
    return block._replace(X=X[kept], labels=labels, words=words, rejected=rejected)


def _text(row: Sequence[float], block: Block) -> str:
    """A row as a text would have it."""
    return ",".join(block.levels[k][int(value)] if k in block.levels and value == value else str(value)
                    for k, value in enumerate(row))


def _is_finite(X: NDArray[Any]) -> bool:
    try:
        check_finite(X, "X")
    except InvalidInputError:
        return False
    return True


def _reason(value: float) -> str:
    if value != value:
        return "expected a finite number, got nan: the value is missing; fill it in, or leave out such rows " \
               "(--reject FILE)"
    return f"expected a finite number below {LARGEST_VALUE:.2g} in magnitude, got {value!r}"


class _Arrays(NamedTuple):
    X: NDArray[Any]
    y: NDArray[Any] | None = None
    columns: list[str] | None = None


class ArrayTable:
    """Rows of a .npy file, which stay in the file until they are read, or of an archive, which is read at once."""

    guessed_data = False

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.X, self.y, self.columns = _read(path)
        except (ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
            raise InvalidInputError(f"{path}: not a NumPy file of plain arrays: {error}") from error
        if self.X.ndim != 2 or self.X.dtype.kind not in "fiub":
            raise InvalidInputError(f"{path}: expected a 2-D numeric array, got dtype {self.X.dtype} of shape "
                                    f"{self.X.shape}")
        self.n_columns: int = self.X.shape[1]
        self.total: int | None = self.X.nbytes
        self.has_labels = self.y is not None

    def is_held(self, features: Sequence[int]) -> bool:
        """Whether these columns, as numbers to train on, are in memory already."""
        return not isinstance(self.X, np.memmap) and self.X.dtype in (np.float32, np.float64) \
            and self.X.flags.c_contiguous and list(features) == list(range(self.n_columns))

    def reading(self, wanted: Wanted) -> Reading:
        """All rows; labels come from column `target` or else from y, as they are, and `done` counts bytes."""
        return Reading(self._blocks(wanted), as_given)

    def _blocks(self, wanted: Wanted) -> Iterator[Block]:
        cells = [each if each.kind == EMPTY else each._replace(kind=NUMERIC) for each in wanted.cells_of_features()]
        unread = [k for k, each in enumerate(cells) if each.kind == EMPTY]
        in_order = list(wanted.features) == list(range(self.n_columns))
        for start in range(0, self.X.shape[0], BLOCK_ROWS):
            rows = self.X[start : start + BLOCK_ROWS]
            labels = rows[:, wanted.target] if wanted.target is not None \
                else self.y[start : start + BLOCK_ROWS] if self.y is not None else None
            done = self.X.itemsize * self.n_columns * min(start + BLOCK_ROWS, self.X.shape[0])
            words = [list(map(str, rows[:, j].tolist())) for j in wanted.words]
            # All columns in their order need no copy, which costs as much as scoring a model of few terms.
            X = np.ascontiguousarray(rows if in_order and not unread else rows[:, wanted.features]).view(np.ndarray)
            if unread:
                X[:, unread] = 0
            rounded = [k for k in range(X.shape[1]) if X.dtype.kind in "iu" and X.dtype.itemsize == 8
                       and has_large_integers(X[:, k])]
            block = Block(X, labels, done, words, cells=cells, rounded=rounded)
            yield number_block(block, wanted, start, self)


def _read(path: str) -> _Arrays:
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, which can be neither mapped nor read twice
        with open(path, "rb") as file:
            loaded = np.load(io.BytesIO(file.read()), allow_pickle=False)
    else:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        return _Arrays(loaded)
    with loaded:
        return _read_archive(path, loaded)


def _read_archive(path: str, archive: Any) -> _Arrays:
    if "X" not in archive.files:
        raise InvalidInputError(f"{path}: expected an array named X, got {archive.files}")
    X = archive["X"]
    y = archive["y"] if "y" in archive.files else None
    if y is not None and (y.ndim not in (1, 2) or y.shape[0] != X.shape[0]):
        raise InvalidInputError(f"{path}: expected y of shape {X.shape[:1]}, or a column for each target, "
                                f"got {y.shape}")
    if y is not None and y.shape[1:] == (1,):
        y = y[:, 0]
    columns = None
    if "feature_names" in archive.files and archive["feature_names"].shape == X.shape[1:]:
        columns = [str(name) for name in archive["feature_names"]]
        check_column_names(path, columns)
    return _Arrays(X, y, columns)


class ArrowTable:
    """Rows of a Parquet or Arrow file, which are read batch by batch; `done` and `total` count rows."""

    guessed_data = has_labels = False

    def __init__(self, path: str) -> None:
        self.path = path
        file = open(path, "rb")  # noqa: SIM115, closed with the table
        weakref.finalize(self, file.close)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidInputError(f"{path}: expected a file, which can be read in any order, got a pipe or device")
        with _naming(path):
            self._batches = _parquet(file) if path.lower().endswith(".parquet") else _ipc(file)
            self._names = self._batches.names
        self.columns: list[str] | None = self._names
        self.total: int | None = self._batches.n_rows
        self.n_columns = len(self._names)
        check_column_names(path, self._names)

    def reading(self, wanted: Wanted) -> Reading:
        """All rows; labels come from column `target`."""
        return Reading(self._blocks(wanted), as_given)

    def _blocks(self, wanted: Wanted) -> Iterator[Block]:
        cells = [self._cells(j, each) for j, each in zip(wanted.features, wanted.cells_of_features(), strict=True)]
        indices = [*wanted.features, *(() if wanted.target is None else (wanted.target,)), *wanted.words]
        names = list(dict.fromkeys(self._names[j] for j in indices))
        start = 0
        with _naming(self.path):
            for batch in self._batches.read(names):
                columns = {j: batch.column(batch.schema.get_field_index(self._names[j])) for j in set(indices)}
                if batch.num_rows:
                    yield self._block(columns, wanted, cells, start, batch.num_rows)
                start += batch.num_rows

    def _cells(self, j: int, wanted: Cells) -> Cells:
        """What a column holds by its type, as far as its cells are not to be numbers."""
        from pyarrow import types

        kind = self._batches.types[j]
        if wanted.kind in (EMPTY, NUMERIC):
            return wanted
        if types.is_boolean(kind):
            return wanted._replace(kind=NUMERIC, truth=True)
        if types.is_null(kind):
            return wanted._replace(kind=UNKNOWN)
        if wanted.kind == CATEGORY and types.is_integer(kind):  # whose digits doubles may not hold
            of_truth = wanted.levels and {*wanted.levels} <= {"False", "True"}
            return wanted._replace(kind=NUMERIC if of_truth else CATEGORY)
        if types.is_dictionary(kind) or str(kind) in ("string", "large_string", "string_view"):
            return wanted._replace(kind=CATEGORY)
        return wanted._replace(kind=DATE if types.is_timestamp(kind) or types.is_date(kind) else NUMERIC)

    def _block(self, columns: dict[int, Any], wanted: Wanted, cells: list[Cells], start: int, n_rows: int) -> Block:
        import pyarrow

        X = np.empty((n_rows, len(wanted.features)))
        levels = {}
        for k, (j, each) in enumerate(zip(wanted.features, cells, strict=True)):
            if each.kind == NUMERIC:
                X[:, k] = self._numbers(_plain(columns[j]), j, start)
            elif each.kind in (EMPTY, UNKNOWN):
                X[:, k] = 0.0 if each.kind == EMPTY else np.nan
            else:
                raw = self._raw(columns[j], j, each.kind)
                X[:, k] = raw.values
                if raw.levels:
                    levels[k] = raw.levels
        labels = None if wanted.target is None else _labels(_plain(columns[wanted.target]))
        words = [_words(_plain(columns[j])) for j in wanted.words]
        rounded = [k for k, (j, each) in enumerate(zip(wanted.features, cells, strict=True)) if each.kind == NUMERIC
                   and pyarrow.types.is_integer(_plain(columns[j]).type) and has_large_integers(X[:, k])]
        block = Block(X, labels, start + n_rows, words, cells=cells, levels=levels, rounded=rounded)
        unlabelled = []
        if wanted.target is not None and wanted.needs_labels and columns[wanted.target].null_count:
            nulls = columns[wanted.target].is_null().to_numpy(zero_copy_only=False)
            unlabelled = np.flatnonzero(nulls).tolist()
        return number_block(block, wanted, start, self, unlabelled)

    def _raw(self, column: Any, j: int, kind: str) -> RawColumn:
        """A column of words or dates."""
        marked = self._names[j : j + 1] if kind == CATEGORY else None
        raw = read_table({self._names[j]: column}, self.path, categorical=marked).columns[0]
        if raw.kind not in (kind, EMPTY):
            raise InvalidInputError(f"{self.path}: column {column_label(j, self.columns)}: expected values of kind "
                                    f"{kind}, got {raw.kind} ones")
        return raw

    def _numbers(self, column: Any, j: int, start: int) -> NDArray[np.float64]:
        """A column as numbers; nan where there is none."""
        import pyarrow

        kind = column.type
        types = pyarrow.types
        if types.is_null(kind):
            return np.full(len(column), np.nan)
        if types.is_duration(kind):
            return self._raw(column, j, NUMERIC).values
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
            word = next(filter(None, _words(column)), "")
            raise located(self.path, Rejected(start + 1, None, column_label(j, self.columns),
                                              f"expected a column of numbers, got {word[:60]!r} in one of type {kind}: "
                                              "save it as numbers", ""))
        numbers: NDArray[np.float64] = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers


class _Batches:
    """Names and types of columns, number of rows, and a function that reads columns batch by batch."""

    def __init__(self, schema: Any, n_rows: int | None, read: Any) -> None:
        self.names, self.types, self.n_rows, self.read = list(schema.names), list(schema.types), n_rows, read


def _parquet(file: BinaryIO) -> _Batches:
    _require_pyarrow()
    from pyarrow import parquet

    table = parquet.ParquetFile(file, pre_buffer=False)

    def read(names: list[str]) -> Iterator[Any]:
        yield from table.iter_batches(batch_size=BLOCK_ROWS, columns=names, use_threads=False)

    return _Batches(table.schema_arrow, table.metadata.num_rows, read)


def _ipc(file: BinaryIO) -> _Batches:
    """An Arrow file, or a stream of batches in a file."""
    _require_pyarrow()
    import pyarrow

    def opened(names: list[str] | None = None) -> tuple[Any, Iterator[Any]]:
        file.seek(0)
        if file.read(6) == b"ARROW1":
            columns = None if names is None else [schema.get_field_index(name) for name in names]
            reader = pyarrow.ipc.open_file(file, options=pyarrow.ipc.IpcReadOptions(included_fields=columns,
                                                                                   use_threads=False))
            return reader.schema, (reader.get_batch(k) for k in range(reader.num_record_batches))
        file.seek(0)
        reader = pyarrow.ipc.open_stream(file)
        return reader.schema, iter(reader)

    def read(names: list[str]) -> Iterator[Any]:
        for batch in opened(names)[1]:
            for start in range(0, batch.num_rows, BLOCK_ROWS):
                yield batch.slice(start, BLOCK_ROWS)

    schema, _ = opened()
    return _Batches(schema, None, read)


def _require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise UsageError("tables in .parquet, .feather and .arrow files need pyarrow, which is not installed: "
                         "pip install 'rffkern[arrow]'") from error


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file in what pyarrow has against it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, NotImplementedError, OSError, IndexError) as error:
        # Faults of our own, and of the system, which have numbers, stay as they are.
        if isinstance(error, InvalidInputError) or getattr(error, "errno", None) is not None:
            raise
        raise InvalidInputError(f"{path}: not a table that pyarrow can read: {' '.join(str(error).split())}") from error


def _plain(column: Any) -> Any:
    """A column whose values stand in their places."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def _words(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _labels(column: Any) -> NDArray[Any]:
    """Labels in their own type where it is a number or a truth value, else as words."""
    import pyarrow

    types, kind = pyarrow.types, column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        if column.null_count:
            column = column.cast(pyarrow.float64(), safe=False)  # nan for null
        labels: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return labels
    return np.array(_words(column), dtype=np.str_)
