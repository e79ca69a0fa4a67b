"""Coefficients of base learners that are kept optimal: Sun and Yao (2010), sections III A to E.

With the columns F of the values of base learners at the rows, the coefficients c minimise 1/2 |y - F c|^2 +
lambda/2 c' Omega c, (9), Omega being the inner products of the base learners.  A new one adds a row to the Cholesky
factor of F'F + lambda Omega.  One pass over F gives its products, a second one its part that is orthogonal to the
others in the norm of the objective, and the model moves along that part.  So both passes serve any number of outputs.

Inner products need no kernels: the value of a base learner at a row is its inner product with k(row, .), so that those
with another base learner, or with the model, are sums of values that stand in a column already.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._native import solvers, sparse
from ..._native.array_types import Double, NDArray
from ..._rows.tiles import DOUBLE, aligned
from ..kernel_ridge.kernel import Kernel
from .basis_selection import BaseLearner, Settings
from .kernel_rows import KernelRows, Kernels

# A base learner is skipped as a near-duplicate where its squared distance from the span of the others is below this
# share of its squared length: below, rounding errors of the inner products would decide.
_SMALLEST_PIVOT: dict[np.dtype[Any], float] = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-7}

# A base learner has length 1.  What its values give instead is a measure of the error of inner products, whose weights
# may be large and cancel.  It is skipped where its own error is larger than this, or where the errors so far, times the
# squares of the coefficients, make up this share of the objective.
_LARGEST_ERROR = 0.01

# At the end of a group, coefficients are refined until they move by less than this share, this often at most, and as
# long as they promise to lower the objective by no more than rounding can have raised it.  A base learner that raises
# the objective by more is skipped: in exact arithmetic, none does.
_REFINED = 1e-13
_MAX_REFINEMENTS = 4
_ROUNDING = 1e-6


class Residuals:
    """The residuals of the targets at some rows, and the columns of the base learners there.

    `residual` (n_outputs, n_tiles, 128) is changed in place; `columns` (capacity, n_tiles, 128), in the precision of
    the rows, may hold anything.
    """

    def __init__(self, rows: KernelRows, residual: Double, columns: NDArray[Any]) -> None:
        self.rows, self.residual, self.columns = rows, residual, columns
        self.flat = residual.reshape(len(residual), -1)
        self._partial = np.empty((rows.n_strips, max(2 * len(columns), len(residual))))
        self.loss = self._shift(columns, np.empty((len(residual), 0)), residual)  # weighted sum of squares

    def fill(self, index: int, learners: Sequence[BaseLearner], kernels: Kernels, kernel: Kernel) -> None:
        """Evaluate base learners on the same basis vectors at the rows, as columns from that index on.

        `kernels` are those of any rows with these vectors, or with the last where others are `before` it.
        """
        before = learners[0].before
        weights = np.array([learner.weights[-1:] if before.size else learner.weights for learner in learners])
        columns = self.columns[index : index + len(weights)]
        if kernels.rows is not self.rows:
            kernels = Kernels(self.rows, kernels.centers)
        kernels.combine(kernel.amplitude * weights, kernel.bias * weights.sum(axis=1), columns)
        if before.size:
            values = columns.astype(np.float64)
            self._shift(self.columns, -before[None], values)
            columns[:] = values

    def _shift(self, columns: NDArray[Any], steps: Double, vectors: Double) -> float:
        """Add columns times steps (n_vectors, n_columns) to vectors; return the weighted sum of their squares."""
        squares = np.empty(len(vectors))
        sparse.shift_vectors(columns, steps, self.rows.weight, vectors, self._partial, squares,
                             self.rows.threads(steps.size))
        return float(squares.sum())

    def combined(self, steps: Double) -> Double:
        """Sums of columns times steps (n_sums, n_columns), in tiles."""
        sums = aligned((len(steps), *self.residual.shape[1:]), DOUBLE)
        sums[:] = 0
        self._shift(self.columns, steps, sums)
        return sums

    def shrink(self, columns: NDArray[Any], steps: Double) -> None:
        """Take columns times their steps (n_outputs, n_columns) from the residuals."""
        self.loss = self._shift(columns, -steps, self.residual)

    def products(self, columns: NDArray[Any], n_columns: int, vectors: Double) -> Double:
        """Weighted products (n_vectors, n_columns) of vectors with the first columns."""
        if n_columns == 0:
            return np.empty((len(vectors), 0))
        n_threads = self.rows.threads(n_columns)
        products = np.empty((len(vectors), n_columns))
        sparse.multiply_columns(columns, n_columns, self.rows.weight, vectors, self._partial,
                                np.empty((n_threads, sparse.PRODUCT_SCRATCH)), products, n_threads)
        return products


class Coefficients(NamedTuple):
    """The coefficients of a group of base learners, and those that the first of them had alone.

    In terms of functions that are orthonormal in the norm of the objective, the part of each base learner that is
    orthogonal to those before it, coefficients do not change when base learners are added.
    """

    last: Double  # (n_learners, n_outputs)
    factor: Double  # (n_learners or more, n_learners or more), the Cholesky factor L
    orthonormal: Double  # (n_learners, n_outputs)

    def at(self, n_learners: int) -> Double:
        """Coefficients (n_learners, n_outputs) of the first base learners without the others."""
        if n_learners == len(self.last):
            return self.last
        solved = self.orthonormal[:n_learners].T.copy()
        for coef in solved:
            solvers.solve_factorised(self.factor, coef, forward=False)
        return solved.T


class LeastSquares:
    """Base learners with their coefficients; residuals of `training` are the targets before, those held out follow."""

    def __init__(self, training: Residuals, held_out: tuple[Residuals, ...], settings: Settings) -> None:
        self.training, self.held_out, self.settings = training, held_out, settings
        self.target = training.residual.copy()
        self._flat_target = self.target.reshape(len(self.target), -1)
        self._objective = float((training.rows.weight * self.target**2).sum())
        if not settings.keeps_dictionary:
            self._indices = np.zeros((settings.capacity, settings.basis_size), np.intp)
            self._weights = np.zeros((settings.capacity, settings.basis_size))
        self.begin()

    def begin(self) -> None:
        """Make room for base learners; those there are keep their coefficients, and the model stays."""
        self.learners: list[BaseLearner] = []
        self.coef = self._orthonormal = np.zeros((0, len(self.target)))
        self._factor = np.zeros((self.settings.capacity, self.settings.capacity))
        self._error = 0.0  # largest of an inner product, so far

    def state(self) -> tuple[Any, ...]:
        """Where they stand, for others to resume.  Nothing in it is ever changed."""
        n_learners = len(self.learners)
        coefficients = self.coefficients._replace(factor=self._factor[:n_learners, :n_learners].copy())
        parts = tuple((part.residual.copy(), part.loss) for part in (self.training, *self.held_out))
        return parts, tuple(self.learners), coefficients, self._error, self._objective

    def resume(self, state: tuple[Any, ...]) -> None:
        """Stand where others have stood with the same rows and targets; columns are evaluated again."""
        parts, rows = (self.training, *self.held_out), self.training.rows
        residuals, learners, (self.coef, factor, self._orthonormal), self._error, self._objective = state
        for part, (residual, loss) in zip(parts, residuals, strict=True):
            part.residual[:] = residual
            part.loss = loss
        self.learners = [*learners]
        self._factor[: len(factor), : len(factor)] = factor
        for index, learner in enumerate(self.learners):
            kernels = Kernels(rows, rows.centers(learner.indices[-1:] if learner.before.size else learner.indices))
            for part in parts:
                part.fill(index, (learner,), kernels, self.settings.kernel)
            self._store(index, learner)

    @property
    def coefficients(self) -> Coefficients:
        """Coefficients with those of each stage."""
        return Coefficients(self.coef, self._factor, self._orthonormal)

    # Inner products in the space of the kernel: of base learners that are orthonormal there, from coefficients alone;
    # of others, read off their columns.

    def _store(self, index: int, learner: BaseLearner) -> None:
        """Store what inner products with a base learner need, as the one of that index."""
        if not self.settings.keeps_dictionary:
            n_basis = len(learner.indices)
            self._indices[index], self._weights[index] = 0, 0
            self._indices[index, :n_basis], self._weights[index, :n_basis] = learner.indices, learner.weights

    def _with_last(self, n_learners: int) -> Double:
        """Inner products of the first base learners with the last of them."""
        if self.settings.keeps_dictionary:
            return np.eye(1, n_learners, n_learners - 1)[0]
        values = self.training.columns[n_learners - 1].reshape(-1).take(self._indices[:n_learners])
        return np.einsum("ij,ij->i", self._weights[:n_learners], values)

    def _with_model(self, start: int, n_learners: int) -> Double:
        """Inner products (n_outputs, n_learners - start) of some base learners with the models."""
        if self.settings.keeps_dictionary:
            coef = np.zeros((n_learners, len(self.target)))
            coef[: len(self.coef)] = self.coef
            return coef[start:].T
        indices, weights = self._indices[start:n_learners], self._weights[start:n_learners]
        return np.array([(weights * (target[indices] - left[indices])).sum(axis=1)
                         for target, left in zip(self._flat_target, self.training.flat, strict=True)])

    def add(self, learners: Sequence[BaseLearner], kernels: Kernels) -> int:
        """Add base learners and make all coefficients optimal, (12); return how many: 0 where rounding would decide.

        `kernels` are those that their columns are made of.
        """
        first, before = len(self.learners), self._error
        learners = learners[: self.settings.capacity - first]
        kept = self._extend(learners, kernels)
        n_learners = first + len(kept)
        if not kept or not self._step(first, n_learners):
            self._error = before
            return 0
        for part in self.held_out:
            part.fill(first, learners, kernels, self.settings.kernel)
            part.columns[first:n_learners] = part.columns[[first + place for place in kept]]
            part.shrink(part.combined(self._directions), self._steps.T.copy())
        self.learners += [learners[place] for place in kept]
        return len(kept)

    def _extend(self, learners: Sequence[BaseLearner], kernels: Kernels) -> list[int]:
        """Extend the factor by base learners; return the places of those that others do not make up."""
        first, columns = len(self.learners), self.training.columns
        self.training.fill(first, learners, kernels, self.settings.kernel)
        n_all = first + len(learners)
        products = self.training.products(columns, n_all, columns[first:n_all].astype(np.float64))
        kept: list[int] = []
        for place, learner in enumerate(learners):
            last = first + len(kept)
            if place > len(kept):
                columns[last] = columns[first + place]
            self._store(last, learner)
            inner = self._with_last(last + 1)
            error = max(self._error, abs(inner[last] - 1))
            if not error <= _LARGEST_ERROR:
                continue
            with_last = products[place][[*range(first), *(first + k for k in kept), first + place]]
            self._factor[last, : last + 1] = with_last + self.settings.kernel.reg_lambda * inner
            if solvers.extend(self._factor, last, _SMALLEST_PIVOT[self.training.rows.dtype]):
                self._error = error
                kept.append(place)
        return kept

    def _step(self, first: int, n_learners: int) -> bool:
        """Move along the orthonormal parts of the newest base learners; False where rounding errors would decide."""
        reg_lambda, training = self.settings.kernel.reg_lambda, self.training
        directions = np.zeros((n_learners - first, n_learners))
        for k, direction in enumerate(directions):
            direction[first + k] = 1
            solvers.solve_factorised(self._factor, direction[: first + k + 1], forward=False)
        newest = training.columns[first:]
        gradient = training.products(newest, n_learners - first, training.residual) - reg_lambda * self._with_model(
            first, n_learners)
        steps = directions[:, first:] @ gradient.T
        parts = training.combined(directions)
        # Where all coefficients are optimal, the objective is the product of targets and residuals.
        objective = np.abs(self._objective)
        fall = (steps * (training.products(parts, len(parts), self.target).T if first else steps)).sum()
        coef = np.vstack([self.coef, np.zeros_like(steps)]) + directions.T @ steps
        doubtful = reg_lambda * self._error * (coef**2).sum()
        if not (fall >= -_ROUNDING * objective and doubtful <= _LARGEST_ERROR * objective):
            return False
        training.shrink(parts, steps.T.copy())
        self._objective -= fall
        self.coef, self._orthonormal = coef, np.vstack([self._orthonormal, steps])
        self._directions, self._steps = directions, steps
        return True

    def refine(self) -> None:
        """Correct the coefficients by the gradient that rounding has left, until they no longer move."""
        reg_lambda, training, n_learners = self.settings.kernel.reg_lambda, self.training, len(self.learners)
        for _ in range(_MAX_REFINEMENTS if n_learners else 0):
            with_model = self._with_model(0, n_learners)
            gradient = training.products(training.columns, n_learners, training.residual) - reg_lambda * with_model
            along = gradient.copy()
            for of_output in along:
                solvers.solve_factorised(self._factor, of_output, back=False)
            steps = along.copy()
            for step in steps:
                solvers.solve_factorised(self._factor, step, forward=False)
            objective = training.loss + reg_lambda * np.abs((self.coef.T * with_model).sum())
            if not 0 <= (gradient * steps).sum() <= _ROUNDING * objective:
                break
            self.coef = self.coef + steps.T
            self._orthonormal = self._orthonormal + along.T
            for part in (training, *self.held_out):
                part.shrink(part.columns, steps)
            if np.abs(steps).max() <= _REFINED * np.abs(self.coef).max():
                break
