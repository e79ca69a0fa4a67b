"""Importances of columns, and scores on the most relevant ones."""

import numpy as np
import pytest

from rffkern import InvalidInputError, NotFittedError, RFFNetClassifier, RFFNetRegressor, load, save


@pytest.mark.parametrize(("relevances", "expected"), [([1.0, 4.0, 0.0], [0.2, 0.8, 0.0]), ([0.0, 0.0], [0.0, 0.0])])
def test_importances(relevances, expected):
    model = RFFNetRegressor()
    model.relevances_, model.n_features_in_ = np.array(relevances), len(relevances)
    np.testing.assert_array_equal(model.feature_importances_, expected)


def test_selection_path(rffnet, few_columns):
    path = rffnet.selection_path(*few_columns[2:])
    assert path.sizes.tolist() == list(range(1, 9))
    np.testing.assert_array_equal(path.columns, np.argsort(-rffnet.relevances_, kind="stable"))
    assert path.scores[0] < 0.8 < path.scores[1]
    assert path.scores[-1] == rffnet.score(*few_columns[2:])
    few = rffnet.selection_path(*few_columns[2:], sizes=[0, 2])
    assert few.scores[0] < 0.1
    assert few.scores[1] == path.scores[1]
    np.testing.assert_array_equal(rffnet.select_top_k(3), path.columns[:3])


@pytest.mark.parametrize(("call", "message"), [
    (lambda model: model.select_top_k(0), "k must be an integer >= 1 and <= 8, got 0"),
    (lambda model: model.select_top_k(2.5), "k must be an integer"),
    (lambda model: model.truncated(9), "k must be an integer >= 1 and <= 8, got 9"),
    (lambda model: model.selection_path(np.eye(8), np.ones(8), sizes=[9]), "sizes must be an integer >= 0 and <= 8"),
    (lambda model: model.selection_path(np.eye(8), np.ones(8), sizes=3), "sizes must be an iterable"),
])
def test_bad_selections(rffnet, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(rffnet)


def test_columns_of_equal_relevance_come_in_their_order():
    model = RFFNetRegressor(10, random_state=0, max_epochs=1).fit(np.eye(6), np.arange(6.0))
    model.relevances_ = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 1.0])
    assert model.select_top_k(6).tolist() == [4, 1, 3, 0, 2, 5]


def test_a_restricted_model_sees_some_columns_only(rffnet, few_columns, rng):
    before = dict(vars(rffnet))
    model = rffnet._restricted(np.array([2, 5]))
    X = few_columns[2].copy()
    expected = model.predict(X)
    X[:, [0, 1, 3, 4, 6, 7]] = rng.standard_normal((len(X), 6))
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-12)
    means = few_columns[2].copy()
    means[:, [0, 1, 3, 4, 6, 7]] = rffnet.expansion_.center[[0, 1, 3, 4, 6, 7]]
    np.testing.assert_allclose(expected, rffnet.predict(means), rtol=0, atol=1e-9)
    assert all(vars(rffnet)[name] is value for name, value in before.items())
    assert model.get_params() == rffnet.get_params()


def test_a_truncated_model_is_a_model(rffnet, few_columns, tmp_path):
    """It predicts from its columns alone, with the score of the path, is saved and loaded, and truncated again."""
    X, y = few_columns[2:]
    model = rffnet.truncated(2)
    kept = rffnet.select_top_k(2)
    assert model.score(X, y) == rffnet.selection_path(X, y, [2]).scores[0]
    assert np.flatnonzero(model.relevances_).tolist() == sorted(kept)
    np.testing.assert_array_equal(model.relevances_[kept], rffnet.relevances_[kept])
    np.testing.assert_array_equal(model.train_loss_, rffnet.train_loss_)
    save(model, tmp_path / "small.npz")
    again = load(tmp_path / "small.npz")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.truncated(2).predict(X), model.predict(X))
    others = np.where(np.isin(np.arange(8), kept), X, 7.0)
    np.testing.assert_allclose(model.predict(others), model.predict(X), rtol=0, atol=1e-12)


def test_selection_path_of_classes_and_names(few_columns):
    pd = pytest.importorskip("pandas")
    X, y, X_new, y_new = few_columns
    names = [f"f{j}" for j in range(8)]
    labels = np.where(y > 1, "high", "low")
    model = RFFNetClassifier(random_state=0, max_epochs=30).fit(pd.DataFrame(X, columns=names), labels)
    weight = np.where(y_new > 1, 2.0, 1.0)
    labels_new = np.where(y_new > 1, "high", "low")
    path = model.selection_path(pd.DataFrame(X_new, columns=names), labels_new, [0, 2, 8], weight)
    assert path.scores[0] < 0.8 < path.scores[1]
    assert path.scores[2] == model.score(pd.DataFrame(X_new, columns=names), labels_new, weight)
    with pytest.raises(InvalidInputError, match="same order"):
        model.selection_path(pd.DataFrame(X_new, columns=names[::-1]), labels_new)


def test_nothing_is_selected_before_fit():
    with pytest.raises(NotFittedError, match="RFFNetRegressor"):
        RFFNetRegressor().select_top_k(1)
    with pytest.raises(NotFittedError, match="RFFNetClassifier"):
        RFFNetClassifier().selection_path(np.eye(2), [0, 1])
