"""Linear systems of Newton's methods for support vector machines.

With the rows y x in A, a scale S = diag(scale) >= 0 and signs left out, methods on the primal solve with I + A' S A,
methods on the dual with A A' + S^-1.  Scales of the hinge loss differ by more than double precision resolves: in
I + A' S A those of a few rows make the rest invisible, while A A' + S^-1 keeps rows apart.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .._kernels import solvers
from .._kernels.array_types import NDArray
from . import blocked_factors
from .pivot_factors import PivotFactor

if TYPE_CHECKING:
    from .linear_svm import Problem

Double = NDArray[np.float64]

# Up to so many rows per column there are few rows: a step on the columns may factorise heavy rows, too.
_ROWS_PER_COLUMN = 2

# Up to so many rows per column pivots among the rows are tried: with more, the passes of conjugate gradients over all
# rows take longer than a step on the columns.  Beyond few rows there may be so many pivots per column.
_MOST_ROWS_PER_COLUMN = 4
_PIVOTS_PER_COLUMN = 0.5

# Relative error, in the norm of a system, at which conjugate gradients end, and largest number of their steps.
_ERROR = 1e-3
_MOST_STEPS = 50

# Scale times squared length beyond which a row is heavy, as a multiple of that of usual rows: so much is lost in sums.
_HEAVY = 1e6


# Largest number of entries of a matrix that are handled together, so that an interrupt is noticed.
_TOGETHER = 2**24


def row_parts(n_rows: int, width: int) -> Iterator[slice]:
    """The rows of a matrix of a width, some at a time."""
    step = max(1, _TOGETHER // max(1, width))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def has_few_rows(n_samples: int, width: int) -> bool:
    """Whether a system of the number of rows is solved sooner than one of the columns."""
    return n_samples <= _ROWS_PER_COLUMN * width


class SplitSystem:
    """Matrices A A' + S^-1 of a problem in double precision, where rows of scale 0 take no part.

    Heavy rows, of large scale, are separated from light ones.  With B the light rows and M = I + B' S B, whose scales
    are alike, the rest is a matrix of the size of the heavy rows, H M^-1 H' + S^-1.  With few rows all are heavy, and
    M = I.  If pivots are asked for, and the rows are not too many, these are factorised instead.  What that leaves
    out, and what rounding makes of any factor, is mended by conjugate gradients.
    """

    def __init__(self, problem: "Problem", light_matrix: Callable[[Double], Double] | None, by_pivots: bool) -> None:
        """Take a function that computes I + B' S B of few columns, in its lower triangle; None for many columns."""
        self.problem, self.n_threads, self.light_matrix = problem, problem.threads.gram, light_matrix
        self.squares = np.einsum("ij,ij->i", problem.features, problem.features)
        n_samples, width = problem.features.shape
        self.gram, self.pivots = None, None
        if by_pivots and n_samples <= _MOST_ROWS_PER_COLUMN * width:
            most = n_samples if has_few_rows(n_samples, width) else int(_PIVOTS_PER_COLUMN * width)
            self.pivots = PivotFactor(problem, self.squares, most)
        elif has_few_rows(n_samples, width):
            self.gram = np.zeros((n_samples, n_samples))
            self._add_rows(np.arange(n_samples), problem.sign.astype(np.float64), self.gram)

    def _add_rows(self, rows: NDArray[np.intp], factor: Double, matrix: Double) -> None:
        """Add the products of the rows, each times its factor, to a matrix of their number."""
        features, depth = self.problem.features, blocked_factors.DEPTH
        parts = (np.ascontiguousarray(features[rows, start : start + depth] * factor[:, None])
                 for start in blocked_factors.told("columns of products of rows", features.shape[1]))
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
        for start in blocked_factors.told("rows of products of columns", len(rows)):
            some = rows[start : start + blocked_factors.DEPTH]
            yield np.ascontiguousarray((self.problem.features[some] * np.sqrt(self.light[some])[:, None]).T)

    def factorise(self, scale: Double) -> bool:
        """Prepare for a scale; return False where rounding makes a matrix not positive definite."""
        self.inner = self.outer = np.empty((0, 0))  # gives memory back before it is taken again
        self.scale, self.scale_root = scale, np.sqrt(scale)
        if self.pivots is not None:
            if self.pivots.factorise(self.scale_root):
                return True
            self.pivots = None  # would be too many, now and probably later
        self.heavy = self._heavy(scale)
        self.root = self.scale_root[self.heavy]
        self.light = scale.copy()
        self.light[self.heavy] = 0
        self.has_light = bool(self.light.any())
        n_heavy = len(self.heavy)
        if self.gram is not None:
            self.inner = np.empty((n_heavy, n_heavy))
            for some in row_parts(n_heavy, n_heavy):
                self.inner[some] = self.gram[self.heavy[some, None], self.heavy]
                self.inner[some] *= self.root
                self.inner[some] *= self.root[some, None]
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
        for some in row_parts(len(self.heavy), width):
            heavy = self.heavy[some]
            self.outer[width:][some] = problem.features[heavy] * (self.root[some] * problem.sign[heavy])[:, None]
        if not blocked_factors.factorise(self.outer, self.n_threads):
            return False
        parts = blocked_factors.column_parts(self.outer[width:])
        blocked_factors.add_products(parts, 1.0, self.inner, 0, self.n_threads)
        return True

    def _solve_light(self, vector: Double) -> Double:
        """M^-1 vector."""
        solution = vector.copy()
        if self.has_light:
            solvers.solve_factorised(self.outer, solution)
        return solution

    def _solve_heavy(self, right: Double) -> Double:
        """(H M^-1 H' + S^-1)^-1 right, 0 for rows that are not heavy."""
        some, solution = self.root * right[self.heavy], np.zeros(len(right))
        if len(some):
            solvers.solve_factorised(self.inner, some)
        solution[self.heavy] = self.root * some
        return solution

    def _solve_split(self, right: Double) -> Double:
        """(A A' + S^-1)^-1 right by heavy and light rows."""
        if not self.has_light:
            return self._solve_heavy(right)
        combined = self.problem.combine(self.light * right)
        heavy = self._solve_heavy(right - self.problem.project(self._solve_light(combined)))
        coef = self._solve_light(combined + self.problem.combine(heavy))
        return heavy + self.light * (right - self.problem.project(coef))

    def _solve_nearly(self, right: Double) -> Double:
        """(I + S^1/2 A A' S^1/2)^-1 right, as well as the factors tell."""
        if self.pivots is not None:
            return self.pivots.solve(right)
        inverse = np.divide(1, self.scale_root, out=np.zeros(len(right)), where=self.scale > 0)
        return np.where(self.scale > 0, inverse * self._solve_split(inverse * right), right)

    def _applied(self, vector: Double) -> Double:
        """(I + S^1/2 A A' S^1/2) vector."""
        return vector + self.scale_root * self.problem.project(self.problem.combine(self.scale_root * vector))

    def solve(self, right: Double) -> Double:
        """(A A' + S^-1)^-1 right, 0 for rows of scale 0, by conjugate gradients that the factors precondition."""
        rest, found = self.scale_root * right, np.zeros(len(right))
        way = self._solve_nearly(rest)
        product = rest @ way
        goal = _ERROR**2 * product
        for _ in range(_MOST_STEPS):
            if not product > goal:
                break
            along = self._applied(way)
            step = product / (way @ along)
            found, rest = found + step * way, rest - step * along
            towards = self._solve_nearly(rest)
            product, before = rest @ towards, product
            way = towards + product / before * way
        return self.scale_root * found

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
