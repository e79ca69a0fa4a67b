"""Run exported files in the programs that are installed, on rows of a table, and compare what they give.

A file is executed as it stands: run none that you would not run yourself.
"""

import contextlib
import datetime
import importlib.util
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._column_map.cells import CATEGORY, DATE, EMPTY, NUMERIC
from .._column_map.tables import RawColumn, category_of_numbers
from .._estimator.base import fitted_map_of
from .._native.array_types import Double
from .._rows.validation import shown_names
from .function import Array
from .html_file import MODULE_BEGINS, MODULE_ENDS
from .sql_file import quoted, table_name

_EPOCH = datetime.datetime(1970, 1, 1)
_ROWS_TOGETHER = 500  # in ONNX Runtime


Options: TypeAlias = Mapping[str, str]
_DEFAULTS = {"name": "model", "table": "rows", "key": "id"}  # of `export`


class Rows(NamedTuple):
    """Rows of a table as engines take them: text of categories, numbers, and seconds of dates."""

    names: list[str]
    kinds: list[str]  # of the fitted columns; EMPTY of those that are not read
    cells: list[list[Any]]  # of each column; None or nan where missing
    of_cells: bool = False  # whether rows are cells, not plain numbers
    texts: list[list[str]] | None = None  # of a file of text, the cells as they stand there

    @property
    def given(self) -> list[list[Any]]:
        """What is given to programs that read text."""
        return self.cells if self.texts is None else self.texts

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cells[0])

    def matrix(self) -> Double:
        """Numbers of all columns, (n_rows, n_columns)."""
        return np.array(self.cells, dtype=np.float64).T.copy()


class Results(NamedTuple):
    """What comes out for rows."""

    scores: Any  # (n_rows, n_outputs); None where only what follows from them comes out
    answers: Any  # (n_rows, n_answers) probabilities, or what `predict` or `transform` gives
    labels: Any = None  # (n_rows,) of a classifier
    classes: Any = None  # their distinct values
    contributions: Any = None  # (n_rows, n_columns * n_outputs) of columns, where the file has them
    ends: Any = None  # (n_rows, 2 * n_targets) of intervals, where the file has them

    @property
    def widths(self) -> tuple[int, int, int, int]:
        """Scores, answers, contributions and ends of a row."""
        return (self.scores.shape[1], self.answers.shape[1],
                *(0 if each is None else each.shape[1] for each in (self.contributions, self.ends)))


class Errors(NamedTuple):
    """How far results are from those of the model."""

    ulp: float  # of scores, in units in the last place of the larger of |H| and 1
    scores: float  # the largest difference of scores, over the largest of 1 and the scores of an output
    answers: float  # that of answers
    labels: float  # the share of rows with the same label
    contributions: float | None = None  # as of scores
    ends: float | None = None  # as of scores


def rows_of(model: Any, X: Any) -> Rows:
    """The rows of a table that a model takes."""
    fitted = fitted_map_of(model)
    if fitted is None:
        matrix = np.asarray(X, dtype=np.float64)
        names = shown_names(getattr(model, "feature_names_in_", None), matrix.shape[1])
        return Rows(names, [NUMERIC] * len(names), matrix.T.tolist())
    table = fitted.read(X, type(model).__name__)
    readings = [column.reading for column in fitted.columns]
    kinds = [reading.kind for reading in readings]
    cells = [_cells(kind, column) for kind, column in zip(kinds, table.columns, strict=True)]
    return Rows(fitted.column_names(), kinds, cells, any(
        reading.kind not in (NUMERIC, EMPTY) or reading.format for reading in readings))


def _cells(kind: str, column: RawColumn) -> list[Any]:
    if kind == CATEGORY:
        column = category_of_numbers(column)
        return [None if code != code else column.levels[int(code)] for code in column.values.tolist()]
    if kind == NUMERIC and column.kind == CATEGORY:  # truth values
        return [code if code != code else float(column.levels[int(code)] == "True") for code in column.values.tolist()]
    return [float("nan")] * len(column.values) if kind == EMPTY else column.values.tolist()


def results_of(model: Any, X: Any, explain: bool = False, interval: float | None = None) -> Results:
    """Results of the model itself, with contributions and intervals of this coverage if asked for."""
    phi = model.explain(X).values if explain else None
    phi = None if phi is None else phi.reshape(len(phi), -1)
    if hasattr(model, "predict_proba"):
        return Results(model._raw_scores(X), model.predict_proba(X), model.predict(X), model.classes_, phi)
    method = next(getattr(model, name) for name in ("transform", "predict", "score") if hasattr(model, name))
    answers = np.asarray(method(X))
    answers = answers.reshape(len(answers), -1)
    ends = None if interval is None else model.predict_interval(X, interval).reshape(len(answers), -1)
    scores = model._raw_scores(X) if hasattr(model, "predict") else answers
    return Results(scores, answers, contributions=phi, ends=ends)


def joined(parts: Sequence[tuple[Rows, Results]]) -> tuple[Rows, Results]:
    """Blocks of rows, and their results, together."""
    blocks, results = zip(*parts, strict=True)
    cells = [[cell for block in blocks for cell in block.cells[j]] for j in range(len(blocks[0].names))]
    arrays: list[Any] = [None if each[0] is None else np.concatenate(each)
                         for each in zip(*(part._replace(classes=None) for part in results), strict=True)]
    texts = None if blocks[0].texts is None else [
        [cell for block in blocks for cell in (block.texts or [])[j]] for j in range(len(cells))]
    return blocks[0]._replace(cells=cells, texts=texts), Results(*arrays)._replace(classes=results[0].classes)


def errors_of(found: Results, expected: Results) -> Errors:
    """Compare results; nan where some are not numbers."""
    for got, given in zip(found[:3], expected[:3], strict=True):
        if got is not None and np.shape(got) != np.shape(given):
            raise AssertionError(f"expected shape {np.shape(given)}, got {np.shape(got)}")
    got, given = (found.answers, expected.answers) if found.scores is None else (found.scores, expected.scores)
    ulp = np.max(np.abs(got - given) / np.spacing(np.maximum(np.abs(given), 1)), initial=0)
    same = 1.0
    if expected.labels is not None and len(expected.labels):
        same = float(np.mean([_text(a) == _text(b) for a, b in zip(found.labels, expected.labels, strict=True)]))
    phi, ends = (None if b is None else _largest(a, b) for a, b in (
        (found.contributions, expected.contributions), (found.ends, expected.ends)))
    return Errors(float(ulp), _largest(got, given), _largest(found.answers, expected.answers), same, phi, ends)


def _largest(got: Array, given: Array) -> float:
    """A number near 0 is the sum of terms of the size of others, whose rounding it has."""
    size = np.max(np.abs(given), axis=0, initial=1)
    return float(np.max(np.abs(got - given) / size, initial=0))


def _text(label: Any) -> str:
    """A label as text; engines have their own words for truth values and whole numbers."""
    words = {"True": "1", "False": "0", "true": "1", "false": "0", "t": "1", "f": "0"}
    return words.get(text := str(label).removesuffix(".0"), text)


# --- programs of their own

def imported(path: Any) -> Any:
    """An exported Python file as a module."""
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_numpy(path: str, rows: Rows, expected: Results, _: Options = _DEFAULTS) -> Results:
    """Import the file."""
    module = imported(path)
    X = dict(zip(rows.names, rows.given, strict=True)) if rows.of_cells else rows.matrix()
    predicted = module.predict(X)
    if expected.classes is None:
        ends = None if expected.ends is None else module.predict_interval(X).reshape(rows.n_rows, -1)
        return Results(module.scores(X), predicted.reshape(rows.n_rows, -1), ends=ends)
    return Results(module.scores(X), module.probabilities(X), predicted)


_NUMBERS_IN_C = """
static int read_numbers(double *x)
{{
    return fread(x, sizeof *x, {d}, stdin) == {d};
}}
"""
# Of each cell the size of its text and one, or 0 and a number.
_CELLS_IN_C = """
static int read_numbers({name}_cell *x)
{{
    static char texts[{d}][{longest} + 1];
    int j;
    unsigned size;
    for (j = 0; j < {d}; j++) {{
        if (fread(&size, 4, 1, stdin) != 1) return 0;
        x[j].text = size ? texts[j] : 0;
        x[j].number = 0;
        if (fread(size ? (void *)texts[j] : (void *)&x[j].number, size ? size - 1 : 8, 1, stdin) != 1 && size != 1)
            return 0;
        if (size) texts[j][size - 1] = 0;
    }}
    return 1;
}}
"""
_DRIVER = """
#include <stdio.h>
{reader}
int main(void)
{{
    {cell} x[{d}];
    double out[{k} + {a} + 1 + {c} + {e}];
    while (read_numbers(x)) {{
        {check}{name}_scores(x, out){fail};
        {name}_{answers}(x, out + {k});
        out[{k} + {a}] = {label};
        {contributions};
        {interval};
        fwrite(out, sizeof out, 1, stdout);
    }}
    return 0;
}}
"""


def run_c(path: str, rows: Rows, expected: Results, options: Options = _DEFAULTS,
          flags: Sequence[str] = ("-std=c99", "-O1")) -> Results:
    """Compile it with a program that reads rows and writes numbers."""
    folder, labelled, name = os.path.dirname(path), expected.classes is not None, options["name"]
    driver, program = os.path.join(folder, "driver.c"), os.path.join(folder, "driver")
    encoded = [[cell.encode() if isinstance(cell, str) else cell for cell in column] for column in rows.given]
    longest = max((len(cell) for column in encoded for cell in column if isinstance(cell, bytes)), default=0)
    k, a, c, e = expected.widths
    words = {"d": len(rows.names), "name": name, "longest": longest}
    content = _DRIVER.format(
        **words, k=k, a=a, c=c, e=e, reader=(_CELLS_IN_C if rows.of_cells else _NUMBERS_IN_C).format(**words),
        cell=f"{name}_cell" if rows.of_cells else "double", check="if (" if rows.of_cells else "",
        fail=") return 1" if rows.of_cells else "", answers="probabilities" if labelled else "predict",
        label=f"{name}_class(x)" if labelled else "0",
        contributions=f"{name}_contributions(x, out + {k + a + 1})" if c else "",
        interval=f"{name}_interval(x, out + {k + a + 1 + c})" if e else "")
    with open(path, encoding="utf-8") as file, open(driver, "w", encoding="utf-8") as out:
        out.write(file.read() + content)
    subprocess.run([_found("cc") or "cc", *flags, driver, "-lm", "-o", program], check=True, capture_output=True)
    data = b"".join(
        struct.pack("I", len(cell) + 1) + cell if isinstance(cell, bytes) else
        struct.pack("=Id", 0, float("nan") if cell is None else cell)
        for row in zip(*encoded, strict=True) for cell in row) if rows.of_cells else rows.matrix().tobytes()
    done = subprocess.run([program], input=data, stdout=subprocess.PIPE, check=True)
    return _from_bytes(done.stdout, expected)


def _found(program: str) -> str | None:
    """Where a program is; of C any compiler."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang") if program == "cc" else (program,))), None)


_SCRIPT = """
import * as model from "./{name}";
import {{ readFileSync, writeSync }} from "node:fs";
await model.ready;
const rows = JSON.parse(readFileSync(0, "utf8"));
const width = {k} + {a} + 1 + {c} + {e}, out = new Float64Array(rows.length * width);
rows.forEach((cells, i) => {{
    const row = {of_cells} ? cells : cells.map((cell) => cell === null ? NaN : cell);
    const at = i * width, predicted = model.predict(row);
    out.set(model.scores(row), at);
    out.set(model.classes ? model.probabilities(row) : predicted.length ? predicted : [predicted], at + {k});
    if (model.classes) out[at + {k} + {a}] = model.classes.indexOf(predicted);
    if ({c}) out.set(model.contributions(row), at + {k} + {a} + 1);
    if ({e}) out.set([...model.predict_interval(row)].flat(), at + {k} + {a} + 1 + {c});
}});
const labels = (model.classes ?? []).map((label) => typeof label === "bigint" ? String(label) : label);
const bytes = Buffer.concat([Buffer.from(JSON.stringify(labels) + "\\n"), Buffer.from(out.buffer)]);
for (let start = 0; start < bytes.length;) start += writeSync(1, bytes, start);
"""


def run_js(path: str, rows: Rows, expected: Results, _: Options = _DEFAULTS) -> Results:
    """Import it in node."""
    module, script = (os.path.join(os.path.dirname(path), name) for name in ("exported.mjs", "driver.mjs"))
    shutil.copy(path, module)
    with open(script, "w", encoding="utf-8") as file:
        file.write(_SCRIPT.format(name="exported.mjs", of_cells="true" if rows.of_cells else "false",
                                  **dict(zip("kace", expected.widths, strict=True))))
    given = rows.given if rows.of_cells else rows.cells
    cells = [[None if cell != cell else cell for cell in row] for row in zip(*given, strict=True)]
    done = subprocess.run(["node", script], input=json.dumps(cells).encode(), stdout=subprocess.PIPE, check=True)
    labels, numbers = done.stdout.split(b"\n", 1)
    return _from_bytes(numbers, expected, json.loads(labels))


def run_html(path: str, rows: Rows, expected: Results, _: Options = _DEFAULTS) -> Results:
    """Run the script of the page in node."""
    with open(path, encoding="utf-8") as file:
        module = file.read().partition(MODULE_BEGINS)[2].partition(MODULE_ENDS)[0]
    with open(f"{path}.js", "w", encoding="utf-8") as file:
        file.write(module)
    return run_js(f"{path}.js", rows._replace(of_cells=True), expected)  # a page reads text


def _from_bytes(data: bytes, expected: Results, labels: Sequence[Any] | None = None) -> Results:
    """Results of a program: of each row the scores, answers, the place of the label, contributions and ends.

    Labels are those that the program has, where it gives them.
    """
    k, a, c, e = expected.widths
    scores, answers, places, contributions, ends = np.split(
        np.frombuffer(data).reshape(-1, k + a + 1 + c + e), np.cumsum([k, a, 1, c]), axis=1)
    classes = expected.classes
    if classes is not None and labels is not None:
        kind = type(classes.tolist()[0])  # int, float, str or bool: JavaScript has one number for two of these
        classes = np.array([kind(label) for label in labels], dtype=object)
    return Results(scores, answers, None if classes is None else classes[places[:, 0].astype(int)],
                   contributions=contributions if c else None, ends=ends if e else None)


def run_onnx(path: str, rows: Rows, expected: Results, _: Options = _DEFAULTS) -> Results:
    """Run it in ONNX Runtime, some rows at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    wanted = session.get_inputs()
    names = ["variable"] if expected.classes is None else ["scores", "probabilities", "label"]
    names += ["lower", "upper"] if expected.ends is not None else []
    if {*rows.kinds} <= {NUMERIC, EMPTY}:
        feed = {"X": rows.matrix()}
    else:
        read = [cells for cells, kind in zip(rows.cells, rows.kinds, strict=True) if kind != EMPTY]
        feed = {given.name: _of_input(cells, given.type) for given, cells in zip(wanted, read, strict=True)}
    types = {given.name: given.type for given in wanted}
    feed = {name: values.astype(np.float32) if types[name] == "tensor(float)" else values
            for name, values in feed.items()}
    parts = [session.run(names, {name: values[i : i + _ROWS_TOGETHER] for name, values in feed.items()})
             for i in range(0, max(1, rows.n_rows), _ROWS_TOGETHER)]
    whole = [np.concatenate(each) for each in zip(*parts, strict=True)]
    if expected.classes is not None:
        return Results(*whole)
    return Results(None, whole[0], ends=np.stack(whole[1:], axis=2).reshape(rows.n_rows, -1) if whole[1:] else None)


def _of_input(cells: Sequence[Any], kind: str) -> Array:
    if kind == "tensor(string)":
        return np.array([["" if cell is None else cell] for cell in cells], dtype=object)
    return np.array(cells, dtype=np.float64)[:, None]


# --- databases

_SQL_TYPES = {CATEGORY: "text", NUMERIC: "double precision", EMPTY: "double precision", DATE: "timestamp"}


class SqlColumn(NamedTuple):
    """A column of a table in a database."""

    name: str
    type: str
    values: Sequence[Any]  # dates are ISO text


def sql_columns(rows: Rows, key: str = "id") -> list[SqlColumn]:
    """The columns of a table of rows, among them that of the key: numbers, unless the model has a column of its name.

    Databases do not tell upper from lower case in names.  A column that is not read has no cells; it may be the key, or
    have no name, which DuckDB and PostgreSQL refuse.
    """
    columns = [SqlColumn(name, "text" if rows.texts is not None else _SQL_TYPES[kind], [
        None if cell is None or cell != cell else
        (_EPOCH + datetime.timedelta(seconds=cell)).isoformat(" ") if kind == DATE and rows.texts is None else cell
        for cell in cells])
        for name, kind, cells in zip(rows.names, rows.kinds, rows.given, strict=True)
        if kind != EMPTY or name.lower() not in ("", key.lower())]
    has_key = key.lower() in (column.name.lower() for column in columns)
    return columns if has_key else [SqlColumn(key, "integer", range(rows.n_rows)), *columns]


def create_table(table: str, columns: Sequence[SqlColumn]) -> str:
    """The statement that creates a table."""
    return f"CREATE TABLE {table} ({', '.join(f'{quoted(each.name)} {each.type}' for each in columns)})"


def of_sql(found: Sequence[Sequence[Any]], keys: Sequence[Any], expected: Results) -> Results:
    """Results of a SELECT: the key, then a label, probabilities and scores, or predictions; `keys` are in order."""
    row_of = {row[0]: row for row in found}
    ordered = [row_of[key] for key in keys]
    if expected.classes is None:
        n, numbers = expected.answers.shape[1], np.array([row[1:] for row in ordered], dtype=np.float64)
        return Results(None, numbers[:, :n], ends=numbers[:, n:] if numbers.shape[1] > n else None)
    a, numbers = expected.answers.shape[1], np.array([row[2:] for row in ordered], dtype=np.float64)
    return Results(numbers[:, a:], numbers[:, :a], [row[1] for row in ordered])


def run_sqlite(path: str, rows: Rows, expected: Results, options: Options = _DEFAULTS) -> Results:
    """Run it in Python's own SQLite."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        table, columns = table_name(options["table"]), sql_columns(rows, options["key"])
        for schema in options["table"].split(".")[:-1]:
            if schema.lower() not in ("main", "temp"):  # which are there
                connection.execute(f"ATTACH ':memory:' AS {quoted(schema)}")
        connection.execute(create_table(table, columns))
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})",
                               zip(*(each.values for each in columns), strict=True))
        return _selected(connection, path, expected, options)


def run_duckdb(path: str, rows: Rows, expected: Results, options: Options = _DEFAULTS) -> Results:
    """Run it in DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        table, columns = table_name(options["table"]), sql_columns(rows, options["key"])
        for schema in options["table"].split(".")[:-1]:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        connection.execute(create_table(table, columns))
        given = {f"c{j}": np.array(each.values, dtype=object) for j, each in enumerate(columns)}
        casts = ", ".join(f"CAST(c{j} AS {each.type})" for j, each in enumerate(columns))
        if len(given["c0"]):
            connection.execute(f"INSERT INTO {table} SELECT {casts} FROM given")
        return _selected(connection, path, expected, options)


def _selected(connection: Any, path: str, expected: Results, options: Options) -> Results:
    """What the statement of a file selects from the table of a connection, in the order of its rows."""
    with open(path, encoding="utf-8", newline="") as file:
        found = connection.execute(file.read()).fetchall()
    keys = connection.execute(f"SELECT {quoted(options['key'])} FROM {table_name(options['table'])}").fetchall()
    if len({*keys}) < len(keys):
        raise ValueError(f"column {options['key']!r}, which identifies rows, has the same value in several: export "
                         "with --key and a column that differs from row to row")
    return of_sql(found, [key for key, in keys], expected)


Run = Callable[[str, Rows, Results, Options], Results]


class Engine(NamedTuple):
    """What runs files of a target."""

    target: str
    run: Run
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def lacking(self) -> list[str]:
        """Programs and packages that it needs and that are not here."""
        return [*(name for name in self.programs if _found(name) is None),
                *(name for name in self.packages if importlib.util.find_spec(name) is None)]

    def version(self) -> str:
        """Versions of what it needs."""
        told = [subprocess.run([_found(name) or name, "--version"], capture_output=True, text=True, check=False)
                for name in self.programs]
        found = [each.stdout.partition("\n")[0] for each in told]
        for name in self.packages:
            module = importlib.import_module(name)
            found.append(f"{name} {getattr(module, 'sqlite_version', None) or module.__version__}")
        return ", ".join(found)


ENGINES: dict[str, Engine] = {
    "numpy": Engine("numpy", run_numpy, packages=("numpy",)),
    "cc": Engine("c", run_c, ("cc",)),
    "node": Engine("js", run_js, ("node",)),
    "node, script of the page": Engine("html", run_html, ("node",)),
    "onnxruntime": Engine("onnx", run_onnx, packages=("onnxruntime",)),
    "sqlite3": Engine("sql", run_sqlite, packages=("sqlite3",)),
    "duckdb": Engine("sql", run_duckdb, packages=("duckdb",)),
}
