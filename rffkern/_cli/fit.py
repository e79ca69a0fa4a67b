"""`rffkern fit`: train a model on a table and save it."""

import argparse
import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._estimator.monitor import RoundInfo, listening
from .._estimator.registry import FAMILIES
from ..errors import InvalidInputError
from ..serialize import save
from .labels import to_labels, to_targets
from .progress import Progress
from .readers import open_table
from .streams import say
from .table import NamedRows, Table, column_index
from .usage import UsageError, check_output


class _Rows(NamedTuple):
    X: NDArray[Any]
    y: NDArray[Any]
    names: list[str] | None  # of the columns

    def named(self, rows: NDArray[np.bool_]) -> Any:
        """Some of the rows, in the form that a model learns the column names from."""
        X = self.X if rows.all() else self.X[rows]
        return NamedRows(X, self.names) if self.names else X


def run_fit(arguments: argparse.Namespace) -> None:
    """Train, save, and tell how good the model is on rows that were held out."""
    model = _build_model(arguments)
    check_output(arguments.output, arguments.data)
    table = open_table(arguments.data, header=arguments.header, delimiter=arguments.delimiter)
    classifies = FAMILIES[arguments.model].task == "classifier"
    rows = _read_training(table, arguments.target, classifies)
    held_out = np.zeros(len(rows.y), dtype=bool)
    order = np.random.default_rng(arguments.seed or 0).permutation(len(rows.y))
    held_out[order[: round(arguments.holdout * len(rows.y))]] = True
    started = time.perf_counter()
    with _naming(arguments.data):
        _train(model, rows.named(~held_out), rows.y[~held_out])
    save(model, arguments.output)
    say(f"trained {type(model).__name__} on {(~held_out).sum()} rows of {rows.X.shape[1]} columns in "
        f"{time.perf_counter() - started:.2f} s: {arguments.output}")
    if held_out.any():
        score = model.score(rows.X[held_out], rows.y[held_out])
        say(f"accuracy on {held_out.sum()} held-out rows: {100 * score:.2f} %" if classifies
            else f"R^2 on {held_out.sum()} held-out rows: {score:.4f}")


def _build_model(arguments: argparse.Namespace) -> Any:
    """The untrained model, with all its parameters checked before a row is read."""
    try:
        params = {"random_state": 0} | dict(map(_parameter, arguments.set))
        params |= {} if arguments.seed is None else {"random_state": arguments.seed}
        params |= {} if arguments.threads is None else {"n_threads": arguments.threads}
        model = FAMILIES[arguments.model].load()().set_params(**params)
        model._check_params()
    except InvalidInputError as error:
        raise UsageError(str(error)) from error
    if not 0 <= arguments.holdout < 1:
        raise UsageError(f"--holdout must be at least 0 and below 1, got {arguments.holdout}")
    return model


def _parameter(text: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE; the value is read as JSON where it is that, else as a word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInputError(f"--set takes NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def _read_training(table: Table, target_text: str | None, classifies: bool) -> _Rows:
    """All rows of a table, with labels or targets."""
    target = None if table.has_labels else table.n_columns - 1
    if target_text is not None:
        target = column_index(table, target_text)
    features = [j for j in range(table.n_columns) if j != target]
    if not features:
        raise InvalidInputError(f"{table.path}: expected at least one column besides the labels")
    blocks = list(table.blocks(features, target))
    if not blocks:
        raise InvalidInputError(f"{table.path}: the file holds no rows below its header")
    X, labels = np.concatenate([block.X for block in blocks]), [np.asarray(block.labels) for block in blocks]
    names = [table.columns[j] for j in features] if table.columns else None
    if not classifies:
        return _Rows(X, to_targets(labels, table.path), names)
    y = to_labels(labels, table.path)
    if table.guessed_data and len(y) > 2 and (y[1:] != y[0]).all():
        raise InvalidInputError(f"{table.path}: row 1 may hold column names: its label {str(y[0])!r} occurs nowhere "
                                "else; say --header yes or --header no")
    return _Rows(X, y, names)


def _train(model: Any, rows: Any, y: NDArray[Any]) -> None:
    """Fit, with a progress bar of rounds, epochs or other steps."""
    n_rounds = next((getattr(model, name) for name in ("n_estimators", "max_epochs") if hasattr(model, name)), None)
    with Progress("training", n_rounds or 1) as bar, listening(bar.show):
        if n_rounds is None:
            model.fit(rows, y)
        else:
            model.fit(rows, y, callback=lambda info: bar.update(info.n_rounds, _losses(info)))


def _losses(info: RoundInfo) -> str:
    validation = "" if info.eval_loss is None else f"  validation loss {info.eval_loss:.4g}"
    return f"train loss {info.train_loss:.4g}{validation}"


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Put the name of the file before what is wrong with its data."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
