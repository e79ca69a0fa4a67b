"""Recipes of docs/batch.md: its blocks of code, executed in a folder of rows by the engines that are here."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.recipes import MODULES, commands_of

import rffkern

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("title", MODULES)
def test_recipe_writes_probabilities(rng, tmp_path, title):
    pytest.importorskip(MODULES[title])
    frame = pandas.DataFrame({"key": np.arange(300), "size": rng.standard_normal(300),
                              "colour": rng.choice(["red", "green"], 300)})
    y = np.where(frame["size"] + (frame["colour"] == "red") > 0.5, "yes", "no")
    model = rffkern.GBRFF2Classifier(5, random_state=0).fit(frame[["size", "colour"]], y)
    rffkern.save(model, tmp_path / "model.npz")
    (tmp_path / "rows").mkdir()
    for k in range(3):
        frame[k::3].to_parquet(tmp_path / "rows" / f"part-{k}.parquet", index=False)
    for command in commands_of(title, tmp_path, 1):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | {"PYSPARK_PYTHON": sys.executable})
        assert done.returncode == 0, done.stderr
    output = next(path for path in (tmp_path / "scores", tmp_path / "scores.parquet") if path.exists())
    found = pandas.read_parquet(output)
    shown = sorted(column for column in found if column[0] == "p" and column != "prediction")
    expected = model.predict_proba(frame[["size", "colour"]])[:, 1]
    np.testing.assert_allclose(np.sort(found[shown[-1]]), np.sort(expected), rtol=1e-12)
    if "key" in found:
        np.testing.assert_allclose(found.sort_values("key")[shown[-1]], expected, rtol=1e-12)
