"""Losses of boosting at all rows of a bag, in single precision: steps along a term, gradients and Hessians.

Rows from 0 to n_train are training rows, the others validation rows; both are padded with rows of weight 0, which may
hold anything.  boost_rows.h has the formulas.
"""

from cython.parallel cimport prange
from libc.math cimport fabs, isfinite

from .boost.boost_rows cimport (
    VB_HUBER, VB_LOSS_NAMES, VB_N_LOSSES, VB_QUANTILE, VB_SOFTMAX, VB_TWEEDIE, derivatives, update_rows, vb_loss,
    vb_rows,
)
from .core.checks cimport agree, has_shape
from .core.signals cimport COSINE, at_once, look_at_signals
from .core.tiles cimport TILE

cdef enum:
    STRIP_TILES = 64   # of a strip at least, whose sums one thread computes
    MOST_STRIPS = 64

LOSSES = {name: number for number, name in enumerate(VB_LOSS_NAMES.decode().lower().split())}


cdef int _check(
    int loss, const float[::1] parameters, const float[:, ::1] scores, const float[:, ::1] directions, double step,
    const float[::1] targets, const float[::1] weight, Py_ssize_t n_train,
    int n_threads,
) except -1:
    cdef Py_ssize_t n_outputs = scores.shape[0], n = scores.shape[1], k
    agree(0 <= loss < VB_N_LOSSES, "loss must be one of the losses of this module")
    agree(parameters.shape[0] == n_outputs and n_outputs >= 1, "parameters must have shape (n_outputs,)")
    for k in range(n_outputs):
        agree(loss != VB_HUBER or parameters[k] > 0,
              "parameters must be above 0: the residuals from which the loss is linear")
        agree(loss != VB_QUANTILE or 0 < parameters[k] < 1, "parameters must be quantiles between 0 and 1")
        agree(loss != VB_TWEEDIE or 1 < parameters[k] <= 2, "parameters must be powers above 1, at most 2")
    agree(n % TILE == 0, "scores must have shape (n_outputs, n), n a multiple of 128")
    agree(has_shape(directions, n_outputs, n), "directions must have the shape of scores")
    agree(isfinite(step), "step must be finite")
    agree(targets.shape[0] == n, "targets must have shape (n,)")
    agree(weight.shape[0] == n, "weight must have shape (n,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    return agree(0 <= n_train <= n and n_train % TILE == 0, "n_train must be a multiple of 128, at most n")


cdef vb_rows _rows(
    int loss, const float[:, ::1] scores, const float[:, ::1] directions, double step, const float[::1] targets,
    const float[::1] weight,
) noexcept:
    cdef vb_rows rows
    rows.loss, rows.parameter, rows.step = <vb_loss>loss, 0, <float>step
    rows.n_outputs, rows.stride = scores.shape[0], scores.shape[1]
    rows.scores, rows.directions = <float *>&scores[0, 0], &directions[0, 0]
    rows.targets, rows.weight = &targets[0], &weight[0]
    return rows


cdef inline Py_ssize_t _strip_rows(Py_ssize_t n) noexcept nogil:
    """Rows of a strip: as many whatever the number of threads, so that sums of strips, in order, have the same bits."""
    return TILE * max(<Py_ssize_t>STRIP_TILES, (n // TILE + MOST_STRIPS - 1) // MOST_STRIPS)


cdef inline Py_ssize_t _n_parts(const vb_rows *rows) noexcept nogil:
    """Outputs that have a loss of their own: all, but those of SOFTMAX, which has one for all."""
    return 1 if rows.loss == VB_SOFTMAX else rows.n_outputs


cdef inline vb_rows _part(const vb_rows *rows, const float *parameters, Py_ssize_t k) noexcept nogil:
    """The rows with the outputs of one loss."""
    cdef vb_rows part = rows[0]
    part.parameter = parameters[k]
    if rows.loss != VB_SOFTMAX:
        part.n_outputs = 1
        part.scores, part.directions = rows.scores + k * rows.stride, rows.directions + k * rows.stride
    return part


cdef void _strip_derivatives(const vb_rows *rows, const float *parameters, Py_ssize_t first, Py_ssize_t last,
                             double *sums) noexcept nogil:
    cdef Py_ssize_t k
    cdef vb_rows part
    sums[0] = sums[1] = 0
    for k in range(_n_parts(rows)):
        part = _part(rows, parameters, k)
        derivatives(&part, first, last, sums)


cdef int _find_derivatives(
    const vb_rows *rows, const float *parameters, Py_ssize_t n_train, double *sums, Py_ssize_t *work, int n_threads,
) except -1 nogil:
    """sums = first and second derivative at the step of the rows."""
    cdef Py_ssize_t i, first = 0, last, width = _strip_rows(n_train), each = width * rows.n_outputs * 4 * COSINE
    cdef Py_ssize_t n_strips = (n_train + width - 1) // width
    cdef double[2 * MOST_STRIPS] strips
    while first < n_strips:
        last = min(n_strips, first + n_threads * at_once(each))
        for i in prange(first, last, schedule='dynamic', num_threads=n_threads):
            _strip_derivatives(rows, parameters, i * width, min(n_train, (i + 1) * width), strips + 2 * i)
        look_at_signals(work, (last - first) * each // n_threads)
        first = last
    sums[0] = sums[1] = 0
    for i in range(n_strips):
        sums[0] += strips[2 * i]
        sums[1] += strips[2 * i + 1]
    return 0


def step_derivatives(
    int loss,
    const float[::1] parameters,      # IN (n_outputs,)
    const float[:, ::1] scores,       # IN (n_outputs, n)
    const float[:, ::1] directions,   # IN (n_outputs, n)
    double step,
    const float[::1] targets,         # IN (n,)
    const float[::1] weight,          # IN (n,)
    Py_ssize_t n_train,
    int n_threads,
):
    """Minus the first, and the second derivative along the step of the sum of weight times loss over training rows.

    Outputs of all losses but SOFTMAX have the same targets.  At scores + step directions, with g = -dloss/dF and
    h = d2loss/dF2, or what stands for it: the sums of weight g direction and of weight h direction^2, over all outputs.
    """
    _check(loss, parameters, scores, directions, step, targets, weight, n_train, n_threads)
    if n_train == 0:
        return 0.0, 0.0
    cdef vb_rows rows = _rows(loss, scores, directions, step, targets, weight)
    cdef double[2] sums
    cdef Py_ssize_t work = 0
    with nogil:
        _find_derivatives(&rows, &parameters[0], n_train, sums, &work, n_threads)
    return sums[0], sums[1]


def best_step(
    int loss,
    const float[::1] parameters,      # IN (n_outputs,)
    const float[:, ::1] scores,       # IN (n_outputs, n)
    const float[:, ::1] directions,   # IN (n_outputs, n)
    double step,
    const float[::1] targets,         # IN (n,)
    const float[::1] weight,          # IN (n,)
    Py_ssize_t n_train,
    int n_steps,
    double largest_move,
    double smallest_move,
    int n_threads,
):
    """The multiple of the directions of lowest loss on the training rows, by Newton's method from `step`.

    At most n_steps moves of at most largest_move; one below smallest_move is the last, as is a place of no curvature.
    Where derivatives are not finite, the step is halved instead.
    """
    _check(loss, parameters, scores, directions, step, targets, weight, n_train, n_threads)
    if n_train == 0:
        return step
    cdef vb_rows rows = _rows(loss, scores, directions, step, targets, weight)
    cdef double[2] sums
    cdef double move
    cdef Py_ssize_t work = 0
    cdef int _k
    with nogil:
        for _k in range(n_steps):
            rows.step = <float>step
            _find_derivatives(&rows, &parameters[0], n_train, sums, &work, n_threads)
            if not (isfinite(sums[0]) and isfinite(sums[1])):  # exponentials beyond the largest number
                step *= 0.5
                continue
            if not sums[1] > 0:
                break
            move = min(max(sums[0] / sums[1], -largest_move), largest_move)
            step += move
            if fabs(move) < smallest_move:
                break
    return step


cdef double _update_strip(const vb_rows *rows, const float *parameters, Py_ssize_t first, Py_ssize_t last,
                          float *gradient, float *hessian) noexcept nogil:
    cdef Py_ssize_t k
    cdef vb_rows part
    cdef double sum = 0
    for k in range(_n_parts(rows)):
        part = _part(rows, parameters, k)
        sum += update_rows(&part, first, last, NULL if gradient == NULL else gradient + k * rows.stride,
                           NULL if hessian == NULL else hessian + k * rows.stride)
    return sum


cdef double _update_rows(
    const vb_rows *rows, const float *parameters, Py_ssize_t start, Py_ssize_t stop, float *gradient, float *hessian,
    Py_ssize_t *work, int n_threads,
) except? -1 nogil:
    """Add the step to the scores of some rows; return the sum of weight times loss."""
    cdef Py_ssize_t i, first = 0, last, width = _strip_rows(stop - start), each = width * rows.n_outputs * 4 * COSINE
    cdef Py_ssize_t n_strips = (stop - start + width - 1) // width
    cdef double[MOST_STRIPS] strips
    cdef double sum = 0
    while first < n_strips:
        last = min(n_strips, first + n_threads * at_once(each))
        for i in prange(first, last, schedule='dynamic', num_threads=n_threads):
            strips[i] = _update_strip(rows, parameters, start + i * width, min(stop, start + (i + 1) * width), gradient,
                                      hessian)
        look_at_signals(work, (last - first) * each // n_threads)
        first = last
    for i in range(n_strips):
        sum += strips[i]
    return sum


def update(
    int loss,
    const float[::1] parameters,      # IN (n_outputs,)
    float[:, ::1] scores,             # IN/OUT (n_outputs, n)
    const float[:, ::1] directions,   # IN (n_outputs, n)
    double step,
    const float[::1] targets,         # IN (n,)
    const float[::1] weight,          # IN (n,)
    const float[::1] half_weight,     # IN (n,) those of half of the validation rows, 0 elsewhere; or (0,)
    Py_ssize_t n_train,
    float[:, ::1] gradient,           # OUT (n_outputs, n) weight times g, of training rows
    float[:, ::1] hessian,            # OUT (n_outputs, n) weight times h, of training rows
    int n_threads,
):
    """scores += step directions on all rows; then gradient and hessian of the training rows.

    Return the sums of weight times loss over the training rows, over the validation rows and, where there are weights
    of half of these, over this half.
    """
    _check(loss, parameters, scores, directions, step, targets, weight, n_train, n_threads)
    cdef Py_ssize_t n_outputs = scores.shape[0], n = scores.shape[1]
    agree(has_shape(gradient, n_outputs, n), "gradient must have the shape of scores")
    agree(has_shape(hessian, n_outputs, n), "hessian must have the shape of scores")
    agree(half_weight.shape[0] == 0 or half_weight.shape[0] == n, "half_weight must have shape (n,) or (0,)")
    if n == 0:
        return 0.0, 0.0, 0.0
    cdef vb_rows rows = _rows(loss, scores, directions, step, targets, weight)
    cdef double[3] losses
    cdef Py_ssize_t work = 0
    with nogil:
        losses[0] = _update_rows(&rows, &parameters[0], 0, n_train, &gradient[0, 0], &hessian[0, 0], &work, n_threads)
        losses[1] = _update_rows(&rows, &parameters[0], n_train, n, NULL, NULL, &work, n_threads)
        losses[2] = 0
        if half_weight.shape[0]:
            rows.weight, rows.step = &half_weight[0], 0
            losses[2] = _update_rows(&rows, &parameters[0], n_train, n, NULL, NULL, &work, n_threads)
    return losses[0], losses[1], losses[2]
