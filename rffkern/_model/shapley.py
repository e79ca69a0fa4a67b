"""Exact Shapley values of a function, by raw column.

The players are raw columns: the mapped columns of one raw column move together.  The game of a row x is

    v(S) = E H(x_S, B_{-S})

with the columns S of x and all others of a background B: rows, or the product of the marginal distributions of the
columns.  `v` is linear in H, so that each part is explained alone.  A term that is a product of one factor a column,
prod_g f_g, with u_g = f_g(x) and w_g = E f_g(B), has v(S) = prod_{g in S} u_g prod_{g not in S} w_g.  Its multilinear
extension is prod_g (t_g u_g + (1 - t_g) w_g), and the Shapley value of column j is the integral of its derivative along
the diagonal (Owen, 1972, "Multilinear extensions of games", Theorem 5)

    phi_j = integral_0^1 (u_j - w_j) prod_{g != j} (t u_g + (1 - t) w_g) dt,

a polynomial of degree k - 1 in t for k columns, which ceil(k / 2) nodes of Gauss and Legendre integrate exactly.  The
interaction of columns i and j (Grabisch and Roubens, 1999, equation 9) is the same integral of the second derivative.

Cosines are real parts of products of exp(i omega_g . x_g); Gaussian kernels are products; exponential kernels are
mixtures of Gaussian ones.  A region of kernels is a box, and its indicator a product.  Of a tree all coalitions of its
few columns are counted, once for each leaf.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .expansion import Expansion
from .parts import LARGEST_LINEAR_PART, FourierTerms, KernelTerms, LinearTerms, TreeTerms

Double = NDArray[np.float64]
Complex = NDArray[np.complex128]
Indices = NDArray[np.intp]

# Numbers of a block of intermediate results.
_BLOCK = 1 << 20


class Marginals(NamedTuple):
    """The product of the marginal distributions of raw columns, each of a few points of its mapped columns."""

    points: Sequence[Double]  # (n_points, n_mapped) for each raw column, its mapped columns in their order
    shares: Sequence[Double]  # (n_points,) which sum to 1


class Background(NamedTuple):
    """What columns outside of a coalition are drawn from: rows together, or the columns of rows apart."""

    rows: Double  # (n_rows, n_mapped), of marginals each column of its own
    shares: Double  # (n_columns, n_rows) of the rows for each raw column
    is_product: bool

    @classmethod
    def of_rows(cls, rows: Double, n_columns: int) -> Self:
        """Rows, all alike."""
        return cls(rows, np.full((n_columns, len(rows)), 1 / len(rows)), False)

    @classmethod
    def of_marginals(cls, marginals: Marginals, sources: Indices, center: Double) -> Self:
        """A product of marginals; points that a column has not are without weight."""
        n_points = max(map(len, marginals.shares))
        rows = np.tile(center, (n_points, 1))
        shares = np.zeros((len(marginals.points), n_points))
        for column, (points, of_points) in enumerate(zip(marginals.points, marginals.shares, strict=True)):
            rows[: len(points), sources == column] = points
            shares[column, : len(points)] = of_points
        return cls(rows, shares, True)

    def means(self, factors: NDArray[Any], columns: Indices) -> NDArray[Any]:
        """Means (1, n_factors) of factors (n_rows, n_factors) of some columns; the factors themselves of whole rows."""
        if not self.is_product:
            return factors
        return np.einsum("rf,fr->f", factors, self.shares[columns])[None]


class Explainer:
    """Shapley values of the rows of an expansion.

    Parameters
    ----------
    expansion : Expansion
    sources : array of shape (n_features,)
        The raw column of each column of the expansion.
    n_columns : int
        Number of raw columns.
    background : Background
        Of rows that are clipped to the bounds of the expansion.
    """

    def __init__(self, expansion: Expansion, sources: Indices, n_columns: int, background: Background) -> None:
        self._n_columns, self._n_outputs = n_columns, expansion.n_outputs
        self.base_values = expansion.intercept.copy()  # (n_outputs,)
        self._parts: list[Any] = []
        self._mixture: tuple[Expansion, list[_Kernels]] | None = None  # of a kernel that is no product
        for part in expansion.parts:
            made: list[Any]
            if isinstance(part, LinearTerms):
                made = [_Lines(part, expansion.center, sources, n_columns, background)]
            elif isinstance(part, TreeTerms):
                made = [_Trees(part, sources, background)]
            elif isinstance(part, FourierTerms):
                made = [_Cosines(part, expansion.center, sources, background)]
            elif isinstance(part, KernelTerms):
                made = [_Kernels(part, sources, background, *mixed) for mixed in mixture(part.shape)]
                if part.shape != "gaussian":
                    self._mixture = expansion._only("kernels"), made
            else:
                raise InvalidInputError(f"parts of kind {part.kind!r} cannot be explained")
            self._parts += made if self._mixture is None else []
            self.base_values += sum(each.base_values for each in made)

    def values(self, rows: Double, n_threads: int | None = None) -> Double:
        """Shapley values (n_rows, n_columns, n_outputs) of rows that are clipped to the bounds of the expansion."""
        found = np.zeros((len(rows), self._n_columns, self._n_outputs))
        for part in self._parts:
            part.add_to(found, rows)
        if self._mixture is not None:
            found += self._of_mixture(rows, n_threads)
        return found

    def _of_mixture(self, rows: Double, n_threads: int | None) -> Double:
        """The values of kernels that are mixtures of others.

        What the mixture is off the kernel, at most 1e-6 of the sum of the weights, is divided in proportion to the
        values, so that these add up to the score.
        """
        assert self._mixture is not None
        kernels, parts = self._mixture
        found = np.zeros((len(rows), self._n_columns, self._n_outputs))
        for part in parts:
            part.add_to(found, rows)
        scores = kernels._scorer.score(rows, n_threads) - sum(part.base_values for part in parts)
        sizes = np.abs(found)
        read = np.unique(np.concatenate([columns.reshape(-1) for columns in parts[0]._columns]))
        sizes[:, read] += 1e-300  # also where all values are 0
        return found + sizes / sizes.sum(axis=1, keepdims=True) * (scores - found.sum(axis=1))[:, None]


def nodes_of(n_columns: int) -> tuple[Double, Double]:
    """Nodes in [0, 1] and weights that integrate polynomials of degree n_columns - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, -(-n_columns // 2)))
    return (nodes + 1) / 2, weights / 2


def mixture(shape: str) -> list[tuple[float, float]]:
    """(Weight, rate) of Gaussian kernels exp(-rate r^2) whose sum is a kernel.

    That of the exponential kernel is the rule of trapezoids for its mixture over v = exp(s),
    exp(-r) = (2 / sqrt(pi)) integral_0^inf exp(-v^2) exp(-r^2 / (4 v^2)) dv.
    """
    if shape == "gaussian":
        return [(1.0, 0.5)]
    s = np.arange(-16.0, 1.9, 0.35)
    weights = np.exp(s - np.exp(2 * s))
    return list(zip((weights / weights.sum()).tolist(), (np.exp(-2 * s) / 4).tolist(), strict=True))


class _Lines:
    """Linear terms: a column counts for its own, less the mean."""

    def __init__(self, part: LinearTerms, center: Double, sources: Indices, n_columns: int,
                 background: Background) -> None:
        self._coefficients, self._center = part.coefficients, center
        self._sources = sources
        products = self._products(background.rows)
        self._means = np.einsum("rjo,jr->jo", products, background.shares[sources])
        self.base_values = self._means.sum(axis=0)

    def _products(self, rows: Double) -> Double:
        with np.errstate(over="ignore"):
            products = (rows - self._center)[:, :, None] * self._coefficients
        return products.clip(-LARGEST_LINEAR_PART, LARGEST_LINEAR_PART)

    def add_to(self, values: Double, rows: Double) -> None:
        """Add the Shapley values of rows to those of other parts."""
        products = self._products(rows) - self._means
        for column in np.unique(self._sources).tolist():
            values[:, column] += products[:, self._sources == column].sum(axis=1)


class _Products:
    """Terms that are products of one factor for each raw column that they read.

    Terms of equally many columns are treated together: `columns` (n_terms, k) are those that they read.
    """

    def __init__(self, reads: NDArray[np.bool_], weights: Double, sources: Indices, background: Background) -> None:
        """`reads` (n_terms, n_mapped) says what terms read, `weights` (n_terms, n_outputs) multiply their products."""
        self._weights = weights
        by_column = np.zeros((len(reads), len(background.shares)), dtype=bool)
        for mapped, column in enumerate(sources.tolist()):
            by_column[:, column] |= reads[:, mapped]
        counts = by_column.sum(axis=1)
        self._groups = [(np.flatnonzero(counts == k), k) for k in np.unique(counts).tolist()]
        self._columns = [np.nonzero(by_column[terms])[1].reshape(len(terms), k) for terms, k in self._groups]
        self._sources, self._background = sources, background
        self._means = [background.means(self._factors(background.rows, terms, columns).reshape(
            len(background.rows), columns.size), columns.reshape(-1)).reshape(-1 if k else 1, len(terms), k)
            for (terms, k), columns in zip(self._groups, self._columns, strict=True)]
        products = [self._real(means.prod(axis=2), terms).mean(axis=0) @ weights[terms]
                    for (terms, _), means in zip(self._groups, self._means, strict=True)]
        self.base_values: Double = sum(products, start=np.zeros(weights.shape[1]))

    def _factors(self, rows: Double, terms: Indices, columns: Indices) -> NDArray[Any]:
        """Factors (n_rows, n_terms, k) of some terms at rows."""
        raise NotImplementedError

    def _real(self, products: NDArray[Any], terms: Indices) -> Double:
        """What products (n_rows, n_terms, ...) of factors of some terms add to the scores, but for their weights."""
        raise NotImplementedError

    def add_to(self, values: Double, rows: Double) -> None:
        """Add the Shapley values of rows to those of other parts."""
        for (terms, k), columns, means in zip(self._groups, self._columns, self._means, strict=True):
            if k:
                size = max(1, _BLOCK // columns.size)
                for start in range(0, len(rows), size):
                    some = slice(start, start + size)
                    self._add_group(values[some], self._factors(rows[some], terms, columns), terms, columns, means)

    def _add_group(self, values: Double, factors: NDArray[Any], terms: Indices, columns: Indices,
                   means: NDArray[Any]) -> None:
        total = np.zeros_like(factors)
        for mean in means:
            total += (factors - mean) * products_of_others(factors, mean)
        phis = self._real(total / len(means), terms).reshape(len(values), -1)
        weights, flat = np.repeat(self._weights[terms], columns.shape[1], axis=0), columns.reshape(-1)
        for column in np.unique(flat).tolist():
            own = flat == column
            values[:, column] += phis[:, own] @ weights[own]


def products_of_others(factors: NDArray[Any], means: NDArray[Any]) -> NDArray[Any]:
    """Integral over t in [0, 1] of prod_{g != j} (t u_g + (1 - t) w_g), for each j.

    Products over the columns before and after j are used, which divide by no factor.
    """
    found = np.zeros_like(factors)
    for node, weight in zip(*nodes_of(factors.shape[-1]), strict=True):
        mixed = means + node * (factors - means)
        before, after = np.ones_like(mixed), np.ones_like(mixed)
        before[..., 1:] = mixed[..., :-1].cumprod(axis=-1)
        after[..., :-1] = mixed[..., :0:-1].cumprod(axis=-1)[..., ::-1]
        found += weight * before * after
    return found


class _Cosines(_Products):
    """Cosines: the factor of column g is exp(i omega_g . (x_g - center_g))."""

    def __init__(self, part: FourierTerms, center: Double, sources: Indices, background: Background) -> None:
        self._omegas, self._center = part.omegas, center
        self._turns = np.exp(-1j * part.phases)
        super().__init__(part.omegas != 0, part.amplitudes, sources, background)

    def _factors(self, rows: Double, terms: Indices, columns: Indices) -> Complex:
        rows, omegas = rows - self._center, self._omegas[terms]
        angles = np.empty((len(rows), *columns.shape))
        for column in np.unique(columns).tolist():
            of_terms, places = np.nonzero(columns == column)
            own = np.flatnonzero(self._sources == column)
            angles[:, of_terms, places] = rows[:, own] @ omegas[of_terms[:, None], own].T
        return np.exp(1j * angles)

    def _real(self, products: NDArray[Any], terms: Indices) -> Double:
        turns = self._turns[terms].reshape(1, -1, *[1] * (products.ndim - 2))
        return np.ascontiguousarray((products * turns).real)


class _Kernels(_Products):
    """Gaussian kernels: the factor of column g is exp(-rate |(x_g - center_g) / length_g|^2) within its region, else 0.

    The region of a center is a box: a column is above `lows` and not above `highs`.
    """

    def __init__(self, part: KernelTerms, sources: Indices, background: Background, weight: float,
                 rate: float) -> None:
        self._scales = np.sqrt(rate) * part.inverse_length_scales
        self._centers = part.centers
        lows, highs = boxes(part)
        self._region = np.repeat(np.arange(part.n_regions), np.diff(part.regions.starts))
        self._lows, self._highs = lows, highs
        reads = (self._scales != 0) | ((lows > -np.inf) | (highs < np.inf))[self._region]
        super().__init__(reads, weight * part.weights, sources, background)

    def _factors(self, rows: Double, terms: Indices, columns: Indices) -> Double:
        found = np.ones((len(rows), *columns.shape))
        centers, regions = self._centers[terms], self._region[terms]
        for column in np.unique(columns).tolist():
            of_terms, places = np.nonzero(columns == column)
            squares, within = np.zeros((len(rows), len(of_terms))), np.ones((len(rows), len(of_terms)), dtype=bool)
            for mapped in np.flatnonzero(self._sources == column).tolist():
                values = rows[:, mapped, None]
                with np.errstate(over="ignore"):
                    squares += ((values - centers[of_terms, mapped]) * self._scales[mapped]) ** 2
                within &= ((values > self._lows[regions[of_terms], mapped])
                           & (values <= self._highs[regions[of_terms], mapped]))
            found[:, of_terms, places] = np.where(within, np.exp(-squares), 0.0)
        return found

    def _real(self, products: NDArray[Any], terms: Indices) -> Double:
        return products


def boxes(part: KernelTerms) -> tuple[Double, Double]:
    """Bounds (n_regions, n_features) of the regions of kernels, the lower ones exclusive."""
    n_regions, n_features = part.n_regions, part.centers.shape[1]
    lows = np.full((2 * n_regions - 1, n_features), -np.inf)
    highs = np.full((2 * n_regions - 1, n_features), np.inf)
    for node, (column, threshold) in enumerate(zip(part.regions.columns.tolist(), part.regions.thresholds.tolist(),
                                                   strict=True)):
        for child in (2 * node + 1, 2 * node + 2):
            lows[child], highs[child] = lows[node], highs[node]
        highs[2 * node + 1, column] = min(highs[node, column], threshold)
        lows[2 * node + 2, column] = max(lows[node, column], threshold)
    return lows[n_regions - 1 :], highs[n_regions - 1 :]


class _Trees:
    """Symmetric trees: the Shapley values of a row depend on its leaf alone, and are tabulated.

    With P the distribution of the leaves of a background, v(S) at the leaf a is the mean of the value of the leaf that
    has the digits of a for the columns in S, and those of a leaf drawn from P for all others.
    """

    def __init__(self, part: TreeTerms, sources: Indices, background: Background) -> None:
        self._columns = part.tree_columns.astype(np.intp)
        self._thresholds, self._layout = part.tree_thresholds, part.layout
        self._sources = sources
        n_trees = part.n_terms
        values = np.asarray(part.tree_values, dtype=np.float64)
        self.base_values = np.zeros(values.shape[1])
        self._players: list[Indices] = [np.empty(0, np.intp)] * n_trees  # raw columns of each tree
        self._tables: list[Double] = [np.empty(0)] * n_trees  # (n_leaves, n_players, n_outputs)
        by_shape: dict[tuple[int, ...], list[tuple[int, Indices, Indices, Double]]] = {}
        for tree in range(n_trees):
            players, digits, leaves = self._players_of(tree)
            own = values[part.starts[tree] : part.starts[tree + 1]]
            shares = self._leaf_shares(tree, players, digits, leaves, background)
            by_shape.setdefault(digits, []).append((tree, players, leaves, shares))
            self._players[tree] = players
            self.base_values += np.einsum("l,lo->o", shares, own[leaves])
        for digits, trees in by_shape.items():
            size = max(1, _BLOCK // (math.prod(digits) * (len(digits) + 1) * values.shape[1]))
            for start in range(0, len(trees), size):
                some = trees[start : start + size]
                tables = tree_tables(
                    np.array([values[part.starts[tree] + leaves] for tree, _, leaves, _ in some]),
                    np.array([shares for *_, shares in some]), digits)
                for (tree, _, leaves, _), table in zip(some, tables, strict=True):
                    self._tables[tree] = np.empty_like(table)
                    self._tables[tree][leaves] = table

    def _players_of(self, tree: int) -> tuple[Indices, tuple[int, ...], Indices]:
        """Raw columns of a tree, the number of digits of each, and its leaves in the order of these digits.

        The first raw column counts most.  Raw columns of fewer digits come first, so that few shapes occur.
        """
        columns, steps, bases = self._columns[tree], self._layout.steps[tree], self._layout.bases[tree]
        mapped = dict.fromkeys(columns[steps > 0].tolist())  # in the order of their first splits
        step = {column: int(steps[columns == column].max()) for column in mapped}
        base = {column: int(bases[(columns == column) & (steps > 0)].max()) for column in mapped}
        own: dict[int, list[int]] = {}
        for column in mapped:
            own.setdefault(int(self._sources[column]), []).append(column)
        digits = {player: math.prod(base[column] for column in own[player]) for player in own}
        players = sorted(own, key=lambda player: (digits[player], player))
        leaves = np.zeros(1, dtype=np.intp)
        for player in players:
            for column in own[player]:
                leaves = (leaves[:, None] + step[column] * np.arange(base[column])).reshape(-1)
        return np.array(players, np.intp), tuple(digits[player] for player in players), leaves

    def _leaf_shares(self, tree: int, players: Indices, digits: tuple[int, ...], leaves: Indices,
                     background: Background) -> Double:
        """The distribution of the leaves of a background, in the order of `leaves`."""
        n_leaves = len(leaves)
        columns, steps = self._columns[tree], self._layout.steps[tree]
        above = (background.rows[:, columns] > self._thresholds[tree]) * steps
        places = np.empty(n_leaves, dtype=np.intp)
        places[leaves] = np.arange(n_leaves)
        if not background.is_product:
            return np.bincount(places[above.sum(axis=1)], minlength=n_leaves) / len(above)
        shares = np.ones(1)
        for axis, (player, n_digits) in enumerate(zip(players.tolist(), digits, strict=True)):
            own = above[:, self._sources[columns] == player].sum(axis=1)  # leaves in which others have digit 0
            digit = places[own] // math.prod(digits[axis + 1 :])
            shares = np.outer(shares, np.bincount(digit, background.shares[player], n_digits)).reshape(-1)
        return shares

    def add_to(self, values: Double, rows: Double) -> None:
        """Add the Shapley values of rows to those of other parts."""
        for tree, (players, table) in enumerate(zip(self._players, self._tables, strict=True)):
            if len(players):
                above = rows[:, self._columns[tree]] > self._thresholds[tree]
                values[:, players] += table[above @ self._layout.steps[tree]]


def tree_tables(values: Double, shares: Double, digits: Sequence[int]) -> Double:
    """Shapley values (n_trees, n_leaves, n_players, n_outputs) of trees of one shape.

    phi_j = sum_S c_jS v(S), with c_jS = (|S| - 1)! (k - |S|)! / k! for the coalitions of column j, and
    -|S|! (k - |S| - 1)! / k! for all others.
    """
    n_trees, n_leaves, n_outputs = values.shape
    n_players = len(digits)
    values, shares = values.reshape(n_trees, *digits, n_outputs), shares.reshape(n_trees, *digits)
    found = np.zeros((n_players, n_trees, *digits, n_outputs))
    for inside in coalitions(n_players):
        outside = tuple(1 + axis for axis in range(n_players) if axis not in inside)
        weights = shares.sum(axis=tuple(1 + axis for axis in inside), keepdims=True)[..., None]
        means = (values * weights).sum(axis=outside, keepdims=True)
        size = len(inside)
        for player in range(n_players):
            factor = (math.factorial(size - 1) * math.factorial(n_players - size) if player in inside else
                      -math.factorial(size) * math.factorial(n_players - size - 1)) / math.factorial(n_players)
            found[player] += factor * means
    return np.moveaxis(found.reshape(n_players, n_trees, n_leaves, n_outputs), 0, 2)


def coalitions(n_players: int) -> Iterator[tuple[int, ...]]:
    """All subsets of players."""
    for bits in range(1 << n_players):
        yield tuple(player for player in range(n_players) if bits >> player & 1)
