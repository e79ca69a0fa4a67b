"""Linear support vector machines by dual coordinate descent (Hsieh et al., ICML 2008, with their shrinking).

With sign y in {-1, +1} and bound U_i = C weight_i the dual is: minimise 1/2 |w|^2 + 1/2 sum of D_i alpha_i^2 - sum of
alpha_i over alpha_i >= 0, where w = sum of alpha_i y_i x_i.  Hinge loss: alpha_i <= U_i and D = 0.  Squared hinge loss:
D_i = 1 / (2 U_i) and no upper bound.  The last function serves Newton's methods for the same problems.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, fabs
from libc.stdint cimport uint64_t

import numpy as np

from .checks cimport agree, are_indices, holds
from .gram cimport PANEL, share_gram
from .shuffle cimport shuffle
from .signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .tiles cimport LANES, TERMS, TILE, add_scaled, dot, real

use_team(team)

cdef extern from "vecmath.h" nogil:
    void vm_prefetch(const void *address, Py_ssize_t size) noexcept

cdef enum:
    LOOKAHEAD = 4       # rows that are fetched ahead, for they come in random order
    STRIP = 2048        # rows whose sums are added before others'

# A projected gradient below this moves no coordinate.
cdef double SMALLEST_GRADIENT = 1e-12

STRIP_ROWS = STRIP


cdef struct Epoch:
    Py_ssize_t n_active
    double lowest, highest   # projected gradients met
    double gap, primal_loss  # duality gap and sum of losses at the w that each row met


cdef inline double _row_loss(bint is_squared, double slack, double bound) noexcept nogil:
    """U max(0, 1 - y w . x) of a row of slack 1 - y w . x and of bound U, or its square."""
    if slack <= 0:
        return 0
    return bound * slack * slack if is_squared else bound * slack


cdef inline double _diagonal(bint is_squared, double bound) noexcept nogil:
    """D_i of the dual."""
    return 0.5 / bound if is_squared else 0.0


cdef int _descend_epoch(
    const real[:, ::1] features, const signed char[::1] sign, const double[::1] bound, const double[::1] curvature,
    bint is_squared, double[::1] alpha, real[::1] coef, Py_ssize_t[::1] active, double lower_limit, double upper_limit,
    Epoch *epoch, Py_ssize_t *work,
) except -1 nogil:
    """One pass over the active rows; those at a bound, with gradients beyond the limits of the last pass, leave."""
    cdef Py_ssize_t i, s = 0, width = features.shape[1]
    cdef double diagonal, gradient, old, slack, step, upper
    epoch.lowest, epoch.highest, epoch.gap, epoch.primal_loss = INFINITY, -INFINITY, 0, 0
    while s < epoch.n_active:
        look_at_signals(work, 4 * width)   # rows come from memory
        i = active[s]
        if s + LOOKAHEAD < epoch.n_active:
            vm_prefetch(&features[active[s + LOOKAHEAD], 0], width * sizeof(real))
        old = alpha[i]
        diagonal, upper = _diagonal(is_squared, bound[i]), INFINITY if is_squared else bound[i]
        slack = 1 - sign[i] * <double>dot(&features[i, 0], &coef[0], width)
        gradient = diagonal * old - slack
        epoch.gap += _row_loss(is_squared, slack, bound[i]) + old * (0.5 * diagonal * old - slack)
        epoch.primal_loss += _row_loss(is_squared, slack, bound[i])
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
    return 0


cdef int _check(const real[:, ::1] features, const signed char[::1] sign) except -1:
    agree(features.shape[1] >= 1 and features.shape[1] % LANES == 0,
          "features must have a number of columns that is a multiple of LANE_COUNT")
    return agree(sign.shape[0] == features.shape[0], "sign must have shape (n_samples,)")


cdef _descend_dual(
    const real[:, ::1] features, const signed char[::1] sign, const double[::1] bound, const double[::1] curvature,
    bint is_squared, double tolerance, Py_ssize_t n_epochs, double[::1] alpha, real[::1] coef, Py_ssize_t[::1] active,
    uint64_t[::1] random_state,
):
    cdef Epoch epoch
    cdef double lower_limit = -INFINITY, upper_limit = INFINITY, primal
    cdef Py_ssize_t done = 0, n_samples = features.shape[0], work = 0
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
            _descend_epoch(features, sign, bound, curvature, is_squared, alpha, coef, active, lower_limit, upper_limit,
                           &epoch, &work)
            done += 1
            primal = epoch.primal_loss + 0.5 * dot(&coef[0], &coef[0], features.shape[1])
            if epoch.gap <= tolerance * primal:
                break
            upper_limit = epoch.highest if epoch.highest > 0 else INFINITY
            lower_limit = epoch.lowest if epoch.lowest < 0 else -INFINITY
    return done


def descend_dual(
    features,             # IN   real (n_samples, width a multiple of LANES), padded with 0
    sign,                 # IN   signed char (n_samples,) -1 or +1
    bound,                # IN   double (n_samples,) C weight, positive
    curvature,            # IN   double (n_samples,) squared lengths of the rows, positive
    bint is_squared,      # the loss: squared hinge, or hinge
    double tolerance,     # of the gap, as a share of the primal objective
    Py_ssize_t n_epochs,  # at most
    alpha,                # IN   double (n_samples,); OUT after the descent
    coef,                 # IN   real (width,) w; OUT after the descent
    active,               # IN   Py_ssize_t (n_samples,) a permutation; OUT reordered
    random_state,         # IN   uint64_t (1,) not 0; OUT the next
):
    """Epochs from all rows active, until the gap that they meet is within tolerance; return how many."""
    if features.itemsize == sizeof(float):
        return _descend_dual[float](features, sign, bound, curvature, is_squared, tolerance, n_epochs, alpha, coef,
                                    active, random_state)
    return _descend_dual[double](features, sign, bound, curvature, is_squared, tolerance, n_epochs, alpha, coef, active,
                                 random_state)


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


cdef _combine_rows(const real[:, ::1] features, const signed char[::1] sign, const double[::1] alpha, real[::1] coef,
                   double[:, ::1] partial, int n_threads):
    cdef Py_ssize_t b, j, strips = (features.shape[0] + STRIP - 1) // STRIP
    _check(features, sign)
    agree(alpha.shape[0] == features.shape[0], "alpha must have shape (n_samples,)")
    agree(coef.shape[0] == features.shape[1], "coef must have shape (width,)")
    agree(holds(partial, strips, features.shape[1]), "partial must have shape (n_strips, width)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t each = 4 * STRIP * features.shape[1], first = 0, last, work = 0   # rows come from memory
    cdef double total
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_coef(features, sign, alpha, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for j in range(coef.shape[0]):
            total = 0
            for b in range(strips):
                total += partial[b, j]
            coef[j] = <real>total


def combine_rows(
    features,       # IN   real (n_samples, width)
    sign,           # IN   signed char (n_samples,)
    alpha,          # IN   double (n_samples,)
    coef,           # OUT  real (width,)
    partial,        # TEMP double (n_strips, width)
    int n_threads,
):
    """coef = sum of alpha y x."""
    if features.itemsize == sizeof(float):
        return _combine_rows[float](features, sign, alpha, coef, partial, n_threads)
    return _combine_rows[double](features, sign, alpha, coef, partial, n_threads)


cdef void _strip_margins(const real[:, ::1] features, const signed char[::1] sign, const real[::1] coef,
                         double[::1] margins, Py_ssize_t strip) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(strip * STRIP, min((strip + 1) * STRIP, features.shape[0])):
        margins[i] = sign[i] * <double>dot(&features[i, 0], &coef[0], features.shape[1])


cdef _project_rows(
    const real[:, ::1] features, const signed char[::1] sign, const real[::1] coef, double[::1] margins, int n_threads,
):
    _check(features, sign)
    agree(coef.shape[0] == features.shape[1], "coef must have shape (width,)")
    agree(margins.shape[0] == features.shape[0], "margins must have shape (n_samples,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t b, strips = (features.shape[0] + STRIP - 1) // STRIP
    cdef Py_ssize_t each = 4 * STRIP * features.shape[1], first = 0, last, work = 0   # rows come from memory
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_margins(features, sign, coef, margins, b)
            look_at_signals(&work, (last - first) * each)
            first = last


def project_rows(
    features,       # IN   real (n_samples, width a multiple of LANES)
    sign,           # IN   signed char (n_samples,)
    coef,           # IN   real (width,)
    margins,        # OUT  double (n_samples,)
    int n_threads,
):
    """margins = y x . coef."""
    if features.itemsize == sizeof(float):
        return _project_rows[float](features, sign, coef, margins, n_threads)
    return _project_rows[double](features, sign, coef, margins, n_threads)


cdef Py_ssize_t _gram_scratch(Py_ssize_t width) noexcept nogil:
    return ((width + PANEL - 1) // PANEL * PANEL + width) * TILE


def gram_scratch(Py_ssize_t width):
    """Numbers of scratch that `weighted_gram` needs for each thread."""
    agree(width >= 1, "width must be at least 1")
    return _gram_scratch(width)


cdef _weighted_gram(
    const real[:, ::1] features, const double[::1] scale, double[:, :, ::1] partial, real[:, ::1] scratch,
    int n_threads,
):
    cdef Py_ssize_t c, i, j, n_shares = partial.shape[0], n_samples = features.shape[0]
    cdef Py_ssize_t width = features.shape[1]
    agree(width >= 1 and width % LANES == 0,
          "features must have a number of columns that is a multiple of LANE_COUNT")
    agree(scale.shape[0] == n_samples, "scale must have shape (n_samples,)")
    agree(n_shares >= 1 and partial.shape[1] == width and partial.shape[2] == width,
          "partial must have shape (n_shares, width, width)")
    agree(holds(scratch, n_threads, _gram_scratch(width)), "scratch must have shape (n_threads, gram_scratch(width))")
    agree(n_threads >= 1, "n_threads must be at least 1")
    # A share's packs of rows come in turn, and where one is much work, some rows of the matrix at a time.
    cdef Py_ssize_t each = (n_shares + n_threads - 1) // n_threads * TILE * TERMS * width, n_rows = width // TERMS
    cdef Py_ssize_t n_packs = at_once(each * n_rows), some = at_once(each), first, last, left = 1, work = 0
    cdef Py_ssize_t[::1] rows = np.arange(n_shares) * n_samples // n_shares
    with nogil:
        for c in range(n_shares):
            for i in range(width):
                partial[c, i] = 0
                look_at_signals(&work, 8 * width)   # fresh memory
        while left:
            first = 0
            while first < n_rows:
                last = min(n_rows, first + some)
                for c in prange(n_shares, schedule='dynamic', num_threads=n_threads):
                    share_gram(features, scale, partial[c], &rows[c], (c + 1) * n_samples // n_shares, n_packs, first,
                               last, &scratch[threadid(), 0])
                look_at_signals(&work, each * n_packs * (last - first))
                first = last
            left = 0
            for c in range(n_shares):
                left += rows[c] < (c + 1) * n_samples // n_shares
        for c in range(1, n_shares):
            for i in range(partial.shape[1]):
                for j in range(i + 1):
                    partial[0, i, j] += partial[c, i, j]
                look_at_signals(&work, 8 * i)


def weighted_gram(
    features,       # IN   real (n_samples, width a multiple of LANES)
    scale,          # IN   double (n_samples,) not negative
    partial,        # OUT  double (n_shares, width, width), the first of which gets the sum
    scratch,        # TEMP real (n_threads, gram_scratch), 0 beyond the width in its last panel
    int n_threads,
):
    """partial[0] = sum of scale x x', in its lower triangle; products of 128 rows are summed in `real`.

    128 rows are to their Gram matrix what a tile is to projections: four of their columns are the omegas.
    """
    if features.itemsize == sizeof(float):
        return _weighted_gram[float](features, scale, partial, scratch, n_threads)
    return _weighted_gram[double](features, scale, partial, scratch, n_threads)
