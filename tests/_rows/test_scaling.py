"""Mean and spread of columns of any magnitude, weighted and streamed, and targets in units of their spread."""

from unittest import mock

import numpy as np
import pytest

from rffkern import InvalidInputError, RowBlocks
from rffkern._rows import row_blocks
from rffkern._rows.scaling import RowSums, measure_scaling, no_scaling, standardised_targets, target_scaling
from rffkern._rows.weights import RowWeights, check_weights
from rffkern.errors import DataConversionWarning


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_and_spread(rng, weighted):
    X = rng.standard_normal((5000, 3)) * [1, 1e-3, 50] + [0, 1900, -7]
    weight = rng.integers(0, 4, 5000).astype(float) if weighted else np.ones(5000)
    found = measure_scaling(X, check_weights(weight, 5000))
    center = np.average(X, axis=0, weights=weight)
    variance = np.average((X - center) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(found.center, center, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.inverse_scale, 1 / np.sqrt(variance), rtol=1e-7)
    assert found.mean_variance == pytest.approx(variance.mean())


@pytest.mark.parametrize("magnitude", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_columns_of_any_magnitude(magnitude):
    found = measure_scaling(magnitude * np.array([[1.0], [3.0]]), RowWeights(2))
    assert found.center[0] == pytest.approx(2 * magnitude, rel=1e-12)
    assert found.inverse_scale[0] == pytest.approx(1 / magnitude, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_scaling_at_the_ends_of_the_range(rng, unit):
    X = rng.standard_normal((500, 3)) + np.array([0, 5, -5])
    scaling = measure_scaling(X * unit, RowWeights(500))
    np.testing.assert_allclose(scaling.center, X.mean(axis=0) * unit, rtol=1e-9)
    np.testing.assert_allclose(scaling.inverse_scale, 1 / X.std(axis=0) / unit, rtol=1e-9)


def test_a_spread_whose_inverse_would_overflow_counts_as_none(rng):
    scaling = measure_scaling(rng.standard_normal((50, 2)) * np.array([1e-307, 1.0]), RowWeights(50))
    assert scaling.inverse_scale[0] == 0
    assert scaling.inverse_scale[1] == pytest.approx(1, rel=0.3)


def test_weighted_scaling_is_that_of_repeated_rows(rng):
    X, repeats = rng.standard_normal((60, 4)), rng.integers(1, 5, 60)
    weighted = measure_scaling(X, RowWeights(60, repeats.astype(float)))
    repeated = measure_scaling(np.repeat(X, repeats, axis=0), RowWeights(int(repeats.sum())))
    np.testing.assert_allclose(weighted.center, repeated.center, atol=1e-14)
    np.testing.assert_allclose(weighted.inverse_scale, repeated.inverse_scale, rtol=1e-12)


def test_columns_that_do_not_vary():
    """Their scale is 0, with standardisation or without, and their center is their very value."""
    X = np.column_stack([np.full(100, 0.1), np.arange(100.0)])
    for standardize, scale in ((True, 1 / np.arange(100.0).std()), (False, 1.0)):
        found = measure_scaling(X, RowWeights(100), standardize)
        assert found.center[0] == 0.1
        assert found.inverse_scale.tolist() == [0, pytest.approx(scale)]


def test_rows_without_weight_decide_nothing():
    X, weight = np.column_stack([np.full(50, 3.0), np.arange(50.0)]), np.ones(50)
    X[:5], weight[:5] = 1e200, 0
    found, expected = measure_scaling(X, check_weights(weight, 50)), measure_scaling(X[5:], RowWeights(45))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_blocks_are_measured_as_arrays_are(rng):
    X, weight = rng.standard_normal((5000, 2)), rng.integers(0, 2, 5000).astype(float)
    weight[2048:4096] = 0  # a whole block
    with mock.patch.object(row_blocks, "BLOCK_ELEMENTS", 1):
        streamed = measure_scaling(RowBlocks([X[:99], X[99:]])._check(), check_weights(weight, 5000))
    held = measure_scaling(X, check_weights(weight, 5000))
    np.testing.assert_allclose(streamed.center, held.center, atol=1e-15)
    np.testing.assert_allclose(streamed.inverse_scale, held.inverse_scale, rtol=1e-14)


def test_a_column_that_is_constant_in_every_block_may_still_vary():
    X = np.column_stack([np.repeat([3.0, -1.0, 2.0], 2048), np.full(6144, 7.0)])
    with mock.patch.object(row_blocks, "BLOCK_ELEMENTS", 1):
        found = measure_scaling(RowBlocks(X)._check(), RowWeights(6144))
    np.testing.assert_allclose(found.center, [4 / 3, 7.0], rtol=1e-14)
    np.testing.assert_allclose(found.inverse_scale, [1 / X[:, 0].std(), 0.0], rtol=1e-14)


def test_bits_do_not_depend_on_threads():
    X = np.random.default_rng(0).standard_normal((200_000, 6))
    found = [measure_scaling(X, RowWeights(200_000), n_threads=n) for n in (1, 2, 3)]
    assert found[0].center.tobytes() == found[1].center.tobytes() == found[2].center.tobytes()
    assert found[0].inverse_scale.tobytes() == found[1].inverse_scale.tobytes() == found[2].inverse_scale.tobytes()


def test_no_scaling_leaves_rows_as_they_are():
    assert no_scaling(2).center.tolist() == [0, 0]
    assert no_scaling(2).inverse_scale.tolist() == [1, 1]


def test_targets_in_units_of_their_spread():
    values, center, inverse_scale = np.array([[3.0], [1e300], [1.0]]), np.array([2.0]), np.array([0.5])
    found = standardised_targets(values, check_weights([1, 0, 1], 3), center, inverse_scale, "y")
    assert found.tolist() == [[0.5], [0.0], [-0.5]]
    with pytest.raises(InvalidInputError, match="eval_set y must lie within 1e\\+15 standard deviations"):
        standardised_targets(values, RowWeights(3), center, inverse_scale, "eval_set y")


# --- columns that a few rows spoil

def spoilt_rows(rng, n_rows=500):
    X = 5 + 2 * rng.standard_normal((n_rows, 3))
    X[[3, 50, 499], 1] = [1e9, 1e12, -1e10]
    return X


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_few_rows_far_out_do_not_set_the_scale(rng, in_blocks):
    X = spoilt_rows(rng)
    bulk = np.delete(X, [3, 50, 499], axis=0)
    rows = RowBlocks(lambda: iter([X[:40], X[40:]]))._check() if in_blocks else X
    X_given = X.copy()
    with pytest.warns(DataConversionWarning, match=r"column 1 of X .* between -1e\+10 and 1e\+12, that its standard"):
        found = measure_scaling(rows, RowWeights(len(X)))
    np.testing.assert_allclose(found.center[1], bulk[:, 1].mean(), rtol=1e-8)  # of distances from some 1e9
    np.testing.assert_allclose(found.inverse_scale[1], 1 / bulk[:, 1].std(), rtol=1e-10)
    held = found.clip_outliers(rows)
    held = np.concatenate([block for _, block in held._blocks()]) if in_blocks else held
    np.testing.assert_array_equal(np.delete(held, [3, 50, 499], axis=0), bulk)
    apart = (held[[3, 50, 499], 1] - found.center[1]) * found.inverse_scale[1]
    np.testing.assert_allclose(apart, [10, 10, -10])
    np.testing.assert_array_equal(X, X_given)
    ordinary = np.ascontiguousarray(X[:, [0, 2]])
    plain = measure_scaling(ordinary, RowWeights(len(X)))
    np.testing.assert_array_equal(found.inverse_scale[[0, 2]], plain.inverse_scale)
    assert plain.clip_outliers(ordinary) is ordinary


def test_weights_count_in_the_bulk(rng):
    X = spoilt_rows(rng)
    weights = rng.integers(0, 3, len(X)).astype(float)
    weights[[3, 50, 499]] = 1
    with pytest.warns(DataConversionWarning, match="column 1"):
        found = measure_scaling(X, check_weights(weights, len(X)))
    with pytest.warns(DataConversionWarning, match="column 1"):
        repeated = measure_scaling(np.repeat(X, weights.astype(int), 0), RowWeights(int(weights.sum())))
    np.testing.assert_allclose(found.inverse_scale, repeated.inverse_scale, rtol=1e-10)


@pytest.mark.parametrize("draw", [
    lambda rng: rng.lognormal(0, 4, (2000, 3)), lambda rng: rng.pareto(1, (2000, 3)),
    lambda rng: (rng.random((2000, 3)) < 0.002) * 1e9, lambda rng: rng.standard_normal((2000, 3)) * 1e9,
    lambda rng: np.r_[np.full((1999, 1), 0.1), [[1e12]]]],
    ids=["log-normal", "Pareto", "hardly any ones", "normal", "one that differs"])
def test_ordinary_columns_keep_their_scale(rng, draw):
    """Also heavy tails, and columns of which all but a few rows are equal."""
    X = draw(rng)
    found = measure_scaling(X, RowWeights(len(X)))  # pytest makes an error of a warning
    np.testing.assert_allclose(found.inverse_scale, 1 / X.std(axis=0), rtol=1e-10)


def test_targets_far_out_are_told(rng):
    y = rng.standard_normal((500, 2))
    y[7, 1] = -1e12
    with pytest.warns(DataConversionWarning, match=r"y has a few values of column 1 so far out, between -1e\+12 and"):
        found = target_scaling(y, RowWeights(500))
    np.testing.assert_allclose(found.inverse_scale, 1 / y.std(axis=0), rtol=1e-10)


def test_deviations_within_a_width_of_columns_whose_squares_overflow():
    X = np.random.default_rng(0).standard_normal((50, 1))
    weights = check_weights(None, 50)
    expected, found = (RowSums(unit * X, weights, 1).within(0, 0.0, 4 * unit) for unit in (1.0, 2.0**1000))
    assert found == (expected[0], *(2.0**1000 * value for value in expected[1:]))
