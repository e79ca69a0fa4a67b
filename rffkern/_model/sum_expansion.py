"""Frozen sums of a term expansion and a kernel expansion."""

from typing import Any

import numpy as np

from .._native.array_types import ArrayLike, NDArray
from ..errors import InvalidInputError
from .expansion import Expansion
from .kernel_expansion import KernelExpansion
from .term_expansion import TermExpansion

Double = NDArray[np.float64]
Real = NDArray[Any]  # float32 or float64

_TERM_ARRAYS, _BOUNDS = TermExpansion.array_names[:-2], TermExpansion.array_names[-2:]
_KERNEL_ARRAYS = ("centers", "weights", "inverse_length_scales", "exponent")
_REGION_ARRAYS = ("region_columns", "region_thresholds", "region_starts")


class SumExpansion(Expansion):
    """H(x) = that of a `TermExpansion` + sum over m of weights[m] k(r), as in a `KernelExpansion`.

    The arrays are those of the two, with one intercept.  An expansion is immutable, and many threads may score it at
    once.

    Parameters
    ----------
    omegas, phases, amplitudes, intercept, center, slopes, table_columns, thresholds, table_values : arrays
        As in `TermExpansion`.
    centers, weights, inverse_length_scales, exponent, region_columns, region_thresholds, region_starts : arrays
        As in `KernelExpansion`.
    lower, upper : arrays or None
        As in `TermExpansion`; the kernels see the clipped rows too.

    Attributes
    ----------
    n_terms, n_features, n_outputs : int
        Numbers of cosines, tables and kernels together, of columns of a row, and of scores of a row.
    terms : TermExpansion
        The cosines, tables and lines, with the intercept.
    kernels : KernelExpansion
        The kernels, with an intercept of 0.  A score is that of the terms plus that of the kernels.

    Raises
    ------
    InvalidInputError
        If an array is not finite, the shapes do not agree, or a table reads a column that is not there.

    Examples
    --------
    >>> from rffkern import KernelExpansion, SumExpansion, TermExpansion
    >>> step = TermExpansion([[1.0]], [0.0], [[0.0]], [1.0], [0.0], [[0.0]], [[0]], [[0.5]], [[2.0], [3.0]])
    >>> bump = KernelExpansion([[0.0]], [[2.0]], [0.0], [1.0])
    >>> SumExpansion.of(step, bump).score([[0.0], [100.0]])
    array([[5.],
           [4.]])
    """

    kind = "sum_expansion"
    array_names = (*_TERM_ARRAYS, *_KERNEL_ARRAYS, *_REGION_ARRAYS, *_BOUNDS)

    terms: TermExpansion
    kernels: KernelExpansion

    def __init__(self, omegas: ArrayLike, phases: ArrayLike, amplitudes: ArrayLike, intercept: ArrayLike,
                 center: ArrayLike, slopes: ArrayLike, table_columns: ArrayLike, thresholds: ArrayLike,
                 table_values: ArrayLike, centers: ArrayLike, weights: ArrayLike, inverse_length_scales: ArrayLike,
                 exponent: ArrayLike, region_columns: ArrayLike = (), region_thresholds: ArrayLike = (),
                 region_starts: ArrayLike | None = None, lower: ArrayLike | None = None,
                 upper: ArrayLike | None = None) -> None:
        terms = TermExpansion(omegas, phases, amplitudes, intercept, center, slopes, table_columns, thresholds,
                              table_values, lower, upper)
        self._hold(terms, KernelExpansion(centers, weights, np.zeros(terms.n_outputs), inverse_length_scales, exponent,
                                          region_columns, region_thresholds, region_starts))

    @classmethod
    def of(cls, terms: TermExpansion, kernels: KernelExpansion) -> "SumExpansion":
        """The sum of two expansions, the second with an intercept of 0; it shares their arrays."""
        if kernels.intercept.any():
            raise InvalidInputError(f"kernels must have an intercept of 0, got {kernels.intercept.tolist()}")
        found = object.__new__(cls)
        found._hold(terms, kernels)
        return found

    def _hold(self, terms: TermExpansion, kernels: KernelExpansion) -> None:
        sizes = [(part.n_features, part.n_outputs) for part in (terms, kernels)]
        if sizes[0] != sizes[1]:
            raise InvalidInputError("terms and kernels must agree in the numbers of features and outputs, got "
                                    f"{sizes[0]} and {sizes[1]}")
        vars(self).update(terms.arrays())
        vars(self).update({name: getattr(kernels, name) for name in (*_KERNEL_ARRAYS, *_REGION_ARRAYS)})
        vars(self).update(terms=terms, kernels=kernels, n_terms=terms.n_terms + kernels.n_terms,
                          n_features=terms.n_features, n_outputs=terms.n_outputs, _packed={}, _fits_single={})

    def score_checked(self, X: Real, n_threads: int | None = None) -> Double:
        """`score` for rows that `check_array` has passed and whose number of columns is right."""
        return self.terms._score_clipped(X, self._score_within, n_threads)

    def _score_within(self, X: Real, n_threads: int | None) -> Double:
        """Scores of rows that are within the bounds."""
        scores = self.terms._score_within(X, n_threads)
        scores += self.kernels.score_checked(X, n_threads)
        return scores

    def score_plain(self, X: Any, n_threads: int | None = None) -> Double | None:
        """`score` for an array of few rows, once such have been scored."""
        scores = self.terms.score_plain(X, n_threads)
        return None if scores is None else scores + self.kernels.score_checked(X, n_threads)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None = None, largest: float = np.inf) -> Double:
        """`score_checked` for rows in tiles, all numbers up to `largest`."""
        tiles = self.terms._clip(tiles, n_threads)
        scores = self.terms.score_tiles(tiles, n_samples, n_threads, largest)
        scores += self.kernels.score_tiles(tiles, n_samples, n_threads, largest)
        return scores

    def bound(self) -> Double:
        """What no score exceeds in magnitude, shape (n_outputs,)."""
        return self.terms.bound() + self.kernels.bound()

    def _can_be_single(self) -> bool:
        return self.terms.fits_single() and self.kernels.fits_single()
