"""What files need to divide the score of a row among its raw columns, as `explain` does with its marginals.

The background is a product of marginals, so that of each term only a few numbers of it are left: of a cosine the mean
of exp(i omega . (x - center)) for each raw column that it reads, of a Gaussian kernel that of its factor, of a linear
function the mean of each product, and of a tree the values of its columns in each leaf (`_model/shapley.py`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._estimator.explanations import _marginals, sources_of
from .._model.parts import FourierTerms, KernelTerms, LinearTerms, TreeTerms
from .._model.shapley import Background, Explainer, mixture, rules_of
from ..errors import InvalidInputError

Array = NDArray[Any]


class ContributionArrays(NamedTuple):
    """Arrays of a file, and the values that contributions are added to for the score."""

    arrays: dict[str, Array]
    base_values: Array  # (n_outputs,)


def contributions_of(model: Any) -> ContributionArrays:
    """The arrays of a fitted model; InvalidInputError for kernels exp(-r), or columns without distributions."""
    expansion = model.expansion_
    if expansion.kernels is not None and expansion.kernels.shape != "gaussian":
        n_kernels = len(mixture(expansion.kernels.shape))
        raise InvalidInputError(
            f"explain must be False for this {type(model).__name__}, as each of its kernels exp(-r) is a mixture of "
            f"{n_kernels} Gaussian ones, and the file would need {n_kernels * expansion.kernels.centers.size:,} means; "
            "Gaussian kernels can be exported (kernel='gaussian' of kernel ridge regression), and Fourier boosting "
            "with kernel_ridge=False has none")
    sources = sources_of(model)
    background = _marginals(model, sources)
    explainer = Explainer(expansion, sources, model.n_features_in_, background)
    arrays: dict[str, Array] = {}
    for part, explained in zip(expansion.parts, explainer._parts, strict=True):
        if part.kind not in _PARTS:
            raise InvalidInputError(f"contributions of terms of kind {part.kind!r} cannot be exported")
        if part._exported(expansion.center):  # as in the file
            arrays |= _PARTS[part.kind](part, explained, expansion.center, np.asarray(sources, np.int64), background)
    reads = [arrays[name] for name in ("shapley_reads", "shapley_kernel_reads") if name in arrays]
    if reads:
        most = max(int(each.sum(axis=1).max(initial=1)) for each in reads)  # columns that a product reads
        ends, rules = rules_of(most)
        arrays |= {"shapley_rule_ends": ends.astype(np.int64), "shapley_nodes": rules[0], "shapley_weights": rules[1]}
    return ContributionArrays(arrays, explainer.base_values)


# The arrays of each kind of part, from the part, what `explain` makes of it, the center, sources and the background.


def _fourier(part: FourierTerms, _: Any, center: Array, sources: Array, background: Background) -> dict[str, Array]:
    """Which raw columns cosines read, (n_terms, n_columns), and the means of their factors."""
    omegas, n_columns = part.omegas, len(background.shares)
    reads = np.zeros((len(omegas), n_columns), dtype=np.int64)
    means = np.zeros((len(omegas), n_columns), dtype=complex)
    for column in range(n_columns):
        own = sources == column
        reads[:, column] = (omegas[:, own] != 0).any(axis=1)
        angles = (background.rows[:, own] - center[own]) @ omegas[:, own].T
        means[:, column] = background.shares[column] @ np.exp(1j * angles)
    means[reads == 0] = 0
    return {"shapley_sources": sources, "shapley_reads": reads, "shapley_real": means.real,
            "shapley_imaginary": means.imag}


def _linear(_: LinearTerms, explained: Any, center: Array, sources: Array, background: Background) -> dict[str, Array]:
    return {"shapley_sources": sources, "shapley_line_means": explained._means}


def _trees(_: TreeTerms, explained: Any, center: Array, sources: Array, background: Background) -> dict[str, Array]:
    place_ends, places, starts, tables = explained._tables
    return {"shapley_place_ends": place_ends.astype(np.int64), "shapley_places": places.astype(np.int64),
            "shapley_starts": starts.astype(np.int64), "shapley_tables": tables}


def _kernels(part: KernelTerms, _: Any, center: Array, sources: Array, background: Background) -> dict[str, Array]:
    """Which raw columns kernels read in each region, (n_regions, n_columns), and means of their factors."""
    n_columns, region = len(background.shares), part.regions.of_centers()
    lows, highs = part.regions.boxes(part.centers.shape[1])
    is_read = (part.inverse_length_scales != 0) | (lows > -np.inf) | (highs < np.inf)
    reads = np.zeros((part.n_regions, n_columns), dtype=np.int64)
    means = np.zeros((part.n_terms, n_columns))
    for column in range(n_columns):
        own, rows = sources == column, background.rows[:, sources == column]
        reads[:, column] = is_read[:, own].any(axis=1)
        inside = ((rows > lows[:, None, own]) & (rows <= highs[:, None, own])).all(axis=2) * background.shares[column]
        apart = (rows - part.centers[:, None, own]) * part.inverse_length_scales[own]
        means[:, column] = (inside[region] * np.exp(-0.5 * (apart * apart).sum(axis=2))).sum(axis=1)
    return {"shapley_sources": sources, "shapley_kernel_reads": reads, "shapley_kernel_means": means,
            "shapley_lows": lows, "shapley_highs": highs, "region_starts": part.regions.starts.astype(np.int64)}


_PARTS: dict[str, Callable[..., dict[str, Array]]] = {
    "fourier": _fourier, "linear": _linear, "trees": _trees, "kernels": _kernels}
