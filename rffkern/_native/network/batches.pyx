"""Mini-batch steps of RFFNet, Algorithm 1: coefficients, then relevances, by proximal steps with Adam's moments.

The network is f(x) = sum over k of coefficients[k] cos(omegas[k] . (relevances * x) - shifts[k]).  Cosines and sines of
a batch are computed once and stay in cache: neither block of parameters moves the angles before both have stepped.
Rows of a batch are stored in tiles, in the layout of `project_terms`, and every product is one of a tile: cosines are a
tile whose features are the terms, and the gradient along the angles another.
"""

from cython.parallel cimport prange

from .core.tiles cimport (
    TERMS, TILE, add_scaled, combine, dot, products, project_terms, proximal_step, real, sincospi, weigh,
)
from .core.checks cimport agree, holds
from .network.checks cimport Source, check_network, check_rows, source_of
from .network.layout cimport GROUP, Layout, each_group, layout_of, scale_rows, width_of
from .rffnet cimport Loss
from .core.signals cimport at_once, look_at_signals
from .simd cimport team, use_team

use_team(team)

TERM_GROUP = GROUP

# In units of the spread of a column.  Rows of equal weight lie within the root of their number; values farther out, of
# other rows, would move Adam's mean squares for good.
cdef double LARGEST = 1e4

LARGEST_VALUE = LARGEST


def scratch_sizes(Py_ssize_t n_features, Py_ssize_t padded_terms, Py_ssize_t n_outputs, Py_ssize_t batch_size):
    """Numbers of scratch that `train_rows` wants for every TILE rows of a batch, in `real` and in double."""
    agree(min(n_features, padded_terms, n_outputs, batch_size) >= 1, "sizes must be at least 1")
    return layout_of(n_features, padded_terms, n_outputs, batch_size).end, 1 + 2 * n_outputs


cdef void _pack(const Source *X, const Py_ssize_t *order, Py_ssize_t n_rows, const double[::1] center,
                const double[::1] inverse_scale, real *rows) noexcept nogil:
    cdef Py_ssize_t i, j, at, width = width_of(n_rows)
    cdef double value
    for i in range(n_rows):
        at = order[i] * X.n_features
        for j in range(X.n_features):
            value = X.doubles[at + j] if X.singles == NULL else X.singles[at + j]
            value = (value - center[j]) * inverse_scale[j]
            rows[j * width + i] = <real>min(max(value, -LARGEST), LARGEST)
    for j in range(X.n_features):
        for i in range(n_rows, width):
            rows[j * width + i] = 0


cdef void _project(const Layout *at, real *work, Py_ssize_t n_rows, const real[:, ::1] omegas,
                   const real[::1] shifts, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Cosines and sines of the terms in the groups from `start` to `stop`."""
    cdef Py_ssize_t k, group, width = width_of(n_rows)
    for group in range(start * (GROUP // TERMS), stop * (GROUP // TERMS)):
        k = group * TERMS
        project_terms(work + at.scaled, at.n_features, width, &omegas[k, 0], &shifts[k], work + at.term)
        sincospi(work + at.term, TERMS * width, work + at.sine + k * width, work + at.cosine + k * width)


cdef double _descend_scores(Loss loss, const Layout *at, real *work, const Py_ssize_t *order, Py_ssize_t n_rows,
                            Py_ssize_t n_batch, const real *coefficients, const double[:, ::1] targets,
                            const double[::1] weight, double *row) noexcept nogil:
    """Scores of all rows, and the gradient along them; return the sum of weighted losses."""
    cdef Py_ssize_t i, o, width = width_of(n_rows)
    cdef double total = 0, row_weight = 1
    for o in range(at.n_outputs):
        combine(work + at.cosine, at.padded_terms, width, coefficients + o * at.padded_terms,
                work + at.score + o * width)
        for i in range(n_rows, width):
            work[at.gradient + o * width + i] = 0
    for i in range(n_rows):
        for o in range(at.n_outputs):
            row[o] = work[at.score + o * width + i]
        if weight.shape[0]:
            row_weight = weight[order[i]]
        total += row_weight * loss.row(row, &targets[order[i], 0], at.n_outputs, row + at.n_outputs)
        for o in range(at.n_outputs):
            work[at.gradient + o * width + i] = <real>(row_weight / n_batch * row[at.n_outputs + o])
    return total


cdef void _coefficient_gradient(const Layout *at, real *work, Py_ssize_t n_rows) noexcept nogil:
    cdef Py_ssize_t o, width = width_of(n_rows)
    for o in range(at.n_outputs):
        products(work + at.cosine, at.padded_terms, width, work + at.gradient + o * width,
                 work + at.coefficient_gradient + o * at.padded_terms)


cdef void _relevance_gradient(const Layout *at, real *work, Py_ssize_t n_rows, const real *coefficients,
                              const real[:, :, ::1] groups, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Through the gradient along all angles, and that along each relevance times feature.

    Of the terms in the groups from `start` to `stop`; the gradient follows from the sums over all.
    """
    cdef real zeros[TERMS]
    cdef Py_ssize_t i, j, k, g, width = width_of(n_rows)
    for k in range(TERMS):
        zeros[k] = 0
    for i in range(at.padded_features * width if start == 0 else 0):
        work[at.turned + i] = 0
    for g in range(start, stop):
        k = g * GROUP
        weigh(work + at.sine + k * width, GROUP, width, coefficients + k, at.padded_terms, at.n_outputs,
              work + at.gradient)
        for j in range(at.padded_features // TERMS):
            project_terms(work + at.sine + k * width, GROUP, width, &groups[g, j * TERMS, 0], zeros, work + at.term)
            add_scaled(work + at.term, TERMS * width, 1, work + at.turned + j * TERMS * width)
    for j in range(at.n_features if stop == at.padded_terms // GROUP else 0):
        work[at.relevance_gradient + j] = -dot(work + at.rows + j * width, work + at.turned + j * width, width)


cdef int _add_tiles(real[:, ::1] work, Py_ssize_t start, Py_ssize_t size, Py_ssize_t n_tiles,
                    Py_ssize_t *since) except -1 nogil:
    """Sums over tiles, in their order, into the first."""
    cdef Py_ssize_t t, i
    for t in range(1, n_tiles):
        for i in range(size):
            work[0, start + i] += work[t, start + i]
        look_at_signals(since, 4 * size)   # from memory
    return 0


cdef void _step_coefficients(const Layout *at, const real *work, real[:, :, ::1] coefficients, Py_ssize_t n_terms,
                             double n_steps, double rate, double constant_rate, double ridge) noexcept nogil:
    """The constant, which follows the terms, has no penalty."""
    cdef const real *gradient
    cdef Py_ssize_t o
    for o in range(at.n_outputs):
        gradient = work + at.coefficient_gradient + o * at.padded_terms
        proximal_step(&coefficients[0, o, 0], &coefficients[1, o, 0], &coefficients[2, o, 0], gradient, n_terms,
                      n_steps, <real>rate, <real>ridge, 0)
        proximal_step(&coefficients[0, o, n_terms], &coefficients[1, o, n_terms], &coefficients[2, o, n_terms],
                      gradient + n_terms, 1, n_steps, <real>constant_rate, 0, 0)


cdef int _descend_relevances(const Layout *at, real[:, ::1] work, Py_ssize_t n_batch, Py_ssize_t n_tiles,
                             const real *coefficients, const real[:, :, ::1] groups, int n_threads,
                             Py_ssize_t *since) except -1 nogil:
    """The gradient of all tiles of a batch along the relevances, a bounded number of terms at a time."""
    cdef Py_ssize_t t, last, stop, start, first = 0, n_groups = at.padded_terms // GROUP, each = each_group(at, n_batch)
    while first < n_tiles:
        last = min(n_tiles, first + n_threads * at_once(each * n_groups))
        start = 0
        while start < n_groups:
            stop = min(n_groups, start + at_once(each))
            for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                _relevance_gradient(at, &work[t, 0], min(<Py_ssize_t>TILE, n_batch - t * TILE), coefficients, groups,
                                    start, stop)
            look_at_signals(since, (last - first) * (stop - start) * each)
            start = stop
        first = last
    return 0


cdef double _train_rows(
    Loss loss, const Source *X, const Py_ssize_t[::1] order, const double[::1] center, const double[::1] inverse_scale,
    const double[:, ::1] targets, const double[::1] weight, const real[:, ::1] omegas, const real[:, :, ::1] groups,
    const real[::1] shifts, real[:, :, ::1] coefficients, real[:, ::1] relevances, Py_ssize_t n_terms,
    Py_ssize_t batch_size, double n_steps, double coefficient_rate, double constant_rate, double relevance_rate,
    double ridge, double lasso, real[:, ::1] work, double[:, ::1] sums, int n_threads,
) except? -1:
    cdef Py_ssize_t b, t, row, n_batch, n_tiles, n_rows, first, last, start, stop, since = 0
    cdef double total = 0
    cdef Layout at = layout_of(X.n_features, omegas.shape[0], coefficients.shape[1], batch_size)
    cdef Py_ssize_t each = each_group(&at, min(batch_size, order.shape[0])), n_groups = at.padded_terms // GROUP
    cdef Py_ssize_t each_score = TILE * at.n_outputs * at.padded_terms   # of a tile
    agree(batch_size >= 1, "batch_size must be at least 1")
    check_rows(loss, X, order, center, inverse_scale, targets, weight, coefficients.shape[1])
    check_network(omegas, groups, shifts, coefficients, relevances, X.n_features, n_terms)
    n_tiles = (min(batch_size, order.shape[0]) + TILE - 1) // TILE
    agree(holds(work, n_tiles, at.end), "work must have shape (tiles of a batch, scratch_sizes[0])")
    agree(holds(sums, n_tiles, 1 + 2 * at.n_outputs), "sums must have shape (tiles of a batch, scratch_sizes[1])")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        for b in range((order.shape[0] + batch_size - 1) // batch_size):
            row = b * batch_size
            n_batch = min(batch_size, order.shape[0] - row)
            n_tiles = (n_batch + TILE - 1) // TILE
            n_steps += 1
            first = 0
            while first < n_tiles:
                last = min(n_tiles, first + n_threads * at_once(each * n_groups))
                start = 0
                while start < n_groups:
                    stop = min(n_groups, start + at_once(each))
                    for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                        n_rows = min(<Py_ssize_t>TILE, n_batch - t * TILE)
                        if start == 0:
                            _pack(X, &order[row + t * TILE], n_rows, center, inverse_scale, &work[t, at.rows])
                            scale_rows(&at, &work[t, 0], n_rows, &relevances[0, 0])
                        _project(&at, &work[t, 0], n_rows, omegas, shifts, start, stop)
                        if stop == n_groups:
                            sums[t, 0] = _descend_scores(
                                loss, &at, &work[t, 0], &order[row + t * TILE], n_rows, n_batch,
                                &coefficients[0, 0, 0], targets, weight, &sums[t, 1])
                            _coefficient_gradient(&at, &work[t, 0], n_rows)
                    look_at_signals(&since, (last - first) * (stop - start) * each)
                    start = stop
                first = last
            for t in range(n_tiles):
                total += sums[t, 0]
            _add_tiles(work, at.coefficient_gradient, at.n_outputs * at.padded_terms, n_tiles, &since)
            _step_coefficients(&at, &work[0, 0], coefficients, n_terms, n_steps, coefficient_rate, constant_rate, ridge)
            # The gradient along the relevances is taken where the step on the coefficients has led to (Algorithm 1).
            first = 0
            while first < n_tiles:
                last = min(n_tiles, first + n_threads * at_once(each_score))
                for t in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    _descend_scores(loss, &at, &work[t, 0], &order[row + t * TILE],
                                    min(<Py_ssize_t>TILE, n_batch - t * TILE), n_batch, &coefficients[0, 0, 0],
                                    targets, weight, &sums[t, 1])
                look_at_signals(&since, (last - first) * each_score)
                first = last
            _descend_relevances(&at, work, n_batch, n_tiles, &coefficients[0, 0, 0], groups, n_threads, &since)
            _add_tiles(work, at.relevance_gradient, at.n_features, n_tiles, &since)
            proximal_step(&relevances[0, 0], &relevances[1, 0], &relevances[2, 0], &work[0, at.relevance_gradient],
                          at.n_features, n_steps, <real>relevance_rate, 0, <real>lasso)
    return total


def train_rows(
    Loss loss,
    X,                              # IN    float or double (n_samples, n_features)
    order,                          # IN    Py_ssize_t (n_visited,) rows in the order in which batches take them
    center,                         # IN    double (n_features,)
    inverse_scale,                  # IN    double (n_features,)
    targets,                        # IN    double (n_samples, n_targets)
    weight,                         # IN    double (n_samples,), or (0,) for 1
    omegas,                         # IN    real (padded_terms, n_features)
    groups,                         # IN    real (padded_terms / GROUP, padded_features, GROUP) omegas, transposed
    shifts,                         # IN    real (padded_terms,) half turns
    coefficients,                   # INOUT real (3, n_outputs, padded_terms) values, mean and mean square of gradients
    relevances,                     # INOUT real (3, n_features) the same
    Py_ssize_t n_terms,             # the term after these is constant, and later ones are padding
    Py_ssize_t batch_size,
    double n_steps,                 # taken before
    double coefficient_rate,
    double constant_rate,
    double relevance_rate,
    double ridge,                   # mu
    double lasso,                   # penalty on |relevances|
    work,                           # TEMP  real (tiles of a batch, scratch_sizes[0])
    sums,                           # TEMP  double (tiles of a batch, scratch_sizes[1])
    int n_threads,
):
    """One pass over rows, a batch at a time, the last of which may be smaller; return the sum of weighted losses.

    The loss of a row is measured before its batch's step.  Bits do not depend on the number of threads.
    """
    cdef Source source = source_of(X, None) if X.itemsize == sizeof(float) else source_of(None, X)
    if omegas.itemsize == sizeof(float):
        return _train_rows[float](loss, &source, order, center, inverse_scale, targets, weight, omegas, groups, shifts,
                                  coefficients, relevances, n_terms, batch_size, n_steps, coefficient_rate,
                                  constant_rate, relevance_rate, ridge, lasso, work, sums, n_threads)
    return _train_rows[double](loss, &source, order, center, inverse_scale, targets, weight, omegas, groups, shifts,
                               coefficients, relevances, n_terms, batch_size, n_steps, coefficient_rate, constant_rate,
                               relevance_rate, ridge, lasso, work, sums, n_threads)
