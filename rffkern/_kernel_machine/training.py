"""Training of a kernel machine on checked rows."""

from typing import Any, NamedTuple

import numpy as np

from .._data.row_blocks import take_rows
from .._data.scaling import Scaling, measure_scaling
from .._data.training_rows import Training
from .._estimator.base import Fitted
from .._kernel_ridge.calibration import calibrated
from .._kernel_ridge.choice import MORE_ROWS, N_FOLDS, Choice, Lengths, RowsOfChoice, choose
from .._kernel_ridge.matrix import KernelMatrix, pack_rows
from .._kernel_ridge.shares import LARGEST_INVERSE
from .._kernel_ridge.systems import EVERYONE, RidgeSystems, Solutions, System
from .._kernels.array_types import NDArray
from .._kernels.sparse import SHAPES
from ..errors import InvalidInputError
from ..kernel_expansion import KernelExpansion

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

_MEGABYTE = 1 << 20

# Bounds of lambda beside weights of mean 1: below, the rounding of kernels is larger; above, the model is constant.
_LEAST_LAMBDA, _LARGEST_LAMBDA = 1e-12, 1e200

# Bounds of the mean weight of rows in the calibration, whose prior counts as much as a row.
_LEAST_ROW, _LARGEST_ROW = 1e-6, 1e6


class Machine(NamedTuple):
    """Length scales, in units of the columns that learning takes place in, and lambda beside weights of mean 1."""

    lengthscales: Double  # (n_features,)
    reg_lambda: float

    def units(self, scaling: Scaling) -> Scaling:
        """The scaling of rows to the units of length scales."""
        with np.errstate(over="ignore"):
            inverse = np.minimum(scaling.inverse_scale / self.lengthscales, LARGEST_INVERSE)
        return scaling._replace(inverse_scale=inverse)

    def parameters(self, unit: float) -> Double:
        """Lambda beside the weights as they were given, in which 1 has so many units, and the length scales."""
        reg_lambda = min(max(self.reg_lambda * unit, np.finfo(np.float64).tiny), np.finfo(np.float64).max)
        return np.array([reg_lambda, *self.lengthscales])


def given_lengthscales(lengthscales: Any, n_features: int) -> Double:
    """Those of the parameter, one for each column."""
    lengths = np.asarray(lengthscales, dtype=np.float64)
    if lengths.ndim and lengths.shape != (n_features,):
        raise InvalidInputError(f"lengthscales must be 'auto', a number or {n_features} numbers, one for each column, "
                                f"got shape {lengths.shape}")
    return np.broadcast_to(lengths, n_features).copy()


def _machine(model: Any, rows: Any, targets: Double, scaling: Scaling, order: Indices,
             are_labels: bool) -> Machine:
    """What is given, and what has to be chosen."""
    lengths = None
    if not isinstance(model.lengthscales, str):
        lengths = Lengths(1 / given_lengthscales(model.lengthscales, rows.X.shape[1]) ** 2, 1.0)
    reg_lambda = None
    if not isinstance(model.reg_lambda, str):
        reg_lambda = min(max(float(model.reg_lambda) / rows.weights.unit, _LEAST_LAMBDA), _LARGEST_LAMBDA)
    if lengths is None or reg_lambda is None:
        some = order[rows.weights.each[order] > 0][:MORE_ROWS]
        X = (take_rows(rows.X, some) - scaling.center) * scaling.inverse_scale
        few = RowsOfChoice(X, np.ascontiguousarray(targets[:, some]), rows.weights.each[some], model.n_threads)
        chosen: Choice = choose(few, model.kernel, lengths, reg_lambda, model.cache_size * _MEGABYTE, are_labels)
        lengths, reg_lambda = chosen.lengths, chosen.reg_lambda
    with np.errstate(divide="ignore"):
        return Machine(np.minimum(1 / lengths.inverse, 1e150), reg_lambda)


class _Learned(NamedTuple):
    """The systems of a machine, solved, and the fold that each row is in."""

    solutions: Solutions  # of the last system the model's, and of the others those that leave out a fold each
    folds: Indices


def _learned(model: Any, rows: Any, targets: Double, units: Scaling, reg_lambda: float, order: Indices,
             n_folds: int) -> _Learned:
    """Solve the systems of all rows and of all but each fold."""
    packed = pack_rows(rows.X, units, model.kernel, rows.weights, model.precision, model.n_threads)
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = np.arange(len(order)) * n_folds // len(order)
    matrix = KernelMatrix(packed, model.cache_size * _MEGABYTE, model.n_threads)
    systems = RidgeSystems(matrix, folds, rows.weights.each, np.sort(order[: model.n_landmarks]), model.n_threads)
    asked = [System(fold, reg_lambda) for fold in range(n_folds if n_folds > 1 else 0)]
    return _Learned(systems.solve([*asked, System(EVERYONE, reg_lambda)], targets, model.tol, model.max_iter), folds)


def train(model: Any, training: Training, rng: "np.random.Generator") -> Fitted:
    """Train a machine on checked rows."""
    rows = training.rows
    standardize = model.standardize and training.column_map is None  # mapped columns have their units
    scaling = measure_scaling(rows.X, rows.weights, standardize, model.n_threads)
    targets = np.stack(rows.targets()).astype(np.float64)
    intercepts = np.array([float(rows.weights.mean(target)) for target in targets])
    targets -= intercepts[:, None]
    order = rng.permutation(rows.X.shape[0])
    is_class = training.classes is not None
    machine = _machine(model, rows, targets, scaling, order, is_class)
    units = machine.units(scaling)
    solutions, folds = _learned(model, rows, targets, units, machine.reg_lambda, order,
                                min(N_FOLDS, len(order)) if is_class else 1)
    coefficients = solutions.coefficients[-1]
    factors, shifts = training.scale, training.center + training.scale * intercepts
    if is_class:
        row = min(max(rows.weights.unit, _LEAST_ROW), _LARGEST_ROW)
        found = calibrated(solutions.out_of_fold(folds) + intercepts[:, None], rows.codes, row * rows.weights.each)
        factors, shifts = np.full(len(targets), found.slope), found.shifts + found.slope * intercepts
    used = np.flatnonzero(coefficients.any(axis=0))
    expansion = KernelExpansion(take_rows(rows.X, used), (factors[:, None] * coefficients[:, used]).T, shifts,
                                units.inverse_scale, [float(SHAPES[model.kernel])])
    return Fitted(training.names, training.classes, expansion, {
        "kernel_parameters_": machine.parameters(rows.weights.unit),
        "n_iter_": solutions.n_iter, "residual_": solutions.residual,
    }, column_map=training.column_map)
