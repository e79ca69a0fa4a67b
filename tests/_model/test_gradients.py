"""Gradients beside finite differences, and bounds of the rise beside rows that are drawn."""

import math

import numpy as np
import pytest

from rffkern import Expansion, FourierTerms, InvalidInputError, KernelTerms, LinearTerms, TreeTerms
from rffkern._model.gradients import Neighbourhood, gradient_of_row

rng = np.random.default_rng(0)
CENTER = rng.standard_normal(5)
ROWS = rng.standard_normal((6, 5))
TREE_COLUMNS, TREE_THRESHOLDS = rng.integers(0, 5, (9, 4)), rng.standard_normal((9, 4)) / 2
TREE_THRESHOLDS[3, 2:] = TREE_THRESHOLDS[4] = np.finfo(float).max
SPLITS = TREE_THRESHOLDS < 1e300
N_LEAVES = sum(math.prod(np.unique(c[s], return_counts=True)[1] + 1) for c, s in zip(TREE_COLUMNS, SPLITS, strict=True))
LENGTHS = np.array([1.0, 0.0, 0.7, 0.5, 0.2])
REGIONS = [[1.0, 3.0, 0.0], [0.1, -0.2, 0.3], [0.0, 3.0, 3.0, 6.0, 10.0]]
SMOOTH = {
    "fourier": FourierTerms(rng.standard_normal((9, 5)) * (rng.random((9, 5)) < 0.6), rng.standard_normal(9),
                            rng.standard_normal((9, 2))),
    "linear": LinearTerms(rng.standard_normal((5, 2))),
    "gaussian": KernelTerms(rng.standard_normal((10, 5)), rng.standard_normal((10, 2)), LENGTHS),
    "regions": KernelTerms(rng.standard_normal((10, 5)), rng.standard_normal((10, 2)), LENGTHS, [2.0], *REGIONS),
    "exponential": KernelTerms(rng.standard_normal((10, 5)), rng.standard_normal((10, 2)), LENGTHS, [1.0]),
}
TREES = TreeTerms(TREE_COLUMNS, TREE_THRESHOLDS, rng.standard_normal((N_LEAVES, 2)))
PARTS = SMOOTH | {"trees": TREES}


@pytest.mark.parametrize("kind", SMOOTH)
def test_gradients_are_finite_differences(kind):
    expansion = Expansion([0.5, -1.0], CENTER, SMOOTH[kind], TREES)
    smooth = Expansion([0.0, 0.0], CENTER, SMOOTH[kind])
    for row in ROWS:
        found = gradient_of_row(expansion, row)
        for column in range(5):
            step = 1e-6 * np.eye(5)[column]
            expected = (smooth.score([row + step]) - smooth.score([row - step]))[0] / 2e-6
            np.testing.assert_allclose(found[column], expected, rtol=0, atol=1e-7)


def test_columns_beyond_their_bounds_have_no_slope():
    expansion = Expansion([0.0, 0.0], CENTER, SMOOTH["linear"], lower=np.full(5, -0.5), upper=np.full(5, 0.5))
    row = np.array([0.0, -1.0, 0.4, 2.0, 0.5])
    found = gradient_of_row(expansion, row)
    np.testing.assert_array_equal(found, SMOOTH["linear"].coefficients * np.array([1, 0, 1, 0, 1])[:, None])


def test_the_kink_of_a_kernel_has_no_slope():
    part = KernelTerms([[1.0]], [[2.0]], [1.0], [1.0])
    np.testing.assert_array_equal(gradient_of_row(Expansion([0.0], [0.0], part), np.ones(1)), [[0.0]])


def test_extreme_terms_have_finite_gradients():
    part = FourierTerms([[1e300], [-1e300]], [1.0, 2.0], [[1e10], [3e10]])
    assert np.isfinite(gradient_of_row(Expansion([0.0], [0.0], part), np.ones(1))).all()


def test_a_part_without_a_gradient_is_refused():
    class Other(LinearTerms):
        pass

    part = Other(np.ones((1, 1)))
    expansion = Expansion([0.0], [0.0], part)
    assert gradient_of_row(expansion, np.ones(1)).tolist() == [[1.0]]  # as its base
    vars(expansion)["parts"] = (object.__new__(type("Unknown", (), {"kind": "unknown"})),)
    with pytest.raises(InvalidInputError, match="parts of kind 'unknown' have no gradient"):
        gradient_of_row(expansion, np.ones(1))


def moved(row, reaches, n_rows):
    """Rows of a neighbourhood, where free columns move the mapped ones by as much as they can, together."""
    shares = rng.laplace(size=(n_rows, reaches.shape[1]))
    shares /= np.abs(shares).sum(axis=1, keepdims=True)
    shares[: n_rows // 2] = np.sign(shares[: n_rows // 2]) * np.eye(reaches.shape[1])[
        rng.integers(0, reaches.shape[1], n_rows // 2)]
    shares *= rng.random((n_rows, 1)) ** 0.3
    signs = rng.choice([-1.0, 1.0], (n_rows, *reaches.shape))
    return row + (signs * reaches * np.abs(shares)[:, None]).sum(axis=2)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("is_disjoint", [True, False])
def test_no_row_of_a_neighbourhood_rises_further(kind, is_disjoint):
    """Bounds hold for rows that are drawn, and are reached to some part in a small neighbourhood."""
    expansion = Expansion([0.5, -1.0], CENTER, PARTS[kind], lower=np.full(5, -1.5), upper=np.full(5, 1.5))
    outputs = np.array([1.0, -0.4])
    for row in ROWS:
        for radius in (0.01, 0.1, 0.5, 3.0):
            reaches = radius * np.array([[1.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.7],
                                         [0.0, 0.0, 0.0]])
            if not is_disjoint:
                reaches[4] = radius * 0.3
            bound = Neighbourhood(expansion, row, reaches).rise(outputs)
            rows = moved(row, reaches, 400)
            rises = (expansion.score(rows) - expansion.score(row[None])) @ outputs
            assert rises.max() <= bound + 1e-9
            if radius == 0.01 and kind not in ("regions", "trees"):
                assert bound <= 4 * max(rises.max(), -rises.min()) + 1e-3


def test_trees_rise_to_leaves_that_are_near_enough():
    """Worked by hand: one tree, leaves 0, 1 by column 0 and 2, 3 by column 1."""
    trees = TreeTerms([[0, 1]], [[1.0, 1.0]], [[0.0], [1.0], [10.0], [100.0]])
    expansion, row = Expansion([0.0], [0.0, 0.0], trees), np.zeros(2)

    def rise(radius):
        return Neighbourhood(expansion, row, radius * np.eye(2)).rise(np.ones(1))

    assert [rise(radius) for radius in (0.99, 1.0, 1.99, 2.0)] == [0.0, 10.0, 10.0, 100.0]
    assert Neighbourhood(expansion, row, np.array([[5.0], [0.0]])).rise(np.ones(1)) == 1.0
    assert Neighbourhood(expansion, row, np.zeros((2, 0))).rise(np.ones(1)) == 0.0
