"""Bins of the values of columns, for trees."""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, uint8_t

from .boost.trees cimport VT_BINS, bin_values
from .core.checks cimport agree, are_indices
from .core.signals cimport at_once, look_at_signals

cdef enum:
    BINNED_ROWS = 8192    # of a column at once
    COMPARISON = 4        # multiply-adds that one counts for


cdef void _bin_block(const float[::1] column, const float[::1] edges, Py_ssize_t n_bins, uint8_t[::1] bins,
                     Py_ssize_t start) noexcept nogil:
    cdef Py_ssize_t i, n_edges = 0, stop = min(start + BINNED_ROWS, column.shape[0])
    while n_edges < n_bins - 1:   # 2^k - 1 of them
        n_edges = 2 * n_edges + 1
    bin_values(&column[start], 1, stop - start, &edges[0], n_edges, <int8_t *>&bins[start])
    for i in range(start, stop):
        bins[i] ^= 128   # which the kernel leaves off


def find_bins(
    const float[:, ::1] columns,          # IN   (n_columns, n)
    const Py_ssize_t[::1] binned,         # IN   (n_binned,) of columns
    const Py_ssize_t[::1] n_bins,         # IN   (n_binned,) one more than edges
    float[:, ::1] edges,                  # IN   (n_binned, 255) in ascending order; OUT infinite beyond
    uint8_t[:, ::1] bins,                 # OUT  (n_binned, n) the number of edges that a value is above
    int n_threads,
):
    """Bins of the values of some columns."""
    cdef Py_ssize_t j, task, n = columns.shape[1], n_binned = binned.shape[0], first = 0, last, work = 0
    cdef Py_ssize_t n_blocks = (n + BINNED_ROWS - 1) // BINNED_ROWS, each = BINNED_ROWS * 8 * COMPARISON
    agree(are_indices(binned, columns.shape[0]), "binned must be indices of columns")
    agree(n_bins.shape[0] == n_binned, "n_bins must have the length of binned")
    for j in range(n_binned):
        agree(1 <= n_bins[j] <= VT_BINS, "n_bins must be from 1 to 256")
    agree(edges.shape[0] == n_binned and edges.shape[1] == VT_BINS - 1, "edges must have shape (n_binned, 255)")
    agree(bins.shape[0] == n_binned and bins.shape[1] == n, "bins must have shape (n_binned, n)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        for j in range(n_binned):
            edges[j, n_bins[j] - 1 :] = INFINITY
        while first < n_binned * n_blocks:
            last = min(n_binned * n_blocks, first + n_threads * at_once(each))
            for task in prange(first, last, schedule='dynamic', num_threads=n_threads):
                j = task // n_blocks
                _bin_block(columns[binned[j]], edges[j], n_bins[j], bins[j], task % n_blocks * BINNED_ROWS)
            look_at_signals(&work, (last - first) * each // n_threads)
            first = last
