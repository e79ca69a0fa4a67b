"""`--columns` and `--categorical` of `rffkern fit`: which column map a model gets."""

import argparse
import contextlib
import inspect
import json
import operator
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.column_map import ColumnMap
from .._column_map.raw import CATEGORY, DATE, EMPTY, NUMERIC
from .._column_map.survey import MAX_KEPT_LEVELS
from .._estimator.monitor import RoundInfo, listening
from .._estimator.registry import AUTO, AUTOMATIC, FAMILIES
from .._files.atomic_file import is_stream
from .._files.model_files import save
from ..errors import InvalidInputError
from .output import STDIN, Progress, UsageError, check_output, opened_rejects, printable, say, tell_rejected
from .table import BLOCK_ROWS, open_table, table_format
from .training_table import TrainingColumn, TrainingTable, read_more, read_training, roles_of

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


# How the package calls the rows of --eval where a column of them is at fault.
_OF_EVAL = " of eval_set X "


class _Tables(NamedTuple):
    """The rows of a fit, from files."""

    path: str
    rows: TrainingTable
    eval_path: str | None
    eval_rows: TrainingTable | None  # to measure the loss on after each round


def run_fit(arguments: argparse.Namespace) -> None:
    """Train, save, and tell how good the model is on rows that were held out."""
    models, choice = _build_models(arguments)
    _check_outputs(arguments)
    tables = _read_tables(arguments, next(iter(models)) if len(models) == 1 else None, choice)
    rows, path = tables.rows, tables.path
    model = models[rows.has_labels]
    columns = choice.columns_for(rows, path, model)
    tell_identifiers(rows, path)
    model.set_params(columns=columns)
    held_out = np.zeros(len(rows.y), dtype=bool)
    if arguments.holdout:
        order = np.random.default_rng(arguments.seed or 0).permutation(len(rows.y))
        held_out[order[: round(arguments.holdout * len(rows.y))]] = True
    rows, rest = rows.divided(held_out)
    started = time.perf_counter()
    eval_form = None if tables.eval_rows is None else choice.form_of(tables.eval_rows, columns)
    _train(model, choice.form_of(rows, columns), eval_form, tables._replace(rows=rows))
    output, shown = ("/dev/stdout", "standard output") if arguments.output == STDIN else (arguments.output,) * 2
    save(model, output)
    say(f"trained {type(model).__name__} on {len(rows.y)} rows of {rows.X.shape[1]} columns in "
        f"{time.perf_counter() - started:.2f} s: {shown}")
    tell_dropped(model)
    _tell_score(model, choice.form_of(rest, columns), rest, "held-out rows")
    if tables.eval_rows is not None:
        _tell_score(model, eval_form, tables.eval_rows, f"rows of {tables.eval_path}")


def _read_tables(arguments: argparse.Namespace, classifies: bool | None, choice: ColumnChoice) -> _Tables:
    """All rows that the arguments name; the files are closed."""
    with opened_rejects(arguments.reject) as rejects:
        table = open_table(arguments.data, table_format(arguments))
        roles = roles_of(table, arguments.target, arguments.weight, arguments.features, arguments.drop)
        rows = read_training(table, roles, classifies, None if arguments.reject is None else rejects,
                             choice.categorical if choice.takes_words else None)
    tell_rejected(rejects, len(rows.y), arguments.reject)
    if arguments.eval is None:
        return _Tables(table.path, rows, None, None)
    other = open_table(arguments.eval, table_format(arguments), table.columns or ())
    return _Tables(table.path, rows, other.path, read_more(other, roles.in_table(table, other), rows))


def _tell_score(model: Any, form: Any, rows: TrainingTable, which: str) -> None:
    """Say how good a model is on some rows, if there are any."""
    if not len(rows.y):
        return
    score = model.score(form, rows.y, sample_weight=rows.weights)
    weighted = "" if rows.weights is None else "weighted "
    say(printable(f"{weighted}accuracy on {len(rows.y)} {which}: {100 * score:.2f} %" if rows.has_labels
                  else f"{weighted}R^2 on {len(rows.y)} {which}: {score:.4f}"))


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that are inputs or cannot be written."""
    if os.path.splitext(arguments.output)[1] not in ("", ".npz") and not is_stream(arguments.output):
        stem = os.path.splitext(arguments.output)[0]
        say(printable(f"{arguments.output}: a model file is an .npz archive, whatever it is called; name it "
                      f"{stem}.npz"))
    outputs = [output for output in (arguments.output, arguments.reject) if output not in (None, STDIN)]
    for output in outputs:
        check_output(output, arguments.data, *([] if arguments.eval is None else [arguments.eval]))
    if len(set(map(os.path.realpath, outputs))) < len(outputs):
        raise UsageError(f"MODEL and --reject must be two files, got {arguments.reject!r} for both")


def _build_models(arguments: argparse.Namespace) -> tuple[dict[bool, Any], ColumnChoice]:
    """Untrained models by whether they classify, and what is said of columns.

    All parameters are checked before a row is read.  Of the two models of `--model auto`, those are kept that have the
    parameters; where both do, the table decides.  Where none takes them, the error is that of the model that has most
    of them, as loss=quantile can only be meant for the regressor.
    """
    if not 0 <= arguments.holdout < 1:
        raise UsageError(f"--holdout must be at least 0 and below 1, got {arguments.holdout}")
    errors: list[tuple[int, InvalidInputError]] = []
    models = {}
    for name in AUTOMATIC if arguments.model == AUTO else [arguments.model]:
        model: Any = FAMILIES[name].load()()
        try:
            params = {"random_state": 0} | dict(map(_parameter, arguments.set))
            if arguments.columns is not None:
                params["columns"] = _parameter(f"columns={arguments.columns}")[1]
            choice = ColumnChoice.of(params, arguments.categorical)
            params |= {"columns": choice.columns} if choice.is_said else {}
            params |= {} if arguments.seed is None else {"random_state": arguments.seed}
            params |= {} if arguments.threads is None else {"n_jobs": arguments.threads}
            model.set_params(**params)
            model._check_params()
            if arguments.eval is not None and "eval_set" not in inspect.signature(model.fit).parameters:
                raise InvalidInputError(f"--eval needs a model that is trained in rounds, which {name} is not")
            models[FAMILIES[name].task == "classifier"] = model
        except InvalidInputError as error:
            names = (text.partition("=")[0].partition("__")[0] for text in arguments.set)
            errors.append((sum(name not in model._param_names() for name in names), error))
    if not models:
        _, cause = min(errors, key=operator.itemgetter(0))
        raise UsageError(str(cause)) from cause
    return models, choice


def _parameter(text: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE; the value is read as JSON where it is that, else as a word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInputError(f"--set takes NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def _train(model: Any, form: Any, eval_form: Any, tables: _Tables) -> None:
    """Fit, with a progress bar of rounds, epochs or other steps."""
    rows, others = tables.rows, tables.eval_rows
    n_rounds = next((getattr(model, name) for name in ("n_estimators", "max_epochs") if hasattr(model, name)), None)
    if hasattr(model, "n_bags"):  # bags would be trained one after the other for a callback
        n_rounds = None
    with Progress("training", n_rounds or 1) as bar, listening(bar.show), _naming(tables):
        more: dict[str, Any] = {} if rows.weights is None else {"sample_weight": rows.weights}
        if others is not None:
            weights = () if others.weights is None else (others.weights,)
            more["eval_set"] = (eval_form, others.y, *weights)
        if n_rounds is not None:
            more["callback"] = lambda info: bar.update(info.n_rounds, note=_losses(info))
        model.fit(form, rows.y, **more)


def _losses(info: RoundInfo) -> str:
    validation = "" if info.eval_loss is None else f"  validation loss {info.eval_loss:.4g}"
    return f"train loss {info.train_loss:.4g}{validation}"


@contextlib.contextmanager
def _naming(tables: _Tables) -> Iterator[None]:
    """Put the name of the file before what is wrong with its data."""
    try:
        yield
    except InvalidInputError as error:
        text = str(error)
        of_eval = text.startswith("eval_set ") or _OF_EVAL in text
        raise InvalidInputError(f"{tables.eval_path if of_eval else tables.path}: "
                                f"{text.replace(_OF_EVAL, ' ')}") from error
