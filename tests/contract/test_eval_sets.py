"""Several sets of held-out rows: the first decides, and all have their losses by name."""

import inspect

import numpy as np
import pytest
from helpers.families import X, Y, known, quick, same_state, target_of

from rffkern import ColumnMap, InvalidInputError, RowBlocks
from rffkern._estimator.registry import FAMILIES

pytestmark = pytest.mark.slow

WATCHING = sorted(name for name, entry in FAMILIES.items()
                  if "eval_set" in inspect.signature(entry.load().fit).parameters)

# Families in which the rows held out decide more than when to stop: what a round learns depends on them.
FOLLOWING = tuple(name for name in WATCHING if name.startswith(("fourier_boosting", "rffnet")))
GOING_ON = sorted(name for name in WATCHING
                  if {*FAMILIES[name].load()._param_names()} >= {"warm_start", "n_estimators"})


@pytest.fixture(params=WATCHING)
def cls(request):
    return FAMILIES[request.param].load()


def made(cls, **params):
    return cls(**{"random_state": 0} | quick(cls) | params | known(
        cls, n_estimators=params.get("n_estimators", 25), n_components=4, max_epochs=8, n_restarts=1,
        early_stopping_rounds=params.get("early_stopping_rounds", 3)))


def two_outputs(cls):
    target = target_of(cls)
    return np.where(X[:, 4] > 1, "far", Y) if target.dtype.kind == "U" else np.column_stack([target, X[:, 4]])


def sets_of(target):
    return (X[:60, 3:], target[:60]), (X[60:150, 3:], target[60:150], np.linspace(0, 1, 90)), (X[:9, 3:], target[:9])


@pytest.mark.parametrize("columns", [None, ColumnMap(("rank",))], ids=["as they are", "mapped"])
def test_the_first_decides_and_all_are_told(cls, columns):
    target = two_outputs(cls)
    sets = sets_of(target)
    alone = [made(cls, columns=columns).fit(X[:, 3:], target, eval_set=each) for each in sets]
    assert list(alone[0].eval_losses_) == ["valid_0"]
    listed = made(cls, columns=columns).fit(X[:, 3:], target, eval_set=list(sets))
    named = made(cls, columns=columns).fit(X[:, 3:], target, eval_set=dict(zip("abc", sets, strict=True)))
    for model, names in ((listed, ["valid_0", "valid_1", "valid_2"]), (named, ["a", "b", "c"])):
        assert same_state(model, alone[0])
        assert list(model.eval_losses_) == names
        np.testing.assert_array_equal(model.eval_losses_[names[0]], model.eval_loss_)
        for name, other in zip(names, alone if cls.family not in FOLLOWING else alone[:1], strict=False):
            shared = min(len(model.eval_loss_), len(other.eval_loss_))
            np.testing.assert_array_equal(model.eval_losses_[name][:shared], other.eval_loss_[:shared])
            assert len(model.eval_losses_[name]) == len(model.eval_loss_)
    other = made(cls, columns=columns).fit(X[:, 3:], target, eval_set=list(sets[::-1]))
    assert same_state(other, alone[2])


def test_rows_are_watched_as_those_that_decide(cls):
    target = two_outputs(cls)
    first, weighted, _ = sets_of(target)
    halves = RowBlocks([first[0][:30], first[0][30:]]), target[:60]
    model = made(cls).fit(X[:, 3:], target, eval_set={"a": first, "b": weighted, "c": first, "d": halves})
    losses = model.eval_losses_
    assert len(model.eval_loss_) > 2
    np.testing.assert_allclose(losses["c"], losses["a"], rtol=1e-6)
    np.testing.assert_allclose(losses["d"], losses["a"], rtol=1e-4)
    assert (np.abs(losses["b"] - losses["a"]) > 1e-4 * losses["a"]).all()
    doubled = np.concatenate([first[0], first[0]]), np.concatenate([first[1], first[1]]), np.repeat([2.0, 0.0], 60)
    again = made(cls).fit(X[:, 3:], target, eval_set=[weighted, first, doubled])
    np.testing.assert_allclose(again.eval_losses_["valid_2"], again.eval_losses_["valid_1"], rtol=1e-6)


def test_one_set_in_every_form(cls):
    target = target_of(cls)
    one = X[:60], target[:60]
    expected = made(cls).fit(X, target, eval_set=one)
    for form in ([one], {"only": one}, list(one), (RowBlocks([X[:30], X[30:60]]), target[:60])):
        found = made(cls).fit(X, target, eval_set=form)
        assert same_state(found, expected) or isinstance(form[0], RowBlocks)
        np.testing.assert_allclose(found.eval_loss_, expected.eval_loss_, rtol=1e-4)
    assert list(made(cls).fit(X, target, eval_set={"only": one}).eval_losses_) == ["only"]
    without = made(cls).fit(X, target)
    assert list(without.eval_losses_) == (["valid_0"] if cls.family in FOLLOWING else [])
    for losses in without.eval_losses_.values():
        np.testing.assert_array_equal(losses, without.eval_loss_)


@pytest.mark.parametrize("name", GOING_ON)
def test_training_goes_on_with_all_sets(name):
    cls = FAMILIES[name].load()
    target = target_of(cls)
    sets = dict(zip("abc", sets_of(target), strict=True))
    whole = made(cls, warm_start=True, early_stopping_rounds=None).fit(X[:, 3:], target, eval_set=sets)
    model = made(cls, warm_start=True, early_stopping_rounds=None, n_estimators=8)
    model.fit(X[:, 3:], target, eval_set=sets)
    model.set_params(n_estimators=25).fit(X[:, 3:], target, eval_set=sets)
    assert same_state(model, whole)
    assert list(model.eval_losses_) == ["a", "b", "c"]
    for name, losses in whole.eval_losses_.items():
        np.testing.assert_array_equal(model.eval_losses_[name], losses)
    moved = {"a": (X[:40, 3:], target[:40]), "b": (X[40:60, 3:], target[40:60])}
    model = made(cls, warm_start=True, n_estimators=8).fit(X[:, 3:], target, eval_set=moved)
    for other in ({"a": sets["a"]}, {"b": moved["a"], "a": moved["b"]}, list(moved.values()),
                  {"a": (X[:20, 3:], target[:20]), "b": (X[20:60, 3:], target[20:60])}):
        with pytest.raises(InvalidInputError, match="eval_set must be as in the training that goes on"):
            model.fit(X[:, 3:], target, eval_set=other)


def test_wrong_sets(cls):
    target = target_of(cls)
    one = X[:60], target[:60]
    for wrong, match in (({}, "dict of names"), ({1: one}, "dict of names"), ([one, (X,)], "a tuple"), ([], "a tuple"),
                         ({"a": one, "b": 3}, "got int"), ([one, (X[:, :2], target)], "eval_set X must have 6"),
                         ([one, (X, target[:5])], "eval_set y must have one entry")):
        for columns in (None, ColumnMap()) if "must have 6" not in match else (None,):
            with pytest.raises(InvalidInputError, match=f"eval_set.*{match}|{match}"):
                made(cls, columns=columns).fit(X, target, eval_set=wrong)
