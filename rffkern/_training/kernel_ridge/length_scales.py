"""The choice of length scales and lambda: by the squared error on rows that are left out, on few rows and then on more.

All lambdas and all folds are systems of one matrix, so that they share its kernels.  Relevances of columns come from
the derivatives of a first model: w_j in proportion to the mean over rows of (df/dx_j)^2, as in A. Radhakrishnan,
D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in neural networks and backpropagation-free
machine learning models, Science, 2024.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..._estimator.monitor import Steps
from ..._native.array_types import Double, Indices
from ..._rows.scaling import no_scaling
from ..._rows.weights import RowWeights
from .kernel_matrix import DenseKernels, DenseSystem, KernelMatrix, in_panels
from .ridge_systems import solve_systems

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
_LONG_STEP, _SHORT_STEP, LARGEST_SCALE = 4.0, 2.0, 4.0**8

# Rounds of relevances, the share that all columns have alike, and by how much a round must lower the loss.
_N_ROUNDS, _EQUAL_SHARE, _LEAST_GAIN = 2, 0.02, 0.005


class ChoiceRows(NamedTuple):
    """Some rows in random order that length scales and lambda are chosen on."""

    X: Double  # (n_rows, n_features) in the units that learning takes place in
    targets: Double  # (n_outputs, n_rows) less the intercepts
    weights: Double  # (n_rows,) in whose units lambda is
    n_threads: int | None
    are_labels: bool = False  # for which no small lambdas are tried
    folds: Indices | None = None  # (n_rows,) that `choose_on` leaves out, -1 for none; None: row by row

    @property
    def lambdas(self) -> tuple[float, ...]:
        """The lambdas that are chosen among, in ascending order."""
        return LAMBDAS if self.are_labels else (*SMALL_LAMBDAS[:-1], *LAMBDAS)

    def first(self, n_rows: int) -> "ChoiceRows":
        """So many of them."""
        return self._replace(X=self.X[:n_rows], targets=np.ascontiguousarray(self.targets[:, :n_rows]),
                             weights=self.weights[:n_rows], folds=None if self.folds is None else self.folds[:n_rows])


class Choice(NamedTuple):
    """Length scales, 1 / length_j^2 = scale relevances_j, and lambda, with the loss that they have."""

    relevances: Double  # (n_features,)
    scale: float
    reg_lambda: float = math.nan  # until it is chosen
    loss: float = math.inf

    @property
    def inverse(self) -> Double:
        """1 / length scale of each column."""
        return np.sqrt(self.scale * self.relevances)


def choose(rows: ChoiceRows, shape: str, reg_lambda: float | None, cache_bytes: int,
           relevances: Double | None = None, scale: float | None = None) -> Choice:
    """Length scales and lambda of lowest loss of rows that are left out, or those of them that are not given.

    On `FEW_ROWS` the scale of equal relevances is searched, and then that of relevances by derivatives, as long as they
    lower the loss.  On `MORE_ROWS`, where there are as many, the scale of these is searched again by smaller steps.

    Parameters
    ----------
    shape : "gaussian" or "exponential"
    relevances : array of shape (n_features,) or None
    scale : float or None
        Of these relevances; where it is not given, neither is their sum.
    """
    steps = Steps("kernels on held-out rows", 20 if relevances is None else 12)
    lambdas = LAMBDAS if reg_lambda is None else (reg_lambda,)
    used = few = rows.first(FEW_ROWS)

    def at(choice: Choice) -> Choice:
        return best_lambda(used, shape, choice, lambdas, cache_bytes, steps)

    if scale is not None and relevances is not None:
        best = at(Choice(relevances, scale))
    else:
        start = np.ones(few.X.shape[1]) if relevances is None else relevances
        best = descend(at, at(Choice(normalised(start, few.X, few.weights), 1.0)), _LONG_STEP)
    if relevances is None:
        for _ in range(_N_ROUNDS):
            trial = descend(at, at(Choice(gradient_relevances(few, shape, best), best.scale)), _LONG_STEP)
            if not trial.loss < (1 - _LEAST_GAIN) * best.loss:
                break
            best = trial
    if len(rows.X) > FEW_ROWS:
        used = rows.first(MORE_ROWS)
        best = at(best)
    if scale is None:
        best = descend(at, best, _SHORT_STEP)
    if reg_lambda is None and best.reg_lambda == LAMBDAS[0] and not rows.are_labels:
        best = best_lambda(used, shape, best, SMALL_LAMBDAS, cache_bytes, steps, _MANY_ITERATIONS)
    return best


def best_lambda(rows: ChoiceRows, shape: str, choice: Choice, lambdas: tuple[float, ...], cache_bytes: int,
                steps: Steps, max_iter: int = _ITERATIONS) -> Choice:
    """The choice with the lambda of lowest loss of folds that are left out."""
    (n_rows, n_features), n_outputs = rows.X.shape, len(rows.targets)
    units = no_scaling(n_features)._replace(inverse_scale=choice.inverse)
    matrix = KernelMatrix(rows.X, units, shape, RowWeights(n_rows), "single", cache_bytes, rows.n_threads)
    n_folds = min(N_FOLDS, n_rows)
    folds = np.arange(n_rows) * n_folds // n_rows
    n_left_out = 1 if n_rows > FEW_ROWS else max(1, n_folds // n_outputs)
    systems = [(fold, reg_lambda) for fold in range(n_left_out) for reg_lambda in lambdas]
    solutions = solve_systems(matrix, systems, rows.targets, rows.weights, folds, np.arange(min(n_rows, _LANDMARKS)),
                              _TOLERANCE, max_iter)
    losses = np.zeros(len(lambdas))
    for k, ((fold, _), predictions) in enumerate(zip(systems, solutions.predictions, strict=True)):
        here = folds == fold
        squares = ((predictions[:, here] - rows.targets[:, here]) ** 2).mean(axis=0)
        losses[k % len(losses)] += (rows.weights[here] * squares).sum()
    losses /= rows.weights[folds < n_left_out].sum()
    best = int(np.argmin(np.where(np.isfinite(losses), losses, math.inf)))
    steps.step(f"loss {losses[best]:.6g}")
    return choice._replace(reg_lambda=lambdas[best], loss=float(losses[best]))


def descend(at: Callable[[Choice], Choice], start: Choice, step: float, least_fall: float = 0.0) -> Choice:
    """Multiply the scale by a step as often as this lowers the loss by a share of it; divide it, if it never does."""
    best = start
    for factor in (step, 1 / step):
        while 1 / LARGEST_SCALE <= best.scale * factor <= LARGEST_SCALE:
            trial = at(best._replace(scale=best.scale * factor))
            if not trial.loss < (1 - least_fall) * best.loss:
                break
            best = trial
        if best is not start:
            break
    return best


def normalised(relevances: Double, X: Double, weights: Double) -> Double:
    """Relevances with which the mean squared distance between two rows is 2."""
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
        total = float((relevances * variances).sum())
    return relevances / total if math.isfinite(total) and total > 0 else np.ones(len(relevances)) / len(relevances)


def gradient_relevances(rows: ChoiceRows, shape: str, choice: Choice) -> Double:
    """Relevances in proportion to mean squared derivatives of a regression, plus an equal share for all columns."""
    rows = rows_of_gradients(rows)
    equal, squares = normalised(np.ones(rows.X.shape[1]), rows.X, rows.weights), np.zeros(rows.X.shape[1])
    for gradient in gradients(rows, shape, choice):
        squares += (rows.weights[:, None] * gradient**2).sum(axis=0)
    if not np.isfinite(squares).all() or not squares.any():
        return equal
    return (1 - _EQUAL_SHARE) * normalised(squares, rows.X, rows.weights) + _EQUAL_SHARE * equal


def rows_of_gradients(rows: ChoiceRows) -> ChoiceRows:
    """As many of the rows as gradients are computed at."""
    each = len(rows.targets) * (rows.X.shape[1] + 1)
    return rows.first(max(1, min(len(rows.X), FEW_ROWS, _MOST_PRODUCTS // each)))


def gradients(rows: ChoiceRows, shape: str, choice: Choice) -> Iterator[Double]:
    """Gradients (n_rows, n_features) of a regression at the rows that it learns from, for one output after the other.

    None at all where its matrix is not positive definite.
    """
    n_features = rows.X.shape[1]
    kernels, system = DenseKernels(rows.X, rows.X, rows.n_threads), DenseSystem(len(rows.X), rows.n_threads)
    derivatives = np.empty_like(system.matrix) if shape == "exponential" else None
    kernels.fill(choice.inverse, shape, system.matrix, derivatives)
    if derivatives is None:  # of a Gaussian kernel -2 dk / d(r^2) is k itself
        derivatives = system.matrix.copy()
    with np.errstate(over="ignore"):  # of weights of 1e-300, whose system has no factors
        system.matrix.flat[:: len(rows.X) + 1] += choice.reg_lambda / rows.weights
    if not system.factorise():
        return
    for coefficients in system.solve(rows.targets.T).T:
        weighted = np.column_stack([coefficients, coefficients[:, None] * rows.X])
        products = system.multiply(derivatives, in_panels(weighted), n_features + 1)
        yield choice.inverse**2 * (products[:, 1:] - rows.X * products[:, :1])
