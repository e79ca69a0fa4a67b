"""Landmark features of PBRFF: the sums from which their pseudo-posterior follows, and the features themselves."""

from cython.parallel cimport prange, threadid

from .core.checks cimport agree, are_indices, holds
from .core.signals cimport COSINE, at_once, look_at_signals
from .simd cimport team, use_team
from .core.tiles cimport (
    STRIP_TILES, TERMS, TILE, cospi, dot, evaluate, n_strips, project_terms, real, strip_start, strip_stop,
)

use_team(team)


cdef void _strip_cosines(
    const real[:, :, ::1] tiles, const real[:, :, ::1] targets, const Py_ssize_t[::1] group,
    const real[:, ::1] omegas, const real[::1] shifts, Py_ssize_t n_components, Py_ssize_t strip, Py_ssize_t tile,
    Py_ssize_t n_tiles, Py_ssize_t start, Py_ssize_t stop, double *sums,
) noexcept nogil:
    """The sums over a strip of the terms from `start` to `stop`; `start` is a multiple of TERMS.

    Over some tiles from a tile of the strip on, which are added to those before them.
    """
    cdef real h[TERMS * TILE]
    cdef Py_ssize_t j, k, m, q, t, n_features = tiles.shape[1]
    for m in range(start, stop if tile == 0 else start):
        sums[m] = 0
    for t in range(strip_start(strip) + tile, min(strip_start(strip) + tile + n_tiles,
                                                  strip_stop(strip, tiles.shape[0]))):
        for q in range((stop - start + TERMS - 1) // TERMS):
            m = start + q * TERMS
            project_terms(&tiles[t, 0, 0], n_features, TILE, &omegas[m, 0], &shifts[m], h)
            cospi(h, min(<Py_ssize_t>TERMS, stop - m) * TILE)
            for k in range(min(<Py_ssize_t>TERMS, stop - m)):
                j = group[(m + k) // n_components]
                sums[m + k] += dot(h + k * TILE, &targets[j, t, 0], TILE)


cdef inline Py_ssize_t _padded(Py_ssize_t n_terms) noexcept nogil:
    return (n_terms + TERMS - 1) // TERMS * TERMS


cdef int _check_terms(const real[:, :, ::1] tiles, const real[:, ::1] omegas, const real[::1] shifts,
                      Py_ssize_t n_read) except -1:
    """Raise ValueError unless there are as many terms as are read."""
    agree(tiles.shape[1] >= 1 and tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(omegas.shape[0] >= n_read and omegas.shape[1] == tiles.shape[1],
          "omegas must have shape (n_terms padded to a multiple of TERM_MULTIPLES[0], n_features)")
    return agree(shifts.shape[0] == omegas.shape[0], "shifts must have an entry per row of omegas")


cdef _weighted_cosines(
    const real[:, :, ::1] tiles, const real[:, :, ::1] targets, const Py_ssize_t[::1] group,
    const real[:, ::1] omegas, const real[::1] shifts, Py_ssize_t n_components, double[::1] sums,
    double[:, ::1] partial, int n_threads,
):
    cdef Py_ssize_t n_terms = group.shape[0] * n_components
    agree(n_components >= 1, "n_components must be at least 1")
    _check_terms(tiles, omegas, shifts, _padded(n_terms))
    agree(targets.shape[1] == tiles.shape[0] and targets.shape[2] == TILE,
          "targets must have shape (n_groups, n_tiles, 128)")
    agree(are_indices(group, targets.shape[0]), "group must hold indices of targets")
    agree(sums.shape[0] == n_terms, "sums must have shape (n_terms,)")
    agree(holds(partial, n_strips(tiles.shape[0]), n_terms), "partial must have shape (n_strips, n_terms)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t b, m, tile, strips = n_strips(tiles.shape[0]), first, last, stop, start = 0, work = 0
    cdef Py_ssize_t each = TILE * STRIP_TILES * TERMS * (tiles.shape[1] + COSINE)   # of TERMS terms
    cdef Py_ssize_t some = n_threads * at_once(each * (_padded(n_terms) // TERMS))
    cdef Py_ssize_t n_tiles = min(<Py_ssize_t>STRIP_TILES, at_once(each // STRIP_TILES))   # of a strip
    with nogil:
        while start < n_terms:
            stop = min(n_terms, start + TERMS * at_once(each))
            first = 0
            while first < strips:
                last = min(strips, first + some)
                tile = 0
                while tile < STRIP_TILES:
                    for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                        _strip_cosines(tiles, targets, group, omegas, shifts, n_components, b, tile, n_tiles, start,
                                       stop, &partial[b, 0])
                    tile += n_tiles
                    look_at_signals(&work, (last - first) * each * ((stop - start + TERMS - 1) // TERMS)
                                    // (STRIP_TILES // n_tiles))
                first = last
            start = stop
        for b in range(strips):
            for m in range(sums.shape[0]):
                sums[m] += partial[b, m]


def weighted_cosines(
    tiles,                     # IN   real (n_tiles, n_features, TILE)
    targets,                   # IN   real (n_groups, n_tiles, TILE) weight y for each label y of a landmark, 0 padded
    group,                     # IN   Py_ssize_t (n_landmarks,) which targets belong to the label of a landmark
    omegas,                    # IN   real (n_terms padded with 0 to a multiple of TERMS, n_features) half turns
    shifts,                    # IN   real (as many,) half turns
    Py_ssize_t n_components,   # terms of each landmark
    sums,                      # OUT  double (n_terms,) increased
    partial,                   # TEMP double (n_strips, >= n_terms)
    int n_threads,
):
    """Add the sums over rows of target cos(omega . (x - x_l)), from which the losses of all terms follow."""
    if tiles.itemsize == sizeof(float):
        return _weighted_cosines[float](tiles, targets, group, omegas, shifts, n_components, sums, partial, n_threads)
    return _weighted_cosines[double](tiles, targets, group, omegas, shifts, n_components, sums, partial, n_threads)


cdef void _tile_features(
    const real *tile, Py_ssize_t n_features, const real[:, ::1] omegas, const real[::1] shifts,
    const real[:, ::1] posterior, real[:, ::1] out, Py_ssize_t row, Py_ssize_t n_rows, Py_ssize_t start,
    Py_ssize_t stop, Py_ssize_t first, Py_ssize_t last, real *h,
) noexcept nogil:
    """Features of the landmarks from `start` to `stop`: components `first` to `last` are added to those before."""
    cdef Py_ssize_t i, m, n_components = posterior.shape[1]
    for i in range(n_rows if first else 0):
        for m in range(start, stop):
            h[m * TILE + i] = out[row + i, m]
    for m in range(start, stop):
        evaluate(tile, tile, n_features, &omegas[m * n_components, 0], &shifts[m * n_components], &posterior[m, 0],
                 n_components, first, last, h + m * TILE)
    for i in range(n_rows):
        for m in range(start, stop):
            out[row + i, m] = h[m * TILE + i]


cdef _landmark_features(
    const real[:, :, ::1] tiles, const real[:, ::1] omegas, const real[::1] shifts, const real[:, ::1] posterior,
    real[:, ::1] out, real[:, ::1] scratch, int n_threads,
):
    cdef Py_ssize_t n_components = posterior.shape[1]
    agree(posterior.shape[0] >= 1 and n_components >= 1, "posterior must have shape (n_landmarks, n_components)")
    # Several terms of a landmark are read in whole groups of TERMS, the last of which may end beyond its terms.
    _check_terms(tiles, omegas, shifts, (posterior.shape[0] - 1) * n_components
                 + (_padded(n_components) if n_components > 1 else 1))
    agree((out.shape[0] + TILE - 1) // TILE == tiles.shape[0] and out.shape[1] >= posterior.shape[0],
          "out must have a row per packed row and a column per landmark")
    agree(holds(scratch, n_threads, posterior.shape[0] * TILE),
          "scratch must have shape (n_threads, n_landmarks * 128)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    cdef Py_ssize_t t, n_tiles = tiles.shape[0], n_landmarks = posterior.shape[0]
    cdef Py_ssize_t first, last, stop, component, start = 0, work = 0
    cdef Py_ssize_t each = TILE * n_components * (tiles.shape[1] + COSINE)   # of a landmark
    cdef Py_ssize_t some = n_threads * at_once(each * n_landmarks)
    cdef Py_ssize_t n_at_once = TERMS * at_once(TERMS * (each // n_components))   # components of a landmark
    with nogil:
        while start < n_landmarks:
            stop = min(n_landmarks, start + at_once(each))
            first = 0
            while first < n_tiles:
                last = min(n_tiles, first + some)
                component = 0
                while component < n_components:
                    for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                        _tile_features(&tiles[t, 0, 0], tiles.shape[1], omegas, shifts, posterior, out, t * TILE,
                                       min(<Py_ssize_t>TILE, out.shape[0] - t * TILE), start, stop, component,
                                       min(n_components, component + n_at_once), &scratch[threadid(), 0])
                    look_at_signals(&work, (last - first) * (stop - start) * each // n_components
                                    * min(n_components - component, n_at_once))
                    component += n_at_once
                first = last
            start = stop


def landmark_features(
    tiles,           # IN   real (n_tiles, n_features, TILE)
    omegas,          # IN   real (n_terms and 2 TERMS or more of 0, n_features) half turns
    shifts,          # IN   real (as many,) half turns
    posterior,       # IN   real (n_landmarks, n_components), rows sum to 1
    out,             # OUT  real (n_samples, >= n_landmarks)
    scratch,         # TEMP real (n_threads, n_landmarks * TILE)
    int n_threads,
):
    """out[i, l] = sum over j of posterior[l, j] cos(omega_lj . (x_l - x_i))."""
    if tiles.itemsize == sizeof(float):
        return _landmark_features[float](tiles, omegas, shifts, posterior, out, scratch, n_threads)
    return _landmark_features[double](tiles, omegas, shifts, posterior, out, scratch, n_threads)
