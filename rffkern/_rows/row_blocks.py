"""Rows that are read block by block, for training on more than fits in memory, and large arrays in slices.

A source gives blocks of any number of rows.  Training reads blocks of a fixed number of rows, a whole number of the
strips whose sums kernels add up, so that the cuts of the source change no result.
"""

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Indices, NDArray
from ..errors import InvalidInputError, InvalidTypeError
from .sparse_rows import SparseRows, is_sparse
from .validation import check_array, check_sparse_rows, feature_names, too_few_samples

PlacedBlocks = Iterator[tuple[slice, NDArray[Any]]]  # (slice of rows, array)

# About how many numbers a block holds.
BLOCK_ELEMENTS = 1 << 20


def block_size(n_features: int) -> int:
    """Number of rows in a block."""
    return max(1, BLOCK_ELEMENTS // (max(1, n_features) * scoring.STRIP_ROWS)) * scoring.STRIP_ROWS


class RowBlocks:
    """Rows in blocks, read again in every pass over the data, so that training never holds them all.

    `fit`, `predict`, `predict_proba`, `decision_function`, `score` and `eval_set` accept it in place of X.  `fit` wraps
    a 2-D `numpy.memmap` in one.  Where the blocks are tables, their column names are kept and checked.

    Parameters
    ----------
    source : callable, iterable, array or sparse matrix
        Where the blocks come from: a function that returns a new iterator over them, an iterable that can be iterated
        several times (a list, or an object of your own with `__iter__`), or one 2-D array or memmap.  A sparse matrix
        of SciPy, or a data frame of sparse columns, is made dense block by block, about a million numbers at a time.
        Each block is an
        array of shape (n_rows, n_features), of any number of rows.  Every pass must give the same rows in the same
        order; how they are cut into blocks makes no difference.

    Raises
    ------
    InvalidInputError
        If the source can be iterated only once.  From `fit`: if a block is not a finite numeric 2-D array, if blocks
        have different numbers of columns, or if a pass gives another number of rows than the first.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import GBRFF2Classifier, RowBlocks
    >>> def read():  # say, a file of each day
    ...     for day in range(7):
    ...         yield np.random.default_rng(day).standard_normal((100, 3))
    >>> y = np.concatenate([block[:, 0] > 0 for block in read()])
    >>> float(GBRFF2Classifier(20, random_state=0).fit(RowBlocks(read), y).score(RowBlocks(read), y)) > 0.9
    True
    """

    def __init__(self, source: Any) -> None:
        if is_sparse(source):
            source = SparseRows.of(source, "source")
        elif getattr(source, "columns", None) is not None:
            source = [source]  # a table is one block
        if not callable(source) and not isinstance(source, SparseRows) and not hasattr(source, "__iter__"):
            raise InvalidTypeError("source must be a function that returns an iterator, an iterable or an array, "
                                   f"got {type(source).__name__}")
        if hasattr(source, "__next__"):
            raise InvalidInputError("source must be one that can be read more than once, got an iterator "
                                    f"({type(source).__name__}): pass a function that returns a new one")
        self._source = source
        self.shape: Any = None  # (n_samples, n_features), once a first pass has checked the rows
        self.columns: Any = None  # their names, where the blocks are tables

    def __repr__(self) -> str:
        return f"RowBlocks({type(self._source).__name__}, shape={self.shape})"

    def _check(self, name: str = "X", min_samples: int = 1) -> Self:
        """Read all rows once, refusing what `check_array` refuses, and find the shape."""
        n_samples, n_features = 0, None
        columns: Any = None
        for given, start, block in self._checked_blocks(name):
            names: Any = feature_names(given)
            if n_features is None:
                n_features, columns = block.shape[1], names
            if n_features != block.shape[1]:
                raise InvalidInputError(f"{name} must be blocks of equally many columns, got {n_features}, then "
                                        f"{block.shape[1]} in the block from row {start}")
            if not np.array_equal(columns, names):
                raise InvalidInputError(f"{name} must be blocks of the same columns, got {columns}, then {names} "
                                        f"in the block from row {start}")
            n_samples += block.shape[0]
        if n_samples < min_samples:
            raise too_few_samples(name, f"blocks with {n_samples} sample(s) in all", min_samples)
        self.shape, self.columns = (n_samples, n_features), columns
        return self

    def _blocks(self) -> PlacedBlocks:
        """Yield (slice of rows, array) for all rows, block by block.

        An array holds until the next is asked for.
        """
        n_samples, n_features = self.shape
        size = block_size(n_features)
        buffer: Any = None
        full: Any
        start = filled = 0
        for _, first, block in self._checked_blocks("X"):
            if block.shape[1] != n_features or first + block.shape[0] > n_samples:
                raise self._changed(first + block.shape[0], block.shape[1])
            while block.shape[0]:
                if filled == 0 and (block.shape[0] >= size or start + block.shape[0] == n_samples):
                    taken = full = block[:size]
                else:
                    buffer = np.empty((min(size, n_samples), n_features)) if buffer is None else buffer
                    taken = block[: len(buffer) - filled]
                    buffer[filled : filled + len(taken)] = taken
                    filled += len(taken)
                    full = buffer[:filled] if filled == size or start + filled == n_samples else None
                block = block[len(taken) :]
                if full is not None:
                    yield slice(start, start + len(full)), full
                    start, filled = start + len(full), 0
        if start < n_samples:
            raise self._changed(start + filled, n_features)

    def _shuffled_blocks(self, rng: "np.random.Generator") -> PlacedBlocks:
        """Yield the same; the blocks of an array or memmap come in random order."""
        if not self._is_table():
            return self._blocks()
        size = block_size(self.shape[1])
        starts = range(0, self.shape[0], size)
        return ((slice(starts[k], min(starts[k] + size, self.shape[0])),
                 check_array(self._rows_from(starts[k], size))) for k in rng.permutation(len(starts)))

    def _raw_blocks(self) -> Iterator[Any]:
        """Yield the blocks of the source, without empty ones."""
        try:
            blocks = iter(self._source() if callable(self._source) else self._source_blocks())
        except TypeError as error:
            raise InvalidTypeError(f"source must give blocks of rows, one after the other: {error}") from error
        return (block for block in blocks if operator.length_hint(block, 1))  # what has no length is refused later

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise InvalidTypeError("RowBlocks are read by fit, predict, predict_proba, decision_function and score; here "
                               "an array is expected")

    def _changed(self, n_samples: int, n_features: int) -> InvalidInputError:
        return InvalidInputError(f"X must give the same rows in every pass, got {self.shape} in the first and "
                                 f"{(n_samples, n_features)} by now in a later one")

    def _checked_blocks(self, name: str) -> Iterator[tuple[Any, int, NDArray[Any]]]:
        """Yield (block as given, index of its first row, checked array) for every block that holds a row."""
        start = 0
        for given in self._raw_blocks():
            try:
                block = check_array(given, name)
            except InvalidInputError as error:
                raise type(error)(f"{error} (in the block from row {start})") from error
            yield given, start, block
            start += block.shape[0]

    def _is_table(self) -> bool:
        return isinstance(self._source, SparseRows) or (hasattr(self._source, "dtype") and np.ndim(self._source) == 2)

    def _source_blocks(self) -> Any:
        """The source, or slices of it where it is one array."""
        if not self._is_table():
            return self._source
        size = block_size(self._source.shape[1])
        return (self._rows_from(start, size) for start in range(0, self._source.shape[0], size))

    def _rows_from(self, start: int, size: int) -> Any:
        """Some rows of a source that is one array or sparse; these are made dense where they are used."""
        stop = start + size
        return self._source.rows(start, stop) if isinstance(self._source, SparseRows) else self._source[start:stop]


def blocks(X: Any) -> PlacedBlocks:
    """Yield (slice of rows, array): the blocks of RowBlocks, or an array as one block."""
    return X._blocks() if isinstance(X, RowBlocks) else iter([(slice(0, len(X)), X)])


def check_rows(X: Any, name: str = "X", min_samples: int = 1,
               expected: Any = None) -> tuple[Any, NDArray[np.object_] | None]:
    """Return (rows, column names or None): rows as `check_array` returns them, or RowBlocks.

    `expected` are the names of training.

    RowBlocks and 2-D arrays in mapped files are checked block by block, and not read into memory.
    """
    if isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None and X.ndim == 2:
        X = RowBlocks(X)
    if isinstance(X, RowBlocks):
        return X._check(name, min_samples), feature_names(X)
    if isinstance(X, SparseRows):  # of a family that trains on them
        return check_sparse_rows(X, name, min_samples), feature_names(X, expected)
    return check_array(X, name, min_samples), feature_names(X, expected)


def take_rows(X: Any, indices: Indices) -> Double:
    """Return rows of an array, SparseRows or RowBlocks as float64, in the order of the indices, which may repeat."""
    if isinstance(X, SparseRows):
        return X.take(indices).toarray().astype(np.float64, copy=False)
    taken = np.empty((len(indices), X.shape[1]))
    for rows, block in blocks(X):
        here = (indices >= rows.start) & (indices < rows.stop)
        taken[here] = block[indices[here] - rows.start]
    return taken


def evenly_spaced(n_rows: int, most: int) -> Indices:
    """Indices of so many rows at most, evenly spaced from the first to the last."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


# Numbers in a slice: a few hundredths of a second, also for random numbers.
NUMBERS = 1 << 22


def row_slices(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows, all rows of a small array at once."""
    step = max(1, NUMBERS // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def draw_in_slices(draw: Callable[[tuple[int, ...]], Double], shape: tuple[int, ...]) -> Double:
    """The same as `draw(shape)`, a function of a random generator, drawn in slices."""
    size = math.prod(shape)
    if size <= NUMBERS:
        return draw(shape)
    found = np.empty(size)
    for start in range(0, size, NUMBERS):
        found[start : start + NUMBERS] = draw((min(NUMBERS, size - start),))
    return found.reshape(shape)
