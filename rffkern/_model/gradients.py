"""Gradients of the smooth parts of a function, and bounds of how far it rises near a point.

Fourier terms, linear terms and kernels are smooth; trees, and the regions of kernels, are constant between thresholds.
An exponential kernel has a kink at its center, where its gradient counts as 0.
"""

from typing import NamedTuple

import numpy as np

from .._native.array_types import Double
from ..errors import InvalidInputError
from .expansion import Expansion
from .parts import FourierTerms, KernelTerms, LinearTerms, TreeTerms

_LARGEST = 2.0**1020  # of an entry of the gradient of a part

# The largest second derivative of a Gaussian kernel along a line where r >= 1, at r^2 = 3.
_GAUSSIAN_TAIL = 2 * np.exp(-1.5)


def gradient_of_row(expansion: Expansion, row: Double) -> Double:
    """The gradient (n_features, n_outputs) of the smooth parts at a row; 0 along columns beyond their bounds."""
    clipped = expansion._scorer.clip(row[None])[0]
    found = np.zeros((expansion.n_features, expansion.n_outputs))
    for part in expansion.parts:
        if isinstance(part, LinearTerms):
            found += part.coefficients.clip(-_LARGEST, _LARGEST)
        elif isinstance(part, FourierTerms):
            angles = part.omegas @ (clipped - expansion.center) - part.phases
            found += _product(part.omegas, -np.sin(angles)[:, None] * part.amplitudes)
        elif isinstance(part, KernelTerms):
            region = int(part.regions.of_rows(clipped[None])[0])
            own = slice(part.regions.starts[region], part.regions.starts[region + 1])
            away, slopes = _kernel_slopes(part, own, clipped)
            found += _product(away * part.inverse_length_scales, slopes[:, None] * part.weights[own])
        elif not isinstance(part, TreeTerms):
            raise InvalidInputError(f"parts of kind {part.kind!r} have no gradient")
    found[row != clipped] = 0.0
    return found


def _product(directions: Double, factors: Double) -> Double:
    """The sum over terms of directions (n_terms, n_features) times factors (n_terms, n_outputs), which is finite."""
    unit = np.abs(directions).max(axis=0, initial=0.0)
    unit[unit == 0] = 1.0
    with np.errstate(over="ignore"):
        found: Double = ((directions / unit).T @ factors) * unit[:, None]
    return found.clip(-_LARGEST, _LARGEST)


def _kernel_slopes(part: KernelTerms, own: slice, row: Double) -> tuple[Double, Double]:
    """(x - center) / length (n_centers, n_features), and k'(r) / r (n_centers,), of the centers of a region."""
    with np.errstate(over="ignore"):
        away = ((row - part.centers[own]) * part.inverse_length_scales).clip(-1e150, 1e150)
        squares = (away**2).sum(axis=1)
    if part.shape == "gaussian":
        return away, -np.exp(-squares / 2)
    distances = np.sqrt(squares)
    return away, -np.exp(-distances) / np.where(distances > 0, distances, np.inf)


class Neighbourhood(NamedTuple):
    """All rows whose weighted distance from a row is at most 1, sum over free columns j of |x_j - x_j0| / u_j <= 1."""

    expansion: Expansion
    row: Double  # (n_features,) mapped
    # (n_features, n_free): how far a mapped column moves at most where a free column moves by its u_j.
    reaches: Double

    def rise(self, outputs: Double) -> float:
        """An upper bound of how much a combination of outputs, (n_outputs,), rises above its value at the row.

        The smooth parts rise by at most |g|_1 + R, with g the gradient in units of u, and R a bound of the remainder of
        Taylor's formula, of each term, or by what each term can rise alone.  A tree rises to the largest value of a
        leaf that is near enough.
        """
        if not self.reaches.size:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._smooth_rise(outputs) + self._tree_rise(outputs)
        return np.inf if np.isnan(found) else found

    def _smooth_rise(self, outputs: Double) -> float:
        expansion = self.expansion
        for part in expansion.parts:
            if not isinstance(part, (FourierTerms, LinearTerms, TreeTerms, KernelTerms)):
                raise InvalidInputError(f"parts of kind {part.kind!r} have no bound of how far they rise")
        row = expansion._scorer.clip(self.row[None])[0]
        gradient, alone, remainder = np.zeros(expansion.n_features), 0.0, 0.0
        if expansion.linear is not None:
            gradient += expansion.linear.coefficients @ outputs
            alone += self._along(gradient)
        if expansion.fourier is not None:
            part, amplitudes = expansion.fourier, expansion.fourier.amplitudes @ outputs
            turns = (np.abs(part.omegas) @ self.reaches).max(axis=1, initial=0.0)  # of the angle, at most
            angles = part.omegas @ (row - expansion.center) - part.phases
            from_top = np.abs(np.remainder(angles + np.where(amplitudes < 0, np.pi, 0) + np.pi, 2 * np.pi) - np.pi)
            rises = np.abs(amplitudes) * (np.cos(np.maximum(from_top - turns, 0)) - np.cos(from_top))
            is_slow = turns < 1
            gradient += (-np.sin(angles) * amplitudes * is_slow) @ part.omegas
            remainder += float(np.where(is_slow, np.abs(amplitudes) * np.minimum(turns, 1) ** 2 / 2, rises).sum())
            alone += float(rises.sum())
        kernels = expansion.kernels
        if kernels is None:
            return min(self._along(gradient) + remainder, alone)
        here = int(kernels.regions.of_rows(row[None])[0])
        lows, highs = kernels.regions.boxes(len(row))
        extent = self.reaches.max(axis=1, initial=0.0)
        bounds, values = {}, {}
        for region in np.flatnonzero(((row + extent > lows) & (row - extent <= highs)).all(axis=1)).tolist():
            values[region], of_region, rise, rest = self._kernel_rise(kernels, region, row, outputs)
            bounds[region] = values[region] + min(self._along(gradient + of_region) + remainder + rest, alone + rise)
        return max(bounds.values()) - values[here]

    def _kernel_rise(self, part: KernelTerms, region: int, row: Double,
                     outputs: Double) -> tuple[float, Double, float, float]:
        """Of the kernels of a region: their value, gradient, rise, and the remainder beyond value and gradient."""
        own = slice(part.regions.starts[region], part.regions.starts[region + 1])
        away, slopes = _kernel_slopes(part, own, row)
        weights, r = part.weights[own] @ outputs, np.sqrt((away**2).sum(axis=1))
        move = float((part.inverse_length_scales @ self.reaches).max(initial=0.0))  # of r, at most
        near, far = np.maximum(r - move, 0), r + move
        gradient = (weights * slopes * part.inverse_length_scales[:, None] * away.T).sum(axis=1)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            if part.shape == "gaussian":
                at, highest, lowest = (np.exp(-(each**2) / 2) for each in (r, near, far))
                steepest = np.exp(-np.maximum(near, 1) ** 2 / 2) * np.maximum(near, 1)
                curvature = np.maximum(highest, np.where(near**2 < 3, _GAUSSIAN_TAIL, (near**2 - 1) * highest))
            else:
                at, highest, lowest = np.exp(-r), np.exp(-near), np.exp(-far)
                steepest, curvature = highest, highest * (1 + 1 / near)
        rest = np.minimum(curvature * move * (move / 2), 2 * steepest * move)
        rise = np.where(weights > 0, weights * (highest - at), weights * (lowest - at))
        return float(weights @ at), gradient, float(rise.sum()), float((np.abs(weights) * rest).sum())

    def _along(self, gradient: Double) -> float:
        """The most that a linear function rises."""
        return float((np.abs(gradient) @ self.reaches).max(initial=0.0))

    def _tree_rise(self, outputs: Double) -> float:
        """Of each tree, the largest value of a leaf within the distance 1, less that of the leaf of the row.

        The distance of a leaf is what the thresholds take that a row must cross to it: of those by one free column the
        farthest, summed over free columns.  With u = (2, 1) and the row (0, 0), the leaf of x0 > 1 and x1 > 0.8 has the
        distance 0.5 + 0.8 and is out of reach.
        """
        trees = self.expansion.trees
        if trees is None or not trees.n_terms:
            return 0.0
        columns, steps = trees.tree_columns.astype(np.intp), trees.layout.steps
        at = self.expansion._scorer.clip(self.row[None])[0][columns]  # (n_trees, depth)
        is_right, reach = at > trees.tree_thresholds, self.reaches[columns]  # (n_trees, depth, n_free)
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.abs(at - trees.tree_thresholds) / reach.max(axis=2)
        distances = np.nan_to_num(distances, nan=np.inf)  # 0 / 0: a column that does not move
        owner = np.repeat(np.arange(trees.n_terms), np.diff(trees.starts))  # the tree of each leaf
        is_right_of_leaf = trees.layout.is_right(trees.tree_columns, trees.tree_thresholds)
        is_crossed = (is_right_of_leaf != is_right[owner]) & (steps > 0)[owner]
        crossed = np.where(is_crossed, distances[owner], 0.0)  # (n_leaves, depth)
        if (reach > 0).sum(axis=2).max(initial=0) > 1:  # several free columns move a mapped one
            distance = crossed.max(axis=1, initial=0.0)
        else:
            free = reach.argmax(axis=2)
            distance = np.zeros(len(owner))
            for column in np.unique(free).tolist():
                distance += np.where((free == column)[owner], crossed, 0.0).max(axis=1)
        values = trees.tree_values @ outputs
        best = np.maximum.reduceat(np.where(distance <= 1 + 1e-12, values, -np.inf), trees.starts[:-1])
        here = values[trees.starts[:-1] + (is_right * steps).sum(axis=1)]
        return float((np.maximum(best, here) - here).sum())
