"""The network that RFFNet trains: its parameters as kernels read them, and passes over rows that change them."""

import copy
import math

import numpy as np

from .._data.row_blocks import chunks
from .._data.threads import check_n_threads
from .._data.tiles import TILE, aligned
from .._kernels import packing, rffnet, scoring
from ..errors import InvalidInputError
from ..expansion import FourierExpansion

# Times the learning rate over the number of terms, all of which may move f together: the step of a coefficient.
_COEFFICIENT_RATE = 23.0

# Numbers of rows that are standardised together to be scored.
_SCORED_NUMBERS = 1 << 18

TERMS = packing.TERM_MULTIPLES[0]

_NO_WEIGHT = np.empty(0)


class Network:
    """f(x) = constant + sum over k of b_k cos(omegas[k] . (relevances o x) + offsets[k]) of standardised rows.

    The b_k are the paper's beta_k times sqrt(2 / s), the size of its features.  Adam's moments stand beside
    coefficients and relevances, and the constant is the coefficient of a term of angle 0, the first after the others.
    """

    def __init__(self, omegas, offsets, relevances, start, dtype):
        self.n_terms, self.n_features = omegas.shape
        self.dtype = np.dtype(dtype)
        padded = -(-(self.n_terms + 1) // rffnet.TERM_GROUP) * rffnet.TERM_GROUP
        self.omegas = self._zeros((padded, self.n_features))
        self.omegas[: self.n_terms] = omegas
        self.shifts = self._zeros((padded,))  # half turns
        self.shifts[: self.n_terms] = -offsets / math.pi
        self.coefficients = self._zeros((3, len(start), padded))
        self.coefficients[0, :, self.n_terms] = start
        self.relevances = self._zeros((3, self.n_features))
        self.relevances[0] = relevances
        self.n_steps = 0

    def _zeros(self, shape):
        array = aligned(shape, self.dtype)
        array[...] = 0
        return array

    n_outputs = property(lambda self: self.coefficients.shape[1])

    def copy(self):
        """Return another, with the same values and moments."""
        return copy.deepcopy(self)

    def values(self):
        """Return a copy of coefficients and relevances, as `restore` takes them."""
        return self.coefficients[0].copy(), self.relevances[0].copy()

    def restore(self, values):
        """Go back to earlier values, with the moments as they are."""
        self.coefficients[0], self.relevances[0] = values

    def scores(self, X, scaling, n_threads):
        """Return f at raw rows, an array or RowBlocks, shape (n_samples, n_outputs)."""
        out = np.empty((X.shape[0], self.n_outputs))
        omegas = self.omegas * (self.relevances[0] / math.pi).astype(self.dtype)
        size = max(TILE, _SCORED_NUMBERS // self.n_features)
        n_threads = check_n_threads(n_threads, min(size, len(out)) * self.omegas.size)
        scratch = aligned((n_threads, self.n_features * TILE), self.dtype)
        for rows, block in chunks(X):
            found = out[rows]
            for start in range(0, len(block), size):
                some = self._standardised(block[start : start + size], scaling)
                scoring.score_rows(some, np.zeros(self.n_features), omegas, self.shifts, self.coefficients[0],
                                     np.zeros(self.n_outputs), found[start : start + size], scratch, n_threads)
        return out

    def _standardised(self, X, scaling):
        """Rows as training sees them."""
        with np.errstate(over="ignore"):
            rows = (X - scaling.center) * scaling.inverse_scale
        return rows.clip(-rffnet.LARGEST_VALUE, rffnet.LARGEST_VALUE).astype(self.dtype)

    def expansion(self, center, scale, scaling):
        """Return the function of a raw row, of targets less `center` in units of `scale`."""
        n, coefficients = self.n_terms, self.coefficients[0].astype(np.float64)
        with np.errstate(over="ignore"):
            omegas = self.omegas[:n] * (self.relevances[0] * scaling.inverse_scale)
        if not np.isfinite(omegas).all():
            raise InvalidInputError("X must have columns of larger spread: omegas of its units overflow, got a spread "
                                    f"of {1 / scaling.inverse_scale.max():.3g}")
        return FourierExpansion(omegas, math.pi * self.shifts[:n].astype(np.float64), coefficients[:, :n].T * scale,
                                center + scale * coefficients[:, n], scaling.center)


class Descent:
    """Passes of mini-batch steps over a network, and the scratch they take."""

    def __init__(self, network, loss, scaling, batch_size, joint, n_threads):
        self.network, self._loss, self._scaling, self._joint = network, loss, scaling, joint
        self.batch_size = batch_size
        n_groups, group = len(network.omegas) // rffnet.TERM_GROUP, rffnet.TERM_GROUP
        by_group = network.omegas.reshape(n_groups, group, network.n_features).transpose(0, 2, 1)
        self._groups = aligned((n_groups, -(-network.n_features // TERMS) * TERMS, group), network.dtype)
        self._groups[:, : network.n_features] = by_group
        self._groups[:, network.n_features :] = 0
        n_tiles = -(-batch_size // TILE)
        n_reals, n_doubles = rffnet.scratch_sizes(network.n_features, len(network.omegas), network.n_outputs,
                                                   batch_size)
        self._work, self._sums = aligned((n_tiles, n_reals), network.dtype), np.empty((n_tiles, n_doubles))
        self._n_threads = min(n_tiles, check_n_threads(n_threads, batch_size * network.omegas.size))

    def take(self, X, order, targets, weight, learning_rate, ridge, lasso):
        """Pass over the rows `order` of an array once; return the sum of their weighted losses."""
        network = self.network
        feature_size = math.sqrt(2 / network.n_terms)
        coefficient_rate = _COEFFICIENT_RATE * learning_rate / network.n_terms
        relevance_rate = learning_rate / math.sqrt(network.n_features)
        total = rffnet.train_rows(
            self._loss.compiled, X, order, self._scaling.center, self._scaling.inverse_scale, targets,
            _NO_WEIGHT if weight is None else weight, network.omegas, self._groups, network.shifts,
            network.coefficients, network.relevances, network.n_terms, self.batch_size, network.n_steps,
            coefficient_rate, coefficient_rate / feature_size, relevance_rate, ridge / feature_size**2, lasso,
            self._joint, self._work, self._sums, self._n_threads)
        network.n_steps += -(-len(order) // self.batch_size)
        return total
