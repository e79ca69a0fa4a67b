"""Kinds of weak learners: each draws columns by what they were good for, and fits a term to the slopes of the loss.

A round asks one kind for a term, along which the state then points; the round chooses the step and moves.
"""

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting, solvers
from ..._rows.tiles import TILE
from .rows import Columns
from .rules import Rules
from .state import Stand, State
from .terms import Line, Pair, Table

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Share of the chance of a column that does not depend on what it was good for, and terms before which nothing does.
_EVEN_SHARE, _TERMS_BEFORE = 0.1, 10

# How often columns are drawn for a set, on average, over its log-uniform size, which is at least 1.
_TIMES = 1.5

# Candidates of a round, and the tiles of the block of rows that they are scored on.
_N_CANDIDATES, _BLOCK_TILES = 10, 8
_MAX_ITER = 10

# Length of the first step of a descent, as a share of that of omega.
_FIRST_STEP = 0.1

# Scales of waves: omega has variance 2^(1 + u) over the number of columns, for u between these.
_LOWEST_SCALE, _HIGHEST_SCALE = -3.0, 6.0

_RIDGE_OF_CELLS = 1.0


class Kind(Protocol):
    """A kind of weak learner of one member."""

    name: str
    rate: float  # share of the step that a round takes
    searches_steps: bool  # whether the round searches the best step

    @property
    def relevances(self) -> Double:
        """What the terms taken so far owe to each column of the table, (n_sources,)."""

    @property
    def memory(self) -> Any:
        """A copy of what was learned of columns, by which later terms are drawn."""

    def recall(self, memory: Any) -> None:
        """Go on with such a memory."""

    def fit(self, stand: Stand, rng: "np.random.Generator") -> Any:
        """A term for the slopes of the loss, along which the state then points, or None where there is none."""

    def take(self, term: Any, step: float) -> None:
        """Count a term that a round has taken with a step."""


class _Chances:
    """The chance of each column of the table, by its relevance."""

    def __init__(self, n_sources: int) -> None:
        self.relevances = np.zeros(n_sources)
        self._n_terms = 0
        self._log_size = math.log(n_sources + 1)

    @property
    def memory(self) -> tuple[Double, int]:
        """Relevances, and the number of terms that they are told from."""
        return self.relevances.copy(), self._n_terms

    def recall(self, memory: tuple[Double, int]) -> None:
        self.relevances, self._n_terms = memory[0].copy(), memory[1]

    def count(self, sources: Indices, relevances: Double) -> None:
        """Add to the relevances of some columns, which may come several times."""
        np.add.at(self.relevances, sources, relevances)
        self._n_terms += 1

    def draw(self, rng: "np.random.Generator", n_draws: int) -> NDArray[np.bool_]:
        """Draw sets of columns (n_draws, n_sources): one in any case, and others for a log-uniform size.

        Columns come by their chances as if drawn with replacement: a large set is not filled up with those that were
        good for nothing.
        """
        n_sources = len(self.relevances)
        chance = np.full(n_sources, 1 / n_sources)
        total = self.relevances.sum()
        if self._n_terms >= _TERMS_BEFORE and total > 0:
            chance = _EVEN_SHARE / n_sources + (1 - _EVEN_SHARE) / total * self.relevances
        times = _TIMES * np.exp(rng.random((n_draws, 1)) * self._log_size)
        chosen = rng.random((n_draws, n_sources)) < -np.expm1(-times * chance)
        first = (rng.standard_exponential((n_draws, n_sources)) / chance).argmin(axis=1)
        chosen[np.arange(n_draws), first] = True
        return chosen


class _DrawsColumns:
    """A kind that draws its columns by chances."""

    _chances: _Chances

    @property
    def relevances(self) -> Double:
        return self._chances.relevances

    @property
    def memory(self) -> tuple[Double, int]:
        return self._chances.memory

    def recall(self, memory: tuple[Double, int]) -> None:
        self._chances.recall(memory)


class Waves(_DrawsColumns):
    """Pairs of waves, omega by descent with amplitudes that are the best for each omega."""

    name = "fourier"
    searches_steps = True

    def __init__(self, columns: Columns, rules: Rules, rate: float, ridge: float,
                 max_samples: int) -> None:
        self.rate = rate
        self._ridge, self._reg_lambda = ridge, rules.reg_lambda
        self._descent_tiles = max(1, max_samples // TILE)
        self._sources = columns.sources
        self._chances = _Chances(columns.n_sources)
        self._searches: dict[int, solvers.LBFGS] = {}
        self._scratch = np.empty(0, dtype=np.float32)

    def fit(self, stand: Stand, rng: "np.random.Generator") -> Pair | None:
        state = stand.here
        n_tiles = state.n_train // TILE
        chosen = self._chances.draw(rng, _N_CANDIDATES)[:, self._sources]
        scales = rng.uniform(_LOWEST_SCALE, _HIGHEST_SCALE, _N_CANDIDATES)
        spread = np.sqrt(2.0 * 2.0**scales / chosen.sum(axis=1))
        omegas = rng.standard_normal(chosen.shape) * chosen * spread[:, None]
        reg_lambdas = self._reg_lambda / 2 ** (scales / 2)
        block = min(_BLOCK_TILES, n_tiles)
        sums = np.empty(boosting.sums_size(len(self._sources), len(state.scores)))
        best = boosting.choose_pair(
            state.columns, state.gradient, state.wave_weight, omegas, reg_lambdas, self._ridge,
            int(rng.integers(n_tiles - block + 1)), block, np.empty(_N_CANDIDATES), np.empty_like(self._sources), sums)
        subset = np.flatnonzero(chosen[best])
        omega = omegas[best, subset]
        part = min(self._descent_tiles, n_tiles)
        amplitudes = np.zeros((2, len(state.scores)))
        if not self._scratch.size:  # for all columns, of which memory is taken for those that are used
            self._scratch = np.empty(boosting.scratch_size(len(self._sources), part), dtype=np.float32)
        boosting.descend_pair(
            self._search(len(subset)), state.columns, state.gradient, state.wave_weight, subset, omega,
            reg_lambdas[best], self._ridge, int(rng.integers(n_tiles - part + 1)), part,
            _FIRST_STEP * math.sqrt(omega @ omega), amplitudes, self._scratch, sums)
        pair = Pair(subset, omega, amplitudes)
        stand.point(pair)
        return pair if amplitudes.any() else None

    def take(self, term: Pair, step: float) -> None:
        power = step**2 * (term.amplitudes**2).sum()
        self._chances.count(self._sources[term.columns], power * term.omega**2)

    def _search(self, size: int) -> solvers.LBFGS:
        """A search of so many variables, made when it is first needed."""
        if size not in self._searches:
            self._searches[size] = solvers.LBFGS(size, _MAX_ITER, 1e-7, 1e-5, 1e-6)
        return self._searches[size]


class Tables(_DrawsColumns):
    """Symmetric tables: the same column and threshold for all cells of a depth."""

    name = "tree"
    searches_steps = False

    def __init__(self, columns: Columns, rules: Rules, rate: float) -> None:
        self.rate = rate
        self._depth = rules.depth
        self._counts = columns.bins.counts
        self._sources = columns.sources[columns.bins.columns]
        self._chances = _Chances(columns.n_sources)
        self._gains, self._store = np.zeros(rules.depth), np.empty(0)

    def fit(self, stand: Stand, rng: "np.random.Generator") -> Table | None:
        candidates = np.flatnonzero(self._chances.draw(rng, 1)[0, self._sources])
        columns, cuts = np.zeros((2, self._depth), dtype=np.intp)
        if not len(candidates):
            return None
        coded, codes, gradient, hessian, n_train = stand.slopes(candidates)
        n_outputs = len(gradient)
        values = np.zeros((1 << self._depth, n_outputs))
        sizes = [boosting.store_size(n_train, n_outputs, n, self._depth)
                 for n in (len(candidates), len(self._sources))]
        if self._store.size < sizes[0]:  # at once for all columns: memory is taken when it is used
            self._store = np.empty(0)  # before its successor takes memory
            self._store = np.empty(max(sizes))
        if not boosting.grow_table(
                codes, self._counts[coded], gradient, hessian, np.searchsorted(coded, candidates), self._depth,
                _RIDGE_OF_CELLS, n_train, columns, cuts, self._gains, values, self._store):
            return None
        table = stand.with_values(Table(coded[columns], cuts, values), _RIDGE_OF_CELLS)
        stand.point(table)
        return table

    def take(self, term: Table, step: float) -> None:
        self._chances.count(self._sources[term.columns], step * self._gains)


# Ridges that lines choose among by held-out rows, times the number of rows.
_RIDGES = tuple(10.0**k for k in range(-4, 1))


# Columns that a line reads at most: decomposing their products takes time in proportion to the cube of their number.
_MOST_COLUMNS = 500


def _most_telling(state: State) -> Indices:
    """All columns, or of many those whose products with the slopes of the loss are largest."""
    n_columns = len(state.columns)
    if n_columns <= _MOST_COLUMNS:
        return np.arange(n_columns)
    products = np.abs(state.columns[:, : state.n_train] @ state.gradient[:, : state.n_train].T).max(axis=1)
    return np.sort(np.argsort(products)[-_MOST_COLUMNS:])


class Lines:
    """Linear functions of all columns, by ridge regression of the slopes of the loss.

    Of a wide table these are the columns that go best with the slopes before the first round.
    """

    name = "linear"
    searches_steps = True

    def __init__(self, columns: Columns, stand: Stand, rate: float) -> None:
        self.rate = rate
        self._sources = columns.sources
        self.relevances = np.zeros(columns.n_sources)
        self._chosen = _most_telling(stand.here)
        self._total, self._means, gram = stand.moments(self._chosen)
        values, self._vectors = np.linalg.eigh(gram - self._total * np.outer(self._means, self._means))
        self._spectrum = np.maximum(values, 0.0)
        self._ridge = self._choose(stand)

    def _choose(self, stand: Stand) -> float:
        """The ridge of lowest loss on held-out rows."""
        losses = []
        for ridge in _RIDGES:
            self._ridge = ridge
            self.fit(stand, None)
            losses.append(stand.trial().held_out)
        return _RIDGES[int(np.argmin(losses))]

    def fit(self, stand: Stand, rng: Any) -> Line | None:
        products, slopes_sum = stand.products(self._chosen)
        products -= np.outer(self._means, slopes_sum)
        shrunk = (self._vectors.T @ products) / (self._spectrum + self._ridge * self._total)[:, None]
        slopes = np.zeros((len(self._sources), len(slopes_sum)))
        slopes[self._chosen] = self._vectors @ shrunk
        line = Line(self._chosen, slopes)
        stand.point(line)
        return line

    @property
    def memory(self) -> Double:
        return self.relevances.copy()

    def recall(self, memory: Double) -> None:
        self.relevances = memory.copy()

    def take(self, term: Line, step: float) -> None:
        np.add.at(self.relevances, self._sources, step**2 * (term.slopes**2).sum(axis=1))
