"""The command line: its arguments, its commands and its exit codes.

The code of a command is loaded when the command runs: `rffkern fit --help` loads no family, and not even numpy.
"""

import argparse
import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .._estimator.registry import AUTO, AUTOMATIC, FAMILIES
from .._export import PRECISIONS, TARGETS
from .._version import __version__
from ..errors import FormatError, InvalidInputError
from .output import UsageError, abandon, printable, replace_closed_streams, say

EXIT_USAGE, EXIT_DATA, EXIT_NO_INPUT, EXIT_IO = 2, 65, 66, 74  # as in argparse and sysexits.h

_MAX_JOBS = 256
_EXIT_CODES = "exit codes: 0 done, 2 wrong usage, 65 wrong data, 66 input not found, 74 input or output failed"
_TABLE = ".csv, .csv.gz, .npy, .npz, .parquet, .feather or .arrow file (the last three need pyarrow); " \
         "- or a pipe is read as .csv"
_COLUMNS = "names or 0-based indices, with commas between; may be repeated"

_PREDICTORS = sorted(name for name, family in FAMILIES.items() if family.task in ("classifier", "regressor"))


class _Formatter(argparse.HelpFormatter):
    """As wide as the terminal, for which argparse asks `shutil` at each argument: that takes a millisecond to load."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())


@functools.cache
def _width() -> int:
    """Characters of a line of help, as `shutil.get_terminal_size` tells them."""
    columns = 0
    with contextlib.suppress(ValueError):
        columns = int(os.environ.get("COLUMNS", "0"))
    if columns <= 0 and sys.__stdout__ is not None:
        with contextlib.suppress(ValueError, OSError):  # closed, or no terminal
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
    return (columns if columns > 0 else 80) - 2


class _CommandParser(argparse.ArgumentParser):
    """The parser of a command, which is given its arguments when the command is the one that is run."""

    add_arguments: Callable[[Any], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, as argparse does for a command."""
        add, self.add_arguments = self.add_arguments, None
        if add is not None:
            add(self)
        return super().parse_known_args(args, namespace)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rffkern", epilog=_EXIT_CODES, formatter_class=_Formatter,
                                     description="Kernel learning by random Fourier features and boosting.")
    parser.add_argument("--version", action="version", version=f"rffkern {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", prog="rffkern",
                                     parser_class=_CommandParser)

    def add(name: str, text: str, description: str, add_arguments: Callable[[Any], None] | None = None) -> None:
        command = commands.add_parser(name, help=text, description=description, epilog=_EXIT_CODES,
                                      formatter_class=_Formatter)
        command.add_arguments = add_arguments

    add("fit", "train a model on a table and save it", "Train a model on a table and save it. Words, dates and missing "
        "values are mapped to numbers.", _add_fit)
    add("predict", "predict the labels or targets of a table's rows",
        "Predict the labels or targets of a table's rows. A .csv or .npy file is read block by block, in constant "
        "memory. Where the model has a column map, cells may be missing and words may be new.", _add_predict)
    add("export", "write a model as a program that needs no rffkern",
        "Write a model of numeric columns as a program that needs no rffkern.", _add_export)
    add("info", "describe a model file", "Describe a model file.", _add_info)
    add("demo", "train on generated data and show what to do next",
        "Train on generated data and show what to do next.")
    return parser


def _add_predict(predict: argparse.ArgumentParser) -> None:
    """The arguments of `rffkern predict`."""
    _add_table_options(predict)
    predict.add_argument("model", metavar="MODEL", help="model file that rffkern fit wrote")
    predict.add_argument("data", metavar="DATA", help=f"{_TABLE}; a .npz holds an array X")
    predict.add_argument("-o", "--output", metavar="OUT",
                         help=".csv or .npy file to write, complete or not at all; a pipe or device gets .csv, block "
                              "by block, as stdout does (default: -, which is stdout)")
    predict.add_argument("--proba", action="store_true", help="add the probability of each class (.npy: only those)")
    predict.add_argument("--target", metavar="COLUMN",
                         help="a column with the true labels or targets, for the score; a table with column names may "
                              "lack it")
    predict.add_argument("--keep", action="append", default=[], metavar="COLUMNS",
                         help=f"columns to copy into OUT, before the predictions: {_COLUMNS}")
    predict.add_argument("--drop", action="append", default=[], metavar="COLUMNS",
                         help="columns to ignore; where table and model have column names, columns are found by name "
                              "in any order and all others are ignored anyway, else places and number must agree")
    predict.add_argument("--jobs", type=_job_count, default=1, metavar="N",
                         help="number of processes that read and score, with the same result as one (default: 1; "
                              "each uses one thread unless --threads is given)")


def _add_info(info: argparse.ArgumentParser) -> None:
    """The arguments of `rffkern info`."""
    info.add_argument("model", metavar="MODEL", help="model file that rffkern fit wrote")
    info.add_argument("--json", action="store_true", help="print one JSON object")


def _add_fit(fit: argparse.ArgumentParser) -> None:
    """The arguments of `rffkern fit`."""
    _add_table_options(fit)
    fit.add_argument("data", metavar="DATA", help=f"{_TABLE}; a .npz holds arrays X and y")
    fit.add_argument("-o", "--output", required=True, metavar="MODEL",
                     help="model file to write (.npz), or - for stdout")
    fit.add_argument("--target", metavar="COLUMN",
                     help="name or 0-based index of the label column (default: y of a .npz, else the last column "
                          "that no other option names)")
    fit.add_argument("--features", action="append", default=[], metavar="COLUMNS",
                     help=f"columns to train on (default: all that no other option names): {_COLUMNS}")
    fit.add_argument("--drop", "--exclude", action="append", default=[], metavar="COLUMNS",
                     help=f"columns not to train on: {_COLUMNS}")
    fit.add_argument("--weight", metavar="COLUMN", help="column with the weights of the rows")
    fit.add_argument("--eval", metavar="FILE",
                     help="table of the same columns to measure the loss on after each round, so that --set "
                          "early_stopping_rounds=N stops training, and to report the score on")
    fit.add_argument("--model", choices=[AUTO, *_PREDICTORS], default=AUTO, metavar="FAMILY",
                     help=f"family of models: {', '.join(_PREDICTORS)}; regressors predict numbers, the others classes "
                          f"(default: {AUTO}, which is {AUTOMATIC[0]} where the target holds words, truth values or "
                          f"whole numbers of at most 20 distinct values that come twice on average, and "
                          f"{AUTOMATIC[1]} for other numbers)")
    fit.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                     help="a parameter of the model, such as n_estimators=200; may be repeated "
                          "(help(rffkern.FourierBoostingClassifier) and so on in Python describe them)")
    fit.add_argument("--columns", metavar="MAP",
                     help="how columns become numbers: none (numbers without gaps, as they are), map "
                          "(rffkern.ColumnMap), forms of numeric columns such as standard,rank, parameters of the map "
                          "as JSON, or auto (default: auto for fourier_boosting; for other families none where all "
                          "columns are numbers without gaps, else map)")
    fit.add_argument("--categorical", action="append", default=[], metavar="COLUMNS",
                     help=f"columns that are categories although they hold numbers: {_COLUMNS}")
    fit.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0)")
    fit.add_argument("--holdout", type=float, default=0.0, metavar="SHARE",
                     help="share of the rows, from 0 to below 1, to keep out of training and report the score on; "
                          "drawn at random (default: 0)")


def _add_export(export: argparse.ArgumentParser) -> None:
    """The arguments of `rffkern export`."""
    export.add_argument("model", metavar="MODEL", help="model file that rffkern fit wrote")
    export.add_argument("--to", required=True, choices=TARGETS, metavar="TARGET",
                        help="c: a C file; js: an ES module; numpy: a Python file that needs NumPy alone; onnx: an "
                             "ONNX graph; sql: one SELECT for DuckDB, SQLite and PostgreSQL")
    export.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write, or - for stdout")
    export.add_argument("--name", metavar="WORD", help="what the names of C functions begin with (default: model)")
    export.add_argument("--precision", choices=PRECISIONS,
                        help="of an ONNX graph and its rows (default: double)")
    export.add_argument("--table", metavar="NAME", help="the table that the SELECT reads (default: rows)")
    export.add_argument("--key", metavar="NAME", help="its column that tells rows apart (default: id)")


def _add_table_options(options: argparse.ArgumentParser) -> None:
    """What every command that reads a table accepts."""
    options.add_argument("--threads", type=_thread_count, metavar="N",
                         help="number of threads (default: the CPUs this process may use)")
    options.add_argument("--reject", metavar="FILE",
                         help="write rows that cannot be used to this .csv, with the reason, and leave them out "
                              "(default: the first such row ends the command with exit code 65)")
    text = options.add_argument_group("how a .csv is written")
    text.add_argument("--header", choices=["auto", "yes", "no"], default="auto",
                      help="whether it begins with column names (auto: if they are those of the model or stand over "
                           "numbers; if column names may be numbers, yes or no must be given)")
    text.add_argument("--delimiter", type=_delimiter, metavar="CHARACTER",
                      help="what separates cells, such as ';' or '\\t' (default: found among , ; tab | from the first "
                           "lines)")
    text.add_argument("--decimal", choices=[".", ","], default=".", help="decimal point or comma (default: .)")
    text.add_argument("--encoding", type=_encoding, default="utf-8", metavar="NAME",
                      help="such as latin-1, cp1252 or utf-16 (default: utf-8, with or without a byte order mark)")


def _delimiter(text: str) -> str:
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"expected one character or \\t, got {text!r}")
    return text


def _encoding(text: str) -> str:
    try:
        "a".encode(text)
    except (LookupError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"expected the name of a text encoding, such as latin-1, got {text!r}") \
            from error
    return text


def _job_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_JOBS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {_MAX_JOBS}, got {text!r}")
    return int(text)


def _thread_count(text: str) -> int:
    from .._protocol.arguments import MAX_THREADS  # which loads numpy

    if not text.isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MAX_THREADS}, got {text!r}")
    return int(text)


def _run(arguments: argparse.Namespace) -> None:
    """Run a command: the function `run_NAME` of the module NAME beside this one."""
    command = import_module(f"{__package__}.{arguments.command}")
    getattr(command, f"run_{arguments.command}")(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    replace_closed_streams()
    parser = _build_parser()
    inputs: set[str | None] = set()
    try:
        try:
            arguments = parser.parse_args(argv)
        finally:  # --help ends here
            sys.stdout.flush()
        inputs = {getattr(arguments, name, None) for name in ("data", "model", "eval")} - {None}
        # A plain kill ends in the same clean-up as an exception: no temporary file is left.
        with contextlib.suppress(ValueError):  # only the main thread may ask for signals
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        _run(arguments)
        sys.stdout.flush()
        return 0
    except UsageError as error:
        return _fail(f"{error}\n(rffkern {arguments.command} --help lists the options)", EXIT_USAGE)
    except (InvalidInputError, FormatError) as error:
        return _fail(error, EXIT_DATA)
    except BrokenPipeError:
        abandon(sys.stdout)  # its reader has closed it
        return EXIT_IO
    except MemoryError as error:
        return _fail(f"out of memory: {error}", EXIT_IO)
    except OSError as error:
        abandon(sys.stdout)
        return _fail(_described(error), EXIT_NO_INPUT if error.filename in inputs else EXIT_IO)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _described(error: OSError) -> str:
    """What the system reports, behind the name of the file: words alone, without the number of the error."""
    where = "input or output failed: " if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return f"{where}{error.strerror or error}"


def _fail(error: object, code: int) -> int:
    """Say what is wrong, with nothing in it that could steer a terminal."""
    say("\n".join(map(printable, f"rffkern: error: {error}".split("\n"))))
    return code
