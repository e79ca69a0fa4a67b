"""Compare the scores of C with those of Python, bit for bit, on every machine that can be had here.

    python tools/c_bits.py                    build and run all targets whose compiler and runner are here
    python tools/c_bits.py --rows 500 --only x86-64-v3
    python tools/c_bits.py --time             microseconds of one row instead, and sizes of programs

Every frozen file of tests/data that C reads, and functions and numeric column maps made for it, score so many rows of
float64 and of float32, in one call and each row alone.  Each target is compared with Python at a level of its class
(products and sums that are rounded once, or twice), then with Python of the other class.

Differences are in units of the last place of the precision of the rows (probabilities: of float64), of max(|score|, 1),
and of the sizes of the terms of a score: |intercept| + sum of |amplitude| (1 + |omega| . |x - center|), or + sum of
|weight|, for terms that cancel and large angles lose digits in any arithmetic.  The exit status is 1 if a score or a
label differs within a class, or a score by more than 8 units of the sizes of its terms between them.
"""

import argparse
import sys
import tempfile
import timeit
from pathlib import Path

import numpy as np

from rffkern import ColumnMap, load
from rffkern._kernels import simd

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # what this shares with the tests is in tests/helpers
from helpers import c_models
from helpers.c_scores import FROZEN, LARGEST_BETWEEN, Case, compare
from helpers.c_targets import TARGETS


def table(cases, targets, folder):
    """Print a line for each target; whether the promise holds."""
    kept = True
    print("float64, float32: units of max(|score|, 1); frozen: of frozen files without kernels, at rows that are not "
          "far out;\nof terms: units of the sizes of terms; labels: how many of all rows differ; probabilities: units "
          "of float64")
    columns = ("float64", "float32", "frozen", "of terms", "labels", "probabilities")
    print(f"{'target':24s} {'compared with':14s}" + "".join(f"{column:>14s}" for column in columns))
    both = sorted(cases[0].expected)
    if len(both) == 2:
        worst = {}
        for case in cases:
            compare(case.expected[False], case.expected[True], case, worst)
        kept &= show("Python baseline", "Python v3", worst, columns, LARGEST_BETWEEN)
    for target in targets:
        if reason := target.missing():
            print(f"{target.name:24s} not run: {reason}")
            continue
        program = target.build(folder)
        found = [case.run(target, program, folder) for case in cases]
        for fuses in sorted(both, key=lambda fuses: fuses != target.fuses):
            worst = {}
            for case, there in zip(cases, found, strict=True):
                compare(there, case.expected[fuses], case, worst)
            kept &= show(target.name, "Python v3" if fuses else "Python baseline", worst, columns,
                         0 if fuses == target.fuses else LARGEST_BETWEEN)
    return kept


def show(name, other, worst, columns, limit):
    """Print a line; whether scores are within a limit, and labels equal where it is 0."""
    print(f"{name:24s} {other:14s}" + "".join(f"{worst.get(column, 0):14.4g}" for column in columns), flush=True)
    if limit == 0:
        return worst["float64"] == worst["float32"] == worst.get("labels", 0) == 0
    return worst["of terms"] <= limit


def time_rows(cases, targets, folder):
    """Print microseconds of one row in Python and C."""
    simd.select(simd.LEVELS[-1])
    built = [(target, target.build(folder)) for target in targets if not target.missing()]
    for target, program in built:
        print(f"{target.name:24s} {program.stat().st_size} bytes")
    print(f"{'one row, microseconds':32s}{'Python':>10s}" + "".join(f"{target.name[-14:]:>16s}" for target, _ in built))
    for case in cases:
        model = load(case.path)
        if hasattr(model, "column_map_") or isinstance(model, ColumnMap):
            continue
        expansion = getattr(model, "expansion_", model)
        row = np.fromfile(case.rows, case.dtype).reshape(-1, expansion.n_features)[1:2].copy()
        expansion.score_checked(row)
        best = min(timeit.repeat(lambda e=expansion, r=row: e.score_checked(r), number=5000, repeat=7)) / 5000 * 1e6
        found = [float(target.run(program, case.path, row.itemsize, case.rows, "time")) for target, program in built]
        print(f"{case.name + ' ' + np.dtype(case.dtype).name:32s}{best:10.2f}" + "".join(f"{us:16.2f}" for us in found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--only", default="", help="targets whose names hold this text")
    parser.add_argument("--models", default="", help="models whose names hold this text")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    targets = [target for target in TARGETS if options.only in target.name]
    levels = {False: simd.LEVELS[0]} | ({True: simd.LEVELS[-1]} if len(simd.LEVELS) > 2 else {})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = c_models.frozen_files(FROZEN) | c_models.made(folder)
        cases = [Case(name, path, dtype, options.rows, folder, levels) for name, path in paths.items()
                 if options.models in name for dtype in (np.float64, np.float32)]
        if options.time:
            time_rows(cases, targets, folder)
        else:
            print(f"{len(cases)} cases of {options.rows} rows")
            sys.exit(0 if table(cases, targets, folder) else 1)


if __name__ == "__main__":
    main()
