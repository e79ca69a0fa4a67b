"""Linear support vector machines on landmark features.

With sign y in {-1, +1} and bound U_i = C weight_i the primal problem is: minimise 1/2 |w|^2 + sum over rows of
U_i l(1 - y_i w . x_i), with l(s) = max(0, s) for the hinge loss and its square for the squared hinge loss.  The dual
is: maximise sum of alpha_i - 1/2 |sum of alpha_i y_i x_i|^2 - 1/2 sum of D_i alpha_i^2 over alpha_i >= 0, where
alpha_i <= U_i and D_i = 0 for the hinge loss, and D_i = 1 / (2 U_i) for the squared one.

One method serves both losses: the proximal point method on the dual (R. T. Rockafellar, SIAM J. Control Optim. 14,
1976), whose steps are found by a semismooth Newton method on the primal (Y. Yan, Q. Li, Optimization Methods and
Software 35, 2020).  A stage with center a and step sizes sigma takes (alpha_i - a_i)^2 / (2 sigma_i) from the dual.
In the primal each loss gives way to a smooth one, whose derivative at slack s is

    alpha_i(s) = clip((a_i / sigma_i + s) / (D_i + 1 / sigma_i), 0, top_i),

with top_i = U_i for the hinge loss and none for the squared one.  Its minimum is where the gradient
g = w - sum of alpha_i y_i x_i is 0, and Newton's system is I + X' S X, with S_i = 1 / (D_i + 1 / sigma_i) in the rows
where the clip does nothing and 0 in others.  Then a = alpha, and sigma grows.  Any alpha is feasible in the dual, so
that every step has a duality gap, and the method ends by it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.monitor import SECONDS_BETWEEN, report_progress
from ..._native import pbrff, solvers
from ..._native.array_types import Double, Indices, NDArray
from ..._protocol.warning import warn
from ..._rows.weights import row_products

Signs = NDArray[np.int8]
Solve = Callable[[Double], Double]

# Step sizes of the first stage, as a multiple of the bounds, and by how much those of each stage are longer.  A first
# multiple of 0.1, or a growth of 2 to 5, changes the time by less than a quarter.
_FIRST_SIGMA = 0.01
_GROWTH = 3.0

# Largest sigma |x|^2: beyond, rounding would be all that is left of the 1 in I + X' S X.
_LARGEST_SIGMA = 1e10

# A stage ends when 1/2 |g|^2, which is its own duality gap, is less than this share of the gap of the problem.
_STAGE_GAP = 0.5

# Stages in a row that made the gap no smaller, which end the method, because rounding decides; and the
# largest number of Newton steps.
_MOST_IDLE = 10
_MOST_STEPS = 1000

# Relative residual at which conjugate gradients end.  Without a preconditioner they get as many steps as cost a
# part of what a factor does; with it a few, which correct its rounding errors.
_RESIDUAL = 0.1
_STEPS_PER_PIVOT = 1 / 16
_PRECONDITIONED_STEPS = 20

# Slope left at the end of a line search, as a share of that at its start.
_SLOPE_LEFT = 0.01

# Up to so many rows per column, systems are those of the rows, whose products are computed once.
_ROWS_PER_COLUMN = 2

# Up to this width Gram matrices are summed in several shares of the rows at once, beyond it in panels of columns.
_WIDEST_SHARED = 1000
_GRAM_SHARES = 8

# Largest number of entries of a matrix that are copied in one call, so that an interrupt is noticed.
_BLOCK_ENTRIES = 2**24

# Columns that are factorised, and multiplied, together: a panel of them stays in the cache of a core.
PANEL_COLUMNS = 256

# Largest number of multiply-adds of one call of a kernel, and the rows that it takes at least.
_LARGEST_CALL = 5e8
_FEWEST_ROWS = 128

# Smallest slope of the probability in the score, in units of the largest margin: the order of scores stays visible even
# where scores are useless.
_SMALLEST_SLOPE = 1e-3


class LinearSVM(NamedTuple):
    """A direction w that separates two classes, and how close to the best it is."""

    coef: Double  # (width,)
    margins: Double  # (n_samples,) y w . x
    gap: float  # (primal - dual) / primal
    n_steps: int


class FeatureRows:
    """The features of all rows, sums over them in double precision, and Newton's systems.

    Systems are solved by conjugate gradients alone until these take too long.  From then on a Cholesky
    factor preconditions them: of the columns, I + X' S X, or of the rows that take part, S^-1 + X X', whichever is
    smaller; a few of their steps then correct its rounding errors.
    """

    def __init__(self, features: NDArray[Any], n_threads: int, n_factor_threads: int) -> None:
        self.features, self.n_threads, self.n_factor_threads = features, n_threads, n_factor_threads
        self.n_samples, self.width = features.shape
        self.mean_square = float(np.einsum("ij,ij->", features, features, dtype=np.float64)) / self.n_samples
        self._partial = np.empty((-(-self.n_samples // pbrff.STRIP_ROWS), self.width))
        self._products: Double | None = None

    def combine(self, factor: Double) -> Double:
        """Sum of factor x."""
        coef = np.empty(self.width)
        pbrff.combine_rows(self.features, factor, coef, self._partial, self.n_threads)
        return coef

    def project(self, coef: Double) -> Double:
        """Scores x . coef."""
        scores = np.empty(self.n_samples)
        pbrff.project_rows(self.features, coef, scores, self.n_threads)
        return scores

    def factorise(self, scale: Double) -> Solve | None:
        """Return a function that solves with I + X' S X, S = diag(scale); None where rounding leaves no factor."""
        rows = np.flatnonzero(scale)
        if self.n_samples <= _ROWS_PER_COLUMN * self.width or len(rows) <= self.width:
            return self._factorise_rows(rows, scale)
        return self._factorise_columns(scale)

    def _factorise_rows(self, rows: Indices, scale: Double) -> Solve | None:
        if self.n_samples > _ROWS_PER_COLUMN * self.width:
            factor = self._products_of(rows)
        else:
            if self._products is None:
                self._products = self._products_of(np.arange(self.n_samples))
            factor = np.empty((len(rows), len(rows)))
            step = max(1, _BLOCK_ENTRIES // max(1, len(rows)))
            for block in (slice(start, start + step) for start in range(0, len(rows), step)):
                factor[block] = self._products[rows[block, None], rows]
        factor.flat[:: len(rows) + 1] += 1 / scale[rows]
        if not factorise(factor, self.n_factor_threads):
            return None

        def solve(right: Double) -> Double:  # Woodbury's identity
            alpha = np.zeros(self.n_samples)
            some = self.project(right)[rows]
            solvers.solve_factorised(factor, some)
            alpha[rows] = some
            return right - self.combine(alpha)

        return solve

    def _products_of(self, rows: Indices) -> Double:
        """X X' of some rows, in its lower triangle."""
        products, depth = np.zeros((len(rows), len(rows))), PANEL_COLUMNS
        parts = (self.features[rows, start : start + depth].astype(np.float64)
                 for start in _panels("columns of products of rows", self.width))
        add_products(parts, 1.0, products, 0, self.n_factor_threads)
        return products

    def _factorise_columns(self, scale: Double) -> Solve | None:
        width = self.width
        if width <= _WIDEST_SHARED:
            partial = np.empty((min(_GRAM_SHARES, len(self._partial)), width, width))
            scratch = np.zeros((self.n_factor_threads, pbrff.gram_scratch(width)))
            pbrff.weighted_gram(self.features, scale, partial, scratch, self.n_factor_threads)
            factor = partial[0]
        else:
            factor = np.zeros((width, width))
            add_products(self._scaled_parts(scale), 1.0, factor, 0, self.n_factor_threads)
        factor.flat[:: width + 1] += 1
        if not factorise(factor, self.n_factor_threads):
            return None

        def solve(right: Double) -> Double:
            solution = right.copy()
            solvers.solve_factorised(factor, solution)
            return solution

        return solve

    def _scaled_parts(self, scale: Double) -> Iterator[Double]:
        """The columns of (S^1/2 X)', some rows at a time."""
        rows = np.flatnonzero(scale)
        for start in _panels("rows of products of columns", len(rows)):
            some = rows[start : start + PANEL_COLUMNS]
            yield np.ascontiguousarray((self.features[some] * np.sqrt(scale[some])[:, None]).T)


def _panels(work: str, size: int) -> Iterator[int]:
    """Yield where each panel of some size begins; report progress at most once a second."""
    due = time.perf_counter() + SECONDS_BETWEEN
    for start in range(0, size, PANEL_COLUMNS):
        now = time.perf_counter()
        if now >= due:
            due = now + SECONDS_BETWEEN
            report_progress(work, start, size)
        yield start


def add_products(parts: Iterable[Double], factor: float, matrix: Double, offset: int, n_threads: int) -> None:
    """Add factor R R' to the lower triangle behind `offset`; parts are columns of R, PANEL_COLUMNS in each at most."""
    scratch = np.empty((n_threads, solvers.factor_scratch(PANEL_COLUMNS)))
    for part in parts:
        step = _FEWEST_ROWS * int(max(1, _LARGEST_CALL / max(1, part.size) // _FEWEST_ROWS))
        for first in range(0, len(part), step):
            last = min(first + step, len(part))
            solvers.add_products(part, first, last, factor, matrix, offset, scratch, n_threads)


def factorise(matrix: Double, n_threads: int) -> bool:
    """Replace a lower triangle by its Cholesky factor L, and rows R below it by R L'^-1; False if it has none."""
    scratch = np.empty((n_threads, solvers.factor_scratch(PANEL_COLUMNS)))
    for start in _panels("columns of a factor", matrix.shape[1]):
        stop = min(start + PANEL_COLUMNS, matrix.shape[1])
        block = matrix[start:, start:stop].copy()
        if not solvers.factorise(block, scratch, n_threads):
            return False
        matrix[start:, start:stop] = block
        add_products([block[stop - start :]], -1.0, matrix, stop, n_threads)
    return True


def fit_linear_svms(features: NDArray[Any], signs: list[Signs], bound: Double, loss: str, tol: float, n_threads: int,
                    n_factor_threads: int) -> tuple[Double, Double, int]:
    """Solve a problem for each array of signs, to a relative gap of tol.

    Features (n_samples, width) are padded with 0 to a multiple of LANE_COUNT; bounds (n_samples,) are positive; sums
    over rows have fewer threads than matrices and their factors, which are more work.  Return the directions (width,
    n_problems), the margins y w . x (n_samples, n_problems), and the number of Newton steps of all together.
    """
    rows, solved = FeatureRows(features, n_threads, n_factor_threads), []
    for number, sign in enumerate(signs, 1):
        name = "the linear SVM" if len(signs) == 1 else f"linear SVM {number} of {len(signs)}"
        solved.append(solve_linear_svm(rows, sign, bound, loss, tol, name))
        if not solved[-1].gap <= tol:
            warn(f"rounding keeps the support vector machine from the relative gap tol = {tol:g} between its "
                 f"objectives; it stopped at {solved[-1].gap:.2g}", RuntimeWarning)
    return (np.column_stack([svm.coef for svm in solved]), np.column_stack([svm.margins for svm in solved]),
            sum(svm.n_steps for svm in solved))


def solve_linear_svm(rows: FeatureRows, sign: Signs, bound: Double, loss: str, tol: float,
                     name: str = "the linear SVM") -> LinearSVM:
    """Return the direction of smallest objective that was seen, for one array of signs."""
    is_squared, n_samples = loss == "squared_hinge", len(bound)
    diagonal = 0.5 / bound if is_squared else np.zeros(n_samples)
    top = np.full(n_samples, np.inf) if is_squared else bound
    coef, margins, center = np.zeros(rows.width), np.zeros(n_samples), np.zeros(n_samples)
    best, highest, lowest, gap = (coef, margins), -np.inf, np.inf, np.inf
    sigma = _FIRST_SIGMA * bound
    n_steps, n_idle, n_before, before, is_hard = 0, 0, 0, np.inf, False
    due = time.perf_counter() + SECONDS_BETWEEN
    while True:
        # The smooth losses of the stage: alpha = clip(offset + scale slack, 0, top).
        sigma = np.minimum(sigma, _LARGEST_SIGMA / rows.mean_square)
        scale, offset = 1 / (diagonal + 1 / sigma), center / (1 + diagonal * sigma)
        free = offset + scale * (1 - margins)
        alpha = np.clip(free, 0, top)
        combined = rows.combine(sign * alpha)
        gradient = coef - combined
        slack = np.maximum(0, 1 - margins)
        primal = 0.5 * coef @ coef + row_products(slack**2 if is_squared else slack, bound)
        dual = alpha.sum() - 0.5 * combined @ combined - 0.5 * row_products(alpha**2, diagonal)
        if primal < lowest:
            best, lowest = (coef, margins), primal
        highest = max(highest, dual)
        gap = (lowest - highest) / lowest
        if time.perf_counter() >= due:
            due = time.perf_counter() + SECONDS_BETWEEN
            report_progress(f"Newton steps of {name}", n_steps, None, f"gap {gap:.2g}")
        if (gap <= tol and n_steps > 0) or n_steps == _MOST_STEPS or n_idle == _MOST_IDLE:
            return LinearSVM(*best, gap, n_steps)
        length = 0.0
        # A stage takes a step at least.  Without one w would stay while the center moves on by sigma times its slack,
        # stage after stage, up to where systems are too large for their rounding errors.
        if n_steps == n_before or 0.5 * gradient @ gradient > _STAGE_GAP * (lowest - highest):
            is_free = (free > 0) & (free < top)
            direction, is_hard = _newton_direction(rows, np.where(is_free, scale, 0), gradient, is_hard)
            along = sign * rows.project(direction)
            length = _line_search(coef, direction, margins, along, offset, scale, top)
            n_steps += 1
        if length > 0:
            coef = coef + length * direction
            margins = sign * rows.project(coef)
        else:  # the stage is over, or rounding allows no step
            n_idle = n_idle + 1 if lowest - highest >= before else 0
            n_before, before = n_steps, lowest - highest
            center, sigma = alpha, _GROWTH * sigma


def _newton_direction(rows: FeatureRows, scale: Double, gradient: Double, is_hard: bool) -> tuple[Double, bool]:
    """Solve (I + X' S X) direction = -gradient; also return whether such systems need a factor."""
    if not is_hard:
        n_pivots = min(rows.width, np.count_nonzero(scale))
        direction, is_solved = _conjugate_gradients(rows, scale, -gradient, None, 2 + int(_STEPS_PER_PIVOT * n_pivots))
        if is_solved:
            return direction, False
    precondition = rows.factorise(scale)
    return _conjugate_gradients(rows, scale, -gradient, precondition, _PRECONDITIONED_STEPS)[0], True


def _conjugate_gradients(rows: FeatureRows, scale: Double, right: Double, precondition: Solve | None,
                         max_steps: int) -> tuple[Double, bool]:
    """Solve (I + X' S X) solution = right; also return whether the residual is small.

    From 0, any number of steps gives a direction of descent.
    """
    solution, residual, product = np.zeros(len(right)), right, 0.0
    direction = np.zeros(len(right))
    target = _RESIDUAL**2 * (right @ right)
    for _ in range(max_steps):
        preconditioned = residual if precondition is None else precondition(residual)
        product, before = float(residual @ preconditioned), product
        if not product > 0:
            break  # rounding
        direction = preconditioned + (product / before) * direction if before else preconditioned
        applied = direction + rows.combine(scale * rows.project(direction))
        step = product / (direction @ applied)
        solution, residual = solution + step * direction, residual - step * applied
        if residual @ residual <= target:
            return solution, True
    return solution, False


def _line_search(coef: Double, direction: Double, margins: Double, along: Double, offset: Double, scale: Double,
                 top: Double) -> float:
    """The step at which the slope of a stage's objective, which rises piecewise linearly with it, is nearly 0.

    0 where rounding leaves no descent.
    """
    start, square = coef @ direction, direction @ direction

    def slope_at(length: float) -> tuple[float, float]:
        free = offset + scale * (1 - margins - length * along)
        is_free = (free > 0) & (free < top)
        slope = start + length * square - row_products(np.clip(free, 0, top), along)
        return float(slope), float(square + row_products(along[is_free] ** 2, scale[is_free]))

    at_start, _ = slope_at(0.0)
    if not at_start < 0:
        return 0.0
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):
        slope, rise = slope_at(length)
        if abs(slope) <= -_SLOPE_LEFT * at_start:
            break
        low, high = (length, high) if slope < 0 else (low, length)
        length -= slope / rise
        if not low < length < high:
            length = 2 * low if high == np.inf else 0.5 * (low + high)
    return length


def probability_slope(margins: Double, signs: Signs, weight: Double) -> float:
    """Slope A of highest likelihood, where a row of margin m is right with probability 1 / (1 + exp(-A m)).

    Each row counts as right with the odds of J. Platt (1999), (n + 1) / (n + 2) with n the rows of its sign, so that
    margins that are all positive do not make the slope infinite.  Margins y score and signs have shape (n_samples,
    n_machines); a whole weight stands for so many rows.
    """
    if not margins.any():
        return 1.0
    positive = row_products((signs > 0).T, weight)
    negative = weight.sum() - positive
    right = np.where(signs > 0, (positive + 1) / (positive + 2), (negative + 1) / (negative + 2))
    unit = max(margins.max(), -margins.min())
    weighted = weight[:, None] * margins
    weighted /= unit
    margins = margins / unit
    likely, work = np.empty((2, *margins.shape))  # operations in place: each array takes 8 bytes a row and machine
    low, high, slope = 0.0, 1e6, 1.0
    for _ in range(100):
        np.tanh(np.multiply(0.5 * slope, margins, out=likely), out=likely)
        likely += 1
        likely *= 0.5
        gradient = np.multiply(np.subtract(likely, right, out=work), weighted, out=work).sum()
        np.multiply(np.multiply(weighted, margins, out=work), likely, out=work)
        curvature = np.multiply(work, np.subtract(1, likely, out=likely), out=work).sum()
        low, high = (low, slope) if gradient > 0 else (slope, high)
        trial = slope - gradient / curvature if curvature > 0 else high
        trial = trial if low < trial < high else 0.5 * (low + high)
        if abs(trial - slope) <= 1e-9 * slope:
            break
        slope = trial
    return max(slope, _SMALLEST_SLOPE) / unit
