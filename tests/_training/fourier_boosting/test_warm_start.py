"""Training that goes on: the bits of one fit, and which rows and parameters it accepts."""

import copy
import pickle
import re

import numpy as np
import pytest
from helpers.families import same_state

from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    InvalidInputError,
    RowBlocks,
)
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 4))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * RNG.standard_normal(300)
SHORT = {"n_bags": 2, "random_state": 1, "kernel_ridge": False}
CURVES = ("train_loss_", "eval_loss_", "bag_counts_", "term_rounds_", "feature_importances_")


def same(one, other):
    """Whether two models have the same function and curves, to the last bit."""
    return same_state(one, other) and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in CURVES)


def one_fit(n_rounds, family=FourierBoostingRegressor, target=Y, **params):
    return family(n_rounds, **SHORT | params).fit(X, target)


def begun(n_rounds, family=FourierBoostingRegressor, target=Y, **params):
    return one_fit(n_rounds, family, target, warm_start=True, **params)


@pytest.mark.parametrize(("family", "target", "params"), [
    (FourierBoostingRegressor, Y, {}),
    (FourierBoostingRegressor, np.column_stack([Y, X[:, 2] ** 2]), {"base_learners": ("linear", "tree")}),
    (FourierBoostingRegressor, Y, {"loss": "quantile", "quantile": [0.1, 0.9], "columns": None}),
    (FourierBoostingRegressor, np.floor(np.exp(Y)), {"loss": "poisson"}),
    (FourierBoostingClassifier, Y > 0, {"class_weight": "balanced"}),
    (FourierBoostingClassifier, np.digitize(Y, [-0.5, 0.5]), {"early_stopping_rounds": None}),
], ids=["squared_error", "two targets", "quantiles", "counts", "two classes", "three classes"])
def test_rounds_that_follow_have_the_bits_of_one_fit(family, target, params):
    """Also of members that take turns at first, in a copy by pickle, on another number of threads."""
    whole = one_fit(45, family, target, **params)
    model = begun(7, family, target, **params)
    assert same(model, one_fit(7, family, target, **params))
    for n_rounds in (8, 33, 45):
        model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=n_rounds, n_jobs=1 + n_rounds % 2)
        model.fit(X, target)
    assert same(model, whole)


def test_waves_alone_and_an_eval_set():
    held_out = X[200:], Y[200:]
    whole = FourierBoostingRegressor(20, base_learners=("fourier",), **SHORT).fit(X[:200], Y[:200], eval_set=held_out)
    model = FourierBoostingRegressor(6, base_learners=("fourier",), warm_start=True, **SHORT)
    model.fit(X[:200], Y[:200], eval_set=held_out)
    assert same(model.set_params(n_estimators=20).fit(X[:200], Y[:200], eval_set=held_out), whole)


def test_tables_whose_map_learns_from_the_target():
    """Numbers of the rows that a map has learned from differ from those of the same rows later."""
    table = {"level": RNG.integers(0, 40, 300).astype(str), "x": np.where(X[:, 0] > 1, np.nan, X[:, 0])}
    columns = ColumnMap(("standard", "rank"))
    whole = FourierBoostingRegressor(30, columns=columns, **SHORT).fit(table, Y)
    model = FourierBoostingRegressor(10, columns=columns, warm_start=True, **SHORT).fit(table, Y)
    assert same(model.set_params(n_estimators=30).fit(table, Y), whole)


def test_blocks_are_the_same_rows():
    model = begun(5, columns=None)
    model.set_params(n_estimators=12).fit(RowBlocks([X[:100], X[100:]]), Y)
    assert same(model, one_fit(12, columns=None))


def test_rounds_that_had_ended_by_early_stopping_stay():
    """And go on where more patience is asked for."""
    model = begun(400, early_stopping_rounds=5)
    before, ended = model.expansion_, [len(each.steps) for each in model._training_state.bag_states]
    assert max(ended) < 400
    seen = []
    model.set_params(n_estimators=500).fit(X, Y, callback=seen.append)
    assert not seen
    np.testing.assert_array_equal(model.expansion_.fourier.amplitudes, before.fourier.amplitudes)
    model.set_params(early_stopping_rounds=15).fit(X, Y, callback=seen.append)
    assert seen[0].n_rounds == ended[0] + 1
    assert same(model, one_fit(500, early_stopping_rounds=15))


def test_a_copy_goes_on_by_itself():
    model = begun(10)
    other = copy.copy(model).set_params(n_estimators=30).fit(X, Y)
    assert same(model, one_fit(10))
    assert same(model.set_params(n_estimators=20).fit(X, Y), one_fit(20))
    assert same(other, one_fit(30))


@pytest.mark.parametrize(("params", "message"), [
    ({"n_bags": 3}, "n_bags must be 2, as in the training that goes on, got 3; with warm_start"),
    ({"base_learners": ("tree",)}, rf"base_learners must be {re.escape(str((*BASE_LEARNERS,)))}, .*, got \('tree',\)"),
    ({"loss": "huber"}, "loss must be 'squared_error', as in the training that goes on, got 'huber'")])
def test_parameters_that_cannot_change(params, message):
    with pytest.raises(InvalidInputError, match=message):
        begun(10).set_params(**params).fit(X, Y)


def test_parameters_that_may_change():
    model = begun(10, n_jobs=1).set_params(
        n_estimators=25, random_state=7, n_jobs=2, verbose=100, columns=ColumnMap(("standard", "rank")),
        base_learners=[*BASE_LEARNERS])
    assert same(model.fit(X, Y), one_fit(25))


def test_labels_that_cannot_change():
    """With weights of classes, labels are named first, on which the weights depend; their names are free."""
    model = begun(5, FourierBoostingClassifier, Y > 0, class_weight="balanced").set_params(n_estimators=9)
    with pytest.raises(InvalidInputError, match="y must be as in the training that goes on"):
        model.fit(X, Y > 0.5)
    with pytest.raises(InvalidInputError, match="sample_weight or class_weight must be as in"):
        model.set_params(class_weight=None).fit(X, Y > 0)
    model.set_params(class_weight="balanced").fit(X, np.where(Y > 0, "more", "less"))
    assert same(model, one_fit(9, FourierBoostingClassifier, Y > 0, class_weight="balanced"))
    assert model.predict(X[:1])[0] in ("less", "more")


def test_an_exact_fit_stays():
    model = begun(5, target=np.ones(300), early_stopping_rounds=None)
    seen = []
    model.set_params(n_estimators=50).fit(X, np.ones(300), callback=seen.append)
    assert not seen
    assert model.predict(X[:2]).tolist() == [1, 1]
