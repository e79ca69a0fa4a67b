"""Rows that are held out by `validation_fraction`, so that `early_stopping_rounds` needs no `eval_set`."""

import numpy as np
import pytest
from helpers.families import X, fit, known, quick, same_state, target_of

from rffkern import ColumnMap, InvalidInputError, RowBlocks
from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.validation_split import validation_rows

pytestmark = pytest.mark.slow

NAMES = sorted(name for name in FAMILIES if name.startswith(("gbrff", "sparse")))


@pytest.fixture(params=NAMES)
def cls(request):
    return FAMILIES[request.param].load()


def rows_of(cls, weight=None, fraction=0.25):
    labels = target_of(cls).dtype.kind == "U"
    return validation_rows(target_of(cls), weight, fraction, labels, np.random.default_rng(0))[0]


def test_early_stopping_works_alone(cls):
    target = target_of(cls)
    params = quick(cls) | known(cls, n_components=4, basis_size=5) | {"random_state": 0, "early_stopping_rounds": 3}
    params["n_estimators"] = 300
    silent = cls(**params).fit(X[:, :2], target)
    assert len(silent.eval_loss_) == 0
    model = cls(validation_fraction=0.25, **params).fit(X[:, :2], target)
    assert 0 <= model.n_estimators_ == model.eval_loss_.argmin() == len(model.eval_loss_) - 4 < silent.n_estimators_


def test_a_classifier_learns_from_the_others_alone(cls):
    """Of labels, which are in no units, it has the bits of a fit with these rows as an eval_set, but for the draws."""
    target = target_of(cls)
    weight = np.where(np.arange(400) % 7 == 0, 0.0, 1.0)
    out = rows_of(cls, weight)
    assert (weight[out] > 0).all()
    kept = np.delete(np.arange(400), out)
    rng = np.random.default_rng(0)
    rng.permutation(np.count_nonzero(weight))
    small = quick(cls) | known(cls, n_components=4) | {"n_estimators": 5}
    model = cls(validation_fraction=0.25, random_state=0, **small).fit(X, target, weight)
    by_hand = cls(random_state=rng, **small).fit(
        X[kept], target[kept], weight[kept], eval_set=(X[out], target[out], weight[out]))
    if hasattr(model, "classes_"):
        assert same_state(model, by_hand)
        np.testing.assert_array_equal(model.eval_loss_, by_hand.eval_loss_)
    else:
        np.testing.assert_allclose(model.predict(X), by_hand.predict(X), atol=0.3)
        np.testing.assert_allclose(model.eval_loss_, by_hand.eval_loss_, rtol=0.3)


def test_blocks_hold_the_same_rows_out(cls):
    """In memory the rows held out are gone, of blocks they count for nothing: sums differ in their order alone."""
    target = target_of(cls)
    params = quick(cls) | known(cls, n_components=4, precision="double", max_samples=None) | {"n_estimators": 3}
    a, b = (cls(validation_fraction=0.25, random_state=0, **params).fit(rows, target)
            for rows in (X, RowBlocks([X[:99], X[99:]])))
    np.testing.assert_allclose(a.eval_loss_[0], b.eval_loss_[0], rtol=1e-9)
    np.testing.assert_allclose(a.train_loss_[0], b.train_loss_[0], rtol=1e-9)


def test_a_map_learns_nothing_of_the_rows_held_out(cls):
    target = target_of(cls)
    out = rows_of(cls)
    odd = X.copy()
    odd[out, 1] += 1e6
    small = quick(cls) | known(cls, n_components=4) | {"n_estimators": 2}
    found = [cls(validation_fraction=0.25, random_state=0, columns=ColumnMap(), **small).fit(rows, target).column_map_
             for rows in (X, odd)]
    np.testing.assert_array_equal(found[0].transform(X), found[1].transform(X))


def test_an_eval_set_goes_before(cls):
    target = target_of(cls)
    small = quick(cls) | {"n_estimators": 2, "random_state": 0}
    held_out = X[:50], target[:50]
    assert same_state(cls(validation_fraction=0.5, **small).fit(X, target, eval_set=held_out),
                      cls(**small).fit(X, target, eval_set=held_out))


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.9])
def test_shares_of_classes(fraction):
    labels = np.repeat(["a", "b", "c", "d"], [300, 90, 9, 1])
    out = validation_rows(labels, None, fraction, True, np.random.default_rng(1))[0]
    assert int(fraction * 400) - 4 <= len(out) <= int(fraction * 400)
    assert (np.diff(out) > 0).all()
    for label, n_rows in zip("abcd", (300, 90, 9, 1), strict=True):
        n_out = np.count_nonzero(labels[out] == label)
        assert abs(n_out - fraction * n_rows) < 2
        assert n_out < n_rows


def test_targets_and_weights():
    out, positive = validation_rows(np.arange(100.0), np.arange(100) % 2, 0.3, False, np.random.default_rng(1))
    assert (out % 2 == 1).all()
    assert len(out) == 15
    np.testing.assert_array_equal(np.flatnonzero(np.arange(100) % 2)[positive], out)


def test_too_few_rows(cls):
    few = slice(0, 2)
    target = np.array(["up", "down"]) if target_of(cls).dtype.kind == "U" else np.array([1.0, 2.0])
    with pytest.raises(InvalidInputError, match="validation_fraction must hold out at least one of 2 rows"):
        cls(validation_fraction=0.1, **quick(cls)).fit(X[few], target)
    for wrong in (0, 1.0, -0.1, "auto", True):
        with pytest.raises(InvalidInputError, match="validation_fraction must be"):
            fit(cls, validation_fraction=wrong)


def test_wrong_arguments_are_told_as_ever(cls):
    target = target_of(cls)
    for arguments, match in (((X, target[:9]), "y must have one entry"), ((X, None), "y must hold one"),
                             ((X, target, -np.ones(400)), "sample_weight must not be negative"),
                             ((X, target, np.ones(3)), "sample_weight must"),
                             ((X[:0], target[:0]), "0 sample|minimum of 2")):
        with pytest.raises(InvalidInputError, match=match):
            cls(validation_fraction=0.2, random_state=0, **quick(cls)).fit(*arguments)
