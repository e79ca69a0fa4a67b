"""What files need to divide the score of a row among its raw columns, as `explain` does with its marginals.

The background is a product of marginals, so that of each term only a few numbers of it are left: of a cosine the mean
of exp(i omega . (x - center)) for each raw column that it reads, of a linear function the mean of each product, and of
a tree the values of its columns in each leaf (`_model/shapley.py`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._estimator.explanations import _marginals, sources_of
from .._model.shapley import Background, Explainer, rules_of
from ..errors import InvalidInputError

Array = NDArray[Any]


class Contributions(NamedTuple):
    """Arrays of a file, and the values that contributions are added to for the score."""

    arrays: dict[str, Array]
    base_values: Array  # (n_outputs,)


def contributions_of(model: Any) -> Contributions:
    """The arrays of a fitted model; InvalidInputError where it has kernels or keeps no distributions of columns."""
    expansion = model.expansion_
    if expansion.kernels is not None:
        raise InvalidInputError(f"explain must be False for this {type(model).__name__}, as contributions to sums of "
                                "kernels cannot be exported; of Fourier boosting kernel_ridge=False has none")
    sources = sources_of(model)
    background = _marginals(model, sources)
    explainer = Explainer(expansion, sources, model.n_features_in_, background)
    arrays: dict[str, Array] = {}
    of_sources = {"shapley_sources": np.asarray(sources, dtype=np.int64)}
    for part, own in zip(expansion.parts, explainer._parts, strict=True):
        if not (part.coefficients.any() if part.kind == "linear" else part.n_terms):
            continue  # as in the file
        if part.kind == "linear":
            arrays |= {**of_sources, "shapley_line_means": own._means}
        elif part.kind == "trees":
            place_ends, places, starts, tables = own._tables
            arrays |= {"shapley_place_ends": place_ends.astype(np.int64), "shapley_places": places.astype(np.int64),
                       "shapley_starts": starts.astype(np.int64), "shapley_tables": tables}
        else:
            arrays |= of_sources | _of_cosines(part.omegas, expansion.center, sources, background)
    return Contributions(arrays, explainer.base_values)


def _of_cosines(omegas: Array, center: Array, sources: Array, background: Background) -> dict[str, Array]:
    """Which raw columns cosines read, the means of their factors, (n_terms, n_columns), and rules of integration."""
    n_columns = len(background.shares)
    reads = np.zeros((len(omegas), n_columns), dtype=np.int64)
    means = np.zeros((len(omegas), n_columns), dtype=complex)
    for column in range(n_columns):
        own = sources == column
        reads[:, column] = (omegas[:, own] != 0).any(axis=1)
        angles = (background.rows[:, own] - center[own]) @ omegas[:, own].T
        means[:, column] = background.shares[column] @ np.exp(1j * angles)
    means[reads == 0] = 0
    ends, rules = rules_of(int(reads.sum(axis=1).max(initial=0)))
    return {"shapley_reads": reads, "shapley_real": means.real, "shapley_imaginary": means.imag,
            "shapley_rule_ends": ends.astype(np.int64), "shapley_nodes": rules[0], "shapley_weights": rules[1]}
