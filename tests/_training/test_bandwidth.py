"""The bandwidth parameter gamma in the units of learning, and the precision that angles need."""

import math

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._native.scoring import LARGEST_SINGLE_ANGLE
from rffkern._rows.scaling import no_scaling
from rffkern._training.spectral import draw_omegas, largest_single_length, resolved_gamma, rows_variance


def scaling(inverse_scale=(1.0, 1.0), mean_variance=4.0):
    return no_scaling(len(inverse_scale))._replace(inverse_scale=np.array(inverse_scale), mean_variance=mean_variance)


def test_scale_is_one_over_columns_times_variance():
    assert resolved_gamma("scale", "gaussian", True, scaling()) == 0.5
    assert resolved_gamma("scale", "gaussian", False, scaling()) == 0.125
    assert resolved_gamma("scale", "gaussian", False, scaling((0.0, 0.0), 0.0)) == 0.5
    assert resolved_gamma(3, "gaussian", True, scaling()) == 3.0


@pytest.mark.parametrize(("standardize", "mean_variance", "expected"), [
    (True, 9.0, 1.0), (False, 9.0, 9.0), (True, 1e300, 1.0)])
def test_variance_of_the_rows(standardize, mean_variance, expected):
    assert rows_variance(standardize, scaling(mean_variance=mean_variance)) == expected


@pytest.mark.parametrize("mean_variance", [1e201, 1e-201, math.inf])
def test_spreads_that_overflow_are_refused_without_standardisation(mean_variance):
    with pytest.raises(InvalidInputError, match="X must have a spread between 1e-100 and 1e"):
        rows_variance(False, scaling(mean_variance=mean_variance))
    constant = scaling((0.0, 0.0), mean_variance)
    assert rows_variance(False, constant) == mean_variance


def test_omegas_that_overflow_are_refused():
    with pytest.raises(InvalidInputError, match="gamma must be smaller for columns of such small spread, got 10"):
        resolved_gamma(10.0, "gaussian", True, scaling((1.0, 1e306)))
    assert resolved_gamma(0.5, "gaussian", True, scaling((1.0, 1e306))) == 0.5
    with pytest.raises(InvalidInputError, match="gamma must be smaller"):  # heavy tails
        resolved_gamma(0.5, "laplace", True, scaling((1.0, 1e306)))


def test_angles_up_to_4000_are_single():
    """Three standard deviations sqrt(2 gamma) of omega times the largest length of a row."""
    assert 1333 < largest_single_length(0.5, "gaussian") < 1334
    assert 666 < largest_single_length(2.0, "gaussian") < 667


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "matern32", "matern52"])
def test_the_same_share_of_omegas_is_larger_than_what_single_precision_resolves(kernel):
    omegas = draw_omegas(kernel, 0.7, np.random.default_rng(1), (1, 500_000, 1))
    usual = LARGEST_SINGLE_ANGLE / largest_single_length(0.7, kernel)
    assert (np.abs(omegas) > usual).mean() == pytest.approx(0.0027, abs=4 * np.sqrt(0.0027 / 500_000))


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "matern32", "matern52"])
def test_omegas_of_a_round_do_not_depend_on_how_many_follow(kernel):
    few, many = (draw_omegas(kernel, 2.0, np.random.default_rng(1), (n, 2, 3, 4)) for n in (5, 9))
    np.testing.assert_array_equal(few, many[:5])
    assert len(np.unique(many)) == many.size
