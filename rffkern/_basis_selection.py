"""Which rows become basis vectors: a random subset of the rows, and a forward selection among them."""

import numpy as np

from ._kernels._selection import Selector
from ._scaling import Scaling
from ._tiles import pack, tiled

# Share of k(x, x) that the squared distance of a basis vector from the span of those before it must exceed: below,
# the vector is a near-duplicate and is skipped.  "ald" and "ran" have thresholds of the paper's.
_SMALLEST_DISTANCE = 1e-9
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
    """Forward selection of `n_wanted` basis vectors at a time, by one of the rules of Sun and Yao."""

    def __init__(self, rule, kernel, reg_lambda, n_wanted, capacity, n_candidates):
        self.rule, self.kernel, self.reg_lambda = rule, kernel, reg_lambda
        self.n_wanted, self.capacity, self.n_candidates = n_wanted, capacity, n_candidates
        self.keeps_dictionary = n_wanted == 1  # then each vector is a learner, and must differ from all before it
        self.selector = self.chosen_before = None

    def reset(self):
        """Forget the vectors chosen before."""
        self.chosen_before = None
        if self.selector is not None:
            self.selector.reset()

    @property
    def n_skipped(self):
        """Near-duplicates met so far."""
        return 0 if self.selector is None else self.selector.n_skipped

    def factor(self):
        """Cholesky factor of the Gram matrix of the vectors in the dictionary."""
        return np.asarray(self.selector.factor)

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
            smallest = _ALD_THRESHOLD if self.rule == "ald" else _SMALLEST_DISTANCE
            self.selector = Selector(self.rule, self.capacity if self.keeps_dictionary else self.n_wanted,
                                     rows.n_features, self.kernel.amplitude, self.kernel.bias, self.reg_lambda,
                                     smallest, _RAN_THRESHOLD, self.n_candidates)
        if self.keeps_dictionary:
            if self.chosen_before is None:
                self.chosen_before = np.zeros(rows.n_samples, dtype=bool)
            new = ~self.chosen_before[indices]
            indices, residual, pull = indices[new], residual[new], pull[new]
            if not len(indices):
                return indices
        else:
            self.selector.reset()
            pull = np.zeros(len(indices))
        plain = Scaling(np.zeros(rows.n_features), np.ones(rows.n_features), 1.0)
        tiles, _ = pack(rows.at(indices), plain, _DOUBLE, 1)
        weight, residual, pull = (tiled(values, _DOUBLE).reshape(-1)
                                  for values in (rows.flat_weight[indices], residual, pull))
        chosen = np.empty(self.n_wanted, np.intp)
        found = self.selector.choose(tiles, weight, residual, pull, np.arange(len(indices)), chosen)
        if self.keeps_dictionary:
            self.chosen_before[indices[chosen[:found]]] = True
        return indices[chosen[:found]]
