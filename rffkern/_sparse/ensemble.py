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

from .._data.tiles import aligned, tiled
from .._kernels import linalg, sparse_columns

_DOUBLE = np.dtype(np.float64)

# A learner is skipped as a near-duplicate where less than this share of its squared length is its own: below, rounding
# of the inner products that are read off columns decides.
_SMALLEST_PIVOT = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-7}

# Subsets that are tried before it is said that nothing is left to add.
_MAX_TRIES = 10

# After the last learner coefficients are refined until they move by less than this share, this often at most, and as
# long as they promise to lower the objective by no more than rounding can have raised it.
_REFINED = 1e-13
_MAX_REFINEMENTS = 4
_ROUNDING = 1e-6

# Rows whose margin y F is above this are left out of a classifier's block.
_ACTIVE_MARGIN = 0.5


class Learner(NamedTuple):
    """f(x) = sum over s of weights[s] k(x, rows[indices[s]]), of length 1 in the space of the kernel.

    Basis vectors that are chosen alone would make columns that are nearly parallel.  There each learner is what its
    vector, the last of its indices, has beyond the vectors of the learners before it: `before` are the factors with
    which their columns are taken from that of the vector.  Such learners are orthonormal.
    """

    indices: np.ndarray  # (n_basis,) of rows
    weights: np.ndarray  # (n_basis,)
    before: np.ndarray | None = None  # (n_learners before it,)


class CoefficientPath:
    """Coefficients after each learner: those of its block, the blocks before it keeping what they ended with."""

    def __init__(self):
        self.steps, self.ends = [], []

    def end_block(self):
        """The learners so far keep what they have."""
        if self.ends[-1:] != [len(self.steps)]:
            self.ends.append(len(self.steps))

    def cut(self, n_learners):
        """The path of the first learners."""
        kept = CoefficientPath()
        kept.steps, kept.ends = self.steps[:n_learners], [end for end in self.ends if end < n_learners]
        return kept

    def at(self, n_learners):
        """Coefficients of the first learners, as they stood when there were no more."""
        ends = [*(end for end in self.ends if end < n_learners), n_learners] if n_learners else []
        return np.concatenate([np.empty(0), *(self.steps[end - 1] for end in ends)])


class Targets:
    """What is left of the targets at some rows, and the columns of the learners there."""

    def __init__(self, rows, residual, capacity):
        self.rows, self.residual = rows, residual
        self.columns = aligned((capacity, rows.n_tiles, residual.shape[1]), rows.dtype)
        self.partial = np.empty((rows.n_blocks, 2 * capacity))
        self.shrink(np.empty(0))

    def fill(self, index, learner, centers, kernel):
        """Evaluate a learner at the rows; `centers` are its basis vectors, or the last where others are `before` it."""
        weights = learner.weights[-len(centers) :]
        self.rows.fill(self.columns[index], centers, kernel.amplitude * weights, kernel.bias * weights.sum())
        if learner.before is not None:
            column = self.columns[index].astype(np.float64)
            self._add(-learner.before, column)
            self.columns[index] = column

    def _add(self, steps, values):
        """Add the first columns times their steps to values at the rows; return the weighted sum of squares."""
        return sparse_columns.shift_residual(self.columns, steps, self.rows.weight, values, self.partial,
                                              self.rows.threads(len(steps)))

    def shrink(self, steps):
        """Take the first columns times their steps from the residual."""
        self.loss = self._add(-steps, self.residual)


class LeastSquares:
    """Learners on some rows, with their coefficients."""

    def __init__(self, rows, target, capacity, learner_size, kernel, reg_lambda, held_out):
        self.training, self.held_out = Targets(rows, target.copy(), capacity), held_out
        self.target, self.kernel, self.reg_lambda = target, kernel, reg_lambda
        self.indices = np.zeros((capacity, learner_size), np.intp)
        self.weights = np.zeros((capacity, learner_size))
        self.factor = np.zeros((capacity, capacity))
        self.products = np.empty((capacity, 2))
        self.forget()

    def forget(self):
        """Begin anew with what is left of the target, the model staying as it is."""
        self.learners, self.coef = [], np.zeros(0)

    def model_at(self, indices):
        """Values of the model at rows, which are its inner products with k(row, .)."""
        return self.target.reshape(-1)[indices] - self.training.residual.reshape(-1)[indices]

    def residual_at(self, indices):
        return self.training.residual.reshape(-1)[indices]

    def _inner_products(self, learner, n_learners):
        """Inner products with the first learners, the last of which is `learner`: of it, and of the model."""
        if learner.before is not None:  # all are orthonormal
            return np.eye(1, n_learners, n_learners - 1)[0], np.resize(np.append(self.coef, 0.0), n_learners)
        weights, indices = self.weights[:n_learners], self.indices[:n_learners]
        values = self.training.columns[n_learners - 1].reshape(-1)[indices]
        return (weights * values).sum(axis=1), (weights * self.model_at(indices)).sum(axis=1)

    def _products(self, n_learners):
        """Weighted products of the first columns with the last of them, and with the residual."""
        rows, n_threads = self.training.rows, self.training.rows.threads(n_learners)
        scratch = np.empty((n_threads, sparse_columns.PRODUCT_SCRATCH))
        sparse_columns.multiply_columns(self.training.columns, n_learners, rows.weight, self.training.residual,
                                         self.training.partial, scratch, self.products, n_threads)
        return self.products[:n_learners].T

    def _move(self, step):
        self.coef = self.coef + step
        for targets in (self.training, *self.held_out):
            targets.shrink(step)

    def add(self, learner):
        """Add a learner and make all coefficients optimal, (12); False for a learner that others make up."""
        last, size = len(self.learners), len(learner.indices)
        if learner.before is None:
            self.indices[last], self.weights[last] = 0, 0
            self.indices[last, :size], self.weights[last, :size] = learner.indices, learner.weights
        centers = self.training.rows.at(learner.indices if learner.before is None else learner.indices[-1:])
        self.training.fill(last, learner, centers, self.kernel)
        with_last, with_residual = self._products(last + 1)
        with_learner, with_model = self._inner_products(learner, last + 1)
        self.factor[last, : last + 1] = with_last + self.reg_lambda * with_learner
        if not linalg.extend(self.factor, last, _SMALLEST_PIVOT[self.training.rows.dtype]):
            return False
        for targets in self.held_out:
            targets.fill(last, learner, centers, self.kernel)
        self.learners.append(learner)
        self.coef = np.append(self.coef, 0.0)
        step = with_residual - self.reg_lambda * with_model
        linalg.solve_factorised(self.factor, step)
        self._move(step)
        return True

    def refine(self):
        """Correct the coefficients by what rounding has left of the gradient, until they stand."""
        for _ in range(_MAX_REFINEMENTS if self.learners else 0):
            with_model = self._inner_products(self.learners[-1], len(self.learners))[1]
            gradient = self._products(len(self.learners))[1] - self.reg_lambda * with_model
            step = gradient.copy()
            linalg.solve_factorised(self.factor, step)
            objective = self.training.loss + self.reg_lambda * np.abs(self.coef @ with_model)
            if not 0 <= gradient @ step <= _ROUNDING * objective:
                break
            self._move(step)
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
        self.learners, self.path, self.n_skipped, self.exhausted = [], CoefficientPath(), 0, False
        self.active = None  # rows of the block, or None for all
        self.idle_loss = 0.0  # of the others
        self._begin()

    def _begin(self):
        """Begin a block on the rows that are not yet fitted well."""
        selection, rows, target = self.selection, self.rows, self.residual
        if self.sign is not None and self.learners:
            weighty = np.flatnonzero(rows.flat_weight)
            margins = self.sign[weighty] * (self.sign[weighty] - target.reshape(-1)[weighty])
            order = weighty[np.argsort(margins, kind="stable")]
            n_active = max(2, min(np.count_nonzero(margins < _ACTIVE_MARGIN), len(weighty) // 2))
            self.active, idle = np.sort(order[:n_active]), order[n_active:]
            self.idle_loss = float((rows.flat_weight[idle] * target.reshape(-1)[idle] ** 2).sum())
            rows, target = rows.part(self.active), tiled(target.reshape(-1)[self.active], _DOUBLE)
        self.block = LeastSquares(rows, target, self.block_size, selection.n_wanted, selection.kernel,
                                  selection.reg_lambda, self.held_out)
        self.subsets = self.make_subsets(rows.n_samples, rows.flat_weight)

    def _finish(self):
        """End a block: the next one learns what it leaves of the target."""
        self.refine()
        if self.active is None:
            self.residual = self.block.training.residual
        else:
            self.residual = self.residual - self._block_values()
        self.active = self.block = None  # whose columns make room for the next
        self.path.end_block()
        self.selection.reset()

    def _block_values(self):
        """Values of the block's model at all rows."""
        kernel, column = self.selection.kernel, aligned(self.residual.shape, self.rows.dtype)
        indices, weights = combine(self.learners[-len(self.block.learners) :], self.block.coef)
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
            return Learner(*self.selection.beyond_those_before())
        if self.selection.alone:
            return Learner(chosen, np.array([1 / np.sqrt(kernel.at_zero)]))
        v = rows.weight * residual
        u = kernel.amplitude * rows.correlate(v, rows.at(chosen)) + kernel.bias * v.sum()
        u -= self.selection.reg_lambda * block.model_at(chosen)  # (24)
        weights = u.copy()
        linalg.solve_factorised(self.selection.factor(), weights)
        square = u @ weights
        return Learner(chosen, weights / np.sqrt(square)) if square > 0 and np.isfinite(square) else None

    def grow(self):
        """Add a learner; False where none is left to add."""
        if self.exhausted:
            return False
        if self.update == "block" and len(self.block.learners) == self.block_size:
            self._finish()
            self._begin()
        grown = self._add_one()
        if not grown and self.update == "block" and self.block.learners:
            self._finish()  # the next may have other rows, and may choose those of this one again
            self._begin()
            grown = self._add_one()
        self.exhausted = not grown
        return grown

    def _add_one(self):
        """Add a learner; False where all rows, or ten subsets, hold none that is not made up of others."""
        if self.update == "full" and len(self.block.learners) == self.block_size:
            return False
        for _ in range(1 if self.subsets.holds_all else _MAX_TRIES):
            learner = self._next_learner()
            if learner is None:
                continue
            if self.update == "one" and self.learners:
                self.block.forget()
                self.path.end_block()
            if self.block.add(learner):
                self.learners.append(learner if self.active is None
                                     else learner._replace(indices=self.active[learner.indices]))
                self.path.steps.append(self.block.coef)
                return True
            self.selection.refuse()
            self.n_skipped += 1
        return False

    def refine(self):
        """Refine the coefficients of the last block."""
        self.block.refine()
        if self.block.learners:
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
