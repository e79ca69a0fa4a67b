"""Which rows become basis vectors: a random subset of the rows, and a forward selection among them."""

import numpy as np

from .._data.scaling import no_scaling
from .._data.tiles import pack, tiled
from .._kernels import linalg
from .._kernels.sparse_selection import Selector

# Share of k(x, x) that the squared distance of a basis vector from the span of those before it must exceed: below,
# the vector is a near-duplicate and is skipped.  "ald" and "ran" have thresholds of the paper's.
_SMALLEST_DISTANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
_ALD_THRESHOLD = 1e-2
_RAN_THRESHOLD = 1e-4

_DOUBLE = np.dtype(np.float64)


class Subsets:
    """Random subsets of the rows of positive weight, in random order, drawn by weight where the rows have some."""

    def __init__(self, n_samples, size, weight, rng):
        self.rng = rng
        self.weighty = None if weight is None or weight.all() else np.flatnonzero(weight)
        self.n_weighty = n_samples if self.weighty is None else len(self.weighty)
        self.size = self.n_weighty if size is None else min(size, self.n_weighty)
        varied = weight is not None and (weight[weight > 0] != weight.max()).any() and self.size < self.n_weighty
        self.cumulated = np.cumsum(weight) if varied else None
        self.holds_all = self.size == self.n_weighty

    def draw(self):
        """Distinct indices of rows: one `choice`, or, by weight, one `random` and one `permutation`."""
        if self.cumulated is None:
            drawn = self.rng.choice(self.n_weighty, self.size, replace=False)
            return drawn if self.weighty is None else self.weighty[drawn]
        places = self.rng.random(self.size) * self.cumulated[-1]
        return self.rng.permutation(np.unique(np.searchsorted(self.cumulated[:-1], places, side="right")))


class BasisSelection:
    """Forward selection of `n_wanted` basis vectors at a time, by one of the rules of Sun and Yao.

    Vectors that are chosen alone (n_wanted = 1) are not chosen again.  With a `capacity` beyond 1 those before are kept
    in a dictionary too, whose span they must be outside of.
    """

    def __init__(self, rule, kernel, reg_lambda, n_wanted, capacity, n_candidates):
        self.rule, self.kernel, self.reg_lambda = rule, kernel, reg_lambda
        self.n_wanted, self.capacity, self.n_candidates = n_wanted, capacity, n_candidates
        self.alone = n_wanted == 1
        self.keeps_dictionary = self.alone and capacity > 1
        self.selector = None
        self.reset()

    def reset(self):
        """Forget the vectors chosen before."""
        self.dictionary, self.seen = [], None
        if self.selector is not None:
            self.selector.reset()

    @property
    def n_skipped(self):
        """Near-duplicates met so far."""
        return 0 if self.selector is None else self.selector.n_skipped

    def factor(self):
        """Cholesky factor of the Gram matrix of the vectors in the dictionary."""
        return np.asarray(self.selector.factor)

    def beyond_those_before(self):
        """Indices, weights and `before` of the `Learner` that the last vector makes less its part in others' span."""
        last = len(self.dictionary) - 1
        *before, length = self.factor()[last, : last + 1].tolist()
        weights = np.append(np.zeros(last), length)
        linalg.solve_factorised(self.factor(), weights)
        return np.array(self.dictionary), weights, np.array(before) / length

    def refuse(self):
        """Take the vector chosen last out of the dictionary."""
        if self.keeps_dictionary:
            self.dictionary.pop()
            self.selector.n_basis -= 1

    def choose(self, rows, indices, residual, pull):
        """Choose among rows.

        Parameters
        ----------
        rows : KernelRows
        indices : array of shape (n_subset,), the candidates
        residual : array of shape (n_subset,)
        pull : array of shape (n_subset,), the model's values there

        Returns
        -------
        array of at most n_wanted of the indices
        """
        if self.selector is None:
            smallest = _ALD_THRESHOLD if self.rule == "ald" else _SMALLEST_DISTANCE[rows.dtype]
            self.selector = Selector(self.rule, self.capacity if self.alone else self.n_wanted, rows.n_features,
                                     self.kernel.amplitude, self.kernel.bias, self.reg_lambda, smallest,
                                     _RAN_THRESHOLD, self.n_candidates)
        if not self.keeps_dictionary:
            self.selector.reset()
        if self.alone:
            self.seen = np.zeros(rows.n_samples, dtype=bool) if self.seen is None else self.seen
            new = ~self.seen[indices]
            indices, residual, pull = indices[new], residual[new], pull[new]
        else:
            pull = np.zeros(len(indices))
        if not len(indices):
            return indices
        tiles, _ = pack(rows.at(indices), no_scaling(rows.n_features), _DOUBLE, 1)
        weight, residual, pull = (tiled(values, _DOUBLE).reshape(-1)
                                  for values in (rows.flat_weight[indices], residual, pull))
        chosen = np.empty(self.n_wanted, np.intp)
        chosen = chosen[: self.selector.choose(tiles, weight, residual, pull, np.arange(len(indices)), chosen)]
        if self.alone:
            self.seen[indices[chosen]] = True
        if self.keeps_dictionary:
            self.dictionary.extend(indices[chosen].tolist())
        return indices[chosen]
