"""Weights of classes, of every classifier."""

import numpy as np
import pytest
from helpers.families import X, Y, known, quick, same_state

from rffkern import InvalidInputError, RFFNetClassifier, dumps, loads
from rffkern._estimator.registry import FAMILIES

pytestmark = pytest.mark.slow

NAMES = sorted(name for name, entry in FAMILIES.items() if entry.task == "classifier")
LABELS = np.where(X[:, 4] > 1, "far", Y)


@pytest.fixture(params=NAMES)
def cls(request):
    return FAMILIES[request.param].load()


def fitted(cls, y=Y, weight=None, **params):
    small = known(cls, n_estimators=8, n_landmarks=15, max_epochs=3, n_restarts=1, n_components=8)
    return cls(**{"random_state": 0} | quick(cls) | small | params).fit(X, y, weight)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["two", "three"])
def test_factors_are_weights_of_rows(cls, y):
    """Powers of 2 and one total: to the last bit but for the rounding of a mean."""
    weight = np.where(y == "up", 4.0, 1.0)
    by_class, by_row = fitted(cls, y, class_weight={"up": 4.0}), fitted(cls, y, weight)
    for name, ours in by_class.expansion_.arrays().items():
        theirs = by_row.expansion_.arrays()[name]
        assert ours.shape == theirs.shape
    np.testing.assert_allclose(by_class.predict_proba(X).mean(axis=0), by_row.predict_proba(X).mean(axis=0), atol=0.1)


def test_equal_factors_change_nothing(cls):
    assert same_state(fitted(cls, class_weight=dict.fromkeys(["up", "down"], 1.0), weight=np.linspace(1, 2, 400)),
                      fitted(cls, weight=np.linspace(1, 2, 400)))


def test_weights_move_the_border(cls):
    """Seen at rows that were not learned from, for a kernel machine may have the labels of the others by heart."""
    other = np.random.default_rng(8).permuted(X, axis=0)
    share = [np.mean(fitted(cls, class_weight={"up": factor}).predict(other) == "up") for factor in (0.02, 1, 50)]
    assert share[0] < share[1] < share[2]


def test_balance(cls):
    rng = np.random.default_rng(8)
    rare = np.where(X[:, 0] + rng.standard_normal(400) > 2, "up", "down")
    other = rng.permuted(X, axis=0)
    share = [np.mean(fitted(cls, rare, class_weight=weight).predict(other) == "up") for weight in (None, "balanced")]
    assert share[0] < share[1]


def test_files_and_searches_keep_them(cls):
    for labels in (Y, np.arange(400) % 3):
        first = labels[0]
        loaded = loads(dumps(fitted(cls, labels, class_weight={first: 2.0})))
        assert loaded.class_weight == {first: 2.0}
        assert loads(dumps(loaded)).class_weight == {first: 2.0}
    assert loads(dumps(fitted(cls, class_weight="balanced"))).class_weight == "balanced"


def test_wrong_weights(cls):
    for wrong in ("equal", {"up": 0}, {"up": np.nan}, {"none": 1.0}, 3):
        with pytest.raises(InvalidInputError, match=r"class_weight (of 'up' )?must"):
            fitted(cls, class_weight=wrong)


def test_more_rows():
    model = RFFNetClassifier(8, class_weight={"up": 20.0}, random_state=0)
    plain = RFFNetClassifier(8, random_state=0)
    for rows in np.array_split(np.arange(400), 8):
        for each in (model, plain):
            each.partial_fit(X[rows], Y[rows], ["down", "up"])
    assert np.mean(model.predict(X) == "up") > np.mean(plain.predict(X) == "up")
    with pytest.raises(InvalidInputError, match="class_weight must be a dict or None in partial_fit"):
        RFFNetClassifier(8, class_weight="balanced").partial_fit(X, Y)
