"""A model and a table: the columns of the table that the model reads, and its rows as the model takes them."""

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._column_map.cells import CATEGORY, EMPTY, NUMERIC, Reading, boolean_levels, is_number, known_level, number_level
from .._column_map.tables import RawColumn, RawTable, category, concatenated, rows_of
from .._estimator.base import fitted_map_of
from .._files.model_files import load
from .._native.array_types import Mask, NDArray
from .._rows.validation import written_otherwise
from ..errors import InvalidInputError
from .open_table import input_files, open_files
from .output import Progress, UsageError, open_rejected, say
from .table import (
    LINES_ABOVE,
    ROW_1_IS_DATA,
    UNKNOWN,
    Block,
    ColumnType,
    CsvFormat,
    Selection,
    Table,
    as_numbers,
    as_written,
    column_index,
    column_indices,
    column_label,
    csv_format,
    file_of_columns,
    read_targets,
    shortened,
    target_format,
)


def load_predictor(arguments: argparse.Namespace, n_threads: int | None = None) -> Any:
    """The model of a command, which predicts; `n_threads` where --threads is not given."""
    path, n_jobs = arguments.model, arguments.threads or n_threads
    model: Any = load(path)
    if not hasattr(model, "predict"):
        method = "transform" if hasattr(model, "transform") else "score"
        raise InvalidInputError(f"{path}: contains the class {type(model).__name__}, which has no predict method; use "
                                f"its {method} method in Python")
    if n_jobs is not None:
        model.set_params(n_jobs=n_jobs)
    return model


def open_for(model: Any, arguments: argparse.Namespace, files: Sequence[str] = ()) -> Table:
    """The table that a command names; `files` are those that its name means, if they are known."""
    return open_files(arguments.data, files or input_files(arguments.data), csv_format(arguments),
                      list(getattr(model, "feature_names_in_", ())))


def target_column(table: Table, text: str | None, model: Any, dropped: list[int], *, needed: bool = True) -> int | None:
    """The column of labels or targets: the one that is named, that of the training, or the only one left.

    None where labels are stored beside the rows, or where none is needed and there is no such column.
    """
    if text is not None:
        return column_index(table, text)
    if table.has_labels:
        return None
    name = (getattr(model, "metadata_", None) or {}).get("target")
    if name is not None and table.columns is not None:
        name = as_written([name], table.columns)[0]
        if name in table.columns:
            return table.columns.index(name)
        if not needed:
            return None
        # The only column that is no feature may be anything, such as a number of the row.
        raise InvalidInputError(f"{file_of_columns(table)}: no column {name!r}, the target of training; --target "
                                f"names another{_header_advice(table, model, model.n_features_in_ + 1)}")
    names = set(as_written(getattr(model, "feature_names_in_", ()), table.columns or ()))
    if names and table.columns is not None:
        rest = [j for j, column in enumerate(table.columns) if column not in names and j not in dropped]
    else:
        rest = [j for j in range(table.n_columns) if j not in dropped][model.n_features_in_ :]
    if not rest and not needed:
        return None
    if not rest:
        raise InvalidInputError(f"{table.path}: no column of labels or targets: all are features of the model")
    if len(rest) > 1:
        raise UsageError(f"{table.path}: expected --target COLUMN, because {len(rest)} columns are no features of the "
                         f"model: {shortened([column_label(j, table.columns) for j in rest])}")
    say(f"{table.path}: column {column_label(rest[0], table.columns)} is taken as the target, the only one that is no "
        "feature of the model; --target takes another")
    return rest[0]


def _header_advice(table: Table, model: Any, n_columns: int) -> str:
    """What to do where the first row may be a title, or data: it has no name of the model, whose rows have so many."""
    columns = table.columns or ()
    if len(columns) == 1 < n_columns:
        return LINES_ABOVE
    is_guess = table.header_guessed and not {*as_written(getattr(model, "feature_names_in_", ()), columns)} & {*columns}
    return ROW_1_IS_DATA if is_guess else ""


class ModelRows:
    """Rows of a table as a model takes them; it can be sent to other processes."""

    def __init__(self, model: Any, table: Table, target: int | None, dropped: list[int],
                 form: CsvFormat = CsvFormat()) -> None:  # noqa: B008
        self.features = _feature_columns(table, model, target, dropped)
        self._target = "" if target is None else f"column {column_label(target, table.columns)}: "
        # With --decimal , the reader has written points in place of the commas of targets already.
        known = str((getattr(model, "metadata_", None) or {}).get("target_format", "")) if form.decimal == "." else ""
        is_format = known in ("time", "duration") or known[:1] in (".", ",")  # metadata may be anything
        self._target_format = known if is_format else ""
        self._missing = form.missing
        self.path, self._labels = table.path, [column_label(j, table.columns) for j in self.features]
        self.fitted_map: Any = fitted_map_of(model)
        self._kinds = [] if self.fitted_map is None else [column.reading.kind for column in self.fitted_map.columns]

    def selection(self, target: int | None, kept: Sequence[int] = (), **options: bool) -> Selection:
        """What is read of the table; the columns as in training, if the model has a column map."""
        types = [] if self.fitted_map is None else [
            ColumnType(kind, kind != EMPTY, {level.strip(): level for level in reversed(column.levels)},
                       format=column.format if column.forms else "", words=column.words)
            for kind, column in zip(self._kinds, self.fitted_map.columns, strict=True)]
        return Selection(self.features, target, kept, types=types, **options)

    def of(self, block: Block) -> Any:
        """The rows of a block; a column of another kind than in training is an error."""
        if self.fitted_map is None or {*self._kinds, *(each.kind for each in block.types)} <= {NUMERIC, EMPTY}:
            return block.X
        columns = []
        for k, (each, expected, values) in enumerate(zip(block.types, self._kinds, block.X.T, strict=True)):
            kind = EMPTY if each.kind == UNKNOWN else each.kind
            columns.append(category(values, block.levels.get(k, ())) if kind == CATEGORY else RawColumn(kind, values))
            if kind not in (expected, EMPTY) and (kind, expected) != (NUMERIC, CATEGORY):
                raise InvalidInputError(f"{self.path}: column {self._labels[k]}: expected values of kind {expected!r}, "
                                        f"as in training, got {kind!r}")
        return RawTable(self.fitted_map.names, columns, len(block.X))

    def targets(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Targets as numbers, read as those of the training, nan where missing; an error for a text that is neither."""
        format_ = self._target_format or target_format(labels, self._missing)
        targets, odd = read_targets(labels, Reading(NUMERIC, format_, self._missing))
        if odd:
            raise InvalidInputError(f"{self.path}: {self._target}expected numbers as targets, as in training, got "
                                    f"{odd[0]!r}; correct it, leave the cell empty, or pass "
                                    f"--missing={shlex.quote(odd[0])} if it means a missing value")
        return targets

    def raw(self, rows: Any) -> RawTable:
        """Rows that are numbers alone as a column map takes them, and others as they are."""
        if isinstance(rows, RawTable):
            return rows
        return RawTable(None, [RawColumn(kind, values) for kind, values in zip(self._kinds, rows.T, strict=True)],
                        len(rows))


def _feature_columns(table: Table, model: Any, target: int | None, dropped: list[int]) -> list[int]:
    """Indices of the model's columns in the table: by name if both have names, else by position."""
    names, path = getattr(model, "feature_names_in_", None), file_of_columns(table)
    if names is not None and table.columns is not None and len(set(names)) == len(names):
        index = {name: j for j, name in enumerate(table.columns) if j not in dropped}
        names = as_written(names, [*index])
        missing = [name for name in names if name not in index]
        if missing:
            alike = written_otherwise(missing[0], index)
            columns = getattr(fitted_map_of(model), "columns", ())
            unused = {name for name, column in zip(names, columns, strict=bool(columns)) if not column.forms}
            if unused.issuperset(missing) and not any(written_otherwise(name, index) for name in missing):
                each = missing if any("," in name for name in missing) else [",".join(missing)]
                raise InvalidInputError(f"{path}: columns of the model are missing, {shortened(missing)}, which "
                                        "it does not use: add them without values, or train it with "
                                        + " ".join(f"--drop {shlex.quote(name)}" for name in each))
            raise InvalidInputError(f"{path}: column {missing[0]!r} of the model is missing{alike}"
                                    f"{f', and {len(missing) - 1} more' if missing[1:] else ''}; got "
                                    f"{shortened(list(map(repr, index)))}"
                                    f"{'' if alike else _header_advice(table, model, len(names))}")
        return [index[name] for name in names]
    features = [j for j in range(table.n_columns) if j != target and j not in dropped]
    if len(features) != model.n_features_in_:
        raise InvalidInputError(f"{path}: expected {model.n_features_in_} columns besides any --target and "
                                f"--drop, got {len(features)}; columns are matched by position, because the "
                                f"{'model' if names is None else 'table'} has no column names")
    return features


def read_labelled(model: Any, table: Table, target: int | None, arguments: argparse.Namespace
                  ) -> tuple[Any, NDArray[Any] | None, int, int]:
    """All rows of the table of a command, and their labels or targets if there are any.

    Also how many rows have none, which are left out, and how many are rejected; both is said.
    """
    of_model = ModelRows(model, table, target, column_indices(table, arguments.drop), csv_format(arguments))
    fitted_map = of_model.fitted_map
    raw_blocks, parse = table.read(of_model.selection(target, needs_labels=False, reject=arguments.reject is not None))
    blocks, labels, n_rows = [], [], 0
    with open_rejected(arguments.reject) as rejected:
        with Progress("reading", table.total) as bar:
            for block in map(parse, raw_blocks):
                rejected.add(block.rejected)
                n_rows += len(block.X)
                bar.update(block.done, n_rows)
                if not len(block.X):
                    continue
                X = of_model.of(block)
                blocks.append(X if fitted_map is None else fitted_map.read(X, type(model).__name__))
                if block.labels is not None:
                    labels.append(np.asarray(block.labels))
        rejected.report(n_rows)
        if not blocks:
            raise InvalidInputError(f"{table.path}: the file contains no rows that can be used")
        X = np.concatenate(blocks) if fitted_map is None else concatenated(blocks)
        if not labels:
            return X, None, 0, rejected.n_rows
        y: NDArray[Any] = np.concatenate(labels)
        if hasattr(model, "classes_"):
            y, missing = written_as(y, model.classes_)
        else:
            y = of_model.targets(y)
            missing = np.asarray(np.isnan(y.reshape(len(y), -1)).any(axis=1))
        if missing.all():
            raise InvalidInputError(f"{table.path}: no row has a label or target")
        if missing.any():
            say(f"{table.path}: {missing.sum()} rows have no label or target, and are left out")
            X, y = X[~missing] if isinstance(X, np.ndarray) else rows_of(X, ~missing), y[~missing]
        return X, y, int(missing.sum()), rejected.n_rows


def written_as(labels: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
    """Labels of a table as those of a model are written, and which are missing."""
    missing = labels == "" if labels.dtype.kind == "U" else np.isnan(labels) if labels.dtype.kind == "f" \
        else np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "U" and classes.dtype.kind in "iu":  # all digits count, which floats do not have
        labels = np.array([number_level(text) if is_number(text) else text for text in labels.tolist()], dtype=str)
    elif classes.dtype.kind in "iuf" and labels.dtype.kind not in "iu":
        labels = as_numbers(labels)
    elif labels.dtype.kind == "U" and any(str(label) != str(label).strip() for label in classes.tolist()):
        labels = _with_blanks(labels, classes)
    elif classes.dtype.kind == "U" or (classes.dtype.kind == "b" and labels.dtype.kind != "b"):
        labels = _booleans_as(labels, classes)
    return labels, missing


def _with_blanks(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Labels, which are read without the blanks around them, as classes that have such are written."""
    written = {label.strip(): label for label in map(str, reversed(classes.tolist()))}
    return np.array([written.get(text, text) for text in labels.tolist()], dtype=str)


def _booleans_as(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Labels with words for no and yes, or booleans, as classes that are such words write them."""
    words = boolean_levels(np.unique(classes).astype(str).tolist())
    if words is None or labels.ndim > 1:
        return labels
    written: dict[str | None, str] = {level: word for word, level in words.items()}
    texts, places = np.unique(labels.astype(str), return_inverse=True)
    found = [text if text in words else written.get(known_level(text, words.values()), text) for text in texts.tolist()]
    return np.array(found, dtype=str)[places]
