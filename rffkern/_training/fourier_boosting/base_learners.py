"""The base learners of a bag: each samples columns by their relevance, and fits a term to the gradient of the loss."""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..._model.parts import LinearTerms, Part, TreeTerms
from ..._model.tree_layout import UNREACHED, reachable_values
from ..._native import boosting, solvers
from ..._native.array_types import Double, Indices, Mask
from ..._rows.scaling import Scaling
from ..._rows.tiles import TILE
from ...errors import InvalidInputError
from .binning import MAX_BINS
from .constraints import Constraints, monotone_values
from .parameters import BASE_LEARNERS, LINEAR_RATE, BaseLearnerFacts, Hyperparameters
from .sparse_columns import SparseColumns
from .terms import FourierTerm, LinearTerm, SparseLinearTerm, TreeTerm, fourier_terms
from .training_rows import BaggedRows, Columns, LocalRows

AddedTerms: TypeAlias = Sequence[tuple[Any, float, int]]  # of all bags, each with its step and its round

# Share of the chance of a column that does not depend on its relevance, and terms before which nothing does.
_EQUAL_SHARE, _FEWEST_TERMS = 0.1, 10

# Draws of columns for a set: a log-uniform number from the first to that for each column and one more, of so many at
# most.  Of a hundred columns larger sets take most of the time of rounds, and lower the loss by no more.
_FEWEST_DRAWS, _MOST_DRAWN = 1.5, 32

# Least weight of a new improvement of the validation loss in the mean of improvements.
_LEAST_WEIGHT = 0.03

# A rate that grows does so by itself over so many terms of its base learner: small steps find the way of early rounds,
# but what is left to late ones they only reach slowly.
_GROWTH_TERMS = 150

# Candidates of a Fourier term, the tiles of the block of rows that they are scored on, and iterations of the descent
# of the best, with the length of its first step as a share of that of omega.
_N_CANDIDATES, _BLOCK_TILES, _MAX_ITER, _FIRST_STEP = 10, 8, 10, 0.1

# What rounds cost, in multiply-adds: evaluations of a descent with their gradients, what a row takes beside its columns
# (a cosine, or the move to its leaf), additions of a row to the histogram of a column, and of a bin to the gains of a
# leaf, and any round.
_N_EVALUATIONS, _ROW_COST, _HISTOGRAM_COST, _BIN_COST, _ROUND_COST = 24, 32, 8, 128, 64_000

# Scales of Fourier terms: omega has variance 2^(1 + u) over the number of columns, for u between these.
_LOWEST_SCALE, _HIGHEST_SCALE = -3.0, 6.0

# Ridge of the leaves of trees.
LEAF_RIDGE = 1.0

# Of many outputs, splits are searched for a third of them, but no fewer and no more than these.
_FEWEST_SEARCHED, _MOST_SEARCHED = 3, 6

# Ridges that linear functions choose among by the validation loss, times the number of rows, and the columns that they
# read at most: decomposing their products takes time in proportion to the cube of their number.
_LINEAR_RIDGES, _MOST_LINEAR_COLUMNS = tuple(10.0**k for k in range(-4, 1)), 500

# Squared correlation of two forms of a column beyond which linear functions read the first alone, and the share of the
# validation loss below which a whole step of a linear function must leave it to be the first round.
_SAME_LINE, _WHOLE_STEP = 0.9, 0.5

# More ridges, where columns are many for few rows and without them fit noise.
_LARGER_RIDGES = 10.0, 100.0

# Of sparse rows: ridges to choose among, as multiples of the sum of the weights of the rows, for columns in units of
# their standard deviations to these powers: with 0.5 columns that few rows fill have larger coefficients than with 0.
# Each is tried by some steps of this share of the best one.  The largest ridge that gains this share of what the best
# gains leaves most to trees: a linear function of more columns than rows fits all that it may.
_SPARSE_RIDGES, _POWERS, _TRIAL_STEPS, _TRIAL_RATE, _ENOUGH = (1000.0, 100.0, 10.0, 1.0, 0.1), (0.5, 0.0), 2, 0.5, 0.8

# Iterations of conjugate gradients at most, for a linear function of sparse rows, and the residual at which they end.
_CG_ITERATIONS, _CG_TOLERANCE = 8, 1e-2

# Training rows for each column from which on there is no screening: chances then follow what columns have gained.
_SCREENED_ROWS_PER_COLUMN = 5

# The best threshold on the best of d columns of noise gains 2 (log d + this) degrees of freedom in up to nine tables of
# a hundred.
_SCREENING_CUTS = 4.0


class BaseLearner:
    """A base learner of one bag: relevances of columns, by which it samples them, and what its rounds have gained.

    Constructors of subclasses take columns, hyperparameters, the rows of the bag, and chances by screening, if any.

    Parameters
    ----------
    n_sources : int
        Number of columns of the raw table.
    rate : float
        Share of the best step that the first round takes (shrinkage).
    rate_growth : float
        How many times the first rate later ones grow to.
    screened : array of shape (n_sources,) or None
        Chances of columns by `screened_chances`.
    """

    name: str
    facts: ClassVar[BaseLearnerFacts]
    term: ClassVar[type[Any]]  # the class of its terms
    is_first = False  # whether it has the first round of the bag, with a step of 1
    choices: Mapping[str, Any] = {}  # by validation rows, which the constructor takes where there are none

    def __init__(self, n_sources: int, rate: float, rate_growth: float, screened: Double | None = None,
                 constraints: Constraints | None = None) -> None:
        self._first_rate, self._rate_growth = rate, rate_growth
        self._screened, self._constraints = screened, constraints
        self.relevances: Double = np.zeros(n_sources)
        self._draws = _FEWEST_DRAWS, _FEWEST_DRAWS * (1 + min(n_sources, _MOST_DRAWN))
        self._chosen, self._chances = np.empty(n_sources, dtype=np.uint8), np.empty((2, n_sources))
        self._is_chosen = self._chosen.view(np.bool_)
        self._n_terms = 0
        self.n_rounds, self.mean_gain, self.total_gain = 0, 0.0, 0.0  # of the validation loss; late rounds weigh more
        self.mean_cost, self.n_misses = 0.0, 0  # multiply-adds of a round; rounds since one has lowered the loss
        self._cost = 0.0  # of the last round

    def fit(self, rows: BaggedRows, rng: "np.random.Generator") -> Any:
        """A term for the gradient of the loss, which becomes the direction of the rows; None where there is none."""
        raise NotImplementedError

    @property
    def rate(self) -> float:
        """The share of the best step that the next round takes."""
        growth = min(1 + self._n_terms / _GROWTH_TERMS, self._rate_growth)
        return min(growth * self._first_rate, max(self._first_rate, 1.0))

    @property
    def relevance_shares(self) -> Double:
        """Relevances over their sum, (n_sources,); 0 before the first term."""
        return self.relevances / max(self.relevances.sum(), 1e-300)

    def record_term(self, term: Any, step: float) -> None:
        """Count a term that a round has added with a step."""
        raise NotImplementedError

    @staticmethod
    def part(added: AddedTerms, columns: Columns, scaling: Scaling, scale: Double) -> tuple[Part | None, list[int]]:
        """What one term or more make of the function of unscaled rows, and the round of each term of that part.

        Scores are in units of `scale`.
        """
        raise NotImplementedError

    def record_gain(self, gain: float) -> None:
        """Count by how much a round has lowered the validation loss, and what it has cost."""
        self.n_rounds += 1
        n_counted = self.n_rounds - self.is_first  # what a whole step gains at first says nothing of later rounds
        weight = max(1 / max(n_counted, 1), _LEAST_WEIGHT)
        if n_counted:
            self.mean_gain += weight * (gain - self.mean_gain)
        self.mean_cost += weight * (_ROUND_COST + self._cost - self.mean_cost)
        self.n_misses = 0 if gain > 0 else self.n_misses + 1
        self.total_gain += gain

    def history(self) -> dict[str, Any]:
        """A copy of all that later rounds depend on, by attribute."""
        return {name: copy.copy(getattr(self, name)) for name in (
            "relevances", "_n_terms", "n_rounds", "mean_gain", "total_gain", "mean_cost", "n_misses")}

    def restore(self, history: Mapping[str, Any]) -> None:
        """Go on from a history."""
        for name, value in history.items():
            setattr(self, name, copy.copy(value))

    def _column_weights(self, rng: "np.random.Generator") -> tuple[Double, float]:
        """Weights of the raw columns, and the share e of their chances that is equal for all.

        The chance of column j of d is e / d + (1 - e) weight_j / sum of weights: with e = 0.1, columns of the weights
        3 and 1 have the chances 0.725 and 0.275.
        """
        weights, equal_share = self.relevances, _EQUAL_SHARE if self._n_terms >= _FEWEST_TERMS else 1.0
        if self._screened is not None:  # chances by screening count as much as the relevances of 10 terms
            of_screening = _FEWEST_TERMS / (_FEWEST_TERMS + self._n_terms)
            weights = of_screening * self._screened + (1 - of_screening) * self.relevance_shares
            equal_share = _EQUAL_SHARE
        if self._constraints is not None:  # 0 for columns that the term must not read, so that nothing is equal for all
            weights = self._constraints.chances(weights, equal_share, self.facts.keeps_order, rng)
            equal_share = 0.0
        return weights, equal_share

    def _sample_columns(self, rng: "np.random.Generator") -> Mask:
        """Draw a set of raw columns, (n_sources,): one in any case, and others for a log-uniform size.

        Columns come by their chances as if drawn with replacement: a large set is not filled up with those that were
        good for nothing.
        """
        boosting.draw_columns(rng, *self._column_weights(rng), *self._draws, self._chosen, self._chances)
        return self._is_chosen


class FourierLearner(BaseLearner):
    """Cosine and sine over some columns, omega by descent, with amplitudes that are the best for each omega."""

    name, facts, term = "fourier", BASE_LEARNERS["fourier"], FourierTerm

    def __init__(self, columns: Columns, sizes: Hyperparameters, _: BaggedRows,
                 screened: Double | None = None) -> None:
        super().__init__(columns.n_sources, sizes.fourier_rate, sizes.rate_growth, screened, columns.constraints)
        self._ridge, self._reg_lambda = sizes.amplitude_ridge, sizes.reg_lambda
        self._descent_tiles = max(1, sizes.max_samples // TILE)
        self._sources = columns.sources
        self._search = solvers.LBFGS(len(self._sources), _MAX_ITER, 1e-7, 1e-5, 1e-6)
        self._omegas, self._subset = np.empty((_N_CANDIDATES, len(self._sources))), np.empty_like(self._sources)
        self._reg_lambdas, self._values = np.empty((2, _N_CANDIDATES))
        self._sums, self._scratch = np.empty(0), np.empty(0, dtype=np.float32)

    def fit(self, rows: BaggedRows, rng: "np.random.Generator") -> FourierTerm | None:
        """Descend from the best of some candidates, drawn with columns by their relevances."""
        sample = rows.sample
        weight, n_tiles = sample.fourier_weight, sample.n_train // TILE
        # With sets of columns that may interact each candidate has one of its own.
        n_together = _N_CANDIDATES if self._constraints is None else 1
        for first in range(0, _N_CANDIDATES, n_together):
            some = slice(first, first + n_together)
            boosting.draw_candidates(
                rng, *self._column_weights(rng), *self._draws, self._sources, _LOWEST_SCALE, _HIGHEST_SCALE,
                self._reg_lambda, self._omegas[some], self._reg_lambdas[some], self._chosen, self._chances)
        block = min(_BLOCK_TILES, n_tiles)
        if not self._sums.size:
            self._sums = np.empty(boosting.sums_size(len(self._sources), len(sample.scores)))
        best = boosting.choose_term(
            sample.columns, sample.gradient, weight, self._omegas, self._reg_lambdas, self._ridge,
            boosting.draw_below(rng, n_tiles - block + 1), block, self._values, self._subset, self._sums)

        omega = self._omegas[best]
        columns = omega.nonzero()[0]
        omega, amplitudes = omega[columns], np.zeros((2, len(sample.scores)))
        descent_tiles = min(self._descent_tiles, n_tiles)
        if not self._scratch.size:  # for all columns, of which memory is taken for those that are used
            self._scratch = np.empty(boosting.scratch_size(len(self._sources), descent_tiles), dtype=np.float32)
        boosting.descend_term(
            self._search, sample.columns, sample.gradient, weight, columns, omega, self._reg_lambdas[best],
            self._ridge, boosting.draw_below(rng, n_tiles - descent_tiles + 1), descent_tiles,
            _FIRST_STEP * math.sqrt(omega @ omega), amplitudes, self._scratch, self._sums)
        n_read = TILE * (_N_CANDIDATES * block + _N_EVALUATIONS * descent_tiles + n_tiles)
        self._cost = n_read * (len(columns) + _ROW_COST * amplitudes.shape[1])
        term = FourierTerm(columns, omega, amplitudes)
        rows.set_direction(term)
        return term if np.count_nonzero(amplitudes) else None

    def record_term(self, term: FourierTerm, step: float) -> None:
        """Relevances are squares of amplitude times omega."""
        power = step**2 * float(np.vdot(term.amplitudes, term.amplitudes))
        boosting.add_square_relevances(self.relevances, self._sources, term.columns, term.omega[None], power)
        self._n_terms += 1

    @staticmethod
    def part(added: AddedTerms, columns: Columns, scaling: Scaling, scale: Double) -> tuple[Part | None, list[int]]:
        """One cosine for each term, or a cosine and a sine where there are several outputs."""
        terms, steps, rounds = zip(*added, strict=True)
        omegas = np.zeros((len(terms), len(scaling.center)))
        places = np.repeat(np.arange(len(terms)), [len(term.columns) for term in terms])
        omegas[places, np.concatenate([term.columns for term in terms])] = np.concatenate(
            [term.omega for term in terms])
        amplitudes = np.array(steps)[:, None, None] * np.array([term.amplitudes for term in terms])
        part = fourier_terms(omegas * scaling.inverse_scale, amplitudes, scale)
        return part, np.repeat(rounds, part.n_terms // len(terms)).tolist()


class TreeLearner(BaseLearner):
    """Symmetric trees: the same column and threshold for all nodes of a depth, by Newton's method."""

    name, facts, term = "tree", BASE_LEARNERS["tree"], TreeTerm

    def __init__(self, columns: Columns, sizes: Hyperparameters, rows: BaggedRows,
                 screened: Double | None = None) -> None:
        super().__init__(columns.n_sources, sizes.tree_rate, sizes.rate_growth, screened, columns.constraints)
        self._depth, self._n_searched = sizes.max_depth, len(rows.sample.scores)
        if sizes.samples_outputs:
            self._n_searched = min(max(self._n_searched // 3, _FEWEST_SEARCHED), _MOST_SEARCHED, self._n_searched)
        self._bin_counts, self._signs = columns.bin_counts, columns.signs[columns.split_columns]
        self._sources, self._indicators = columns.sources[columns.split_columns], columns.indicators
        self._usable = columns.usable[columns.split_columns] & columns.searched
        self._all_outputs = np.arange(len(rows.sample.scores))
        self._gains, self._scratch = np.zeros(self._depth), np.empty(0)

    def fit(self, rows: BaggedRows, rng: "np.random.Generator") -> TreeTerm | None:
        """Grow a tree on columns that are drawn by their relevances."""
        candidates = (self._sample_columns(rng)[self._sources] & self._usable).nonzero()[0]
        if not len(candidates):
            return None
        sample, outputs = rows.sample, self._sample_outputs(rows.sample, rng)
        gradient, hessian, n_train, n_outputs = sample.gradient, sample.hessian, sample.n_train, len(outputs)
        if n_outputs < len(gradient):
            gradient, hessian = gradient[outputs], hessian[outputs]
        self._cost = n_outputs * (n_train * self._depth * (_HISTOGRAM_COST * len(candidates) + _ROW_COST)
                                  + (_BIN_COST << self._depth) * len(candidates))
        columns, threshold_bins = np.empty((2, self._depth), dtype=np.intp)
        values = np.empty((1 << self._depth, n_outputs))
        size = boosting.store_size(n_train, n_outputs, len(candidates), self._depth)
        if self._scratch.size < size:  # at once for all columns: memory is taken when it is used
            self._scratch = np.empty(0)  # before its successor takes memory
            of_all = boosting.store_size(n_train, n_outputs, len(self._sources), self._depth)
            self._scratch = np.empty(max(size, of_all))
        if not boosting.grow_tree(
                sample.bins, self._bin_counts, self._signs, self._indicators, gradient, hessian, candidates,
                self._depth, LEAF_RIDGE, n_train, columns, threshold_bins, self._gains, values, self._scratch,
                sample.n_threads):
            return None
        term, has_order = TreeTerm(columns, threshold_bins, values), self._signs[columns].any()
        # Values by all outputs and all training rows, where the tree was grown for some outputs or on a sample.
        if has_order or n_outputs < len(self._all_outputs) or sample is not rows:
            gradients, hessians = rows.leaf_sums(columns, threshold_bins)
            weights = hessians + LEAF_RIDGE
            values = gradients / weights
            term = term._replace(values=monotone_values(values, weights, term, self._signs) if has_order else values)
        rows.set_direction(term)
        return term

    def _sample_outputs(self, rows: LocalRows, rng: "np.random.Generator") -> Indices:
        """The outputs that splits are searched for: all, or of many some, by how much is left to learn of each."""
        n_outputs = len(self._all_outputs)
        if n_outputs == self._n_searched:
            return self._all_outputs
        n_read = min(rows.n_train, _BLOCK_TILES * TILE)
        gradient, hessian = rows.gradient[:, :n_read], rows.hessian[:, :n_read].sum(axis=1, dtype=np.float64)
        left = np.einsum("kn,kn->k", gradient, gradient) / (hessian + LEAF_RIDGE * n_read / rows.n_train)
        waits = -np.log1p(-rng.random(n_outputs)) / np.maximum(left, 1e-30)
        return np.sort(waits.argsort()[: self._n_searched])

    def record_term(self, term: TreeTerm, step: float) -> None:
        """Relevances are gains of splits."""
        boosting.add_relevances(self.relevances, self._sources, term.columns, self._gains, step)
        self._n_terms += 1

    @staticmethod
    def part(added: AddedTerms, columns: Columns, scaling: Scaling, scale: Double) -> tuple[Part | None, list[int]]:
        """Trees whose thresholds are those of raw rows."""
        trees, _, rounds = zip(*added, strict=True)
        # No row is above a bin beyond the last edge, that of a depth at which nothing is split.
        edges = np.full((len(columns.edges), MAX_BINS + 1), math.inf)
        for row, of_column in zip(edges, columns.edges, strict=True):
            row[: len(of_column)] = of_column
        split = np.array([tree.columns for tree in trees])
        split_columns = columns.binned[split].astype(np.float64)
        thresholds = edges[split, np.array([tree.threshold_bins for tree in trees])]
        thresholds = scaling.raw(thresholds, split_columns.astype(np.intp)).clip(-UNREACHED, UNREACHED)
        values = reachable_values(split_columns, thresholds, (step * scale * tree.values for tree, step, _ in added),
                                  trees[0].values.shape[1])
        return TreeTerms(split_columns, thresholds, values), list(rounds)


class LinearLearner(BaseLearner):
    """Linear functions of all columns, by ridge regression of the gradient of the loss.

    It reads none that has an order: a slope above 0 would be one that no sum of rising terms falls below anywhere.  Of
    a wide table these are the columns whose products with the gradient are largest before the first round.  Where
    columns were screened, those of larger chances have smaller ridges, if the validation loss is lower with these.

    A bag begins with a whole step of one, if that halves the validation loss: Fourier terms would share what a linear
    function can carry, and they do not go on beyond the training rows.

    `ridge` and `is_first` are given where a bag is trained again without the validation rows by which it chose them.
    """

    name, facts, term = "linear", BASE_LEARNERS["linear"], LinearTerm

    def __init__(self, columns: Columns, sizes: Hyperparameters, rows: BaggedRows,
                 screened: Double | None = None, ridge: Double | None = None, is_first: bool = False) -> None:
        super().__init__(columns.n_sources, min(LINEAR_RATE * sizes.fourier_rate, 1.0), sizes.rate_growth)
        self._sources = columns.sources
        self._columns = _linear_columns(rows.sample, (columns.usable & (columns.signs == 0)).nonzero()[0])
        # Products of columns less their means, without those that repeat another form of their raw column.
        total, sums, gram = rows.moments(self._columns)
        means = sums / total
        gram -= np.outer(sums, means)
        distinct = _distinct_columns(gram, self._sources[self._columns])
        self._columns, self._means, gram = self._columns[distinct], means[distinct], gram[np.ix_(distinct, distinct)]
        # The ridge of the lowest validation loss after a whole step, which is taken back.
        scratch, trials = np.empty((1, solvers.factor_scratch(len(gram)))), []
        for each in _ridges_of_columns(screened, self._sources) if ridge is None else [ridge]:
            self._factor = gram + np.diag(total * each[self._columns])
            if solvers.factorise(self._factor, scratch, 1):  # which rounding prevents where the ridge is too small
                self.fit(rows, None)
                trials.append((rows.loss_after_unit_step(), self._factor, each))
        if not trials:
            raise InvalidInputError("X and sample_weight must not differ so much that most rows count for nothing "
                                    "beside some that are far out or weigh far more: leave out these or the others, or "
                                    'train without linear functions, by base_learners=("fourier", "tree")')
        losses, self._factor, best = min(trials, key=lambda trial: trial[0].validation)
        if ridge is None:  # exponentials of few training rows may be beyond all bounds
            is_first = (losses.validation < _WHOLE_STEP * rows.losses.validation
                        and losses.train < rows.losses.train)
        self.is_first = is_first
        self.choices = {"ridge": best, "is_first": is_first}

    def fit(self, rows: BaggedRows, rng: Any) -> LinearTerm:
        """Ridge regression of the gradient, by a factor of the products of columns."""
        products, gradient_sums = rows.gradient_products(self._columns)
        products -= gradient_sums[:, None] * self._means
        for of_output in products:
            solvers.solve_factorised(self._factor, of_output)
        self._cost = len(products) * len(self._columns) * (4 * rows.sample.n_train + len(self._columns))
        term = LinearTerm(self._columns, products)
        rows.set_direction(term)
        return term

    def record_term(self, term: LinearTerm, step: float) -> None:
        """Relevances are squares of coefficients."""
        boosting.add_square_relevances(self.relevances, self._sources, term.columns, term.coefficients, step**2)
        self._n_terms += 1

    @staticmethod
    def part(added: AddedTerms, columns: Columns, scaling: Scaling, scale: Double) -> tuple[Part | None, list[int]]:
        """The sum of all, which belongs to no round."""
        coefficients = np.zeros((len(scaling.center), len(added[0][0].coefficients)))
        for term, step, _ in added:
            coefficients[term.columns] += step * term.coefficients.T
        return LinearTerms(scaling.inverse_scale[:, None] * coefficients * scale) if coefficients.any() else None, []


def _linear_columns(rows: LocalRows, columns: Indices) -> Indices:
    """Columns that may be read, or of many those whose products with the gradient are largest."""
    if len(columns) <= _MOST_LINEAR_COLUMNS:
        return columns
    products = np.abs(rows.gradient_products(columns)[0]).max(axis=0)
    return np.sort(columns[np.argsort(products)[-_MOST_LINEAR_COLUMNS:]])


def _distinct_columns(gram: Double, sources: Indices) -> Indices:
    """Places of columns that are no line of an earlier form of the same source, by their products (lower triangle).

    The rank of evenly spread values is one: it ends with the training rows, and would have half of the slope, or a
    large one against that of the values.
    """
    squares = gram.diagonal().clip(0)  # rounding may leave less than 0 of a column that hardly varies
    is_line = np.tril(gram, -1) ** 2 > _SAME_LINE * np.outer(squares, squares)
    return np.flatnonzero(~(is_line & (sources[:, None] == sources)).any(axis=1))


def _ridges_of_columns(screened: Double | None, sources: Indices) -> list[Double]:
    """Ridges to choose among, (n_columns,) each, times the number of rows: equal ones, and by chances."""
    equal = np.ones(len(sources))
    if screened is None:
        return [ridge * equal for ridge in _LINEAR_RIDGES]
    by_chances = 1 / (_EQUAL_SHARE + (1 - _EQUAL_SHARE) * len(screened) * screened[sources])
    are_equal = screened.max() == screened.min()
    return [ridge * each for each in ((equal,) if are_equal else (equal, by_chances))
            for ridge in _LINEAR_RIDGES + _LARGER_RIDGES]


class SparseLinearLearner(BaseLearner):
    """Linear functions of all columns, by ridge regression of the gradient with some steps of conjugate gradients.

    The ridge is that of the lowest validation loss after some steps.
    """

    name, facts, term = "linear", BASE_LEARNERS["linear"], SparseLinearTerm

    def __init__(self, columns: Columns, sizes: Hyperparameters, rows: BaggedRows, screened: Double | None = None,
                 ridge: tuple[float, float] | None = None) -> None:
        assert columns.sparse is not None
        super().__init__(columns.sparse.rows.n_columns, sizes.fourier_rate, sizes.rate_growth)
        self._varies = columns.sparse.inverse_scale > 0
        self._ridges, best = np.empty(0), 0.0
        if ridge is None:
            ridge = _SPARSE_RIDGES[0], _POWERS[0]
            for power in _POWERS:
                gains: list[float] = []
                for each in _SPARSE_RIDGES:
                    self._ridges = self._ridges_of(columns.sparse, each, power)
                    gains.append(rows.losses.validation - self._loss_after_steps(rows))
                    if gains[-1] < max(gains):
                        break
                if max(gains) > best:
                    best = max(gains)
                    ridge = next(each for each, gain in zip(_SPARSE_RIDGES, gains, strict=False)
                                 if gain >= _ENOUGH * best), power
        self._ridges, self.choices = self._ridges_of(columns.sparse, *ridge), {"ridge": ridge}

    def _ridges_of(self, sparse: SparseColumns, ridge: float, power: float) -> Double:
        """Ridges of the columns, (n_columns, 1), of geometric mean `ridge`."""
        logs = 2 * (1 - power) * np.log(np.where(self._varies, sparse.inverse_scale, 1.0))
        mean = logs[self._varies].mean() if self._varies.any() else 0.0
        return ridge * np.exp(np.clip(logs - mean, -30, 30))[:, None]

    def _loss_after_steps(self, rows: BaggedRows) -> float:
        """The lowest validation loss after one of some steps with the ridges, all of which are taken back."""
        lowest, added = math.inf, []
        for _ in range(_TRIAL_STEPS):
            term = self.fit(rows, None)
            step = _TRIAL_RATE * (1.0 if rows.has_unit_hessian else rows.best_step())
            lowest = min(lowest, rows.add_step(step).validation)
            added.append((term, step))
        for term, step in reversed(added):
            rows.set_direction(term)
            rows.add_step(-step)
        return lowest

    def fit(self, rows: BaggedRows, rng: Any) -> SparseLinearTerm:
        """Solve (X' W X + ridges) b = X' g for the gradient g, from 0 on, by preconditioned conjugate gradients."""
        local = rows.sample
        cells, n_train, n_threads = local.cells, local.n_train, local.n_threads
        assert cells is not None
        means, weight, total = cells.means[:, None], local.weight[:n_train, None].astype(np.float64), local.totals[0]

        def transposed_products(vectors: Double) -> Double:
            return cells.columns.products(vectors, n_threads) - means * vectors.sum(axis=0)

        gradient = np.ascontiguousarray(local.gradient[:, :n_train].T, dtype=np.float64)
        residuals = transposed_products(gradient) * self._varies[:, None]
        coefficients, directions = np.zeros((2, *residuals.shape))
        before, first, n_iter = np.ones(residuals.shape[1]), (residuals**2).sum(axis=0), 0
        while n_iter < _CG_ITERATIONS and ((residuals**2).sum(axis=0) > _CG_TOLERANCE**2 * first).any():
            preconditioned = residuals / (total * (1 + self._ridges))
            product = (residuals * preconditioned).sum(axis=0)
            directions = preconditioned + (product / before if n_iter else 0.0) * directions
            values = cells.rows.rows(0, n_train).products(directions, n_threads)
            values -= np.einsum("j,jk->k", cells.means, directions)
            images = transposed_products(weight * values) + total * self._ridges * directions
            curvatures = (directions * images).sum(axis=0)
            lengths = np.where(curvatures > 0, product / np.where(curvatures > 0, curvatures, 1.0), 0.0)
            coefficients += lengths * directions
            residuals -= lengths * images
            before, n_iter = np.where(product > 0, product, 1.0), n_iter + 1
        self._cost = 4.0 * (n_iter + 1) * len(before) * (cells.columns.nnz + len(residuals))
        term = SparseLinearTerm(coefficients.astype(np.float32))
        rows.set_direction(term)
        return term

    def record_term(self, term: SparseLinearTerm, step: float) -> None:
        """Relevances are squares of coefficients."""
        self.relevances += step**2 * (term.coefficients.astype(np.float64) ** 2).sum(axis=1)
        self._n_terms += 1

    @staticmethod
    def part(added: AddedTerms, columns: Columns, scaling: Scaling, scale: Double) -> tuple[Part | None, list[int]]:
        """The sum of all, of unscaled rows, which belongs to no round."""
        coefficients = sum((step * term.coefficients.astype(np.float64) for term, step, _ in added), np.zeros(()))
        if not np.any(coefficients):
            return None, []
        return LinearTerms(columns.sparse.inverse_scale[:, None] * coefficients * scale), []


# In the order of the terms of the function.
LEARNERS: dict[str, Any] = {learner.name: learner for learner in (FourierLearner, TreeLearner, LinearLearner)}


def learners_of(model: Any, columns: Columns, sizes: Hyperparameters, rows: BaggedRows, trees_alone: bool = False,
                choices: Mapping[str, Mapping[str, Any]] | None = None) -> list[BaseLearner]:
    """The base learners of a bag: those of the model, or those that keep an order where all columns have one.

    For sparse rows the linear one is always among them, because no other reads all columns.  `choices` are what base
    learners of an earlier bag have chosen by its validation rows, by their names.
    """
    classes = [LEARNERS[name] for name in model.base_learners]
    if columns.sparse is not None:
        classes = [*(learner for learner in classes if learner is not LinearLearner), SparseLinearLearner]
    elif columns.constraints is not None and columns.constraints.ordered.all():
        classes = [learner for learner in classes if learner.facts.keeps_order]
    if trees_alone:
        classes = [TreeLearner]
    screened = screened_chances(columns, rows)
    return [learner(columns, sizes, rows, screened, **{} if choices is None else choices[learner.name])
            for learner in classes if choices is None or learner.name in choices]


def screened_chances(columns: Columns, rows: BaggedRows) -> Double | None:
    """Chances of raw columns by the gain of their best threshold, (n_sources,), sum 1; None where rows are many.

    If one of 300 columns matters, random sets of columns hardly ever have it, and terms of the others fit noise until
    nothing of the gradient is left.  A share of the chances is equal for all columns, because some matter only
    together; it grows with the number of rows.  The rest is divided among the columns that gain more than noise would.
    """
    sample, n_columns = rows.sample, columns.n_sources
    share = np.count_nonzero(sample.weight[: sample.n_train]) / (_SCREENED_ROWS_PER_COLUMN * n_columns)
    if share >= 1:
        return None
    n_outputs, gradient, hessian, n_train = len(sample.scores), sample.gradient, sample.hessian, sample.n_train
    bin_counts, indicators, searched = columns.bin_counts, columns.indicators, np.flatnonzero(columns.searched)
    sources, signs = columns.sources[columns.split_columns], columns.signs[columns.split_columns]
    column, threshold = np.empty((2, 1), dtype=np.intp)
    gain, values = np.zeros(1), np.empty((2, n_outputs))
    scratch = np.empty(boosting.store_size(n_train, n_outputs, 1, 1))
    gains = np.zeros(n_columns)
    for candidate in searched:
        boosting.grow_tree(sample.bins, bin_counts, signs, indicators, gradient, hessian, np.array([candidate]), 1,
                           LEAF_RIDGE, n_train, column, threshold, gain, values, scratch, 1)
        gains[sources[candidate]] = max(gains[sources[candidate]], gain[0])
    # What a degree of freedom gains by chance.
    squares = np.einsum("kn,kn->k", gradient[:, :n_train], gradient[:, :n_train], dtype=np.float64)
    unit = (squares / np.maximum(hessian[:, :n_train].sum(axis=1, dtype=np.float64), 1e-30)).sum()
    passes = gains > 2 * (math.log(n_columns) + _SCREENING_CUTS) * unit
    if not passes.any():
        return np.full(n_columns, 1 / n_columns)
    return share / n_columns + (1 - share) / passes.sum() * passes
