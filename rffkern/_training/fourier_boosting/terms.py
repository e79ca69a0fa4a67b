"""Terms: what each gives at the rows of a state."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]


class Rows(Protocol):
    """Rows, column by column."""

    columns: Single  # (n_columns, n_rows)
    codes: NDArray[np.uint8]  # (n_coded, n_rows)

    def chosen(self, columns: Indices) -> Single:
        """Some of the columns."""


class Pair(NamedTuple):
    """amplitudes[0] cos(omega . x) + amplitudes[1] sin(omega . x), over some columns."""

    columns: Indices
    omega: Double
    amplitudes: Double  # (2, n_outputs)

    def write(self, rows: Rows, out: Single) -> None:
        """Write what it gives at rows, (n_outputs, n_rows)."""
        boosting.evaluate_pair(rows.columns, self.columns, self.omega, self.amplitudes, out)


class Line(NamedTuple):
    """slopes' x, over all columns."""

    chosen: Indices  # columns whose slopes may be other than 0
    slopes: Double  # (n_columns, n_outputs)

    def write(self, rows: Rows, out: Single) -> None:
        """Write what it gives at rows, (n_outputs, n_rows)."""
        np.matmul(self.slopes[self.chosen].T.astype(np.float32), rows.chosen(self.chosen), out=out)


class Table(NamedTuple):
    """values[cell]; bit l of the cell says whether the code of columns[l] is above cuts[l]."""

    columns: Indices  # among those with codes
    cuts: Indices
    values: Double  # (2^depth, n_outputs)

    def write(self, rows: Rows, out: Single) -> None:
        """Write what it gives at rows, (n_outputs, n_rows)."""
        boosting.evaluate_table(rows.codes, self.columns, self.cuts, self.values, out)


Term = Pair | Line | Table
