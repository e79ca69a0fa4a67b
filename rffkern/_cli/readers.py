"""Rows and labels from .csv, .npy and .npz files, a block at a time, and predictions into .csv and .npy files."""

import csv
import io
import itertools
import os
import zipfile

import numpy as np

from .._data.validation import check_finite
from ..errors import InvalidInputError

BLOCK_ROWS = 8192

_NPY_HEADER = 128


class NamedRows:
    """An array with column names, as `fit` and `predict` accept data frames."""

    def __init__(self, array, columns):
        self.array, self.columns = array, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def open_table(path, *, header="auto", delimiter=","):
    """Open the table in a file; what kind it is follows from the ending of its name."""
    kind = os.path.splitext(path)[1].lower()
    if kind == ".csv":
        return CsvTable(path, header, delimiter)
    if kind in (".npy", ".npz"):
        return ArrayTable(path)
    raise InvalidInputError(f"{path}: the name must end in .csv, .npy or .npz")


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_header(first, second=()):
    """Whether the first row of a table names columns: no cell is a number, or one is not where the next row has one."""
    return not any(map(_is_number, first)) or any(_is_number(below) and not _is_number(cell)
                                                  for cell, below in zip(first, second, strict=False))


def _check_names(path, columns):
    if columns is not None and len(set(columns)) < len(columns):
        raise InvalidInputError(f"{path}: column names must be distinct, got {columns}")


class CsvTable:
    """Rows of a text file; `columns` are its header, or None."""

    def __init__(self, path, header, delimiter):
        self.path, self.delimiter = path, delimiter
        self.total = os.path.getsize(path)
        with open(path, encoding="utf-8-sig", newline=None) as file:
            rows = self._cells(list(itertools.islice(self._lines(file), 2)))
        if not rows:
            raise InvalidInputError(f"{path}: the file holds no rows")
        self.has_header = header == "yes" or (header == "auto" and _is_header(*rows[:2]))
        self.columns = rows[0] if self.has_header else None
        self.n_columns = len(rows[0])
        self.guessed_data = header == "auto" and not self.has_header
        _check_names(path, self.columns)

    def blocks(self, features, target=None):
        """Yield (X, label words or None, bytes read so far) for successive blocks of rows."""
        with open(self.path, encoding="utf-8-sig", newline=None) as file:
            lines = self._lines(file)
            if self.has_header:
                next(lines)
            done = 0
            while block := list(itertools.islice(lines, BLOCK_ROWS)):
                done += sum(len(line) for _, line in block)
                yield *self._parse(block, features, target), done

    def _lines(self, file):
        """Numbered lines that hold anything."""
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{self.path}: not a text file in UTF-8: {error}") from error

    def _cells(self, block):
        """Cells of numbered lines; quotes are those of RFC 4180."""
        try:
            return [[cell.strip() for cell in cells] for cells in csv.reader(
                [line for _, line in block], delimiter=self.delimiter, skipinitialspace=True)]
        except csv.Error as error:
            first = block[0][0] if block else 1
            raise InvalidInputError(f"{self.path}: row {first} or after: {error}") from error

    def _parse(self, block, features, target):
        lines = [line for _, line in block]
        options = {"delimiter": self.delimiter, "comments": None, "quotechar": '"'}
        if all(line.count(self.delimiter) == self.n_columns - 1 for line in lines):
            # loadtxt reads numbers ten times faster than Python, but its messages do not name the line of the file.
            try:
                X = np.loadtxt(lines, usecols=features, ndmin=2, **options)
            except ValueError:
                X = np.full((1, 1), np.nan)
            if len(X) == len(block) and np.isfinite(X).all():
                return X, self._labels(block, self._cells(block), target) if target is not None else None
        return self._parse_cells(block, features, target)

    def _parse_cells(self, block, features, target):
        """The same, cell by cell: for labels that are words, and to say where the fault is."""
        cells = self._cells(block)
        if len(cells) != len(block):
            raise InvalidInputError(f"{self.path}: row {block[0][0]} or after: a quoted cell spans lines")
        X = np.empty((len(block), len(features)))
        for i, ((number, _), row) in enumerate(zip(block, cells, strict=True)):
            if len(row) != self.n_columns:
                raise InvalidInputError(f"{self.path}: row {number}: expected {self.n_columns} columns, got {len(row)}")
            for j, column in enumerate(features):
                X[i, j] = self._number(row[column], number, column)
        return X, self._labels(block, cells, target) if target is not None else None

    def _labels(self, block, cells, target):
        for (number, _), row in zip(block, cells, strict=True):
            if not row[target]:
                raise InvalidInputError(f"{self.path}: row {number}, column {self._name(target)}: expected a label or "
                                        "target, got an empty cell")
        return np.array([row[target] for row in cells])

    def _name(self, column):
        return f"{column + 1} ({self.columns[column]})" if self.columns else str(column + 1)

    def _number(self, text, number, column):
        value = float(text) if _is_number(text) else np.nan
        if not np.isfinite(value):
            raise InvalidInputError(f"{self.path}: row {number}, column {self._name(column)}: "
                                    f"expected a finite number, got {text!r}")
        return value


class ArrayTable:
    """Rows of a .npy file, mapped rather than read, or of X (and y) in a .npz archive."""

    columns = None
    guessed_data = False

    def __init__(self, path):
        self.path, self.y = path, None
        try:
            loaded = np.load(path, mmap_mode="r", allow_pickle=False)
            if isinstance(loaded, np.lib.npyio.NpzFile):
                with loaded:
                    self._take_archive(loaded)
            else:
                self.X = loaded
        except (ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
            raise InvalidInputError(f"{path}: not a NumPy file of plain arrays: {error}") from error
        if self.X.ndim != 2 or self.X.dtype.kind not in "fiub":
            raise InvalidInputError(f"{path}: expected a 2-D numeric array, got dtype {self.X.dtype} of shape "
                                    f"{self.X.shape}")
        self.n_columns = self.X.shape[1]
        self.total = self.X.nbytes

    def _take_archive(self, archive):
        if "X" not in archive.files:
            raise InvalidInputError(f"{self.path}: expected an array named X, got {archive.files}")
        self.X = archive["X"]
        self.y = archive["y"] if "y" in archive.files else None
        if self.y is not None and (self.y.ndim not in (1, 2) or self.y.shape[0] != self.X.shape[0]):
            raise InvalidInputError(f"{self.path}: expected y of shape {self.X.shape[:1]}, or a column for each "
                                    f"target, got {self.y.shape}")
        if self.y is not None and self.y.shape[1:] == (1,):
            self.y = self.y[:, 0]
        if "feature_names" in archive.files and archive["feature_names"].shape == self.X.shape[1:]:
            self.columns = [str(name) for name in archive["feature_names"]]
            _check_names(self.path, self.columns)

    def blocks(self, features, target=None):
        """As `CsvTable.blocks`; labels come from column `target` or else from y, as they are."""
        for start in range(0, self.X.shape[0], BLOCK_ROWS):
            rows = self.X[start : start + BLOCK_ROWS]
            labels = rows[:, target] if target is not None else self.y[start : start + BLOCK_ROWS] \
                if self.y is not None else None
            X = np.ascontiguousarray(rows[:, features])
            X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
            try:
                check_finite(X, "X")
            except InvalidInputError as error:
                raise InvalidInputError(f"{self.path}: in the block from row {start}: {error}") from error
            yield X, labels, self.X.itemsize * self.n_columns * min(start + BLOCK_ROWS, self.X.shape[0])


def to_labels(parts):
    """Labels of all blocks as one array: words become integers or else numbers, where all are and none coincide."""
    labels = np.concatenate(parts)
    if labels.dtype.kind != "U" or labels.ndim > 1:
        return labels
    words = set(labels.tolist())
    if not all(map(_is_number, words)):
        return labels
    values = {word: float(word) for word in words}
    if len(set(values.values())) < len(words):
        return labels
    whole = all(value == round(value) and abs(value) < 2**53 for value in values.values())
    return np.array([values[word] for word in labels.tolist()]).astype(np.int64 if whole else np.float64)


def to_targets(parts, path):
    """Real targets of all blocks as one array, refusing the first that is no finite number."""
    words = np.concatenate(parts)
    targets = _as_numbers(words)
    bad = ~np.isfinite(targets.reshape(len(targets), -1)).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInputError(f"{path}: expected a finite number as the target of data row {row + 1}, "
                                f"got {words[row].tolist()!r}")
    return targets


def _as_numbers(labels):
    """Labels as numbers, nan for words that are none."""
    if labels.dtype.kind not in "US":
        return labels.astype(np.float64)
    numbers = [float(word) if _is_number(word) else np.nan for word in labels.astype(str).ravel().tolist()]
    return np.array(numbers).reshape(labels.shape)


def _check_shape(labels, predicted):
    if labels.shape[1:] != predicted.shape[1:]:
        raise InvalidInputError(f"expected {predicted.shape[1] if predicted.ndim > 1 else 1} target(s) for each row, "
                                f"got {labels.shape[1] if labels.ndim > 1 else 1}")


class Accuracy:
    """The share of labels that are those predicted, over blocks; a word that is no number never is one."""

    def __init__(self):
        self.n_rows = self.n_right = 0

    def add(self, labels, predicted):
        _check_shape(labels, predicted)
        if predicted.dtype.kind in "UOb":
            labels, predicted = labels.astype(str), predicted.astype(str)
        else:
            labels = _as_numbers(labels)
        self.n_rows += len(labels)
        self.n_right += int((labels == predicted).sum())

    def report(self):
        return f"accuracy on {self.n_rows} rows: {100 * self.n_right / self.n_rows:.2f} %"


class RSquared:
    """The share of the variance of targets that is predicted, over blocks; rows without a number are left out."""

    def __init__(self):
        self.n_rows, self.first, self.sums = 0, None, 0.0

    def add(self, labels, predicted):
        _check_shape(labels, predicted)
        targets = _as_numbers(labels).reshape(len(labels), -1)
        predicted = predicted.reshape(targets.shape)
        known = np.isfinite(targets).all(axis=1)
        targets, predicted = targets[known], predicted[known]
        if not len(targets):
            return
        if self.first is None:
            self.first, self.unit = targets[0], np.maximum(np.abs(targets).max(axis=0), 1e-300)
        shifted = (targets - self.first) / self.unit  # so that large means cost no digits and squares do not overflow
        missed = (targets - predicted) / self.unit
        self.n_rows += len(targets)
        self.sums = self.sums + np.array([shifted.sum(axis=0), (shifted**2).sum(axis=0), (missed**2).sum(axis=0)])

    def report(self):
        """The mean over targets; one that does not vary counts as 1 where it is predicted exactly, else as 0."""
        total, squares, missed = self.sums
        spread = squares - total**2 / self.n_rows
        shares = np.where(spread > 0, 1 - missed / np.where(spread > 0, spread, 1.0), missed == 0)
        return f"R^2 on {self.n_rows} rows: {shares.mean():.4f}"


class CsvWriter:
    """Predictions as text, one row each, under the given header."""

    def __init__(self, file, header):
        self.file, self.buffer = file, io.StringIO()
        self.writer = csv.writer(self.buffer, lineterminator="\n")
        self.writer.writerow(header)
        self._flush()

    def add(self, *columns):
        """Append rows given as columns."""
        self.writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
        self._flush()

    def _flush(self):
        self.file.write(self.buffer.getvalue().encode("utf-8"))
        self.buffer.seek(0)
        self.buffer.truncate()

    def close(self):
        """Nothing is left to write."""


class NpyWriter:
    """An array whose number of rows is known only at the end: its header is written last."""

    def __init__(self, file, dtype, row_shape):
        self.file, self.n_rows, self.dtype, self.row_shape = file, 0, dtype, row_shape
        file.write(b"\0" * _NPY_HEADER)

    def add(self, rows):
        """Append rows of an array."""
        self.n_rows += len(rows)
        self.file.write(np.ascontiguousarray(rows, dtype=self.dtype).tobytes())

    def close(self):
        """Write the header."""
        text = f"{{'descr': {np.lib.format.dtype_to_descr(self.dtype)!r}, 'fortran_order': False, " \
               f"'shape': {(self.n_rows, *self.row_shape)!r}, }}"
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + (_NPY_HEADER - 10).to_bytes(2, "little")
                        + text.ljust(_NPY_HEADER - 11).encode("ascii") + b"\n")
