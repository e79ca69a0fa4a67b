"""Sums over rows that the solver of linear support vector machines is made of.

Products of features with vectors are summed in double precision, whatever the precision of the features: to the solver
single precision then is a property of the data, not of its arithmetic.
"""

from cython.parallel cimport prange, threadid

import numpy as np

from .core.checks cimport agree, holds
from .kernels.gram cimport PANEL, share_gram
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport LANES, TERMS, TILE, add_columns, column_products, real

use_team(team)

cdef enum:
    STRIP = 2048        # rows whose sums are added before others'

STRIP_ROWS = STRIP


cdef int _check(const real[:, ::1] features, const double[::1] coef, int n_threads) except -1:
    agree(features.shape[1] >= 1 and features.shape[1] % LANES == 0,
          "features must have a number of columns that is a multiple of LANE_COUNT")
    agree(coef.shape[0] == features.shape[1], "coef must have shape (width,)")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef void _strip_coef(const real[:, ::1] features, const double[::1] factor, Py_ssize_t strip,
                      double *sums) noexcept nogil:
    cdef Py_ssize_t i = strip * STRIP, j, n_rows, stop = min((strip + 1) * STRIP, features.shape[0])
    cdef Py_ssize_t width = features.shape[1]
    cdef bint matters
    for j in range(width):
        sums[j] = 0
    while i < stop:
        n_rows, matters = min(<Py_ssize_t>TERMS, stop - i), False
        for j in range(n_rows):
            matters = matters or factor[i + j] != 0
        if matters:
            add_columns(&features[i, 0], width, n_rows, &factor[i], width, sums)
        i += TERMS


cdef _combine_rows(const real[:, ::1] features, const double[::1] factor, double[::1] coef, double[:, ::1] partial,
                   int n_threads):
    cdef Py_ssize_t b, j, strips = (features.shape[0] + STRIP - 1) // STRIP
    _check(features, coef, n_threads)
    agree(factor.shape[0] == features.shape[0], "factor must have shape (n_samples,)")
    agree(holds(partial, strips, features.shape[1]), "partial must have shape (n_strips, width)")
    cdef Py_ssize_t each = 4 * STRIP * features.shape[1], first = 0, last, work = 0   # rows come from memory
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_coef(features, factor, b, &partial[b, 0])
            look_at_signals(&work, (last - first) * each)
            first = last
        for j in range(coef.shape[0]):
            coef[j] = 0
            for b in range(strips):
                coef[j] += partial[b, j]


def combine_rows(
    features,       # IN   real (n_samples, width a multiple of LANES)
    factor,         # IN   double (n_samples,)
    coef,           # OUT  double (width,)
    partial,        # TEMP double (n_strips, width)
    int n_threads,
):
    """coef = sum of factor x."""
    if features.itemsize == sizeof(float):
        return _combine_rows[float](features, factor, coef, partial, n_threads)
    return _combine_rows[double](features, factor, coef, partial, n_threads)


cdef void _strip_scores(const real[:, ::1] features, const double[::1] coef, double[::1] scores,
                        Py_ssize_t strip) noexcept nogil:
    cdef double pairs[2 * TERMS]   # of each sum two
    cdef Py_ssize_t i = strip * STRIP, j, n_rows, stop = min((strip + 1) * STRIP, features.shape[0])
    cdef Py_ssize_t width = features.shape[1]
    while i < stop:
        n_rows = min(<Py_ssize_t>TERMS, stop - i)
        column_products(&features[i, 0], width, n_rows, &coef[0], &coef[0], width, pairs)
        for j in range(n_rows):
            scores[i + j] = pairs[2 * j]
        i += TERMS


cdef _project_rows(const real[:, ::1] features, const double[::1] coef, double[::1] scores, int n_threads):
    _check(features, coef, n_threads)
    agree(scores.shape[0] == features.shape[0], "scores must have shape (n_samples,)")
    cdef Py_ssize_t b, strips = (features.shape[0] + STRIP - 1) // STRIP
    cdef Py_ssize_t each = 4 * STRIP * features.shape[1], first = 0, last, work = 0   # rows come from memory
    with nogil:
        while first < strips:
            last = min(strips, first + n_threads * at_once(each))
            for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _strip_scores(features, coef, scores, b)
            look_at_signals(&work, (last - first) * each)
            first = last


def project_rows(
    features,       # IN   real (n_samples, width a multiple of LANES)
    coef,           # IN   double (width,)
    scores,         # OUT  double (n_samples,)
    int n_threads,
):
    """scores = x . coef."""
    if features.itemsize == sizeof(float):
        return _project_rows[float](features, coef, scores, n_threads)
    return _project_rows[double](features, coef, scores, n_threads)


cdef Py_ssize_t _gram_scratch(Py_ssize_t width) noexcept nogil:
    return ((width + PANEL - 1) // PANEL * PANEL + width) * TILE


def gram_scratch(Py_ssize_t width):
    """Numbers of scratch that `weighted_gram` needs for each thread."""
    agree(width >= 1, "width must be at least 1")
    return _gram_scratch(width)


cdef _weighted_gram(
    const real[:, ::1] features, const double[::1] scale, double[:, :, ::1] partial, double[:, ::1] scratch,
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
    scratch,        # TEMP double (n_threads, gram_scratch), 0 beyond the width in its last panel
    int n_threads,
):
    """partial[0] = sum of scale x x', in its lower triangle.

    128 rows are to their Gram matrix what a tile is to projections: four of their columns are the omegas.
    """
    if features.itemsize == sizeof(float):
        return _weighted_gram[float](features, scale, partial, scratch, n_threads)
    return _weighted_gram[double](features, scale, partial, scratch, n_threads)
