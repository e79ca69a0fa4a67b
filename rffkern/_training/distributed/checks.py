"""Checks that need all partitions of a table, and what follows from all: classes, mean weights and spreads."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._estimator.class_weights import class_factors
from ..._rows.scaling import scaling_from
from ..._rows.validation import check_known_labels, check_names
from ...errors import InvalidInputError
from .partition import Summary
from .partitions import Engine, PartitionColumns, Partitions, Table

Double = NDArray[np.float64]


class Targets(NamedTuple):
    """What the targets of all partitions are put together by."""

    classes: NDArray[Any] | None
    center: Double  # (n_outputs,)
    inverse_scale: Double


class CheckedTables(NamedTuple):
    """Partitions to learn from and sets of partitions held out, all of the same columns, and their targets."""

    names: list[str] | None  # of the columns
    training: Table
    held_out: dict[str, Table]
    targets: Targets


def check_tables(has_labels: bool, class_weight: Any, training: Engine,
                 held_out: Mapping[str, Engine]) -> CheckedTables:
    """Check what was opened by `open_partition`; of labels, rows are weighted by `class_weight`."""
    partitions = Partitions(training)
    summaries = _summaries(partitions, "", None)
    targets, table = (_labelled(class_weight, partitions, summaries) if has_labels
                      else _with_targets(partitions, summaries))
    sets = {name: _held_out(Partitions(engine), targets, summaries[0]) for name, engine in held_out.items()}
    return CheckedTables(summaries[0].names, table, sets, targets)


def refuse_others(model: Any, accepted: Mapping[str, Sequence[Any]]) -> None:
    """Refuse values of parameters that need all rows in one place."""
    for name, values in accepted.items():
        given = getattr(model, name)
        if given not in values:
            raise InvalidInputError(f"{name} must be {' or '.join(map(repr, values))} where rows are in partitions, "
                                    f"got {given!r}")


def _summaries(partitions: Partitions, what: str, first: Summary | None) -> list[Summary]:
    """Summaries of the partitions that have rows, all of the same columns as the first of these or a given one."""
    found: list[Summary] = partitions.ask("summary")
    for summary in found:
        first = first or summary
        place = f"{what}X of partition {summary.number}"
        if summary.n_features != first.n_features:
            raise InvalidInputError(f"{place} must have {first.n_features} features, got {summary.n_features}")
        try:
            check_names(summary.names, first.names)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: {error}") from None
    partitions.without([place for place, summary in enumerate(found) if not summary.n_rows])
    found = [summary for summary in found if summary.n_rows]
    if not found:
        raise InvalidInputError(f"{what}X must have rows of positive weight, got none in any partition")
    return found


def _settled(partitions: Partitions, summaries: list[Summary], classes: NDArray[Any] | None, class_weight: Any,
             what: str) -> Table:
    """Partitions with weights of mean 1, multiplied by those of their classes."""
    weights, factors = [summary.class_totals for summary in summaries], np.ones(1)
    if classes is not None:
        places = [np.searchsorted(classes, summary.classes) for summary in summaries]
        totals = np.zeros(len(classes))
        for place, found in zip(places, weights, strict=True):
            totals[place] += found
        factors = np.ones(len(classes))
        if class_weight is not None:
            factors = class_factors(class_weight, classes, totals)
        weights = [factors[place] * found for place, found in zip(places, weights, strict=True)]
    given_total = math.fsum(float(found.sum()) for found in weights)
    is_uniform = class_weight is None and all(summary.is_uniform for summary in summaries)
    n_rows = sum(summary.n_rows for summary in summaries)
    partitions.tell("settle", classes, factors, given_total / n_rows, is_uniform, what)
    return Table(partitions, summaries, partitions.ask("total_weight"), given_total)


def _labelled(class_weight: Any, partitions: Partitions, summaries: list[Summary]) -> tuple[Targets, Table]:
    """Classes of all partitions, and rows with labels."""
    kinds = ["number" if summary.classes is not None and summary.classes.dtype.kind in "biuf" else "other"
             for summary in summaries]
    for kind, summary in zip(kinds, summaries, strict=True):
        if kind != kinds[0]:
            raise InvalidInputError(
                f"y of partition {summary.number} must hold labels of one kind with those of partition "
                f"{summaries[0].number}, got {summary.classes!r}")
    classes = np.unique(np.concatenate([summary.classes for summary in summaries]))
    if len(classes) < 2:
        raise InvalidInputError(f"y must hold at least two classes, got 1 class with positive weight: "
                                f"{classes.tolist()!r}")
    n_outputs = 1 if len(classes) == 2 else len(classes)
    table = _settled(partitions, summaries, classes, class_weight, "")
    return Targets(classes, np.zeros(n_outputs), np.ones(n_outputs)), table


def _with_targets(partitions: Partitions, summaries: list[Summary]) -> tuple[Targets, Table]:
    """Scaling of the targets of all partitions, and rows with targets in units of their spread."""
    if sum(summary.n_rows for summary in summaries) < 2:
        raise InvalidInputError("X: Found partitions with 1 sample(s) in all while a minimum of 2 is required.")
    for summary in summaries:
        if summary.n_targets != summaries[0].n_targets:
            raise InvalidInputError(f"y of partition {summary.number} must have {summaries[0].n_targets} targets, got "
                                    f"{summary.n_targets}")
    table = _settled(partitions, summaries, None, None, "")
    center, inverse_scale, *_ = scaling_from(PartitionColumns(partitions, "values", table.total), standardize=True)
    partitions.tell("standardise_targets", center, inverse_scale, "")
    return Targets(None, center, inverse_scale), table


def _held_out(partitions: Partitions, targets: Targets, first: Summary) -> Table:
    """Rows held out, which count as they are given."""
    what = "eval_set "
    summaries = _summaries(partitions, what, first)
    for summary in summaries:
        if targets.classes is not None:
            check_known_labels(summary.classes, targets.classes, np.size(summary.classes),
                               f"{what}y of partition {summary.number}")
        elif summary.n_targets != targets.center.size:
            raise InvalidInputError(f"{what}y of partition {summary.number} must have {targets.center.size} targets, "
                                    f"got {summary.n_targets}")
    table = _settled(partitions, summaries, targets.classes, None, what)
    if targets.classes is None:
        partitions.tell("standardise_targets", targets.center, targets.inverse_scale, what)
    return table
