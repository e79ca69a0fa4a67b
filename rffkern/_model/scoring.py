"""Scores of rows by the parts of a trained function, in the precision that rows need."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._native import boosting, scoring
from .._native.array_types import DTypeLike, NDArray
from .._rows.pieces import row_pieces
from .._rows.threads import check_n_threads
from .._rows.validation import LARGEST_FLOAT32, LARGEST_VALUE
from .angles import AngleBound, RowParts, sum_in_order
from .centers import PackedCenters, pad_centers, pad_weights, probes
from .cosines import PackedCosines, pack_cosines
from .parts import PARTS, FourierTerms, KernelTerms, Part, TreeTerms
from .table_layout import pack_tables

Double = NDArray[np.float64]
Real = NDArray[Any]  # float32 or float64

# Terms with larger numbers are scored in double precision, whatever the precision of the rows.
LARGEST_SINGLE = 1e30

# In units of 2^-|x - z|^2, from the middle of all centers.  Farther out, single precision does not tell rows apart.
_LARGEST_SINGLE_LENGTH = 1e3

# Kernels are scored in single precision if that changes their sum by at most this share of the largest one.
_SINGLE_ERROR = 1e-4

_CLIPPED_ROWS = 1024  # that are clipped together


class CosineScorer:
    """Intercept + Fourier terms."""

    def __init__(self, terms: FourierTerms, intercept: Double, center: Double) -> None:
        self.terms, self.intercept, self.center = terms, intercept, center
        self.angles = AngleBound.of(terms.omegas, terms.phases, terms.amplitudes, center)
        arrays = (*terms.arrays().values(), intercept, center)
        self.fits_single = self.angles.phases_fit() and all(
            scoring.find_unbounded(array.reshape(-1), LARGEST_SINGLE) < 0 for array in arrays)
        self._packed: dict[np.dtype[Any], PackedCosines] = {}
        self._few: dict[np.dtype[Any], scoring.FewRows] = {}

    def score(self, X: Real, n_threads: int | None) -> Double:
        """Scores of checked rows: those of float32 that are far out in double precision."""
        parts = self.in_precisions(X)
        if len(parts) == 1:
            return self._score_as_given(parts[0][1], n_threads)
        out = np.empty((X.shape[0], len(self.intercept)))
        for rows, part in parts:
            out[rows] = self._score_as_given(part, n_threads)
        return out

    def score_few(self, X: Any) -> Double | None:
        """Scores of an array of few rows, once such have been scored; None for what needs checks."""
        packed = self._few.get(X.dtype) if type(X) is np.ndarray else None
        return None if packed is None else packed.take(X)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None, largest: float) -> Double:
        """Scores of rows in tiles (n_tiles, n_features, width), no number of which is above `largest`."""
        if tiles.dtype == np.float32 and not (self.fits_single and self.angles.are_small(tiles, largest)):
            rows = tiles.transpose(0, 2, 1).copy()  # in C order
            return self.score(rows.reshape(-1, tiles.shape[1])[:n_samples], n_threads)
        return self._score_laid_out(tiles, n_samples, n_threads)

    def in_precisions(self, X: Real) -> RowParts:
        """Rows and their places: float32 rows where angles are large in float64, all others as they are."""
        if X.dtype == np.float64:
            return [(slice(None), X)]
        return self.angles.divide(X) if self.fits_single else [(slice(None), X.astype(np.float64))]

    def _score_as_given(self, X: Real, n_threads: int | None) -> Double:
        if len(X) < scoring.FEW:
            return (self._few.get(X.dtype) or self._pack_few(X.dtype)).score(X)
        return self._score_laid_out(X.reshape(*X.shape, 1), len(X), n_threads)

    def _score_laid_out(self, X: Real, n_samples: int, n_threads: int | None) -> Double:
        packed = self._packed.get(X.dtype) or self._pack(X.dtype)
        out = np.empty((n_samples, len(self.intercept)))
        n_threads = check_n_threads(n_threads, n_samples * packed.omegas.size)
        scratch = np.empty((n_threads, X.shape[1] * scoring.TILE_ROWS), X.dtype)
        scoring.score_rows(X, self.center, *packed, self.intercept, out, scratch, n_threads)
        return out

    def _pack(self, dtype: DTypeLike) -> PackedCosines:
        terms = self.terms
        n, n_features = terms.omegas.shape
        n_omegas, n_amplitudes = (-(-n // multiple) * multiple for multiple in scoring.TERM_MULTIPLES)
        omegas, shifts = np.zeros((n_omegas, n_features), dtype), np.zeros(n_omegas, dtype)
        amplitudes = np.zeros((terms.n_outputs, n_amplitudes), dtype)
        for rows in row_pieces(terms.omegas.shape):
            omegas[:n][rows] = terms.omegas[rows] / np.pi
        shifts[:n], amplitudes[:, :n] = terms.phases / np.pi, terms.amplitudes.T
        packed = self._packed[np.dtype(dtype)] = pack_cosines(omegas, shifts, amplitudes)
        return packed

    def _pack_few(self, dtype: np.dtype[Any]) -> scoring.FewRows:
        """The same for few rows: shifts and omegas in tiles of terms."""
        n_features = len(self.center)
        omegas, _, _, shifts, amplitudes = self._packed.get(dtype) or self._pack(dtype)
        terms = np.zeros((1 + n_features, -(-len(shifts) // scoring.TILE_ROWS), scoring.TILE_ROWS), dtype)
        terms.reshape(1 + n_features, -1)[:, : len(shifts)] = np.vstack([shifts, omegas.T])
        limit = LARGEST_VALUE if dtype == np.float64 else min(LARGEST_FLOAT32, self.angles.largest_value)
        few = scoring.FewRows(self.center, terms.transpose(1, 0, 2).copy(), amplitudes, self.intercept, limit)
        return self._few.setdefault(dtype, few)


class KernelScorer:
    """Intercept + kernels, in regions where they have some."""

    def __init__(self, terms: KernelTerms, intercept: Double) -> None:
        self.terms, self.intercept = terms, intercept
        self._packed: dict[np.dtype[Any], PackedCenters] = {}
        self._single: bool | None = None
        self._of_regions: dict[int, KernelScorer] = {}

    @property
    def fits_single(self) -> bool:
        """Whether single precision suffices for float32 rows."""
        if self._single is None:
            self._single = self._can_be_single()
        return self._single

    def score(self, X: Real, n_threads: int | None) -> Double:
        """Scores of checked rows."""
        return self.score_tiles(X.reshape(*X.shape, 1), len(X), n_threads)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None) -> Double:
        """Scores of rows in tiles, or one by one."""
        if self.terms.n_regions > 1:
            rows = tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])[:n_samples]
            out = np.empty((n_samples, len(self.intercept)))
            for region, there in self.terms.regions.pieces(rows):
                out[there] = self._of_region(region).score(rows[there], n_threads)
            return out
        single = tiles.dtype == np.float32 and self.fits_single
        return self._score_in(tiles, n_samples, np.dtype(np.float32 if single else np.float64), n_threads)

    def _of_region(self, region: int) -> "KernelScorer":
        scorer = self._of_regions.get(region)
        if scorer is None:
            scorer = self._of_regions[region] = KernelScorer(self.terms.of_region(region), self.intercept)
        return scorer

    def _score_in(self, X: Real, n_samples: int, dtype: np.dtype[Any], n_threads: int | None) -> Double:
        """Scores of rows, one by one (n_samples, n_features, 1) or in tiles, in a precision."""
        middle, scale, centers, weights = self._packed.get(dtype) or self._pack(dtype)
        n_features, n_outputs = X.shape[1], len(self.intercept)
        n_threads = check_n_threads(n_threads, n_samples * (n_features + 2) * len(centers))
        out = np.empty((n_samples, n_outputs))
        scratch = np.empty((n_threads, n_features * scoring.TILE_ROWS), dtype)
        totals = np.empty((n_threads, n_outputs * scoring.TILE_ROWS))
        scoring.score_centers(X, middle, scale, centers, weights, self.intercept, int(self.terms.exponent[0]), out,
                              scratch, totals, n_threads)
        return out

    def _units(self) -> tuple[Double, Double]:
        """Middle of the centers, and the factor that brings differences from it to the units of 2^-|x - z|^p."""
        from .._native import sparse  # here, so that a model of cosines does not load it

        centers = self.terms.centers
        scale = sparse.UNITS[int(self.terms.exponent[0])] * self.terms.inverse_length_scales
        if not len(centers):
            return np.zeros(centers.shape[1]), scale
        return 0.5 * centers.min(axis=0) + 0.5 * centers.max(axis=0), scale

    def _can_be_single(self) -> bool:
        """Whether single precision tells centers apart and scores a few of them nearly as double precision does.

        The weights of smooth functions are often large and cancel, so the loss of precision is measured.
        """
        terms = self.terms
        if terms.n_regions > 1:
            filled = np.flatnonzero(np.diff(terms.region_starts)).tolist()
            return all(self._of_region(region).fits_single for region in filled)
        middle, scale = self._units()
        with np.errstate(over="ignore"):
            largest = max((np.sqrt(sum_in_order((((terms.centers[rows] - middle) * scale) ** 2).T)).max()
                           for rows in row_pieces(terms.centers.shape)), default=0.0)
        if not (largest < _LARGEST_SINGLE_LENGTH and np.abs(terms.weights).max(initial=0) < LARGEST_SINGLE):
            return False
        rows = probes(terms.centers)
        exact, rounded = (self._score_in(rows.reshape(*rows.shape, 1), len(rows), np.dtype(dtype), None)
                          for dtype in (np.float64, np.float32))
        return bool((np.abs(rounded - exact) <= _SINGLE_ERROR * np.abs(exact - self.intercept).max(axis=0, initial=0))
                    .all())

    def _pack(self, dtype: np.dtype[Any]) -> PackedCenters:
        middle, scale = self._units()
        centers = pad_centers((self.terms.centers - middle) * scale, dtype)
        weights = pad_weights(self.terms.weights.T, len(centers))
        packed = self._packed[dtype] = PackedCenters(middle, scale, centers, weights)
        return packed


class TreeScorer:
    """What trees add to scores, of rows of any precision exactly the same."""

    def __init__(self, terms: TreeTerms) -> None:
        self._size, self._unit = terms.tree_columns.size, terms.unit
        self._packed = pack_tables(terms.tree_columns, terms.tree_thresholds, terms.layout, terms.values_in_units())

    def add(self, rows: Real, scores: Double, n_threads: int | None) -> None:
        """Add to the scores of rows, in tiles or one by one."""
        n_threads = check_n_threads(n_threads, len(scores) * self._size)
        sums = scores if self._unit == 1 else np.zeros_like(scores)
        scratch = np.empty((n_threads, self._packed.scratch_size(len(scores))), np.int8)
        boosting.score_tables(rows, self._packed, sums, scratch, n_threads)
        if self._unit != 1:
            scores += self._unit * sums


class Scorer:
    """Scores of rows by an expansion: intercept and cosines, then linear terms, trees and kernels are added.

    What kernels in C read is made when it is first needed, and kept.  No lock guards it, and none is needed: it depends
    on the arrays alone, so that two threads that make it at the same time make equal ones.
    """

    def __init__(self, intercept: Double, center: Double, bounds: tuple[Double, Double] | None,
                 parts: Sequence[Part]) -> None:
        self._bounds, self._center = bounds, center
        by_kind: dict[str, Any] = {part.kind: part for part in parts}
        fourier, linear, trees, kernels = (by_kind.pop(part.kind, None) for part in PARTS[:4])
        self._others = list(by_kind.values())
        n_outputs = len(intercept)
        alone = kernels is not None and len(parts) == 1
        nothing = FourierTerms(np.empty((0, len(center))), [], np.empty((0, n_outputs)))
        self.cosines = None if alone else CosineScorer(fourier or nothing, intercept, center)
        self._coefficients = None if linear is None or not linear.coefficients.any() else linear.coefficients
        self._trees = TreeScorer(trees) if trees is not None and trees.n_terms else None
        self.kernels = None if kernels is None else KernelScorer(kernels, intercept if alone else np.zeros(n_outputs))

    @property
    def fits_single(self) -> bool:
        """Whether single precision suffices for float32 rows."""
        return all(part.fits_single for part in (self.cosines, self.kernels) if part is not None)

    def score(self, X: Real, n_threads: int | None) -> Double:
        """Scores of checked rows: clipped all at once if they are within the bounds, else block by block."""
        if self._are_within(X, n_threads):
            return self._score_within(X, n_threads)
        return np.concatenate([self._score_within(self.clip(X[start : start + _CLIPPED_ROWS], n_threads), n_threads)
                               for start in range(0, len(X), _CLIPPED_ROWS)])

    def score_few(self, X: Any) -> Double | None:
        """Scores of an array of few rows that needs neither checks nor clipping, once such have been scored."""
        if self.cosines is None:
            return None
        scores = self.cosines.score_few(X)
        if scores is None or not self._are_within(X, 1):
            return None
        self._add(X.reshape(*X.shape, 1), scores, None)
        if self.kernels is not None:
            scores += self.kernels.score(X, None)
        return scores

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None, largest: float = np.inf) -> Double:
        """Scores of tiles (n_tiles, n_features, `scoring.tile_width`), 0 beyond rows, all numbers up to `largest`."""
        tiles = self.clip(tiles, n_threads)
        if self.cosines is None:
            assert self.kernels is not None
            return self.kernels.score_tiles(tiles, n_samples, n_threads)
        scores = self.cosines.score_tiles(tiles, n_samples, n_threads, largest)
        self._add(tiles, scores, n_threads)
        if self.kernels is not None:
            scores += self.kernels.score_tiles(tiles, n_samples, n_threads)
        return scores

    def clip(self, rows: Real, n_threads: int | None) -> Real:
        """Rows (n_samples, n_features), or tiles of rows, with each column clipped to its bounds.

        The same array where all are within them.
        """
        if self._bounds is None or self._are_within(rows, n_threads):
            return rows
        with np.errstate(over="ignore"):  # no bound is infinite in single precision
            lower, upper = (bound.astype(rows.dtype) for bound in self._bounds)
        return rows.clip(lower, upper) if rows.ndim == 2 else rows.clip(lower[:, None], upper[:, None])

    def _are_within(self, rows: Real, n_threads: int | None) -> bool:
        if self._bounds is None or not rows.size:
            return True
        laid_out = rows.reshape(*rows.shape, 1) if rows.ndim == 2 else rows
        return boosting.is_within(laid_out, *self._bounds, check_n_threads(n_threads, rows.size))

    def _score_within(self, X: Real, n_threads: int | None) -> Double:
        if self.cosines is None:
            assert self.kernels is not None
            return self.kernels.score(X, n_threads)
        scores = self.cosines.score(X, n_threads)
        self._add(X.reshape(*X.shape, 1), scores, n_threads)
        if self.kernels is not None:
            scores += self.kernels.score(X, n_threads)
        return scores

    def _add(self, rows: Real, scores: Double, n_threads: int | None) -> None:
        """Add linear terms and trees to scores of rows, in tiles or one by one."""
        if self._coefficients is not None:
            boosting.score_lines(rows, self._center, self._coefficients, scores)
        if self._trees is not None:
            self._trees.add(rows, scores, n_threads)
        for part in self._others:
            part._add_to(scores, rows.transpose(0, 2, 1).reshape(-1, rows.shape[1])[: len(scores)], self._center)
