"""Frozen states of trained sparse kernel machines, and scoring."""

from typing import Any

import numpy as np

from .._native import scoring
from .._native.array_types import ArrayLike, NDArray
from .._rows.pieces import row_pieces
from .._rows.threads import check_n_threads
from ..errors import InvalidInputError
from .angles import sum_in_order
from .centers import PackedCenters, pad_centers, pad_weights, probes
from .expansion import LARGEST_SINGLE, Expansion
from .regions import Regions

Double = NDArray[np.float64]
Real = NDArray[Any]  # float32 or float64

# In units of 2^-|x - z|^2, from the middle of all centers.  Farther out, single precision does not tell rows apart.
_LARGEST_SINGLE_LENGTH = 1e3

_SHAPES = {1.0: "exponential", 2.0: "gaussian"}  # of kernels, by their exponents

# A kernel expansion is scored in single precision if that changes its values by at most this share of the largest one.
_SINGLE_ERROR = 1e-4

_NONE = np.empty(0)  # of a tree that asks nothing


def _length(given: Any) -> int:
    """The number of rows of what may be an array."""
    try:
        return len(given)
    except TypeError:
        return 0


class KernelExpansion(Expansion):
    """H(x) = intercept + sum over m of weights[m] k(r), with r = |(x - centers[m]) * inverse_length_scales|.

    The kernel k(r) is exp(-r^2 / 2), "gaussian", or exp(-r), "exponential".  With regions, the sum is over the centers
    of the region that x falls into.  The arrays are kept as read-only float64 copies.  An expansion is immutable, and
    many threads may score it at once.

    Parameters
    ----------
    centers : array of shape (n_terms, n_features), feature units
    weights : array of shape (n_terms, n_outputs)
    intercept : array of shape (n_outputs,)
    inverse_length_scales : array of shape (n_features,), per unit of the feature; 0 for a feature that has no
        influence
    exponent : array of shape (1,), default [2.0]
        The exponent p of k(r) = exp(-r^p / p): 2 of the Gaussian kernel, 1 of the exponential one.
    region_columns, region_thresholds : arrays of shape (n_regions - 1,), default none
        A binary tree whose leaves, all at one depth, are the regions, of which there are 1, 2, 4 or another power of 2.
        Node k has the children 2 k + 1 and 2 k + 2, and x goes to the second if its column is above the threshold.
    region_starts : array of shape (n_regions + 1,), default [0, n_terms]
        Region c, from the left, has the centers from region_starts[c] to region_starts[c + 1].

    Attributes
    ----------
    n_regions : int
        Number of regions, 1 where all centers count for each row.
    n_terms, n_features, n_outputs : int
        Numbers of terms, of columns of a row, and of scores of a row.
    shape : str
        "gaussian" or "exponential".

    Raises
    ------
    InvalidInputError
        If an array is not finite or the shapes do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import KernelExpansion
    >>> bump = KernelExpansion([[0.0]], [[2.0]], [1.0], [1.0])
    >>> bump.score([[0.0], [100.0]])
    array([[3.],
           [1.]])
    """

    kind = "kernel_expansion"
    array_names = ("centers", "weights", "intercept", "inverse_length_scales", "exponent", "region_columns",
                   "region_thresholds", "region_starts")
    _dimensions, _coefficients = (2, 2, 1, 1, 1, 1, 1, 1), "weights"

    centers: Double
    weights: Double
    inverse_length_scales: Double
    exponent: Double
    region_columns: Double
    region_thresholds: Double
    region_starts: Double
    shape: str
    n_regions: int
    _regions: Regions
    _of_regions: "dict[int, KernelExpansion]"  # by region, once it is known

    def __init__(self, centers: ArrayLike, weights: ArrayLike, intercept: ArrayLike, inverse_length_scales: ArrayLike,
                 exponent: ArrayLike = (2.0,), region_columns: ArrayLike = (), region_thresholds: ArrayLike = (),
                 region_starts: ArrayLike | None = None) -> None:
        starts = [0, _length(centers)] if region_starts is None else region_starts
        super().__init__(centers, weights, intercept, inverse_length_scales, exponent, region_columns,
                         region_thresholds, starts)
        shape = _SHAPES.get(float(self.exponent[0]))
        if shape is None:
            raise InvalidInputError(f"exponent must be [1.0] or [2.0], got {self.exponent.tolist()}")
        regions = Regions.of(self.region_columns, self.region_thresholds, self.region_starts, self.centers.shape)
        if regions is None:
            raise InvalidInputError("region_columns, region_thresholds and region_starts must be a binary tree of "
                                    f"columns, whose regions have the {self.n_terms} centers one after the other")
        vars(self).update(shape=shape, n_regions=len(self.region_starts) - 1, _regions=regions, _of_regions={})

    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        asked = (len(self.region_columns),)
        return (self.centers.shape, (self.n_terms, self.n_outputs), (self.n_outputs,), (self.n_features,), (1,), asked,
                asked, (asked[0] + 2,))

    def _of_region(self, region: int) -> "KernelExpansion":
        """The sum over the centers of a region, which shares their arrays."""
        found = self._of_regions.get(region)
        if found is None:
            start, stop = self._regions.starts[region : region + 2].tolist()
            found = object.__new__(KernelExpansion)
            vars(found).update(vars(self) | {
                "centers": self.centers[start:stop], "weights": self.weights[start:stop], "n_terms": stop - start,
                "region_columns": _NONE, "region_thresholds": _NONE, "region_starts": np.array([0.0, stop - start]),
                "n_regions": 1, "_packed": {}, "_fits_single": {}, "_of_regions": {}})
            self._of_regions[region] = found
        return found

    def score_checked(self, X: Real, n_threads: int | None = None) -> Double:
        """`score` for rows that `check_array` has passed and whose number of columns is right."""
        return self.score_tiles(X.reshape(*X.shape, 1), len(X), n_threads)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None = None, largest: float = np.inf) -> Double:
        """`score_checked` for rows in tiles, or one by one."""
        if self.n_regions > 1:
            rows = tiles.transpose(0, 2, 1).reshape(-1, self.n_features)[:n_samples]
            out = np.empty((n_samples, self.n_outputs))
            for region, there in self._regions.pieces(rows):
                out[there] = self._of_region(region).score_checked(rows[there], n_threads)
            return out
        single = tiles.dtype == np.float32 and self.fits_single()
        return self._score_in(tiles, n_samples, np.dtype(np.float32 if single else np.float64), n_threads)

    def _score_in(self, X: Real, n_samples: int, dtype: np.dtype[Any], n_threads: int | None) -> Double:
        """Scores of rows, one by one (n_samples, n_features, 1) or in tiles, in a precision."""
        middle, scale, centers, weights = self._packed.get(dtype) or self._pack(dtype)
        n_threads = check_n_threads(n_threads, n_samples * (self.n_features + 2) * len(centers))
        out = np.empty((n_samples, self.n_outputs))
        scratch = np.empty((n_threads, self.n_features * scoring.TILE_ROWS), dtype)
        totals = np.empty((n_threads, self.n_outputs * scoring.TILE_ROWS))
        scoring.score_centers(X, middle, scale, centers, weights, self.intercept, int(self.exponent[0]), out, scratch,
                              totals, n_threads)
        return out

    def _units(self) -> tuple[Double, Double]:
        """Middle of the centers, and the factor that brings differences from it to the units of 2^-|x - z|^p."""
        from .._native import sparse

        scale = sparse.UNITS[int(self.exponent[0])] * self.inverse_length_scales
        if not self.n_terms:
            return np.zeros(self.n_features), scale
        return 0.5 * self.centers.min(axis=0) + 0.5 * self.centers.max(axis=0), scale

    def _can_be_single(self) -> bool:
        """Whether single precision tells centers apart and scores a few of them nearly as double precision does.

        The weights of smooth functions are often large and cancel, so the loss of precision is measured.
        """
        if self.n_regions > 1:
            filled = np.flatnonzero(np.diff(self.region_starts)).tolist()
            return all(self._of_region(region).fits_single() for region in filled)
        middle, scale = self._units()
        with np.errstate(over="ignore"):
            largest = max((np.sqrt(sum_in_order((((self.centers[rows] - middle) * scale) ** 2).T)).max()
                           for rows in row_pieces(self.centers.shape)), default=0.0)
        if not (largest < _LARGEST_SINGLE_LENGTH and np.abs(self.weights).max(initial=0) < LARGEST_SINGLE):
            return False
        rows = probes(self.centers)
        exact, rounded = (self._score_in(rows.reshape(*rows.shape, 1), len(rows), np.dtype(dtype), None)
                          for dtype in (np.float64, np.float32))
        return bool((np.abs(rounded - exact) <= _SINGLE_ERROR * np.abs(exact - self.intercept).max(axis=0, initial=0))
                    .all())

    def _pack(self, dtype: np.dtype[Any]) -> PackedCenters:
        """Make and keep the centers and weights as kernels read them."""
        middle, scale = self._units()
        centers = pad_centers((self.centers - middle) * scale, dtype)
        packed = self._packed[dtype] = PackedCenters(middle, scale, centers, pad_weights(self.weights.T, len(centers)))
        return packed
