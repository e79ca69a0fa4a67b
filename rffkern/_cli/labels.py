"""Labels and targets out of the words, or numbers, that a file holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError

Double = NDArray[np.float64]


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number, which may be nan or inf."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_numbers(labels: NDArray[Any]) -> Double:
    """Labels as numbers; nan for words that are none."""
    if labels.dtype.kind not in "US":
        return labels.astype(np.float64)
    numbers = [float(word) if is_number(word) else np.nan for word in labels.astype(str).ravel().tolist()]
    return np.array(numbers).reshape(labels.shape)


def to_labels(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Labels of all blocks as one array.

    Words become integers where all are whole numbers, else floats where all are numbers; they stay words where two of
    them are one number written in two ways.
    """
    labels = np.concatenate(blocks)
    if labels.dtype.kind != "U" or labels.ndim > 1:
        return labels
    words = set(labels.tolist())
    if not all(map(is_number, words)):
        return labels
    values = {word: float(word) for word in words}
    if len(set(values.values())) < len(words):
        return labels
    # Beyond 2^53 a double is not the integer that was written.
    whole = all(value.is_integer() and abs(value) < 2**53 for value in values.values())
    return np.array([values[word] for word in labels.tolist()]).astype(np.int64 if whole else np.float64)


def to_targets(blocks: Sequence[NDArray[Any]], path: str) -> Double:
    """Real targets of all blocks as one array; InvalidInputError names the first that is no finite number."""
    words = np.concatenate(blocks)
    targets = as_numbers(words)
    bad = ~np.isfinite(targets.reshape(len(targets), -1)).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInputError(f"{path}: expected a finite number as the target of data row {row + 1}, "
                                f"got {words[row].tolist()!r}")
    return targets
