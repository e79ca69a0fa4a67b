"""Recipes of docs/dask.md that need no Dask: what engines that hand over batches, and shells, are told to do."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

import rffkern


@pytest.fixture
def model(rng):
    X = rng.standard_normal((300, 3))
    return rffkern.GBRFF2Classifier(5, random_state=0).fit(X, np.where(X[:, 0] * X[:, 1] > 0, "a", "b"))


def test_polars_scores_a_struct_of_columns(rng, model):
    polars = pytest.importorskip("polars")
    X, names = rng.standard_normal((100, 3)), ["x", "y", "z"]
    frame = polars.DataFrame(X, schema=names)
    scored = frame.lazy().with_columns(polars.struct(names).map_batches(
        lambda s: polars.Series(model.predict_proba(s.struct.unnest().to_numpy())[:, 1]),
        return_dtype=polars.Float64).alias("p")).collect()
    np.testing.assert_array_equal(scored["p"].to_numpy(), model.predict_proba(X)[:, 1])


@pytest.mark.skipif(shutil.which("xargs") is None, reason="needs xargs")
def test_a_shell_scores_files_side_by_side(rng, model, tmp_path):
    rffkern.save(model, tmp_path / "m.npz")
    tables = {f"part-{k}.csv": rng.standard_normal((20, 3)).round(6) for k in range(3)}
    for name, X in tables.items():
        np.savetxt(tmp_path / name, X, delimiter=",", fmt="%.6f")
    command = f"ls part-*.csv | xargs -P 2 -I{{}} {sys.executable} -m rffkern predict m.npz {{}} -o labels-{{}}"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True)
    for name, X in tables.items():
        assert (tmp_path / f"labels-{name}").read_text().split()[-20:] == model.predict(X).tolist()
