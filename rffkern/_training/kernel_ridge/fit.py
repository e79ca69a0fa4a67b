"""Kernel ridge regression, from checked rows to a fitted model: kernel, regions, systems, calibration."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._estimator.base import Fitted
from ..._estimator.conformal import record_of_labels, record_of_targets
from ..._estimator.links import SoftmaxLink, probabilities
from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._model.tree_layout import UNREACHED
from ..._native.array_types import Double, Indices
from ..._native.sparse import SHAPES
from ..._protocol.warning import warn
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import Scaling
from ..._rows.training_rows import Training
from ..._rows.weights import RowWeights
from .calibration import calibrated
from .dense_regression import DenseRegression
from .kernel_matrix import KernelMatrix
from .length_scales import FEW_ROWS, MORE_ROWS, N_FOLDS, Choice, ChoiceRows, choose
from .parameters import LARGEST_INVERSE, given_length_scales
from .regions import LARGEST_REGION, MOST_ROWS, Division, Region, divide, undivided
from .ridge_systems import ALL_ROWS, solve_systems, systems_of_folds

_MEGABYTE = 1 << 20

# Bounds of lambda beside weights of mean 1: below, the rounding of kernels is larger; above, the model is constant.
_LEAST_LAMBDA, _LARGEST_LAMBDA = 1e-12, 1e200

# Largest length scale.
_LARGEST_LENGTH = 1e150

# Regions among which that of the largest variance of targets is the one that length scales and lambda are chosen on.
_N_COMPARED = 3

# Rows up to which one inverse serves the systems of all folds and outputs; and systems from which on it does where rows
# are at most so many for each system, and no more than the last number.
_FEW_DENSE = 1000
_MANY_SYSTEMS, _ROWS_PER_SYSTEM, _MOST_DENSE = 60, 8, 4000

# Values of columns are divided in single precision up to this, and larger ones in units in which they are; regions
# learn from so many times their size at most.
_LARGEST_VALUE, _MOST_SIZES = 1e18, 3


def solve_here(learners: "Iterator[RegionLearner]") -> "Iterator[Regressions]":
    """The regressions of learners that have the rows of a region each."""
    return (learner.solve() for learner in learners)


def fit(model: Any, training: Training, rng: "np.random.Generator", solve: "Solve" = solve_here) -> Fitted:
    """Train a model on checked rows."""
    rows = training.rows
    _, scaling = training.scaling(model)
    rows = rows._replace(X=scaling.clip_outliers(rows.X))
    targets = np.stack(rows.targets()).astype(np.float64)
    intercepts = np.array([float(rows.weights.mean(target)) for target in targets])
    targets -= intercepts[:, None]
    shuffled = rng.permutation(rows.X.shape[0])
    is_class = training.classes is not None

    length_scale, reg_lambda = _choose_kernel(model, rows, targets, scaling, shuffled, is_class)
    division, most_rows = _divide(model, rows, scaling, length_scale)
    if len(division.regions) > 1:
        region = division.most_varied(targets, division.some(_N_COMPARED))
        length_scale, reg_lambda = _choose_kernel(model, rows, targets, scaling,
                                                  region.shuffled_rows(shuffled, len(shuffled)), is_class,
                                                  length_scale**-2.0)

    with np.errstate(over="ignore"):
        inverse = np.minimum(scaling.inverse_scale / length_scale, LARGEST_INVERSE)
    units = scaling._replace(inverse_scale=inverse)
    folds = np.full(len(shuffled), ALL_ROWS)
    if is_class:
        folds[shuffled] = np.arange(len(shuffled)) * min(N_FOLDS, len(shuffled)) // len(shuffled)
    solver = Solver(model.precision, model.cache_size * _MEGABYTE, model.n_landmarks, model.tol, model.max_iter,
                    model.n_jobs)
    learner = RegionLearner(rows.X, rows.weights, targets, folds, shuffled, most_rows, units, model.kernel, reg_lambda,
                            solver)
    parts = (learner.part(region) for region in division.regions if len(region.learned))
    learned = iter(solve(parts))
    regressions = join_regions([learner.in_all_rows(next(learned), region) if len(region.learned) else None
                                for region in division.regions])
    if not regressions.residual <= model.tol:
        remedy = "a larger reg_lambda" if regressions.n_iter < model.max_iter else "a larger max_iter or reg_lambda"
        warn(f"the kernel ridge regression is not solved: its systems A x = b have left |b - A x| = "
             f"{regressions.residual:.2g} |b|, above tol = {model.tol:g}; take {remedy}", RuntimeWarning)

    factors, shifts = training.scale, training.center + training.scale * intercepts
    record: dict[str, Any] | None
    if is_class:
        predictions, own = regressions.out_of_fold + intercepts[:, None], regressions.own
        slope, class_shifts = calibrated(predictions, rows.codes[own], rows.weights.each[own])
        factors, shifts = np.full(len(targets), slope), class_shifts + slope * intercepts
        record = _record_of_labels(slope * predictions + class_shifts[:, None], rows.codes[own], rows.weights.of(own))
    else:
        record = _record_of_targets(rows, targets, units, model, reg_lambda, shifts, factors)
    kernels = kernel_terms(regressions, division, scaling, units.inverse_scale, model.kernel,
                           lambda centers: take_rows(rows.X, centers), factors)
    expansion = Expansion(shifts, np.zeros(len(units.inverse_scale)), kernels)
    # `reg_lambda_` is in units of the weights that `fit` was called with; training had weights of mean 1.
    unit_lambda = min(max(reg_lambda * rows.weights.unit, np.finfo(np.float64).tiny), np.finfo(np.float64).max)
    return Fitted(training.names, training.classes, expansion,
                  {"kernel_parameters_": np.array([unit_lambda, *length_scale]), "n_iter_": regressions.n_iter,
                   "residual_": regressions.residual, "_out_of_fold": record},
                  column_map=training.column_map, reference=training.reference)


def _record_of_labels(scores: Double, codes: Indices, weights: RowWeights) -> dict[str, Any]:
    """What the model keeps of out-of-fold probabilities, for label sets and figures."""
    counted = weights.positive()
    proba = probabilities(SoftmaxLink(), scores.T[counted])
    own = proba[np.arange(len(counted)), codes[counted]]
    return record_of_labels(own, weights.of(counted).values, f"{N_FOLDS} folds")


def _record_of_targets(rows: Any, targets: Double, units: Scaling, model: Any, reg_lambda: float, shifts: Double,
                       factors: Double) -> dict[str, Any] | None:
    """What the model keeps of leave-one-out residuals, for intervals and figures; None where rows are too many.

    They take the inverse of the matrix of kernels.
    """
    counted = rows.weights.positive()
    if not 1 < len(counted) <= FEW_ROWS:
        return None
    few = ChoiceRows(units.take(rows.X, counted), np.ascontiguousarray(targets[:, counted]),
                     rows.weights.each[counted], model.n_jobs)
    regression = DenseRegression(few, model.kernel)
    if not regression.fit(Choice(np.ones(few.X.shape[1]), 1.0, reg_lambda)):
        return None
    residuals = regression.residuals()
    predictions = shifts[:, None] + factors[:, None] * (few.targets - residuals)
    weights = rows.weights.of(counted).values
    record = record_of_targets(predictions, factors[:, None] * residuals, weights, True, "leave-one-out")
    if weights is None:  # otherwise the noise of each row would have to be kept for `standard_deviations`
        with np.errstate(over="ignore"):
            variance = factors**2 * regression.signal_variance()
        if np.isfinite(variance).all():  # no file holds others
            record["signal_variance"] = variance.tolist()
    return record


def _choose_kernel(model: Any, rows: Any, targets: Double, scaling: Scaling, some: Indices, are_labels: bool,
                   relevances: Double | None = None) -> tuple[Double, float]:
    """Length scales, in units of the scaling, and lambda for weights of mean 1: those given, or chosen on some rows.

    With `relevances` only their common scale is chosen.
    """
    scale = reg_lambda = None
    if not isinstance(model.length_scale, str):
        relevances, scale = 1 / given_length_scales(model.length_scale, rows.X.shape[1]) ** 2, 1.0
    if not isinstance(model.reg_lambda, str):
        reg_lambda = min(max(float(model.reg_lambda) / rows.weights.unit, _LEAST_LAMBDA), _LARGEST_LAMBDA)
    if relevances is not None and scale is not None and reg_lambda is not None:
        choice = Choice(relevances, scale, reg_lambda)
    else:
        some = some[rows.weights.each[some] > 0][:MORE_ROWS]
        few = ChoiceRows(scaling.take(rows.X, some), np.ascontiguousarray(targets[:, some]),
                         rows.weights.each[some], model.n_jobs, are_labels)
        choice = choose(few, model.kernel, reg_lambda, model.cache_size * _MEGABYTE, relevances, scale)
    with np.errstate(divide="ignore"):
        return np.minimum(1 / choice.inverse, _LARGEST_LENGTH), choice.reg_lambda


def _divide(model: Any, rows: Any, scaling: Scaling, length_scale: Double) -> tuple[Division, int]:
    """The regions of the rows, one of all rows where they are few, and the most rows that a region learns from."""
    n_rows, weighted = len(rows.weights.each), rows.weights.positive()
    size = model.region_size
    if size == "auto":
        size = LARGEST_REGION if len(weighted) > MOST_ROWS else None
    if size is None or len(weighted) <= size:
        return undivided(n_rows), n_rows
    X = scaling.take(rows.X, weighted).T
    units = np.maximum(np.abs(X).max(axis=1) / _LARGEST_VALUE, 1.0)
    with np.errstate(over="ignore"):
        relevances = (units / length_scale) ** 2
    columns, thresholds, regions = divide((X / units[:, None]).astype(np.float32, order="C"), relevances, size)
    thresholds = np.where(thresholds < UNREACHED, thresholds * units[columns], UNREACHED)
    regions = [Region(weighted[own], weighted[learned]) for own, learned in regions]
    return Division(columns, thresholds, regions), max(MOST_ROWS, _MOST_SIZES * size)


class Regressions(NamedTuple):
    """Regressions of one or several regions, one after the other."""

    centers: Indices  # (n_centers,) rows
    starts: Indices  # (n_regions + 1,) of the centers of each
    coefficients: Double  # (n_outputs, n_centers)
    own: Indices  # rows, each in one region
    out_of_fold: Double  # (n_outputs, n_own) predictions of these without their folds
    n_iter: int
    residual: float


class Solver(NamedTuple):
    """How the systems of a regression are solved."""

    precision: str
    cache_bytes: int
    n_landmarks: int
    tol: float
    max_iter: int
    n_jobs: int | None


class RegionLearner(NamedTuple):
    """Kernel ridge regressions of regions, with common length scales and lambda."""

    X: Any  # array of shape (n_samples, n_features) or RowBlocks
    weights: RowWeights
    targets: Double  # (n_outputs, n_samples)
    folds: Indices  # (n_samples,) that predictions leave out, 0, 1, ..; -1 of rows that are in none
    shuffled: Indices  # rows in random order
    most_rows: int  # that a region learns from, where no threshold divides them
    units: Scaling  # to the units of length scales
    kernel: str  # "exponential" or "gaussian"
    reg_lambda: float
    solver: Solver
    work: str = "kernel ridge"  # what listeners are told of

    def part(self, region: Region, work: str = "kernel ridge") -> "RegionLearner":
        """A learner of the rows of a region alone, which may be sent elsewhere."""
        shuffled = region.shuffled_rows(self.shuffled, self.most_rows)
        rows = np.sort(shuffled)
        X = self.X
        if len(rows) < len(self.shuffled):
            X = X[rows] if isinstance(X, np.ndarray) else take_rows(X, rows)
        return self._replace(X=X, weights=self.weights.of(rows),
                             targets=np.ascontiguousarray(self.targets[:, rows]), folds=self.folds[rows],
                             shuffled=np.searchsorted(rows, shuffled), work=work)

    def in_all_rows(self, regression: Regressions, region: Region) -> Regressions:
        """What the part of a region has solved, in indices of all rows, with predictions of the region's own rows."""
        rows = np.sort(region.shuffled_rows(self.shuffled, self.most_rows))
        is_own = np.isin(rows, region.own)
        return regression._replace(centers=rows, own=rows[is_own], out_of_fold=regression.out_of_fold[:, is_own])

    def solve(self) -> Regressions:
        """The regression of all rows."""
        rows = np.arange(len(self.shuffled))
        dense = self._solve_dense()
        if dense is not None:
            return Regressions(rows, np.array([0, len(rows)]), dense[0], rows, dense[1], 1, 0.0)
        solver = self.solver
        matrix = KernelMatrix(self.X, self.units, self.kernel, self.weights, solver.precision, solver.cache_bytes,
                              solver.n_jobs)
        systems = systems_of_folds(self.folds, self.reg_lambda)
        solutions = solve_systems(matrix, systems, self.targets, self.weights.each, self.folds,
                                  np.sort(self.shuffled[: solver.n_landmarks]), solver.tol, solver.max_iter, self.work)
        return Regressions(rows, np.array([0, len(rows)]), solutions.coefficients[-1], rows,
                           solutions.out_of_fold(self.folds), solutions.n_iter, solutions.residual)

    def _solve_dense(self) -> tuple[Double, Double] | None:
        """Coefficients and out-of-fold predictions by one inverse, which all folds and outputs share.

        None where conjugate gradients are cheaper, or the matrix is not positive definite.
        """
        n_rows = len(self.shuffled)
        n_systems = len(systems_of_folds(self.folds, self.reg_lambda)) * len(self.targets)
        is_cheaper = n_rows <= _FEW_DENSE or (
            n_systems >= _MANY_SYSTEMS and n_rows <= min(_ROWS_PER_SYSTEM * n_systems, _MOST_DENSE))
        if not is_cheaper or self.solver.precision != "single" or self.weights.has_zeros:
            return None
        X = self.units.take(self.X, np.arange(n_rows))
        few = ChoiceRows(X, self.targets, self.weights.each, self.solver.n_jobs)
        regression = DenseRegression(few, self.kernel)
        if not regression.fit(Choice(np.ones(few.X.shape[1]), 1.0, self.reg_lambda)):
            return None
        residuals = np.where(self.folds >= 0, regression.residuals_without(self.folds),
                             self.reg_lambda / few.weights * regression.coefficients)
        return regression.coefficients, few.targets - residuals


# Gives the regressions of learners, in order.
Solve = Callable[[Iterator[RegionLearner]], Iterable[Regressions]]


def join_regions(regions: Sequence[Regressions | None]) -> Regressions:
    """The regressions of several regions, one after the other; None for a region that has none."""
    learned = [each for each in regions if each is not None]
    sizes = [0 if each is None else len(each.centers) for each in regions]
    return Regressions(
        np.concatenate([each.centers for each in learned]), np.cumsum([0, *sizes]),
        np.concatenate([each.coefficients for each in learned], axis=1), np.concatenate([each.own for each in learned]),
        np.concatenate([each.out_of_fold for each in learned], axis=1), max(each.n_iter for each in learned),
        max(each.residual for each in learned))


def kernel_terms(regressions: Regressions, division: Division, scaling: Scaling, inverse_length_scales: Double,
                 kernel: str, raw_rows: Callable[[Indices], Double], factors: Double) -> KernelTerms:
    """The sum of kernels times factors, of raw rows; `raw_rows` reads centers, thresholds are in scaled units."""
    is_used = regressions.coefficients.any(axis=0)
    starts = np.concatenate([[0], np.cumsum(is_used)])[regressions.starts]
    thresholds = scaling.raw(division.thresholds, division.columns).clip(-UNREACHED, UNREACHED)
    return KernelTerms(raw_rows(regressions.centers[is_used]),
                       (factors[:, None] * regressions.coefficients[:, is_used]).T, inverse_length_scales,
                       [float(SHAPES[kernel])], division.columns, thresholds, starts)
