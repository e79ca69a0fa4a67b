"""Checks of the arguments that Python hands to kernels: they stand at the top of every function that Python sees.

Compiled code reads arrays without looking at their bounds, so that these checks are all that keeps it inside them.
"""

from ..core.tiles cimport TILE, real


cdef inline int agree(bint condition, str message) except -1:
    """Raise ValueError with a message, which names the argument, unless the condition holds."""
    if not condition:
        raise ValueError(message)
    return 0


cdef inline bint has_shape(const real[:, ::1] array, Py_ssize_t n_rows, Py_ssize_t n_columns) noexcept nogil:
    return array.shape[0] == n_rows and array.shape[1] == n_columns


cdef inline bint holds(const real[:, ::1] array, Py_ssize_t n_rows, Py_ssize_t n_columns) noexcept nogil:
    """Whether an array has at least so many rows and columns."""
    return array.shape[0] >= n_rows and array.shape[1] >= n_columns


cdef inline bint is_tiled(const real[:, ::1] values, Py_ssize_t n_tiles) noexcept nogil:
    """Whether there is a value for each row of the tiles."""
    return values.shape[0] == n_tiles and values.shape[1] == TILE


cdef inline bint weighs_tiles(const real[:, ::1] weight, Py_ssize_t n_tiles) noexcept nogil:
    """Whether an array can serve `weight_tile`."""
    return (weight.shape[0] == n_tiles or weight.shape[0] == 2) and weight.shape[1] == TILE


cdef inline bint are_indices(const Py_ssize_t[::1] indices, Py_ssize_t stop) noexcept nogil:
    """Whether all are at least 0 and below `stop`."""
    cdef Py_ssize_t i
    cdef bint good = True
    for i in range(indices.shape[0]):   # without a way out, so that it is done in vectors
        good &= <size_t>indices[i] < <size_t>stop
    return good
