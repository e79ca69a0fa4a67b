"""Dense matrices of kernels of some rows, and the gradient of the marginal likelihood."""

from cython.parallel cimport prange
from libc.math cimport log, sqrt

from .core.checks cimport agree, has_shape
from .core.lanes cimport likelihood_lanes
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport EXPONENTIAL, GAUSSIAN, LANES, TERMS, TILE, decay_by, distances, real

use_team(team)


cdef void _matrix_rows(const real[:, :, ::1] tiles, const real[:, ::1] centers, real[:, ::1] matrix,
                       real[:, ::1] derivatives, int shape, bint lower, Py_ssize_t first) noexcept nogil:
    cdef real u[TERMS * TILE]
    cdef real distance[TERMS * TILE]
    cdef real length = <real>(1 / log(2.0))
    cdef Py_ssize_t i, k, t, n_rows, n_terms = min(<Py_ssize_t>TERMS, matrix.shape[0] - first)
    for t in range(min(tiles.shape[0], (first + TERMS - 1) // TILE + 1) if lower else tiles.shape[0]):
        n_rows = min(<Py_ssize_t>TILE, matrix.shape[1] - t * TILE)
        distances(&tiles[t, 0, 0], tiles.shape[1], TILE, &centers[first, 0], u)
        for i in range(TERMS * TILE if derivatives.shape[0] else 0):
            distance[i] = <real>sqrt(u[i])
        for k in range(n_terms):
            decay_by(shape, u + k * TILE, TILE)
            for i in range(n_rows):
                matrix[first + k, t * TILE + i] = u[k * TILE + i]
            for i in range(n_rows if derivatives.shape[0] else 0):
                derivatives[first + k, t * TILE + i] = (
                    length * u[k * TILE + i] / distance[k * TILE + i] if distance[k * TILE + i] > 0 else 0)


cdef _kernel_matrix(const real[:, :, ::1] tiles, const real[:, ::1] centers, real[:, ::1] matrix,
                    real[:, ::1] derivatives, int shape, bint lower, int n_threads):
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(has_shape(centers, (matrix.shape[0] + TERMS - 1) // TERMS * TERMS, tiles.shape[1]),
          "centers must have shape (n_centers padded to a multiple of CENTER_MULTIPLE, n_features)")
    agree((matrix.shape[1] + TILE - 1) // TILE == tiles.shape[0], "matrix must have shape (n_centers, n_samples)")
    agree(derivatives.shape[0] == 0 or has_shape(derivatives, matrix.shape[0], matrix.shape[1]),
          "derivatives must have the shape of the matrix, or no rows")
    agree(shape == GAUSSIAN or shape == EXPONENTIAL, "shape must be that of a kernel")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t k, n_groups = (matrix.shape[0] + TERMS - 1) // TERMS, first = 0, last, work = 0
    cdef Py_ssize_t each = TERMS * TILE * tiles.shape[0] * (tiles.shape[1] + COSINE)
    with nogil:
        while first < n_groups:
            last = min(n_groups, first + n_threads * at_once(each))
            for k in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _matrix_rows(tiles, centers, matrix, derivatives, shape, lower, k * TERMS)
            look_at_signals(&work, (last - first) * each)
            first = last


def kernel_matrix(
    tiles,             # IN   real (n_tiles, n_features, TILE) rows
    centers,           # IN   real (n_centers padded to a multiple of TERMS, n_features)
    matrix,            # OUT  real (n_centers, n_samples)
    derivatives,       # OUT  real (n_centers, n_samples), or (0, 0) for none
    int shape,         # GAUSSIAN or EXPONENTIAL
    bint lower,        # whether entries above the diagonal may be left as they are
    int n_threads,
):
    """matrix = kernels k of rows and centers; derivatives = -2 dk / d(r^2) of exp(-r): k / r, 0 where r is 0."""
    if tiles.itemsize == sizeof(float):
        return _kernel_matrix[float](tiles, centers, matrix, derivatives, shape, lower, n_threads)
    return _kernel_matrix[double](tiles, centers, matrix, derivatives, shape, lower, n_threads)


cdef void _row_gradient(real[:, ::1] inverse, const real[:, ::1] weights, const real[:, ::1] matrix,
                        const real[:, ::1] derivatives, double[:, ::1] sums, Py_ssize_t i) noexcept nogil:
    cdef double lanes[3 * LANES]
    cdef real entry
    cdef Py_ssize_t j = 0, k, size = inverse.shape[0], n_outputs = weights.shape[0]
    for k in range(3 * LANES):
        lanes[k] = 0
    sums[i, 0] = inverse[i, i] * n_outputs
    for k in range(n_outputs):
        sums[i, 0] -= <double>weights[k, i] * weights[k, i]
    while j + LANES <= size:
        likelihood_lanes(&inverse[i, j], n_outputs, &weights[0, j] if n_outputs else NULL, size, i - j, &matrix[i, j],
                         &derivatives[i, j], lanes)
        j += LANES
    for k in range(1, LANES):
        lanes[0] += lanes[k]
        lanes[LANES] += lanes[LANES + k]
        lanes[2 * LANES] += lanes[2 * LANES + k]
    while j < size:
        entry = inverse[i, j] * n_outputs
        for k in range(n_outputs):
            entry -= weights[k, i] * weights[k, j]
        inverse[i, j] = entry * derivatives[i, j]
        lanes[0] += entry
        lanes[LANES] += entry * matrix[i, j]
        lanes[2 * LANES] += inverse[i, j]
        j += 1
    sums[i, 1], sums[i, 2], sums[i, 3] = lanes[0], lanes[LANES], lanes[2 * LANES]


cdef _likelihood_gradient(
    real[:, ::1] inverse, const real[:, ::1] weights, const real[:, ::1] matrix, const real[:, ::1] derivatives,
    double[:, ::1] sums, int n_threads,
):
    cdef Py_ssize_t i, size = inverse.shape[0], each = size * (weights.shape[0] + 4), first = 0, last, work = 0
    agree(has_shape(inverse, size, size), "inverse must have shape (size, size)")
    agree(weights.shape[1] == size, "weights must have shape (n_outputs, size)")
    agree(has_shape(matrix, size, size), "matrix must have shape (size, size)")
    agree(has_shape(derivatives, size, size), "derivatives must have shape (size, size)")
    agree(has_shape(sums, size, 4), "sums must have shape (size, 4)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        while first < size:
            last = min(size, first + n_threads * at_once(each))
            for i in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _row_gradient(inverse, weights, matrix, derivatives, sums, i)
            look_at_signals(&work, (last - first) * each)
            first = last


def likelihood_gradient(
    inverse,           # IN   real (size, size) of the covariance; OUT W times the derivatives
    weights,           # IN   real (n_outputs, size) inverse times targets
    matrix,            # IN   real (size, size) kernels
    derivatives,       # IN   real (size, size)
    sums,              # OUT  double (size, 4) of each row of W: on the diagonal, sum, sum times kernels, OUT
    int n_threads,
):
    """Gradient of twice the negative log-likelihood along the covariance: W = n_outputs inverse - weights' weights."""
    if inverse.itemsize == sizeof(float):
        return _likelihood_gradient[float](inverse, weights, matrix, derivatives, sums, n_threads)
    return _likelihood_gradient[double](inverse, weights, matrix, derivatives, sums, n_threads)
