"""Which rows bags hold out: the last rows, and whole groups, for kernel ridge regression alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern import ColumnMap, FourierBoostingClassifier, FourierBoostingRegressor, InvalidInputError, RowBlocks
from rffkern._column_map import transforms
from rffkern._column_map.column_map import fit_copy
from rffkern._estimator import columns as column_choice
from rffkern._rows.groups import Division
from rffkern._training.fourier_boosting import stacking

RNG = np.random.default_rng(5)
X = RNG.standard_normal((240, 3))
GROUPS = RNG.integers(0, 30, 240)
Y = np.sin(2 * X[:, 0]) + RNG.standard_normal(30)[GROUPS]
SHORT = {"n_estimators": 5, "n_bags": 3, "random_state": 0, "warm_start": True, "kernel_ridge": False}


def divisions(model):
    """Training and validation rows of each bag."""
    for order in model._training_state.orders:
        yield order.rows[: order.n_train][order.used[: order.n_train]], order.validation_rows()


@given(st.lists(st.integers(0, 9), min_size=12, max_size=80).filter(lambda groups: len({*groups}) > 1),
       st.sampled_from([0.1, 0.25, 0.3, 0.5]), st.booleans())
def test_groups_are_never_on_both_sides(groups, share, are_labels):
    n, groups = len(groups), np.array(groups)
    rows = np.random.default_rng(n).standard_normal((n, 2))
    cls = FourierBoostingClassifier if are_labels else FourierBoostingRegressor
    model = cls(**SHORT | {"n_estimators": 1}, validation_fraction=share, columns=None)
    model.fit(rows, np.arange(n) % 2 if are_labels else rows[:, 0], groups=groups)
    for training, validation in divisions(model):
        assert len(training)
        assert len(validation)
        assert not {*groups[training]} & {*groups[validation]}
        assert sorted([*training, *validation]) == [*range(n)]


@given(st.integers(2, 90), st.floats(0.01, 0.5))
def test_the_last_rows_are_those_of_validation(n, share):
    model = FourierBoostingRegressor(**SHORT | {"n_estimators": 1}, validation="last", validation_fraction=share)
    model.fit(X[:n], Y[:n])
    for training, validation in divisions(model):
        assert training.max() < validation.min()
        assert abs(len(validation) - share * n) <= 1


def test_the_last_rows_of_labels_have_all_of_them():
    labels = np.repeat(["a", "b", "a"], [80, 60, 100])
    model = FourierBoostingClassifier(**SHORT, validation="last").fit(X, labels)
    for training, validation in divisions(model):
        assert (training.max(), validation.min()) == (138, 139)
    assert model.score(X, labels) > 0.3


def test_rows_of_one_time_are_not_divided():
    days = np.arange(240) // 9
    model = FourierBoostingRegressor(**SHORT, validation="last").fit(X, Y, groups=days)
    for training, validation in divisions(model):
        assert days[training].max() < days[validation].min()
    with pytest.raises(InvalidInputError, match='for groups in any order, use validation="random"'):
        model.set_params(warm_start=False).fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("options", [{"groups": GROUPS}, {"validation": "last"}])
def test_rows_without_weight_and_rows_in_blocks(options):
    """They are no rows: groups and the order are those of the others."""
    weight = np.where(np.arange(240) % 3 == 1, 0.0, 1.0)
    groups = options.get("groups")
    kept = {} if groups is None else {"groups": groups[weight > 0]}
    params = SHORT | {name: value for name, value in options.items() if name != "groups"} | {"columns": None}
    few = FourierBoostingRegressor(**params).fit(X[weight > 0], Y[weight > 0], **kept)
    all_rows = FourierBoostingRegressor(**params).fit(X, Y, weight, groups=groups)
    np.testing.assert_array_equal(few.predict(X), all_rows.predict(X))
    blocks = RowBlocks(lambda: (X[k : k + 50] for k in range(0, 240, 50)))
    streamed = FourierBoostingRegressor(**params).fit(blocks, Y, weight, groups=groups)
    np.testing.assert_allclose(streamed.predict(X), all_rows.predict(X), rtol=1e-4)
    for training, validation in divisions(streamed):
        assert (weight[training] > 0).all()
        assert groups is None or not {*groups[training]} & {*groups[validation]}


def test_a_group_for_each_row_is_no_restriction():
    """But draws differ from those without groups."""
    model = FourierBoostingRegressor(**SHORT, validation_fraction=0.2).fit(X, Y, groups=np.arange(240))
    assert [len(validation) for _, validation in divisions(model)] == [48] * 3
    validated = np.concatenate([validation for _, validation in divisions(model)])
    assert len(np.unique(validated)) == 144


LATE = np.c_[X[:, 0], np.arange(240) >= 225]  # the second column says nothing before the last rows
RISING = LATE[:, 0] + 5 * LATE[:, 1]
LONG = SHORT | {"n_estimators": 30, "early_stopping_rounds": None, "columns": None, "base_learners": ("tree",)}


def test_bags_learn_from_the_last_rows_in_the_end():
    """By as many rounds as they had without them; and rows are clipped to the range of all."""
    model = FourierBoostingRegressor(**LONG, validation="last").fit(LATE, RISING)
    assert np.ptp(model.predict([[0.0, 0], [0, 1]])) > 1
    assert model.n_estimators_ == 30
    np.testing.assert_array_equal(model.expansion_.upper, LATE.max(axis=0))
    few = FourierBoostingRegressor(**LONG | {"n_estimators": 20}, validation="last").fit(LATE, RISING)
    few.set_params(n_estimators=30).fit(LATE, RISING)
    np.testing.assert_array_equal(few.predict(LATE), model.predict(LATE))


def test_a_fit_that_the_callback_ends_learns_from_no_last_rows():
    model = FourierBoostingRegressor(**LONG, validation="last").fit(
        LATE, RISING, callback=lambda info: info.bag == 2 and info.n_rounds == 30)
    assert np.ptp(model.predict([[0.0, 0], [0, 1]])) < 1e-6


def test_dates_are_not_extrapolated():
    days = np.datetime64("2020-01-01") + np.arange(240)
    for validation in ("random", "last"):
        model = FourierBoostingRegressor(**SHORT, validation=validation).fit({"day": days, "x": X[:, 0]}, Y)
        later = model.predict({"day": days[-1:] + np.array([0, 7, 70]), "x": X[:3, 0] * 0})
        assert later[1] == later[2]  # weekdays are those of one day
        assert np.ptp(model.expansion_.upper - model.expansion_.lower) > 0


def test_an_eval_set_decides_alone():
    held_out = X[:40], Y[:40]
    models = [FourierBoostingRegressor(**SHORT, validation=validation).fit(X, Y, groups=groups, eval_set=held_out)
              for validation, groups in (("random", None), ("last", None), ("random", GROUPS))]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict(X), models[0].predict(X))


def test_training_goes_on_with_the_same_groups_alone():
    whole = FourierBoostingRegressor(**SHORT).fit(X, Y, groups=GROUPS)
    model = FourierBoostingRegressor(**SHORT | {"n_estimators": 2}).fit(X, Y, groups=GROUPS)
    np.testing.assert_array_equal(model.set_params(n_estimators=5).fit(X, Y, groups=GROUPS).predict(X),
                                  whole.predict(X))
    with pytest.raises(InvalidInputError, match="groups must be as in the training that goes on"):
        model.fit(X, Y)
    with pytest.raises(InvalidInputError, match="validation must be 'random', as in the training that goes on"):
        model.set_params(validation="last").fit(X, Y, groups=GROUPS)


def test_one_group_is_refused():
    with pytest.raises(InvalidInputError, match="groups must be two or more among the rows of positive weight, got 1"):
        FourierBoostingRegressor().fit(X, Y, np.where(GROUPS == 3, 1.0, 0.0), groups=GROUPS)
    with pytest.raises(InvalidInputError, match="validation must be"):
        FourierBoostingRegressor(validation="first").fit(X, Y)


@pytest.mark.parametrize("options", [{"groups": GROUPS}, {"validation": "last"}])
def test_kernel_ridge_regression_has_the_folds_of_bags(options, monkeypatch):
    """They are those of its trial, and it is told to choose its scale on them."""
    seen = []

    def folds_of(*arguments):
        seen.append(found := original(*arguments))
        return found

    original = stacking.folds_of
    monkeypatch.setattr(stacking, "folds_of", folds_of)
    groups = options.get("groups")
    model = FourierBoostingRegressor(**SHORT | {"kernel_ridge": True}, **{
        name: value for name, value in options.items() if name != "groups"}).fit(X, Y, groups=groups)
    assert model.kernel_ridge_report_.kept
    folds = seen[0]
    for k, (_, validation) in enumerate(divisions(model) if groups is not None else [*divisions(model)][:1]):
        assert np.flatnonzero(folds == k).tolist() == sorted(validation)


def test_a_search_of_columns_and_a_map_take_them_too():
    for columns in ("search", ColumnMap(("standard",))):
        model = FourierBoostingRegressor(**SHORT | {"columns": columns}).fit(X, Y, groups=GROUPS)
        assert np.isfinite(model.predict(X)).all()


def test_scikit_learn_hands_groups_on():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GroupKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = FourierBoostingRegressor(**SHORT, validation="last")
    assert sklearn.clone(model).validation == "last"
    names = np.array([f"group {number}" for number in GROUPS])
    piped = make_pipeline(StandardScaler(), FourierBoostingRegressor(**SHORT | {"columns": None}))
    by_hand = FourierBoostingRegressor(**SHORT | {"columns": None}).fit(StandardScaler().fit_transform(X), Y,
                                                                       groups=names)
    piped.fit(X, Y, fourierboostingregressor__groups=names)
    np.testing.assert_array_equal(piped[-1].predict(piped[:-1].transform(X)), by_hand.predict(
        StandardScaler().fit_transform(X)))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = FourierBoostingRegressor(**SHORT | {"warm_start": False}).set_fit_request(groups=True)
        scores = cross_val_score(routed, X, Y, cv=GroupKFold(3), params={"groups": names})
        assert len(scores) == 3
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("order", ["random", "last"])
def test_target_statistics_have_the_folds_of_groups_and_of_time(order, monkeypatch):
    """What a map says of a training row, it has learned from no row of its group, nor of its stretch of time.

    But the shrinkage, one number of all rows, which is fixed here.
    """
    monkeypatch.setattr(transforms, "_SHRINKAGES", (10.0, 10.0))
    groups = np.repeat(np.arange(20), 12)
    numbers = RNG.integers(0, 40, 240)
    levels, targets = np.array([f"level{k}" for k in numbers]), Y + 0.3 * numbers
    folds = Division(order, groups).folds(240, 5)
    assert len({*zip(groups.tolist(), folds.tolist(), strict=True)}) == 20
    assert order == "random" or (np.diff(folds) >= 0).all()
    changed = targets + 5.0 * (folds == 2)  # of which rows of fold 2 must hear nothing
    plain, other = (fit_copy(ColumnMap(min_level_rows=1), {"level": levels}, y, None, False, Division(order, groups))[1]
                    for y in (targets / 8, changed / 8))
    ranks = [np.argsort(np.argsort(rows[folds == 2, 0], kind="stable")) for rows in (plain, other)]
    assert np.array_equal(*ranks)


def test_folds_without_groups_are_of_neighbours_or_of_stretches():
    assert Division().folds(7, 5).tolist() == [0, 1, 2, 3, 4, 0, 1]
    assert Division("last").folds(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert Division("last", np.array([3, 3, 3, 3, 1, 1, 2])).folds(7, 3).tolist() == [0, 0, 0, 0, 1, 1, 2]


def test_the_map_of_a_fit_has_its_groups_and_its_order(monkeypatch):
    found = []
    monkeypatch.setattr(column_choice, "fit_copy", lambda *args: found.append(args[5]) or fit_copy(*args))
    FourierBoostingRegressor(**SHORT, validation="last").fit(X, Y)
    FourierBoostingRegressor(**SHORT).fit(X, Y, groups=GROUPS)
    assert [each.order for each in found] == ["last", "random"]
    assert found[0].groups is None
    assert np.array_equal(found[1].groups, GROUPS)
