"""What the boosted families share: their parameters, and the way from checked rows to an expansion."""

import math

import numpy as np

from . import _validation as check
from ._boosting_loop import Monitor, boost
from ._rows import Rows
from ._scaling import measure_scaling
from ._tiles import TILE
from .errors import InvalidInputError
from .expansion import FourierExpansion

# Single precision is for angles up to this many radians; it resolves them to 2e-4 there.
_LARGEST_SINGLE_ANGLE = 4000.0

# Without standardisation, the spread of the rows must lie within this factor of 1.
_LARGEST_SPREAD = 1e100

# Omegas drawn around this, in the unit of X, still have room to grow in a descent.
_LARGEST_OMEGA = 1e306

# Relative tolerances of descents, and the relative rounding error of a loss evaluated in each precision.
LOSS_TOLERANCE = 2e-9
GRADIENT_TOLERANCE = 1e-5
NOISE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}


def check_common(model):
    """Check the parameters that every family has."""
    check.check_choice("standardize", model.standardize, (True, False))
    check.check_choice("precision", model.precision, ("single", "double"))
    check.check_rng(model.random_state)
    if model.n_threads is not None:
        check.check_scalar("n_threads", model.n_threads, int, low=1, high=check.MAX_THREADS)


def check_gamma(model):
    """Check the width of the kernel whose features are drawn."""
    if not (isinstance(model.gamma, str) and model.gamma == "scale"):
        if isinstance(model.gamma, str):
            raise InvalidInputError(f"gamma must be 'scale' or a number > 0, got {model.gamma!r}")
        check.check_scalar("gamma", model.gamma, float, low=0, high=1e100, open_low=True)


def check_boosted(model):
    """Check the parameters that every boosted family of Fourier features has."""
    check_rounds(model)
    check.check_scalar("learning_rate", model.learning_rate, float, low=0, high=1, open_low=True)
    check.check_scalar("max_iter", model.max_iter, int, low=0, high=10**6)
    if model.max_samples is not None:
        check.check_scalar("max_samples", model.max_samples, int, low=TILE)
    check_gamma(model)
    check_common(model)


def check_rounds(model):
    """Check the parameters of every family that learns in rounds."""
    check.check_scalar("n_estimators", model.n_estimators, int, low=1, high=10**8)
    if model.early_stopping_rounds is not None:
        check.check_scalar("early_stopping_rounds", model.early_stopping_rounds, int, low=1)
    check.check_scalar("verbose", model.verbose, int, low=0)


def rows_variance(model, scaling):
    """Mean variance of the columns that a model learns from, refused where it would over- or underflow."""
    if not model.standardize and scaling.inverse_scale.any():
        spread = math.sqrt(scaling.mean_variance)
        if not 1 / _LARGEST_SPREAD < spread < _LARGEST_SPREAD:
            raise InvalidInputError(f"X must have a spread between {1 / _LARGEST_SPREAD:g} and {_LARGEST_SPREAD:g} "
                                    f"where standardize is False, got {spread:.3g}")
    return 1.0 if model.standardize or scaling.mean_variance == 0 else scaling.mean_variance


def kernel_width(model, scaling):
    """Gamma in the units learning takes place in, refused where omegas in the units of X would overflow."""
    variance = rows_variance(model, scaling)
    gamma = 1 / (scaling.center.size * variance) if model.gamma == "scale" else float(model.gamma)
    if math.sqrt(gamma) > _LARGEST_OMEGA / max(1.0, scaling.inverse_scale.max()):
        raise InvalidInputError(f"gamma must be smaller for columns of such small spread, got {model.gamma!r}")
    return gamma


def needs_double(gamma, largest_length):
    """Whether angles may exceed what single precision resolves."""
    return 3 * math.sqrt(2 * gamma) * largest_length > _LARGEST_SINGLE_ANGLE


def train(model, loss, training, make_learner, callback, n_components=1):
    """Boost a model on checked rows.

    Parameters
    ----------
    model : estimator with the parameters of `check_boosted`
    loss : class of the loss state, `Margins` or `Residuals`
    training : Training
    make_learner : callable (rows, draws, gamma, scaling, data, rng) -> learner, as `boost` wants it
        draws holds omegas, an array of shape (n_estimators, n_outputs, n_components, n_features), and data the rows of
        `training`
    callback : callable or None
    n_components : int, cosines in a weak learner

    Returns
    -------
    (learner, rounds kept, scaling, dict of all fitted attributes)
    """
    rng = check.check_rng(model.random_state)
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose)
    names, data, evaluation, center, scale, fitted = training
    del training
    scaling = measure_scaling(data.X, data.weight, model.standardize, model.n_threads)
    gamma = kernel_width(model, scaling)
    intercepts = [loss.intercept(target, data.weight) for target in data.targets()]
    draws = rng.standard_normal((model.n_estimators, len(intercepts), n_components, data.X.shape[1]))
    draws *= math.sqrt(2 * gamma)
    rows = _pack(model, data, scaling, gamma, rng, n_components)
    outputs = _start(loss, rows, data, intercepts)
    eval_outputs = []
    if evaluation is not None:
        eval_rows = Rows(evaluation.X, scaling, evaluation.weight, rows.dtype, model.n_threads, 0, None, n_components)
        eval_outputs = _start(loss, eval_rows, evaluation, intercepts)
    learner = make_learner(rows, draws, gamma, scaling, data, rng)
    del data, evaluation  # only the packed rows are needed from here on
    rounds = boost(outputs, eval_outputs, learner, model.learning_rate, monitor)[: monitor.best_round]
    fitted |= {
        "names": names, "n_features": rows.n_features, "n_estimators_": monitor.best_round,
        "n_components_": n_components,
        "n_iter_": learner.n_iterations, "train_loss_": np.array(monitor.train_loss),
        "eval_loss_": np.array(monitor.eval_loss),
        "expansion_": _to_expansion(rounds, center + scale * intercepts, scale, scaling, n_components),
    }
    return learner, rounds, scaling, fitted


def _pack(model, data, scaling, gamma, rng, n_components):
    n_samples = data.X.shape[0]
    n_weighty = n_samples if data.weight is None else np.count_nonzero(data.weight)
    n_parts = 1
    if model.max_samples is not None and n_weighty > model.max_samples:
        n_parts = -(-n_weighty // (model.max_samples // TILE * TILE))
    order = rng.permutation(n_weighty) if n_parts > 1 else None
    double = model.precision == "double"
    rows = Rows(data.X, scaling, data.weight, np.float64 if double else np.float32, model.n_threads, n_parts, order,
                n_components)
    if not double and needs_double(gamma, rows.store.largest_length):
        del rows  # before its successor is packed
        rows = Rows(data.X, scaling, data.weight, np.float64, model.n_threads, n_parts, order, n_components)
    return rows


def _start(loss, rows, data, intercepts):
    """The state of each output before the first round."""
    return [loss(rows, target, intercept) for target, intercept in zip(data.targets(), intercepts, strict=True)]


def _to_expansion(rounds, intercepts, scale, scaling, n_components):
    """Terms in the order of the rounds, within a round of the outputs, within an output of the components."""
    n_outputs, n_features = len(intercepts), scaling.center.size
    shape = len(rounds), n_outputs, n_components
    omegas, phases, amplitudes = np.zeros((*shape, n_features)), np.zeros(shape), np.zeros((*shape, n_outputs))
    for t, this_round in enumerate(rounds):
        for k, (learner, step) in enumerate(this_round):
            omegas[t, k] = learner.omegas * scaling.inverse_scale
            phases[t, k] = learner.phases
            amplitudes[t, k, :, k] = scale[k] * step * learner.posterior
    n_terms = math.prod(shape)
    return FourierExpansion(omegas.reshape(n_terms, n_features), phases.reshape(n_terms),
                            amplitudes.reshape(n_terms, n_outputs), intercepts, scaling.center)


def restored_rounds(expansion, curves, n_components=1):
    """Fitted attributes that follow from a file's expansion and loss curves; ValueError if they contradict."""
    n_rounds, left_over = divmod(expansion.n_terms, expansion.n_outputs * n_components)
    train, held_out = curves["train_loss_"], curves["eval_loss_"]
    if (left_over or train.ndim != 1 or held_out.ndim != 1 or held_out.size not in (0, train.size)
            or n_rounds != (held_out.argmin() if held_out.size else train.size - 1)):
        raise ValueError("rounds and loss curves do not agree in number")
    return {"n_estimators_": n_rounds, "n_components_": n_components}


def staged_scores(model, X):
    """Yield the scores after each round kept: (n_samples,) of one output, (n_samples, n_outputs) of more."""
    X = model._check_rows(X)
    expansion = model.expansion_
    for scores in expansion.staged_score(X, expansion.n_outputs * model.n_components_, n_threads=model.n_threads):
        yield scores[:, 0] if expansion.n_outputs == 1 else scores
