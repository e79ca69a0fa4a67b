"""Texts out of files and pipes: pieces, compression, encodings and bounds."""

import gzip
import io
import sys
import tracemalloc
import zlib

import pytest

from rffkern import InvalidInputError
from rffkern._cli import csv_text
from rffkern._cli.csv_text import TextSource, lines_of


@pytest.fixture
def lines(tmp_path):
    """A function that writes bytes to a file and reads its lines."""
    def read(content, name="t.csv", **options):
        (tmp_path / name).write_bytes(content)
        return list(lines_of(TextSource(str(tmp_path / name), **options).pieces()))

    return read


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1 << 18])
@pytest.mark.parametrize("compressed", [False, True])
def test_lines_do_not_depend_on_the_pieces(lines, monkeypatch, size, compressed):
    monkeypatch.setattr(csv_text, "_PIECE_BYTES", max(size, 3) if compressed else size)
    text = "\ufeffa\u00e9,b\r\n\r\n1\r2\n\u20ac\U0001f600\x0b\u2028\r"
    content = text.encode()
    found = lines(gzip.compress(content) if compressed else content)
    assert found == list(enumerate(["a\u00e9,b\r\n", "\r\n", "1\r", "2\n", "\u20ac\U0001f600\x0b\u2028\r"], 1))


def test_an_empty_file_has_no_lines(lines):
    assert lines(b"") == lines(gzip.compress(b""), "t.csv.gz") == []


def test_the_position_is_that_in_the_file(tmp_path):
    content = gzip.compress(b"1,2\n" * 100_000)
    (tmp_path / "t.csv.gz").write_bytes(content)
    source = TextSource(str(tmp_path / "t.csv.gz"))
    for _ in range(2):
        assert sum(1 for _ in lines_of(source.pieces())) == 100_000
        assert source.position == source.total == len(content)


def test_compression_is_told_by_the_bytes(lines):
    packed = gzip.compress(b"1\n") + gzip.compress(b"2\n")  # as `cat` makes of two files
    assert lines(packed, "t.csv") == lines(packed, "t.csv.gz") == [(1, "1\n"), (2, "2\n")]
    for content in (b"1,2\n", b"", b"\x1f"):
        with pytest.raises(InvalidInputError, match="expected a file compressed by gzip, as its name says"):
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
        list(TextSource(str(tmp_path / "t.csv.gz")).pieces())
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
    with pytest.raises(InvalidInputError, match="expected a text in utf-8, got one in UTF-16: say --encoding utf-16"):
        lines("a\n".encode("utf-16"))
    with pytest.raises(InvalidInputError, match="got the mark at which UTF-8 texts begin: leave out --encoding"):
        lines(b"\xef\xbb\xbfa\n", encoding="cp1252")
    with pytest.raises(InvalidInputError, match=r"not a text in utf-16-le, near line 2: .*; say --encoding NAME"):
        lines("a\n".encode("utf-16-le") + b"\x00\xdcb\x00", encoding="utf-16-le")
    assert lines(b"a\xff\n") == [(1, "a\udcff\n")]  # the row is refused, or rejected as it came


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"1\n2"))))
    source = TextSource("-")
    assert (source.name, source.total) == ("standard input", None)
    assert list(lines_of(source.pieces())) == [(1, "1\n"), (2, "2")]
    with pytest.raises(InvalidInputError, match="standard input: a pipe can be read only once"):
        next(source.pieces())
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        TextSource("-")
