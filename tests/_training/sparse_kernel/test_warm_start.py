"""Sparse machines that go on have the bits of one fit: all schemes of update, selections and kernels."""

import pickle

import numpy as np
import pytest
from helpers.sparse_rows import waves

from rffkern import (
    ColumnMap,
    GBRFF1Classifier,
    InvalidInputError,
    RowBlocks,
    SparseKernelClassifier,
    SparseKernelRegressor,
)
from rffkern._native.sparse import RULES
from rffkern._training.sparse_kernel import kernel_choice

GIVEN = {"kernel": {"length_scale": [1.0, 2.0, 3.0]}, "reg_lambda": 0.02, "random_state": 0, "warm_start": True}


def same(one, other):
    return (all(np.array_equal(a, b) for a, b in zip(one.expansion_.arrays().values(),
                                                     other.expansion_.arrays().values(), strict=True))
            and all(np.array_equal(getattr(one, name), getattr(other, name))
                    for name in ("train_loss_", "eval_loss_", "kernel_parameters_", "n_skipped_")))


def check(make, rows, target, weight=None, held_out=None, steps=(1, 4, 11), seen=None):
    """Three fits, in copies by pickle and on other numbers of threads, against one; and all stages."""
    whole = make(steps[-1]).fit(rows, target, weight, eval_set=held_out)
    model = make(steps[0])
    for k, n_estimators in enumerate(steps):
        model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=n_estimators, n_jobs=1 + k % 2)
        model.fit(rows, target, weight, eval_set=held_out)
    assert same(model, whole)
    scores = "decision_function" if hasattr(model, "decision_function") else "predict"
    seen = rows if seen is None else seen
    np.testing.assert_array_equal([*getattr(model, f"staged_{scores}")(seen)],
                                  [*getattr(whole, f"staged_{scores}")(seen)])
    return model


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize(("update", "basis_size"), [("full", 6), ("full", 1), ("one", 6), ("one", 1), ("group", 6),
                                                      ("group", 1)])
def test_schemes_and_rules(rng, small_groups, rule, update, basis_size):
    X, y = waves(rng, 300)
    for target in (y, np.column_stack([y, X[:, 0] ** 2])):
        model = check(lambda n_estimators: SparseKernelRegressor(
            n_estimators, basis_size=basis_size, max_samples=40, selection=rule, update=update, **GIVEN), X, target)
        assert model.n_estimators_ == 11


@pytest.mark.parametrize("params", [
    {"kernel": {"length_scale": 2.0, "shape": "exponential"}}, {"kernel": "auto"}, {"kernel": {"length_scale": 1e-3}},
    {"validation_fraction": 0.2, "early_stopping_rounds": None}, {"columns": ColumnMap(("standard", "rank")), "kernel":
                                                                  {"length_scale": 1.0}},
    {"update": "group"}, {"basis_size": 1, "max_samples": 30}], ids=str)
def test_parameters(rng, small_groups, params):
    X, y = waves(rng, 250)
    weight = rng.uniform(0, 2, 250)
    weight[:20] = 0
    small = {"basis_size": 5, "max_samples": 50, **GIVEN, **params}
    check(lambda n_estimators: SparseKernelRegressor(n_estimators, **small), X, y, weight)


@pytest.mark.parametrize("params", [{}, {"class_weight": "balanced"}, {"update": "active"}], ids=str)
def test_classes_and_held_out_rows(rng, small_groups, params):
    X, y = waves(rng, 300)
    labels = np.digitize(y, [-1, 1])
    held_out = {"some": (X[:50], labels[:50]), "others": (X[50:90], labels[50:90])}
    for target in (labels, labels > 0):
        sets = {name: (rows, target[: len(rows)] if name == "some" else target[50:90])
                for name, (rows, _) in held_out.items()}
        model = check(lambda n_estimators: SparseKernelClassifier(
            n_estimators, basis_size=5, max_samples=50, early_stopping_rounds=None, **GIVEN, **params), X, target,
            held_out=sets)
        assert list(model.eval_losses_) == ["some", "others"]
        assert len(model.eval_losses_["others"]) == 12


def test_blocks(rng):
    X, y = waves(rng, 300)
    check(lambda n_estimators: SparseKernelRegressor(n_estimators, basis_size=5, max_samples=50, **GIVEN),
          RowBlocks([X[:100], X[100:]]), y, seen=X)


def test_lengths_of_many_rows_are_chosen_as_by_one_fit(rng, monkeypatch):
    """By ensembles, which have fewer rounds where a fit has fewer that does not go on."""
    monkeypatch.setattr(kernel_choice, "_MANY_ROWS", 1000)
    X, y = waves(rng, 1500)
    params = GIVEN | {"kernel": "auto", "basis_size": 5, "max_samples": 50}
    check(lambda n_estimators: SparseKernelRegressor(n_estimators, **params), X, y, steps=(1, 30))


def test_a_state_is_not_changed_by_what_goes_on_from_it(rng, small_groups):
    X, y = waves(rng, 300)
    for update in ("full", "one", "group"):
        first = SparseKernelRegressor(4, basis_size=5, max_samples=50, update=update, **GIVEN).fit(X, y)
        copies = [pickle.loads(pickle.dumps(first)), first]
        assert same(*(model.set_params(n_estimators=9).fit(X, y) for model in copies))
        again = pickle.loads(pickle.dumps(first)).set_params(n_estimators=12).fit(X, y)
        assert same(again, first.set_params(n_estimators=12).fit(X, y))


@pytest.mark.parametrize("model", [SparseKernelRegressor(3, **GIVEN), GBRFF1Classifier(
    3, warm_start=True, random_state=0)], ids=["lambda", "beta"])
def test_weights_in_other_units_are_other_weights(rng, model):
    """Where lambda or beta stands beside their sum."""
    X, y = waves(rng, 60)
    target = y if isinstance(model, SparseKernelRegressor) else y > 0
    model.fit(X, target).set_params(n_estimators=6)
    with pytest.raises(InvalidInputError, match="sample_weight or class_weight must be as in the training"):
        model.fit(X, target, np.full(60, 2.0))
    assert len(model.fit(X, target, np.ones(60)).train_loss_) == 7
