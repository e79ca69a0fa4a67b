"""What files need to divide the score of a row among its raw columns, as `explain` does with its marginals.

The background is a product of marginals, so that of each term only a few numbers of it are left: of a cosine the mean
of exp(i omega . (x - center)) for each raw column that it reads, of a Gaussian kernel that of its factor, of a linear
function the mean of each product, and of a tree the values of its columns in each leaf (`_model/shapley.py`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._estimator.explanations import _marginals, sources_of
from .._model.parts import KernelTerms
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
    of_sources = {"shapley_sources": np.asarray(sources, dtype=np.int64)}
    most = 0  # columns that a product reads
    for part, own in zip(expansion.parts, explainer._parts, strict=True):
        if not (part.coefficients.any() if part.kind == "linear" else part.n_terms):
            continue  # as in the file
        if part.kind == "linear":
            arrays |= {**of_sources, "shapley_line_means": own._means}
        elif part.kind == "trees":
            place_ends, places, starts, tables = own._tables
            arrays |= {"shapley_place_ends": place_ends.astype(np.int64), "shapley_places": places.astype(np.int64),
                       "shapley_starts": starts.astype(np.int64), "shapley_tables": tables}
        elif part.kind not in ("fourier", "kernels"):
            raise InvalidInputError(f"contributions of terms of kind {part.kind!r} cannot be exported")
        else:
            reads, found = (_of_kernels(part, sources, background) if part.kind == "kernels" else
                            _of_cosines(part.omegas, expansion.center, sources, background))
            arrays |= of_sources | found
            most = max(most, int(reads.sum(axis=1).max(initial=1)))
    if most:
        ends, rules = rules_of(most)
        arrays |= {"shapley_rule_ends": ends.astype(np.int64), "shapley_nodes": rules[0], "shapley_weights": rules[1]}
    return ContributionArrays(arrays, explainer.base_values)


def _of_cosines(omegas: Array, center: Array, sources: Array, background: Background
                ) -> tuple[Array, dict[str, Array]]:
    """Which raw columns cosines read, (n_terms, n_columns), and the means of their factors."""
    n_columns = len(background.shares)
    reads = np.zeros((len(omegas), n_columns), dtype=np.int64)
    means = np.zeros((len(omegas), n_columns), dtype=complex)
    for column in range(n_columns):
        own = sources == column
        reads[:, column] = (omegas[:, own] != 0).any(axis=1)
        angles = (background.rows[:, own] - center[own]) @ omegas[:, own].T
        means[:, column] = background.shares[column] @ np.exp(1j * angles)
    means[reads == 0] = 0
    return reads, {"shapley_reads": reads, "shapley_real": means.real, "shapley_imaginary": means.imag}


def _of_kernels(part: KernelTerms, sources: Array, background: Background) -> tuple[Array, dict[str, Array]]:
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
    return reads, {"shapley_kernel_reads": reads, "shapley_kernel_means": means, "shapley_lows": lows,
                   "shapley_highs": highs, "region_starts": part.regions.starts.astype(np.int64)}
