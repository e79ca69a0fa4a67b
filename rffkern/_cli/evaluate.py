"""`rffkern evaluate`: metrics of a model on a table with labels or targets, with standard errors, beside a constant."""

import argparse
import json
from collections import Counter
from typing import Any

import numpy as np

from .._estimator.evaluation import Evaluation, Predictions, joined, predictions_of
from .._rows.weights import check_weights
from ..errors import InvalidInputError
from .model_rows import ModelRows, load_predictor, open_for, target_column, written_as
from .output import Progress, UsageError, check_outputs, open_rejected, printable, say
from .table import Block, ColumnType, Table, column_index, column_indices, column_label, csv_format, shortened


def run(arguments: argparse.Namespace) -> None:
    """Print the metrics, as a table or as one JSON object."""
    check_outputs({"--reject": arguments.reject}, arguments.data, arguments.model)
    model = load_predictor(arguments)
    positive = _positive(model, arguments.positive)
    table = open_for(model, arguments)
    weight = None if arguments.weight is None else column_index(table, arguments.weight)
    dropped = [*column_indices(table, arguments.drop), *([] if weight is None else [weight])]
    target = target_column(table, arguments.target, model, dropped)
    of_model = ModelRows(model, table, target, dropped, csv_format(arguments))
    selection = of_model.selection(target, needs_labels=False, reject=arguments.reject is not None)
    if weight is not None:  # read beside the features, as a number that no row may lack
        selection = selection._replace(features=[*selection.features, weight],
                                       types=[*selection.feature_types(), ColumnType()])
    raw_blocks, parse = table.read(selection)
    parts: list[Predictions] = []
    unknown: Counter[str] = Counter()  # labels that the model does not know
    n_rows = 0
    with Progress("scoring", table.total) as bar, open_rejected(arguments.reject) as rejected:
        for block in map(parse, raw_blocks):
            rejected.add(block.rejected)
            n_rows += len(block.X)
            bar.update(block.done, n_rows)
            if len(block.X):
                weights = None
                if weight is not None:
                    weights = block.X[:, -1].astype(np.float64)
                    block = block._replace(X=np.ascontiguousarray(block.X[:, :-1]), types=block.types[:-1])
                part, unknown_labels = _of_block(model, of_model, block, weights)
                parts.append(part)
                unknown.update(unknown_labels)
    rejected.report(n_rows)
    if not n_rows:
        raise InvalidInputError(f"{table.path}: expected rows with a label or target, got none: give a table that has "
                                "some")
    if not any(len(part.truth) for part in parts):
        raise InvalidInputError(f"{table.path}: the table has no rows with a label or target: give the column that has "
                                "them by --target")
    predictions = joined(parts)
    if predictions.classes is not None and (predictions.truth < 0).all():
        found = f"got {next(iter(unknown))!r}{' and others' if len(unknown) > 1 else ''}"
        raise InvalidInputError(f"{table.path}: expected labels of the model, such as {str(predictions.classes[0])!r}, "
                                f"{found}: write them as in training, or give the column that has them by --target")
    if weight is not None:
        try:
            check_weights(predictions.weights, len(predictions.truth))
        except InvalidInputError as error:
            raise InvalidInputError(f"{table.path}: column {column_label(weight, table.columns)}: {error}") from error
    if unknown:
        names = [f"{label!r} ({count} row{'s' if count > 1 else ''})" for label, count in unknown.most_common()]
        say(f"{table.path}: labels that the model does not know: {shortened(names)}")
    _report(arguments, table, target, n_rows, Evaluation.of(predictions._replace(positive=positive)))


def _positive(model: Any, text: str | None) -> int | None:
    """The index of the class that metrics are asked of."""
    if text is None:
        return None
    if not hasattr(model, "classes_"):
        raise UsageError("--positive needs a classifier, and the model predicts numbers: leave it out")
    labels = [*map(str, model.classes_.tolist())]
    if text not in labels:
        raise UsageError(f"--positive must be a label of the model, one of {shortened([*map(repr, labels)])}, got "
                         f"{text!r}")
    return labels.index(text)


def _report(arguments: argparse.Namespace, table: Table, target: int | None, n_rows: int,
            evaluation: Evaluation) -> None:
    n_known = len(evaluation.predictions.truth)
    if n_known < n_rows:
        say(f"{table.path}: {n_rows - n_known} of {n_rows} rows have no label or target, and are left out")
    name = table.columns[target] if target is not None and table.columns else None
    weighted = "" if evaluation.predictions.weights is None else "weighted "
    sentence = evaluation.sentence(f"{evaluation.figures()['rows']} {weighted}rows of {table.path}")
    if arguments.json:
        print(json.dumps({"model": arguments.model, "data": table.path, "target": name, "summary": sentence,
                          **evaluation.figures(), **evaluation.tables()}))
        return
    print(printable(f"{sentence[0].upper()}{sentence[1:]}."))
    print()
    for line in evaluation.lines():
        print(printable(line))
    print()
    of_known = ", of the labels that the model knows" if evaluation.n_unknown() else ""
    print(f"+- one standard error; the constant is the best one for these rows{of_known}")


def _of_block(model: Any, of_model: ModelRows, block: Block, weights: Any) -> tuple[Predictions, list[str]]:
    """Predictions for the rows of a block that have a label or target, and the labels that the model does not know."""
    labels, X, unknown = np.asarray(block.labels), of_model.of(block), list[str]()
    if hasattr(model, "classes_"):
        written, missing = written_as(labels, model.classes_)
        part = predictions_of(model, X, written, weights)
        known = ~missing
        unknown += map(str, labels[known & (part.truth < 0)].tolist())
    else:
        part = predictions_of(model, X, of_model.targets(labels), weights)
        known = np.isfinite(part.truth)
    rows = np.flatnonzero(known.reshape(len(known), -1).all(axis=1))
    return part._replace(truth=part.truth[rows], predicted=part.predicted[rows],
                         weights=None if weights is None else weights[rows]), unknown
