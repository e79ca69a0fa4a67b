"""Models as capsules, whose functions another extension calls without the interpreter."""

import ctypes
import gc

import numpy as np
import pytest
from c_bits import FROZEN, units
from embedding import models

import rffkern
from rffkern import ColumnMap, GBRFF2Classifier, InvalidInputError, NotFittedError, load
from rffkern._kernels import embedding

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
SCORER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                          ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_int), ("size", ctypes.c_size_t),
                ("describe", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
                ("scratch_size", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)),
                ("score", SCORER), ("predict", SCORER), ("predict_proba", SCORER)]


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
    capsule = rffkern.c_model(load(FROZEN / "6" / "gbrff2.npz"))
    assert FUNCTIONS.describe(pointer_of(capsule, b"rffkern.model"), info, len(info)) == 0
    assert np.frombuffer(info, np.int32)[0] == 1   # a classifier


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_capsules_have_the_bits_of_python(dtype, tmp_path, rng):
    """Of frozen files, and of functions of all kinds."""
    paths = [*(path for path in models.frozen_files(FROZEN).values() if path.parent.name in "56"),
             *models.made(tmp_path).values()]
    n_checked = 0
    for path in paths:
        model = load(path)
        if isinstance(model, ColumnMap) or vars(model).get("column_map_") is not None:
            continue
        rows = models.rows_for(model, rng, 150).astype(dtype)
        capsule, expansion = rffkern.c_model(model), getattr(model, "expansion_", model)
        expected = expansion.score(rows)
        np.testing.assert_array_equal(call(FUNCTIONS.score, capsule, rows, expected), expected)
        np.testing.assert_array_equal(call(FUNCTIONS.score, capsule, rows[:3], expected[:3]), expected[:3])
        if hasattr(model, "classes_"):
            labels = np.searchsorted(model.classes_, model.predict(rows))
            np.testing.assert_array_equal(call(FUNCTIONS.predict, capsule, rows, labels.astype(float)), labels)
            shares = model.predict_proba(rows)
            assert units(call(FUNCTIONS.predict_proba, capsule, rows, shares), shares, np.float64) <= 4
        n_checked += 1
    assert n_checked > 20


@pytest.mark.parametrize("loss", ["poisson", "quantile"])
def test_predictions_that_are_no_scores(loss, rng):
    X = rng.standard_normal((80, 2))
    y = np.round(np.exp(X[:, 0]))
    model = rffkern.FourierBoostingRegressor(4, n_members=1, loss=loss, columns=None, random_state=0,
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
    with pytest.raises(InvalidInputError, match="no column map"):
        rffkern.c_model(load(FROZEN / "6" / "gbrff2_with_columns.npz"))
    arrays = load(FROZEN / "6" / "gbrff2.npz").expansion_.arrays()
    with pytest.raises(ValueError, match="contiguous"):
        embedding.make_model({name: array[::-1] for name, array in arrays.items()}, {}, "function", 0, "none", 0.0,
                             "scores")
