"""Forms of numbers: what they compute, and what a file may not make of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._column_map import transforms
from rffkern._column_map.compiled import mapped_values
from rffkern._column_map.fitted_column import FittedColumn
from rffkern._column_map.sketch import QuantileSketch
from rffkern._column_map.transforms import learn_bins, learn_bounded, learn_rank

VALUES = st.lists(st.floats(-1e300, 1e300) | st.integers(-3, 3).map(float), min_size=2, max_size=200).filter(
    lambda values: len({*values}) > 1)


def summary_of(values):
    sketch = QuantileSketch()
    sketch.add(np.asarray(values, float), np.ones(len(values)))
    return sketch.summary()


def outputs_of(form, values):
    return mapped_values([FittedColumn("numeric", (form,))], [np.array([values], float)])


@given(VALUES, st.sampled_from([learn_bounded, lambda s: learn_rank(s, 4), lambda s: learn_rank(s, 256),
                                lambda s: learn_bins(s, 2), lambda s: learn_bins(s, 5)]))
def test_forms_of_any_values_are_one_finite_unit(values, make):
    values = np.array(values) + 0.0
    form = make(summary_of(values))
    outputs = outputs_of(form, values)
    assert outputs.shape == (len(form.outputs), len(values))
    assert np.isfinite(outputs).all()
    np.testing.assert_allclose(outputs.mean(axis=1), 0, atol=1e-9)
    variance = outputs.var(axis=1).sum()
    assert variance == pytest.approx(1) or (form.name == "bounded" and variance == pytest.approx(0, abs=1e-9))
    assert (outputs_of(form, [np.nan]) == 0).all()
    assert np.isfinite(outputs_of(form, [-(2.0**1022), 2.0**1022])).all()
    again = getattr(transforms, form.name)(form.numbers)
    np.testing.assert_array_equal(outputs_of(again, values), outputs)
    assert again.outputs == form.outputs


def test_bins_of_a_column_that_one_value_fills():
    """It had one bin, without a spread to divide by."""
    for first in (0.0, 2.0):
        values = np.array([first, first, first, 1.0, 0.5])
        outputs = outputs_of(learn_bins(summary_of(values), 2), values)
        assert len(outputs) == 1
        np.testing.assert_array_equal(outputs[0] == outputs[0, 0], values == first)


def test_bounded_keeps_an_outlier_near(rng):
    values = np.append(rng.standard_normal(1000), 1e9)
    outputs = outputs_of(learn_bounded(summary_of(values)), values)[0]
    assert outputs[-1] < 3
    assert np.corrcoef(outputs[:-1], values[:-1])[0, 1] > 0.9


def test_rank_is_the_mid_rank_of_few_values(rng):
    values = rng.choice([1.0, 2.0, 5.0], 1000, p=[0.5, 0.2, 0.3])
    ranks = outputs_of(learn_rank(summary_of(values), 256), [1.0, 2.0, 5.0, 3.5])[0]
    shares = np.array([np.mean(values == value) for value in (1, 2, 5)])
    middles = np.cumsum(shares) - shares / 2 - 0.5
    spread = np.sqrt((shares * middles**2).sum())
    np.testing.assert_allclose(ranks, np.append(middles, (middles[1] + middles[2]) / 2) / spread)


def test_rank_between_knots_is_near(rng):
    """With 256 knots the rank is told within the spacing of the knots, and does not fall."""
    values = np.exp(3 * rng.standard_normal(20_000))
    form = learn_rank(summary_of(values), 256)
    assert form.described["knots"] <= 256
    ranks = outputs_of(form, np.sort(values))[0] / np.sqrt(12)
    assert np.abs(ranks - (np.arange(20_000) + 0.5) / 20_000 + 0.5).max() < 1.5 / 255
    assert (np.diff(ranks) >= 0).all()


def test_bins_hold_equal_shares(rng):
    values = rng.standard_normal(1000)
    form = learn_bins(summary_of(values), 8)
    assert form.numbers[7:] == pytest.approx(np.full(8, 0.125), abs=2e-3)
    inside = outputs_of(form, values) > 0
    assert (inside.sum(axis=0) == 1).all()
    assert form.outputs == tuple(f"bin{k}" for k in range(8))
    assert len(learn_bins(summary_of([0.0, 1.0, 1.0]), 8).outputs) == 1  # one of two bins says all


def test_standard_raw_and_missing():
    values = [1.0, np.nan, 5.0]
    np.testing.assert_array_equal(outputs_of(transforms.raw(np.array([3.0])), values), [[1, 3, 5]])
    np.testing.assert_array_equal(outputs_of(transforms.standard(np.array([3.0, 0.5])), values), [[-1, 0, 1]])
    assert outputs_of(transforms.standard(np.array([0.0, 1e300])), [1e300])[0, 0] == 1e30
    np.testing.assert_allclose(outputs_of(transforms.missing(np.array([0.2])), values), [[-0.2, 0.8, -0.2]])


@pytest.mark.parametrize(("form", "numbers", "message"), [
    ("raw", [], "has 1 numbers"), ("standard", [0, 0], "not positive"), ("standard", [0], "has 2 numbers"),
    ("bounded", [0, -1, 0, 1], "not positive"), ("rank", [1, 2, 3], "differ in number"),
    ("rank", [], "differ in number"), ("rank", [2, 1, 0, 1], "do not increase"),
    ("rank", [1, 1, 0, 1], "do not increase"), ("rank", [1, 2, 1, 0], "do not increase"),
    ("rank", [0, 1, 0, 1e300], "too large"), ("rank", [0, 1e308, 0, 1], "too large"),
    ("bins", [1, 2, 3, 4], "do not agree in number"), ("bins", [1], "do not agree in number"),
    ("bins", [1, 2], "not those of a whole"), ("bins", [2, 1, 0.3, 0.3, 0.4], "do not increase"),
    ("bins", [1, 2, 0.5, 0.4, 0.4], "not those of a whole"), ("missing", [0], "not that of a part"),
    ("missing", [1], "not that of a part"), ("missing", [0.5, 1], "has 1 number,"),
    ("missing", [], "has 1 number,")])
def test_numbers_that_no_form_has_are_refused(form, numbers, message):
    with pytest.raises(ValueError, match=message):
        getattr(transforms, form)(np.array(numbers, float))
