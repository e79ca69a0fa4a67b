"""How a .csv is written, as the options say or the file shows: one table in many forms gives one result."""

import gzip

import pytest
from helpers.command_line import shell


@pytest.fixture
def test_text(folder):
    """The text of test.csv."""
    return (folder / "test.csv").read_text()


@pytest.fixture
def predictions(command):
    """What is written for test.csv."""
    return command("predict", "m.npz", "test.csv")[1]


def with_decimal_comma(text):
    return text.replace(",", ";").replace(".", ",")


@pytest.mark.parametrize(("write", "options", "told"), [
    (lambda text: text.replace(",", ";").encode(), [], "using ';' as delimiter"),
    (lambda text: text.replace(",", "\t").encode(), [], "using '\\t' as delimiter"),
    (lambda text: text.replace(",", "|").encode(), ["--delimiter", "|"], ""),
    (lambda text: with_decimal_comma(text).encode(), ["--decimal", ","], "using ';' as delimiter"),
    (lambda text: with_decimal_comma(text).encode(), ["--decimal", ",", "--delimiter", ";"], ""),
    (lambda text: text.encode("utf-8-sig"), [], ""),
    (lambda text: text.encode("utf-16"), ["--encoding", "utf-16"], ""),
    (lambda text: text.replace("answer", "r\u00e9ponse").encode("latin-1"), ["--encoding", "latin-1"], ""),
    (lambda text: gzip.compress(text.encode()), [], "the name ends in .csv, but the file contains gzip; it is read as "
                                                    ".csv.gz"),
    (lambda text: text.replace(",no", ',"no,\nnot at all"').encode(), [], ""),
    (lambda text: text.replace("\n", "\r\n").encode(), ["--header", "yes"], ""),
], ids=["semicolon", "tab", "bar", "decimal comma", "decimal comma and delimiter", "byte order mark", "utf-16",
        "latin-1", "gzip", "line breaks in cells", "crlf"])
def test_one_table_in_many_forms(command, folder, test_text, predictions, write, options, told):
    content = write(test_text)
    (folder / "other.csv").write_bytes(content)
    code, out, errors = command("predict", "m.npz", "other.csv", *options)
    assert (code, out) == (0, predictions)
    advice = "; override with --delimiter" if "delimiter" in told else ""
    assert errors == (f"other.csv: {told}{advice}\n" if told else "")
    code, out, errors = command("predict", "m.npz", "-", "-o", "-", *options, stdin=content)
    assert (code, out) == (0, predictions)
    assert errors.startswith(f"standard input: {told}" if advice else "")


def test_a_model_through_standard_streams(folder, command):
    """As in `gzip -dc train.csv.gz | rffkern fit - -o - > model.npz`."""
    shell("cat train.csv | rffkern fit - -o - --model gbrff2 > p.npz", folder)
    assert (folder / "p.npz").read_bytes() == (folder / "m.npz").read_bytes()
    done = shell("gzip -c test.csv | rffkern predict p.npz - -o - | tail -n 1", folder)
    assert done.stdout == command("predict", "m.npz", "test.csv")[1].splitlines()[-1] + "\n"
    assert done.stderr == ""


def test_targets_with_a_decimal_comma(command, folder, table):
    X, _ = table
    lines = ["a;b;c;y", *(";".join(map(str, [*row, round(row[0] / 3, 4)])) for row in X.tolist())]
    (folder / "point.csv").write_text("\n".join(lines))
    (folder / "comma.csv").write_text("\n".join(lines).replace(".", ","))
    for name, options in (("point", []), ("comma", ["--decimal", ","])):
        assert command("fit", f"{name}.csv", "-o", f"{name}.npz", "--model", "gbrff_regressor", *options)[0] == 0
    assert (folder / "point.npz").read_bytes() == (folder / "comma.npz").read_bytes()
    results = [command("predict", "point.npz", "comma.csv", "--decimal", ",", "--target", "y"),
               command("predict", "point.npz", "point.csv", "--target", "y")]
    assert results[0][1] == results[1][1]
    assert "R^2 on 300 rows" in results[0][2]
    assert results[0][2].splitlines()[1] == results[1][2].splitlines()[1]


def test_quoted_numbers_with_a_decimal_comma_between_commas(command, folder, table):
    X, y = table
    rows = [[*map(str, row), label] for row, label in zip(X.tolist(), y, strict=True)]
    quoted = ['"' + '","'.join(row).replace(".", ",") + '"' for row in rows]
    names = "length,width,depth,answer"
    (folder / "point.csv").write_text("\n".join([names, *map(",".join, rows)]))
    (folder / "comma.csv").write_text("\n".join([names, *quoted]))
    comma = ("--decimal", ",", "--delimiter", ",")
    assert command("predict", "m.npz", "comma.csv", *comma)[:2] == command("predict", "m.npz", "point.csv")[:2]
    code, _, errors = command("fit", "comma.csv", "-o", "c.npz", "--model", "gbrff2", *comma)
    assert code == 0
    assert "on 300 rows of 3 columns" in errors
    (folder / "integers.csv").write_text("length,width,depth\n1,2,3\n4,5,6\n")  # of which no cell is quoted
    assert command("predict", "m.npz", "integers.csv", *comma)[:2] == command("predict", "m.npz", "integers.csv")[:2]


def test_a_table_of_another_format_in_a_pipe(command, folder):
    for start, ending in ((b"PAR1", ".parquet"), (b"\x93NUMPY", ".npy")):
        code, _, errors = command("predict", "m.npz", "-", stdin=start + b"\0\1\2\3")
        assert code == 65
        assert f"expected a text, got what a {ending} file has: give the file by its name" in errors


def test_the_encoding_of_excel(command, folder):
    """A text of cp1252 is no UTF-8; in latin-1 it has control characters in place of the euro sign."""
    (folder / "t.csv").write_bytes(b"a;price;y\n" + "".join(
        f"{k};{k}.5 \u20ac;{'x' if k % 2 else 'z'}\n" for k in range(60)).encode("cp1252"))
    options = "fit", "t.csv", "-o", "p.npz", "--set", "n_estimators=1"
    code, _, errors = command(*options)
    assert (code, "0x80: pass --encoding cp1252, as Excel writes, or" in errors) == (65, True)
    remark = "the byte 0x80 is a control character in latin-1, and '\u20ac' in cp1252: pass --encoding cp1252"
    assert remark in command(*options, "--encoding", "latin-1")[2]
    code, _, errors = command(*options, "--encoding", "cp1252")
    assert (code, remark in errors, "categories" in errors) == (0, False, False)


@pytest.mark.parametrize(("content", "options", "code", "message"), [
    ("a;b;c\n1,5;2;x\n", ["--columns", "none"], 65,
     "data row 1 (line 2), column 0 (a): expected a finite number, got '1,5': if it has a "
     "decimal comma, pass --decimal ,"),
    ("a;b;c\n1.5;2;x\n", ["--decimal", ","], 65, "expected a finite number with a decimal comma, got '1.5'"),
    ("a,b\n1,2\n", ["--decimal", ".", "--delimiter", "."], 2, "--decimal and --delimiter must differ"),
    ("a,b,\n1,x,\n", [], 65, "column 2 (): expected a label or target, got an empty cell: fill it in, skip such rows "
     "with --reject FILE, or name another column by --target"),
    ("a,b\n" + "01/02/2024,x\n" * 8200 + "13/04/2024,y\n", ["-q"], 65, "got '13/04/2024': if all dates of the column "
     "are so, pass --dates dmy"),
    ("Sales of 2024;;\n;;\nregion;units;price\nN;1;2.5\n", [], 65, "column names must be distinct, got none of the "
     "columns 1, 2 (the first is 0): name them, and remove lines above the column names, if there are such; if row 1"),
    ("a,b\n" + "1 kg,x\n2 kg,y\n" * 5000 + "3 g,y\n", ["-q"], 65, "expected a finite number, alone or with 'kg', got "
     "'3 g'"),
    ("a,b\n" + "".join(f"{k},{'xz'[k % 2]}\n" for k in range(90)) + "k.A.,x\n-,z\nrow 7,x\n", ["--columns", "map"], 65,
     "got 'k.A.': most of the first cells of the column are numbers; pass --missing=k.A.,- if they mean missing "
     "values, skip"),
    ("a,b\n1,2\n", ["--encoding", "nothing"], 2, "name of a text encoding, such as latin-1, got 'nothing'"),
    ("a,b\n1,2\n", ["--encoding", "rot13"], 2, "expected the name of a text encoding"),
    ("a,b\n1,2\n", ["--encoding", "idna"], 2, "expected the name of a text encoding"),
    ("a,b\n1,2\n", ["--encoding", "punycode"], 2, "expected the name of a text encoding"),
    ("a,b\n1,2\n", ["--encoding", "hex"], 2, "expected the name of a text encoding"),
    ("a,b\n1,2\n", ["--decimal", ";"], 2, "invalid choice: ';'"),
    ("a,b\n1,\u00e9\n", ["--encoding", "ascii"], 65, "data row 1 (line 2), column 1 (b): expected text in ascii, got "
     "the byte 0xc3: pass --encoding cp1252, as Excel writes, or the encoding of the file"),
    ("a,b\n1,\0x\n", [], 65, "got the character NUL: if it is UTF-16, pass --encoding utf-16-le or utf-16-be"),
    ("a,b\n,x\n1,y\n", ["--columns", "none"], 65, "data row 1 (line 2), column 0 (a): expected a finite number, got "
     "'': the value is missing; fill it in, or skip such rows with --reject FILE"),
    ("a,b,c\n1,2,x\n\"1\n\",2,y\n\n3,z,y\n", ["--columns", "none"], 65, "data row 3 (line 6), column 1 (b): "
     "expected a finite number"),
    ("a,b\n" + "9" * 400 + ",x\n", [], 65, "got '" + "9" * 57 + "...'"),
])
def test_messages_say_what_to_do(command, folder, content, options, code, message):
    (folder / "t.csv").write_text(content)
    found, _, errors = command("fit", "t.csv", "-o", "n.npz", *options)
    assert found == code
    assert message in " ".join(errors.split())
    assert not (folder / "n.npz").exists()
