"""The choice of length scales and lambda: by the squared error on rows that are left out, on few rows and then on more.

All lambdas and all folds are systems of one matrix, so that they share its kernels.  Relevances of columns come from
the derivatives of a first model: w_j in proportion to the mean over rows of (df/dx_j)^2, as in A. Radhakrishnan,
D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in neural networks and backpropagation-free
machine learning models, Science, 2024.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._native.array_types import NDArray
from ..._rows.scaling import no_scaling
from ..._rows.weights import RowWeights
from .kernel_matrix import NO_DECLINES, DenseKernels, DenseSystem, KernelMatrix, in_panels, pack_rows
from .ridge_systems import RidgeSystems

Double = NDArray[np.float64]

N_FOLDS = 5
LAMBDAS = 0.01, 0.03, 0.1, 0.3, 1.0, 3.0
SMALL_LAMBDAS = 1e-4, 3e-4, 1e-3, 3e-3, 0.01  # of targets that are no labels, where the smallest of the others is best

# Rows of the two stages of a choice.
FEW_ROWS, MORE_ROWS = 1500, 6000

# Numbers that derivatives along columns may take, which need products of as many columns as there are, for each output.
_MOST_PRODUCTS = 1 << 23

# Residuals below which choices no longer change, and iterations that all but small lambdas reach them in; solutions of
# small lambdas after as many are further from exact, and as good for a choice of scale.
_TOLERANCE, _LANDMARKS, _ITERATIONS, _MANY_ITERATIONS = 1e-2, 300, 25, 100

# Steps of the scale, and bounds of it.
_LONG_STEP, _SHORT_STEP, _LARGEST = 4.0, 2.0, 4.0**8

# Rounds of relevances, the share that all columns have alike, and by how much a round must lower the loss.
_N_ROUNDS, _EQUAL_SHARE, _LEAST_GAIN = 2, 0.02, 0.005


class ChoiceRows(NamedTuple):
    """Some rows in random order, their targets less the intercepts, and their weights, in which lambda counts."""

    X: Double  # (n_rows, n_features) in the units that learning takes place in
    targets: Double  # (n_outputs, n_rows)
    weights: Double  # (n_rows,)
    n_threads: int | None
    folds: NDArray[np.intp] | None = None  # (n_rows,) that `choose_on` leaves out, -1 for none; None: row by row

    def first(self, n_rows: int) -> "ChoiceRows":
        """Some of them."""
        return ChoiceRows(self.X[:n_rows], np.ascontiguousarray(self.targets[:, :n_rows]), self.weights[:n_rows],
                            self.n_threads, None if self.folds is None else self.folds[:n_rows])


class Lengths(NamedTuple):
    """Length scales: 1 / length_j^2 = scale relevances_j."""

    relevances: Double  # (n_features,)
    scale: float

    @property
    def inverse(self) -> Double:
        """1 / length scale of each column."""
        inverse: Double = np.sqrt(self.scale * self.relevances)
        return inverse


class Choice(NamedTuple):
    """What has the lowest loss, and the loss."""

    lengths: Lengths
    reg_lambda: float
    loss: float


class ScaleSearch:
    """Losses of rows left out, by the scale of the length scales and by lambda.

    Parameters
    ----------
    rows : ChoiceRows
    shape : "gaussian" or "exponential"
    reg_lambda : float or None
        None for any of LAMBDAS.
    cache_bytes : int
    steps : Steps
    """

    def __init__(self, rows: ChoiceRows, shape: str, reg_lambda: float | None, cache_bytes: int,
                 steps: Steps) -> None:
        self._rows, self._shape, self._cache_bytes, self._steps = rows, shape, cache_bytes, steps
        self._lambdas: tuple[float, ...] = LAMBDAS if reg_lambda is None else (reg_lambda,)
        n_rows, n_outputs = len(rows.X), len(rows.targets)
        self._folds = np.arange(n_rows) * min(N_FOLDS, n_rows) // n_rows
        self._n_left_out = 1 if n_rows > FEW_ROWS else max(1, min(N_FOLDS, n_rows) // n_outputs)

    def on(self, rows: ChoiceRows) -> "ScaleSearch":
        """The same search on other rows."""
        reg_lambda = None if self._lambdas is LAMBDAS else self._lambdas[0]
        return ScaleSearch(rows, self._shape, reg_lambda, self._cache_bytes, self._steps)

    def at(self, lengths: Lengths) -> Choice:
        """The best lambda with some length scales."""
        return self._best(lengths, self._lambdas, _ITERATIONS)

    def with_small_lambdas(self, best: Choice) -> Choice:
        """The same with smaller lambdas, where these may be better."""
        if self._lambdas is LAMBDAS and best.reg_lambda == LAMBDAS[0]:
            return self._best(best.lengths, SMALL_LAMBDAS, _MANY_ITERATIONS)
        return best

    def _best(self, lengths: Lengths, lambdas: tuple[float, ...], max_iter: int) -> Choice:
        rows, n_rows = self._rows, len(self._rows.X)
        units = no_scaling(rows.X.shape[1])._replace(inverse_scale=lengths.inverse)
        packed = pack_rows(rows.X, units, self._shape, RowWeights(n_rows), "single", rows.n_threads)
        matrix = KernelMatrix(packed, self._cache_bytes, rows.n_threads)
        systems = RidgeSystems(matrix, self._folds, rows.weights, np.arange(min(n_rows, _LANDMARKS)), rows.n_threads)
        losses = np.zeros(len(lambdas))
        systems_of_folds = [(fold, reg_lambda) for fold in range(self._n_left_out) for reg_lambda in lambdas]
        predictions = systems.solve(systems_of_folds, rows.targets, _TOLERANCE, max_iter).predictions
        for k, (fold, _) in enumerate(systems_of_folds):
            here = self._folds == fold
            squares = ((predictions[k][:, here] - rows.targets[:, here]) ** 2).mean(axis=0)
            losses[k % len(losses)] += (rows.weights[here] * squares).sum()
        losses /= rows.weights[self._folds < self._n_left_out].sum()
        best = int(np.argmin(np.where(np.isfinite(losses), losses, math.inf)))
        self._steps.step(f"loss {losses[best]:.6g}")
        return Choice(lengths, lambdas[best], float(losses[best]))

    def descend(self, start: Choice, step: float) -> Choice:
        """The best scale that is reached from a start by steps that multiply or divide it."""
        best = start
        for factor in (step, 1 / step):
            while 1 / _LARGEST <= best.lengths.scale * factor <= _LARGEST:
                trial = self.at(best.lengths._replace(scale=best.lengths.scale * factor))
                if not trial.loss < best.loss:
                    break
                best = trial
            if best is not start:
                break
        return best


def equal_relevances(X: Double, weights: Double) -> Double:
    """Relevances that are alike, of columns whose variances have the mean 1 after them."""
    return normalised(np.ones(X.shape[1]), X, weights)


def normalised(relevances: Double, X: Double, weights: Double) -> Double:
    """Relevances with which the mean squared distance between two rows is 2."""
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
        total = float((relevances * variances).sum())
    return relevances / total if math.isfinite(total) and total > 0 else np.ones(len(relevances)) / len(relevances)


def gradient_relevances(rows: ChoiceRows, shape: str, choice: Choice) -> Double:
    """Relevances in proportion to mean squared derivatives of a model, and a small share for all columns alike."""
    n_features, n_outputs = rows.X.shape[1], len(rows.targets)
    rows = rows.first(max(1, min(len(rows.X), FEW_ROWS, _MOST_PRODUCTS // (n_outputs * (n_features + 1)))))
    kernels, system = DenseKernels(rows.X, rows.X, rows.n_threads), DenseSystem(len(rows.X), rows.n_threads)
    declines = np.empty_like(system.matrix) if shape == "exponential" else NO_DECLINES
    kernels.fill(choice.lengths.inverse, shape, system.matrix, declines)
    if shape != "exponential":
        declines = system.matrix.copy()
    system.matrix.flat[:: len(rows.X) + 1] += choice.reg_lambda / rows.weights
    equal = equal_relevances(rows.X, rows.weights)
    if not system.factorise():
        return equal
    coefficients = system.solve(rows.targets.T)
    squares = np.zeros(n_features)
    for k in range(n_outputs):
        weighted = np.column_stack([coefficients[:, k], coefficients[:, k, None] * rows.X])
        products = system.multiply(declines, in_panels(weighted), n_features + 1)
        gradient = choice.lengths.inverse**2 * (rows.X * products[:, :1] - products[:, 1:])
        squares += (rows.weights[:, None] * gradient**2).sum(axis=0)
    if not np.isfinite(squares).all() or not squares.any():
        return equal
    return (1 - _EQUAL_SHARE) * normalised(squares, rows.X, rows.weights) + _EQUAL_SHARE * equal


def choose(rows: ChoiceRows, shape: str, lengths: Lengths | None, reg_lambda: float | None, cache_bytes: int,
           are_labels: bool = False) -> Choice:
    """Length scales, unless they are given, and lambda, unless it is.

    On `FEW_ROWS` the scale of equal relevances is searched, and then that of relevances by derivatives, as long as they
    lower the loss.  On `MORE_ROWS`, where there are as many, the scale of these is searched again by smaller steps.
    """
    steps = Steps("kernels on held-out rows", 20)
    few = rows.first(FEW_ROWS)
    search = ScaleSearch(few, shape, reg_lambda, cache_bytes, steps)
    start = lengths or Lengths(equal_relevances(few.X, few.weights), 1.0)
    best = search.at(start)
    if lengths is None:
        best = search.descend(best, _LONG_STEP)
        for _ in range(_N_ROUNDS):
            trial = search.at(Lengths(gradient_relevances(few, shape, best), best.lengths.scale))
            trial = search.descend(trial, _LONG_STEP)
            if not trial.loss < (1 - _LEAST_GAIN) * best.loss:
                break
            best = trial
    return _refine(search, rows, best, lengths is None, are_labels)


def choose_scale(rows: ChoiceRows, shape: str, relevances: Double, cache_bytes: int, are_labels: bool,
                 reg_lambda: float | None = None) -> Choice:
    """The common scale of length scales of given relevances, and lambda unless it is given, too.

    On `FEW_ROWS`, then on `MORE_ROWS`.
    """
    steps = Steps("kernels on held-out rows", 12)
    few = rows.first(FEW_ROWS)
    search = ScaleSearch(few, shape, reg_lambda, cache_bytes, steps)
    best = search.descend(search.at(Lengths(normalised(relevances, few.X, few.weights), 1.0)), _LONG_STEP)
    return _refine(search, rows, best, True, are_labels)


def lambdas_for(are_labels: bool) -> tuple[float, ...]:
    """The lambdas that are chosen among, in ascending order: for labels no small ones."""
    return LAMBDAS if are_labels else (*SMALL_LAMBDAS[:-1], *LAMBDAS)


def _refine(search: ScaleSearch, rows: ChoiceRows, best: Choice, is_scale_free: bool, are_labels: bool) -> Choice:
    """Refine the best of few rows on more, where there are more, by smaller steps and with smaller lambdas."""
    if len(rows.X) > FEW_ROWS:
        search = search.on(rows.first(MORE_ROWS))
        best = search.at(best.lengths)
    if is_scale_free:
        best = search.descend(best, _SHORT_STEP)
    return best if are_labels else search.with_small_lambdas(best)
