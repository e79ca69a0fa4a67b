"""Sparse rows of many columns."""

import numpy as np
import pytest
from helpers.compressed import Compressed

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor, InvalidInputError, dumps, loads
from rffkern._rows import sparse_rows
from rffkern._rows.sparse_rows import SparseRows
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.fourier_boosting import base_learners
from rffkern._training.fourier_boosting.sparse_columns import SparseColumns, n_dense_columns

N_ROWS, N_COLUMNS = 300, 600
FEW = {"n_estimators": 20, "n_bags": 2, "random_state": 0, "n_jobs": 1}


def few_filled(n_rows=N_ROWS, seed=0):
    """Rows of six cells, of values 1 to 3, most of them in the first columns; two columns are empty, one is full."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n_rows, N_COLUMNS))
    places = (np.abs(rng.normal(0, 60, (n_rows, 5))).astype(int) * 7) % (N_COLUMNS - 3)
    np.put_along_axis(dense, places, rng.integers(1, 4, places.shape).astype(float), axis=1)
    dense[:, -1] = rng.uniform(1, 2, n_rows)
    return dense


@pytest.fixture(scope="module")
def table():
    X = few_filled()
    effects = np.random.default_rng(1).normal(size=N_COLUMNS)
    return X, X @ effects


@pytest.fixture
def bounded(monkeypatch):
    """Nothing may be made dense that has all rows and columns."""
    monkeypatch.setattr(sparse_rows, "DENSE_BYTES", N_ROWS * N_COLUMNS)


def test_which_rows_stay_sparse():
    assert n_dense_columns(1000, 10_000, 100_000) == 600
    assert n_dense_columns(1000, 10_000, 1000) == 64
    assert n_dense_columns(1000, 500, 1000) is None
    assert n_dense_columns(1000, 1000, 100_000) is None


def test_units_are_those_of_dense_rows(rng):
    X, weights = few_filled(), rng.uniform(0, 2, N_ROWS)
    X[:, 0] *= 1e300
    X[:, 1] *= 1e-300
    weights = RowWeights(N_ROWS, weights * N_ROWS / weights.sum())
    other = few_filled(50, 3) * 2
    columns = SparseColumns.of([TargetRows(SparseRows.of_dense(X), np.zeros((N_ROWS, 1)), weights),
                                TargetRows(SparseRows.of_dense(other), np.zeros((50, 1)), RowWeights(50))])
    unit = np.where(np.abs(X).max(axis=0) > 0, np.abs(X).max(axis=0), 1)
    mean = weights.mean(X / unit)
    deviation = np.sqrt(weights.mean((X / unit - mean) ** 2))
    np.testing.assert_allclose(columns.center, mean * unit, rtol=1e-12)
    varies = deviation > 0
    np.testing.assert_allclose(columns.inverse_scale[varies], 1 / deviation[varies] / unit[varies], rtol=1e-9)
    assert not columns.inverse_scale[~varies].any()
    np.testing.assert_array_equal(columns.upper, X.max(axis=0))
    expected = np.concatenate([X, other.clip(0, X.max(axis=0))]) * columns.inverse_scale
    np.testing.assert_allclose(columns.rows.toarray(), expected, rtol=1e-9)
    filled = (X != 0).sum(axis=0)
    assert filled[columns.dense].min() >= np.delete(filled, columns.dense).max()
    assert len(columns.dense) == 64


def test_a_term_is_the_solution_of_ridge_regression(table, monkeypatch):
    """Without a shortage of iterations it is that of the dense system, for several outputs and weighted rows."""
    X, target = table
    monkeypatch.setattr(base_learners, "_CG_ITERATIONS", 3000)
    monkeypatch.setattr(base_learners, "_CG_TOLERANCE", 1e-12)
    fit, seen = base_learners.SparseLinearLearner.fit, []

    def spy(learner, rows, rng):
        gradient = rows.gradient[:, : rows.n_train].astype(np.float64)
        term = fit(learner, rows, rng)
        if not seen:
            cells, weight = rows.cells, rows.weight[: rows.n_train].astype(np.float64)
            dense = cells.rows.rows(0, rows.n_train).toarray() - cells.means
            dense[weight == 0] = 0
            system = (dense.T * weight) @ dense + rows.totals[0] * np.diag(learner._ridges[:, 0])
            expected = np.linalg.solve(system, (gradient @ dense * learner._varies).T)
            np.testing.assert_allclose(term.coefficients, expected, atol=1e-6 * np.abs(expected).max())
            all_dense = cells.rows.toarray() - cells.means
            np.testing.assert_allclose(rows.directions, (all_dense @ term.coefficients).T, atol=1e-5)
            seen.append(True)
        return term

    monkeypatch.setattr(base_learners.SparseLinearLearner, "fit", spy)
    FourierBoostingRegressor(**FEW | {"n_bags": 1, "n_estimators": 1}).fit(
        Compressed.of(X), np.column_stack([target, X[:, 0]]), np.random.default_rng(0).integers(1, 3, N_ROWS))
    assert seen


def test_columns_that_few_rows_fill_are_learned_from(table, bounded):
    """A linear function of all of them, with no array of all rows and columns; sparse and dense rows score alike."""
    X, target = table
    sparse = Compressed.of(X)
    model = FourierBoostingRegressor(**FEW).fit(sparse, target)
    assert model.column_map_ is None
    assert model.n_features_in_ == N_COLUMNS == len(model.feature_importances_)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.expansion_.linear.coefficients[X.any(axis=0)].any()
    assert "sparse" in model.kernel_ridge_report_.reason
    predicted = model.predict(sparse)
    assert 1 - np.var(predicted - target) / np.var(target) > 0.8
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-9, atol=1e-9)
    far = X * 100  # is clipped, as dense rows are
    np.testing.assert_allclose(model.predict(Compressed.of(far)), model.predict(far), rtol=1e-9, atol=1e-9)
    empty = np.zeros((2, N_COLUMNS))
    np.testing.assert_allclose(model.predict(Compressed.of(empty)), model.predict(empty), rtol=1e-9, atol=1e-9)
    again = loads(dumps(model))
    np.testing.assert_array_equal(again.predict(sparse), predicted)
    two_threads = FourierBoostingRegressor(**FEW | {"n_jobs": 2}).fit(sparse, target)
    np.testing.assert_array_equal(two_threads.predict(sparse), predicted)
    single = FourierBoostingRegressor(**FEW).fit(Compressed.of(X.astype(np.float32)), target)
    np.testing.assert_allclose(single.predict(sparse), predicted, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("given", [
    {"loss": "quantile", "quantile": [0.2, 0.8]}, {"loss": "poisson"}, {"validation": "last"},
    {"base_learners": ["tree"], "columns": None}, {"loss": "absolute_error", "base_learners": ["fourier"]}])
def test_parameters_of_regressors(table, bounded, given):
    X, target = table
    y = np.exp(target / 10) if given.get("loss") == "poisson" else target
    model = FourierBoostingRegressor(**FEW | {"n_estimators": 5} | given).fit(Compressed.of(X), y)
    assert np.isfinite(model.predict(Compressed.of(X))).all()
    assert model.expansion_.linear is not None


def test_classes_weights_and_evaluation_sets(table, bounded):
    """Rows of weight 0 do not count; evaluation sets may be sparse or dense."""
    X, target = table
    y = np.array(["a", "b", "c"])[np.digitize(target, np.quantile(target, [0.3, 0.6]))]
    weights = np.repeat([1.0, 0.0], [250, 50])
    other = few_filled(40, 5)
    sets = [(Compressed.of(other), y[:40]), (other, y[:40])]
    model = FourierBoostingClassifier(**FEW).fit(Compressed.of(X), y, weights, eval_set=sets)
    fewer = FourierBoostingClassifier(**FEW).fit(Compressed.of(X[:250]), y[:250], eval_set=sets[0])
    np.testing.assert_array_equal(model.predict_proba(Compressed.of(X)), fewer.predict_proba(Compressed.of(X)))
    np.testing.assert_allclose(model.eval_losses_["valid_0"], model.eval_losses_["valid_1"], rtol=1e-6)
    groups = np.arange(N_ROWS) // 3
    FourierBoostingClassifier(**FEW | {"n_estimators": 3}).fit(Compressed.of(X), y, groups=groups)


@pytest.mark.slow
def test_rows_that_are_made_dense(table, monkeypatch):
    """Parameters that need all columns dense have the bits of dense rows; errors name the cell."""
    X, target = table
    for given in ({"warm_start": True}, {"monotone_constraints": {0: 1}},
                  {"interaction_constraints": "no_interactions"}):
        few = FEW | {"n_estimators": 1, "n_bags": 1} | given
        sparse, dense = (FourierBoostingRegressor(**few).fit(rows, target) for rows in (Compressed.of(X), X))
        np.testing.assert_array_equal(sparse.predict(X), dense.predict(X))
    X = X.copy()
    X[7, 5] = np.nan
    with pytest.raises(InvalidInputError, match=r"X must be finite .*, got NaN at row 7, column 5"):
        FourierBoostingRegressor().fit(Compressed.of(X), target)
    with pytest.raises(InvalidInputError, match="X has 3 features"):
        FourierBoostingRegressor(**FEW).fit(Compressed.of(table[0]), target).predict(Compressed.of(X[:, :3]))


def test_names_of_columns(table):
    pandas = pytest.importorskip("pandas")
    X, target = table
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(N_COLUMNS)]).astype(pandas.SparseDtype(float, 0))
    model = FourierBoostingRegressor(**FEW | {"n_estimators": 2}).fit(frame, target)
    assert model.feature_names_in_[3] == "c3"
    assert np.isfinite(model.predict(frame)).all()
    with pytest.raises(InvalidInputError, match="feature names should match"):
        model.predict(frame.rename(columns={"c3": "z"}))


def test_truth_values_are_0_and_1(table):
    X, target = (table[0] != 0), table[1]
    few = FEW | {"n_estimators": 2, "n_bags": 1}
    of_bool, of_numbers = (FourierBoostingRegressor(**few).fit(rows, target, eval_set=(rows, target)) for rows in (
        Compressed.of(X), Compressed.of(X.astype(float))))
    np.testing.assert_array_equal(of_bool.predict(Compressed.of(X)), of_numbers.predict(X.astype(float)))
