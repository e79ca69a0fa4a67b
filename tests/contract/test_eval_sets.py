"""Several sets of held-out rows: the first decides, and all have their losses by name."""

import numpy as np
import pytest
from helpers.families import X, Y, known, quick, same_state, target_of

from rffkern import ColumnMap, InvalidInputError, RowBlocks
from rffkern._estimator.registry import FAMILIES

WATCHING = sorted(name for name, entry in FAMILIES.items() if entry.load()._watches)
OTHERS = sorted(name for name, entry in FAMILIES.items()
                if name not in WATCHING and "early_stopping_rounds" in entry.load()._param_names())


@pytest.fixture(params=WATCHING)
def cls(request):
    return FAMILIES[request.param].load()


def made(cls, **params):
    return cls(**{"random_state": 0, "n_estimators": 25, "early_stopping_rounds": 3}
               | known(cls, n_components=4) | params)


def sets_of(target):
    return (X[:60, 3:], target[:60]), (X[60:150, 3:], target[60:150], np.linspace(0, 1, 90)), (X[:9, 3:], target[:9])


@pytest.mark.parametrize("columns", [None, ColumnMap(("rank",))], ids=["as they are", "mapped"])
def test_the_first_decides_and_all_are_told(cls, columns):
    target = target_of(cls)
    target = np.where(X[:, 4] > 1, "far", Y) if target.dtype.kind == "U" else np.column_stack([target, X[:, 4]])
    sets = sets_of(target)
    alone = [made(cls, columns=columns).fit(X[:, 3:], target, eval_set=each) for each in sets]
    assert list(alone[0].eval_losses_) == ["valid_0"]
    listed = made(cls, columns=columns).fit(X[:, 3:], target, eval_set=list(sets))
    named = made(cls, columns=columns).fit(X[:, 3:], target, eval_set=dict(zip("abc", sets, strict=True)))
    for model, names in ((listed, ["valid_0", "valid_1", "valid_2"]), (named, ["a", "b", "c"])):
        assert same_state(model, alone[0])
        assert list(model.eval_losses_) == names
        np.testing.assert_array_equal(model.eval_losses_[names[0]], model.eval_loss_)
        for name, other in zip(names, alone, strict=True):
            shared = min(len(model.eval_loss_), len(other.eval_loss_))
            np.testing.assert_array_equal(model.eval_losses_[name][:shared], other.eval_loss_[:shared])
            assert len(model.eval_losses_[name]) == len(model.eval_loss_)
    other = made(cls, columns=columns).fit(X[:, 3:], target, eval_set=list(sets[::-1]))
    assert same_state(other, alone[2])


def test_one_set_in_every_form(cls):
    target = target_of(cls)
    one = X[:60], target[:60]
    expected = made(cls).fit(X, target, eval_set=one)
    for form in ([one], {"only": one}, list(one), (RowBlocks([X[:30], X[30:60]]), target[:60])):
        found = made(cls).fit(X, target, eval_set=form)
        assert same_state(found, expected) or isinstance(form[0], RowBlocks)
        np.testing.assert_allclose(found.eval_loss_, expected.eval_loss_, rtol=1e-4)
    assert made(cls).fit(X, target).eval_losses_ == {}


def test_training_goes_on_with_all_sets(cls):
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
    with pytest.raises(InvalidInputError, match="eval_set must be as in the training that goes on"):
        model.fit(X[:, 3:], target, eval_set={"a": sets["a"], "b": sets["b"]})


def test_wrong_sets(cls):
    target = target_of(cls)
    one = X[:60], target[:60]
    for wrong, match in (({}, "dict of names"), ({1: one}, "dict of names"), ([one, (X,)], "a tuple"), ([], "a tuple"),
                         ({"a": one, "b": 3}, "got int"), ([one, (X[:, :2], target)], "eval_set X must have 6"),
                         ([one, (X, target[:5])], "eval_set y must have one entry")):
        for columns in (None, ColumnMap()) if "must have 6" not in match else (None,):
            with pytest.raises(InvalidInputError, match=f"eval_set.*{match}|{match}"):
                made(cls, columns=columns).fit(X, target, eval_set=wrong)


@pytest.mark.parametrize("name", OTHERS)
def test_families_that_take_one_say_so(name):
    cls = FAMILIES[name].load()
    target = target_of(cls)
    one = X[:60], target[:60]
    small = quick(cls) | known(cls, n_estimators=2, max_epochs=1, n_components=4)
    with pytest.raises(InvalidInputError, match=f"eval_set must be one tuple .* for {cls.__name__}, got 2"):
        cls(**small).fit(X, target, eval_set=[one, one])
    assert len(cls(**small).fit(X, target, eval_set={"only": one}).eval_loss_)
