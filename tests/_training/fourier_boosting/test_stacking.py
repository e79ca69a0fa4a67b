"""Kernel ridge regression stacked on the terms: when it is there, what it is, and what the sum says."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.model_files import assert_refused

from rffkern import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    InvalidInputError,
    KernelRidgeClassifier,
    dumps,
    loads,
)
from rffkern._files.archive import decode, encode
from rffkern._training.fourier_boosting import parameters, stacking
from rffkern._training.fourier_boosting.kernel_trial import KernelTrial
from rffkern._training.fourier_boosting.losses import class_loss
from rffkern._training.fourier_boosting.parameters import (
    LOG_LINKS,
    LOSSES,
    KernelRidgeReport,
    Reason,
    check_report_numbers,
    report_numbers,
)
from rffkern._training.fourier_boosting.stacking import StackedRegression, stack_classes, stack_values
from rffkern._training.kernel_ridge.calibration import log_losses
from rffkern._training.kernel_ridge.fit import RegionLearner

SHORT = {"n_estimators": 30, "n_bags": 3, "random_state": 0}


def checkers(n, seed=0, n_noise=1):
    """A board of many fields, with columns of noise: local structure, which kernels are made for."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 2 + n_noise))
    return X, ((np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 1).astype(int)


X, Y = checkers(500)
VALUES = np.sin(3 * X[:, 0]) * np.cos(3 * X[:, 1])
TASKS = {"two classes": (FourierBoostingClassifier, Y), "classes": (FourierBoostingClassifier, Y + (X[:, 0] > 2)),
         "values": (FourierBoostingRegressor, VALUES),
         "targets": (FourierBoostingRegressor, np.c_[VALUES, 5 + X[:, 1]])}


def scores(model, rows):
    return getattr(model, "decision_function", model.predict)(rows)


@pytest.fixture(params=TASKS, scope="module")
def trained(request):
    family, y = TASKS[request.param]
    return family(**SHORT, kernel_ridge=True).fit(X, y)


def test_it_is_added_where_it_gains():
    for kernel in ("auto", True):
        model = FourierBoostingClassifier(**SHORT, kernel_ridge=kernel).fit(X, Y)
        assert model.expansion_.kernels is not None
        assert model.kernel_ridge_report_.loss_without - model.kernel_ridge_report_.loss_with > 0.05
        assert model.kernel_ridge_report_.kept
        assert f"{model.kernel_ridge_report_.loss_without:.6g} without it" in model.kernel_ridge_report_.reason
    rows, labels = checkers(1000, 1)
    alone = FourierBoostingClassifier(**SHORT, kernel_ridge=False).fit(X, Y)
    before, after = (-each.predict_log_proba(rows)[np.arange(1000), labels].mean() for each in (alone, model))
    assert after < before - 0.03


def test_it_is_left_out_where_it_gains_little(capfd):
    y = (X[:, 0] + 5 * np.random.default_rng(0).standard_normal(500) > 2).astype(int)
    model = FourierBoostingClassifier(**SHORT, kernel_ridge="auto", verbose=1000).fit(X, y)
    alone = FourierBoostingClassifier(**SHORT, kernel_ridge=False).fit(X, y)
    assert not model.kernel_ridge_report_.kept
    assert f"kernel ridge {model.kernel_ridge_report_.reason}" in capfd.readouterr().err
    for name, array in alone.expansion_.arrays().items():
        np.testing.assert_array_equal(model.expansion_.arrays()[name], array)
    assert alone.kernel_ridge_report_ == (False, "not used: kernel_ridge=False", None, None, None, None, None)


@pytest.mark.parametrize("loss", [name for name, facts in LOSSES.items() if not facts.allows_stacking])
def test_other_losses_have_none(loss):
    y = np.abs(VALUES) + 0.1 if loss in LOG_LINKS else VALUES
    model = FourierBoostingRegressor(**SHORT, loss=loss, kernel_ridge="auto").fit(X, y)
    assert model.expansion_.kernels is None
    assert "the loss is neither" in model.kernel_ridge_report_.reason
    with pytest.raises(InvalidInputError, match=f"kernel_ridge must be False or 'auto' for loss='{loss}', got True"):
        model.set_params(kernel_ridge=True).fit(X, y)


@pytest.mark.parametrize(("kernel", "n_rows", "n_columns", "reason"), [
    (False, 1000, 5, Reason.OFF), ("auto", 9, 5, Reason.FEW), ("auto", 10, 5, None), ("auto", 11_500, 5, None),
    ("auto", 11_501, 400, None), ("auto", 1_000_000, 5, None), ("auto", 1_000_001, 5, Reason.MANY),
    ("auto", 10_000, 300, Reason.MANY), (True, 50_000, 300, None),
    ("auto", 100, 400, None), ("auto", 100, 401, Reason.FEW), (True, 100, 401, None),
    (True, 9, 1, Reason.FEW), (True, 10, 1, None)])
def test_numbers_of_rows_that_it_is_tried_on(kernel, n_rows, n_columns, reason):
    model, columns = SimpleNamespace(kernel_ridge=kernel), SimpleNamespace(
        values=np.empty((n_columns, 0)), sparse=None, constraints=None)
    assert stacking.reason_not_to_stack(model, class_loss(2), columns, n_rows, was_stopped=False) is reason


@pytest.fixture
def small_regions(monkeypatch):
    """More than 200 rows are divided into regions of at most 100, so that 500 have 8 regions."""
    monkeypatch.setattr(stacking, "MOST_ROWS", 200)
    monkeypatch.setattr(stacking, "LARGEST_REGION", 100)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.usefixtures("small_regions")
def test_many_rows_are_divided_into_regions(task):
    family, y = TASKS[task]
    one, three = (family(**SHORT, kernel_ridge=True, n_jobs=n_threads).fit(X, y) for n_threads in (1, 3))
    assert dumps(one.expansion_) == dumps(three.expansion_)
    kernels = one.expansion_.kernels
    assert kernels.n_regions == 8
    assert np.diff(kernels.region_starts).min() > 30
    rows = one.column_map_.transform(X)
    regions = kernels.regions.of_rows(rows)
    assert np.bincount(regions, minlength=8).min() >= 0.2 * 500 / 8
    apart = np.empty((500, kernels.n_outputs))
    for i, (row, region) in enumerate(zip(rows, regions, strict=True)):
        own = slice(*kernels.region_starts[region : region + 2].astype(int))
        distances = np.sqrt((((row - kernels.centers[own]) * kernels.inverse_length_scales) ** 2).sum(axis=1))
        apart[i] = np.exp(-(distances**kernels.exponent) / kernels.exponent) @ kernels.weights[own]
    terms = one.expansion_.intercept + one.expansion_._only("fourier", "linear", "trees").score(rows)
    np.testing.assert_allclose(scores(one, X), np.squeeze(terms + apart), atol=1e-8)
    again = loads(dumps(one))
    np.testing.assert_array_equal(scores(again, X), scores(one, X))


@pytest.mark.usefixtures("small_regions")
def test_some_regions_say_whether_all_are_learned(monkeypatch):
    """Three of sixteen are enough to leave it out, where the trial on small regions has not done so."""
    rows, _ = checkers(1500)
    learned = []
    solve = RegionLearner.solve
    monkeypatch.setattr(RegionLearner, "solve", lambda learner: learned.append(1) or solve(learner))
    noisy = rows[:, 0] + 0.5 * np.random.default_rng(0).standard_normal(1500) > 2
    model = FourierBoostingClassifier(**SHORT).fit(rows, noisy)
    assert not learned
    with monkeypatch.context() as patch:
        patch.setattr(KernelTrial, "run", lambda trial, work: (None, True))
        model = FourierBoostingClassifier(**SHORT).fit(rows, noisy)
    assert not model.kernel_ridge_report_.kept
    assert model.expansion_.kernels is None
    assert len(learned) == 3
    learned.clear()
    model = FourierBoostingRegressor(**SHORT).fit(rows, np.sin(3 * rows[:, 0]) * np.cos(3 * rows[:, 1]))
    assert model.kernel_ridge_report_.kept
    assert len(learned) == 16


@pytest.mark.usefixtures("small_regions")
def test_regions_know_nothing_of_a_row_that_is_held_out(monkeypatch):
    """What is predicted of a row out of its fold does not change with its label, given the same choice."""
    given, learned = seen_regressions(monkeypatch)
    np.testing.assert_array_equal(learned.regressions.own, given.rows)
    row = int(np.flatnonzero(given.folds == 1)[0])
    before, after = out_of_fold_with_other_label(given, learned, row)
    assert abs(before[row] - after[row]) < 1e-6
    assert np.abs(before - after).max() > 0.05


def seen_regressions(monkeypatch):
    """The rows and regressions of a fit to two classes."""
    seen = []

    def remember(rows, *given):
        seen.append((rows, StackedRegression(rows, *given)))
        return seen[0][1]

    with monkeypatch.context() as patch:
        patch.setattr(stacking, "StackedRegression", remember)
        FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X, Y)
    return seen[0]


def out_of_fold_with_other_label(given, learned, row):
    """What is predicted of all rows, and what by regressions for which one row has the other label."""
    targets = given.targets.copy()
    targets[:, row] = -targets[:, row] - 2 * given.intercepts
    other = StackedRegression(given._replace(targets=targets), learned.shape, learned.choice)
    other.learn(range(other.n_regions))
    return learned.regressions.out_of_fold[0], other.regressions.out_of_fold[0]


@pytest.mark.usefixtures("small_regions")
def test_regions_of_weighted_rows_and_an_eval_set():
    weights = np.where(np.arange(500) < 60, 0.0, np.random.default_rng(0).uniform(0.5, 2, 500))
    rows, labels = checkers(300, 3)
    model = FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X, Y, sample_weight=weights, eval_set=(rows,
                                                                                                             labels))
    used = FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X[60:], Y[60:], sample_weight=weights[60:],
                                                              eval_set=(rows, labels))
    np.testing.assert_allclose(scores(model, rows), scores(used, rows), atol=1e-6)
    assert model.score(rows, labels) > 0.8


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("gains", [True, False])
def test_rows_of_an_eval_set_say_whether_regions_gain(gains):
    """They are in no fold, so that regions that are there score them."""
    rows, labels = checkers(300, 3)
    random = np.random.default_rng(0).integers(0, 2, 500)
    model = FourierBoostingClassifier(**SHORT).fit(X, Y if gains else random, eval_set=(rows, labels))
    assert model.kernel_ridge_report_.kept == gains
    assert model.kernel_ridge_report_.loss_without > 0.1  # of all these rows


@pytest.mark.usefixtures("small_regions")
def test_few_rows_of_an_eval_set_judge_all_regions():
    model = FourierBoostingRegressor(**SHORT).fit(X, VALUES, eval_set=(X[:3], VALUES[:3]))
    assert np.isfinite(model._kernel_ridge_report).all()
    assert model.kernel_ridge_report_.loss_without > 0


@pytest.mark.slow
@pytest.mark.usefixtures("small_regions")
def test_rows_that_no_threshold_divides_are_learned_from_in_part(monkeypatch):
    """Of 500 rows with one value each of a column nothing can be divided, and 200 are enough."""
    sizes = []
    solve = RegionLearner.solve
    monkeypatch.setattr(RegionLearner, "solve", lambda learner: sizes.append(solve(learner)) or sizes[-1])
    rows = np.c_[np.arange(500) % 50 == 0, np.zeros(500)]
    y = rows[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(500)
    model = FourierBoostingRegressor(**SHORT, kernel_ridge=True).fit(rows, y)
    assert [len(found.centers) for found in sizes] == [200]
    assert model.score(rows, y) > 0.5


def test_few_rows_do_without():
    model = FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X[:9], np.arange(9) % 2)
    assert model.kernel_ridge_report_.reason == (
        "not used: fewer than 10 rows, or more than 4 columns after mapping for each row")
    FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X[:10], np.arange(10) % 2).predict(X)


@pytest.mark.slow
def test_scores_are_those_of_the_parts(trained):
    e, kernels = trained.expansion_, trained.expansion_.kernels
    rows = trained.column_map_.transform(X[:40])
    lengths, p = kernels.inverse_length_scales, kernels.exponent
    apart = e.intercept + e._only("fourier", "linear", "trees").score(rows) + np.stack([
        np.exp(-(np.linalg.norm((row - kernels.centers) * lengths, axis=1) ** p) / p) @ kernels.weights
        for row in rows])
    np.testing.assert_allclose(scores(trained, X[:40]), np.squeeze(apart), atol=1e-9)
    assert len(trained.term_rounds_) == e.n_terms - kernels.n_terms


@pytest.mark.slow
def test_what_is_told_of_it_adds_up(trained):
    staged = getattr(trained, "staged_decision_function", None) or trained.staged_predict
    *_, last = staged(X)
    np.testing.assert_allclose(last, scores(trained, X), atol=1e-9)
    told = trained.explain(X[:30])
    np.testing.assert_allclose(told.base_values + told.values.sum(axis=1), scores(trained, X[:30]), atol=1e-9)
    changed = np.repeat(X[None, :, :], 2, axis=0)
    changed[0, :, 0], changed[1, :, 0] = X[3, 0], X[4, 0]
    curve = trained.partial_dependence(X, 0, n_points=500)
    for value, rows in zip(X[3:5, 0], changed, strict=True):
        told = curve.scores[curve.values == value][0]
        np.testing.assert_allclose(told, scores(trained, rows).mean(axis=0), atol=1e-9)
    strongest = trained.interactions(X)[0]
    assert {strongest.first, strongest.second} == {0, 1}


@pytest.mark.slow
def test_a_file_keeps_it(trained, tmp_path):
    again = loads(dumps(trained))
    np.testing.assert_array_equal(scores(again, X), scores(trained, X))
    assert again.kernel_ridge_report_ == trained.kernel_ridge_report_
    header, arrays = decode(dumps(trained))
    for wrong in ([0.0] * 6, [7.0, 1, 1, 1, 1, 1], [7.5, 1, 1, 1, 1, 1], [10.0, 1, 1, 1, 1, 1],
                  [8.0, -1, 1, 1, 1, 1], [8.0, 1, 1, 1, 1, -1], [8.0, 1, 1, 1, 1]):
        changed = {**arrays, "_kernel_ridge_report": np.array(wrong)}
        entries = [[name, list(array.shape)] for name, array in changed.items()]
        assert_refused(tmp_path / "bad", encode({**header, "arrays": entries}, changed))


def test_an_eval_set_holds_the_rows_that_decide():
    rows, labels = checkers(300, 5)
    model = FourierBoostingClassifier(**SHORT, kernel_ridge="auto").fit(X, Y, eval_set=(rows, labels))
    assert model.expansion_.kernels is not None
    loss = -model.predict_log_proba(rows)[np.arange(300), labels].mean()
    assert loss == pytest.approx(model.kernel_ridge_report_.loss_with, rel=1e-4)


@pytest.mark.slow
def test_more_rounds_have_the_bits_of_one_fit():
    model = FourierBoostingClassifier(**SHORT | {"n_estimators": 10}, kernel_ridge=True, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=30).fit(X, Y)
    once = FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X, Y)
    assert dumps(model.expansion_) == dumps(once.expansion_)


def test_a_callback_that_ends_the_fit_ends_it():
    model = FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X, Y, callback=lambda info: info.n_rounds == 3)
    assert model.kernel_ridge_report_.reason == "not used: the callback or max_seconds ended the fit"


@pytest.mark.slow
def test_predictions_out_of_fold_have_not_seen_the_row(monkeypatch):
    """Another label of a row changes what is predicted of it by no more than its part in the choices."""
    given, learned = seen_regressions(monkeypatch)
    assert given.n_folds == 3
    assert np.bincount(given.folds + 1).tolist() == [200, 100, 100, 100]  # five folds, three bags
    row = int(np.flatnonzero(given.folds == 1)[0])
    before, after = out_of_fold_with_other_label(given, learned, row)
    assert abs(before[row] - after[row]) < 1e-6
    neighbours = np.abs(before - after)[given.folds != 1]
    assert neighbours.max() > 0.05


def test_weights_are_those_of_the_lowest_loss():
    """Beside a grid, with the same prior."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    truth = np.eye(3)[codes].T
    margins, others = truth + rng.standard_normal((3, 300)), 2 * truth + rng.standard_normal((3, 300))
    weights = rng.uniform(0, 2, 300)

    def loss(w0, w1):
        losses = log_losses(w0 * margins + w1 * others, codes)[0]
        return weights @ losses + 25 * (w0 + w1 - 1) ** 2 + 0.5 * w1**2

    found = stack_classes(margins, others, codes, weights)
    grid = min(loss(a, b) for a in np.linspace(0, 2, 81) for b in np.linspace(0, 2, 81))
    assert loss(*found) <= grid
    assert stack_classes(margins, -others, codes, weights) == (1.0, 0.0)
    assert stack_classes(-margins, others, codes, weights)[0] == 0


def test_the_stack_of_classes_is_no_worse_than_calibrated_bags():
    """Of the rows that its weights are fitted on, where scores of bags are far from calibrated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    y = np.abs(X[:, 0]) + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 0] + 0.1 * rng.standard_normal(600)
    report = FourierBoostingClassifier(random_state=1, n_jobs=1).fit(X, y > np.median(y)).kernel_ridge_report_
    assert report.loss_with <= report.loss_without


def test_the_share_of_values_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    y, weights = rng.standard_normal((2, 200)), rng.uniform(0, 2, 200)
    ours, others = y + rng.standard_normal((2, 200)), y + 0.5 * rng.standard_normal((2, 200))
    shares = stack_values(ours - y, others - ours, weights)
    for k, share in enumerate(shares):
        grid = np.linspace(0, 1, 1001)
        losses = [weights @ (ours[k] + w * (others[k] - ours[k]) - y[k]) ** 2 for w in grid]
        assert share == pytest.approx(grid[np.argmin(losses)], abs=1e-3)


@pytest.mark.slow
def test_kernel_alone_is_within_reach_of_many_classes():
    """The prior is in units of scores: it must not hold kernel ridge down where nearly all rows are right."""
    log_ratios = []  # of one draw either loss may be lower
    for seed in range(3, 6):
        rng = np.random.default_rng(seed)
        centers = rng.standard_normal((8, 6))
        labels = rng.integers(0, 8, 900)
        rows = centers[labels] + 0.25 * rng.standard_normal((900, 6))
        rows[:, 0] = np.abs(rows[:, 0])
        train, test = slice(0, 600), slice(600, 900)
        stacked = FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(rows[train], labels[train])
        alone = KernelRidgeClassifier(random_state=0).fit(rows[train], labels[train])
        loss, of_kernels = (-np.log(model.predict_proba(rows[test])[np.arange(300), labels[test]]).mean()
                            for model in (stacked, alone))
        log_ratios.append(np.log(loss / of_kernels))
    assert np.mean(log_ratios) < 0


def test_numbers_of_a_choice_are_told_in_words():
    numbers = report_numbers(Reason.LITTLE, 0.5, 0.49, 1.0, 0.1, 1234)
    reason = KernelRidgeReport.of_numbers(numbers).reason
    assert reason.startswith("not used: validation loss of 1,234 rows 0.5 without it, 0.49 with it")
    check_report_numbers(numbers, False)
    used = KernelRidgeReport.of_numbers(report_numbers(Reason.GAINS, 0.5, 0.4, 4.0, 0.1, 99))
    assert (used.kept, *used[2:]) == (True, 0.5, 0.4, 0.5, 0.1, 99)
    with pytest.raises(ValueError, match="malformed"):
        check_report_numbers(np.empty(0), False)
    assert set(parameters._SENTENCES) == set(Reason)


@pytest.mark.slow
def test_systems_are_solved_further_than_the_errors_that_are_left(monkeypatch):
    """Where a function has hardly any noise, a residual of 0.01 would be most of the error."""
    made = []

    class Watched(stacking.StackedRegression):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(stacking, "StackedRegression", Watched)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (1200, 4))
    y = np.exp(-(rows**2).sum(axis=1)) + rows[:, 0] * rows[:, 1] * rows[:, 2]
    for noise in (0, 1):
        FourierBoostingRegressor(**SHORT, kernel_ridge=True).fit(rows, y + noise * rng.standard_normal(1200))
    error, of_noise = (math.sqrt(each.choice.loss) for each in made)
    assert error < 0.05 < 0.1 < of_noise
    assert made[0].regressions.residual <= 0.1 * error
    assert made[1]._learner.solver.tol == 0.01
