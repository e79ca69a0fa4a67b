"""Hash the results of every family, to show whether a change of the code keeps every bit of them.

    python tools/bits.py OUT.json                          write the hashes of the installed package
    python tools/bits.py OUT.json --compare OLD.json       the same, then print every case whose hash is not that in OLD
    python tools/bits.py OUT.json --only SparseKernel      only the classes whose names begin so
    python tools/bits.py --c                               scores of C against those of Python, on all compilers here
    python tools/bits.py --c --rows 300 --only x86-64-v3 --models gbrff2

A case trains a model in single or double precision on an array or on blocks of rows, with or without weights and
held-out rows, and hashes its scores, loss curves and landmarks.  Only public names are used, so that the tool runs on
any commit of the package.  Hashes depend on the machine and the versions of numpy and the compiler: compare two commits
on one machine.  The exit status is 1 if a hash differs.

With --c, every frozen file that C reads, and functions and column maps made for it, score rows of float64 and float32
in C, and models of words, dates, free text and gaps rows of cells, built by each compiler and run by each emulator that
is here. A target is compared with Python at an instruction set of its class (products and sums that are rounded once,
or twice), where no bit may differ, and of the other class, where scores may differ by 8 units in the last place of the
sizes of their terms: |intercept| + sum of |amplitude| (1 + |omega| . |x - center|), or + sum of |weight|. Other columns
are in units of max(|score|, 1), probabilities in units of float64; "frozen" is of frozen files without kernels, at rows
that are not far out.
"""

import argparse
import hashlib
import json
import pathlib
import sys
import tempfile
from typing import NamedTuple

import numpy as np

import rffkern
from rffkern import RowBlocks


def table(n_samples, n_features=6, seed=7):
    """Rows whose columns differ in scale; labels of two classes; labels of three classes; a real target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    signal = np.sin(X[:, 0]) + X[:, 3] + 0.3 * X[:, 1] * X[:, 2]
    labels = np.where(signal > 0, "up", "down")
    X[:, 1] = 10 * X[:, 1] + 1900
    X[:, 2] *= 1e-3
    return X, labels, np.digitize(signal, [-0.7, 0.7]), signal + 0.1 * rng.standard_normal(n_samples)


SMALL = {
    "FourierBoostingClassifier": {"n_estimators": 40, "n_bags": 3},
    "FourierBoostingRegressor": {"n_estimators": 40, "n_bags": 3},
    "GBRFF2Classifier": {"n_estimators": 30}, "GBRFF1Classifier": {"n_estimators": 20},
    "GBRFFClassifier": {"n_estimators": 20, "n_components": 20}, "GBRFFRegressor": {"n_estimators": 20},
    "KernelRidgeClassifier": {"n_landmarks": 30}, "KernelRidgeRegressor": {"n_landmarks": 30},
    "PBRFFClassifier": {"n_landmarks": 30}, "PBRFFTransformer": {"n_landmarks": 30},
    "RFFNetClassifier": {"max_epochs": 12}, "RFFNetRegressor": {"max_epochs": 12},
    "SparseKernelClassifier": {"n_estimators": 12, "basis_size": 8},
    "SparseKernelRegressor": {"n_estimators": 12, "basis_size": 8},
}
VARIANTS = {
    "FourierBoostingClassifier": [{"base_learners": ("tree",)}, {"base_learners": ("fourier",)}, {"columns": None},
                                  {"class_weight": "balanced"}, {"kernel_ridge": False}, {"kernel_ridge": True}],
    "FourierBoostingRegressor": [{"loss": "huber"}, {"loss": "quantile"}, {"columns": None},
                                 {"kernel_ridge": False}, {"kernel_ridge": True}],
    "GBRFF2Classifier": [{"max_iter": 0}, {"learning_rate": 0.3, "gamma": 2.0}, {"standardize": False}],
    "GBRFF1Classifier": [{"landmarks": "random"}, {"step": "exact"}, {"n_components": 1}, {"n_components": 3}],
    "GBRFFClassifier": [{"landmarks": "random"}, {"n_components": 1}],
    "GBRFFRegressor": [{"landmarks": "random"}, {"scale_residuals": False}, {"n_components": 4}],
    "KernelRidgeClassifier": [{"kernel": "gaussian"}, {"length_scale": 2.0, "reg_lambda": 0.1}],
    "KernelRidgeRegressor": [{"kernel": "gaussian"}, {"precision": "double"}],
    "PBRFFClassifier": [{"landmarks": "kmeans"}, {"loss": "hinge"}, {"C": 100.0}, {"n_components": 1}],
    "PBRFFTransformer": [{"landmarks": "kmeans"}],
    "RFFNetClassifier": [{"kernel": "laplace"}],
    "RFFNetRegressor": [{"loss": "huber"}, {"loss": "quantile"}, {"kernel": "matern32"}, {"reg_l1": 1e-3},
                        {"batch_size": 300}],
    "SparseKernelClassifier": [{"kernel": "likelihood"}],
    "SparseKernelRegressor": [{"selection": rule} for rule in ("random", "mp", "boost", "ald", "ran")]
    + [{"basis_size": 1, "selection": "max-res"}, {"basis_size": 1, "selection": "mp"}, {"update": "one"},
       {"kernel": {"length_scale": 2.0}, "reg_lambda": 0.1}],
}


def results(model, rows):
    """All scores of a model at some rows, and its fitted arrays."""
    names = ("decision_function", "predict_proba", "transform") + (() if hasattr(model, "classes_") else ("predict",))
    found = [np.asarray(getattr(model, name)(rows)) for name in names if hasattr(model, name)]
    found += [np.asarray(getattr(model, name)) for name in ("train_loss_", "eval_loss_", "landmarks_")
              if hasattr(model, name)]
    return found


def digest(arrays):
    """A hash of the shapes and values of arrays."""
    text = hashlib.sha256()
    for array in arrays:
        text.update(str(array.shape).encode() + np.ascontiguousarray(array, np.float64).tobytes())
    return text.hexdigest()[:16]


class Case(NamedTuple):
    """One training."""

    name: str
    class_name: str
    params: dict
    rows: object
    target: np.ndarray
    weight: np.ndarray | None = None
    held_out: tuple | None = None

    def digest(self, scored):
        """A hash of the results of the trained model."""
        model = getattr(rffkern, self.class_name)(random_state=0, **self.params)
        more = {} if self.held_out is None else {"eval_set": self.held_out}
        model.fit(self.rows, self.target, self.weight, **more)
        return digest(results(model, scored) + results(model, scored.astype(np.float32)))


def small_cases(name, precision):
    """Every kind of rows and every variant of the parameters, on 900 rows."""
    X, labels, three, target = table(900)
    weight = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    regression = name.endswith("Regressor")
    y, several = (target, np.column_stack([target, X[:, 0] ** 2])) if regression else (labels, three)
    params, begin = SMALL[name] | precision, " ".join([name, *precision.values()])
    blocks = RowBlocks([X[:333], X[333:]])
    yield Case(begin, name, params, X, y)
    yield Case(f"{begin} float32", name, params, X.astype(np.float32), y)
    yield Case(f"{begin} weights", name, params, X, y, weight)
    yield Case(f"{begin} blocks", name, params, blocks, y)
    yield Case(f"{begin} weighted blocks", name, params, blocks, y, weight)
    if name != "PBRFFTransformer":
        yield Case(f"{begin} several", name, params, X, several)
    if not name.startswith(("KernelRidge", "PBRFF")):  # which take no eval_set
        yield Case(f"{begin} held out", name, params, X[:600], y[:600], None, (X[600:], y[600:]))
    for variant in VARIANTS[name]:
        yield Case(f"{begin} {variant}", name, params | variant, X, y)


def large_cases(name):
    """20,000 rows: several subsets, and threads where there are some."""
    X, labels, _, target = table(20_000)
    y = target if name.endswith("Regressor") else labels
    params = SMALL[name] | ({"max_epochs": 3} if "max_epochs" in SMALL[name] else {})
    yield Case(f"{name} large", name, params, X, y)
    if not name.startswith("Sparse"):
        yield Case(f"{name} large blocks", name, params, RowBlocks([X[:7000], X[7000:]]), y)
    if name.startswith(("GBRFF", "Sparse")):
        yield Case(f"{name} large weights", name, params, X, y, np.where(np.arange(len(X)) % 5, 1.0, 0.0))


def cases(prefix):
    """All cases of the classes whose names begin with a prefix."""
    for name in SMALL:
        if name.startswith(prefix):
            chosen = [{"precision": precision} for precision in ("single", "double")]
            for precision in chosen if "precision" in getattr(rffkern, name)().get_params() else [{}]:
                yield from small_cases(name, precision)
            yield from large_cases(name)


def compare_c(n_rows, targets_like, models_like):
    """Print a line for each compiler and class of Python; whether the promise holds."""
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))  # what this shares with the tests
    from helpers import c_models
    from helpers.c_scores import FROZEN, LARGEST_BETWEEN, Case, compare
    from helpers.c_targets import TARGETS
    from helpers.exported_tables import CASES, case_of

    levels = rffkern.show_config(mode="dicts")["simd_available"]
    columns, kept = ("float64", "float32", "frozen", "of terms", "labels", "probabilities"), True

    def show(name, fuses, pairs, limit):
        worst = {}
        for one, other, case in pairs:
            compare(one, other, case, worst)
        print(f"{name:24s} {'Python v3' if fuses else 'Python baseline':16s}"
              + "".join(f"{worst.get(column, 0):14.4g}" for column in columns), flush=True)
        if limit == 0:
            return worst.get("float64", 0) == worst.get("float32", 0) == worst.get("labels", 0) == 0
        return worst["of terms"] <= limit

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = c_models.frozen_files(FROZEN) | c_models.made(folder)
        of_class = {False: levels[0]} | ({True: levels[-1]} if len(levels) > 2 else {})
        cases = [Case(name, path, dtype, n_rows, folder, of_class) for name, path in paths.items()
                 if models_like in name for dtype in (np.float64, np.float32)]
        for name in (name for name in CASES if models_like in name and "hostile" not in name and "truth" not in name):
            model, table = case_of(name)
            path = folder / f"{name}.npz"
            rffkern.save(model, path)
            cases.append(Case(name, path, np.float64, n_rows, folder, of_class, table(n_rows, 1)))
        print(f"{len(cases)} cases of {n_rows} rows\n{'target':24s} {'compared with':16s}"
              + "".join(f"{column:>14s}" for column in columns))
        if len(of_class) == 2:
            kept &= show("Python baseline", True, [(case.expected[False], case.expected[True], case) for case in cases],
                         LARGEST_BETWEEN)
        for target in (target for target in TARGETS if targets_like in target.name):
            if reason := target.missing():
                print(f"{target.name:24s} not run: {reason}")
                continue
            program = target.build(folder)
            found = [case.run(target, program, folder) for case in cases]
            for fuses in sorted(of_class, key=lambda fuses, target=target: fuses != target.fuses):
                pairs = [(there, case.expected[fuses], case) for case, there in zip(cases, found, strict=True)]
                kept &= show(target.name, fuses, pairs, 0 if fuses == target.fuses else LARGEST_BETWEEN)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", metavar="OUT.json", nargs="?")
    parser.add_argument("--compare", metavar="OLD.json", help="hashes of another commit")
    parser.add_argument("--only", default="", metavar="PREFIX", help="of the names of classes; with --c, a part of the "
                        "names of targets")
    parser.add_argument("--c", action="store_true", help="compare the scores of C with those of Python")
    parser.add_argument("--rows", type=int, default=10_000, help="with --c; %(default)s by default")
    parser.add_argument("--models", default="", metavar="PART", help="with --c, of the names of models")
    arguments = parser.parse_args()
    if arguments.c:
        return 0 if compare_c(arguments.rows, arguments.only, arguments.models) else 1
    if not arguments.output:
        parser.error("expected OUT.json, the file to write, or --c")
    scored = table(200, seed=8)[0]
    found = {case.name: case.digest(scored) for case in cases(arguments.only)}
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    print(f"{len(found)} cases")
    if arguments.compare:
        with open(arguments.compare, encoding="utf-8") as file:
            old = json.load(file)
        changed = [name for name, value in found.items() if old.get(name) != value]
        print(*(f"differs: {name}" for name in changed), f"{len(changed)} differ", sep="\n")
        return 1 if changed else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
