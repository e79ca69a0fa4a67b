"""The network of RFFNet: its parameters beta and lambda, its objective, and the mini-batch steps that lower it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._model.scoring import Scorer
from ..._native import rffnet, scoring
from ..._native.array_types import Double, NDArray
from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import Scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE, aligned
from ..._rows.training_rows import TargetRows
from ...errors import InvalidInputError
from .losses import Loss

Values = tuple[NDArray[Any], NDArray[Any]]  # coefficients and relevances, without moments

# Replaces a loss that overflows or is not a number.
LARGEST_LOSS = 1e300

# The step of a coefficient is this times eta over the number of terms: all terms may move f together.
_COEFFICIENT_RATE = 23.0

# Rows are standardised and scored in blocks of about this many numbers.
_SCORED_NUMBERS = 1 << 18

_TERMS = scoring.TERM_MULTIPLES[0]


class Network:
    """f(x) = constant + sum over k of b_k cos(omegas[k] . (relevances * x) + offsets[k]) of standardised rows.

    The b_k are the paper's beta_k times sqrt(2 / s), the size of its features, and the relevances its lambda.  Adam's
    moments are stored with them: index 0 has values, 1 means and 2 mean squares of the gradient.  The constant is the
    coefficient of a term of angle 0, the first after the others.
    """

    def __init__(self, omegas: Double, offsets: Double, relevance: float, start: Double, dtype: type) -> None:
        self.n_terms, self.n_features = omegas.shape
        self.n_outputs, self.dtype, self.n_steps = len(start), np.dtype(dtype), 0
        padded = -(-(self.n_terms + 1) // rffnet.TERM_GROUP) * rffnet.TERM_GROUP
        shapes = ((padded, self.n_features), (padded,), (3, self.n_outputs, padded), (3, self.n_features))
        arrays = list(map(aligned, shapes, 4 * [self.dtype]))
        for array in arrays:
            array[...] = 0
        self.omegas, self.shifts, self.coefficients, self.relevances = arrays
        self.omegas[: self.n_terms] = omegas
        self.shifts[: self.n_terms] = -offsets / math.pi  # half turns
        self.coefficients[0, :, self.n_terms] = start
        self.relevances[0] = relevance

    def values(self) -> Values:
        """Return a copy of coefficients and relevances, as `restore` takes them."""
        return self.coefficients[0].copy(), self.relevances[0].copy()

    def restore(self, values: Values) -> None:
        """Set coefficients and relevances to earlier values; the moments stay."""
        self.coefficients[0], self.relevances[0] = values

    def relevances_of(self, scaling: Scaling) -> Double:
        """Return |lambda| of the columns, 0 for those that do not vary."""
        return np.where(scaling.inverse_scale > 0, np.abs(self.relevances[0].astype(np.float64)), 0.0)

    def expansion(self, center: Double, scale: Double, scaling: Scaling) -> Expansion:
        """Return the function of a raw row, for targets less `center` in units of `scale`."""
        n, coefficients = self.n_terms, self.coefficients[0].astype(np.float64)
        with np.errstate(over="ignore"):
            omegas = self.omegas[:n] * (self.relevances[0] * scaling.inverse_scale)
        if not np.isfinite(omegas).all():
            raise InvalidInputError("X must have columns of larger spread: omegas in its units overflow, got a spread "
                                    f"of {1 / scaling.inverse_scale.max():.3g}")
        terms = FourierTerms(omegas, math.pi * self.shifts[:n].astype(np.float64), coefficients[:, :n].T * scale)
        return Expansion(center + scale * coefficients[:, n], scaling.center, terms)


class Objective:
    """The mean loss of a network on raw rows, and Adam's proximal steps that lower it, with scratch for these."""

    def __init__(self, network: Network, loss: Loss, scaling: Scaling, batch_size: int,
                 n_jobs: int | None) -> None:
        self._network, self._loss, self._scaling, self._batch_size = network, loss, scaling, batch_size
        padded, n_features, dtype = len(network.omegas), network.n_features, network.dtype
        n_groups, group = padded // rffnet.TERM_GROUP, rffnet.TERM_GROUP
        n_tiles = -(-batch_size // TILE)
        n_reals, n_doubles = rffnet.scratch_sizes(n_features, padded, network.n_outputs, batch_size)
        self.block_size = max(TILE, _SCORED_NUMBERS // n_features)  # rows that are scored together
        self.n_threads = min(n_tiles, check_n_threads(n_jobs, batch_size * network.omegas.size))
        self._n_jobs = n_jobs
        # The omegas, transposed within each group of terms.
        self._groups = aligned((n_groups, -(-n_features // _TERMS) * _TERMS, group), dtype)
        self._step_scratch = aligned((n_tiles, n_reals), dtype), np.empty((n_tiles, n_doubles))
        self._groups[:, :n_features] = network.omegas.reshape(n_groups, group, n_features).transpose(0, 2, 1)
        self._groups[:, n_features:] = 0

    def descend(self, rows: TargetRows, orders: Sequence[NDArray[np.intp]], eta: float, mu: float,
                rho: float) -> tuple[float, float]:
        """Take a step on beta, then one on lambda, on each mini-batch of rows, which pass by in some orders.

        Return the sum of weighted losses and that of the weights.  eta is the learning rate, mu the penalty on |beta|^2
        and rho that on |lambda|_1.
        """
        network, total, total_weight = self._network, 0.0, 0.0
        X, targets, weights = rows
        # In units of b = beta sqrt(2 / s).
        feature_size = math.sqrt(2 / network.n_terms)
        rate = _COEFFICIENT_RATE * eta / network.n_terms
        rates = rate, rate / feature_size, eta / math.sqrt(network.n_features)  # of b, constant and lambda
        for order in orders:
            total_weight += weights.of(order).total
            total += rffnet.train_rows(
                self._loss.compiled, X, order, self._scaling.center, self._scaling.inverse_scale, targets,
                weights.for_kernel(), network.omegas, self._groups, network.shifts, network.coefficients,
                network.relevances, network.n_terms, self._batch_size, network.n_steps, *rates, mu / feature_size**2,
                rho, *self._step_scratch, self.n_threads)
            network.n_steps += -(-len(order) // self._batch_size)
        return total, total_weight

    def scores(self, X: Any) -> Double:
        """Return f at raw rows, an array or RowBlocks, shape (n_samples, n_outputs)."""
        network, n = self._network, self._network.n_terms + 1  # the constant is a term
        omegas = network.omegas[:n] * (network.relevances[0] / math.pi).astype(network.dtype)  # half turns
        scorer = Scorer({"intercept": np.zeros(network.n_outputs), "center": np.zeros(network.n_features),
                         "omegas": math.pi * omegas.astype(np.float64),
                         "phases": math.pi * network.shifts[:n].astype(np.float64),
                         "amplitudes": network.coefficients[0, :, :n].T.astype(np.float64, order="C")}, [])
        scores = np.empty((X.shape[0], network.n_outputs))
        for place, block in X._blocks() if isinstance(X, RowBlocks) else [(slice(0, len(X)), X)]:
            scores_of_block = scores[place]
            for start in range(0, len(block), self.block_size):
                stop = start + self.block_size
                with np.errstate(over="ignore"):
                    rows = block[start:stop] - self._scaling.center
                    rows *= self._scaling.inverse_scale
                rows.clip(-rffnet.LARGEST_VALUE, rffnet.LARGEST_VALUE, out=rows)  # as training does
                rows = rows.astype(network.dtype, order="C", copy=False)
                scores_of_block[start:stop] = scorer.score(rows, self._n_jobs)
        return scores

    def mean_loss(self, rows: TargetRows) -> float:
        """Return the weighted mean of the losses of raw rows, at most LARGEST_LOSS."""
        losses = self._loss.of_rows(self.scores(rows.X), rows.values)
        return min(LARGEST_LOSS, float(np.average(losses, weights=rows.weights.values)))  # LARGEST_LOSS first: for nan
