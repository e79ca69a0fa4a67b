"""Scratch memory of the kernels: allocated once before the rounds, and handed to every call.

Nothing in a workspace is kept from one call to another, but for the values of the weak learner that an `Evaluation`
hands on.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._native import gbrff, scoring
from ..._rows.tiles import TILE, aligned


def _n_sums(n_tiles: int) -> int:
    """Number of partial sums over some tiles."""
    return -(-n_tiles * TILE // scoring.STRIP_ROWS)


def _padded(n_numbers: int, multiple: int) -> int:
    return -(-n_numbers // multiple) * multiple


class Sizes(NamedTuple):
    """What the size of a workspace follows from."""

    n_components: int  # cosines in a weak learner
    n_threads: int
    largest_subset: int = 0  # tiles
    search_threads: int = 1  # for kernels on subsets


class TileShape(Protocol):
    """Rows in tiles, as far as memory for them goes."""

    @property
    def n_tiles(self) -> int:
        """Tiles of all rows."""

    @property
    def n_features(self) -> int:
        """Columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Their precision."""


class EvaluationWorkspace:
    """Scratch for the evaluation of weak learners on all rows, and for the update that follows."""

    def __init__(self, rows: TileShape, sizes: Sizes, n_sums: int = 8) -> None:
        self.n_threads = sizes.n_threads
        self.partial = np.zeros((_n_sums(rows.n_tiles), n_sums))
        self.terms = np.zeros(gbrff.terms_size(sizes.n_components, rows.n_features), rows.dtype)
        self.h = aligned((rows.n_tiles, TILE), rows.dtype)  # values of a weak learner


class TrainingWorkspace(EvaluationWorkspace):
    """Scratch for the search of weak learners on subsets too."""

    def __init__(self, rows: TileShape, sizes: Sizes) -> None:
        n_features, dtype = rows.n_features, rows.dtype
        super().__init__(rows, sizes, _padded(max(64, n_features + 1), 8))
        self.search_threads = sizes.search_threads
        self.scaled = np.zeros(n_features, dtype)  # an omega in half turns
        self.circle = np.zeros((2, 32), dtype)  # cosine and sine of the phases that are tried first
        self.cosine, self.sine = aligned((2, sizes.largest_subset, TILE), dtype)  # residual times those of a row
        self.lanes = aligned((sizes.search_threads, n_features * scoring.LANE_COUNT), dtype)
        self.lanes[:] = 0


class LandmarkWorkspace(TrainingWorkspace):
    """Scratch for the search of landmarks of K cosines too: 2 K numbers of the precision for each row of a subset."""

    def __init__(self, rows: TileShape, sizes: Sizes) -> None:
        n_components, dtype = sizes.n_components, rows.dtype
        self.wave_partial = np.zeros((_n_sums(sizes.largest_subset), 1 + 2 * n_components))
        self.losses = np.zeros(n_components)
        self.phases = np.zeros(_padded(n_components, scoring.LANE_COUNT))
        self.direction = np.zeros(2 * n_components, dtype)
        self.padded_omegas = np.zeros((_padded(n_components, scoring.TERM_MULTIPLES[0]), rows.n_features), dtype)
        super().__init__(rows, sizes)
        self.waves = aligned((sizes.largest_subset, 2 * n_components, TILE), dtype)
        self.wave_lanes = aligned((sizes.search_threads, 2 * n_components * scoring.LANE_COUNT), dtype)
        self.wave_lanes[:] = 0
