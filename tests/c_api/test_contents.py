"""What the reader in C keeps of a model: the numbers that Python scores with, bit for bit."""

import pathlib
import subprocess

import numpy as np
import pytest
from helpers.c_reader import build, compiler
from helpers.expansions import boosted_expansion, kernel_expansion

from rffkern import ColumnMap, FourierBoostingRegressor, load, save
from rffkern._column_map.compiled import outputs_of
from rffkern._model.tree_layout import UNREACHED
from rffkern._native.scoring import KINDS
from rffkern._training.fourier_boosting.parameters import LOSSES

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler: set CC")

HERE = pathlib.Path(__file__).parent
FROZEN = [path for path in sorted(HERE.parent.glob("data/*/*.npz"))
          if not path.stem.startswith("column_map") and "_with_" not in path.stem]
LINKS = {None: 0, "LogisticLink": 1, "SoftmaxLink": 2, "LinearLink": 3}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dump"), ("-DRFF_MOST_LEVEL=1",), HERE / "dump_model.c")


def contents(program, path):
    """Lines of a model as (name, values)."""
    lines = subprocess.run([program, path], capture_output=True, text=True, check=True).stdout.splitlines()
    return [(line.split()[0], [float.fromhex(word) if "x" in word or "inf" in word else int(word)
                               for word in line.split()[1:]]) for line in lines]


def same(found, expected):
    """The same numbers to the last bit, signs of zeros too."""
    expected = np.ravel(np.asarray(expected, np.float64))
    assert np.asarray(found, np.float64).tobytes() == expected.tobytes()


def check_expansion(found, expansion):
    for name, array in expansion.arrays().items():
        if name not in ("tree_columns", "tree_values"):
            same(found[name], array)
    trees = expansion.trees
    if trees is not None:
        assert found["tree_columns"] == trees.tree_columns.ravel().tolist()
        assert found["steps"] == trees.layout.steps.ravel().tolist()
        assert found["tree_starts"] == trees.starts.tolist()
        same(np.multiply(found["values"], found["unit"]), trees.tree_values)


def check_map(lines, frozen):
    """The forms as `CompiledMap` has them, and what stands for missing values."""
    lines = iter(lines)
    name, starts = next(lines)
    assert (name, starts) == ("starts", np.cumsum([0, *(len(column.outputs) for column in frozen.columns)]).tolist())
    for each in (each for column in frozen.columns for each in outputs_of(column)):
        kind, missing, *numbers = each.entry
        name, values = next(lines)
        assert (name, values[0]) == ("form", KINDS[kind])
        same(values[1:8], [missing, each.divisor, *numbers, missing / each.divisor])
        same(next(lines)[1], each.knots if kind == "rank" else [])
        same(next(lines)[1], each.heights if kind == "rank" else [])
    for imputation in (imputation for column in frozen.columns for imputation in column.imputations):
        assert next(lines) == ("imputation", [imputation.output, imputation.low, imputation.high])
        assert next(lines) == ("predictors", imputation.predictors.tolist())
        same(next(lines)[1], imputation.factors)


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_frozen_files(program, path):
    """All expansions, links and maps of numbers."""
    model = load(path)
    lines = contents(program, path)
    found = dict(lines)
    check_expansion(found, getattr(model, "expansion_", model))
    link = model._link() if hasattr(model, "classes_") else None
    assert found["link"][0] == LINKS[None if link is None else type(link).__name__]
    assert found["link"][1] == getattr(link, "slope", 0.0)
    if getattr(model, "column_map_", None) is not None:
        check_map(lines, model.column_map_._fitted)


@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30, 1e300, 2.0**100 * (1 - 2.0**-30),
                                   2.0**-61 * (1 - 2.0**-30)])
def test_trees_of_any_size(program, tmp_path, scale):
    """Values are rounded to single precision, in units of the largest where that would not hold them."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 3, (5, 6))
    thresholds = np.where(rng.random((5, 6)) < 0.2, UNREACHED, rng.standard_normal((5, 6)).round(1))
    counts = [np.prod([1 + ((column == j) & (row < UNREACHED)).sum() for j in range(3)])
              for column, row in zip(columns, thresholds, strict=True)]
    values = rng.uniform(-1, 1, (int(sum(counts)), 2)) * scale
    values[0, 0] = scale
    expansion = boosted_expansion(np.zeros((0, 3)), [], np.zeros((0, 2)), [0, 1], [0, 0, 0], np.zeros((3, 2)), columns,
                              thresholds, values)
    save(expansion, tmp_path / "m.npz")
    check_expansion(dict(contents(program, tmp_path / "m.npz")), expansion)


@pytest.mark.parametrize("numbers", [[1.0, -0.0, 2.0**-24, -65504.0], [1.0, 3e-5, 1e-320, 0.1],
                                     [2049.0, 65504.0, UNREACHED, 2.0**-149], [3.5, UNREACHED, 0.5, 1.0]])
def test_omegas_of_any_precision_without_zeros(program, tmp_path, numbers):
    omegas = np.zeros((5, 4))
    omegas.ravel()[[2, 3, 11, 19]] = numbers
    expansion = boosted_expansion(omegas, np.arange(5.0), np.full((5, 1), 0.1), [0], np.zeros(4), np.zeros((4, 1)),
                                  np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((0, 1)))
    save(expansion, tmp_path / "m.npz")
    check_expansion(dict(contents(program, tmp_path / "m.npz")), expansion)


@pytest.mark.parametrize("exponent", [1.0, 2.0])
def test_a_kernel_expansion(program, tmp_path, exponent):
    arrays = [[1.0, -0.0], [5e-324, 2.0]], [[1.0], [2.0]], [0.1], [1.0, 0.0], [exponent]
    for regions in ((), ([1, 0, 1], [0.5, -0.0, 5e-324], [0, 0, 1, 2, 2])):
        expansion = kernel_expansion(*arrays, *regions)
        save(expansion, tmp_path / "m.npz")
        check_expansion(dict(contents(program, tmp_path / "m.npz")), expansion)


@pytest.mark.parametrize("n_bins", [2, 5, 16, 300])
def test_maps_of_all_numeric_forms(program, tmp_path, n_bins):
    """The unit of bins is a sum that NumPy adds up pairwise."""
    rng = np.random.default_rng(n_bins)
    X = rng.standard_normal((900, 4)) @ rng.standard_normal((4, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3] = 7.0
    fitted = ColumnMap(("raw", "standard", "bounded", "rank", "bins"), n_bins=n_bins, n_knots=50).fit(X)
    assert any(column.imputations for column in fitted._fitted.columns)
    save(fitted, tmp_path / "m.npz")
    check_map(contents(program, tmp_path / "m.npz"), fitted._fitted)


def test_a_column_without_values(program, tmp_path):
    fitted = ColumnMap().fit(np.full((3, 2), np.nan))
    save(fitted, tmp_path / "m.npz")
    check_map(contents(program, tmp_path / "m.npz"), fitted._fitted)


@pytest.mark.parametrize(("params", "prediction"), [
    *(({"loss": name}, int(facts.link == "log")) for name, facts in LOSSES.items()),
    ({"loss": "quantile", "quantile": [0.1, 0.9]}, 2)])
def test_predictions_of_losses(program, tmp_path, params, prediction):
    X = np.random.default_rng(0).uniform(0, 1, (60, 2))
    save(FourierBoostingRegressor(3, n_bags=1, random_state=0, **params).fit(X, X[:, 0]), tmp_path / "m.npz")
    assert dict(contents(program, tmp_path / "m.npz"))["prediction"] == [prediction]
