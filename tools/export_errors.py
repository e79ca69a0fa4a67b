"""Export a model of every family to every target, run each in its real engine and compare it with the model itself.

    python tools/export_errors.py                 # the frozen files of the newest format, on 10,000 rows
    python tools/export_errors.py MODEL.npz ...   # others
    python tools/export_errors.py MODEL.npz --data ROWS.npz   # on rows X of a file

Engines that are not installed are left out; PostgreSQL runs as a server of its own, with jit off.  The rows have the
spread of those that the frozen files were trained on, a twentieth of their numbers missing where the model takes that.

Columns: the largest error of a score in units in the last place of the larger of |H| and 1; the largest error of a
probability or prediction, over the larger of 1 and itself; the share of equal labels; and the size of the file.
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile
import time
from typing import Any

import numpy as np

import rffkern

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))  # what this shares with the tests is in tests/helpers
from helpers.engines import ENGINES, SUFFIXES, errors_of, lacking, of_model, postgresql

DATA = pathlib.Path(__file__).parent.parent / "tests" / "data"


def rows_for(model: Any, n_rows: int) -> np.ndarray:
    """Rows as those of training were, with gaps where the model takes them."""
    rng = np.random.default_rng(0)
    expansion = getattr(model, "expansion_", model)
    n_columns = getattr(model, "n_features_in_", expansion.n_features)
    X = rng.standard_normal((n_rows, n_columns)) * ([1, 100, 0.01] if n_columns == 3 else 1)
    if getattr(model, "column_map_", None) is not None:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X


def report(path: pathlib.Path, n_rows: int, data: pathlib.Path | None, folder: pathlib.Path,
           engines: dict[str, Any]) -> None:
    """Print a line for each engine."""
    model = rffkern.load(path)
    X = rows_for(model, n_rows) if data is None else np.load(data)["X"][:n_rows].astype(np.float64)
    try:
        expected = of_model(model, X)
        rffkern.export(model, folder / "trial.c", to="c")
    except rffkern.InvalidInputError as error:
        print(f"{path.stem}: {error}")
        return
    for engine, run in engines.items():
        target = ENGINES[engine][0]
        exported = folder / f"{path.stem}{SUFFIXES[target]}"
        rffkern.export(model, exported, to=target)
        started = time.perf_counter()
        errors = errors_of(run(exported, X, expected), expected)
        print(f"{path.stem:<27} {engine:<10} {errors.ulp:8.1f} ULP  {errors.answers:8.1e}  {100 * errors.labels:6.2f} %"
              f"  {exported.stat().st_size:>9,} bytes  {time.perf_counter() - started:6.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--rows", type=int, default=10_000, metavar="N")
    parser.add_argument("--data", type=pathlib.Path, metavar="FILE", help="the rows: the first of X of a .npz")
    parser.add_argument("--engines", default=",".join(ENGINES), metavar="NAMES", help="some of them (default: all)")
    arguments = parser.parse_args()
    newest = max((folder for folder in DATA.iterdir() if folder.name.isdecimal()), key=lambda folder: int(folder.name))
    models = arguments.models or [path for path in sorted(newest.glob("*.npz"))
                                  if not path.stem.startswith(("column_map", "gbrff2_with"))  # of words and dates
                                  and not path.stem.endswith(("regions", "_expansion"))]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        pathlib.Path(name).chmod(0o755)
        engines = {}
        for engine in arguments.engines.split(","):
            if absent := lacking(engine):
                print(f"{engine} is left out: {', '.join(absent)} not found")
            elif engine == "postgresql":
                engines[engine] = stack.enter_context(postgresql(pathlib.Path(name, "server")))
            else:
                engines[engine] = ENGINES[engine][1]
        for model in models:
            report(model, arguments.rows, arguments.data, pathlib.Path(name), engines)


if __name__ == "__main__":
    main()
