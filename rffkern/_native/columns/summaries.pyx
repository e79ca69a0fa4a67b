"""Summaries of the values of columns: distinct values in increasing order, and the weight of each."""

from .core.checks cimport agree


cdef Py_ssize_t _joined(const double[::1] values_a, const double[::1] weights_a, const double[::1] values_b,
                        const double[::1] weights_b, double[::1] values, double[::1] weights) noexcept nogil:
    """Merge two lists, in which equal values become one entry; return the number of entries."""
    cdef Py_ssize_t i = 0, j = 0, size = 0
    cdef double value, weight
    while i < values_a.shape[0] or j < values_b.shape[0]:
        if j == values_b.shape[0] or (i < values_a.shape[0] and values_a[i] <= values_b[j]):
            value, weight = values_a[i], weights_a[i]
            i += 1
        else:
            value, weight = values_b[j], weights_b[j]
            j += 1
        if size and values[size - 1] == value:
            weights[size - 1] += weight
        else:
            values[size], weights[size] = value, weight
            size += 1
    return size


cdef Py_ssize_t _compressed(double[::1] values, double[::1] weights, Py_ssize_t n, Py_ssize_t n_entries) noexcept nogil:
    """Keep the entries in the middle of equal shares of the weight, in place; return their number."""
    cdef Py_ssize_t i, k = 0, size = 0
    cdef double total = 0, share, end = weights[0]
    for i in range(n):
        total += weights[i]
    share = total / n_entries
    for i in range(n_entries):
        while k < n - 1 and end < share * (i + 0.5):
            k += 1
            end += weights[k]
        if size and values[size - 1] == values[k]:
            weights[size - 1] += share
        else:   # at k or before it
            values[size], weights[size] = values[k], share
            size += 1
    return size


def merge_summaries(
    const double[::1] values_a,     # IN   (n_a,) in increasing order
    const double[::1] weights_a,    # IN   (n_a,)
    const double[::1] values_b,     # IN   (n_b,) in increasing order
    const double[::1] weights_b,    # IN   (n_b,)
    Py_ssize_t n_entries,
    double[::1] values,             # OUT  (n_a + n_b,)
    double[::1] weights,            # OUT  (n_a + n_b,)
):
    """The summary of the values of two lists, which may repeat some, in n_entries at most; return their number."""
    cdef Py_ssize_t size
    agree(weights_a.shape[0] == values_a.shape[0], "weights_a must have the length of values_a")
    agree(weights_b.shape[0] == values_b.shape[0], "weights_b must have the length of values_b")
    agree(n_entries >= 1, "n_entries must be at least 1")
    agree(values.shape[0] == values_a.shape[0] + values_b.shape[0], "values must have shape (n_a + n_b,)")
    agree(weights.shape[0] == values.shape[0], "weights must have shape (n_a + n_b,)")
    with nogil:
        size = _joined(values_a, weights_a, values_b, weights_b, values, weights)
        if size > n_entries:
            size = _compressed(values, weights, size, n_entries)
    return size
