"""`rffkern info`."""

import json

import numpy as np
import pytest
from helpers.command_line import run, write_csv

import rffkern
from rffkern import save


def test_info(folder):
    text = run("info", "m.npz", cwd=folder).stdout
    assert "GBRFF2Classifier" in text
    assert "length, width, depth" in text
    facts = json.loads(run("info", "m.npz", "--json", cwd=folder).stdout)
    assert facts["classes"] == ["no", "yes"]
    assert (facts["columns of table"], facts["mapped features"]) == (3, 3)
    assert facts["parameters"]["n_estimators"] == 100


def test_info_of_a_kernel_machine(folder, table):
    kernel = {"length_scale": [1.0, 2.0, 3.0], "bias": 0.5}
    model = rffkern.SparseKernelClassifier(5, kernel=kernel, reg_lambda=0.25, random_state=0)
    save(model.fit(*table), folder / "k.npz")
    facts = json.loads(run("info", "k.npz", "--json", cwd=folder).stdout)
    assert facts["kernel parameters"] == [0.25, 1.0, 0.5, 1.0, 2.0, 3.0]
    assert facts["parameters"]["kernel"] == kernel
    text = run("info", "k.npz", cwd=folder).stdout
    assert "kernel parameters 0.25, 1.0, 0.5, 1.0, 2.0, 3.0" in text
    assert "kernel={'bias': 0.5, 'length_scale': [1.0, 2.0, 3.0]}" in text


@pytest.mark.slow
def test_relevances_from_the_command_line(folder, table):
    write_csv(folder / "t.csv", table[0], np.sin(table[0][:, 2]), target="size")
    run("fit", "t.csv", "-o", "r.npz", "--model", "rffnet_regressor", "--target", "size", cwd=folder)
    facts = json.loads(run("info", "r.npz", "--json", cwd=folder).stdout)
    assert facts["most relevant"][0] == "depth"
    assert facts["relevances"][2] == max(facts["relevances"])
    assert "most relevant  depth, " in run("info", "r.npz", cwd=folder).stdout
    np.savez(folder / "t.npz", X=table[0], y=table[0][:, 1])
    run("fit", "t.npz", "-o", "n.npz", "--model", "rffnet_regressor", "--set", "max_epochs=20", cwd=folder)
    assert json.loads(run("info", "n.npz", "--json", cwd=folder).stdout)["most relevant"][0] == 1


def test_info_of_dates(folder):
    days = np.arange("2024-01-01", "2024-02-10", dtype="M8[D]")
    model = rffkern.FourierBoostingClassifier(3, n_bags=2, kernel_ridge=False, random_state=0)
    save(model.fit({"day": days, "due": days[::-1]}, ["a", "b"] * 20), folder / "d.npz")
    text = run("info", "d.npz", cwd=folder).stdout
    assert "date, standard, outputs 1, mean 2024-01-20, deviation 11.54 days; date, rank, outputs 1, knots 40, " \
           "low 2024-01-01, high 2024-02-09; " in text
    facts = json.loads(run("info", "d.npz", "--json", cwd=folder).stdout)
    assert facts["columns of table"] == 2 < facts["mapped features"] == len(model.column_map_.sources_)
    assert facts["validation loss"]["rounds"] == len(model.eval_loss_) - 1


def test_info_of_column_maps(folder):
    rows = {"size": [1.0, None, 3.5, 2.0] * 5, "colour": ["red", "blue"] * 10, "one": [1] * 20}
    save(rffkern.ColumnMap(("standard", "rank")).fit(rows), folder / "map.npz")
    text = run("info", "map.npz", cwd=folder).stdout
    assert "column size    numeric, standard, outputs 1, mean 2.16667, deviation 1.0274; numeric, rank, " in text
    assert "column colour  category, levels, outputs 1, shares blue=0.5" in text
    assert "column one     numeric, dropped, reason constant" in text
    model = rffkern.RFFNetClassifier(max_epochs=2, validation_fraction=0.0, columns=rffkern.ColumnMap(), random_state=0)
    save(model.fit(rows, ["a", "b"] * 10), folder / "r.npz")
    facts = json.loads(run("info", "r.npz", "--json", cwd=folder).stdout)
    assert sorted(facts["most relevant"]) == ["colour", "one", "size"]
    assert facts["column size"][1] == "numeric, missing, outputs 1, share 0.25"
    assert facts["parameters"]["columns"] == "ColumnMap()"


@pytest.mark.slow
def test_info_of_fourier_boosting(folder):
    rng = np.random.default_rng(0)
    table = {"noise": rng.standard_normal(300), "wave": rng.standard_normal(300)}
    model = rffkern.FourierBoostingRegressor(30, n_bags=2, kernel_ridge=False, random_state=0)
    model.fit(table, np.sin(2 * table["wave"]))
    save(model, folder / "b.npz")
    facts = json.loads(run("info", "b.npz", "--json", cwd=folder).stdout)
    assert facts["bags"] == 2
    assert facts["fourier terms"] + facts["trees"] == facts["terms"] > 0
    assert [*facts["feature importances"]] == ["wave", "noise"]
    assert sum(facts["feature importances"].values()) == pytest.approx(1, abs=1e-3)
    assert facts["rounds"] == model.n_estimators_ > 0
    assert not {"bag counts", "term rounds"} & {*facts}
    text = run("info", "b.npz", cwd=folder).stdout
    assert "feature importances wave=" in text
    save(model.expansion_, folder / "e.npz")
    assert json.loads(run("info", "e.npz", "--json", cwd=folder).stdout)["fourier terms"] == facts["fourier terms"]
