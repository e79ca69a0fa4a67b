"""Accuracy of `columns="auto"` beside columns as they are, over the data sets of a folder.

    python tools/columns/auto.py --data DIR --log FILE                 all sets, GBRFF2, RFFNet and sparse machines
    python tools/columns/auto.py --data DIR --log FILE --table         the table of a log alone

Each seed draws training and test rows; both models learn from the same rows with the same seed.  Figures are per cent:
accuracy, or R^2 of regression sets, where GBRFFRegressor stands for GBRFF2.  A run goes on where its log ends.  Where
no map was chosen both models are the same to the last bit, which the contract tests, and one is trained.
"""

import argparse
import collections
import glob
import json
import os
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
from common.protocols import load, permuted_split

import rffkern

CLASSES = {"gbrff2": ("GBRFF2Classifier", "GBRFFRegressor"), "rffnet": ("RFFNetClassifier", "RFFNetRegressor"),
           "sparse": ("SparseKernelClassifier", "SparseKernelRegressor")}
MOST_TEST_ROWS = 10_000


def fitted_score(make: Any, columns: str | None, rows: tuple[np.ndarray, ...], seed: int,
                 params: dict[str, Any]) -> tuple[float, float, str | None]:
    """Score in per cent, seconds of the fit, and the forms that were chosen."""
    X, X_test, y, y_test = rows
    started = time.process_time()
    model = make(columns=columns, random_state=seed, n_jobs=1, **params).fit(X, y)
    seconds = time.process_time() - started
    chosen = None if columns is None or model.column_map_ is None else "+".join(model.column_map_.numeric)
    return 100 * model.score(X_test, y_test), seconds, chosen


def measure(options: argparse.Namespace, job: tuple[str, str, int]) -> dict[str, Any]:
    """Both scores of a family on one set and seed."""
    family, name, seed = job
    X, y = load(options.data, name)
    is_regression = y.dtype.kind == "f"
    make = getattr(rffkern, CLASSES[family][is_regression])
    n_train = min(options.rows, int(0.7 * len(y)))
    X, X_test, y, y_test = permuted_split(X, y, seed, len(y) - n_train)
    rows = X, X_test[:MOST_TEST_ROWS], y, y_test[:MOST_TEST_ROWS]
    known = make().get_params()
    params = {key: value for key, value in json.loads(options.params).items() if key in known}
    score, seconds, chosen = fitted_score(make, "auto", rows, seed, params)
    plain, plain_seconds = score, None
    if chosen is not None:
        plain, plain_seconds, _ = fitted_score(make, None, rows, seed, params)
    return {"family": family, "set": name, "seed": seed, "plain": plain, "auto": score, "chosen": chosen,
            "seconds": round(seconds, 3), "plain_seconds": plain_seconds and round(plain_seconds, 3)}


def print_table(records: list[dict[str, Any]]) -> None:
    """Mean scores and paired gains of each set, and of all sets of a family."""
    for family in dict.fromkeys(record["family"] for record in records):
        groups: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
        for record in records:
            if record["family"] == family:
                groups[record["set"]].append(record)
        print(f"\n{family:<20}{'None':>8}{'auto':>8}{'gain':>8}{'error':>8}  seeds  chosen")
        means, worse = [], []
        for name, found in groups.items():
            gains = np.array([record["auto"] - record["plain"] for record in found])
            error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
            chosen = collections.Counter(record["chosen"] for record in found)
            plain, auto = (np.mean([record[key] for record in found]) for key in ("plain", "auto"))
            means.append(gains.mean())
            worse += [name] if gains.mean() < -2 * error else []
            print(f"{name:<20}{plain:8.2f}{auto:8.2f}{gains.mean():+8.2f}{error:8.2f}  {len(found):>5}  "
                  + ", ".join(f"{form or 'none'} {count}" for form, count in chosen.items()))
        error = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
        times = [(record["seconds"], record["plain_seconds"]) for found in groups.values() for record in found
                 if record["plain_seconds"]]
        print(f"mean gain over {len(means)} sets {np.mean(means):+.2f} (standard error {error:.2f}); "
              f"worse by more than two standard errors: {', '.join(worse) or 'none'}")
        if times:
            print(f"seconds of CPU where a map was chosen: {sum(a for a, _ in times):.0f}, of plain fits "
                  f"{sum(b for _, b in times):.0f}")


def main() -> None:
    """Measure what the log lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of NAME.npz with X and y")
    parser.add_argument("--log", required=True, help="file of measurements, one a line, to which new ones are added")
    parser.add_argument("--families", default=",".join(CLASSES))
    parser.add_argument("--sets", help="names of sets, separated by commas; all of the folder by default")
    parser.add_argument("--seeds", default="61-65", help="from-to")
    parser.add_argument("--rows", type=int, default=6000, help="training rows at most")
    parser.add_argument("--params", default="{}", help="parameters as JSON, for the families that know them")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    records = []
    if os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    if not options.table:
        names = options.sets.split(",") if options.sets else sorted(
            os.path.basename(path)[:-4] for path in glob.glob(os.path.join(options.data, "*.npz")))
        first, last = map(int, options.seeds.split("-"))
        done = {(record["family"], record["set"], record["seed"]) for record in records}
        jobs = [(family, name, seed) for seed in range(first, last + 1) for family in options.families.split(",")
                for name in names]
        with open(options.log, "a", encoding="utf-8") as file:
            for job in jobs:
                if job not in done:
                    records.append(measure(options, job))
                    print(json.dumps(records[-1]), file=file, flush=True)
    print_table(records)


if __name__ == "__main__":
    main()
