"""ColumnMap: what becomes of a table, whatever holds it."""

import itertools
import pickle

import numpy as np
import pytest
from helpers.tables import CONTENT, TABLES, table_of
from hypothesis import given
from hypothesis import strategies as st

from rffkern import (
    ColumnMap,
    ColumnWarning,
    GBRFF2Classifier,
    InvalidInputError,
    NotFittedError,
    RowBlocks,
    load,
    save,
)
from rffkern._column_map import learning as collector
from rffkern._column_map.sketch import BLOCK_ROWS

FORMS = ("raw", "standard", "bounded", "rank", "bins")


def table(rng, n=400):
    day = np.datetime64("2024-01-01", "s") + rng.integers(0, 10**8, n).astype("m8[s]")
    return {"skewed": np.where(rng.random(n) < 0.1, np.nan, np.exp(3 * rng.standard_normal(n))),
            "colour": rng.choice(np.array(["red", "blue", "green", None], object), n, p=[0.5, 0.3, 0.1, 0.1]),
            "flag": rng.random(n) < 0.3, "day": day, "code": rng.integers(0, 4, n), "level": rng.integers(0, 90, n)}


def full_map(**params):
    return ColumnMap(**{"numeric": FORMS, "categorical_features": ("code", "level"), "date_parts": True,
                        "min_level_rows": 2} | params)


def same_map(a, b):
    return (a._fitted.header() == b._fitted.header() and a._fitted.names == b._fitted.names
            and a._fitted.numbers().tobytes() == b._fitted.numbers().tobytes())


@pytest.fixture
def data(rng):
    return table(rng), rng.standard_normal(400)


def test_every_column_is_one_unit(data):
    X, y = data
    found = full_map().fit(X, y)
    mapped = found.transform(X)
    assert np.isfinite(mapped).all()
    assert mapped.shape == (400, len(found.get_feature_names_out()))
    of_rows = (found.forms_ != "raw") & ~np.isin(found.forms_, ("hour", "weekday", "yearday"))
    np.testing.assert_allclose(mapped[:, of_rows].mean(axis=0), 0, atol=1e-9)
    for j, name in enumerate(X):
        own = mapped[:, (found.sources_ == j) & of_rows & (found.forms_ != "missing")]
        missing = np.array([value is None or value != value for value in X[name].tolist()])
        variance = own[~missing].var(axis=0).sum()
        assert variance == pytest.approx(4 / 5 if name in ("skewed", "day") else 1, rel=1e-6), name
        assert (own[missing] == 0).all()
    missing = mapped[:, found.forms_ == "missing"]
    assert missing.shape[1] == 2
    shares = [row["share"] for row in found.describe() if row["form"] == "missing"]
    np.testing.assert_allclose(np.sort(missing, axis=0)[[0, -1]], [[-share for share in shares],
                                                                   [1 - share for share in shares]])


@pytest.mark.parametrize("form", TABLES)
def test_the_same_content_gives_the_same_map(form):
    params = {"numeric": FORMS, "date_parts": True, "min_level_rows": 1}
    expected = ColumnMap(**params).fit(CONTENT)
    given = table_of(form)
    found = ColumnMap(**params).fit(given)
    assert same_map(found, expected)
    assert found.feature_names_in_.tolist() == list(CONTENT)
    np.testing.assert_array_equal(found.transform(given), expected.transform(CONTENT))


def test_scoring_finds_columns_by_name(data):
    X, y = data
    found = full_map().fit(X, y)
    expected = found.transform(X)
    shuffled = {"other": [object()] * 400} | {name: X[name] for name in reversed(X)}
    np.testing.assert_array_equal(found.transform(shuffled), expected)
    rows = np.array([*zip(*X.values(), strict=True)], object)
    np.testing.assert_array_equal(found.transform(rows), expected)  # by position where one side has no names
    with pytest.raises(InvalidInputError, match="seen at fit time, yet now missing:\n- day\n"):
        found.transform({name: X[name] for name in X if name != "day"})
    with pytest.raises(InvalidInputError, match="X has 1 features, but ColumnMap is expecting 6 features"):
        found.transform([[1.0]])


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=6), st.integers(0, 5))
def test_the_cuts_of_blocks_change_no_bit(sizes, seed):
    rng = np.random.default_rng(seed)
    n = BLOCK_ROWS + 500
    X, y, weight = table(rng, n), rng.standard_normal(n), rng.exponential(size=n) * (rng.random(n) < 0.9)
    places = np.cumsum([0, *sizes])
    places = [*places[places < n], n]
    blocks = [{name: column[a:b] for name, column in X.items()} for a, b in itertools.pairwise(places)]
    blocks[-1] = dict(reversed(blocks[-1].items()))  # columns in another order
    assert same_map(full_map().fit(RowBlocks(lambda: iter(blocks)), y, weight), full_map().fit(X, y, weight))


def test_rows_of_weight_zero_count_for_nothing(data):
    X, _ = data
    weight = np.where(np.arange(400) % 7 == 0, 0.0, 1.0)
    odd = X | {"skewed": np.where(weight > 0, X["skewed"], 1e200), "code": np.where(weight > 0, X["code"], 77)}
    assert same_map(full_map(max_levels=100).fit(odd, None, weight), full_map(max_levels=100).fit(X, None, weight))


def test_integer_weights_are_repetitions(data):
    X, _ = data
    weight = np.arange(400) % 3
    repeated = {name: np.repeat(column, weight) for name, column in X.items()}
    one = full_map(numeric=("rank", "bins"), max_levels=100).fit(X, None, weight)
    other = full_map(numeric=("rank", "bins"), max_levels=100).fit(repeated)
    assert one._fitted.header() == other._fitted.header()
    np.testing.assert_allclose(one._fitted.numbers(), other._fitted.numbers(), rtol=1e-12, atol=1e-12)


def test_dropped_columns_say_why(rng):
    a = rng.standard_normal(50)
    X = {"a": a, "same": a.copy(), "one": np.ones(50), "none": [None] * 50, "word": ["x"] * 50,
         "word again": np.where(a > 0, "p", "q"), "twin": np.where(a > 0, "p", "q")}
    reasons = {row["column"]: row.get("reason") for row in ColumnMap().fit(X).describe()}
    assert reasons == {"a": None, "same": "equal to 'a'", "one": "constant", "none": "all values are missing",
                       "word": "constant", "word again": None, "twin": "equal to 'word again'"}
    rare = ColumnMap().fit({"a": a, "id": [f"row {i}" for i in range(50)], "few": ["x"] + [None] * 49}).describe()
    assert [row.get("reason") for row in rare if row["form"] != "missing"] == [
        None, "a different value in each row, as identifiers have"]
    once = {"a": a[:3], "word": ["x"] * 3, "id": ["p", "q", "r"], "weighed": ["p", "p", "q"]}
    assert [row.get("reason") for row in ColumnMap().fit(once, None, [1, 1, 0]).describe()] == [
        None, "constant", "all levels are rare", "constant"]
    gaps = ColumnMap().fit({"a": a, "one": np.where(a > 0, 1.0, np.nan)})
    assert gaps.get_feature_names_out().tolist() == ["a_standard", "one_missing"]
    nothing = ColumnMap().fit({"one": [1.0, 1.0]})
    np.testing.assert_array_equal(nothing.transform({"one": [7.0]}), [[0.0]])


def test_levels_that_no_file_can_hold_are_told_before_the_training():
    table = {"size": np.arange(40.0), "colour": ["a\x1b[1m", "b\tc\n"] * 20}
    for model in (ColumnMap(), GBRFF2Classifier(2, columns="auto")):
        with pytest.warns(ColumnWarning, match=r"^control characters in .*, in columns 'colour' \('a\\x1b\[1m'\)$"):
            model.fit(table, np.arange(40) % 2)


def test_columns_that_are_dropped_for_one_reason_are_named_together(rng):
    with pytest.warns(ColumnWarning, match=r"not used: 'b', 'c' \(constant: leave the column out\)$"):
        ColumnMap().fit({"a": rng.standard_normal(9), "b": np.ones(9), "c": np.zeros(9)})
    with pytest.warns(ColumnWarning, match=r"not used: all of them \(all values are missing\), so that the model"):
        ColumnMap().fit({"a": [None] * 9, "b": [""] * 9})
    with pytest.warns(ColumnWarning, match=r"all of them \(a different value in each row, .*, constant\)"):
        ColumnMap().fit({"a": [f"n{k}" for k in range(60)], "b": np.ones(60)})


def test_missing_only_in_scoring_is_neutral(rng):
    X = {"a": rng.standard_normal(50), "c": rng.choice(["x", "y", "z"], 50)}
    found = ColumnMap().fit(X)
    np.testing.assert_array_equal(found.transform({"a": [np.nan], "c": [None]}), np.zeros((1, 4)))


def test_unseen_levels_score_as_rare():
    X = {"c": np.array(["x"] * 20 + ["y"] * 20 + ["z"] * 2, object)}
    found = ColumnMap(min_level_rows=5).fit(X)
    assert found.get_feature_names_out().tolist() == ["c=x", "c=y", "c=rare levels"]
    np.testing.assert_array_equal(found.transform({"c": ["new"]}), found.transform({"c": ["z"]}))
    kept = ColumnMap(min_level_rows=1).fit(X)
    np.testing.assert_array_equal(kept.transform({"c": ["new"]}), np.zeros((1, 3)))


def test_other_kinds_of_values_in_scoring(rng):
    found = ColumnMap(categorical_features=["code"], min_level_rows=1).fit(
        {"a": rng.standard_normal(9), "flag": [True] * 4 + [False] * 5, "code": [1, 2, 3] * 3})
    one = found.transform({"a": [True], "flag": [1], "code": ["3"]})
    np.testing.assert_array_equal(one, found.transform({"a": [1.0], "flag": [True], "code": [3.0]}))
    with pytest.raises(InvalidInputError, match=r"column 'a' of X must hold numeric values, .* got text such as 'x'"):
        found.transform({"a": ["x"], "flag": [True], "code": [1]})
    with pytest.raises(InvalidInputError, match="column 'a' of X must hold numeric values, as in training, got date"):
        found.transform({"a": np.array(["2020-01-01"], "M8[D]"), "flag": [True], "code": [1]})


def test_identifiers_beyond_float64_keep_apart():
    numbers = np.array([2**60, 2**60 + 1] * 5)[:, None]
    found = ColumnMap(categorical_features=np.array([0])).fit(numbers)
    assert found.get_feature_names_out().tolist() == [f"x0={2**60}"]
    np.testing.assert_array_equal(found.transform(numbers).ravel(), [1, -1] * 5)


def test_target_statistics(rng):
    """Beyond `max_levels` levels; training rows get those of other folds, and labels count as indicators."""
    level = rng.integers(0, 60, 3000)
    effect = rng.standard_normal(60)
    y = effect[level] + 0.1 * rng.standard_normal(3000)
    X = {"level": np.char.add("L", level.astype(str))}
    found = ColumnMap().fit(X, y)
    assert found.forms_.tolist() == ["target", "frequency"]
    values = found.transform({"level": [f"L{k}" for k in range(60)]})[:, 0]
    assert np.corrcoef(values, effect)[0, 1] > 0.99
    trained = ColumnMap().fit_transform(X, y)[:, 0]
    assert 0.99 < np.corrcoef(trained, found.transform(X)[:, 0])[0, 1] < 1
    labels = np.where(y > 0, "p", "q")
    np.testing.assert_allclose(ColumnMap().fit(X, labels).transform(X)[:, 0],
                               -ColumnMap().fit(X, labels == "p").transform(X)[:, 0], atol=1e-9)
    assert ColumnMap().fit(X, np.digitize(y, [-1, 1]).astype(str)).forms_.tolist() == ["target"] * 3 + ["frequency"]
    without = ColumnMap(max_levels=8).fit(X)
    assert len(without.forms_) == 9
    assert without.get_feature_names_out()[-1] == "level=rare levels"
    np.testing.assert_array_equal(ColumnMap().fit(X, y * 2.0**900).transform(X), found.transform(X))


def test_levels_most_of_which_are_rare_have_target_statistics(rng):
    """Of 120 rows few of 60 levels have five; rare levels without a target are one level."""
    level = rng.integers(60, size=120)
    X, y = {"a": [f"level {k}" for k in level]}, rng.standard_normal(60)[level]
    found = ColumnMap(min_level_rows=5).fit(X, y)
    assert [row["form"] for row in found.describe()][:2] == ["target", "frequency"]  # then "12" is read as text
    assert np.corrcoef(found.transform(X)[:, 0], y)[0, 1] > 0.8
    assert [row["form"] for row in ColumnMap().fit(X).describe()] == ["levels"]


@pytest.mark.parametrize(("n_groups", "n_rows", "noise", "are_indicators"), [
    (20, 60, 0.3, True), (150, 400, 0.3, True), (700, 1500, 0.3, True),
    (20, 60, 3.0, False),  # that explain too little
    (40, 1000, 0.3, False), (1200, 2400, 0.3, False),  # with enough rows for target statistics, and too many
    (60, 60, 0.0, False)])  # identifiers, of which each row has its own
def test_groups_of_repeated_measurements_have_indicators_however_rare(rng, n_groups, n_rows, noise, are_indicators):
    group = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=n_rows - n_groups)])
    effect = rng.standard_normal((n_groups, 2))
    X = {"firm": [f"f{k}" for k in group], "size": rng.standard_normal(n_rows)}
    y = effect[group] + noise * rng.standard_normal((n_rows, 2))
    everyone = sorted(f"firm=f{k}" for k in range(n_groups))
    for targets in (y[:, 0], y, y[:, 0] > 0, 1e9 + 1e-3 * y[:, 0]):
        names = ColumnMap().fit(X, targets).get_feature_names_out().tolist()
        if are_indicators or targets.dtype != bool:  # labels say less of their groups
            assert (sorted(names[:-1]) == everyone) is are_indicators
    assert ColumnMap(min_level_rows=5).fit(X, y).get_feature_names_out().size < n_groups
    assert ColumnMap().fit(X).get_feature_names_out().size < n_groups


def test_groups_too_many_for_indicators_have_target_statistics_of_single_rows_too(rng):
    group = np.concatenate([np.arange(1200), rng.integers(1100, size=1200)])  # the last hundred have one row each
    effect = rng.standard_normal(1200)
    y = effect[group] + 0.3 * rng.standard_normal(2400)
    single = {"firm": [f"f{k}" for k in range(1100, 1200)]}
    correlations = []
    for targets in (y, rng.permutation(y)):  # which groups say nothing of
        found = ColumnMap().fit({"firm": [f"f{k}" for k in group], "size": rng.standard_normal(2400)}, targets)
        statistic = found.transform(single | {"size": np.zeros(100)})[:, 0]
        correlations.append(np.corrcoef(statistic, effect[1100:])[0, 1] if statistic.std() > 0 else 0.0)
    assert correlations[0] > 0.9
    assert abs(correlations[1]) < 0.5


def test_identifiers_are_dropped(monkeypatch, rng):
    monkeypatch.setattr(collector, "MAX_KEPT_LEVELS", 50)
    X = {"name": [f"n{k}" for k in range(60)], "a": rng.standard_normal(60)}
    assert ColumnMap().fit(X).describe()[0] == {"column": "name", "kind": "category", "form": "dropped",
                                                "reason": "too many levels"}


def test_memory_mapped_rows(tmp_path, rng):
    np.save(tmp_path / "X.npy", rng.standard_normal((10_000, 3)))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert same_map(ColumnMap(FORMS).fit(mapped), ColumnMap(FORMS).fit(np.array(mapped)))


def test_extreme_numbers_stay_finite():
    X = np.array([[-(2.0**1022), 1e-300], [2.0**1022, 2e-300], [0.0, 3e-300], [1.0, 5e-300]])
    assert np.isfinite(ColumnMap(FORMS).fit_transform(X)).all()
    small = ColumnMap(FORMS).fit(X * 0 + np.arange(4.0)[:, None])
    assert np.isfinite(small.transform([[-(2.0**1022), 2.0**1022]])).all()


# --- blocks and arguments that do not fit

def test_a_column_that_is_written_otherwise_is_named():
    columns = ColumnMap().fit({"Age (y)": [1.0, 2.0], "b": [3.0, 1.0]})
    for name in ("age_y", "AGE (Y) "):
        with pytest.raises(InvalidInputError, match=rf"yet now missing:\n- Age \(y\) \(got {name!r}: rename it\)\n"
                           .replace("(Y)", r"\(Y\)")):
            columns.transform({name: [1.0], "b": [2.0]})
    with pytest.raises(InvalidInputError, match=r"yet now missing:\n- Age \(y\)\n$"):
        columns.transform({"years": [1.0], "b": [2.0]})


def test_categories_in_a_column_of_numbers_are_called_so():
    """They are no text, as a message said; what it advises now works."""
    pandas = pytest.importorskip("pandas")
    columns = ColumnMap().fit({"a": [1.0, 2.0, 4.0]})
    frame = pandas.DataFrame({"a": pandas.Categorical([2, 1])})
    with pytest.raises(InvalidInputError, match=r"numeric values, as in training, got categories such as '1': make "
                                                r"numbers of them, as frame\[column\].astype\(float\) does"):
        columns.transform(frame)
    np.testing.assert_array_equal(columns.transform(frame.astype({"a": float})), columns.transform({"a": [2.0, 1.0]}))
    with pytest.raises(InvalidInputError, match=r"got categories such as 'x'$"):
        columns.transform(pandas.DataFrame({"a": pandas.Categorical(["x", "y"])}))


def test_blocks_must_agree(rng):
    X = rng.standard_normal((10, 2))
    with pytest.raises(InvalidInputError, match="equally many columns, got 2, then 1"):
        ColumnMap().fit(RowBlocks([X, X[:, :1]]))
    with pytest.raises(InvalidInputError, match=r"blocks of the same columns.*in the block from row 2"):
        ColumnMap().fit(RowBlocks([{"a": [1.0, 2.0]}, {"b": [1.0]}]))
    with pytest.raises(InvalidInputError, match="column 'a' of X must hold values of one kind, got numeric"):
        ColumnMap().fit(RowBlocks([{"a": [None, 2.0]}, {"a": ["x"]}]))
    with pytest.raises(InvalidInputError, match=r"got infinity at row 1 .in the block from row 10"):
        ColumnMap().fit(RowBlocks([X, np.where(np.arange(4).reshape(2, 2) == 3, np.inf, 0)]))
    with pytest.raises(InvalidInputError, match="blocks with 0 sample"):
        ColumnMap().fit(RowBlocks([X[:0]]))


@pytest.mark.parametrize(("params", "message"), [
    ({"numeric": "rank"}, "numeric must be a tuple of distinct forms among raw, standard"),
    ({"numeric": ()}, "numeric"),
    ({"numeric": ("rank", "rank")}, "distinct"), ({"numeric": ("log",)}, "numeric"), ({"max_levels": 0}, "max_levels"),
    ({"categorical_features": "a"}, "categorical_features must be a list of names or indices"),
    ({"categorical_features": [1.5]}, "categorical_features"), ({"n_knots": 1}, "n_knots"), ({"n_bins": 1}, "n_bins"),
    ({"date_parts": 1}, "date_parts"), ({"min_level_rows": 0}, "min_level_rows")])
def test_parameters_are_checked(params, message):
    with pytest.raises(InvalidInputError, match=message):
        ColumnMap(**params).fit([[1.0], [2.0]])


@pytest.mark.parametrize(("numeric", "values"), [("standard", [np.nan, *range(9)]), ("bins", [0.0, *[1.0] * 9])])
def test_weights_beside_which_others_count_for_nothing_are_refused_with_the_column(numeric, values):
    with pytest.raises(InvalidInputError, match=r"sample_weight must be .* column 'a' of X counts for nothing"):
        ColumnMap((numeric,)).fit({"a": values, "b": np.arange(10.0)}, None, [1.0, *[1e-30] * 9])


def test_y_and_weights_are_checked():
    X = [[1.0], [2.0]]
    for y in ([1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(InvalidInputError, match=r"y must have one entry per row of X \(2\), got"):
            ColumnMap().fit(X, y)
        with pytest.raises(InvalidInputError, match=r"sample_weight must have one entry per row of X \(2\), got"):
            ColumnMap().fit(X, None, y)
    with pytest.raises(InvalidInputError, match=r"y must have one entry per row of X \(2 or more\), got 1"):
        ColumnMap().fit(RowBlocks(lambda: iter([X, X])), [1.0])  # whose number is not known yet
    with pytest.raises(InvalidInputError, match="sample_weight must not be negative"):
        ColumnMap().fit(X, None, [1.0, -1.0])
    with pytest.raises(InvalidInputError, match="0 sample"):
        ColumnMap().fit(np.empty((0, 2)), [], [])


def test_it_must_be_fitted(tmp_path):
    for call in (lambda m: m.transform([[1.0]]), lambda m: m.get_feature_names_out(), lambda m: m.describe(),
                 lambda m: save(m, tmp_path / "m")):
        with pytest.raises(NotFittedError, match="ColumnMap"):
            call(ColumnMap())


def test_a_failed_fit_leaves_the_map(data):
    X, y = data
    found = full_map().fit(X, y)
    before = found.transform(X)
    with pytest.raises(InvalidInputError):
        found.fit({"a": [np.inf]})
    np.testing.assert_array_equal(found.transform(X), before)


# --- files

def test_files_keep_every_bit(data, tmp_path):
    X, y = data
    found = full_map().fit(X, y)
    save(found, tmp_path / "m")
    again = load(tmp_path / "m")
    assert same_map(found, again)
    assert again.get_params() == found.get_params()
    np.testing.assert_array_equal(again.transform(X), found.transform(X))
    assert again.get_feature_names_out().tolist() == found.get_feature_names_out().tolist()
    assert again.describe() == found.describe()
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    unnamed = ColumnMap().fit([[1.0], [2.0]])
    save(unnamed, tmp_path / "m")
    assert same_map(load(tmp_path / "m"), unnamed)
    copied = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copied.transform(X), found.transform(X))


def test_levels_that_files_cannot_hold_are_refused(tmp_path):
    found = ColumnMap(min_level_rows=1).fit({"a": ["x\x1b", "y", "z"]})
    with pytest.raises(InvalidInputError, match="the texts of column 'a' must be storable"):
        save(found, tmp_path / "m")
