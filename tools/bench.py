"""Measure rffkern against a NumPy/SciPy twin of the authors' way and against its peers.

    python tools/bench.py fit --memory                     training, n = 1702 and 43606, and what memory it takes
    python tools/bench.py fit --sizes 220755 1117558 --only rffkern twin lightgbm
    python tools/bench.py predict                          scoring, many rows and one
    python tools/bench.py kernels                          one evaluation against the speed of memory
    python tools/bench.py landmarks                        GBRFF1, GBRFF and PBRFF against NumPy/SciPy, and LinearSVC
    python tools/bench.py sparse                           sparse kernel boosting against NumPy on BLAS, and its growth
    python tools/bench.py rffnet --data DIR                RFFNet against PyTorch: an epoch, and time to equal loss
    python tools/bench.py growth --plot time.png           time against n (sizes of Figure 4), d and T
    python tools/bench.py threads                          one and two threads
    python tools/bench.py memmap --folder DIR              rows that stay on disk
    python tools/bench.py --compare old.json new.json      two files written with --json

All contenders see the same data in one process on one thread, in turn; figures are medians of CPU seconds, and what
counts is their ratio to the time of rffkern, in brackets.  rffkern descends on all rows unless it says "sampled".
The twin runs fewer rounds on large data, and its time is scaled.  Needs scipy and scikit-learn; torch for rffnet;
lightgbm, xgboost and matplotlib where they are asked for.  A contender that is missing, or would take longer than
--limit, is left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial

import contenders  # first: it sets the number of threads that the libraries read when they load
import numpy as np
from contenders import CONTENDERS, GROWTH, N_ESTIMATORS, N_FEATURES, make_data, rffkern_model
from measure import compare, cpu_seconds, memory, show
from rffnet_bench import run_rffnet
from sparse_bench import run_sparse

FIGURE_4 = [1702, 3829, 8614, 19381, 43606, 98113, 220755, 496698, 1117558, 2514505, 5657638]


def peak_memory(name, n_samples):
    """MB that a fit adds at its peak to the memory of a process that holds the data."""
    program = [sys.executable, __file__, "peak", "--only", name, "--sizes", str(n_samples)]
    return float(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


class Fit:
    """Training: 100 rounds or trees on n rows of 20 columns."""

    def __init__(self, only, limit):
        self.only, self.limit, self.last = only, limit, {}

    def functions(self, n_samples):
        X, y = make_data(n_samples)
        functions, self.factors = {}, {}
        for name in self.only:
            rounds = contenders.twin_rounds(n_samples) if name == "twin" else N_ESTIMATORS
            seconds, size = self.last.get(name, (0, 1))
            if seconds * rounds / N_ESTIMATORS * (n_samples / size) ** GROWTH.get(name, 1) > self.limit:
                continue
            self.factors[name] = N_ESTIMATORS / rounds
            make = (lambda rounds=rounds: contenders.Twin(rounds)) if name == "twin" else CONTENDERS[name]
            try:
                make()
            except ImportError as error:
                print(f"left out: {name} ({error})", file=sys.stderr)
                continue
            functions[name] = lambda make=make: make().fit(X, y)
        return functions

    def measure(self, n_samples, repetitions):
        seconds = cpu_seconds(self.functions(n_samples), repetitions)
        for name in seconds:
            seconds[name] *= self.factors[name]
            self.last[name] = seconds[name], n_samples
        return {"what": "fit", "n": n_samples, "seconds": seconds}


def landmarks(sizes, repetitions):
    """The landmark families against their twins, T = 100, d = 20; twins run fewer rounds and are scaled."""
    from sklearn.svm import LinearSVC
    from twins import BoostedTwin, LandmarkTwin

    from rffkern import GBRFF1Classifier, GBRFFClassifier, PBRFFClassifier

    common, results = {"standardize": False, "gamma": 1 / N_FEATURES, "n_threads": 1, "random_state": 0}, []
    for n_samples in sizes:
        X, y = make_data(n_samples)
        rounds = max(2, min(N_ESTIMATORS, 400_000 // n_samples))
        for label, make, squared, n_components in (("GBRFF1 K = 10", GBRFF1Classifier, False, 10),
                                                   ("GBRFF K = 100", GBRFFClassifier, True, 100)):
            models = {name: make(N_ESTIMATORS, n_components=n_components, max_samples=size, **common)
                      for name, size in (("rffkern", None), ("rffkern sampled", 16384), ("sampled 4096", 4096))}
            functions = {name: partial(model.fit, X, y) for name, model in models.items()}
            n_rounds = max(1, rounds * 10 // n_components)
            functions["twin"] = partial(BoostedTwin(n_rounds, n_components, squared).fit, X, y)
            seconds = cpu_seconds(functions, repetitions)
            seconds["twin"] *= N_ESTIMATORS / n_rounds
            results.append(show({"what": label, "n": n_samples, "seconds": seconds}))
        features = LandmarkTwin().features(X, y)
        results.append(show({"what": "PBRFF, 100 landmarks, K = 10", "n": n_samples, "seconds": cpu_seconds({
            "rffkern": partial(PBRFFClassifier(**common).fit, X, y),
            "rffkern hinge": partial(PBRFFClassifier(loss="hinge", **common).fit, X, y),
            "twin": partial(LandmarkTwin().fit, X, y),
            "LinearSVC alone": partial(LinearSVC().fit, features, y)}, repetitions)}))
    return results + [show(LandmarkEvaluation(d).measure(43520, repetitions)) for d in (5, 20, 60, 200)]


class LandmarkEvaluation:
    """One evaluation of a landmark's loss and gradient, K = 10, whose cost does not depend on the features."""

    def __init__(self, n_features):
        self.n_features = n_features

    def measure(self, n_samples, repetitions):
        from rffkern import _losses, _rows, _scaling
        from rffkern._kernels import _landmarks
        from rffkern._gbrff.landmark_learner import LandmarkLearner

        d = self.n_features
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_samples, d), dtype=np.float32)
        rows = _rows.Rows(X, _scaling.Scaling(np.zeros(d), np.ones(d), 1.0), None, np.float32, 1, n_components=10)
        state = _losses.Margins(rows, np.where(X[:, 0] > 0, 1, -1), 0.1)
        learner = LandmarkLearner(rows, rng.standard_normal((1, 1, 10, d)) / np.sqrt(d), 1.0, 10, 1.0)
        learner(state, 0, 0)
        x, sample = np.full(learner.x.size, 0.1), rows.sample(0)
        seconds = cpu_seconds({"evaluation": lambda: gbrff_landmark.landmark_objective(
            state.kernel_loss, learner.waves, state.r, sample.weight, learner.basis, x, sample.total_weight,
            learner.gradient, learner.phases, learner.direction, learner.lanes, learner.partial, 1)}, repetitions)
        print(f"{seconds['evaluation'] / n_samples * 1e9:.2f} ns per row")
        return {"what": f"landmark evaluation K = 10 d = {d}", "n": n_samples, "seconds": seconds}


class Predict:
    """Scoring: a sum of cosines against NumPy and against as many trees of depth 5."""

    def __init__(self, n_terms, n_features):
        from rffkern import FourierExpansion

        rng = np.random.default_rng(0)
        self.n_terms, self.n_features = n_terms, n_features
        omegas, phases = rng.standard_normal((n_terms, n_features)), rng.uniform(-3, 3, n_terms)
        self.expansion = FourierExpansion(omegas, phases, rng.standard_normal((n_terms, 1)), [0.0],
                                          np.zeros(n_features))
        self.twin = contenders.Twin()
        self.twin.omegas, self.twin.phases, self.twin.intercept = omegas, phases, 0.0
        self.twin.steps = self.expansion.amplitudes[:, 0]

    def functions(self, n_samples):
        X, _ = make_data(n_samples, self.n_features)
        single = X.astype(np.float32)
        functions = {
            "rffkern float32": lambda: self.expansion.score(single, n_threads=1),
            "rffkern": lambda: self.expansion.score(X, n_threads=1),
            "numpy": lambda: self.twin.predict(X),
            "numpy blocked": lambda: self.twin.predict_blocked(X),
        }
        try:
            booster = contenders.lightgbm_model(self.n_terms).fit(*make_data(4000, self.n_features)).booster_
            functions["lightgbm"] = lambda: booster.predict(X, raw_score=True, num_threads=1)
        except ImportError as error:
            print(f"left out: lightgbm ({error})", file=sys.stderr)
        return functions

    def measure(self, n_samples, repetitions):
        return {"what": f"predict T = {self.n_terms} d = {self.n_features}", "n": n_samples,
                "seconds": cpu_seconds(self.functions(n_samples), repetitions)}


class OneRow:
    """Latency of one row, T = 100, d = 20."""

    def measure(self, n_samples, repetitions):
        X, y = make_data(2000)
        model, row = rffkern_model().fit(X, y), X[:1].copy()
        functions = {"expansion.score": lambda: model.expansion_.score(row),
                     "decision_function": lambda: model.decision_function(row), "predict": lambda: model.predict(row)}
        return {"what": "one row", "n": 1, "seconds": cpu_seconds(functions, repetitions)}


class Evaluation:
    """One evaluation of the omega objective and its gradient, against reading the packed rows once."""

    def __init__(self, n_features, dtype):
        self.n_features, self.dtype = n_features, np.dtype(dtype)

    def measure(self, n_samples, repetitions):
        from rffkern._kernels import _descent
        from rffkern._gbrff.loss_states import Margins
        from rffkern._gbrff.packed_rows import Rows
        from rffkern._data.scaling import Scaling

        d = self.n_features
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_samples, d), dtype=np.float32)
        rows = Rows(X, Scaling(np.zeros(d), np.ones(d), 1.0), None, self.dtype, 1)
        r2, omega, gradient = Margins(rows, np.where(X[:, 0] > 0, 1, -1), 0.1).r, np.full(d, 0.1), np.empty(d)
        stream = rows.store.tiles.reshape(-1).view(np.int64)  # whose sum is the fastest way to read all of it
        functions = {
            "evaluation": lambda: gbrff_omega.omega_objective(
                rows.store.tiles, r2, rows.weight, omega, 0.3, 0.0, rows.total_weight, gradient, rows.scaled,
                rows.lanes, rows.partial, 1),
            "reading": stream.sum,
        }
        seconds = cpu_seconds(functions, max(repetitions, 9))
        result = {"what": f"evaluation d = {d} {self.dtype}", "n": n_samples, "seconds": seconds}
        print(f"{seconds['evaluation'] / n_samples * 1e9:.2f} ns per row, "
              f"{seconds['reading'] / seconds['evaluation']:.2f} of the speed of reading")
        return result


def growth(repetitions, only, limit, plot):
    """Time against n, d and T, and the power of each that fits."""
    fit = Fit(only, limit)
    results = [show(fit.measure(n, repetitions)) for n in FIGURE_4]
    names = [name for name in only if any(name in row["seconds"] for row in results)]
    for name in names:
        points = [(row["n"], row["seconds"][name]) for row in results if row["n"] >= 10_000 and name in row["seconds"]]
        if len(points) > 2:
            print(f"{name}: time ~ n^{np.polyfit(*np.log(np.transpose(points)), 1)[0]:.2f} from n = {points[0][0]}")
    for what, values, make in (
            ("d", [10, 20, 40, 80, 160], lambda d: (make_data(19381, d), rffkern_model(gamma=1 / d))),
            ("T", [25, 50, 100, 200, 400], lambda T: (make_data(19381), rffkern_model(T)))):
        functions = {}
        for value in values:
            (X, y), model = make(value)
            functions[value] = lambda model=model, X=X, y=y: model.fit(X, y)
        seconds = cpu_seconds(functions, max(3, repetitions))
        print(", ".join(f"{what} = {value}: {seconds[value]:.3g} s" for value in values)
              + f"; rffkern: time ~ {what}^{np.polyfit(np.log(values), np.log(list(seconds.values())), 1)[0]:.2f}")
    if plot:
        draw(results, names, plot)
    return results


def draw(results, names, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
    for name in names:
        points = [(row["n"], row["seconds"][name]) for row in results if name in row["seconds"]]
        axes.loglog(*np.transpose(points), marker="o", label=name, linewidth=2.5 if name.startswith("rff") else 1.2)
    axes.set(xlabel="training rows", ylabel="CPU seconds", title=f"Training, d = {N_FEATURES}, T = {N_ESTIMATORS}, "
             "one thread")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def threads(sizes, repetitions):
    """Wall seconds of fits on one and two threads."""
    for n_samples in sizes:
        X, y = make_data(n_samples)
        for label, params in (("all rows", {}), ("sampled", {"max_samples": 8192})):
            models = {count: rffkern_model(30, **params, n_threads=count) for count in (1, 2)}
            seconds = cpu_seconds({count: partial(model.fit, X, y) for count, model in models.items()}, repetitions,
                                  time.perf_counter)
            print(f"fit {label:<9} n = {n_samples:<8} {seconds[1]:.3g} s, two threads {seconds[2]:.3g} s: "
                  f"{seconds[1] / seconds[2]:.2f}x", flush=True)
        expansion = rffkern_model().fit(X[:2000], y[:2000]).expansion_
        seconds = cpu_seconds({count: partial(expansion.score, X, n_threads=count) for count in (1, 2)}, repetitions,
                              time.perf_counter)
        print(f"predict       n = {n_samples:<8} {seconds[1]:.3g} s, two threads {seconds[2]:.3g} s: "
              f"{seconds[1] / seconds[2]:.2f}x", flush=True)


def memmap(sizes, folder):
    """Training on rows that stay in a file: seconds, and memory over that of an idle process."""
    for n_samples in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            X = np.lib.format.open_memmap(os.path.join(place, "X.npy"), "w+", np.float32, (n_samples, N_FEATURES))
            y = np.empty(n_samples, dtype=bool)
            for start in range(0, n_samples, 1 << 20):
                stop = min(start + (1 << 20), n_samples)
                X[start:stop] = np.random.default_rng(start).standard_normal((stop - start, N_FEATURES), np.float32)
                y[start:stop] = X[start:stop, 0] * X[start:stop, 1] + X[start:stop, 2] > 0
            X.flush()
            del X
            np.save(os.path.join(place, "y.npy"), y)
            program = [sys.executable, __file__, "streamed", "--folder", place]
            print(f"n = {n_samples}: {n_samples * N_FEATURES * 4e-6:.0f} MB of rows, "
                  + subprocess.run(program, capture_output=True, text=True, check=True).stdout, end="", flush=True)


def streamed(folder):
    X, y = np.load(os.path.join(folder, "X.npy"), mmap_mode="r"), np.load(os.path.join(folder, "y.npy"))
    before = memory("RssAnon")
    peak = 0

    def watch(_):
        nonlocal peak
        peak = max(peak, memory("RssAnon"))

    started = time.process_time()
    model = rffkern_model(max_samples=8192).fit(X, y, callback=watch)
    print(f"{time.process_time() - started:.1f} CPU s, {peak - before:.0f} MB of memory, "
          f"accuracy {model.score(X[:10000], y[:10000]):.3f}")


def peak(name, n_samples):
    X, y = make_data(n_samples)
    make = CONTENDERS[name]
    make().fit(X[:200], y[:200])  # what the libraries load, they load now
    model = contenders.Twin(2) if name == "twin" else make()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # sets VmHWM back to VmRSS
    before = memory("VmRSS")
    model.fit(X, y)
    print(memory("VmHWM") - before)


def run_fit(arguments):
    fit, results = Fit(arguments.only, arguments.limit), []
    for n_samples in arguments.sizes or [1702, 43606]:
        results.append(show(fit.measure(n_samples, arguments.repeat)))
        if arguments.memory:
            print("   MB over the data: " + ", ".join(
                f"{name} {peak_memory(name, n_samples):.1f}" for name in results[-1]["seconds"]), flush=True)
    return results


def run_predict(arguments):
    results = [show(Predict(100, 20).measure(n, arguments.repeat)) for n in arguments.sizes or [1702, 43606]]
    results.append(show(Predict(1000, 100).measure(20000, arguments.repeat)))
    return [*results, show(OneRow().measure(1, arguments.repeat))]


def run_kernels(arguments):
    return [show(Evaluation(d, dtype).measure(n, arguments.repeat)) for dtype in (np.float32, np.float64)
            for d, sizes in ((5, [43520, 1_000_000]), (20, [43520, 1_000_000]), (60, [43520, 400_000]))
            for n in sizes]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="fit", choices=["fit", "predict", "kernels", "landmarks", "sparse",
                                                                   "rffnet", "growth", "threads", "memmap", "peak",
                                                                   "streamed"])
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of rows")
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), help="contenders")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions, of which the median counts")
    parser.add_argument("--limit", type=float, default=60, help="seconds of a fit beyond which it is left out; "
                        "for rffnet, of all fits of a problem, beyond which no more are repeated")
    parser.add_argument("--memory", action="store_true", help="measure the memory of fits as well")
    parser.add_argument("--plot", metavar="FILE", help="draw time against n there")
    parser.add_argument("--folder", help="where memmap may write")
    parser.add_argument("--data", metavar="DIR", help="folder of NAME.npz files, for rffnet on real data")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare two files of figures instead")
    arguments = parser.parse_args()
    commands = {
        "fit": lambda: run_fit(arguments), "predict": lambda: run_predict(arguments),
        "kernels": lambda: run_kernels(arguments),
        "landmarks": lambda: landmarks(arguments.sizes or [1702, 43606], arguments.repeat),
        "sparse": lambda: run_sparse(arguments.repeat),
        "rffnet": lambda: run_rffnet(arguments.sizes, arguments.data, arguments.repeat, arguments.limit),
        "growth": lambda: growth(arguments.repeat, arguments.only, arguments.limit, arguments.plot),
        "threads": lambda: threads(arguments.sizes or [220755, 1117558], arguments.repeat),
        "memmap": lambda: memmap(arguments.sizes or [12729685], arguments.folder),
        "peak": lambda: peak(arguments.only[0], arguments.sizes[0]), "streamed": lambda: streamed(arguments.folder),
    }
    results = compare(*arguments.compare) if arguments.compare else commands[arguments.what]()
    if arguments.json and results:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
