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


@pytest.mark.parametrize("factor", [1e-320, 1e-3, 1e28])
def test_which_rows_are_far_does_not_depend_on_the_unit_of_the_amplitudes(rng, factor):
    """Only on how they compare."""
    amplitudes = np.array([[1.0, 0.25], [8.0, 0.25], [8.0, 1.0]])
    omegas, phases = np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]]), np.array([0.5, -3.0, 1.0])
    X = (10 ** rng.uniform(0, 6, (300, 1)) * rng.standard_normal((300, 2))).astype(np.float32)
    found, expected = (fourier_expansion(omegas, phases, a, np.zeros(2), np.ones(2))._scorer.in_precisions(X)
                       for a in (factor * amplitudes, amplitudes))
    assert [part.dtype for _, part in found] == [np.float32, np.float64]
    assert sum((a != b).sum() for (a, _), (b, _) in zip(found, expected, strict=True)) <= (2 if factor < 1e-300 else 0)


@pytest.mark.parametrize("amplitudes", [np.zeros((2, 1)), np.full((2, 1), 1e-320), np.full((2, 1), 1e29)])
def test_any_amplitudes(amplitudes):
    scorer = fourier_expansion(np.ones((2, 1)), np.zeros(2), amplitudes, np.zeros(1), np.zeros(1))._scorer
    assert all(scorer.fits)
    assert len(scorer.in_precisions(np.ones((3, 1), np.float32))) == 1


def test_no_terms():
    empty = fourier_expansion(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 1)), [3.0], np.zeros(2))
    np.testing.assert_array_equal(empty.score(np.full((2, 2), 1e30, np.float32)), [[3.0], [3.0]])


@pytest.mark.parametrize("scale", [1.0, 1e7])
def test_all_rows_near_or_far(expansion, scale):
    X = np.float32(scale) * (1 + np.arange(40, dtype=np.float32).reshape(10, 4))
    exact = expansion.score(X.astype(np.float64))
    assert np.array_equal(expansion.score(X), exact) == (scale > 1)


def test_phases_that_single_precision_cannot_tell(rng):
    far = fourier_expansion(rng.standard_normal((5, 2)), np.full(5, 1e9), np.ones((5, 1)), np.zeros(1), np.zeros(2))
    X = rng.standard_normal((20, 2)).astype(np.float32)
    np.testing.assert_array_equal(far.score(X), far.score(X.astype(np.float64)))
