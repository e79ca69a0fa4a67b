"""Rows with their targets as a loss reads them, and which of them are held out for validation."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._native.array_types import NDArray
from ..._rows.row_blocks import take_rows
from ..._rows.scaling import standardised_targets
from ..._rows.training_rows import LabelledRows, TargetRows, Training
from ..._rows.validation import to_array
from ..._rows.weights import RowWeights
from .training_state import TrainingState

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

# Limits on the rows held out, and on the numbers in them.
_MOST_HELD_OUT = 1 << 16
_MOST_HELD_OUT_NUMBERS = 1 << 24

# Numbers in the rows on which the training loss before the first step is measured.
_PROBE_NUMBERS = 1 << 18

NO_ROWS = np.empty(0, np.intp)


class Problem(NamedTuple):
    """Rows with their targets as a loss reads them."""

    X: Any  # array of shape (n_samples, n_features), or RowBlocks
    targets: Double  # (n_samples, n_targets): real values, signs, or class indices
    weights: RowWeights
    n_outputs: int


def pose(rows: LabelledRows | TargetRows, training: Training, state: TrainingState | None) -> Problem:
    """Return the problem of checked rows, with targets in the units of `state` if there is one."""
    n_outputs = training.center.size
    if isinstance(rows, LabelledRows):
        targets = np.where(rows.codes == 1, 1.0, -1.0) if n_outputs == 1 else rows.codes.astype(np.float64)
        return Problem(rows.X, targets[:, None], rows.weights, n_outputs)
    values = rows.values
    if state is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            values = values * training.scale + training.center
        values = standardised_targets(values, rows.weights, state.center, 1 / state.scale, "y")
    return Problem(rows.X, np.ascontiguousarray(values), rows.weights, n_outputs)


class Division(NamedTuple):
    """Rows of a problem to learn from, and rows on which losses are measured."""

    n_samples: int  # rows of positive weight
    held_out: Indices  # which of them are held out
    members: Indices  # rows of the problem to learn from
    probe: Problem  # some of these, for the training loss before the first step
    validation: Mapping[str, Problem]  # by name, rows held out or those of an `eval_set`; the first decides
    n_measured: int  # the largest number of rows in these


def rows_held_out(y: Any, sample_weight: Any, fraction: float, rng: "np.random.Generator") -> Indices:
    """Indices of the rows that `divide` will hold out at most, from the same generator, which is left as it is."""
    n_samples = len(np.atleast_1d(to_array(y, "y")))
    given = np.ones(n_samples) if sample_weight is None else to_array(sample_weight, "sample_weight").ravel()
    positive = np.flatnonzero(given)
    order = copy.deepcopy(rng).permutation(len(positive))
    return positive[order[: min(int(fraction * len(positive)), _MOST_HELD_OUT)]]


def divide(problem: Problem, validation: Mapping[str, Problem], fraction: float, rng: "np.random.Generator",
           state: TrainingState | None) -> Division:
    """Hold out a fraction of the rows of positive weight, unless there are rows to validate on.

    If training continues with as many rows, and as many of them held out, the same rows are held out as before.
    """
    positive = problem.weights.positive()
    n_samples, n_features = len(positive), problem.X.shape[1]
    n_held_out = min(int(fraction * n_samples), _MOST_HELD_OUT, _MOST_HELD_OUT_NUMBERS // n_features)
    if validation or n_held_out == 0:
        held_out = NO_ROWS
    elif state is not None and (state.n_samples, state.held_out.size) == (n_samples, n_held_out):
        held_out = state.held_out
    else:
        held_out = np.sort(rng.permutation(n_samples)[:n_held_out])
    members = np.delete(positive, held_out)
    n_probed = max(1, _PROBE_NUMBERS // n_features)
    probed = members[:: -(-len(members) // n_probed)]
    X, targets, weights, n_outputs = problem
    rows = positive[held_out]
    held_out_X = take_rows(X, rows) if rows.size else None
    probe = Problem(take_rows(X, probed), targets[probed], weights.of(probed), n_outputs)
    if held_out_X is not None:
        validation = {"valid_0": Problem(held_out_X, targets[rows], weights.of(rows), n_outputs)}
    n_measured = max(len(each.targets) for each in (probe, *validation.values()))
    return Division(n_samples, held_out, members, probe, validation, n_measured)
