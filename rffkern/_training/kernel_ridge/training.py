"""Training of kernel ridge regression on checked rows."""

from typing import Any, NamedTuple

import numpy as np

from ..._estimator.base import Fitted
from ..._model.expansion import Expansion
from ..._model.parts import KernelTerms
from ..._model.regions import LARGEST_REGION, MOST_ROWS
from ..._model.table_layout import UNREACHED
from ..._native.array_types import NDArray
from ..._native.sparse import SHAPES
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import Scaling, measure_scaling
from ..._rows.training_rows import Training
from ..._rows.weights import RowWeights
from ...errors import InvalidInputError
from .calibration import calibrated
from .choice import MORE_ROWS, N_FOLDS, Choice, Lengths, RowsOfChoice, choose, choose_scale
from .matrix import KernelMatrix, pack_rows
from .regions import Division, Region, divided, undivided
from .shares import LARGEST_INVERSE
from .systems import EVERYONE, RidgeSystems, Solutions, System

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

_MEGABYTE = 1 << 20

# Bounds of lambda beside weights of mean 1: below, the rounding of kernels is larger; above, the model is constant.
_LEAST_LAMBDA, _LARGEST_LAMBDA = 1e-12, 1e200

# Bounds of the mean weight of rows in the calibration, whose prior counts as much as a row.
_LEAST_ROW, _LARGEST_ROW = 1e-6, 1e6

# Regions among which that of the largest variance of targets is the one to choose by.
_N_COMPARED = 3

# Values of columns are divided in single precision up to this, and larger ones in units in which they are; regions
# learn from so many times their size at most.
_LARGEST_VALUE, _MOST_SIZES = 1e18, 3


class Machine(NamedTuple):
    """Length scales, in units of the columns that learning takes place in, and lambda beside weights of mean 1."""

    length_scale: Double  # (n_features,)
    reg_lambda: float

    def units(self, scaling: Scaling) -> Scaling:
        """The scaling of rows to the units of length scales."""
        with np.errstate(over="ignore"):
            inverse = np.minimum(scaling.inverse_scale / self.length_scale, LARGEST_INVERSE)
        return scaling._replace(inverse_scale=inverse)

    def parameters(self, unit: float) -> Double:
        """Lambda beside the weights as they were given, in which 1 has so many units, and the length scales."""
        reg_lambda = min(max(self.reg_lambda * unit, np.finfo(np.float64).tiny), np.finfo(np.float64).max)
        return np.array([reg_lambda, *self.length_scale])


def given_length_scales(length_scale: Any, n_features: int) -> Double:
    """Those of the parameter, one for each column."""
    lengths = np.asarray(length_scale, dtype=np.float64)
    if lengths.ndim and lengths.shape != (n_features,):
        raise InvalidInputError(f"length_scale must be 'auto', a number or {n_features} numbers, one for each column, "
                                f"got shape {lengths.shape}")
    return np.broadcast_to(lengths, n_features).copy()


def _machine(model: Any, rows: Any, targets: Double, scaling: Scaling, some: Indices, are_labels: bool,
             relevances: Double | None = None) -> Machine:
    """What is given, and what has to be chosen by some rows; relevances, if they are known, leave a scale alone."""
    lengths = None
    if not isinstance(model.length_scale, str):
        lengths = Lengths(1 / given_length_scales(model.length_scale, rows.X.shape[1]) ** 2, 1.0)
    reg_lambda = None
    if not isinstance(model.reg_lambda, str):
        reg_lambda = min(max(float(model.reg_lambda) / rows.weights.unit, _LEAST_LAMBDA), _LARGEST_LAMBDA)
    if lengths is None or reg_lambda is None:
        some = some[rows.weights.each[some] > 0][:MORE_ROWS]
        few = RowsOfChoice(_scaled(rows.X, some, scaling), np.ascontiguousarray(targets[:, some]),
                           rows.weights.each[some], model.n_jobs)
        cache_bytes = model.cache_size * _MEGABYTE
        chosen: Choice
        if lengths is None and relevances is not None:
            chosen = choose_scale(few, model.kernel, relevances, cache_bytes, are_labels, reg_lambda)
        else:
            chosen = choose(few, model.kernel, lengths, reg_lambda, cache_bytes, are_labels)
        lengths, reg_lambda = chosen.lengths, chosen.reg_lambda
    with np.errstate(divide="ignore"):
        return Machine(np.minimum(1 / lengths.inverse, 1e150), reg_lambda)


def _scaled(X: Any, indices: Indices, scaling: Scaling) -> Double:
    return (take_rows(X, indices) - scaling.center) * scaling.inverse_scale


def _division(model: Any, rows: Any, scaling: Scaling, machine: Machine) -> tuple[Division, int]:
    """All rows, or those that count divided into regions; and how many a region learns from at most."""
    n_rows, counting = len(rows.weights.each), rows.weights.positive()
    size = model.region_size
    if size == "auto":
        size = LARGEST_REGION if len(counting) > MOST_ROWS else None
    if size is None or len(counting) <= size:
        return undivided(n_rows), n_rows
    X = _scaled(rows.X, counting, scaling).T
    units = np.maximum(np.abs(X).max(axis=1) / _LARGEST_VALUE, 1.0)
    with np.errstate(over="ignore"):
        relevances = (units / machine.length_scale) ** 2
    columns, thresholds, regions = divided((X / units[:, None]).astype(np.float32, order="C"), relevances, size)
    thresholds = np.where(thresholds < UNREACHED, thresholds * units[columns], UNREACHED)
    found = Division(columns, thresholds, [Region(counting[own], counting[learned]) for own, learned in regions])
    return found, max(MOST_ROWS, _MOST_SIZES * size)


class _Learned(NamedTuple):
    """Regressions of regions, one after the other."""

    centers: Indices  # (n_centers,) rows
    starts: Indices  # (n_regions + 1,)
    coefficients: Double  # (n_outputs, n_centers)
    own: Indices  # rows, each in one region
    out_of_fold: Double  # (n_outputs, n_own) what is predicted of them without their folds
    n_iter: int
    residual: float


class _Learning:
    """The systems of a machine, of all rows or of a region."""

    def __init__(self, model: Any, rows: Any, targets: Double, order: Indices, n_folds: int, most_rows: int) -> None:
        self._model, self._rows, self._targets, self._order = model, rows, targets, order
        self._most_rows = most_rows
        self._folds = np.empty(len(order), dtype=np.intp)
        self._folds[order] = np.arange(len(order)) * n_folds // len(order)
        self._n_folds = n_folds if n_folds > 1 else 0

    def _solve(self, region: Region, units: Scaling, reg_lambda: float) -> tuple[Indices, Solutions]:
        """The rows that a region learns from, and its systems, solved: those that leave out folds, and the last."""
        model, n_rows = self._model, len(self._order)
        shown = region.shown(self._order, self._most_rows)  # some, of rows that no threshold divides
        indices, is_all = np.sort(shown), len(shown) == n_rows
        X, weights = (self._rows.X, self._rows.weights) if is_all else (
            take_rows(self._rows.X, indices), RowWeights(len(indices)))
        packed = pack_rows(X, units, model.kernel, weights, model.precision, model.n_jobs)
        matrix = KernelMatrix(packed, model.cache_size * _MEGABYTE, model.n_jobs)
        landmarks = np.searchsorted(indices, np.sort(shown[: model.n_landmarks]))
        systems = RidgeSystems(matrix, self._folds[indices], self._rows.weights.each[indices], landmarks,
                               model.n_jobs)
        asked = [System(fold, reg_lambda) for fold in range(self._n_folds)]
        targets = np.ascontiguousarray(self._targets[:, indices])
        return indices, systems.solve([*asked, System(EVERYONE, reg_lambda)], targets, model.tol, model.max_iter)

    def learned(self, division: Division, units: Scaling, reg_lambda: float) -> _Learned:
        """The regressions of all regions."""
        sizes, parts = [0], []
        for region in division.regions:
            sizes.append(0)
            if len(region.learned):
                indices, solutions = self._solve(region, units, reg_lambda)
                is_own = np.isin(indices, region.own)
                predicted = solutions.out_of_fold(self._folds[indices])[:, is_own]
                sizes[-1] = len(indices)
                parts.append(_Learned(indices, indices, solutions.coefficients[-1], indices[is_own], predicted,
                                      solutions.n_iter, solutions.residual))
        return _Learned(
            np.concatenate([part.centers for part in parts]), np.cumsum(sizes),
            np.concatenate([part.coefficients for part in parts], axis=1), np.concatenate([part.own for part in parts]),
            np.concatenate([part.out_of_fold for part in parts], axis=1), max(part.n_iter for part in parts),
            max(part.residual for part in parts))


def train(model: Any, training: Training, rng: "np.random.Generator") -> Fitted:
    """Train a machine on checked rows."""
    rows = training.rows
    standardize = model.standardize and training.column_map is None  # mapped columns have their units
    scaling = measure_scaling(rows.X, rows.weights, standardize, model.n_jobs)
    rows = rows._replace(X=scaling.held_back(rows.X))
    targets = np.stack(rows.targets()).astype(np.float64)
    intercepts = np.array([float(rows.weights.mean(target)) for target in targets])
    targets -= intercepts[:, None]
    order = rng.permutation(rows.X.shape[0])
    is_class = training.classes is not None
    machine = _machine(model, rows, targets, scaling, order, is_class)
    division, most_rows = _division(model, rows, scaling, machine)
    learning = _Learning(model, rows, targets, order, min(N_FOLDS, len(order)) if is_class else 1, most_rows)
    if len(division.regions) > 1:
        region = division.most_varied(targets, division.some(_N_COMPARED))
        machine = _machine(model, rows, targets, scaling, region.shown(order, len(order)), is_class,
                           machine.length_scale**-2.0)
    units = machine.units(scaling)
    found = learning.learned(division, units, machine.reg_lambda)
    factors, shifts = training.scale, training.center + training.scale * intercepts
    if is_class:
        row = min(max(rows.weights.unit, _LEAST_ROW), _LARGEST_ROW)
        calibration = calibrated(found.out_of_fold + intercepts[:, None], rows.codes[found.own],
                                 row * rows.weights.each[found.own])
        factors, shifts = np.full(len(targets), calibration.slope), calibration.shifts + calibration.slope * intercepts
    return Fitted(training.names, training.classes, _expansion(model, rows, scaling, units, division, found, factors,
                                                               shifts),
                  {"kernel_parameters_": machine.parameters(rows.weights.unit), "n_iter_": found.n_iter,
                   "residual_": found.residual}, column_map=training.column_map)


def _expansion(model: Any, rows: Any, scaling: Scaling, units: Scaling, division: Division, found: _Learned,
               factors: Double, shifts: Double) -> Expansion:
    """The trained function of raw rows."""
    is_used = found.coefficients.any(axis=0)
    starts = np.concatenate([[0], np.cumsum(is_used)])[found.starts]
    width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)[division.columns]
    with np.errstate(over="ignore"):
        thresholds = np.clip(division.thresholds / width + scaling.center[division.columns], -UNREACHED, UNREACHED)
    weights = (factors[:, None] * found.coefficients[:, is_used]).T
    terms = KernelTerms(take_rows(rows.X, found.centers[is_used]), weights, units.inverse_scale,
                        [float(SHAPES[model.kernel])], division.columns, thresholds, starts)
    return Expansion(shifts, np.zeros(len(units.inverse_scale)), terms)
