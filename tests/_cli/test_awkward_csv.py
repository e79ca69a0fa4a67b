"""Awkward CSV files: each is read as Python's csv and the rules of docs/SECURITY.md say, or refused at its place.

What is expected is worked out here from Python's csv and those rules, without code of the package: first where all
columns must be numbers, then where they may hold words, dates and gaps.  How a column of such cells is read is tested
in `_column_map/test_cells.py`, and taken from the package here.
"""

import csv
import functools
import io
import re

import pytest
from helpers.awkward_csv import cases
from helpers.command_line import blocks_of

from rffkern import InvalidInputError
from rffkern._cli.csv_table import CsvFormat, CsvTable
from rffkern._cli.main import main
from rffkern._cli.table import UNKNOWN, ColumnType
from rffkern._column_map.cells import Reading, infer_reading, read_column

pytestmark = pytest.mark.slow

CASES = cases()
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = {"", "na", "n/a", "#n/a", "nan", "-nan", "+nan", "null", "none", "nat", "<na>", "?", "."}
FOREIGN = re.compile("[\0\udc80-\udcff]")


class Fault(Exception):
    """Where and why a file cannot be used: the first such row."""

    def __init__(self, place):
        super().__init__(place)
        self.place = place  # a part of the message


def records(text, delimiter):
    """Yield (number of the first line, raw text, cells or None if they cannot be told apart)."""
    lines = list(io.StringIO(text, newline=""))
    closed = text if not lines or lines[-1][-1] in "\r\n" else text + "\n"
    reader = csv.reader(io.StringIO(closed + "SENTINEL", newline=""), delimiter=delimiter, skipinitialspace=True)
    while True:
        start = reader.line_num
        try:
            cells = next(reader)
        except csv.Error:
            yield start + 1, "", None
            return
        if reader.line_num > len(lines):
            if cells != ["SENTINEL"]:  # a quote that is not closed has taken it in
                yield start + 1, "", None
            return
        yield start + 1, "".join(lines[start : reader.line_num]), [cell.strip() for cell in cells]


def value_of(cell, decimal):
    """The number in a cell, or None."""
    if decimal == ",":
        cell = "x" if "." in cell else cell.replace(",", ".", 1)
    return float(cell) if NUMBER.fullmatch(cell) and abs(float(cell)) <= 2.0**1022 else None


def fault_of(cells, width, decimal, text):
    """The column of what is wrong with a row, "" for the whole row, or None."""
    if cells is None:
        return ""
    if FOREIGN.search(text):
        return next(j for j, cell in enumerate(cells) if FOREIGN.search(cell))
    if len(cells) != width:
        return ""
    features = cells[:-1] or cells
    wrong = [j for j, cell in enumerate(features) if value_of(cell, decimal) is None]
    return wrong[0] if wrong else width - 1 if not cells[-1] else None


def rows_of(case):
    """Column names or None, the number of columns and the records below; Fault where the text cannot be used."""
    if case.content.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise Fault("got one in UTF-32: pass --encoding utf-32")
    if case.encoding == "utf-8" and case.content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Fault("got one in UTF-16: pass --encoding utf-16")
    if case.encoding != "utf-8" and case.content.startswith(b"\xef\xbb\xbf"):
        raise Fault("got a UTF-8 byte order mark: leave out --encoding")
    text = case.content.decode("utf-8-sig" if case.encoding == "utf-8" else case.encoding, "surrogateescape")
    rows = [row for row in records(text, case.delimiter) if row[1].strip() or row[2] is None]
    if not rows:
        raise Fault("the file contains no rows")
    first = rows[0]
    if first[2] is None or FOREIGN.search(first[1]):
        column = fault_of(first[2], 0, ".", first[1])
        raise Fault(f"line {first[0]}{'' if column == '' else f', column {column} (the first is 0)'}: ")
    names = first[2] if case.header == "yes" else None
    if names and len(set(names)) < len(names):
        raise Fault("column names must be distinct")
    return names, len(first[2]), rows[1:] if names else rows


def refuse(i, line, column, names):
    """Raise the fault of a row, in a column or as a whole."""
    name = f" ({names[column]})" if names and column != "" else ""
    place = "" if column == "" else f", column {column}{name or ' (the first is 0)'}"
    raise Fault(f"data row {i + 1} (line {line}){place}: ")


def expected(case):
    """Column names or None, numbers and labels; Fault where the file cannot be used."""
    names, width, rows = rows_of(case)
    X, labels = [], []
    for i, (line, raw, cells) in enumerate(rows):
        column = fault_of(cells, width, case.decimal, raw)
        if column is not None:
            refuse(i, line, column, names)
        X.append([value_of(cell, case.decimal) for cell in cells[:-1] or cells])
        is_number = case.decimal == "," and value_of(cells[-1], ",") is not None
        labels.append(cells[-1].replace(",", ".") if is_number else cells[-1])
    return names, X, labels


@functools.cache  # as large tables have few words
def meaning(cell, reading, decimal):
    """What a cell of a column says: None where it is missing; Fault where it is of another kind."""
    if reading is None or cell.lower() in MISSING:
        return None
    if reading.kind == "category":
        return cell
    strict = value_of(cell, decimal) if reading == Reading("numeric") else None  # also where there may be marks
    values, odd = read_column([cell], reading._replace(words=(), format=reading.format or ("," if decimal == "," and
                                                       reading.kind == "numeric" else "")))
    if odd and strict is None:
        raise Fault("")
    return strict if odd else float(values[0])


def expected_words(case):
    """Column names or None, and the meaning of all cells but labels, column by column."""
    names, width, rows = rows_of(case)
    features = range(max(1, width - 1))
    kinds = [None] * len(features)
    found = []
    for start in range(0, len(rows), 8192):
        block = rows[start : start + 8192]
        whole = [cells for _, raw, cells in block if cells and len(cells) == width and not FOREIGN.search(raw)]
        kinds = [kind or infer_reading([cells[j] for cells in whole], None, case.decimal)
                 for j, kind in zip(features, kinds, strict=True)]
        for i, (line, raw, cells) in enumerate(block, start):
            column = fault_of(cells, width, case.decimal, raw)
            if column == "" or FOREIGN.search(raw):
                refuse(i, line, column, names)
            found.append([])
            for j, kind in zip(features, kinds, strict=True):
                try:
                    found[-1].append(meaning(cells[j], kind, case.decimal))
                except Fault:
                    refuse(i, line, j, names)
            if not cells[-1]:
                refuse(i, line, width - 1, names)
    return names, found


def form_of(case):
    return CsvFormat(case.header, None if case.guessed else case.delimiter, case.encoding, case.decimal)


def found(case, path):
    """The same by the package."""
    table = CsvTable(str(path), form_of(case))
    assert table.delimiter == case.delimiter
    blocks = blocks_of(table, range(max(1, table.n_columns - 1)), table.n_columns - 1)
    return table.columns, [row for block in blocks for row in block.X.tolist()], [
        label for block in blocks for label in block.labels.tolist()]


def found_words(case, path):
    """The same as `expected_words` by the package."""
    table = CsvTable(str(path), form_of(case))
    features = range(max(1, table.n_columns - 1))
    blocks = blocks_of(table, features, table.n_columns - 1, types=[ColumnType(UNKNOWN, nullable=True)] * len(features))
    rows = []
    for block in blocks:
        words = [block.levels.get(k) for k in features]
        rows += [[None if value != value else value if own is None else own[int(value)]
                  for value, own in zip(row, words, strict=True)] for row in block.X.tolist()]
    return table.columns, rows


def check(case, path, errors, with_words):
    """Compare what is found with what is expected; return whether the file can be used.  Some files are fitted too."""
    path.write_bytes(case.content)
    guessed = [] if case.guessed else ["--delimiter", case.delimiter]
    fit = ["fit", str(path), "-o", str(path.parent / "new.npz"), "--header", case.header, *guessed, "--encoding",
           case.encoding, "--decimal", case.decimal, "--model", "gbrff2", "--set", "n_estimators=2", "--cv", "0"]
    fit += ["--columns", "none"] * (not with_words)
    # Files of one column cannot be trained on.
    fitted = case.name.startswith(("numbers-with", "dates-with", "truth-with")) if with_words else (
        len(case.content) < 100_000 and case.content.count(b",") != 2)
    expect, find = (expected_words, found_words) if with_words else (expected, found)
    try:
        wanted = expect(case)
    except Fault as raised:
        place = raised.place
    else:
        assert find(case, path) == wanted
        if with_words and fitted:
            assert main(fit) == 0
            (path.parent / "new.npz").unlink()
        return True
    with pytest.raises(InvalidInputError) as caught:
        find(case, path)
    assert str(caught.value).startswith(str(path))
    assert place in str(caught.value)
    if fitted:
        assert main(fit) == 65
        assert errors().splitlines()[-1].startswith("rffkern: error: ")
    return False


@pytest.mark.parametrize(("with_words", "least_usable"), [(False, 100), (True, 300)])
def test_the_corpus(tmp_path, capsys, with_words, least_usable):
    """Files of both kinds: all agree with what is expected, and nothing is left behind."""
    assert len({case.name for case in CASES}) == len(CASES)
    wrong, usable = [], 0
    for i, case in enumerate(CASES):
        try:
            usable += check(case, tmp_path / f"{i}.csv", lambda: capsys.readouterr().err, with_words)
        except BaseException as error:  # all are shown together
            wrong.append((case.name, case.content[:100], str(error)[:500]))
        (tmp_path / f"{i}.csv").unlink()
    assert wrong == []
    assert list(tmp_path.iterdir()) == []
    assert usable > least_usable
    assert len(CASES) - usable > 100
