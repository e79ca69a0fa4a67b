"""Frozen files with column maps."""

import json
import pathlib

import numpy as np
import pytest
from helpers.families import answers

from rffkern import load, save
from rffkern._files.archive import FORMAT_VERSION

DATA = pathlib.Path(__file__).parent.parent / "data"


def columns_of(rows):
    """The table of `tools/fixtures.py`."""
    return {"length": np.where(rows[:, 0] > 1, np.nan, rows[:, 0]),
            "colour": np.array(["red", "grün", "blue"])[np.digitize(rows[:, 1], [-50, 50])],
            "day": np.datetime64("2024-02-28", "s") + np.round(rows[:, 2] * 1e9).astype("m8[s]"), "width": rows[:, 1]}


@pytest.mark.parametrize("name", ["column_map", "column_map_filled", "gbrff2_with_choice", "gbrff2_with_columns"])
@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_frozen_files_give_the_answers_they_gave(version, name, tmp_path):
    path = DATA / str(version) / f"{name}.npz"
    expected = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    rows = np.array(expected["rows"])
    table = columns_of(rows) | ({"near": rows[:, 0]} if name.endswith("filled") else {})
    np.testing.assert_allclose(np.ravel(answers(model, table)), expected["answers"], rtol=0, atol=1e-9)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(answers(again, table), answers(model, table))
    assert repr(again) == repr(model)
    assert again.feature_names_in_.tolist() == list(table)
