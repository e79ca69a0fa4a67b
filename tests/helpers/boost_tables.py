"""Growth of symmetric tables: rows for the kernels, and their twin in plain NumPy."""

from typing import NamedTuple

import numpy as np

from rffkern._native import boosting


class Table(NamedTuple):
    """A grown table."""

    columns: np.ndarray
    cuts: np.ndarray
    gains: np.ndarray
    values: np.ndarray
    depth: int


def grow_arguments(codes, n_bins, gradient, hessian, candidates, depth, reg, n_train):
    """Arguments of `grow_table`, with what it writes to."""
    size = boosting.store_size(n_train, len(gradient), len(candidates), depth)
    return {"codes": codes, "n_bins": n_bins, "gradient": gradient, "hessian": hessian,
            "candidates": np.asarray(candidates, dtype=np.intp), "depth": depth, "reg": reg, "n_train": n_train,
            "columns": np.full(depth, -7), "cuts": np.full(depth, -7), "gains": np.full(depth, np.nan),
            "values": np.full((2**depth, len(gradient)), np.nan), "store": np.full(size, np.nan)}


def grow(*arguments):
    """The table of the kernel."""
    found = grow_arguments(*arguments)
    reached = boosting.grow_table(**found)
    return Table(found["columns"], found["cuts"], found["gains"], found["values"], reached)


def evaluate(codes, table):
    """Values of all rows, of the kernel."""
    out = np.full((table.values.shape[1], codes.shape[1]), np.nan, np.float32)
    boosting.evaluate_table(codes, table.columns, table.cuts, table.values, out)
    return out


def cells_of(codes, columns, cuts):
    """The cell of each row."""
    cells = np.zeros(codes.shape[1], np.intp)
    for level, (column, cut) in enumerate(zip(columns, cuts, strict=True)):
        cells |= (codes[column] > cut).astype(np.intp) << level
    return cells


def sums_of_cells(cells, n_cells, rows):
    """Sums over the rows of each cell, (n_outputs, n_cells)."""
    return np.stack([np.bincount(cells, weights=row, minlength=n_cells) for row in rows])


def question_gains(codes, n_bins, gradient, hessian, candidates, reg, cells, n_cells):
    """Gains of all questions, by candidate and cut: a list of arrays."""
    G, H = (sums_of_cells(cells, n_cells, rows)[..., None] for rows in (gradient, hessian))
    gains = []
    for column in candidates:
        bins, joint = n_bins[column], cells * 256 + codes[column]
        GL, HL = (sums_of_cells(joint, n_cells * 256, rows).reshape(-1, n_cells, 256)[..., : bins - 1].cumsum(axis=-1)
                  for rows in (gradient, hessian))
        gains.append((GL**2 / (HL + reg) + (G - GL) ** 2 / (H - HL + reg) - G**2 / (H + reg)).sum(axis=(0, 1)))
    return gains


class Problem:
    """Random rows, of which the target follows from a few columns."""

    def __init__(self, seed, n, n_columns=5, n_outputs=1, most_bins=40, n_train=None, reg=1.0, weighted=False):
        rng = np.random.default_rng(seed)
        self.n_bins = rng.integers(1, most_bins + 1, n_columns)
        self.n_bins[0] = most_bins
        self.codes = np.stack([rng.integers(0, bins, n, dtype=np.uint8) for bins in self.n_bins])
        self.weight = (rng.integers(0, 4, n) if weighted else np.ones(n)).astype(np.float32)
        signal = np.sin(self.codes[0] / 7.0) + 0.5 * (self.codes[-1] > self.n_bins[-1] // 3) * (self.codes[0] > 9)
        self.gradient = rng.standard_normal((n_outputs, n)) * 0.3 + signal * rng.uniform(-1, 1, (n_outputs, 1))
        self.gradient = (self.gradient * self.weight).astype(np.float32)
        self.hessian = (rng.uniform(0.1, 1, (n_outputs, n)) * self.weight).astype(np.float32)
        self.candidates = rng.permutation(n_columns)
        self.n_train, self.reg = n if n_train is None else n_train, reg

    def arguments(self, depth, **changes):
        found = {"codes": self.codes, "n_bins": self.n_bins, "gradient": self.gradient, "hessian": self.hessian,
                 "candidates": self.candidates, "depth": depth, "reg": self.reg, "n_train": self.n_train} | changes
        return tuple(found.values())

    def grow(self, depth, **changes):
        return grow(*self.arguments(depth, **changes))

    def training_rows(self):
        """Codes, gradient and hessian of the training rows, in double precision."""
        return (self.codes[:, : self.n_train], *(rows[:, : self.n_train].astype(np.float64)
                                                 for rows in (self.gradient, self.hessian)))

    def gains(self, columns, cuts):
        """Gains of all questions after some levels, and the sum of G^2 / (H + reg) over the cells of these."""
        codes, gradient, hessian = self.training_rows()
        cells, n_cells = cells_of(codes, columns, cuts), 2 ** len(columns)
        G, H = (sums_of_cells(cells, n_cells, rows) for rows in (gradient, hessian))
        gains = question_gains(codes, self.n_bins, gradient, hessian, self.candidates, self.reg, cells, n_cells)
        return gains, (G**2 / (H + self.reg)).sum()

    def steps(self):
        """Of each candidate, the distance of the cuts that are looked at first: 1, where there are few candidates."""
        bins = self.n_bins[self.candidates]
        if len(bins) <= boosting.FEW_CANDIDATES:
            return np.ones_like(bins)
        return np.where(bins <= 64, 1, np.where(bins <= 128, 2, 4))

    def best_questions(self, gains, tolerance):
        """Columns and cuts whose gain is the largest: of the cuts looked at first, then of the 16 around the best."""
        steps = self.steps()
        first = [found[step - 1 :: step] for found, step in zip(gains, steps, strict=True)]
        best = max(found.max() for found in first if len(found))
        questions = set()
        for column, found, some, step in zip(self.candidates, gains, first, steps, strict=True):
            for cut in np.flatnonzero(some >= best - tolerance) * step + step - 1:
                start, stop = (cut, cut + 1) if step == 1 else (max(cut - 7, 0), max(cut - 7, 0) + 16)
                window = found[start:stop]
                questions |= {(column, start + i) for i in np.flatnonzero(window >= window.max() - tolerance)}
        return questions

    def values(self, columns, cuts):
        """G / (H + reg) of the cells."""
        codes, gradient, hessian = self.training_rows()
        cells, n_cells = cells_of(codes, columns, cuts), 2 ** len(columns)
        G, H = (sums_of_cells(cells, n_cells, rows) for rows in (gradient, hessian))
        return (G / (H + self.reg)).T
