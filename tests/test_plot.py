"""Plots: each takes axes and returns them, shows what the model says, and loads matplotlib when it draws."""

import sys

import numpy as np
import pytest
from helpers.families import TARGET, X, Y

import rffkern
from rffkern import plot

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def ax():
    """Axes of a small figure, which is closed."""
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()
    plt.close(figure)


@pytest.fixture(scope="module")
def table():
    """Rows of numbers, words, dates and missing values."""
    rng = np.random.default_rng(0)
    size = np.where(rng.random(300) < 0.1, np.nan, rng.standard_normal(300))
    day = (np.datetime64("2024-01-01") + rng.integers(0, 1400, 300)).astype("datetime64[s]")
    return {"size": size, "$cost": rng.standard_normal(300), "colour": rng.choice(["red", "green"], 300), "day": day}


@pytest.fixture(scope="module")
def models(table):
    """A model for each task, with its labels or targets."""
    score = np.nan_to_num(table["size"]) + 2 * (table["colour"] == "red")
    y = {"binary": np.where(score > 1, "yes", "no"),
         "multiclass": np.array(["a", "b", "c"])[np.digitize(score, [0, 2])], "regression": score,
         "quantiles": score}
    make = {"binary": rffkern.FourierBoostingClassifier, "multiclass": rffkern.FourierBoostingClassifier,
            "regression": rffkern.FourierBoostingRegressor, "quantiles": rffkern.FourierBoostingRegressor}
    params = {"quantiles": {"loss": "quantile", "quantile": (0.1, 0.5, 0.9)}}
    return {task: (make[task](20, n_bags=2, random_state=0, **params.get(task, {})).fit(table, y[task]), y[task])
            for task in y}


TASKS = ("binary", "multiclass", "regression", "quantiles")


@pytest.mark.parametrize("task", TASKS)
def test_every_plot_takes_and_returns_axes(models, table, task, ax):
    model, y = models[task]
    assert plot.importance(model, ax=ax) is ax
    assert plot.importance(model, table, y, ax=ax) is ax
    for column in ("size", "colour", 3, ("size", "colour"), ("day", "$cost")):
        assert plot.dependence(model, table, column, ax=ax) is ax
    assert plot.calibration(model, table, y, ax=ax) is ax
    assert plot.learning_curve(model, ax=ax) is ax
    assert plot.interval_coverage(model, table, y, ax=ax) is ax
    assert plot.decision_boundary(model, table, y, ("size", "$cost"), resolution=10, ax=ax) is ax
    assert plot.decision_boundary(model, table, resolution=10, ax=ax) is ax


@pytest.mark.parametrize("task", TASKS)
def test_plots_of_contributions(models, table, task, ax):
    model, _ = models[task]
    assert plot.summary(model, table, ax=ax) is ax
    assert plot.summary(model, table, background={name: values[:20] for name, values in table.items()}, ax=ax) is ax
    assert plot.waterfall(model, table, 3, ax=ax) is ax
    if task in ("multiclass", "quantiles"):
        assert plot.waterfall(model, table, output=2, ax=ax) is ax
        with pytest.raises(rffkern.InvalidInputError, match="output must be"):
            plot.summary(model, table, output=3, ax=ax)


def test_bars_of_a_waterfall_end_at_the_score(models, table, ax):
    model, _ = models["binary"]
    plot.waterfall(model, table, 7, n_columns=2, ax=ax)
    first, *_, last = ax.patches
    one = {name: values[7:8] for name, values in table.items()}
    found = model.explain(one)
    assert first.get_x() + first.get_width() == pytest.approx(model.decision_function(one)[0])
    assert last.get_x() == pytest.approx(float(found.base_values))
    assert first.get_width() == pytest.approx(found.values[0][np.abs(found.values[0]).argmax()])
    assert ax.get_yticklabels()[-1].get_text() == "2 other columns"


def test_importances_are_those_of_the_model(models, ax):
    model, _ = models["binary"]
    plot.importance(model, n_columns=2, ax=ax)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(model.feature_importances_)[-2:]
    assert [label.get_text() for label in ax.get_yticklabels()][-1] in ("size", "colour")


def test_dependence_is_the_mean_of_predictions(models, table, ax):
    model, _ = models["regression"]
    plot.dependence(model, table, "colour", ax=ax)
    expected = [model.predict(table | {"colour": np.full(300, each)}).mean() for each in ("green", "red")]
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx(expected, abs=0.05)


def test_boundary_of_the_rows_that_the_model_knows(ax):
    labels = X[:, 0] > 0
    model = rffkern.GBRFF2Classifier(20, random_state=0).fit(X[:, [0, 3]], labels)
    plot.decision_boundary(model, X[:, [0, 3]], labels, resolution=30, ax=ax)
    assert ax.get_xlabel() == "x0"
    assert len(ax.collections) == 3  # shades, the line at 1/2, and the rows


def test_a_new_figure(models):
    ax = plot.learning_curve(models["binary"][0])
    assert ax.get_xlabel() == "round"
    plt.close(ax.figure)


def test_what_is_refused(models, table):
    before = plt.get_fignums()
    model, y = models["binary"]
    with pytest.raises(rffkern.NotFittedError):
        plot.importance(rffkern.GBRFF2Classifier())
    with pytest.raises(rffkern.InvalidInputError, match="X and y, or neither"):
        plot.importance(model, table)
    with pytest.raises(rffkern.InvalidInputError, match="name of one column or an integer from 0 to 3, got 'weight'"):
        plot.dependence(model, table, "weight")
    with pytest.raises(rffkern.InvalidInputError, match="two different ones"):
        plot.dependence(model, table, ("size", 0))
    with pytest.raises(rffkern.InvalidInputError, match="must hold numbers, column 'colour'"):
        plot.decision_boundary(model, table, y, ("size", "colour"))
    with pytest.raises(rffkern.InvalidInputError, match="classifier or a regressor"):
        plot.calibration(rffkern.PBRFFTransformer().fit(X, Y), X, Y)
    with pytest.raises(rffkern.InvalidInputError, match="keeps no losses"):
        plot.learning_curve(rffkern.KernelRidgeRegressor(length_scale=1.0, reg_lambda=1.0).fit(X, TARGET))
    assert plt.get_fignums() == before


def test_without_matplotlib(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="rffkern\\[plot\\]"):
        plot.learning_curve(models["binary"][0])
