"""Counterfactuals: the nearest change of a row that reaches a target.

The distance of two rows is the sum over numeric columns of |difference| / (standard deviation of the values that the
model keeps of the column), and 1 for each category that differs: an L1 distance, so that few columns change (Wachter,
Mittelstadt and Russell, 2018, "Counterfactual explanations without opening the black box").  The steepest descent for
it changes one column at a time.  The values that a column may take are those of the training table, both sides of each
threshold of a tree, and all levels; each change is shortened as far as the target allows.

`lower_bound` is a certificate: within this distance no row reaches the target.  It is the largest radius for which a
bound of the function, over all rows that are so near (`Neighbourhood`), stays below the target.  Where up to three
numbers may change, what is near is divided into boxes until bounds exclude those that are nearest.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import NUMERIC
from .._native.array_types import Double
from ..errors import InvalidInputError
from .base import fitted_map_of, index_of
from .explanations import names_of
from .links import probabilities, several_quantiles
from .neighbours import SLACK, AllowedChanges, Neighbours, lower_bound

# Shares of what is missing to the target that a step must gain to be taken for its cheapness: from either a search
# starts.
_LEAST_SHARES = (0.25, 1.0)

_MOST_STEPS = 100  # of a search
_MOST_TRADES, _TRADED_SHARES = 20, (0.3, 0.1, 0.03)  # of changes of a number for those of another
_N_SECTIONS, _N_SHORTENINGS = 16, 12  # of the interval between a value that reaches the target and one that does not


class Counterfactual(NamedTuple):
    """A row that reaches a target, and how far it is from the row that was given."""

    row: list[Any]  # the changed row, a cell for each column
    changes: dict[Any, tuple[Any, Any]]  # (before, after) of the columns that change, by name or index
    distance: float  # standard deviations that numbers move, in all, and 1 for each category that changes
    prediction: Any  # label or number that the model predicts for it
    probability: float | None  # of the label that was asked for; None of numbers
    lower_bound: float  # no row that is nearer than this reaches the target


def what_if(model: Any, row: Any, target: Any, probability: float | None, change: Sequence[Any] | None,
            limits: Mapping[Any, Any], steps: Mapping[Any, float], output: int | None) -> Counterfactual:
    """As `Predictor.what_if` of a snapshot."""
    model._check_fitted()
    allowed = checked_question(model, target, probability, change, limits, steps, output)
    names, neighbours = names_of(model).tolist(), Neighbours(model, row, allowed)
    for j, (low, high) in allowed.limits.items():  # a number outside of them would stay there, whatever else changes
        if (low is not None and neighbours.own[j] < low) or (high is not None and neighbours.own[j] > high):
            raise InvalidInputError(f"limits must contain the value of the row, got {names[j]!r} of {low} to {high} "
                                    f"where it is {neighbours.own[j]:.15g}: widen them, or ask of a row within them")
    fixed = [names[j] for j in allowed.columns if j not in neighbours.values]
    if not neighbours.values or (change is not None and fixed):
        raise InvalidInputError("change: expected columns of numbers or categories that vary in training, with a value "
                                f"in the row, got {(fixed or names)[0]!r}: leave it out of change")
    scores = neighbours.scores(neighbours.own[None])
    is_class = hasattr(model, "classes_")
    goal = label_target(model, target, probability) if is_class else number_target(model, target, scores, output)
    found = neighbours.own, 0.0
    if goal.margins(model, scores)[0] < 0 or (is_class and probability is None and model._labels_of(
            scores)[0] != target):
        reached = nearest(model, neighbours, goal)
        if reached is None:
            free, wanted = ", ".join(repr(names[j]) for j in neighbours.values), np.asarray(target).tolist()
            raise InvalidInputError(f"target: no change of {free} was found with which the model predicts {wanted!r}"
                                    f"{'' if probability is None else f' by {probability}'}: let more columns change, "
                                    "or widen their limits")
        found = reached
    changed, distance = found
    before, after = neighbours.cells(neighbours.own), neighbours.cells(changed)
    changes = {names[j]: (before[j], after[j]) for j in neighbours.values if changed[j] != neighbours.own[j]}
    there = neighbours.scores(changed[None])
    bound = lower_bound(neighbours, goal.outputs, goal.least, distance) if distance else 0.0
    if is_class:
        return Counterfactual(after, changes, distance, model._labels_of(there).tolist()[0],
                              float(probabilities(model._link(), there)[0, goal.code]), bound)
    return Counterfactual(after, changes, distance, float(model._targets_of(there)[0, output or 0]), None, bound)


def checked_question(model: Any, target: Any, probability: float | None, change: Sequence[Any] | None,
                     limits: Mapping[Any, Any], steps: Mapping[Any, float], output: int | None = None
                     ) -> AllowedChanges:
    """Columns that may change, limits and steps; refuse what is wrong whatever the row is."""
    if isinstance(change, str) or not (change is None or isinstance(change, Iterable)):
        raise InvalidInputError(f"change must be a sequence of columns, or None, got {change!r}")
    wanted = [*range(model.n_features_in_)] if change is None else [index_of(model, "a column of change", column)
                                                                    for column in change]
    if not wanted:
        raise InvalidInputError("change must name a column or more, or be None for all, got none")
    fitted = fitted_map_of(model)
    of_numbers: dict[str, dict[int, Any]] = {}
    for name, given in (("limits", limits), ("steps", steps)):
        found = of_numbers[name] = {}
        if not isinstance(given, Mapping):
            what = "pairs" if name == "limits" else "numbers"
            raise InvalidInputError(f"{name} must be a dict from columns to {what}, got {given!r}")
        for column, value in given.items():
            j = index_of(model, f"a column of {name}", column)
            if fitted is not None and fitted.columns[j].kind != NUMERIC:
                raise InvalidInputError(f"a column of {name} must be one of numbers, got {column!r}: leave it out, or "
                                        "let other columns change by change")
            if j not in wanted:
                raise InvalidInputError(f"a column of {name} must be one of change, got {column!r}")
            found[j] = _ends(value) if name == "limits" else _step(value)
    is_class = hasattr(model, "classes_")
    for name, value, belongs in (("probability", probability, is_class), ("output", output, not is_class)):
        if value is not None and not belongs:
            raise InvalidInputError(f"{name} must be None for a {'classifier' if is_class else 'regressor'}, got "
                                    f"{value!r}")
    if is_class:
        label_target(model, target, probability)
    else:
        number_target(model, target, np.zeros((1, model.expansion_.n_outputs)), output)
    return AllowedChanges(wanted, **of_numbers)


def _ends(pair: Any) -> tuple[float | None, float | None]:
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(end is None or _is_finite(end) for end in pair) \
            and (None in pair or pair[0] <= pair[1]):
        return pair[0], pair[1]
    raise InvalidInputError("limits must map columns to pairs (low, high) of finite numbers, low <= high, or None, got "
                            f"{pair!r}")


def _is_finite(number: Any) -> bool:
    is_number = isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool)
    return is_number and bool(np.isfinite(number))


def _step(size: Any) -> float:
    if _is_finite(size) and size > 0:
        return float(size)
    raise InvalidInputError(f"steps must map columns to finite numbers > 0, got {size!r}")


class Target(NamedTuple):
    """Rows reach it where all scores H @ outputs - least are positive, and so is `margin` of their probabilities."""

    outputs: Double  # (n_conditions, n_outputs)
    least: Double  # (n_conditions,)
    code: int | None = None  # of the label that is asked for
    probability: float | None = None  # that it must have, where scores alone do not say so

    def margins(self, model: Any, scores: Double) -> Double:
        """How far rows are beyond the target, the least over its conditions; negative where they do not reach it."""
        found: Double = (scores @ self.outputs.T - self.least).min(axis=1)
        if self.probability is not None:
            found = probabilities(model._link(), scores)[:, self.code] - self.probability
        return found


def label_target(model: Any, label: Any, probability: float | None) -> Target:
    """That the label is predicted, or has at least a probability."""
    classes = model.classes_.tolist()
    if isinstance(label, np.ndarray) or label not in classes:
        raise InvalidInputError(f"target must be a label of the model, such as {classes[0]!r}, got {label!r}")
    if probability is not None and not (_is_finite(probability) and 0 < probability < 1):
        raise InvalidInputError(f"probability must be a number above 0 and below 1, or None, got {probability!r}")
    code, link = classes.index(label), model._link()
    if len(classes) == 2:
        sign = 1.0 if code else -1.0
        least = 0.0 if probability is None else link.score_of(probability if code else 1 - probability)
        return Target(np.array([[sign]]), np.array([sign * least]), code)
    differences = np.delete(np.eye(len(classes))[code] - np.eye(len(classes)), code, axis=0)
    return Target(differences, np.zeros(len(differences)) if probability is None else np.full(
        len(differences), link.least_difference(probability)), code, probability)


def number_target(model: Any, target: Any, scores: Double, output: int | None) -> Target:
    """That a prediction is at least a number, where it is below it, or at most; or lies between two."""
    ends = tuple(target) if isinstance(target, (tuple, list)) else (target,)
    if len(ends) not in (1, 2) or not all(map(_is_finite, ends)) or [*ends] != sorted(ends):
        raise InvalidInputError(f"target must be a finite number, or a pair (low, high), low <= high, got {target!r}")
    if several_quantiles(model):
        raise InvalidInputError("what_if needs a model of means or of one quantile, this one has several: train it "
                                "with one quantile")
    n_outputs = scores.shape[1]
    is_index = isinstance(output, (int, np.integer)) and not isinstance(output, bool) and 0 <= output < n_outputs
    if not is_index and (output is not None or n_outputs > 1):
        raise InvalidInputError(f"output must be the index of one of the {n_outputs} targets, got {output!r}")
    if model._target_rule() == "means":
        if ends[-1] <= 0:
            raise InvalidInputError(f"target must be > 0, as all predictions of this model, got {target!r}")
        ends = tuple(float(np.log(end)) if end > 0 else -np.inf for end in ends)
    unit = np.eye(n_outputs)[output or 0]
    if len(ends) == 2:
        return Target(np.array([unit, -unit]), np.array([ends[0], -ends[1]], dtype=np.float64))
    sign = 1.0 if scores[0] @ unit <= ends[0] else -1.0
    return Target(sign * unit[None], np.array([sign * ends[0]], dtype=np.float64))


# --- the search

def nearest(model: Any, neighbours: Neighbours, target: Target) -> tuple[Double, float] | None:
    """The nearest row that the search finds to reach a target, and its distance; None where it finds none."""
    needed = -float(target.margins(model, neighbours.scores(neighbours.own[None]))[0])
    slack = SLACK * max(needed, 1e-300)

    def margins(rows: Double) -> Double:
        return target.margins(model, neighbours.scores(rows)) - slack

    best: tuple[Double, float] | None = None
    for share in _LEAST_SHARES:
        start = _descended(neighbours, margins, neighbours.own, share)
        row = None if start is None else _shortened(neighbours, margins, start)
        while row is not None:
            distance = float(neighbours.distances(row[None])[0])
            if best is not None and distance >= best[1] * (1 - SLACK):
                break
            best, found = (row, distance), []
            for column in _changed(neighbours, row):  # which others may replace
                without = row.copy()
                without[column] = neighbours.own[column]
                other = _descended(neighbours, margins, without, share)
                found += [] if other is None else [_shortened(neighbours, margins, other)]
            row = min(found, key=lambda each: float(neighbours.distances(each[None])[0]), default=None)
    return None if best is None else _traded(neighbours, margins, *best)


def _traded(neighbours: Neighbours, margins: Any, row: Double, distance: float) -> tuple[Double, float]:
    """The row with parts of the change of a number traded for as much change of another, as long as that shortens it.

    What a trade at the same distance has beyond the target is taken off by `_shortened`.
    """
    numbers = [j for j in neighbours.numbers if neighbours.is_continuous(j)]
    for _ in range(_MOST_TRADES):
        rows = []
        for give, take in itertools.permutations(numbers, 2):
            move = row[give] - neighbours.own[give]
            for share in _TRADED_SHARES if move else ():
                amount = abs(share * move) / neighbours.units[give] * neighbours.units[take]
                for signed in (amount, -amount):
                    other = row.copy()
                    other[give] -= share * move
                    other[take] = min(max(row[take] + signed, neighbours.low[take]), neighbours.high[take])
                    rows.append(other)
        reached = margins(np.array(rows)) if rows else np.empty(0)
        if not reached.size or reached.max() < 0:
            break
        shorter = _shortened(neighbours, margins, rows[int(reached.argmax())])
        found = float(neighbours.distances(shorter[None])[0])
        if not found < (1 - SLACK) * distance:
            break
        row, distance = shorter, found
    return row, distance


def _changed(neighbours: Neighbours, row: Double) -> list[int]:
    """Columns that differ, those that move farthest first."""
    moved = [float(neighbours.distances(np.where(np.arange(len(row)) == j, row, neighbours.own)[None])[0])
             for j in neighbours.values]
    return [j for far, j in sorted(zip(moved, neighbours.values, strict=True), reverse=True) if far > 0]


def _descended(neighbours: Neighbours, margins: Any, row: Double, share: float) -> Double | None:
    """A row that reaches the target, from one step of one column to the next: the cheapest for what it gains, of those
    that gain a share of what is missing, else the one that gains most.  None where no step gains anything.
    """
    margin = float(margins(row[None])[0])
    for _ in range(_MOST_STEPS):
        if margin >= 0:
            return row
        steps, there, costs = [], [], []
        for column, values in neighbours.values.items():
            rows = np.tile(row, (len(values), 1))
            rows[:, column] = values
            steps.append(rows)
            there.append(margins(rows))
            costs.append(neighbours.distances(rows))
        if not steps:
            return None
        after = np.concatenate(there)
        gains = np.minimum(after, 0) - margin
        added = np.concatenate(costs) - neighbours.distances(row[None])[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            prices = np.where(gains >= -share * margin, added / gains, np.inf)
        chosen = int(prices.argmin() if np.isfinite(prices).any() else gains.argmax())
        if not gains[chosen] > 0:
            return None
        row, margin = np.concatenate(steps)[chosen], float(after[chosen])
    return None


def _shortened(neighbours: Neighbours, margins: Any, row: Double) -> Double:
    """The row with each of its changes as short as the target allows, the longest first."""
    row = row.copy()
    for column in _changed(neighbours, row):
        own, now = neighbours.own[column], row[column]
        values = neighbours.values[column]
        between = np.array([own]) if neighbours.is_category[column] else np.unique(np.append(
            values[(values >= min(own, now)) & (values <= max(own, now))], [own, now]))
        if now < own:
            between = between[::-1]
        rows = np.tile(row, (len(between), 1))
        rows[:, column] = between
        reached = np.flatnonzero(margins(rows) >= 0)
        if not len(reached):
            continue
        row = rows[reached[0]]
        if not reached[0] or not neighbours.is_continuous(column):
            continue
        low, high = between[reached[0] - 1], between[reached[0]]  # the nearer one does not reach it
        for _ in range(_N_SHORTENINGS):
            sections = low + (high - low) * np.arange(1, _N_SECTIONS + 1) / _N_SECTIONS
            sections[-1] = high
            rows = np.tile(row, (_N_SECTIONS, 1))
            rows[:, column] = sections
            first = int(np.flatnonzero(margins(rows) >= 0)[0])
            low, high, row = sections[first - 1] if first else low, sections[first], rows[first]
    return row
