"""Time and memory of training: GBRFF2 beside a twin and other libraries, every class, growth with rows, threads."""

import multiprocessing
import statistics
import sys
import time
from functools import partial

import numpy as np
from common.data import load, permuted_split
from common.measure import cpu_seconds, memory_peak, result, show
from common.rivals import RIVALS, quality, run

import rffkern

N_ESTIMATORS, N_FEATURES = 100, 20
N_TEST, N_SINGLE = 20_000, 200


def clusters(n_samples, n_features=N_FEATURES):
    """Rows of normal clusters, and labels -1 and +1."""
    from sklearn.datasets import make_classification

    X, y = make_classification(n_samples, n_features, random_state=0)
    return X, np.where(y > 0, 1.0, -1.0)


class PhaseTwin:
    """GBRFF2 (Algorithm 3 of the ECML paper) as its authors' script works: bounded Brent for the phase, L-BFGS."""

    def __init__(self, n_estimators, seed=0):
        self.n_estimators, self.seed = n_estimators, seed

    def fit(self, X, y):
        from scipy.optimize import fmin_l_bfgs_b, fminbound

        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        H = np.full(n_samples, 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
        for _ in range(self.n_estimators):
            w = np.exp(-y * H)
            r = y * w
            omega = rng.normal(0, np.sqrt(2 / n_features), n_features)
            angle = X @ omega  # which the script computes anew in each evaluation

            def phase_loss(b, r=r, angle=angle):
                return np.exp(-r * np.cos(angle - b)).mean()

            b = fminbound(phase_loss, -np.pi, np.pi, xtol=2e-2 * np.pi)

            def loss_and_gradient(omega, r=r, b=b):
                shifted = X @ omega - b
                loss = np.exp(-r * np.cos(shifted))
                return loss.mean(), (r * np.sin(shifted) * loss) @ X / n_samples

            omega, _, _ = fmin_l_bfgs_b(loss_and_gradient, omega, maxiter=10)
            h = np.cos(X @ omega - b)
            H += 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum()) * h
        return self


def gbrff2(**params):
    """GBRFF2 with the settings of the twin."""
    return rffkern.GBRFF2Classifier(N_ESTIMATORS, **{"gamma": 1 / N_FEATURES, "reg_lambda": 0, "standardize": False,
                                                     "max_samples": None, "n_jobs": 1, "random_state": 0} | params)


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=N_ESTIMATORS, max_depth=5, force_col_wise=True, n_jobs=1, verbose=-1)


CONTENDERS = {"rffkern": gbrff2, "rffkern double": partial(gbrff2, precision="double"),
              "rffkern, max_samples=8192": partial(gbrff2, max_samples=8192), "twin": None, "lightgbm": lightgbm}


def fit(arguments):
    """GBRFF2 beside its method in NumPy/SciPy and other libraries: 100 rounds or trees on 20 columns.

    The twin runs fewer rounds on many rows, and its time is scaled.
    """
    last = {}  # name: CPU seconds and rows of the last fit
    for n_samples in arguments.sizes:
        X, y = clusters(n_samples)
        rounds = N_ESTIMATORS if n_samples < 100_000 else 5 if n_samples < 500_000 else 2
        functions, peaks = {}, {}
        for name in arguments.only:
            seconds, size = last.get(name, (0, 1))
            share = rounds / N_ESTIMATORS if name == "twin" else 1
            if seconds * share * n_samples / size > arguments.limit:
                continue
            make = partial(PhaseTwin, rounds) if name == "twin" else CONTENDERS[name]
            try:
                make()
            except ImportError as error:
                print(f"left out: {name} ({error})", file=sys.stderr)
                continue
            functions[name] = lambda make=make, X=X, y=y: make().fit(X, y)
            if arguments.memory:
                peaks[name] = in_process(lambda function=functions[name]: memory_peak(function)[0])
        seconds = cpu_seconds(functions, arguments.repeat)
        if "twin" in seconds:
            seconds["twin"] *= N_ESTIMATORS / rounds
        last |= {name: (value, n_samples) for name, value in seconds.items()}
        if peaks:
            print("MB over the data: " + ", ".join(f"{name} {peak:.1f}" for name, peak in peaks.items()))
        yield show(result("GBRFF2 fit", n_samples, seconds))


def in_process(function):
    """What a function returns in a process of its own."""
    receiver, sender = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=lambda: sender.send(function()))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        process.join()


def families(arguments):
    """Every class with its defaults: fit, scores of 20,000 rows, one row, and the bytes of its file."""
    for n_samples in arguments.sizes:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_samples, N_FEATURES))
        target = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n_samples)
        X_test, row = rng.standard_normal((N_TEST, N_FEATURES)), X[:1].copy()
        for name in rffkern.__all__:
            if not (name.startswith(arguments.only) and name.endswith(("Classifier", "Regressor"))):
                continue
            model = getattr(rffkern, name)(n_jobs=1, random_state=0)
            y = target if name.endswith("Regressor") else target > 0
            seconds = {"fit": cpu_seconds({"fit": partial(model.fit, X, y)}, arguments.repeat)["fit"]}
            seconds |= cpu_seconds({"20,000 rows": partial(model.predict, X_test), "one row": partial(
                model.predict, row)}, arguments.repeat)
            n_bytes = len(rffkern.dumps(model))
            print(f"{name} n = {n_samples}: fit {seconds['fit']:.4g} s, 20,000 rows {seconds['20,000 rows']:.4g} s, "
                  f"one row {1e6 * seconds['one row']:.1f} us, {n_bytes} bytes", flush=True)
            yield result(name, n_samples, seconds) | {"bytes": n_bytes}


def rows(arguments):
    """Models of tools/compare.py as rows grow: fit, 20,000 predictions, one row, memory, loss and accuracy.

    Clusters of 20 columns, eight of them informative, in two classes, or a data set; each fit is in a process of its
    own.  A model is left out from the size on at which its fit, by those before, would take more than --limit.
    """
    last = {}  # model: rows and seconds of its last fit
    for n_rows in sorted(arguments.sizes):
        if arguments.set:
            X, y = load(arguments.data, arguments.set)
            X, X_test, y, y_test = permuted_split(X, np.unique(y, return_inverse=True)[1], 61, N_TEST // 2)
            X, y = X[:n_rows], y[:n_rows]
        else:
            X, y = load(None, f"blobs_{-(-(n_rows + N_TEST) // 1000)}k")
            X, X_test, y, y_test = X[N_TEST : N_TEST + n_rows], X[:N_TEST], y[N_TEST : N_TEST + n_rows], y[:N_TEST]
        for model in arguments.models:
            if model in last and last[model][1] * len(y) / last[model][0] > arguments.limit:
                continue
            runs = []
            for seed in range(arguments.repeat):
                runs.append(in_process(partial(one_fit, model, X, X_test, y, y_test, seed)))
                if runs[0]["fit"] * arguments.repeat > arguments.limit:
                    break  # one long fit tells enough
            figures = {key: statistics.median(each[key] for each in runs) for key in runs[0]}
            last[model] = len(y), figures["fit"]
            print(f"{model} n = {len(y)}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()),
                  flush=True)
            yield {"rows": arguments.set or "clusters", "model": model, "n": len(y)} | {
                key: float(f"{value:.4g}") for key, value in figures.items()}


def one_fit(model, X, X_test, y, y_test, seed):
    """Figures of one fit: also MB that it takes at its peak, and microseconds of a row alone."""
    peak, (figures, _) = memory_peak(lambda: run(model, X, X_test, y, y_test, seed))
    _, predict = run(model, X[:2000], X_test[:1], y[:2000], y_test[:1], seed)
    predict()
    times = []
    for _ in range(N_SINGLE):
        started = time.perf_counter()
        predict()
        times.append(time.perf_counter() - started)
    return figures | {"MB": peak, "one row, us": 1e6 * statistics.median(times)}


def sparse(arguments):
    """Sparse rows in two classes: time, memory and accuracy beside LightGBM and logistic regression.

    2,000 rows of 10,000 columns of which 1 % of the cells is filled, and 6,000 of five columns of 1,000 levels, one-hot
    encoded, and half as many test rows; log odds are a linear function.  Each fit is in a process of its own.
    """
    for name, table in {"1 % of 10,000 columns": filled_by_chance, "one-hot, 5,000 columns": one_hot}.items():
        X, y = table(np.random.default_rng(0))
        n = 2 * len(y) // 3
        for model in ("fourier", "lightgbm", "logistic"):
            runs = [in_process(partial(sparse_fit, model, X[:n], X[n:], y[:n], y[n:], seed))
                    for seed in range(arguments.repeat)]
            figures = {key: float(f"{statistics.median(each[key] for each in runs):.4g}") for key in runs[0]}
            print(f"{name}, {n} rows, {model}: " + ", ".join(f"{key} {value:g}" for key, value in figures.items()),
                  flush=True)
            yield {"what": name, "n": n, "model": model} | figures


def filled_by_chance(rng):
    """Sparse rows of normal numbers; few columns are filled often, as words are, and the 300 most filled tell."""
    import scipy.sparse

    shares = 1 / np.arange(10.0, 10_010)
    filled = rng.random((3000, 10_000)) < 100 * shares / shares.sum()
    X = scipy.sparse.csr_array(filled * rng.standard_normal(filled.shape))
    score = X[:, :300] @ rng.standard_normal(300)
    return X, (score + 0.3 * score.std() * rng.standard_normal(len(score)) > 0).astype(int)


def one_hot(rng):
    """Indicators of five categories, whose levels have effects that add up."""
    import scipy.sparse

    levels = rng.integers(0, 1000, (9000, 5)) + 1000 * np.arange(5)
    X = scipy.sparse.csr_array((np.ones(levels.size), (np.repeat(np.arange(9000), 5), levels.ravel())))
    score = X @ rng.standard_normal(5000)
    return X, (score + 0.3 * score.std() * rng.standard_normal(len(score)) > 0).astype(int)


def logistic(X, y):
    """Logistic regression, which takes sparse rows."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(X, y)


def sparse_fit(model, X, X_test, y, y_test, seed):
    """Figures of one fit of sparse rows, after a small one that loads what fits need."""

    def fitted(X, y):
        return logistic(X, y).predict_proba if model == "logistic" else RIVALS[model](X, y, X_test, True, seed)

    fitted(X[:200], y[:200])
    started = time.process_time()
    peak, predict = memory_peak(lambda: fitted(X, y))
    seconds = time.process_time() - started
    found = quality(predict(X_test) if model == "logistic" else predict(), y_test, True)
    return {"seconds": seconds, "MB": peak, "accuracy": found["score"], "log loss": found["log_loss"]}


def threads(arguments):
    """Wall seconds of fits and scores by the number of threads, which changes no bit."""
    for n_samples in arguments.sizes:
        X, y = clusters(n_samples)
        models = {"GBRFF2, all rows": gbrff2, "GBRFF2, max_samples=8192": partial(gbrff2, max_samples=8192),
                  "Fourier boosting, terms alone": partial(rffkern.FourierBoostingClassifier, kernel_ridge=False,
                                                           random_state=0)}
        for name, make in models.items():
            fitted = {n: make(n_jobs=n) for n in arguments.threads}
            yield show(result(f"{name}: fit", n_samples, cpu_seconds(
                {f"{n} threads": partial(model.fit, X, y) for n, model in fitted.items()}, arguments.repeat,
                time.perf_counter)))
            yield show(result(f"{name}: scores", n_samples, cpu_seconds(
                {f"{n} threads": partial(model.predict, X) for n, model in fitted.items()}, arguments.repeat,
                time.perf_counter)))
            if len({model.predict_proba(X[:1000]).tobytes() for model in fitted.values()}) > 1:
                raise SystemExit(f"{name}: the number of threads changes the model")
