"""`rffkern predict`: score the rows of a table, block by block."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from .._files.atomic_file import atomic_write, is_stream
from .._files.model_files import load
from ..errors import InvalidInputError
from .answers import Answer, Scorer
from .progress import Progress
from .readers import open_table, table_format
from .rejects import opened_rejects, tell_rejected
from .scores import Accuracy, RSquared, Score
from .streams import printable, say
from .table import Reading, Table, Wanted, column_index, column_indices, column_name, listed, tell_rounded
from .text_source import STDIN
from .usage import UsageError, check_output
from .writers import CsvRows, NpyRows, RowFormat


def run_predict(arguments: argparse.Namespace) -> None:
    """Write predictions and, where the table has labels, tell how good they are."""
    model = _load_predictor(arguments)
    output = arguments.output
    table = open_table(arguments.data, table_format(arguments), list(getattr(model, "feature_names_in_", ())))
    target = _target_column(table, arguments.target)
    kept = column_indices(table, arguments.keep)
    features = _feature_columns(table, model, target, column_indices(table, arguments.drop))
    make_form = _npy_rows if output is not None and output.endswith(".npy") else _csv_rows
    form = make_form(model, arguments.proba, [column_name(table, j) for j in kept])
    scorer, cells = Scorer(model, form, arguments.proba), []
    if getattr(model, "column_map_", None) is not None:
        from .model_rows import cells_of_model, model_rows

        scorer = scorer._replace(rows_of=model_rows(model, table.path, features, table.columns).rows)
        cells = cells_of_model(model)
    reading = table.reading(Wanted(features, target, kept, needs_labels=False, reject=arguments.reject is not None,
                                   cells=cells))
    n_rows = 0
    rounded: set[int] = set()
    score: Score = Accuracy() if hasattr(model, "classes_") else RSquared()
    with (Progress("scoring", table.total) as bar, opened_rejects(arguments.reject) as rejects,
          _opened(output) as file, _answered(scorer, reading, arguments.jobs) as answers):
        file.write(form.head())
        for answer in _telling_what_is_out(answers, output):
            file.write(answer.data)
            n_rows += answer.n_rows
            rejects.add(answer.rejected)
            rounded.update(answer.rounded)
            if answer.labels is not None and answer.predicted is not None:
                score.add(answer.labels, answer.predicted)
            bar.update(answer.done, n_rows)
        form.finish(file, n_rows)
    tell_rejected(rejects, n_rows, arguments.reject)
    tell_rounded(table, [features[k] for k in sorted(rounded)], "train without the column, or with it in --categorical")
    if score.n_rows:
        say(score.report())


@contextlib.contextmanager
def _answered(scorer: Scorer, reading: Reading, n_jobs: int) -> Iterator[Iterator[Answer]]:
    """The answers of all rows, by this process or by several others."""
    if n_jobs == 1:
        yield scorer.answers(reading)
        return
    from .jobs import Jobs  # which loads what starts processes

    with Jobs(n_jobs, scorer) as jobs:
        yield jobs.answers(reading)


def _telling_what_is_out(answers: Iterator[Answer], output: str | None) -> Iterator[Answer]:
    """The answers; a fault says how many predictions a pipe has got before it, for they cannot be taken back."""
    n_rows = 0
    try:
        for answer in answers:
            yield answer
            n_rows += answer.n_rows
    except InvalidInputError as error:
        if n_rows and (output is None or is_stream(output)):
            raise InvalidInputError(f"{error}; the predictions of the {n_rows} rows before this block were "
                                    "written") from error
        raise


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that cannot be written, or not as they are wanted."""
    if arguments.output == STDIN:
        arguments.output = None
    output = arguments.output
    if output is not None:
        stream = is_stream(output)
        if not output.endswith((".csv", ".npy")) and not stream:
            raise UsageError(f"the name of OUT must end in .csv or .npy, got {output!r}")
        if output.endswith(".npy") and stream:
            raise UsageError(f"OUT must be a file, for the header of a .npy is written last; {output!r} is a pipe or a "
                             "device")
        if output.endswith(".npy") and arguments.keep:
            raise UsageError(f"--keep needs a .csv as OUT, got {output!r}: a .npy holds predictions alone")
        check_output(output, arguments.data, arguments.model)
    if arguments.reject is not None:
        check_output(arguments.reject, arguments.data, arguments.model)
        if output is not None and os.path.realpath(output) == os.path.realpath(arguments.reject):
            raise UsageError(f"OUT and --reject must be two files, got {output!r} for both")


def _load_predictor(arguments: argparse.Namespace) -> Any:
    """The model, once the arguments are known to agree with it."""
    _check_outputs(arguments)
    model: Any = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{arguments.model}: holds a {type(model).__name__}, which has nothing to predict; its "
                                f"{'transform' if hasattr(model, 'transform') else 'score'} method gives numbers")
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise UsageError(f"--proba needs a classifier, {arguments.model} holds a {type(model).__name__}")
    if arguments.threads is not None or arguments.jobs > 1:
        model.set_params(n_jobs=arguments.threads or 1)
    return model


def _target_column(table: Table, text: str | None) -> int | None:
    """Index of the column with labels, which a table with column names may lack."""
    if text is None:
        return None
    if table.columns is not None and text not in table.columns and not text.lstrip("+-").isdecimal():
        say(f"{printable(table.path)}: no column {printable(repr(text))}, so the predictions get no score")
        return None
    return column_index(table, text)


def _feature_columns(table: Table, model: Any, target: int | None, dropped: list[int]) -> list[int]:
    """Indices of the model's columns in the table: by name where both have names, else by position."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.columns is not None and len(set(names)) == len(names):
        place = {name: j for j, name in enumerate(table.columns) if j not in dropped}
        missing = [name for name in names if name not in place]
        if missing:
            raise InvalidInputError(f"{table.path}: column {missing[0]!r} of the model is missing"
                                    f"{f', and {len(missing) - 1} more' if missing[1:] else ''}; got "
                                    f"{listed(list(place))}")
        return [place[name] for name in names]
    features = [j for j in range(table.n_columns) if j != target and j not in dropped]
    if len(features) != model.n_features_in_:
        raise InvalidInputError(f"{table.path}: expected {model.n_features_in_} columns besides any --target and "
                                f"--drop, got {len(features)}; columns are told by their places, because the "
                                f"{'model' if names is None else 'table'} has no column names")
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


def _csv_rows(model: Any, proba: bool, kept: list[str]) -> RowFormat:
    n_outputs = 1 if hasattr(model, "classes_") else model.expansion_.n_outputs
    header = [*kept, *(["prediction"] if n_outputs == 1 else [f"prediction {k}" for k in range(n_outputs)])]
    if proba:
        header += [f"probability of {label}" for label in model.classes_]
    twice = next((name for name in kept if header.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--keep: the output would have two columns named {twice!r}")
    return CsvRows(header)


def _npy_rows(model: Any, proba: bool, kept: list[str]) -> RowFormat:
    if not hasattr(model, "classes_"):
        n_outputs = model.expansion_.n_outputs
        return NpyRows(np.dtype(np.float64), (n_outputs,) if n_outputs > 1 else ())
    classes = model.classes_
    if proba:
        return NpyRows(np.dtype(np.float64), (len(classes),))
    return NpyRows(classes.astype(str).dtype if classes.dtype.kind == "O" else classes.dtype, ())
