"""What columns are good for: shares in what the rounds gained."""

import numpy as np
import pytest
from helpers.families import known

from rffkern import ColumnMap
from rffkern._estimator.registry import FAMILIES
from rffkern._training.gbrff.boosting import feature_importances as importances
from rffkern._training.gbrff.weak_learners import WeakLearner

NAMES = ("gbrff", "gbrff1", "gbrff2", "gbrff_regressor")
X = np.random.default_rng(0).standard_normal((500, 4))
T = np.sin(2 * X[:, 1]) + 0.3 * X[:, 3]


def fitted(name, rows=X, target=T, **params):
    entry = FAMILIES[name]
    cls = entry.load()
    y = target if entry.task == "regressor" else target > 0
    return cls(40, random_state=0, **known(cls, n_components=4) | params).fit(rows, y)


def learner(omegas, posterior):
    return WeakLearner(np.array(omegas), np.zeros(len(omegas)), np.array(posterior))


def test_by_hand():
    """Two rounds that gain 3 and 1, of two cosines each."""
    rounds = [[(learner([[1.0, 0.0], [1.0, 2.0]], [0.5, 0.5]), 2.0)],
              [(learner([[0.0, 3.0], [0.0, 0.0]], [0.9, 0.1]), -1.0)]]
    units, losses = np.ones(2), [5.0, 2.0, 1.0]
    np.testing.assert_allclose(importances(rounds, losses, units, None), [(3 * 2 / 6) / 4, (3 * 4 / 6 + 1) / 4])
    np.testing.assert_allclose(importances(rounds, losses, np.array([2.0, 1.0]), None),
                               [(3 * 8 / 12) / 4, (3 * 4 / 12 + 1) / 4])  # columns with deviations 2 and 1
    np.testing.assert_array_equal(importances([], [5.0], units, None), [0, 0])
    two_outputs = [[(learner([[1.0, 0.0]], [1.0]), 1.0), (learner([[0.0, 1e200]], [1.0]), 1e-200)]]
    np.testing.assert_allclose(importances(two_outputs, [1.0, 0.0], units, None), [0.5, 0.5])
    np.testing.assert_array_equal(importances(two_outputs, [1.0, 1.5], units, None), [0, 0])  # it gains nothing


@pytest.mark.parametrize("name", NAMES)
def test_columns_that_matter_come_first(name):
    found = fitted(name).feature_importances_
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert (found >= 0).all()
    assert found.argmax() == 1
    assert found[1] > 2 * max(found[0], found[2])


@pytest.mark.parametrize("name", NAMES)
def test_units_of_columns_do_not_matter(name):
    scaled = fitted(name, X * [1, 1024.0, 1, 2.0**-30]).feature_importances_
    np.testing.assert_allclose(scaled, fitted(name).feature_importances_, rtol=1e-2)


@pytest.mark.parametrize("name", NAMES)
def test_narrow_columns_count_little(name):
    """Without standardisation a function hardly changes along a narrow column, whatever its omegas are."""
    assert fitted(name, X[:, :2] * [0.001, 1], standardize=False, columns=None).feature_importances_[0] < 0.001


@pytest.mark.parametrize("name", NAMES)
def test_levels_are_no_columns_each(name):
    """A category of 30 levels has 30 indicators, which vary as much as one column together."""
    table = {"wave": X[:, 1], "noise": [f"{k}th" for k in np.random.default_rng(1).integers(30, size=500)]}
    model = fitted(name, table, X[:, 1] > 0, columns=ColumnMap(categorical_features=["noise"]))
    assert model.feature_importances_[0] > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_of_columns_of_the_table(name):
    table = {"noise": X[:, 0], "wave": np.where(X[:, 2] > 1, np.nan, X[:, 1]), "level": np.where(X[:, 3] > 0, "a", "b"),
             "constant": np.ones(500)}
    model = fitted(name, table, columns=ColumnMap(("standard", "rank")))
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.argmax() == 1
    assert model.feature_importances_[3] == 0
    np.testing.assert_allclose(model.feature_importances_.sum(), 1)
