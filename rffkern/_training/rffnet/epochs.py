"""The order in which epochs visit rows, and where they pause for validation."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._native.array_types import NDArray
from ..._rows.row_blocks import RowBlocks
from ..._rows.weights import RowWeights
from .network import Visit
from .problem import Problem

Indices = NDArray[np.intp]
_Shuffled = tuple[NDArray[Any], NDArray[np.float64], RowWeights, list[Indices]]

# An epoch passes over few rows several times, until it has taken at least this many steps.
_STEPS_PER_EPOCH = 32

# An epoch of more steps than this has several parts, and a validation after each.
_STEPS_PER_PART = 500


class EpochVisit(NamedTuple):
    """A visit, and whether a part or an epoch ends with it."""

    visit: Visit
    ends_part: bool
    ends_epoch: bool


def epochs(problem: Problem, members: Indices, batch_size: int, rng: "np.random.Generator") -> Iterator[EpochVisit]:
    """Yield the visits of one epoch after the other, without end."""
    n_passes = -(-_STEPS_PER_EPOCH // -(-len(members) // batch_size))
    n_parts = -(-len(members) // (_STEPS_PER_PART * batch_size))
    part_size = -(-len(members) // (n_parts * batch_size)) * batch_size
    while True:
        n_taken, n_left = 0, n_passes * len(members)
        for visit in visits(problem, members, n_passes, part_size, rng):
            n_visited = len(visit.orders) * len(visit.orders[0])
            n_taken, n_left = n_taken + n_visited, n_left - n_visited
            ends_part = n_left == 0 or (n_passes == 1 and n_taken >= part_size)
            yield EpochVisit(visit, ends_part, n_left == 0)
            n_taken = 0 if ends_part else n_taken


def visits(problem: Problem, members: Indices, n_passes: int, part_size: int,
           rng: "np.random.Generator") -> Iterator[Visit]:
    """Yield visits of at most `part_size` rows a pass, that together pass over some rows several times."""
    for X, targets, weights, orders in _shuffled(problem, members, n_passes, rng):
        for start in range(0, len(orders[0]), part_size):
            parts = [order[start : start + part_size] for order in orders]
            weight, total_weight = weights.for_kernel(), 0.0
            for part in parts:
                total_weight += weights.of(part).total
            yield Visit(X, targets, weight, parts, total_weight)


def _shuffled(problem: Problem, members: Indices, n_passes: int, rng: "np.random.Generator") -> Iterator[_Shuffled]:
    """Yield (array, targets, weights, orders of the members in it); rows of a stream are shuffled within blocks."""
    X, targets, weights, _ = problem
    if not isinstance(X, RowBlocks):
        yield X, targets, weights, [members[rng.permutation(len(members))] for _ in range(n_passes)]
        return
    for _ in range(n_passes):
        for rows, block in X.shuffled_blocks(rng):
            here = members[slice(*np.searchsorted(members, (rows.start, rows.stop)))] - rows.start
            if len(here):
                yield block, targets[rows], weights.of(rows), [here[rng.permutation(len(here))]]
