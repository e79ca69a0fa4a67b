"""Random draws of boosting: sets of columns by their relevances, and the omegas of candidates over them.

All are made of uniform numbers of a generator of NumPy, as its `random()` gives them, in an order that
docs/algorithms/fourier_boosting.md tells.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport cos, exp, expm1, log, log1p, sin, sqrt
from libc.stdint cimport uint8_t

from .core.checks cimport agree, has_shape

cdef extern from *:
    """
    /* What the capsule of a bit generator of NumPy points to: numpy/random/bitgen.h. */
    typedef struct {
        void *state;
        uint64_t (*next_uint64)(void *);
        uint32_t (*next_uint32)(void *);
        double (*next_double)(void *);
        uint64_t (*next_raw)(void *);
    } bit_generator;
    """
    ctypedef struct bit_generator:
        void *state
        double (*next_double)(void *) noexcept nogil

cdef double TAU = 6.283185307179586


cdef bit_generator *_bits_of(object generator) except NULL:
    return <bit_generator *>PyCapsule_GetPointer(generator.bit_generator.capsule, "BitGenerator")


cdef inline double _uniform(bit_generator *bits) noexcept nogil:
    return bits.next_double(bits.state)


def draw_below(object generator, Py_ssize_t stop):
    """One of the numbers from 0 to stop - 1."""
    agree(stop >= 1, "stop must be at least 1")
    return min(<Py_ssize_t>(_uniform(_bits_of(generator)) * stop), stop - 1)


cdef void _find_chances(const double[::1] relevances, double equal_share, double[:, ::1] chances) noexcept nogil:
    """chances[0]: of each column; chances[1]: their sums up to it."""
    cdef Py_ssize_t j, n = relevances.shape[0]
    cdef double total = 0, sum = 0
    for j in range(n):
        total += relevances[j]
    if not total > 0:
        total, equal_share = 1, 1
    for j in range(n):
        chances[0, j] = equal_share / n + (1 - equal_share) / total * relevances[j]
        sum += chances[0, j]
        chances[1, j] = sum


cdef void _draw_set(bit_generator *bits, const double[:, ::1] chances, double fewest, double most,
                    uint8_t[::1] chosen) noexcept nogil:
    """One column in any case, and others for a log-uniform size."""
    cdef Py_ssize_t j, low = 0, high = chances.shape[1] - 1, middle
    while high > 0 and not chances[0, high] > 0:   # which rounding of `place` must not lead to
        high -= 1
    cdef double times = fewest * exp(_uniform(bits) * log(most / fewest))
    cdef double place = _uniform(bits) * chances[1, high], chance = -1, bound = 0
    while low < high:
        middle = (low + high) // 2
        if chances[1, middle] > place:
            high = middle
        else:
            low = middle + 1
    for j in range(chances.shape[1]):
        if chances[0, j] != chance:   # equal ones follow each other where there are many without relevance
            chance = chances[0, j]
            bound = -expm1(-times * chance)
        chosen[j] = _uniform(bits) < bound
    chosen[low] = True


cdef int _check_draws(const double[::1] relevances, double equal_share, double fewest_draws, double most_draws,
                      uint8_t[::1] chosen, double[:, ::1] chances) except -1:
    agree(relevances.shape[0] >= 1, "relevances must have shape (n_sources,)")
    agree(0 <= equal_share <= 1, "equal_share must be from 0 to 1")
    agree(0 < fewest_draws <= most_draws, "draws must be above 0, and the most no fewer than the fewest")
    agree(chosen.shape[0] == relevances.shape[0], "chosen must have shape (n_sources,)")
    return agree(has_shape(chances, 2, relevances.shape[0]), "chances must have shape (2, n_sources)")


def draw_columns(
    object generator,
    const double[::1] relevances,       # IN   (n_sources,)
    double equal_share,                 # of the chance of a column that does not depend on its relevance
    double fewest_draws,
    double most_draws,
    uint8_t[::1] chosen,                # OUT  (n_sources,) 1 for columns of the set
    double[:, ::1] chances,             # TEMP (2, n_sources)
):
    """Draw a set of columns: one by its chance, and each besides as if drawn m times, m log-uniform.

    Draws with replacement: a large set is not filled up with columns that were good for nothing.
    """
    _check_draws(relevances, equal_share, fewest_draws, most_draws, chosen, chances)
    cdef bit_generator *bits = _bits_of(generator)
    with nogil:
        _find_chances(relevances, equal_share, chances)
        _draw_set(bits, chances, fewest_draws, most_draws, chosen)


def draw_candidates(
    object generator,
    const double[::1] relevances,       # IN   (n_sources,)
    double equal_share,                 # of the chance of a column that does not depend on its relevance
    double fewest_draws,
    double most_draws,
    const Py_ssize_t[::1] sources,      # IN   (n_columns,)
    double lowest_scale,
    double highest_scale,
    double reg_lambda,
    double[:, ::1] omegas,              # OUT  (n_candidates, n_columns) 0 outside the set
    double[::1] reg_lambdas,            # OUT  (n_candidates,)
    uint8_t[::1] chosen,                # TEMP (n_sources,)
    double[:, ::1] chances,             # TEMP (2, n_sources)
):
    """Draw a set of columns for each candidate as `draw_columns`, a scale u, and omega over the set.

    Omega is normal, of variance 2^(1 + u) over the number of columns; its ridge is reg_lambda / 2^(u / 2).
    """
    _check_draws(relevances, equal_share, fewest_draws, most_draws, chosen, chances)
    agree(omegas.shape[1] == sources.shape[0] >= 1, "omegas must have shape (n_candidates, n_columns)")
    agree(are_indices(sources, relevances.shape[0]), "sources must be columns of the raw table")
    agree(reg_lambdas.shape[0] == omegas.shape[0], "reg_lambdas must have shape (n_candidates,)")
    cdef bit_generator *bits = _bits_of(generator)
    cdef Py_ssize_t m, j, n_chosen
    cdef double scale, spread, length, angle, other
    cdef bint has_other
    with nogil:
        _find_chances(relevances, equal_share, chances)
        for m in range(omegas.shape[0]):
            _draw_set(bits, chances, fewest_draws, most_draws, chosen)
            scale = lowest_scale + (highest_scale - lowest_scale) * _uniform(bits)
            reg_lambdas[m] = reg_lambda / 2.0 ** (scale / 2)
            n_chosen = 0
            for j in range(sources.shape[0]):
                n_chosen += chosen[sources[j]]
            spread = sqrt(2 * 2.0**scale / max(n_chosen, <Py_ssize_t>1))
            has_other = False
            for j in range(sources.shape[0]):
                omegas[m, j] = 0
                if chosen[sources[j]]:   # normal numbers in pairs, by the method of Box and Muller
                    if has_other:
                        omegas[m, j] = other
                    else:
                        length = spread * sqrt(-2 * log1p(-_uniform(bits)))
                        angle = TAU * _uniform(bits)
                        omegas[m, j], other = length * cos(angle), length * sin(angle)
                    has_other = not has_other


def add_relevances(
    double[::1] relevances,             # IN/OUT (n_sources,)
    const Py_ssize_t[::1] sources,      # IN   (n_columns,)
    const Py_ssize_t[::1] columns,      # IN   (size,) which may come several times
    const double[::1] values,           # IN   (size,)
    double factor,
):
    """relevances[sources[columns]] += factor times values."""
    cdef Py_ssize_t i
    agree(are_indices(sources, relevances.shape[0]), "sources must be columns of the raw table")
    agree(are_indices(columns, sources.shape[0]), "columns must be indices of sources")
    agree(values.shape[0] == columns.shape[0], "values must have the length of columns")
    for i in range(columns.shape[0]):
        relevances[sources[columns[i]]] += factor * values[i]


def add_square_relevances(
    double[::1] relevances,             # IN/OUT (n_sources,)
    const Py_ssize_t[::1] sources,      # IN   (n_columns,)
    const Py_ssize_t[::1] columns,      # IN   (size,) which may come several times
    const double[:, ::1] values,        # IN   (n_outputs, size)
    double factor,
):
    """relevances[sources[columns]] += factor times the sum over outputs of the squares of values."""
    cdef Py_ssize_t i, k
    agree(are_indices(sources, relevances.shape[0]), "sources must be columns of the raw table")
    agree(are_indices(columns, sources.shape[0]), "columns must be indices of sources")
    agree(values.shape[1] == columns.shape[0], "values must have shape (n_outputs, size)")
    for k in range(values.shape[0]):
        for i in range(columns.shape[0]):
            relevances[sources[columns[i]]] += factor * values[k, i] * values[k, i]
