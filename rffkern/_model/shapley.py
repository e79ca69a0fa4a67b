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

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .._native.array_types import Double, Indices, Mask
from .._native.explain import ProductTerms, add_leaves
from ..errors import InvalidInputError
from .expansion import Expansion
from .parts import LARGEST_LINEAR_PART, FourierTerms, KernelTerms, LinearTerms, TreeTerms

# Numbers of a block of intermediate results.
_BLOCK = 1 << 20


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
    def of_marginals(cls, points: Sequence[Double], shares: Sequence[Double], sources: Indices, center: Double) -> Self:
        """A product of marginals; points that a column has not are without weight.

        Parameters
        ----------
        points : for each raw column an array of shape (n_points, n_mapped), its mapped columns in their order
        shares : for each raw column an array of shape (n_points,), which sums to 1
        """
        n_points = max(map(len, shares))
        rows, of_columns = np.tile(center, (n_points, 1)), np.zeros((len(points), n_points))
        for column, (own, of_points) in enumerate(zip(points, shares, strict=True)):
            rows[: len(own), sources == column] = own
            of_columns[column, : len(own)] = of_points
        return cls(rows, of_columns, True)


class Explainer:
    """Shapley values of the rows of an expansion.

    Parameters
    ----------
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
        self.row_size = 64 * (expansion.n_terms + expansion.n_features)  # about the numbers that a row makes
        self._parts: list[Any] = []
        self._mixture: tuple[Expansion, list[_Products]] | None = None  # of a kernel that is no product
        for part in expansion.parts:
            made: list[Any]
            if isinstance(part, LinearTerms):
                made = [_Lines(part, expansion.center, sources, background)]
            elif isinstance(part, TreeTerms):
                made = [_Trees(part, sources, background)]
            elif isinstance(part, FourierTerms):
                made = [_cosines(part, expansion.center, sources, background)]
            elif isinstance(part, KernelTerms):
                made = [_kernels(part, sources, background, *mixed) for mixed in mixture(part.shape)]
                if part.shape != "gaussian":
                    self._mixture = expansion._only("kernels"), made
            else:
                raise InvalidInputError(f"parts of kind {part.kind!r} cannot be explained")
            self._parts += made if self._mixture is None else []
            self.base_values += sum(each.base_values for each in made)

    def values(self, rows: Double, n_threads: int = 1) -> Double:
        """Shapley values (n_rows, n_columns, n_outputs) of rows that are clipped to the bounds of the expansion."""
        found = np.zeros((len(rows), self._n_columns, self._n_outputs))
        for part in self._parts:
            part.add_to(found, rows, n_threads)
        if self._mixture is not None:
            found += self._of_mixture(rows, n_threads)
        return found

    def interactions(self, rows: Double, values: Double, n_threads: int = 1) -> Double:
        """Interactions (n_rows, n_columns, n_columns, n_outputs) of pairs of columns, and on the diagonal what is left.

        Half of the interaction of two columns stands at both of their places, so that the sums over the last axis are
        the Shapley `values` of the rows.
        """
        n_columns = self._n_columns
        found = np.zeros((len(rows), n_columns**2, self._n_outputs))
        for part in [*self._parts, *(self._mixture[1] if self._mixture is not None else ())]:
            part.add_to(found, rows, n_threads, with_pairs=True)
        pairs = found.reshape(len(rows), n_columns, n_columns, self._n_outputs) / 2
        pairs += pairs.transpose(0, 2, 1, 3)  # pairs of rising columns had all of it
        columns = np.arange(n_columns)
        pairs[:, columns, columns] = values - pairs.sum(axis=2)
        return pairs

    def _of_mixture(self, rows: Double, n_threads: int) -> Double:
        """The values of kernels that are mixtures of others.

        What the mixture is off the kernel, less than 4e-6 of the sum of their weights, is divided in proportion to the
        values, so that these add up to the score.
        """
        assert self._mixture is not None
        kernels, parts = self._mixture
        found = np.zeros((len(rows), self._n_columns, self._n_outputs))
        for part in parts:
            part.add_to(found, rows, n_threads)
        scores = kernels._scorer.score(rows, n_threads) - sum(part.base_values for part in parts)
        sizes = np.abs(found)
        read = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *(columns for _, columns, _ in parts[0]._blocks)]))
        sizes[:, read] += 1e-300  # also where all values are 0
        totals = sizes.sum(axis=1, keepdims=True).clip(1e-300)  # also where no column is read
        return found + sizes / totals * (scores - found.sum(axis=1))[:, None]


@functools.cache  # of each block of terms of each kernel of a mixture
def nodes_of(n_columns: int) -> tuple[Double, Double]:
    """Nodes in [0, 1] and weights that integrate polynomials of degree n_columns - 1.

    Of more than a hundred columns fewer nodes do, with an error below 1e-12: products of so many factors of magnitude 1
    at most are smooth.
    """
    n_nodes = min(-(-n_columns // 2), 32 + math.ceil(2 * math.sqrt(n_columns)))
    nodes, weights = np.polynomial.legendre.leggauss(max(1, n_nodes))
    return (nodes + 1) / 2, weights / 2


def mixture(shape: str) -> list[tuple[float, float]]:
    """(Weight, rate) of Gaussian kernels exp(-rate r^2) whose sum is a kernel.

    That of the exponential kernel is the rule of trapezoids for its mixture over v = exp(s),
    exp(-r) = (2 / sqrt(pi)) integral_0^inf exp(-v^2) exp(-r^2 / (4 v^2)) dv,
    of 43 terms, which is off by less than 4e-6 at any r.
    """
    if shape == "gaussian":
        return [(1.0, 0.5)]
    s = np.arange(-13.0, 1.9, 0.35)
    weights = np.exp(s - np.exp(2 * s))
    return list(zip((weights / weights.sum()).tolist(), (np.exp(-2 * s) / 4).tolist(), strict=True))


class _Lines:
    """Linear terms: a column counts for its own, less the mean."""

    def __init__(self, part: LinearTerms, center: Double, sources: Indices, background: Background) -> None:
        self._coefficients, self._center, self._sources = part.coefficients, center, sources
        products = self._products(background.rows)
        self._means = np.einsum("rjo,jr->jo", products, background.shares[sources])
        self.base_values = self._means.sum(axis=0)

    def _products(self, rows: Double) -> Double:
        with np.errstate(over="ignore"):
            products = (rows - self._center)[:, :, None] * self._coefficients
        return products.clip(-LARGEST_LINEAR_PART, LARGEST_LINEAR_PART)

    def add_to(self, values: Double, rows: Double, n_threads: int, with_pairs: bool = False) -> None:
        """Add the Shapley values of rows to those of other parts; pairs have no interactions."""
        if with_pairs:
            return
        products = self._products(rows) - self._means
        for column in np.unique(self._sources).tolist():
            values[:, column] += products[:, self._sources == column].sum(axis=1)


class _Products:
    """Terms that are products of one factor for each raw column that they read, in blocks of terms.

    Terms have `reads`, which mapped columns they read, and `numbers`, `centers`, `lows` and `highs` of these, all
    (n_terms, n_mapped) or None, and `turns`, (n_terms, 2) of cosines, else (0, 2).  Rows are taken less `center`.
    """

    def __init__(self, sources: Indices, background: Background, center: Double | None, reads: Mask,
                 numbers: Double, centers: Double | None, lows: Double | None, highs: Double | None, turns: Double,
                 weights: Double) -> None:
        self._sources, self._background, self._center = sources, background, center
        # Terms, the raw columns of their factors, and the means of these where the background is a product.
        self._blocks: list[tuple[ProductTerms, Indices, Double | None]] = []
        self.base_values: Double = np.zeros(weights.shape[1])
        order = np.argsort(sources, kind="stable")
        terms, places = np.nonzero(reads[:, order])
        entries = order[places]
        columns = sources[entries]
        begins = np.ones(len(terms), dtype=bool)
        begins[1:] = (terms[1:] != terms[:-1]) | (columns[1:] != columns[:-1])
        firsts = np.flatnonzero(begins)
        ends = np.searchsorted(terms[firsts], np.arange(len(reads) + 1))
        n_factors = len(background.rows) * (2 if len(turns) else 1)
        most = max(1, _BLOCK // n_factors)
        start = 0
        while start < len(reads):
            stop = max(start + 1, int(np.searchsorted(ends, ends[start] + most, side="right")) - 1)
            of_factors = slice(ends[start], ends[stop])
            bounds = np.append(firsts, len(terms))[ends[start] : ends[stop] + 1]
            some = slice(bounds[0], bounds[-1])
            at, none = (terms[some], entries[some]), np.empty(0)
            own_ends, own_columns = ends[start : stop + 1] - ends[start], columns[firsts[of_factors]]
            own_turns, own_weights = (np.ascontiguousarray(each[start:stop]) for each in (turns, weights))
            self._add_block(ProductTerms(
                len(sources), len(background.shares), own_ends, own_columns, bounds - bounds[0], entries[some],
                numbers[at], none if centers is None else centers[at], none if lows is None else lows[at],
                none if highs is None else highs[at], own_turns, own_weights),
                own_ends, own_columns, own_turns, own_weights)
            start = stop

    @np.errstate(under="ignore")  # products of kernels far away
    def _add_block(self, terms: ProductTerms, ends: Indices, columns: Indices, turns: Double, weights: Double) -> None:
        means = self._means(terms, columns)
        factors = means[:, 0] + 1j * means[:, 1] if len(turns) else means[:, 0]
        products = np.ones((len(means), len(weights)), dtype=factors.dtype)
        filled = np.flatnonzero(np.diff(ends))
        if len(filled):
            products[:, filled] = np.multiply.reduceat(factors, ends[filled], axis=1)
        if len(turns):
            products = (products * (turns[:, 0] + 1j * turns[:, 1])).real
        self.base_values += np.einsum("t,to->o", products.mean(axis=0), weights)
        self._blocks.append((terms, columns, means if self._background.is_product else None))

    def _means(self, terms: ProductTerms, columns: Indices) -> Double:
        """Means (n_backgrounds, n_parts, n_factors) of the factors at the background; one of a product of marginals."""
        rows = self._rows_of(self._background.rows)
        factors = np.empty((len(rows), 2 if terms.is_complex else 1, terms.n_factors))
        terms.factors(rows, factors, np.empty((1, terms.scratch_size(False))), 1)
        if self._background.is_product:
            factors = np.einsum("rpf,fr->pf", factors, self._background.shares[columns])[None]
        return factors

    def _rows_of(self, rows: Double) -> Double:
        """Rows as the terms take them."""
        return np.ascontiguousarray(rows if self._center is None else rows - self._center)

    def add_to(self, values: Double, rows: Double, n_threads: int, with_pairs: bool = False) -> None:
        """Add the Shapley values of rows, or the interactions of pairs, to those of other parts."""
        rows = self._rows_of(rows)
        for terms, columns, means in self._blocks:
            terms.add_values(rows, self._means(terms, columns) if means is None else means, *rules_of(terms.most),
                             with_pairs, values, np.empty((n_threads, terms.scratch_size(with_pairs))), n_threads)


def rules_of(most: int) -> tuple[Indices, Double]:
    """For 0 to `most` columns: where their nodes begin and end, and nodes and weights of all."""
    rules = [np.array(nodes_of(k)) for k in range(1, most + 1)]
    ends = np.cumsum([0, 0, *(rule.shape[1] for rule in rules)])
    return ends, np.ascontiguousarray(np.concatenate([np.empty((2, 0)), *rules], axis=1))


def _cosines(part: FourierTerms, center: Double, sources: Indices, background: Background) -> _Products:
    """Cosines: the factor of column g is exp(i omega_g . (x_g - center_g))."""
    turns = np.column_stack([np.cos(part.phases), -np.sin(part.phases)])
    return _Products(sources, background, center, part.omegas != 0, part.omegas / np.pi, None, None, None, turns,
                     part.amplitudes)


def _kernels(part: KernelTerms, sources: Indices, background: Background, weight: float, rate: float) -> _Products:
    """Gaussian kernels: the factor of column g is exp(-rate |(x_g - center_g) / length_g|^2) within its region, else 0.

    The region of a center is a box: a column is above `lows` and not above `highs`.
    """
    scales = math.sqrt(rate / math.log(2)) * part.inverse_length_scales  # the kernel takes powers of 2
    (lows, highs), region = part.regions.boxes(part.centers.shape[1]), part.regions.of_centers()
    reads = (scales != 0) | ((lows > -np.inf) | (highs < np.inf))[region]
    own_lows, own_highs = (None, None) if part.n_regions == 1 else (lows[region], highs[region])
    return _Products(sources, background, None, reads, np.broadcast_to(scales, reads.shape), part.centers, own_lows,
                     own_highs, np.empty((0, 2)), weight * part.weights)


class _Trees:
    """Symmetric trees: the Shapley values of a row depend on its leaf alone, and are tabulated.

    With P the distribution of the leaves of a background, v(S) at the leaf a is the mean of the value of the leaf that
    has the digits of a for the columns in S, and those of a leaf drawn from P for all others.
    """

    def __init__(self, part: TreeTerms, sources: Indices, background: Background) -> None:
        self._columns = part.tree_columns.astype(np.intp)
        self._thresholds, self._layout = part.tree_thresholds, part.layout
        self._steps = np.ascontiguousarray(part.layout.steps)
        self._sources, self._n_columns = sources, len(background.shares)
        self._values = np.asarray(part.tree_values, dtype=np.float64)
        # By the numbers of digits of their players: the number of a tree, its players, its leaves in the order of these
        # digits, the last player counting least, and the shares of the background in these leaves.
        self._by_shape: dict[tuple[int, ...], list[tuple[int, Indices, Indices, Double]]] = {}
        self.base_values = np.zeros(part.n_outputs)
        for tree in range(part.n_terms):
            players, digits, leaves = self._players_of(tree)
            shares = self._leaf_shares(tree, players, digits, leaves, background)
            self._by_shape.setdefault(digits, []).append((tree, players, leaves, shares))
            self.base_values += np.einsum("l,lo->o", shares, self._values[part.starts[tree] + leaves])
        self._tables = self._tabulate(1)

    def _tabulate(self, order: int) -> tuple[Indices, Indices, Indices, Double]:
        """For `add_leaves`: the values of columns, or the interactions of pairs, in all leaves."""
        n_trees, n_outputs = len(self._columns), self._values.shape[1]
        places, tables = [np.empty(0, np.intp)] * n_trees, [np.empty(0)] * n_trees
        for digits, trees in self._by_shape.items():
            n_players = len(digits)
            groups = list(itertools.combinations(range(n_players), order))
            size = max(1, _BLOCK // (math.prod(digits) * (len(groups) + 1) * n_outputs))
            for start in range(0, len(trees), size):
                some = trees[start : start + size]
                found = tree_tables(np.array([self._values[self._layout.starts[tree] + leaves]
                                              for tree, _, leaves, _ in some]),
                                    np.array([shares for *_, shares in some]), digits, groups)
                for (tree, players, leaves, _), table in zip(some, found, strict=True):
                    tables[tree] = np.empty_like(table)
                    tables[tree][leaves] = table
                    places[tree] = np.array([sum(
                        player * self._n_columns ** (order - 1 - axis)
                        for axis, player in enumerate(sorted(players[list(group)].tolist())))
                        for group in groups], np.intp)
        return (np.cumsum([0, *map(len, places)]), np.concatenate([np.empty(0, np.intp), *places]),
                np.cumsum([0, *(table.size for table in tables)]),
                np.concatenate([np.empty(0), *(table.reshape(-1) for table in tables)]))

    def _players_of(self, tree: int) -> tuple[Indices, tuple[int, ...], Indices]:
        """Raw columns of a tree, the number of digits of each, and its leaves in the order of these digits.

        Raw columns of fewer digits come first, so that few shapes occur.
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

    def add_to(self, values: Double, rows: Double, n_threads: int, with_pairs: bool = False) -> None:
        """Add the Shapley values of rows, or the interactions of pairs, to those of other parts."""
        ends, places, starts, tables = self._tabulate(2) if with_pairs else self._tables
        add_leaves(rows, self._columns, self._thresholds, self._steps, ends, places, starts, tables, values, n_threads)


def tree_tables(values: Double, shares: Double, digits: Sequence[int], groups: Sequence[tuple[int, ...]]) -> Double:
    """Values (n_trees, n_leaves, n_groups, n_outputs) of players, or interactions of pairs, in trees of one shape.

    The value of a group T of q players is the sum over coalitions S of c_S v(S), with s = |S - T| and
    c_S = (-1)^(q - |S and T|) s! (k - q - s)! / (k - q + 1)!: the Shapley value of one player, and the interaction of
    Grabisch and Roubens (1999) of two.
    """
    n_trees, n_leaves, n_outputs = values.shape
    n_players = len(digits)
    values, shares = values.reshape(n_trees, *digits, n_outputs), shares.reshape(n_trees, *digits)
    found = np.zeros((len(groups), n_trees, *digits, n_outputs))
    for inside in coalitions(n_players) if groups else ():
        outside = tuple(1 + axis for axis in range(n_players) if axis not in inside)
        weights = shares.sum(axis=tuple(1 + axis for axis in inside), keepdims=True)[..., None]
        means = (values * weights).sum(axis=outside, keepdims=True)
        for group, total in zip(groups, found, strict=True):
            n_both, size = len({*inside} & {*group}), len(group)
            n_others = len(inside) - n_both
            factor = (math.factorial(n_others) * math.factorial(n_players - size - n_others)
                      / math.factorial(n_players - size + 1))
            total += (-1) ** (size - n_both) * factor * means
    return np.moveaxis(found.reshape(len(groups), n_trees, n_leaves, n_outputs), 0, 2)


def coalitions(n_players: int) -> Iterator[tuple[int, ...]]:
    """All subsets of players."""
    for bits in range(1 << n_players):
        yield tuple(player for player in range(n_players) if bits >> player & 1)
