"""Forms of categories: indicators of levels, and target statistics where there are too many."""

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from .._native.array_types import NDArray
from .forms import GroupForm, outputs_of, require

if TYPE_CHECKING:  # what is only applied was learned before
    from .survey import LevelFacts

Double = NDArray[np.float64]

# Rows that the mean of all counts for in the target statistic of a level.
_SHRINKAGE = 10.0


class Levels(NamedTuple):
    """The levels of a category that count on their own; the others together are rare."""

    kept: tuple[str, ...]  # sorted
    weights: Double  # (n_kept + 1, N_FOLDS) the rare ones last
    targets: Double  # (n_kept + 1, N_FOLDS, n_outputs)

    @classmethod
    def of(cls, facts: "LevelFacts", smallest: float, most: int | None) -> Self:
        """Pool levels of less weight than `smallest`, and all but the `most` heaviest; of equal ones the first."""
        totals = facts.weights.sum(axis=1)
        own = totals >= smallest
        if most is not None and np.count_nonzero(own) > most:
            heaviest = np.argsort(np.where(own, -totals, np.inf), kind="stable")[:most]
            own = np.isin(np.arange(len(totals)), heaviest)
        kept = np.flatnonzero(own)
        return cls(tuple(facts.names[k] for k in kept),
                   np.concatenate([facts.weights[own], facts.weights[~own].sum(axis=0)[None]]),
                   np.concatenate([facts.targets[own], facts.targets[~own].sum(axis=0)[None]]))

    def shares(self) -> Double:
        """Shares of the kept levels, and of the rare ones if there are any."""
        totals = self.weights.sum(axis=1)
        return (totals if totals[-1] > 0 else totals[:-1]) / totals.sum()


class LevelsForm:
    """Indicators of the levels, and of the rare ones together where training had any."""

    name: ClassVar[str] = "levels"

    def __init__(self, group: GroupForm, outputs: tuple[str, ...]) -> None:
        self.group, self.outputs = group, outputs  # of the levels

    @classmethod
    def of(cls, levels: Levels) -> Self:
        """Learn it from levels of which at least two groups occur."""
        shares = outputs_of(levels.shares())
        return cls(GroupForm(shares), _labels(levels.kept, len(shares)))

    def numbers(self) -> Double:
        """The shares."""
        return self.group.shares

    @classmethod
    def from_numbers(cls, numbers: Double, kept: tuple[str, ...]) -> Self:
        """Rebuild it."""
        found = cls(GroupForm(numbers), _labels(kept, len(numbers)))
        found.group.check()
        require(numbers.size in ((1,) if len(kept) == 1 else (1, 3) if len(kept) == 2 else (len(kept), len(kept) + 1)),
                "levels and shares differ in number")
        return found

    def facts(self) -> dict[str, object]:
        """The levels and their shares."""
        return {"shares": dict(zip(self.outputs, self.group.shares.tolist(), strict=True))}

    def __call__(self, codes: Double) -> Double:
        """The indicators."""
        return self.group(codes)


def _labels(kept: tuple[str, ...], n_outputs: int) -> tuple[str, ...]:
    return (*kept, "rare levels")[:n_outputs]


class TargetForm:
    """The mean target of the rows of a level, shrunk towards the mean of all, in one unit for all outputs.

    What training rows get is told from the rows of the other folds, by `folds`, which is not kept.
    """

    name: ClassVar[str] = "target"

    def __init__(self, values: Double) -> None:
        self.values = values  # (n_kept + 1, n_outputs) the rare ones last

    @classmethod
    def of(cls, levels: Levels, unit: float) -> "tuple[TargetForm, Double]":
        """The form, and its values for the training rows of each fold, shape (n_kept + 1, N_FOLDS, n_outputs).

        `unit` is the weight of one row.
        """
        weights, targets = levels.weights.sum(axis=1), levels.targets.sum(axis=1)
        total = weights.sum()
        mean = targets.sum(axis=0) / total
        values = _shrunk(weights, targets, mean, unit)
        center = (weights[:, None] / total * values).sum(axis=0)
        spread = math.sqrt(float((weights[:, None] / total * (values - center) ** 2).sum()))
        spread = spread if spread > 0 else 1.0
        others = total - levels.weights.sum(axis=0)
        means = (targets.sum(axis=0) - levels.targets.sum(axis=0)) / np.where(others > 0, others, 1.0)[:, None]
        folds = np.stack([_shrunk(weights - levels.weights[:, f], targets - levels.targets[:, f], means[f], unit)
                          for f in range(levels.weights.shape[1])], axis=1)
        return cls((values - center) / spread), (folds - center) / spread

    @property
    def outputs(self) -> tuple[str, ...]:
        """Numbers of the outputs where there are several."""
        n_outputs = self.values.shape[1]
        return ("target",) if n_outputs == 1 else tuple(f"target{k}" for k in range(n_outputs))

    def numbers(self) -> Double:
        """The values, level by level."""
        return self.values.ravel()

    @classmethod
    def from_numbers(cls, numbers: Double, kept: tuple[str, ...]) -> Self:
        """Rebuild it."""
        require(numbers.size and numbers.size % (len(kept) + 1) == 0, "levels and their values differ in number")
        require(np.abs(numbers).max() <= 1e30, "values of levels are too large")
        return cls(numbers.reshape(len(kept) + 1, -1))

    def facts(self) -> dict[str, object]:
        """The number of levels with a value of their own."""
        return {"levels": len(self.values) - 1}

    def __call__(self, codes: Double) -> Double:
        """The values of the levels."""
        missing = np.isnan(codes)
        return np.where(missing, np.nan, self.values[np.where(missing, 0, codes).astype(np.intp)].T)


def _shrunk(weights: Double, targets: Double, mean: Double, unit: float) -> Double:
    prior = _SHRINKAGE * unit
    return (targets + prior * mean) / (weights + prior)[:, None]
