"""Rows of a table in the form that a model with a column map takes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._column_map.raw import CATEGORY, EMPTY, NUMERIC, RawColumn, category
from .._column_map.tables import RawTable
from ..errors import InvalidInputError
from .table import UNKNOWN, Block, Cells, column_label


class ModelRows(NamedTuple):
    """What a model takes; it can be sent to other processes."""

    path: str  # of the table
    names: tuple[str, ...] | None  # of the columns of the model
    places: list[str]  # of these columns in the table, for messages
    kinds: list[str]

    def rows(self, block: Block) -> Any:
        """Rows to predict; InvalidInputError names a column of another kind than the model's."""
        if {*self.kinds, *(cells.kind for cells in block.cells)} <= {NUMERIC, EMPTY}:
            return block.X
        columns = []
        for k, (cells, kind, values) in enumerate(zip(block.cells, self.kinds, block.X.T, strict=True)):
            found = EMPTY if cells.kind == UNKNOWN else cells.kind
            if found == CATEGORY:
                columns.append(category(values, block.levels.get(k, ())))
            else:
                columns.append(RawColumn(found, values))
            if found not in (kind, EMPTY) and (found, kind) != (NUMERIC, CATEGORY):
                raise InvalidInputError(f"{self.path}: column {self.places[k]}: expected values of kind {kind!r}, as "
                                        f"in training, got {found!r}")
        return RawTable(self.names, columns, len(block.X))


def model_rows(model: Any, path: str, features: Sequence[int], names: Sequence[str] | None) -> ModelRows:
    """What a model with a column map takes of the columns of a table."""
    frozen = model.column_map_._fitted_map()
    return ModelRows(path, frozen.names, [column_label(j, names) for j in features],
                     [column.kind if column.forms else EMPTY for column in frozen.columns])


def cells_of_model(model: Any) -> list[Cells]:
    """How the columns of a model with a column map are read from a text."""
    found = []
    for column in model.column_map_._fitted_map().columns:
        kind = column.kind if column.forms else EMPTY
        levels = {level.strip(): level for level in reversed(column.levels)}
        found.append(Cells(kind, gaps=kind != EMPTY, levels=levels))
    return found
