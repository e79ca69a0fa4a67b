"""Weights of rows, and the sums and means that they enter."""

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._rows.weights import RowWeights, check_weights


def test_no_weights():
    weights = check_weights(None, 4)
    assert weights.is_uniform
    assert not weights.has_zeros
    assert (weights.total, weights.given_total, weights.unit, weights.n_positive) == (4, 4, 1, 4)
    assert weights.positive().tolist() == [0, 1, 2, 3]
    assert weights.each.tolist() == [1, 1, 1, 1]
    assert weights.for_kernel().size == weights.for_kernel(slice(1, 3)).size == 0


def test_weights_have_mean_one_over_the_rows_that_count():
    weights = check_weights([0, 2, 6, 4], 4)
    assert not weights.is_uniform
    assert weights.has_zeros
    np.testing.assert_allclose(weights.each, [0, 0.5, 1.5, 1])
    assert (weights.total, weights.given_total, weights.n_positive) == (pytest.approx(3), 12, 3)
    np.testing.assert_allclose(weights.each * weights.unit, [0, 2, 6, 4])
    assert weights.positive().tolist() == [1, 2, 3]
    np.testing.assert_allclose(weights.for_kernel(slice(1, 3)), [0.5, 1.5])


def test_equal_weights_are_none_but_keep_their_unit():
    weights = check_weights(np.full(5, 3.0), 5)
    assert weights.is_uniform
    assert (weights.total, weights.given_total, weights.unit) == (5, 15, 3)


def test_equal_weights_take_no_memory():
    each = RowWeights(10**12).each
    assert each.shape == (10**12,)
    assert each.base.nbytes == 8
    with pytest.raises(ValueError, match="read-only"):
        each[0] = 2


def test_weights_of_any_magnitude():
    assert check_weights([1e-320, 3e-320], 2).each.sum() == pytest.approx(2, rel=1e-3)
    large = check_weights([1e307, 3e307] * 10, 20)
    np.testing.assert_allclose(large.each[:2], [0.5, 1.5])
    assert np.isfinite(large.given_total)
    assert check_weights(np.full(2, 1e-320), 2).given_total / 1e10 > np.finfo(float).tiny


@pytest.mark.parametrize(("given", "message"), [
    ([1, -1, 1], "sample_weight must not be negative, got -1"), ([0, 0, 0], "must hold a positive weight"),
    ([1, np.nan, 1], "sample_weight must be finite"), ([1, 2], r"one entry per row of X \(3\), got 2"),
])
def test_bad_weights(given, message):
    with pytest.raises(InvalidInputError, match=message):
        check_weights(given, 3)


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 1])])
def test_weights_of_some_rows(rows):
    some = check_weights([0, 2, 6, 4], 4).of(rows)
    np.testing.assert_array_equal(some.each, check_weights([0, 2, 6, 4], 4).each[rows])
    assert (some.n_samples, some.given_total) == (2, 12)
    assert RowWeights(4).of(rows).n_samples == 2
    assert RowWeights(4).of(rows).is_uniform


def test_means_and_sums():
    values, mask = np.array([[1.0, 5.0], [3.0, 9.0]]), np.array([False, True])
    np.testing.assert_allclose(RowWeights(2).mean(values), [2, 7])
    np.testing.assert_allclose(check_weights([3, 1], 2).mean(values), [1.5, 6])
    assert RowWeights(2).sum_of(mask) == 1
    assert check_weights([3, 1], 2).sum_of(mask) == 0.5


def test_rows_are_drawn_as_often_as_they_weigh():
    drawn = np.bincount(check_weights([0, 1, 3, 0], 4).draw(np.random.default_rng(0), 40_000), minlength=4)
    assert drawn[[0, 3]].tolist() == [0, 0]
    assert drawn[2] / drawn[1] == pytest.approx(3, rel=0.05)
    uniform = RowWeights(4).draw(np.random.default_rng(0), 1000)
    np.testing.assert_array_equal(uniform, RowWeights(4, np.ones(4)).draw(np.random.default_rng(0), 1000))
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    RowWeights(4).draw(rng, 7)
    other.random(7)
    assert rng.random() == other.random()


def test_the_smallest_and_largest_uniform_number_draw_rows_that_count():
    class Fixed:
        def random(self, n_draws):
            return np.array([0.0, 1 - 2**-53])

    assert check_weights([0, 1, 3, 0], 4).draw(Fixed(), 2).tolist() == [1, 2]
    assert RowWeights(4).draw(Fixed(), 2).tolist() == [0, 3]


def test_rows_without_weight_are_hidden():
    block, stand_in = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([-1.0, -2.0])
    weights = check_weights([1, 1, 0, 5], 4)
    assert weights.hide(slice(0, 2), block, stand_in) is block
    assert RowWeights(4).hide(slice(0, 2), block, stand_in) is block
    np.testing.assert_array_equal(weights.hide(slice(2, 4), block, stand_in), [[-1, -2], [3, 4]])
