"""Labels and targets out of the words, or numbers, that a file holds."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._column_map.raw import level_text
from .._native.array_types import NDArray
from .._rows.validation import integer_dtype
from ..errors import InvalidInputError

Double = NDArray[np.float64]


# What C's strtod reads, but for hexadecimal numbers; `float` would also read 1_000 and the digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_WHOLE = r"[+-]?[0-9]{1,400}"
# A zero in front of other digits belongs to a code, such as 007, not to a number.
_CODE = r"[+-]?0[0-9].*"
# How programs write a missing value, in small letters.
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "<na>", "-nan", "?", "."))


def is_number(text: str) -> bool:
    """Whether a text is a decimal number, which may be nan or inf."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing value."""
    return text.strip().lower() in MISSING


def truth_of(text: str) -> str | None:
    """The name of the truth value that a text stands for, in letters of any size."""
    return {"true": "True", "false": "False"}.get(text.lower())


def level_of_number(text: str) -> str:
    """The name of a number as a level: a whole number with all its digits, and without a point."""
    return str(int(text)) if is_whole(text) else level_text(float(text))


def is_whole(text: str) -> bool:
    """Whether a number is written with digits alone."""
    return re.fullmatch(_WHOLE, text) is not None


def is_code(text: str) -> bool:
    """Whether a number has a needless zero in front."""
    return re.fullmatch(_CODE, text) is not None


def as_numbers(labels: NDArray[Any]) -> Double:
    """Labels as numbers; nan for words that are none."""
    if labels.dtype.kind not in "US":
        return labels.astype(np.float64)
    numbers = [float(word) if is_number(word) else np.nan for word in labels.astype(str).ravel().tolist()]
    return np.array(numbers).reshape(labels.shape)


def to_labels(blocks: Sequence[NDArray[Any]], path: str) -> NDArray[Any]:
    """Labels of all blocks as one array; InvalidInputError names the first number that is not finite.

    Words become integers where all are whole numbers, else floats where all are numbers.  They stay words where one
    begins with a needless zero, where two of them are one number written in two ways, or where integers of 64 bits do
    not hold them.
    """
    if any(block.dtype.kind != "U" or block.ndim > 1 for block in blocks):
        labels = np.concatenate(blocks)
        if labels.dtype.kind == "f":
            _check_finite(labels, labels, path)
        if labels.dtype.kind != "U" or labels.ndim > 1:
            return labels
        blocks = [labels]
    words = {word for block in blocks for word in block.tolist()}
    if not all(map(is_number, words)):
        return np.concatenate(blocks)
    values: dict[str, Any] = {word: float(word) for word in words}
    if not all(map(math.isfinite, values.values())):
        labels = np.concatenate(blocks)
        _check_finite(as_numbers(labels), labels, path)
    # A double beyond 2^53 is not the integer that was written, unless all digits are written.
    digits = {word: is_whole(word) for word in words}
    dtype: np.dtype[Any] | None = np.dtype(np.float64)
    if all(digits[word] or (value.is_integer() and abs(value) < 2**53) for word, value in values.items()):
        values = {word: int(word) if digits[word] else int(value) for word, value in values.items()}
        dtype = integer_dtype(min(values.values()), max(values.values()))
    if dtype is None or len(set(values.values())) < len(words) or any(map(is_code, words)):
        return np.concatenate(blocks)
    numbers = np.empty(sum(map(len, blocks)), dtype)
    start = 0
    for block in blocks:  # a list of all words would take more memory than the numbers
        numbers[start : start + len(block)] = [values[word] for word in block.tolist()]
        start += len(block)
    return numbers


def to_targets(blocks: Sequence[NDArray[Any]], path: str) -> Double:
    """Real targets of all blocks as one array; InvalidInputError names the first that is no finite number."""
    words = np.concatenate(blocks)
    targets = as_numbers(words)
    _check_finite(targets, words, path, "target")
    return targets


def _check_finite(numbers: NDArray[Any], given: NDArray[Any], path: str, what: str = "label") -> None:
    """Name the first row whose number is nan or infinite."""
    bad = ~np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidInputError(f"{path}: expected a finite number as the {what} of data row {row + 1}, "
                                f"got {given[row].tolist()!r}")
