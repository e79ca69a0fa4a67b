"""Weights of classes."""

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, InvalidInputError, load, save
from rffkern._rows.training_rows import check_labelled, with_class_weights

X = np.random.default_rng(0).standard_normal((90, 2))
Y = np.array(["few"] * 30 + ["many"] * 60)


def weights_of(class_weight, sample_weight=None):
    return with_class_weights(check_labelled(X, Y, sample_weight), class_weight).rows.weights.each


def test_balanced_classes_have_equal_sums():
    for sample_weight in (None, np.random.default_rng(1).uniform(0.5, 2, 90)):
        each = weights_of("balanced", sample_weight)
        np.testing.assert_allclose(each[:30].sum(), each[30:].sum())
        np.testing.assert_allclose(each.mean(), 1)


def test_factors_by_label():
    each = weights_of({"few": 6})
    np.testing.assert_allclose(each[:30] / each[-1], 6)


@pytest.mark.parametrize("wrong", ["equal", {"few": 0}, {"few": -1}, {"few": np.inf}, {"few": "1"}, 3, {"none": 1.0},
                                   {"few": 1.1e100}, {"few": 10**400}])
def test_wrong_weights_are_refused(wrong):
    with pytest.raises(InvalidInputError, match=r"class_weight (of 'few' )?must"):
        FourierBoostingClassifier(3, class_weight=wrong, random_state=0).fit(X, Y)


def test_a_label_that_y_has_is_named():
    with pytest.raises(InvalidInputError, match=r"class_weight must have labels of y, such as '[a-z]+', got 'Few'"):
        FourierBoostingClassifier(3, class_weight={"Few": 2.0}, random_state=0).fit(X, Y)


@pytest.mark.parametrize("factor", [1e100, 1e-100])
def test_extreme_factors_give_finite_scores(factor):
    model = FourierBoostingClassifier(5, class_weight={"few": factor}, random_state=0).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()


def test_files_keep_the_labels_of_factors(tmp_path):
    """JSON knows no keys but words."""
    for labels in (Y, np.arange(90) % 3, np.arange(90) % 2 == 0):
        first = labels[0]
        model = FourierBoostingClassifier(3, class_weight={first: 2.0}, base_learners=("tree",), random_state=0)
        model.fit(X, labels)
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert (loaded.class_weight, loaded.base_learners) == ({first: 2.0}, ("tree",))
        np.testing.assert_array_equal(loaded.fit(X, labels).predict_proba(X), model.predict_proba(X))


def test_weights_move_the_border():
    share = [np.mean(FourierBoostingClassifier(30, class_weight=weight, random_state=0).fit(X, Y).predict(X) == "few")
             for weight in (None, "balanced", {"few": 20})]
    assert share[0] < share[1] < share[2]
