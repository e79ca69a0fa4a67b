"""The command line: fit, predict, info, demo."""

import argparse
import contextlib
import errno
import json
import math
import os
import signal
import sys
import time

import numpy as np

from .. import __version__, load, save
from .._data.validation import MAX_THREADS
from .._estimator.base import FAMILIES
from .._system.atomic_file import atomic_write
from ..errors import FormatError, InvalidInputError
from .readers import Accuracy, CsvWriter, NamedRows, NpyWriter, RSquared, open_table, to_labels, to_targets

EXIT_DATA, EXIT_NO_INPUT, EXIT_IO = 65, 66, 74  # as in sysexits.h; argparse itself ends bad usage with 2

_PREDICTORS = sorted(family for family, cls in FAMILIES.items() if hasattr(cls, "predict"))

_EXIT_CODES = "exit codes: 0 done, 2 bad usage, 65 bad data, 66 no such input, 74 input or output failed"


class Progress:
    """A bar on stderr where that is a terminal, nothing elsewhere; leaving its block takes it away."""

    def __init__(self, label, total):
        self.label, self.total = label, max(1, total)
        self.shown = sys.stderr.isatty()
        self.started, self.drawn = time.monotonic(), -math.inf

    def update(self, done, note=""):
        """Draw the bar at `done` of `total`: the first time, the last, and between them at most ten times a second."""
        now = time.monotonic()
        if not self.shown or (now - self.drawn < 0.1 and done < self.total):
            return
        self.drawn = now
        share = min(1.0, done / self.total)
        left = (now - self.started) * (1 - share) / share if share else 0.0
        bar = "#" * round(24 * share)
        print(f"\r{self.label} [{bar:<24}] {100 * share:3.0f} %  {left:4.0f} s left  {note}\x1b[K", end="",
              file=sys.stderr, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _build_parser():
    parser = argparse.ArgumentParser(prog="rffkern", epilog=_EXIT_CODES,
                                     description="Kernel learning by random Fourier features and boosting.")
    parser.add_argument("--version", action="version", version=f"rffkern {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--header", choices=["auto", "yes", "no"], default="auto",
                      help="whether a .csv begins with column names (auto: where they stand over numbers)")
    data.add_argument("--delimiter", type=_delimiter, default=",",
                      help="between the cells of a .csv, such as ';' or '\\t' (default: a comma)")
    data.add_argument("--threads", type=_thread_count, metavar="N",
                      help="threads (default: the CPUs this process may use)")

    fit = commands.add_parser("fit", parents=[data], help="train a model on a table and save it",
                              description="Train a model on a table and save it.", epilog=_EXIT_CODES)
    fit.add_argument("data", metavar="DATA", help=".csv, .npy, or .npz with arrays X and y")
    fit.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file to write (.npz)")
    fit.add_argument("--target", metavar="COLUMN",
                     help="name or 0-based index of the label column (default: y of a .npz, else the last column)")
    fit.add_argument("--model", choices=_PREDICTORS, default="gbrff2",
                     help=f"family of models: {', '.join(_PREDICTORS)} (default: gbrff2)", metavar="FAMILY")
    fit.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                     help="a parameter of the model, such as n_estimators=200; may be repeated")
    fit.add_argument("--seed", type=int, help="random seed (default: 0)")
    fit.add_argument("--holdout", type=float, default=0.0, metavar="SHARE",
                     help="share of the rows, drawn at random, to keep out of training and report the score on")
    fit.set_defaults(run=_run_fit)

    predict = commands.add_parser("predict", parents=[data], help="score the rows of a table",
                                  description="Score the rows of a table; of a .csv or .npy in constant memory.",
                                  epilog=_EXIT_CODES)
    predict.add_argument("model", metavar="MODEL")
    predict.add_argument("data", metavar="DATA", help=".csv, .npy, or .npz with an array X")
    predict.add_argument("-o", "--output", metavar="OUT", help=".csv or .npy to write (default: text on stdout)")
    predict.add_argument("--proba", action="store_true", help="add the probability of each class (.npy: only those)")
    predict.add_argument("--target", metavar="COLUMN", help="a column with the true labels or targets, for the score")
    predict.set_defaults(run=_run_predict)

    info = commands.add_parser("info", help="describe a model file", description="Describe a model file.")
    info.add_argument("model", metavar="MODEL")
    info.add_argument("--json", action="store_true", help="as one JSON object")
    info.set_defaults(run=_run_info)

    demo = commands.add_parser("demo", help="train on generated data and show what to do next",
                               description="Train on generated data and show what to do next.")
    demo.set_defaults(run=_run_demo)
    return parser


def _delimiter(text):
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"expected one character or \\t, got {text!r}")
    return text


def _thread_count(text):
    if not text.isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MAX_THREADS}, got {text!r}")
    return int(text)


def _parameter(text):
    """NAME=VALUE with VALUE read as JSON where it is that, else as a word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInputError(f"--set takes NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def _column(table, text):
    """Index of the column named or numbered by text."""
    if table.columns is not None and text in table.columns:
        return table.columns.index(text)
    with contextlib.suppress(ValueError):
        if -table.n_columns <= int(text) < table.n_columns:
            return int(text) % table.n_columns
    known = f"one of {table.columns}" if table.columns else f"an index below {table.n_columns}"
    raise InvalidInputError(f"{table.path}: no column {text!r}: expected {known}")


def _build_model(arguments):
    try:
        params = {"random_state": 0} | dict(map(_parameter, arguments.set))
        params |= {} if arguments.seed is None else {"random_state": arguments.seed}
        params |= {} if arguments.threads is None else {"n_threads": arguments.threads}
        model = FAMILIES[arguments.model]().set_params(**params)
        model._check_params()
        if not 0 <= arguments.holdout < 1:
            raise InvalidInputError(f"--holdout must be at least 0 and below 1, got {arguments.holdout}")
    except InvalidInputError as error:
        raise _UsageError(str(error)) from error
    return model


class _UsageError(Exception):
    pass


def _read_training(table, target_text, classifies):
    """All rows of a table: (X, y, column names or None)."""
    own_labels = getattr(table, "y", None) is not None
    target = _column(table, target_text) if target_text is not None else None if own_labels else table.n_columns - 1
    features = [j for j in range(table.n_columns) if j != target]
    if not features:
        raise InvalidInputError(f"{table.path}: expected at least one column besides the labels")
    parts, labels = [], []
    for X, words, _ in table.blocks(features, target):
        parts.append(X)
        labels.append(words)
    if not parts:
        raise InvalidInputError(f"{table.path}: the file holds no rows below its header")
    names = [table.columns[j] for j in features] if table.columns else None
    if not classifies:
        return np.concatenate(parts), to_targets(labels, table.path), names
    y = to_labels(labels)
    if table.guessed_data and len(y) > 2 and (y[1:] != y[0]).all():
        raise InvalidInputError(f"{table.path}: row 1 may hold column names: its label {str(y[0])!r} occurs nowhere "
                                "else; say --header yes or --header no")
    return np.concatenate(parts), y, names


def _run_fit(arguments):
    model = _build_model(arguments)
    _check_output(arguments.output, arguments.data)
    X, y, names = _read_training(open_table(arguments.data, header=arguments.header, delimiter=arguments.delimiter),
                                 arguments.target, hasattr(model, "predict_proba"))
    held_out = np.zeros(len(y), dtype=bool)
    order = np.random.default_rng(arguments.seed or 0).permutation(len(y))
    held_out[order[: round(arguments.holdout * len(y))]] = True
    rows = X[~held_out] if held_out.any() else X
    started = time.perf_counter()
    n_rounds = next((getattr(model, name) for name in ("n_estimators", "max_epochs") if hasattr(model, name)), None)
    with Progress("training", n_rounds or 1) as bar, _naming(arguments.data):
        watch = {"callback": lambda info: bar.update(info.n_rounds, _losses(info))} if n_rounds else {}
        model.fit(NamedRows(rows, names) if names else rows, y[~held_out], **watch)
    save(model, arguments.output)
    print(f"trained {type(model).__name__} on {len(rows)} rows of {rows.shape[1]} columns in "
          f"{time.perf_counter() - started:.2f} s: {arguments.output}", file=sys.stderr)
    if held_out.any():
        score = model.score(X[held_out], y[held_out])
        print(f"accuracy on {held_out.sum()} held-out rows: {100 * score:.2f} %" if hasattr(model, "predict_proba")
              else f"R^2 on {held_out.sum()} held-out rows: {score:.4f}", file=sys.stderr)


def _losses(info):
    return f"train loss {info.train_loss:.4g}" + ("" if info.eval_loss is None
                                                  else f"  validation loss {info.eval_loss:.4g}")


@contextlib.contextmanager
def _naming(path):
    """Put the name of the file before what is wrong with its data."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _check_output(path, *inputs):
    """Refuse, before any work, an output that is an input or whose folder is not there."""
    if any(os.path.exists(path) and os.path.samefile(path, given) for given in inputs if os.path.exists(given)):
        raise _UsageError(f"the output must not be an input, got {path!r} for both")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.access(folder, os.W_OK):
        raise OSError(errno.ENOENT, "cannot write to the folder of the output", path)


def _feature_columns(table, model, target):
    """Indices of the model's columns in the table: by name where both have names, else by position."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.columns is not None and len(set(names)) == len(names):
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise InvalidInputError(f"{table.path}: column {missing[0]!r} of the model is missing"
                                    f"{f', and {len(missing) - 1} more' if missing[1:] else ''}; got {table.columns}")
        return [table.columns.index(name) for name in names]
    features = [j for j in range(table.n_columns) if j != target]
    if len(features) != model.n_features_in_:
        raise InvalidInputError(f"{table.path}: expected {model.n_features_in_} columns besides any --target, "
                                f"got {len(features)}")
    return features


@contextlib.contextmanager
def _output(path):
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


def _run_predict(arguments):
    if arguments.output is not None:
        if not arguments.output.endswith((".csv", ".npy")):
            raise _UsageError(f"the name of OUT must end in .csv or .npy, got {arguments.output!r}")
        _check_output(arguments.output, arguments.data, arguments.model)
    model = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{arguments.model}: holds a {type(model).__name__}, which has nothing to predict; its "
                                f"{'transform' if hasattr(model, 'transform') else 'score'} method gives numbers")
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise _UsageError(f"--proba needs a classifier, {arguments.model} holds a {type(model).__name__}")
    if arguments.threads is not None:
        model.set_params(n_threads=arguments.threads)
    table = open_table(arguments.data, header=arguments.header, delimiter=arguments.delimiter)
    target = None if arguments.target is None else _column(table, arguments.target)
    features = _feature_columns(table, model, target)
    n_rows, score = 0, Accuracy() if hasattr(model, "classes_") else RSquared()
    with Progress("scoring", table.total) as bar, _output(arguments.output) as file:
        writer = _open_writer(file, model, (arguments.output or "").endswith(".npy"), arguments.proba)
        for X, labels, done in table.blocks(features, target):
            predicted = model.predict(X)
            proba = model.predict_proba(X) if arguments.proba else None
            if isinstance(writer, CsvWriter):
                writer.add(*np.atleast_2d(predicted.T), *(() if proba is None else proba.T))
            else:
                writer.add(predicted if proba is None else proba)
            n_rows += len(X)
            if labels is not None:
                score.add(labels, predicted)
            bar.update(done, f"{n_rows} rows")
        writer.close()
    if score.n_rows:
        print(score.report(), file=sys.stderr)


def _open_writer(file, model, binary, proba):
    if not hasattr(model, "classes_"):
        n_outputs = model.expansion_.n_outputs
        if binary:
            return NpyWriter(file, np.dtype(np.float64), (n_outputs,) if n_outputs > 1 else ())
        return CsvWriter(file, ["prediction"] if n_outputs == 1 else [f"prediction {k}" for k in range(n_outputs)])
    classes = model.classes_
    if not binary:
        return CsvWriter(file, ["prediction"] + [f"probability of {label}" for label in classes] * proba)
    if proba:
        return NpyWriter(file, np.dtype(np.float64), (len(classes),))
    return NpyWriter(file, classes.astype(str).dtype if classes.dtype.kind == "O" else classes.dtype, ())


def _run_info(arguments):
    model = load(arguments.model)
    expansion = getattr(model, "expansion_", model)
    facts = {"class": type(model).__name__, "terms": expansion.n_terms, "features": expansion.n_features,
             "outputs": expansion.n_outputs, "bytes": os.path.getsize(arguments.model)}
    if hasattr(model, "classes_"):
        facts["classes"] = model.classes_.tolist()
    if hasattr(model, "feature_names_in_"):
        facts["feature names"] = model.feature_names_in_.tolist()
    for name in getattr(model, "fitted_curves", ()):
        values, fact = getattr(model, name), name.strip("_").replace("_", " ")
        if not name.endswith("loss_"):
            facts[fact] = [float(f"{value:.6g}") for value in values]
        elif values.size:
            facts[fact] = f"{values[0]:.6g} before training, {values[-1]:.6g} at the end"
    if hasattr(model, "select_top_k"):
        columns = facts.get("feature names", range(expansion.n_features))
        facts["most relevant"] = [columns[j] for j in model.select_top_k(expansion.n_features)]
    if hasattr(model, "get_params"):
        facts["parameters"] = model.get_params()
    if arguments.json:
        print(json.dumps(facts))
        return
    for key, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name}={setting!r}" for name, setting in value.items())
        elif isinstance(value, list):
            value = ", ".join(map(str, value[:12])) + (f", ... ({len(value)} in all)" if len(value) > 12 else "")
        print(f"{key:<14} {value}")


def _run_demo(arguments):
    from .demo import run_demo

    run_demo()


def main(argv=None):
    """Run the command line; return its exit code."""
    parser = _build_parser()
    arguments = parser.parse_args(argv)
    inputs = {getattr(arguments, name, None) for name in ("data", "model")} - {None}
    # A plain kill ends in the same clean-up as an exception: no temporary file is left.
    with contextlib.suppress(ValueError):  # only the main thread may ask for signals
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        arguments.run(arguments)
        sys.stdout.flush()
        return 0
    except _UsageError as error:
        parser.error(str(error))
    except (InvalidInputError, FormatError) as error:
        return _fail(error, EXIT_DATA)
    except BrokenPipeError:
        _abandon_stdout()  # whoever read it has enough
        return EXIT_IO
    except MemoryError as error:
        return _fail(f"out of memory: {error}", EXIT_IO)
    except OSError as error:
        _abandon_stdout()
        return _fail(error, EXIT_NO_INPUT if error.filename in inputs else EXIT_IO)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _abandon_stdout():
    """Nothing more is written to stdout, not even what the interpreter would flush when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error, code):
    print(f"rffkern: error: {error}", file=sys.stderr)
    return code
