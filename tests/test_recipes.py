"""Recipes of docs/large_data.md: its blocks of code, executed in a folder of rows by the engines that are here."""

import itertools
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import rffkern

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.slow

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "large_data.md"
MODULES = {"The command line": "distributed", "A pool of processes": "pandas", "Polars": "polars", "DuckDB": "duckdb",
           "Ray Data": "ray", "Spark": "pyspark"}


def recipe(title):
    """The block of code below a title in bold type."""
    lines = PAGE.read_text(encoding="utf-8").split(f"\n**{title}**")[1].split("\n\n", 1)[1].splitlines()
    return textwrap.dedent("\n".join(itertools.takewhile(lambda line: line[:4].strip() == "", lines)))


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
    (tmp_path / "recipe.py").write_text(recipe(title), encoding="utf-8")
    commands = [[sys.executable, "recipe.py"]]
    if title == "The command line":
        text = recipe(title).replace("rffkern", f"{sys.executable} -m rffkern").replace(" 8 ", " 1 ")
        commands = [["bash", "-ec", text]]
    if title == "DuckDB":
        export = ["export", "model.npz", "--to", "sql", "--table", "rows", "--key", "key", "-o", "model.sql"]
        commands.insert(0, [sys.executable, "-m", "rffkern", *export])
    for command in commands:
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
