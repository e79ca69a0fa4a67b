"""Losses of boosting: rows, calls of the kernels, and their twins in plain NumPy."""

import numpy as np
from hypothesis import strategies as st

from rffkern._native import boosting

TILE = 128
NAMES = (*boosting.LOSSES,)
BOUNDS = {"huber", "quantile", "poisson", "tweedie"}  # whose h is no second derivative, but one of a function above
PARAMETERS = {"huber": (0.7, 1.2, 0.1), "quantile": (0.3, 0.9, 0.05), "tweedie": (1.5, 2, 1.1)}  # of outputs in turn
LEAST_RESIDUAL = 0.02  # in the curvature of the loss of a quantile


def parameters_of(name, n_outputs):
    """One for each output."""
    return np.resize(np.array(PARAMETERS.get(name, (0.0,)), np.float32), n_outputs)


def twin(name, scores, targets):
    """Loss of each row, and g = -dloss/dF and h = d2loss/dF2 of each score, in double precision."""
    F, y = scores.astype(float), targets.astype(float)
    parameter = parameters_of(name, len(F)).astype(float)[:, None]
    if name == "softmax":
        is_class = np.arange(len(F))[:, None] == y
        F = F - F.max(axis=0)
        total = np.logaddexp.reduce(F, axis=0)
        p = np.exp(F - total)
        return total - np.sum(np.where(is_class, F, 0), axis=0), is_class - p, p * (1 - p)
    residual = y - F
    if name == "squared":
        return (residual**2 / 2).sum(axis=0), residual, np.ones_like(F)
    if name == "logistic":
        p = np.exp(-np.logaddexp(0, y * F))
        return np.logaddexp(0, -y * F).sum(axis=0), y * p, p * np.exp(-np.logaddexp(0, -y * F))
    if name == "huber":
        held = residual.clip(-parameter, parameter)
        return (held * (residual - held / 2)).sum(axis=0), held, np.ones_like(F)
    if name == "quantile":
        derivative = parameter - (y < F)
        return (derivative * residual).sum(axis=0), derivative, 0.5 / (LEAST_RESIDUAL + np.abs(residual))
    if name == "tweedie":
        held, below, above = F.clip(-50, 50), parameter - 1, 2 - parameter
        target, mean = y * np.exp(-below * held), np.exp(above * held)
        of_mean = np.where(above > 0, (mean - 1) / np.where(above > 0, above, 1), F)
        return (((target - y) / below + of_mean).sum(axis=0), target - mean,
                np.maximum(below * target + above * mean, (target + mean) / 2))
    assert name == "poisson"
    rate = np.exp(F.clip(-50, 50))
    return (rate - y * F).sum(axis=0), y - rate, np.maximum(rate, (y + rate) / 2)


class LossProblem:
    """Training rows and rows held out, both padded with rows of weight 0."""

    def __init__(self, seed, name, n_train_rows, n_held_rows, weighted=True, n_outputs=3, spread=2.0):
        rng = np.random.default_rng(seed)
        self.name, self.loss = name, boosting.LOSSES[name]
        tiles = [(rows + TILE - 1) // TILE for rows in (n_train_rows, n_held_rows)]
        self.n_train, n = TILE * tiles[0], TILE * sum(tiles)
        self.weight = (rng.uniform(0.2, 3, n) if weighted else np.ones(n)).astype(np.float32)
        self.weight[n_train_rows : self.n_train] = 0
        self.weight[self.n_train + n_held_rows :] = 0
        self.half_weight = np.where(np.arange(n) % 2 == 1, self.weight, 0).astype(np.float32)
        self.half_weight[: self.n_train] = 0
        self.parameters = parameters_of(name, n_outputs)
        self.scores = (spread * rng.standard_normal((n_outputs, n))).astype(np.float32)
        self.directions = rng.standard_normal((n_outputs, n)).astype(np.float32)
        self.targets = {"logistic": lambda: rng.choice([-1, 1], n), "softmax": lambda: rng.integers(0, n_outputs, n),
                        "poisson": lambda: rng.poisson(2, n), "tweedie": lambda: rng.gamma(0.5, 4, n)}.get(
                            name, lambda: rng.standard_normal(n))()
        self.targets = self.targets.astype(np.float32)

    def twin(self, step):
        """What `derivatives` and `update` are to give."""
        scores = self.scores + np.float32(step) * self.directions
        loss, g, h = twin(self.name, scores, self.targets)
        g, h = self.weight * g, self.weight * h
        train = np.arange(self.weight.size) < self.n_train
        d = self.directions.astype(float)
        sums = np.sum((g * d)[:, train]), np.sum((h * d**2)[:, train])
        losses = [np.sum((self.weight * loss)[rows]) for rows in (train, ~train)]
        half = np.sum(self.half_weight * loss)
        return sums, (scores, *losses, g[:, train], self.comparable(h[:, train]), half)

    def comparable(self, h):
        """Curvatures, but of a quantile their reciprocals: linear in the residual, so that rounding hardly shows."""
        return np.divide(1, h, out=np.zeros(h.shape), where=h > 0) if self.name == "quantile" else h

    def derivatives(self, step, n_threads=1):
        return boosting.step_derivatives(self.loss, self.parameters, self.scores, self.directions, step, self.targets,
                                         self.weight, self.n_train, n_threads)

    def best_step(self, step, n_steps, largest_move=5.0, smallest_move=0.0, n_threads=1):
        return boosting.best_step(self.loss, self.parameters, self.scores, self.directions, step, self.targets,
                                  self.weight, self.n_train, n_steps, largest_move, smallest_move, n_threads)

    def update(self, step, n_threads=1):
        """Scores, both losses, gradient and hessian of the training rows, and the loss of half of the others."""
        scores, g, h = self.scores.copy(), np.full_like(self.scores, np.nan), np.full_like(self.scores, np.nan)
        *losses, half = boosting.update(self.loss, self.parameters, scores, self.directions, step, self.targets,
                                        self.weight, self.half_weight, self.n_train, g, h, n_threads)
        assert np.isnan([g[:, self.n_train :], h[:, self.n_train :]]).all()
        return scores, *losses, g[:, : self.n_train], self.comparable(h[:, : self.n_train]), half


def loss_problems(**fixed):
    sizes = st.sampled_from([0, 1, 127, 128, 129, 700])
    choices = {"seed": st.integers(0, 999), "name": st.sampled_from(NAMES), "n_train_rows": sizes,
               "n_held_rows": sizes, "weighted": st.booleans(), "n_outputs": st.integers(1, 6)}
    return st.builds(LossProblem, **choices | {name: st.just(value) for name, value in fixed.items()})
