"""Hash the scores of every family, to see whether a change keeps their bits.

    python tools/bits.py OUT.json                 write the hashes of the installed package
    python tools/bits.py OUT.json --compare OLD   the same, then name every case whose hash differs from OLD

Uses public names alone, so that it runs on any commit of the package.
"""

import argparse
import hashlib
import json
import sys

import numpy as np

import rffkern
from rffkern import RowBlocks


def table(n_samples, n_features=6, seed=7):
    """Rows with columns of several scales, labels in two and three classes, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    signal = np.sin(X[:, 0]) + X[:, 3] + 0.3 * X[:, 1] * X[:, 2]
    labels = np.where(signal > 0, "up", "down")
    X[:, 1] = 10 * X[:, 1] + 1900
    X[:, 2] *= 1e-3
    return X, labels, np.digitize(signal, [-0.7, 0.7]), signal + 0.1 * rng.standard_normal(n_samples)


BOOSTED = {"GBRFF2Classifier": {}, "GBRFF1Classifier": {}, "GBRFFClassifier": {}, "GBRFFRegressor": {}}
SMALL = {
    "GBRFF2Classifier": {"n_estimators": 30}, "GBRFF1Classifier": {"n_estimators": 20},
    "GBRFFClassifier": {"n_estimators": 20, "n_components": 20}, "GBRFFRegressor": {"n_estimators": 20},
    "PBRFFClassifier": {"n_landmarks": 30}, "PBRFFTransformer": {"n_landmarks": 30},
    "RFFNetClassifier": {"max_epochs": 12}, "RFFNetRegressor": {"max_epochs": 12},
    "SparseKernelClassifier": {"n_estimators": 12, "learner_size": 8},
    "SparseKernelRegressor": {"n_estimators": 12, "learner_size": 8},
}
VARIANTS = {
    "GBRFF2Classifier": [{"max_iter": 0}, {"learning_rate": 0.3, "gamma": 2.0}, {"standardize": False}],
    "GBRFF1Classifier": [{"landmarks": "random"}, {"step": "exact"}, {"n_components": 1}, {"n_components": 3}],
    "GBRFFClassifier": [{"landmarks": "random"}, {"n_components": 1}],
    "GBRFFRegressor": [{"landmarks": "random"}, {"scale_residuals": False}, {"n_components": 4}],
    "PBRFFClassifier": [{"landmarks": "kmeans"}, {"loss": "hinge"}, {"C": 100.0}, {"n_components": 1}],
    "PBRFFTransformer": [{"landmarks": "kmeans"}],
    "RFFNetClassifier": [{"solver": "joint"}, {"kernel": "laplace"}],
    "RFFNetRegressor": [{"loss": "huber"}, {"loss": "pinball"}, {"solver": "joint"}, {"kernel": "matern32"},
                        {"reg_l1": 1e-3}, {"batch_size": 300}],
    "SparseKernelClassifier": [{"kernel": "likelihood"}],
    "SparseKernelRegressor": [{"selection": rule} for rule in ("random", "mp", "boost", "ald", "ran")]
    + [{"learner_size": 1, "selection": "max-res"}, {"learner_size": 1, "selection": "mp"}, {"update": "one"},
       {"kernel": {"lengthscales": 2.0}, "reg_lambda": 0.1}],
}


def answers(model, rows):
    """All numbers that a model gives for rows."""
    names = ("decision_function", "predict_proba", "transform") + (() if hasattr(model, "classes_") else ("predict",))
    found = [np.asarray(getattr(model, name)(rows)) for name in names if hasattr(model, name)]
    found += [np.asarray(getattr(model, name)) for name in ("train_loss_", "eval_loss_", "landmarks_")
              if hasattr(model, name)]
    return found


def digest(arrays):
    text = hashlib.sha256()
    for array in arrays:
        text.update(str(array.shape).encode() + np.ascontiguousarray(array, np.float64).tobytes())
    return text.hexdigest()[:16]


def cases():
    """Yield (name, class name, parameters, rows, target, weight, evaluation)."""
    X, labels, three, target = table(900)
    large, large_labels, _, large_target = table(20_000)
    weight = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    for name, small in SMALL.items():
        regression = name.endswith("Regressor")
        y = target if regression else labels
        boosted = name in BOOSTED or name.startswith("Sparse")
        for precision in ("single", "double"):
            params = small | {"precision": precision}
            yield f"{name} {precision}", name, params, X, y, None, None
            yield f"{name} {precision} float32", name, params, X.astype(np.float32), y, None, None
            yield f"{name} {precision} weights", name, params, X, y, weight, None
            yield f"{name} {precision} blocks", name, params, RowBlocks([X[:333], X[333:]]), y, None, None
            yield f"{name} {precision} weighted blocks", name, params, RowBlocks([X[:333], X[333:]]), y, weight, None
            several = np.column_stack([target, X[:, 0] ** 2]) if regression else three
            if name != "PBRFFTransformer":
                yield f"{name} {precision} several", name, params, X, several, None, None
            if boosted or name.startswith("RFFNet"):
                yield f"{name} {precision} held out", name, params, X[:600], y[:600], None, (X[600:], y[600:])
            for variant in VARIANTS[name]:
                yield f"{name} {precision} {variant}", name, params | variant, X, y, None, None
        y = large_target if regression else large_labels
        fewer = small | ({"max_epochs": 3} if "max_epochs" in small else {})
        yield f"{name} large", name, fewer, large, y, None, None
        if not name.startswith("Sparse"):
            yield f"{name} large blocks", name, fewer, RowBlocks([large[:7000], large[7000:]]), y, None, None
        if name.startswith(("GBRFF", "Sparse")):
            heavy = np.where(np.arange(len(large)) % 5, 1.0, 0.0)
            yield f"{name} large weights", name, fewer, large, y, heavy, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--compare")
    parser.add_argument("--only", default="", help="class names that begin so")
    arguments = parser.parse_args()
    found = {}
    for name, cls, params, rows, y, weight, held_out in cases():
        if not cls.startswith(arguments.only):
            continue
        model = getattr(rffkern, cls)(random_state=0, **params)
        more = {} if held_out is None else {"eval_set": held_out}
        model.fit(rows, y, weight, **more)
        scored = table(200, seed=8)[0]
        found[name] = digest(answers(model, scored) + answers(model, scored.astype(np.float32)))
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
