"""Fourier boosting without one of its parts at a time, over data sets of a folder and seeds; no kernel ridge
regression.

    python tools/boosting/ablation.py --data DIR --log FILE --sets large --seeds 1-5
    python tools/boosting/ablation.py --log FILE --table          the table of a log alone

Rows are those of `compare.py`.  A run goes on where its log ends.  The table has, for each part, the paired difference
to the whole over all sets: a part that is worth its place makes accuracy, or R^2, lower where it is missing.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common.one_thread  # noqa: F401  (before numpy)

from boosting.compare import GROUPS, paired, rows_of
from boosting.rivals import quality

WHOLE = "whole"


def variants():
    """For each variant parameters and constants: {name: (parameters, {constant of the package: value})}."""
    from rffkern import ColumnMap

    return {
        WHOLE: ({}, {}),
        "Fourier terms alone": ({"base_learners": ("fourier",)}, {}),
        "trees alone": ({"base_learners": ("tree",)}, {}),
        "Fourier terms and trees": ({"base_learners": ("fourier", "tree")}, {}),
        "all base learners": ({"base_learners": ("fourier", "tree", "linear")}, {}),
        "one bag": ({"n_bags": 1}, {}),
        "z-scores alone": ({"columns": ColumnMap(("standard",))}, {}),
        "columns drawn evenly": ({}, {"kinds._EVEN_SHARE": 1.0}),
        "one candidate": ({}, {"kinds._N_CANDIDATES": 1}),
        "base learners drawn evenly": ({}, {"member._LEAST_CHANCE": 1e9}),
    }


def is_the_whole(name, is_class):
    """Whether a variant is what the class does anyway."""
    return name == ("Fourier terms and trees" if is_class else "all base learners")


def measure(options, name, data_set, seed):
    """Score and log loss of a variant on one set and seed; None where it is the whole."""
    import rffkern

    X, X_test, y, y_test = rows_of(options, data_set, seed)
    is_class = y.dtype.kind != "f"
    if is_the_whole(name, is_class):
        return None
    parameters, constants = variants()[name]
    make = rffkern.FourierBoostingClassifier if is_class else rffkern.FourierBoostingRegressor
    with contextlib.ExitStack() as stack:
        for constant, value in constants.items():
            stack.enter_context(mock.patch(f"rffkern._boosting.{constant}", value))
        started = time.process_time()
        model = make(kernel_ridge=False, random_state=seed, n_jobs=1, **parameters).fit(X, y)
        seconds = time.process_time() - started
    record = {"model": name, "set": data_set, "seed": seed, "rows": len(y), "fit": round(seconds, 3),
              "terms": model.expansion_.n_terms}
    predicted = model.predict_proba(X_test) if is_class else model.predict(X_test)
    return record | quality(predicted, y_test, is_class)


def print_table(records):
    """The difference of each variant to the whole, and its time and terms over those of the whole."""
    found = {name: {(each["set"], each["seed"]): each for each in records if each["model"] == name}
             for name in variants()}
    print(f"{'less the whole':<22}{'score':>18}{'log loss':>20}{'time':>7}{'terms':>7}{'sets':>6}")
    for name, mine in found.items():
        common = [key for key in mine if key in found[WHOLE]]
        if name == WHOLE or not common:
            continue
        score, loss = (paired(mine, found[WHOLE], key) for key in ("score", "log_loss"))
        shown = f"{loss[1]:+.4f} +- {loss[2]:.4f}" if loss else ""
        ratios = [sum(mine[key][what] for key in common) / sum(found[WHOLE][key][what] for key in common)
                  for what in ("fit", "terms")]
        print(f"{name:<22}{f'{score[1]:+.3f} +- {score[2]:.3f}':>18}{shown:>20}{ratios[0]:>7.2f}{ratios[1]:>7.2f}"
              f"{len(score[0]):>6}")


def main():
    """Measure what the log lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", help="folder of NAME.npz with X and y")
    parser.add_argument("--log", required=True, help="file of measurements, one a line, to which new ones are added")
    parser.add_argument("--sets", default="large", help=f"names separated by commas, or {', '.join(GROUPS)}")
    parser.add_argument("--seeds", default="1-5", help="from-to")
    parser.add_argument("--rows", type=int, default=6000, help="training rows at most")
    parser.add_argument("--variants", help="names separated by commas; all by default")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    records = []
    if os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    if not options.table:
        done = {(each["model"], each["set"], each["seed"]) for each in records}
        first, last = map(int, options.seeds.split("-"))
        chosen = options.variants.split(",") if options.variants else list(variants())
        with open(options.log, "a", encoding="utf-8") as file:
            for seed in range(first, last + 1):
                for data_set in GROUPS.get(options.sets, options.sets).split(","):
                    for name in chosen:
                        record = None if (name, data_set, seed) in done else measure(options, name, data_set, seed)
                        if record is not None:
                            records.append(record)
                            print(json.dumps(record), file=file, flush=True)
    print_table(records)


if __name__ == "__main__":
    main()
