"""Terms that rounds add: what each adds to the scores of training rows."""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._model.parts import FourierTerms
from ..._native import boosting
from ..._native.array_types import Double, Indices, Single


class Term(Protocol):
    """What a round adds."""

    def evaluate(self, rows: Any, out: Single) -> None:
        """Write its values at LocalRows, (n_outputs, n_rows)."""


class FourierTerm(NamedTuple):
    """amplitudes[0] cos(omega . x) + amplitudes[1] sin(omega . x), over some columns."""

    columns: Indices
    omega: Double
    amplitudes: Double  # (2, n_outputs)

    def evaluate(self, rows: Any, out: Single) -> None:
        """Write its values at LocalRows, (n_outputs, n_rows)."""
        boosting.evaluate_term(rows.columns, self.columns, self.omega, self.amplitudes, out, rows.n_threads)


def fourier_terms(omegas: Double, amplitudes: Double, factors: Double) -> FourierTerms:
    """The function that cosines and sines are part of: omegas (n, n_features), amplitudes (n, 2, n_outputs) by factors.

    For one output the cosine and the sine of an omega are one cosine with a phase; several outputs share no phase.
    """
    if amplitudes.shape[2] == 1:
        cosine, sine = amplitudes[:, :, 0].T
        return FourierTerms(omegas, np.arctan2(sine, cosine), np.hypot(cosine, sine)[:, None] * factors)
    return FourierTerms(np.repeat(omegas, 2, axis=0), np.tile([0.0, math.pi / 2], len(omegas)),
                        amplitudes.reshape(-1, amplitudes.shape[2]) * factors)


class LinearTerm(NamedTuple):
    """coefficients . x, over some columns."""

    columns: Indices
    coefficients: Double  # (n_outputs, number of these columns)

    def evaluate(self, rows: Any, out: Single) -> None:
        """Write its values at LocalRows, (n_outputs, n_rows)."""
        boosting.evaluate_linear(rows.columns, self.columns, self.coefficients, out, rows.n_threads)


class SparseLinearTerm(NamedTuple):
    """coefficients . x', over all columns."""

    coefficients: Single  # (n_columns, n_outputs)

    def evaluate(self, rows: Any, out: Single) -> None:
        """Write its values at LocalRows, (n_outputs, n_rows)."""
        coefficients = self.coefficients.astype(np.float64)
        np.subtract(rows.cells.rows.products(coefficients, rows.n_threads).T,
                    np.einsum("j,jk->k", rows.cells.means, coefficients)[:, None], out=out, casting="same_kind")


class TreeTerm(NamedTuple):
    """values[leaf] of a symmetric tree; bit l of the leaf is 1 if the bin of columns[l] is above threshold_bins[l]."""

    columns: Indices  # among those with bins
    threshold_bins: Indices
    values: Double  # (2^depth, n_outputs)

    def evaluate(self, rows: Any, out: Single) -> None:
        """Write its values at LocalRows, (n_outputs, n_rows)."""
        boosting.evaluate_tree(rows.bins, self.columns, self.threshold_bins, self.values, out, rows.n_threads)

