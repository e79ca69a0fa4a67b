"""How good predictions are, summed up block by block."""

from typing import Any, Protocol

import numpy as np

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .labels import as_numbers, is_number, level_of_number

Double = NDArray[np.float64]


class Score(Protocol):
    """A score of predictions that come block by block."""

    n_rows: int  # with labels to compare with

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take the labels, or targets, of a block and what was predicted."""

    def report(self) -> str:
        """The score of all blocks, as a line of text."""


def _check_shape(labels: NDArray[Any], predicted: NDArray[Any]) -> None:
    if labels.shape[1:] != predicted.shape[1:]:
        raise InvalidInputError(f"expected {predicted.shape[1] if predicted.ndim > 1 else 1} target(s) for each row, "
                                f"got {labels.shape[1] if labels.ndim > 1 else 1}")


class Accuracy:
    """The share of rows whose label is predicted; where labels are numbers, a word that is none is always wrong.

    Rows without a label do not count.
    """

    def __init__(self) -> None:
        self.n_rows = self.n_right = 0

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take a block."""
        _check_shape(labels, predicted)
        known = labels != "" if labels.dtype.kind == "U" else ~np.isnan(labels) if labels.dtype.kind == "f" \
            else np.ones(len(labels), dtype=bool)
        labels, predicted = labels[known], predicted[known]
        if predicted.dtype.kind in "UOb":
            labels, predicted = labels.astype(str), predicted.astype(str)
        elif predicted.dtype.kind in "iu" and labels.dtype.kind == "U":  # with all digits, which floats have not
            labels = np.array([level_of_number(word) if is_number(word) else word for word in labels.tolist()])
            predicted = predicted.astype(str)
        elif labels.dtype.kind not in "iu":
            labels = as_numbers(labels)
        self.n_rows += len(labels)
        self.n_right += int((labels == predicted).sum())

    def report(self) -> str:
        """The accuracy in per cent."""
        return f"accuracy on {self.n_rows} rows: {100 * self.n_right / self.n_rows:.2f} %"


class RSquared:
    """The share of the variance of targets that is predicted; rows with a target that is no number are left out."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.first: Double | None = None  # targets of the first row, from which all others are measured
        self.unit = np.ones(1)
        self.sums: Double | float = 0.0  # (3, n_targets): of shifted targets, their squares, and squared errors

    def add(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take a block."""
        _check_shape(labels, predicted)
        targets = as_numbers(labels).reshape(len(labels), -1)
        predicted = predicted.reshape(targets.shape)
        known = np.isfinite(targets).all(axis=1)
        targets, predicted = targets[known], predicted[known]
        if not len(targets):
            return
        if self.first is None:
            self.first, self.unit = targets[0], np.maximum(np.abs(targets).max(axis=0), 1e-300)
        shifted = (targets - self.first) / self.unit  # so that large means cost no digits and squares do not overflow
        missed = (targets - predicted) / self.unit
        self.n_rows += len(targets)
        self.sums = self.sums + np.array([shifted.sum(axis=0), (shifted**2).sum(axis=0), (missed**2).sum(axis=0)])

    def report(self) -> str:
        """R^2, its mean over targets; a constant target counts as 1 where it is predicted exactly, else as 0."""
        total, squares, missed = np.asarray(self.sums)
        spread = squares - total**2 / self.n_rows
        shares = np.where(spread > 0, 1 - missed / np.where(spread > 0, spread, 1.0), missed == 0)
        return f"R^2 on {self.n_rows} rows: {shares.mean():.4f}"
