"""Linear systems of Newton's methods for support vector machines.

With the rows y x in A, a scale S = diag(scale) >= 0 and signs left out, methods on the primal solve with I + A' S A,
methods on the dual with A A' + S^-1.  Scales of the hinge loss differ by more than double precision resolves: in
I + A' S A those of a few rows make the rest invisible, while A A' + S^-1 keeps rows apart.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import linalg
from . import blocked_factors

if TYPE_CHECKING:
    from .linear_svm import Problem

Double = NDArray[np.float64]

# Up to so many rows per column there are few rows: a step on the columns may factorise heavy rows, too.
_ROWS_PER_COLUMN = 2

# Scale times squared length beyond which a row is heavy, as a multiple of that of usual rows: so much is lost in sums.
_HEAVY = 1e6


def has_few_rows(n_samples: int, width: int) -> bool:
    """Whether a system of the number of rows is solved sooner than one of the columns."""
    return n_samples <= _ROWS_PER_COLUMN * width


class SplitSystem:
    """Matrices A A' + S^-1 of a problem in double precision, where rows of scale 0 take no part.

    Heavy rows, of large scale, are separated from light ones.  With B the light rows and M = I + B' S B, whose scales
    are alike, the rest is a matrix of the size of the heavy rows, H M^-1 H' + S^-1.  With few rows all are heavy, and
    M = I.
    """

    def __init__(self, problem: "Problem", light_matrix: Callable[[Double], Double] | None) -> None:
        """Take a function that computes I + B' S B of few columns, in its lower triangle; None for many columns."""
        self.problem, self.n_threads, self.light_matrix = problem, problem.threads.gram, light_matrix
        self.squares = np.einsum("ij,ij->i", problem.features, problem.features)
        self.gram, n_samples = None, problem.n_samples
        if has_few_rows(n_samples, problem.width):
            self.gram = np.zeros((n_samples, n_samples))
            self._add_rows(np.arange(n_samples), problem.sign.astype(np.float64), self.gram)

    def _add_rows(self, rows: NDArray[np.intp], factor: Double, matrix: Double) -> None:
        """Add the products of the rows, each times its factor, to a matrix of their number."""
        features, depth = self.problem.features, blocked_factors.DEPTH
        parts = (np.ascontiguousarray(features[rows, start : start + depth] * factor[:, None])
                 for start in range(0, features.shape[1], depth))
        blocked_factors.add_products(parts, 1.0, matrix, 0, self.n_threads)

    def _heavy(self, scale: Double) -> NDArray[np.intp]:
        """Indices of the heavy rows, in order."""
        rows, most = np.flatnonzero(scale), self.problem.width
        if self.gram is not None or len(rows) <= most:
            return rows
        weight = scale * self.squares
        usual = np.partition(weight, -1 - most)[-1 - most]  # at most as many rows as columns are above it
        return np.flatnonzero(weight > _HEAVY * max(1.0, usual))

    def _light_parts(self) -> Iterator[Double]:
        """The columns of (S^1/2 B)', for a matrix of the size of w."""
        rows = np.flatnonzero(self.light)
        for start in range(0, len(rows), blocked_factors.DEPTH):
            some = rows[start : start + blocked_factors.DEPTH]
            yield np.ascontiguousarray((self.problem.features[some] * np.sqrt(self.light[some])[:, None]).T)

    def factorise(self, scale: Double) -> bool:
        """Prepare for a scale; return False where rounding makes a matrix not positive definite."""
        self.inner = self.outer = np.empty((0, 0))  # gives memory back before it is taken again
        self.scale, self.heavy = scale, self._heavy(scale)
        self.root = np.sqrt(scale[self.heavy])
        self.light = scale.copy()
        self.light[self.heavy] = 0
        self.has_light = bool(self.light.any())
        n_heavy = len(self.heavy)
        if self.gram is not None:
            self.inner = self.gram[np.ix_(self.heavy, self.heavy)]
            self.inner *= self.root
            self.inner *= self.root[:, None]
        else:
            self.inner = np.zeros((n_heavy, n_heavy))
            if self.has_light and not self._factorise_light():
                return False
            if not self.has_light:
                self._add_rows(self.heavy, self.root * self.problem.sign[self.heavy], self.inner)
        self.inner.flat[:: n_heavy + 1] += 1
        return blocked_factors.factorise(self.inner, self.n_threads)

    def _factorise_light(self) -> bool:
        """Factorise M, and add S^1/2 H M^-1 H' S^1/2 to the inner matrix."""
        problem, width = self.problem, self.problem.width
        self.outer = np.zeros((width + len(self.heavy), width))
        if self.light_matrix is not None:
            self.outer[:width] = self.light_matrix(self.light)
        else:
            blocked_factors.add_products(self._light_parts(), 1.0, self.outer[:width], 0, self.n_threads)
            self.outer[:width].flat[:: width + 1] += 1
        self.outer[width:] = problem.features[self.heavy] * (self.root * problem.sign[self.heavy])[:, None]
        if not blocked_factors.factorise(self.outer, self.n_threads):
            return False
        parts = blocked_factors.column_parts(self.outer[width:])
        blocked_factors.add_products(parts, 1.0, self.inner, 0, self.n_threads)
        return True

    def _solve_light(self, vector: Double) -> Double:
        """M^-1 vector."""
        solution = vector.copy()
        if self.has_light:
            linalg.solve_factorised(self.outer, solution)
        return solution

    def _solve_heavy(self, right: Double) -> Double:
        """(H M^-1 H' + S^-1)^-1 right, 0 for rows that are not heavy."""
        some, solution = self.root * right[self.heavy], np.zeros(len(right))
        if len(some):
            linalg.solve_factorised(self.inner, some)
        solution[self.heavy] = self.root * some
        return solution

    def solve(self, right: Double) -> Double:
        """(A A' + S^-1)^-1 right, 0 for rows of scale 0."""
        if not self.has_light:
            return self._solve_heavy(right)
        combined = self.problem.combine(self.light * right)
        heavy = self._solve_heavy(right - self.problem.project(self._solve_light(combined)))
        coef = self._solve_light(combined + self.problem.combine(heavy))
        return heavy + self.light * (right - self.problem.project(coef))

    def _solve_primal(self, vector: Double, right: Double) -> Double:
        """(I + A' S A)^-1 (vector + H' S right)."""
        heavy = self._solve_heavy(right - self.problem.project(self._solve_light(vector)))
        return self._solve_light(vector + self.problem.combine(heavy))

    def direction(self, descent: Double, coef: Double) -> Double:
        """Newton's step of the primal of the squared hinge loss from coef: to the least squares of the scaled rows.

        Rounding in what it ends at would stay the same from step to step, so that the step is refined once.
        """
        problem, ones = self.problem, np.ones(self.problem.n_samples)
        step = self._solve_primal(problem.combine(self.light), ones) - coef
        rest = descent - step - problem.combine(self.scale * problem.project(step))
        return step + self._solve_primal(rest, 0 * ones)
