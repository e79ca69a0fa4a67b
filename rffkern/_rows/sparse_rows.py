"""Sparse rows: the filled cells of a table, row by row, read from matrices of SciPy or from data frames of pandas.

Neither package is imported: what is sparse is recognised by the attributes that it has.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .._native import scoring
from .._native.array_types import Indices, NDArray
from .._protocol.arguments import has_members
from ..errors import InvalidInputError, InvalidTypeError

# Bytes that sparse rows may take where all are made dense together, and about how many numbers a block of them has.
DENSE_BYTES, BLOCK_NUMBERS = 1 << 30, 1 << 20

# The fewest columns of sparse rows that may be trained on, and scored, as they are.
FEWEST_SPARSE = 512


def is_sparse(data: Any) -> bool:
    """Whether data are sparse rows, a sparse matrix or array of SciPy, or a data frame all of whose columns are sparse.

    Columns count as sparse where their empty cells are 0; where these are missing values, no cell is empty.
    """
    if has_members(data, "nnz", "toarray"):
        return True
    dtypes = getattr(data, "dtypes", None) if has_members(data, "iloc") and hasattr(data, "columns") else None
    return dtypes is not None and len(dtypes) > 0 and all(
        type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0 and dtype.kind in "biuf" for dtype in dtypes)


class SparseRows:
    """Rows of which the filled cells are kept: those of row i are `indptr[i] : indptr[i + 1]`.

    Columns of a row are in ascending order, each at most once, and no filled cell is 0.

    Parameters
    ----------
    indptr : intp array (n_rows + 1,)
    indices : int32 or int64 array (n_filled,)
        The columns of the cells.
    data : float32, float64 or bool array (n_filled,)
    columns : names of the columns, or None
        Of a data frame.
    """

    def __init__(self, indptr: Indices, indices: NDArray[Any], data: NDArray[Any], n_columns: int,
                 columns: Any = None) -> None:
        self.indptr, self.indices, self.data = indptr, indices, data
        self.n_columns, self.columns = n_columns, columns

    @classmethod
    def of(cls, X: Any, name: str = "X") -> Self:
        """The same of whatever `is_sparse`, in any format; cells that are given several times are added up."""
        if isinstance(X, cls):
            return X
        if has_members(X, "iloc"):
            return cls._of_frame(X, name)
        if not has_members(X, "tocsr"):
            raise InvalidTypeError(f"{name} must be sparse rows with a method tocsr, as matrices of SciPy have, got a "
                                   f"{type(X).__name__}: call its toarray()")
        if len(X.shape) != 2:
            raise InvalidInputError(f"{name} must be a 2D array (n_samples, n_features): Expected 2D array, got "
                                    f"{len(X.shape)}D array of shape {tuple(X.shape)}.  Reshape your data with "
                                    ".reshape(-1, 1) if it has one feature or .reshape(1, -1) if it is one sample")
        rows = X.tocsr()
        return cls._canonical(np.asarray(rows.indptr), np.asarray(rows.indices), np.asarray(rows.data), rows.shape,
                              name)

    @classmethod
    def of_dense(cls, X: NDArray[Any]) -> Self:
        """The same of an array (n_rows, n_columns)."""
        rows, columns = X.nonzero()
        indptr = np.searchsorted(rows, np.arange(len(X) + 1))
        return cls(indptr, _narrow(columns, X.shape[1]), X[rows, columns], X.shape[1])

    @classmethod
    def _of_frame(cls, X: Any, name: str) -> Self:
        arrays = [X.iloc[:, j].array for j in range(X.shape[1])]
        parts = [(array.sp_index.indices if hasattr(array.sp_index, "indices") else
                  array.sp_index.to_int_index().indices, array.sp_values) for array in arrays]
        counts = np.array([len(values) for _, values in parts])
        rows = np.concatenate([places for places, _ in parts]).astype(np.intp)
        columns = _narrow(np.repeat(np.arange(len(parts)), counts), len(parts))
        order = np.argsort(rows, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
        data = np.concatenate([values for _, values in parts])[order]
        return cls._canonical(indptr, columns[order], data, X.shape, name, X.columns)

    @classmethod
    def _canonical(cls, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], shape: tuple[int, int],
                   name: str, columns: Any = None) -> Self:
        """Checked rows of arrays in which cells may be 0, in any order, or there several times."""
        n_rows, n_columns = map(int, shape)
        are_numbers = all(array.ndim == 1 and array.dtype.kind in "iu" for array in (indptr, indices))
        if not are_numbers or len(indptr) != n_rows + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any() or (
                not indptr[-1] <= len(indices) == len(data)):
            raise InvalidInputError(f"{name} must have indptr, indices and data of a matrix of compressed rows, got "
                                    "arrays that contradict each other")
        if data.dtype.kind not in "biuf":
            what = ": Complex data not supported" if data.dtype.kind == "c" else ""
            raise InvalidInputError(f"{name} must be numeric{what}, got dtype {data.dtype}")
        indptr, n_filled = indptr.astype(np.intp, copy=False), int(indptr[-1])
        indices, data = indices[:n_filled], data[:n_filled]
        if n_filled and not 0 <= indices.min() <= indices.max() < n_columns:
            raise InvalidInputError(f"{name} must have columns from 0 to {n_columns - 1}, got indices from "
                                    f"{indices.min()} to {indices.max()}")
        if data.dtype != np.bool_ and data.dtype.newbyteorder("=") != np.float32:
            data = data.astype(np.float64, copy=False)
        indices, data = _narrow(indices, n_columns), data.astype(data.dtype.newbyteorder("="), copy=False)
        rows = np.repeat(np.arange(n_rows), np.diff(indptr))
        later = (rows[1:] == rows[:-1]) if n_filled else np.empty(0, dtype=bool)  # in the row of the one before
        if (later & (indices[1:] <= indices[:-1])).any():
            order = np.lexsort((indices, rows))
            indices, data = indices[order], data[order]
            is_new = np.append(True, ~(later & (indices[1:] == indices[:-1])))
            if not is_new.all():
                sums = np.zeros(int(is_new.sum()), dtype=data.dtype)
                np.add.at(sums, np.cumsum(is_new) - 1, data)  # one after the other, as dense rows add them up
                rows, indices, data = rows[is_new], indices[is_new], sums
        filled = data != 0
        if len(rows) != n_filled or not filled.all():
            rows, indices, data = rows[filled], indices[filled], data[filled]
            indptr = np.searchsorted(rows, np.arange(n_rows + 1))
        return cls(indptr, indices, data, n_columns, columns)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self), self.n_columns

    @property
    def dtype(self) -> "np.dtype[Any]":
        """That of the cells."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """Number of filled cells."""
        return len(self.data)

    def rows(self, start: int, stop: int) -> Self:
        """The rows from one to before another."""
        indptr = self.indptr[start : stop + 1]
        cells = slice(indptr[0], indptr[-1])
        return type(self)(indptr - indptr[0], self.indices[cells], self.data[cells], self.n_columns, self.columns)

    def blocks(self, n_columns: int | None = None) -> Iterator[Self]:
        """The rows in blocks that are small when so many columns, or all, are dense; one block where there are none."""
        size = max(1, BLOCK_NUMBERS // max(1, n_columns or self.n_columns))
        return (self.rows(start, start + size) for start in range(0, max(1, len(self)), size))

    def take(self, rows: Indices) -> Self:
        """Some rows by their indices, in any order."""
        counts = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        cells = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], counts)
        return type(self)(indptr, self.indices[cells], self.data[cells], self.n_columns, self.columns)

    __getitem__ = take

    def of_columns(self, columns: Indices) -> NDArray[Any]:
        """Some columns of the rows as an array."""
        places = np.full(self.n_columns, -1, dtype=np.intp)
        places[columns] = np.arange(len(columns))
        of_cells = places[self.indices]
        found, out = of_cells >= 0, np.zeros((len(self), len(columns)), dtype=self.data.dtype)
        out[np.repeat(np.arange(len(self)), np.diff(self.indptr))[found], of_cells[found]] = self.data[found]
        return out

    def transposed(self) -> Self:
        """The columns as rows."""
        order = np.argsort(self.indices, kind="stable")
        rows = _narrow(np.repeat(np.arange(len(self)), np.diff(self.indptr)), len(self))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(self.indices, minlength=self.n_columns))])
        return type(self)(indptr, rows[order], self.data[order], len(self))

    def products(self, vectors: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
        """The rows, whose cells are float64 and columns int32, times vectors (n_columns, n_vectors)."""
        out = np.empty((len(self), vectors.shape[1]))
        scoring.sparse_products(self.indptr, self.indices, self.data, vectors, out, n_threads)
        return out

    def toarray(self) -> NDArray[Any]:
        """The rows as an array."""
        out = np.zeros(self.shape, dtype=self.data.dtype)
        out[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.indices] = self.data
        return out


def _narrow(columns: NDArray[Any], n_columns: int) -> NDArray[Any]:
    return columns.astype(np.int32 if n_columns < 1 << 31 else np.int64, copy=False)


def dense_rows(X: Any, name: str) -> NDArray[Any]:
    """Sparse rows as an array; InvalidInputError where it would take more than `DENSE_BYTES`."""
    rows = SparseRows.of(X, name)
    n_rows, n_columns = rows.shape
    n_bytes = n_rows * n_columns * rows.dtype.itemsize
    if n_bytes > DENSE_BYTES:
        raise InvalidInputError(
            f"{name} is sparse and must be made dense here, which would take {n_rows:,} rows x {n_columns:,} columns x "
            f"{rows.dtype.itemsize} bytes = {n_bytes / 2**30:.3g} GiB, more than the limit of "
            f"{DENSE_BYTES / 2**30:.3g} GiB: pass fewer rows or columns; fit and predict also take "
            f"rffkern.RowBlocks({name}), which is made dense block by block")
    return rows.toarray()
