"""Losses: where boosting starts, and models of quantiles, outliers and counts."""

from typing import get_args

import numpy as np
import pytest

from rffkern import FourierBoostingRegressor, InvalidInputError, RFFNetRegressor, dumps, load, save
from rffkern._native import boosting
from rffkern._training.fourier_boosting.losses import Loss, class_loss
from rffkern._training.fourier_boosting.parameters import LOSSES, OF_CLASSES, OF_TWO_CLASSES, LossName

WEIGHTS = np.array([1.0, 2.0, 1.0, 0.0])


def test_two_classes():
    data = class_loss(2).data(np.array([[0, 1, 0, 1]]), WEIGHTS)
    assert data.loss.kernel == boosting.LOSSES["logistic"]
    assert data.targets.tolist() == [-1, 1, -1, 1]
    np.testing.assert_allclose(data.intercept, np.log(2 / 2))
    assert data.initial_scores.shape == (1, 4)


def test_several_classes():
    data = class_loss(3).data(np.array([[0, 1, 2, 2]]), np.array([1.0, 2.0, 1.0, 0.0]))
    assert data.loss.kernel == boosting.LOSSES["softmax"]
    odds = np.exp(data.intercept)
    np.testing.assert_allclose(odds / odds.sum(), [0.25, 0.5, 0.25])
    assert data.initial_scores.shape == (3, 4)


def test_a_class_without_weight_has_a_finite_start():
    assert np.isfinite(class_loss(2).data(np.array([[0, 0, 0, 1]]), WEIGHTS).intercept).all()


@pytest.mark.parametrize(("loss", "expected"), [
    (Loss(LOSSES["squared_error"]), 2.25), (Loss(LOSSES["huber"], (1.35,)), 2.0),
    (Loss(LOSSES["quantile"], (0.9,)), 4.0), (Loss(LOSSES["quantile"], (0.2,)), 1.0)])
def test_values(loss, expected):
    """The mean, the median or the quantile; scores are less the targets."""
    targets = np.array([[1.0, 2.0, 4.0, 100.0]])
    data = loss.data(targets, WEIGHTS)
    assert data.intercept.tolist() == [expected]
    np.testing.assert_allclose(data.initial_scores, expected - targets)
    assert not data.targets.any()


def test_outliers_do_not_widen_the_loss_of_huber():
    loss = Loss(LOSSES["huber"], (1.35,))
    parameters = [loss.data(np.array([[1.0, 2.0, 4.0, far]]), np.ones(4)).parameters[0] for far in (100.0, 1e6)]
    assert parameters == pytest.approx([1.35 * 1.4826 * 1.0] * 2)
    constant = loss.data(np.ones((1, 4)), np.ones(4))
    assert constant.parameters.tolist() == [np.float32(1.35)]


def test_several_quantiles_of_one_target():
    targets = np.array([[1.0, 2.0, 4.0, 100.0]])
    data = Loss(LOSSES["quantile"], (0.2, 0.9)).data(targets, WEIGHTS)
    assert data.intercept.tolist() == [1.0, 4.0]
    np.testing.assert_array_equal(data.initial_scores, [[1.0], [4.0]] - targets)
    np.testing.assert_array_equal(data.parameters, np.float32([0.2, 0.9]))
    assert data.initial_scores.flags.c_contiguous
    assert data.parameters.flags.c_contiguous


def test_one_parameter_for_several_targets():
    targets = np.array([[1.0, 2.0, 4.0, 100.0], [0.0, 1.0, 0.0, 9.0]])
    data = Loss(LOSSES["quantile"], (0.9,)).data(targets, WEIGHTS)
    assert data.intercept.tolist() == [4.0, 1.0]
    np.testing.assert_array_equal(data.parameters, np.float32([0.9, 0.9]))


def test_counts():
    data = Loss(LOSSES["poisson"], (1.0,)).data(np.array([[0.0, 3.0, 2.0, 9.0]]), WEIGHTS)
    np.testing.assert_allclose(data.intercept, np.log(2.0))
    np.testing.assert_allclose(data.least_losses, [0, 3 - 3 * np.log(3), 2 - 2 * np.log(2), 9 - 9 * np.log(9)])
    assert np.isfinite(Loss(LOSSES["poisson"], (1.0,)).data(np.zeros((1, 4)), WEIGHTS).intercept).all()


def test_each_loss_is_named_for_mypy_and_each_kernel_is_used():
    assert (*LOSSES,) == get_args(LossName)
    assert {facts.kernel for facts in (*LOSSES.values(), OF_TWO_CLASSES, OF_CLASSES)} == {*boosting.LOSSES}


# --- quantiles, outliers and counts


QUICK = {"n_bags": 3, "random_state": 0, "n_jobs": 1, "kernel_ridge": False}
QUANTILES = (0.1, 0.5, 0.9)


def rows(seed, n=900):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]), 0.2 + 0.3 * (X[:, 1] > 0), rng


@pytest.fixture(scope="module")
def quantiles():
    X, middle, spread, rng = rows(0)
    y = middle + spread * rng.standard_normal(len(X))
    return FourierBoostingRegressor(loss="quantile", quantile=QUANTILES, **QUICK).fit(X, y)


def test_quantiles_of_normal_noise(quantiles):
    X, middle, spread, rng = rows(1, 4000)
    found = quantiles.predict_quantiles(X)
    assert found.shape == (4000, 3)
    assert (np.diff(found, axis=1) >= 0).all()
    expected = middle[:, None] + spread[:, None] * [-1.2816, 0, 1.2816]
    assert (np.abs(found - expected).mean(axis=0) < 0.13).all()
    y = middle + spread * rng.standard_normal(4000)
    np.testing.assert_allclose((y[:, None] <= found).mean(axis=0), QUANTILES, atol=0.07)


def test_predict_is_the_first_quantile(quantiles):
    X, middle, *_ = rows(2, 50)
    np.testing.assert_array_equal(quantiles.predict(X), quantiles.predict_quantiles(X)[:, 0])
    *_, last = quantiles.staged_predict(X)
    np.testing.assert_allclose(last, quantiles.predict(X), atol=1e-12)
    assert quantiles.score(X, middle) < 0.9  # of the first, not of the median


def test_files_of_several_quantiles(quantiles, tmp_path):
    X, *_ = rows(2, 50)
    save(quantiles, tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").predict_quantiles(X), quantiles.predict_quantiles(X))


def test_one_quantile():
    X, middle, *_ = rows(3, 300)
    model = FourierBoostingRegressor(80, loss="quantile", quantile=0.7, **QUICK).fit(X, middle)
    np.testing.assert_array_equal(model.predict_quantiles(X)[:, 0], model.predict(X))
    several = FourierBoostingRegressor(80, loss="quantile", quantile=[0.7], **QUICK).fit(X, middle)
    np.testing.assert_array_equal(several.predict(X), model.predict(X))


def test_a_quantile_of_several_targets():
    X, middle, *_ = rows(3, 300)
    model = FourierBoostingRegressor(40, loss="quantile", **QUICK).fit(X, np.column_stack([middle, -middle]))
    assert model.predict(X).shape == (300, 2)
    with pytest.raises(InvalidInputError, match="one target"):
        model.predict_quantiles(X)
    with pytest.raises(InvalidInputError, match="one target for several quantiles"):
        FourierBoostingRegressor(loss="quantile", quantile=(0.1, 0.9)).fit(X, np.column_stack([middle, -middle]))


@pytest.mark.parametrize("quantile", [0.0, 1.0, "0.5", None, (), (0.5, 0.1), (0.5, 0.5), (0.5, 2)])
def test_quantiles_that_are_refused(quantile):
    X, middle, *_ = rows(3, 30)
    with pytest.raises(InvalidInputError, match="quantile must be"):
        FourierBoostingRegressor(loss="quantile", quantile=quantile).fit(X, middle)


def test_parameters_need_their_loss():
    X, middle, *_ = rows(3, 60)
    with pytest.raises(InvalidInputError, match="needs loss"):
        FourierBoostingRegressor(5, **QUICK).fit(X, middle).predict_quantiles(X)
    for cls, name, value, loss in ((FourierBoostingRegressor, "quantile", 0.9, "quantile"),
                                   (FourierBoostingRegressor, "power", 1.2, "tweedie"),
                                   (RFFNetRegressor, "quantile", 0.9, "quantile"),
                                   (RFFNetRegressor, "delta", 1.0, "huber")):
        with pytest.raises(InvalidInputError, match=rf"{name}={value} needs loss='{loss}', got loss='squared"):
            cls(**{name: value}).fit(X, middle)


def test_outliers_hardly_move_the_loss_of_huber():
    X, middle, _, rng = rows(4)
    y = middle + np.where(rng.random(len(X)) < 0.05, 30, 0.2) * rng.standard_normal(len(X))
    errors = {loss: np.mean((FourierBoostingRegressor(loss=loss, **QUICK).fit(X, y).predict(X) - middle) ** 2)
              for loss in ("squared_error", "huber", "quantile")}
    assert errors["huber"] < 0.3 * errors["squared_error"]
    assert errors["quantile"] < 0.3 * errors["squared_error"]


def test_least_losses_are_those_at_the_target():
    """Where exp(score) is the target: 1.2 ** (2 - power) and so on, by hand for power 1.5."""
    y = np.array([[1.2, 1.2, 1.2, 3.0]])
    for power in (1.0, 1.3, 1.5, 2.0):
        loss = Loss(LOSSES["poisson" if power == 1 else "tweedie"], (power,))
        data = loss.data(y, WEIGHTS)
        score = np.log(y[0]).astype(np.float32)[None]
        rows = np.zeros((1, 128), np.float32)
        rows[0, :4], targets, weight = score, np.zeros(128, np.float32), np.zeros(128, np.float32)
        targets[:4] = data.targets
        for k in range(4):
            weight[:] = np.arange(128) == k
            found, *_ = boosting.update(data.loss.kernel, data.parameters, rows.copy(), np.zeros_like(rows), 0.0,
                                        targets, weight, weight[:0], 128, np.empty_like(rows), np.empty_like(rows), 1)
            assert found == pytest.approx(data.least_losses[k], abs=3e-6)
    least = Loss(LOSSES["tweedie"], (1.5,)).data(y, WEIGHTS).least_losses[0]
    np.testing.assert_allclose(least, 4 * np.sqrt(1.2) - 2 * 1.2 - 2)


@pytest.mark.slow
def test_the_absolute_error_is_the_median():
    X, middle, _, rng = rows(7)
    y = middle + np.exp(rng.standard_normal(len(X)))
    fits = {loss: FourierBoostingRegressor(loss=loss, **QUICK).fit(X, y)
            for loss in ("absolute_error", "quantile", "squared_error")}
    np.testing.assert_array_equal(fits["absolute_error"].predict(X), fits["quantile"].predict(X))
    error = {loss: np.abs(fit.predict(X) - middle - 1).mean() for loss, fit in fits.items()}
    assert error["absolute_error"] < 0.5 * error["squared_error"]  # whose mean is 1.65 above the middle
    with pytest.raises(InvalidInputError, match='predict_quantiles needs loss="quantile"'):
        fits["absolute_error"].predict_quantiles(X)


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_nothing_is_learned_of_targets_that_are_all_0(rng, loss):
    """It took all 3,000 rounds, each of which makes a mean of 1e-6 a little smaller."""
    X = rng.standard_normal((200, 3))
    model = FourierBoostingRegressor(loss=loss, random_state=0).fit(X, np.zeros(200))
    assert len(model.train_loss_) <= 2
    assert (model.predict(X) < 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "power"), [("gamma", 2.0), ("tweedie", 1.5), ("tweedie", 1.2)])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_models_of_means(loss, power, unit):
    """Closer to the means than a tenth of a constant, by the deviance; in any unit."""
    X, middle, _, rng = rows(6)
    means = np.exp(middle + X[:, 1])
    y = rng.gamma(2, means / 2)
    if loss == "tweedie":
        y *= 2 * (rng.random(len(X)) < 0.5)

    def deviance(predicted):
        parts = means ** (2 - power) / (1 - power) / (2 - power) if power < 2 else -np.log(means) - 1
        return 2 * np.mean(parts - means * predicted ** (1 - power) / (1 - power)
                           + (predicted ** (2 - power) / (2 - power) if power < 2 else np.log(predicted)))

    model = FourierBoostingRegressor(loss=loss, power=power if power < 2 else 1.5, **QUICK).fit(X, unit * y)
    predicted = model.predict(X) / unit
    assert (predicted > 0).all()
    assert deviance(means) == pytest.approx(0, abs=1e-12)
    assert deviance(predicted) < 0.15 * deviance(np.full(len(X), y.mean()))
    assert model.train_loss_[-1] < model.train_loss_[0]
    assert (model.train_loss_ > -1e-6).all()


@pytest.mark.parametrize(("loss", "y", "message"), [
    ("gamma", [0.0, 1, 2, 3], "y must be > 0 for loss='gamma', and more .* got 0: use loss='tweedie'"),
    ("gamma", [-1.0, 1, 2, 3], "y must be > 0 for loss='gamma', got -1"),
    ("tweedie", [-1.0, 1, 2, 3], "y must be >= 0 for loss='tweedie', got -1"),
    ("tweedie", [[1.0, 1]] * 4, "y must be one target for loss='tweedie', got 2")])
def test_targets_that_a_loss_refuses(loss, y, message):
    with pytest.raises(InvalidInputError, match=message):
        FourierBoostingRegressor(3, loss=loss, columns=None).fit(np.arange(8.0).reshape(4, 2), y)


@pytest.mark.slow
@pytest.mark.parametrize("level", [-1.0, 1.0, 4.0])
def test_models_of_counts(level):
    """Better than a constant and than the squared loss by the deviance from the true means."""
    X, middle, _, rng = rows(5)
    rates = np.exp(middle * 1.5 + X[:, 1] + level)
    y = rng.poisson(rates)

    def deviance(predicted):
        predicted = np.maximum(predicted, 1e-3)
        return 2 * np.mean(rates * np.log(rates / predicted) - rates + predicted)

    models = [FourierBoostingRegressor(loss=loss, **QUICK).fit(X, y) for loss in ("poisson", "squared_error")]
    counts, squared = (deviance(model.predict(X)) for model in models)
    assert counts < 0.1 * deviance(y.mean())
    assert counts < squared
    assert models[0].score(X, rates) > 0.8  # of means, not of their logarithms
    assert (models[0].train_loss_ >= 0).all()
    assert models[0].train_loss_[0] * y.mean() == pytest.approx(  # of counts in units of their mean
        np.mean(np.where(y > 0, y * np.log(np.maximum(y, 1) / y.mean()), 0) - y + y.mean()), rel=0.05)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("kind", ["heavy tails", "one row far out"])
def test_means_of_rows_far_out_stay_finite(loss, kind):
    """Along a line some rows are a thousand times as far as others, and the loss has their exponentials."""
    for seed in (2, 3, 6, 7):
        rng = np.random.default_rng(seed)
        X = rng.standard_cauchy((60, 4)) if kind == "heavy tails" else rng.standard_normal((60, 40))
        X[:1] *= 1 if kind == "heavy tails" else 30
        y = rng.poisson(np.exp(2 * np.clip(X[:, 0], -1, 2))) + 0.5 * (loss == "gamma")
        model = FourierBoostingRegressor(loss=loss, n_estimators=60, n_bags=5, columns=None, random_state=0).fit(X, y)
        assert model.train_loss_.max() < 2 * model.train_loss_[0]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
@pytest.mark.filterwarnings("ignore:y has a few values")
def test_one_target_far_out_does_not_hide_the_others(loss, rng):
    """In units of a standard deviation that a target of 1e6 enlarges, all others were constant, and so was the fit."""
    X = rng.standard_normal((150, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0)
    errors = []
    for outlier in (y[3], 1e3, 1e6, -1e12):
        targets = np.concatenate([y[:3], [outlier], y[4:]])
        model = FourierBoostingRegressor(loss=loss, n_bags=2, random_state=0).fit(X, targets, eval_set=(X, targets))
        errors.append(np.abs(np.delete(model.predict(X) - y, 3)).mean())
    assert max(errors[1:]) < 1.5 * errors[0]


@pytest.mark.parametrize(("given", "later"), [
    ({}, {"loss": "poisson"}), ({"loss": "gamma"}, {"loss": "squared_error"}),
    ({"loss": "quantile", "quantile": (0.1, 0.5, 0.9)}, {"quantile": 0.5}),
    ({"loss": "tweedie", "power": 1.2}, {"loss": "quantile", "power": 1.5, "quantile": (0.1, 0.9)})], ids=str)
def test_another_loss_waits_for_the_next_fit(rng, given, later):
    X = rng.standard_normal((120, 2))
    y = np.exp(X[:, 0])
    model = FourierBoostingRegressor(10, **given, random_state=0).fit(X, y)
    expected = model.predict(X), model.predict_interval(X, 0.5), model.score(X, y), dumps(model)
    model.set_params(**later)
    assert model.get_params() | later == model.get_params()
    for found, answer in zip((model.predict(X), model.predict_interval(X, 0.5), model.score(X, y), dumps(model)),
                             expected, strict=True):
        np.testing.assert_array_equal(found, answer)
    again = FourierBoostingRegressor(10, **given | later, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), again.predict(X))
