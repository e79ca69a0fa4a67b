"""Columns of text: which are numbers, dates or truth values, and their values; docs/tables.md has the rules.

The command line and data frames read text by these rules.  A column is looked at by the shapes of its cells, in which
every digit is 0: each shape is matched once, however many cells have it, and dates of a shape are read at once.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._native.array_types import Double, Mask, NDArray
from .._rows.validation import LARGEST_VALUE

NUMERIC, CATEGORY, DATE, EMPTY = "numeric", "category", "date", "empty"

# How programs write a missing value, in lower case.
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "nat", "<na>", "-nan", "+nan", "?", "."))
# The same in the cases that are usual.
_MISSING_CELLS = frozenset(form for text in MISSING for form in (text, text.upper(), text.title())) | {"NaN", "NaT"}

# What C's strtod reads, except hexadecimal numbers; `float` would also read 1_000 and the digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
                     re.IGNORECASE | re.ASCII)  # not the dotless i, which `float` refuses
_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
_CODE = re.compile(r"[+-]?0[0-9].*")
# Of two digits are months and hours as well.
PADDED = "0[0-9]{2,}"
_PADDED = re.compile(rf"\s*({PADDED})\s*")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}[.][0-9]{3}")

# How MySQL writes a missing date, also in the orders of other programs.
_ZERO_DATE = re.compile(r"(?:0000([-/.])00\1|00([-/.])00\2(?:00)?)00(?: 00:00(?::00)?)?")

# No and yes, in English, German, French, Spanish and Italian.
BOOLEANS = ("False", "True")
_BOOLEAN_WORDS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("nein", "ja"), ("falsch", "wahr"),
                  ("non", "oui"), ("faux", "vrai"), ("no", "sí"), ("no", "si"), ("no", "sì"), ("falso", "verdadero"),
                  ("falso", "vero"))
_LEVEL_OF_WORD = {word: level for words in _BOOLEAN_WORDS[::-1] for level, word in zip(BOOLEANS, words, strict=True)}

# A column is text if this share of its cells is neither numbers nor dates, or if some are and it has few values.
_SHARE_OF_TEXT, _FEW_VALUES = 0.1, 32

# Units that numbers of a column may have so that they are said, and the share of cells with each of two of them.
_MOST_UNITS, _SHARE_OF_UNIT = 4, 0.05

# Different words at most by which a column of numbers or dates is text so that they are said.
_MOST_SAID_WORDS = 4

# Words at most that a column of numbers or dates has in place of a value.
MOST_WORDS = 32


class Reading(NamedTuple):
    """How the cells of a column are read."""

    kind: str = CATEGORY
    format: str = ""  # of numbers: the decimal mark and the unit, "time" or "duration"; of dates "dmy" or "mdy"
    words: tuple[str, ...] = ()  # cells of numbers or dates that are none, sorted, which count as missing
    ambiguous: bool = False  # whether days and months could be exchanged

    @property
    def date_order(self) -> str:
        """What comes first in dates, in words; "" where their texts say it, and for other cells."""
        return {"dmy": "with the day first", "mdy": "with the month first"}.get(self.format, "")

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers."""
        return "," if self.format.startswith(",") else "."

    @property
    def unit(self) -> str:
        """The unit of numbers; "" where they have none."""
        return self.format[1:] if self.format.startswith((".", ",")) else ""


# --- single cells

def is_number(text: str) -> bool:
    """Whether a text is a decimal number, which may be nan or inf."""
    return _NUMBER.fullmatch(text.strip()) is not None


def is_unbounded(text: str) -> bool:
    """Whether a text is a number that is infinite or too large."""
    return is_number(text) and abs(float(text)) > LARGEST_VALUE


def is_integer(text: str) -> bool:
    """Whether a number is written with digits alone."""
    return _INTEGER.fullmatch(text) is not None


def is_code(text: str) -> bool:
    """Whether a number has a leading zero, as codes such as 007 have."""
    return _CODE.fullmatch(text) is not None


def _padded_number(cells: Iterable[str]) -> str:
    """The first cell of three digits or more that begin with 0, as those of codes do; "" if there is none."""
    return next((found[1] for cell in cells if (found := _PADDED.fullmatch(cell))), "")


def grouped_by_points(cells: Iterable[str]) -> str:
    """The first number whose point may separate thousands, as 1.200 in German; "" where others show otherwise."""
    pointed = [cell.strip() for cell in cells if "." in cell]
    return pointed[0] if pointed and all(map(_GROUPED.fullmatch, pointed)) else ""


def is_missing(text: str) -> bool:
    """Whether a text means a missing value."""
    return text.strip().lower() in MISSING


def looks_missing(text: str) -> bool:
    """Whether a text that is no value may mean a missing one: short words without digits, and dates of zeros."""
    return (len(text) <= 20 and text.isprintable() and "," not in text and not is_number(text)
            and (not any(map(str.isdigit, text)) or text == "#DIV/0!" or _ZERO_DATE.fullmatch(text) is not None))


def boolean_levels(texts: Iterable[str]) -> dict[str, str] | None:
    """The level of each text, "False" or "True", if all are words for these in one language; else None."""
    lower = {text: text.lower() for text in texts}
    for words in _BOOLEAN_WORDS:
        if lower and {*lower.values()} <= {*words}:
            return {text: BOOLEANS[words.index(word)] for text, word in lower.items()}
    return None


def boolean_level(text: str) -> str | None:
    """The level of a word for no or yes in any language; None for other text."""
    return _LEVEL_OF_WORD.get(text.lower())


def levels_of_texts(texts: Sequence[str], reading: Reading) -> list[str | None]:
    """Levels of the distinct texts of a category; None where missing.

    The format of the reading says which: "boolean" are "False" and "True"; "levels" are numbers by their value, if all
    are numbers; "raw" are the texts, also those that may mean a missing value, as the levels of a model decide.
    """
    if reading.format == "raw":
        return [text or None for text in texts]
    present = [text for text in texts if not is_missing(text)]
    booleans = boolean_levels(present) if reading.format == "levels" else None
    if reading.format == "boolean" or booleans is not None:
        return [None if is_missing(text) else boolean_level(text) or text for text in texts]
    if reading.format == "levels" and all(is_number(text) and not is_code(text) for text in present):
        return [None if is_missing(text) else number_level(text) for text in texts]
    return [None if is_missing(text) else text for text in texts]


def known_level(text: str, levels: Container[str]) -> str | None:
    """The level of a model that a text means, else the text; None if it is missing."""
    if text in levels:
        return text
    if is_missing(text):
        return None
    number = number_level(text) if is_number(text) else text
    if number in levels:
        return number
    boolean = boolean_level({"0": "n", "1": "y"}.get(number, number))
    return boolean if boolean is not None and boolean in levels else text


def number_level(text: str) -> str:
    """The level of a number: an integer with all its digits and without a point."""
    return str(int(text)) if is_integer(text) else level_text(float(text))


def level_text(value: object) -> str:
    """The name of a level: whole numbers without a point, so that integers and floats agree."""
    if isinstance(value, str):
        return str(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


# --- shapes

_ZERO = str.maketrans("123456789", "0" * 9)
# Marks of typography, and the signs of dates in Chinese and Japanese.
PLAIN_MARKS = str.maketrans("\u00a0\u202f\u2009\u2007\u2019\u2212\u2013年月", "    '--//", "日")

_LONGEST = 64  # characters of a number or date with marks; those of plain numbers are not limited


def normal_texts(texts: Sequence[str]) -> list[str]:
    """Texts with the plain forms of blanks, apostrophes and minus signs."""
    return [text if text.isascii() else text.translate(PLAIN_MARKS).strip() for text in texts]


def shapes_of(texts: Sequence[str]) -> list[str]:
    """Each text in lower case, with every digit replaced by 0."""
    joined = "\n".join(texts).translate(_ZERO).lower().split("\n")  # at once, unless cells have several lines
    return joined if len(joined) == len(texts) else [text.translate(_ZERO).lower() for text in texts]


def by_shape(texts: Sequence[str]) -> dict[str, list[int]]:
    """The places of the texts of each shape."""
    shapes = shapes_of(texts)
    if len(set(shapes)) == 1:
        return {shapes[0]: [*range(len(texts))]}
    groups: dict[str, list[int]] = {}
    for k, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(k)
    return groups


# --- numbers

_CURRENCY = r"[$€£¥₹₩₽₺]|us\$|r\$|chf|usd|eur|gbp|jpy|sek|nok|dkk|pln|zł|kč|kr\.?|fr\.|rs\.?"
_MARKED = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-])? ?(?P<before>{_CURRENCY})? ?(?P<inner>[+-])?(?P<body>[0.,][0., ']*[0.,]|0)"
    r"(?P<exponent>e[+-]?0{1,3})? ?(?P<after>%|[^\W\d_][^\W\d_.]*\.?(?:/[^\W\d_]+)?[²³]?|[$€£¥₹₩₽₺°][cf]?)?"
    r"(?P<minus>-)?(?P<close>\))?")
# Bodies by decimal mark: groups of thousands are separated by the other mark, a blank or an apostrophe.
_BODIES = {
    ".": re.compile(r"(?:0+|0{1,3}(?:,000)+|0{1,3}(?:[ ']000)+|0{1,2}(?:,00)+,000)(?:\.0*)?|\.0+"),
    ",": re.compile(r"(?:0+|0{1,3}(?:\.000)+|0{1,3}(?:[ ']000)+)(?:,0*)?|,0+")}
_NOT_UNITS = frozenset(("e", "st", "nd", "rd", "th", "am", "pm"))
# Numbers that are text because of what stands beside them.
_NUMBER_IN_TEXT = re.compile(
    rf"([<>≤≥~]?(?:{_CURRENCY})?) ?(?:[0.,][0., ']*[0.,]|0) ?((?:[^\W\d_]|[/+*])[^0]{{0,19}}|)")
# Letters that also mean thousands or more, in which 1.2k is more than 900.
_MULTIPLES = frozenset(("k", "m", "b", "g", "t", "bn", "mn", "mio", "mrd", "tsd", "cr"))


class _NumberShape(NamedTuple):
    """What a shape of a number consists of."""

    start: int  # of its digits and marks, with the exponent
    stop: int
    negative: bool
    scale: float  # 0.01 of per cent
    unit: str  # or currency
    body: str


def _number_shape(shape: str) -> _NumberShape | None:
    """The parts of a shape; None for what is no number by any decimal mark."""
    found = _MARKED.fullmatch(shape) if len(shape) <= _LONGEST else None
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [sign for sign in (found["sign"], found["inner"], found["minus"]) if sign]
    units = [unit for unit in (found["before"], found["after"]) if unit and unit != "%"]
    if len(signs) + bool(found["open"]) > 1 or len(units) > 1 or (units and units[0] in _NOT_UNITS) or (
            found["exponent"] and found["after"] == "%"):
        return None
    stop = found.end("exponent") if found["exponent"] else found.end("body")
    is_price = found["minus"] and found["body"][-1] in ",."  # 5,- is 5 without cents
    return _NumberShape(found.start("body"), stop, bool(found["open"]) or (signs == ["-"] and not is_price),
                        0.01 if found["after"] == "%" else 1.0, units[0] if units else "", found["body"])


def _numbers_of_shape(texts: list[str], shape: _NumberShape, decimal: str) -> list[float]:
    """The numbers of texts of a shape."""
    other = "," if decimal == "." else "."
    end = "" if shape.scale == 1 else "e-2"
    bodies = [text[shape.start : shape.stop] for text in texts]
    for mark in (" ", "'", other):
        if mark in shape.body:
            bodies = [body.replace(mark, "") for body in bodies]
    if decimal == "," and "," in shape.body:
        bodies = [body.replace(",", ".") for body in bodies]
    return [-float(body + end) if shape.negative else float(body + end) for body in bodies]


def _unit_of(shapes: Mapping[str, int]) -> str:
    """The unit of numbers, from shapes and how many cells have them: the only one that occurs.

    Letters are a unit where at least half of the numbers have them; fewer are typing errors.  None are fractions and
    powers, as in 2½ and 2², and what may be a multiple where other numbers have none.
    """
    parsed = {shape: found for shape in shapes if (found := _number_shape(shape)) is not None}
    units = {found.unit for found in parsed.values()} - {""}
    if len(units) != 1:
        return ""
    (unit,) = units
    n_all, n_with = sum(map(shapes.__getitem__, parsed)), sum(shapes[shape] for shape in parsed if parsed[shape].unit)
    if (unit[0].isnumeric() and not unit[0].isalpha()) or (unit in _MULTIPLES and n_with < n_all):
        return ""
    is_common = 2 * n_with >= n_all
    return unit if is_common or re.fullmatch(_CURRENCY, unit) else ""


# --- dates

# Months, quarters, halves and weeks, which are no dates.
_PERIOD = re.compile(r"(?:0?[1-9]|1[0-2])[-/](?:19|20)\d\d|(?:19|20)\d\d(?:/(?:0?[1-9]|1[0-2])|m[01]\d|-?w[0-5]\d"
                     r"|[-/ ]?[qh][1-4])|(?:[qh][1-4]|[1-4][qh])[-/ ]?(?:\d\d)?\d\d", re.IGNORECASE | re.ASCII)
_DAY_AND_MONTH = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](?:\d\d)?\d\d(?!\d)", re.ASCII)
_MONTHS = {name: month for month, names in enumerate((
    "january jan januar jänner janvier janv enero ene gennaio gen", "february feb februar février févr fév febrero "
    "febbraio", "march mar märz mär mrz mars marzo", "april apr avril avr abril abr aprile", "may mai mayo maggio mag",
    "june jun juni juin junio giugno giu", "july jul juli juillet juil julio luglio lug",
    "august aug août aou agosto ago", "september sep sept septembre septiembre set settembre",
    "october oct oktober okt octobre octubre ottobre ott", "november nov novembre noviembre",
    "december dec dezember dez décembre déc diciembre dic dicembre"), 1) for name in names.split()}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_ZONE = r" ?(?P<zone>z|utc|gmt|[+-]00(?::?00)?)?"
_FULL_TIME = rf"(?P<hour>00):(?P<minute>00)(?::(?P<second>00)(?:\.(?P<fraction>0{{1,9}}))?)?{_ZONE}"
_LOOSE_TIME = (r"(?P<hour>0{1,2}):(?P<minute>00)(?::(?P<second>00)(?:[.,](?P<fraction>0{1,9}))?)?"
               rf" ?(?P<half>am|pm|a\.m\.|p\.m\.)?{_ZONE}")
_WEEKDAY = r"(?:(?!(?:" + _MONTH + r")\b)[a-zß-öø-ÿ]{2,10}[.,]{0,2} )?"  # of the languages of the months
_ORDERLESS = [re.compile(pattern) for pattern in (
    rf"(?P<year>0000)-(?P<month>00)-(?P<day>00)(?:[t ]{_FULL_TIME})?",
    rf"(?P<year>0000)([/.])(?P<month>0{{1,2}})\2(?P<day>0{{1,2}})(?:[t ]{_LOOSE_TIME})?",
    r"(?P<year>0000)-(?P<month>00)",
    rf"{_WEEKDAY}(?P<day>0{{1,2}})(?:st|nd|rd|th|\.|er|º)?[ /-]?(?:de )?(?P<name>{_MONTH})\.?,?[ /-]?(?:de )?"
    rf"(?P<year>0000|00)(?:,?[t ]{_LOOSE_TIME})?",
    rf"{_WEEKDAY}(?P<name>{_MONTH})\.?[ /-](?P<day>0{{1,2}})(?:st|nd|rd|th)?,?[ /-](?P<year>0000|00)"
    rf"(?:,?[t ]{_LOOSE_TIME})?",
    rf"(?P<name>{_MONTH})\.?,?[ /-](?P<year>0000)",
    rf"(?P<year>0000)[ /-](?P<name>{_MONTH})[ /-](?P<day>0{{1,2}})(?:,?[t ]{_LOOSE_TIME})?")]
_ORDERED = {order: re.compile(rf"(?P<{first}>0{{1,2}})(?P<separator>[/.-])(?P<{second}>0{{1,2}})(?P=separator)"
                              rf"(?P<year>0000|00)(?:,?[t ]{_LOOSE_TIME})?")
            for order, first, second in (("dmy", "day", "month"), ("mdy", "month", "day"))}
_CLOCK = re.compile(_LOOSE_TIME.replace(_ZONE, ""))

# Times that something takes: 26:30:00, 1 days 02:15:00 of pandas; P1DT2H of ISO 8601; 2h 15m, in shapes of texts.
_PLACES = (("w", 604800.0, "w|wks?|weeks?"), ("d", 86400.0, "d|days?"), ("h", 3600.0, "h|hrs?|hours?"),
           ("m", 60.0, "m|mins?|minutes?"), ("s", 1.0, "s|secs?|seconds?"))
_DURATIONS = [re.compile(pattern) for pattern in (
    r"(?P<sign>[+-])?(?:(?P<d>0{1,9}) ?(?:d|days?),? ?)?(?P<plus>[+])?(?P<h>0{1,9}):(?P<m>00)"
    r"(?::(?P<s>00(?:\.0{1,9})?))?",
    r"(?P<sign>[+-])?p(?=.)(?:(?P<w>0{1,9})w)?(?:(?P<d>0{1,9})d)?(?:t(?=.)(?:(?P<h>0{1,9})h)?(?:(?P<m>0{1,9})m)?"
    r"(?:(?P<s>0{1,9}(?:\.0{1,9})?)s)?)?",
    r"(?P<sign>[+-])?" + "".join(rf"(?:(?P<{name}>0{{1,9}}{r'(?:[.]0{1,9})?' if name == 's' else ''}) ?(?:{words})"
                                 r"(?![a-z]),? ?)?" for name, _, words in _PLACES))]

FIRST_YEAR_OF_1900 = 69  # of two digits; those before are of 2000


def _matches(shape: str, order: str) -> "re.Match[str] | None":
    """The parts of the shape of a date; days come before months if the order is "dmy"."""
    if len(shape) > _LONGEST or "0" not in shape:
        return None
    ordered = _ORDERED[order].fullmatch(shape) if order else None
    return ordered or next((found for pattern in _ORDERLESS if (found := pattern.fullmatch(shape))), None)


def _field(characters: NDArray[np.uint32], found: "re.Match[str]", name: str, default: int = 0) -> NDArray[np.int64]:
    """The numbers in a part of all texts of a shape."""
    n_texts = len(characters)
    if name not in found.re.groupindex or found[name] is None:
        return np.full(n_texts, default, dtype=np.int64)
    value = np.zeros(n_texts, dtype=np.int64)
    for place in range(*found.span(name)):
        value = 10 * value + (characters[:, place].astype(np.int64) - ord("0"))
    return value


def _characters(texts: list[str], width: int) -> NDArray[np.uint32]:
    return np.array(texts, dtype=f"U{width}").view(np.uint32).reshape(len(texts), width)


def _seconds_of_shape(texts: list[str], found: "re.Match[str]") -> Double:
    """Seconds since 1970 of dates of a shape; nan for days and times that do not exist."""
    characters = _characters(texts, len(found.string))
    year = _field(characters, found, "year")
    if len(found["year"]) == 2:
        year += np.where(year >= FIRST_YEAR_OF_1900, 1900, 2000)
    month = _field(characters, found, "month", 1)
    if "name" in found.re.groupindex:
        month[:] = _MONTHS[found["name"]]
    day = _field(characters, found, "day", 1)
    valid = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0)
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    valid &= day <= end - first
    seconds, fraction, clock_valid = _clock_of_shape(characters, found)
    return np.where(valid & clock_valid, (first + day - 1) * 86400 + seconds + fraction, np.nan)


def _clock_of_shape(characters: NDArray[np.uint32], found: "re.Match[str]"
                    ) -> tuple[NDArray[np.int64], Double, Mask]:
    """Seconds of the time of day, less the time zone, their fraction, and whether there is such a time."""
    hour, minute, second = (_field(characters, found, name) for name in ("hour", "minute", "second"))
    groups = found.re.groupindex
    half = found["half"] if "half" in groups else None
    valid = (minute <= 59) & (second <= 59) & ((hour >= 1) & (hour <= 12) if half else hour <= 23)
    if half:
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    seconds = 3600 * hour + 60 * minute + second
    zone = found["zone"] if "zone" in groups else None
    if zone and zone[0] in "+-":
        start = found.start("zone")
        digits = [start + k for k, character in enumerate(zone) if character == "0"]
        of_zone = [characters[:, place].astype(np.int64) - ord("0") for place in digits]
        offset = 3600 * (10 * of_zone[0] + of_zone[1])
        if len(digits) == 4:
            offset = offset + 60 * (10 * of_zone[2] + of_zone[3])
        seconds = seconds + (offset if zone[0] == "-" else -offset)
    fraction = np.zeros(len(characters))
    if "fraction" in groups and found["fraction"] is not None:
        nanoseconds = _field(characters, found, "fraction") * 10 ** (9 - len(found["fraction"]))
        fraction = nanoseconds / 10**9
    return seconds, fraction, valid


def _duration_of(shape: str) -> "re.Match[str] | None":
    """The parts of the shape of a duration."""
    return next((found for pattern in _DURATIONS if (found := pattern.fullmatch(shape))), None) if (
        "0" in shape and len(shape) <= _LONGEST) else None


def _seconds_of_durations(texts: list[str], found: "re.Match[str]") -> Double:
    """Seconds of durations of a shape; nan where a clock has more than 59 minutes or seconds."""
    parts = found.groupdict()
    total = np.zeros(len(texts))
    for name, unit, _ in _PLACES:
        if parts.get(name) is not None:
            values = np.array([float(text[slice(*found.span(name))]) for text in texts])
            if ":" in found.string and name in "ms":
                values[values >= 60] = np.nan
            is_negative = parts["sign"] == "-" and (name == "d" or not parts.get("plus"))
            total += -unit * values if is_negative else unit * values
    return total  # -1 days +23:00:00 of pandas is an hour less than nothing


# --- columns

# Distinct cells beyond which a sample of so many is looked at first: all are, if one of them is not read as they are.
_SAMPLE = 4096


class _Texts:
    """The distinct cells of a column that are not missing, without outer blanks, and how many have each."""

    def __init__(self, cells: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        for cell, count in Counter(cells).items():
            text = cell.strip()
            if text.lower() not in MISSING:
                counts[text] += count
        self.texts = list(counts)
        self.counts = np.fromiter(counts.values(), np.int64, len(counts))
        self.n_cells = int(self.counts.sum())

    def n_read(self, reading: Reading, with_points: bool = False) -> int:
        """Number of cells that are values of a reading.

        Infinite and very large numbers count, and are refused later; so do, if asked for, those with a decimal point.
        """
        known = ~np.isnan(read_texts(self.texts, reading))
        if reading.kind == NUMERIC and reading.format not in ("time", "duration"):
            for k in np.flatnonzero(~known).tolist():
                known[k] = is_number(self.texts[k]) if with_points else is_unbounded(self.texts[k])
        return int(self.counts[known].sum())


def infer_reading(cells: Sequence[str], dates: str | None = None, decimal: str = ".") -> Reading | None:
    """How the cells of a column are read, by all of them; None if all are missing.

    `dates` is the order of day and month where both would do; `decimal` is a comma where numbers must have one.
    """
    distinct = list(dict.fromkeys(cells))
    if len(distinct) > 4 * _SAMPLE:
        guess = _inferred(_Texts(distinct[:: len(distinct) // _SAMPLE]), dates, decimal)
        if guess is not None and (guess.kind == CATEGORY or not (guess.words or read_column(distinct, guess)[1])):
            return guess
    return _inferred(_Texts(cells), dates, decimal)


def _inferred(texts: _Texts, dates: str | None, decimal: str) -> Reading | None:
    """The same by these texts."""
    if not texts.n_cells:
        return None
    plain = plain_numbers(texts.texts) if decimal == "." else None
    if plain is not None and not np.isnan(plain).any():
        return Reading(NUMERIC)
    if boolean_levels(texts.texts) is not None:
        return Reading(CATEGORY, "boolean")
    readings = _candidates(texts, dates, decimal)
    best = max(readings, key=readings.__getitem__, default=Reading())
    n_other = texts.n_cells - readings.get(best, 0)
    few = len(texts.texts) <= min(_FEW_VALUES, texts.n_cells / 2)
    if n_other and (few or n_other >= _SHARE_OF_TEXT * texts.n_cells):
        return Reading()
    if n_other:
        odd = np.flatnonzero(np.isnan(read_texts(texts.texts, best)))
        words = tuple(sorted(texts.texts[k] for k in odd.tolist() if not is_unbounded(texts.texts[k])))
        return Reading() if len(words) > MOST_WORDS else best._replace(words=words)
    return best


def doubts(cells: Sequence[str], reading: Reading) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (words that follow the name of a column, key, cells) for what is uncertain in how its cells are read.

    Where the words end in a comma or semicolon, the caller adds what to do by the key: "dates", "missing", of these
    cells, or "codes".  Of many cells of a category a sample is looked at.
    """
    if reading.ambiguous:
        shown = next(filter(None, map(str.strip, cells)), "")
        yield (f"has dates{f' such as {shown!r}' if shown else ''}, in which day and month could be exchanged: they "
               f"are read {reading.date_order}; ", "dates", ())
    if reading == Reading():
        texts = _Texts(cells[:: len(cells) // _SAMPLE + 1])
        periods = [k for k, text in enumerate(texts.texts) if _PERIOD.fullmatch(text)]
        if units := _units_in_text(texts):
            yield (f"has numbers with units or other text ({', '.join(units)}), which are read as categories: to have "
                   "numbers, write them alone, all in one unit", "", ())
        elif periods and texts.counts[periods].sum() >= (1 - _SHARE_OF_TEXT) * texts.n_cells:
            yield (f"has months, quarters or weeks such as {texts.texts[periods[0]]!r}, which are read as categories: "
                   "to have dates, write the first day of each, such as 2024-07-01", "", ())
        elif orders := _orders_of_dates(texts):
            yield (f"has dates with the day first, such as {orders[0]!r}, and with the month first, such as "
                   f"{orders[1]!r}, which are read as categories: to have dates, write all alike", "", ())
        else:
            what, words = _words_among_values(texts)
            if words:
                yield (f"has {what}, but is read as a category because of {', '.join(map(repr, words))}: if that means "
                       "missing, ", "missing", words)
    if reading.kind == DATE:
        cell, year = _parted_years(cells, reading)
        if cell:
            yield (f"has years of two digits, such as that of {cell!r}, which is read as {year}: 69 to 99 are of 1900, "
                   "others of 2000; if earlier ones are meant, write years of four digits", "", ())
    if reading.kind == NUMERIC and (code := _padded_number(cells)):
        yield (f"has numbers with leading zeros, such as {code!r}, which are read as numbers; if they are codes, ",
               "codes", ())
    if reading.kind == NUMERIC and (both := _with_and_without_percent(cells, reading)):
        yield (f"has cells with % and without, such as {both[0]!r} and {both[1]!r}, which are read as "
               f"{read_texts(both, reading)[0]:g} and {float(both[1]):g}: if both are per cent, write all with the "
               "sign or none", "", ())


def _with_and_without_percent(cells: Sequence[str], reading: Reading) -> list[str]:
    """A number with a per cent sign and one above 1 without, where a column has both."""
    signed = (cell.strip() for cell in cells if "%" in cell)
    marked = next((text for text in signed if np.isfinite(read_texts([text], reading)[0])), "")
    plain = (text for cell in cells if is_number(text := cell.strip())) if marked else ()
    bare = next((text for text in plain if abs(float(text)) > 1), "")
    return [marked, bare] if bare else []


def _orders_of_dates(texts: _Texts) -> list[str]:
    """A date whose day is first and one whose month is, where nearly all texts are dates of either order."""
    parts = [_DAY_AND_MONTH.match(text) for text in texts.texts]
    if texts.counts[[part is not None for part in parts]].sum() < (1 - _SHARE_OF_TEXT) * texts.n_cells:
        return []
    days = [[part.string for part in parts if part and int(part[day]) > 12 >= int(part[3 - day])] for day in (1, 2)]
    return [days[0][0], days[1][0]] if all(days) else []


def _units_in_text(texts: _Texts) -> list[str]:
    """The units of texts that are numbers, but text because they have several, as 3 kg and 7 lb, or others, as $522/mo.

    Empty where the column has few values, which may be sizes or classes, and where many units, or rare ones, are
    letters of codes, as 12a and 14b.
    """
    if len(texts.texts) <= _FEW_VALUES:
        return []
    counts: Counter[str] = Counter()
    for shape, places in by_shape(normal_texts(texts.texts)).items():
        number, marked = _number_shape(shape), _NUMBER_IN_TEXT.fullmatch(shape)
        unit = number.unit if number else f"{marked[1]}{marked[2]}" if marked else "st"
        if unit not in _NOT_UNITS:
            counts[unit] += int(texts.counts[places].sum())
    is_common = any(unit and count >= _SHARE_OF_UNIT * texts.n_cells for unit, count in counts.items())
    are_numbers = counts.total() >= (1 - _SHARE_OF_TEXT) * texts.n_cells
    return sorted(filter(None, counts)) if are_numbers and is_common and len(counts) <= _MOST_UNITS else []


def _words_among_values(texts: _Texts) -> tuple[str, list[str]]:
    """What most texts of a category are, "numbers" or "dates", and the words for which it is one all the same.

    ("", []) where it has few values, which may be classes, and where such words are many or codes.
    """
    few = len(texts.texts) <= min(_FEW_VALUES, texts.n_cells / 2)
    readings = {} if few or _padded_number(texts.texts) else _candidates(texts, None, ".")
    best = max(readings, key=readings.__getitem__, default=Reading())
    if 2 * readings.get(best, 0) < texts.n_cells:
        return "", []
    odd = sorted(texts.texts[k] for k in np.flatnonzero(np.isnan(read_texts(texts.texts, best))).tolist())
    if not 0 < len(odd) <= _MOST_SAID_WORDS or not all(map(looks_missing, odd)):
        return "", []
    return "dates" if best.kind == DATE else "numbers", odd


def _candidates(texts: _Texts, dates: str | None, decimal: str) -> dict[Reading, int]:
    """Readings that some cells agree with, and how many do; among equals the first is to be taken."""
    groups = by_shape(normal_texts(texts.texts))
    shapes = {shape: int(texts.counts[places].sum()) for shape, places in groups.items()}
    found: dict[Reading, int] = {}
    if any(_number_shape(shape) for shape in shapes) or any(map(is_number, texts.texts)):
        unit = _unit_of(shapes)
        for mark in ("," if decimal == "," else ".,"):  # among equals a point
            numbers = Reading(NUMERIC, "" if (mark, unit) == (".", "") else mark + unit)
            found[numbers] = texts.n_read(numbers, decimal == ",")
            if found[numbers] == texts.n_cells:
                break
    if any(_CLOCK.fullmatch(shape) for shape in shapes):
        found[Reading(NUMERIC, "time")] = texts.n_read(Reading(NUMERIC, "time"))
    if any(map(_duration_of, shapes)):
        found[Reading(NUMERIC, "duration")] = texts.n_read(Reading(NUMERIC, "duration"))
    separators = {matched["separator"] for shape in shapes if (matched := _ORDERED["dmy"].fullmatch(shape))}
    if separators:
        counts = {order: texts.n_read(Reading(DATE, order)) for order in ("dmy", "mdy")}
        order, ambiguous = max(counts, key=counts.__getitem__), False
        if counts["dmy"] == counts["mdy"]:  # with points, days come first everywhere
            order = dates if dates in counts else "dmy" if separators == {"."} else "mdy"
            ambiguous = dates not in counts and order == "mdy"
        found[Reading(DATE, str(order), ambiguous=ambiguous)] = counts[str(order)]
    elif any(_matches(shape, "") for shape in shapes):
        found[Reading(DATE)] = texts.n_read(Reading(DATE))
    return {reading: n for reading, n in found.items() if n}


def read_column(cells: Sequence[str], reading: Reading) -> tuple[Double, list[str]]:
    """Values of numbers or dates, nan where missing, and the distinct cells that are neither, in their order."""
    values = plain_numbers(cells) if reading.kind == NUMERIC and reading.format == "" else None
    if values is not None:
        return values, []
    distinct = list(dict.fromkeys(cells))
    texts = [cell.strip() for cell in distinct]
    found = read_texts(texts, reading)
    ignored = {*reading.words}
    odd = [texts[k] for k in np.flatnonzero(np.isnan(found)).tolist()
           if texts[k] not in ignored and texts[k].lower() not in MISSING]
    if len(distinct) == len(cells):
        return found, odd
    place = {cell: k for k, cell in enumerate(distinct)}
    return found[np.fromiter(map(place.__getitem__, cells), np.intp, len(cells))], odd


def read_texts(texts: Sequence[str], reading: Reading) -> Double:
    """Values of texts without outer blanks; nan for those that are no values of the reading."""
    is_time, is_duration = reading.format == "time", reading.format == "duration"
    is_plain = reading.kind == NUMERIC and reading.format in ("", ".")
    plain = plain_numbers(texts) if is_plain else None
    if plain is not None:
        return plain
    normal = normal_texts(texts)
    values = np.full(len(texts), np.nan)
    for shape, places in by_shape(normal).items():
        same = [normal[k] for k in places]
        if reading.kind == NUMERIC and not (is_time or is_duration):
            values[places] = _numbers_of(same, shape, reading)
            continue
        found = (_CLOCK.fullmatch(shape) if is_time else _duration_of(shape) if is_duration
                 else _matches(shape, reading.format))
        if found is None:
            continue
        if is_duration:
            values[places] = _seconds_of_durations(same, found)
        elif is_time:
            seconds, fraction, valid = _clock_of_shape(_characters(same, len(shape)), found)
            values[places] = np.where(valid, seconds + fraction, np.nan)
        else:
            values[places] = _seconds_of_shape(same, found)
    return values


def _parted_years(cells: Iterable[str], reading: Reading) -> tuple[str, int]:
    """The date with the last year of two digits, and its year, where years of two centuries seem to be meant otherwise.

    69 to 99 are of 1900 and those before of 2000.  Dates of births from 1931 to 2004 then reach from 1969 to 2068: the
    longest time without any is inside of that, and the dates would span less if the years after it were a century
    earlier.  "" where years are as close together as they can be, or have four digits.
    """
    texts = normal_texts([*dict.fromkeys(cell.strip() for cell in cells)])
    last: dict[int, str] = {}
    for shape, places in by_shape(texts).items():
        found = _matches(shape, reading.format)
        if found is not None and len(found["year"]) == 2:
            same = [texts[k] for k in places]
            years = _field(_characters(same, len(shape)), found, "year")
            last |= dict(zip(((years - FIRST_YEAR_OF_1900) % 100).tolist(), same, strict=True))
    after = sorted(last)  # years after 1969
    if not after or max(np.diff(after), default=0) <= after[0] + 100 - after[-1]:
        return "", 0
    return last[after[-1]], FIRST_YEAR_OF_1900 + 1900 + after[-1]


def _numbers_of(texts: list[str], shape: str, reading: Reading) -> Double:
    """Numbers of texts of one shape; nan where they are none by the reading."""
    parts, decimal = _number_shape(shape), reading.decimal
    if parts is not None and parts.unit in ("", reading.unit) and _BODIES[decimal].fullmatch(parts.body):
        values = np.array(_numbers_of_shape(texts, parts, decimal))
        if ("," if decimal == "." else ".") in parts.body:
            leads = np.array([text[parts.start] == "0" for text in texts])
            values[leads] = np.nan  # as 0.125, in which no thousands are separated
    elif decimal == "." and is_number(texts[0]):
        values = np.array([*map(float, texts)])
    else:
        return np.full(len(texts), np.nan)
    return np.where(np.abs(values) <= LARGEST_VALUE, values, np.nan)


def plain_numbers(cells: Sequence[str], decimal: str = ".") -> Double | None:
    """Plain numbers with this decimal mark, nan where missing as is usual; None if a cell is neither, or too large."""
    joined = "".join(cells)
    # Python's float reads 1_000 and the digits of other scripts, which are no numbers here.
    if "_" in joined or not joined.isascii() or (decimal == "," and "." in joined):
        return None
    pointed = cells if decimal == "." else [cell.replace(",", ".") for cell in cells]
    try:
        values = np.fromiter(map(float, pointed), np.float64, len(cells))
    except ValueError:
        try:
            present = ("nan" if cell in _MISSING_CELLS else number for cell, number in zip(cells, pointed, strict=True))
            values = np.fromiter(map(float, present), np.float64, len(cells))
        except ValueError:
            return None
    return None if (np.abs(values) > LARGEST_VALUE).any() else values


def settled(readings: Sequence[Reading | None]) -> list[Reading | None]:
    """The readings of the columns of a table: ambiguous dates get the order of the others, where these have one."""
    orders = {each.format for each in readings if each and each.kind == DATE and each.format and not each.ambiguous}
    order = orders.pop() if len(orders) == 1 else None
    return [each._replace(format=order, ambiguous=False) if each and each.ambiguous and order else each
            for each in readings]


def date_text(seconds: float) -> str:
    """A date in UTC, with the time where it is not midnight."""
    moment = np.datetime64(round(seconds), "s")
    text = str(moment)
    return text.removesuffix("T00:00:00").replace("T", " ")
