"""The ensemble of base learners, which grows round by round: Sun and Yao (2010), Algorithm 2 and section III D."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._native.array_types import Double, Indices
from ..._rows.scaling import Scaling
from ..._rows.tiles import DOUBLE, TILE, aligned, in_precision, tiled
from ..._rows.training_rows import TargetRows
from ..kernel_ridge.kernel import Kernel
from ..kernel_ridge.kernel_matrix import LARGEST_SINGLE_LENGTH
from .basis_selection import BaseLearner, Selection, Settings, combine, row_draws
from .kernel_rows import KernelRows
from .least_squares import Coefficients, LeastSquares, Residuals

# Precision of kernels and columns, where rows are near enough for "single".
PRECISION = "single"

# Below this share of k(x, x) lambda is less than what single precision rounds of kernels.  Where there is hardly any
# noise, the likeliest kernel is as flat: the rows of a linear function would be near-duplicates of each other.
_LEAST_LAMBDA_IN_SINGLE = 1e-8

# Samples of rows that are tried before the ensemble stops growing.
_MAX_TRIES = 10

# Rows whose margin y F is above this are left out of later groups of a classifier.
_ACTIVE_MARGIN = 0.5

# Rounds L of a group, as in the paper.
GROUP_SIZE = 50

# Base learners of a round at most, where there are several outputs.
_MOST_TOGETHER = 2


class Ensemble:
    """Base learners whose coefficients are kept optimal: all of them, or, group by group, those of the last group.

    Several outputs share the base learners, and differ in coefficients alone.  `target`, of shape (n_outputs, n_tiles,
    128), has targets less the intercepts, and becomes the residual; losses of `held_out` follow.  `signs` are labels -1
    and +1 (n_samples, n_outputs) where groups after the first leave out the rows that are fitted well.
    """

    def __init__(self, rows: KernelRows, target: Double, held_out: tuple[Residuals, ...], settings: Settings,
                 rng: "np.random.Generator", signs: Double | None = None) -> None:
        self.rows, self._held_out, self._settings, self._rng, self._signs = rows, held_out, settings, rng, signs
        self._columns = aligned((settings.capacity, rows.n_tiles, TILE), rows.dtype)
        self.learners: list[BaseLearner] = []
        self._finished: list[Coefficients] = []
        self._n_skipped, self._is_exhausted = 0, False
        self._begin_group(target, None)

    def _begin_group(self, target: Double, active: Indices | None) -> None:
        """Learn from now on what the groups so far leave of the targets, from all rows or from active ones alone."""
        rows, columns, settings = self.rows, self._columns, self._settings
        self._active = None if active is None else (target, active)
        self._idle_loss = 0.0  # weighted sum of squares of the residual at rows that are left out
        if active is not None:
            flat = target.reshape(len(target), -1)[:, : rows.n_samples]
            squares = rows.flat_weight * flat**2
            squares[:, active] = 0
            self._idle_loss = float(squares.sum())
            rows, target = rows.taken(active), tiled_outputs(flat[:, active].T)
            columns = columns.reshape(-1)[: len(columns) * rows.n_tiles * TILE].reshape(-1, rows.n_tiles, TILE)
        self._selection = Selection(settings, rows)
        # Among all rows, a rule would select nearly the same vectors in every round.
        n_rows = rows.weights.n_positive
        half = max(settings.basis_size, n_rows // 2)
        self._n_drawn = n_rows if settings.max_samples is None else min(settings.max_samples, half, n_rows)
        self._draw = row_draws(rows.weights, self._n_drawn, self._rng)
        self.least_squares = LeastSquares(Residuals(rows, target, columns), self._held_out, settings)

    @property
    def n_skipped(self) -> int:
        """Near-duplicates met so far: rows in selections, and whole base learners."""
        return self._n_skipped + self._selection.n_skipped

    @property
    def loss(self) -> float:
        """Mean squared residual over rows and outputs; rows that a group leaves out count as when it began."""
        loss = self.least_squares.training.loss + self._idle_loss
        return loss / (self.rows.weights.total * len(self.least_squares.target))

    @property
    def eval_losses(self) -> list[float]:
        """Mean squared residual of each set of held-out rows."""
        return [part.loss / (part.rows.weights.total * len(part.residual)) for part in self._held_out]

    def state(self) -> tuple[Any, ...]:
        """Where it stands, for another to resume.  Nothing in it is ever changed."""
        return (self._active or (self.least_squares.target, None), self.least_squares.state(), self._selection.state(),
                tuple(self.learners), tuple(self._finished), self.n_skipped, self._is_exhausted)

    def resume(self, state: tuple[Any, ...]) -> None:
        """Stand where another has stood with the same rows and targets."""
        (target, active), fit, selection, learners, finished, self._n_skipped, self._is_exhausted = state
        self._begin_group(target.copy(), active)
        self.least_squares.resume(fit)
        self._selection.resume(selection)
        self.learners, self._finished = [*learners], [*finished]

    def grow(self) -> bool:
        """Add the base learners of a round; False if none is left to add, then and in every later call."""
        if self._is_exhausted:
            return False
        n_in_group = len(self.least_squares.learners)
        grows = n_in_group < self._settings.capacity and self._add_round()
        if not grows and n_in_group and self._settings.group_size is not None:
            self._next_group()  # which may have other rows, and may select those of the last group again
            grows = self._add_round()
        self._is_exhausted = not grows
        return grows

    def _add_round(self) -> bool:
        """Add base learners; False if the others span every one found in all rows, or in ten samples."""
        selection, fit = self._selection, self.least_squares
        for _ in range(1 if self._n_drawn == fit.training.rows.weights.n_positive else _MAX_TRIES):
            proposal = selection.propose(self._draw(), fit.target, fit.training.residual)
            if proposal is None:
                continue
            n_added = fit.add(*proposal)
            if n_added:
                added = fit.learners[-n_added:]
                if self._active is not None:  # whose indices are of all rows in what is kept
                    added = [learner._replace(indices=self._active[1][learner.indices]) for learner in added]
                self.learners += added
                return True
            selection.refuse()
            self._n_skipped += 1
        return False

    @property
    def groups(self) -> list[Coefficients]:
        """Coefficients of all base learners, group by group."""
        return [*self._finished, self.least_squares.coefficients]

    def _next_group(self) -> None:
        if self._settings.group_size == 1:  # (31), whose regulariser is that of the whole model and not of a group
            self._finished = self.groups
            self.least_squares.begin()
            return
        self.least_squares.refine()
        self._finished = self.groups
        self._n_skipped = self.n_skipped
        residual = self._residual_of_all_rows()
        self._begin_group(residual, None if self._signs is None else self._active_rows(residual, self._signs))

    def _residual_of_all_rows(self) -> Double:
        if self._active is None:
            return self.least_squares.training.residual
        (target, active), rows, kernel = self._active, self.rows, self._settings.kernel
        columns = aligned(target.shape, rows.dtype)
        indices, weights = combine(self.least_squares.learners, self.least_squares.coef)
        rows.fill(columns, rows.centers(active[indices]), kernel.amplitude * weights.T,
                  kernel.bias * weights.sum(axis=0))
        return target - columns

    def _active_rows(self, residual: Double, signs: Double) -> Indices:
        """The rows not yet fitted well in some output, at most half of all that count, sorted."""
        counting = self.rows.weights.positive()
        counted = signs.T[:, counting]
        margins = (counted * (counted - residual.reshape(len(residual), -1)[:, counting])).min(axis=0)
        order = counting[np.argsort(margins, kind="stable")]
        n_active = max(2, min(np.count_nonzero(margins < _ACTIVE_MARGIN), len(counting) // 2))
        return np.sort(order[:n_active])


def make_ensemble(model: Any, kernel: Kernel, scaling: Scaling, learned: TargetRows,
                  held_out: Sequence[TargetRows], n_rounds: int, rng: "np.random.Generator",
                  signs: Double | None = None) -> Ensemble:
    """An ensemble without base learners, by the parameters of an estimator, with room for so many rounds.

    Rows have targets less the intercepts.  The kernel is normalised, for weights of mean 1, and in units of columns
    scaled by `scaling`.
    """
    in_lengths, n_threads = kernel.scaling(scaling), model.n_jobs

    def pack_in(dtype: np.dtype[Any]) -> tuple[KernelRows, float]:
        rows = KernelRows(learned.X, in_lengths, learned.weights, dtype, n_threads, kernel.number)
        return rows, rows.largest_length

    precision = PRECISION if kernel.reg_lambda >= _LEAST_LAMBDA_IN_SINGLE else "double"
    rows = in_precision(pack_in, precision, LARGEST_SINGLE_LENGTH)
    n_positive, n_outputs = learned.weights.n_positive, learned.values.shape[1]
    basis_size = min(model.basis_size, model.max_samples or n_positive, n_positive)
    n_together = min(basis_size, n_outputs, _MOST_TOGETHER)
    group_size = {"full": None, "one": 1}.get(model.update, GROUP_SIZE)
    # No more base learners than rows are independent.
    capacity = min((n_rounds if group_size is None else min(group_size, n_rounds)) * n_together, n_positive)
    settings = Settings(kernel, model.selection, basis_size, model.max_samples, n_together, group_size, capacity)
    parts = []
    for each in held_out:
        others = KernelRows(each.X, in_lengths, each.weights, rows.dtype, n_threads, kernel.number)
        parts.append(Residuals(others, tiled_outputs(each.values),
                               aligned((capacity, others.n_tiles, TILE), rows.dtype)))
    return Ensemble(rows, tiled_outputs(learned.values), tuple(parts), settings, rng, signs)


def tiled_outputs(targets: Double) -> Double:
    """Targets (n_samples, n_outputs) in tiles, output by output."""
    return np.array([tiled(target, DOUBLE) for target in targets.T])
