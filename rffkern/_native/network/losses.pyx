"""Losses of scores at targets, one compiled object each, for the mini-batch steps of RFFNet.

A loss of every output on its own overrides `point`, one that sees all outputs of a row at once overrides `row`; both
return the loss and set its gradient along the scores.  `rffkern/_training/rffnet/losses.py` gives it a name.
"""

from libc.math cimport NAN, exp, fabs, log, log1p

from .core.checks cimport agree, has_shape


cdef class Loss:
    """A sum over outputs of losses of one score at one target."""

    cdef Py_ssize_t n_targets(self, Py_ssize_t n_outputs) noexcept nogil:
        """How many numbers the target of a row has."""
        return n_outputs

    cdef double point(self, double score, double target, double *gradient) noexcept nogil:
        gradient[0] = 0
        return 0

    cdef double row(self, const double *scores, const double *target, Py_ssize_t n_outputs,
                    double *gradient) noexcept nogil:
        cdef double total = 0
        cdef Py_ssize_t o
        for o in range(n_outputs):
            total += self.point(scores[o], target[o], gradient + o)
        return total


cdef class Squared(Loss):
    """(target - score)^2"""

    cdef double point(self, double score, double target, double *gradient) noexcept nogil:
        gradient[0] = 2 * (score - target)
        return (score - target) * (score - target)


cdef class Huber(Loss):
    """The squared loss up to |target - score| = `delta`, and linear beyond."""

    cdef double delta

    def __init__(self, double delta):
        self.delta = delta

    cdef double point(self, double score, double target, double *gradient) noexcept nogil:
        cdef double apart = score - target, held = min(max(apart, -self.delta), self.delta)
        gradient[0] = 2 * held
        return held * (2 * apart - held)


cdef class Pinball(Loss):
    """(target - score) times `quantile`, or times `quantile` - 1 where the score is larger."""

    cdef double quantile

    def __init__(self, double quantile):
        self.quantile = quantile

    cdef double point(self, double score, double target, double *gradient) noexcept nogil:
        gradient[0] = (score > target) - self.quantile
        return (score - target) * gradient[0]


cdef class Logistic(Loss):
    """ln(1 + exp(-target score)) for a target of -1 or +1."""

    cdef double point(self, double score, double target, double *gradient) noexcept nogil:
        cdef double margin = target * score, small = exp(-fabs(margin))   # which does not overflow
        gradient[0] = -target * (small if margin > 0 else 1) / (1 + small)
        return log1p(small) + max(-margin, 0.0)


cdef class Softmax(Loss):
    """ln(sum of exp(scores)) less the score of the class that the target counts, from 0.

    A target that is no class has a loss of nan.
    """

    cdef Py_ssize_t n_targets(self, Py_ssize_t n_outputs) noexcept nogil:
        return 1

    cdef double row(self, const double *scores, const double *target, Py_ssize_t n_outputs,
                    double *gradient) noexcept nogil:
        cdef double largest = scores[0], total = 0
        cdef Py_ssize_t o, label
        for o in range(1, n_outputs):
            largest = max(largest, scores[o])
        for o in range(n_outputs):
            gradient[o] = exp(scores[o] - largest)
            total += gradient[o]
        for o in range(n_outputs):
            gradient[o] /= total
        if not 0 <= target[0] < n_outputs:
            return NAN
        label = <Py_ssize_t>target[0]
        gradient[label] -= 1
        return log(total) + largest - scores[label]


def row_losses(
    Loss loss,
    const double[:, ::1] scores,    # IN   (n_samples, n_outputs)
    const double[:, ::1] targets,   # IN   (n_samples, n_targets)
    double[::1] losses,             # OUT  (n_samples,)
    double[:, ::1] gradient,        # OUT  (n_samples, n_outputs)
):
    """The loss of every row, and its gradient along the scores."""
    cdef Py_ssize_t n_samples = scores.shape[0], n_outputs = scores.shape[1]
    agree(loss is not None, "loss must be a Loss")
    agree(n_outputs >= 1, "scores must have shape (n_samples, n_outputs)")
    agree(targets.shape[0] == n_samples and targets.shape[1] >= loss.n_targets(n_outputs),
          "targets must have shape (n_samples, n_targets)")
    agree(losses.shape[0] == n_samples, "losses must have shape (n_samples,)")
    agree(has_shape(gradient, n_samples, n_outputs), "gradient must have shape (n_samples, n_outputs)")
    cdef Py_ssize_t i
    with nogil:
        for i in range(scores.shape[0]):
            losses[i] = loss.row(&scores[i, 0], &targets[i, 0], scores.shape[1], &gradient[i, 0])
