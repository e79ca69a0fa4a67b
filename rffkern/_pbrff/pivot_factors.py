"""Factors of a matrix of the size of the rows, by as many pivots as it takes until others are nearly made up."""

from typing import TYPE_CHECKING

import numpy as np

from .._kernels import pbrff, scoring, solvers
from .._kernels.array_types import NDArray
from . import blocked_factors

if TYPE_CHECKING:
    from .linear_svm import Problem

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Pivots that are taken together: a panel of the kernels.
_PANEL = 128

# Rows cease to be pivots when no more than this is left of them on average: conjugate gradients mend it in a few steps.
_LEFT = 0.1

# Where no more pivots are allowed, so much may be left of the others.
_MOST_LEFT = 1.0

# What is left of a row whose products are not known yet counts for this much of it.
_UNKNOWN = 0.2

# Up to so many rows, their products are found one after the other.
_FEW = 8

# Share of a diagonal that rounding may take away.
_ROUNDING = 1e-14


class _Products:
    """Rows of A A', each of which is computed when it is first needed."""

    def __init__(self, problem: "Problem") -> None:
        self._problem = problem
        self._rows: dict[int, Double] = {}
        self.are_known = np.zeros(problem.n_samples, bool)

    def of(self, rows: Indices) -> list[Double]:
        unknown = rows[~self.are_known[rows]]
        if len(unknown) > _FEW:
            self._compute(unknown)
        else:
            for row in unknown:
                products = self._problem.project(self._problem.features[row])
                self._rows[int(row)] = products * self._problem.sign[row]
        self.are_known[unknown] = True
        return [self._rows[int(row)] for row in rows]

    def _compute(self, rows: Indices) -> None:
        problem, n_rows = self._problem, len(rows)
        is_other = np.ones(problem.n_samples, bool)
        is_other[rows] = False
        order = np.concatenate([rows, np.flatnonzero(is_other)])
        sign = problem.sign[order, None].astype(np.float64)
        parts = (np.ascontiguousarray(problem.features[order, start : start + blocked_factors.DEPTH] * sign)
                 for start in blocked_factors.told("columns of products of rows", problem.width))
        panel = np.zeros((len(order), n_rows))
        blocked_factors.add_products(parts, 1.0, panel, 0, problem.threads.gram)
        panel[:n_rows] += np.tril(panel[:n_rows], -1).T
        found = np.empty((n_rows, len(order)))
        found[:, order] = panel.T
        self._rows.update(zip(rows.tolist(), found, strict=True))


class PivotFactor:
    """A factor of I + R A A' R, where R is diagonal.

    Pivots are the rows of which most is left after the pivots before them.  Where features are smooth functions of few
    columns, some hundred rows nearly make up all others, of which only the diagonal of what is left is kept.
    """

    def __init__(self, problem: "Problem", squares: Double, most: int) -> None:
        """Take the squared lengths of the rows, and how many pivots there may be."""
        self._problem, self._squares, self._most = problem, squares, most
        self._products = _Products(problem)

    def factorise(self, root: Double) -> bool:
        """Prepare for a diagonal; return False where more pivots are needed than are allowed."""
        self._factor = np.empty((0, 0))  # gives memory back before it is taken again
        rest = self._squares * root**2
        others, pivots = np.arange(len(root)), [np.empty(0, np.intp)]
        panels: list[Double] = []
        while rest[others].sum() > _LEFT * len(root):
            if len(panels) * _PANEL >= self._most:
                if rest[others].sum() > _MOST_LEFT * len(root):
                    return False
                break
            worth = rest[others] * np.where(self._products.are_known[others], 1, _UNKNOWN)
            places = np.argsort(-worth, kind="stable")
            taken, others = others[places[:_PANEL]], np.sort(others[places[_PANEL:]])
            panel = self._panel(panels, taken, others, root)
            if panel is None:
                return False
            pivots.append(taken)
            panels.append(panel)
            rest[others] = np.maximum(rest[others] - np.einsum("ij,ij->i", panel[others], panel[others]), 0)
        self._pivots, self._others = np.concatenate(pivots), others
        self._left = 1 + rest[others]
        self._ones = np.ones(len(others), np.int8)
        self._join(panels)
        return True

    def _panel(self, panels: list[Double], taken: Indices, others: Indices, root: Double) -> Double | None:
        """The columns of the factor of some pivots, by rows; None where rounding leaves none."""
        order, n_threads = np.concatenate([taken, others]), self._problem.threads.gram
        products = np.stack([found[order] for found in self._products.of(taken)])
        products *= root[order]
        products *= root[taken, None]
        panel = np.ascontiguousarray(products.T)
        diagonal = panel[: len(taken)].reshape(-1)[:: len(taken) + 1]
        diagonal += 1 + _ROUNDING * diagonal
        blocked_factors.add_products((before[order] for before in panels), -1.0, panel, 0, n_threads)
        scratch = np.empty((n_threads, solvers.factor_scratch(len(taken))))
        if not solvers.factorise(panel, scratch, n_threads):
            return None
        panel[: len(taken)] = np.tril(panel[: len(taken)])
        by_rows = np.zeros((len(root), len(taken)))
        by_rows[order] = panel
        return by_rows

    def _join(self, panels: list[Double]) -> None:
        """The whole factor, the pivots first; the last columns may be 0."""
        n_columns = -(-len(self._pivots) // scoring.LANE_COUNT) * scoring.LANE_COUNT
        self._factor = np.zeros((self._problem.n_samples, max(n_columns, scoring.LANE_COUNT)))
        order, start = np.concatenate([self._pivots, self._others]), 0
        for panel in panels:
            self._factor[:, start : start + panel.shape[1]] = panel[order]
            start += panel.shape[1]
        self._partial = np.empty((-(-len(self._others) // pbrff.STRIP_ROWS), self._factor.shape[1]))

    def solve(self, right: Double) -> Double:
        """Solve with the factor."""
        n_pivots, n_threads = len(self._pivots), self._problem.threads.rows
        below, found = self._factor[n_pivots:], np.empty(len(right))
        some = np.zeros(self._factor.shape[1])
        some[:n_pivots] = right[self._pivots]
        solvers.solve_factorised(self._factor, some[:n_pivots], True, False)
        if len(self._others):
            along = np.empty(len(self._others))
            pbrff.project_rows(below, self._ones, some, along, n_threads)
            others = found[self._others] = (right[self._others] - along) / self._left
            combined = np.empty(len(some))
            pbrff.combine_rows(below, self._ones, others, combined, self._partial, n_threads)
            some -= combined
        solvers.solve_factorised(self._factor, some[:n_pivots], False, True)
        found[self._pivots] = some[:n_pivots]
        return found
