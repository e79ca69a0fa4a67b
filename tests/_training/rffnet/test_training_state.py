"""Training that continues: which rows and parameters it accepts, and which models keep its state."""

import copy
import pickle

import numpy as np
import pytest

from rffkern import InvalidInputError, RFFNetClassifier, RFFNetRegressor


@pytest.mark.parametrize(("change", "message"), [
    (lambda m, X, y: m.partial_fit(X[:, :3], y), "X has 3 features, but RFFNetRegressor is expecting 8 features"),
    (lambda m, X, y: m.set_params(n_components=7).partial_fit(X, y), "n_components must be 332, as .*, got 7"),
    (lambda m, X, y: m.partial_fit(X, np.column_stack([y, y])), "y must have 1 target.s., as .*, got 2"),
    (lambda m, X, y: m.set_params(precision="double").partial_fit(X, y), "precision must be .single., as .*"),
])
def test_training_that_cannot_go_on(few_columns, change, message):
    X, y = few_columns[:2]
    model = RFFNetRegressor(random_state=0, max_epochs=1, n_components=332).fit(X, y)
    before = model.predict(X)
    with pytest.raises(InvalidInputError, match=message):
        change(model.set_params(n_components=None), X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_names_are_kept_by_rows_without_any(few_columns):
    pd = pytest.importorskip("pandas")
    X, y = few_columns[:2]
    names = [f"f{j}" for j in range(8)]
    model = RFFNetRegressor(20, random_state=0).partial_fit(pd.DataFrame(X, columns=names), y).partial_fit(X, y)
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(InvalidInputError, match="same order"):
        model.partial_fit(pd.DataFrame(X, columns=names[::-1]), y)


def test_targets_of_another_scale_are_refused_where_training_goes_on(few_columns):
    X, y = few_columns[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=1).fit(X, 1e-300 * y)
    with pytest.raises(InvalidInputError, match="y must lie within 1e\\+15 standard deviations"):
        model.partial_fit(X, 1e300 * y)


def test_a_pickled_model_goes_on(few_columns):
    X, y = few_columns[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=2).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.partial_fit(X, y).predict(X), copy.deepcopy(model).partial_fit(X, y).predict(X))
    assert other._training_state.network.n_steps == model._training_state.network.n_steps + 63


def test_an_older_model_is_not_changed_by_training_that_goes_on(few_columns):
    X, y = few_columns[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=2).fit(X, y)
    before, state = model.predict(X), model._training_state
    values, n_seen = state.network.values(), state.n_seen
    model.partial_fit(X, y)
    assert model._training_state is not state
    np.testing.assert_array_equal(state.network.values()[0], values[0])
    assert (state.n_seen, model._training_state.n_seen) == (n_seen, n_seen + 2000)
    assert (model.predict(X) != before).any()


def test_another_set_of_classes_cannot_go_on(few_columns):
    X, y = few_columns[:2]
    model = RFFNetClassifier(20, random_state=0, max_epochs=2, warm_start=True).fit(X, y > 1)
    with pytest.raises(InvalidInputError, match=r"y must have the classes of the training .*, got"):
        model.fit(X, np.digitize(y, [0, 1]))
    with pytest.raises(InvalidInputError, match=r"y must have the classes of the training .*, got"):
        model.fit(X, np.where(y > 1, "yes", "no"))
