"""Which columns of a table are learned from, and which hold targets and weights."""

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import InvalidInputError
from .table import Table, column_index, column_indices, column_label
from .usage import UsageError


class Roles(NamedTuple):
    """Columns of a table by their indices."""

    features: list[int]
    target: int | None  # None where labels stand beside the rows
    weight: int | None  # None where all rows count alike

    def in_table(self, table: Table, other: Table) -> "Roles":
        """The same columns of another table: by name where both have names, else by place."""
        if table.columns is None or other.columns is None:
            if other.n_columns != table.n_columns:
                raise InvalidInputError(f"{other.path}: expected {table.n_columns} columns, as {table.path} has, got "
                                        f"{other.n_columns}")
            return self
        names = table.columns
        features = [column_index(other, names[j]) for j in self.features]
        target, weight = (None if j is None else column_index(other, names[j]) for j in (self.target, self.weight))
        return Roles(features, target, weight)


def roles_of(table: Table, target: str | None, weight: str | None, features: Sequence[str],
             dropped: Sequence[str]) -> Roles:
    """What the arguments of a command say; the target is the last column of which they say nothing."""
    out, chosen = column_indices(table, dropped), column_indices(table, features)
    weighing = None if weight is None else column_index(table, weight)
    taken = {"--drop": out, "--features": chosen, "--weight": [] if weighing is None else [weighing]}
    if target is not None:
        taken["--target"] = [column_index(table, target)]
    else:
        rest = [j for j in range(table.n_columns) if not any(j in some for some in taken.values())]
        taken["--target"] = rest[-1:] if rest and not table.has_labels else []
    places: dict[int, str] = {}
    for option, columns in taken.items():
        for j in columns:
            if places.setdefault(j, option) != option:
                raise UsageError(f"{option} and {places[j]} must name different columns, got "
                                 f"{column_label(j, table.columns)} for both")
    learned = sorted(chosen) if features else [j for j in range(table.n_columns) if j not in places]
    if not learned or not (taken["--target"] or table.has_labels):
        raise InvalidInputError(f"{table.path}: expected at least one column besides the labels")
    return Roles(learned, next(iter(taken["--target"]), None), weighing)
