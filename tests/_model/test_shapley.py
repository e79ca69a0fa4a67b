"""Shapley values of each part beside all coalitions, by the definition."""

import itertools
import math

import numpy as np
import pytest

from rffkern import Expansion, FourierTerms, KernelTerms, LinearTerms, TreeTerms
from rffkern._model.shapley import Background, Explainer, Marginals

SOURCES = np.array([0, 1, 1, 2, 3, 0])  # raw column 4 is read by nothing
N_COLUMNS = 5
rng = np.random.default_rng(0)
CENTER = rng.standard_normal(6)
ROWS = rng.standard_normal((7, 6))
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
    return Marginals([OTHERS[: len(each)][:, column == SOURCES] for column, each in enumerate(shares)], shares)


def background_rows(kind):
    """Rows and their shares that a background stands for."""
    if kind == "rows":
        return OTHERS, np.full(5, 0.2)
    given = marginals()
    rows, shares = [], []
    for places in itertools.product(*map(range, map(len, given.shares))):
        row = np.empty(6)
        for column, place in enumerate(places):
            row[column == SOURCES] = given.points[column][place]
        rows.append(row)
        shares.append(math.prod(given.shares[column][place] for column, place in enumerate(places)))
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
            else Background.of_marginals(marginals(), SOURCES, CENTER))


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
