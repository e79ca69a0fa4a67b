"""Losses of boosting at all rows of a bag, in single precision: steps along a term, gradients and Hessians.

Rows from 0 to n_train are training rows, the others validation rows; both are padded with rows of weight 0, which may
hold anything.  boost_rows.h has the formulas.
"""

from libc.math cimport fabs, isfinite

from .boost.boost_rows cimport (
    VB_HUBER, VB_LOGISTIC, VB_POISSON, VB_QUANTILE, VB_SOFTMAX, VB_SQUARED, VB_TWEEDIE, derivatives, update_rows,
    vb_rows,
)
from .core.checks cimport agree, has_shape
from .core.signals cimport COSINE, SIGNAL_WORK, look_at_signals
from .core.tiles cimport TILE

SQUARED, LOGISTIC, SOFTMAX, HUBER, QUANTILE, POISSON, TWEEDIE = (
    VB_SQUARED, VB_LOGISTIC, VB_SOFTMAX, VB_HUBER, VB_QUANTILE, VB_POISSON, VB_TWEEDIE)


cdef int _check(
    int loss, const float[::1] parameters, const float[:, ::1] scores, const float[:, ::1] directions, double step,
    const float[::1] targets, const float[::1] weight, Py_ssize_t n_train,
) except -1:
    cdef Py_ssize_t n_outputs = scores.shape[0], n = scores.shape[1], k
    agree(VB_SQUARED <= loss <= VB_TWEEDIE, "loss must be one of the losses of this module")
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
    return agree(0 <= n_train <= n and n_train % TILE == 0, "n_train must be a multiple of 128, at most n")


cdef vb_rows _rows(
    int loss, const float[:, ::1] scores, const float[:, ::1] directions, double step, const float[::1] targets,
    const float[::1] weight,
) noexcept:
    cdef vb_rows rows
    rows.loss, rows.parameter, rows.step = loss, 0, <float>step
    rows.n_outputs, rows.stride = scores.shape[0], scores.shape[1]
    rows.scores, rows.directions = <float *>&scores[0, 0], &directions[0, 0]
    rows.targets, rows.weight = &targets[0], &weight[0]
    return rows


cdef inline Py_ssize_t _rows_per_look(Py_ssize_t n_outputs) noexcept nogil:
    """Rows between two looks at signals."""
    return TILE * max(<Py_ssize_t>1, SIGNAL_WORK // (4 * COSINE * TILE * n_outputs))


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


cdef int _add_derivatives(
    vb_rows *rows, const float *parameters, Py_ssize_t n_train, double *sums, Py_ssize_t *work,
) except -1 nogil:
    """sums += first and second derivative at the step of the rows."""
    cdef Py_ssize_t first = 0, last, k, block = _rows_per_look(rows.n_outputs)
    cdef vb_rows part
    while first < n_train:
        last = min(n_train, first + block)
        for k in range(_n_parts(rows)):
            part = _part(rows, parameters, k)
            derivatives(&part, first, last, sums)
        look_at_signals(work, (last - first) * rows.n_outputs * 4 * COSINE)
        first = last
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
):
    """Minus the first, and the second derivative along the step of the sum of weight times loss over training rows.

    Outputs of all losses but SOFTMAX have the same targets.  At scores + step directions, with g = -dloss/dF and
    h = d2loss/dF2: the sums of weight g direction and of weight h direction^2, over all outputs.
    """
    _check(loss, parameters, scores, directions, step, targets, weight, n_train)
    if n_train == 0:
        return 0.0, 0.0
    cdef vb_rows rows = _rows(loss, scores, directions, step, targets, weight)
    cdef double[2] sums = [0.0, 0.0]
    cdef Py_ssize_t work = 0
    with nogil:
        _add_derivatives(&rows, &parameters[0], n_train, sums, &work)
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
):
    """The multiple of the directions of lowest loss on the training rows, by Newton's method from `step`.

    At most n_steps moves of at most largest_move; one below smallest_move is the last, as is a place of no curvature.
    """
    _check(loss, parameters, scores, directions, step, targets, weight, n_train)
    if n_train == 0:
        return step
    cdef vb_rows rows = _rows(loss, scores, directions, step, targets, weight)
    cdef double[2] sums
    cdef double move
    cdef Py_ssize_t work = 0
    cdef int _k
    with nogil:
        for _k in range(n_steps):
            sums[0] = sums[1] = 0
            rows.step = <float>step
            _add_derivatives(&rows, &parameters[0], n_train, sums, &work)
            if not sums[1] > 0:
                break
            move = min(max(sums[0] / sums[1], -largest_move), largest_move)
            step += move
            if fabs(move) < smallest_move:
                break
    return step


def update(
    int loss,
    const float[::1] parameters,      # IN (n_outputs,)
    float[:, ::1] scores,             # IN/OUT (n_outputs, n)
    const float[:, ::1] directions,   # IN (n_outputs, n)
    double step,
    const float[::1] targets,         # IN (n,)
    const float[::1] weight,          # IN (n,)
    Py_ssize_t n_train,
    float[:, ::1] gradient,           # OUT (n_outputs, n) weight times g, of training rows
    float[:, ::1] hessian,            # OUT (n_outputs, n) weight times h, of training rows
):
    """scores += step directions on all rows; then gradient and hessian of the training rows.

    Return the sums of weight times loss over the training rows and over the validation rows.
    """
    _check(loss, parameters, scores, directions, step, targets, weight, n_train)
    cdef Py_ssize_t n_outputs = scores.shape[0], n = scores.shape[1]
    agree(has_shape(gradient, n_outputs, n), "gradient must have the shape of scores")
    agree(has_shape(hessian, n_outputs, n), "hessian must have the shape of scores")
    if n == 0:
        return 0.0, 0.0
    cdef vb_rows part, rows = _rows(loss, scores, directions, step, targets, weight)
    cdef double[2] losses = [0.0, 0.0]
    cdef Py_ssize_t first = 0, last, k, work = 0, block = _rows_per_look(n_outputs)
    cdef bint trains
    with nogil:
        while first < n:
            trains = first < n_train
            last = min(n_train if trains else n, first + block)
            for k in range(_n_parts(&rows)):
                part = _part(&rows, &parameters[0], k)
                losses[not trains] += update_rows(&part, first, last, &gradient[k, 0] if trains else NULL,
                                                  &hessian[k, 0] if trains else NULL)
            look_at_signals(&work, (last - first) * n_outputs * 4 * COSINE)
            first = last
    return losses[0], losses[1]
