"""Rows with numeric targets, how many of them to validate on, and the shuffled order in which epochs take them."""

from collections.abc import Iterator

import numpy as np

from ..._native.array_types import Double, Indices
from ..._rows.row_blocks import RowBlocks, take_rows
from ..._rows.scaling import standardised_targets
from ..._rows.training_rows import LabelledRows, TargetRows, Training

Units = tuple[Double, Double]  # (center, scale) of the targets, each (n_outputs,)

# Limits on the validation rows, and on the numbers in them.
_LARGEST_VALIDATION, _LARGEST_VALIDATION_NUMBERS = 1 << 16, 1 << 24

# An epoch passes over few rows several times, until it has taken at least this many steps.
_STEPS_PER_EPOCH = 32

# An epoch of more steps than this has several parts, and a validation after each.
_STEPS_PER_PART = 500


def numeric_rows(rows: LabelledRows | TargetRows, training: Training, units: Units | None) -> TargetRows:
    """Return checked rows with targets as a loss reads them: real values, signs, or class indices.

    Real values are in the units of an earlier training if there are any.
    """
    if isinstance(rows, LabelledRows):
        targets = np.where(rows.codes == 1, 1.0, -1.0) if training.center.size == 1 else rows.codes.astype(np.float64)
        return TargetRows(rows.X, targets[:, None], rows.weights)
    values = rows.values
    if units is not None:
        center, scale = units
        with np.errstate(over="ignore", invalid="ignore"):
            values = values * training.scale + training.center
        values = standardised_targets(values, rows.weights, center, 1 / scale, "y")
    return TargetRows(rows.X, np.ascontiguousarray(values), rows.weights)


def taken(rows: TargetRows, indices: Indices) -> TargetRows:
    """Return some of the rows, in memory and double precision."""
    return TargetRows(take_rows(rows.X, indices), rows.values[indices], rows.weights.of(indices))


def n_validation_rows(n_samples: int, n_features: int, fraction: float) -> int:
    """Return how many of so many rows to validate on."""
    return min(int(fraction * n_samples), _LARGEST_VALIDATION, _LARGEST_VALIDATION_NUMBERS // n_features)


def shuffled_epoch(rows: TargetRows, training_rows: Indices, batch_size: int,
                   rng: "np.random.Generator") -> Iterator[tuple[TargetRows, list[Indices], bool]]:
    """Yield the training rows of one epoch as `shuffled_passes` does, and whether a part of it ends with them."""
    n_passes = -(-_STEPS_PER_EPOCH // -(-len(training_rows) // batch_size))
    n_parts = -(-len(training_rows) // (_STEPS_PER_PART * batch_size))
    part_size = -(-len(training_rows) // (n_parts * batch_size)) * batch_size
    n_taken, n_left = 0, n_passes * len(training_rows)
    for block, orders in shuffled_passes(rows, training_rows, n_passes, part_size, rng):
        n_rows = len(orders) * len(orders[0])
        n_taken, n_left = n_taken + n_rows, n_left - n_rows
        ends_part = n_left == 0 or (n_passes == 1 and n_taken >= part_size)
        yield block, orders, ends_part
        n_taken = 0 if ends_part else n_taken


def shuffled_passes(rows: TargetRows, training_rows: Indices, n_passes: int, part_size: int,
                    rng: "np.random.Generator") -> Iterator[tuple[TargetRows, list[Indices]]]:
    """Yield rows of one array, and shuffled orders of some of them, at most `part_size`, for one pass or several.

    Together they pass over the training rows several times.
    """
    for block, orders in _shuffled_blocks(rows, training_rows, n_passes, rng):
        for start in range(0, len(orders[0]), part_size):
            yield block, [order[start : start + part_size] for order in orders]


def _shuffled_blocks(rows: TargetRows, training_rows: Indices, n_passes: int,
                     rng: "np.random.Generator") -> Iterator[tuple[TargetRows, list[Indices]]]:
    """Yield (rows of one array, orders of the training rows among them); streamed rows are shuffled within blocks."""
    if not isinstance(rows.X, RowBlocks):
        yield rows, [training_rows[rng.permutation(len(training_rows))] for _ in range(n_passes)]
        return
    for _ in range(n_passes):
        for place, block in rows.X._shuffled_blocks(rng):
            here = training_rows[slice(*np.searchsorted(training_rows, (place.start, place.stop)))] - place.start
            if len(here):
                yield (TargetRows(block, rows.values[place], rows.weights.of(place)),
                       [here[rng.permutation(len(here))]])
