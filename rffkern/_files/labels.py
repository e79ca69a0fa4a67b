"""Labels of classifiers in the headers of model files: their values and their dtype."""

import itertools
from typing import Any

import numpy as np

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .archive import check_memory, require

Labels = NDArray[Any]

_LARGEST_TABLE = 1 << 25  # bytes; what `load` takes of a file of any size

_INT_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
_LABEL_DTYPES: dict[str, type] = {"|b1": bool, "<f4": float, "<f8": float, "O": object,
                                  **dict.fromkeys(_INT_DTYPES, int)}


def is_printable(text: str) -> bool:
    """Whether a label or name has no lone surrogates, and no control characters but tabs and line ends."""
    return not any((ch < " " and ch not in "\t\n") or "\x7f" <= ch <= "\x9f" or "\ud800" <= ch <= "\udfff"
                   for ch in text)


def labels_to_json(classes: Labels) -> dict[str, Any]:
    """Labels and their dtype, one of the fixed list that `labels_from_json` knows."""
    labels = classes.tolist()
    dtype = classes.dtype.newbyteorder("<").str if classes.dtype.kind != "O" else "O"
    if dtype[1:2] == "U" and classes.dtype.itemsize > 4 * _label_width(labels):
        dtype = f"<U{_label_width(labels)}"
    kinds = {type(label) for label in labels}
    if not (dtype in _LABEL_DTYPES or dtype[1:2] == "U") or len(kinds) != 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInputError("classes_ must be booleans, numbers or strings to be stored, got "
                                f"{classes[0]!r} of dtype {classes.dtype}")
    if dtype[1:2] == "U" and _table_size(dtype, labels) > sum(map(len, labels)) + _LARGEST_TABLE:
        raise InvalidInputError(f"labels of dtype {dtype} are too wide to be stored: use an object array of strings")
    return {"dtype": dtype, "values": labels}


def _table_size(dtype: str, labels: list[str]) -> int:
    """Bytes of an array of labels of one width."""
    return 4 * int(dtype[2:]) * len(labels)


def _label_width(labels: list[str]) -> int:
    """Characters that a fixed-width string dtype may have; a file must not ask for a needless gigabyte."""
    return max(256, *map(len, labels))


def labels_from_json(entry: Any, n_bytes: int) -> Labels:
    require(isinstance(entry, dict) and set(entry) == {"dtype", "values"}, "classes must have a dtype and values")
    dtype, values = entry["dtype"], entry["values"]
    require(isinstance(dtype, str) and len(dtype) < 16 and isinstance(values, list) and len(values) >= 2
            and type(values[0]) in (bool, int, float, str), "classes are malformed")
    text = dtype[:2] == "<U" and dtype[2:].isdecimal()
    require(text or dtype in _LABEL_DTYPES, f"labels of dtype {dtype!r} are not known")
    wanted = str if text else type(values[0]) if dtype == "O" else _LABEL_DTYPES[dtype]
    require(all(type(value) is wanted for value in values), f"labels must be of dtype {dtype!r}")
    require(not text or int(dtype[2:]) <= _label_width(values),
            f"labels of dtype {dtype!r} are wider than the longest of them")
    require(all(is_printable(value) for value in values if wanted is str), "labels have control characters")
    if text:
        check_memory(_table_size(dtype, values), n_bytes, "labels")
    with np.errstate(over="ignore"):  # of numbers that do not fit, which the next line finds
        classes = np.array(values, dtype=object if dtype == "O" else np.dtype(dtype).newbyteorder("="))
    require(classes.tolist() == values, f"labels do not fit dtype {dtype!r}")
    require(all(a < b for a, b in itertools.pairwise(values)), "labels must be distinct and sorted")
    return classes
