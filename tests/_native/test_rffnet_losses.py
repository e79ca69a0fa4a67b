"""Losses of scores and their slopes, against their twins and finite differences."""

import numpy as np
import pytest
from helpers.rffnet_steps import LOSSES, TWINS, random_targets, values_and_slopes


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_slopes(name, rng):
    scores, targets = 3 * rng.standard_normal((200, 4)), random_targets(name, rng, 200, 4)
    values, slopes = values_and_slopes(name, scores, targets)
    # A loss near 0 is the difference of two numbers as large as the scores, each of which is rounded.
    rounding = 2 * np.spacing(np.abs(scores).max())
    np.testing.assert_allclose(values, TWINS[name](scores, targets), rtol=1e-12, atol=rounding)
    for output in range(4):
        step = np.zeros(4)
        step[output] = 1e-6
        difference = TWINS[name](scores + step, targets) - TWINS[name](scores - step, targets)
        np.testing.assert_allclose(slopes[:, output], difference / 2e-6, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_losses_of_extreme_scores(name):
    scores = np.array([[1000.0, -1000.0], [-1000.0, 1000.0], [0.0, 0.0]])
    targets = np.ones((3, 2)) if name == "logistic" else np.ones((3, 1))
    values, slopes = values_and_slopes(name, scores, targets)
    expected = [1000.0, 1000.0, 2 * np.log(2)] if name == "logistic" else [2000.0, 0.0, np.log(2)]
    np.testing.assert_allclose(values, expected, rtol=1e-15)
    assert np.isfinite(slopes).all()
