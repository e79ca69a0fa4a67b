"""Networks and rows for the kernels of RFFNet, made by NumPy alone."""

import math

import numpy as np
import reference

from rffkern._native import rffnet, scoring

from .packing import padded_size

LOSSES = {"squared": rffnet.Squared(), "huber": rffnet.Huber(0.7), "pinball": rffnet.Pinball(0.3),
          "logistic": rffnet.Logistic(), "softmax": rffnet.Softmax()}

TWINS = {
    "squared": lambda f, y: ((f - y) ** 2).sum(axis=1),
    "huber": lambda f, y: np.where(np.abs(f - y) < 0.7, (f - y) ** 2, 0.7 * (2 * np.abs(f - y) - 0.7)).sum(axis=1),
    "pinball": lambda f, y: np.where(y > f, 0.3 * (y - f), 0.7 * (f - y)).sum(axis=1),
    "logistic": lambda f, y: np.logaddexp(0, -y * f).sum(axis=1),
    "softmax": lambda f, y: (np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(f)), y[:, 0].astype(int)]),
}


def values_and_slopes(name, scores, targets):
    """Losses of rows and their slopes along the scores, by the kernel."""
    losses, slopes = np.empty(len(scores)), np.empty(scores.shape)
    rffnet.row_losses(LOSSES[name], np.ascontiguousarray(scores), targets, losses, slopes)
    return losses, slopes


def random_targets(name, rng, n_samples, n_outputs):
    if name == "softmax":
        return rng.integers(0, n_outputs, (n_samples, 1)).astype(float)
    targets = rng.standard_normal((n_samples, n_outputs))
    return np.where(targets > 0, 1.0, -1.0) if name == "logistic" else targets


class Steps:
    """A random network with rows to pass over, in both forms."""

    def __init__(self, seed, n_samples, n_features, n_terms, name, dtype, weighted, batch_size, n_threads=1):
        rng = np.random.default_rng(seed)
        self.dtype, self.name, self.batch_size = dtype, name, batch_size
        self.n_threads, self.n_terms = n_threads, n_terms
        self.n_outputs = {"softmax": 3, "squared": 2}.get(name, 1)
        self.X = rng.standard_normal((n_samples, n_features)).astype(dtype)
        self.targets = random_targets(name, rng, n_samples, self.n_outputs)
        self.weight = rng.uniform(0.2, 2, n_samples) if weighted else np.empty(0)
        self.order = rng.permutation(n_samples)[: max(1, n_samples - 3)]
        self.center, self.unit = rng.standard_normal(n_features), rng.uniform(0.5, 2, n_features)
        padded = padded_size(n_terms + 1, rffnet.TERM_GROUP)
        self.omegas, self.shifts = np.zeros((padded, n_features), dtype), np.zeros(padded, dtype)
        self.omegas[:n_terms] = rng.standard_normal((n_terms, n_features))
        self.shifts[:n_terms] = -rng.uniform(0, 2 * np.pi, n_terms) / math.pi
        self.coefficients = np.zeros((3, self.n_outputs, padded), dtype)
        self.coefficients[0, :, :n_terms] = 0.3 * rng.standard_normal((self.n_outputs, n_terms))
        self.coefficients[0, :, n_terms] = 0.1
        self.relevances = np.zeros((3, n_features), dtype)
        self.relevances[0] = 0.5
        self.rates = 0.23 / n_terms, 0.23 / n_terms / np.sqrt(2 / n_terms), 0.01 / np.sqrt(n_features)

    def _groups(self):
        group, n_features = rffnet.TERM_GROUP, self.X.shape[1]
        groups = np.zeros((len(self.omegas) // group, padded_size(n_features, scoring.TERM_MULTIPLES[0]), group),
                          self.dtype)
        groups[:, :n_features] = self.omegas.reshape(-1, group, n_features).transpose(0, 2, 1)
        return groups

    def taken(self, ridge=1e-3, lasso=1e-3):
        """Coefficients and relevances after a pass over the rows."""
        n_tiles = -(-self.batch_size // scoring.TILE_ROWS)
        n_reals, n_doubles = rffnet.scratch_sizes(self.X.shape[1], len(self.omegas), self.n_outputs, self.batch_size)
        rffnet.train_rows(
            LOSSES[self.name], self.X, self.order, self.center, self.unit, self.targets, self.weight, self.omegas,
            self._groups(), self.shifts, self.coefficients, self.relevances, self.n_terms, self.batch_size, 0.0,
            *self.rates, ridge / (2 / self.n_terms), lasso,
            np.empty((n_tiles, n_reals), self.dtype), np.empty((n_tiles, n_doubles)), self.n_threads)
        return self.coefficients[:, :, : self.n_terms + 1], self.relevances

    def scores(self):
        """Scores of all rows, by NumPy."""
        rows = (self.X - self.center) * self.unit * self.relevances[0]
        cosines = np.cos(rows @ self.omegas[: self.n_terms].T.astype(float)
                         - np.pi * self.shifts[: self.n_terms].astype(float))
        return cosines @ self.coefficients[0, :, : self.n_terms].T + self.coefficients[0, :, self.n_terms]

    def twin(self, ridge=1e-3, lasso=1e-3):
        """What `taken` has to return."""
        coefficients = self.coefficients[:, :, : self.n_terms + 1].astype(float)
        relevances = self.relevances.astype(float)
        rows = (self.X[self.order] - self.center) * self.unit
        weight = self.weight if self.weight.size else np.ones(len(self.X))
        reference.rffnet_pass(
            rows, self.targets[self.order], weight[self.order], self.omegas[: self.n_terms].astype(float),
            -np.pi * self.shifts[: self.n_terms].astype(float), coefficients, relevances,
            lambda f, y: values_and_slopes(self.name, f, y)[1], self.batch_size, 0, self.rates,
            ridge / (2 / self.n_terms), lasso)
        return coefficients, relevances
