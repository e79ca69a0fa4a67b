"""From scores to probabilities."""

import numpy as np
import pytest

from rffkern._estimator.links import LinearLink, LogisticLink, SoftmaxLink, log_probabilities, probabilities

LINKS = [LogisticLink(), LogisticLink(slope=0.5), SoftmaxLink(), LinearLink()]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_outputs", [1, 3, 7])
def test_rows_sum_to_one(link, n_outputs, rng):
    scores = 3 * rng.standard_normal((50, n_outputs))
    found = probabilities(link, scores)
    assert found.shape == (50, 2 if n_outputs == 1 else n_outputs)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-15)


@pytest.mark.parametrize("link", LINKS)
def test_the_largest_score_is_the_most_likely_class(link, rng):
    scores = 3 * rng.standard_normal((200, 5))
    np.testing.assert_array_equal(probabilities(link, scores).argmax(axis=1), scores.argmax(axis=1))
    one = rng.standard_normal((200, 1))
    np.testing.assert_array_equal(probabilities(link, one).argmax(axis=1), one[:, 0] > 0)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("size", [1e3, 1e300])
def test_extreme_scores_give_finite_probabilities(link, size):
    for scores in (np.array([[size], [-size], [0.0]]), size * np.array([[1.0, -1.0, 0.0], [-1.0, -1.0, -1.0]])):
        found = probabilities(link, scores)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_logarithms_are_those_of_the_probabilities(link, n_outputs, rng):
    scores = 3 * rng.standard_normal((200, n_outputs))
    found, exact = log_probabilities(link, scores), probabilities(link, scores)
    assert found.shape == exact.shape
    assert (exact[np.isneginf(found)] == 0).all()
    np.testing.assert_allclose(np.exp(found), exact, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("link", [LogisticLink(), LogisticLink(0.5), SoftmaxLink()])
def test_logarithms_of_probabilities_too_small_for_a_number(link):
    slope = link.slope
    np.testing.assert_array_equal(log_probabilities(link, np.array([[2000.0], [-2000.0]])),
                                  [[-2000 * slope, 0], [0, -2000 * slope]])
    assert log_probabilities(link, np.array([[0.0, 2000.0, -1000.0]]))[0, 2] <= -1000 * slope
    assert (log_probabilities(link, np.array([[1.7e308]])) <= 0).all()


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_logistic(slope):
    scores = np.linspace(-5, 5, 11)
    exact = 1 / (1 + np.exp(-slope * scores))
    link = LogisticLink(slope)
    np.testing.assert_allclose(link.positive(scores), exact, rtol=1e-12)
    np.testing.assert_allclose(np.exp(link.log_positive(scores)), exact, rtol=1e-12)
    assert link.log_positive(np.array([-400.0]))[0] == pytest.approx(-400.0 * slope)


def test_softmax():
    scores = np.array([[0.0, np.log(2.0), np.log(5.0)]])
    np.testing.assert_allclose(probabilities(SoftmaxLink(), scores), [[1 / 8, 2 / 8, 5 / 8]])
    np.testing.assert_allclose(probabilities(SoftmaxLink(), np.array([[np.log(3.0)]])), [[0.25, 0.75]])


def test_linear():
    np.testing.assert_allclose(LinearLink().positive(np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])), [0, 0, .5, .75, 1, 1])
    np.testing.assert_allclose(probabilities(LinearLink(), np.array([[0.0, 0.0], [0.5, -0.5]])),
                               [[0.5, 0.5], [0.75, 0.25]])


def test_linear_is_continuous_and_increasing_where_its_tail_begins():
    scores = -1 + np.linspace(-0.01, 0.01, 2001)
    steps = np.diff(LinearLink().log_positive(scores))
    assert (steps > 0).all()
    assert steps.max() < 0.02


def test_the_tail_of_linear_meets_the_line_where_it_begins():
    """Value and slope are those of the logarithm there, and one unit further down the tail has fallen by one."""
    begin = -1 + 1e-3
    scores = begin + 1e-9 * np.arange(-3, 4)
    np.testing.assert_allclose(LinearLink().log_positive(scores), np.log(0.5e-3) + (scores - begin) / 1e-3, atol=1e-10)
    fallen = LinearLink().log_positive(np.array([begin, begin - 1e-3, -1 - 1.0]))
    np.testing.assert_allclose(fallen - fallen[0], [0, -1, -1001], rtol=1e-12, atol=1e-12)
