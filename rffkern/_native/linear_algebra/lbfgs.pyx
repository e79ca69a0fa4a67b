"""Limited-memory BFGS with a strong-Wolfe line search (Nocedal and Wright, Numerical Optimization, ch. 3 and 7).

All tolerances are relative, so that multiplying the objective by a constant changes nothing: boosting residuals shrink
by many orders of magnitude during a fit, and an absolute tolerance would silently stop the descents.
"""

from libc.math cimport fabs, isfinite, sqrt

import numpy as np

from .core.checks cimport agree
cdef enum:
    MEMORY = 10
    MAX_TRIALS = 20

cdef double SUFFICIENT_DECREASE = 1e-4
cdef double CURVATURE = 0.9


cdef inline double _dot(const double *a, const double *b, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef double even = 0, odd = 0, total = 0
    # Two sums, for the addition of one waits for that before it: these products are most of the work on few rows.
    while i + 4 <= size:
        even += a[i] * b[i] + a[i + 1] * b[i + 1]
        odd += a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3]
        i += 4
    while i < size:
        total += a[i] * b[i]
        i += 1
    return even + odd + total


cdef inline double _largest(const double[::1] a, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    cdef double largest = 0
    for i in range(size):
        largest = max(largest, fabs(a[i]))
    return largest


cdef inline void _copy(const double[::1] source, double[::1] target, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        target[i] = source[i]


cdef class LBFGS:
    """Minimiser of smooth functions, one after the other, of up to `most` variables each.

    `noise` is the relative error of the loss values: a rise below it does not count as one.
    """

    def __cinit__(self, Py_ssize_t most, Py_ssize_t max_iter, double loss_tolerance, double gradient_tolerance,
                  double noise):
        agree(most >= 1, "most must be at least 1")
        self.most = self.size = most
        self.max_iter = max_iter
        self.loss_tolerance = loss_tolerance
        self.gradient_tolerance = gradient_tolerance
        self.noise = noise
        self.x, self.gradient, self.origin, self.origin_gradient, self.direction, self.best, self.best_gradient = (
            np.zeros((7, most)))
        self.displacements, self.changes = np.zeros((2, MEMORY, most))
        self.curvatures, self.coefficients = np.zeros((2, MEMORY))

    cdef void reset(self, const double[::1] x0, double first_length) noexcept nogil:
        """Start anew from x0, of at most `most` variables; the first trial step has length `first_length`."""
        self.size = x0.shape[0]
        _copy(x0, self.x, self.size)
        self.first_length = first_length
        self.n_iterations = self.n_evaluations = self.n_pairs = self.n_seen = 0

    cdef bint advance(self, double loss) noexcept nogil:
        """Take the loss at x (its gradient in `gradient`); say whether x is to be evaluated again."""
        cdef Trial trial
        cdef bint too_far
        self.n_evaluations += 1
        if self.n_evaluations == 1:
            _copy(self.x, self.best, self.size)
            _copy(self.gradient, self.best_gradient, self.size)
            self.low.loss = loss
            self.first_gradient = _largest(self.gradient, self.size)
            return isfinite(loss) and self.max_iter > 0 and self._begin_search()
        trial.step, trial.loss, trial.slope = self.step, loss, _dot(&self.gradient[0], &self.direction[0], self.size)
        self.n_trials += 1
        # Written with "not" so that a loss of nan or inf counts as too far.
        too_far = not (loss <= self.start.loss + SUFFICIENT_DECREASE * trial.step * self.start.slope
                       + self.noise * fabs(self.start.loss) and
                       loss <= self.low.loss + self.noise * fabs(self.start.loss))
        if too_far:
            self.high = trial
            self.bracketed = True
        else:
            if (trial.slope * (self.high.step - self.low.step) if self.bracketed else trial.slope) >= 0:
                self.high = self.low
                self.bracketed = True
            self.low = trial
            _copy(self.x, self.best, self.size)
            _copy(self.gradient, self.best_gradient, self.size)
            if fabs(trial.slope) <= -CURVATURE * self.start.slope:
                return self._end_search()
        if self.n_trials >= MAX_TRIALS:
            return self._end_search()
        self._move_to(self._next_step())
        return True

    cdef bint _begin_search(self) noexcept nogil:
        _copy(self.best, self.origin, self.size)
        _copy(self.best_gradient, self.origin_gradient, self.size)
        self._set_direction()
        self.start.step, self.start.loss = 0, self.low.loss
        self.start.slope = _dot(&self.origin_gradient[0], &self.direction[0], self.size)
        if not self.start.slope < 0:
            _copy(self.best, self.x, self.size)
            return False
        self.low = self.start
        self.bracketed = False
        self.n_trials = 0
        if self.n_pairs:
            self._move_to(1.0)
        else:
            self._move_to(self.first_length / sqrt(_dot(&self.direction[0], &self.direction[0], self.size)))
        return True

    cdef void _set_direction(self) noexcept nogil:
        """direction = -(approximate inverse Hessian) gradient, by the two-loop recursion."""
        cdef Py_ssize_t i, k, age
        cdef double scale
        for i in range(self.size):
            self.direction[i] = -self.origin_gradient[i]
        for age in range(self.n_pairs):
            k = (self.n_seen - 1 - age) % MEMORY
            self.coefficients[k] = _dot(&self.displacements[k, 0], &self.direction[0], self.size) / self.curvatures[k]
            for i in range(self.size):
                self.direction[i] -= self.coefficients[k] * self.changes[k, i]
        if self.n_pairs:
            k = (self.n_seen - 1) % MEMORY
            scale = self.curvatures[k] / _dot(&self.changes[k, 0], &self.changes[k, 0], self.size)
            for i in range(self.size):
                self.direction[i] *= scale
        for age in range(self.n_pairs - 1, -1, -1):
            k = (self.n_seen - 1 - age) % MEMORY
            scale = self.coefficients[k] - _dot(&self.changes[k, 0], &self.direction[0], self.size) / self.curvatures[k]
            for i in range(self.size):
                self.direction[i] += scale * self.displacements[k, i]

    cdef void _store_pair(self) noexcept nogil:
        """Remember the last step and the change of gradient along it."""
        cdef Py_ssize_t i
        for i in range(self.size):
            self.origin[i] = self.best[i] - self.origin[i]
            self.origin_gradient[i] = self.best_gradient[i] - self.origin_gradient[i]
        self._store(self.origin, self.origin_gradient)

    cdef void _store(self, const double[::1] step, const double[::1] change) noexcept nogil:
        """Remember a step and the change of gradient along it, unless the curvature is not positive."""
        cdef Py_ssize_t k = self.n_seen % MEMORY
        cdef double squares
        _copy(step, self.displacements[k], self.size)
        _copy(change, self.changes[k], self.size)
        self.curvatures[k] = _dot(&self.displacements[k, 0], &self.changes[k, 0], self.size)
        squares = (_dot(&self.changes[k, 0], &self.changes[k, 0], self.size)
                   * _dot(&self.displacements[k, 0], &self.displacements[k, 0], self.size))
        if self.curvatures[k] > 1e-12 * sqrt(squares):
            self.n_seen += 1
            self.n_pairs = min(self.n_pairs + 1, <Py_ssize_t>MEMORY)

    cdef bint _end_search(self) noexcept nogil:
        cdef double gain = self.start.loss - self.low.loss
        _copy(self.best, self.x, self.size)
        if self.low.step == 0:
            return False
        self._store_pair()
        self.n_iterations += 1
        if (self.n_iterations >= self.max_iter or
                gain <= self.loss_tolerance * max(fabs(self.start.loss), fabs(self.low.loss)) or
                _largest(self.best_gradient, self.size) <= self.gradient_tolerance * self.first_gradient):
            return False
        return self._begin_search()

    cdef double _next_step(self) noexcept nogil:
        """Next trial: beyond the best step by the secant rule, or inside the bracket by cubic interpolation."""
        cdef double width, t, d, root
        if not self.bracketed:
            t = self.low.slope - self.start.slope
            t = self.low.step * (-self.start.slope / t if t > 0 else 5)
            return min(max(t, 2 * self.low.step), 5 * self.low.step)
        width = self.high.step - self.low.step
        t = 0.5
        if isfinite(self.high.loss) and isfinite(self.high.slope):
            d = self.low.slope + self.high.slope - 3 * (self.high.loss - self.low.loss) / width
            root = d * d - self.low.slope * self.high.slope
            if root >= 0:
                root = sqrt(root) if width > 0 else -sqrt(root)
                root = (self.high.slope + root - d) / (self.high.slope - self.low.slope + 2 * root)
                if isfinite(root):
                    t = 1 - root
        return self.low.step + min(max(t, 0.1), 0.9) * width

    cdef void _move_to(self, double step) noexcept nogil:
        cdef Py_ssize_t i
        self.step = step
        for i in range(self.size):
            self.x[i] = self.origin[i] + step * self.direction[i]


def minimize(function, const double[::1] x0, Py_ssize_t max_iter=100, *, double loss_tolerance=1e-12,
             double gradient_tolerance=1e-8, double noise=1e-15, double first_length=1.0,
             const double[:, :, ::1] pairs=None):
    """Minimise a Python function returning (loss, gradient); return (x, n_iterations, n_evaluations).

    `pairs` (n_pairs, 2, size) are steps, with the changes of the gradient along them, of a search on a like function.
    """
    cdef const double[::1] gradient
    cdef Py_ssize_t k
    cdef LBFGS search = LBFGS(x0.shape[0], max_iter, loss_tolerance, gradient_tolerance, noise)
    search.reset(x0, first_length)
    if pairs is not None:
        agree(pairs.shape[1] == 2 and pairs.shape[2] == search.size, "pairs must have shape (n_pairs, 2, size)")
        for k in range(pairs.shape[0]):
            search._store(pairs[k, 0], pairs[k, 1])
    while True:
        loss, gradient = function(np.array(search.x))
        agree(gradient.shape[0] == search.size, "function must return a gradient of the shape of x0")
        _copy(gradient, search.gradient, search.size)
        if not search.advance(loss):
            return np.array(search.x), search.n_iterations, search.n_evaluations
