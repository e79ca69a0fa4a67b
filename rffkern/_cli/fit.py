"""`rffkern fit`: train a model on a table and save it."""

import argparse
import contextlib
import inspect
import itertools
import json
import operator
import os
import re
import shlex
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._column_map.cells import CATEGORY, DATE, EMPTY, NUMERIC, is_number
from .._column_map.column_map import ColumnMap
from .._column_map.learning import MAX_KEPT_LEVELS
from .._estimator.evaluation import Evaluation, Predictions, metric_lines, predictions_of, sentence
from .._estimator.head import kept_figures
from .._estimator.monitor import RoundInfo, listening
from .._estimator.registry import AUTO, AUTOMATIC, FAMILIES
from .._files.atomic_file import is_stream
from .._files.checkpoint import checkpoint
from .._files.model_files import save
from .._protocol.arguments import truncated
from .._rows.groups import start_of_last
from .._rows.weights import check_weights
from ..errors import ColumnWarning, DataConversionWarning, InvalidInputError
from .cross_validation import FEWEST_ROWS, MOST_ROWS, N_FOLDS, cross_validated, folds_of, of_unknown_labels, untrained
from .open_table import open_table
from .output import DASH, Progress, UsageError, check_outputs, given_once, open_rejected, output_path, say
from .table import BLOCK_ROWS, Table, csv_format, shortened
from .training_table import (
    Roles,
    TrainingTable,
    column_roles,
    matching_roles,
    read_eval,
    read_training,
    report_dropped,
    with_categories,
)

# Fewer rows may be distinct, or right, by chance; of so many levels one is shown.
_FEW = 50
_IDENTIFIER = re.compile(r"(?:.*[ _.-])?(?:id|key|index|uuid|guid|no|nr)|unnamed: 0|", re.IGNORECASE)

# Where the rows come from that intervals are made from, in families that have none.
_SOURCES = {"held_out": "rows of --holdout", "cross_validation": "cross-validation"}

# How errors of `fit` name the rows of --eval if a column of them is wrong.
_OF_EVAL = " of eval_set X "


def run(arguments: argparse.Namespace) -> None:
    """Train and save a model, and report its score on the rows that it was not trained on."""
    models, chooses_columns, categorical = _build_models(arguments)
    _check_outputs(arguments)
    if arguments.workers is not None or arguments.dask is not None:
        from .cluster import fit_on_cluster  # which needs dask

        fit_on_cluster(arguments, models, categorical)
        return

    # The rows, and how the model reads their columns.
    classify, any_model = next(iter(models.items()))
    table, roles, rows = open_training(arguments, classify if len(models) == 1 else None,
                                       None if any_model.columns is None else categorical)  # without a map, numbers
    eval_rows = eval_path = None
    if arguments.eval is not None:
        other = open_table(arguments.eval, csv_format(arguments), table.columns or ())
        eval_path = other.path
        eval_rows = read_eval(other, matching_roles(roles, table, other), rows)
    model = models[rows.has_labels]
    if not chooses_columns and rows.needs_map():
        _report_contents(rows, table.path)
    model.set_params(columns=with_categories(model, model.columns, rows.categorical()))
    _warn_identifiers(rows, table.path)
    _remark_dates(arguments, rows, table.path, model)
    rows, held_out_rows = _hold_out(arguments, rows, table.path)

    # Cross-validation, and the model.
    validation, how, unknown = _cross_validated(arguments, model, rows, table.path)
    if arguments.checkpoint is not None and os.path.exists(arguments.checkpoint):
        say(f"training goes on from {arguments.checkpoint}")
    started = time.perf_counter()
    try:
        with contextlib.nullcontext() if arguments.checkpoint is None else checkpoint(model, arguments.checkpoint):
            train(model, rows, eval_rows)
    except InvalidInputError as error:
        text = str(error)
        path = eval_path if text.startswith("eval_set ") or _OF_EVAL in text else table.path
        raise InvalidInputError(f"{path}: {text.replace(_OF_EVAL, ' ')}") from error
    seconds = time.perf_counter() - started

    # How good it is on rows that it was not trained on; the figures, and residuals for intervals, are kept in the file.
    evaluations = {}
    if len(held_out_rows.y):
        found = predictions_on(model, held_out_rows)
        evaluations["held_out"] = Evaluation.of(found._replace(groups=held_out_rows.groups_or_copies()))
    if eval_rows is not None:
        evaluations["eval"] = Evaluation.of(predictions_on(model, eval_rows))
    if validation is not None:
        evaluations["cross_validation"] = validation
    for name in {"held_out", "cross_validation"} & {*evaluations}:  # of which there is one at most
        kept = vars(model).get("_out_of_fold")
        if kept is None or name == "cross_validation":  # whose rows have chosen nothing, as those of bags have
            model._keep_record({**(kept or {}), **evaluations[name].predictions.record(_SOURCES[name])})
    figures = {which: each.figures() for which, each in evaluations.items()}
    save(model, output_path(arguments.output), metadata=_metadata(arguments, table, roles, rows, figures))

    _report_training(arguments, model, rows, seconds)
    decided = "" if getattr(model, "early_stopping_rounds", None) is None else ", which decided when training ended"
    which = {"held_out": "held-out rows", "eval": f"rows of {eval_path}{decided}",
             "cross_validation": f"rows in {how}"}
    for name, evaluation in evaluations.items():
        _report(evaluation, which[name])
    if not evaluations:
        _report_held_out(model)
    _remark_leak(model, rows, figures or kept_figures(model))
    if unknown:
        say(unknown)


def _report_training(arguments: argparse.Namespace, model: Any, rows: TrainingTable, seconds: float) -> None:
    """Say what was trained, how training ended, and which columns are not used."""
    shown = "standard output" if arguments.output == DASH else arguments.output
    say(f"trained {type(model).__name__} on {len(rows.y)} rows of {rows.X.shape[1]} columns in {seconds:.2f} s: "
        f"{shown}")
    if arguments.checkpoint is not None:
        say(f"{arguments.checkpoint} keeps the state of training; delete it to train anew")
    if getattr(model, "timed_out_", False):
        say(f"training was ended by max_seconds={model.max_seconds:g} with the best rounds so far; it would have "
            "gone on")
    report_dropped(model)


def open_training(arguments: argparse.Namespace, classify: bool | None,
                  categorical: list[str] | None) -> tuple[Table, Roles, TrainingTable]:
    """The table of a command that trains, the roles of its columns, and its rows as `read_training` gives them."""
    with open_rejected(arguments.reject) as rejected:
        table = open_table(arguments.data, csv_format(arguments))
        roles = column_roles(table, arguments)
        rows = read_training(table, roles, classify, rejected, categorical)
    rejected.report(len(rows.y))
    return table, roles, rows


def _hold_out(arguments: argparse.Namespace, rows: TrainingTable, path: str) -> tuple[TrainingTable, TrainingTable]:
    """The rows to train on, and those of --holdout, which may be none where it is not given."""
    training_rows, held_out_rows = rows.split(_held_out(rows, arguments.holdout, arguments.seed or 0))
    if arguments.holdout and len(training_rows.y) < 2:
        raise InvalidInputError(f"{path}: --holdout {arguments.holdout:g} leaves {len(training_rows.y)} of "
                                f"{len(rows.y)} rows to train on, which takes at least 2: hold out a smaller share")
    if arguments.holdout and not len(held_out_rows.y):
        raise InvalidInputError(f"{path}: --holdout {arguments.holdout:g} of {len(rows.y)} rows holds out none" + (
            ": hold out a larger share, or leave it out for cross-validation" if arguments.groups is None
            else ", as all are of one group: name another column by --groups"))
    return training_rows, held_out_rows


def _held_out(rows: TrainingTable, share: float, seed: int) -> NDArray[np.bool_]:
    """Which rows are excluded from training: the last ones where they have times, whole groups or copies, or any."""
    n_rows = len(rows.y)
    held_out = np.zeros(n_rows, dtype=bool)
    rng = np.random.default_rng(seed)
    if not share:
        return held_out
    if rows.times is not None:
        held_out[start_of_last(n_rows, share, np.unique(rows.times, return_inverse=True)[1]) :] = True
    elif (groups := rows.groups_or_copies()) is not None:
        _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        order = rng.permutation(len(sizes))
        n_groups = int(np.argmin(np.abs(np.cumsum(sizes[order])[:-1] - share * n_rows))) + 1 if len(sizes) > 1 else 0
        held_out = np.isin(numbers, order[:n_groups])
    else:
        held_out[rng.permutation(n_rows)[: round(share * n_rows)]] = True
    return held_out


def _remark_dates(arguments: argparse.Namespace, rows: TrainingTable, path: str, model: Any) -> None:
    """Say how rows are held out in order of time, where the table has dates and they are drawn at random."""
    names = rows.names or [*map(str, rows.features)]
    dates = [name for name, column in zip(names, rows.columns, strict=True) if column.kind == DATE]
    draws = arguments.holdout or (arguments.eval is None and getattr(model, "validation", None) == "random")
    if dates and draws and arguments.time is None and arguments.groups is None:
        say(f"{path}: column {dates[0]!r} has dates, but rows are held out at random; if later rows are to "
            f"be predicted, hold out the last rows: --time {dates[0]!r}")


def _cross_validated(arguments: argparse.Namespace, model: Any, rows: TrainingTable,
                     path: str) -> tuple[Evaluation | None, str, str]:
    """The metrics of models without one fold each, how the folds were made, and what to say of unknown labels.

    None where nothing is asked for; few rows are cross-validated without being asked, unless others judge the model.
    """
    n_folds = arguments.cv
    if n_folds is None and FEWEST_ROWS <= len(rows.y) <= MOST_ROWS and not (
            arguments.holdout or arguments.eval or arguments.time or arguments.checkpoint or arguments.max_seconds):
        n_folds = N_FOLDS
    if not n_folds:
        return None, "", ""

    def predict(training: TrainingTable, validation: TrainingTable) -> Predictions:
        fitted = untrained(model)
        train(fitted, training, label="cross-validation")
        return predictions_on(fitted, validation)

    try:
        folds = folds_of(rows, n_folds, arguments.seed or 0)
        return Evaluation.of(cross_validated(rows, folds, predict)), folds.how, of_unknown_labels(rows, folds)
    except InvalidInputError as error:
        if arguments.cv is not None:
            raise InvalidInputError(f"{path}: a fold of --cv {n_folds} cannot be trained on: {error}") from error
        return None, "", ""  # `fit` says what is wrong with all rows, or there are too few of a label


def predictions_on(model: Any, rows: TrainingTable) -> Predictions:
    """Predictions of a model for rows that it was not trained on."""
    if rows.weights is not None:
        check_weights(rows.weights, len(rows.y))
    # Weights as given: in one unit for the rows of all folds.
    return predictions_of(model, rows.for_model(model), rows.y, rows.weights)


def _report(evaluation: Evaluation, which: str) -> None:
    """Say what a person should think of the model, and the metrics."""
    n_rows = evaluation.figures()["rows"]
    weighted = "" if evaluation.predictions.weights is None else "weighted "
    say(evaluation.sentence(f"{n_rows} {weighted}{which}"))
    for line in evaluation.lines(with_shares=False):
        say(line)


def _remark_leak(model: Any, rows: TrainingTable, figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Name the column that matters most where some rows have hardly any error, as with a copy of the target."""
    importances = getattr(model, "feature_importances_", ())
    if len(importances) and any(map(_is_too_good, figures.values())):
        top = int(np.argmax(importances))
        name = str((rows.names or rows.features)[top])
        say(f"almost no error: is {name!r} known before the target is? If not, pass --drop {shlex.quote(name)}")


def _is_too_good(figures: Mapping[str, Any]) -> bool:
    """Whether a model has hardly any error on rows enough, and a constant has some."""
    metric = "balanced_accuracy" if "accuracy" in figures else "r2"
    return bool(figures["rows"] >= _FEW and figures.get(metric, 0) > 0.9999 > figures["constant"].get(metric, 0))


def _report_held_out(model: Any) -> None:
    """Say the same of the rows that the parts of the model have held out, if it has such."""
    record = vars(model).get("_out_of_fold")
    if record is None or "figures" not in record:
        return
    figures = record["figures"]
    guess = model.classes_[figures["guess"]] if "guess" in figures else None
    say(sentence(figures, f"{figures['rows']} {record['source']}", guess))
    classes: Any = getattr(model, "classes_", ())
    for line in metric_lines(figures, classes[1].item() if len(classes) == 2 else None):
        say(line)


def _metadata(arguments: argparse.Namespace, table: Table, roles: Roles, rows: TrainingTable,
              scores: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the model file says of the training; nothing of the clock or machine."""
    target = roles.target
    name = None if target is None or table.columns is None else table.columns[target]
    given = {"note": arguments.note, "date": arguments.date}
    order = next((option for option in ("time", "groups") if getattr(arguments, option) is not None), "random")
    as_read = {"target_format": rows.target_format} if rows.target_format and arguments.decimal == "." else {}
    return {"target": name, **as_read, "rows": len(rows.y),
            **{key: value for key, value in given.items() if value is not None},
            **({"held_out_by": order} if arguments.holdout else {}),
            **scores}


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that are inputs or cannot be written."""
    stem, ending = os.path.splitext(arguments.output)
    if ending not in ("", ".npz") and not is_stream(arguments.output):
        say(f"{arguments.output}: model files are .npz archives; a better name is {stem}.npz")
    check_outputs({"MODEL": arguments.output, "--reject": arguments.reject, "--checkpoint": arguments.checkpoint},
                  arguments.data, arguments.eval)


# --- the model and its parameters

def _build_models(arguments: argparse.Namespace) -> tuple[dict[bool, Any], bool, list[str]]:
    """Untrained models by whether they classify, whether options choose `columns`, and columns that are categories.

    All parameters are checked before a row is read.  Of the two models of `--model auto`, those that accept the
    parameters are kept; if both do, the table decides.  If neither does, the error is that of the model that knows
    most of them: loss=quantile, for example, can only be meant for the regressor.
    """
    if not 0 <= arguments.holdout < 1:
        raise UsageError(f"--holdout must be at least 0 and below 1, got {arguments.holdout}")
    if arguments.cv and arguments.holdout:
        raise UsageError("--cv judges by all rows, and --holdout by some that are not trained on: leave one of them "
                         "out")
    if arguments.pairs is not None and not arguments.additive:
        raise UsageError("--pairs needs --additive: without it all columns may interact")
    try:
        params, categorical = _asked_parameters(arguments)
    except InvalidInputError as error:
        raise UsageError(str(error)) from error
    errors: list[tuple[int, InvalidInputError]] = []
    models = {}
    for name in AUTOMATIC if arguments.model == AUTO else [arguments.model]:
        model: Any = FAMILIES[name].load()()
        in_order = {"validation": "last"} if arguments.time is not None and "validation" in model._param_names() else {}
        try:
            _check_options(arguments, name, model)
            model.set_params(**in_order | params)
            model._check_params()
            models[FAMILIES[name].task == "classifier"] = model
        except InvalidInputError as error:
            names = (text.partition("=")[0].partition("__")[0] for text in arguments.set)
            errors.append((sum(name not in model._param_names() for name in names), error))
    if not models:
        _, cause = min(errors, key=operator.itemgetter(0))
        raise UsageError(str(cause)) from cause
    return models, "columns" in params, categorical


def _asked_parameters(arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The parameters that the options ask for, and columns that are to be categories."""
    params = given_once("--set", map(_parameter, arguments.set))
    for option, parameter, value in (
            ("--columns", "columns", None if arguments.columns is None
             else _parameter(f"columns={arguments.columns}")[1]),
            ("--seed", "random_state", arguments.seed), ("--threads", "n_jobs", arguments.threads),
            ("--max-seconds", "max_seconds", arguments.max_seconds),
            ("--monotone", "monotone_constraints", _signs(arguments.monotone) or None),
            ("--additive", "interaction_constraints",
             (arguments.pairs or "no_interactions") if arguments.additive else None),
            ("--checkpoint", "warm_start", None if arguments.checkpoint is None else True)):
        if value is not None and params.setdefault(parameter, value) != value:
            raise InvalidInputError(f"{option} and --set {parameter} give two values: leave out one")
    params, categorical = _with_columns(params, arguments.categorical)
    return {"random_state": 0} | params, categorical


def _check_options(arguments: argparse.Namespace, name: str, model: Any) -> None:
    """Refuse options that are not for a model, by what it has parameters for."""
    known = {*model._param_names(), *inspect.signature(model.fit).parameters}
    for option, is_given, needed, what in (
            ("--max-seconds", arguments.max_seconds is not None, {"max_seconds"}, "a model that is trained in rounds"),
            ("--checkpoint", arguments.checkpoint is not None, {"warm_start", "n_estimators"},
             "a model whose training goes on with the same bits"),
            ("--monotone", bool(arguments.monotone), {"monotone_constraints"}, "Fourier boosting"),
            ("--additive", arguments.additive, {"interaction_constraints"}, "Fourier boosting"),
            ("--eval", arguments.eval is not None, {"eval_set"}, "a model that is trained in rounds")):
        if is_given and not needed <= known:
            raise InvalidInputError(f"{option} needs {what}, which {name} is not: leave it out, or choose "
                                    "another --model")


_AFTER_SIGN = re.compile("(?<=[01]),(?=.)")  # a comma that ends NAME=SIGN; another one belongs to a name


def _signs(texts: Sequence[str]) -> dict[str, int]:
    """The parameter `monotone_constraints` from NAME=SIGN,NAME=SIGN."""
    pairs = []
    for text in texts:
        for part in _AFTER_SIGN.split(text):
            name, _, sign = part.rpartition("=")
            if not name or sign not in ("1", "+1", "0", "-1"):
                raise InvalidInputError("--monotone takes NAME=SIGN with a sign of 1 or -1, such as age=1,price=-1, "
                                        f"got {part!r}")
            pairs.append((name, int(sign)))
    return given_once("--monotone", pairs)


def _parameter(text: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE; the value is parsed as JSON if it is that, else it is text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInputError(f"--set takes NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def _with_columns(params: dict[str, Any], categorical: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Parameters with `columns` in place of texts and of those of a column map, and columns that are to be categories.

    There is no `columns` where nothing is asked for.
    """
    nested = {name: value for name, value in params.items() if name.startswith("columns__")}
    params = {name: value for name, value in params.items() if name not in nested}
    if not nested and "columns" not in params:
        return params, [*categorical]
    columns = params["columns"] = _columns_parameter(params.get("columns", "map"), nested)
    if columns is None and categorical:
        raise InvalidInputError("--categorical needs a column map: leave out columns none")
    named = list(getattr(columns, "categorical_features", None) or ())
    if not all(isinstance(name, str) for name in named):
        raise InvalidInputError("categorical_features must be names of columns (--categorical also takes indices), got "
                                f"{named!r}")
    return params, [*categorical, *named]


def _columns_parameter(value: Any, nested: dict[str, Any]) -> Any:
    """The parameter `columns` from its text or JSON, and parameters of the map."""
    if isinstance(value, str) and value not in ("auto", "search"):
        value = {"none": None, "map": {}}.get(value, value.split(","))
    if value is None or isinstance(value, str):
        if nested:
            raise InvalidInputError(f"{next(iter(nested))} needs a column map, got columns={value!r}")
        return value
    if isinstance(value, list):
        value = {"numeric": value}
    if not isinstance(value, dict):
        raise InvalidInputError("columns must be none, map, auto, search, numeric transforms separated by commas, "
                                f"or parameters of ColumnMap as JSON, got {value!r}")
    value = value | {name.removeprefix("columns__"): each for name, each in nested.items()}
    if isinstance(value.get("numeric"), list):
        value["numeric"] = tuple(value["numeric"])
    columns = ColumnMap().set_params(**value)
    columns._check_params()
    return columns


# --- training

def train(model: Any, rows: TrainingTable, eval_rows: TrainingTable | None = None, label: str = "training") -> None:
    """Fit, with a progress bar of rounds, epochs or other steps."""
    n_rounds = next((getattr(model, name) for name in ("n_estimators", "max_epochs") if hasattr(model, name)), None)
    if hasattr(model, "n_bags"):  # with a callback, bags would be trained one after the other
        n_rounds = None
    options: dict[str, Any] = {} if rows.weights is None else {"sample_weight": rows.weights}
    # Rows of the same time are held out together, too.
    groups = rows.times if getattr(model, "validation", None) == "last" else rows.groups
    if groups is not None and "groups" in inspect.signature(model.fit).parameters:
        options["groups"] = groups
    if eval_rows is not None:
        weights = () if eval_rows.weights is None else (eval_rows.weights,)
        options["eval_set"] = (eval_rows.for_model(model), eval_rows.y, *weights)
    with warnings.catch_warnings(), Progress(label, n_rounds or 1) as bar, listening(bar.show):
        if n_rounds is not None:
            options["callback"] = lambda info: bar.update(info.n_rounds, note=_losses(info))
        warnings.simplefilter("ignore", ColumnWarning)  # what these say is said in lines of their own
        warnings.filterwarnings("ignore", r"y has \d+ classes", DataConversionWarning)
        model.fit(rows.for_model(model), rows.y, **options)


def _losses(info: RoundInfo) -> str:
    validation = "" if info.eval_loss is None else f"  validation loss {info.eval_loss:.4g}"
    return f"train loss {info.train_loss:.4g}{validation}"


# --- messages about columns

def _report_contents(rows: TrainingTable, path: str) -> None:
    """Report the columns that are not complete numbers."""
    names = [name or f"column {j}" for name, j in zip(rows.names or itertools.repeat(""), rows.features, strict=False)]
    columns = list(zip(names, rows.columns, strict=True))
    n_levels = [2 if column.boolean else len(column.levels) for column in rows.columns]
    facts = {
        "categories": [f"{name} ({n if n <= MAX_KEPT_LEVELS else f'more than {MAX_KEPT_LEVELS}'} levels"
                       f"{'' if n < _FEW else f', such as {truncated(min(column.levels, key=is_number), 20)!r}'})"
                       for (name, column), n in zip(columns, n_levels, strict=True)
                       if column.kind == CATEGORY or column.boolean],
        "dates": [name for name, column in columns if column.kind == DATE],
        "missing values": [f"{name} ({column.n_missing} rows)" for name, column in columns
                           if column.n_missing and column.kind != EMPTY],
        "empty columns": [name for name, column in columns if column.kind == EMPTY],
    }
    for fact, names in facts.items():
        if names:
            say(f"{path}: {fact}: {shortened(names)}")
    gaps = [name for (name, each), x in zip(columns, rows.X[-1], strict=True) if each.n_missing == 1 and np.isnan(x)]
    if 2 * len(gaps) >= len(columns):
        say(f"{path}: the last row alone has no {shortened(gaps)}: if it has totals, remove it")


def _warn_identifiers(rows: TrainingTable, path: str) -> None:
    """Warn of columns that identify rows, which no model should learn from."""
    if len(rows.X) < _FEW:
        return
    ranges = zip(rows.X.min(axis=0).tolist(), rows.X.max(axis=0).tolist(), strict=True)  # in one pass over the rows
    names = rows.names or [*map(str, rows.features)]
    for name, column, values, (low, high) in zip(names, rows.columns, rows.X.T, ranges, strict=True):
        if column.kind == NUMERIC and not column.n_missing and _identifies_rows(name, values, low, high):
            say(f"{path}: column {name!r} has a different number in each row, like an identifier; to leave it "
                f"out, pass --drop {name!r}")


def _identifies_rows(name: str, values: NDArray[Any], low: float, high: float) -> bool:
    """Whether a column contains consecutive integers in any order, or is named like an identifier and has no ties."""
    n_rows = len(values)
    if high - low == n_rows - 1:
        seen = np.zeros(n_rows, dtype=bool)
        for start in range(0, n_rows, BLOCK_ROWS):
            places = values[start : start + BLOCK_ROWS] - low
            if (places != np.floor(places)).any():
                return False
            seen[places.astype(np.intp)] = True
        return bool(seen.all())  # n_rows integers in n_rows places: distinct if no place is left
    return _IDENTIFIER.fullmatch(name) is not None and len(np.unique(values)) == n_rows
