"""Gradients in raw units, and counterfactuals: what they keep to, and that nothing nearer reaches the target."""

import numpy as np
import pytest

import rffkern
from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    InvalidInputError,
    KernelRidgeClassifier,
    NotFittedError,
)
from rffkern._estimator import neighbours

rng = np.random.default_rng(0)
N = 240
AGE, INCOME, WORD = rng.integers(18, 80, N).astype(float), rng.lognormal(3, 0.5, N), rng.choice(["a", "b", "c"], N)
SCORE = (AGE - 45) / 20 + np.sin(INCOME / 8) + (WORD == "c")
TABLE = {"age": AGE.tolist(), "income": INCOME.tolist(), "word": WORD.tolist(), "constant": [1.0] * N}
LABELS = np.where(SCORE > 0.3, "yes", "no")
QUICK = {"n_estimators": 25, "n_bags": 2, "kernel_ridge": False, "random_state": 0}


@pytest.fixture(autouse=True)
def few_boxes(monkeypatch):
    monkeypatch.setattr(neighbours, "_MOST_BOXES", 40)


def row_of(k):
    return {name: column[k] for name, column in TABLE.items()}


@pytest.fixture(scope="module")
def classifier():
    with pytest.warns(rffkern.ColumnWarning, match="constant"):
        return FourierBoostingClassifier(**QUICK).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def regressor():
    X = np.column_stack([AGE, INCOME])
    return FourierBoostingRegressor(**QUICK, columns=None).fit(X, 100 * SCORE)


# --- gradients

@pytest.mark.parametrize("forms", [("raw",), ("standard",), ("bounded",), ("rank",), ("standard", "bounded", "bins")])
def test_gradients_are_finite_differences_of_raw_columns(forms):
    X = np.column_stack([AGE * 1e-3, INCOME, rng.standard_normal(N)])
    y = np.column_stack([SCORE, X[:, 1] * X[:, 2]])
    model = FourierBoostingRegressor(**QUICK, base_learners=("fourier", "linear"), columns=ColumnMap(forms)).fit(X, y)
    rows = X[:5] + 1e-4 * X.std(axis=0)  # off the knots of ranks and the edges of bins
    found = model.gradient(rows)
    assert found.shape == (5, 3, 2)
    for column in range(3):
        step = 1e-6 * X[:, column].std() * np.eye(3)[column]
        expected = (model.predict(rows + step) - model.predict(rows - step)) / (2 * step[column])
        np.testing.assert_allclose(found[:, column], expected, rtol=1e-5, atol=1e-6 * np.abs(found).max())
    np.testing.assert_array_equal(found, rffkern.loads(rffkern.dumps(model)).gradient(rows))


def test_gradients_follow_imputed_columns():
    X = np.column_stack([INCOME, 3 * INCOME + rng.standard_normal(N)])
    X[::5, 1] = np.nan
    model = FourierBoostingRegressor(**QUICK, base_learners=("fourier",), columns=ColumnMap()).fit(X, SCORE)
    rows = X[:11]
    found, step = model.gradient(rows), np.array([1e-5, 0.0])
    assert model.column_map_._fitted_map().columns[1].imputations
    np.testing.assert_allclose(found[:, 0], (model.predict(rows + step) - model.predict(rows - step)) / 2e-5,
                               rtol=1e-4, atol=1e-6)
    assert not found[::5, 1].any()


def test_gradients_of_what_is_no_number_are_zero(classifier):
    some = {name: column[:4] for name, column in TABLE.items()}
    some["income"] = [None, *some["income"][1:]]
    found = classifier.gradient(some)
    assert found.shape == (4, 4)
    assert not found[:, 2:].any()
    assert not found[0, 1]
    assert np.isfinite(found).all()
    assert found[1:, :2].all()


# --- counterfactuals

def distances_of(classifier, rows, row):
    """By the definition, with the standard deviations of the values that the model keeps."""
    total = np.zeros(len(rows["age"]))
    for j, name in enumerate(("age", "income")):
        kept = classifier.column_map_._reference["columns"][j]
        values = np.array(kept["values"])
        shares = np.array(kept.get("value_shares", np.full(len(values), 1 / len(values))))
        total += np.abs(rows[name] - row[name]) / np.sqrt(shares @ (values - shares @ values) ** 2)
    return total + (rows["word"] != row["word"])


@pytest.mark.parametrize("change", [["age"], ["age", "income"], None])
def test_no_row_within_the_bound_reaches_the_target(classifier, change):
    draw, n_draws = np.random.default_rng(1), 3000
    for k in range(3):
        row = row_of(k)
        before = classifier.predict({name: [cell] for name, cell in row.items()})[0]
        found = classifier.what_if(row, "no" if before == "yes" else "yes", change=change)
        there = dict(zip(TABLE, ([cell] for cell in found.row), strict=True))
        assert classifier.predict(there)[0] == found.prediction != before
        assert set(found.changes) <= set(change or TABLE)
        assert found.changes == {name: (row[name], cell[0]) for name, cell in there.items() if row[name] != cell[0]}
        there = {name: np.array(cell) for name, cell in there.items()}
        assert found.distance == pytest.approx(distances_of(classifier, there, row)[0], rel=1e-6)
        assert 0 <= found.lower_bound <= found.distance
        if change == ["age"]:
            assert found.lower_bound >= 0.9 * found.distance
        shares = draw.laplace(size=(n_draws, 2)) * ([1, 0] if change == ["age"] else 1)
        shares *= draw.random((n_draws, 1)) * found.lower_bound / np.abs(shares).sum(axis=1, keepdims=True)
        drawn = {"age": row["age"] + AGE.std() * shares[:, 0], "income": row["income"] + INCOME.std() * shares[:, 1],
                 "word": np.array([row["word"]] * n_draws), "constant": np.ones(n_draws)}
        if change is None:
            drawn["word"] = draw.choice(["a", "b", "c"], n_draws)
        near = (distances_of(classifier, drawn, row) < found.lower_bound) & (np.abs(shares).sum(axis=1) > 0)
        assert (classifier.predict(drawn)[near] == before).all()


def test_a_file_finds_the_same(classifier):
    read = rffkern.loads(rffkern.dumps(classifier))
    assert read.what_if(row_of(3), "yes", probability=0.8) == classifier.what_if(row_of(3), "yes", probability=0.8)


def test_steps_and_limits_are_kept(classifier):
    for k in range(3):
        found = classifier.what_if(row_of(k), "yes", probability=0.8, change=["age", "income"], steps={"age": 1},
                                   limits={"age": (None, 70.0), "income": (5.0, 60.0)})
        assert found.probability >= 0.8
        assert float(found.row[0]).is_integer()
        assert found.row[0] <= 70
        assert 5 <= found.row[1] <= 60
        assert found.row[2] == TABLE["word"][k]


def test_changes_are_traded_for_shorter_ones():
    """Of a sum of concave functions the nearest change is of both columns, which one column at a time does not find."""
    X = rng.uniform(0, 1.5, (N, 2))
    model = FourierBoostingRegressor(**QUICK, base_learners=("fourier",), columns=None).fit(X, np.sin(X).sum(axis=1))
    found = model.what_if([0.1, 0.15], 1.3)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1.5, 301)] * 2), axis=-1).reshape(-1, 2)
    reached = grid[model.predict(grid) >= 1.3]
    nearest = (np.abs(reached - [0.1, 0.15]) / X.std(axis=0)).sum(axis=1).min()
    assert found.distance < 1.001 * nearest


def test_a_category_alone(classifier):
    k = int(np.flatnonzero((np.abs(SCORE - 0.1) < 0.15) & (WORD != "c") & (classifier.predict(TABLE) == "no"))[0])
    found = classifier.what_if(list(row_of(k).values()), "yes", change=[2])
    assert found.changes == {"word": (WORD[k], "c")}
    assert found.distance == found.lower_bound == 1.0


def test_a_row_that_is_there_has_no_changes(classifier):
    label = classifier.predict({name: column[:1] for name, column in TABLE.items()})[0]
    found = classifier.what_if(row_of(0), label)
    assert found[1:4] == ({}, 0.0, label)
    assert found.lower_bound == 0


def test_several_classes():
    X = np.column_stack([AGE, INCOME])
    y = np.digitize(SCORE, [-0.5, 0.7])
    model = KernelRidgeClassifier(length_scale=1.0, reg_lambda=0.1).fit(X, y)
    for label in (0, 1, 2):
        found = model.what_if(X[7], label)
        assert model.predict([found.row])[0] == label
        surer = model.what_if(X[7], label, probability=0.6)
        assert surer.probability >= 0.6
        assert model.predict_proba([surer.row])[0, label] == pytest.approx(surer.probability, abs=1e-9)
        assert surer.lower_bound <= surer.distance


def test_numbers_from_either_side_and_between(regressor):
    row = np.array([AGE[5], INCOME[5]])
    now = regressor.predict(row[None])[0]
    up, down = regressor.what_if(row, now + 40), regressor.what_if(row, now - 40)
    assert up.prediction >= now + 40
    assert down.prediction <= now - 40
    between = regressor.what_if(row, (now + 30.0, now + 50.0))
    assert now + 30 <= between.prediction <= now + 50
    assert between.distance <= up.distance + 1e-9 or between.distance >= between.lower_bound
    assert between.probability is None
    assert between.prediction == regressor.predict([between.row])[0]


def test_units_of_counts_and_outputs():
    X = np.column_stack([AGE, INCOME])
    counts = FourierBoostingRegressor(**QUICK, loss="poisson").fit(X, np.exp(SCORE))
    found = counts.what_if(X[0], 3.0)
    assert (found.prediction - 3) * (3 - counts.predict(X[:1])[0]) >= 0
    assert found.prediction == pytest.approx(3, rel=0.5)
    with pytest.raises(InvalidInputError, match="target must be > 0"):
        counts.what_if(X[0], -1.0)
    two = FourierBoostingRegressor(**QUICK).fit(X, np.column_stack([SCORE, -SCORE]))
    with pytest.raises(InvalidInputError, match="output must be the index of one of the 2 targets, got None"):
        two.what_if(X[0], 0.0)
    for output in ("1", [1], True, np.ones(2)):
        with pytest.raises(InvalidInputError, match="output must be the index of one of the 2 targets, got"):
            two.what_if(X[0], 0.0, output=output)
    assert two.what_if(X[0], 1.0, output=1).prediction * np.sign(1 - two.predict(X[:1])[0, 1]) >= np.sign(
        1 - two.predict(X[:1])[0, 1]) - 1e-9
    quantiles = FourierBoostingRegressor(**QUICK, loss="quantile", quantile=(0.1, 0.9)).fit(X, SCORE)
    with pytest.raises(InvalidInputError, match="this one has several"):
        quantiles.what_if(X[0], 1.0)


@pytest.mark.parametrize(("params", "message"), [
    ({"target": "maybe"}, "target must be a label of the model, such as 'no', got 'maybe'"),
    ({"probability": 1.0}, "probability must be a number above 0"),
    ({"output": 0}, "output must be None for a classifier"),
    ({"target": np.array(["yes", "no"])}, "target must be a label of the model"),
    ({"limits": np.ones(2)}, "limits must be a dict"), ({"steps": np.ones(2)}, "steps must be a dict"),
    ({"change": "age"}, "change must be a sequence of columns"),
    ({"change": []}, "change must name a column or more, or be None for all, got none"),
    ({"limits": ["age"]}, "limits must be a dict from columns to pairs, got "),
    ({"steps": 5}, "steps must be a dict from columns to numbers, got 5"),
    ({"change": ["wage"]}, "a column of change must be the name of one column or an integer from 0 to 3, got 'wage'"),
    ({"change": ["constant"]}, "change: expected columns of numbers or categories that vary"),
    ({"change": ["age"], "limits": {"age": (0.0, 1.0)}}, "limits must contain the value of the row, got 'age' of 0.0 "
     r"to 1.0 where it is [0-9.]+: widen them, or ask of a row within them"),
    ({"limits": {"age": (None, 1.0)}}, "limits must contain the value of the row, got 'age' of None to 1.0"),
    ({"limits": {"age": (1000.0, None)}}, "limits must contain the value of the row"),
    ({"limits": {"age": 3}}, "limits must map columns to pairs"),
    ({"steps": {"age": 0}}, "steps must map columns to finite numbers > 0, got 0"),
    ({"change": ["income"], "limits": {"income": (None, None)}, "probability": 1 - 1e-12}, "no change of 'income' was"),
])
def test_what_is_refused(classifier, params, message):
    with pytest.raises(InvalidInputError, match=message):
        classifier.what_if(row_of(0), **{"target": "yes"} | params)


def test_rows_that_are_not_one(classifier, regressor):
    with pytest.raises(InvalidInputError, match="row must be one row, got 2"):
        classifier.what_if({name: column[:2] for name, column in TABLE.items()}, "yes")
    with pytest.raises(InvalidInputError, match="expecting 2 features"):
        regressor.what_if([1.0], 3.0)
    with pytest.raises(InvalidInputError, match=r"predicts 1000000000\.0: let more columns change"):
        regressor.what_if([1.0, 2.0], np.float64(1e9))
    with pytest.raises(InvalidInputError, match="target must be a finite number"):
        regressor.what_if([1.0, 2.0], (3.0, 2.0))
    with pytest.raises(InvalidInputError, match="probability must be None for a regressor"):
        regressor.what_if([1.0, 2.0], 3.0, probability=0.5)
    with pytest.raises(NotFittedError):
        FourierBoostingRegressor().what_if([1.0], 3.0)


def test_missing_values_stay(classifier):
    row = row_of(2) | {"income": None}
    label = classifier.predict({name: [cell] for name, cell in row.items()})[0]
    found = classifier.what_if(row, "no" if label == "yes" else "yes")
    assert found.row[1] is None or np.isnan(found.row[1])
    with pytest.raises(InvalidInputError, match="with a value"):
        classifier.what_if(row, "yes", change=["income"])
