"""`rffkern demo`: the main job on generated data, in a few seconds and without a file."""

import argparse
import os
import tempfile
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._gbrff.gbrff2 import GBRFF2Classifier
from ..serialize import load, save


def make_rings(n_samples: int, rng: "np.random.Generator") -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Points of a square labelled by alternating rings, one label in twenty wrong, and three columns of noise."""
    X = np.column_stack([rng.uniform(-3, 3, (n_samples, 2)), rng.standard_normal((n_samples, 3))])
    y = np.where(np.floor(np.hypot(X[:, 0], X[:, 1]) / 1.2).astype(int) % 2 == 0, "inner", "outer")
    wrong = rng.random(n_samples) < 0.05
    y[wrong] = np.where(y[wrong] == "inner", "outer", "inner")
    return X, y


def draw_map(model: GBRFF2Classifier, width: int = 48, height: int = 20) -> str:
    """The learned classes over the square, as text."""
    x, y = np.meshgrid(np.linspace(-3, 3, width), np.linspace(3, -3, height))
    grid = np.column_stack([x.ravel(), y.ravel(), np.zeros((x.size, 3))])
    marks = np.where(model.predict(grid) == model.classes_[0], "#", ".").reshape(height, width)
    return "\n".join("    " + "".join(row) for row in marks)


def run_demo(_: argparse.Namespace) -> None:
    """Train, show accuracy, size and speed, and name the next step."""
    rng = np.random.default_rng(0)
    X, y = make_rings(20_000, rng)
    X_test, y_test = make_rings(20_000, rng)
    print("Rings with 5 % wrong labels and three columns of noise: 20,000 rows for training, 20,000 for testing.")
    print("No classifier can be right on more than 95 % of the test rows.\n")
    model = GBRFF2Classifier(n_estimators=200, gamma=1.0, reg_lambda=2**-8, random_state=0)
    print(f"model = {model}")
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    for n_rounds, scores in enumerate(model.staged_decision_function(X_test), 1):
        if n_rounds in (1, 10, 50, 200):
            accuracy = np.mean(model.classes_[(scores > 0).astype(int)] == y_test)
            print(f"    after {n_rounds:3d} rounds: {100 * accuracy:5.2f} % right")
    print("\nWhat it learned, on the first two columns (# inner, . outer):\n")
    print(draw_map(model))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rings.npz")
        save(model, path)
        size = os.path.getsize(path)
        same = np.array_equal(load(path).decision_function(X_test), model.decision_function(X_test))
    started = time.perf_counter()
    model.predict(X_test)
    rate = len(X_test) / (time.perf_counter() - started)
    print(f"\nfit {seconds:.2f} s   score {rate / 1e6:.2f} million rows/s   model file {size / 1024:.0f} KiB, "
          f"loads back {'bit for bit' if same else 'DIFFERENTLY'}\n")
    print("Next, with a table of your own whose last column is the label:\n")
    print("    rffkern fit TABLE.csv -o model.npz --holdout 0.2")
    print("    rffkern predict model.npz NEW.csv -o predictions.csv")
