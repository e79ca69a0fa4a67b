"""Scores of predictions that come block by block."""

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._cli.predict import Accuracy, RSquared


def blocks(*arrays):
    return zip(*(np.array_split(array, 3) for array in arrays), strict=True)


def test_accuracy():
    score = Accuracy()
    for labels, predicted in blocks(np.array(list("abcab")), np.array(list("abbbb"))):
        score.add(labels, predicted)
    assert score.report() == "accuracy on 5 rows: 60.00 %"


@pytest.mark.parametrize(("labels", "predicted", "right"), [
    (["1", "2.0", "x"], [1, 2, 1], 2), (["True", "no"], [True, False], 1), ([1, 2], [1, 3], 1),
    (["1", "b"], np.array(["1", "b"], object), 2),
])
def test_words_and_numbers_are_compared(labels, predicted, right):
    score = Accuracy()
    score.add(np.array(labels), np.asarray(predicted))
    assert score.n_right == right


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_r_squared(rng, offset):
    """Also where the mean is large beside the spread."""
    targets = offset + rng.standard_normal(60)
    predicted = targets + 0.5 * rng.standard_normal(60)
    score = RSquared()
    for block in blocks(targets, predicted):
        score.add(*block)
    exact = 1 - ((targets - predicted) ** 2).sum() / ((targets - targets.mean()) ** 2).sum()
    assert score.report() == f"R^2 on 60 rows: {exact:.4f}"


def test_r_squared_of_several_targets_and_missing_ones():
    score = RSquared()
    score.add(np.array([["1", "5"], ["x", "5"], ["3", "5"]]), np.array([[1.0, 5.0], [0.0, 0.0], [2.0, 5.0]]))
    assert score.report() == "R^2 on 2 rows: 0.7500"  # the mean of 1 - 1 / 2 and of 1, a constant predicted exactly


def test_r_squared_of_a_constant_that_is_missed():
    score = RSquared()
    score.add(np.array([2.0, 2.0]), np.array([2.0, 1.0]))
    assert score.report() == "R^2 on 2 rows: 0.0000"


def test_targets_whose_squares_overflow():
    score = RSquared()
    score.add(np.array([1e200, -1e200]), np.array([1e200, 0.0]))
    assert score.report() == "R^2 on 2 rows: 0.5000"


@pytest.mark.parametrize("score", [Accuracy(), RSquared()])
def test_another_number_of_targets(score):
    with pytest.raises(InvalidInputError, match=r"expected 2 target\(s\) for each row, got 1"):
        score.add(np.zeros(3), np.zeros((3, 2)))
    assert score.n_rows == 0
