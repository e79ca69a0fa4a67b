"""Whether kernel ridge regression is worth learning: a sequential rule on small regions of the rows.

Few rows out of all say nothing of it, for what it learns is local: its gain comes with their density.  Small regions
have all rows that are near one another.  In some of them, spread over the table, a regression learns from the rows of
the region and predicts them out of fold: what that gains over the bags there is about what it would gain.  As long as
the outcome is open, larger regions follow, while what the trial costs stays below a share of what the bags have cost,
which grows with what the regression may gain.
Costs are counted in operations, so that the same rows have the same outcome on any machine.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._model.expansion import Expansion
from ..._model.parts import Part
from ..._native.array_types import Double, Indices
from ..._rows.scaling import Scaling, no_scaling
from ..kernel_ridge.dense_regression import DenseRegression, choose_on
from ..kernel_ridge.kernel import Kernel
from ..kernel_ridge.length_scales import LARGEST_SCALE, Choice, ChoiceRows, normalised
from ..kernel_ridge.likelihood import KernelSearch
from ..kernel_ridge.regions import LARGEST_REGION, MOST_ROWS, Division, divide_by_sizes
from .parameters import CROSS_FITTED_STANDARD_ERRORS, LEAST_SHARE, MOST_SEARCHED, STANDARD_ERRORS
from .training_rows import Columns, RowOrder

# Kernels that are tried, each with the scale that the choice begins at where no search has found one.
_FIRST_SCALES = {"exponential": 1.0, "gaussian": 2.0}

# Share by which the losses of both kernels, on the rows that their scales are chosen on, differ for gains to decide.
_MOST_WORSE = 0.05

# Equal relevances are tried for one output and on so many rows at most: small regions of more rows flatter them.  They
# are taken where they gain less than those of the terms by no more than this many standard errors.  With more rows,
# all of these are learned from where the loss on the smallest regions is larger by no more than this share.
_MOST_ROWS_OF_EQUAL, _ERRORS_OF_EQUAL, _MOST_WORSE_OF_EQUAL = 1024, 0.5, 0.02

# Length scales of values are searched where there are so many columns at most, and so many rows for each.  Noise of the
# search is this share of the variance at least: less says little of length scales, and takes double precision.  Of the
# prior around the length scales of the terms, this is the spread of logarithms.
MOST_COLUMNS, _ROWS_PER_COLUMN, _LEAST_NOISE, _PRIOR_SPREAD = 60, 4, 2e-3, 1.5

# Rows of a smaller share of the mean weight take no part in the search.
_LEAST_WEIGHT = 0.1

# Rows of a region at most, on average, in one stage after the other, regions, and every which one is chosen on.
_STAGES, _N_REGIONS, _CHOSEN = (256, 512, 1024), 8, 4

# So many times its size a region learns from at most, where no threshold divides rows.
_MOST_SIZES = 1.5

# Columns that may divide rows, those of the largest spread, and rows of a node that are compared for the one that does.
_N_DIVIDING, _N_COMPARED = 24, 512

# Share of the operations of the bags that the stages after the first may take, and so many times it where the gain may
# be as many times what is needed: little is saved by leaving out what may be worth a lot.
_SHARE, _MOST_SHARES = 0.2, 3.0

# Operations, of which some 40 take a nanosecond: of a round of a bag, for each of its rows those for an output and for
# a column; of a regression, beside those for kernels and an inverse; and of the weights of an out-of-fold row.
_OF_ROUND, _OF_OUTPUT, _OF_COLUMN, OF_REGRESSION, _OF_WEIGHTS = 2e6, 800.0, 16.0, 1e7, 1e5

# The same of a pair of rows and an output, where all rows are learned from together and predicted out of fold.
_OF_PAIR = 1000.0

# Choices that a stage tries, about: the first of both kernels, the others from the one before.
_FIRST_CHOICES, _MORE_CHOICES = 14, 8
_FIRST_STEP, _STEP = 4.0, 2.0

_FIRST_LAMBDA = 0.1

# A doubling of regions that raises the gain: so many times this is expected of each doubling to come.
_GROWTH = 1.0

# The least share of the loss that the smallest regions must gain for larger ones to be tried, give or take chance.
_LEAST_OPEN = 0.005


class Gain(NamedTuple):
    """By how much kernel ridge regression lowers the mean loss of some out-of-fold rows."""

    n_rows: int
    without: float
    stacked: float
    standard_error: float  # of the mean difference

    @property
    def share(self) -> float:
        """The gain as a share of the loss without it."""
        return (self.without - self.stacked) / max(self.without, np.finfo(np.float64).tiny)

    @property
    def error_of_share(self) -> float:
        """Its standard error."""
        return self.standard_error / max(self.without, np.finfo(np.float64).tiny)

    def is_enough(self, standard_errors: float = STANDARD_ERRORS) -> bool:
        """Whether this is enough to keep it: the least share, and so many standard errors."""
        gain = self.without - self.stacked
        return gain > 0 and gain >= LEAST_SHARE * self.without and gain >= standard_errors * self.standard_error

    @property
    def may_be_enough(self) -> bool:
        """Whether it is enough, or would be if chance had a standard error against it."""
        return self.share + STANDARD_ERRORS * self.error_of_share >= LEAST_SHARE

    def is_better(self, than: "Gain") -> bool:
        """Whether the stacked loss is lower than another of the same rows, by the least share."""
        return self.stacked <= (1 - LEAST_SHARE) * than.stacked

    @property
    def is_clear(self) -> bool:
        """Whether it is enough, chance or not."""
        return self.without - self.stacked - STANDARD_ERRORS * self.standard_error >= LEAST_SHARE * self.without


class RidgeRows(NamedTuple):
    """What kernel ridge regressions learn from."""

    columns: Columns  # of all rows
    rows: Indices  # training rows, sorted
    targets: Double  # (n_outputs, n_training) less the intercepts
    intercepts: Double  # (n_outputs,)
    weights: Double  # (n_training,)
    folds: Indices  # (n_training,) that predictions leave out, 0, 1, ..; -1 of rows that bags have not held out
    shuffled: Indices  # places of training rows in random order
    relevances: Double  # of columns, by the terms: 1 / length scale^2 in proportion to them
    equal_relevances: tuple[Double, ...]  # the same for all columns, and for all that are not ranks of one beside them
    are_labels: bool
    n_jobs: int | None
    keeps_folds: bool  # whether scale and lambda are chosen on validation rows of bags, too

    def X(self, rows: Indices, columns: slice | Indices = slice(None)) -> Double:
        """Some columns of some rows, (n_rows, n_columns)."""
        return self.columns.values[:, rows][columns].T.astype(np.float64, order="C")

    def some(self, places: Indices, columns: slice | Indices = slice(None)) -> ChoiceRows:
        """Some of the training rows, and of their columns."""
        return ChoiceRows(self.X(self.rows[places], columns), np.ascontiguousarray(self.targets[:, places]),
                          self.weights[places], self.n_jobs, self.are_labels,
                          self.folds[places] if self.keeps_folds else None)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    @property
    def is_cross_fitted(self) -> bool:
        """Whether out-of-fold predictions are those of `KernelTrial.cross_fit`.

        Of few rows of values, and of labels where columns outnumber them: relevances then remember the labels.
        """
        return (len(self.rows) <= MOST_SEARCHED and self.n_folds > 0 and not self.keeps_folds
                and (not self.are_labels or len(self.columns.values) > len(self.rows)))

    @property
    def standard_errors(self) -> float:
        """By how many standard errors a gain must exceed 0 for a regression to be used."""
        is_searched = self.is_cross_fitted and not self.are_labels
        return CROSS_FITTED_STANDARD_ERRORS if is_searched else STANDARD_ERRORS

    def searchable(self) -> Indices:
        """Places in random order, without rows of hardly any weight."""
        weights = self.weights[self.shuffled]
        return self.shuffled[weights >= _LEAST_WEIGHT * weights.mean()]

    def predictions(self, rows: Indices, known_rows: Indices, out_of_fold: Double,
                    part: Callable[[Scaling, Double], Part]) -> Double:
        """Predictions of rows by regressions that have not learned from them, (n_outputs, n_rows).

        Parameters
        ----------
        rows : indices of rows
        known_rows : indices of rows, sorted
        out_of_fold : array of shape (n_outputs, n_known)
            Of these, less the intercepts.
        part : callable
            (scaling, factors) -> what predicts the others.
        """
        n_outputs, n_columns = len(self.targets), len(self.columns.values)
        predictions = np.empty((n_outputs, len(rows)))
        place = np.minimum(np.searchsorted(known_rows, rows), len(known_rows) - 1)
        known = known_rows[place] == rows
        predictions[:, known] = out_of_fold[:, place[known]]
        if not known.all():
            function = Expansion(np.zeros(n_outputs), np.zeros(n_columns),
                                 part(no_scaling(n_columns), np.ones(n_outputs)))
            others = np.ascontiguousarray(self.columns.values[:, rows[~known]].T)
            predictions[:, ~known] = function._scorer.score(others, self.n_jobs).T
        return predictions + self.intercepts[:, None]


class KernelTrial:
    """The sequential rule.

    Parameters
    ----------
    out_of_fold : indices of the rows that have scores of bags
    gain_of : callable
        The gain on some out-of-fold rows, given by their places, with predictions (n_outputs, n_places).

    Attributes
    ----------
    shape : str
        The kernel, "exponential" or "gaussian".
    choice : Choice
        Its length scales and lambda so far.
    """

    shape: str
    choice: Choice

    def __init__(self, ridge_rows: RidgeRows, out_of_fold: Indices,
                 gain_of: Callable[[Indices, Double], Gain]) -> None:
        self._rows, self._out_of_fold, self._gain_of = ridge_rows, out_of_fold, gain_of
        self._searches = _searches(ridge_rows)
        self._size = 0  # of the regions that the choice was made on last, 0 before the first
        self._rescaled = 1.0  # the scale of the last choice, as a multiple of that which the search has found
        relevances, sizes = ridge_rows.relevances, _STAGES[::-1]
        some = ridge_rows.columns.values[:, ridge_rows.rows[ridge_rows.shuffled[:_N_COMPARED]]]
        columns = np.argsort(-relevances * some.var(axis=1, dtype=np.float64), kind="stable")[:_N_DIVIDING]
        X = ridge_rows.columns.values[columns[:, None], ridge_rows.rows]
        divisions = divide_by_sizes(X, relevances[columns], sizes, _N_COMPARED)
        self._divisions = {size: division._replace(columns=columns[division.columns])
                           for size, division in zip(sizes, divisions, strict=True)}

    def run(self, work: float) -> tuple[Gain | None, bool]:
        """The gain on the last regions, None where none of their rows was scored; and whether that of all is enough.

        Parameters
        ----------
        work : float
            Operations that the bags have taken.
        """
        gain: Gain | None = None
        is_enough, done, budget = True, 0.0, _SHARE * work
        steps = Steps("kernel ridge on small regions", len(_STAGES))
        for stage, size in enumerate(_STAGES):
            regions = self._regions(size)
            cost = regions.cost(_MORE_CHOICES if stage else _FIRST_CHOICES)
            if stage and (done + cost > budget or len(self._rows.rows) <= _STAGES[stage - 1]):
                break
            done += cost
            if stage:
                self._choose_on(regions)
                measured = self._gain_on(regions, self.shape, self.choice)
            else:
                measured = self._best_gain(regions, self._first_choices(regions))
            if measured is None:
                continue
            before, gain = gain, measured
            steps.step(f"loss {gain.without:.6g} without it, {gain.stacked:.6g} with it")
            expected = self._expected(gain, before, size)
            is_enough = expected.is_enough(self._rows.standard_errors)
            possible = expected.share + STANDARD_ERRORS * gain.error_of_share
            is_open = possible >= (LEAST_SHARE if before is not None else _LEAST_OPEN)
            budget = _SHARE * work * min(max(possible / LEAST_SHARE, 1.0), _MOST_SHARES)
            if is_enough:  # or all rows are learned from, which costs far more than to look once more
                budget = max(budget, _SHARE * self._cost_of_all())
            if not is_open or gain.is_clear:
                break
        return gain, is_enough

    def choose_for_all_rows(self) -> None:
        """Choose length scales and lambda for all rows: on the smallest regions, and then on the largest.

        In between, the search for length scales goes on with more rows.
        """
        n_rows, largest = len(self._rows.rows), _STAGES[-1]
        if not self._size:
            self._first_choices(self._regions(_STAGES[0]))
        if self._searches:
            found = _choice_of(self._rows, self._searches[self.shape].on_all_rows())
            if n_rows > 2 * MOST_SEARCHED:  # they lie closer together than those of the search
                found = self.choice._replace(relevances=found.relevances)
            self.choice = found
            self._choose_on(self._regions(largest))
            self._rescaled = self.choice.scale / found.scale
        elif self._size < min(largest, n_rows):
            self._choose_on(self._regions(largest))

    def choose_equal(self) -> tuple[str, Choice] | None:
        """A kernel with equal relevances for many rows of two classes; None where those of the terms are far better."""
        rows = self._rows
        if not (rows.are_labels and len(rows.targets) == 1 and _MOST_ROWS_OF_EQUAL < len(rows.rows) <= MOST_ROWS):
            return None
        smallest, largest = self._regions(_STAGES[0]), self._regions(_STAGES[-1])
        found = smallest.choose_for_kernels(rows.equal_relevances[-1])
        shape = min(found, key=lambda each: found[each].loss)
        if found[shape].loss > (1 + _MOST_WORSE_OF_EQUAL) * smallest.choose(self.shape, self.choice, _STEP).loss:
            return None
        return shape, largest.choose(shape, found[shape], _STEP)

    def cross_fit(self, relevances_without: Sequence[Double]) -> Double:
        """Predictions of training rows by regressions that have learned nothing of their fold, (n_outputs, n_training).

        A search for length scales on all rows has seen the rows that a fold leaves out.  Of few rows, which determine
        hardly more numbers than there are columns, errors that leave rows out are then too low, and with much noise by
        a quarter.  Here the relevances of a fold, and the search that begins at them, are those of the other rows; the
        kernel, lambda, and the factor that the scale was multiplied by after the search are those that
        `choose_for_all_rows` has found.

        Parameters
        ----------
        relevances_without : arrays of shape (n_columns,)
            By bags that have not learned from a fold, one for each.
        """
        rows, predictions = self._rows, np.zeros_like(self._rows.targets)
        for fold, relevances in enumerate(relevances_without):
            held_out = rows.folds == fold
            others = rows._replace(relevances=relevances, shuffled=rows.shuffled[~held_out[rows.shuffled]])
            choice, searches = self.choice, _searches(others) if self._searches else {}
            if searches:
                found = _choice_of(others, searches[self.shape].likeliest())
                choice = found._replace(scale=self._rescaled * found.scale, reg_lambda=choice.reg_lambda)
            elif not any(choice.relevances is equal for equal in rows.equal_relevances):  # which owe nothing to a fold
                choice = choice._replace(relevances=relevances)
            regression = DenseRegression(rows.some(np.flatnonzero(~held_out)), self.shape)
            if regression.fit(choice):
                predictions[:, held_out] = regression.predict(rows.X(rows.rows[held_out]))
        return predictions

    def _regions(self, size: int) -> "_Regions":
        return _Regions(self._rows, self._divisions[size], size)

    def _choose_on(self, regions: "_Regions") -> None:
        """Choose scale and lambda on some regions, from the choice before on."""
        self.choice, self._size = regions.choose(self.shape, self.choice, _STEP), regions.size

    def _first_choices(self, regions: "_Regions") -> list[dict[str, Choice]]:
        """Choose kernel, relevances, scale and lambda by the loss on regions; return what else may gain as much.

        For the relevances of the terms or of a search, and for each of the equal ones where these are tried: the best
        kernel with its choice, and the other where its loss is not much larger.
        """
        rows = self._rows
        if self._searches:
            found = [{shape: regions.choose(shape, _choice_of(rows, search.on_few_rows()), _STEP)
                      for shape, search in self._searches.items()}]
        else:
            has_equal = len(rows.targets) == 1 and len(rows.rows) <= _MOST_ROWS_OF_EQUAL
            found = [regions.choose_for_kernels(relevances)
                     for relevances in (rows.relevances, *(rows.equal_relevances if has_equal else ()))]
        least = [min(choice.loss for choice in each.values()) for each in found]
        self.shape, self.choice = min(found[int(np.argmin(least))].items(), key=lambda each: each[1].loss)
        self._size = regions.size
        return [{shape: choice for shape, choice in each.items() if choice.loss <= (1 + _MOST_WORSE) * loss}
                for each, loss in zip(found, least, strict=True)]

    def _best_gain(self, regions: "_Regions", candidates: Sequence[Mapping[str, Choice]]) -> Gain | None:
        """The gain on regions of the candidate that gains most, which is chosen; None where no row of them was scored.

        Relevances of the terms owe something to all rows, held out or not, and what the bags know they tell again: of
        equal relevances a gain that is enough, and less by chance alone, counts for more.
        """
        measured = [[(gain, shape, choice) for shape, choice in each.items()
                     if (gain := self._gain_on(regions, shape, choice)) is not None] for each in candidates]
        best = [max(each, key=lambda found: found[0].share) for each in measured if each]
        if not best:
            return None
        of_terms, of_equal = best[0], max(best[1:] or best, key=lambda found: found[0].share)
        allowed = _ERRORS_OF_EQUAL * of_terms[0].error_of_share if of_equal[0].is_enough() else 0.0
        is_equal = of_equal[0].share >= of_terms[0].share - allowed
        gain, self.shape, self.choice = of_equal if is_equal else of_terms
        return gain

    def _gain_on(self, regions: "_Regions", shape: str, choice: Choice) -> Gain | None:
        """The gain on regions; None where none of their rows was scored."""
        places, predictions = regions.predict(shape, choice, self._out_of_fold)
        return self._gain_of(places, predictions) if len(places) else None

    def _n_together(self) -> int:
        """Rows that learn together in the end."""
        n_rows = len(self._rows.rows)
        return n_rows if n_rows <= MOST_ROWS else LARGEST_REGION

    def _cost_of_all(self) -> float:
        """Operations of learning from all rows, about."""
        n_columns, n_outputs = len(self._rows.columns.values), len(self._rows.targets)
        return len(self._rows.rows) * self._n_together() * (2.0 * n_columns + 16 + _OF_PAIR * n_outputs)

    def _expected(self, gain: Gain, before: Gain | None, size: int) -> Gain:
        """The gain of all rows, by that of regions of a size, and of half of it."""
        n_together, n_all, share = self._n_together(), len(self._out_of_fold), gain.share
        if before is not None and n_together > size:
            share += _GROWTH * max(share - before.share, 0.0) * math.log2(n_together / size)
        error = gain.standard_error * math.sqrt(gain.n_rows / n_all)
        return gain._replace(stacked=(1 - share) * gain.without, standard_error=error)


def _searches(ridge_rows: RidgeRows) -> dict[str, KernelSearch]:
    """Searches for the likeliest length scales of each kernel, which begin at those of the terms.

    There are none of labels, which hardly determine a length scale for each column, or where rows are few; nor where
    the choice is left to rows that bags hold out, which a likelihood does not.
    """
    columns = np.flatnonzero(ridge_rows.relevances)
    searched = ridge_rows.searchable()[:MOST_SEARCHED]  # they count alike there
    if (ridge_rows.are_labels or ridge_rows.keeps_folds or len(columns) > MOST_COLUMNS
            or len(searched) < _ROWS_PER_COLUMN * len(columns)):
        return {}
    some, starts = ridge_rows.some(searched, columns), np.sqrt(ridge_rows.relevances[columns])
    return {shape: KernelSearch(some.X, some.targets.T, shape, True, ridge_rows.n_jobs, inverse_lengths=starts,
                                least_noise=_LEAST_NOISE, prior_spread=_PRIOR_SPREAD) for shape in _FIRST_SCALES}


def _choice_of(ridge_rows: RidgeRows, kernel: Kernel) -> Choice:
    """The length scales and lambda of a kernel that a search has found."""
    given = ridge_rows.relevances > 0
    inverse_squares = np.zeros(len(given))
    inverse_squares[given] = kernel.length_scale**-2.0
    some = ridge_rows.some(ridge_rows.shuffled[:MOST_SEARCHED])
    relevances = normalised(inverse_squares, some.X, some.weights)
    scale = float((inverse_squares.sum() / relevances.sum()).clip(1 / LARGEST_SCALE, LARGEST_SCALE))
    return Choice(relevances, scale, kernel.reg_lambda / kernel.amplitude)


class _Regions:
    """Some regions of a size, spread over the table."""

    def __init__(self, ridge_rows: RidgeRows, division: Division, size: int) -> None:
        self._rows, self._division, self.size = ridge_rows, division, size
        self._indices = division.some(_N_REGIONS)
        regions = [division.regions[index] for index in self._indices]
        most_rows = int(_MOST_SIZES * size)
        self._learned = [np.sort(region.shuffled_rows(ridge_rows.shuffled, most_rows)) for region in regions]
        self._is_own = [np.isin(learned, region.own) for learned, region in zip(self._learned, regions, strict=True)]

    def _regression(self, shape: str, learned: Indices) -> DenseRegression:
        return DenseRegression(self._rows.some(learned), shape)

    def cost(self, n_choices: int) -> float:
        """Operations of so many choices on some regions and of predictions on all."""
        n_columns, n_outputs = len(self._rows.columns.values), len(self._rows.targets)
        each = [n**2 * (2.0 * n_columns + 16 + n + 4 * n_outputs) + OF_REGRESSION for n in map(len, self._learned)]
        n_own = sum(int(is_own.sum()) for is_own in self._is_own)
        return n_choices * sum(each[::_CHOSEN]) + sum(each) + n_own * n_outputs * _OF_WEIGHTS

    def choose(self, shape: str, start: Choice, step: float) -> Choice:
        """The best scale and lambda of a kernel on some of the regions."""
        regressions = [self._regression(shape, learned) for learned in self._learned[::_CHOSEN]]
        nearest = min(regressions[0].rows.lambdas, key=lambda each: abs(math.log(each / start.reg_lambda)))
        return choose_on(regressions, self._is_own[::_CHOSEN], start._replace(reg_lambda=nearest), step)

    def choose_for_kernels(self, relevances: Double) -> dict[str, Choice]:
        """The same of each kernel, for some relevances and from no choice before."""
        return {shape: self.choose(shape, Choice(relevances, scale, _FIRST_LAMBDA), _FIRST_STEP)
                for shape, scale in _FIRST_SCALES.items()}

    def predict(self, shape: str, choice: Choice, rows: Indices) -> tuple[Indices, Double]:
        """Places of rows that fall into the regions, and predictions by regressions that have not learned from them."""
        ridge_rows = self._rows
        others = np.flatnonzero(~np.isin(rows, ridge_rows.rows))  # of an evaluation set
        others_in = self._division.of_rows(ridge_rows.columns.values[:, rows[others]].T)
        places, predictions = [np.empty(0, dtype=np.intp)], [np.empty((len(ridge_rows.targets), 0))]
        for index, learned, is_own in zip(self._indices, self._learned, self._is_own, strict=True):
            each = self._regression(shape, learned)  # one after the other, for each takes memory
            if not each.fit(choice):
                continue
            own = ridge_rows.rows[learned]
            is_known = is_own & np.isin(own, rows)
            if is_known.any():
                residuals = each.residuals_without(np.where(is_known, ridge_rows.folds[learned], -1))
                places.append(np.searchsorted(rows, own[is_known]))
                predictions.append((each.rows.targets - residuals)[:, is_known])
            of_set = others[others_in == index]
            if len(of_set):
                places.append(of_set)
                predictions.append(each.predict(ridge_rows.X(rows[of_set])))
        return np.concatenate(places), np.concatenate(predictions, axis=1) + ridge_rows.intercepts[:, None]


def boosting_work(n_rounds: Sequence[int], orders: Sequence[RowOrder], columns: Columns, n_outputs: int) -> float:
    """Operations that bags have taken, about, and not more."""
    each = _OF_OUTPUT * n_outputs + _OF_COLUMN * len(columns.values)
    return sum(n * (_OF_ROUND + each * order.n_training_rows) for n, order in zip(n_rounds, orders, strict=True))
