"""What the boosted families share: their parameters, and the way from checked rows to an expansion."""

import math

import numpy as np

from .._data.arguments import check_rng
from .._data.scaling import measure_scaling
from .._data.tiles import TILE, in_precision
from .._estimator.base import Fitted
from .._estimator.monitor import Monitor
from .._fourier.bandwidth import kernel_width, needs_double
from ..expansion import FourierExpansion
from .packed_rows import Rows
from .rounds import boost


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
    rng = check_rng(model.random_state)
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose)
    names, data, evaluation, center, scale, _, classes = training
    del training
    scaling = measure_scaling(data.X, data.weights, model.standardize, model.n_threads)
    gamma = kernel_width(model.gamma, model.standardize, scaling)
    intercepts = [loss.intercept(target, data.weights) for target in data.targets()]
    draws = rng.standard_normal((model.n_estimators, len(intercepts), n_components, data.X.shape[1]))
    draws *= math.sqrt(2 * gamma)
    rows = _pack(model, data, scaling, gamma, rng, n_components)
    outputs = _start(loss, rows, data, intercepts)
    eval_outputs = []
    if evaluation is not None:
        eval_rows = Rows(evaluation.X, scaling, evaluation.weights, rows.dtype, model.n_threads, 0, None, n_components)
        eval_outputs = _start(loss, eval_rows, evaluation, intercepts)
    learner = make_learner(rows, draws, gamma, scaling, data, rng)
    del data, evaluation  # only the packed rows are needed from here on
    rounds = boost(outputs, eval_outputs, learner, model.learning_rate, monitor)[: monitor.best_round]
    attributes = {
        "n_estimators_": monitor.best_round, "n_components_": n_components, "n_iter_": learner.n_iterations,
        "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
    }
    expansion = _to_expansion(rounds, center + scale * intercepts, scale, scaling, n_components)
    return learner, rounds, scaling, Fitted(names, classes, expansion, attributes)


def _pack(model, data, scaling, gamma, rng, n_components):
    n_weighty = data.weights.n_positive
    n_parts = 1
    if model.max_samples is not None and n_weighty > model.max_samples:
        n_parts = -(-n_weighty // (model.max_samples // TILE * TILE))
    order = rng.permutation(n_weighty) if n_parts > 1 else None
    def pack_in(dtype):
        rows = Rows(data.X, scaling, data.weights, dtype, model.n_threads, n_parts, order, n_components)
        return rows, rows.largest_length

    return in_precision(pack_in, model.precision, lambda length: needs_double(gamma, length))


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
