"""Run an exported model in its real engine, as `rffkern/_export/engines.py` does, and in PostgreSQL."""

import contextlib
import csv
import functools
import io
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from rffkern._export import TARGETS, engines
from rffkern._export.engines import (
    Errors,
    Results,
    Rows,
    create_table,
    errors_of,
    of_sql,
    results_of,
    rows_of,
    sql_columns,
)

__all__ = ["ENGINES", "TARGETS", "Errors", "Results", "Rows", "errors_of", "lacking", "postgresql", "results_of",
           "rows_of"]

Run = Callable[[pathlib.Path, Rows, Results], Results]

# All warnings are errors, and the machine's own instructions would fuse products with sums.
_run_c = functools.partial(engines.run_c, flags=["-std=c99", "-O1", "-march=native", "-Wall", "-Wextra", "-Wpedantic",
                                                 "-Werror"])


def _run_onnx(path: str, rows: Rows, expected: Results) -> Results:
    """Check it first."""
    import onnx

    onnx.checker.check_model(onnx.load(path), full_check=True)
    return engines.run_onnx(path, rows, expected)


@contextlib.contextmanager
def postgresql(folder: pathlib.Path) -> Iterator[Run]:
    """A server of its own in a new folder, which is not run as root."""
    folder.mkdir()
    as_user = []
    if os.getuid() == 0:
        shutil.chown(folder, "nobody")
        as_user = ["runuser", "-u", "nobody", "--"]
    data, quiet = folder / "data", {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*as_user, "initdb", "-D", data, "-A", "trust", "-U", "rffkern", "-E", "UTF8", "--no-sync"], **quiet)
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c jit=off"
    subprocess.run([*as_user, "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start"], **quiet)
    try:
        yield functools.partial(_run_postgresql, folder)
    finally:
        subprocess.run([*as_user, "pg_ctl", "-D", data, "-m", "immediate", "stop"], **quiet)


def _run_postgresql(socket: pathlib.Path, path: pathlib.Path, rows: Rows, expected: Results) -> Results:
    columns = sql_columns(rows)
    lines = "\n".join("\t".join(map(_copied, row)) for row in zip(*(each.values for each in columns), strict=True))
    script = (f"BEGIN;\n{create_table('rows', columns)};\nCOPY rows FROM STDIN;\n{lines}\n\\.\n"
              f"{path.read_text(encoding='utf-8')}ROLLBACK;\n")
    done = subprocess.run(["psql", "-h", socket, "-qt", "--csv", "-v", "ON_ERROR_STOP=1", "postgres", "rffkern"],
                          input=script.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    found = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    return of_sql([[int(row[0]), *row[1:]] for row in found], range(rows.n_rows), expected)


def _copied(value: Any) -> str:
    """A value as COPY reads it."""
    if value is None:
        return "\\N"
    text = value if isinstance(value, str) else repr(value)
    return functools.reduce(lambda given, pair: given.replace(*pair),
                            [("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")], text)


ENGINES = {
    **engines.ENGINES,
    "cc": engines.ENGINES["cc"]._replace(run=_run_c),
    "onnxruntime": engines.ENGINES["onnxruntime"]._replace(run=_run_onnx, packages=("onnx", "onnxruntime")),
    "postgresql": engines.Engine("sql", None, ("initdb", "pg_ctl", "psql")),  # which `postgresql` runs
}


def lacking(engine: str) -> list[str]:
    """Programs and packages that an engine needs and that are not here."""
    return ENGINES[engine].lacking()
