"""Rows of a CSV text before they are parsed: where each begins and ends, and what separates its cells."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..errors import InvalidInputError
from .table import BLOCK_ROWS
from .text_source import FOREIGN, Line

DELIMITERS = (",", ";", "\t", "|")  # that are looked for; the first of equally good ones is taken
LONGEST_CELL = 131_072  # in characters, as in Python's csv
_LONGEST_ROW = 1 << 24
_BLOCK_CHARACTERS = 1 << 23

Fault = tuple[int | None, str]  # the column with the fault, where it is in one, and what is wrong
# A row as it is written: the number of its first line, from 1; its text, of several lines where cells hold line breaks;
# what is wrong with it; and whether it is simple, so that a delimiter always separates cells and a quote is only the
# first or last character of a cell.  (A tuple, because there is one for every row.)
Record = tuple[int, str, Fault | None, bool]


class RawBlock(NamedTuple):
    """Some successive records, which are parsed together."""

    first_row: int  # number of the first data row, from 1
    lines: list[int]  # number of the first line of each, from 1
    texts: list[str]
    faults: dict[int, Fault]  # by the index of the record
    simple: bool  # whether all records are
    done: int


def cells_of(text: str, delimiter: str) -> list[str]:
    """Cells of one record; quotes are those of RFC 4180."""
    return split_rows([text], delimiter)[0]


def split_rows(texts: Sequence[str], delimiter: str) -> list[list[str]]:
    """Cells of records that have no fault, with the blanks around them."""
    if not any('"' in text for text in texts):
        return [text.rstrip("\r\n").split(delimiter) for text in texts]
    import csv  # only quoted cells need it

    ended = (text if text[-1] in "\r\n" else text + "\n" for text in texts)
    return list(csv.reader(io.StringIO("".join(ended), newline=""), delimiter=delimiter, skipinitialspace=True))


def guessed_delimiter(lines: Sequence[Line], excluded: str) -> str:
    """What separates the cells of the first lines: it splits the first row, and most others into as many cells."""
    best, best_share = ";" if excluded == "," else ",", 0.0
    for delimiter in DELIMITERS:
        rows = split_rows([text for _, text, fault, _ in records(iter(lines), delimiter) if fault is None], delimiter)
        if delimiter == excluded or not rows or len(rows[0]) < 2:
            continue
        share = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if share > best_share:
            best, best_share = delimiter, share
    return best


def records(lines: Iterator[Line], delimiter: str, encoding: str = "utf-8", name: str = "") -> Iterator[Record]:
    """Yield the records of a text; empty lines are left out, but for those within quoted cells."""
    mark = re.escape(delimiter)
    cell = rf'(?:^|(?<={mark}))"[^"{mark}\r\n]*+"(?={mark}|[\r\n]|$)'
    is_simple = re.compile(rf'[^"]*+(?:{cell}[^"]*+)*+').fullmatch
    # What follows the quote that ends a cell belongs to the cell too, as in Python's csv.
    closed = rf'(?: *+"(?:[^"]++|"")*+"(?!")[^{mark}\r\n]*+|(?! *+")[^{mark}\r\n]*+)'
    is_closed = re.compile(rf"{closed}(?:{mark}{closed})*+[\r\n]*+").fullmatch
    for number, text in lines:
        fault, simple = None, True
        if len(text) > LONGEST_CELL or ('"' in text and not is_simple(text)):
            simple = False
            if len(text) > LONGEST_CELL or not is_closed(text):
                text, fault = _joined(text, lines, delimiter, name)
                simple = '"' not in text
        elif text.isspace():
            continue
        if fault is None and (not text.isascii() or "\0" in text):
            fault = _foreign(text, delimiter, encoding)
        yield number, text, fault, simple


def _joined(text: str, lines: Iterator[Line], delimiter: str, name: str) -> tuple[str, Fault | None]:
    """A record that may go on over the next lines, which are taken from `lines`, and what is wrong with it."""
    import csv  # only quoted cells need it

    taken, n_taken, closed = [text], len(text), True

    def more() -> Iterator[str]:
        nonlocal n_taken, closed
        yield text
        for number, line in lines:
            taken.append(line)
            n_taken += len(line)
            if n_taken > _LONGEST_ROW:
                raise InvalidInputError(f"{name}: line {number}: expected rows of at most {_LONGEST_ROW} "
                                        "characters, got a longer one: is a quote not closed?")
            yield line
        closed = False  # the reader asks for more, and there is none

    fault = None
    try:
        next(csv.reader(more(), delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        fault = f"expected cells of at most {LONGEST_CELL} characters, got a longer one: is a quote not closed?"
    if not closed:
        fault = 'a quoted cell is not closed before the end of the file: close it, or write " inside a cell as ""'
    return "".join(taken), (None, fault) if fault else None


def _foreign(text: str, delimiter: str, encoding: str) -> Fault | None:
    """The first character that no table holds, and its column."""
    found = FOREIGN.search(text)
    if found is None:
        return None
    character = found.group()
    reason = "expected a text, got the character NUL: if it is UTF-16, say --encoding utf-16" if character == "\0" \
        else f"expected a text in {encoding}, got the byte 0x{ord(character) - 0xdc00:02x}: say --encoding latin-1, " \
             "or what it is in"
    return next(j for j, cell in enumerate(cells_of(text, delimiter)) if character in cell), reason


def raw_blocks(rows: Iterator[Record], position: Callable[[], int]) -> Iterator[RawBlock]:
    """Records in blocks of a bounded number of rows and of characters."""
    first_row = 1
    block, size, all_simple = RawBlock(first_row, [], [], {}, True, 0), 0, True
    for line, text, fault, simple in rows:
        all_simple = all_simple and simple
        if fault is not None:
            block.faults[len(block.lines)] = fault
        block.lines.append(line)
        block.texts.append(text)
        size += len(text)
        if len(block.lines) >= BLOCK_ROWS or size >= _BLOCK_CHARACTERS:
            yield block._replace(simple=all_simple, done=position())
            first_row += len(block.lines)
            block, size, all_simple = RawBlock(first_row, [], [], {}, True, 0), 0, True
    if block.lines:
        yield block._replace(simple=all_simple, done=position())
