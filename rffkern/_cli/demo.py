"""`rffkern demo`: the main job on generated data, in a few seconds and without a file."""

import argparse
import os
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._files.model_files import load, save
from .._training.fourier_boosting.estimators import FourierBoostingClassifier
from .._training.gbrff.gbrff2 import GBRFF2Classifier


def make_rings(n_samples: int, rng: "np.random.Generator") -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Points of a square labelled by alternating rings, one label in twenty wrong, and three columns of noise."""
    X = np.column_stack([rng.uniform(-3, 3, (n_samples, 2)), rng.standard_normal((n_samples, 3))])
    y = np.where(np.floor(np.hypot(X[:, 0], X[:, 1]) / 1.2).astype(int) % 2 == 0, "inner", "outer")
    wrong = rng.random(n_samples) < 0.05
    y[wrong] = np.where(y[wrong] == "inner", "outer", "inner")
    return X, y


def make_models() -> tuple[FourierBoostingClassifier, GBRFF2Classifier]:
    """The models of the demo, untrained: the recommended one, and a small one with values that suit the rings."""
    return (FourierBoostingClassifier(kernel_ridge=False, random_state=0),
            GBRFF2Classifier(n_estimators=200, gamma=1.0, reg_lambda=2**-8, random_state=0))


def draw_map(model: FourierBoostingClassifier, width: int = 48, height: int = 20) -> str:
    """The learned classes over the square, as text."""
    x, y = np.meshgrid(np.linspace(-3, 3, width), np.linspace(3, -3, height))
    grid = np.column_stack([x.ravel(), y.ravel(), np.zeros((x.size, 3))])
    marks = np.where(model.predict(grid) == model.classes_[0], "#", ".").reshape(height, width)
    return "\n".join("    " + "".join(row) for row in marks)


class Measured(NamedTuple):
    """What the demo shows of a trained model."""

    accuracy: float
    fit_seconds: float
    rows_per_second: float
    n_bytes: int  # of its file
    is_same: bool  # whether the file gives the same scores

    @classmethod
    def of(cls, model: Any, fit_seconds: float, X: NDArray[np.float64], y: NDArray[Any]) -> "Measured":
        """Score rows, then save and load."""
        started = time.perf_counter()
        accuracy = float(np.mean(model.predict(X) == y))
        seconds = time.perf_counter() - started
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rings.npz")
            save(model, path)
            same = np.array_equal(load(path, type(model)).decision_function(X), model.decision_function(X))
            return cls(accuracy, fit_seconds, len(X) / seconds, os.path.getsize(path), same)


def run_demo(_: argparse.Namespace) -> None:
    """Train, show accuracy, size and speed, and name the next step."""
    rng = np.random.default_rng(0)
    X, y = make_rings(20_000, rng)
    X_test, y_test = make_rings(20_000, rng)
    print("Rings with 5 % wrong labels and three columns of noise: 20,000 rows for training, 20,000 for testing.")
    print("The best possible accuracy is 95 %.\n")
    table, notes = [], ("kernel_ridge=False: no kernel ridge regression is tried, which takes some seconds; all else "
                        "is default",
                        "smaller and faster; gamma, reg_lambda and the number of rounds suit the rings")
    model: Any
    for model, note in zip(make_models(), notes, strict=True):
        print(f"{model}\n({note})")
        started = time.perf_counter()
        model.fit(X, y)
        table.append((type(model).__name__, Measured.of(model, time.perf_counter() - started, X_test, y_test)))
        if isinstance(model, FourierBoostingClassifier):
            _show_rounds(model, X_test, y_test)
    print(f"\n{'':28}{'accuracy':>10}{'fit':>9}{'score':>19}{'model file':>13}")
    for name, found in table:
        print(f"{name:28}{100 * found.accuracy:8.2f} %{found.fit_seconds:7.2f} s"
              f"{found.rows_per_second / 1e6:8.2f} M rows/s{found.n_bytes / 1024:9.0f} KiB")
    same = all(found.is_same for _, found in table)
    print(f"\nBoth files load back {'bit for bit' if same else 'DIFFERENTLY'}.")
    print("\nNext, with a table of your own whose last column is the label:\n")
    print("    rffkern fit TABLE.csv -o model.npz --holdout 0.2")
    print("    rffkern predict model.npz NEW.csv -o predictions.csv")


def _show_rounds(model: FourierBoostingClassifier, X: NDArray[np.float64], y: NDArray[Any]) -> None:
    """Accuracy as rounds go on, and the map that they lead to."""
    for n_rounds, scores in enumerate(model.staged_decision_function(X), 1):
        if n_rounds in (10, 50, 200, model.n_estimators_):
            accuracy = np.mean(model.classes_[(scores > 0).astype(int)] == y)
            print(f"    after {n_rounds:3d} rounds: {100 * accuracy:5.2f} % right")
    print("\nWhat it learned, on the first two columns (# inner, . outer):\n")
    print(draw_map(model) + "\n")
