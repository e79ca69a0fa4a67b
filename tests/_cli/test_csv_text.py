"""The text of a .csv file: chunks, compression, encodings, bounds, records and delimiters."""

import gzip
import io
import pickle
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from helpers.command_line import blocks_of
from hypothesis import given, settings
from hypothesis import strategies as st

from rffkern import InvalidInputError
from rffkern._cli import csv_text
from rffkern._cli.csv_table import CsvFormat, CsvTable
from rffkern._cli.csv_text import TextSource, detect_delimiter, lines_of, raw_blocks, records, split_rows


@pytest.fixture
def lines(tmp_path):
    """A function that writes bytes to a file and reads its lines."""
    def read(content, name="t.csv", **options):
        (tmp_path / name).write_bytes(content)
        return list(lines_of(TextSource(str(tmp_path / name), **options).chunks()))

    return read


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1 << 18])
@pytest.mark.parametrize("compressed", [False, True])
def test_lines_do_not_depend_on_the_pieces(lines, monkeypatch, size, compressed):
    monkeypatch.setattr(csv_text, "_CHUNK_BYTES", max(size, 3) if compressed else size)
    text = "\ufeffa\u00e9,b\r\n\r\n1\r2\n\u20ac\U0001f600\x0b\u2028\r"
    content = text.encode()
    found = lines(gzip.compress(content) if compressed else content)
    assert found == list(enumerate(["a\u00e9,b\r\n", "\r\n", "1\r", "2\n", "\u20ac\U0001f600\x0b\u2028\r"], 1))


def test_the_position_is_that_in_the_file(tmp_path):
    content = gzip.compress(b"1,2\n" * 100_000)
    (tmp_path / "t.csv.gz").write_bytes(content)
    source = TextSource(str(tmp_path / "t.csv.gz"))
    for _ in range(2):
        assert sum(1 for _ in lines_of(source.chunks())) == 100_000
        assert source.position == source.total == len(content)


def test_compression_is_told_by_the_bytes(lines):
    packed = gzip.compress(b"1\n") + gzip.compress(b"2\n")  # as `cat` makes of two files
    assert lines(packed, "t.csv") == lines(packed, "t.csv.gz") == [(1, "1\n"), (2, "2\n")]
    assert lines(b"") == lines(gzip.compress(b""), "t.csv.gz") == []
    for content in (b"1,2\n", b"", b"\x1f"):
        with pytest.raises(InvalidInputError, match="expected a file compressed by gzip, because its name ends in"):
            lines(content, "t.csv.gz")


@pytest.mark.slow
def test_damaged_compression(lines):
    text = b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000))
    packed = gzip.compress(text)
    broken = [packed[:cut] for cut in (2, 9, 10, 30, len(packed) // 2, len(packed) - 8, len(packed) - 1)]
    broken += [packed[:place] + bytes([packed[place] ^ 255]) + packed[place + 1:]
               for place in (2, len(packed) // 3, len(packed) - 8, len(packed) - 2)]
    broken.append(packed + b"garbage")
    for content in broken:
        with pytest.raises(InvalidInputError, match=r"t\.csv\.gz: the compressed file is damaged or truncated"):
            lines(content, "t.csv.gz")


def test_a_line_without_end(tmp_path, monkeypatch):
    """A small file that becomes a line of 64 MB: it is given up at the bound, in little memory."""
    monkeypatch.setattr(csv_text, "_LONGEST_LINE", 1 << 20)
    packer = zlib.compressobj(1, wbits=31)
    content = b"1\n" * 3
    content = packer.compress(content) + b"".join(packer.compress(b"1" * (1 << 22)) for _ in range(16)) + packer.flush()
    assert len(content) < 1 << 19
    (tmp_path / "t.csv.gz").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(InvalidInputError, match=r"line 4: expected at most 1048576 characters on a line, got more"):
        list(TextSource(str(tmp_path / "t.csv.gz")).chunks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize(("encoding", "content"), [
    ("latin-1", b"\xe9\n"), ("cp1252", b"\x80\n"), ("utf-16", "\u20ac\n".encode("utf-16")),
    ("shift_jis", b"\x82\xa0\n"),
    ("utf-16-le", "x\n".encode("utf-16-le")),
])
def test_encodings(lines, encoding, content):
    assert [text for _, text in lines(content, encoding=encoding)] == [content.decode(encoding)]


def test_other_encodings_than_said(lines):
    with pytest.raises(InvalidInputError, match="expected a text in utf-8, got one in UTF-16: pass --encoding utf-16"):
        lines("a\n".encode("utf-16"))
    with pytest.raises(InvalidInputError, match="got a UTF-8 byte order mark: leave out --encoding"):
        lines(b"\xef\xbb\xbfa\n", encoding="cp1252")
    with pytest.raises(InvalidInputError, match=r"not a text in utf-16-le, near line 2: .*; pass --encoding NAME"):
        lines("a\n".encode("utf-16-le") + b"\x00\xdcb\x00", encoding="utf-16-le")
    assert lines(b"a\xff\n") == [(1, "a\udcff\n")]  # the row is refused, or rejected as it came


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"1\n2"))))
    source = TextSource("-")
    assert (source.name, source.total) == ("standard input", None)
    assert list(lines_of(source.chunks())) == [(1, "1\n"), (2, "2")]
    with pytest.raises(InvalidInputError, match="standard input: a pipe can be read only once"):
        next(source.chunks())
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        TextSource("-")


def numbered(text):
    return enumerate(io.StringIO(text, newline=""), 1)


def test_records_of_several_lines():
    found = list(records(numbered('a,"b\n\nc"\r\n\n1,"2"\n3,"x,y"\n4,5" 6\n'), ","))
    assert [(line, text, simple) for line, text, _, simple in found] == [
        (1, 'a,"b\n\nc"\r\n', False), (5, '1,"2"\n', True), (6, '3,"x,y"\n', False), (7, '4,5" 6\n', False)]
    assert split_rows([text for _, text, _, _ in found], ",") == [["a", "b\n\nc"], ["1", "2"], ["3", "x,y"],
                                                                  ["4", '5" 6']]


@pytest.mark.parametrize(("text", "delimiter", "decimal"), [*((text, delimiter, ".") for text, delimiter in [
    ("a,b\n1,2\n", ","), ("a;b\n1,5;2,5\n", ";"), ("a\tb\n1\t2\n", "\t"), ("a|b\n1|2\n", "|"), ("a\n1\n", ","),
    ("1,5;2,5\n3,5;4,5\n", ","), ('"a;b",c\n1,2\n', ","), ('"a,b";c\n"1,2";3\n', ";"), ("a;b;c\n1;2\n3;4;5\n", ";"),
    ("a b\n1 2\n", ","), ("", ","), ("\n\na;b\n1;2\n", ";"), ('a;"b\nc"\n1;"2\n3"\n', ";"), ("a,b;c\n1,2\n3,4\n", ","),
    ("a\n1;2\n3;4\n", ","),
]), ("1,5;2,5\n3,5;4,5\n", ";", ","), ("1,5\n2,5\n", ";", ",")])
def test_delimiters_are_found(text, delimiter, decimal):
    assert detect_delimiter(list(numbered(text)), decimal) == delimiter


def test_blocks_are_bounded_by_rows_and_by_characters(monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK_ROWS", 3)
    monkeypatch.setattr(csv_text, "_BLOCK_CHARACTERS", 20)
    text = "1\n2\n3\n4\n" + "5" * 19 + "\n6\n7\n"
    blocks = list(raw_blocks(iter([(1, text)]), ",", lambda: 0))
    assert [(block.first_row, block.lines) for block in blocks] == [(1, [1, 2, 3]), (4, [4, 5]), (6, [6, 7])]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(['a', '1,2', '"', '""', '"x,y"', ' "z"', ',', '\n', '\n', '\r\n', '\r', ' ', '\0',
                                 '\udcff', '\u00e9', '\x0b', '\x1c', '\u2028', '"b\nc"', ';']), max_size=40),
       st.integers(1, 30), st.sampled_from([",", ";", "|"]))
def test_pieces_are_taken_apart_as_lines_are(parts, size, delimiter):
    """Whole pieces become the records that their lines give one by one, wherever the text is cut; also when sent."""
    text = "".join(parts)
    lines = list(numbered(text))
    cuts = range(0, len(lines), size)
    pieces = [(lines[k][0], "".join(line for _, line in lines[k : k + size])) for k in cuts]
    expected = list(records(iter(lines), delimiter))
    blocks = list(raw_blocks(iter(pieces), delimiter, lambda: 7))
    for some in (blocks, [pickle.loads(pickle.dumps(block, protocol=5)) for block in blocks]):
        found = [(line, text, block.errors.get(i)) for block in some
                 for i, (line, text) in enumerate(zip(block.lines, block.texts, strict=True))]
        assert found == [record[:3] for record in expected]
        assert all(block.simple for block in some) == all(record[3] for record in expected)
    assert [block.done for block in blocks] == [7] * len(blocks)


def test_lines_are_told_apart_at_once(monkeypatch):
    """Where lines are records, also quoted ones and words of other scripts, this process looks at none by itself."""
    text = 'a,"b"\n1,"x, y"\n"2 ""z""",\u00e9\n'
    expected = list(records(numbered(text), ","))
    monkeypatch.setattr(csv_text, "records", None)
    (block,) = raw_blocks(iter([(1, text)]), ",", lambda: 0)
    assert list(zip(block.lines, block.texts, strict=True)) == [record[:2] for record in expected]


def test_a_row_without_end(monkeypatch):
    """Short cells of several lines, of which one row has too many."""
    monkeypatch.setattr(csv_text, "_LONGEST_ROW", 1000)
    with pytest.raises(InvalidInputError, match=r"t\.csv: line \d+: expected rows of at most 1000 characters"):
        list(records(numbered('"a\n",' * 500), ",", name="t.csv"))


def test_quoted_numbers_are_read_as_plain_ones(tmp_path, rng):
    """The four ways in which a block is read: plain, in simple quotes, by Python's csv, and cell by cell."""
    X = rng.standard_normal((40, 3))
    rows = [list(map(repr, row)) for row in X.tolist()]
    texts = [",".join(row) for row in rows], [",".join(f'"{cell}"' for cell in row) for row in rows], \
        [f'{a},{b},"{c}\n"' for a, b, c in rows], [*(f' {a} ,"{b}",{c}' for a, b, c in rows), "x,1,2"]
    for text in texts:
        (tmp_path / "t.csv").write_text("\n".join(text))
        (block,) = blocks_of(CsvTable(str(tmp_path / "t.csv"), CsvFormat(header="no")), range(3), kept=[1],
                             reject=True)
        np.testing.assert_array_equal(block.X, X)
        assert block.kept == [[row[1] for row in rows]]
        assert [fault.row for fault in block.rejected] == [41] * (text is texts[3])
