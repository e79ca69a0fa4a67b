"""The files that `rffkern predict` writes: text, a NumPy array, or a table of Parquet or Arrow."""

import contextlib
import itertools
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._estimator.links import several_quantiles
from .._files.archive import npy_prefix
from .._native.array_types import Double, NDArray
from .binary_table import ARROW_ENDINGS, import_pyarrow, type_of_column
from .output import UsageError
from .table import Table

_QUOTED = re.compile('[,"\r\n]').search
_NPY_HEADER_BYTES = 128  # whatever the number of rows turns out to be
_GROUP_ROWS = 1 << 17  # of a Parquet file


class Wanted(NamedTuple):
    """What is written of each row, and how."""

    proba: bool  # probabilities beside predictions
    coverage: float | None  # of intervals or sets, None for none
    n_reasons: int  # columns whose contributions are written
    digits: int | None  # behind the point, None for all
    has_words: bool  # whether names of columns are words; else identifiers


def make_writer(path: str | None, model: Any, wanted: Wanted, table: Table, kept: Sequence[int]) -> "Writer":
    """The writer for a name of a file; None and all names without a known end mean text."""
    if path is not None and path.endswith(".npy"):
        return _npy_writer(model, wanted.proba)
    kept_names = [table.columns[j] if table.columns is not None else f"column {j}" for j in kept]
    blank = " " if wanted.has_words else "_"
    covering = [] if wanted.coverage is None else _covering_names(model, wanted.coverage, wanted.has_words)
    classes = [f"{label}" for label in getattr(model, "classes_", ())]
    to = f"{blank}to{blank}{classes[1]}" if len(classes) == 2 else ""  # of more, to the predicted one
    to = to if wanted.has_words else re.sub(r"\W", "_", to, flags=re.ASCII)
    reasons = [f"{what}{blank}{k}{end}" for k in range(1, wanted.n_reasons + 1)
               for what, end in (("reason", ""), ("contribution", to))]
    header = _header(model, wanted, [*covering, *reasons], kept_names)
    if path is None or not path.endswith(ARROW_ENDINGS):
        return CsvWriter(header, path is not None and path.endswith(".gz"))
    pyarrow = import_pyarrow()
    predicted = getattr(model, "classes_", np.empty(0)).dtype
    n_proba = len(model.classes_) if wanted.proba else 0
    predicted_type = pyarrow.string() if predicted.kind in "UO" else pyarrow.from_numpy_dtype(predicted)
    covering_type = pyarrow.string() if hasattr(model, "classes_") else pyarrow.float64()
    types = [*(type_of_column(table, j) for j in kept), *[predicted_type] * _n_predicted(model),
             *[pyarrow.float64()] * n_proba, *[covering_type] * len(covering),
             *[pyarrow.string(), pyarrow.float64()] * wanted.n_reasons]
    return ArrowWriter(pyarrow.schema(zip(header, types, strict=True)), path.endswith(".parquet"))


def _n_predicted(model: Any) -> int:
    """Number of columns of predictions: one of labels, or one for each quantile or target."""
    return 1 if hasattr(model, "classes_") else len(several_quantiles(model)) or model._n_targets()


def _covering_names(model: Any, coverage: float, has_words: bool) -> list[str]:
    """Names of the columns of the ends of intervals, or of sets."""
    percent = f"{100 * coverage:g}"
    blank, percent = (" ", f"{percent} %") if has_words else ("_", percent.replace(".", "_"))
    if hasattr(model, "classes_"):
        return [f"set{blank}{percent}"]
    n_targets = model._n_targets()
    return [f"{end}{blank}{percent}" + (f"{blank}{k}" if n_targets > 1 else "")
            for k in range(n_targets) for end in ("lower", "upper")]


def _header(model: Any, wanted: Wanted, covering: list[str], kept: list[str]) -> list[str]:
    """Names of columns: those that are kept, predictions or quantiles, probabilities, intervals or sets, reasons."""
    n_predicted = _n_predicted(model)
    blank, point, before = (" ", ".", "probability of ") if wanted.has_words else ("_", "_", "probability_")
    written = [f"quantile{blank}{quantile:g}".replace(".", point) for quantile in several_quantiles(model)] or (
        ["prediction"] if n_predicted == 1 else [f"prediction{blank}{k}" for k in range(n_predicted)])
    if wanted.proba:
        labels = [f"{label}" for label in model.classes_]
        if not wanted.has_words:
            labels = _distinct([re.sub(r"\W", "_", label, flags=re.ASCII) for label in labels])
        written += [before + label for label in labels]
    written += covering
    twice = next((name for name in kept if [*kept, *written].count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--keep: the output would have two columns named {twice!r}")
    return [*kept, *written]


def _distinct(names: list[str]) -> list[str]:
    """The names, those that have been before with a number behind."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{k}" for k in range(2, len(names) + 2))
        found.append(name if name not in found else next(other for other in numbered if other not in found + names))
    return found


# A writer makes bytes of the predictions of a block, in any process: predictions, probabilities, columns that are kept,
# and `covering`, which are intervals or sets, and reasons.  Then it writes those of all blocks to an empty file.

class CsvWriter(NamedTuple):
    """Text under a header: a line for each row, with kept columns first, then predictions, then probabilities."""

    header: list[str]
    is_gzip: bool = False

    def rows(self, predicted: NDArray[Any], proba: Double | None, kept: Sequence[list[str]],
             covering: Sequence[NDArray[Any]] = ()) -> bytes:
        """A line for each row."""
        numbers = [*np.atleast_2d(predicted.T), *(() if proba is None else proba.T), *covering]
        columns: list[Iterable[str]] = [map(_cell, column) for column in kept]
        columns += [map(str if column.dtype.kind in "biuf" else _cell, column.tolist()) for column in numbers]
        return _lines(columns)

    def write(self, file: BinaryIO, blocks: Iterable[bytes]) -> None:
        """Write a header, and the blocks as they come."""
        texts = itertools.chain([_lines([[_cell(name)] for name in self.header])], blocks)
        gzip = zlib.compressobj(wbits=31)
        file.writelines(map(gzip.compress, texts) if self.is_gzip else texts)
        file.write(gzip.flush() if self.is_gzip else b"")


def _lines(columns: Sequence[Iterable[str]]) -> bytes:
    lines = map(",".join, zip(*columns, strict=True))
    # A line of one empty cell would be an empty line, which readers skip.
    text = "".join([f"{line}\n" for line in (lines if len(columns) > 1 else (line or '""' for line in lines))])
    return text.encode("utf-8")


def _cell(value: object) -> str:
    """A cell, quoted if its characters need it; the csv module quotes no CR before Python 3.13."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED(text) else text


def _npy_writer(model: Any, proba: bool) -> "NpyWriter":
    if not hasattr(model, "classes_"):
        n_predicted = _n_predicted(model)
        return NpyWriter(np.dtype(np.float64), (n_predicted,) if n_predicted > 1 else ())
    classes = model.classes_
    if proba:
        return NpyWriter(np.dtype(np.float64), (len(classes),))
    return NpyWriter(classes.astype(str).dtype if classes.dtype.kind == "O" else classes.dtype, ())


class NpyWriter(NamedTuple):
    """Predictions, or probabilities if these are asked for, as an array.

    The number of rows is known only at the end, so the header is written last, into the space left for it.
    """

    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]

    def rows(self, predicted: NDArray[Any], proba: Double | None, kept: Sequence[list[str]],
             covering: Sequence[NDArray[Any]] = ()) -> bytes:
        """The rows as they are in memory."""
        return np.ascontiguousarray(predicted if proba is None else proba, dtype=self.dtype).tobytes()

    def write(self, file: BinaryIO, blocks: Iterable[bytes]) -> None:
        """Leave space for the header, and write it last."""
        file.write(b"\0" * _NPY_HEADER_BYTES)
        file.writelines(blocks)
        n_rows = (file.tell() - _NPY_HEADER_BYTES) // (self.dtype.itemsize * math.prod(self.row_shape))
        file.seek(0)
        file.write(npy_prefix(self.dtype.str, (n_rows, *self.row_shape)))


class ArrowWriter(NamedTuple):
    """A table of Parquet or of Arrow's file format, with the columns of a `CsvWriter` in types of their own."""

    schema: Any
    is_parquet: bool

    def rows(self, predicted: NDArray[Any], proba: Double | None, kept: Sequence[Any],
             covering: Sequence[NDArray[Any]] = ()) -> bytes:
        """The rows as a message of Arrow."""
        pyarrow = import_pyarrow()
        numbers = [*np.atleast_2d(predicted.T), *(() if proba is None else proba.T), *covering]
        columns = [*kept, *(column.astype(str) if column.dtype.kind == "O" else np.ascontiguousarray(column)
                            for column in numbers)]
        arrays = [column if isinstance(column, pyarrow.Array) else pyarrow.array(column, each)
                  for column, each in zip(columns, self.schema.types, strict=True)]
        return pyarrow.record_batch(arrays, schema=self.schema).serialize().to_pybytes()

    def write(self, file: BinaryIO, blocks: Iterable[bytes]) -> None:
        """Write messages once they have as many rows as a group; after an exception the file is of no use."""
        pyarrow = import_pyarrow()
        if self.is_parquet:
            from pyarrow import parquet

            writer: Any = parquet.ParquetWriter(file, self.schema)
        else:
            writer = pyarrow.ipc.new_file(file, self.schema)
        group_rows, batches = _GROUP_ROWS if self.is_parquet else 0, []
        with contextlib.closing(writer):
            for data in blocks:
                if data:
                    batches.append(pyarrow.ipc.read_record_batch(pyarrow.py_buffer(data), self.schema))
                if batches and sum(batch.num_rows for batch in batches) >= group_rows:
                    writer.write_table(pyarrow.Table.from_batches(batches))
                    batches = []
            if batches:
                writer.write_table(pyarrow.Table.from_batches(batches))


Writer = CsvWriter | NpyWriter | ArrowWriter
