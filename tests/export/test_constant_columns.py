"""Models of tables in which no column tells rows apart, which have no term at all."""

import importlib.util
import shutil
import subprocess

import numpy as np
import pytest

import rffkern
from rffkern import FourierBoostingClassifier, FourierBoostingRegressor

TABLES = {"constant": np.full((60, 2), 3.5), "missing": np.full((60, 2), np.nan)}
TARGETS = np.random.default_rng(0).standard_normal(60)


def fitted(X, n_classes):
    family = FourierBoostingClassifier if n_classes else FourierBoostingRegressor
    y = np.digitize(TARGETS, [0.0, 0.7][: n_classes - 1]) if n_classes else TARGETS
    return family(5, n_bags=1, kernel_ridge=False, random_state=0).fit(X, y)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_exports(X, n_classes, tmp_path):
    model = fitted(X, n_classes)
    for to in ("js", "onnx", "sql"):
        rffkern.export(model, tmp_path / to, to=to)
    rffkern.export(model, tmp_path / "m.py", to="numpy")
    spec = importlib.util.spec_from_file_location("exported", tmp_path / "m.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.probabilities(X) if n_classes else module.predict(X)
    np.testing.assert_allclose(found, model.predict_proba(X) if n_classes else model.predict(X), rtol=1e-14)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_c_without_warnings(X, n_classes, tmp_path):
    rffkern.export(fitted(X, n_classes), tmp_path / "m.c", to="c")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "m.c"], cwd=tmp_path,
                   check=True)


def test_what_is_said_of_the_columns():
    model = fitted(TABLES["constant"], 2)
    assert [row["form"] for row in model.column_map_.describe()] == ["dropped", "dropped"]
    assert np.ptp(model.decision_function(TABLES["constant"])) == 0
