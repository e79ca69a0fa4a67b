"""The way from checked rows to a sparse kernel machine, and what it was after each round."""

from typing import NamedTuple

import numpy as np

from .._data import validation as check
from .._data.row_blocks import take_rows
from .._data.scaling import measure_scaling
from .._data.tiles import tiled
from .._estimator.monitor import Monitor
from .._gbrff.loss_states import Residuals
from ..errors import InvalidInputError, NotFittedError
from ..expansion import KernelExpansion
from .basis import BasisSelection, Subsets
from .ensemble import Ensemble, combine, grow_all
from .kernel import GaussianKernel, given_kernel, likeliest_kernel, n_rows_wanted
from .packed_rows import KernelRows

CURVES = ("train_loss_", "eval_loss_", "kernel_parameters_")

# In units of 2^-|x - z|^2.  Beyond this from the center of the data, single precision blurs distances.
_LARGEST_SINGLE_LENGTH = 300.0

# With more, nothing is learned.
_LARGEST_LAMBDA = 1e200

# Factors of all lengths that are tried in turn while they help, and the trial: learners, rows to learn from, and rows
# for each held out.
_FACTORS = 0.7, 0.5, 0.35, 0.25
_TRIAL_LEARNERS = 300
_TRIAL_ROWS = 16384
_ROWS_PER_HELD_OUT = 4


def _learn_kernel(model, data, sample_weight, targets, scaling, rng):
    """Kernel and lambda, by marginal likelihood as far as they are not given."""
    given = None if isinstance(model.kernel, str) else given_kernel(model.kernel, data.X.shape[1])
    reg_lambda = None if isinstance(model.reg_lambda, str) else float(model.reg_lambda)
    if given is not None and reg_lambda is not None:
        return given, reg_lambda
    subsets = Subsets(len(targets), n_rows_wanted(len(targets)), data.weight, rng)
    indices = subsets.draw()
    rows = (take_rows(data.X, indices) - scaling.center) * scaling.inverse_scale

    def likeliest(one_length):
        return likeliest_kernel(rows, targets[indices], rng, given, reg_lambda, model.n_threads, one_length)

    if given is not None or model.kernel == "likelihood" or subsets.holds_all:
        return likeliest(model.one_length)
    candidates = [likeliest(one_length) for one_length in ([True, False] if model.one_length else [False])]
    return _best_on_held_out_rows(model, data, sample_weight, targets, scaling, candidates, rng)


def _best_on_held_out_rows(model, data, sample_weight, targets, scaling, candidates, rng):
    """The candidate (kernel, lambda) that predicts held-out rows best, its lengths shortened as far as that helps."""
    weighty = np.arange(len(targets)) if data.weight is None else np.flatnonzero(data.weight)
    order = rng.permutation(weighty)[: _TRIAL_ROWS * (1 + _ROWS_PER_HELD_OUT) // _ROWS_PER_HELD_OUT]
    parts = np.split(order, [len(order) // (1 + _ROWS_PER_HELD_OUT)])
    blocks = [take_rows(data.X, part) for part in parts]
    weights = [None if data.weight is None else data.weight[part] for part in parts]
    seed = int(rng.integers(2**63))

    def trial(kernel, reg_lambda):
        """Loss on the held-out rows; every kernel sees the same draws."""
        in_lengths = kernel.scaling(scaling)
        eval_rows, rows = (KernelRows(block, in_lengths, weight, np.float64, model.n_threads)
                           for block, weight in zip(blocks, weights, strict=True))
        monitor = Monitor(min(model.n_estimators, _TRIAL_LEARNERS))
        grow_all(list(_ensembles(model, rows, eval_rows, targets[parts[1]], targets[parts[0]], kernel,
                                 _in_units_of_weight(reg_lambda, data, sample_weight), np.random.default_rng(seed),
                                 None)), monitor)
        return min(monitor.eval_loss)

    losses = [trial(*candidate) for candidate in candidates]
    lowest = min(losses)
    kernel, reg_lambda = candidates[losses.index(lowest)]
    best = kernel
    for factor in _FACTORS:
        shortened = kernel._replace(lengthscales=factor * kernel.lengthscales)
        loss = trial(shortened, reg_lambda)
        if loss >= lowest:
            break
        best, lowest = shortened, loss
    return best, reg_lambda


def _pack(model, data, scaling):
    double = model.precision == "double"
    rows = KernelRows(data.X, scaling, data.weight, np.float64 if double else np.float32, model.n_threads)
    if not double and rows.largest_length > _LARGEST_SINGLE_LENGTH:
        del rows  # before its successor is packed
        rows = KernelRows(data.X, scaling, data.weight, np.float64, model.n_threads)
    return rows


def _ensembles(model, rows, eval_rows, residuals, eval_residuals, kernel, reg_lambda, rng, signs):
    """An ensemble for each output, with the kernel normalised, lest its values overflow in single precision."""
    n_weighty = np.count_nonzero(rows.flat_weight)
    n_learners = min(model.n_estimators, n_weighty)  # of which no more are independent
    capacity = {"full": n_learners, "one": 1, "block": min(model.block_size, n_learners)}[model.update]
    n_wanted = min(model.learner_size, model.subset_size or n_weighty, n_weighty)

    def subsets(n_samples, weight):
        # Among all rows, the rule would find much the same vectors again and again.
        half = max(n_wanted, np.count_nonzero(weight) // 2)
        return Subsets(n_samples, model.subset_size and min(model.subset_size, half), weight, rng)

    for k, residual in enumerate(residuals.T):
        selection = BasisSelection(model.selection, kernel.normalised(), reg_lambda / kernel.at_zero, n_wanted,
                                   capacity, min(model.n_candidates, n_weighty))
        held_out = eval_rows and (eval_rows, tiled(eval_residuals[:, k], np.dtype(np.float64)))
        yield Ensemble(rows, tiled(residual, np.dtype(np.float64)), held_out, selection, subsets,
                       None if signs is None else signs[:, k], model.update, capacity)


def _in_units_of_weight(reg_lambda, data, sample_weight):
    """Lambda beside weights of mean 1, which make one of a sum of squares times weights that is given otherwise."""
    n_weighty = data.X.shape[0] if data.weight is None else np.count_nonzero(data.weight)
    return min(reg_lambda * (n_weighty / check.total_weight(sample_weight, n_weighty)), _LARGEST_LAMBDA)


def fit_sparse(model, training, sample_weight, callback, leave_out=False):
    """Fitted attributes of a model, from checked rows.

    `leave_out` says whether the blocks of a classifier leave out rows that are fitted well.
    """
    rng = check.check_rng(model.random_state)
    monitor = Monitor(model.n_estimators, model.early_stopping_rounds, callback, model.verbose)
    names, data, evaluation, center, scale, fitted = training
    scaling = measure_scaling(data.X, data.weight, model.standardize, model.n_threads)
    targets = np.column_stack([np.asarray(target, np.float64) for target in data.targets()])
    intercepts = np.array([Residuals.intercept(target, data.weight) for target in targets.T])
    residuals = targets - intercepts
    kernel, reg_lambda = _learn_kernel(model, data, sample_weight, residuals, scaling, rng)
    in_lengths = kernel.scaling(scaling)
    rows = _pack(model, data, in_lengths)
    eval_rows = eval_residuals = None
    if evaluation is not None:
        eval_rows = KernelRows(evaluation.X, in_lengths, evaluation.weight, rows.dtype, model.n_threads)
        eval_residuals = np.column_stack(list(evaluation.targets())) - intercepts
    ensembles = list(_ensembles(model, rows, eval_rows, residuals, eval_residuals, kernel,
                                _in_units_of_weight(reg_lambda, data, sample_weight), rng,
                                targets if leave_out else None))
    counts = grow_all(ensembles, monitor)[: monitor.best_round]
    for ensemble in ensembles:
        ensemble.refine()
    expansion, stages = _to_expansion(ensembles, counts, kernel.normalised(), center + scale * intercepts, scale,
                                      data.X, kernel.inverse_lengths(scaling))
    return fitted | {
        "names": names, "n_features": rows.n_features, "n_estimators_": len(counts), "expansion_": expansion,
        "n_skipped_": sum(ensemble.n_skipped + ensemble.selection.n_skipped for ensemble in ensembles),
        "train_loss_": np.array(monitor.train_loss), "eval_loss_": np.array(monitor.eval_loss),
        "kernel_parameters_": np.array([reg_lambda, kernel.amplitude, kernel.bias, *kernel.lengthscales]),
        "_stages": stages,
    }


class _Stages(NamedTuple):
    """The learners of each output, their indices being those of the expansion's centers, and how they came to be."""

    learners: list  # of lists of Learner
    paths: list  # of CoefficientPath
    counts: list  # after each round, the number of learners of each output
    intercept: np.ndarray  # (n_outputs,)
    kernel: GaussianKernel
    scale: np.ndarray  # (n_outputs,)


def _to_expansion(ensembles, counts, kernel, intercept, scale, X, inverse_lengthscales):
    """The expansion on the distinct basis vectors of all outputs, and its stages."""
    last = counts[-1] if counts else [0] * len(ensembles)
    learners = [ensemble.learners[:n] for ensemble, n in zip(ensembles, last, strict=True)]
    paths = [ensemble.path.cut(n) for ensemble, n in zip(ensembles, last, strict=True)]
    parts = [combine(kept, path.at(len(kept))) for kept, path in zip(learners, paths, strict=True)]
    distinct = np.unique(np.concatenate([indices for indices, _ in parts]))
    weights, total = np.zeros((len(distinct), len(ensembles))), intercept.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for k, (indices, combined) in enumerate(parts):
            weights[np.searchsorted(distinct, indices), k] = scale[k] * (kernel.amplitude * combined)
            total[k] += scale[k] * (kernel.bias * combined.sum())
    if not (np.isfinite(weights).all() and np.isfinite(total).all()):
        raise InvalidInputError("y must be smaller: the weights of its basis vectors overflow, got a spread of "
                                f"{scale.max():.3g}")
    expansion = KernelExpansion(take_rows(X, distinct), weights, total, inverse_lengthscales)
    placed = [[learner._replace(indices=np.searchsorted(distinct, learner.indices)) for learner in kept]
              for kept in learners]
    return expansion, _Stages(placed, paths, counts, intercept, kernel, scale)


def staged_sparse(model, X):
    """Yield the scores after each round kept."""
    X = model._check_rows(X)
    if not hasattr(model, "_stages"):
        raise NotFittedError(f"this {type(model).__name__} was read from a file, which keeps the trained function but "
                             "not what it was after earlier rounds: fit again for staged answers")
    stages, expansion = model._stages, model.expansion_
    columns = [np.empty((len(learners), len(X))) for learners in stages.learners]
    done = [0] * len(columns)
    for counts in stages.counts:
        scores = np.tile(stages.intercept, (len(X), 1))
        for k, count in enumerate(counts):
            for m in range(done[k], count):
                columns[k][m] = _learner_values(stages.learners[k][m], stages.kernel, expansion, X, model.n_threads)
            done[k] = count
            scores[:, k] += stages.scale[k] * (stages.paths[k].at(count) @ columns[k][:count])
        yield scores[:, 0] if scores.shape[1] == 1 else scores


def _learner_values(learner, kernel, expansion, X, n_threads):
    """Values of a learner at rows, its basis vectors being centers of an expansion."""
    alone = KernelExpansion(expansion.centers[learner.indices], kernel.amplitude * learner.weights[:, None],
                            [kernel.bias * learner.weights.sum()], expansion.inverse_lengthscales)
    return alone.score_checked(X, n_threads)[:, 0]


def restored_sparse(model, expansion, arrays):
    """Fitted attributes that follow from a file; ValueError if its parts contradict each other."""
    train, held_out, parameters = (arrays[name] for name in CURVES)
    if train.ndim != 1 or train.size == 0 or held_out.ndim != 1 or held_out.size not in (0, train.size):
        raise ValueError("loss curves do not agree in number")
    n_rounds = int(held_out.argmin()) if held_out.size else train.size - 1
    if expansion.n_terms > n_rounds * model.learner_size * expansion.n_outputs or n_rounds > model.n_estimators:
        raise ValueError("centers, rounds and the size of learners do not agree")
    if parameters.shape != (3 + expansion.n_features,) or not (parameters[[0, 1]] > 0).all() or parameters[2] < 0 or (
            not (parameters[3:] > 0).all()):
        raise ValueError("kernel parameters are malformed")
    if isinstance(model.kernel, dict):
        given_kernel(model.kernel, expansion.n_features)
    return {"n_estimators_": n_rounds}
