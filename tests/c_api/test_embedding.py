"""Models as capsules, whose functions another extension calls without the interpreter."""

import ctypes
import gc

import numpy as np
import pytest
from helpers import c_models
from helpers.c_cells import CALL, Cell
from helpers.c_scores import FROZEN, units
from helpers.expansions import kernel_expansion

import rffkern
from rffkern import ColumnMap, GBRFF2Classifier, InvalidInputError, NotFittedError, load
from rffkern._native import scoring

pytestmark = pytest.mark.slow

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
SCORER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                          ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_int), ("size", ctypes.c_size_t),
                ("describe", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
                ("scratch_size", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)),
                ("score", SCORER), ("predict", SCORER), ("predict_proba", SCORER),
                *((f"{name}_cells", ctypes.CFUNCTYPE(ctypes.c_int, *CALL)) for name in ("score", "predict",
                                                                                     "predict_proba")),
                ("find_column", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t))]


FUNCTIONS = Functions.from_address(pointer_of(rffkern.c_functions(), b"rffkern.functions"))


def call(function, capsule, rows, like):
    """What a function gives for rows, in the shape of what is expected."""
    model, out = pointer_of(capsule, b"rffkern.model"), np.full(like.shape, np.nan)
    size = FUNCTIONS.scratch_size(model, len(rows))
    scratch = np.empty(size, np.uint8)
    assert function(model, rows.itemsize, rows.ctypes.data, len(rows), out.ctypes.data, scratch.ctypes.data, size) == 0
    return out


def test_functions():
    assert (FUNCTIONS.abi_version, FUNCTIONS.size) == (1, ctypes.sizeof(Functions))
    info = (ctypes.c_char * 200)()
    assert FUNCTIONS.describe(None, info, len(info)) == 1
    capsule = rffkern.c_model(load(FROZEN / "1" / "gbrff2.npz"))
    assert FUNCTIONS.describe(pointer_of(capsule, b"rffkern.model"), info, len(info)) == 0
    assert np.frombuffer(info, np.int32)[0] == 1   # a classifier


def scores_numbers(model):
    """Whether a model has no columns of other values."""
    column_map = vars(model).get("column_map_")
    return column_map is None or all(row["kind"] == "numeric" for row in column_map.describe()
                                     if row["form"] != "dropped")


FORMS = ("raw", "standard", "bounded", "rank", "bins")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [0.0, 0.2], ids=["whole", "gaps"])
@pytest.mark.parametrize("family", [GBRFF2Classifier, rffkern.FourierBoostingClassifier,
                                    rffkern.SparseKernelClassifier])
def test_columns_are_mapped(family, gaps, dtype, rng):
    """By every form; missing values are told from other columns."""
    X = rng.standard_normal((300, 4)) * [1, 100, 1e-3, 1]
    X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    y = np.where(X[:, 3] + X[:, 1] / 100 > 0, "up", "down")
    X[rng.random(X.shape) < gaps] = np.nan
    X[:, 2] = np.where(np.isnan(X[:, 2]), 7.0, X[:, 2])
    short = {} if family is rffkern.SparseKernelClassifier else {"n_estimators": 8}
    model = family(random_state=0, columns=ColumnMap(FORMS), **short).fit(X, y)
    assert any(column.imputations for column in model.column_map_._fitted_map().columns) == bool(gaps)
    info, capsule = (ctypes.c_char * 200)(), rffkern.c_model(model)
    assert FUNCTIONS.describe(pointer_of(capsule, b"rffkern.model"), info, len(info)) == 0
    for rows in (X.astype(dtype), X[:1].astype(dtype), 3 * X[:5].astype(dtype)):
        expected = model._raw_scores(rows)
        np.testing.assert_array_equal(call(FUNCTIONS.score, capsule, rows, expected), expected)
    labels = np.searchsorted(model.classes_, model.predict(X))
    np.testing.assert_array_equal(call(FUNCTIONS.predict, capsule, X, labels.astype(float)), labels)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_capsules_have_the_bits_of_python(dtype, tmp_path, rng):
    """Of frozen files, and of functions of all kinds."""
    paths = [*c_models.frozen_files(FROZEN).values(), *c_models.made(tmp_path).values()]
    n_checked = 0
    for path in paths:
        model = load(path)
        if isinstance(model, ColumnMap) or not scores_numbers(model):
            continue
        rows = c_models.rows_for(model, rng, 150).astype(dtype)
        capsule, column_map = rffkern.c_model(model), vars(model).get("column_map_")
        expansion = getattr(model, "expansion_", model)
        expected = expansion.score(rows) if column_map is None else model._raw_scores(rows)
        np.testing.assert_array_equal(call(FUNCTIONS.score, capsule, rows, expected), expected)
        np.testing.assert_array_equal(call(FUNCTIONS.score, capsule, rows[:3], expected[:3]), expected[:3])
        if hasattr(model, "classes_"):
            labels = np.searchsorted(model.classes_, model.predict(rows))
            np.testing.assert_array_equal(call(FUNCTIONS.predict, capsule, rows, labels.astype(float)), labels)
            shares = model.predict_proba(rows)
            assert units(call(FUNCTIONS.predict_proba, capsule, rows, shares), shares, np.float64) <= 4
        n_checked += 1
    assert n_checked > 20


def test_cells(rng):
    """Words, dates, free text and missing values; rows of numbers are refused."""
    X = rng.standard_normal((200, 1))
    table = {"word": ["abcde"[k % 5] for k in range(200)],
             "day": [f"{k % 28 + 1}/3/2024 {k % 24}:00" for k in range(200)],
             "mass": [None if k % 7 == 0 else f"{x:.2f} kg" for k, x in enumerate(X[:, 0])],
             "note": [f"{'Good' if x > 0 else 'BAD'} {k}" for k, x in enumerate(X[:, 0])],
             "end": [f"{k % 28 + 1 + k % 3}/3/2024" for k in range(200)]}
    model = GBRFF2Classifier(6, random_state=0, columns=ColumnMap(date_parts="differences", max_levels=4)).fit(
        table, (X[:, 0] > 0) ^ (np.arange(200) % 5 == 0))
    assert {"text", "difference"} <= {*model.column_map_.forms_.tolist()}
    last = ("new", "1/2/2023", None, "good news", None)
    capsule, rows = rffkern.c_model(model), [*zip(*table.values(), strict=True), last]
    model_at, expected = pointer_of(capsule, b"rffkern.model"), model.decision_function(table)
    cells = (Cell * (5 * len(rows)))(*(Cell.of(value) for row in rows for value in row))
    scratch, found = np.empty(FUNCTIONS.scratch_size(model_at, len(rows)), np.uint8), np.empty(len(rows))
    rest = scratch.ctypes.data, len(scratch), None, None
    assert FUNCTIONS.score_cells(model_at, ctypes.addressof(cells), len(rows), found.ctypes.data, *rest) == 0
    np.testing.assert_array_equal(found[:-1], expected)
    last = {name: [value] for name, value in zip(table, last, strict=True)}
    np.testing.assert_array_equal(found[-1:], model.decision_function(last))
    assert FUNCTIONS.score(model_at, 8, X.ctypes.data, 1, found.ctypes.data, scratch.ctypes.data, len(scratch)) == 13
    assert [FUNCTIONS.find_column(model_at, name, len(name)) for name in (b"day", b"mass")] == [1, 2]


@pytest.mark.parametrize("loss", ["poisson", "quantile"])
def test_predictions_that_are_no_scores(loss, rng):
    X = rng.standard_normal((80, 2))
    y = np.round(np.exp(X[:, 0]))
    model = rffkern.FourierBoostingRegressor(4, n_bags=1, loss=loss, columns=None, random_state=0,
                                             **({"quantile": (0.2, 0.8)} if loss == "quantile" else {})).fit(X, y)
    np.testing.assert_allclose(call(FUNCTIONS.predict, rffkern.c_model(model), X, y), model.predict(X), rtol=1e-14)


def test_a_capsule_is_a_copy(rng):
    """It outlives the model, and does not change with it."""
    X = rng.standard_normal((60, 2))
    model = GBRFF2Classifier(3, random_state=0).fit(X, X[:, 0] > 0)
    expected, capsule = model.decision_function(X), rffkern.c_model(model)
    model.fit(X, X[:, 1] > 0)
    del model
    gc.collect()
    np.testing.assert_array_equal(call(FUNCTIONS.score, capsule, X, expected), expected)


def test_refused():
    with pytest.raises(NotFittedError):
        rffkern.c_model(GBRFF2Classifier())
    with pytest.raises(InvalidInputError, match="got int"):
        rffkern.c_model(3)
    arrays = load(FROZEN / "1" / "gbrff2.npz").expansion_.arrays()
    with pytest.raises(ValueError, match="contiguous"):
        scoring.make_model({name: array[::-1] for name, array in arrays.items()}, {}, "function", 0, "none", 0.0,
                           "scores")


@pytest.mark.parametrize("n_terms", [1, 300, 1001])
@pytest.mark.parametrize("cancels", [False, True])
def test_kernels_are_judged_as_in_python(cancels, n_terms, rng):
    """Whether single precision suffices, told from some of the centers, shows in the bits of single rows."""
    centers, weights = rng.standard_normal((n_terms, 5)), rng.standard_normal((n_terms, 2))
    if cancels:
        centers, weights = np.repeat(centers, 2, axis=0), np.repeat(weights, 2, axis=0)
        centers[1::2] += 1e-7
        weights[1::2] *= -1
    expansion = kernel_expansion(centers, weights, np.ones(2), np.full(5, 0.5))
    assert all(expansion._scorer.fits) is not cancels
    rows = rng.standard_normal((40, 5)).astype(np.float32)
    expected = expansion.score(rows)
    np.testing.assert_array_equal(call(FUNCTIONS.score, rffkern.c_model(expansion), rows, expected), expected)
    assert not np.array_equal(expected, expansion.score(rows.astype(np.float64))) or cancels
