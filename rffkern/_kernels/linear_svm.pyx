"""Linear support vector machines by dual coordinate descent (Hsieh et al., ICML 2008, with their shrinking).

With sign y in {-1, +1} and bound U_i = C weight_i the dual is: minimise 1/2 |w|^2 + 1/2 sum of D_i alpha_i^2 - sum of
alpha_i over alpha_i >= 0, where w = sum of alpha_i y_i x_i.  Hinge loss: alpha_i <= U_i and D = 0.  Squared hinge loss:
D_i = 1 / (2 U_i) and no upper bound.  The last function serves Newton's methods for the same problems.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, fabs
from libc.stdint cimport uint64_t

from .checks cimport agree, are_indices, holds
from .shuffle cimport shuffle
from .tiles cimport LANES, TERMS, TILE, add_scaled, dot, project_terms, real

cdef extern from "vecmath.h" nogil:
    void vm_prefetch(const void *address, Py_ssize_t size) noexcept

cdef enum:
    LOOKAHEAD = 4       # rows that are fetched ahead, for they come in random order
    STRIP = 2048        # rows whose sums are added before others'
    PANEL = 32          # columns of a Gram matrix that are computed together: few lie beyond its diagonal, unused

# A projected gradient below this moves no coordinate.
cdef double SMALLEST_GRADIENT = 1e-12

STRIP_ROWS = STRIP


cdef struct Epoch:
    Py_ssize_t n_active
    double lowest, highest   # projected gradients met
    double gap, primal_loss  # duality gap and sum of losses at the w that each row met


cdef class HingeLoss:
    """U max(0, 1 - y w . x) of a row, whose bound U is C times its weight."""


cdef class SquaredHingeLoss:
    """U max(0, 1 - y w . x)^2 of a row, whose bound U is C times its weight."""


ctypedef fused Loss:
    HingeLoss
    SquaredHingeLoss


cdef inline double _row_loss(Loss loss, double slack, double bound) noexcept nogil:
    """Loss of a row with slack 1 - y w . x."""
    if slack <= 0:
        return 0
    if Loss is HingeLoss:
        return bound * slack
    else:
        return bound * slack * slack


cdef inline double _diagonal(Loss loss, double bound) noexcept nogil:
    """D_i of the dual."""
    if Loss is HingeLoss:
        return 0
    else:
        return 0.5 / bound


cdef inline double _upper(Loss loss, double bound) noexcept nogil:
    """Largest alpha_i of the dual."""
    if Loss is HingeLoss:
        return bound
    else:
        return INFINITY


cdef void _descend_epoch(
    const real[:, ::1] features, const signed char[::1] sign, const double[::1] bound, const double[::1] curvature,
    Loss loss, double[::1] alpha, real[::1] coef, Py_ssize_t[::1] active, double lower_limit, double upper_limit,
    Epoch *epoch,
) noexcept nogil:
    """One pass over the active rows; those at a bound, with gradients beyond the limits of the last pass, leave."""
    cdef Py_ssize_t i, s = 0, width = features.shape[1]
    cdef double diagonal, gradient, old, slack, step, upper
    epoch.lowest, epoch.highest, epoch.gap, epoch.primal_loss = INFINITY, -INFINITY, 0, 0
    while s < epoch.n_active:
        i = active[s]
        if s + LOOKAHEAD < epoch.n_active:
            vm_prefetch(&features[active[s + LOOKAHEAD], 0], width * sizeof(real))
        old = alpha[i]
        diagonal, upper = _diagonal(loss, bound[i]), _upper(loss, bound[i])
        slack = 1 - sign[i] * <double>dot(&features[i, 0], &coef[0], width)
        gradient = diagonal * old - slack
        epoch.gap += _row_loss(loss, slack, bound[i]) + old * (0.5 * diagonal * old - slack)
        epoch.primal_loss += _row_loss(loss, slack, bound[i])
        if (old == 0 and gradient > upper_limit) or (old == upper and gradient < lower_limit):
            epoch.n_active -= 1
            active[s], active[epoch.n_active] = active[epoch.n_active], i
            continue
        if (old == 0 and gradient > 0) or (old == upper and gradient < 0):
            epoch.lowest, epoch.highest = min(epoch.lowest, 0.0), max(epoch.highest, 0.0)
        else:
            epoch.lowest, epoch.highest = min(epoch.lowest, gradient), max(epoch.highest, gradient)
            if fabs(gradient) > SMALLEST_GRADIENT:
                alpha[i] = min(max(old - gradient / (curvature[i] + diagonal), 0.0), upper)
                step = (alpha[i] - old) * sign[i]
                add_scaled(&features[i, 0], width, <real>step, &coef[0])
        s += 1


cdef int _check(const real[:, ::1] features, const signed char[::1] sign) except -1:
    agree(features.shape[1] >= 1 and features.shape[1] % LANES == 0,
          "features must have a number of columns that is a multiple of LANE_COUNT")
    return agree(sign.shape[0] == features.shape[0], "sign must have shape (n_samples,)")


def descend_dual(
    const real[:, ::1] features,        # IN   (n_samples, width a multiple of LANES), padded with 0
    const signed char[::1] sign,        # IN   (n_samples,) -1 or +1
    const double[::1] bound,            # IN   (n_samples,) C weight, positive
    const double[::1] curvature,        # IN   (n_samples,) squared lengths of the rows, positive
    Loss loss,
    double tolerance,                   # of the gap, as a share of the primal objective
    Py_ssize_t n_epochs,                # at most
    double[::1] alpha,                  # IN   (n_samples,); OUT after the descent
    real[::1] coef,                     # IN   (width,) w; OUT after the descent
    Py_ssize_t[::1] active,             # IN   (n_samples,) a permutation; OUT reordered
    uint64_t[::1] random_state,         # IN   (1,) not 0; OUT the next
):
    """Epochs from all rows active, until the gap that they meet is within tolerance; return how many."""
    cdef Epoch epoch
    cdef double lower_limit = -INFINITY, upper_limit = INFINITY, primal
    cdef Py_ssize_t done = 0, n_samples = features.shape[0]
    _check(features, sign)
    agree(bound.shape[0] == n_samples, "bound must have shape (n_samples,)")
    agree(curvature.shape[0] == n_samples, "curvature must have shape (n_samples,)")
    agree(alpha.shape[0] == n_samples, "alpha must have shape (n_samples,)")
    agree(coef.shape[0] == features.shape[1], "coef must have shape (width,)")
    agree(active.shape[0] == n_samples and are_indices(active, n_samples), "active must be a permutation of the rows")
    agree(random_state.shape[0] >= 1, "random_state must have an entry")
    with nogil:
        epoch.n_active = n_samples
        while done < n_epochs:
            shuffle(active, epoch.n_active, &random_state[0])
            _descend_epoch(features, sign, bound, curvature, loss, alpha, coef, active, lower_limit, upper_limit,
                           &epoch)
            done += 1
            primal = epoch.primal_loss + 0.5 * dot(&coef[0], &coef[0], features.shape[1])
            if epoch.gap <= tolerance * primal:
                break
            upper_limit = epoch.highest if epoch.highest > 0 else INFINITY
            lower_limit = epoch.lowest if epoch.lowest < 0 else -INFINITY
    return done


cdef void _strip_coef(const real[:, ::1] features, const signed char[::1] sign, const double[::1] alpha,
                      Py_ssize_t strip, double *sums) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double step
    for j in range(features.shape[1]):
        sums[j] = 0
    for i in range(strip * STRIP, min((strip + 1) * STRIP, features.shape[0])):
        if alpha[i] != 0:
            step = alpha[i] * sign[i]
            for j in range(features.shape[1]):
                sums[j] += step * features[i, j]


def combine_rows(
    const real[:, ::1] features,        # IN   (n_samples, width)
    const signed char[::1] sign,        # IN   (n_samples,)
    const double[::1] alpha,            # IN   (n_samples,)
    real[::1] coef,                     # OUT  (width,)
    double[:, ::1] partial,             # TEMP (n_strips, width)
    int n_threads,
):
    """coef = sum of alpha y x."""
    cdef Py_ssize_t b, j, strips = (features.shape[0] + STRIP - 1) // STRIP
    _check(features, sign)
    agree(alpha.shape[0] == features.shape[0], "alpha must have shape (n_samples,)")
    agree(coef.shape[0] == features.shape[1], "coef must have shape (width,)")
    agree(holds(partial, strips, features.shape[1]), "partial must have shape (n_strips, width)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef double total
    with nogil:
        for b in prange(strips, schedule='dynamic', num_threads=n_threads):
            _strip_coef(features, sign, alpha, b, &partial[b, 0])
        for j in range(coef.shape[0]):
            total = 0
            for b in range(strips):
                total += partial[b, j]
            coef[j] = <real>total


cdef void _strip_margins(const real[:, ::1] features, const signed char[::1] sign, const real[::1] coef,
                         double[::1] margins, Py_ssize_t strip) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(strip * STRIP, min((strip + 1) * STRIP, features.shape[0])):
        margins[i] = sign[i] * <double>dot(&features[i, 0], &coef[0], features.shape[1])


def project_rows(
    const real[:, ::1] features,        # IN   (n_samples, width a multiple of LANES)
    const signed char[::1] sign,        # IN   (n_samples,)
    const real[::1] coef,               # IN   (width,)
    double[::1] margins,                # OUT  (n_samples,)
    int n_threads,
):
    """margins = y x . coef."""
    _check(features, sign)
    agree(coef.shape[0] == features.shape[1], "coef must have shape (width,)")
    agree(margins.shape[0] == features.shape[0], "margins must have shape (n_samples,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t b
    for b in prange((features.shape[0] + STRIP - 1) // STRIP, nogil=True, schedule='dynamic', num_threads=n_threads):
        _strip_margins(features, sign, coef, margins, b)


cdef Py_ssize_t _pack_rows(const real[:, ::1] features, const double[::1] scale, Py_ssize_t *row, Py_ssize_t stop,
                           real *panels, real *scaled) noexcept nogil:
    """Take up to TILE rows of positive scale: by panels of PANEL columns, and transposed times their scale.

    Return how many, with `row` after the last one looked at; rows that are lacking become 0.
    """
    cdef Py_ssize_t i, j, n_rows = 0, width = features.shape[1]
    while row[0] < stop and n_rows < TILE:
        if scale[row[0]] > 0:
            for j in range(width):
                panels[(j // PANEL * TILE + n_rows) * PANEL + j % PANEL] = features[row[0], j]
                scaled[j * TILE + n_rows] = <real>scale[row[0]] * features[row[0], j]
            n_rows += 1
        row[0] += 1
    for j in range(width if n_rows else 0):
        for i in range(n_rows, TILE):
            panels[(j // PANEL * TILE + i) * PANEL + j % PANEL] = 0
            scaled[j * TILE + i] = 0
    return n_rows


cdef void _share_gram(const real[:, ::1] features, const double[::1] scale, double[:, ::1] gram, Py_ssize_t start,
                      Py_ssize_t stop, real *panels) noexcept nogil:
    cdef real products[TERMS * PANEL]
    cdef real shifts[TERMS]
    cdef Py_ssize_t i, j, k, panel, row = start, width = features.shape[1], n_panels = (width + PANEL - 1) // PANEL
    cdef real *scaled = panels + n_panels * TILE * PANEL
    for k in range(TERMS):
        shifts[k] = 0
    while _pack_rows(features, scale, &row, stop, panels, scaled):
        for i in range(width // TERMS):
            for panel in range(i * TERMS // PANEL + 1):   # up to that of the diagonal
                project_terms(panels + panel * TILE * PANEL, TILE, PANEL, scaled + i * TERMS * TILE, shifts, products)
                for k in range(TERMS):
                    for j in range(min(<Py_ssize_t>PANEL, i * TERMS + k + 1 - panel * PANEL)):
                        gram[i * TERMS + k, panel * PANEL + j] += products[k * PANEL + j]


cdef Py_ssize_t _gram_scratch(Py_ssize_t width) noexcept nogil:
    return ((width + PANEL - 1) // PANEL * PANEL + width) * TILE


def gram_scratch(Py_ssize_t width):
    """Numbers of scratch that `weighted_gram` needs for each thread."""
    agree(width >= 1, "width must be at least 1")
    return _gram_scratch(width)


def weighted_gram(
    const real[:, ::1] features,        # IN   (n_samples, width a multiple of LANES)
    const double[::1] scale,            # IN   (n_samples,) not negative
    double[:, :, ::1] partial,          # OUT  (n_shares, width, width), the first of which gets the sum
    real[:, ::1] scratch,               # TEMP (n_threads, gram_scratch), 0 beyond the width in its last panel
    int n_threads,
):
    """partial[0] = sum of scale x x', in its lower triangle; products of 128 rows are summed in `real`.

    128 rows are to their Gram matrix what a tile is to projections: four of their columns are the omegas.
    """
    cdef Py_ssize_t c, i, j, n_shares = partial.shape[0], n_samples = features.shape[0]
    cdef Py_ssize_t width = features.shape[1]
    agree(width >= 1 and width % LANES == 0,
          "features must have a number of columns that is a multiple of LANE_COUNT")
    agree(scale.shape[0] == n_samples, "scale must have shape (n_samples,)")
    agree(n_shares >= 1 and partial.shape[1] == width and partial.shape[2] == width,
          "partial must have shape (n_shares, width, width)")
    agree(holds(scratch, n_threads, _gram_scratch(width)), "scratch must have shape (n_threads, gram_scratch(width))")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        for c in prange(n_shares, schedule='dynamic', num_threads=n_threads):
            partial[c] = 0
            _share_gram(features, scale, partial[c], c * n_samples // n_shares, (c + 1) * n_samples // n_shares,
                        &scratch[threadid(), 0])
        for c in range(1, n_shares):
            for i in range(partial.shape[1]):
                for j in range(i + 1):
                    partial[0, i, j] += partial[c, i, j]
