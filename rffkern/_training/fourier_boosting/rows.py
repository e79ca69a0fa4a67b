"""Training rows as members learn from them: columns in single precision, codes for tables, and what is held out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._model.table_layout import UNREACHED
from ..._rows.row_blocks import blocks
from ..._rows.scaling import Scaling
from ..._rows.tiles import TILE
from .bins import Bins, evenly_spaced, make_bins, told_apart

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]


# Numbers that are standardised at once, and how far out they are seen: single precision can hold their squares.
_NUMBERS, _FARTHEST = 1 << 18, 1e18


class Bounds(NamedTuple):
    """What columns are clipped to where rows are scored, so that no row is far outside of what was learned.

    A linear function goes on beyond the training range, for (2 IQR)^2 / width, with IQR the distance of the quartiles:
    for as long again where values are spread evenly, as times are, for little where few rows are far out, and in any
    case for no more than the width.  Without linear functions the bounds are the range: a cosine that was learned
    within it says nothing beyond.
    """

    lower: Double  # (n_columns,)
    upper: Double

    @classmethod
    def of(cls, low: Double, high: Double, values: Single, scaling: Scaling,
           counting: slice | Indices = slice(None), extrapolates: bool = True) -> "Bounds":
        """From the range of columns, and values (n_columns, n_rows) in units of the scaling, of which some count."""
        if not extrapolates:
            return cls(low, high)
        quartiles = np.array([np.quantile(evenly_spaced(column[counting]), (0.25, 0.75)) for column in values])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # of constant columns, and near 1e308
            half_width = 0.5 * high - 0.5 * low
            share = np.nan_to_num((quartiles[:, 1] - quartiles[:, 0]) / (half_width * scaling.inverse_scale), posinf=1)
            margin = 2 * np.minimum(share**2, 1) * half_width
            return cls(np.maximum(low - margin, -UNREACHED), np.minimum(high + margin, UNREACHED))


class Columns(NamedTuple):
    """Rows column by column, in units of `scaling`."""

    values: Single  # (n_columns, n_rows)
    sources: Indices  # (n_columns,) which column of the raw table each is made of
    bins: Bins
    bounds: Bounds  # in units of the rows

    @classmethod
    def of(cls, parts: Sequence[Any], scaling: Scaling, sources: Indices, forms: NDArray[np.str_] | None,
           extrapolates: bool) -> "Columns":
        """Read them from LabelledRows or TargetRows, one after the other; the first are those to learn from.

        The others are clipped to the bounds that the first ones give, as rows to predict are.
        """
        training, *others = parts
        n_features, n_train = training.X.shape[1], training.X.shape[0]
        values = np.empty((n_features, sum(part.X.shape[0] for part in parts)), dtype=np.float32)
        low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        for rows, block in blocks(training.X):
            shown = training.weights.hide(rows, block, scaling.center)
            low, high = np.minimum(low, shown.min(axis=0)), np.maximum(high, shown.max(axis=0))
            standardise(shown, scaling, values[:, rows.start : rows.start + len(block)])
        weights = training.weights
        counting = weights.positive() if weights.has_zeros else slice(0, n_train)
        bounds = Bounds.of(low, high, values, scaling, counting, extrapolates)
        start = n_train
        for part in others:
            for rows, block in blocks(part.X):
                shown = part.weights.hide(rows, block, scaling.center).clip(*bounds)
                first = start + rows.start
                standardise(shown, scaling, values[:, first : first + len(block)])
            start += part.X.shape[0]
        _, numbered = np.unique(sources, return_inverse=True)
        return cls(values, numbered, make_bins(values, told_apart(sources, forms), counting), bounds)

    @property
    def n_sources(self) -> int:
        """Number of columns of the raw table that are used."""
        return int(self.sources.max()) + 1


def standardise(rows: NDArray[Any], scaling: Scaling, out: Single) -> None:
    """Columns of rows in units of the scaling, piece by piece."""
    step = max(1, _NUMBERS // rows.shape[1])
    for start in range(0, len(rows), step):
        piece = slice(start, start + step)
        with np.errstate(over="ignore"):  # which is clipped
            units = (rows[piece] - scaling.center) * scaling.inverse_scale
        np.clip(units.T, -_FARTHEST, _FARTHEST, out=out[:, piece], casting="same_kind")


class Layout(NamedTuple):
    """The order of the rows of a member: those to learn from, then those held out, each padded to whole tiles."""

    rows: Indices  # index of the row, any where `used` is False
    used: NDArray[np.bool_]
    n_train: int  # padded

    @classmethod
    def of(cls, learned: Indices, held_out: Indices, rng: "np.random.Generator") -> "Layout":
        """Lay rows out, those to learn from in random order."""
        learned, held_out = _padded(rng.permutation(learned)), _padded(held_out)
        rows = np.concatenate([learned, held_out])
        return cls(np.maximum(rows, 0), rows >= 0, len(learned))

    def held_out(self, scores: Single) -> tuple[Indices, Single]:
        """The rows held out, and their scores without those of padding, (n_outputs, n_held)."""
        used = self.used[self.n_train :]
        return self.rows[self.n_train :][used], scores[:, used]

    @classmethod
    def of_watched(cls, held_out: Indices) -> "Layout":
        """Lay rows out from which nothing is learned."""
        rows = _padded(held_out)
        return cls(np.maximum(rows, 0), rows >= 0, 0)


def _padded(rows: Indices) -> Indices:
    """Rows, and -1 up to a whole number of tiles."""
    padded = np.full(-(-len(rows) // TILE) * TILE, -1, dtype=np.intp)
    padded[: len(rows)] = rows
    return padded


def partition(strata: NDArray[Any], n_folds: float, rng: "np.random.Generator") -> Indices:
    """The fold of each row: a fold has 1 / n_folds of the rows of each stratum.

    Every n_folds-th row of the shuffled strata is in fold 0, the next one in fold 1 and so on.  Where n_folds is not
    whole, rows numbered int(n_folds) are left over: they are in none of the int(n_folds) folds.
    """
    order = np.lexsort((rng.random(len(strata)), strata))
    places = np.arange(len(strata)) + rng.integers(int(n_folds))
    starts = np.ceil(np.arange(int(places[-1] / n_folds) + 2) * n_folds).astype(np.intp)
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = places - starts[np.searchsorted(starts, places, side="right") - 1]
    return folds
