"""Columns of cells of a text as numbers, dates or words, and how it is told which they are."""

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._column_map.raw import CATEGORY, DATE, EMPTY, NUMERIC
from .._native.array_types import NDArray
from .._rows.validation import LARGEST_VALUE
from .labels import MISSING, is_missing, is_number, level_of_number, truth_of
from .table import UNKNOWN, Cells

Double = NDArray[np.float64]

# Patterns that few tables need are compiled when they are first used: it takes some tenths of a millisecond.
_DATE = (r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
         r" ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?")
_EPOCH = datetime.date(1970, 1, 1).toordinal()
MISSING_CELLS = frozenset(form for word in MISSING for form in (word, word.upper(), word.title())) | {"NaN", "NaT"}

# A column of numbers, or dates, and words is a category if this share of its cells are words, or if it has few values.
_SHARE_OF_WORDS, _FEW_VALUES = 0.1, 32


class Column(NamedTuple):
    """The cells of a column."""

    values: Double  # nan where missing, seconds, or indices of words
    levels: tuple[str, ...] = ()  # the words of a category


def column_of(texts: Sequence[str], cells: Cells, decimal: str) -> Column | None:
    """A column, or None where a cell is not what it should be; `decimal` stands before the fraction of a number."""
    if cells.kind == CATEGORY:
        return _words(texts, cells.levels)
    if cells.kind in (EMPTY, UNKNOWN):
        return Column(np.full(len(texts), 0.0 if cells.kind == EMPTY else np.nan))
    values = _numbers(texts, decimal) if cells.kind == NUMERIC else _each(texts, cells.kind, decimal)
    return None if values is None or not (cells.gaps or not np.isnan(values).any()) else Column(values)


def reason_against(text: str, cells: Cells, decimal: str, delimiter: str) -> str | None:
    """What is wrong with a cell, or None."""
    if cells.kind in (CATEGORY, EMPTY, UNKNOWN):
        return None
    value = _value(text, cells.kind, decimal)
    if value is not None and (cells.gaps or value == value):
        return None
    comma = " with a decimal comma" if decimal == "," else ""
    expected = f"expected a finite number{comma}," if cells.kind == NUMERIC \
        else "expected a date, such as 2024-03-01 or 2024-03-01 12:30,"
    if not cells.gaps and is_missing(text):
        return f"{expected} got {text!r}: the value is missing; fill it in, or leave out such rows (--reject FILE)"
    hint = ""
    if cells.kind == NUMERIC and decimal == "." and is_number(text.replace(",", ".")) and not is_number(text):
        hint = ": if it has a decimal comma, say --decimal ," if delimiter != "," \
            else ": if it has a decimal comma, write a point, because commas separate the columns"
    elif cells.guessed and not is_number(text):
        most = "dates" if cells.kind == DATE else "numbers"
        hint = f": most of the first cells of the column are {most}; leave out such rows (--reject FILE), or name " \
               "the column in --categorical"
    return f"{expected} got {_shortened(text)!r}{hint}"


def found_cells(texts: Sequence[str], decimal: str) -> Cells | None:
    """What the first cells of a column are, or None where all are missing."""
    numbers = _numbers(texts, decimal)
    if numbers is not None and not np.isnan(numbers).all():
        return Cells(NUMERIC, gaps=True, guessed=True)
    counts = Counter(map(str.strip, texts))
    kinds: Counter[str] = Counter()
    n_values = 0
    for text, count in counts.items():
        if not is_missing(text):
            n_values += 1
            kinds[_kind_of(text)] += count
    if not kinds:
        return None
    n_cells = kinds.total()
    likely = max((NUMERIC, DATE), key=kinds.__getitem__)
    few = n_values <= min(_FEW_VALUES, n_cells / 2)
    if kinds[likely] < n_cells and (few or n_cells - kinds[likely] >= _SHARE_OF_WORDS * n_cells):
        likely = CATEGORY
    return Cells(likely, gaps=True, guessed=True)


def _kind_of(text: str) -> str:
    """What a cell looks like; a number with a decimal comma is one that has a fault."""
    if is_number(text) or is_number(text.replace(",", ".", 1)):
        return NUMERIC
    return CATEGORY if _seconds(text) is None else DATE


def with_point(text: str, decimal: str) -> str:
    """A number with a decimal comma as one with a point; any other word as it is."""
    if decimal == "." or "," not in text or "." in text:
        return text
    pointed = text.replace(",", ".", 1)
    return pointed if is_number(pointed) else text


def _value(text: str, kind: str, decimal: str) -> float | None:
    """The number or the seconds of a cell, nan where it is missing, or None."""
    if kind == NUMERIC and is_number(with_point(text, decimal)) and not (decimal == "," and "." in text):
        value = float(with_point(text, decimal))
        return None if abs(value) > LARGEST_VALUE else value
    seconds = _seconds(text) if kind == DATE else None
    return float("nan") if seconds is None and is_missing(text) else seconds


def _each(texts: Sequence[str], kind: str, decimal: str) -> Double | None:
    """Values of all cells, each different one looked at by itself."""
    values = {text: _value(text.strip(), kind, decimal) for text in set(texts)}
    if None in values.values():
        return None
    return np.array([values[text] for text in texts], dtype=np.float64)


def _numbers(texts: Sequence[str], decimal: str) -> Double | None:
    """Numbers, nan where missing, or None where a cell is none."""
    joined = "".join(texts)
    # Python's float reads 1_000 and the digits of other scripts, which are no numbers here.
    if "_" in joined or not joined.isascii() or (decimal == "," and "." in joined):
        return _each(texts, NUMERIC, decimal)
    pointed = texts if decimal == "." else [text.replace(",", ".") for text in texts]
    try:
        values = np.fromiter(map(float, pointed), np.float64, len(texts))
    except ValueError:
        try:
            present = ("nan" if text in MISSING_CELLS else number for text, number in zip(texts, pointed, strict=True))
            values = np.fromiter(map(float, present), np.float64, len(texts))
        except ValueError:
            return _each(texts, NUMERIC, decimal)
    return None if (np.abs(values) > LARGEST_VALUE).any() else values


def _seconds(text: str) -> float | None:
    """Seconds since 1970 of a date in the form of ISO 8601, in UTC if it has no zone; None for another text."""
    found = re.fullmatch(_DATE, text)
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    try:
        seconds = (datetime.date.fromisoformat(day).toordinal() - _EPOCH) * 86400
    except ValueError:
        return None
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    seconds += 3600 * int(hour or 0) + 60 * int(minute or 0) + int(second or 0)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = 3600 * int(digits[:2]) + 60 * int(digits[2:])
        seconds += offset if zone[0] == "-" else -offset
    return seconds + int((fraction or "0").ljust(9, "0")) / 10**9


def _words(texts: Sequence[str], levels: Mapping[str, str]) -> Column:
    """The words of a category."""
    index: dict[str, int] = {}
    codes = [index.setdefault(text, len(index)) for text in texts]
    merged: dict[str, int] = {}
    names = (_level(text.strip(), levels) for text in index)
    places = np.array([np.nan if name is None else merged.setdefault(name, len(merged)) for name in names])
    return Column(places[codes] if codes else np.empty(0), tuple(merged))


def _level(text: str, levels: Mapping[str, str]) -> str | None:
    """The level of a model that a cell stands for, or else its text; None where it is missing."""
    if text in levels or not levels:
        return None if not levels and is_missing(text) else levels.get(text, text)
    if is_missing(text):
        return None
    number = level_of_number(text) if is_number(text) else text
    truth = truth_of({"0": "False", "1": "True"}.get(number, number))
    return levels.get(number) or levels.get(truth or "", text)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
