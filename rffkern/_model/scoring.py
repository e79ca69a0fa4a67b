"""Scores of rows by an expansion."""

from typing import Any

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Mask, NDArray
from .._rows.threads import check_n_threads
from .parts import Part

Real = NDArray[Any]  # float32 or float64
RowParts = list[tuple[slice | Mask, NDArray[Any]]]  # rows, and their places among all


class Scorer:
    """Scores of checked rows, by the scorer in C: `rff_scorer.h` has the rules of precision and of bounds.

    What it reads is made for a precision of rows when such are first scored, and kept.  No lock guards it, and none is
    needed: it depends on the arrays alone, so that two threads that make it at the same time make equal ones.
    """

    def __init__(self, arrays: dict[str, Double], others: list[Part]) -> None:
        self._arrays, self._others = arrays, others
        self._made: dict[np.dtype[Any], scoring.Scorer] = {}

    def score(self, X: Real, n_threads: int | None) -> Double:
        """Scores of rows (n_samples, n_features)."""
        return self.score_tiles(X, len(X), n_threads)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None) -> Double:
        """Scores of tiles (n_tiles, n_features, `scoring.tile_width`), 0 beyond the rows."""
        scorer = self._of(tiles.dtype)
        out = np.empty((n_samples, len(self._arrays["intercept"])))
        scorer.score(tiles, out, check_n_threads(n_threads, n_samples * scorer.row_size))
        for part in self._others:
            rows = tiles if tiles.ndim == 2 else tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])[:n_samples]
            part._add_to(out, self.clip(rows), self._arrays["center"])
        return out

    def score_few(self, X: Any) -> Double | None:
        """Scores of an array of few rows that needs no checks, once such have been scored; else None."""
        scorer = self._made.get(X.dtype) if type(X) is np.ndarray else None
        return None if scorer is None or self._others else scorer.take(X)

    def clip(self, rows: Real) -> Real:
        """Rows (n_samples, n_features) with each column clipped to its bounds, in the precision of the rows.

        The same array where all are within them.
        """
        if "lower" not in self._arrays:
            return rows
        with np.errstate(over="ignore"):  # no bound is infinite in single precision
            lower, upper = (self._arrays[name].astype(rows.dtype) for name in ("lower", "upper"))
        return rows if ((rows >= lower) & (rows <= upper)).all() else rows.clip(lower, upper)

    def in_precisions(self, X: Real) -> RowParts:
        """Rows and their places: float32 rows where angles of cosines are large in float64, all others as they are."""
        if X.dtype == np.float64:
            return [(slice(None), X)]
        far = np.frombuffer(self._of(X.dtype).find_far(X), bool)
        if not far.any():
            return [(slice(None), X)]
        parts = [(~far, X.dtype), (far, np.dtype(np.float64))]
        return [(rows, X[rows].astype(dtype, copy=False)) for rows, dtype in parts if rows.any()]

    @property
    def fits(self) -> tuple[bool, bool]:
        """Whether single precision suffices for cosines and for kernels, where float32 rows are not far out."""
        return self._of(np.dtype(np.float32)).fits_single

    def _of(self, dtype: np.dtype[Any]) -> scoring.Scorer:
        made = self._made.get(dtype)
        return made or self._made.setdefault(dtype, scoring.Scorer(self._arrays, dtype == np.float32))
