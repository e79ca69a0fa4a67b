"""Tables like those of a census, made from numeric data sets: columns cut into text, booleans and dates, and gaps."""

from typing import Any, NamedTuple

import numpy as np

Table = dict[str, np.ndarray]

GAPS = ("none", "random10", "random30", "other30", "own30")

_WORDS = np.array(["north", "maple", "iron", "lemon", "delta", "quartz", "sable", "ochre", "willow", "ember"])
_YEAR = 365.25 * 86400


class Rows(NamedTuple):
    """Some rows of a data set, permuted."""

    X: np.ndarray
    y: np.ndarray


def some_rows(X: np.ndarray, y: np.ndarray, n_rows: int, rng: np.random.Generator) -> Rows:
    """At most n_rows rows, without the columns that are constant there."""
    order = rng.permutation(len(y))[:n_rows]
    X = np.asarray(X[order], dtype=np.float64)
    return Rows(X[:, (X[:1] != X).any(axis=0)], y[order])


def dressed(X: np.ndarray, rng: np.random.Generator) -> Table:
    """The columns by name, half of them numbers as they are.

    Of the others, half are cut into 3 to 8 levels of uneven shares, the rest into 40 to 150 levels, booleans or dates.
    Columns of at most 12 values are mostly text.  The names of levels say nothing of their order.
    """
    table: Table = {}
    for j, column in enumerate(X.T):
        values = np.unique(column)
        kind = rng.choice(["number", "few", "many", "flag", "date"], p=[0.5, 0.25, 0.1, 0.05, 0.1])
        if len(values) <= 12:
            few = kind == "number" and rng.random() < 0.3
            table[f"c{j}"] = column if few else _text(np.searchsorted(values, column), rng)
        elif kind == "few":
            table[f"c{j}"] = _text(_cut(column, int(rng.integers(3, 9)), rng), rng)
        elif kind == "many":
            table[f"c{j}"] = _text(_cut(column, int(rng.integers(40, 151)), rng), rng)
        elif kind == "flag":
            table[f"c{j}"] = (column > np.quantile(column, rng.uniform(0.1, 0.9))).astype(object)
        elif kind == "date":
            years = (column - column.mean()) / column.std()
            table[f"c{j}"] = np.datetime64("2015-01-01", "s") + np.round(years * _YEAR).astype("m8[s]")
        else:
            table[f"c{j}"] = column
    return table


def _cut(column: np.ndarray, n_levels: int, rng: np.random.Generator) -> np.ndarray:
    """Codes of levels, intervals of the column, whose shares fall as 1 / rank."""
    shares = rng.permutation(1 / np.arange(1.0, n_levels + 1))
    return np.searchsorted(np.cumsum(shares)[:-1] / shares.sum(), _ranks(column, rng))


def _text(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Codes as text in an order that says nothing."""
    numbers = rng.permutation(codes.max() + 1)
    return np.array([f"{_WORDS[k % 10]}{k // 10 or ''}" for k in numbers[codes]], dtype=object)


def _ranks(column: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ranks in [0, 1), those of equal values at random."""
    order = np.lexsort((rng.random(len(column)), column))
    ranks = np.empty(len(column))
    ranks[order] = np.arange(len(column)) / len(column)
    return ranks


def missing_cells(X: np.ndarray, gaps: str, rng: np.random.Generator) -> np.ndarray:
    """Which cells are missing, by one of the rules `GAPS`.

    At random; where another column, one for each, is among its 30 % largest; or where the own value is, in half of the
    columns.
    """
    n_columns = X.shape[1]
    if gaps == "none":
        return np.zeros(X.shape, dtype=bool)
    if gaps.startswith("random"):
        return rng.random(X.shape) < float(gaps.removeprefix("random")) / 100
    large = np.stack([_ranks(column, rng) >= 0.7 for column in X.T], axis=1)
    if gaps == "own30":
        return large & (rng.random(n_columns) < 0.5)
    order, other = rng.permutation(n_columns), np.empty(n_columns, dtype=np.intp)
    other[order] = np.roll(order, 1)
    return large[:, other]


def with_gaps(table: Table, missing: np.ndarray) -> Table:
    """The table without some of its cells."""
    gapped: Table = {}
    for (name, column), cells in zip(table.items(), missing.T, strict=True):
        nothing: Any = np.datetime64("NaT") if column.dtype.kind == "M" else None if column.dtype == object else np.nan
        gapped[name] = np.where(cells, nothing, column)
    return gapped


def part(table: Table, rows: slice) -> Table:
    """Some rows of a table."""
    return {name: column[rows] for name, column in table.items()}
