"""Random networks of RFFNet with rows to pass over, and rows of which few columns matter."""

import numpy as np

from helpers.rffnet_steps import random_targets
from rffkern._native import rffnet
from rffkern._rows.scaling import no_scaling
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.rffnet.losses import classification_loss, regression_loss
from rffkern._training.rffnet.network import Network, Objective

LOSSES = {name: regression_loss(name, 0.7, 0.3) for name in ("squared_error", "huber", "quantile")}
LOSSES |= {"logistic": classification_loss(1), "softmax": classification_loss(3)}


def values_and_slopes(loss, scores, targets):
    losses, slopes = np.empty(len(scores)), np.empty(scores.shape)
    rffnet.row_losses(loss.compiled, scores, targets, losses, slopes)
    return losses, slopes


class Steps:
    """A random network with rows to pass over, in both forms."""

    def __init__(self, seed, n_samples, n_features, n_terms, name, dtype, weighted, batch_size, n_threads=1):
        rng = np.random.default_rng(seed)
        self.dtype, self.name, self.batch_size = dtype, name, batch_size
        self.n_outputs = {"softmax": 3, "squared_error": 2}.get(name, 1)
        self.X = rng.standard_normal((n_samples, n_features)).astype(dtype)
        self.targets = random_targets(name, rng, n_samples, self.n_outputs)
        self.weight = rng.uniform(0.2, 2, n_samples) if weighted else None
        self.rows = TargetRows(self.X, self.targets, RowWeights(n_samples, self.weight))
        self.order = rng.permutation(n_samples)[: max(1, n_samples - 3)]
        self.center, self.unit = rng.standard_normal(n_features), rng.uniform(0.5, 2, n_features)
        self.omegas = rng.standard_normal((n_terms, n_features)).astype(dtype).astype(float)
        self.offsets = rng.uniform(0, 2 * np.pi, n_terms)
        self.network = Network(self.omegas, self.offsets, 0.5, np.full(self.n_outputs, 0.1), dtype)
        self.network.coefficients[0, :, :n_terms] = 0.3 * rng.standard_normal((self.n_outputs, n_terms))
        self.scaling = no_scaling(n_features)._replace(center=self.center, inverse_scale=self.unit)
        self.objective = self.objective_of(self.network)
        self.objective.n_threads = n_threads  # for however little there is

    def objective_of(self, network):
        return Objective(network, LOSSES[self.name], self.scaling, self.batch_size, None)


def wavy(n_samples, seed=0, n_features=8):
    """Rows of which only columns 2 and 5 matter, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.sin(2 * X[:, 2]) + X[:, 5] ** 2 + 0.1 * rng.standard_normal(n_samples)
