"""Scratch memory of the kernels: allocated once before the rounds, and handed to every call.

Nothing in a workspace is kept from one call to another, but for the values of the weak learner that an `Evaluation`
hands on.
"""

from typing import Any

import numpy as np

from .._data.tiles import TILE, aligned
from .._kernels import gbrff_rounds, packing
from .packed_rows import PackedRows


def _n_sums(n_tiles: int) -> int:
    """Number of partial sums over some tiles."""
    return -(-n_tiles * TILE // packing.ROW_BLOCK)


def _padded(n_numbers: int, multiple: int) -> int:
    return -(-n_numbers // multiple) * multiple


class EvaluationWorkspace:
    """Scratch for the evaluation of weak learners on all rows, and for the update that follows."""

    def __init__(self, rows: PackedRows, n_components: int, n_threads: int, n_sums: int = 8) -> None:
        self.n_threads = n_threads
        self.h = aligned((rows.n_tiles, TILE), rows.dtype)  # values of a weak learner
        self.terms = np.zeros(gbrff_rounds.terms_size(n_components, rows.n_features), rows.dtype)
        self.partial = np.zeros((_n_sums(rows.n_tiles), n_sums))


class TrainingWorkspace(EvaluationWorkspace):
    """Scratch for the search of weak learners on subsets too, of `largest_subset` tiles at most."""

    def __init__(self, rows: PackedRows, n_components: int, n_threads: int, largest_subset: int,
                 search_threads: int) -> None:
        n_features, dtype = rows.n_features, rows.dtype
        super().__init__(rows, n_components, n_threads, _padded(max(64, n_features + 1), 8))
        self.search_threads, self.largest_subset = search_threads, largest_subset
        self.scaled = np.zeros(n_features, dtype)  # an omega in half turns
        self.circle = np.zeros((2, 32), dtype)  # cosine and sine of the phases that are tried first
        self.cosine, self.sine = aligned((2, largest_subset, TILE), dtype)  # residual times cosine and sine of rows
        self.lanes = aligned((search_threads, n_features * packing.LANE_COUNT), dtype)
        self.lanes[:] = 0


class LandmarkWorkspace:
    """Scratch for the search of landmarks of K cosines: 2 K numbers of the precision for each row of a subset."""

    def __init__(self, n_components: int, n_features: int, dtype: np.dtype[Any], largest_subset: int,
                 n_threads: int) -> None:
        self.n_threads = n_threads
        self.losses = np.zeros(n_components)
        self.phases = np.zeros(_padded(n_components, packing.LANE_COUNT))
        self.direction = np.zeros(2 * n_components, dtype)
        self.padded_omegas = np.zeros((_padded(n_components, packing.TERM_MULTIPLES[0]), n_features), dtype)
        self.waves = aligned((largest_subset, 2 * n_components, TILE), dtype)
        self.lanes = aligned((n_threads, 2 * n_components * packing.LANE_COUNT), dtype)
        self.lanes[:] = 0
        self.partial = np.zeros((_n_sums(largest_subset), 1 + 2 * n_components))
