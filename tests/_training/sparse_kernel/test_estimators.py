"""Sparse kernel machines by boosting: what a user meets."""

import itertools
import tracemalloc

import numpy as np
import pytest
from helpers.sparse_rows import GIVEN, RAW, WIDE, waves

from rffkern import (
    InvalidInputError,
    RowBlocks,
    SparseKernelClassifier,
    SparseKernelRegressor,
    load,
    save,
)
from rffkern._native.sparse import RULES
from rffkern._training.sparse_kernel import basis_selection, ensemble
from rffkern._training.sparse_kernel.kernel_choice import KERNEL_PARAMETER, given_kernel


def in_both_precisions(monkeypatch, make):
    """What is made in single precision and in double."""
    single = make()
    monkeypatch.setattr(ensemble, "PRECISION", "double")
    return single, make()


def test_single_precision_is_near(rng, monkeypatch):
    X, y = waves(rng, 1000)
    losses = in_both_precisions(monkeypatch, lambda: SparseKernelRegressor(
        40, basis_size=10, max_samples=100, **GIVEN).fit(X, y).train_loss_)
    np.testing.assert_allclose(*losses, rtol=2e-2)
    assert (losses[0] != losses[1]).any()


def test_single_becomes_double_where_rows_are_many_lengths_apart(rng, monkeypatch):
    X, y = waves(rng, 300)
    narrow = GIVEN | {"kernel": {"length_scale": 1e-3}}
    losses = in_both_precisions(monkeypatch, lambda: SparseKernelRegressor(
        5, basis_size=5, max_samples=50, **narrow).fit(X, y).train_loss_)
    np.testing.assert_array_equal(*losses)


def test_functions_without_noise_are_learned(rng):
    """The likeliest kernel of a linear function is so flat that single precision sees hardly any distance in it."""
    X = rng.standard_normal((400, 3))
    for y in (X @ [1.0, 2, 3], X[:, 0] * X[:, 1] + X[:, 2]):
        model = SparseKernelRegressor(random_state=0).fit(X[:300], y[:300])
        assert model.score(X[300:], y[300:]) > 0.999


@pytest.mark.parametrize("rule", ["max-res", "mp"])
def test_weights_are_repetition(rng, rule, monkeypatch, in_double):
    """Selections among all rows do not depend on draws; a repetition is a near-duplicate, which is skipped."""
    monkeypatch.setattr(basis_selection, "_N_CANDIDATES", 10**6)
    X, y = waves(rng, 150)
    times = rng.integers(1, 4, 150)
    size = {"basis_size": 5, "max_samples": None, "selection": rule}
    weighted = SparseKernelRegressor(6, **size, **GIVEN).fit(X, y, times)
    repeated = SparseKernelRegressor(6, **size, **GIVEN).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)
    twice = SparseKernelRegressor(6, **size, **GIVEN).fit(X, y, 2 * times)
    assert np.abs(twice.predict(X) - weighted.predict(X)).max() > 1e-5  # lambda does not grow with them


def test_more_learners_fit_better_and_full_beats_one(rng, small_groups):
    X, y = waves(rng, 800)
    losses = {}
    for update in ("full", "group", "one"):
        model = SparseKernelRegressor(40, basis_size=5, max_samples=100, update=update, columns=RAW, **GIVEN)
        losses[update] = model.fit(X, y).train_loss_
        assert losses[update][-1] < 0.5 * losses[update][1]
    assert losses["full"][-1] < losses["group"][-1] < losses["one"][-1]


@pytest.mark.parametrize("update", ["group", "active"])
def test_groups_of_a_classifier(rng, monkeypatch, in_double, update):
    """Groups on the rows with y F < 0.5 alone; what others have in the end is what the expansion gives them."""
    monkeypatch.setattr(ensemble, "GROUP_SIZE", 8)
    X, y = waves(rng, 900)
    params = GIVEN | {"basis_size": 5, "max_samples": 100, "update": update, "columns": RAW}
    model, longer = (SparseKernelClassifier(n, **params).fit(X, y > 0) for n in (40, 41))
    stages = model._training_state
    assert {len(np.unique(learner.indices)) for learner in stages.learners} == {5}
    assert [len(group.last) for group in stages.groups] == [8] * 5
    assert model.score(X, y > 0) > 0.93
    assert model.n_estimators_ == 40
    # At the end of the last group, and there alone, the loss is known of all rows: the next would begin with it.
    np.testing.assert_allclose(longer.train_loss_[:41], model.train_loss_, rtol=1e-12)
    if update == "group":
        sign = np.where(y > 0, 1, -1)
        model = sign.mean() + (model.decision_function(X) - stages.intercept) / stages.scale  # before the calibration
        np.testing.assert_allclose(np.mean((sign - model) ** 2), longer.train_loss_[40], rtol=1e-8)


def test_several_outputs_share_kernel_and_centers(rng):
    X, y = waves(rng, 400)
    targets = np.column_stack([y, X[:, 0]])
    both = SparseKernelRegressor(30, basis_size=8, max_samples=100, random_state=0).fit(X, targets)
    assert both.predict(X).shape == (400, 2)
    assert both.score(X, targets) > 0.9
    assert both.expansion_.n_outputs == 2
    assert len(np.unique(both.expansion_.kernels.centers, axis=0)) == both.expansion_.n_terms
    labels = np.digitize(y, [-1, 1])
    classifier = SparseKernelClassifier(60, basis_size=8, max_samples=100, random_state=0).fit(
        X, labels)
    assert classifier.predict_proba(X).shape == (400, 3)
    assert classifier.score(X, labels) > 0.9


def test_the_kernel_of_a_model_can_be_given_to_another(rng, tmp_path):
    X, y = waves(rng, 500)
    model = SparseKernelRegressor(10, random_state=0).fit(X, y)
    other = SparseKernelRegressor(10, kernel=model.kernel_, reg_lambda=model.reg_lambda_, random_state=0).fit(X, y)
    assert other.kernel_ == model.kernel_
    save(other, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.kernel == model.kernel_
    assert loaded.reg_lambda_ == model.reg_lambda_
    assert loaded.n_estimators_ == 10
    array = SparseKernelRegressor(5, kernel={"length_scale": np.array([1.0, 2.0, 3.0])}, random_state=0).fit(X, y)
    save(array, tmp_path / "m")
    assert load(tmp_path / "m").kernel == {"length_scale": [1.0, 2.0, 3.0]}


def test_no_more_learners_than_rows_allow(rng):
    X = np.repeat(rng.standard_normal((6, 2)), 5, axis=0)
    y = np.repeat(rng.standard_normal(6), 5)
    for update in ("full", "one"):
        model = SparseKernelRegressor(50, basis_size=1, update=update, kernel={"length_scale": 0.1}, reg_lambda=1e-6,
                                      random_state=0).fit(X, y)
        assert model.n_estimators_ <= (6 if update == "full" else 30)
        assert model.score(X, y) > 0.999999
    assert SparseKernelRegressor(50, basis_size=8, **WIDE).fit(X, y).n_skipped_ > 0


@pytest.mark.parametrize("update", ["full", "one", "group"])
@pytest.mark.parametrize("rule", sorted(RULES))
def test_basis_vectors_one_by_one_until_none_is_left(rng, small_groups, rule, update):
    """Smooth functions have few independent columns; the dictionary must not outgrow its room."""
    X = rng.uniform(-1, 1, (120, 1))
    y = np.sin(3 * X[:, 0])
    for reg_lambda, n_estimators in itertools.product((1e-12, 1e-3), (5, 40)):
        model = SparseKernelRegressor(n_estimators, basis_size=1, selection=rule, update=update,
                                      **WIDE | {"reg_lambda": reg_lambda}).fit(X, y)
        found = 1 - model.score(X, y)
        assert found == pytest.approx(model.train_loss_[-1], rel=1e-3, abs=1e-7)


@pytest.mark.parametrize(("precision", "largest"), [("double", 1e-6), ("single", 1e-4)])
@pytest.mark.parametrize("seed", range(4))
def test_one_by_one_gets_as_far_as_many_at_a_time(monkeypatch, seed, precision, largest):
    """Columns of single vectors are nearly parallel for a smooth kernel, and must be told apart all the same.

    Which of the two ends lower is up to rounding; in double precision 24 tables have ended between 5e-8 and 7e-7, from
    0.5.  In single precision vectors must lie further apart.
    """
    X = np.random.default_rng(seed).uniform(-1, 1, (600, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    monkeypatch.setattr(ensemble, "PRECISION", precision)
    params = WIDE | {"reg_lambda": 1e-6}
    losses = [SparseKernelRegressor(60, basis_size=size, **params).fit(X, y).train_loss_[-1] for size in (1, 5)]
    assert max(losses) < largest


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("reg_lambda", [1e-3, 1e4])
def test_the_loss_is_that_of_the_expansion(rng, monkeypatch, precision, reg_lambda):
    monkeypatch.setattr(ensemble, "PRECISION", precision)
    X = rng.uniform(-1, 1, (600, 2))
    y = np.sin(3 * X[:, 0])
    model = SparseKernelRegressor(60, basis_size=5, max_samples=20, kernel={"length_scale": 3.0},
                                  reg_lambda=reg_lambda, random_state=0).fit(X, y)
    assert 1 - model.score(X, y) == pytest.approx(model.train_loss_[-1], rel=0.1 if precision == "single" else 1e-6)


def test_an_active_set_of_few_rows_with_weight(rng, small_groups):
    X, _ = waves(rng, 600)
    blocks, few = RowBlocks([X[:300], X[300:]]), np.where(np.arange(600) < 8, 1.0, 0.0)
    params = {"update": "active", "basis_size": 5, "max_samples": None}
    for seed in range(5):
        model = SparseKernelClassifier(12, **params, **GIVEN | {"random_state": seed})
        assert np.isfinite(model.fit(blocks, rng.random(600) < 0.5, few).decision_function(X)).all()


def test_an_output_that_has_run_out_changes_no_other(rng):
    X, y = waves(rng, 400)
    alone = SparseKernelRegressor(30, basis_size=8, max_samples=100, **GIVEN).fit(X, y)
    constant = np.ones(400)
    both = SparseKernelRegressor(30, basis_size=8, max_samples=100, **GIVEN)
    both.fit(X, np.column_stack([y, constant, constant]))
    assert both.n_estimators_ == alone.n_estimators_
    np.testing.assert_array_equal(both.predict(X)[:, 1:], 1)
    assert abs(both.score(X, np.column_stack([y, constant, constant])) - (alone.score(X, y) + 2) / 3) < 0.01


def test_sizes_beyond_the_rows_take_no_room(rng):
    X, y = waves(rng, 100)
    for params in ({"basis_size": 10**6, "max_samples": None}, {"n_estimators": 10**8, "basis_size": 10},
                   {"selection": "mp"}, {"basis_size": 1, "update": "one"}, {"update": "group"}):
        model = SparseKernelRegressor(**{"n_estimators": 10, "max_samples": 10**6} | params | GIVEN, columns=RAW)
        model.fit(X, y, callback=lambda info: info.n_rounds == 10)
        assert model.score(X, y) > 0.3


def test_targets_and_kernels_of_any_size(rng, monkeypatch):
    X, y = waves(rng, 100)
    for precision in ("single", "double"):
        monkeypatch.setattr(ensemble, "PRECISION", precision)
        scores = [SparseKernelRegressor(10, basis_size=5, max_samples=50, random_state=0,
                                        kernel={"length_scale": 1.0, "amplitude": amplitude},
                                        reg_lambda=1e-3 * amplitude).fit(X, unit * y).score(X, unit * y)
                  for amplitude, unit in ((1.0, 1.0), (1e9, 1e300), (1e80, 1.0), (1e-80, 1.0))]
        assert scores[0] > 0.5
        np.testing.assert_allclose(scores, scores[0], rtol=1e-6)
    with pytest.raises(InvalidInputError, match="y must be smaller: the weights of its basis vectors overflow"):
        SparseKernelRegressor(50, kernel={"length_scale": 5.0}, reg_lambda=1e-9, random_state=0).fit(X, 1e307 * y)


@pytest.mark.parametrize("change", [{"basis_size": 1}, {"n_estimators": 2}, {"kernel": {"length_scale": [1.0]}},
                                    {"kernel": {"length_scale": []}}])
def test_parameters_that_no_longer_fit_are_not_saved(rng, change, tmp_path):
    X, y = waves(rng, 200)
    model = SparseKernelRegressor(5, random_state=0).fit(X, y).set_params(**change)
    with pytest.raises(InvalidInputError):
        save(model, tmp_path / "m")


@pytest.mark.parametrize(("params", "message"), [
    ({"max_samples": 10}, "max_samples must be None or an integer >= 50, got 10"),
    ({"basis_size": 5, "max_samples": "all"}, "max_samples must be None or an integer >= 5, got 'all'"),
    ({"basis_size": "all", "max_samples": 0}, "basis_size must be an integer >= 1"),
    ({"kernel": {"length_scale": [1.0, 2.0]}}, "kernel length_scale must be a number or 3 numbers"),
])
def test_parameters_that_depend_on_others(rng, params, message):
    X, y = waves(rng, 60)
    with pytest.raises(InvalidInputError, match=message):
        SparseKernelRegressor(**params).fit(X, y)


def test_active_rows_are_those_of_classes(rng):
    X, y = waves(rng, 60)
    with pytest.raises(InvalidInputError, match="update must be one of 'full', 'one', 'group', got 'active'"):
        SparseKernelRegressor(update="active").fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(("update", "n_columns", "precision", "unit"), [("group", 50, "double", 8),
                                                                        ("one", 1, "single", 4)])
def test_memory(rng, monkeypatch, update, n_columns, precision, unit):
    """The formula of the docstring, with room for the rows' copies in checks and a fixed amount."""
    n, d = 60_000, 6
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + X[:, 1]
    monkeypatch.setattr(ensemble, "PRECISION", precision)
    model = SparseKernelRegressor(60, basis_size=40, update=update, kernel={"length_scale": 2.0}, reg_lambda=0.1,
                                  random_state=0, n_jobs=1)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    formula = n * (unit * (d + 1 + 40 + n_columns) + 8 + 40) + 16 * n_columns**2 + 8 * 44 * 500
    assert peak < formula + 8 * n * 8 + 4e6
    assert peak > 0.8 * (n * unit * n_columns)


def test_rules_and_schemes_all_train_with_weights_and_held_out_rows(rng, small_groups):
    X, y = waves(rng, 250)
    weight = rng.uniform(0, 2, 250)
    weight[:20] = 0
    for rule, update in itertools.product(sorted(RULES), ("full", "one", "group")):
        model = SparseKernelRegressor(12, basis_size=4, max_samples=60, selection=rule, update=update,
                                      early_stopping_rounds=None, **GIVEN)
        model.fit(X, y, weight, eval_set=(X[:50], y[:50], weight[:50] + 1))
        assert model.eval_loss_[-1] < model.eval_loss_[0]
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_robot_arm(real_data, seed):
    """A smooth function of eight angles: error in percent of the variance on held-out rows."""
    X, y = real_data("kin8nm")
    order = np.random.default_rng(seed).permutation(len(y))
    model = SparseKernelRegressor(100, random_state=seed).fit(X[order[:5000]], y[order[:5000]])
    assert 1 - model.score(X[order[5000:]], y[order[5000:]]) < 0.11


@pytest.mark.parametrize("make", [SparseKernelClassifier, SparseKernelRegressor])
def test_a_machine_of_columns_whose_squares_overflow_can_be_loaded(rng, tmp_path, make):
    """Length scales that are infinite would be saved, and refused when read."""
    X = np.column_stack([rng.uniform(-1e300, 1e300, 40), rng.standard_normal(40)])
    model = make(4, columns=RAW, random_state=0).fit(X, (X[:, 1] > 0).astype(float))
    assert np.isfinite(model.kernel_parameters_).all()
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))


@pytest.mark.parametrize("value", ["auto", "likelihood", {"length_scale": 1}, {"length_scale": [1.0, 2]},
                                   {"length_scale": np.ones(3), "amplitude": 2, "bias": 0}])
def test_kernels_that_are_taken(value):
    KERNEL_PARAMETER("kernel", value)


@pytest.mark.parametrize(("value", "message"), [
    ("rbf", "kernel must be 'auto', 'likelihood' or a dict"), (None, "kernel must be 'auto'"),
    ({"amplitude": 1.0}, "kernel must be 'auto', 'likelihood' or a dict with length_scale"),
    ({"length_scale": 1.0, "scale": 1}, "kernel must be"),
    ({"length_scale": []}, "kernel length_scale must be a number, or one for each column, got shape"),
    ({"length_scale": [[1.0]]}, "kernel length_scale must be a number, or one for each column, got shape"),
    ({"length_scale": [1.0, -1.0]}, "kernel length_scale must be a finite number >= 1e-100"),
    ({"length_scale": "wide"}, "kernel length_scale must be a finite number"),
    ({"length_scale": 1.0, "amplitude": 0}, "kernel amplitude must be a finite number >= 1e-100"),
    ({"length_scale": 1.0, "bias": -1}, "kernel bias must be a finite number >= 0"),
    ({"length_scale": 1.0, "shape": "cubic"}, "kernel shape must be 'gaussian' or 'exponential', got 'cubic'"),
])
def test_kernels_that_are_refused(value, message):
    with pytest.raises(InvalidInputError, match=message):
        KERNEL_PARAMETER("kernel", value)


def test_the_kernel_of_a_dict():
    kernel = given_kernel({"length_scale": 2}, 3)
    assert kernel.length_scale.tolist() == [2.0, 2.0, 2.0]
    assert kernel[1:4] == (1.0, 0.0, "gaussian")
    assert given_kernel({"length_scale": [1, 2], "amplitude": 3, "bias": 4}, 2)[1:4] == (3.0, 4.0, "gaussian")
    assert given_kernel({"length_scale": 1, "shape": "exponential"}, 2).shape == "exponential"
    with pytest.raises(InvalidInputError, match="kernel length_scale must be a number or 3 numbers"):
        given_kernel({"length_scale": [1, 2]}, 3)
