"""Checks of the arguments of landmark.pyx."""

from ..core.checks cimport agree, has_shape, holds, is_tiled, weighs_tiles
from ..core.tiles cimport LANES, TERMS, TILE, n_strips, real


cdef inline int check_rff(
    const real[:, :, ::1] tiles, const double[:, ::1] omegas, real[:, :, ::1] rff, real[:, ::1] scaled, int n_threads,
) except -1:
    """Raise ValueError unless the arrays of which `rff` is made agree."""
    cdef Py_ssize_t n_tiles = tiles.shape[0], n_components = omegas.shape[0]
    agree(tiles.shape[2] == TILE, "tiles must have shape (n_tiles, n_features, 128)")
    agree(has_shape(omegas, n_components, tiles.shape[1]), "omegas must have shape (n_components, n_features)")
    agree(rff.shape[0] == n_tiles and rff.shape[1] == 2 * n_components and rff.shape[2] == TILE,
          "rff must have shape (n_tiles, 2 n_components, 128)")
    agree(has_shape(scaled, (n_components + TERMS - 1) // TERMS * TERMS, tiles.shape[1]),
          "scaled must have shape (n_components padded to a multiple of TERM_MULTIPLES[0], n_features)")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef inline int check_losses(
    const real[:, :, ::1] rff, const real[:, ::1] r, const real[:, ::1] weight, real[::1] direction,
    double[:, ::1] partial, Py_ssize_t n_sums, int n_threads,
) except -1:
    """Raise ValueError unless the arrays that the losses of a landmark are made of agree."""
    cdef Py_ssize_t n_tiles = rff.shape[0]
    agree(rff.shape[1] >= 2 and rff.shape[1] % 2 == 0 and rff.shape[2] == TILE,
          "rff must have shape (n_tiles, 2 n_components, 128)")
    agree(is_tiled(r, n_tiles), "r must have shape (n_tiles, 128)")
    agree(weighs_tiles(weight, n_tiles), "weight must have shape (n_tiles, 128) or (2, 128)")
    agree(direction.shape[0] >= rff.shape[1], "direction must have 2 n_components entries")
    agree(holds(partial, n_strips(n_tiles), n_sums), "partial must have a row per strip, with an entry per sum")
    return agree(n_threads >= 1, "n_threads must be at least 1")


cdef inline int check_landmark(
    const real[:, :, ::1] rff, const double[:, ::1] basis, const double[::1] x, double[::1] u, real[:, ::1] lanes,
    int n_threads,
) except -1:
    """Raise ValueError unless a landmark, or its phases, agrees with `rff`."""
    cdef Py_ssize_t n_components = rff.shape[1] // 2
    agree(u.shape[0] >= n_components and u.shape[0] % LANES == 0,
          "u must have n_components entries, padded to a multiple of LANE_COUNT")
    agree(basis.shape[0] == 0 or basis.shape[1] == u.shape[0], "basis must have shape (n_features, len(u)) or (0, any)")
    agree(x.shape[0] == (basis.shape[0] if basis.shape[0] else n_components),
          "x must have shape (n_features,), or (n_components,) where basis is empty")
    return agree(holds(lanes, n_threads, rff.shape[1] * LANES),
                 "lanes must have shape (n_threads, 2 n_components * LANE_COUNT)")
