"""Forms of columns against the twin, to the bit."""

import numpy as np
import pytest
import reference
from helpers.packing import DTYPES
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import scoring, simd

LIMIT = 2.0**1022
NO_KNOTS = np.empty(0)
LEVELS = pytest.mark.usefixtures("level")


def map_columns(columns, X, width=1, n_threads=1, limit=LIMIT):
    """What comes out, (n_samples or n_tiles, n_outputs, width), and what was found; columns are lists of forms.

    A form is (kind, numbers) or (kind, numbers, knots, heights).
    """
    forms = [(*form, NO_KNOTS, NO_KNOTS)[:4] for column in columns for form in column]
    kernel = scoring.ColumnForms(
        np.cumsum([0, *map(len, columns)]), np.array([scoring.KINDS[form[0]] for form in forms], np.intp),
        np.array([form[1] for form in forms], float).reshape(-1, 6),
        np.array([len(form[2]) for form in forms], np.intp),
        *(np.concatenate([NO_KNOTS, *(form[k] for form in forms)]) for k in (2, 3)))
    out = np.full((-(-len(X) // width), len(forms), width), 7.0, X.dtype)
    scratch = np.empty((n_threads, scoring.scratch_size(*X.shape)))
    found = scoring.map_rows(kernel, X, limit, out, scratch, n_threads)
    return out, found


def twin(columns, X):
    values = X.astype(np.float64) + 0.0  # a zero has no sign
    mapped = [reference.column_form(kind, numbers, *(knots or (NO_KNOTS, NO_KNOTS)), values[:, j])
              for j, column in enumerate(columns) for kind, numbers, *knots in column]
    return np.stack(mapped, axis=1).astype(X.dtype)


def assert_same_bits(found, expected):
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def random_knots(rng, n_knots):
    """Increasing numbers: even, with heavy tails, in clusters, on a lattice, or far apart and close together."""
    spread = rng.choice(["even", "heavy", "clusters", "lattice", "extreme"])
    draws = {"even": rng.random(n_knots), "heavy": rng.standard_cauchy(n_knots) ** 3,
             "clusters": rng.integers(-2, 3, n_knots) * 1e5 + rng.random(n_knots),
             "lattice": rng.integers(-50, 50, n_knots) / 4.0,
             "extreme": rng.choice([-1, 1], n_knots) * 10.0 ** rng.uniform(-280, 300, n_knots)}
    return np.unique(draws[spread] * rng.choice([1.0, 1e-20, 1e6]))


def around(knots, rng):
    """Values at, just beside, between and beyond knots."""
    beyond = np.array([0.0, -0.0, np.nan, -LIMIT, LIMIT, knots[0] - 1, knots[-1] + 1])
    between = knots[0] + (knots[-1] / 2 - knots[0] / 2) * 2 * rng.random(40)
    return np.concatenate([knots, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf), between, beyond])


@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_ranks(n_knots, seed):
    """Whatever the knots, the buckets lead to the right one, at every level."""
    rng = np.random.default_rng(seed)
    knots = random_knots(rng, n_knots)
    heights = np.cumsum(rng.integers(0, 3, len(knots))) * rng.random()
    values = np.clip(around(knots, rng), -LIMIT, LIMIT)[:, None]
    columns = [[("rank", [0.25, 1.0, 0, 0, 0, 0], knots, heights)]]
    before, expected = simd.selected(), twin(columns, values)
    for level in simd.LEVELS:
        simd.select(level)
        try:
            out, found = map_columns(columns, values)
        finally:
            simd.select(before)
        assert_same_bits(out[:, :, 0], expected)
        assert found == scoring.MISSING


@pytest.mark.parametrize("n_knots", [65_534, 65_536, 70_000, 140_000])
def test_more_knots_than_a_guide_leads_to(n_knots):
    """As crafted files may have them."""
    rng = np.random.default_rng(n_knots)
    knots = np.unique(rng.standard_normal(n_knots))
    values = np.concatenate([knots[::7], knots[-300:], np.nextafter(knots[-300:], 9), [-9.0, 9.0]])[:, None]
    columns = [[("rank", [0.25, 1.0, 0, 0, 0, 0], knots, np.linspace(-1, 1, len(knots)))]]
    assert_same_bits(map_columns(columns, values)[0][:, :, 0], twin(columns, values))


def one_of_each(rng):
    """A column without forms, one of a rank, and one of more forms than are mapped at once."""
    knots = np.unique(rng.standard_normal(200))
    rank = "rank", [0.0, np.sqrt(3), 0, 0, 0, 0], knots, np.linspace(-2, 2, len(knots))
    coarse = "rank", [1.0, 1.0, 0, 0, 0, 0], knots[::50], np.linspace(0, 1, len(knots[::50]))
    others = [("raw", [0.3, np.sqrt(3), 0, 0, 0, 0]), ("standard", [0.0, np.sqrt(3), 0.1, 1.7, 0, 0]),
              ("bounded", [0.0, 1.0, 0.2, 2.5, 0.1, 1.3]), ("within", [0.5, 1.0, -np.inf, 0.2, 2.0, -1.0])]
    return [[], [rank], [*others, rank, *others[::-1], coarse, rank], [others[2]]]


@LEVELS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", [1, 16, 129, 5000])
def test_layouts(dtype, n_rows):
    """Rows one by one and in tiles, in any order of memory, on any number of threads, alone and among others."""
    rng = np.random.default_rng(n_rows)
    columns, X = one_of_each(rng), rng.standard_normal((n_rows, 4)).astype(dtype)
    X[n_rows // 2, :3] = np.nan
    X[::7, 1] = -0.0
    expected = twin(columns, X)
    for given_rows in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1].copy()[::-1]):
        out, found = map_columns(columns, given_rows, n_threads=3)
        assert_same_bits(out[:, :, 0], expected)
        assert found == scoring.MISSING
    for width in (16, 32, 64, 128):
        tiles, _ = map_columns(columns, X, width, n_threads=2)
        rows = tiles.transpose(0, 2, 1).reshape(-1, expected.shape[1])
        assert_same_bits(rows[:n_rows], expected)
        assert not rows[n_rows:].any()
    for i in range(0, n_rows, 701):
        assert_same_bits(map_columns(columns, X[i : i + 1])[0][:, :, 0], expected[i : i + 1])


@LEVELS
@pytest.mark.parametrize("divisor", [2**0.5, 3**0.5, 2.0, 5**0.5, 1.4142])
def test_quotients_are_rounded_once(divisor):
    """Products with a reciprocal are mended, as quotients half way between two numbers tell, and tiny ones."""
    rng = np.random.default_rng(0)
    quotients = np.concatenate([rng.uniform(1, 2, 3000), 2 - rng.integers(1, 900, 500) * 2.0**-52])
    middles = quotients.astype(np.longdouble) + np.longdouble(2.0**-53)
    near = (middles * np.longdouble(divisor)).astype(np.float64)
    values = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 9), rng.standard_normal(3000), [0.0]])
    columns = [[("raw", [0.0, divisor, 0, 0, 0, 0])]]
    for unit in (1.0, -1.0, 2.0**900, 2.0**-900, 1e-200, 1e-310):
        X = (values * unit)[:, None]
        assert_same_bits(map_columns(columns, X)[0][:, :, 0], twin(columns, X))


@LEVELS
def test_extreme_values_stay_finite():
    columns = [[("standard", [0.0, 1.0, -LIMIT, 1e300, 0, 0]), ("bounded", [0.0, 1.0, -LIMIT, 1e300, 0.1, 1.0])]]
    X = np.array([-LIMIT, -1e-310, 0.0, 1e-310, 1e200, LIMIT])[:, None]
    out, found = map_columns(columns, X)
    assert_same_bits(out[:, :, 0], twin(columns, X))
    assert np.isfinite(out).all()
    assert not found


@LEVELS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", [(0, 0), (4999, 1), (2047, 1)])
@pytest.mark.parametrize(("value", "expected"), [
    (np.nan, scoring.MISSING), (np.inf, scoring.UNBOUNDED), (-np.inf, scoring.UNBOUNDED),
    (101.0, scoring.UNBOUNDED), (-101.0, scoring.UNBOUNDED), (100.0, 0), (-100.0, 0)])
def test_gaps_and_unbounded_values_are_found(dtype, place, value, expected):
    """In columns without forms too."""
    X = np.zeros((5000, 2), dtype)
    columns = [[], [("raw", [0.0, 1.0, 0, 0, 0, 0])]]
    assert map_columns(columns, X, limit=100.0)[1] == 0
    X[place] = value
    assert map_columns(columns, X, limit=100.0)[1] == expected
    X[0, 1], X[1, 1] = np.nan, np.inf
    assert map_columns(columns, X, limit=100.0)[1] == scoring.MISSING | scoring.UNBOUNDED


@pytest.mark.parametrize(("changes", "message"), [
    ({"starts": np.array([0])}, "starts must go"), ({"starts": np.array([1, 2])}, "starts must go"),
    ({"starts": np.array([0, 1])}, "starts must go"), ({"starts": np.array([0, 3, 2])}, "starts must not decrease"),
    ({"kinds": np.array([0, 9])}, "kinds must be"), ({"kinds": np.array([-1, 3])}, "kinds must be"),
    ({"numbers": np.ones((1, 6))}, "numbers must have"), ({"numbers": np.ones((2, 5))}, "numbers must have"),
    ({"n_knots": np.array([0])}, "n_knots must have"), ({"n_knots": np.array([0, 0])}, "n_knots must be at least 1"),
    ({"n_knots": np.array([-1, 3])}, "n_knots must be"), ({"n_knots": np.array([0, 4])}, "knots must have sum"),
    ({"knots": np.ones(2)}, "knots must have"), ({"heights": np.ones(2)}, "knots must have"),
    ({"knots": np.ones(4)}, "knots must have"), ({"heights": np.ones(4)}, "heights must have"),
])
def test_forms_that_do_not_agree(changes, message):
    good = {"starts": np.array([0, 2]), "kinds": np.array([0, 3]), "numbers": np.ones((2, 6)),
            "n_knots": np.array([0, 3]), "knots": np.arange(3.0), "heights": np.arange(3.0)}
    assert scoring.ColumnForms(**good).n_outputs == 2
    with pytest.raises(ValueError, match=message):
        scoring.ColumnForms(**good | changes)


@pytest.mark.parametrize("width", [0, 8, 24, 48, 256])
def test_tiles_of_another_width(width):
    kernel = scoring.ColumnForms(np.array([0, 1]), np.array([0]), np.ones((1, 6)), np.array([0]), NO_KNOTS,
                                 NO_KNOTS)
    with pytest.raises(ValueError, match="a width that divides 128"):
        scoring.map_rows(kernel, np.ones((5, 1)), LIMIT, np.ones((1, 1, width)), np.ones((1, 999)), 1)
