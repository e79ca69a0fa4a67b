"""Whether a target holds labels or numbers, where `--model` does not say it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import is_code, is_missing, is_number

# Whole numbers are labels where they have at most so many distinct values, and these come twice on average.
MOST_LABELS = 20

# Distinct values that are kept at most: so many tell whether words or numbers prevail.
_MOST_KEPT = 10_000


def holds_labels(blocks: Sequence[NDArray[Any]]) -> bool:
    """Whether the cells of a target are labels.

    Words, truth values and codes such as 007 are; so are whole numbers of few distinct values.  A few words among many
    distinct numbers are taken for faults.  Several targets in a row are numbers.
    """
    if blocks[0].ndim > 1:
        return False
    words: set[str] = set()
    numbers: set[float] = set()
    for block in blocks:
        if block.dtype.kind not in "USiuf":
            return True
        if block.dtype.kind in "US":
            new_words, new_numbers = _sorted_out({str(cell) for cell in block.tolist()})
            words |= new_words if len(words) < _MOST_KEPT else set()
        else:
            new_numbers = set(np.unique(block).astype(np.float64).tolist())
        numbers |= new_numbers if len(numbers) < _MOST_KEPT else set()
    if words:
        return len(numbers) <= max(MOST_LABELS, len(words))
    finite = [number for number in numbers if np.isfinite(number)]
    are_few = len(finite) <= min(MOST_LABELS, sum(map(len, blocks)) // 2)
    return are_few and all(number.is_integer() for number in finite)


def _sorted_out(cells: set[str]) -> tuple[set[str], set[float]]:
    """Words and numbers; what stands for a missing value is neither."""
    present = {cell for cell in cells if not is_missing(cell)}
    words = {cell for cell in present if not is_number(cell) or is_code(cell)}
    return words, {float(cell) for cell in present - words}


def told_rule(name: str, y: NDArray[Any], are_labels: bool) -> str | None:
    """What is said of a target of numbers; None where words leave no doubt."""
    if y.dtype.kind not in "iuf":
        return None
    if y.ndim > 1:
        return f"{name} has {y.shape[1]} columns of numbers: regression"
    n_distinct = len(np.unique(y))
    if are_labels:
        return (f"{name} has {n_distinct} distinct whole numbers: classes; --model fourier_boosting_regressor would "
                "predict numbers")
    classes = "; --model fourier_boosting would make them classes" if (y == np.floor(y)).all() else ""
    return f"{name} has {n_distinct} distinct numbers: regression{classes}"
