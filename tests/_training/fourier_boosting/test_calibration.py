"""Temperature of probabilities, and shifts of scores and of quantiles."""

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._training.fourier_boosting.boosting import Bag
from rffkern._training.fourier_boosting.calibration import (
    intercept_shifts,
    inverse_temperature,
    mix_bags,
    quantile_shifts,
)
from rffkern._training.fourier_boosting.losses import Loss, class_loss
from rffkern._training.fourier_boosting.parameters import LOSSES
from rffkern._training.fourier_boosting.training_rows import RowOrder

N = 20_000


def temperature_of(bags, orders, data, weights):
    return mix_bags(bags, orders, weights, data, 0)[0].factor


def shifts_of(bags, orders, data, weights):
    out_of_fold, _ = mix_bags(bags, orders, weights, data, 0)
    return quantile_shifts(data, out_of_fold.scores, out_of_fold.weights)


def found_factor(loss, scores, codes, weights=None, n_bags=2):
    """The factor for members that have held out parts of the rows."""
    rng = np.random.default_rng(0)
    weights = np.ones(len(codes)) if weights is None else weights
    parts = np.array_split(np.arange(len(codes)), n_bags)
    orders = [RowOrder.of(parts[k - 1], parts[k], rng) for k in range(n_bags)]
    members = [Bag([], [], {}, {}, np.ascontiguousarray(scores[:, order.rows[order.n_train :]], np.float32))
               for order in orders]
    return temperature_of(members, orders, loss.data(codes[None], weights), weights)


def drawn(n_outputs, factor, n=N):
    """Scores, and labels whose probabilities are those of the scores times a factor."""
    rng = np.random.default_rng(1)
    scores = 1.5 * rng.standard_normal((n_outputs, n))
    odds = factor * (np.concatenate([np.zeros((1, n)), scores]) if n_outputs == 1 else scores)
    return scores, (odds + rng.gumbel(size=odds.shape)).argmax(axis=0)


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.4])
def test_the_factor_that_made_the_labels(n_outputs, factor):
    loss = class_loss(max(2, n_outputs))
    assert found_factor(loss, *drawn(n_outputs, factor)) == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize(("loss", "targets"), [(class_loss(2), "labels"), (Loss(LOSSES["squared_error"]), "values"),
                                               (Loss(LOSSES["quantile"], (0.5,)), "values")])
@pytest.mark.parametrize("better", [0, 1])
def test_the_share_of_bags_of_trees_is_chosen_on_rows_that_either_kind_has_held_out(loss, targets, better):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2, 200))  # of the two kinds of bags
    y = np.where(scores[better] > 0, 1, 0) if targets == "labels" else 2 * scores[better]
    data = loss.data(y[None].astype(float), np.ones(200))
    orders = [RowOrder.of(np.arange(200), part, rng) for part in np.array_split(np.arange(200), 2)] * 2
    held = 3 * scores if targets == "labels" else 2 * scores - y  # less the targets
    bags = [Bag([], [], {}, {}, np.ascontiguousarray(held[kind : kind + 1, order.rows[order.n_train :]], np.float32))
            for kind, order in zip((0, 0, 1, 1), orders, strict=True)]
    found, shares = mix_bags(bags, orders, np.ones(200), data, 2)
    np.testing.assert_array_equal(found.rows, np.arange(200))
    np.testing.assert_allclose(found.unseen, found.scores, atol=1e-6)
    others = [bag._replace(unseen_scores=bag.validation_scores + np.float32(k < 2)) for k, bag in enumerate(bags)]
    again, _ = mix_bags(others, orders, np.ones(200), data, 2)
    np.testing.assert_array_equal(again.scores, found.scores)
    np.testing.assert_allclose(again.unseen, found.unseen + 2 * shares[0], atol=1e-6)
    assert shares.sum() == pytest.approx(1)
    assert shares[2] == shares[3]
    assert 2 * shares[2] == pytest.approx(better, abs=0.1)
    np.testing.assert_allclose(found.scores, 2 * shares[0] * held[:1] + 2 * shares[2] * held[1:], atol=1e-5)


@pytest.mark.parametrize(("sizes", "least_weights", "tolerance"), [
    ((0.01, 1), (1, 1), 0.02),  # of residuals
    ((1, 1), (1e-30, 1e-60), 0.01)])  # the last is 0 in single precision
def test_the_share_of_bags_of_trees_does_not_depend_on_a_unit(sizes, least_weights, tolerance):
    shares = []
    for size, least in zip(sizes, least_weights, strict=True):
        rng = np.random.default_rng(0)
        residuals = size * rng.standard_normal((2, 60))
        data = Loss(LOSSES["squared_error"]).data(rng.standard_normal((1, 60)), np.ones(60))
        orders = [RowOrder.of(np.arange(60), part, rng) for part in np.array_split(np.arange(60), 2)] * 2
        bags = [Bag([], [], {}, {}, np.float32(residuals[kind : kind + 1, order.rows[order.n_train :]]))
                for kind, order in zip((0, 0, 1, 1), orders, strict=True)]
        shares.append(mix_bags(bags, orders, np.r_[least, np.ones(59)], data, 2)[1])
    np.testing.assert_allclose(*shares, atol=tolerance)
    assert ((2 * np.array(shares) > 0.2) & (2 * np.array(shares) < 0.8)).all()


def test_factors_have_bounds():
    scores = np.random.default_rng(2).standard_normal((1, N))
    right, wrong = (scores[0] > 0).astype(int), (scores[0] < 0).astype(int)
    assert found_factor(class_loss(2), scores, right) == pytest.approx(2, rel=1e-3)
    assert found_factor(class_loss(2), scores, wrong) == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize(("n_training_rows", "middle"), [(10, 0.2), (20, 0.5), (60, 0.9), (10_000, 1.0)])
def test_few_rows_say_little(n_training_rows, middle):
    """The factor is near one that depends on the number of rows that bags learn from."""
    scores = np.random.default_rng(2).standard_normal((1, 6)).astype(np.float32)
    codes, loss = (scores[0] > 0).astype(np.float32), class_loss(2)
    factor = inverse_temperature(loss.data(codes[None], np.ones(6)), scores, codes, np.ones(6), n_training_rows)
    assert middle < factor < middle + 0.3


def test_probabilities_of_noise_are_near_the_shares_of_classes():
    """Of 12 rows the log loss was .93, which is that of a probability of .39 for what is as likely as not."""
    losses = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((412, 4)), rng.random(412) < 0.5
        probabilities = FourierBoostingClassifier(random_state=0, n_jobs=1).fit(X[:12], y[:12]).predict_proba(X[12:])
        losses.append(-np.log(probabilities[np.arange(400), y[12:].astype(int)]).mean())
    assert np.mean(losses) < 0.78


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_weights_has_no_influence(unit):
    scores, codes = drawn(1, 0.7, 300)
    weights = np.random.default_rng(3).uniform(0, 1, 300)
    assert found_factor(class_loss(2), scores, codes, unit * weights) == pytest.approx(
        found_factor(class_loss(2), scores, codes, weights), rel=1e-4)


def test_rows_of_weight_zero_have_no_influence():
    scores, codes = drawn(1, 0.7, 300)
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    before = found_factor(class_loss(2), scores, codes, weights)
    scores[:, ::3] = -50
    assert found_factor(class_loss(2), scores, codes, weights) == before


def test_other_losses_have_none():
    assert found_factor(Loss(LOSSES["poisson"], (1.0,)), np.ones((1, 300)), np.arange(300) % 5) == 1


def test_rows_that_several_members_hold_out_count_once_with_their_mean():
    scores, codes = drawn(1, 1.0, 2000)
    rng = np.random.default_rng(0)
    orders = [RowOrder.of(np.arange(0), np.arange(2000), rng)] * 2
    held = np.zeros((2, 1, 2048), np.float32)
    held[:, 0, :2000] = 3 * scores[0], -scores[0]
    members = [Bag([], [], {}, {}, each) for each in held]
    problem = class_loss(2).data(codes[None], np.ones(2000))
    once = Bag([], [], {}, {}, held.mean(axis=0))
    assert temperature_of(members, orders, problem, np.ones(2000)) == pytest.approx(
        temperature_of([once], orders[:1], problem, np.ones(2000)), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_other_factor_is_likelier_on_rows_that_all_members_hold_out(n_classes):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (1500, 2))
    y = (X[:, 0] * X[:, 1] > 0) + (n_classes - 2) * (X[:, 0] > 0.5)
    y = np.where(rng.random(1500) < 0.3, rng.integers(0, n_classes, 1500), y)
    model = FourierBoostingClassifier(random_state=0, n_bags=3, n_jobs=1)
    model.fit(X[:500], y[:500], eval_set=(X[500:], y[500:]))
    scores = model.decision_function(X[500:])
    scores = np.column_stack([0 * scores, scores]) if n_classes == 2 else scores

    def loss(factor):
        return np.mean(np.logaddexp.reduce(factor * scores, axis=1) - factor * scores[np.arange(1000), y[500:]])

    assert loss(1.0) < min(loss(0.9), loss(1.1))


def test_shifts_of_quantiles():
    """Of residuals of rows that count; scores in training are less the target."""
    rng = np.random.default_rng(0)
    residuals = rng.standard_normal(500)
    weights = np.where(np.arange(500) % 5 == 0, 0.0, 2.0)
    residuals[weights == 0] = 1e6
    parts = np.array_split(np.arange(500), 2)
    orders = [RowOrder.of(parts[1 - k], parts[k], rng) for k in range(2)]
    members = [Bag([], [], {}, {}, np.tile(np.float32(-residuals[order.rows[order.n_train :]]), (2, 1)))
               for order in orders]
    problem = Loss(LOSSES["quantile"], (0.1, 0.6)).data(np.zeros((1, 500)), weights)
    found = shifts_of(members, orders, problem, weights)
    shares = [np.mean(residuals[weights > 0] <= shift + 1e-6) for shift in found]
    np.testing.assert_allclose(shares, [0.1, 0.6], atol=1 / 400)
    squared = Loss(LOSSES["squared_error"]).data(np.zeros((2, 500)), weights)
    assert not shifts_of(members, orders, squared, weights).any()


def test_the_share_of_held_out_rows_below_a_quantile():
    """Exactly, where all members hold out the same rows: quantiles are those of the model."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (500, 2))
    y = X[:, 0] + rng.standard_normal(500)
    model = FourierBoostingRegressor(100, loss="quantile", quantile=(0.2, 0.8), random_state=0, n_bags=3)
    model.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    below = (y[300:, None] <= model.predict_quantiles(X[300:]) + 1e-5).mean(axis=0)
    np.testing.assert_allclose(below, [0.2, 0.8], atol=0.01)


@pytest.mark.slow
def test_few_rows_do_not_flatter():
    """What a model says of rows that its bags hold out is what is true of new ones, though these choose the rounds."""
    excess, covered = [], []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1040, 6))
        y = X[:, 0] + X[:, 1] + rng.standard_normal(1040)
        model = FourierBoostingRegressor(random_state=0).fit(X[:40], y[:40])
        low, high = model.predict_interval(X[40:], 0.8).T
        covered.append(np.mean((low <= y[40:]) & (y[40:] <= high)))
        labels = y > 0
        model = FourierBoostingClassifier(random_state=0).fit(X[:40], labels[:40])
        losses = -np.log(model.predict_proba(X[40:])[np.arange(1000), labels[40:].astype(int)])
        excess.append(losses.mean() - vars(model)["_out_of_fold"]["figures"]["log_loss"])
    assert np.mean(excess) == pytest.approx(0, abs=0.06)  # 0.18 after the rounds that the rows have chosen themselves
    assert 0.78 < np.mean(covered) < 0.88  # 0.76


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_with_intercept_shifts_the_mean_probability_of_a_class_is_its_share_of_the_rows(n_outputs):
    rng = np.random.default_rng(4)
    loss, codes = class_loss(max(2, n_outputs)), rng.choice(max(2, n_outputs), N, p=[0.9, 0.1] if n_outputs == 1 else [
        0.7, 0.2, 0.1])
    weights, scores = rng.uniform(0, 2, N), rng.standard_normal((n_outputs, N))
    data, rows = loss.data(codes[None], weights), np.arange(N)
    moved = scores + intercept_shifts(data, scores, rows, weights)[:, None]
    probabilities = softmax(moved)
    shares = np.bincount(codes, weights) / weights.sum()
    np.testing.assert_allclose(np.average(probabilities, axis=1, weights=weights), shares, atol=1e-3)


def softmax(scores):
    odds = np.exp(scores if len(scores) > 1 else np.concatenate([np.zeros_like(scores), scores]))
    return odds / odds.sum(axis=0)


def test_with_intercept_shifts_of_a_log_link_the_mean_prediction_is_that_of_the_targets():
    rng = np.random.default_rng(5)
    y, weights, scores = rng.poisson(2.0, N) / 2.0, rng.uniform(0, 2, N), rng.standard_normal((1, N)) - 1
    data = Loss(LOSSES["poisson"]).data(y[None], weights)
    shift = intercept_shifts(data, scores, np.arange(N), weights)
    assert np.average(np.exp(scores[0] + shift), weights=weights) == pytest.approx(
        np.average(y, weights=weights), rel=1e-3)


@pytest.mark.parametrize(("loss", "y", "scores"), [
    (class_loss(2), [0, 0, 1], [-1.0, -1.0, -2.0]), (class_loss(3), [0, 1, 2], [[1.0] * 3, [0.0] * 3, [-2.0] * 3]),
    (Loss(LOSSES["poisson"]), [0.0, 0.0, 3.0], [0.0, 0.0, -700.0]), (Loss(LOSSES["poisson"]), [0.0] * 3, [0.0] * 3),
    (Loss(LOSSES["poisson"]), [1.0] * 3, [-800.0] * 3), (Loss(LOSSES["poisson"]), [1.0] * 3, [800.0] * 3)])
def test_intercept_shifts_are_finite_and_do_not_depend_on_the_unit_of_weights(loss, y, scores):
    data, rows = loss.data(np.array([y]), np.ones(3)), np.arange(3)
    scores = np.atleast_2d(np.array(scores))
    shifts = [intercept_shifts(data, scores, rows, np.full(3, unit)) for unit in (1.0, 1e-30)]
    assert np.isfinite(shifts).all()
    np.testing.assert_allclose(*shifts, rtol=1e-6, atol=1e-9)
    assert not intercept_shifts(data, scores[:, :0], rows[:0], np.empty(0)).any()


def test_values_and_quantiles_have_no_intercept_shifts():
    for loss in (Loss(LOSSES["squared_error"]), Loss(LOSSES["quantile"], (0.5,))):
        data = loss.data(np.arange(5.0)[None], np.ones(5))
        assert not intercept_shifts(data, np.ones((1, 5)), np.arange(5), np.ones(5)).any()


def test_rare_classes_and_large_targets_are_not_predicted_too_low():
    """Without shifts these means are .73 and .81 of what they should be."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((300, 5))
    score = 2 * X[:, 0] + 1.5 * np.sin(2 * X[:, 1])
    labels = rng.random(300) < 1 / (1 + np.exp(5.2 - score))
    p = FourierBoostingClassifier(random_state=0).fit(X, labels).predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(labels.mean(), rel=0.15)
    claims = rng.gamma(1.0, 1.0, 300) * rng.poisson(0.4 * np.exp(0.5 * score))
    model = FourierBoostingRegressor(loss="tweedie", random_state=0).fit(X, claims)
    assert model.predict(X).mean() == pytest.approx(claims.mean(), rel=0.06)


def test_an_evaluation_set_and_the_last_rows_shift_nothing(monkeypatch):
    """Else `class_weight` would have no effect beside a set, and a trend would count twice."""
    def unexpected(*_):
        raise AssertionError

    monkeypatch.setattr("rffkern._training.fourier_boosting.fit.intercept_shifts", unexpected)
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((120, 2)), rng.random(120) < 0.2
    FourierBoostingClassifier(3, random_state=0).fit(X[:80], y[:80], eval_set=(X[80:], y[80:]))
    FourierBoostingClassifier(3, random_state=0, validation="last").fit(X, y)
    with pytest.raises(AssertionError):
        FourierBoostingClassifier(3, random_state=0).fit(X, y)
