"""Sparse rows of many columns: a linear function of all columns, and the fullest columns for all other base learners.

Nothing has a number for every row and column: time and memory are in proportion to the filled cells.  The columns that
are filled in most rows are made dense, about as many as a few times the filled cells of a row; Fourier terms and trees
read these, whichever bag they are of: which columns are full says nothing of the targets, so that validation rows stay
what they are.  Columns that hardly any row fills are of no use for thresholds and cosines; all of them together are for
a linear function, by ridge regression of the gradient.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from ..._column_map.drift import reference_of_rows
from ..._model.parts import LinearTerms, Part
from ..._native.array_types import Double, Indices
from ..._rows.sparse_rows import FEWEST_SPARSE, SparseRows, is_sparse
from ..._rows.training_rows import Training, is_set, named_sets, with_eval_set
from ..._rows.validation import check_array
from .training_rows import RowOrder

# Dense cells for each filled one, and dense columns at least.
_CELLS, _FEWEST_DENSE = 6, 64


def n_dense_columns(n_rows: int, n_columns: int, n_filled: int) -> int | None:
    """How many columns of sparse rows are made dense; None where it had better be all."""
    n_dense = max(_FEWEST_DENSE, -(-_CELLS * n_filled // max(1, n_rows)))
    return n_dense if n_columns >= FEWEST_SPARSE and 2 * n_dense <= n_columns else None


class BagCells(NamedTuple):
    """The cells of the rows of a bag: all, row by row, and those of training rows, column by column."""

    rows: SparseRows  # (n_rows, n_columns), with those of padding, which are empty
    columns: SparseRows  # (n_columns, n_train)
    means: Double  # (n_columns,) of the training rows of the fit


class SparseColumns(NamedTuple):
    """All columns of the rows to learn from and of evaluation sets, in units of their standard deviations, not centred.

    What is learned of columns is in units of x' = (x - center) * inverse_scale, with the scaling of the training rows.
    """

    rows: SparseRows  # x * inverse_scale, float64
    dense: Indices  # the columns that other base learners read, sorted
    center: Double  # (n_columns,)
    inverse_scale: Double  # (n_columns,), 0 for columns that do not vary
    lower: Double  # (n_columns,) the range of the training rows, and 0
    upper: Double

    @classmethod
    def of(cls, parts: list[Any]) -> Self:
        """Of LabelledRows or TargetRows, the first of which are those to learn from."""
        X, weights = parts[0].X, parts[0].weights
        n_columns, filled = X.n_columns, X.data.astype(np.float64)
        dense = np.argsort(-np.bincount(X.indices, minlength=n_columns), kind="stable")
        lower, upper = np.zeros((2, n_columns))
        np.minimum.at(lower, X.indices, filled)
        np.maximum.at(upper, X.indices, filled)
        # Columns are first brought to magnitude 1, so that squares neither over- nor underflow.
        unit = np.maximum(upper, -lower)
        unit[unit == 0] = 1
        each = np.repeat(weights.each, np.diff(X.indptr)) / weights.total
        filled /= unit[X.indices]
        mean = np.bincount(X.indices, each * filled, n_columns)
        # The sum of w (z - mean)^2, of which empty cells have a share of mean^2.
        share = np.bincount(X.indices, each, n_columns)
        variance = np.bincount(X.indices, each * (filled - mean[X.indices]) ** 2, n_columns)
        variance += np.maximum(1 - share, 0) * mean**2
        with np.errstate(divide="ignore"):
            inverse_scale = np.where(variance > np.finfo(np.float64).eps, 1 / np.sqrt(variance), 0.0)
        data = [filled * inverse_scale[X.indices]]
        for part in parts[1:]:
            clipped = part.X.data.clip(lower[part.X.indices], upper[part.X.indices])
            data.append(clipped / unit[part.X.indices] * inverse_scale[part.X.indices])
        starts = np.cumsum([0, *(part.X.nnz for part in parts)])
        rows = SparseRows(np.concatenate([[0], *(start + part.X.indptr[1:] for start, part in
                                                 zip(starts, parts, strict=False))]),
                          np.concatenate([part.X.indices for part in parts]).astype(np.int32, copy=False),
                          np.concatenate(data), n_columns)
        n_dense = n_dense_columns(len(X), n_columns, X.nnz) or n_columns
        return cls(rows, np.sort(dense[:n_dense]), mean * unit, inverse_scale / unit, lower, upper)

    def of_bag(self, order: RowOrder) -> BagCells:
        """The rows of a bag in its order."""
        rows = self.rows.take(order.rows[order.used])
        indptr = np.zeros(len(order.rows) + 1, dtype=np.intp)
        indptr[1:][order.used] = np.diff(rows.indptr)
        rows = SparseRows(np.cumsum(indptr), rows.indices, rows.data, rows.n_columns)
        return BagCells(rows, rows.rows(0, order.n_train).transposed(), self.center * self.inverse_scale)

    def widened(self, part: Part) -> Part:
        """A part of the function of the dense columns as one of all columns."""
        if isinstance(part, LinearTerms):
            return part  # which is of all columns
        return part._with_columns(self.dense, self.rows.n_columns)

    def of_all(self, values: Double, others: Double | float = 0.0) -> Double:
        """Values of the dense columns among others."""
        found = np.full(self.rows.n_columns, 0.0) + others
        found[self.dense] = values
        return found


def check_sparse(check: Callable[..., Training], X: SparseRows, y: Any, sample_weight: Any, eval_set: Any) -> Training:
    """Training rows by a check, with X and the rows of evaluation sets sparse, whatever these are."""
    def sparse(each: Any) -> SparseRows:
        if is_sparse(each):
            return SparseRows.of(each, "eval_set X")
        rows = SparseRows.of_dense(check_array(each, "eval_set X"))
        rows.columns = getattr(each, "columns", None)
        return rows

    if eval_set is not None:
        eval_set = {name: (sparse(each[0]), *each[1:]) if is_set(each) else each for name, each in named_sets(eval_set)}
    training = with_eval_set(check(X, y, sample_weight), eval_set)
    return training._replace(reference=reference_of_rows(training.rows.X, training.rows.weights))


def dense_training(training: Training) -> tuple[Training, SparseColumns | None]:
    """The same rows with the fullest columns alone, as arrays, and all columns, where rows are sparse."""
    if not isinstance(training.rows.X, SparseRows):
        return training, None
    sets = [rows for _, rows in training.eval_sets]
    sparse = SparseColumns.of([training.rows, *sets])

    def dense(rows: Any) -> Any:
        return rows._replace(X=rows.X.of_columns(sparse.dense).astype(np.float64, copy=False))

    return training._replace(rows=dense(training.rows), eval_sets=tuple(
        (name, dense(rows)) for name, rows in training.eval_sets)), sparse
