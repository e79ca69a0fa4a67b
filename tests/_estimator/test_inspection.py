"""What fitted models tell of the columns of tables."""

import datetime

import numpy as np
import pytest
from helpers.expansions import small_expansion as expansion

from rffkern import (
    ColumnMap,
    Expansion,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    InvalidInputError,
    RowBlocks,
)
from rffkern._estimator import inspection
from rffkern._estimator.inspection import MappedTable, all_columns_read
from rffkern.errors import NotFittedError

RNG = np.random.default_rng(4)
N = 240
SIZE, COLOUR, HEIGHT = RNG.uniform(0, 9, N).round(1), RNG.choice(["red", "green", "blue"], N), RNG.standard_normal(N)
DAYS = np.datetime64("2024-01-01") + RNG.integers(0, 300, N)
TABLE = {"size": np.where(np.arange(N) % 7 == 0, np.nan, SIZE), "colour": COLOUR, "height": HEIGHT, "same": np.ones(N),
         "day": DAYS}
TARGET = np.where(COLOUR == "red", SIZE, -SIZE) + HEIGHT + (np.datetime64("2024-05-01") < DAYS)
QUICK = {"n_bags": 2, "n_estimators": 60, "random_state": 0, "n_jobs": 1, "kernel_ridge": False}


@pytest.fixture(scope="module")
def model():
    return FourierBoostingRegressor(columns=ColumnMap(("standard", "rank")), **QUICK).fit(TABLE, TARGET)


@pytest.fixture(scope="module")
def classifier():
    X = np.column_stack([HEIGHT, SIZE])
    return FourierBoostingClassifier(**QUICK).fit(X, np.digitize(TARGET, [-3, 3])), X


def set_to(column, value):
    return TABLE | {column: np.full(N, value)}


@pytest.mark.parametrize("column", ["colour", "height", "day"])
def test_partial_dependence_is_the_mean_over_changed_tables(model, column):
    found = model.partial_dependence(TABLE, column, 6)
    assert len(found.values) == len(found.scores) == (3 if column == "colour" else 6)
    assert (np.sort(found.values) == found.values).all()
    assert {*found.values.tolist()} <= {*np.array(TABLE[column], dtype=found.values.dtype).tolist()}
    for value, score in zip(found.values, found.scores, strict=True):
        assert score == pytest.approx(model.predict(set_to(column, value)).mean(), abs=1e-9)


def test_values_are_of_the_kind_of_the_column(model):
    assert model.partial_dependence(TABLE, "colour").values.tolist() == ["blue", "green", "red"]
    days = model.partial_dependence(TABLE, "day", 3).values
    assert days[0].item() == datetime.datetime.combine(DAYS.min().item(), datetime.time())
    sizes = model.partial_dependence(TABLE, "size", 5)
    assert np.isnan(sizes.values).tolist() == [False] * 4 + [True]
    assert np.isfinite(sizes.scores).all()
    gaps = TABLE | {"colour": [None if k % 3 else "red" for k in range(N)]}
    assert model.partial_dependence(gaps, "colour").values.tolist() == ["red", None]


def test_columns_may_be_numbered(model):
    np.testing.assert_array_equal(model.partial_dependence(TABLE, 2).scores,
                                  model.partial_dependence(TABLE, "height").scores)


def test_a_column_that_is_dropped_has_no_effect(model):
    found = model.partial_dependence(TABLE, "same")
    np.testing.assert_allclose(found.scores, [model.predict(TABLE).mean()])
    assert model.interaction_strength(TABLE, "same", "size") == 0


def test_interactions(model):
    strength = model.interaction_strength(TABLE, "size", "colour")
    assert strength > 0.1
    assert model.interaction_strength(TABLE, "colour", "size") == pytest.approx(strength)
    assert model.interaction_strength(TABLE, "height", "day") < 0.05
    found = model.interactions(TABLE)
    assert {found[0].first, found[0].second} == {"size", "colour"}
    assert found[0].strength == pytest.approx(strength)
    assert [each.size for each in found] == sorted((each.size for each in found), reverse=True)
    assert model.interactions(TABLE, 1) == found[:1]


def test_explanations_add_up(model):
    found = model.explain(TABLE)
    assert found.feature_names.tolist() == list(TABLE)
    assert (found.values.shape, found.base_values.shape) == ((N, 5), ())
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(TABLE), atol=1e-10)
    assert not found.values[:, 3].any()


def test_several_classes(classifier):
    model, X = classifier
    found = model.partial_dependence(X, 0, 4)
    for value, scores in zip(found.values, found.scores, strict=True):
        changed = X.copy()
        changed[:, 0] = value
        np.testing.assert_allclose(scores, model.decision_function(changed).mean(axis=0), atol=1e-10)
    parts = model.explain(X)
    assert parts.feature_names.tolist() == [0, 1]
    np.testing.assert_allclose(parts.base_values + parts.values.sum(axis=1), model.decision_function(X), atol=1e-10)
    assert model.interaction_strength(X, 0, 1).shape == (3,)
    assert [(each.first, each.second) for each in model.interactions(X)] == [(0, 1)]


def test_rows_without_a_map():
    X = np.column_stack([HEIGHT, SIZE])
    model = FourierBoostingRegressor(columns=None, **QUICK).fit(X, TARGET)
    found = model.partial_dependence(X, 1, 3)
    assert found.values.tolist() == [SIZE.min(), np.sort(SIZE)[(N - 1) // 2], SIZE.max()]
    parts = model.explain(X)
    np.testing.assert_allclose(parts.base_values + parts.values.sum(axis=1), model.predict(X))


@pytest.mark.parametrize(("call", "message"), [
    (lambda model: model.partial_dependence(TABLE, "weight"), "column must be the name of one column or an integer "
     "from 0 to 4, got 'weight'"),
    (lambda model: model.partial_dependence(TABLE, 5), "column must be"),
    (lambda model: model.partial_dependence(TABLE, -1), "column must be"),
    (lambda model: model.partial_dependence(TABLE, 1.5), "column must be"),
    (lambda model: model.partial_dependence(TABLE, ["size", "height"]), "column must be the name of one column or an "
     r"integer from 0 to 4, got \['size', 'height'\]"),
    (lambda model: model.partial_dependence(TABLE, "size", 0), "n_points must be"),
    (lambda model: model.interaction_strength(TABLE, "size", "no"), "second must be the name of one column"),
    (lambda model: model.interaction_strength(TABLE, "size", 0), "first and second must be two columns"),
    (lambda model: model.interactions(TABLE, 0), "n_pairs must be"),
    (lambda model: model.explain(RowBlocks([np.ones((2, 5))])), "rows in memory"),
    (lambda model: model.explain(np.ones((2, 4))), "expecting 5 features"),
])
def test_refusals(model, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(model)


def test_names_need_a_table_with_names(classifier):
    model, X = classifier
    with pytest.raises(InvalidInputError, match="column must be the index of one column, as fit saw no names"):
        model.partial_dependence(X, "x0")


@pytest.mark.parametrize("call", [
    lambda model: model.explain(TABLE), lambda model: model.partial_dependence(TABLE, 0),
    lambda model: model.interactions(TABLE), lambda model: model.interaction_strength(TABLE, 0, 1),
    lambda model: next(model.staged_predict(TABLE)), lambda model: model.predict_quantiles(TABLE)])
def test_before_fit(call):
    with pytest.raises(NotFittedError):
        call(FourierBoostingRegressor())


# --- effects of columns on the scores of a given function, beside their definitions


ROWS = np.random.default_rng(2).standard_normal((40, 4))


def table(n_outputs=1, sources=(0, 1, 2, 3)):
    return MappedTable(expansion(n_outputs), ROWS, np.array(sources), 1 + max(sources), 1)


def mean_scores(of, columns, points):
    """Partial dependence by its definition."""
    found = []
    for point in points:
        changed = of.rows.copy()
        for column in columns:
            changed[:, of.sources == column] = of.rows[point, of.sources == column]
        found.append(of.expansion.score(changed).mean(axis=0))
    return np.array(found)


@pytest.mark.parametrize("sources", [(0, 1, 2, 3), (1, 0, 0, 2)])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_partial_dependence(sources, column):
    of = table(2, sources)
    values = ROWS[:, 3].round(1)
    points, scores = inspection.partial_dependence(of, column, values, 100)
    assert values[points].tolist() == np.unique(values).tolist()
    np.testing.assert_allclose(scores, mean_scores(of, [column], points), atol=1e-12)


def test_values_that_are_told_are_quantiles():
    values = np.r_[np.zeros(30), 1:11]
    points, _ = inspection.partial_dependence(table(), 0, values, 5)
    assert values[points].tolist() == [0, 10]  # three quarters of the rows have the same value
    points, _ = inspection.partial_dependence(table(), 0, np.arange(40.0), 5)
    assert points.tolist() == [0, 9, 19, 29, 39]


def test_missing_values_come_last():
    values = np.where(np.arange(40) % 5 == 3, np.nan, np.arange(40) % 2)
    points, scores = inspection.partial_dependence(table(), 0, values, 20)
    np.testing.assert_array_equal(values[points], [0, 1, np.nan])
    np.testing.assert_allclose(scores, mean_scores(table(), [0], points), atol=1e-12)
    points, _ = inspection.partial_dependence(table(), 0, np.full(40, np.nan), 20)
    assert points.tolist() == [0]


@pytest.mark.parametrize(("first", "second"), [(0, 2), (2, 3), (0, 3), (0, 1)])
def test_interactions_are_those_of_the_definition(first, second):
    of = table(2)
    both, *alone = (mean_scores(of, columns, range(40)) for columns in ([first, second], [first], [second]))
    both, *alone = (each - each.mean(axis=0) for each in (both, *alone))
    expected = ((both - alone[0] - alone[1]) ** 2).sum(axis=0) / (both**2).sum(axis=0)
    strength, size = inspection.interaction(of, first, second)
    np.testing.assert_allclose(strength, expected, atol=1e-12)
    np.testing.assert_allclose(size**2, ((both - alone[0] - alone[1]) ** 2).mean(axis=0), atol=1e-12)
    assert (strength > 1e-9).all() == ((first, second) in {(0, 2), (2, 3)})


def test_pairs_that_no_term_reads_together_are_left_out():
    found = inspection.interactions(table(2), np.full(4, 0.25))
    assert {pair[:2] for pair in found} == {(0, 2), (2, 3)}
    assert found[0][3] >= found[1][3] > 0
    for first, second, strength, size in found:
        strengths, sizes = inspection.interaction(table(2), first, second)
        assert size == pytest.approx(np.sqrt((sizes**2).sum()))
        assert strengths.min() < strength < strengths.max()


def test_only_important_columns_are_compared(monkeypatch):
    monkeypatch.setattr(inspection, "_MOST_COLUMNS", 2)
    assert [pair[:2] for pair in inspection.interactions(table(), np.array([0.1, 0, 0.6, 0.3]))] == [(2, 3)]


def test_a_column_without_effect_has_no_interaction():
    of = MappedTable(expansion(), ROWS, np.arange(4), 6, 1)
    strength, size = inspection.interaction(of, 4, 5)
    assert strength.tolist() == size.tolist() == [0]


@pytest.mark.parametrize("unit", [1e-290, 1e290])
def test_strengths_have_no_unit(unit):
    of = table(2)
    arrays = of.expansion.arrays()
    scaled = of._replace(expansion=Expansion._of_arrays(arrays | {
        name: unit * arrays[name].astype(float) for name in ("amplitudes", "intercept", "tree_values")}))
    for first, other in zip(inspection.interaction(of, 2, 3), inspection.interaction(scaled, 2, 3), strict=True):
        np.testing.assert_allclose(other / other.max(), first / first.max(), rtol=1e-6)
    pairs = [inspection.interactions(each, np.full(4, 0.25)) for each in (of, scaled)]
    np.testing.assert_allclose([pair[2] for pair in pairs[1]], [pair[2] for pair in pairs[0]], rtol=1e-6)


def test_blocks_of_points_change_nothing(monkeypatch):
    whole = inspection.partial_dependence(table(), 2, ROWS[:, 2], 30)[1]
    monkeypatch.setattr(inspection, "_BLOCK", 500)
    np.testing.assert_allclose(inspection.partial_dependence(table(), 2, ROWS[:, 2], 30)[1], whole, atol=1e-14)


# --- some of the terms of a function, and what they read


def test_parts_add_up():
    whole, X = expansion(2), np.random.default_rng(1).standard_normal((50, 4))
    parts = [whole._take(np.array(chosen, dtype=np.intp)) for chosen in ([0, 3], [], [2, 1])]
    assert [part.n_terms for part in parts] == [2, 0, 2]
    np.testing.assert_allclose(whole.intercept + sum(part.score(X) for part in parts), whole.score(X), atol=1e-14)


def test_columns_that_terms_read():
    reads = all_columns_read(expansion(), np.arange(4), 5)
    assert [np.flatnonzero(row).tolist() for row in reads] == [[0], [0, 2], [1], [2, 3], []]


def test_mapped_columns_count_as_their_source():
    reads = all_columns_read(expansion(), np.array([1, 1, 1, 0]), 2)
    assert [np.flatnonzero(row).tolist() for row in reads] == [[1], [1], [1], [0, 1], []]
