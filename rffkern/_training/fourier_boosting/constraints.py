"""Constraints on the function: columns in which scores only rise or only fall, and sets of columns that interact alone.

Where scores are to rise with a raw column, each tree does, for its values are put in order along the column (isotonic
regression), and no other term and no kernel reads it.  So does the sum of all, and this holds to the last bit, for sums
of floating-point numbers in a fixed order rise with each of them.  Where sets of columns are given, all columns of a
term are those of one set.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from ..._column_map.cells import EMPTY, NUMERIC
from ..._column_map.column_map import ColumnMap
from ..._column_map.tables import column_name, column_places
from ..._model.expansion import Expansion
from ..._model.parts import TreeTerms
from ..._native import boosting
from ..._native.array_types import Double, Indices, Mask, NDArray
from ...errors import InvalidInputError
from .terms import TreeTerm

Signs = NDArray[np.int8]

# Forms of a column that rise with its values to the last bit: the others are sums of several rounded products.
_RISING_FORMS = "raw", "standard"

# Passes over the columns of a tree that have an order, of which each gets its isotonic regression in turn.
_N_PASSES = 10


class Constraints(NamedTuple):
    """What terms keep; sources are the raw columns that are used, numbered as in `Columns`."""

    signs: Signs  # (n_columns,) of mapped columns: 1 or -1 where scores rise or fall with them, else 0
    usable: Mask  # (n_columns,) False for mapped columns that no term reads
    ordered: Mask  # (n_sources,) raw columns with a sign
    members: Indices  # sets of sources that may occur in one term, one set after the other; none where all may
    starts: Indices  # (n_sets + 1,)
    n_pairs: int = 0  # sets of two that are still to be chosen

    @property
    def allow_kernels(self) -> bool:
        """Whether there may be kernels: they read all columns without an order together."""
        return not len(self.members) and not self.ordered.all()

    def with_pairs(self, pairs: Indices) -> Self:
        """The same with pairs of sources, (n_pairs, 2), beside the sets."""
        starts = self.starts[-1] + 2 * np.arange(1, len(pairs) + 1)
        return self._replace(members=np.concatenate([self.members, pairs.ravel()]),
                             starts=np.concatenate([self.starts, starts]))

    def chances(self, weights: Double, equal_share: float, keeps_order: bool, rng: "np.random.Generator") -> Double:
        """Chances of the sources of a term, of one set, which is drawn by the sum of its chances.

        A share of the chances is equal for all, the rest in proportion to the weights.  Terms that keep no order have
        no chance to read columns that have one.
        """
        total = float(weights.sum())
        equal_share = equal_share if total > 0 else 1.0
        chances: Double = equal_share / len(weights) + (1 - equal_share) * weights / max(total, 1e-300)
        if not keeps_order:
            chances[self.ordered] = 0
        if not len(self.members):
            return chances
        reached = np.cumsum(np.add.reduceat(chances[self.members], self.starts[:-1]))
        place = min(rng.random() * reached[-1], np.nextafter(reached[-1], 0))  # below the last sum, however it rounds
        chosen = int(np.searchsorted(reached, place, side="right"))
        own = self.members[self.starts[chosen] : self.starts[chosen + 1]]
        of_set = np.zeros_like(chances)
        of_set[own] = chances[own]
        return of_set


def constraints_of(model: Any, column_names: NDArray[np.object_] | None, column_map: ColumnMap | None, sources: Indices,
                   forms: NDArray[np.str_] | None, n_raw_columns: int,
                   classes: NDArray[Any] | None) -> Constraints | None:
    """The constraints of a model on mapped columns, None where it has none.

    Parameters
    ----------
    column_names : of the raw columns, or None
    column_map : fitted map, or None
    sources : array of shape (n_columns,), the raw column of each mapped one
    forms : array of shape (n_columns,), or None without a map
    classes : labels of a classifier, or None

    Raises
    ------
    InvalidInputError
        If a column is not there or cannot have an order, or there are more than two classes.
    """
    names = None if column_names is None else tuple(map(str, column_names))
    of_raw = _signs_of_raw(model.monotone_constraints, names, n_raw_columns)
    n_pairs = model.interaction_constraints
    sets = _sets_of_raw(n_pairs, names, n_raw_columns)
    if sets is None and not of_raw.any():
        return None
    if classes is not None and len(classes) > 2 and of_raw.any():
        raise InvalidInputError(f"monotone_constraints must be None for more than two classes, got {len(classes)}: "
                                "the probabilities of all classes cannot rise")
    signs, usable = of_raw[sources], np.ones(len(sources), dtype=bool)
    if column_map is not None and forms is not None:
        rises = np.isin(forms, _RISING_FORMS)
        for raw in np.flatnonzero(of_raw).tolist():
            kind, own = column_map._fitted.columns[raw].kind, np.flatnonzero(sources == raw)
            if kind not in (NUMERIC, EMPTY):
                raise InvalidInputError(f"monotone_constraints need columns of numbers, got {column_name(names, raw)}, "
                                        f"which holds {kind} values; turn it into numbers, or leave it out of them")
            if len(own) and not rises[own[0]]:
                raise InvalidInputError(
                    f"monotone_constraints of {column_name(names, raw)} need {' or '.join(map(repr, _RISING_FORMS))} "
                    f"as the first form of numbers in the column map, got {str(forms[own[0]])!r}")
        usable = (signs == 0) | rises | (forms == "missing")
        signs = np.where(rises, signs, 0).astype(np.int8)
        if sets is not None and "difference" in forms:
            raise InvalidInputError('interaction_constraints need a column map without date_parts="differences": these '
                                    "are functions of two columns")
    used = np.unique(sources)
    places = np.full(n_raw_columns, -1)
    places[used] = np.arange(len(used))
    found = [kept for each in sets or [] if len(kept := places[each][places[each] >= 0])]
    return Constraints(signs, usable, of_raw[used] != 0, np.concatenate([np.empty(0, dtype=np.intp), *found]),
                       np.cumsum([0, *map(len, found)]), int(n_pairs) if isinstance(n_pairs, (int, np.integer)) else 0)


def _signs_of_raw(given: Any, names: tuple[str, ...] | None, n_columns: int) -> Signs:
    """The sign of each raw column, by the parameter `monotone_constraints`."""
    signs = np.zeros(n_columns, dtype=np.int8)
    if isinstance(given, dict):
        places = column_places("monotone_constraints", given, names, n_columns)
        if len(set(places)) < len(places):
            raise InvalidInputError("monotone_constraints must have each column once, got a column by its name and by "
                                    "its index")
        signs[places] = [*given.values()]
    elif given is not None:
        if len(given) != n_columns:
            raise InvalidInputError(f"monotone_constraints must be a dict or have one entry per column ({n_columns}), "
                                    f"got {len(given)}")
        signs[:] = given
    return signs


def _sets_of_raw(given: Any, names: tuple[str, ...] | None, n_columns: int) -> list[Indices] | None:
    """Sets of raw columns that may interact, by the parameter `interaction_constraints`; None where all may."""
    if given is None:
        return None
    every = np.arange(n_columns)
    if given == "pairwise" and n_columns > 1:
        return [*np.stack(np.triu_indices(n_columns, 1), axis=1)]
    if isinstance(given, (str, int, np.integer)):  # pairs of a number of them are chosen later, by the additive model
        return [*every[:, None]]
    sets = [np.unique(column_places("interaction_constraints", [*each], names, n_columns)) for each in given]
    others = np.setdiff1d(every, np.concatenate(sets))
    return [*sets, others]


def monotone_values(values: Double, weights: Double, tree: TreeTerm, signs: Signs) -> Double:
    """The values of the leaves of a symmetric tree put in order along the columns that have a sign.

    They are those of lowest sum of weights times squared distances from `values`: of one such column by isotonic
    regression, of several by Dykstra's method (R. L. Dykstra and T. Robertson, 1982, "An algorithm for isotonic
    regression for two or more independent variables"), after some passes of which each value becomes the mean of the
    largest one that is not to be above it and the smallest one that is not to be below.  As in CatBoost, all leaves
    take part, while LightGBM and scikit-learn bound those of each side of a split.

    Parameters
    ----------
    values, weights : arrays of shape (2^depth, n_outputs)
    signs : array of shape (n_binned,)
    """
    leaves, chains, same = np.arange(len(values)), [], []
    splits = tree.threshold_bins != boosting.ALWAYS_LEFT
    for column in np.unique(tree.columns[splits & (signs[tree.columns] != 0)]):
        levels = np.flatnonzero(splits & (tree.columns == column))
        levels = levels[np.argsort(tree.threshold_bins[levels], kind="stable")]
        above = np.cumsum([0, *(1 << levels)])  # the bits of a row that is above none of the thresholds, one, two, ...
        chain = above[:, None] + leaves[(leaves & above[-1]) == 0]
        chains.append(chain if signs[column] > 0 else chain[::-1])
        # Leaves that no row reaches have the value of those above as many thresholds, for thresholds of rows may tie.
        n_above = (leaves[:, None] >> levels & 1).sum(axis=1)
        same.append(leaves & ~above[-1] | above[n_above])
    corrections = [np.zeros((*chain.shape, values.shape[1])) for chain in chains]
    values = values.copy()
    for _ in range(1 if len(chains) == 1 else _N_PASSES):
        for chain, correction in zip(chains, corrections, strict=True):
            wanted = values[chain] + correction
            values[chain] = isotonic(wanted, weights[chain])
            correction[:] = wanted - values[chain]
    if len(chains) > 1:
        low, high = values.copy(), values.copy()
        for chain in chains:
            high[chain] = np.maximum.accumulate(high[chain])
            low[chain] = np.minimum.accumulate(low[chain][::-1])[::-1]
        values = 0.5 * low + 0.5 * high
    for leaf in same:
        values = values[leaf]
    return values


def isotonic(values: Double, weights: Double) -> Double:
    """The nearest values, by weighted squares, that rise along the first axis.

    The k-th is max over i <= k of min over l >= k of the mean of the i-th to the l-th.  In floating point they rise
    too, for neither the smallest nor the largest of these means rounds.
    """
    found = np.full_like(values, -np.inf)
    for first in range(len(values)):
        means = np.cumsum(weights[first:] * values[first:], axis=0) / np.cumsum(weights[first:], axis=0)
        found[first:] = np.maximum(found[first:], np.minimum.accumulate(means[::-1])[::-1])
    return found


def check_constraints(expansion: Expansion, constraints: Constraints, sources: Indices) -> None:
    """Raise RuntimeError unless each part of a function of mapped columns keeps the constraints.

    `sources` are those of the mapped columns, numbered as in `Columns`.
    """
    signs, reads, kept = constraints.signs, expansion._reads(), True
    for part in expansion.parts:
        barred = ~constraints.usable
        if not (isinstance(part, TreeTerms) and _trees_keep_order(part, signs)):
            barred |= signs != 0  # trees alone may read columns with an order
        kept &= not part._columns_read(len(signs))[barred].any()
    if len(constraints.members):
        of_sources = np.zeros((len(reads), len(constraints.ordered)), dtype=bool)
        for column, source in enumerate(sources):
            of_sources[:, source] |= reads[:, column]
        for used in np.unique(of_sources, axis=0):
            in_sets = np.add.reduceat(used[constraints.members], constraints.starts[:-1], dtype=np.intp)
            kept &= bool(in_sets.max() == used.sum())
    if not kept:
        raise RuntimeError("the function breaks monotone_constraints or interaction_constraints, which is a defect of "
                           "rffkern: please report it")


def _trees_keep_order(trees: TreeTerms, signs: Signs) -> bool:
    """Whether values of leaves, of the next interval of a column each, are in its order."""
    layout, columns = trees.layout, trees.tree_columns.astype(np.intp)
    tree = np.repeat(np.arange(trees.n_terms), np.diff(layout.starts))
    leaf = np.arange(len(tree)) - layout.starts[tree]
    for level in range(columns.shape[1]):
        step, base = layout.steps[tree, level], layout.bases[tree, level]
        below = np.flatnonzero((step > 0) & (leaf // np.maximum(step, 1) % base < base - 1))
        rises = trees.tree_values[below + step[below]] - trees.tree_values[below]
        if (rises * signs[columns[tree[below], level]][:, None] < 0).any():
            return False
    return True
