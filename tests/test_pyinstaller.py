"""A program that PyInstaller freezes."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.processes import PATIENCE

from rffkern import FourierBoostingClassifier, save

pytestmark = pytest.mark.slow

pytest.importorskip("PyInstaller", reason="needs PyInstaller")

PROGRAM = """
import sys
import numpy
import rffkern
assert getattr(sys, "frozen", False)
rows = numpy.load(sys.argv[2])
print(rffkern.load(sys.argv[1]).decision_function(rows).tolist())
rffkern.SparseKernelRegressor(n_estimators=3).fit(rows, rows[:, 0])
"""


def test_a_frozen_program_scores_and_trains(tmp_path, rng):
    X = rng.standard_normal((200, 3))
    model = FourierBoostingClassifier(n_estimators=20, random_state=0).fit(X, X[:, 0] > 0)
    save(model, tmp_path / "m.npz")
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "scorer.py").write_text(PROGRAM)
    # What numpy and rffkern can do without, and what would take a minute to look through.
    without = ("pandas", "polars", "pyarrow", "scipy", "sklearn", "unittest", "pytest", "setuptools", "PIL", "tkinter",
               "dask", "distributed", "cloudpickle", "onnx", "onnxruntime", "hypothesis", "IPython", "matplotlib",
               "lightgbm", "xgboost", "catboost", "duckdb", "shap", "numpy.f2py", "numpy.testing")
    freeze = [sys.executable, "-m", "PyInstaller", "--onedir", "--log-level", "ERROR",
              *(f"--exclude-module={name}" for name in without), "scorer.py"]
    subprocess.run(freeze, cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
    program = os.path.join("dist", "scorer", "scorer")
    done = subprocess.run([tmp_path / program, "m.npz", "x.npy"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(model.decision_function(X).tolist())
