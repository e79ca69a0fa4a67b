"""`rffkern what-if`: the nearest change of each row with which a model predicts a label or reaches a number."""

import argparse
import json
from typing import Any

import numpy as np

from .._column_map.tables import rows_of
from .._estimator.counterfactual import Counterfactual, checked_question
from .._estimator.evaluation import aligned
from .._estimator.explanations import names_of
from ..errors import InvalidInputError
from .model_rows import load_predictor, open_for, read_labelled
from .output import UsageError, check_outputs, given_once, printable


def run(arguments: argparse.Namespace) -> None:
    """Print the changes of each row, as a table or as a JSON object."""
    check_outputs({"--reject": arguments.reject}, arguments.data, arguments.model)
    model = load_predictor(arguments)
    target = _target(model, arguments.target)
    columns = names_of(model).tolist()
    change = [_column(columns, text) for texts in arguments.change for text in texts.split(",")] or None
    limits = given_once("--limit", [(_column(columns, name), (low, high)) for name, low, high in arguments.limit])
    steps = given_once("--step", [(_column(columns, name), size) for name, size in arguments.step])
    try:
        checked_question(model, target, arguments.probability, change, limits, steps)
    except InvalidInputError as error:  # of the options, before a row is read
        raise UsageError(str(error)) from error
    table = open_for(model, arguments)
    X, *_ = read_labelled(model, table, None, arguments)
    predicted = model.predict(X).tolist()
    failure: InvalidInputError | None = None
    n_failed = 0
    for row, before in enumerate(predicted):
        one = X[row : row + 1] if isinstance(X, np.ndarray) else rows_of(X, np.array([row]))
        try:
            found = model.what_if(one, target, probability=arguments.probability, change=change, limits=limits,
                                  steps=steps)
        except InvalidInputError as error:
            failure, n_failed = error, n_failed + 1
            found = None
        if arguments.json:
            print(json.dumps(_object(row + 1, before, found, failure)), flush=True)
        else:
            for line in _lines(row + 1, before, target, found, failure):
                print(printable(line), flush=True)
    if failure is not None and n_failed == len(predicted):
        raise InvalidInputError(f"{table.path}: {failure}") from failure


def _target(model: Any, text: str) -> Any:
    """The label that is written so, a number, or the pair of LOW:HIGH."""
    if hasattr(model, "classes_"):
        labels = {str(label): label for label in model.classes_.tolist()}
        if text not in labels:
            raise UsageError(f"--target must be a label of the model, such as {next(iter(labels))!r}, got {text!r}")
        return labels[text]
    try:
        ends = [float(end) for end in text.split(":")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        raise UsageError(f"--target must be a number, or LOW:HIGH, of a model that predicts numbers, got {text!r}")
    return ends[0] if len(ends) == 1 else tuple(ends)


def _column(columns: list[Any], text: str) -> Any:
    """A column of the model by its name or its 0-based index."""
    if text in columns:
        return text
    if text.isdecimal() and int(text) < len(columns):
        return columns[int(text)]
    raise UsageError(f"expected a column of the model, such as {str(columns[0])!r}, got {text!r}")


def _lines(row: int, before: Any, target: Any, found: Counterfactual | None,
           failure: InvalidInputError | None) -> list[str]:
    """What is said of a row."""
    if found is None:
        return [f"row {row}: predicts {_shown(before)}; {failure}"]
    if not found.changes:
        return [f"row {row}: predicts {_shown(before)}, which is the target already"]
    likely = "" if found.probability is None else f" (probability of {_shown(target)}: {found.probability:.3f})"
    return [f"row {row}: predicts {_shown(before)}; would predict {_shown(found.prediction)}{likely} with",
            *(f"  {line}" for line in aligned([str(name), _shown(old), "->", _shown(new)]
                                              for name, (old, new) in found.changes.items())),
            f"  distance {found.distance:.3g}; no change within {found.lower_bound:.3g} does"]


def _object(row: int, before: Any, found: Counterfactual | None, failure: InvalidInputError | None) -> dict[str, Any]:
    if found is None:
        return {"row": row, "predicted": before, "error": str(failure)}
    return {"row": row, "predicted": before, "prediction": found.prediction, "probability": found.probability,
            "changes": {str(name): list(pair) for name, pair in found.changes.items()}, "distance": found.distance,
            "lower_bound": found.lower_bound}


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
