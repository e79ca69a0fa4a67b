"""Screening: which columns terms may have where rows are few."""

import math

import numpy as np

from ..._native import boosting
from ..._native.array_types import Double
from .base_learners import LEAF_RIDGE
from .training_rows import BaggedRows, Columns

# Training rows for each column from which on there is no screening: chances then follow what columns have gained.
_SCREENED_ROWS_PER_COLUMN = 5

# The best threshold on the best of d columns of noise gains 2 (log d + this) degrees of freedom in up to nine tables of
# a hundred.
_SCREENING_CUTS = 4.0


def screened_chances(columns: Columns, rows: BaggedRows) -> Double | None:
    """Chances of raw columns by the gain of their best threshold, (n_sources,), sum 1; None where rows are many.

    Of 300 columns of which one matters, sets drawn without regard hardly ever have it, and terms of the others fit
    noise until nothing of the gradient is left.  Columns that gain more than noise would share what is not spread
    evenly; how much is spread evenly grows with the number of rows, for columns that matter together alone.
    """
    sample, n_columns = rows.sample, columns.n_sources
    share = np.count_nonzero(sample.weight[: sample.n_train]) / (_SCREENED_ROWS_PER_COLUMN * n_columns)
    if share >= 1:
        return None
    n_outputs, gradient, hessian, n_train = len(sample.scores), sample.gradient, sample.hessian, sample.n_train
    bin_counts, sources, signs = columns.bin_counts, columns.sources[columns.binned], columns.signs[columns.binned]
    column, threshold = np.empty((2, 1), dtype=np.intp)
    gain, values = np.zeros(1), np.empty((2, n_outputs))
    scratch = np.empty(boosting.store_size(n_train, n_outputs, 1, 1))
    gains = np.zeros(n_columns)
    for candidate, source in enumerate(sources):
        boosting.grow_tree(sample.bins, bin_counts, signs, gradient, hessian, np.array([candidate]), 1, LEAF_RIDGE,
                           n_train, column, threshold, gain, values, scratch, 1)
        gains[source] = max(gains[source], gain[0])
    # What a degree of freedom gains by chance.
    squares = np.einsum("kn,kn->k", gradient[:, :n_train], gradient[:, :n_train], dtype=np.float64)
    unit = (squares / np.maximum(hessian[:, :n_train].sum(axis=1, dtype=np.float64), 1e-30)).sum()
    passes = gains > 2 * (math.log(n_columns) + _SCREENING_CUTS) * unit
    if not passes.any():
        return np.full(n_columns, 1 / n_columns)
    return share / n_columns + (1 - share) / passes.sum() * passes
