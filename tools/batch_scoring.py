"""What `rffkern predict` takes beside scoring: rows of .npy and .csv files, in CPU time of one thread.

    python tools/batch_scoring.py [--rows 1000000] [--repeat 7] [--threads 1]

A .npy is set beside what a program cannot do without: NumPy reading the file and writing as many labels, and the same
model scoring the rows in memory.  A .csv of 20 plain numbers a row is set beside polars, where that is installed, which
reads the same numbers; files are in the cache of the system.  All take turns; shown are medians.
"""

import argparse
import functools
import os
import pathlib
import tempfile

import common.one_thread  # noqa: F401
import numpy as np
from common.measure import cpu_seconds

import rffkern
from rffkern._cli.csv_table import CsvFormat, CsvTable
from rffkern._cli.main import main as run
from rffkern._cli.table import Wanted

COLUMNS, BLOCK = 20, 1 << 16
COSINES = (1, 10, 100)


def copied(path, output):
    """Read an array and write a label for each row."""
    np.save(output, np.load(path)[:, 0] > 0)


def scored(model, path):
    """A function that scores rows that are in memory, block by block."""
    X = np.load(path)
    return lambda: [model.predict(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]


def compare_npy(models, folder, n_rows, repeat, n_threads):
    """From .npy to .npy."""
    for dtype in (np.float32, np.float64):
        path, output = folder / "X.npy", folder / "out.npy"
        np.save(path, np.random.default_rng(0).standard_normal((n_rows, COLUMNS)).astype(dtype))
        functions = {"copy": functools.partial(copied, path, output)}
        for n_cosines, model in models.items():
            functions[f"score {n_cosines}"] = scored(model, path)
            functions[f"predict {n_cosines}"] = functools.partial(run, [
                "predict", str(folder / f"{n_cosines}.npz"), str(path), "-o", str(output), "--threads", str(n_threads)])
        found = cpu_seconds(functions, repeat)
        for n_cosines in models:
            copy, score, whole = found["copy"], found[f"score {n_cosines}"], found[f"predict {n_cosines}"]
            print(f"{np.dtype(dtype).name}, {n_cosines:3} cosines: read and write {1e3 * copy:.0f} ms, score "
                  f"{1e3 * score:.0f}, rffkern predict {1e3 * whole:.0f}: {whole / copy:.2f} x of the first, "
                  f"{whole / (copy + score):.2f} x of both", flush=True)


def read_by_parts(path):
    """All rows of a .csv, as `rffkern predict` reads them."""
    table = CsvTable(str(path), CsvFormat(header="no"))
    for block in table.reading(Wanted(list(range(COLUMNS)), None, [], needs_labels=False, reject=False)).blocks():
        block.X.sum()


def compare_csv(folder, n_rows, repeat):
    """Rows of text, as numbers."""
    for digits in (6, 17):
        path = folder / "rows.csv"
        np.savetxt(path, np.random.default_rng(0).standard_normal((n_rows, COLUMNS)), delimiter=",",
                   fmt=f"%.{digits}g")
        functions = {"rffkern": functools.partial(read_by_parts, path)}
        try:
            import polars
        except ImportError:
            pass
        else:
            functions["polars"] = lambda path=path: polars.read_csv(path, has_header=False).to_numpy().sum()
        found = cpu_seconds(functions, repeat)
        print(f"csv, {digits:2} digits: " + ", ".join(f"{name} {1e6 * seconds / n_rows:.2f} us a row"
                                                      for name, seconds in found.items()), flush=True)


def main():
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, COLUMNS))
    with tempfile.TemporaryDirectory() as name:
        folder, models = pathlib.Path(name), {}
        for n_cosines in COSINES:
            models[n_cosines] = rffkern.GBRFF2Classifier(n_cosines, early_stopping_rounds=None, random_state=0,
                                                         n_jobs=given.threads).fit(X, X[:, 0] * X[:, 1] > 0)
            rffkern.save(models[n_cosines], folder / f"{n_cosines}.npz")
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
        compare_npy(models, folder, given.rows, given.repeat, given.threads)
        compare_csv(folder, max(1, given.rows // 5), given.repeat)


if __name__ == "__main__":
    main()
