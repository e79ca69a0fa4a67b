"""Metrics against scikit-learn, and their standard errors against derivatives, formulas and resampling."""

import numpy as np
import pytest

from rffkern._estimator.evaluation import Evaluation, Predictions
from rffkern._estimator.metrics import (
    Metric,
    class_shares,
    classification_metrics,
    confusion,
    figures,
    quantile_metrics,
    regression_metrics,
    reliability,
)

N = 300


def classes(rng, n_classes, n_rows=N):
    """Class indices and probabilities with ties."""
    codes = rng.integers(0, n_classes, n_rows)
    scores = rng.standard_normal((n_rows, n_classes))
    scores[np.arange(n_rows), codes] += 1
    proba = np.exp(scores.round(1))
    return codes, proba / proba.sum(axis=1, keepdims=True)


def numbers(rng):
    targets = 10 * rng.standard_normal(N) + 3
    return targets, targets + rng.standard_normal(N) * (1 + np.abs(targets))


def some_weights(rng, kind):
    return {"none": None, "counts": rng.integers(1, 4, N).astype(float)}[kind]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["none", "counts"])
def test_classes_against_scikit_learn(rng, n_classes, kind):
    metrics = pytest.importorskip("sklearn.metrics")
    (codes, proba), weights = classes(rng, n_classes), some_weights(rng, kind)
    found = {name: each.value for name, each in classification_metrics(codes, proba, weights).items()}
    positive, with_weights = proba[:, 1] if n_classes == 2 else proba, {"sample_weight": weights}
    one_hot = codes if n_classes == 2 else np.eye(n_classes)[codes]
    assert found.pop("calibration_error") > 0
    assert found == pytest.approx({
        "accuracy": metrics.accuracy_score(codes, proba.argmax(axis=1), **with_weights),
        "balanced_accuracy": metrics.balanced_accuracy_score(codes, proba.argmax(axis=1), **with_weights),
        "log_loss": metrics.log_loss(codes, proba, **with_weights),
        "brier": np.average(((proba - np.eye(n_classes)[codes]) ** 2).sum(axis=1) / (2 if n_classes == 2 else 1),
                            weights=weights),
        "roc_auc": metrics.roc_auc_score(codes, positive, multi_class="ovr", **with_weights),
        "average_precision": metrics.average_precision_score(one_hot, positive, **with_weights)})
    counts = metrics.confusion_matrix(codes, proba.argmax(axis=1), **with_weights)
    np.testing.assert_allclose(confusion(codes, proba, weights), [*counts, np.zeros(n_classes)])


@pytest.mark.parametrize("kind", ["none", "counts"])
def test_numbers_against_scikit_learn(rng, kind):
    metrics = pytest.importorskip("sklearn.metrics")
    (targets, predictions), weights = numbers(rng), some_weights(rng, kind)
    found = {name: each.value for name, each in regression_metrics(targets, predictions, weights).items()}
    with_weights = {"sample_weight": weights}
    assert found == pytest.approx({
        "r2": metrics.r2_score(targets, predictions, **with_weights),
        "mae": metrics.mean_absolute_error(targets, predictions, **with_weights),
        "rmse": metrics.mean_squared_error(targets, predictions, **with_weights) ** 0.5})
    quantiles = quantile_metrics(targets, np.column_stack([predictions - 2, predictions + 2]), (0.1, 0.9), weights)
    expected = np.mean([metrics.mean_pinball_loss(targets, predictions + d, alpha=q, **with_weights)
                        for d, q in ((-2, 0.1), (2, 0.9))])
    assert quantiles["pinball"].value == pytest.approx(expected)
    assert quantiles["below_0.9"].value == pytest.approx(np.average(targets <= predictions + 2, weights=weights))


@pytest.mark.parametrize("kind", ["none", "counts"])
def test_the_influence_is_the_derivative_along_the_weight_of_a_row(rng, kind):
    weights = some_weights(rng, kind)
    base = np.ones(N) if weights is None else weights
    (codes, proba), (targets, predictions) = classes(rng, 3), numbers(rng)
    for function in (lambda w: classification_metrics(codes, proba, w),
                     lambda w: classification_metrics(codes % 2, proba[:, :2] / proba[:, :2].sum(axis=1)[:, None], w),
                     lambda w: regression_metrics(targets, predictions, w),
                     lambda w: quantile_metrics(targets, predictions[:, None], (0.5,), w)):
        found = function(base)
        for name in found.keys() - {"calibration_error"}:  # whose bins move
            mean = np.average(found[name].influence, weights=base)
            assert abs(mean) < 1e-9 * abs(found[name].value)
            for row in (0, 7, 200):
                step = 1e-6 * base.sum()
                raised = base + step * (np.arange(N) == row)
                derivative = (function(raised)[name].value - found[name].value) / 1e-6
                assert derivative == pytest.approx(found[name].influence[row], rel=1e-3, abs=1e-4 * (1 + abs(
                    found[name].value)))


def test_standard_errors_are_those_of_resampling(rng):
    """All within a fifth of the deviation over 400 bootstrap samples, calibration error and AUC included."""
    codes, proba = classes(rng, 2)
    targets, predictions = numbers(rng)
    draws = rng.integers(0, N, (400, N))
    for metrics in (lambda rows: classification_metrics(codes[rows], proba[rows]),
                    lambda rows: regression_metrics(targets[rows], predictions[rows])):
        found, resampled = metrics(np.arange(N)), [metrics(rows) for rows in draws]
        for name, each in found.items():
            deviation = np.std([one[name].value for one in resampled])
            room = 0.35 if name == "calibration_error" else 0.2  # its bins are taken as fixed
            assert each.standard_error == pytest.approx(deviation, rel=room), name


def test_the_difference_of_two_models_knows_that_they_err_on_the_same_rows(rng):
    targets, predictions = numbers(rng)
    one = regression_metrics(targets, predictions)["mae"]
    other = regression_metrics(targets, predictions + 0.01)["mae"]
    assert other.less(one).standard_error < 0.02 * one.standard_error
    mean = Metric(0.0, targets - targets.mean(), np.ones(N))
    assert mean.standard_error == pytest.approx(targets.std(ddof=1) / np.sqrt(N))


def test_copies_in_groups_say_no_more_than_single_rows(rng):
    """Standard errors of groups of equal rows are those of one row of each, and of groups of one row those of rows."""
    codes, proba = classes(rng, 3)
    groups = rng.permutation(N).astype(str)
    alone = Evaluation.of(Predictions(codes, proba, None, np.arange(3))).figures()
    rows = np.repeat(np.arange(N), 4)[rng.permutation(4 * N)]
    found = Evaluation.of(Predictions(codes[rows], proba[rows], None, np.arange(3), groups=groups[rows])).figures()
    assert (found["rows"], alone["rows"]) == (4 * N, N)
    single = Evaluation.of(Predictions(codes, proba, None, np.arange(3), groups=groups)).figures()
    for kind in ("standard_errors", "difference_errors"):
        assert single[kind] == pytest.approx(alone[kind])
        for name in {*alone[kind]} - {"calibration_error"}:  # whose bins divide ties differently
            assert found[kind][name] == pytest.approx(alone[kind][name], rel=1e-9), name


def test_what_is_equal_within_groups_is_rarely_called_better_than_a_guess(rng):
    """Predictions that know nothing, of 20 groups of 20 rows with the same label and the same probability."""
    n_better = 0
    for _ in range(100):
        codes, p, groups = (np.repeat(each, 20) for each in (
            rng.integers(0, 2, 20), 1 / (1 + np.exp(-rng.standard_normal(20))), np.arange(20)))
        found = Evaluation.of(Predictions(codes, np.column_stack([1 - p, p]), None, np.arange(2), groups=groups))
        n_better += "do not show" not in found.sentence("rows")
    assert n_better <= 3  # 12 if rows counted as independent


def test_one_row_or_group_does_not_show_that_a_model_is_better():
    for n_rows in (1, 5):
        found = Evaluation.of(Predictions(np.zeros(n_rows, dtype=int), np.tile([0.9, 0.1], (n_rows, 1)), None,
                                          np.arange(2), groups=np.zeros(n_rows)))
        assert found.figures()["standard_errors"] == {}
        assert "do not show" in found.sentence("rows")
        numbers = Predictions(np.arange(n_rows) + 1.0, np.arange(n_rows) + 1.1, None, groups=np.zeros(n_rows))
        assert "do not show" in Evaluation.of(numbers).sentence("rows")


def test_reliability_bins_have_equal_numbers_of_rows(rng):
    codes, proba = classes(rng, 2, 1000)
    bins = reliability(codes, proba)
    assert sum(each["rows"] for each in bins) == 1000
    assert len(bins) == 10
    assert np.all(np.diff([each["probability"] for each in bins]) > 0)
    n_rows = [each["rows"] for each in bins]
    assert np.average([each["share"] for each in bins], weights=n_rows) == pytest.approx(codes.mean())
    error = np.average([abs(each["share"] - each["probability"]) for each in bins], weights=n_rows)
    assert classification_metrics(codes, proba)["calibration_error"].value == pytest.approx(error)
    equal = np.full((50, 2), 0.5)
    assert len(reliability(np.arange(50) % 2, equal)) == 1
    assert classification_metrics(np.arange(50) % 2, equal)["calibration_error"].value == 0


def test_constants(rng):
    codes = rng.integers(0, 3, N)
    codes[codes == 2] = 0
    labelled = Predictions(codes, np.eye(3)[codes], None, np.arange(3))
    assert labelled.guess() == 0
    found = labelled.constant()
    assert found["accuracy"].value == np.mean(codes == 0)
    assert found["calibration_error"].value == 0
    assert found["roc_auc"].value == 0.5
    targets, _ = numbers(rng)
    median = np.sort(targets)[N // 2 - 1]
    constants = Predictions(targets, targets, None).constant()
    assert {name: each.value for name, each in constants.items()} == pytest.approx({
        "r2": 0, "mae": np.abs(targets - median).mean(), "rmse": targets.std()}, abs=1e-12)
    quantile = Predictions(targets, targets[:, None], None, None, (0.25,))
    assert quantile.constant()["below_0.25"].value == 0.25


def test_edges():
    """One row, one class, labels not known, constant targets, several targets, extreme scales, weights of 0."""
    one = classification_metrics(np.array([1]), np.array([[0.2, 0.8]]))
    assert one["accuracy"] == (1.0, 0.0, 1.0, None)
    assert one["accuracy"].standard_error is None
    assert not {"roc_auc", "average_precision"} & {*one}
    assert "standard_errors" in figures(one, one)
    unknown = classification_metrics(np.array([-1, 0, 1]), np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]]))
    assert unknown["accuracy"].value == pytest.approx(2 / 3)
    assert confusion(np.array([-1]), np.array([[0.9, 0.1]])).tolist() == [[0, 0], [0, 0], [1, 0]]
    assert class_shares(np.array([-1]), 2).tolist() == [0.5, 0.5]
    constant = regression_metrics(np.ones(3), np.ones(3))
    assert (constant["r2"].value, constant["rmse"].value, constant["rmse"].standard_error) == (1, 0, 0)
    assert regression_metrics(np.ones(3), np.zeros(3))["r2"].value == 0
    assert {*regression_metrics(np.ones(1), np.zeros(1))} == {"mae", "rmse"}
    targets = np.array([[1.0, 10], [2, 20], [4, 30]])
    several = regression_metrics(targets, targets + np.array([1, 2]))
    assert (several["mae"].value, several["rmse"].value) == (1.5, 1.5)
    for unit in (1e-200, 1e200):
        scaled = regression_metrics(unit * targets, unit * (targets + np.array([1, 2])))
        assert scaled["r2"].value == pytest.approx(several["r2"].value)
        assert scaled["rmse"].value == pytest.approx(1.5 * unit)
        assert scaled["rmse"].standard_error < 1e-9 * unit
    some = regression_metrics(targets[:, 0], np.array([1.0, 2, 0]), np.array([1.0, 1, 0]))
    assert (some["mae"].value, some["mae"].standard_error, figures(some, some)["rows"]) == (0, 0, 2)
