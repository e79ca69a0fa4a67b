"""Columns as they come: numbers, categories or dates, in one form whatever holds them.

The same content gives the same bits: integers and floats of any width are float64, every missing value is nan or the
code -1, levels are text in sorted order without those that do not occur, and dates are seconds since 1970.
"""

import datetime
import math
import numbers
import sys
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._rows.validation import LARGEST_VALUE
from ..errors import DataConversionWarning, InvalidInputError, InvalidTypeError

Double = NDArray[np.float64]
Codes = NDArray[np.int32]

NUMERIC, CATEGORY, DATE, EMPTY = "numeric", "category", "date", "empty"

# The first integer whose neighbour is not a double.
LARGEST_INTEGER = 2.0**53

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class RawColumn(NamedTuple):
    """One column: numbers, seconds, or indices into levels; EMPTY where all values are missing."""

    kind: str
    values: Double  # (n_rows,) nan where missing; of a category the index of the level
    levels: tuple[str, ...] = ()  # of a category, sorted


def level_text(value: Any) -> str:
    """The name of a level: whole numbers without a point, so that integers and floats agree."""
    if isinstance(value, str):
        return str(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_INTEGER:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def category(codes: NDArray[Any], levels: Iterable[Any]) -> RawColumn:
    """A category from codes, negative or nan where missing, and what they stand for, in any order."""
    codes = np.nan_to_num(np.asarray(codes, dtype=np.float64), nan=-1.0).astype(np.int64)
    held = list(levels)
    names = [level_text(level) for level in held]
    lacking = np.array([_group(type(level)) == "missing" or level != level for level in held], dtype=bool)
    if lacking.any():
        codes = np.where(np.append(lacking, False)[np.maximum(codes, -1)], -1, codes)
    present = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(names)))
    kept = sorted({names[code] for code in present.tolist()})
    position = {name: index for index, name in enumerate(kept)}
    table = np.full(len(names) + 1, np.nan)  # the last is what -1 finds
    table[present] = [position[names[code]] for code in present.tolist()]
    values = table[np.maximum(codes, -1)]
    return RawColumn(CATEGORY, values, tuple(kept)) if kept else _empty(len(codes))


def category_of_numbers(column: RawColumn) -> RawColumn:
    """A column of numbers as one of categories."""
    if column.kind != NUMERIC:
        return column
    levels, codes = np.unique(column.values, return_inverse=True)  # nan comes last
    codes = np.where(np.isnan(column.values), -1, codes)
    return category(codes, levels[~np.isnan(levels)].tolist())


def category_of_objects(values: list[Any]) -> RawColumn | None:
    """A category of Python integers, some of them missing; None if there is anything else."""
    first = next((value for value in values if not _is_missing(value)), None)
    if not _is_integer(first):  # most often text
        return None
    index: dict[int, int] = {}
    codes = [index.setdefault(int(value), len(index)) if _is_integer(value) else -1 for value in values]
    if any(code < 0 and not _is_missing(value) for code, value in zip(codes, values, strict=True)):
        return None
    return category(np.array(codes), index)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def _is_missing(value: Any) -> bool:
    group = _group(type(value))
    return group == "missing" or (group == "numbers" and _is_nan(value))


def of_text(values: Iterable[Any]) -> RawColumn:
    """A category from text, None or nan where missing."""
    index: dict[str, int] = {}
    codes = [index.setdefault(value, len(index)) if isinstance(value, str) else -1 for value in values]
    return category(np.array(codes), index)


def _empty(n_rows: int) -> RawColumn:
    return RawColumn(EMPTY, np.full(n_rows, np.nan))


def of_numbers(values: NDArray[Any], name: str) -> RawColumn:
    """Numbers; refuse infinite ones and warn of integers that float64 does not tell apart."""
    with np.errstate(over="ignore", invalid="ignore"):  # nan of any bits
        found = values.astype(np.float64) + 0.0  # no -0.0, whose bits differ from those of 0.0
    missing = np.isnan(found)
    found[missing] = np.nan
    if missing.all():
        return _empty(len(found))
    outside = np.abs(found) > LARGEST_VALUE
    if outside.any():
        row = int(outside.argmax())
        shown = "infinity" if math.isinf(found[row]) else f"{found[row]:.3g}"
        raise InvalidInputError(f"{name} must be finite (below {LARGEST_VALUE:.2g} in magnitude) or missing, got "
                                f"{shown} at row {row}")
    return RawColumn(NUMERIC, found)


def has_large_integers(values: Double) -> bool:
    """Whether some integers, as float64, have neighbours that are no doubles; nan is none."""
    return bool((values >= LARGEST_INTEGER).any() or (values <= -LARGEST_INTEGER).any())


def warn_of_large_integers(values: Double, name: str) -> None:
    """Warn of integers, as float64, from 2^53 on."""
    if has_large_integers(values):
        warnings.warn(f"{name} has integers of 2^53 or more, which float64 rounds: if they are identifiers, leave the "
                      "column out or name it in categorical_features", DataConversionWarning, stacklevel=2)


def _seconds(values: NDArray[Any]) -> Double:
    """Seconds of datetime64 or timedelta64, the same for every unit that holds them."""
    unit, count = np.datetime_data(values.dtype)
    if unit not in _UNITS or count != 1:
        finer = unit in ("ps", "fs", "as") or unit in _UNITS
        unit = "ns" if finer else "s"
        values = values.astype(f"{values.dtype.kind}8[{unit}]")
    whole, rest = np.divmod(values.astype(np.int64), _UNITS[unit])
    return np.where(np.isnat(values), np.nan, whole + rest / _UNITS[unit])


def of_array(values: NDArray[Any], name: str) -> RawColumn:
    """A column from a 1-D array of any dtype that means something."""
    kind = values.dtype.kind
    if kind == "b":
        return category(values, (False, True))
    if kind in "iuf":
        column = of_numbers(values, name)
        if kind in "iu":
            warn_of_large_integers(column.values, name)
        return column
    if kind == "m":
        return of_numbers(_seconds(values), name)
    if kind == "M":
        seconds = _seconds(values)
        return _empty(len(values)) if np.isnan(seconds).all() else RawColumn(DATE, seconds)
    if kind in "UT":
        return of_text(values.astype(object).tolist())
    if kind == "O":
        return _of_objects(values.tolist(), name)
    if kind == "c":
        raise InvalidInputError(f"{name} must be real. Complex data not supported, got dtype {values.dtype}")
    raise InvalidTypeError(f"{name} must hold numbers, text, booleans or dates, got dtype {values.dtype}")


def _group(kind: type) -> str:
    """What values of a type are."""
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, (bool, np.bool_)):
        return "booleans"
    if issubclass(kind, (numbers.Real, *_decimals())):
        return "numbers"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (datetime.date, np.datetime64)):
        return "dates"
    if issubclass(kind, datetime.time):
        return "times of day"
    return "intervals" if issubclass(kind, (datetime.timedelta, np.timedelta64)) else ""


def _decimals() -> tuple[Any, ...]:
    """The type of decimal numbers, where somebody has imported it: it is slow to load."""
    found = getattr(sys.modules.get("decimal"), "Decimal", None)  # which another thread may be importing now
    return () if found is None else (found,)


def _is_nan(value: Any) -> bool:
    """Whether a number is nan; to compare a signaling decimal number is an error."""
    return value.is_nan() if type(value) is not float and isinstance(value, _decimals()) else bool(value != value)


def _of_objects(values: list[Any], name: str) -> RawColumn:
    """A column from Python objects of one kind, None, nan, NaT or pandas' NA where missing."""
    groups = {kind: _group(kind) for kind in {*map(type, values), type(None)}}
    if "" in groups.values():
        odd = next(kind.__name__ for kind, group in groups.items() if not group)
        raise InvalidTypeError(f"{name}: argument must be a string or a number, a boolean, a date or missing, got "
                               f"{odd}")
    found = {*groups.values()} - {"missing"}
    if "numbers" in found and len(found) > 1:  # nan is a number, which stands for a missing value of any kind
        values = [None if groups[type(value)] == "numbers" and _is_nan(value) else value for value in values]
        if not any(groups[type(value)] == "numbers" for value in values):
            found -= {"numbers"}
    if len(found) > 1:
        raise InvalidInputError(f"{name} must hold values of one kind, got {' and '.join(sorted(found))}")
    missing = np.array([groups[type(value)] == "missing" for value in values], dtype=bool)
    if not found:
        return _empty(len(values))
    if found == {"text"}:
        return of_text(values)
    if found == {"booleans"}:
        return category(np.array([-1 if value is None or gone else int(value)
                                  for value, gone in zip(values, missing, strict=True)]), (False, True))
    present = [value for value, gone in zip(values, missing, strict=True) if not gone]
    if found == {"numbers"}:
        return _numbers_of_objects(present, missing, name)
    kind = DATE if found == {"dates"} else NUMERIC
    return RawColumn(kind, _spread([_moment(value) for value in present], missing))


def _spread(present: list[float], missing: NDArray[np.bool_]) -> Double:
    values = np.full(len(missing), np.nan)
    values[~missing] = present
    return values


def _numbers_of_objects(present: list[Any], missing: NDArray[np.bool_], name: str) -> RawColumn:
    def as_float(value: Any) -> float:
        try:
            return math.nan if _is_nan(value) else float(value)
        except OverflowError:
            return math.inf  # which is refused, with its row

    column = of_numbers(_spread([as_float(value) for value in present], missing), name)
    if all(isinstance(value, numbers.Integral) for value in present):
        warn_of_large_integers(column.values, name)
    return column


def _moment(value: Any) -> float:
    """Seconds of one date, time of day or interval; a date without a time zone counts as one of UTC."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if hasattr(value, "to_datetime64"):
        value = value.to_datetime64()  # with the nanoseconds of pandas
    if isinstance(value, datetime.time):
        return 3600.0 * value.hour + 60 * value.minute + value.second + value.microsecond / 1e6
    if isinstance(value, datetime.timedelta):
        return float(_seconds(np.array([value], dtype="m8[us]"))[0])
    return float(_seconds(np.array([value], dtype=None if isinstance(value, np.generic) else "M8[us]"))[0])
