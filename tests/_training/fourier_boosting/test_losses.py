"""Where boosting starts for each loss."""

import numpy as np
import pytest

from rffkern._native import boosting
from rffkern._training.fourier_boosting.losses import ClassLoss, PoissonLoss, ValueLoss

WEIGHTS = np.array([1.0, 2.0, 1.0, 0.0])


def test_two_classes():
    data = ClassLoss(2).data(np.array([[0, 1, 0, 1]]), WEIGHTS)
    assert data.kernel == boosting.LOGISTIC
    assert data.targets.tolist() == [-1, 1, -1, 1]
    np.testing.assert_allclose(data.intercept, np.log(2 / 2))
    assert data.initial_scores.shape == (1, 4)


def test_several_classes():
    data = ClassLoss(3).data(np.array([[0, 1, 2, 2]]), np.array([1.0, 2.0, 1.0, 0.0]))
    assert data.kernel == boosting.SOFTMAX
    odds = np.exp(data.intercept)
    np.testing.assert_allclose(odds / odds.sum(), [0.25, 0.5, 0.25])
    assert data.initial_scores.shape == (3, 4)


def test_a_class_without_weight_has_a_finite_start():
    assert np.isfinite(ClassLoss(2).data(np.array([[0, 0, 0, 1]]), WEIGHTS).intercept).all()


@pytest.mark.parametrize(("loss", "expected"), [
    (ValueLoss(boosting.SQUARED), 2.25), (ValueLoss(boosting.HUBER, (1.35,)), 2.0),
    (ValueLoss(boosting.QUANTILE, (0.9,)), 4.0), (ValueLoss(boosting.QUANTILE, (0.2,)), 1.0)])
def test_values(loss, expected):
    """The mean, the median or the quantile; scores are less the targets."""
    targets = np.array([[1.0, 2.0, 4.0, 100.0]])
    data = loss.data(targets, WEIGHTS)
    assert data.intercept.tolist() == [expected]
    np.testing.assert_allclose(data.initial_scores, expected - targets)
    assert not data.targets.any()


def test_outliers_do_not_widen_the_loss_of_huber():
    loss = ValueLoss(boosting.HUBER, (1.35,))
    parameters = [loss.data(np.array([[1.0, 2.0, 4.0, far]]), np.ones(4)).parameters[0] for far in (100.0, 1e6)]
    assert parameters == pytest.approx([1.35 * 1.4826 * 1.0] * 2)
    constant = loss.data(np.ones((1, 4)), np.ones(4))
    assert constant.parameters.tolist() == [np.float32(1.35)]


def test_several_quantiles_of_one_target():
    targets = np.array([[1.0, 2.0, 4.0, 100.0]])
    data = ValueLoss(boosting.QUANTILE, (0.2, 0.9)).data(targets, WEIGHTS)
    assert data.intercept.tolist() == [1.0, 4.0]
    np.testing.assert_array_equal(data.initial_scores, [[1.0], [4.0]] - targets)
    np.testing.assert_array_equal(data.parameters, np.float32([0.2, 0.9]))
    assert data.initial_scores.flags.c_contiguous
    assert data.parameters.flags.c_contiguous


def test_one_parameter_for_several_targets():
    targets = np.array([[1.0, 2.0, 4.0, 100.0], [0.0, 1.0, 0.0, 9.0]])
    data = ValueLoss(boosting.QUANTILE, (0.9,)).data(targets, WEIGHTS)
    assert data.intercept.tolist() == [4.0, 1.0]
    np.testing.assert_array_equal(data.parameters, np.float32([0.9, 0.9]))


def test_counts():
    data = PoissonLoss().data(np.array([[0.0, 3.0, 2.0, 9.0]]), WEIGHTS)
    np.testing.assert_allclose(data.intercept, np.log(2.0))
    np.testing.assert_allclose(data.least_losses, [0, 3 - 3 * np.log(3), 2 - 2 * np.log(2), 9 - 9 * np.log(9)])
    assert np.isfinite(PoissonLoss().data(np.zeros((1, 4)), WEIGHTS).intercept).all()
