"""Forms of numbers: what they compute, and what a file may not make of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._column_map.sketch import QuantileSketch
from rffkern._column_map.transforms import BinsForm, BoundedForm, MissingForm, PartForm, RankForm, StandardForm
from rffkern._column_map.transforms import RawForm as Raw

VALUES = st.lists(st.floats(-1e300, 1e300) | st.integers(-3, 3).map(float), min_size=2, max_size=200).filter(
    lambda values: len({*values}) > 1)


def summary_of(values):
    sketch = QuantileSketch()
    sketch.add(np.asarray(values, float), np.ones(len(values)))
    return sketch.summary()


@given(VALUES, st.sampled_from([lambda s: BoundedForm.of(s), lambda s: RankForm.of(s, 4), lambda s: RankForm.of(s, 256),
                                lambda s: BinsForm.of(s, 2), lambda s: BinsForm.of(s, 5)]))
def test_forms_of_any_values_are_one_finite_unit(values, make):
    values = np.array(values) + 0.0
    form = make(summary_of(values))
    outputs = form(values)
    assert outputs.shape == (len(form.outputs), len(values))
    assert np.isfinite(outputs).all()
    np.testing.assert_allclose(outputs.mean(axis=1), 0, atol=1e-9)
    variance = outputs.var(axis=1).sum()
    assert variance == pytest.approx(1) or (isinstance(form, BoundedForm) and variance == pytest.approx(0, abs=1e-9))
    assert np.isnan(form(np.array([np.nan]))).all()
    assert np.isfinite(form(np.array([-(2.0**1022), 2.0**1022]))).all()
    again = type(form).from_numbers(form.numbers())
    np.testing.assert_array_equal(again(values), outputs)
    assert again.outputs == form.outputs


def test_bins_of_a_column_that_one_value_fills():
    """It had one bin, without a spread to divide by."""
    for first in (0.0, 2.0):
        values = np.array([first, first, first, 1.0, 0.5])
        outputs = BinsForm.of(summary_of(values), 2)(values)
        assert len(outputs) == 1
        np.testing.assert_array_equal(outputs[0] == outputs[0, 0], values == first)


def test_bounded_keeps_an_outlier_near(rng):
    values = np.append(rng.standard_normal(1000), 1e9)
    outputs = BoundedForm.of(summary_of(values))(values)[0]
    assert outputs[-1] < 3
    assert np.corrcoef(outputs[:-1], values[:-1])[0, 1] > 0.9


def test_rank_is_the_mid_rank_of_few_values(rng):
    values = rng.choice([1.0, 2.0, 5.0], 1000, p=[0.5, 0.2, 0.3])
    ranks = RankForm.of(summary_of(values), 256)(np.array([1.0, 2.0, 5.0, 3.5]))[0]
    shares = np.array([np.mean(values == value) for value in (1, 2, 5)])
    middles = np.cumsum(shares) - shares / 2 - 0.5
    spread = np.sqrt((shares * middles**2).sum())
    np.testing.assert_allclose(ranks, np.append(middles, (middles[1] + middles[2]) / 2) / spread)


def test_rank_between_knots_is_near(rng):
    """With 256 knots the rank is told within the spacing of the knots, and does not fall."""
    values = np.exp(3 * rng.standard_normal(20_000))
    form = RankForm.of(summary_of(values), 256)
    assert len(form.knots) <= 256
    ranks = form(np.sort(values))[0] / np.sqrt(12)
    assert np.abs(ranks - (np.arange(20_000) + 0.5) / 20_000 + 0.5).max() < 1.5 / 255
    assert (np.diff(ranks) >= 0).all()


def test_bins_hold_equal_shares(rng):
    values = rng.standard_normal(1000)
    form = BinsForm.of(summary_of(values), 8)
    assert form.group.shares == pytest.approx(np.full(8, 0.125), abs=2e-3)
    inside = form(values) > 0
    assert (inside.sum(axis=0) == 1).all()
    assert form.outputs == tuple(f"bin{k}" for k in range(8))
    assert len(BinsForm.of(summary_of([0.0, 1.0, 1.0]), 8).outputs) == 1  # one of two bins says all


def test_standard_raw_and_missing():
    values = np.array([1.0, np.nan, 5.0])
    np.testing.assert_array_equal(Raw(3.0)(values), [[1, 3, 5]])
    np.testing.assert_array_equal(StandardForm(3.0, 0.5)(values), [[-1, np.nan, 1]])
    assert StandardForm(0.0, 1e300)(np.array([1e300]))[0, 0] == 1e30
    np.testing.assert_allclose(MissingForm(0.2)(values), [[-0.2, 0.8, -0.2]])


@pytest.mark.parametrize(("form", "numbers", "message"), [
    (Raw, [], "has 1 numbers"), (StandardForm, [0, 0], "not positive"), (StandardForm, [0], "has 2 numbers"),
    (BoundedForm, [0, -1, 0, 1], "not positive"), (RankForm, [1, 2, 3], "differ in number"),
    (RankForm, [], "differ in number"), (RankForm, [2, 1, 0, 1], "do not increase"),
    (RankForm, [1, 1, 0, 1], "do not increase"), (RankForm, [1, 2, 1, 0], "do not increase"),
    (RankForm, [0, 1, 0, 1e300], "too large"), (RankForm, [0, 1e308, 0, 1], "too large"),
    (BinsForm, [1, 2, 3, 4], "do not agree in number"), (BinsForm, [1], "do not agree in number"),
    (BinsForm, [1, 2], "not those of a whole"), (BinsForm, [2, 1, 0.3, 0.3, 0.4], "do not increase"),
    (BinsForm, [1, 2, 0.5, 0.4, 0.4], "not those of a whole"), (MissingForm, [0], "not that of a part"),
    (MissingForm, [1], "not that of a part"), (MissingForm, [0.5, 1], "has 1 number"),
    (MissingForm, [], "has 1 number")])
def test_numbers_that_no_form_has_are_refused(form, numbers, message):
    with pytest.raises(ValueError, match=message):
        form.from_numbers(np.array(numbers, float))


def test_parts_of_a_date():
    form = PartForm("yearday")
    assert form.outputs == ("yearday_sin", "yearday_cos")
    assert form(np.array([0.0, np.nan])).shape == (2, 2)
    assert np.isnan(form(np.array([np.nan]))).all()
