"""Scores of few rows against a NumPy twin and against those of many rows, and which arrays are taken as they are."""

import numpy as np
import pytest
from helpers.expansions import fourier_expansion
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import scoring
from rffkern._native.scoring import FewRows

TILE = scoring.TILE_ROWS
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def arguments(seed, n_terms, n_features, n_outputs, dtype):
    """Arrays of a FewRows, by name, and the expansion that they are of."""
    rng = np.random.default_rng(seed)
    padded = -(-n_terms // scoring.TERM_MULTIPLES[1]) * scoring.TERM_MULTIPLES[1]
    terms = np.zeros((-(-padded // TILE), 1 + n_features, TILE), dtype)
    amplitudes = np.zeros((n_outputs, padded), dtype)
    whole = terms.transpose(0, 2, 1).reshape(-1, 1 + n_features)  # a copy
    whole[:n_terms] = rng.standard_normal((n_terms, 1 + n_features))
    terms[...] = whole.reshape(-1, TILE, 1 + n_features).transpose(0, 2, 1)
    amplitudes[:, :n_terms] = rng.standard_normal((n_outputs, n_terms))
    return {"center": rng.standard_normal(n_features), "terms": terms, "amplitudes": amplitudes,
            "intercept": rng.standard_normal(n_outputs), "limit": 100.0}, whole[:n_terms].astype(np.float64)


@given(st.integers(0, 99), st.integers(0, 300), st.integers(1, 9), st.integers(1, 4), st.integers(0, 9),
       st.sampled_from([np.float32, np.float64]))
def test_twin(seed, n_terms, n_features, n_outputs, n_samples, dtype):
    given_arrays, whole = arguments(seed, n_terms, n_features, n_outputs, dtype)
    X = np.random.default_rng(seed + 1).standard_normal((n_samples, n_features)).astype(dtype)
    few = FewRows(*given_arrays.values())
    found = few.score(X)
    angles = np.pi * ((X - given_arrays["center"]) @ whole[:, 1:].T - whole[:, 0])
    amplitudes = given_arrays["amplitudes"][:, :n_terms].astype(np.float64)
    expected = given_arrays["intercept"] + np.cos(angles) @ amplitudes.T
    size = (1 + np.abs(angles).max(initial=0)) * (1 + np.abs(amplitudes).sum())
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * np.finfo(dtype).eps * size)
    taken = few.take(X)
    assert (taken is None) == (not 0 < n_samples < scoring.FEW)
    if taken is not None:
        assert taken.tobytes() == found.tobytes()


@PRECISIONS
@pytest.mark.parametrize(("n_terms", "n_features", "n_outputs"), [(1, 1, 1), (100, 20, 1), (300, 3, 5)])
def test_bits_are_those_of_many_rows(n_terms, n_features, n_outputs, dtype):
    rng = np.random.default_rng(0)
    expansion = fourier_expansion(rng.standard_normal((n_terms, n_features)), rng.standard_normal(n_terms),
                                 rng.standard_normal((n_terms, n_outputs)), np.ones(n_outputs), np.zeros(n_features))
    X = rng.standard_normal((40, n_features)).astype(dtype)
    many = expansion.score(X)
    assert expansion._scorer.score_few(X[:1]) is None  # before any are packed
    for n in (1, scoring.FEW - 1):
        some = X[:n].copy()
        assert expansion.score(some).tobytes() == many[:n].tobytes()
        assert expansion._scorer.score_few(some).tobytes() == many[:n].tobytes()
    assert expansion._scorer.score_few(X[: scoring.FEW]) is None
    for other in (X[:1].tolist(), np.ma.array(X[:1], mask=True), X[:1].astype(int), None):
        assert expansion._scorer.score_few(other) is None


def unaligned(array):
    """A copy that is not aligned."""
    place = np.ndarray(array.shape, array.dtype, np.empty(array.nbytes + 1, np.uint8), offset=1)
    place[...] = array
    return place


@PRECISIONS
def test_what_is_taken(dtype):
    given_arrays, _ = arguments(0, 20, 3, 2, dtype)
    few = FewRows(*given_arrays.values())
    X = np.random.default_rng(1).standard_normal((4, 3)).astype(dtype)
    fixed = X.copy()
    fixed.flags.writeable = False
    for good in (X, fixed, X[1:2], X[:, :], np.full((1, 3), -100, dtype)):
        assert few.take(good).tobytes() == few.score(good).tobytes()
    assert few.score(unaligned(X)).tobytes() == few.score(X).tobytes()
    other = np.float64 if dtype == np.float32 else np.float32
    wrong = [X[:, :2].copy(), X[0], X[None], np.asfortranarray(X), X[::2], X[:, ::-1], X.astype(other),
             X.astype(X.dtype.newbyteorder()), X.view(np.int32 if dtype == np.float32 else np.int64)]
    for value in wrong:
        assert few.take(value) is None
        with pytest.raises(ValueError, match="X must be a contiguous array"):
            few.score(value)
    for value in (np.nan, np.inf, -np.inf, np.nextafter(dtype(100), dtype(101)), -1e30):
        beyond = X.copy()
        beyond[-1, -1] = value
        assert few.take(beyond) is None
    assert few.take(np.empty((0, 3), dtype)) is None
    assert few.take(unaligned(X)) is None
    for value in (X.tolist(), None):
        with pytest.raises(TypeError):
            few.take(value)


@PRECISIONS
def test_arrays_that_are_one_too_short(dtype):
    given_arrays, _ = arguments(0, 140, 3, 2, dtype)
    for name, value in given_arrays.items():
        for axis in range(np.ndim(value)):
            short = np.ascontiguousarray(np.delete(value, -1, axis))
            with pytest.raises(ValueError, match="must"):
                FewRows(*(given_arrays | {name: short}).values())
    for name in ("amplitudes", "intercept", "center"):
        with pytest.raises((ValueError, TypeError)):
            FewRows(*(given_arrays | {name: given_arrays[name].astype(np.float16)}).values())
