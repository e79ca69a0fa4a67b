"""Time of Fourier boosting beside other libraries as rows grow: fits, predictions, one row, and the loss they reach.

    python tools/boosting/times.py
    python tools/boosting/times.py --sizes 500 6000 --models fourier lightgbm --repeat 5
    python tools/boosting/times.py --data DIR                     also the set "electricity" of a folder

Clusters of 20 columns, eight of them informative, in two classes; 20,000 rows more for predictions.  All models see the
same rows in one process on one thread, in turn, and each takes its defaults; "lightgbm-1000" has 63 leaves and 1,000
rounds, and "svc" is scikit-learn's.  "lightgbm-equal" has 63 leaves and the least rounds that reach the log loss of
Fourier boosting on the test rows; "not reached" says that its least loss is higher, or that --limit was over.  They are
found before the time is taken.  Figures are medians of CPU seconds, and of microseconds for a row alone.  A model is
left out from the size on at which its fit, by those before, would take more seconds than --limit.
"""

import argparse
import functools
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common.one_thread  # noqa: F401  (before numpy)
import numpy as np
from common.measure import cpu
from common.protocols import load, permuted_split

from boosting.rivals import RIVALS, lightgbm, quality, rounds_to, silence

N_TEST, N_SINGLE = 20_000, 200
SIZES = (500, 6000, 30_000, 200_000, 1_000_000)

EQUAL, MANY_LEAVES = "lightgbm-equal", 63

# How fits grow at most with the rows: the power by which their time is foretold.
POWERS = {"svc": 2.0}


def support_vectors(X, y, X_test, is_class, seed):
    """SVC with its defaults on standardised columns, which predicts classes."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    model = make_pipeline(StandardScaler(), SVC(random_state=seed)).fit(X, y)
    return lambda: model.predict(X_test)


def many_rounds(X, y, X_test, is_class, seed):
    """LightGBM with 63 leaves and 1,000 rounds."""
    return lightgbm(X, y, X_test, is_class, seed, num_leaves=MANY_LEAVES, n_estimators=1000)


MODELS = {"fourier": RIVALS["fourier"], "fourier-terms": RIVALS["fourier-terms"], "lightgbm": lightgbm,
          "lightgbm-1000": many_rounds, "lightgbm-tuned": RIVALS["lightgbm-tuned"], "xgboost": RIVALS["xgboost"],
          "svc": support_vectors}


def tables(options):
    """Name, training rows, test rows and the targets of both, one size after the other."""
    for n_rows in sorted(options.sizes):
        X, y = load(None, f"blobs8_{-(-(n_rows + N_TEST) // 1000)}k")
        test, train = slice(N_TEST), slice(N_TEST, N_TEST + n_rows)
        yield f"{n_rows} rows", X[train], X[test], y[train], y[test]
    if options.data:
        X, y = load(options.data, "electricity")
        y = np.unique(y, return_inverse=True)[1]
        yield "electricity", *permuted_split(X, y, 61, len(y) * 3 // 10)


def one_row(model, X, y, X_row):
    """Median microseconds of the prediction for one row, by a model that is trained on some of the rows at most."""
    predict = model(X, y, X_row, True, 0)
    predict()
    times = []
    for _ in range(N_SINGLE):
        started = time.perf_counter()
        predict()
        times.append(time.perf_counter() - started)
    return 1e6 * statistics.median(times)


def measure(models, X, X_test, y, y_test, repeat):
    """Seconds, log loss and accuracy of each of some models, {name: function}, which take turns."""
    found = {name: {"fit": [], "predict": []} for name in models}
    for turn in range(repeat):
        for name in models:
            if found[name]["fit"] and turn and found[name]["fit"][0] * repeat > 600:
                continue  # one long fit tells enough
            predict, seconds = cpu(models[name], X, y, X_test, True, turn)
            predicted, scoring = cpu(predict)
            found[name]["fit"].append(seconds)
            found[name]["predict"].append(scoring)
            if turn == 0:
                found[name] |= quality(predicted, y_test, True)
    return {name: {key: statistics.median(value) if isinstance(value, list) else value
                   for key, value in each.items()} for name, each in found.items()}


def show(title, found):
    """Print the figures of one size."""
    print(f"\n{title:<16}{'fit s':>11}{'predict s':>12}{'one row us':>12}{'log loss':>10}{'accuracy':>10}")
    for name, each in found.items():
        single = f"{each['one_row']:.0f}" if "one_row" in each else ""
        loss = f"{each['log_loss']:.4f}" if "log_loss" in each else ""
        rounds = f"  {each['rounds']} rounds{'' if each['reached'] else ', not reached'}" if "rounds" in each else ""
        print(f"{name:<16}{each['fit']:>11.3f}{each['predict']:>12.4f}{single:>12}{loss:>10}{each['score']:>10.2f}"
              f"{rounds}", flush=True)


def main():
    """Measure and print one size after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of training rows")
    parser.add_argument("--models", nargs="+", choices=[*MODELS, EQUAL], metavar="NAME",
                        default=[*(name for name in MODELS if name != "lightgbm-tuned"), EQUAL],
                        help=f"among {', '.join(MODELS)}, {EQUAL}; all but lightgbm-tuned by default")
    parser.add_argument("--data", metavar="DIR", help="folder of NAME.npz files")
    parser.add_argument("--repeat", type=int, default=3, help="fits of each model, of which the median is reported")
    parser.add_argument("--limit", type=float, default=600, help="most seconds of a fit")
    parser.add_argument("--single", type=int, default=6000, metavar="ROWS",
                        help="time of one row is measured for models of at most so many training rows")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too, one size a line")
    options = parser.parse_args()
    silence()
    last = {}  # rows and seconds of the last fit of each model
    for title, X, X_test, y, y_test in tables(options):
        models = {name: MODELS[name] for name in options.models if name in MODELS and (
            name not in last or last[name][1] * (len(y) / last[name][0]) ** POWERS.get(name, 1.0) <= options.limit)}
        found = measure(models, X, X_test, y, y_test, options.repeat)
        if EQUAL in options.models and "fourier" in found:
            rounds, reached = rounds_to(found["fourier"]["log_loss"], MANY_LEAVES, X, y, X_test, y_test, options.limit)
            models[EQUAL] = functools.partial(lightgbm, num_leaves=MANY_LEAVES, n_estimators=rounds)
            found |= measure({EQUAL: models[EQUAL]}, X, X_test, y, y_test, options.repeat)
            found[EQUAL] |= {"rounds": rounds, "reached": bool(reached)}
        last |= {name: (len(y), each["fit"]) for name, each in found.items()}
        if len(y) <= options.single:
            for name in models:
                found[name]["one_row"] = one_row(models[name], X, y, X_test[:1])
        show(title, found)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                print(json.dumps({"table": title, "rows": len(y), "models": found}), file=file)


if __name__ == "__main__":
    main()
