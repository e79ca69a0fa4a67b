"""`rffkern demo`: train and score models of generated data, in a few seconds and without a file."""

import argparse
import os
import tempfile
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files.model_files import load, save
from .._training.fourier_boosting.estimators import FourierBoostingClassifier
from .._training.gbrff.estimators import GBRFF2Classifier


def run(_: argparse.Namespace) -> None:
    """Train two models, show accuracy, size and speed, and name the next step."""
    rng = np.random.default_rng(0)
    X, y = make_rings(20_000, rng)
    X_test, y_test = make_rings(20_000, rng)
    print("Rings with 5 % wrong labels and three columns of noise: 20,000 rows for training, 20,000 for testing.")
    print("The best possible accuracy is 95 %.\n")
    results, loaded_same = [], True
    for model, note in (
            (FourierBoostingClassifier(kernel_ridge=False, random_state=0),
             "kernel_ridge=False saves some seconds; all else is default"),
            (GBRFF2Classifier(n_estimators=200, gamma=1.0, reg_lambda=2**-8, random_state=0),
             "smaller and faster; the parameters were chosen for the rings")):
        print(f"{model}\n({note})")
        started = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        accuracy = float(np.mean(model.predict(X_test) == y_test))
        scored = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rings.npz")
            save(model, path)
            n_bytes = os.path.getsize(path)
            loaded = load(path, type(model))
        loaded_same &= np.array_equal(loaded.decision_function(X_test), model.decision_function(X_test))
        results.append(f"{type(model).__name__:28}{100 * accuracy:8.2f} %{fitted - started:7.2f} s"
                       f"{len(X_test) / (scored - fitted) / 1e6:8.2f} M rows/s{n_bytes / 1024:9.0f} KiB")
        if isinstance(model, FourierBoostingClassifier):
            _show_rounds(model, X_test, y_test)
    print(f"\n{'':28}{'accuracy':>10}{'fit':>9}{'predict':>19}{'model file':>13}")
    print("\n".join(results))
    print(f"\nThe models loaded from both files give {'the same' if loaded_same else 'OTHER'} scores, bit for bit.")
    print("\nNext, train on a table of your own, whose last column is the label:\n")
    print("    rffkern fit TABLE.csv -o model.npz --holdout 0.2")
    print("    rffkern predict model.npz NEW.csv -o predictions.csv")


def make_rings(n_samples: int, rng: "np.random.Generator") -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Points of a square labelled by alternating rings, one label in twenty wrong, and three columns of noise."""
    X = np.column_stack([rng.uniform(-3, 3, (n_samples, 2)), rng.standard_normal((n_samples, 3))])
    y = np.where(np.floor(np.hypot(X[:, 0], X[:, 1]) / 1.2).astype(int) % 2 == 0, "inner", "outer")
    wrong = rng.random(n_samples) < 0.05
    y[wrong] = np.where(y[wrong] == "inner", "outer", "inner")
    return X, y


def _show_rounds(model: FourierBoostingClassifier, X: NDArray[np.float64], y: NDArray[Any]) -> None:
    """Print the test accuracy after some rounds, and a map of the predicted classes."""
    for n_rounds, scores in enumerate(model.staged_decision_function(X), 1):
        if n_rounds in (10, 50, 200, model.n_estimators_):
            accuracy = np.mean(model.classes_[(scores > 0).astype(int)] == y)
            print(f"    test accuracy after {n_rounds:3d} rounds: {100 * accuracy:5.2f} %")
    print("\nPredicted classes over the first two columns (# inner, . outer):\n")
    width, height = 48, 20
    x0, x1 = np.meshgrid(np.linspace(-3, 3, width), np.linspace(3, -3, height))
    grid = np.column_stack([x0.ravel(), x1.ravel(), np.zeros((x0.size, 3))])
    marks = np.where(model.predict(grid) == model.classes_[0], "#", ".").reshape(height, width)
    print("\n".join("    " + "".join(row) for row in marks) + "\n")
