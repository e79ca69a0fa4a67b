"""Every family with a ColumnMap between it and a raw table."""

import warnings

import numpy as np
import pytest
from helpers.families import (
    TARGET,
    X,
    Y,
    answers,
    holds_rows_out,
    known,
    may_leave_columns,
    quick,
    same_state,
)

from rffkern import ColumnMap, DataConversionWarning, InvalidInputError, NotFittedError, RowBlocks, load, save
from rffkern._estimator import columns as column_choice
from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Regressor

pytestmark = pytest.mark.slow

FORMS = ("standard", "rank")
RNG = np.random.default_rng(5)
TABLE = {
    "plain": X[:, 0], "gaps": np.where(RNG.random(400) < 0.2, np.nan, X[:, 3]), "skewed": np.exp(X[:, 4] * 3),
    "colour": np.where(X[:, 5] > 0.5, "red", np.where(X[:, 5] > -0.5, "blue", "green")), "flag": X[:, 2] > 0,
    "town": RNG.integers(0, 60, 400).astype(str)}


def part(rows, table=TABLE):
    return {name: column[rows] for name, column in table.items()}


def small(family, **params):
    """An untrained model of a family with a map, which trains fast."""
    sizes = {"n_estimators": 10, "max_epochs": 3, "n_landmarks": 10, "basis_size": 10}
    own = quick(family) | known(family, **sizes)
    return family(**own | {"random_state": 0, "columns": ColumnMap(FORMS)} | params)


def target_of(family):
    return TARGET if issubclass(family, Regressor) else Y


@pytest.fixture
def mapped(family):
    return small(family).fit(TABLE, target_of(family))


def test_the_table_is_the_user_s(family, mapped):
    assert mapped.n_features_in_ == 6
    assert mapped.feature_names_in_.tolist() == list(TABLE)
    assert mapped.expansion_.n_features == len(mapped.column_map_.sources_) > 6
    assert not mapped.columns.__sklearn_is_fitted__()  # a copy of it is
    assert np.isfinite(answers(mapped, TABLE)).all()
    again = small(family).fit(TABLE, target_of(family))
    assert same_state(again, mapped)


def learning_weights(family):
    """1 for the rows of `TABLE` that a family with seed 0 learns from, 0 for those that it holds out itself."""
    weights = np.ones(400)
    if holds_rows_out(family):
        weights[np.random.default_rng(0).permutation(400)[:40]] = 0
    return weights


def test_training_is_on_mapped_rows(family, mapped):
    """The map is that of the rows, and the function one of mapped rows.

    It is the same model as one that is trained on what the map makes of the rows, without standardising again, of
    families that can take rows so.  The map knows nothing of the rows that the family holds out.
    """
    column_map = ColumnMap(FORMS)
    values = target_of(family)
    rows = column_map.fit_transform(TABLE, values if issubclass(family, Regressor) else values == "up",
                                    learning_weights(family))
    assert mapped.column_map_.describe() == column_map.describe()
    unscaled = known(family, standardize=False)
    plain = small(family, columns=None, **unscaled).fit(rows, values)
    if unscaled:
        assert same_state(plain, mapped)
    else:
        vars(plain)["expansion_"] = mapped.expansion_
    np.testing.assert_array_equal(answers(mapped, TABLE), answers(plain, column_map.transform(TABLE)))


def test_columns_are_found_by_name(family, mapped):
    expected = answers(mapped, TABLE)
    np.testing.assert_array_equal(answers(mapped, {"more": TABLE["plain"]} | dict(reversed(TABLE.items()))), expected)
    with pytest.raises(InvalidInputError, match="seen at fit time, yet now missing:\n- town\n"):
        answers(mapped, {name: column for name, column in TABLE.items() if name != "town"})
    with pytest.raises(InvalidInputError, match=f"X has 2 features, but {family.__name__} is expecting 6 features"):
        answers(mapped, X[:, :2])


def test_blocks_give_the_same_model(family, mapped):
    blocks = RowBlocks([part(slice(0, 3)), part(slice(3, 250)), part(slice(250, 400))])
    again = small(family).fit(blocks, target_of(family))
    assert same_state(again, mapped)
    assert again.n_features_in_ == 6
    if hasattr(family, "predict"):
        np.testing.assert_array_equal(again.predict(blocks), mapped.predict(TABLE))


def test_a_later_fit_without_a_map_forgets_it(family, mapped):
    plain = mapped.set_params(columns=None).fit(X, target_of(family))
    assert not hasattr(plain, "column_map_")
    assert plain.n_features_in_ == 6
    answers(plain, X)
    with pytest.raises(InvalidInputError):
        answers(plain, TABLE)


@pytest.mark.parametrize("columns", [None, ColumnMap(FORMS)])
def test_rows_and_targets_in_different_orders_earn_a_warning(family, columns):
    """Only where the index of pandas is that of the same rows."""
    pandas = pytest.importorskip("pandas")
    model = small(family, columns=columns)
    frame = pandas.DataFrame(X[:60], columns=[f"x{j}" for j in range(X.shape[1])])
    y = pandas.Series(target_of(family)[:60])
    order = np.random.default_rng(0).permutation(60)
    with pytest.warns(DataConversionWarning, match="have the same index in different orders: rows") as found:
        model.fit(frame.iloc[order], y)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataConversionWarning)
        for rows, targets in ((frame.iloc[order], y[order]), (frame, y.set_axis(order + 1)), (frame, y.tolist()),
                              (frame.iloc[order], y.to_numpy())):
            small(family, columns=columns).fit(rows, targets)


def test_single_precision_is_kept(family):
    rows = X.astype(np.float32)
    model = small(family).fit(rows, target_of(family))
    single, double = answers(model, rows), answers(model, rows.astype(float))
    np.testing.assert_allclose(single, double, atol=2e-2 * np.abs(double).max())


def test_parameters_of_the_map(family):
    model = small(family)
    assert model.get_params()["columns__numeric"] == FORMS
    assert "columns__numeric" not in model.get_params(deep=False)
    assert model.set_params(columns__n_knots=17).columns.n_knots == 17
    with pytest.raises(InvalidInputError, match=r"Invalid parameter 'columns__n_knot'|Invalid parameter 'n_knot'"):
        model.set_params(columns__n_knot=17)
    with pytest.raises(InvalidInputError, match="Invalid parameter 'columns__n_knots'"):
        small(family, columns=None).set_params(columns__n_knots=17)
    for wrong, message in (("raw", "columns must be 'auto', 'search', a ColumnMap or None, got 'raw'"),
                           (ColumnMap(()), "numeric must be")):
        with pytest.raises(InvalidInputError, match=message):
            small(family, columns=wrong).fit(TABLE, target_of(family))


def test_bad_tables_leave_the_model(family, mapped):
    before = answers(mapped, TABLE)
    for wrong in (part(slice(0, 0)), TABLE | {"plain": np.full(400, np.inf)}, part(slice(0, 1))):
        with pytest.raises(InvalidInputError):
            mapped.fit(wrong, target_of(family)[: len(wrong["plain"])])
    with pytest.raises(InvalidInputError, match="y must have one entry per row of X"):
        mapped.fit(TABLE, target_of(family)[:-1])
    np.testing.assert_array_equal(answers(mapped, TABLE), before)
    with pytest.raises(NotFittedError):
        answers(small(family), TABLE)


def test_weightless_rows_do_not_shape_the_map(family):
    """Nor do held-out rows: extreme values in both change nothing in the map."""
    target = target_of(family)
    weight = np.where(np.arange(400) % 5 == 0, 0.0, 1.0)
    odd = TABLE | {"plain": np.where(weight > 0, TABLE["plain"], 1e9)}
    kept = ColumnMap(FORMS).fit(part(weight > 0), target[weight > 0])
    model = small(family)
    if "early_stopping_rounds" in family._param_names():  # which goes with eval_set
        model.fit(odd, target, weight, eval_set=(part(weight == 0, odd), target[weight == 0]))
    else:
        model.fit(odd, target, weight)
    for numeric in ("plain", "skewed"):
        rows = [[row for row in found.describe() if row["column"] == numeric] for found in (kept, model.column_map_)]
        for one, other in zip(*rows, strict=True):
            assert one.keys() == other.keys()
            for key in one:
                assert one[key] == (pytest.approx(other[key]) if isinstance(one[key], float) else other[key])


def test_an_eval_set_is_mapped(boosted):
    target = target_of(boosted)
    model = small(boosted).fit(part(slice(0, 300)), target[:300],
                               eval_set=(dict(reversed(part(slice(300, 400)).items())), target[300:]))
    assert len(model.eval_loss_) > 1
    with pytest.raises(InvalidInputError, match="column 'plain' of eval_set X must hold numeric values"):
        model.fit(TABLE, target, eval_set=(TABLE | {"plain": ["a"] * 400}, target))
    with pytest.raises(InvalidInputError, match="eval_set must be a tuple"):
        model.fit(TABLE, target, eval_set=TABLE)


@pytest.mark.parametrize("name", ["rffnet", "rffnet_regressor"])
def test_training_goes_on_with_the_first_map(name):
    family = FAMILIES[name].load()
    target = target_of(family)
    model = small(family).partial_fit(part(slice(0, 200)), target[:200])
    first = model.column_map_
    model.partial_fit(dict(reversed(part(slice(200, 400)).items())), target[200:])
    assert model.column_map_ is first
    model.partial_fit(part(slice(3, 4)), target[3:4])
    model.set_params(warm_start=True).fit(TABLE, target)
    assert model.column_map_ is first
    assert model.set_params(warm_start=False).fit(TABLE, target).column_map_ is not first


@pytest.mark.parametrize("seed", [3, None, "generator"])
def test_rows_held_out_do_not_shape_the_map(seed):
    """Whatever the rows are drawn from; all rows of the model's own validation have another value in one column."""
    family = FAMILIES["rffnet"].load()
    extreme = np.array(TABLE["plain"])
    extreme[np.random.default_rng(3).permutation(400)[:40]] = 1e9
    source = np.random.default_rng(3) if seed == "generator" else seed
    model = small(family, random_state=source).fit(TABLE | {"plain": extreme}, Y)
    if seed is None:
        assert model.column_map_.describe()[0]["mean"] > 1e6  # other rows are held out
    else:
        assert abs(model.column_map_.describe()[0]["mean"]) < 1
    followed = np.random.default_rng(3) if seed == "generator" else seed
    assert seed is None or same_state(small(family, random_state=followed).fit(TABLE | {"plain": extreme}, Y), model)
    without = small(family, random_state=3, validation_fraction=0.0).fit(TABLE | {"plain": extreme}, Y)
    assert without.column_map_.describe()[0]["mean"] > 1e6
    given = small(family, random_state=3).fit(TABLE | {"plain": extreme}, Y, eval_set=(TABLE, Y))
    assert given.column_map_.describe()[0]["mean"] > 1e6  # which uses all rows of fit


@pytest.mark.parametrize("name", ["rffnet", "rffnet_regressor"])
def test_importances_are_those_of_raw_columns(name):
    family = FAMILIES[name].load()
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 600)
    table = {"noise": rng.standard_normal(600), "group": np.array(["a", "b", "c", "d"])[group],
             "more noise": np.exp(rng.standard_normal(600))}
    target = np.array([-2.0, 1.0, 2.0, -1.0])[group]
    model = small(family, max_epochs=60).fit(table, target if issubclass(family, Regressor) else target > 0)
    assert model.relevances_.shape == (8,)
    assert model.feature_importances_.shape == (3,)
    assert model.select_top_k(1).tolist() == [1]
    path = model.selection_path(table, target if issubclass(family, Regressor) else target > 0)
    assert path.columns[0] == 1
    assert path.scores[0] > 0.9


@pytest.mark.parametrize("columns", ["auto", "search"])
def test_a_table_decides_on_the_map(family, columns, tmp_path):
    """The model is that with the map that was taken, whatever the threads and the blocks."""
    target = target_of(family)
    model = small(family, columns=columns).fit(TABLE, target)
    assert model.columns == columns
    given = small(family, columns=ColumnMap(model.column_map_.numeric)).fit(TABLE, target)
    assert same_state(given, model)
    blocks = RowBlocks([part(slice(0, 130)), part(slice(130, 400))])
    assert same_state(small(family, columns=columns, n_jobs=1).fit(blocks, target), model)
    np.testing.assert_array_equal(answers(model, dict(reversed(TABLE.items()))), answers(given, TABLE))
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(answers(loaded, TABLE), answers(model, TABLE))
    assert repr(loaded) == repr(model)
    assert loaded.columns == columns
    assert loaded.column_map_.describe() == model.column_map_.describe()
    assert (loaded.n_features_in_, loaded.feature_names_in_.tolist()) == (6, list(TABLE))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_columns_may_stay_as_they_are(choosing, tmp_path, monkeypatch):
    """Then the model is that without a map, to the last bit."""
    monkeypatch.setattr(column_choice, "_STANDARD_ERRORS", 1e9)
    for columns in ("auto", "search"):
        model = small(choosing, columns=columns).fit(X, target_of(choosing))
        assert model.column_map_ is None
        assert same_state(model, small(choosing, columns=None).fit(X, target_of(choosing)))
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert (loaded.columns, loaded.column_map_) == (columns, None)
        np.testing.assert_array_equal(answers(loaded, X), answers(model, X))
        with pytest.raises(InvalidInputError):
            answers(model, TABLE)


def mixed_table():
    """A data frame, as a dict: numbers beside missing values, a category, a date and booleans."""
    return {"plain": X[:, 0], "shifted": X[:, 1], "gaps": TABLE["gaps"], "colour": TABLE["colour"],
            "day": np.datetime64("2024-02-01") + np.arange(400), "flag": TABLE["flag"]}


@pytest.mark.parametrize("package", ["dict", "pandas", "polars", "pyarrow"])
def test_every_class_takes_every_table_by_default(family, package, tmp_path):
    """With the defaults of all parameters that say anything of columns."""
    table = mixed_table()
    if package != "dict":
        module = pytest.importorskip(package)
        table = module.table(table) if package == "pyarrow" else module.DataFrame(table)
    params = {name: value for name, value in quick(family).items() if name != "columns"}
    sizes = known(family, n_estimators=10, max_epochs=3, n_landmarks=10, learner_size=10)
    model = family(**params | sizes | {"random_state": 0}).fit(table, target_of(family))
    assert model.get_params()["columns"] == "auto"
    kinds = {row["column"]: row["kind"] for row in model.column_map_.describe()}
    assert kinds == {"plain": "numeric", "shifted": "numeric", "gaps": "numeric", "colour": "category", "day": "date",
                     "flag": "category"}
    assert model.column_map_.numeric == (("standard",) if may_leave_columns(family) else ("standard", "rank"))
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(answers(load(tmp_path / "m"), table), answers(model, table))
    assert np.isfinite(answers(model, mixed_table() | {"plain": np.full(400, np.nan)})).all()  # complete in training


@pytest.mark.parametrize("standardize", [True, False])
def test_complete_numbers_beside_a_missing_value_stay_what_they_are(choosing, standardize):
    """Standardised, or raw: the function of the map's columns is that of the columns without the incomplete one."""
    known_params = known(choosing, standardize=standardize)
    standardize = standardize or not known_params  # a family without the parameter always does
    rows = X.copy()
    rows[3, 5] = np.nan
    model = small(choosing, columns="auto", **known_params).fit(rows, target_of(choosing))
    assert model.column_map_.numeric == (("standard",) if standardize else ("raw",))
    mapped = model.column_map_.transform(rows)[:, :5]
    learned = X[learning_weights(choosing) > 0, :5]
    expected = (X[:, :5] - learned.mean(axis=0)) / learned.std(axis=0) if standardize else X[:, :5]
    np.testing.assert_allclose(mapped, expected, atol=1e-9 * np.abs(expected).max())


def test_missing_values_where_training_had_none(choosing):
    """The advice works: a map imputes them in any column."""
    rows = X.copy()
    rows[7, 2] = np.nan
    model = small(choosing, columns="auto").fit(X, target_of(choosing))
    with pytest.raises(InvalidInputError, match=r"got NaN at row 7, column 2; training had no missing values: impute "
                                                r"them, or train with columns=ColumnMap\(\)"):
        answers(model, rows)
    mapped = small(choosing, columns=ColumnMap()).fit(X, target_of(choosing))
    assert np.isfinite(answers(mapped, rows)).all()


def test_a_model_without_a_map_says_what_takes_other_tables(family):
    rows = X.copy()
    rows[7, 2] = np.nan
    for table in (rows, TABLE, np.array([["a", "b"]] * 400)):
        with pytest.raises(InvalidInputError, match=r'; columns="auto" takes missing values, text and dates$'):
            small(family, columns=None).fit(table, target_of(family))
        small(family, columns="auto").fit(table, target_of(family))
    with pytest.raises(InvalidInputError, match=r"got infinity at row 0, column 0$"):
        small(family, columns=None).fit(np.where(np.arange(400)[:, None] == 0, np.inf, X), target_of(family))
