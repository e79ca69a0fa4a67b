"""Parsing of .csv files: headers, numbers, dates and categories, whichever way a block is read."""

import os
import threading

import numpy as np
import pytest
from helpers.command_line import blocks_of

from rffkern import InvalidInputError
from rffkern._cli import csv_text
from rffkern._cli.csv_table import ColumnType, CsvFormat, CsvTable, looks_like_header, parse_column
from rffkern._cli.table import UNKNOWN


@pytest.fixture
def table(tmp_path):
    """A function that writes text, or bytes, to a file and opens it as a table."""
    path = tmp_path / "t.csv"

    def open_text(content, **form):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return CsvTable(str(path), CsvFormat(**form))

    return open_text


def rows_of(table, features, target=None):
    blocks = blocks_of(table, features, target)
    labels = None if target is None else np.concatenate([block.labels for block in blocks]).tolist()
    return np.concatenate([block.X for block in blocks]).tolist(), labels


@pytest.mark.parametrize(("first", "second", "expected"), [
    (["a", "b"], ["1", "2"], True), (["1", "2"], ["3", "4"], False), (["2019", "y"], ["1", "2"], True),
    (["1", "yes"], ["2", "no"], False), (["a", "b"], (), True), (["1", "x"], (), False),
    (["nan", "b"], ["1", "b"], False),
    # Values as the reader of columns takes them are no names.
    (["3,350.00", "a"], ["812.5", "b"], False), (["3,350.00"], ["1,020.50"], False), (["3 350"], ["812"], False),
    (["4%", "a"], ["5%", "b"], False), (["$5", "a"], ["$7", "b"], False), (["5 kg", "a"], ["7 kg", "b"], False),
    (["2024-01-05", "a"], ["2024-01-06", "b"], False), (["05.01.2024", "a"], ["", "b"], False),
    (["10:30", "a"], ["11:00", "b"], False), (["3,5", "a"], ["4,25", "b"], False), (["1,5", "x"], (), False),
    # They are above what is of another kind.
    (["25%", "50%"], ["0.1", "0.7"], True), (["2019-01", "2019-02"], ["5", "6"], True),
    (["24h", "7d"], ["1", "2"], True), (["(1)", "(2)"], ["0.5", "0.7"], True),
    (["city", "24h"], ["Paris", "yes"], True), (["2019", "y"], ["5", "1,200"], True),
    (["lon", "price"], ["3,5", "$7"], True), (["Main 5", "a"], ["5 Park", "b"], True),
])
def test_headers(first, second, expected):
    assert looks_like_header(first, second) is expected


def test_a_first_row_of_marked_numbers_is_data(table):
    for text in ('"3,350.00",4%\n"812.50",5%\n', "3.350,00;4%\n812,50;5%\n"):
        found = table(text, decimal="," if ";" in text else ".")
        assert (found.columns, found.header_guessed) == (None, True)
    assert table("3,5;1,25\n4,5;2\n").columns is None
    assert table("a;b\n4,5;2\n", decimal=",").columns == ["a", "b"]


@pytest.mark.parametrize("rows", ["1;2;3;caf\xe9\n4;5;6;\xe9t\xe9\n", "1;2;3;caf\xe9\n4;5;6;tea\n7;8;9;tea\n"])
def test_a_byte_of_another_encoding_is_in_its_column(table, rows):
    """The delimiter is found in lines with such bytes, too."""
    message = r"line 1, column 3 \(the first is 0\): expected text in utf-8, got the byte 0xe9: pass --encoding cp1252"
    with pytest.raises(InvalidInputError, match=message):
        table(rows.encode("latin-1"))


def test_columns_and_their_names(table):
    found = table("a,b,c\n1,2,x\n3,4,y\n")
    assert (found.columns, found.n_columns) == (["a", "b", "c"], 3)
    assert (found.has_labels, found.header_guessed) == (False, True)
    assert rows_of(found, [1, 0], 2) == ([[2.0, 1.0], [4.0, 3.0]], ["x", "y"])
    assert rows_of(found, [0]) == ([[1.0], [3.0]], None)
    bare = table("1,2\n3,4\n")
    assert (bare.columns, bare.header_guessed) == (None, True)
    assert rows_of(bare, [0, 1]) == ([[1.0, 2.0], [3.0, 4.0]], None)


def test_the_header_may_be_said(table):
    assert table("1,2\n3,4\n", header="yes").columns == ["1", "2"]
    with pytest.raises(InvalidInputError, match=r"got 'a' more than once$"):
        table("a,a\n1,2\n", header="yes")
    said = table("a,b\nc,d\n", header="no")
    assert (said.columns, said.header_guessed) == (None, False)


def test_quotes_blanks_empty_lines_and_byte_order_mark(table):
    found = table(b'\xef\xbb\xbf"a",b,c\r\n\r\n "1.5", 2 ,"x, y"\r\n   \r\n3,4,"z ""q"""\r\n5,6,7" pipe\r\n')
    assert found.columns == ["a", "b", "c"]
    assert rows_of(found, [0, 1], 2) == ([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]], ["x, y", 'z "q"', '7" pipe'])


@pytest.mark.parametrize("cell", ["1_0", "\uff11\uff12", "\u0661", "0x10", "infinity", "nan", "1e400", "1d5", ""])
def test_numbers_that_only_python_reads(table, cell):
    """A number is what C reads as one; both readers agree on that."""
    message = rf"data row 2 \(line 2\), column 0 \(the first is 0\): expected a finite number, got {cell!r}"
    with pytest.raises(InvalidInputError, match=message):
        rows_of(table(f"8,2\n{cell},2\n3,4\n", header="no"), [0, 1])


@pytest.mark.parametrize(("first", "second"), [
    ("0,1,2", "0.5,0.1,0.2"), ("0,1,2", "4,5,6"), ("0,1,2,answer", "0.5,0.1,0.2,yes"), ("2019,2020", "1.5,2"),
    ("0", "7"), ("3,1,2", "1e3,2,3"), ("0,1", None),
])
def test_numbers_that_may_be_names(table, first, second):
    """As pandas names columns that have no name: neither a row of data nor names without being asked."""
    text = f"{first}\n" if second is None else f"\n{first}\n{second}\n"
    message = r"row 1 \(line [12]\) may be column names or data: .*; pass --header yes or --header no"
    with pytest.raises(InvalidInputError, match=message):
        table(text)
    assert table(text, header="yes").columns == first.split(",")
    assert table(text, header="no").columns is None


@pytest.mark.parametrize(("first", "second"), [("1,2", "3,4"), ("0,0", "0.5,1"), ("1,1.5", "2.5,3"), ("1,2", None),
                                               ("1,2,yes", "0,4,no"), ("1.0,2.0", "0.5,3.5")])
def test_numbers_that_are_data(table, first, second):
    assert table(f"{first}\n" if second is None else f"{first}\n{second}\n").columns is None


@pytest.mark.parametrize(("names", "first", "expected"), [
    (["0", "1", "2"], "0,1,2", ["0", "1", "2"]), (["0", "1"], "0,1,answer", ["0", "1", "answer"]),
    (["2019", "a"], "a,2019", ["a", "2019"]), (["5", "6"], "5,6", ["5", "6"]), (["7", "6"], "6,7", None),
])
def test_the_names_of_the_model_are_a_header(tmp_path, names, first, expected):
    second = ",".join("9" * len(first.split(",")))
    (tmp_path / "t.csv").write_text(f"{first}\n{second}\n")
    assert CsvTable(str(tmp_path / "t.csv"), names=names).columns == expected


def test_a_table_that_is_read_again(table):
    found = table("\ufeffa,b\n1,2\n3,4\n")
    assert rows_of(found, [0, 1]) == rows_of(found, [0, 1]) == ([[1.0, 2.0], [3.0, 4.0]], None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once(tmp_path, rng):
    os.mkfifo(tmp_path / "t.csv")
    X = rng.standard_normal((20_000, 3)).round(3)
    text = "\n".join(["a,b,c", *(",".join(map(str, row)) for row in X.tolist())])
    writer = threading.Thread(target=(tmp_path / "t.csv").write_text, args=(text,), daemon=True)
    writer.start()
    found = CsvTable(str(tmp_path / "t.csv"))
    assert found.total is None
    np.testing.assert_array_equal(rows_of(found, [0, 1, 2])[0], X)
    writer.join()
    with pytest.raises(InvalidInputError, match="a pipe can be read only once"):
        blocks_of(found, [0])


@pytest.mark.parametrize("size", [1, 7, 1 << 18])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("header", ["a,b", '"a\nc",b', '\n \n"a",b'])
def test_the_rows_below_the_header(table, monkeypatch, size, end, header):
    """Wherever the pieces of the file end; a header may take several lines, or have no rows below."""
    monkeypatch.setattr(csv_text, "_CHUNK_BYTES", size)
    header = header.replace("\n", end)
    lines = [f"{i},{i + 0.5}" for i in range(30)]
    found = table(end.join([header, *lines]))
    assert len(found.columns) == 2
    for _ in range(2):
        assert rows_of(found, [0, 1])[0] == [[i, i + 0.5] for i in range(30)]
    for text in (header, header + end):
        assert blocks_of(table(text), [0, 1]) == []


def test_blocks(table, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK_ROWS", 3)
    text = "".join(f"{i},{i * i}\n" for i in range(8))
    found = table(text)
    blocks = blocks_of(found, [1])
    assert [len(block.X) for block in blocks] == [3, 3, 2]
    assert [block.done for block in blocks] == [len(text)] * 3  # which are read at once
    assert found.total == len(text)
    assert np.concatenate([block.X for block in blocks]).ravel().tolist() == [i * i for i in range(8)]


@pytest.mark.parametrize(("line", "message"), [
    ("1,x,a", "data row 2 (line 4), column 1 (q): expected a finite number, got 'x': correct it, or skip such rows "
     "with --reject FILE"),
    ("1,inf,a", "data row 2 (line 4), column 1 (q): expected a finite number, got 'inf': correct it, or skip such rows "
     "with --reject FILE"),
    ("1,2", "data row 2 (line 4): expected 3 columns, got 2: correct the row, or skip such rows with --reject FILE"),
    ("1,2,a,b", "data row 2 (line 4): expected 3 columns, got 4: correct the row, or skip such rows with --reject "
     "FILE"),
    ("1,2,", "data row 2 (line 4), column 2 (r): expected a label or target, got an empty cell: fill it in, skip "
     "such rows with --reject FILE, or name another column by --target"),
    ('1,2,"a', "data row 2 (line 4): a quoted cell is not closed before the end of the file: close it, or "
     'write " inside a cell as ""'),
])
def test_faults_are_located(table, line, message):
    found = table(f"p,q,r\n1,2,a\n\n{line}\n5,6,b\n")
    with pytest.raises(InvalidInputError) as caught:
        blocks_of(found, [0, 1], 2)
    assert str(caught.value) == f"{found.path}: {message}"


@pytest.mark.parametrize(("content", "message"), [
    ("", "the file contains no rows"), ("\n \n", "the file contains no rows"),
    ("a,a\n1,2\n", "column names must be distinct, got 'a' more than once; if row 1 is data, pass --header no"),
    (b"\xff\xfe\x00", "expected a text in utf-8, got one in UTF-16"),
    ('1,"' + "x" * 200_000 + '"\n', r"t.csv: line 1: expected cells of at most 131072"),
])
def test_files_that_are_no_tables(table, content, message):
    with pytest.raises(InvalidInputError, match=message):
        table(content)


@pytest.mark.parametrize("features", [[0], [0, 1]])
def test_an_open_quote_at_the_end(table, features):
    """The cell is refused also where nobody asks for its column."""
    for text in ('1,2,a\n3,4,"b', '1,2,a\n3,4,"b\n'):
        with pytest.raises(InvalidInputError, match=r"data row 2 \(line 2\): a quoted cell is not closed"):
            blocks_of(table(text), features)


def test_dates_may_be_missing_where_the_column_says_so():
    assert parse_column(["1970-01-02", "NA"], ColumnType("date", nullable=True), ".")[0].tolist()[0] == 86400
    assert parse_column(["1970-01-02", "1"], ColumnType("date", nullable=True), ".") is None
    assert parse_column(["1970-01-02", "NA"], ColumnType("date"), ".") is None


@pytest.mark.parametrize(("levels", "cell", "expected"), [
    (["a", " b"], " b", " b"), (["a", " b"], "b", " b"), (["1", "10"], "1.0", "1"), (["1", "10"], "1e1", "10"),
    (["False", "True"], "TRUE", "True"), (["False", "True"], "0", "False"), (["None", "x"], "None", "None"),
    (["x"], "None", None), (["x"], "y", "y"), (["0", "1"], "true", "true"), (["12345678901234567890"],
                                                                           "12345678901234567890",
                                                                           "12345678901234567890"),
])
def test_levels_of_a_model(levels, cell, expected):
    known = {level.strip(): level for level in levels}
    values, names = parse_column([cell, cell], ColumnType("category", nullable=True, levels=known), ".")
    assert names == (() if expected is None else (expected,))
    np.testing.assert_array_equal(values, [np.nan if expected is None else 0] * 2)


@pytest.mark.parametrize("decimal", [".", ","])
def test_all_ways_of_reading_a_block_agree(tmp_path, rng, decimal):
    """Plain, in simple quotes, by Python's csv, and with a row to reject: the same numbers, gaps, dates and words."""
    n = 200
    missing = ["", "NA", "nan", " NaN ", "n/a", "NULL", "?"]
    columns = [[f"{value:.3f}".replace(".", decimal) for value in rng.standard_normal(n)] for _ in range(3)]
    columns.append(rng.choice(["red", "na\u00efve", "1_000", "7", "0" + decimal + "5"], n).tolist())
    columns.append(np.datetime_as_string(np.datetime64("2020-01-01T00:00") + rng.integers(0, 10**6, n)).tolist())
    columns += [["1"] * n, ["a"] * n]
    for column in (columns[1], columns[3], columns[4]):
        for i in range(0, n, 3):
            column[i] = missing[i % len(missing)]
    columns[2][-1] = ""
    rows = list(zip(*columns, strict=True))
    texts = ["\n".join(";".join(row) for row in rows),
             "\r\n".join(";".join(f'"{cell}"' for cell in row) for row in rows),
             "\r".join(";".join([*row[:-1], f'"{row[-1]};"']) for row in rows),
             "\n".join([*(";".join(f" {cell} " for cell in row) for row in rows), "1;2"])]
    found = []
    for text in texts:
        (tmp_path / "t.csv").write_bytes(text.encode())
        table = CsvTable(str(tmp_path / "t.csv"), CsvFormat("no", ";", "utf-8", decimal))
        (block,) = blocks_of(table, range(5), 6, kept=[3], reject=True, types=[ColumnType(UNKNOWN, nullable=True)] * 5)
        found.append(block)
        assert [cells.kind for cells in block.types] == ["numeric"] * 3 + ["category", "date"]
        assert len(block.rejected) == (text is texts[3])
        np.testing.assert_array_equal(block.X, found[0].X)
        assert (block.levels, block.kept) == (found[0].levels, found[0].kept)
    gone = np.arange(n) % 3 == 0
    assert np.isnan(found[0].X[:, [1, 3, 4]]).tolist() == np.repeat(gone[:, None], 3, axis=1).tolist()
    numbers = [float(cell.replace(",", ".")) for cell in columns[0]]
    assert found[0].X[:, 0].tolist() == numbers
    assert [found[0].levels[3][int(code)] for code in found[0].X[~gone, 3]] == [
        cell for cell, missing in zip(columns[3], gone, strict=True) if not missing]


@pytest.mark.parametrize("rows", ["a;b\n1;2,5\n3;4\n", "1;2,5\n3;4\n"])
@pytest.mark.parametrize("mark", ["sep=;\n", "SEP=;\r\n", "\ufeffsep=;\r"])
def test_the_line_that_tells_excel_the_delimiter_is_no_row(table, rows, mark):
    opened = table(mark + rows, decimal=",")
    assert (opened.delimiter, opened.columns) == (";", ["a", "b"] if rows[0] == "a" else None)
    assert rows_of(opened, [0, 1])[0] == [[1, 2.5], [3, 4]]
    with pytest.raises(InvalidInputError, match=rf"line {3 + (rows[0] == 'a')}\), column 0"):
        blocks_of(table(mark + rows.replace("3;", "x;"), decimal=",", header="yes" if rows[0] == "a" else "no"), [0, 1])


def test_other_first_lines_are_rows(table):
    """A named delimiter gives way to that of the caller; a name such as sep= is one."""
    assert table("sep=;\na,b\n1,2\n", delimiter=",").columns == ["a", "b"]
    assert table("sep=,b\n1,2\n").columns == ["sep=", "b"]
    with pytest.raises(InvalidInputError, match="the file contains no rows"):
        table("sep=,\n")


@pytest.mark.parametrize("mark", [b"\xff\xfe\0\0", b"\0\0\xfe\xff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_text_in_utf_32_is_told_from_one_in_utf_16(table, mark, encoding):
    content = mark + "a,b\n1,2\n".encode("utf-32-le" if mark[0] else "utf-32-be")
    with pytest.raises(InvalidInputError, match="got one in UTF-32: pass --encoding utf-32, or save it as UTF-8"):
        table(content, encoding=encoding)
    assert table(content, encoding="utf-32").columns == ["a", "b"]
