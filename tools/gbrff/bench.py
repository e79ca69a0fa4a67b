"""Time of training and of scoring with the GBRFF families, against twins in NumPy/SciPy and other libraries."""

import sys
import time
from functools import partial

import numpy as np
from common import contenders
from common.measure import cpu_seconds, result, show, show_power

from gbrff.contenders import CONTENDERS, GROWTH, N_ESTIMATORS, N_FEATURES, make_data, rffkern_model, twin_rounds
from gbrff.memory import memory_peak, peak
from gbrff.twin import ExponentialTwin, PhaseTwin, SquaredTwin

FIGURE_4 = [1702, 3829, 8614, 19381, 43606, 98113, 220755, 496698, 1117558, 2514505, 5657638]


class Fit:
    """Training: 100 rounds or trees on n rows of 20 columns."""

    def __init__(self, only, limit):
        self.only, self.limit, self.last = only, limit, {}

    def _too_slow(self, name, rounds, n_samples):
        seconds, size = self.last.get(name, (0, 1))
        return seconds * rounds / N_ESTIMATORS * (n_samples / size) ** GROWTH.get(name, 1) > self.limit

    def measure(self, n_samples, repetitions):
        X, y = make_data(n_samples)
        functions, factors = {}, {}
        for name in self.only:
            rounds = twin_rounds(n_samples) if name == "twin" else N_ESTIMATORS
            if self._too_slow(name, rounds, n_samples):
                continue
            make = partial(PhaseTwin, rounds) if name == "twin" else CONTENDERS[name]
            try:
                make()
            except ImportError as error:
                print(f"left out: {name} ({error})", file=sys.stderr)
                continue
            factors[name] = N_ESTIMATORS / rounds
            functions[name] = lambda make=make: make().fit(X, y)
        seconds = {name: value * factors[name] for name, value in cpu_seconds(functions, repetitions).items()}
        self.last |= {name: (value, n_samples) for name, value in seconds.items()}
        return result("fit", n_samples, seconds)


def fit(arguments):
    """Training, and what memory it takes."""
    measure, results = Fit(arguments.only, arguments.limit), []
    for n_samples in arguments.sizes or [1702, 43606]:
        results.append(show(measure.measure(n_samples, arguments.repeat)))
        if arguments.memory:
            print("   MB over the data: " + ", ".join(
                f"{name} {memory_peak(name, n_samples):.1f}" for name in results[-1]["seconds"]), flush=True)
    return results


def cosine_sum(X, expansion):
    """The scores of a FourierExpansion by NumPy."""
    angles = (X - expansion.center) @ expansion.omegas.T - expansion.phases
    return expansion.intercept + np.cos(angles) @ expansion.amplitudes


def score(n_terms, n_features, n_samples, repetitions):
    """Scoring: a sum of cosines against NumPy and against as many trees of depth 5."""
    from rffkern import FourierExpansion

    rng = np.random.default_rng(0)
    expansion = FourierExpansion(rng.standard_normal((n_terms, n_features)), rng.uniform(-3, 3, n_terms),
                                 rng.standard_normal((n_terms, 1)), [0.0], np.zeros(n_features))
    X, _ = make_data(n_samples, n_features)
    single = X.astype(np.float32)
    blocks = [X[start : start + 4096] for start in range(0, n_samples, 4096)]  # whose temporaries stay in cache
    functions = {
        "rffkern float32": lambda: expansion.score(single, n_jobs=1),
        "rffkern": lambda: expansion.score(X, n_jobs=1),
        "numpy": lambda: cosine_sum(X, expansion),
        "numpy blocked": lambda: np.concatenate([cosine_sum(block, expansion) for block in blocks]),
    }
    try:
        booster = contenders.lightgbm_model(n_terms).fit(*make_data(4000, n_features)).booster_
        functions["lightgbm"] = lambda: booster.predict(X, raw_score=True, num_threads=1)
    except ImportError as error:
        print(f"left out: lightgbm ({error})", file=sys.stderr)
    return result(f"predict T = {n_terms} d = {n_features}", n_samples, cpu_seconds(functions, repetitions))


def one_row(repetitions):
    """Latency of one row, T = 100, d = 20."""
    X, y = make_data(2000)
    model, row = rffkern_model().fit(X, y), X[:1].copy()
    return result("one row", 1, cpu_seconds({
        "expansion.score": lambda: model.expansion_.score(row),
        "decision_function": lambda: model.decision_function(row),
        "predict": lambda: model.predict(row)}, repetitions))


def predict(arguments):
    """Scoring of many rows and of one."""
    shapes = [(100, 20, n_samples) for n_samples in arguments.sizes or [1702, 43606]] + [(1000, 100, 20000)]
    return [show(score(*shape, arguments.repeat)) for shape in shapes] + [show(one_row(arguments.repeat))]


def landmarks(arguments):
    """The landmark families against their twins, T = 100, d = 20; twins run fewer rounds and are scaled."""
    from pbrff.bench import train_features

    from gbrff.evaluations import landmark_evaluations

    results = []
    for n_samples in arguments.sizes or [1702, 43606]:
        results += [show(measured) for measured in train_landmarks(n_samples, arguments.repeat)]
        results.append(show(train_features(*make_data(n_samples), arguments.repeat)))
    return results + landmark_evaluations(arguments.repeat)


def train_landmarks(n_samples, repetitions):
    from rffkern import GBRFF1Classifier, GBRFFClassifier

    X, y = make_data(n_samples)
    common = {"standardize": False, "gamma": 1 / N_FEATURES, "n_jobs": 1, "random_state": 0}
    rounds = max(2, min(N_ESTIMATORS, 400_000 // n_samples))
    for label, make, make_twin, n_components in (("GBRFF1 K = 10", GBRFF1Classifier, ExponentialTwin, 10),
                                                 ("GBRFF K = 100", GBRFFClassifier, SquaredTwin, 100)):
        models = {name: make(N_ESTIMATORS, n_components=n_components, max_samples=size, **common)
                  for name, size in (("rffkern", None), ("rffkern subsets", 16384), ("subsets of 4096", 4096))}
        functions = {name: partial(model.fit, X, y) for name, model in models.items()}
        n_rounds = max(1, rounds * 10 // n_components)
        functions["twin"] = partial(make_twin(n_rounds, n_components).fit, X, y)
        seconds = cpu_seconds(functions, repetitions)
        seconds["twin"] *= N_ESTIMATORS / n_rounds
        yield result(label, n_samples, seconds)


def growth(arguments):
    """Time against n, d and T, and the power of each that fits."""
    measure, repetitions = Fit(arguments.only, arguments.limit), arguments.repeat
    results = [show(measure.measure(n, repetitions)) for n in arguments.sizes or FIGURE_4]
    curves = {name: {row["n"]: row["seconds"][name] for row in results if name in row["seconds"]}
              for name in arguments.only}
    for name, curve in curves.items():
        large = {n: seconds for n, seconds in curve.items() if n >= 10_000}
        if len(large) > 2:
            print(name, end=": ")
            show_power("n", large)
    show_power("d", cpu_seconds({d: partial(rffkern_model(gamma=1 / d).fit, *make_data(19381, d))
                                 for d in (10, 20, 40, 80, 160)}, max(3, repetitions)))
    X, y = make_data(19381)
    show_power("T", cpu_seconds({T: partial(rffkern_model(T).fit, X, y) for T in (25, 50, 100, 200, 400)},
                                max(3, repetitions)))
    if arguments.plot:
        draw({name: curve for name, curve in curves.items() if curve}, arguments.plot)
    return results


def draw(curves, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
    for name, curve in curves.items():
        axes.loglog(list(curve), list(curve.values()), marker="o", label=name,
                    linewidth=2.5 if name.startswith("rff") else 1.2)
    axes.set(xlabel="training rows", ylabel="CPU seconds", title=f"Training, d = {N_FEATURES}, T = {N_ESTIMATORS}, "
             "one thread")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def threads(arguments):
    """Wall seconds of training and scoring on one and two threads."""
    def show_both(what, n_samples, functions):
        seconds = cpu_seconds(functions, arguments.repeat, time.perf_counter)
        print(f"{what:<12} n = {n_samples:<8} {seconds[1]:.3g} s, two threads {seconds[2]:.3g} s: "
              f"{seconds[1] / seconds[2]:.2f}x", flush=True)

    for n_samples in arguments.sizes or [220755, 1117558]:
        X, y = make_data(n_samples)
        for label, params in (("fit all rows", {}), ("fit subsets", {"max_samples": 8192})):
            show_both(label, n_samples, {count: partial(rffkern_model(30, **params, n_jobs=count).fit, X, y)
                                         for count in (1, 2)})
        expansion = rffkern_model().fit(X[:2000], y[:2000]).expansion_
        show_both("predict", n_samples, {count: partial(expansion.score, X, n_jobs=count) for count in (1, 2)})


def kernels(arguments):
    """One evaluation of GBRFF2's objective against the speed of memory."""
    from gbrff.evaluations import omega_evaluations

    return omega_evaluations(arguments.sizes, arguments.repeat)


COMMANDS = {"fit": fit, "predict": predict, "kernels": kernels, "landmarks": landmarks, "growth": growth,
            "threads": threads, "peak": peak}
