"""Training that goes on has the bits of one fit, and says which rows or parameters are others."""

import pickle

import numpy as np
import pytest
from helpers.families import (
    RESUMABLE,
    X,
    Y,
    fit,
    known,
    one_member,
    resumable,
    same_state,
    same_training,
    staged,
    target_of,
)

from rffkern import ColumnMap, InvalidInputError, RowBlocks, TrainingStateError, dumps, loads
from rffkern._estimator.registry import FAMILIES

pytestmark = pytest.mark.slow

GBRFF = [name for name in RESUMABLE if name.startswith("gbrff")]


@pytest.fixture(params=RESUMABLE)
def cls(request):
    return FAMILIES[request.param].load()


def pieces(cls, rows, target, steps=(3, 4, 9), weight=None, held_out=None, **params):
    """A model that was trained in pieces, each in a copy by pickle and on another number of threads."""
    model = resumable(cls, steps[0], **params)
    for k, n_rounds in enumerate(steps):
        model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=n_rounds, n_jobs=1 + k % 2)
        model.fit(rows, target, weight, eval_set=held_out)
    return model


def test_pieces_are_one_fit(cls):
    target, weight = target_of(cls), np.linspace(0, 2, 400)
    assert same_training(pieces(cls, X, target, weight=weight), resumable(cls, 9).fit(X, target, weight))
    assert resumable(cls, 9).fit(X, target, weight).n_estimators_ == 9


@pytest.mark.parametrize("params", [
    {"max_samples": 128}, {"max_samples": 128, "precision": "double"}, {"landmarks": "random", "max_samples": 128},
    {"n_components": 1}, {"step": "exact"}, {"columns": ColumnMap(("rank",))}, {"columns": "auto"},
    {"validation_fraction": 0.2}, {"validation_fraction": 0.2, "max_samples": 128, "class_weight": "balanced"},
], ids=str)
@pytest.mark.parametrize("name", GBRFF)
def test_pieces_of_every_kind(name, params):
    cls = FAMILIES[name].load()
    if not set(params) <= set(cls._param_names()):
        return
    target = target_of(cls)
    assert same_training(pieces(cls, X, target, **params), resumable(cls, 9, **params).fit(X, target))


@pytest.mark.parametrize("name", GBRFF)
def test_classes_blocks_and_held_out_rows(name):
    cls = FAMILIES[name].load()
    target = target_of(cls)
    target = np.where(X[:, 4] > 1, "far", Y) if target.dtype.kind == "U" else np.column_stack([target, X[:, 4]])
    held_out = X[:90], target[:90]
    for rows, params in ((X, {}), (RowBlocks([X[:150], X[150:]]), {"max_samples": 128})):
        whole = resumable(cls, 9, **params).fit(rows, target, eval_set=held_out)
        found = pieces(cls, rows, target, held_out=held_out, **params)
        assert same_training(found, whole)
        np.testing.assert_allclose(found.eval_loss_, whole.eval_loss_, rtol=0)


@pytest.mark.parametrize("name", GBRFF)
def test_rounds_that_had_ended_stay_and_patience_goes_on(name):
    cls = FAMILIES[name].load()
    target = target_of(cls)
    params = {"validation_fraction": 0.3, "early_stopping_rounds": 2, "learning_rate": 1.0}
    model = resumable(cls, 300, **params).fit(X[:, 4:], target)
    n_rounds, seen = len(model.train_loss_) - 1, []
    assert n_rounds < 300
    model.set_params(n_estimators=400).fit(X[:, 4:], target, callback=seen.append)
    assert not seen
    model.set_params(early_stopping_rounds=6, n_estimators=n_rounds + 3).fit(X[:, 4:], target, callback=seen.append)
    assert seen[0].n_rounds == n_rounds + 1
    whole = resumable(cls, n_rounds + 3, **params | {"early_stopping_rounds": 6}).fit(X[:, 4:], target)
    assert same_training(model, whole)


def test_what_a_callback_has_ended_goes_on(cls):
    target, seen = target_of(cls), []
    params = one_member(cls)
    model = resumable(cls, 9, **params).fit(X, target, callback=lambda info: seen.append(info) or len(seen) == 2)
    assert len(seen) == 2
    assert same_training(model.fit(X, target), resumable(cls, 9, **params).fit(X, target))


def test_others_are_errors_that_name_them(cls):
    target = target_of(cls)
    model = resumable(cls, 3).fit(X, target, eval_set=(X[:40], target[:40]))
    before = dict(vars(model))
    changed = X.copy()
    changed[399, 5] += 1e-3
    flipped = target.copy()
    flipped[0] = target[target != target[0]][0]
    eval_set = (X[:40], target[:40])
    for rows, y, weight, held_out, message in (
            (changed, target, None, eval_set, "X must be as in"),
            (X, flipped, None, eval_set, "y must be as in|weight"),
            (X, target, np.linspace(1, 2, 400), eval_set, "sample_weight or class_weight must be as in"),
            (X, target, None, None, "eval_set must be as in"),
            (X, target, None, (changed[360:], target[360:]), "eval_set must be as in"),
            (X[:399], target[:399], None, eval_set, "X must have the rows of the training that goes on, 400")):
        with pytest.raises(InvalidInputError, match=message):
            model.fit(rows, y, weight, eval_set=held_out)
    for name, value in known(cls, learning_rate=0.25, gamma=0.25, max_samples=200).items():
        old = getattr(model, name)
        with pytest.raises(InvalidInputError, match=f"{name} must be .* as in the training that goes on"):
            model.set_params(**{name: value}).fit(X, target, eval_set=eval_set)
        model.set_params(**{name: old})
    with pytest.raises(InvalidInputError, match="n_estimators must be at least 3"):
        model.set_params(n_estimators=2).fit(X, target, eval_set=eval_set)
    assert all(vars(model)[name] is value for name, value in before.items() if name != "n_estimators")
    assert same_state(model.set_params(n_estimators=2, warm_start=False).fit(X, target), fit_of(cls, 2, target))


def fit_of(cls, n_rounds, target):
    return resumable(cls, n_rounds, warm_start=False, random_state=5).fit(X, target)


def test_without_the_state_of_training(cls):
    target = target_of(cls)
    cold = fit_of(cls, 3, target)
    assert cold._rounds_so_far() is None
    for model in (loads(dumps(resumable(cls, 3).fit(X, target))), cold.set_params(warm_start=True)):
        with pytest.raises(TrainingStateError, match="read from a file or trained with warm_start=False"):
            model.fit(X, target)


def test_draws_of_any_source(cls, monkeypatch):
    """The seed is drawn once, so that a Generator and None serve too."""
    target = target_of(cls)
    if cls.family.startswith("sparse"):
        monkeypatch.setattr("rffkern._training.sparse_kernel.ensemble.PRECISION", "double")
    for source in (np.random.default_rng(3), None):
        model = resumable(cls, 4, random_state=source).fit(X, target)
        first = list(staged(cls)(model, X))
        again = model.set_params(n_estimators=7).fit(X, target)
        if not one_member(cls):  # a sparse machine refines its coefficients at the end
            tolerance = 1e-9 if cls.family.startswith("sparse") else 0
            np.testing.assert_allclose(first, list(staged(cls)(again, X))[:4], rtol=tolerance, atol=tolerance)


def test_a_fit_that_fails_leaves_the_model(cls):
    target = target_of(cls)
    model = resumable(cls, 3).fit(X, target)
    before = dict(vars(model))

    def fail(info):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.set_params(n_estimators=8).fit(X, target, callback=fail)
    assert all(vars(model)[name] is value for name, value in before.items() if name != "n_estimators")
    assert same_training(model.fit(X, target), resumable(cls, 8).fit(X, target))


def test_default_fits_have_no_state():
    """And keep what they draw in one order: see the frozen bits of `tools/bits.py`."""
    for name in RESUMABLE:
        assert fit(FAMILIES[name].load(), n_estimators=2)._rounds_so_far() is None
