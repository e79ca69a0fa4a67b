"""Shapley values of each part beside all coalitions, by the definition."""

import itertools
import math

import numpy as np
import pytest

from rffkern import Expansion, FourierTerms, KernelTerms, LinearTerms, TreeTerms
from rffkern._model.shapley import Background, Explainer

SOURCES = np.array([0, 1, 1, 2, 3, 0])  # raw column 4 is read by nothing
N_COLUMNS = 5
rng = np.random.default_rng(0)
CENTER = rng.standard_normal(6)
ROWS = rng.standard_normal((7, 6))
ROWS_OF_TEN = np.random.default_rng(2).standard_normal((3, 10))
OTHERS = rng.standard_normal((5, 6))

SPARSE = rng.standard_normal((9, 6)) * (rng.random((9, 6)) < 0.5)
TREE_COLUMNS = rng.integers(0, 6, (8, 4))
TREE_THRESHOLDS = rng.standard_normal((8, 4)) / 2
TREE_THRESHOLDS[3, 2:] = TREE_THRESHOLDS[4] = np.finfo(float).max
TREE_THRESHOLDS[5] = TREE_THRESHOLDS[5, 0]
SPLITS = TREE_THRESHOLDS < 1e300
N_LEAVES = sum(math.prod(np.unique(c[s], return_counts=True)[1] + 1) for c, s in zip(TREE_COLUMNS, SPLITS, strict=True))
LENGTHS = np.array([1.0, 0.0, 0.7, 0.5, 0.2, 1.3])
REGIONS = [[1.0, 3.0, 0.0], [0.1, -0.2, 0.3], [0.0, 3.0, 3.0, 6.0, 10.0]]

PARTS = {
    "fourier": lambda: FourierTerms(SPARSE, rng.standard_normal(9), rng.standard_normal((9, 2))),
    "linear": lambda: LinearTerms(rng.standard_normal((6, 2))),
    "trees": lambda: TreeTerms(TREE_COLUMNS, TREE_THRESHOLDS, rng.standard_normal((N_LEAVES, 2))),
    "gaussian": lambda: KernelTerms(rng.standard_normal((10, 6)), rng.standard_normal((10, 2)), LENGTHS),
    "regions": lambda: KernelTerms(rng.standard_normal((10, 6)), rng.standard_normal((10, 2)), LENGTHS, [2.0],
                                   *REGIONS),
    "exponential": lambda: KernelTerms(rng.standard_normal((10, 6)), rng.standard_normal((10, 2)), LENGTHS, [1.0]),
}


def marginals():
    """Distributions of two points for each raw column."""
    shares = [np.array([0.3, 0.7])] * 3 + [np.array([1.0]), np.array([0.5, 0.5])]
    return [OTHERS[: len(each)][:, column == SOURCES] for column, each in enumerate(shares)], shares


def background_rows(kind):
    """Rows and their shares that a background stands for."""
    if kind == "rows":
        return OTHERS, np.full(5, 0.2)
    points, of_points = marginals()
    rows, shares = [], []
    for places in itertools.product(*map(range, map(len, of_points))):
        row = np.empty(6)
        for column, place in enumerate(places):
            row[column == SOURCES] = points[column][place]
        rows.append(row)
        shares.append(math.prod(of_points[column][place] for column, place in enumerate(places)))
    return np.array(rows), np.array(shares)


def game(expansion, kind):
    """v(S) (n_rows, n_outputs) of each coalition of raw columns."""
    others, shares = background_rows(kind)
    found = {}
    for bits in itertools.product([False, True], repeat=N_COLUMNS):
        inside = np.array(bits)[SOURCES]
        hybrids = np.where(inside, ROWS[:, None], others)
        scores = expansion.score(hybrids.reshape(-1, 6)).reshape(len(ROWS), len(others), -1)
        found[bits] = np.einsum("nbo,b->no", scores, shares)
    return found


def shapley_values(v):
    """By the definition."""
    found = np.zeros((len(ROWS), N_COLUMNS, 2))
    for j in range(N_COLUMNS):
        for bits in v:
            if not bits[j]:
                with_j = (*bits[:j], True, *bits[j + 1 :])
                size = sum(bits)
                found[:, j] += (math.factorial(size) * math.factorial(N_COLUMNS - size - 1) / math.factorial(N_COLUMNS)
                                * (v[with_j] - v[bits]))
    return found


def background(kind):
    return (Background.of_rows(OTHERS, N_COLUMNS) if kind == "rows"
            else Background.of_marginals(*marginals(), SOURCES, CENTER))


@pytest.mark.parametrize("kind", ["rows", "marginals"])
@pytest.mark.parametrize("name", [*PARTS, "all"])
def test_values_are_those_of_all_coalitions(name, kind):
    parts = [PARTS[name]()] if name != "all" else [PARTS[each]() for each in ("fourier", "linear", "trees", "regions")]
    expansion = Expansion([1.0, -2.0], CENTER, *parts)
    v = game(expansion, kind)
    explainer = Explainer(expansion, SOURCES, N_COLUMNS, background(kind))
    tolerance = 1e-5 if name == "exponential" else 1e-12
    np.testing.assert_allclose(explainer.base_values, v[(False,) * N_COLUMNS][0], atol=tolerance)
    values = explainer.values(ROWS)
    np.testing.assert_allclose(values, shapley_values(v), atol=tolerance)
    assert not values[:, 4].any()
    np.testing.assert_allclose(values.sum(axis=1) + explainer.base_values, expansion.score(ROWS), atol=1e-12)


def interactions(v):
    """Grabisch and Roubens, 1999, equation 9, half at both places, and on the diagonal what is left of the values."""
    found = np.zeros((len(ROWS), N_COLUMNS, N_COLUMNS, 2))
    for i, j in itertools.combinations(range(N_COLUMNS), 2):
        for bits in v:
            if bits[i] or bits[j]:
                continue
            size = sum(bits)
            weight = (math.factorial(size) * math.factorial(N_COLUMNS - size - 2) / math.factorial(N_COLUMNS - 1))
            joined = [tuple(bit or k in players for k, bit in enumerate(bits)) for players in ((i, j), (i,), (j,))]
            found[:, i, j] += weight / 2 * (v[joined[0]] - v[joined[1]] - v[joined[2]] + v[bits])
        found[:, j, i] = found[:, i, j]
    for j in range(N_COLUMNS):
        found[:, j, j] = shapley_values(v)[:, j] - found[:, j].sum(axis=1)
    return found


@pytest.mark.parametrize("kind", ["rows", "marginals"])
@pytest.mark.parametrize("name", [*PARTS, "all"])
def test_interactions_are_those_of_all_coalitions(name, kind):
    parts = [PARTS[name]()] if name != "all" else [PARTS[each]() for each in ("fourier", "linear", "trees", "regions")]
    expansion = Expansion([1.0, -2.0], CENTER, *parts)
    explainer = Explainer(expansion, SOURCES, N_COLUMNS, background(kind))
    values = explainer.values(ROWS)
    found = explainer.interactions(ROWS, values)
    np.testing.assert_allclose(found.sum(axis=2), values, atol=1e-12)
    tolerance = 1e-4 if name == "exponential" else 1e-12
    np.testing.assert_allclose(found, interactions(game(expansion, kind)), atol=tolerance)


def test_columns_that_enter_alike_have_equal_values():
    """A function that is symmetric in two columns, at rows and in a background where they are equal."""
    alike = rng.standard_normal((6, 1)) * [1, 1, 0] + rng.standard_normal((6, 3)) * [0, 0, 1]
    rows = np.column_stack([alike[:, 2], alike[:, :2]])
    expansion = Expansion([0.0], np.zeros(3), FourierTerms([[0.3, 1.0, 1.0]], [0.4], [[1.0]]),
                          KernelTerms([[0.1, 0.2, 0.2]], [[2.0]], [1.0, 0.5, 0.5]))
    values = Explainer(expansion, np.arange(3), 3, Background.of_rows(rows[:3], 3)).values(rows)
    np.testing.assert_allclose(values[:, 1], values[:, 2], atol=1e-14)
    assert np.abs(values[:, 0] - values[:, 1]).max() > 0.01


def test_many_columns_of_a_term():
    """Where fewer nodes are taken than are exact, values still add up, and are those of more nodes."""
    from rffkern._model import shapley

    n = 300
    rows, others = rng.standard_normal((2, 4, n))
    expansion = Expansion([0.0], np.zeros(n), FourierTerms(rng.standard_normal((3, n)), rng.random(3), np.ones((3, 1))))
    explainer = Explainer(expansion, np.arange(n), n, Background.of_rows(others, n))
    values = explainer.values(rows)
    assert len(shapley.nodes_of(n)[0]) == 67
    np.testing.assert_allclose(values.sum(axis=1) + explainer.base_values, expansion.score(rows), atol=1e-11)


def test_a_mixture_is_near_its_kernel():
    from rffkern._model.shapley import mixture

    r = np.concatenate([[0.0], np.geomspace(1e-9, 100, 3000)])
    found = sum(weight * np.exp(-rate * r**2) for weight, rate in mixture("exponential"))
    assert np.abs(found - np.exp(-r)).max() < 4e-6


def test_threads_and_other_rows_change_no_bit():
    parts = [PARTS[each]() for each in ("fourier", "trees", "regions")]
    explainer = Explainer(Expansion([1.0, -2.0], CENTER, *parts), SOURCES, N_COLUMNS, background("marginals"))
    rows = rng.standard_normal((50, 6))
    whole = explainer.values(rows)
    for n_threads in (2, 3):
        np.testing.assert_array_equal(explainer.values(rows, n_threads), whole)
    np.testing.assert_array_equal(explainer.values(rows[17:18]), whole[17:18])
    pairs = explainer.interactions(rows, whole)
    np.testing.assert_array_equal(explainer.interactions(rows, whole, 2), pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fourier", "linear", "trees", "gaussian", "regions", "exponential", "all"])
def test_ten_columns_and_three_outputs(name):
    """All 1,024 coalitions, with rows as background."""
    draw, n, d = np.random.default_rng(1), 20, 10
    thresholds = draw.standard_normal((n, 6)) / 2
    columns = np.array([draw.permutation(d)[:6] for _ in range(n)])
    kernels = draw.standard_normal((n, d)), draw.standard_normal((n, 3)), draw.uniform(0.1, 0.6, d)
    weights = draw.standard_normal((n, 3))
    parts = {"fourier": FourierTerms(draw.standard_normal((n, d)), draw.standard_normal(n), weights),
             "linear": LinearTerms(draw.standard_normal((d, 3))),
             "trees": TreeTerms(columns, thresholds, draw.standard_normal((64 * n, 3))),
             "gaussian": KernelTerms(*kernels),
             "regions": KernelTerms(*kernels, [2.0], [4.0, 2.0, 7.0], [0.1, -0.2, 0.3], [0.0, 3.0, 9.0, 14.0, 20.0]),
             "exponential": KernelTerms(*kernels, [1.0])}
    chosen = [parts[each] for each in ("fourier", "linear", "trees", "regions")] if name == "all" else [parts[name]]
    expansion, rows, others = Expansion(np.ones(3), np.zeros(d), *chosen), draw.standard_normal((2, d)), ROWS_OF_TEN
    bits = (np.arange(1 << d)[:, None] >> np.arange(d)) & 1
    found = Explainer(expansion, np.arange(d), d, Background.of_rows(others, d)).values(rows)
    for row, values in zip(rows, found, strict=True):
        hybrids = np.where(bits[:, None] == 1, row, others)
        v = expansion.score(hybrids.reshape(-1, d)).reshape(1 << d, len(others), 3).mean(axis=1)
        for j in range(d):
            without = np.flatnonzero(bits[:, j] == 0)
            sizes = bits[without].sum(axis=1)
            shares = np.array([1 / (d * math.comb(d - 1, size)) for size in range(d)])[sizes]
            expected = shares @ (v[without | 1 << j] - v[without])
            np.testing.assert_allclose(values[j], expected, rtol=0, atol=1e-5 if name == "exponential" else 1e-11)


@pytest.mark.parametrize("n_kernels", [0, 3])
def test_kernels_that_read_no_column(n_kernels):
    kernels = KernelTerms(np.ones((n_kernels, 2)), np.ones((n_kernels, 1)), np.zeros(2), [1.0])
    rows = np.random.default_rng(0).standard_normal((5, 2))
    found = Explainer(Expansion(np.ones(1), np.zeros(2), kernels), np.arange(2), 2, Background.of_rows(rows, 2))
    np.testing.assert_allclose(found.base_values, 1.0 + n_kernels)
    assert not found.values(rows).any()
