"""CPU seconds of sparse kernel machines in two environments, one thread, in turn.

    python tools/sparse_machines/speed.py OLD_PYTHON NEW_PYTHON --data DIR --json FILE

Each python must have rffkern and scikit-learn installed.  Every task runs in a process of its own, with the old python
and the new one, and takes the lower of --repeat times.  "fit" has a given kernel; the others learn it.  The last lines
give the scoring of 20,000 rows with 3,000 centers of 20 columns as a share of the machine's peak: the time that the
products of a row with a center, (d + 1) fused multiply-adds, take at the measured rate of a matrix product, and one
exponential a pair at the measured rate of the kernels' own, in cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

GIVEN = {"kernel": {"length_scale": 4.0}, "reg_lambda": 0.1}


def classes(n_classes, n_features):
    from sklearn.datasets import make_classification

    return make_classification(6000, n_features, n_informative=min(n_features, 12), n_redundant=0,
                               n_classes=n_classes, n_clusters_per_class=1 if n_classes > 2 else 2, random_state=0)


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:1257], y[:1257]


def kin40k(folder, n_rows):
    import numpy as np

    with np.load(os.path.join(folder, "kin40k.npz")) as archive:
        X, y = archive["X"], archive["y"]
    order = np.random.default_rng(0).permutation(len(X))[:n_rows]
    return X[order], y[order]


def targets(n_outputs):
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 10))
    return X, np.sin(X @ rng.standard_normal((10, n_outputs))) + 0.1 * rng.standard_normal((6000, n_outputs))


TASKS = {
    "digits, 10 classes, 1,257 rows": ("Classifier", lambda folder: digits(), {}),
    "26 classes, 6,000 rows": ("Classifier", lambda folder: classes(26, 16), {}),
    "2 classes, 6,000 rows": ("Classifier", lambda folder: classes(2, 20), {}),
    "regression, 6,000 rows": ("Regressor", lambda folder: kin40k(folder, 6000), {}),
    "regression, 36,000 rows": ("Regressor", lambda folder: kin40k(folder, 36000), {}),
    "digits, fit": ("Classifier", lambda folder: digits(), GIVEN),
    "26 classes, fit": ("Classifier", lambda folder: classes(26, 16), GIVEN),
    "2 classes, fit": ("Classifier", lambda folder: classes(2, 20), GIVEN),
    "regression, fit": ("Regressor", lambda folder: kin40k(folder, 6000), GIVEN),
    "8 targets, fit": ("Regressor", lambda folder: targets(8), GIVEN),
}
SCORING = "scoring, double", "scoring, single"


def run_task(name, folder):
    """CPU seconds of one task in this process; of scoring, also those at the peak."""
    import numpy as np

    import rffkern

    if name in SCORING:
        return score(np.float32 if name == SCORING[1] else np.float64)
    kind, make, params = TASKS[name]
    X, y = make(folder)
    model = getattr(rffkern, f"SparseKernel{kind}")(random_state=0, n_jobs=1, **params)
    started = time.process_time()
    model.fit(X, y)
    return [time.process_time() - started]


def lowest(function, repetitions=9):
    seconds = []
    for _ in range(repetitions):
        started = time.process_time()
        function()
        seconds.append(time.process_time() - started)
    return min(seconds)


def score(dtype):
    import numpy as np

    from rffkern import KernelExpansion

    n_rows, n_centers, d = 20_000, 3_000, 20
    rng = np.random.default_rng(0)
    expansion = KernelExpansion(rng.standard_normal((n_centers, d)), rng.standard_normal((n_centers, 1)) / 50, [0.0],
                                np.full(d, 0.2))
    X = rng.standard_normal((n_rows, d)).astype(dtype)
    expansion.score(X[:10], n_jobs=1)
    A, B = rng.standard_normal((500, 500)).astype(dtype), rng.standard_normal((500, 500)).astype(dtype)
    product = lowest(lambda: A @ B) / 500**3  # of a fused multiply-add
    # Rows of one column: of their kernels, nearly all time is that of exponentials.
    tiles, centers = np.zeros((16, 1, 128), dtype), np.zeros((16, 1), dtype)
    kernels, v = np.empty((16, 16, 128), dtype), np.empty((0, 16, 128))
    pairs = 16 * 16 * 128
    try:
        from rffkern._kernels import sparse

        calls = [lambda: sparse.correlate_centers(tiles, centers, np.empty(0, dtype), v, kernels,
                                                  np.empty((1, 0)), np.empty((0, 16)), 2, 1)] * 200
        calls[0]()
        exponential = lowest(lambda: [call() for call in calls]) / (200 * pairs)
    except (ImportError, TypeError):  # in releases that have it elsewhere, or made sums only
        exponential = 0.0
    return [lowest(lambda: expansion.score(X, n_jobs=1)), n_rows * n_centers * ((d + 1) * product + exponential)]


def measure(python, name, folder):
    """What `run_task` finds in another python, outside of the source tree."""
    variables = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run([python, "-P", os.path.abspath(__file__), "--task", name, "--data", folder],
                              cwd=elsewhere, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{python}: {name} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def compare(arguments):
    """Print a row for each task: old and new seconds, and their ratio."""
    found = {}
    for name in arguments.only or [*TASKS, *SCORING]:
        times = [[], []]
        for _ in range(arguments.repeat):
            for python, of_python in zip((arguments.old, arguments.new), times, strict=True):
                of_python.append(measure(python, name, arguments.data))
        old, new = (min(of_python) for of_python in times)
        found[name] = {"old": old[0], "new": new[0]}
        share = f", {100 * new[1] / new[0]:.0f} % of the peak" if len(new) > 1 else ""
        print(f"{name:<32}{old[0]:9.2f} s{new[0]:9.2f} s{old[0] / new[0]:8.1f}x{share}", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?", default=sys.executable)
    parser.add_argument("new", nargs="?", default=sys.executable)
    parser.add_argument("--data", metavar="DIR", required=True, help="folder of NAME.npz files")
    parser.add_argument("--only", nargs="+", choices=[*TASKS, *SCORING], help="tasks")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write the seconds there too")
    parser.add_argument("--task", choices=[*TASKS, *SCORING], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        print(json.dumps(run_task(arguments.task, arguments.data)))
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
