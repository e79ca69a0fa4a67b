"""Early stopping by a metric of the user: what it is given, and what it decides."""

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor, InvalidInputError

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 3))
TARGETS = np.abs(np.round(3 * (np.sin(X[:, 0]) + X[:, 1] ** 2)))
LABELS = np.where(TARGETS > 2, "much", "little")
QUICK = {"n_estimators": 30, "n_bags": 2, "early_stopping_rounds": 5, "kernel_ridge": False, "random_state": 0}


def recorded(score, sign=1.0):
    """A metric that keeps what it is given, and its values."""
    calls = []

    def metric(y_true, y_pred, sample_weight):
        value = score(y_true, y_pred)
        calls.append((y_true, y_pred, sample_weight, value))
        return "own", sign * value, sign < 0

    return metric, calls


@pytest.mark.parametrize(("loss", "shape"), [("squared_error", ()), ("poisson", ()), ("quantile", (2,))])
def test_what_it_is_given_and_which_rounds_are_kept(loss, shape):
    """The last predictions of the rounds kept are those of the model for its evaluation rows."""
    metric, calls = recorded(lambda y, f: float(np.abs(np.reshape(f, (len(y), -1))[:, 0] - y).max()))
    params = {**QUICK, "n_bags": 1, "loss": loss} | ({"quantile": (0.4, 0.5)} if shape else {})
    weights = np.linspace(1, 2, 50)
    model = FourierBoostingRegressor(**params).fit(X[50:], TARGETS[50:], eval_set=(X[:50], TARGETS[:50], weights),
                                                   eval_metric=metric)
    values = [each[3] for each in calls]
    assert model.n_estimators_ == int(np.argmin(values))
    assert len(values) == min(model.n_estimators_ + 5, 30) + 1
    y_true, y_pred, w, _ = calls[model.n_estimators_]
    np.testing.assert_allclose(y_true, TARGETS[:50], rtol=1e-13)
    np.testing.assert_allclose(w / w[0], weights)
    assert y_pred.shape == (50, *shape)
    if loss != "quantile":  # which are moved in the end
        np.testing.assert_allclose(y_pred, model.predict(X[:50]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_classes(n_classes):
    y = LABELS if n_classes == 2 else np.digitize(TARGETS, [2, 4])
    metric, calls = recorded(lambda y, p: float(np.mean(p)))
    FourierBoostingClassifier(**QUICK).fit(X, y, eval_metric=metric)
    y_true, y_pred, *_ = calls[0]
    assert set(y_true) <= set(y)
    assert y_pred.shape == ((len(y_true),) if n_classes == 2 else (len(y_true), 3))
    assert ((y_pred > 0) & (y_pred < 1)).all()


def test_more_is_better_where_it_says_so():
    """The same model by a metric and by its negative."""
    def score(y, p):
        return float(np.mean(np.abs((y == "much") - p)))

    (less, _), (more, _) = recorded(score), recorded(score, -1.0)
    first, second = (FourierBoostingClassifier(**QUICK).fit(X, LABELS, eval_metric=metric) for metric in (less, more))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    plain = FourierBoostingClassifier(**QUICK).fit(X, LABELS, eval_metric=lambda y, p: score(y, p))
    np.testing.assert_array_equal(first.decision_function(X), plain.decision_function(X))


def test_the_validation_loss_as_a_metric_gives_the_same_model():
    def squares(y_true, y_pred):
        return float(np.mean((y_true - y_pred) ** 2))

    models = [FourierBoostingRegressor(**QUICK).fit(X, TARGETS, eval_metric=metric) for metric in (None, squares)]
    np.testing.assert_array_equal(*(model.predict(X) for model in models))


def test_more_rounds_go_on_as_one_fit():
    def error(y_true, y_pred):
        return float(np.abs(y_true - y_pred).mean())

    whole = FourierBoostingRegressor(**QUICK).fit(X, TARGETS, eval_metric=error)
    parts = FourierBoostingRegressor(**QUICK | {"n_estimators": 7, "warm_start": True}).fit(X, TARGETS,
                                                                                            eval_metric=error)
    parts.set_params(n_estimators=30).fit(X, TARGETS, eval_metric=error)
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))


def test_the_log_names_it(capsys):
    FourierBoostingRegressor(**QUICK, verbose=10).fit(X, TARGETS, eval_metric=lambda y, f: ("widest", np.ptp(f), True))
    assert "  widest " in capsys.readouterr().err


def test_metrics_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    model = FourierBoostingRegressor(**QUICK).fit(X, TARGETS, eval_metric=metrics.mean_absolute_error)
    assert model.score(X, TARGETS) > 0.2


@pytest.mark.parametrize(("metric", "message"), [
    ("rmse", "eval_metric must be a callable of .*, got str: metrics of scikit-learn"),
    (lambda y, f: np.nan, "eval_metric must return a finite number, or .*, got nan"),
    (lambda y, f: ("name", 1.0), "eval_metric must return a finite number"),
])
def test_what_is_refused(metric, message):
    with pytest.raises(InvalidInputError, match=message):
        FourierBoostingRegressor(**QUICK).fit(X, TARGETS, eval_metric=metric)


def test_rows_without_validation_rows():
    assert FourierBoostingRegressor(**QUICK).fit(X[:1].repeat(2, axis=0), [1.0, 2.0], [1.0, 0.0],
                                                 eval_metric=lambda y, f: 1 / len(y)).n_estimators_ >= 0
