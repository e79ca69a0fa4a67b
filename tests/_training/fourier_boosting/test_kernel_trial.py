"""The trial of kernel ridge regression on small regions: what it finds, when it ends, and what it may cost."""

import itertools

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._training.fourier_boosting import kernel_trial, stacking
from rffkern._training.fourier_boosting.kernel_trial import Gain, KernelTrial
from rffkern._training.kernel_ridge.fit import RegionLearner

pytestmark = pytest.mark.slow

SHORT = {"n_estimators": 20, "n_bags": 3, "columns": None, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 8, (2000, 2))
BOARD = ((np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 1).astype(int)
NOISE = RNG.integers(0, 2, 2000)


@pytest.fixture
def trials(monkeypatch):
    """All trials that are run, with the work of the bags, and what comes of them."""
    seen = []
    run = KernelTrial.run

    def remember(trial, work):
        seen.append((trial, work, *run(trial, work)))
        return seen[-1][2:]

    monkeypatch.setattr(KernelTrial, "run", remember)
    return seen


def gains_of(trial, work):
    """The gains that a trial measures with so much work of bags."""
    measured, again = [], KernelTrial(trial._rows, trial._out_of_fold, trial._gain_of)
    expected = again._expected
    again._expected = lambda gain, *others: measured.append(gain) or expected(gain, *others)
    again.run(work)
    return measured


def test_a_board_that_few_rows_of_all_do_not_show_is_found(trials):
    model = FourierBoostingClassifier(**SHORT).fit(X, BOARD)
    assert trials[0][3]
    assert model.kernel_ridge_report_.kept
    assert model.kernel_ridge_report_.n_rows == 1200  # three bags of five folds


def test_of_noise_the_smallest_regions_are_enough(trials, monkeypatch):
    monkeypatch.setattr(stacking, "StackedRegression", None)
    model = FourierBoostingClassifier(**SHORT).fit(X, NOISE)
    trial, _, gain, is_promising = trials[0]
    assert not is_promising
    assert not gain.is_enough()
    assert model.kernel_ridge_report_.n_rows == gain.n_rows <= 8 * 256
    assert model.kernel_ridge_report_.reason.startswith(f"not used: validation loss of {gain.n_rows:,} rows ")
    assert len(gains_of(trial, 1e20)) == 1  # also where bags took long


def test_larger_regions_follow_as_long_as_they_are_open_and_affordable(trials, monkeypatch):
    FourierBoostingClassifier(**SHORT).fit(X, NOISE)
    trial = trials[0][0]
    open_gain = Gain(100, 1.0, 0.997, 0.00701)  # what is needed, with a standard error
    trial._gain_of = lambda *_: open_gain
    assert [len(gains_of(trial, work)) for work in (1.0, 1e20)] == [1, 3]
    sizes = []
    regions = kernel_trial._Regions
    monkeypatch.setattr(kernel_trial, "_Regions", lambda *given: sizes.append(regions(*given)) or sizes[-1])
    first, second = (regions(trial._rows, trial._divisions[size], size) for size in (256, 512))
    both = first.cost(kernel_trial._FIRST_CHOICES) + second.cost(kernel_trial._MORE_CHOICES)
    assert [len(gains_of(trial, both / 0.2 * factor)) for factor in (0.99, 1.01)] == [1, 2]
    trial._gain_of = lambda *_: Gain(100, 1.0, 0.96, 0.1)  # may be more than twice what is needed
    assert [len(gains_of(trial, both / 0.2 * factor)) for factor in (0.3, 0.5)] == [1, 2]
    trial._gain_of = lambda *_: Gain(100, 1.0, 0.9, 0.01)
    assert len(gains_of(trial, 1e20)) == 1  # it is clear


def test_larger_regions_come_before_all_rows_where_these_cost_far_more(trials, monkeypatch):
    FourierBoostingClassifier(**SHORT).fit(X, NOISE)
    trial = trials[0][0]
    trial._gain_of = lambda *_: Gain(100, 1.0, 0.988, 0.015)  # enough of all rows, if not of these
    assert len(gains_of(trial, 1.0)) == 1
    monkeypatch.setattr(kernel_trial, "_OF_PAIR", 1e5)
    assert len(gains_of(trial, 1.0)) == 3
    trial._gain_of = lambda *_: Gain(100, 1.0, 0.996, 0.02)  # open, but it would not go on
    assert len(gains_of(trial, 1.0)) == 1


def test_gains_that_grow_with_regions_are_expected_to_go_on(trials):
    FourierBoostingClassifier(**SHORT).fit(X, NOISE)
    trial, n_all = trials[0][0], len(trials[0][0]._out_of_fold)
    before, now = Gain(300, 1.0, 0.99, 0.01), Gain(300, 2.0, 1.96, 0.02)
    expected = trial._expected(now, before, 500)
    assert expected.share == pytest.approx(0.02 + 0.01 * 2)  # 2,000 rows are two doublings more
    assert expected.standard_error == pytest.approx(0.02 * (300 / n_all) ** 0.5)
    assert trial._expected(before, now, 500).share == pytest.approx(0.01)
    assert trial._expected(now, before, 4000).share == pytest.approx(0.02)


def test_costs_count_outputs_and_columns(trials):
    for y in (NOISE, RNG.integers(0, 40, 2000)):
        FourierBoostingClassifier(**SHORT | {"n_bags": 1}).fit(X, y)
    two, forty = (kernel_trial._Regions(trial._rows, trial._divisions[256], 256).cost(10) for trial, *_ in trials)
    assert forty > two
    assert trials[1][1] > 10 * trials[0][1]  # the work of bags, too


@pytest.mark.parametrize("forced", ["auto", True])
def test_scale_and_lambda_are_those_of_the_largest_regions(forced, trials, monkeypatch):
    sizes = []
    regions = kernel_trial._Regions
    monkeypatch.setattr(kernel_trial, "_Regions", lambda *given: sizes.append(given[2]) or regions(*given))
    FourierBoostingClassifier(**SHORT, kernel_ridge=forced).fit(X, BOARD)
    assert len(trials) == (forced == "auto")
    assert sizes[0] == 256
    assert sizes[-1] == 1024
    sizes.clear()
    FourierBoostingClassifier(**SHORT, kernel_ridge=True).fit(X[:250], BOARD[:250])
    assert sizes == [256]  # all rows


@pytest.mark.parametrize("family", [FourierBoostingClassifier, FourierBoostingRegressor])
def test_predictions_of_regions_are_out_of_fold(family, trials):
    """Of noise they are no better than chance, also for rows that are in no fold of the first assignment."""
    model = family(**SHORT | {"n_bags": 6, "base_learners": ("fourier", "tree")}, validation_fraction=0.3).fit(X, NOISE)
    trial = trials[0][0]
    assert trial._rows.folds.min() == 0  # rows that are left over have scores of bags as well
    regions = kernel_trial._Regions(trial._rows, trial._divisions[256], 256)
    places, predictions = regions.predict(trial.shape, trial.choice, trial._out_of_fold)
    targets = NOISE[trial._out_of_fold[places]] - NOISE.mean()
    assert abs(np.corrcoef(predictions[0], targets)[0, 1]) < 0.1
    assert not model.kernel_ridge_report_.kept


def test_rows_of_an_eval_set_are_predicted_in_their_regions(trials):
    rows = RNG.uniform(0, 8, (600, 2))
    board = ((np.floor(rows[:, 0]) + np.floor(rows[:, 1])) % 2 == 1).astype(int)
    model = FourierBoostingClassifier(**SHORT).fit(X, BOARD, eval_set=(rows, board))
    assert 300 < trials[0][2].n_rows <= 600
    assert trials[0][3]
    assert model.kernel_ridge_report_.n_rows == 600


def test_the_last_rows_choose_and_judge(trials):
    """With `validation="last"` no row of the regions' choice is judged by rows that are earlier."""
    model = FourierBoostingClassifier(**SHORT, validation="last").fit(X, BOARD)
    trial = trials[0][0]
    assert trial._rows.keeps_folds
    assert trials[0][2].n_rows <= 400
    assert model.kernel_ridge_report_.n_rows == len(trial._out_of_fold)


def test_same_bits_for_any_number_of_threads(trials):
    for n_threads in (1, 3):
        FourierBoostingRegressor(**SHORT, n_jobs=n_threads).fit(X, NOISE.astype(float))
    assert trials[0][2] == trials[1][2]
    assert trials[0][0].choice[1:] == trials[1][0].choice[1:]


SMOOTH = np.sin(X[:, 0]) * np.cos(X[:, 1])


@pytest.mark.parametrize(("y", "shape"), [(SMOOTH, "gaussian"), (BOARD + 0.0, "exponential")])
def test_smooth_functions_have_gaussian_kernels_and_those_with_steps_exponential_ones(y, shape):
    model = FourierBoostingRegressor(**SHORT).fit(X, y)
    assert model.kernel_ridge_report_.kept
    assert model.expansion_.kernels.shape == shape


def test_of_kernels_that_are_close_the_one_that_gains_more_is_kept(trials, monkeypatch):
    """Not that of the lower loss on the rows of the choice."""
    FourierBoostingRegressor(**SHORT).fit(X, SMOOTH)
    trial = trials[0][0]
    monkeypatch.setattr(kernel_trial, "_MOST_WORSE", 1e9)
    for largest in (0, 1):  # of the exponential kernel, which comes first, or of the other
        gains = iter([Gain(100, 1.0, 0.5 if k == largest else 0.6, 0.01) for k in (0, 1)])
        again = KernelTrial(trial._rows, trial._out_of_fold, lambda *_, gains=gains: next(gains))
        again.run(1.0)
        assert again.shape == ["exponential", "gaussian"][largest]
    monkeypatch.setattr(kernel_trial, "_MOST_WORSE", -1.0)
    again = KernelTrial(trial._rows, trial._out_of_fold, trial._gain_of)
    assert again.run(1.0)[0] is None  # of no kernel


@pytest.mark.parametrize(("gain_of_equal", "error", "is_equal"), [
    (0.3, 0.01, True), (0.26, 0.1, True), (0.24, 0.1, False), (0.02, 1.0, False)])
def test_equal_relevances_are_taken_where_they_gain_as_much_but_for_chance(trials, monkeypatch, gain_of_equal, error,
                                                                           is_equal):
    """In the last case, where those of the terms gain .3, they do not gain enough to be kept."""
    FourierBoostingClassifier(**SHORT).fit(X[:500], BOARD[:500])
    monkeypatch.setattr(kernel_trial, "_MOST_WORSE", 1e9)
    trial = trials[0][0]
    gains = iter([0.3, 0.3, gain_of_equal, gain_of_equal])  # of both kernels
    again = KernelTrial(trial._rows._replace(relevances=np.array([0.9, 0.1])), trial._out_of_fold,
                        lambda *_: Gain(100, 1.0, 1 - next(gains), error))
    again.run(1.0)
    assert (np.ptp(again.choice.relevances) == 0) == is_equal


def test_equal_relevances_are_tried_of_two_classes_and_few_rows(trials):
    FourierBoostingClassifier(**SHORT).fit(X, BOARD)
    FourierBoostingClassifier(**SHORT).fit(X[:500], BOARD[:500] + (X[:500, 0] > 6))
    FourierBoostingRegressor(**SHORT).fit(X[:500], SMOOTH[:500])
    FourierBoostingClassifier(**SHORT).fit(X[:500], BOARD[:500])
    candidates = [trial._first_choices(kernel_trial._Regions(trial._rows, trial._divisions[256], 256))
                  for trial in (KernelTrial(each._rows, each._out_of_fold, each._gain_of) for each, *_ in trials)]
    assert [len(each) for each in candidates] == [1, 1, 1, 2]
    FourierBoostingClassifier(**SHORT | {"columns": "auto"}).fit(X[:500], BOARD[:500])
    every, but_ranks = trials[-1][0]._rows.equal_relevances
    assert every.all()
    assert (but_ranks > 0).tolist() == [True, False] * 2


# Two balls in eight dimensions, of other widths: of their squared distances ranks know less.
BALLS = RNG.normal(size=(1500, 8)) * np.where(NOISE[:1500], 2, 1)[:, None] + np.where(NOISE[:1500], 0, 0.7)[:, None]


def test_equal_relevances_are_tried_on_all_rows_of_two_classes(trials, monkeypatch):
    """They are taken without ranks where they gain clearly more."""
    many = SHORT | {"columns": "auto", "base_learners": ("linear",)}  # whose relevances are far from equal
    model = FourierBoostingClassifier(**many).fit(BALLS, NOISE[:1500])
    assert model.kernel_ridge_report_.kept
    trial = trials[0][0]
    assert trial.choose_equal()[1].relevances is trial._rows.equal_relevances[1]
    inverse = model.expansion_.kernels.inverse_length_scales
    assert ((inverse > 0) == (trial._rows.equal_relevances[1] > 0)).all()
    monkeypatch.setattr(kernel_trial, "_MOST_WORSE_OF_EQUAL", -0.9)
    assert trial.choose_equal() is None
    monkeypatch.setattr(Gain, "is_better", lambda *_: False)
    monkeypatch.setattr(kernel_trial, "_MOST_WORSE_OF_EQUAL", 0.02)
    other = FourierBoostingClassifier(**many).fit(BALLS, NOISE[:1500])
    assert (other.expansion_.kernels.inverse_length_scales > 0).all()
    report, without = (each.kernel_ridge_report_ for each in (model, other))
    assert report.loss_with < 0.99 * without.loss_with


@pytest.mark.parametrize("n_rows", [kernel_trial._MOST_ROWS_OF_EQUAL, 1500])
def test_equal_relevances_of_values_and_of_few_rows_are_not_tried_on_all(trials, n_rows):
    rows, is_many = BALLS[:n_rows], n_rows > kernel_trial._MOST_ROWS_OF_EQUAL
    FourierBoostingRegressor(**SHORT).fit(rows, (rows**2).sum(axis=1))
    FourierBoostingClassifier(**SHORT).fit(rows, np.digitize((rows**2).sum(axis=1), [8, 20]))
    FourierBoostingClassifier(**SHORT).fit(rows, NOISE[:n_rows])
    assert [trial.choose_equal() is not None for trial, *_ in trials] == [False, False, is_many]


def test_columns_that_are_alike_have_equal_relevances(trials):
    """Of a ball in eight dimensions, which terms of few rounds see along some columns more than along others."""
    rows = np.random.default_rng(3).normal(size=(400, 8))
    model = FourierBoostingClassifier(**SHORT).fit(rows, (rows**2).sum(axis=1) > 7.3)
    assert model.kernel_ridge_report_.kept
    assert np.ptp(model.expansion_.kernels.inverse_length_scales * rows.std(axis=0)) < 1e-6
    assert trials[0][0].choice.relevances.std() < 1e-2


def test_length_scales_of_values_are_searched(trials, monkeypatch):
    """Two columns count for nothing, which terms say less clearly."""
    rows = np.random.default_rng(1).uniform(-1, 1, (700, 5))
    y = np.sin(6 * rows[:, 0] + 2 * rows[:, 1]) + rows[:, 2] ** 2
    searched = FourierBoostingRegressor(**SHORT).fit(rows, y).kernel_ridge_report_
    monkeypatch.setattr(kernel_trial, "_searches", lambda *_: {})
    given = FourierBoostingRegressor(**SHORT).fit(rows, y).kernel_ridge_report_
    assert searched.loss_with < 0.1 * given.loss_with
    used, others = (1 / np.sqrt(trials[0][0].choice.relevances[part]) for part in (slice(3), slice(3, 5)))
    assert others.min() > 10 * used.max()


def test_what_is_not_searched(trials):
    FourierBoostingClassifier(**SHORT).fit(X, NOISE)
    FourierBoostingRegressor(**SHORT, validation="last").fit(X, SMOOTH)
    FourierBoostingRegressor(**SHORT).fit(RNG.uniform(size=(110, 30)), NOISE[:110] + 0.0)
    FourierBoostingRegressor(**SHORT).fit(RNG.uniform(size=(300, 70)), NOISE[:300] + 0.0)
    FourierBoostingRegressor(**SHORT).fit(X, SMOOTH)
    assert [bool(kernel_trial._searches(trial._rows)) for trial, *_ in trials] == [False, False, False, False, True]
    rows = trials[-1][0]._rows
    light = np.where(np.arange(len(rows.rows)) % 400, 1e-5, 1.0)  # too few rows count
    assert not kernel_trial._searches(rows._replace(weights=light))


NOISY = RNG.standard_normal((1150, 12))
LINE = NOISY[:, :3] @ [1.0, 0.7, 0.5]
NOISY_TARGETS = LINE + 1.7 * LINE.std() * RNG.standard_normal(1150)


def test_what_length_scales_remember_of_noise_is_no_gain():
    """Length scales of 12 columns that are searched on 150 rows fit their noise, leave-one-out errors included."""
    model = FourierBoostingRegressor(random_state=0).fit(NOISY[:150], NOISY_TARGETS[:150])
    assert not model.kernel_ridge_report_.kept
    kept = FourierBoostingRegressor(random_state=0, kernel_ridge=True).fit(NOISY[:150], NOISY_TARGETS[:150])
    report, rows = kept.kernel_ridge_report_, slice(150, None)
    assert report.loss_with > 0.99 * report.loss_without
    errors = [np.mean((each.predict(NOISY[rows]) - LINE[rows]) ** 2) for each in (model, kept)]
    assert errors[0] < 0.5 * LINE.var()
    assert errors[1] < 1.2 * errors[0]  # for its weight is small


def test_what_relevances_remember_of_noise_is_no_gain():
    """Labels at random, and more columns than rows, of which some agree with the labels, those held out included."""
    kept = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        noise, labels = rng.standard_normal((40, 60)), rng.integers(2, size=40)
        kept.append(FourierBoostingClassifier(random_state=0).fit(noise, labels).kernel_ridge_report_.kept)
    assert sum(kept) <= 1


@pytest.fixture(params=["searched", "not without a fold", "labels"])
def cross_fitted(monkeypatch, request):
    """A trial of few rows, and the relevances of the bags that have held out each fold.

    Its length scales are searched; of all rows, but not of those without a fold, which are too few; or those of the
    terms, of labels.
    """
    seen = []
    cross_fit = KernelTrial.cross_fit
    monkeypatch.setattr(KernelTrial, "cross_fit",
                        lambda trial, without: seen.append((trial, without)) or cross_fit(trial, without))
    rng, n_columns = np.random.default_rng(0), {"searched": 0, "not without a fold": 43, "labels": 220}[request.param]
    wide = np.column_stack([X[:200], rng.standard_normal((200, n_columns))])
    y = np.sin(X[:200, 0]) + 0.3 * X[:200, 1]
    if request.param == "labels":
        FourierBoostingClassifier(**SHORT | {"n_bags": 5}, kernel_ridge=True).fit(wide, y > 0)
    else:
        FourierBoostingRegressor(**SHORT | {"n_bags": 5}, kernel_ridge=True).fit(wide, y)
    return seen[0]


def test_cross_fitted_predictions_know_nothing_of_the_targets_of_their_fold(cross_fitted):
    trial, without = cross_fitted
    before, rows = trial.cross_fit(without), trial._rows
    assert rows.n_folds == len(without) == 5
    here = rows.folds == 2
    targets = rows.targets.copy()
    targets[:, here] = -3 * targets[:, here] + 1
    trial._rows = rows._replace(targets=targets)
    after = trial.cross_fit(without)
    np.testing.assert_array_equal(before[:, here], after[:, here])
    assert (before[:, ~here] != after[:, ~here]).any(axis=0).all()


@pytest.mark.parametrize("cross_fitted", ["searched", "not without a fold"], indirect=True)
def test_cross_fitted_predictions_do_not_take_length_scales_of_all_rows(cross_fitted):
    trial, without = cross_fitted
    before = trial.cross_fit(without)
    trial.choice = trial.choice._replace(relevances=trial.choice.relevances[::-1].copy())
    np.testing.assert_array_equal(before, trial.cross_fit(without))


@pytest.mark.parametrize("cross_fitted", ["searched"], indirect=True)
def test_relevances_without_a_fold_are_those_of_the_bags_that_hold_it_out(cross_fitted):
    trial, without = cross_fitted
    assert all(np.abs(each - other).max() > 0 for each, other in itertools.combinations(without, 2))
    residuals = np.abs(trial.cross_fit(without) - trial._rows.targets)
    assert residuals.mean() < 0.3 * np.abs(trial._rows.targets).mean()  # they do predict


@pytest.mark.parametrize("made", [
    {"n_rows": 601}, {"y": lambda y: np.where(y > 0, "a", "b")}, {"validation": "last"}, {"groups": True}, {}])
def test_few_rows_of_values_are_cross_fitted(monkeypatch, made):
    """Not labels of fewer columns, or many rows, nor folds of rows in order of time or of groups."""
    seen = []
    monkeypatch.setattr(KernelTrial, "cross_fit", lambda trial, _: seen.append(trial) or 0 * trial._rows.targets)
    n_rows, y = made.get("n_rows", 200), made.get("y", lambda y: y)
    family = FourierBoostingClassifier if "y" in made else FourierBoostingRegressor
    model = family(**SHORT, kernel_ridge=True, validation=made.get("validation", "random"))
    model.fit(X[:n_rows], y(np.sin(X[:n_rows, 0])), groups=np.arange(n_rows) // 10 if "groups" in made else None)
    assert bool(seen) == (made == {})


def test_cross_fitted_regressions_leave_no_fold_out_once_more(monkeypatch):
    folds, solve = [], RegionLearner.solve
    monkeypatch.setattr(RegionLearner, "solve", lambda learner: folds.append(learner.folds) or solve(learner))
    for n_rows in (200, 700):
        FourierBoostingRegressor(**SHORT, kernel_ridge=True).fit(X[:n_rows], np.sin(X[:n_rows, 0]))
    assert [each.max() for each in folds] == [-1, 2]
