"""The choice of shape, length scales and lambda: by marginal likelihood on some rows, then by the error on others.

The likelihood is maximised on up to a thousand rows, as in the paper, which resolve only coarse structure.  Lambda and
length scales are then shortened as long as ridge regressions on more rows predict rows that it has not seen better.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._estimator.monitor import Steps, printing
from ..._native.array_types import Double
from ..._native.sparse import SHAPES
from ..._protocol.arguments import Check, check_scalar
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import Scaling
from ..._rows.training_rows import TargetRows
from ...errors import InvalidInputError
from ..kernel_ridge.kernel import Kernel
from ..kernel_ridge.likelihood import MOST_ROWS as MOST_LIKELIHOOD_ROWS
from ..kernel_ridge.likelihood import KernelSearch
from ..kernel_ridge.parameters import given_length_scales
from .basis_selection import row_draws
from .ensemble import make_ensemble
from .leave_one_out import MOST_ROWS, LeaveOneOut

Loss = Callable[[Kernel], float]

# Factors of lambda and of all length scales, tried in turn while they lower the loss by more than a share of it.
_FACTORS_OF_LAMBDA = 1.0, 0.3, 0.1, 0.03
_FACTORS_OF_LENGTHS = 1.0, 0.7, 0.5, 0.35, 0.25
_LEAST_GAIN = 0.005

# Rows of less weight, beside a mean of 1, are left out of the choice where so many have more: a likelihood counts rows.
_LEAST_WEIGHT, _FEWEST_HEAVY = 1e-3, 10

# From so many rows on, ensembles decide on lengths: their rounds, the rows that they learn from at most, and the ratio
# of these to their held-out rows.
_MANY_ROWS, _TRIAL_ROUNDS, _MOST_TRIAL_ROWS, _ROWS_PER_HELD_OUT = 8000, 200, 8192, 4


def _check_kernel(name: str, value: Any) -> None:
    """A word or a dict; `given_kernel` checks the number of length scales against the columns."""
    if isinstance(value, str) and value in ("auto", "likelihood"):
        return
    if not isinstance(value, dict) or not value.keys() <= {"length_scale", "amplitude", "bias", "shape"} or (
            "length_scale" not in value):
        raise InvalidInputError(f"{name} must be 'auto', 'likelihood' or a dict with length_scale and optionally "
                                f"amplitude, bias and shape, got {value!r}")
    length_scale = np.asarray(value["length_scale"], dtype=object)
    if length_scale.ndim > 1 or not length_scale.size:
        raise InvalidInputError(f"{name} length_scale must be a number, or one for each column, got shape "
                                f"{length_scale.shape}")
    for length in length_scale.ravel():
        check_scalar(f"{name} length_scale", length, float, low=1e-100, high=1e100)
    check_scalar(f"{name} amplitude", value.get("amplitude", 1.0), float, low=1e-100, high=1e100)
    check_scalar(f"{name} bias", value.get("bias", 0.0), float, low=0, high=1e100)
    if value.get("shape", "gaussian") not in tuple(SHAPES):
        raise InvalidInputError(f"{name} shape must be 'gaussian' or 'exponential', got {value['shape']!r}")


KERNEL_PARAMETER = Check('"auto", "likelihood" or dict', _check_kernel)


def given_kernel(kernel: Mapping[str, Any], n_features: int) -> Kernel:
    """The kernel of a dict."""
    return Kernel(given_length_scales(kernel["length_scale"], n_features, "kernel length_scale must be"),
                  float(kernel.get("amplitude", 1.0)), float(kernel.get("bias", 0.0)),
                  str(kernel.get("shape", "gaussian")))


def choose_kernel(model: Any, data: Any, targets: Double, scaling: Scaling,
                  rng: "np.random.Generator") -> Kernel:
    """Kernel and lambda; what is not given is learned, of targets (n_samples, n_outputs) less the intercepts."""
    kernel = None if isinstance(model.kernel, str) else given_kernel(model.kernel, data.X.shape[1])
    given = None if isinstance(model.reg_lambda, str) else float(model.reg_lambda)
    if kernel is not None and given is not None:
        return kernel._replace(reg_lambda=given)
    compares = kernel is None and model.kernel == "auto"
    # Kernels are compared for weights of mean 1, beside which the noise of rows is lambda.
    mean = data.weights.given_total / data.weights.n_positive
    reg_lambda = None if given is None else _bounded(given / mean)

    def in_given_units(kernel: Kernel) -> Kernel:
        return kernel._replace(reg_lambda=_bounded(kernel.reg_lambda * mean) if given is None else given)

    indices = row_draws(data.weights, MOST_ROWS if compares else MOST_LIKELIHOOD_ROWS, rng)()
    heavy = indices[data.weights.each[indices] > _LEAST_WEIGHT]
    indices = heavy if len(heavy) >= _FEWEST_HEAVY else indices
    X = scaling.take(data.X, indices)
    sampled = targets[indices]
    weights = data.weights.each[indices] * (data.weights.n_positive / data.weights.total)
    with printing(model.verbose):
        if not compares:
            return in_given_units(KernelSearch(X, sampled, "gaussian", not model._has_labels, model.n_jobs, kernel,
                                               reg_lambda).likeliest())
        if len(X) <= MOST_LIKELIHOOD_ROWS:
            return in_given_units(_best_of_shapes(X, sampled, weights, reg_lambda, model))
        best, lowest, loss = _best_kernel(X, sampled, weights, reg_lambda, model)
        shorter = [best._replace(length_scale=factor * best.length_scale) for factor in _FACTORS_OF_LENGTHS]
        if data.weights.n_positive < _MANY_ROWS:
            return in_given_units(_descend(shorter, loss, lowest)[0])
        loss = _loss_of_ensembles(model, data, targets, scaling, rng)
        return _descend([in_given_units(kernel) for kernel in shorter], loss, None)[0]


def _bounded(reg_lambda: float) -> float:
    return min(max(reg_lambda, np.finfo(np.float64).tiny), np.finfo(np.float64).max)


def _best_of_shapes(X: Double, targets: Double, weights: Double, reg_lambda: float | None,
                    model: Any) -> Kernel:
    """Of few rows: the likeliest kernel of that shape which predicts each row best from all others.

    Few rows resolve no more, and few labels no length scale per column.
    """
    left_out = LeaveOneOut(X, targets, weights, len(X), model.n_jobs)
    return min((KernelSearch(X, targets, shape, not model._has_labels, model.n_jobs, noise=reg_lambda).likeliest()
                for shape in SHAPES), key=left_out.loss)


def _best_kernel(X: Double, targets: Double, weights: Double, reg_lambda: float | None,
                 model: Any) -> tuple[Kernel, float | None, Loss]:
    """The likeliest kernel on two thirds of the rows, of the form and with the lambda that predict the others best.

    With it come its loss and the loss of any: the leave-one-out error of the others.
    """
    n_likelihood = min(MOST_LIKELIHOOD_ROWS, -(-2 * len(X) // 3))
    left_out = LeaveOneOut(X, targets, weights, len(X) - n_likelihood, model.n_jobs)
    # Labels hardly determine a length scale per column.
    per_columns = (False, True) if model._has_labels else (True,)
    forms = [(shape, per_column) for shape in SHAPES for per_column in per_columns]
    steps = Steps("kernels by leave-one-out error", len(forms) * 3 // 2 + len(_FACTORS_OF_LAMBDA) - 1
                  + len(_FACTORS_OF_LENGTHS))

    def loss(kernel: Kernel) -> float:
        value = left_out.loss(kernel)
        steps.step(f"loss {value:.6g}")
        return value

    searches = [KernelSearch(X[:n_likelihood], targets[:n_likelihood], shape, per_column, model.n_jobs,
                             noise=reg_lambda) for shape, per_column in forms]
    losses = [loss(search.on_few_rows()) for search in searches]
    best_shape = forms[int(np.argmin(losses))][0]
    kernels = [search.on_all_rows() for search, (shape, _) in zip(searches, forms, strict=True) if shape == best_shape]
    losses = [loss(kernel) for kernel in kernels]
    lowest, best = min(losses), kernels[int(np.argmin(losses))]
    if reg_lambda is None:
        finer = [best._replace(reg_lambda=factor * best.reg_lambda) for factor in _FACTORS_OF_LAMBDA]
        best, lowest = _descend(finer, loss, lowest)
    return best, lowest, loss


def _descend(kernels: Sequence[Kernel], loss: Loss, lowest: float | None) -> tuple[Kernel, float]:
    """The first kernel that the next one is hardly better than, or the last; the loss of the first may be known."""
    best = kernels[0]
    lowest = loss(best) if lowest is None else lowest
    for kernel in kernels[1:]:
        value = loss(kernel)
        if value > (1 - _LEAST_GAIN) * lowest:
            break
        best, lowest = kernel, value
    return best, lowest


def _loss_of_ensembles(model: Any, data: Any, targets: Double, scaling: Scaling, rng: "np.random.Generator") -> Loss:
    """The lowest loss of small ensembles on held-out rows, as a function of the kernel; draws are the same for all.

    Where rows are many, an ensemble of so many base learners is far from the regression on all of them, and fits
    more of what shorter lengths resolve.
    """
    order = rng.permutation(data.weights.positive())[: _MOST_TRIAL_ROWS + _MOST_TRIAL_ROWS // _ROWS_PER_HELD_OUT]
    seed = int(rng.integers(2**63))
    held_out, learned = (TargetRows(take_rows(data.X, rows), targets[rows], data.weights.of(rows))
                         for rows in np.split(order, [len(order) // (1 + _ROWS_PER_HELD_OUT)]))
    # Fits that go on choose as one long fit would.
    n_rounds = _TRIAL_ROUNDS if model.warm_start else min(model.n_estimators, _TRIAL_ROUNDS)
    steps = Steps("length scales on held-out rows", len(_FACTORS_OF_LENGTHS))

    def loss(kernel: Kernel) -> float:
        ensemble = make_ensemble(model, kernel.normalised(data.weights), scaling, learned, [held_out], n_rounds,
                                 np.random.default_rng(seed))
        lowest = ensemble.eval_losses[0]
        for _ in range(n_rounds):
            if not ensemble.grow():
                break
            lowest = min(lowest, ensemble.eval_losses[0])
        steps.step(f"loss {lowest:.6g}")
        return lowest

    return loss
