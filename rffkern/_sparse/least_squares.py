"""Coefficients of weak learners that are kept optimal: Sun and Yao (2010), sections III A to E.

With the columns F of the values of weak learners at the rows, the coefficients c minimise 1/2 |y - F c|^2 +
lambda/2 c' Omega c, (9), Omega being the inner products of the weak learners.  A new one adds a row to the Cholesky
factor of F'F + lambda Omega, two passes over F give its products and the new residual, and c moves by the solution for
the gradient of *all* coefficients.  The gradient of the old ones is 0 but for rounding, so that every step also
corrects the rounding errors of those before it, and they do not accumulate.

Inner products need no kernels: the value of a weak learner at a row is its inner product with k(row, .), so that those
with another weak learner, or with the model, are sums of values that stand in a column already.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import linalg, sparse_columns
from .packed_rows import KernelRows
from .weak_learner import Proposal, Settings, WeakLearner

Double = NDArray[np.float64]

# A weak learner is skipped as a near-duplicate where its squared distance from the span of the others is below this
# share of its squared length: below, rounding errors of the inner products would decide.
_SMALLEST_PIVOT: dict[np.dtype[Any], float] = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-7}

# A weak learner has length 1.  What its values give instead is a measure of the error of inner products, whose weights
# may be large and cancel.  It is skipped where its own error is larger than this, or where the errors so far, times the
# squares of the coefficients, make up this share of the objective.
_LARGEST_ERROR = 0.01

# At the end of a group, coefficients are refined until they move by less than this share, this often at most, and as
# long as they promise to lower the objective by no more than rounding can have raised it.  A weak learner that raises
# the objective by more is skipped: in exact arithmetic, none does.
_REFINED = 1e-13
_MAX_REFINEMENTS = 4
_ROUNDING = 1e-6


class Targets:
    """The residual of the targets at some rows, and the columns of the weak learners there.

    Parameters
    ----------
    rows : KernelRows
    residual : array of shape (n_tiles, 128), changed in place
    columns : array of shape (capacity, n_tiles, 128) in the precision of the rows, arbitrary values
    """

    def __init__(self, rows: KernelRows, residual: Double, columns: NDArray[Any]) -> None:
        self.rows, self.residual, self.columns = rows, residual, columns
        self._partial = np.empty((rows.n_strips, 2 * len(columns)))
        self._products = np.empty((len(columns), 2))
        self._threads = rows.threads_up_to(len(columns))  # for a kernel over so many columns
        self.loss = self._add(np.empty(0), residual)  # weighted sum of squares of the residual

    def fill(self, index: int, proposal: Proposal, settings: Settings) -> None:
        """Evaluate a weak learner at the rows, as the column of that index."""
        kernel, before = settings.kernel, proposal.learner.before
        weights = proposal.learner.weights[-1:] if before.size else proposal.learner.weights
        self.rows.fill(self.columns[index], proposal.centers, kernel.amplitude * weights, kernel.bias * weights.sum())
        if before.size:
            column = self.columns[index].astype(np.float64)
            self._add(-before, column)
            self.columns[index] = column

    def _add(self, steps: Double, values: Double) -> float:
        """Add the first columns times their steps to values at the rows; return the weighted sum of squares."""
        return sparse_columns.shift_residual(self.columns, steps, self.rows.weight, values, self._partial,
                                             self._threads[len(steps)])

    def shrink(self, steps: Double) -> None:
        """Take the first columns times their steps from the residual."""
        self.loss = self._add(-steps, self.residual)

    def products(self, n_learners: int) -> tuple[Double, Double]:
        """Weighted products of the first columns with the last of them, and with the residual."""
        n_threads = self._threads[n_learners]
        scratch = np.empty((n_threads, sparse_columns.PRODUCT_SCRATCH))
        sparse_columns.multiply_columns(self.columns, n_learners, self.rows.weight, self.residual, self._partial,
                                        scratch, self._products, n_threads)
        with_last, with_residual = self._products[:n_learners].T.copy()
        return with_last, with_residual


class LeastSquares:
    """Weak learners on some rows, with their coefficients.

    Parameters
    ----------
    training : Targets, whose residual is the target until there are weak learners
    held_out : tuple of Targets, one or none, which follow
    settings : Settings
    """

    def __init__(self, training: Targets, held_out: tuple[Targets, ...], settings: Settings) -> None:
        self.training, self.held_out, self.settings = training, held_out, settings
        self.target = training.residual.copy()
        self.learners: list[WeakLearner] = []
        self.coef = np.zeros(0)
        self._error = 0.0  # largest of an inner product, so far
        self._factor = np.zeros((settings.capacity, settings.capacity))

    def _with_last(self, n_learners: int) -> Double:
        """Inner products of the first weak learners with the last of them."""
        raise NotImplementedError

    def _with_model(self, n_learners: int) -> Double:
        """Inner products of the first weak learners with the model."""
        raise NotImplementedError

    def _store(self, learner: WeakLearner) -> None:
        """Store what inner products with a weak learner need; it becomes the last one."""

    def _move(self, step: Double) -> None:
        self.coef = self.coef + step
        for targets in (self.training, *self.held_out):
            targets.shrink(step)

    def add(self, proposal: Proposal) -> bool:
        """Add a weak learner and make all coefficients optimal, (12); False where rounding errors would decide.

        A full group first begins anew with the residual, and the model stays as it is.
        """
        if len(self.learners) == self.settings.capacity:
            self.learners, self.coef = [], np.zeros(0)
        self._store(proposal.learner)
        last, reg_lambda = len(self.learners), self.settings.reg_lambda
        self.training.fill(last, proposal, self.settings)
        with_last, with_residual = self.training.products(last + 1)
        with_learner, with_model = self._with_last(last + 1), self._with_model(last + 1)
        error = max(self._error, abs(with_learner[last] - 1))
        if not error <= _LARGEST_ERROR:
            return False
        self._factor[last, : last + 1] = with_last + reg_lambda * with_learner
        if not linalg.extend(self._factor, last, _SMALLEST_PIVOT[self.training.rows.dtype]):
            return False
        for targets in self.held_out:
            targets.fill(last, proposal, self.settings)
        step = with_residual - reg_lambda * with_model
        linalg.solve_factorised(self._factor, step)
        before, loss = self.coef, self.training.loss
        self.coef = np.append(before, 0.0)
        objective = loss + reg_lambda * np.abs(self.coef @ with_model)
        self._move(step)
        rise = self.training.loss - loss + reg_lambda * (step @ (with_model + self._with_model(last + 1)))
        doubtful = reg_lambda * error * (self.coef @ self.coef)
        if not (rise <= _ROUNDING * objective and doubtful <= _LARGEST_ERROR * objective):
            self._move(-step)
            self.coef = before
            return False
        self._error = error
        self.learners.append(proposal.learner)
        return True

    def refine(self) -> None:
        """Correct the coefficients by the gradient that rounding has left, until they no longer move."""
        reg_lambda = self.settings.reg_lambda
        for _ in range(_MAX_REFINEMENTS if self.learners else 0):
            with_model = self._with_model(len(self.learners))
            gradient = self.training.products(len(self.learners))[1] - reg_lambda * with_model
            step = gradient.copy()
            linalg.solve_factorised(self._factor, step)
            objective = self.training.loss + reg_lambda * np.abs(self.coef @ with_model)
            if not 0 <= gradient @ step <= _ROUNDING * objective:
                break
            self._move(step)
            if np.abs(step).max() <= _REFINED * np.abs(self.coef).max():
                break


class SetLeastSquares(LeastSquares):
    """Weak learners of any basis vectors, whose inner products are read off their columns."""

    def __init__(self, training: Targets, held_out: tuple[Targets, ...], settings: Settings) -> None:
        super().__init__(training, held_out, settings)
        self._indices = np.zeros((settings.capacity, settings.learner_size), np.intp)
        self._weights = np.zeros((settings.capacity, settings.learner_size))

    def _store(self, learner: WeakLearner) -> None:
        last, (indices, weights, _) = len(self.learners), learner
        self._indices[last], self._weights[last] = 0, 0
        self._indices[last, : len(indices)], self._weights[last, : len(indices)] = indices, weights

    def _with_last(self, n_learners: int) -> Double:
        values = self.training.columns[n_learners - 1].reshape(-1)[self._indices[:n_learners]]
        return np.asarray((self._weights[:n_learners] * values).sum(axis=1))

    def _with_model(self, n_learners: int) -> Double:
        indices = self._indices[:n_learners]
        model = self.target.reshape(-1)[indices] - self.training.residual.reshape(-1)[indices]
        return np.asarray((self._weights[:n_learners] * model).sum(axis=1))


class OrthonormalLeastSquares(LeastSquares):
    """Weak learners that are orthonormal in the space of the kernel."""

    def _with_last(self, n_learners: int) -> Double:
        return np.eye(1, n_learners, n_learners - 1)[0]

    def _with_model(self, n_learners: int) -> Double:
        return np.resize(np.append(self.coef, 0.0), n_learners)


def make_least_squares(training: Targets, held_out: tuple[Targets, ...], settings: Settings) -> LeastSquares:
    """The least squares that suit the selection of an ensemble."""
    kind = OrthonormalLeastSquares if settings.keeps_dictionary else SetLeastSquares
    return kind(training, held_out, settings)
