"""The command line: its arguments, its commands and its exit codes.

The module of a command is imported when the command runs: `rffkern fit --help` loads no family, and not even numpy.
"""

import argparse
import codecs
import contextlib
import datetime
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from .._estimator.registry import AUTO, AUTOMATIC, FAMILIES
from .._export import EXPLAINED, PRECISIONS, TARGETS, listed
from .._version import __version__
from ..errors import FormatError, InvalidInputError, TrainingStateError
from .output import Finding, JsonLog, UsageError, discard, pointer, say

EXIT_USAGE, EXIT_DATA, EXIT_NO_INPUT, EXIT_IO = 2, 65, 66, 74  # as in argparse and sysexits.h

_EXIT_CODES = "exit codes: 0 success, 2 usage error, 3 shift above --max-shift, 4 no match, 5 nothing to " \
              "verify with, 65 invalid data, 66 input not found, 74 input or output error; rffkern help 65 says more"
_TABLE = ".csv, .tsv, .txt, .csv.gz, .npy, .npz, .parquet, .feather or .arrow file (the last three need pyarrow), a " \
         "folder of such files, also of partitions such as year=2024, or a pattern such as 'part-*.csv'; - or a pipe " \
         "is read as .csv"
_COLUMNS = "names or 0-based indices, separated by commas; may be repeated"
_MODEL: dict[str, Any] = {"metavar": "MODEL", "help": "model file written by rffkern fit"}
_DATA: dict[str, Any] = {"metavar": "DATA", "help": f"{_TABLE}; a .npz must contain arrays X and y"}
_SEED: dict[str, Any] = {"type": int, "metavar": "N", "help": "random seed (default: 0)"}
_JSON: dict[str, Any] = {"action": "store_true", "help": "print one JSON object"}
_SEVERAL: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMNS"}
_CATEGORICAL = _SEVERAL | {"help": f"numeric columns to treat as categories: {_COLUMNS}"}

_PREDICTORS = sorted(name for name, family in FAMILIES.items() if family.task in ("classifier", "regressor"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    _replace_closed_streams()
    with contextlib.ExitStack() as log:
        return _run(argv, log)


def _run(argv: Sequence[str] | None, log: contextlib.ExitStack) -> int:
    """Run a command, whose messages go to the log that it asks for."""
    inputs: set[str | None] = set()
    try:
        try:
            parser = make_parser()
            given = sys.argv[1:] if argv is None else argv
            # argparse takes away an argument --, also where it is the value of an option.
            arguments = parser.parse_args([f"{each}," if each == "--missing=--" else each for each in given])
        finally:  # --help ends here
            sys.stdout.flush()
        if arguments.command is None:
            parser.print_help(sys.stderr)
            return EXIT_USAGE
        inputs = {getattr(arguments, name, None) for name in ("data", "model", "eval", "artefact", "receipt")} - {None}
        if getattr(arguments, "log", "text") == "json":
            log.enter_context(contextlib.redirect_stderr(JsonLog(sys.stderr)))
        # SIGTERM cleans up as an exception does, so that no temporary file is left.
        with contextlib.suppress(ValueError):  # only the main thread may set signal handlers
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with contextlib.ExitStack() as quiet:
            if arguments.quiet:
                quiet.enter_context(contextlib.redirect_stderr(quiet.enter_context(open(os.devnull, "w"))))
            with warnings.catch_warnings():  # a line each, without a place in the code
                warnings.showwarning = lambda message, *_: say(str(message))
                import_module(f"{__package__}.{arguments.command.replace('-', '_')}").run(arguments)
        sys.stdout.flush()
        return 0
    except UsageError as error:
        return _fail(f"{error}\n(see rffkern {arguments.command} --help)", EXIT_USAGE)
    except Finding as error:
        return _fail(error, error.code)
    except (InvalidInputError, FormatError) as error:
        return _fail(error, EXIT_DATA)
    except TrainingStateError as error:  # workers or their scheduler were lost
        return _fail(error, EXIT_IO)
    except BrokenPipeError:
        discard(sys.stdout)  # its reader has closed it
        return EXIT_IO
    except MemoryError as error:
        return _fail(f"out of memory: {error}", EXIT_IO)
    except OSError as error:
        discard(sys.stdout)
        where = "input or output failed" if error.filename is None else os.fsdecode(error.filename)
        return _fail(f"{where}: {error.strerror or error}", EXIT_NO_INPUT if error.filename in inputs else EXIT_IO)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _replace_closed_streams() -> None:
    """Make a closed stderr ignore what is written, and a closed stdout fail as a broken file does."""
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _fail(error: object, code: int) -> int:
    """Print an error, and where more is said of it."""
    for line in f"rffkern: error: {error} {pointer(code)}".split("\n"):
        say(line)
    return code


class _Once(argparse.Action):
    """Keeps the name of a column; where others take the last value, an option that names two columns is an error."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: str | None = None) -> None:
        before = getattr(namespace, self.dest)
        if before is not self.default and before != values:
            raise argparse.ArgumentError(self, f"given twice, as {before!r} and {values!r}: leave out one")
        setattr(namespace, self.dest, values)


_COLUMN: dict[str, Any] = {"action": _Once, "metavar": "COLUMN"}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors end as all others do."""

    def error(self, message: str) -> NoReturn:
        named = re.match(r"argument COMMAND: invalid choice: '(\w+)'", message)
        remedy = _ELSEWHERE.get(named.group(1)) if named else None
        super().error(f"{message}{f'; for that there is rffkern {remedy}' if remedy else ''} {pointer(EXIT_USAGE)}")


# What has other names elsewhere.
_ELSEWHERE = {"explain": "predict --explain N", "drift": "predict --check FILE", "train": "fit", "score": "evaluate",
              "test": "evaluate", "version": "--version", "serve": "export --to html", "whatif": "what-if"}


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = _Parser(prog="rffkern", epilog=_EXIT_CODES,
                     description="Kernel learning by random Fourier features and boosting.")
    parser.add_argument("--version", action="version", version=f"rffkern {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, summary: str, details: str = "") -> argparse.ArgumentParser:
        description = f"{summary[0].upper()}{summary[1:]}.{details}"
        made = commands.add_parser(name, help=summary, description=description, epilog=_EXIT_CODES)
        made.add_argument("-q", "--quiet", action="store_true", help="write no messages on stderr but errors")
        return made

    _add_fit(command("fit", "train a model on a table and save it",
                     " Categories, dates and missing values are mapped to numbers."))
    _add_predict(command("predict", "predict the labels or targets of the rows of a table",
                         " A .csv or .npy file is read block by block, in constant memory. If the model was trained "
                         "with a column map, cells may be empty and categories may be new."))
    _add_evaluate(command("evaluate", "tell how good a model is on a table with labels or targets",
                          " Metrics have standard errors, and stand beside those of the best constant."))
    _add_compare(command("compare", "compare models on the same folds of a table",
                         " A constant, linear models, families of this package, and LightGBM, XGBoost, CatBoost and "
                         "scikit-learn where they are installed, all with default parameters."))
    _add_report(command("report", "write a page about a model on a table: how good, why, how sure, and where it fails",
                        " The page is one HTML file with charts, which loads nothing and needs no network."))
    _add_what_if(command("what-if", "show the nearest change of each row that reaches a label or a number",
                         " Distances are sums of moves in standard deviations of training, and 1 for each category "
                         "that changes. See docs/counterfactuals.md."))
    _add_shrink(command("shrink", "write a smaller model, and print its loss against its bytes",
                        " Terms are left out, and the others fitted again. What is known of out-of-fold rows is not "
                        "kept, so that the model has no intervals before conformalize in Python."))
    _add_export(command("export", "write a model as source code or a graph that runs without rffkern"))
    _add_verify(command("verify", "check an exported file by the receipt of export --verify",
                        " Digests are compared first. With MODEL and ROWS, the file is then run in the programs that "
                        "are installed: do so with no file that you would not run yourself."))
    info = command("info", "describe a model file")
    info.add_argument("model", **_MODEL)
    info.add_argument("--json", **_JSON)
    command("demo", "train on generated data, and show accuracy, size and speed")
    command("help", "show recipes of a few commands for a topic").add_argument(
        "topic", nargs="?", metavar="TOPIC", help="such as start, good or why, or the code of an error, such as E65 "
                                                  "(default: list them)")
    command("completion", "print a script that completes commands and options", " For bash: source <(rffkern "
            "completion bash), in ~/.bashrc.").add_argument("shell", choices=["bash", "zsh", "fish"])
    return parser


def _add_roles(parser: argparse.ArgumentParser) -> None:
    """What the columns of a table to train on are for."""
    parser.add_argument("--target", **_COLUMN,
                        help="name or 0-based index of the target column (default: y of a .npz, else the last column "
                             "that no other option names)")
    parser.add_argument("--features", **_SEVERAL,
                        help=f"columns to train on (default: all that no other option names): {_COLUMNS}")
    parser.add_argument("--drop", "--exclude", **_SEVERAL,
                        help=f"columns to ignore: {_COLUMNS}")
    parser.add_argument("--weight", **_COLUMN, help="column of sample weights")


def _add_cluster(command: argparse.ArgumentParser, text: str) -> None:
    cluster = command.add_mutually_exclusive_group()
    cluster.add_argument("--workers", type=_job_count, metavar="N", help=text)
    cluster.add_argument("--dask", metavar="ADDRESS", help="the same on the cluster of a scheduler, as host:8786")


def _add_fit(fit: argparse.ArgumentParser) -> None:
    _add_table_options(fit)
    fit.add_argument("data", **_DATA)
    fit.add_argument("-o", "--output", required=True, metavar="MODEL",
                     help="model file to write (.npz), or - for stdout")
    _add_roles(fit)
    fit.add_argument("--eval", metavar="FILE",
                     help="table with the same columns, whose rows decide when training ends; the score on them is "
                          "reported, and flatters the model a little")
    fit.add_argument("--model", choices=[AUTO, *_PREDICTORS], default=AUTO, metavar="FAMILY",
                     help=f"model family: {', '.join(_PREDICTORS)}; regressors predict numbers, all others classes "
                          f"(default: {AUTO}, which means {AUTOMATIC[0]} if the target is text, boolean, or integers "
                          f"with at most 20 distinct values that occur twice on average, else {AUTOMATIC[1]})")
    fit.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                     help="a parameter of the model, such as n_estimators=200; may be repeated (for a list, see "
                          "help(rffkern.FourierBoostingClassifier) and so on in Python)")
    fit.add_argument("--columns", metavar="MAP",
                     help="how columns are mapped to numbers: auto (complete numbers are used as they are; a table "
                          "with missing values, text, dates or booleans is mapped; fourier_boosting always maps), "
                          "search (compares maps on validation rows), map (rffkern.ColumnMap), numeric transforms "
                          "such as standard,rank, parameters of ColumnMap as JSON, or none (default: auto)")
    fit.add_argument("--categorical", **_CATEGORICAL)
    fit.add_argument("--monotone", action="append", default=[], metavar="NAME=SIGN",
                     help="columns with which predictions only rise (1) or only fall (-1), separated by commas: "
                          "age=1,price=-1; of a table without names use --set monotone_constraints=[1,0,-1]")
    fit.add_argument("--additive", action="store_true",
                     help="learn a sum of functions of one column each, as --set "
                          "interaction_constraints=no_interactions does")
    fit.add_argument("--pairs", type=_pair_count, metavar="K",
                     help="with --additive, also functions of two columns, of at most K pairs: those that help most")
    fit.add_argument("--seed", **_SEED)
    fit.add_argument("--max-seconds", type=_seconds, metavar="S",
                     help="end training S seconds after it begins, and keep the best rounds so far; for families that "
                          "learn in rounds (default: no limit)")
    fit.add_argument("--checkpoint", metavar="FILE",
                     help="save progress to FILE; if training is interrupted, the same command resumes from it, with "
                          "the same result; for fourier_boosting, gbrff and sparse_kernel families")
    fit.add_argument("--holdout", type=float, default=0.0, metavar="FRACTION",
                     help="fraction of the rows, >= 0 and < 1, to exclude from training and report the score on, drawn "
                          "at random unless --time or --groups is given (default: 0)")
    fit.add_argument("--cv", type=_fold_count, metavar="K",
                     help="train K more models without a fold of the rows each, and report the score on the folds; 0 "
                          "for none (default: 5 for 20 to 1,000 rows without --holdout, --eval, --time, --checkpoint "
                          "or --max-seconds)")
    fit.add_argument("--note", metavar="TEXT", help="text to keep in the model file, which info shows")
    fit.add_argument("--date", type=_date, metavar="YYYY-MM-DD",
                     help="date to keep in the model file; without it the file does not depend on the clock")
    _add_cluster(fit, "train on a Dask cluster of N processes, which read the .csv or .parquet files of DATA part by "
                      "part (needs rffkern[dask] and pandas; see docs/dask.md for what it leaves out)")
    held_out = fit.add_mutually_exclusive_group()
    held_out.add_argument("--time", **_COLUMN,
                          help="column of dates or numbers in whose order the rows are: the last rows are held out, by "
                               "--holdout and by the model for validation; the column is also trained on unless "
                               "--drop names it")
    held_out.add_argument("--groups", **_COLUMN,
                          help="column that names the group of a row, such as a customer: groups are held out as a "
                               "whole, by --holdout and by the model for validation; it is not trained on")


def _add_predict(predict: argparse.ArgumentParser) -> None:
    _add_table_options(predict)
    predict.add_argument("model", **_MODEL)
    predict.add_argument("data", metavar="DATA", help=f"{_TABLE}; a .npz must contain an array X")
    predict.add_argument("-o", "--output", metavar="OUT",
                         help=".csv, .csv.gz, .npy, .parquet, .feather or .arrow file, written whole or not at all; a "
                              "pipe or device gets .csv, block by block (default: -, which is stdout)")
    predict.add_argument("--proba", action="store_true",
                         help="write class probabilities too (to a .npy: the probabilities only)")
    predict.add_argument("--interval", type=_coverage, metavar="COVERAGE",
                         help="also write, for numbers, lower and upper ends of an interval that contains the target "
                              "with this probability, such as 0.9; for classes, the set of labels that contains the "
                              "true one, with | between labels (not to a .npy)")
    predict.add_argument("--explain", type=_reason_count, default=0, metavar="N",
                         help="also write, for each row, the N columns that contribute most to its score, and their "
                              "contributions: Shapley values in units of the score, of two classes always the log "
                              "odds of the one that the name of the column has, so that < 0 speaks for the other, and "
                              "of more the score of the predicted one (not to a .npy)")
    predict.add_argument("--target", **_COLUMN,
                         help="column of true labels or targets, to report the score; it may be missing from a table "
                              "with column names")
    predict.add_argument("--keep", **_SEVERAL,
                         help=f"columns to copy to OUT, before the predictions: {_COLUMNS}")
    _add_drop(predict)
    predict.add_argument("--names", choices=["words", "identifiers"], default="words",
                         help="names of the written columns: 'probability of yes', or probability_yes, of letters, "
                              "digits and _ alone (default: words)")
    predict.add_argument("--round", type=_digits, metavar="DIGITS",
                         help="digits behind the point of predicted numbers and probabilities (default: all)")
    predict.add_argument("--log", choices=["text", "json"], default="text",
                         help="json: messages on stderr are JSON objects, one a line, and each batch of rows writes "
                              "one (default: text)")
    predict.add_argument("--check", metavar="FILE",
                         help="write how the rows differ from the training rows to this JSON file: new levels, values "
                              "outside the range, missing values, and the population stability index of each column")
    predict.add_argument("--max-shift", type=_at_least_0, metavar="X",
                         help="exit with code 3, after the predictions are written, if the population stability index "
                              "of a column is above this; 0.25 is usually called large")
    predict.add_argument("--jobs", type=_job_count, default=1, metavar="N",
                         help="number of processes that read and predict, with the same result as one (default: 1); "
                              "with several, each uses one thread unless --threads is given")
    _add_cluster(predict, "score on a Dask cluster of N processes, which read a file of DATA each and write it to a "
                          "part of the same name in the new folder OUT, in the format that the end of OUT or else of "
                          "DATA names (needs rffkern[dask])")


def _add_labelled_rows(parser: argparse.ArgumentParser, rows: str, without: str = "") -> None:
    """A model, and a table with labels or targets."""
    _add_table_options(parser)
    parser.add_argument("model", **_MODEL)
    parser.add_argument("data", metavar="DATA", help=f"{_TABLE}; {rows}")
    parser.add_argument("--target", **_COLUMN,
                        help="column of true labels or targets (default: y of a .npz, that of the training, or where "
                             "the model does not know its name the only column that is no feature of the model"
                             f"{without})")
    _add_drop(parser)


def _add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    _add_labelled_rows(evaluate, "a .npz must contain arrays X and y")
    evaluate.add_argument("--weight", **_COLUMN, help="column of sample weights")
    evaluate.add_argument("--positive", action=_Once, metavar="LABEL",
                          help="the class that average precision, ROC AUC and the table of probabilities are about, "
                               "with its precision, recall and F1 (default: the second of two)")
    evaluate.add_argument("--json", **_JSON)


def _add_report(report: argparse.ArgumentParser) -> None:
    _add_labelled_rows(report, "a .npz must contain an array X. Only rows that the model was not trained on tell how "
                       "good it is on new ones", "; without one, the report has no score")
    report.add_argument("-o", "--output", metavar="PAGE", help="HTML file to write, or - for stdout")
    report.add_argument("--json", metavar="FILE", help="JSON file to write the same numbers to, or - for stdout")
    report.add_argument("--date", type=_date, metavar="YYYY-MM-DD",
                        help="date to show; without it the page does not depend on the clock")


def _add_compare(compare: argparse.ArgumentParser) -> None:
    _add_table_options(compare)
    compare.add_argument("data", **_DATA)
    _add_roles(compare)
    compare.add_argument("--categorical", **_CATEGORICAL)
    compare.add_argument("--task", choices=["classification", "regression"],
                         help="what to predict (default: as fit decides by the target)")
    compare.add_argument("--cv", type=_fold_count, metavar="K", help="number of folds (default: 5)")
    compare.add_argument("--seed", **_SEED)
    order = compare.add_mutually_exclusive_group()
    order.add_argument("--time", **_COLUMN,
                       help="column of dates or numbers in whose order the rows are: each fold is predicted from the "
                            "rows before it")
    order.add_argument("--groups", **_COLUMN,
                       help="column that names the group of a row: groups stay whole")
    compare.add_argument("--models", type=_names, metavar="NAMES",
                         help="models to compare, separated by commas, as the table names them (default: all)")
    compare.add_argument("--metric", metavar="NAME",
                         help="metric to sort by, as in --json of evaluate (default: log_loss, or rmse)")
    compare.add_argument("--json", **_JSON)


def _add_shrink(shrink: argparse.ArgumentParser) -> None:
    _add_labelled_rows(shrink, "rows with labels or targets that the model was not trained on")
    shrink.add_argument("-o", "--output", required=True, metavar="SMALL",
                        help="model file to write (.npz), or - for stdout")
    size = shrink.add_mutually_exclusive_group(required=True)
    size.add_argument("--bytes", type=_byte_count, metavar="N", help="largest size of SMALL, such as 20k (1k is 1,000)")
    size.add_argument("--max-loss", type=_at_least_0, metavar="SHARE",
                      help="by how much the loss on DATA may grow, as a share of that of MODEL, such as 0.01")


def _add_what_if(what_if: argparse.ArgumentParser) -> None:
    _add_table_options(what_if)
    what_if.add_argument("model", **_MODEL)
    what_if.add_argument("data", metavar="ROWS", help=f"{_TABLE}; the rows to change")
    what_if.add_argument("--target", required=True, metavar="VALUE",
                         help="the label to predict; or the number to reach, from whichever side the prediction is "
                              "on, or LOW:HIGH to lie between")
    what_if.add_argument("--probability", type=_coverage, metavar="P",
                         help="what the probability of the label shall be at least (default: that it is predicted)")
    what_if.add_argument("--change", **_SEVERAL,
                         help=f"columns that may change (default: all numbers and categories): {_COLUMNS}")
    what_if.add_argument("--limit", action="append", default=[], type=_limit, metavar="NAME=LOW:HIGH",
                         help="between which a number stays, such as age=18:65 or age=18: (default: its range in "
                              "training); may be repeated")
    what_if.add_argument("--step", action="append", default=[], type=_step, metavar="NAME=SIZE",
                         help="of which multiples are added to a number: rooms=1 keeps integers; may be repeated")
    _add_drop(what_if)
    what_if.add_argument("--json", action="store_true", help="print one JSON object a row, with all digits")


def _limit(text: str) -> tuple[str, float | None, float | None]:
    name, _, ends = text.rpartition("=")
    with contextlib.suppress(ValueError):
        low, high = (float(end) if end else None for end in ends.split(":"))
        if name and (low is None or high is None or low <= high):
            return name, low, high
    raise argparse.ArgumentTypeError(f"expected NAME=LOW:HIGH, such as age=18:65 or age=18:, got {text!r}")


def _step(text: str) -> tuple[str, float]:
    name, _, size = text.rpartition("=")
    with contextlib.suppress(ValueError):
        if name and 0 < float(size) < float("inf"):
            return name, float(size)
    raise argparse.ArgumentTypeError(f"expected NAME=SIZE, such as rooms=1, got {text!r}")


def _add_export(export: argparse.ArgumentParser) -> None:
    export.add_argument("model", **_MODEL)
    export.add_argument("--to", required=True, choices=TARGETS, metavar="TARGET",
                        help="; ".join(f"{name}: {target.text}" for name, target in TARGETS.items()))
    export.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write, or - for stdout")
    export.add_argument("--name", metavar="PREFIX", help="prefix of the names of C functions (default: model)")
    export.add_argument("--precision", choices=PRECISIONS, help="of an ONNX graph and its input (default: double)")
    export.add_argument("--table", metavar="NAME", help="the table that the SELECT reads (default: rows)")
    export.add_argument("--key", metavar="NAME", help="the column of that table that identifies a row (default: id)")
    export.add_argument("--compiler", metavar="COMMAND",
                        help="of html: score by the WebAssembly that this C compiler makes, such as 'zig cc' or clang "
                             "(default: JavaScript)")
    export.add_argument("--explain", action="store_true",
                        help=f"of {listed([*EXPLAINED], 'and')}: also write the contributions of columns to the scores "
                             "of a row, those of predict --explain")
    export.add_argument("--interval", type=_coverage, metavar="COVERAGE",
                        help="of a regressor, also write the ends of intervals that contain the target with this "
                             "probability, such as 0.9")
    export.add_argument("--verify", dest="data", metavar="ROWS",
                        help="run the file on the rows of this table in the programs that are installed, and write "
                             "OUT.receipt.json: digests, and the largest difference from the scores of the model; exit "
                             "with code 4 if one is too large")
    _add_rows_to_verify(export)


def _add_verify(verify: argparse.ArgumentParser) -> None:
    verify.add_argument("artefact", metavar="ARTEFACT", help="file written by rffkern export")
    verify.add_argument("receipt", metavar="RECEIPT", help="its receipt")
    verify.add_argument("model", metavar="MODEL", nargs="?", help="model file from which it was exported")
    verify.add_argument("data", metavar="ROWS", nargs="?", help="the table of the receipt")
    _add_rows_to_verify(verify)


def _add_rows_to_verify(options: argparse.ArgumentParser) -> None:
    _add_drop(options)
    _add_threads(options)
    _add_text_options(options)


def _add_drop(options: argparse.ArgumentParser) -> None:
    options.add_argument("--drop", **_SEVERAL,
                         help="columns to ignore; not needed if both table and model have column names, because "
                              "columns are then matched by name, else by position")


def _add_threads(options: argparse.ArgumentParser) -> None:
    options.add_argument("--threads", type=_thread_count, metavar="N",
                         help="number of threads (default: the CPUs this process may use)")


def _add_table_options(options: argparse.ArgumentParser) -> None:
    """Add what every command that reads a table accepts."""
    _add_threads(options)
    options.add_argument("--reject", metavar="FILE",
                         help="skip rows that cannot be used, and write them to this .csv with the reason (default: "
                              "the first such row is an error, exit code 65)")
    _add_text_options(options)


def _add_text_options(options: argparse.ArgumentParser) -> None:
    """Add what says how a table is written as text."""
    text = options.add_argument_group("format of .csv files")
    text.add_argument("--header", choices=["auto", "yes", "no"], default="auto",
                      help="whether the first row contains column names (auto: yes if it contains those of the model, "
                           "or text above numbers; if numbers may be names, yes or no is required)")
    text.add_argument("--delimiter", type=_delimiter, metavar="CHARACTER",
                      help="such as ';' or '\\t' (default: one of , ; tab | detected from the first lines)")
    text.add_argument("--decimal", choices=[".", ","], default=".", help="decimal point or comma (default: .)")
    text.add_argument("--dates", choices=["dmy", "mdy"],
                      help="order of day and month in dates such as 3/4/2024 (default: as other cells of the column "
                           "or other columns show, else months first)")
    text.add_argument("--missing", type=_missing_texts, default=(), metavar="TEXTS",
                      help="further texts that count as missing in columns of numbers or dates, separated by commas, "
                           "such as unknown, or --missing=-,unknown; the model keeps those of fit (default: only what "
                           "most programs write, such as NA)")
    text.add_argument("--encoding", type=_encoding, default="utf-8", metavar="NAME",
                      help="such as latin-1, cp1252 or utf-16 (default: utf-8, with or without a byte order mark)")


def _delimiter(text: str) -> str:
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"expected one character or \\t, got {text!r}")
    return text


def _missing_texts(text: str) -> tuple[str, ...]:
    from .._column_map.cells import MOST_WORDS, is_number  # which load numpy

    words = tuple(sorted({word.strip() for word in text.split(",")} - {""}))
    numbers = [word for word in words if is_number(word)]
    if numbers:
        raise argparse.ArgumentTypeError(f"expected texts that are no numbers, got {numbers[0]!r}: empty such cells")
    if not 0 < len(words) <= MOST_WORDS:
        raise argparse.ArgumentTypeError(f"expected 1 to {MOST_WORDS} texts, separated by commas, got {len(words)}")
    return words


def _encoding(text: str) -> str:
    try:
        codecs.getincrementaldecoder(text)("surrogateescape").decode("a".encode(text), True)
    except (LookupError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"expected the name of a text encoding, such as latin-1, got {text!r}") \
            from error
    return text


def _whole(least: int, most: int, expected: str = "a number") -> Callable[[str], int]:
    """What reads an integer from `least` to `most`."""
    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected {expected} from {least} to {most}, got {text!r}")
        return int(text)

    return read


def _real(fits: Callable[[float], bool], expected: str) -> Callable[[str], float]:
    """What reads a number that fits."""
    def read(text: str) -> float:
        with contextlib.suppress(ValueError):
            if fits(float(text)):
                return float(text)
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")

    return read


_job_count, _pair_count, _reason_count, _digits = _whole(1, 256), _whole(1, 1000), _whole(1, 100), _whole(0, 15)
_seconds = _real(lambda seconds: 0 < seconds <= 1e9, "a number of seconds > 0")
_coverage = _real(lambda share: 0 < share < 1, "a number above 0 and below 1, such as 0.9")
_at_least_0 = _real(lambda number: 0 <= number < float("inf"), "a number >= 0")


def _fold_count(text: str) -> int:
    return 0 if text == "0" else _whole(2, 1000, "0, or a number of folds")(text)


def _thread_count(text: str) -> int:
    from .._protocol.arguments import MAX_THREADS  # which loads numpy

    return _whole(1, MAX_THREADS)(text)


def _byte_count(text: str) -> int:
    unit = {"k": 1000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    number = text if unit == 1 else text[:-1]
    with contextlib.suppress(ValueError):
        if 1 <= float(number) * unit < 1 << 62:
            return int(float(number) * unit)
    raise argparse.ArgumentTypeError(f"expected a number of bytes, such as 20000 or 20k, got {text!r}")


def _date(text: str) -> str:
    with contextlib.suppress(ValueError):
        return datetime.date.fromisoformat(text).isoformat()
    raise argparse.ArgumentTypeError(f"expected a date such as 2024-03-01, got {text!r}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
