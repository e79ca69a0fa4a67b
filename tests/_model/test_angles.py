"""Which rows are scored in single precision."""

import numpy as np
import pytest
from helpers.expansions import fourier_expansion

from rffkern import (
    GBRFF1Classifier,
    GBRFF2Classifier,
    GBRFFClassifier,
    PBRFFClassifier,
    PBRFFTransformer,
)
from rffkern._model import angles
from rffkern._model.angles import AngleBound


@pytest.fixture(scope="module")
def outlying():
    """Rows of which one lies so far out that training changes to double precision, and their labels."""
    X = np.random.default_rng(0).standard_normal((2000, 3))
    y = X[:, 1] * X[:, 2] > 0
    X[0, 0] = 1e12
    return X, y


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier, GBRFFClassifier, PBRFFClassifier])
def test_float32_rows_are_scored_as_well_as_float64_rows(cls, outlying):
    X, y = outlying
    params = {"n_landmarks": 50} if cls is PBRFFClassifier else {"n_estimators": 40}
    model = cls(**params, standardize=False, gamma=1.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert abs(model.score(X.astype(np.float32), y) - model.score(X, y)) < 0.005


def test_float32_features_are_those_of_float64_rows(outlying):
    X, y = outlying
    X = X.astype(np.float32).astype(np.float64)
    model = PBRFFTransformer(20, standardize=False, gamma=1.0, random_state=0).fit(X, y)
    found = model.transform(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.transform(X), atol=1e-6)


@pytest.fixture
def expansion(rng):
    return fourier_expansion(rng.standard_normal((30, 4)), np.zeros(30), rng.standard_normal((30, 2)), np.zeros(2),
                            np.ones(4))


def test_only_far_rows_are_scored_in_double_precision(expansion, rng):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    alone = expansion.score(X)
    assert not np.array_equal(alone, expansion.score(X.astype(np.float64)))  # single precision
    far = X.copy()
    far[::3] *= 1e7
    scores = expansion.score(far)
    np.testing.assert_array_equal(scores[::3], expansion.score(far.astype(np.float64))[::3])
    np.testing.assert_array_equal(scores[1::3], alone[1::3])
    np.testing.assert_array_equal(scores, np.concatenate([expansion.score(row[None]) for row in far]))


def test_the_bound_is_a_mean_of_angles_by_amplitude(rng):
    omegas, phases, center = rng.standard_normal((6, 3)), rng.standard_normal(6), rng.standard_normal(3)
    amplitudes, row = rng.standard_normal((6, 2)), rng.standard_normal(3)
    amplitudes[0] = 0
    omegas[0] = 1e9  # a term without amplitude
    bound = AngleBound.of(omegas, phases, amplitudes, center)
    shares = (np.abs(amplitudes) / np.abs(amplitudes).sum(axis=0)).mean(axis=1)
    angles = np.abs(omegas @ (row - center)) + np.abs(phases)
    assert bound.offset + bound.slopes @ np.abs(row - center) >= shares @ angles
    expected = shares @ (np.abs(omegas) @ np.abs(row - center) + np.abs(phases))
    assert bound.offset + bound.slopes @ np.abs(row - center) == pytest.approx(expected)


@pytest.mark.parametrize("factor", [1e-320, 1e-3, 1e307])
def test_the_bound_does_not_depend_on_the_unit_of_the_amplitudes(factor):
    """Only on how they compare, also where their sum overflows."""
    amplitudes = np.array([[1.0, 0.25], [8.0, 0.25], [8.0, 1.0]])
    omegas, phases = np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]]), np.array([0.5, -3.0, 1.0])
    found, expected = (AngleBound.of(omegas, phases, a, np.ones(2)) for a in (factor * amplitudes, amplitudes))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3)  # 1e-320 has three digits


@pytest.mark.parametrize("amplitudes", [np.zeros((2, 1)), np.full((2, 1), 1e-320), np.full((2, 1), 1e29)])
def test_any_amplitudes(amplitudes):
    bound = AngleBound.of(np.ones((2, 1)), np.zeros(2), amplitudes, np.zeros(1))
    assert np.isfinite(bound.slopes).all()
    assert bound.phases_fit()
    assert len(bound.divide(np.ones((3, 1), np.float32))) == 1


def test_no_terms():
    empty = fourier_expansion(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 1)), [3.0], np.zeros(2))
    np.testing.assert_array_equal(empty.score(np.full((2, 2), 1e30, np.float32)), [[3.0], [3.0]])


@pytest.mark.parametrize("left_in_memory", [False, True])
@pytest.mark.parametrize("together", [1, 8, 1 << 16])
def test_every_row_is_judged(rng, monkeypatch, together, left_in_memory):
    """Whatever stood where the verdicts are written, and however many are judged together."""
    monkeypatch.setattr(angles, "_NUMBERS_TOGETHER", together)
    bound = AngleBound.of(np.ones((2, 4)), np.zeros(2), np.ones((2, 1)), np.zeros(4))
    X = rng.choice([1.0, 1e9], (50, 1)) * np.ones(4)
    monkeypatch.setattr(angles.np, "empty", lambda shape, dtype: np.full(shape, left_in_memory, dtype))
    np.testing.assert_array_equal(bound._is_far(X), X[:, 0] > 1000)


@pytest.mark.parametrize("scale", [1.0, 1e7])
def test_all_rows_near_or_far(expansion, scale):
    X = np.float32(scale) * (1 + np.arange(40, dtype=np.float32).reshape(10, 4))
    exact = expansion.score(X.astype(np.float64))
    assert np.array_equal(expansion.score(X), exact) == (scale > 1)


def test_phases_that_single_precision_cannot_tell(rng):
    far = fourier_expansion(rng.standard_normal((5, 2)), np.full(5, 1e9), np.ones((5, 1)), np.zeros(1), np.zeros(2))
    X = rng.standard_normal((20, 2)).astype(np.float32)
    np.testing.assert_array_equal(far.score(X), far.score(X.astype(np.float64)))
