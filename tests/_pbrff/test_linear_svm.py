"""Dual coordinate descent and the interior point method: against their twins, each other and problems worked by
hand."""

import warnings

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES
from hypothesis import given
from hypothesis import strategies as st

from rffkern._kernels import linear_svm
from rffkern._pbrff import linear_svm as _svm


def problem(seed, n_samples, n_features, dtype=np.float64, overlap=1.0):
    """Features padded to whole vectors with a constant column, signs and uneven bounds."""
    rng = np.random.default_rng(seed)
    width = -(-(n_features + 1) // 16) * 16
    features = np.zeros((n_samples, width), dtype)
    features[:, :n_features] = rng.standard_normal((n_samples, n_features)) / np.sqrt(n_features)
    features[:, n_features] = 1
    score = features[:, 0] * 3 + overlap * rng.standard_normal(n_samples)
    return features, np.where(score > 0, 1, -1).astype(np.int8), rng.uniform(0.5, 2, n_samples)


def solve(features, sign, bound, squared, tol=1e-6, seed=1, n_threads=1):
    return _svm.fit_machine(features, sign, bound, squared, tol, seed, n_threads)


def second_order(features, sign, bound, squared, tol):
    problem = _svm._Problem(features.astype(np.float64), sign, bound, squared, 1)
    start = _svm.Machine(np.zeros(problem.width), np.zeros(problem.n_samples), 0, 1.0)
    return (_svm._newton if squared else _svm._interior_point)(problem, start, tol)


sizes = st.tuples(st.integers(0, 10**6), st.sampled_from([2, 3, 17, 200, 2100]), st.sampled_from([1, 3, 15, 40]))


@given(sizes, st.sampled_from(DTYPES), st.booleans(), st.sampled_from([0.01, 1.0, 30.0]))
def test_the_gap_is_reached(size, dtype, squared, C):
    """Weak duality makes the gap a proof: whatever the path, w is within tol of the best."""
    features, sign, bound = problem(*size, dtype)
    machine = solve(features, sign, C * bound, squared, 1e-4)
    slack = np.maximum(0, 1 - sign * (features @ machine.coef))
    primal = 0.5 * machine.coef @ machine.coef + C * bound @ (slack**2 if squared else slack)
    best = second_order(features, sign, C * bound, squared, 1e-9)
    slack = np.maximum(0, 1 - best.margins)
    lowest = 0.5 * best.coef @ best.coef + C * bound @ (slack**2 if squared else slack)
    assert lowest * (1 - 1e-6) <= primal <= lowest * (1 + 2e-4)
    np.testing.assert_allclose(machine.margins, sign * (features @ machine.coef), atol=1e-4)


@given(sizes, st.booleans())
def test_objectives_are_those_of_the_twin(size, squared):
    features, sign, bound = problem(*size)
    alpha = np.random.default_rng(size[0]).uniform(0, 1, len(sign)) * bound
    primal, dual = reference.machine_objectives(features, sign, bound, squared, alpha)
    problem_ = _svm._Problem(features, sign, bound, squared, 1)
    coef = problem_.combine(alpha)
    assert problem_.primal(coef, problem_.project(coef)) == pytest.approx(primal, rel=1e-12)
    assert problem_.dual(alpha, coef) == pytest.approx(dual, rel=1e-12, abs=1e-12)


@given(sizes, st.sampled_from(DTYPES), st.booleans())
def test_an_epoch_raises_the_dual_and_stays_feasible(size, dtype, squared):
    features, sign, bound = problem(*size, dtype)
    curvature = (features.astype(np.float64) ** 2).sum(axis=1)
    alpha, coef, active = np.zeros(len(sign)), np.zeros(features.shape[1], dtype), np.arange(len(sign))
    state, duals = np.array([7], np.uint64), [0.0]
    for _ in range(5):
        done = linear_svm.descend_dual(features, sign, bound, curvature, squared, 0.0, 1, alpha, coef, active, state)
        assert done == 1
        assert (alpha >= 0).all()
        assert squared or (alpha <= bound).all()
        assert sorted(active) == list(range(len(sign)))
        duals.append(reference.machine_objectives(features.astype(np.float64), sign, bound, squared, alpha)[1])
    assert (np.diff(duals) >= -1e-5 * np.abs(duals[1:])).all()
    np.testing.assert_allclose(coef, features.T.astype(np.float64) @ (alpha * sign), atol=2e-4)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.1, 1e3, 1e6])
def test_converged_not_capped_for_any_C(C, squared):
    """Overlapping classes and a large C are what coordinate descent crawls on."""
    features, sign, bound = problem(3, 3000, 20)
    machine = solve(features, sign, C * bound, squared, 1e-6)
    assert machine.gap <= 1e-6
    assert machine.n_passes < 1500
    assert np.mean(machine.margins > 0) > 0.6


@pytest.mark.parametrize(("squared", "expected"), [(False, 1.0), (True, 0.8)])
def test_two_rows_by_hand(squared, expected):
    """x = +-1, no constant: w minimises w^2 / 2 + 2 max(0, 1 - w) -> 1; squared: w + 4 (w - 1) = 0 -> 0.8."""
    features = np.zeros((2, 16))
    features[:, 0] = 1, -1
    for method in (solve, second_order):
        machine = method(features, np.array([1, -1], np.int8), np.ones(2), squared, 1e-12)
        assert machine.coef[0] == pytest.approx(expected, abs=1e-5)


def test_single_precision_goes_on_in_double():
    """A gap below the rounding of single precision is reached all the same."""
    features, sign, bound = problem(5, 300, 15, np.float32)
    assert solve(features, sign, bound, True, 1e-11).gap <= 1e-11


@pytest.mark.parametrize("squared", [False, True])
def test_wide_problems_end(squared, monkeypatch):
    """Beyond the widths of Newton's methods coordinate descent goes on alone, and rounding does not make it a hang."""
    monkeypatch.setattr(_svm, "_WIDEST", 10)
    features, sign, bound = problem(5, 200, 15, np.float32)
    assert solve(features, sign, bound, squared, 1e-6).gap <= 1e-6
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "rounding keeps the support vector machine from the relative gap")
        assert abs(solve(features, sign, bound, squared, 1e-18).gap) < 1e-9


def test_newton_does_not_believe_margins_of_lower_precision():
    """They come with rounding errors, which a large C turns into a loss below the lowest, that no step can reach."""
    features, sign, bound = problem(8, 42, 200)
    best = second_order(features, sign, 1e3 * bound, True, 1e-10)
    start = best._replace(coef=best.coef * 0.999, margins=best.margins + 1e-3)
    assert _svm._newton(_svm._Problem(features, sign, 1e3 * bound, True, 1), start, 1e-6).gap <= 1e-6


@pytest.mark.parametrize("C", [1.0, 1e4, 1e5])
@pytest.mark.parametrize("squared", [False, True])
def test_a_gap_beyond_rounding_ends_finite(C, squared):
    """Where rounding puts a row on its barrier the best point so far is the answer, not nan."""
    for seed in range(6):
        features, sign, bound = problem(seed, 128, 20, overlap=5.0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "rounding keeps the support vector machine from the relative gap")
            machine = solve(features, sign, C * bound, squared, 1e-12)
        assert np.isfinite(machine.coef).all()
        assert machine.gap < 1e-6


def test_the_order_of_rows_is_the_seed_s(rng):
    features, sign, bound = problem(9, 400, 15)
    first, again, other = (solve(features, sign, bound, True, 1e-3, seed) for seed in (1, 1, 2))
    assert first.coef.tobytes() == again.coef.tobytes() != other.coef.tobytes()


@pytest.mark.parametrize("squared", [False, True])
def test_bits_do_not_depend_on_threads(squared):
    features, sign, bound = problem(2, 5000, 20)
    for C in (0.1, 1e3):  # by coordinate descent, and beyond it
        coefs = [solve(features, sign, C * bound, squared, 1e-4, n_threads=n).coef.tobytes() for n in (1, 2, 3)]
        assert coefs[0] == coefs[1] == coefs[2]


def test_weighted_gram(rng):
    for dtype, width in ((np.float64, 32), (np.float32, 144), (np.float64, 272)):
        features, scale = rng.standard_normal((1500, width)).astype(dtype), rng.uniform(-1, 2, 1500).clip(0)
        partial = np.full((8, width, width), np.nan)
        scratch = np.zeros((2, linear_svm.gram_scratch(width)), dtype)
        linear_svm.weighted_gram(features, scale, partial, scratch, 2)
        wide = features.astype(np.float64)
        np.testing.assert_allclose(np.tril(partial[0]), np.tril((wide.T * scale) @ wide),
                                   atol=1e-3 if dtype is np.float32 else 1e-10)


def test_probability_slope_by_hand():
    """n rows of margin 1, all right: P(right) = (n + 1) / (n + 2), so the slope is ln(n + 1)."""
    signs = np.repeat([[1], [-1]], 50, axis=0).astype(np.int8)
    alike = np.ones(100)
    assert _svm.probability_slope(np.ones((100, 1)), signs, alike) == pytest.approx(np.log(51), rel=1e-6)
    assert _svm.probability_slope(np.ones((100, 1)), signs, 2 * alike) == pytest.approx(np.log(101), rel=1e-6)
    huge = _svm.probability_slope(1e200 * np.ones((100, 1)), signs, alike)
    assert huge == pytest.approx(1e-200 * np.log(51), rel=1e-6)
    useless = _svm.probability_slope(np.where(np.arange(100) % 2, 1.0, -1.0)[:, None], signs, alike)
    assert 0 < useless < 0.1
    assert _svm.probability_slope(np.zeros((100, 1)), signs, alike) == 1
    weighted = _svm.probability_slope(np.array([[1.0], [-1.0]]), np.array([[1], [-1]], np.int8), np.array([3.0, 1.0]))
    assert weighted > 0
