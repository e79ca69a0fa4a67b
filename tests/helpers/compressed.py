"""Sparse matrices without SciPy."""

import numpy as np


class Compressed:
    """What is looked at of a matrix of SciPy in compressed rows."""

    def __init__(self, indptr, indices, data, shape):
        self.indptr, self.indices, self.data = np.asarray(indptr), np.asarray(indices), np.asarray(data)
        self.shape = shape

    @classmethod
    def of(cls, array):
        """Compressed rows of an array."""
        rows, columns = np.nonzero(array)
        return cls(np.searchsorted(rows, np.arange(len(array) + 1)), columns, array[rows, columns], array.shape)

    @property
    def nnz(self):
        return len(self.data)

    def tocsr(self):
        return self

    def toarray(self):
        out = np.zeros(self.shape, self.data.dtype)
        for i in range(self.shape[0]):
            for place in range(self.indptr[i], self.indptr[i + 1]):
                out[i, self.indices[place]] += self.data[place]
        return out


def some_sparse(n_rows, n_columns, share, seed=0):
    """Rows of which a share of the cells is filled."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_rows, n_columns)) < share, rng.standard_normal((n_rows, n_columns)).round(2), 0.0)
