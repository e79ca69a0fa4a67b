"""`rffkern predict`: score the rows of a table, block by block."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from .._system.atomic_file import atomic_write, is_stream
from ..errors import InvalidInputError
from ..serialize import load
from .progress import Progress
from .readers import open_table
from .scores import Accuracy, RSquared, Score
from .streams import say
from .table import Block, Table, column_index, listed
from .usage import UsageError, check_output
from .writers import CsvWriter, NpyWriter, Writer


def run_predict(arguments: argparse.Namespace) -> None:
    """Write predictions and, where the table has labels, tell how good they are."""
    output, model = arguments.output, _load_predictor(arguments)
    table = open_table(arguments.data, header=arguments.header, delimiter=arguments.delimiter,
                       names=list(getattr(model, "feature_names_in_", ())))
    target = None if arguments.target is None else column_index(table, arguments.target)
    features = _feature_columns(table, model, target)
    n_rows = 0
    score: Score = Accuracy() if hasattr(model, "classes_") else RSquared()
    with Progress("scoring", table.total) as bar, _opened(output) as file:
        writer = (_npy_writer if output is not None and output.endswith(".npy") else _csv_writer)(
            file, model, arguments.proba)
        for X, labels, done in _telling_what_is_out(table.blocks(features, target), output):
            predicted = model.predict(X)
            writer.add(predicted, model.predict_proba(X) if arguments.proba else None)
            n_rows += len(X)
            if labels is not None:
                score.add(labels, predicted)
            bar.update(done, f"{n_rows} rows")
        writer.close()
    if score.n_rows:
        say(score.report())


def _telling_what_is_out(blocks: Iterator[Block], output: str | None) -> Iterator[Block]:
    """The blocks; a fault in one says how many predictions a pipe has got before it, for they cannot be taken back."""
    n_rows = 0
    try:
        for block in blocks:
            yield block
            n_rows += len(block.X)
    except InvalidInputError as error:
        if n_rows and (output is None or is_stream(output)):
            raise InvalidInputError(f"{error}; the predictions of the {n_rows} rows before this block were "
                                    "written") from error
        raise


def _load_predictor(arguments: argparse.Namespace) -> Any:
    """The model, once the arguments are known to agree with it."""
    if arguments.output is not None:
        stream = is_stream(arguments.output)
        if not arguments.output.endswith((".csv", ".npy")) and not stream:
            raise UsageError(f"the name of OUT must end in .csv or .npy, got {arguments.output!r}")
        if arguments.output.endswith(".npy") and stream:
            raise UsageError(f"OUT must be a file, for the header of a .npy is written last; {arguments.output!r} is "
                             "a pipe or a device")
        check_output(arguments.output, arguments.data, arguments.model)
    model = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{arguments.model}: holds a {type(model).__name__}, which has nothing to predict; its "
                                f"{'transform' if hasattr(model, 'transform') else 'score'} method gives numbers")
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise UsageError(f"--proba needs a classifier, {arguments.model} holds a {type(model).__name__}")
    if arguments.threads is not None:
        model.set_params(n_threads=arguments.threads)
    return model


def _feature_columns(table: Table, model: Any, target: int | None) -> list[int]:
    """Indices of the model's columns in the table: by name where both have names, else by position."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.columns is not None and len(set(names)) == len(names):
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise InvalidInputError(f"{table.path}: column {missing[0]!r} of the model is missing"
                                    f"{f', and {len(missing) - 1} more' if missing[1:] else ''}; got "
                                    f"{listed(table.columns)}")
        return [table.columns.index(name) for name in names]
    features = [j for j in range(table.n_columns) if j != target]
    if len(features) != model.n_features_in_:
        raise InvalidInputError(f"{table.path}: expected {model.n_features_in_} columns besides any --target, "
                                f"got {len(features)}")
    return features


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[BinaryIO]:
    """The file to write, or stdout."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


def _csv_writer(file: BinaryIO, model: Any, proba: bool) -> Writer:
    if hasattr(model, "classes_"):
        return CsvWriter(file, ["prediction"] + [f"probability of {label}" for label in model.classes_] * proba)
    n_outputs = model.expansion_.n_outputs
    return CsvWriter(file, ["prediction"] if n_outputs == 1 else [f"prediction {k}" for k in range(n_outputs)])


def _npy_writer(file: BinaryIO, model: Any, proba: bool) -> Writer:
    if not hasattr(model, "classes_"):
        n_outputs = model.expansion_.n_outputs
        return NpyWriter(file, np.dtype(np.float64), (n_outputs,) if n_outputs > 1 else ())
    classes = model.classes_
    if proba:
        return NpyWriter(file, np.dtype(np.float64), (len(classes),))
    return NpyWriter(file, classes.astype(str).dtype if classes.dtype.kind == "O" else classes.dtype, ())
