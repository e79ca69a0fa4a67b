"""`--columns` and `--categorical` of `rffkern fit`: which column map a model gets."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.column_map import ColumnMap
from .._column_map.raw import CATEGORY, DATE, EMPTY, NUMERIC
from .._column_map.survey import MAX_KEPT_LEVELS
from ..errors import InvalidInputError
from .streams import printable, say
from .table import BLOCK_ROWS
from .training_columns import TrainingColumn
from .training_table import TrainingTable

_MOST_SHOWN = 12

# Columns of fewer rows may hold distinct whole numbers by chance.
_FEW_ROWS = 50

# Names of columns that tell rows apart.
_MARK = re.compile(r"(?:.*[ _.-])?(?:id|key|index|uuid|guid|no|nr)|unnamed: 0|", re.IGNORECASE)


class ColumnChoice(NamedTuple):
    """What the user says of columns."""

    columns: Any  # None, "auto", or a ColumnMap
    is_said: bool  # otherwise the table decides whether there is a map
    categorical: list[str]  # columns that are categories

    @classmethod
    def of(cls, params: dict[str, Any], categorical: Sequence[str]) -> "ColumnChoice":
        """The choice that the parameters of a model make, which loses those of the map."""
        nested = {name: params.pop(f"columns__{name}") for name in ColumnMap._param_names()
                  if f"columns__{name}" in params}
        is_said = bool(nested) or "columns" in params
        columns = _columns_of(params.pop("columns", "map"), nested) if is_said else None
        if is_said and columns is None and categorical:
            raise InvalidInputError("--categorical needs a column map: leave out columns none")
        named = list(getattr(columns, "categorical_features", None) or ())
        if not all(isinstance(name, str) for name in named):
            raise InvalidInputError("categorical_features must be names of columns (--categorical takes indices "
                                    f"too), got {named!r}")
        return cls(columns, is_said, [*categorical, *named])

    @property
    def takes_words(self) -> bool:
        """Whether columns may have gaps, words and dates."""
        return self.columns is not None or not self.is_said

    def columns_for(self, rows: TrainingTable, path: str, model: Any) -> Any:
        """The parameter `columns` of a model; what the table decides is told."""
        columns = self.columns if self.is_said else model.columns
        if not self.is_said and rows.needs_map():
            columns = columns or ColumnMap()
            _tell(rows, path, columns)
        if self.categorical and columns == "auto" and not self.is_said:
            columns = model._automatic_map(None, None, None, rows.has_labels)
        asked = [rows.names[k] if rows.names else k for k, column in enumerate(rows.columns) if column.is_asked]
        if asked and isinstance(columns, ColumnMap):
            columns = ColumnMap(**{**columns.get_params(), "categorical_features": asked})
        return columns

    def form_of(self, rows: TrainingTable, columns: Any) -> Any:
        """Rows in the form that a model takes with such a parameter."""
        return rows.raw() if isinstance(columns, ColumnMap) or (columns and rows.has_words()) else rows.named()


def _columns_of(value: Any, nested: dict[str, Any]) -> Any:
    """The parameter `columns` from its text or JSON, and parameters of the map."""
    if isinstance(value, str) and value != "auto":
        value = {"none": None, "map": {}}.get(value, value.split(","))
    if (value is None or value == "auto") and nested:
        raise InvalidInputError(f"columns__{next(iter(nested))} needs a column map, got columns={value!r}")
    if value is None or value == "auto":
        return value
    if isinstance(value, list):
        value = {"numeric": value}
    if not isinstance(value, dict):
        raise InvalidInputError("columns must be none, map, auto, forms with commas between, or parameters of "
                                f"ColumnMap as JSON, got {value!r}")
    value = {**value, **nested}
    if isinstance(value.get("numeric"), list):
        value["numeric"] = tuple(value["numeric"])
    columns = ColumnMap().set_params(**value)
    columns._check_params()
    return columns


def _tell(rows: TrainingTable, path: str, taken: Any) -> None:
    """Say what is no plain number in a table, and the map that is taken for it."""
    columns = list(zip(rows.shown_names(), rows.columns, strict=True))
    facts = {
        "categories": [f"{name} ({_n_levels(column)} levels)" for name, column in columns
                       if column.kind == CATEGORY or column.truth],
        "dates": [name for name, column in columns if column.kind == DATE],
        "gaps": [f"{name} ({column.n_missing} rows)" for name, column in columns
                 if column.n_missing and column.kind != EMPTY],
        "without any value": [name for name, column in columns if column.kind == EMPTY],
    }
    for what, shown in facts.items():
        if shown:
            say(printable(f"{path}: {what}: {_shortened(shown)}"))
    if isinstance(taken, ColumnMap):
        say(f"{printable(path)}: so columns are mapped, as with --columns map")


def _n_levels(column: TrainingColumn) -> str:
    n_levels = 2 if column.truth else len(column.levels)
    return str(n_levels) if n_levels <= MAX_KEPT_LEVELS else f"more than {MAX_KEPT_LEVELS}"


def tell_identifiers(rows: TrainingTable, path: str) -> None:
    """Say which columns number the rows, and are learned from by accident."""
    if len(rows.X) < _FEW_ROWS:
        return
    ranges = zip(rows.X.min(axis=0).tolist(), rows.X.max(axis=0).tolist(), strict=True)  # in one pass over the rows
    names = rows.names or list(map(str, rows.features))
    for name, column, values, (low, high) in zip(names, rows.columns, rows.X.T, ranges, strict=True):
        if column.kind == NUMERIC and not column.n_missing and _are_numbers_of_rows(name, values, low, high):
            say(printable(f"{path}: column {name!r} has a number of its own for each row; --exclude {name!r} leaves "
                          "it out"))


def _are_numbers_of_rows(name: str, values: NDArray[Any], low: float, high: float) -> bool:
    """Whether a column holds distinct whole numbers that follow on each other, or that its name calls a mark."""
    n_rows = len(values)
    if high - low == n_rows - 1:
        seen = np.zeros(n_rows, dtype=bool)  # as many rows as places: each has one if none is left
        for start in range(0, n_rows, BLOCK_ROWS):
            places = values[start : start + BLOCK_ROWS] - low
            if (places != np.floor(places)).any():
                return False
            seen[places.astype(np.intp)] = True
        return bool(seen.all())
    return _MARK.fullmatch(name) is not None and len(np.unique(values)) == n_rows


def tell_dropped(model: Any) -> None:
    """Say which columns the map of a model has dropped."""
    column_map = getattr(model, "column_map_", None)
    facts: Iterable[Any] = () if column_map is None else column_map.describe()
    dropped = [f"{row['column']} ({row['reason']})" for row in facts if row["form"] == "dropped"]
    if dropped:
        say(printable(f"not used: {_shortened(dropped)}"))


def _shortened(shown: list[str]) -> str:
    more = f" and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
    return ", ".join(shown[:_MOST_SHOWN]) + more
