"""Coefficients of weak learners that are kept optimal: Sun and Yao (2010), sections III A to E.

With the columns F of the values of weak learners at the rows, the coefficients c minimise 1/2 |y - F c|^2 +
lambda/2 c' Omega c, (9), Omega being the inner products of the weak learners.  A new one adds a row to the Cholesky
factor of F'F + lambda Omega.  One pass over F gives its products, a second one its part that is orthogonal to the
others in the norm of the objective, and the model moves along that part.  So both passes serve any number of outputs.

Inner products need no kernels: the value of a weak learner at a row is its inner product with k(row, .), so that those
with another weak learner, or with the model, are sums of values that stand in a column already.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._native import solvers, sparse
from ..._native.array_types import NDArray
from ..._rows.tiles import DOUBLE, aligned
from .packed_rows import KernelRows, Kernels
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
    """The residuals of the targets at some rows, and the columns of the weak learners there.

    Parameters
    ----------
    rows : KernelRows
    residual : array of shape (n_outputs, n_tiles, 128), changed in place
    columns : array of shape (capacity, n_tiles, 128) in the precision of the rows, arbitrary values
    """

    def __init__(self, rows: KernelRows, residual: Double, columns: NDArray[Any]) -> None:
        self.rows, self.residual, self.columns = rows, residual, columns
        self.flat = residual.reshape(len(residual), -1)
        self._partial = np.empty((rows.n_strips, max(2 * len(columns), len(residual))))
        self.loss = self._shift(columns, np.empty((len(residual), 0)), residual)  # weighted sum of squares
        self.loss_before_last = self.loss  # the same without the weak learner added last

    def fill(self, index: int, proposal: Proposal, settings: Settings) -> None:
        """Evaluate the weak learners of a proposal at the rows, as columns from that index on."""
        kernel, before, weights = settings.kernel, proposal.learners[0].before, proposal.weights()
        columns = self.columns[index : index + len(weights)]
        proposal.kernels.beside(self.rows).combine(kernel.amplitude * weights, kernel.bias * weights.sum(axis=1),
                                                   columns)
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
        self.loss = self.loss_before_last = self._shift(columns, -steps, self.residual)

    def follow(self, parts: Double, steps: Double) -> None:
        """The same for parts of which each is what a weak learner adds to those before it."""
        self.shrink(parts, steps)
        last, of_last = parts[-1:], steps[:, -1]
        self.loss_before_last += float(2 * of_last @ self.products(last, 1, self.residual)[:, 0]
                                       + of_last @ of_last * self.products(last, 1, last)[0, 0])

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
    """The coefficients of a group of weak learners, and those that the first of them had alone.

    In terms of functions that are orthonormal in the norm of the objective, the part of each weak learner that is
    orthogonal to those before it, coefficients do not change when weak learners are added.
    """

    last: Double  # (n_learners, n_outputs)
    factor: Double  # (n_learners or more, n_learners or more), the Cholesky factor L
    orthonormal: Double  # (n_learners, n_outputs)

    def at(self, n_learners: int) -> Double:
        """Coefficients (n_learners, n_outputs) of the first weak learners without the others."""
        if n_learners == len(self.last):
            return self.last
        solved = self.orthonormal[:n_learners].T.copy()
        for coef in solved:
            solvers.solve_factorised(self.factor, coef, forward=False)
        return solved.T


class FitState(NamedTuple):
    """Where least squares stand.  Nothing in it is ever changed."""

    target: Double  # (n_outputs, n_tiles, 128)
    residuals: tuple[Double, ...]  # (n_outputs, n_tiles, 128) of the rows, then of each held-out set
    losses: tuple[tuple[float, float], ...]  # of these, and without the weak learner added last
    learners: tuple[WeakLearner, ...]
    coefficients: Coefficients
    error: float
    objective: float


class LeastSquares:
    """Weak learners on some rows, with their coefficients.

    Parameters
    ----------
    training : Targets, whose residuals are the targets until there are weak learners
    held_out : tuple of Targets, which follow
    settings : Settings
    """

    def __init__(self, training: Targets, held_out: tuple[Targets, ...], settings: Settings) -> None:
        self.training, self.held_out, self.settings = training, held_out, settings
        self.target = training.residual.copy()
        self._flat_target = self.target.reshape(len(self.target), -1)
        self._factor = np.zeros((settings.capacity, settings.capacity))
        self._objective = float((training.rows.weight * self.target**2).sum())
        self._begin()

    def _begin(self) -> None:
        self.learners: list[WeakLearner] = []
        self.coef = self._orthonormal = np.zeros((0, len(self.target)))
        self._error = 0.0  # largest of an inner product, so far

    def begin_anew(self) -> None:
        """Make room for other weak learners; those there are keep their coefficients, and the model stays."""
        self._factor = np.zeros_like(self._factor)
        self._begin()

    def state(self) -> FitState:
        """Where they stand, for others to resume."""
        targets, n_learners = (self.training, *self.held_out), len(self.learners)
        coefficients = self.coefficients._replace(factor=self._factor[:n_learners, :n_learners].copy())
        losses = tuple((each.loss, each.loss_before_last) for each in targets)
        return FitState(self.target, tuple(each.residual.copy() for each in targets), losses, tuple(self.learners),
                        coefficients, self._error, self._objective)

    def resume(self, state: FitState) -> None:
        """Stand where others have stood with the same rows and targets; columns are evaluated again."""
        targets, rows = (self.training, *self.held_out), self.training.rows
        for each, residual, losses in zip(targets, state.residuals, state.losses, strict=True):
            each.residual[:] = residual
            each.loss, each.loss_before_last = losses
        self.learners, self._error, self._objective = [*state.learners], state.error, state.objective
        self.coef, factor, self._orthonormal = state.coefficients
        self._factor[: len(factor), : len(factor)] = factor
        for index, learner in enumerate(self.learners):
            of_column = learner.indices[-1:] if learner.before.size else learner.indices
            proposal = Proposal((learner,), Kernels(rows, rows.centers(of_column)))
            for each in targets:
                each.fill(index, proposal, self.settings)
            self._store(index, learner)

    @property
    def coefficients(self) -> Coefficients:
        """Coefficients with those of each stage."""
        return Coefficients(self.coef, self._factor, self._orthonormal)

    def _with_last(self, n_learners: int) -> Double:
        """Inner products of the first weak learners with the last of them."""
        raise NotImplementedError

    def _with_model(self, start: int, n_learners: int) -> Double:
        """Inner products (n_outputs, n_learners - start) of some weak learners with the models."""
        raise NotImplementedError

    def inner_products(self, values: Double, coef: Double) -> Double:
        """Inner products (n_sums, n_learners) of the first weak learners with sums of them.

        `values` (n_sums, n_tiles * 128) are those of the sums at all rows, and `coef` (n_sums, n_learners) their
        coefficients.
        """
        raise NotImplementedError

    def _store(self, index: int, learner: WeakLearner) -> None:
        """Store what inner products with a weak learner need, as the one of that index."""

    def add(self, proposal: Proposal) -> int:
        """Add weak learners and make all coefficients optimal, (12); return how many: 0 where rounding would decide.

        Where it would with those of several sets of basis vectors, the first alone may still do.
        """
        n_added = self._add(proposal)
        if n_added or self.settings.n_sets == 1 or len(proposal.learners) == 1:
            return n_added
        return self._add(proposal.first(1))

    def _add(self, proposal: Proposal) -> int:
        first, n_new = len(self.learners), min(len(proposal.learners), self.settings.capacity - len(self.learners))
        proposal = proposal.first(n_new)
        before = self._error
        kept = self._extend(proposal)
        n_learners = first + len(kept)
        if not kept or not self._step(first, n_learners):
            self._error = before
            return 0
        for targets in self.held_out:
            targets.fill(first, proposal, self.settings)
            targets.columns[first:n_learners] = targets.columns[[first + place for place in kept]]
            self._move(targets, targets.combined(self._directions), self._steps)
        self.learners += [proposal.learners[place] for place in kept]
        return len(kept)

    def _extend(self, proposal: Proposal) -> list[int]:
        """Extend the factor by weak learners; return the places of those that others do not make up."""
        first, columns = len(self.learners), self.training.columns
        self.training.fill(first, proposal, self.settings)
        n_all = first + len(proposal.learners)
        products = self.training.products(columns, n_all, columns[first:n_all].astype(np.float64))
        kept: list[int] = []
        for place, learner in enumerate(proposal.learners):
            last = first + len(kept)
            if place > len(kept):
                columns[last] = columns[first + place]
            self._store(last, learner)
            inner = self._with_last(last + 1)
            error = max(self._error, abs(inner[last] - 1))
            if not error <= _LARGEST_ERROR:
                continue
            with_last = products[place][[*range(first), *(first + k for k in kept), first + place]]
            self._factor[last, : last + 1] = with_last + self.settings.reg_lambda * inner
            if solvers.extend(self._factor, last, _SMALLEST_PIVOT[self.training.rows.dtype]):
                self._error = error
                kept.append(place)
        return kept

    def _step(self, first: int, n_learners: int) -> bool:
        """Move along the orthonormal parts of the newest weak learners; False where rounding errors would decide."""
        reg_lambda, training = self.settings.reg_lambda, self.training
        directions = np.zeros((n_learners - first, n_learners))
        for k, direction in enumerate(directions):
            direction[first + k] = 1
            solvers.solve_factorised(self._factor, direction[: first + k + 1], forward=False)
        newest = training.columns[first:]
        slopes = training.products(newest, n_learners - first, training.residual) - reg_lambda * self._with_model(
            first, n_learners)
        steps = directions[:, first:] @ slopes.T
        parts = training.combined(directions)
        # Where all coefficients are optimal, the objective is the product of targets and residuals.
        objective = np.abs(self._objective)
        fall = (steps * (training.products(parts, len(parts), self.target).T if first else steps)).sum()
        coef = np.vstack([self.coef, np.zeros_like(steps)]) + directions.T @ steps
        doubtful = reg_lambda * self._error * (coef**2).sum()
        if not (fall >= -_ROUNDING * objective and doubtful <= _LARGEST_ERROR * objective):
            return False
        self._move(training, parts, steps)
        self._objective -= fall
        self.coef, self._orthonormal = coef, np.vstack([self._orthonormal, steps])
        self._directions, self._steps = directions, steps
        return True

    def _move(self, targets: Targets, parts: Double, steps: Double) -> None:
        (targets.follow if self.settings.n_sets > 1 else targets.shrink)(parts, steps.T.copy())

    def refine(self) -> None:
        """Correct the coefficients by the gradient that rounding has left, until they no longer move."""
        reg_lambda, training, n_learners = self.settings.reg_lambda, self.training, len(self.learners)
        for _ in range(_MAX_REFINEMENTS if n_learners else 0):
            with_model = self._with_model(0, n_learners)
            slopes = training.products(training.columns, n_learners, training.residual) - reg_lambda * with_model
            along = slopes.copy()
            for slope in along:
                solvers.solve_factorised(self._factor, slope, back=False)
            steps = along.copy()
            for step in steps:
                solvers.solve_factorised(self._factor, step, forward=False)
            objective = training.loss + reg_lambda * np.abs((self.coef.T * with_model).sum())
            if not 0 <= (slopes * steps).sum() <= _ROUNDING * objective:
                break
            self.coef = self.coef + steps.T
            self._orthonormal = self._orthonormal + along.T
            for targets in (training, *self.held_out):
                targets.shrink(targets.columns, steps)
            if np.abs(steps).max() <= _REFINED * np.abs(self.coef).max():
                break


class SetLeastSquares(LeastSquares):
    """Weak learners of any basis vectors, whose inner products are read off their columns."""

    def __init__(self, training: Targets, held_out: tuple[Targets, ...], settings: Settings) -> None:
        super().__init__(training, held_out, settings)
        self._indices = np.zeros((settings.capacity, settings.learner_size), np.intp)
        self._weights = np.zeros((settings.capacity, settings.learner_size))

    def _store(self, index: int, learner: WeakLearner) -> None:
        indices, weights, _ = learner
        self._indices[index], self._weights[index] = 0, 0
        self._indices[index, : len(indices)], self._weights[index, : len(indices)] = indices, weights

    def _with_last(self, n_learners: int) -> Double:
        values = self.training.columns[n_learners - 1].reshape(-1).take(self._indices[:n_learners])
        return np.einsum("ij,ij->i", self._weights[:n_learners], values)

    def _with_model(self, start: int, n_learners: int) -> Double:
        indices, weights = self._indices[start:n_learners], self._weights[start:n_learners]
        return np.array([(weights * (target[indices] - left[indices])).sum(axis=1)
                         for target, left in zip(self._flat_target, self.training.flat, strict=True)])

    def inner_products(self, values: Double, coef: Double) -> Double:
        """Inner products of the first weak learners with sums of them, read off the values of these."""
        indices, weights = self._indices[: coef.shape[1]], self._weights[: coef.shape[1]]
        return np.array([(weights * of_sum[indices]).sum(axis=1) for of_sum in values])


class OrthonormalLeastSquares(LeastSquares):
    """Weak learners that are orthonormal in the space of the kernel."""

    def _with_last(self, n_learners: int) -> Double:
        return np.eye(1, n_learners, n_learners - 1)[0]

    def _with_model(self, start: int, n_learners: int) -> Double:
        coef = np.zeros((n_learners, len(self.target)))
        coef[: len(self.coef)] = self.coef
        return coef[start:].T

    def inner_products(self, values: Double, coef: Double) -> Double:
        """Inner products of the first weak learners with sums of them: the coefficients of these."""
        return coef


def make_least_squares(training: Targets, held_out: tuple[Targets, ...], settings: Settings) -> LeastSquares:
    """The least squares that suit the selection of an ensemble."""
    kind = OrthonormalLeastSquares if settings.keeps_dictionary else SetLeastSquares
    return kind(training, held_out, settings)
