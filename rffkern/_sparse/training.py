"""Training of a sparse kernel machine on checked rows."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.arguments import check_rng
from .._data.scaling import measure_scaling
from .._data.tiles import in_precision
from .._data.training_rows import Training
from .._estimator.base import Fitted
from .._estimator.monitor import Monitor
from ..kernel_expansion import KernelExpansion
from .ensemble import GroupMaker, RowsWithTargets, finish, grow_all, make_ensembles, with_logistic_loss
from .kernel import given_kernel
from .kernel_choice import KernelParameters, learn_kernel
from .likelihood import LengthScales
from .packed_rows import KernelRows, needs_double, pack_rows
from .stages import StagedMachine, make_stages

Double = NDArray[np.float64]

CURVES = ("train_loss_", "eval_loss_", "kernel_parameters_")


class Parameters(KernelParameters, Protocol):
    """Parameters of an estimator, beside those that rows are checked by."""

    standardize: bool
    early_stopping_rounds: int | None
    precision: str
    random_state: Any
    verbose: int


class Method(NamedTuple):
    """What differs between regression and classification."""

    length_scales: tuple[LengthScales, ...]  # candidates; the first serves `kernel="likelihood"`
    is_logistic: bool  # whether coefficients minimise the logistic loss in the end
    later_groups: Callable[[Double], Callable[[slice], GroupMaker]]  # `learn_from_all_rows` or `..._active_rows`


def train(parameters: Parameters, training: Training, callback: Callable[..., Any] | None, method: Method) -> Fitted:
    """Train a machine on checked rows.

    Parameters
    ----------
    parameters : Parameters
    training : Training
    callback : callable or None
    method : Method
    """
    rng = check_rng(parameters.random_state)
    monitor = Monitor(parameters.n_estimators, parameters.early_stopping_rounds, callback, parameters.verbose)
    data, evaluation, n_threads = training.rows, training.evaluation, parameters.n_threads
    training = training._replace(rows=None)  # which go with `data`
    standardize = parameters.standardize and training.column_map is None  # mapped columns have their units
    scaling = measure_scaling(data.X, data.weights, standardize, n_threads)
    targets = np.column_stack(data.targets()).astype(np.float64)
    intercepts = np.array(list(map(data.weights.mean, targets.T)))
    residuals, later_groups = targets - intercepts, method.later_groups(targets)
    signs = targets if method.is_logistic else np.empty(0)
    del targets
    machine = learn_kernel(parameters, data, residuals, scaling, method.length_scales, rng)
    X, weights = data.X, data.weights
    del data  # with the labels or targets
    in_lengths, inverse_lengths = machine.kernel.scaling(scaling), machine.kernel.inverse_lengths(scaling)
    normalised = machine.normalised_beside_mean_one(weights)
    packed = partial(pack_rows, X, in_lengths, weights, n_threads, machine.kernel.number)
    rows = in_precision(packed, parameters.precision, needs_double)
    held_out = None
    if evaluation is not None:
        eval_rows = KernelRows(evaluation.X, in_lengths, evaluation.weights, rows.dtype, n_threads,
                               machine.kernel.number)
        held_out = RowsWithTargets(eval_rows, np.column_stack(evaluation.targets()) - intercepts)
    ensembles = make_ensembles(parameters, RowsWithTargets(rows, residuals), held_out, normalised,
                               later_groups, rng)
    del residuals
    counts = grow_all(ensembles, monitor)[: monitor.best_round]
    paths, n_skipped = finish(ensembles, counts[-1] if counts else [0] * len(ensembles))
    intercept = training.center + training.scale * intercepts
    if method.is_logistic:
        paths, last_intercept = with_logistic_loss(ensembles, paths, signs, intercepts)
        stages = make_stages(paths, counts, 2 * intercept, 2 * last_intercept, 2 * training.scale, normalised.kernel)
    else:
        stages = make_stages(paths, counts, intercept, intercept, training.scale, normalised.kernel)
    expansion = stages.expansion(X, inverse_lengths)
    return Fitted(training.names, training.classes, expansion, {
        "n_estimators_": len(counts),
        "n_skipped_": n_skipped,
        "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
        "kernel_parameters_": np.array([machine.reg_lambda, machine.kernel.amplitude, machine.kernel.bias,
                                        *machine.kernel.lengthscales]),
    }, StagedMachine(stages, expansion), training.column_map)


def restored(model: Any, expansion: KernelExpansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train_loss, eval_loss, kernel_parameters = (arrays[name] for name in CURVES)
    if train_loss.ndim != 1 or train_loss.size == 0 or eval_loss.ndim != 1 or (
            eval_loss.size not in (0, train_loss.size)):
        raise ValueError("loss curves do not agree in number")
    n_rounds = int(eval_loss.argmin()) if eval_loss.size else train_loss.size - 1
    if expansion.n_terms > n_rounds * model.learner_size * expansion.n_outputs or n_rounds > model.n_estimators:
        raise ValueError("centers, rounds and learner_size do not agree")
    if kernel_parameters.shape != (3 + expansion.n_features,) or not (kernel_parameters[[0, 1]] > 0).all() or (
            kernel_parameters[2] < 0 or not (kernel_parameters[3:] > 0).all()):
        raise ValueError("kernel parameters are malformed")
    if isinstance(model.kernel, dict):
        given_kernel(model.kernel, expansion.n_features)
    return {"n_estimators_": n_rounds}
