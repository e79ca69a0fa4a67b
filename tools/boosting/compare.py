"""Fourier boosting beside other libraries over the data sets of a folder: accuracy, log loss, R^2 and time.

    python tools/boosting/compare.py --data DIR --log FILE --seeds 61-65 --models fourier,lightgbm-tuned
    python tools/boosting/compare.py --log FILE --table          the table of a log alone
Each seed draws training and test rows, the same for all models, which use one thread.  A run goes on where its log
ends.  Scores are per cent: accuracy, or R^2; log loss is that of the test rows, for models that have probabilities.
The ranks of a group of sets are among the models that have measured every set of it which the reference has: ranks of
the mean score over the seeds that all of these have, ties shared, and their mean over sets.
"""

import argparse
import collections
import glob
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common.one_thread  # noqa: F401  (before numpy)
import numpy as np
from common.protocols import load, permuted_split, split

from boosting.rivals import RIVALS, quality, silence
from boosting.toys import TOYS, toy

MOST_TEST_ROWS = 20_000
GROUPS = {
    "small": "wine,sonar,newthyroid,heart,bupa,iono,wdbc,balance,australian,pima,vehicle,german,splice,spambase,"
             "occupancy",
    "large": "phoneme,ringnorm,eeg_eye_state,electricity,covtype_a,higgs_11k,spambase,bankmarketing,occupancy,splice",
    "targets": "boston,concrete,energy,kin8nm,naval,power_plant,protein,wine_quality_red,yacht,california,cpu_act,"
               "cpu_small,ailerons,kin40k,sarcos_test",
    "classes": "pendigits,sleep,digits",
    "toys": ",".join(TOYS),
}


def rows_of(options, name, seed):
    """Training rows, test rows and the targets of both, classes as 0, 1, ..."""
    if name in TOYS:
        return toy(name, seed)
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        X, y = load(options.data, name)
    if y.dtype.kind != "f":
        y = np.unique(y, return_inverse=True)[1]
        if len(y) > 1.5 * options.rows:
            kept = np.sort(np.random.default_rng(seed).permutation(len(y))[: int(options.rows / 0.7)
                                                                          + MOST_TEST_ROWS])
            X, y = X[kept], y[kept]
            X, X_test, y, y_test = split(X, y, seed, "seeded", 1 - options.rows / len(y))
        else:
            X, X_test, y, y_test = split(X, y, seed, "seeded")
    else:
        X, X_test, y, y_test = permuted_split(X, y, seed, len(y) - min(options.rows, int(0.7 * len(y))))
    return X, X_test[:MOST_TEST_ROWS], y, y_test[:MOST_TEST_ROWS]


def measure(options, model, name, seed):
    """Score, log loss and seconds of a model on one set and seed."""
    X, X_test, y, y_test = rows_of(options, name, seed)
    is_class = y.dtype.kind != "f"
    known, _, params = model.partition(":")
    started = time.process_time()
    predict = RIVALS[known](X, y, X_test, is_class, seed, **(json.loads(params) if params else {}))
    fitted = time.process_time()
    predicted = predict()
    record = {"model": model, "set": name, "seed": seed, "rows": len(y), "fit": round(fitted - started, 3),
              "predict": round(time.process_time() - fitted, 4)}
    return record | quality(predicted, y_test, is_class)


def paired(first, other, key):
    """Mean difference over sets of what both have measured, and its standard error, of sets with several seeds."""
    by_set = collections.defaultdict(list)
    for (name, seed), record in first.items():
        if (name, seed) in other and key in record and key in other[name, seed]:
            by_set[name].append(record[key] - other[name, seed][key])
    if not by_set:
        return None
    means = {name: np.mean(found) for name, found in by_set.items()}
    variances = [np.var(found, ddof=1) / len(found) for found in by_set.values() if len(found) > 1]
    error = np.sqrt(np.sum(variances)) / len(variances) if variances else np.nan
    return means, float(np.mean([*means.values()])), float(error)


def print_each(first, other, key, sign):
    """Mean differences of each set with their standard errors, and the sets that are behind by two of them."""
    by_set = collections.defaultdict(list)
    for (name, seed), record in first.items():
        if (name, seed) in other and key in record and key in other[name, seed]:
            by_set[name].append(record[key] - other[name, seed][key])
    behind = []
    for name, found in by_set.items():
        mean, error = np.mean(found), np.std(found, ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.nan
        print(f"  {name:<18}{mean:+9.4f} +- {error:.4f} of {len(found)} splits")
        if sign * mean < 0 and not sign * mean >= -2 * error:
            behind.append(name)
    print(f"  behind by two standard errors: {', '.join(behind) or 'none'}")


def ranks(scores):
    """Ranks of scores in columns, 1 for the highest of a row; ties share the mean of theirs."""
    above = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    level = (scores[:, None, :] == scores[:, :, None]).sum(axis=2)
    return above + (level + 1) / 2


def mean_ranks(found, reference, names):
    """Mean ranks of the models that have all sets of the reference among some names, the sets and the splits."""
    names = [name for name in names if any(of == name for of, _ in found[reference])]
    models = [model for model, each in found.items() if set(names) <= {name for name, _ in each}]
    seeds = {name: set.intersection(*({seed for of, seed in found[model] if of == name} for model in models))
             for name in names}
    names = [name for name in names if seeds[name]]
    if len(models) < 2 or not names:
        return None
    scores = np.array([[np.mean([found[model][name, seed]["score"] for seed in seeds[name]]) for model in models]
                       for name in names])
    return dict(zip(models, ranks(scores.round(9)).mean(axis=0), strict=True)), names, sum(map(len, seeds.values()))


def print_ranks(found, reference):
    """Mean ranks over all sets and over those of each group, the best first."""
    everything = dict.fromkeys(name for name, _ in found[reference])
    for group, names in {"all": everything, **{group: names.split(",") for group, names in GROUPS.items()}}.items():
        ranked = mean_ranks(found, reference, names)
        if ranked:
            by_model, names, n_splits = ranked
            shown = (f"{model} {rank:.2f}" for model, rank in sorted(by_model.items(), key=lambda each: each[1]))
            print(f"mean rank, {group} ({len(names)} sets, {n_splits} splits): {', '.join(shown)}")


def of_models(records, reference):
    """Records by model, the reference first, and by set and seed."""
    models = [reference, *(model for model in dict.fromkeys(record["model"] for record in records)
                           if model != reference)]
    return {model: {(record["set"], record["seed"]): record for record in records if record["model"] == model}
            for model in models}


def print_table(records, reference, each_set=False):
    """Scores of each set and model, paired differences between the reference and the others, ranks and seconds."""
    found = of_models(records, reference)
    models = list(found)
    names = list(dict.fromkeys(record["set"] for record in records))
    for key in ("score", "log_loss"):
        print(f"\n{key:<18}" + "".join(f"{model[:24]:>26}" for model in models))
        for name in names:
            shown = [[each[key] for (of, _), each in found[model].items() if of == name and key in each]
                     for model in models]
            if shown[0]:
                print(f"{name:<18}" + "".join(f"{np.mean(each):>26.4f}" if each else f"{'':>26}" for each in shown))
        for model in models[1:]:
            difference = paired(found[reference], found[model], key)
            if difference:
                means, mean, error = difference
                sign = 1 if key == "score" else -1
                behind = [name for name, each in means.items() if sign * each < 0]
                print(f"{reference} less {model}: {mean:+.4f} +- {error:.4f} over {len(means)} sets; behind on "
                      f"{len(behind)}: {', '.join(behind)}")
                if each_set:
                    print_each(found[reference], found[model], key, sign)
    print_ranks(found, reference)
    for model in models:
        seconds = [(each["fit"], each["predict"]) for each in found[model].values()]
        print(f"{model}: {sum(fit for fit, _ in seconds):.1f} s of fits, {sum(p for _, p in seconds):.2f} s of "
              f"predictions, {len(seconds)} splits")


def main():
    """Measure what the log lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of NAME.npz with X and y")
    parser.add_argument("--log", required=True, help="file of measurements, one a line, to which new ones are added")
    parser.add_argument("--models", default="fourier,lightgbm-tuned,lightgbm", help=f"among {', '.join(RIVALS)}, "
                        "separated by commas or, with parameters as JSON after a colon, by semicolons; %(default)s "
                        "by default")
    parser.add_argument("--sets", help=f"names separated by commas, or {', '.join(GROUPS)}; all of the folder by "
                        "default")
    parser.add_argument("--seeds", default="61-65", help="from-to")
    parser.add_argument("--rows", type=int, default=6000, help="training rows at most")
    parser.add_argument("--reference", help="the model that others are compared with (default: the first of --models, "
                        "or of the log with --table)")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--each", action="store_true", help="print the differences of each set too")
    options = parser.parse_args()
    silence()
    models, records = options.models.split(";" if ":" in options.models else ","), []
    if os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    if not options.table:
        names = GROUPS.get(options.sets, options.sets)
        names = names.split(",") if names else sorted(
            os.path.basename(path)[:-4] for path in glob.glob(os.path.join(options.data, "*.npz")))
        first, last = map(int, options.seeds.split("-"))
        done = {(record["model"], record["set"], record["seed"]) for record in records}
        with open(options.log, "a", encoding="utf-8") as file:
            for seed in range(first, last + 1):
                for name in names:
                    for model in models:
                        if (model, name, seed) not in done:
                            records.append(measure(options, model, name, seed))
                            print(json.dumps(records[-1]), file=file, flush=True)
    measured = list(dict.fromkeys(record["model"] for record in records))
    reference = options.reference or (measured[0] if options.table else models[0])
    if reference not in measured:
        parser.error(f"--reference must be one of the models of the log, {', '.join(measured)}, got {reference}")
    print_table(records, reference, options.each)


if __name__ == "__main__":
    main()
