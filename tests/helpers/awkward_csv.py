"""Awkward CSV files, made by rules: what real files have, and what programs get wrong.

Run as a script, it writes them into a folder: `python awkward_csv.py FOLDER`.
"""

import itertools
import pathlib
import sys
from typing import NamedTuple


class Case(NamedTuple):
    """A file and how it has to be read."""

    name: str
    content: bytes
    header: str = "yes"
    delimiter: str = ","  # that separates its cells
    guessed: bool = False  # whether the reader has to find the delimiter
    encoding: str = "utf-8"
    decimal: str = "."


NUMBERS = [
    "1_000", "\uff11\uff12", "\u0663", "0x10", "0b1", "1e400", "-1e400", "nan", "NaN", "inf", "-Infinity", "1d5", "1,5",
    "+-1", "--1", "1.2.3", "1e", "e5", ".", "-", "+", "1 2", "1j", "1L", "1f", "TRUE", "#N/A", "NA", "null", "<NA>", "",
    "   ", "'1'", "1'000", "1\u00a0000", "\u066b5", "\u00bd", "\u00b2", "1\u00a0", "\u20031", "1\u200b", "\u22121",
    "5e-324", "1e-400", "4.4e307", "1.7976931348623157e308", "00012", "+1", ".5", "5.", "1E5", "1e+05", "-0",
    "1e000005",
    "123456789012345678901234567890", "9" * 400, "0." + "1" * 500, "0.1", "1\x0b", "1\x1f2", "\x1c1", "$1", "1%",
    "1e5.0",
]
CELLS = [
    '""', '"a"', '"a""b"', '"a"b', 'a"b"', 'a"b', '"a" ', ' "a"', ' "a" ', '"a\nb"', '"a\r\nb"', '"a\rb"', '"\n\n"',
    '"a,b"', '"a;b|c\td"', '""""', '""""""', 'x"""', '"x" "y"', '"\n"', '"' + "line\n" * 100 + '"', "a;b", "a|b",
    "a\tb",
    "\x0b", "a\x0cb", "a\x1cb", "a\x1db\x1e", "a\x85b", "a\u2028b\u2029", "\ufeff", "\U0001f600", "=1+1", "'", "`",
    "\\", '\\"', "a" * 131_072, "a" * 131_073, '"' + "b" * 131_072 + '"', '"' + "b" * 131_073 + '"', " padded ",
    "\u00a0a\u00a0",
]
OPEN_QUOTES = ['"', '"""', '"a', 'a,"b', '"a""', '"a\nb', ',"', '"1,2,3\n4,5,6\n', '1," ""']
LINES = [
    "", " ", "\t", "\u3000", ",", ",,", ",,,", "1", "1,2", "1,2,a,", "1,2,a,b", ",1,2,a", '"1,2,a"', '"1,2",a', "1;2;a",
    "1,2;a", "1 2 a", "# remark", "1,2,", "1,,a", ",2,a", '1,"2"', '"1","2"', "\0", "1,\x002,a", "1,2,a\0", '1,2,"a\0"',
    "1,2,\0", "\x1a", "1,2,a # remark", '"1","2","a"', ' 1 , 2 , "a" ',
]
BYTES = [
    b"1,2,\xff", b"\xff,2,a", b"1,\xe92,a", b"1,2,caf\xe9", b"1,2,\xc3", b"1,2,\xc0\xaf", b"1,2,\xed\xa0\x80",
    b'1,2,"\xff\n"', b"1,2,\xf4\x90\x80\x80", b"1,2,\xe2\x82", b"\x80\x81\x82", b"1,2,\xef\xbb\xbf",
]
HEADERS = [
    "p,p,q", ",,", "p,,q", '"p","q","r"', '"p,1",q,r', '"p\n1",q,r', " p , q , r ", "0,1,2", "p", "p,q", "p,q,r,s",
    '"p', "p,q,r\0", "P,p,q", "p, p,q",
]
GAPS = ["", "NA", "na", "N/A", "#N/A", "nan", "NaN", "-nan", "+nan", "null", "NULL", "None", "NaT", "<NA>", "?", ".",
        "  ", '""', '"NA"', " NA ", "\u00a0", '"\n"', "NAN", "nA"]
WORDS = ["red", "light blue", '"a,b"', '"a""b"', "\u00e9", "1a", "TRUE", "false", "e5", "0x10", "-", "--", "n.a.",
         "NAs", "1_000", "\uff11", "inf", "1e400", "1,5", "1.5", "007", '"x\ny"', "True ", "??"]
DATES = ["2024-02-29", "2023-02-29", "2024-03-01 12:30", "2024-03-01T12:30:15.123456789Z", "2024-03-01 24:00",
         "2024-3-1", "2024-03-01 12:60", "2024-03-01 12:30+02:00", "01.03.2024", "2024-03-01T12",
         "2024-03-01 12:30:15.5-0530",
         "0001-01-01", "0000-01-01", "9999-12-31 23:59:59.999999999", "2024-03-01 12:30 +01", '"2024-03-01"',
         " 2024-03-01 ", "2024-13-01", "2024-03-01 12:30:60", "2024-03-01z", "\uff12024-03-01"]


def _text(rows, end="\n", last=True, delimiter=",", quoting="none"):
    quoted = {"none": lambda cell, j: cell, "all": lambda cell, j: f'"{cell}"',
              "words": lambda cell, j: f'"{cell}"' if j == len(rows[0]) - 1 else cell}[quoting]
    lines = [delimiter.join(quoted(cell, j) for j, cell in enumerate(row)) for row in rows]
    return end.join(lines) + end * last


def _around(line):
    """A line among others, of three columns."""
    return f"p,q,r\n1,2.5,a\n{line}\n3,4,b\n"


def _shapes():
    """Line ends, the end of the file, a byte order mark, delimiters and quotes, in many combinations."""
    rows = [["p", "q", "r"], ["1", "-2.5e3", "a"], ["0.1", "7", "b c"], ["3", ".5", ""], ["4", "4", "d"]]
    choices = itertools.product(("\n", "\r\n", "\r"), (True, False), (b"", b"\xef\xbb\xbf"), (",", ";", "\t", "|"),
                                ("none", "all", "words"))
    for i, (end, last, mark, delimiter, quoting) in enumerate(choices):
        if i % 3 != 1:
            good = rows[:3] + rows[4:] if i % 2 else rows
            yield Case(f"shape-{i}", mark + _text(good, end, last, delimiter, quoting).encode(), "yes", delimiter,
                       guessed=i % 4 > 1)


def _cells():
    for i, number in enumerate(NUMBERS):
        yield Case(f"number-{i}", _around(f"{number},7,c").encode())
        yield Case(f"quoted-number-{i}", _around(f'5,"{number}",c').encode())
    for i, cell in enumerate(CELLS):
        yield Case(f"cell-{i}", _around(f"5,6,{cell}").encode())
        yield Case(f"cell-in-front-{i}", f"p,q,r\n{cell},1,2\nx,3,4\n".encode(), "no" if i % 2 else "yes")
    for i, cell in enumerate(OPEN_QUOTES):
        yield Case(f"open-quote-{i}", _around(f"5,6,{cell}").encode())
        yield Case(f"open-quote-at-the-end-{i}", f"p,q,r\n1,2,{cell}".encode())


def _lines():
    for i, line in enumerate(LINES):
        yield Case(f"line-{i}", _around(line).encode())
        yield Case(f"last-line-{i}", f"1,2,a\r\n{line}".encode(), "no")
    for i, line in enumerate(BYTES):
        yield Case(f"bytes-{i}", b"p,q,r\n1,2,a\n" + line + b"\n3,4,b\n")
        yield Case(f"bytes-latin-{i}", b"p,q,r\n1,2,a\n" + line + b"\n3,4,b\n", encoding="latin-1")
    for i, line in enumerate(HEADERS):
        yield Case(f"header-{i}", f"{line}\n1,2,a\n3,4,b\n".encode())
    for i, text in enumerate(("", "\n", "\r\n\r\n", " \n\t\n", "p,q,r", "p,q,r\n", "\n\np,q,r\n\n\n1,2,a\n\n3,4,b\n\n",
                              "p,q,r\r1,2,a\n3,4,b\r\n5,6,c\r", "p,q,r\n\r1,2,a\r\r\n3,4,b")):
        yield Case(f"text-{i}", text.encode())


def _encodings():
    text = "p,q,r\n1,2,\u00e9\u00e8\n3,x,\u00fc\n"
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "cp500"):
        for option in ("utf-8", encoding if encoding != "utf-8-sig" else "latin-1"):
            for content in (text, text.replace("x", "4")):
                yield Case(f"{encoding}-as-{option}-{len(content)}-{'x' in content}", content.encode(encoding),
                           encoding=option)


def _decimals():
    for i, cell in enumerate(("1,5", "1.5", "1.234,5", "1,2,3", ",5", "5,", "-0,1e3", '"1,5"', "1", ",", "", "1,5 ")):
        yield Case(f"decimal-{i}", f"p;q;r\n1,5;2;a\n{cell};7;b\n".encode(), "yes", ";", guessed=True, decimal=",")


def _tables():
    """Columns of numbers, words, dates, truth values or few numbers, of which one cell, or several, is another."""
    columns = {
        "numbers": [f"{i / 8}" for i in range(40)], "few": [f"{i % 3}" for i in range(40)],
        "words": [["red", "blue", "new york"][i % 3] for i in range(40)],
        "dates": [f"2024-01-{1 + i % 30:02d} 0{i // 30}:00" for i in range(40)],
        "truth": [["true", "False"][i % 2] for i in range(40)],
    }
    for kind, cells in columns.items():
        odd = [*GAPS, *WORDS, *DATES] if kind in ("numbers", "dates") else [*GAPS[:3], *WORDS[::4], *DATES[:3]]
        for i, cell in enumerate(odd):
            own = list(cells)
            for place in [(17,), (0,), (39, 3, 11, 12), range(0, 40, 2)][i % 4]:
                own[place] = cell
            rows = [f"{value},{j % 7},{'ab'[j % 2]}" for j, value in enumerate(own)]
            yield Case(f"{kind}-with-{i}", "\n".join(["p,q,r", *rows]).encode())
    for i, cell in enumerate([*GAPS, *WORDS[:8]]):
        yield Case(f"missing-but-one-{i}", ("p,q,r\n" + ",1,a\n,2,b\n" * 5 + f"{cell},3,a\n").encode())
        yield Case(f"semicolons-{i}", f"p;q;r\n1,5;2;a\n{cell};7,5;b\n2,5;7;b\n".encode(), "yes", ";", guessed=True,
                   decimal=",")
    late = [f"{'' if i < 8_500 else '2024-03-01' if i % 2 else 'NA'},{i / 8},a" for i in range(9_000)]
    yield Case("late", "\n".join(["p,q,r", *late]).encode())
    late[8_990] = "red,1,a"
    yield Case("late-and-wrong", "\n".join(["p,q,r", *late]).encode())


def _sizes():
    wide = [[f"c{j}" for j in range(10_000)], ["1"] * 9_999 + ["a"], ["2"] * 9_999 + ["b"]]
    yield Case("wide", _text(wide).encode())
    yield Case("wide-quoted", _text(wide, quoting="words").encode())
    wide[2][7_777] = "x"
    yield Case("wide-and-wrong", _text(wide).encode())
    yield Case("one-column", b"1\n2\n\n3", "no")
    yield Case("one-column-and-wrong", b'1\n""\n3', "no")
    yield Case("one-column-of-words", b"p\n1\nx\n", "yes")
    for n in (8_191, 8_192, 8_193, 20_000):
        rows = ["p,q,r", *(f"{i},{i / 8},{'ab'[i % 2]}" for i in range(n))]
        yield Case(f"long-{n}", "\n".join(rows).encode())
        yield Case(f"long-{n}-and-wrong", "\r\n".join([*rows, '"7","8', ' ",c', "x,1,c"]).encode())
    for i, text in enumerate(("p;q,1;r\n1;2;a\n3;4;b\n", "p|q|r\n1|2|a;b\n3|4|c,d\n")):
        yield Case(f"mixed-delimiters-{i}", text.encode(), "yes", ";|"[i], guessed=True)


def cases():
    """All cases, with distinct names."""
    return [*_shapes(), *_cells(), *_lines(), *_encodings(), *_decimals(), *_tables(), *_sizes()]


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        (folder / f"{case.name}.csv").write_bytes(case.content)
    print(f"{len(cases())} files in {folder}")
