"""`shrink`: smaller models whose loss is accounted for."""

import numpy as np
import pytest
from helpers.expansions import kernel_expansion

from rffkern import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    KernelRidgeRegressor,
    NotFittedError,
    TrainingStateError,
    dumps,
    loads,
    shrink,
)
from rffkern._files.shrink import _path, _scores_of_terms, halves
from rffkern._training.fourier_boosting import stacking

SMALL = {"n_estimators": 30, "n_bags": 2, "kernel_ridge": False, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """A table with words, gaps and dates, and a value that depends on all of them."""
    rng = np.random.default_rng(0)
    size, word, day = rng.standard_normal(500), rng.choice(["red", "green", "blue"], 500), rng.integers(0, 700, 500)
    value = np.sin(2 * size) + (word == "red") + (day > 300)
    columns = {"size": np.where(rng.random(500) < 0.1, np.nan, size), "word": word,
               "day": np.datetime64("2024-01-01") + day, "noise": rng.standard_normal(500)}
    return columns, value


def some(columns, rows):
    return {name: values[rows] for name, values in columns.items()}


@pytest.fixture(scope="module")
def model(table):
    columns, value = table
    return FourierBoostingRegressor(**SMALL).fit(some(columns, slice(250)), value[:250])


def test_metadata_say_what_the_smaller_model_is(table, model):
    columns, value = table
    X, y = some(columns, slice(250, None)), value[250:]
    given = {"target": "value", "owner": {"name": "me"}, "held_out": {"r2": 0.9}, "held_out_by": "random"}
    found = shrink(loads(dumps(model, metadata=given)), X, y, max_loss=0.05)
    shrunk = found.model.metadata_.pop("shrunk")
    assert found.model.metadata_ == {"target": "value", "owner": {"name": "me"}}
    chosen = next(step for step in found.curve if step.n_bytes == found.size)
    assert shrunk == {"rows": 125, "rmse": chosen.loss, "rmse_before": found.curve[0].loss,
                      "terms_before": model.expansion_.n_terms}
    assert found.curve[0].n_bytes == len(dumps(model, metadata=given))


def test_the_smallest_model_within_a_loss(table, model):
    columns, value = table
    X, y = some(columns, slice(250, None)), value[250:]
    found = shrink(model, X, y, max_loss=0.05)
    small = found.model
    first, chosen = found.curve[0], next(step for step in found.curve if step.n_bytes == found.size)
    assert found.loss == "rmse"
    assert first.n_bytes == len(dumps(model))
    assert (first.n_terms, first.change) == (model.expansion_.n_terms, 0.0)
    _, judged = halves(np.arange(250))
    assert first.loss == pytest.approx(np.sqrt(np.mean((model.predict(X) - y)[judged] ** 2)))
    assert len(dumps(small)) == found.size < first.n_bytes / 2
    assert chosen.loss == pytest.approx(np.sqrt(np.mean((small.predict(X) - y)[judged] ** 2)))
    assert chosen.loss <= 1.05 * first.loss
    assert all(step.n_bytes >= found.size for step in found.curve
               if step.change + (step.change_error or 0) <= 0.05 * first.loss)
    assert [step.n_terms for step in found.curve[1:]] == sorted((s.n_terms for s in found.curve[1:]), reverse=True)
    # It is a model like any other.
    assert type(small) is type(model)
    assert small.get_params() == model.get_params()
    assert dumps(loads(dumps(small))) == dumps(small)
    explained = small.explain(some(columns, slice(5)))
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values,
                               small.predict(some(columns, slice(5))), atol=1e-6)
    assert abs(explained.base_values - model.explain(some(columns, slice(1))).base_values) < 0.2
    assert len(list(small.staged_predict(X))) == small.n_estimators_
    assert small.drift(some(columns, slice(250)))["largest_shift"] < 0.1
    with pytest.raises(TrainingStateError, match="conformalize"):
        small.predict_interval(X)


def test_the_best_model_within_bytes(table, model):
    columns, value = table
    X, y = some(columns, slice(250, None)), value[250:]
    found = shrink(model, X, y, bytes=12_000)
    assert found.size <= 12_000
    assert min(step.loss for step in found.curve if step.n_bytes <= 12_000) == next(
        step.loss for step in found.curve if step.n_bytes == found.size)
    with pytest.raises(InvalidInputError, match="bytes must be at least"):
        shrink(model, X, y, bytes=100)


def test_classes_weights_and_one_row(table):
    columns, value = table
    labels = np.array(["low", "middle", "high"])[np.digitize(value, [0.3, 1.2])]
    model = FourierBoostingClassifier(**SMALL).fit(some(columns, slice(250)), labels[:250])
    X, y = some(columns, slice(250, None)), labels[250:]
    weights = np.arange(250.0)
    found = shrink(model, X, y, weights, max_loss=0.02)
    own = found.model.predict_proba(X)[np.arange(250), np.searchsorted(model.classes_, y)]
    assert found.loss == "log_loss"
    _, judged = halves(np.arange(1, 250))  # the first has no weight
    assert np.average(-np.log(own[judged]), weights=weights[judged]) == pytest.approx(
        next(step.loss for step in found.curve if step.n_bytes == found.size))
    kept = shrink(model, some(columns, slice(260)), labels[:260], np.r_[np.zeros(250), np.ones(10)], max_loss=0.02)
    same = shrink(model, some(columns, slice(250, 260)), labels[250:260], max_loss=0.02)
    assert dumps(kept.model) == dumps(same.model)  # rows without weight are not looked at
    for n_rows in (1, 2):  # whose losses have no standard error
        few = some(columns, slice(n_rows)), labels[:n_rows]
        with pytest.raises(InvalidInputError, match=f"max_loss takes at least 3 rows.* got {n_rows} of"):
            shrink(model, *few, max_loss=0.5)
        one = shrink(model, *few, bytes=len(dumps(model)))
        assert one.curve[1].change_error is None
    assert shrink(model, some(columns, slice(3)), labels[:3], max_loss=0.5).curve[1].change_error > 0


@pytest.mark.parametrize(("params", "loss"), [
    ({"loss": "quantile", "quantile": [0.1, 0.9]}, "pinball"), ({"loss": "quantile"}, "mae"),
    ({"loss": "absolute_error"}, "mae"),
    ({"loss": "poisson"}, "deviance")])
def test_losses(params, loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.round(np.exp(X[:, 0])) + 1
    model = FourierBoostingRegressor(**SMALL, **params).fit(X[:150], y[:150])
    found = shrink(model, X[150:], y[150:], max_loss=0.05)
    assert found.loss == loss
    assert found.size < len(dumps(model))
    assert found.curve[0].loss * 1.05 >= next(step.loss for step in found.curve if step.n_bytes == found.size)


@pytest.mark.parametrize("region", [None, 40])
def test_kernels_beside_terms_and_in_regions(monkeypatch, region):
    """The last kernel stays, as the report on kernel ridge regression says that there are some."""
    if region:
        monkeypatch.setattr(stacking, "MOST_ROWS", 2 * region)
        monkeypatch.setattr(stacking, "LARGEST_REGION", region)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.sin(2 * X[:, 0])
    model = FourierBoostingRegressor(8, n_bags=2, kernel_ridge=True, random_state=0).fit(X[:150], y[:150])
    assert (model.expansion_.kernels.n_regions > 1) == bool(region)
    found = shrink(model, X[150:], y[150:], max_loss=0.02)
    assert found.curve[-1].n_terms == 1
    least = found.curve[-1].n_bytes  # what stays with one kernel
    assert found.size - least < (len(dumps(model)) - least) / 2


def test_kernel_ridge_regression_and_several_targets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    model = KernelRidgeRegressor(random_state=0).fit(X[:100], y[:100])
    found = shrink(model, X[100:], y[100:], max_loss=0.1)
    assert found.size < len(dumps(model)) / 2
    assert np.abs(found.model.predict(X) - model.predict(X)).mean() < 0.1


def test_scores_of_single_terms_add_up(model):
    expansion = model.expansion_
    X = np.clip(np.random.default_rng(0).standard_normal((20, expansion.n_features)), expansion.lower, expansion.upper)
    of_terms = _scores_of_terms(expansion, np.arange(expansion.n_terms), X, 1)
    linear = 0 if expansion.linear is None else (X - expansion.center) @ expansion.linear.coefficients
    np.testing.assert_allclose(of_terms.sum(axis=0).T + expansion.intercept + linear, expansion.score(X), atol=1e-5)
    regions = kernel_expansion(np.arange(4.0)[:, None], np.ones((4, 1)), [0.0], [1.0], [2.0], [0.0], [1.5], [0, 2, 4])
    of_terms = _scores_of_terms(regions, np.array([1, 3]), np.array([[1.0], [3.0]]), 1)
    np.testing.assert_allclose(of_terms[:, 0], [[1, 0], [0, 1]])


def test_terms_that_others_replace_go_first():
    """Of two equal terms one goes, and the other takes its place; a term that is alone stays."""
    z = np.array([[1.0, -1, 1, -1], [2.0, 2, -2, -2], [1.0, -1, 1, -1]])
    steps = list(_path(z @ z.T, z @ z.sum(axis=0), np.ones(3), None))
    kept, factors = steps[1]
    assert sorted(kept.tolist()) in ([0, 1], [1, 2])
    np.testing.assert_allclose(factors[kept != 1], 2, rtol=1e-2)
    np.testing.assert_allclose(factors[kept == 1], 1, rtol=1e-2)
    assert steps[2][0].tolist() == [1]
    assert [len(kept) for kept, _ in steps] == [3, 2, 1]
    assert list(_path(z @ z.T, z @ z.sum(axis=0), np.ones(3), np.array([2])))[-1][0].tolist() == [2]


def test_models_without_terms_and_targets_beyond_all_measure(table):
    columns, value = table
    constant = FourierBoostingRegressor(**SMALL).fit(columns, np.ones(500))
    found = shrink(constant, columns, np.ones(500), max_loss=0.0)
    assert constant.expansion_.n_terms == found.curve[0].loss == 0
    assert found.size < len(dumps(constant))
    model = FourierBoostingRegressor(**SMALL).fit(columns, value)
    assert shrink(model, columns, np.full(500, 1e306), max_loss=0.1).size <= len(dumps(model))


def test_what_is_refused(model, table):
    columns, value = table
    for arguments, message in (({}, "one of bytes and max_loss"), ({"bytes": 1, "max_loss": 1}, "one of bytes"),
                               ({"bytes": 0}, "bytes must be"), ({"max_loss": -1.0}, "max_loss must be")):
        with pytest.raises(InvalidInputError, match=message):
            shrink(model, columns, value, **arguments)
    with pytest.raises(InvalidInputError, match="one entry per row"):
        shrink(model, columns, value[:9], max_loss=0.1)
    with pytest.raises(InvalidInputError, match="must have 1 targets"):
        shrink(model, columns, np.zeros((500, 2)), max_loss=0.1)
    with pytest.raises(InvalidInputError, match="got GBRFF2Classifier"):
        shrink(GBRFF2Classifier(2).fit([[0.0], [1.0]], [0, 1]), [[0.0]], [0], max_loss=0.1)
    with pytest.raises(NotFittedError):
        shrink(FourierBoostingRegressor(), columns, value, max_loss=0.1)


def test_targets_whose_squares_overflow_are_shrunk_as_smaller_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + 0.3 * rng.standard_normal(200)
    model = FourierBoostingRegressor(**SMALL, loss="absolute_error")
    found = [shrink(model.fit(X, unit * y), X, unit * y, max_loss=0.1) for unit in (1.0, 2.0**700)]
    assert found[1].size == pytest.approx(found[0].size, rel=0.1)
    np.testing.assert_allclose(found[1].model.predict(X) / 2.0**700, found[0].model.predict(X), atol=0.3)
