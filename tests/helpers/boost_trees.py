"""Growth of symmetric trees: rows for the kernels, and their twin in plain NumPy."""

from typing import NamedTuple

import numpy as np

from rffkern._native import boosting


class Tree(NamedTuple):
    """A grown tree."""

    columns: np.ndarray
    threshold_bins: np.ndarray
    gains: np.ndarray
    values: np.ndarray
    depth: int


def grow_arguments(binned, n_bins, gradient, hessian, candidates, depth, reg, n_train, n_threads=1, signs=None,
                   indicators=None):
    """Arguments of `grow_tree`, with what it writes to."""
    size = boosting.store_size(n_train, len(gradient), len(candidates), depth)
    signs = np.zeros(len(binned), np.int8) if signs is None else signs
    indicators = np.full(len(binned), -1) if indicators is None else indicators
    return {"binned": binned, "n_bins": n_bins, "signs": signs, "indicators": indicators, "gradient": gradient,
            "hessian": hessian,
            "candidates": np.asarray(candidates, dtype=np.intp), "depth": depth, "reg": reg, "n_train": n_train,
            "columns": np.full(depth, -7), "threshold_bins": np.full(depth, -7), "gains": np.full(depth, np.nan),
            "values": np.full((2**depth, len(gradient)), np.nan), "store": np.full(size, np.nan),
            "n_threads": n_threads}


def grow(*arguments):
    """The tree of the kernel."""
    found = grow_arguments(*arguments)
    reached = boosting.grow_tree(**found)
    return Tree(found["columns"], found["threshold_bins"], found["gains"], found["values"], reached)


def evaluate(binned, tree, n_threads=1):
    """Values of all rows, of the kernel."""
    out = np.full((tree.values.shape[1], binned.shape[1]), np.nan, np.float32)
    boosting.evaluate_tree(binned, tree.columns, tree.threshold_bins, tree.values, out, n_threads)
    return out


def leaf_arguments(binned, columns, threshold_bins, gradient, hessian, n_train, n_threads=1):
    """Arguments of `leaf_sums`, with what it writes to."""
    return {"binned": binned, "columns": columns, "threshold_bins": threshold_bins, "gradient": gradient,
            "hessian": hessian, "n_train": n_train, "leaves": np.full(n_train, 7, np.uint16),
            "sums": np.full((len(gradient), 2 ** len(columns), 2), np.nan), "n_threads": n_threads}


def leaves_of(binned, columns, threshold_bins):
    """The leaf of each row."""
    leaves = np.zeros(binned.shape[1], np.intp)
    for level, (column, threshold) in enumerate(zip(columns, threshold_bins, strict=True)):
        leaves |= (binned[column] > threshold).astype(np.intp) << level
    return leaves


def sums_of_leaves(leaves, n_leaves, rows):
    """Sums over the rows of each leaf, (n_outputs, n_leaves)."""
    return np.stack([np.bincount(leaves, weights=row, minlength=n_leaves) for row in rows])


def split_gains(binned, n_bins, signs, gradient, hessian, candidates, reg, leaves, n_leaves):
    """Gains of all splits, by candidate and threshold: a list of arrays.

    Leaves whose two sides are not in the order of the sign of a column gain nothing.
    """
    G, H = (sums_of_leaves(leaves, n_leaves, rows)[..., None] for rows in (gradient, hessian))
    gains = []
    for column in candidates:
        bins, joint = n_bins[column], leaves * 256 + binned[column]
        GL, HL = (sums_of_leaves(joint, n_leaves * 256, rows).reshape(-1, n_leaves, 256)[..., : bins - 1].cumsum(-1)
                  for rows in (gradient, hessian))
        left, right = GL / (HL + reg), (G - GL) / (H - HL + reg)
        found = GL * left + (G - GL) * right - G**2 / (H + reg)
        gains.append(np.where(signs[column] * (right - left) < 0, 0, found).sum(axis=(0, 1)))
    return gains


class Problem:
    """Random rows, of which the target follows from a few columns."""

    def __init__(self, seed, n, n_columns=5, n_outputs=1, most_bins=40, n_train=None, reg=1.0, weighted=False,
                 ordered=False):
        rng = np.random.default_rng(seed)
        self.n_bins = rng.integers(1, most_bins + 1, n_columns)
        self.n_bins[0] = most_bins
        self.binned = np.stack([rng.integers(0, bins, n, dtype=np.uint8) for bins in self.n_bins])
        self.weight = (rng.integers(0, 4, n) if weighted else np.ones(n)).astype(np.float32)
        signal = np.sin(self.binned[0] / 7.0) + 0.5 * (self.binned[-1] > self.n_bins[-1] // 3) * (self.binned[0] > 9)
        self.gradient = rng.standard_normal((n_outputs, n)) * 0.3 + signal * rng.uniform(-1, 1, (n_outputs, 1))
        self.gradient = (self.gradient * self.weight).astype(np.float32)
        self.hessian = (rng.uniform(0.1, 1, (n_outputs, n)) * self.weight).astype(np.float32)
        self.candidates = rng.permutation(n_columns)
        self.signs = (rng.integers(-1, 2, n_columns) if ordered else np.zeros(n_columns)).astype(np.int8)
        self.n_train, self.reg = n if n_train is None else n_train, reg

    def arguments(self, depth, **changes):
        found = {"binned": self.binned, "n_bins": self.n_bins, "gradient": self.gradient, "hessian": self.hessian,
                 "candidates": self.candidates, "depth": depth, "reg": self.reg, "n_train": self.n_train,
                 "n_threads": 1, "signs": self.signs} | changes
        return tuple(found.values())

    def grow(self, depth, **changes):
        return grow(*self.arguments(depth, **changes))

    def training_rows(self):
        """Bins, gradient and hessian of the training rows, in double precision."""
        return (self.binned[:, : self.n_train], *(rows[:, : self.n_train].astype(np.float64)
                                                  for rows in (self.gradient, self.hessian)))

    def gains(self, columns, threshold_bins, signs=None):
        """Gains of all splits after some levels, and the sum of G^2 / (H + reg) over the leaves of these."""
        signs = self.signs if signs is None else signs
        binned, gradient, hessian = self.training_rows()
        leaves, n_leaves = leaves_of(binned, columns, threshold_bins), 2 ** len(columns)
        G, H = (sums_of_leaves(leaves, n_leaves, rows) for rows in (gradient, hessian))
        gains = split_gains(binned, self.n_bins, signs, gradient, hessian, self.candidates, self.reg, leaves, n_leaves)
        return gains, (G**2 / (H + self.reg)).sum()

    def steps(self):
        """Of each candidate, the distance of the thresholds that are looked at first: 1, where there are few."""
        bins = self.n_bins[self.candidates]
        if len(bins) <= boosting.FEW_CANDIDATES:
            return np.ones_like(bins)
        return np.where(bins <= 64, 1, np.where(bins <= 128, 2, 4))

    def best_splits(self, gains, tolerance):
        """Columns and thresholds of the largest gain: of those looked at first, then of the 16 around the best."""
        steps = self.steps()
        first = [found[step - 1 :: step] for found, step in zip(gains, steps, strict=True)]
        best = max(found.max() for found in first if len(found))
        splits = set()
        for column, found, some, step in zip(self.candidates, gains, first, steps, strict=True):
            for threshold in np.flatnonzero(some >= best - tolerance) * step + step - 1:
                start = threshold if step == 1 else max(threshold - 7, 0)
                stop = start + (1 if step == 1 else 16)
                window = found[start:stop]
                splits |= {(column, start + i) for i in np.flatnonzero(window >= window.max() - tolerance)}
        return splits

    def values(self, columns, threshold_bins):
        """G / (H + reg) of the leaves."""
        binned, gradient, hessian = self.training_rows()
        leaves, n_leaves = leaves_of(binned, columns, threshold_bins), 2 ** len(columns)
        G, H = (sums_of_leaves(leaves, n_leaves, rows) for rows in (gradient, hessian))
        return (G / (H + self.reg)).T
