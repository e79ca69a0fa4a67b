"""Random draws of boosting against NumPy: the same numbers of the same generator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting

DRAWS = 1.5, 30.0  # the fewest and the most


def twin_of_set(rng, relevances, equal_share):
    """What `draw_columns` draws."""
    n, total = len(relevances), relevances.sum()
    chance = equal_share / n + (1 - equal_share) / total * relevances if total > 0 else np.full(n, 1 / n)
    times = DRAWS[0] * np.exp(rng.random() * np.log(DRAWS[1] / DRAWS[0]))
    first = np.searchsorted(chance.cumsum(), rng.random() * chance.cumsum()[-1], side="right")
    chosen = rng.random(n) < -np.expm1(-times * chance)
    chosen[first] = True
    return chosen


def twin_of_candidate(rng, relevances, equal_share, sources):
    """What `draw_candidates` draws for one of them."""
    chosen, scale = twin_of_set(rng, relevances, equal_share)[sources], rng.uniform(-3, 6)
    size, omega = chosen.sum(), np.zeros(len(sources))
    normal = []
    for _ in range(-(-size // 2)):
        length, angle = np.sqrt(-2 * np.log1p(-rng.random())), 2 * np.pi * rng.random()
        normal += [length * np.cos(angle), length * np.sin(angle)]
    omega[chosen] = np.sqrt(2 * 2**scale / size) * np.array(normal[:size])
    return omega, 0.3 / 2 ** (scale / 2)


def scratch(n_sources):
    return np.empty(n_sources, np.uint8), np.full((2, n_sources), np.nan)


def relevances_of(seed, n_sources):
    """Of many columns most are without relevance."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n_sources) < 0.5, rng.exponential(size=n_sources), 0)


CASES = {"seed": st.integers(0, 999), "n_sources": st.integers(1, 40), "equal_share": st.sampled_from([0.1, 1.0])}


@given(**CASES)
def test_columns(seed, n_sources, equal_share):
    relevances, rng, other = relevances_of(seed, n_sources), *map(np.random.default_rng, (seed, seed))
    chosen, chances = scratch(n_sources)
    for _ in range(3):
        boosting.draw_columns(rng, relevances, equal_share, *DRAWS, chosen, chances)
        np.testing.assert_array_equal(chosen, twin_of_set(other, relevances, equal_share))
    assert rng.random() == other.random()


@given(**CASES)
def test_candidates(seed, n_sources, equal_share):
    relevances, rng, other = relevances_of(seed, n_sources), *map(np.random.default_rng, (seed, seed))
    sources = np.repeat(np.arange(n_sources), 1 + np.arange(n_sources) % 3)
    omegas, reg_lambdas = np.full((4, len(sources)), np.nan), np.empty(4)
    boosting.draw_candidates(rng, relevances, equal_share, *DRAWS, sources, -3.0, 6.0, 0.3, omegas, reg_lambdas,
                             *scratch(n_sources))
    for omega, reg_lambda in zip(omegas, reg_lambdas, strict=True):
        expected, expected_ridge = twin_of_candidate(other, relevances, equal_share, sources)
        np.testing.assert_allclose(omega, expected, rtol=1e-12)
        assert reg_lambda == pytest.approx(expected_ridge, rel=1e-12)
    assert rng.random() == other.random()


@pytest.mark.parametrize("name", ["PCG64", "MT19937", "Philox"])
def test_generators(name):
    rng, other = (np.random.Generator(getattr(np.random, name)(1)) for _ in range(2))
    for stop in (1, 2, 7, 1 << 40):
        assert boosting.draw_below(rng, stop) == int(other.random() * stop)


def test_omegas_are_normal():
    omegas, reg_lambdas = np.empty((20_000, 3)), np.empty(20_000)
    boosting.draw_candidates(np.random.default_rng(0), np.ones(3), 1.0, 1e9, 1e9, np.arange(3), 2.0, 2.0, 0.5, omegas,
                             reg_lambdas, *scratch(3))
    assert (reg_lambdas == 0.25).all()
    normal = omegas / np.sqrt(8 / 3)
    np.testing.assert_allclose([normal.mean(), normal.std(), (normal**4).mean()], [0, 1, 3], atol=0.05)
    np.testing.assert_allclose(np.corrcoef(normal.T), np.eye(3), atol=0.03)


def test_relevances_add_up():
    relevances, sources = np.zeros(3), np.array([2, 0, 2, 1])
    boosting.add_relevances(relevances, sources, np.array([0, 2, 2, 1]), np.array([1.0, 2.0, 4.0, 8.0]), 0.5)
    assert relevances.tolist() == [4, 0, 3.5]
    boosting.add_square_relevances(relevances, sources, np.array([0, 2]), np.array([[1.0, 2.0], [3.0, 4.0]]), 2.0)
    assert relevances.tolist() == [4, 0, 63.5]


@pytest.mark.parametrize("stop", [0, -1])
def test_nothing_to_draw_from(stop):
    with pytest.raises(ValueError, match="stop must"):
        boosting.draw_below(np.random.default_rng(0), stop)


def test_what_is_no_generator():
    with pytest.raises(AttributeError):
        boosting.draw_below(1, 2)
