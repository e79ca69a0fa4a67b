"""Measure fit and predict against a NumPy/SciPy twin of the authors' way and against LightGBM.

    python tools/bench.py                          sizes 1702 and 43606, five repetitions
    python tools/bench.py --sizes 220755 --json new.json
    python tools/bench.py --compare old.json new.json

All contenders see the same data in one process on one thread; figures are medians of CPU seconds, and what counts is
their ratio, printed as "times slower than rffkern".  Needs scipy, scikit-learn and lightgbm; one that is missing is
left out and named.
"""

import argparse
import json
import os
import statistics
import sys
import time
from functools import partial

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  (reads the variables set above)

N_ESTIMATORS, N_FEATURES = 100, 20


def make_data(n_samples):
    from sklearn.datasets import make_classification

    X, y = make_classification(n_samples, N_FEATURES, random_state=0)
    return X, np.where(y > 0, 1.0, -1.0)


class Twin:
    """The authors' way in plain NumPy and SciPy: bounded Brent for the phase, fmin_l_bfgs_b for omega."""

    def __init__(self, n_estimators=N_ESTIMATORS, seed=0):
        self.n_estimators, self.seed = n_estimators, seed

    def fit(self, X, y):
        from scipy.optimize import fmin_l_bfgs_b, fminbound

        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        self.intercept = 0.5 * np.log((1 + y.mean()) / (1 - y.mean()))
        H = np.full(n_samples, self.intercept)
        self.omegas, self.phases, self.steps = [], [], []
        for _ in range(self.n_estimators):
            w = np.exp(-y * H)
            r = y * w
            omega = rng.normal(0, np.sqrt(2 / n_features), n_features)
            angle = X @ omega

            def phase_loss(b, r=r, angle=angle):
                return np.exp(-r * np.cos(angle - b)).mean()

            b = fminbound(phase_loss, -np.pi, np.pi, xtol=2e-2 * np.pi)

            def loss_and_gradient(omega, r=r, b=b):
                shifted = X @ omega - b
                loss = np.exp(-r * np.cos(shifted))
                return loss.mean(), (r * np.sin(shifted) * loss) @ X / n_samples

            omega, _, _ = fmin_l_bfgs_b(loss_and_gradient, omega, maxiter=10)
            h = np.cos(X @ omega - b)
            step = 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum())
            H += step * h
            self.omegas.append(omega)
            self.phases.append(b)
            self.steps.append(step)
        return self

    def predict(self, X):
        angle = X @ np.array(self.omegas).T - self.phases
        return self.intercept + np.cos(angle) @ self.steps

    def predict_blocked(self, X):
        """The same by 4096 rows, which keeps the temporaries in cache."""
        return np.concatenate([self.predict(X[i : i + 4096]) for i in range(0, len(X), 4096)])


def rffkern_model(precision="single"):
    from rffkern import GBRFF2Classifier

    return GBRFF2Classifier(N_ESTIMATORS, gamma=1 / N_FEATURES, reg_lambda=0, standardize=False, precision=precision,
                            max_samples=None, random_state=0, n_threads=1)


def lightgbm_model():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=N_ESTIMATORS, max_depth=5, force_col_wise=True, n_jobs=1, verbose=-1)


class Fit:
    """Training: 100 rounds or trees on n rows of 20 columns."""

    contenders = {
        "rffkern": rffkern_model,
        "rffkern double": lambda: rffkern_model("double"),
        "twin": Twin,
        "lightgbm": lightgbm_model,
    }

    def setup(self, n_samples):
        self.X, self.y = make_data(n_samples)

    def time(self, name):
        model = self.contenders[name]()
        return lambda: model.fit(self.X, self.y)


class Predict:
    """Scoring n rows with 100 terms or trees."""

    contenders = {
        "rffkern": lambda model, X: lambda: model["rffkern"].decision_function(X),
        "rffkern float32": lambda model, X: partial(model["rffkern"].decision_function, X.astype(np.float32)),
        "twin": lambda model, X: lambda: model["twin"].predict(X),
        "twin blocked": lambda model, X: lambda: model["twin"].predict_blocked(X),
        "lightgbm": lambda model, X: lambda: model["lightgbm"].booster_.predict(X, raw_score=True, num_threads=1),
    }

    def setup(self, n_samples):
        X, y = make_data(2000)
        self.models = {"rffkern": rffkern_model().fit(X, y), "twin": Twin().fit(X, y)}
        try:
            self.models["lightgbm"] = lightgbm_model().fit(X, y)
        except ImportError:
            self.models["lightgbm"] = None
        self.X, _ = make_data(n_samples)

    def time(self, name):
        if self.models.get(name.split()[0]) is None:
            raise ImportError(name)
        return self.contenders[name](self.models, self.X)


def cpu_seconds(function, repetitions):
    """Median CPU time of a call, after one that warms up; calls of under 20 ms are repeated within a measurement."""
    started = time.process_time()
    function()
    inner = max(1, min(1000, int(0.02 / max(time.process_time() - started, 1e-6))))
    times = []
    for _ in range(repetitions):
        started = time.process_time()
        for _ in range(inner):
            function()
        times.append((time.process_time() - started) / inner)
    return statistics.median(times)


def run(sizes, repetitions):
    results = []
    for benchmark in (Fit(), Predict()):
        for n_samples in sizes:
            benchmark.setup(n_samples)
            seconds = {}
            for name in benchmark.contenders:
                try:
                    seconds[name] = cpu_seconds(benchmark.time(name), repetitions)
                except ImportError as error:
                    print(f"left out: {name} ({error})", file=sys.stderr)
            results.append({"what": type(benchmark).__name__.lower(), "n": n_samples, "seconds": seconds})
            show(results[-1])
    return results


def show(result):
    base = result["seconds"]["rffkern"]
    cells = (f"{name} {value:.4g} s" + (f" ({value / base:.1f}x)" if name != "rffkern" else "")
             for name, value in result["seconds"].items())
    print(f"{result['what']:<8} n = {result['n']:<8} " + "   ".join(cells), flush=True)


def compare(old_path, new_path):
    tables = []
    for path in (old_path, new_path):
        with open(path, encoding="utf-8") as file:
            tables.append({(row["what"], row["n"]): row["seconds"] for row in json.load(file)})
    for key in tables[0].keys() & tables[1].keys():
        for name in tables[0][key].keys() & tables[1][key].keys():
            old, new = tables[0][key][name], tables[1][key][name]
            print(f"{key[0]:<8} n = {key[1]:<8} {name:<16} {old:.4g} s -> {new:.4g} s  ({old / new:.2f}x faster)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1702, 43606], help="numbers of rows")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions, of which the median counts")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare two files of figures instead")
    arguments = parser.parse_args()
    if arguments.compare:
        compare(*arguments.compare)
        return
    results = run(arguments.sizes, arguments.repeat)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
