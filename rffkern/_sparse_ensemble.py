"""Ensembles of sparse kernel learners whose coefficients are kept optimal: Sun and Yao (2010), sections III A to E.

A learner is f(x) = sum over s of weights[s] k(x, row s).  With the columns F of its values at the rows, the
coefficients c minimise 1/2 |y - F c|^2 + lambda/2 c' Omega c, (9), Omega being the inner products of the learners.  A
new learner adds a row to the Cholesky factor of F'F + lambda Omega, two passes over F give its products and the new
residual, and c moves by the solution for the gradient of *all* coefficients.  The gradient of the old ones is 0 but for
rounding, so that every step also refines what those before it left, and nothing drifts.

Inner products need no kernels: the learner's value at a row is its inner product with k(row, .), so that those with
another learner, or with the model, are sums of values that stand in a column already.
"""

from typing import NamedTuple

import numpy as np

from ._kernels import _cholesky, _kernel_columns
from ._tiles import aligned, tiled

_DOUBLE = np.dtype(np.float64)

# A learner is skipped as a near-duplicate where less than this share of its squared length is its own.
_SMALLEST_PIVOT = 1e-11

# Subsets that are tried before it is said that nothing is left to add.
_MAX_TRIES = 10

# After the last learner coefficients are refined until they move by less than this share, this often at most.
_REFINED = 1e-13
_MAX_REFINEMENTS = 4

# Rows whose margin y F is above this are left out of a classifier's block.
_ACTIVE_MARGIN = 0.5


class Learner(NamedTuple):
    """f(x) = sum over s of weights[s] k(x, rows[indices[s]]), of length 1 in the space of the kernel."""

    indices: np.ndarray  # (n_basis,) of rows
    weights: np.ndarray  # (n_basis,)


class CoefficientPath:
    """Coefficients after each learner: those of its block, the blocks before it keeping what they ended with."""

    def __init__(self, block_size):
        self.block_size, self.steps = block_size, []

    def at(self, n_learners):
        """Coefficients of the first learners, as they stood when there were no more."""
        ends = [*range(self.block_size, n_learners, self.block_size), n_learners] if n_learners else []
        return np.concatenate([np.empty(0), *(self.steps[end - 1] for end in ends)])


class Targets:
    """What is left of the targets at some rows, and the columns of the learners there."""

    def __init__(self, rows, residual, capacity):
        self.rows, self.residual = rows, residual
        self.columns = aligned((capacity, rows.n_tiles, residual.shape[1]), rows.dtype)
        self.partial = np.empty((rows.n_blocks, 2 * capacity))
        self.shrink(np.empty(0))

    def fill(self, index, learner, centers, kernel):
        """Evaluate a learner at the rows."""
        self.rows.fill(self.columns[index], centers, kernel.amplitude * learner.weights,
                       kernel.bias * learner.weights.sum())

    def shrink(self, steps):
        """Take the first columns times their steps from the residual."""
        rows = self.rows
        self.loss = _kernel_columns.shift_residual(self.columns, -steps, rows.weight, self.residual, self.partial,
                                                   rows.threads(len(steps)))


class LeastSquares:
    """Learners on some rows, with their coefficients."""

    def __init__(self, rows, target, capacity, learner_size, kernel, reg_lambda, held_out):
        self.training, self.held_out = Targets(rows, target.copy(), capacity), held_out
        self.target, self.kernel, self.reg_lambda = target, kernel, reg_lambda
        self.indices = np.zeros((capacity, learner_size), np.intp)
        self.weights = np.zeros((capacity, learner_size))
        self.factor = np.zeros((capacity, capacity))
        self.products = np.empty((capacity, 2))
        self.coef = np.zeros(0)
        self.learners = []

    def forget(self):
        """Begin anew with what is left of the target, the model staying as it is."""
        self.learners, self.coef = [], np.zeros(0)

    def model_at(self, indices):
        """Values of the model at rows, which are its inner products with k(row, .)."""
        return self.target.reshape(-1)[indices] - self.training.residual.reshape(-1)[indices]

    def residual_at(self, indices):
        return self.training.residual.reshape(-1)[indices]

    def _gradient(self, n_learners):
        """Minus the derivatives of (9) along the coefficients; the products of the last column stay in `products`."""
        rows, n_threads = self.training.rows, self.training.rows.threads(n_learners)
        _kernel_columns.multiply_columns(self.training.columns, n_learners, rows.weight, self.training.residual,
                                         self.training.partial, np.empty((n_threads, _kernel_columns.PRODUCT_SCRATCH)),
                                         self.products, n_threads)
        pull = (self.weights[:n_learners] * self.model_at(self.indices[:n_learners])).sum(axis=1)
        return self.products[:n_learners, 1] - self.reg_lambda * pull

    def _move(self, gradient):
        """Take the Newton step, which is exact, and return it."""
        step = gradient
        _cholesky.solve_factorised(self.factor, step)
        self.coef = self.coef + step
        for targets in (self.training, *self.held_out):
            targets.shrink(step)
        return step

    def add(self, learner):
        """Add a learner and make all coefficients optimal, (12); False for a learner that others make up."""
        last, size = len(self.learners), len(learner.indices)
        centers = self.training.rows.at(learner.indices)
        self.training.fill(last, learner, centers, self.kernel)
        self.indices[last], self.weights[last] = 0, 0
        self.indices[last, :size], self.weights[last, :size] = learner
        gradient = self._gradient(last + 1)
        values = self.training.columns[last].reshape(-1)[self.indices[: last + 1]]
        inner_products = (self.weights[: last + 1] * values).sum(axis=1)
        self.factor[last, : last + 1] = self.products[: last + 1, 0] + self.reg_lambda * inner_products
        if not _cholesky.extend(self.factor, last, _SMALLEST_PIVOT):
            return False
        for targets in self.held_out:
            targets.fill(last, learner, centers, self.kernel)
        self.learners.append(learner)
        self.coef = np.append(self.coef, 0.0)
        self._move(gradient)
        return True

    def refine(self):
        """Correct the coefficients by what rounding has left of the gradient, until they stand."""
        for _ in range(_MAX_REFINEMENTS if self.learners else 0):
            step = self._move(self._gradient(len(self.learners)))
            if np.abs(step).max() <= _REFINED * np.abs(self.coef).max():
                break


class Ensemble:
    """The learners of one output, by one of the update schemes.

    Parameters
    ----------
    rows, target : KernelRows, and their targets less the intercept in tiles
    held_out : (KernelRows, targets) or None
    selection : BasisSelection
    subsets : callable (n_samples, weight) -> Subsets
    sign : array of shape (n_samples,) or None
        Labels -1 and +1, where blocks leave out rows that are fitted well.
    update : "full", "one" or "block"
    block_size : int, learners in a block
    """

    def __init__(self, rows, target, held_out, selection, subsets, sign, update, block_size):
        self.rows, self.selection, self.make_subsets, self.sign = rows, selection, subsets, sign
        self.update, self.block_size = update, block_size
        self.residual = target
        self.held_out = [Targets(*held_out, block_size)] if held_out else []
        self.learners, self.path, self.n_skipped = [], CoefficientPath(block_size), 0
        self.active = None  # rows of the block, or None for all
        self.idle_loss = 0.0  # of the others
        self._begin(target)

    def _begin(self, target):
        """Begin a block on the rows that are not yet fitted well."""
        selection, rows = self.selection, self.rows
        if self.sign is not None and self.learners:
            margins = self.sign * (self.sign - self.residual.reshape(-1)[: rows.n_samples])
            order = np.argsort(margins, kind="stable")
            n_active = min(max(2, np.count_nonzero(margins < _ACTIVE_MARGIN)), max(2, rows.n_samples // 2))
            self.active = np.sort(order[:n_active])
            idle = order[n_active:]
            self.idle_loss = float((rows.flat_weight[idle] * self.residual.reshape(-1)[idle] ** 2).sum())
            rows, target = rows.part(self.active), tiled(target.reshape(-1)[self.active], _DOUBLE)
        self.block = LeastSquares(rows, target, self.block_size, selection.n_wanted, selection.kernel,
                                  selection.reg_lambda, self.held_out)
        self.subsets = self.make_subsets(rows.n_samples, rows.flat_weight)

    def _finish(self):
        """End a block: the next one learns what it leaves of the target."""
        block = self.block
        self.refine()
        if self.active is None:
            self.residual = block.training.residual
        else:
            self.residual = self.residual - self._block_values()
        self.active = None
        self.selection.reset()

    def _block_values(self):
        """Values of the block's model at all rows."""
        kernel, column = self.selection.kernel, aligned(self.residual.shape, self.rows.dtype)
        indices, weights = combine(self.learners[-len(self.block.learners):], self.block.coef)
        self.rows.fill(column, self.rows.at(indices), kernel.amplitude * weights, kernel.bias * weights.sum())
        return column

    @property
    def loss(self):
        """Mean squared residual; rows that a block leaves out count with what they had when it began."""
        return (self.block.training.loss + self.idle_loss) / self.rows.total_weight

    @property
    def eval_loss(self):
        return self.held_out[0].loss / self.held_out[0].rows.total_weight if self.held_out else None

    def _next_learner(self):
        """The learner (25) on the basis vectors that the rule selects, or None where there is none."""
        block, kernel = self.block, self.selection.kernel
        rows, residual = block.training.rows, block.training.residual
        indices = self.subsets.draw()
        chosen = self.selection.choose(rows, indices, block.residual_at(indices), block.model_at(indices))
        if not len(chosen):
            return None
        if self.selection.keeps_dictionary:
            return Learner(chosen, np.array([1 / np.sqrt(kernel.at_zero)]))
        v = rows.weight * residual
        u = kernel.amplitude * rows.correlate(v, rows.at(chosen)) + kernel.bias * v.sum()
        u -= self.selection.reg_lambda * block.model_at(chosen)  # (24)
        weights = u.copy()
        _cholesky.solve_factorised(self.selection.factor(), weights)
        square = u @ weights
        return Learner(chosen, weights / np.sqrt(square)) if square > 0 and np.isfinite(square) else None

    def grow(self):
        """Add a learner; False where all rows, or ten subsets, hold none that is not made up of others."""
        if self.block.learners and len(self.block.learners) == self.block_size:
            if self.update == "block":
                self._finish()
                self._begin(self.residual)
            else:
                self.block.forget()
        for _ in range(1 if self.subsets.holds_all else _MAX_TRIES):
            learner = self._next_learner()
            if learner is not None and self.block.add(learner):
                self.learners.append(learner if self.active is None
                                     else learner._replace(indices=self.active[learner.indices]))
                self.path.steps.append(self.block.coef)
                return True
            self.n_skipped += learner is not None
        return False

    def refine(self):
        """Refine the coefficients of the last block."""
        self.block.refine()
        if self.learners:
            self.path.steps[-1] = self.block.coef


def combine(learners, coef):
    """Distinct rows of some learners, sorted, and the weight of each in their sum."""
    indices = np.concatenate([np.empty(0, np.intp), *(learner.indices for learner in learners)])
    weights = np.concatenate([np.empty(0), *(c * learner.weights for c, learner in zip(coef, learners, strict=True))])
    distinct, place = np.unique(indices, return_inverse=True)
    return distinct, np.bincount(place, weights, len(distinct))


def grow_all(ensembles, monitor):
    """Grow the ensembles of all outputs round by round; return how many learners each had after each round."""
    counts = []
    go_on = monitor.record(*_mean_losses(ensembles))
    while go_on:
        grown = [ensemble.grow() for ensemble in ensembles]
        if not any(grown):
            break
        counts.append([len(ensemble.learners) for ensemble in ensembles])
        go_on = monitor.record(*_mean_losses(ensembles))
    return counts


def _mean_losses(ensembles):
    held_out = [ensemble.eval_loss for ensemble in ensembles]
    return (sum(ensemble.loss for ensemble in ensembles) / len(ensembles),
            None if held_out[0] is None else sum(held_out) / len(held_out))
