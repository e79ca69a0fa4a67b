"""Kernel machines on more and more rows, beside scikit-learn's kernel ridge and support vector machines.

python tools/kernel_ridge.py --data DIR                               1,000 and 3,000 rows, all
python tools/kernel_ridge.py --data DIR --rows 30000 90000 --only rffkern

Each fit is of one thread in a process of its own: CPU seconds, accuracy on 10,000 rows and peak memory.  "rffkern" is
`KernelRidgeClassifier` with its defaults, "rffkern, together" the same with region_size=None.  "tuned" is by
five-fold cross-validation over 25 pairs, of which "one pair" fits one.  Others than rffkern get standardized columns.
"""

import argparse
import os
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import common.one_thread  # noqa: F401  (before numpy)
import numpy as np
from common.protocols import load

N_TEST, SEED = 10_000, 61
WIDTHS = [2.0**k for k in (-3, -1, 1, 3, 5)]  # gamma


def rffkern(**params):
    from rffkern import KernelRidgeClassifier

    return KernelRidgeClassifier(random_state=0, n_jobs=1, **params)


def tuned(model, grid, scoring=None):
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(model, grid, cv=5, scoring=scoring)


def ridge(**params):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(**params)


def machine(**params):
    from sklearn.svm import SVC

    return SVC(cache_size=2000, **params)


MODELS = {
    "rffkern": rffkern,
    "rffkern, together": lambda: rffkern(region_size=None, cache_size=8192),
    "kernel ridge, tuned": lambda: tuned(ridge(kernel="laplacian"), {"alpha": [0.03, 0.1, 0.3, 1, 3], "gamma": WIDTHS},
                                         "neg_mean_squared_error"),
    "kernel ridge, one pair": lambda: ridge(kernel="laplacian", alpha=0.1, gamma=2.0),
    "SVC, tuned": lambda: tuned(machine(), {"C": [0.1, 1, 10, 100, 1000], "gamma": [each / 4 for each in WIDTHS]}),
    "SVC, one pair": lambda: machine(C=10, gamma=2.0),
}


def one_fit(name, folder, set_name, n_rows):
    """Print a line of the table."""
    X, y = load(folder, set_name)
    order = np.random.default_rng(SEED).permutation(len(X))
    test, train = order[:N_TEST], order[N_TEST : N_TEST + n_rows]
    y = np.where(y == y.max(), 1.0, -1.0)
    if not name.startswith("rffkern"):
        X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    started = time.process_time()
    model = MODELS[name]().fit(X[train], y[train])
    seconds = time.process_time() - started
    scores = model.decision_function(X[test]) if hasattr(model, "decision_function") else model.predict(X[test])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"| {len(train):,} | {name} | {seconds:.1f} | {100 * np.mean((scores > 0) == (y[test] > 0)):.2f} | "
          f"{memory:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="DIR", help="a folder of NAME.npz with X and y")
    parser.add_argument("--set", default="covtype8_107k", help="a set of two classes")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--here", action="store_true", help="fit in this process, not each in one of its own")
    arguments = parser.parse_args()
    if arguments.here:
        one_fit(arguments.only[0], arguments.data, arguments.set, arguments.rows[0])
        return
    print("| rows | model | CPU seconds | accuracy, % | peak memory, GB |\n|---|---|---|---|---|", flush=True)
    for n_rows in arguments.rows:
        for name in arguments.only:
            subprocess.run([sys.executable, __file__, "--data", arguments.data, "--set", arguments.set, "--rows",
                            str(n_rows), "--only", name, "--here"], check=True)


if __name__ == "__main__":
    main()
