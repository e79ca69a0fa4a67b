"""Dual coordinate descent and the interior point method: against their twins, each other and problems worked by
hand."""

import warnings

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from rffkern import PBRFFClassifier
from rffkern._estimator.monitor import listening
from rffkern._kernels import pbrff
from rffkern._pbrff import blocked_factors, interior_point
from rffkern._pbrff import linear_svm as _svm

DTYPES = (np.float32, np.float64)
ALONE = _svm.MachineThreads(1, 1)
HINGE, SQUARED = _svm.LOSSES["hinge"], _svm.LOSSES["squared_hinge"]

losses = pytest.mark.parametrize("loss", [HINGE, SQUARED], ids=["hinge", "squared_hinge"])
any_loss = st.sampled_from([HINGE, SQUARED])


def problem(seed, n_samples, n_features, dtype=np.float64, overlap=1.0):
    """Features padded to whole vectors with a constant column, signs and uneven bounds."""
    rng = np.random.default_rng(seed)
    width = -(-(n_features + 1) // 16) * 16
    features = np.zeros((n_samples, width), dtype)
    features[:, :n_features] = rng.standard_normal((n_samples, n_features)) / np.sqrt(n_features)
    features[:, n_features] = 1
    score = features[:, 0] * 3 + overlap * rng.standard_normal(n_samples)
    return features, np.where(score > 0, 1, -1).astype(np.int8), rng.uniform(0.5, 2, n_samples)


def solve(features, sign, bound, loss, tol=1e-6, seed=1, n_threads=1):
    if tol < 1e-6:
        features = features.astype(np.float64)
    return _svm._solve(_svm.Problem(features, sign, bound, loss, _svm.MachineThreads(n_threads, n_threads)), tol, seed)


def second_order(features, sign, bound, loss, tol):
    problem = _svm.Problem(features.astype(np.float64), sign, bound, loss, ALONE)
    start = _svm.Machine(np.zeros(problem.width), np.zeros(problem.n_samples), 0, 1.0,
                         np.zeros(problem.n_samples))
    return loss.finish(problem, start, tol)


sizes = st.tuples(st.integers(0, 10**6), st.sampled_from([2, 3, 17, 200, 2100]), st.sampled_from([1, 3, 15, 40]))


@given(sizes, st.sampled_from(DTYPES), any_loss, st.sampled_from([0.01, 1.0, 30.0]))
def test_the_gap_is_reached(size, dtype, loss, C):
    """Weak duality makes the gap a proof that w is within tol of the best."""
    features, sign, bound = problem(*size, dtype)
    squared = loss is SQUARED
    machine = solve(features, sign, C * bound, loss, 1e-4)
    slack = np.maximum(0, 1 - sign * (features @ machine.coef))
    primal = 0.5 * machine.coef @ machine.coef + C * bound @ (slack**2 if squared else slack)
    best = second_order(features, sign, C * bound, loss, 1e-9)
    slack = np.maximum(0, 1 - best.margins)
    lowest = 0.5 * best.coef @ best.coef + C * bound @ (slack**2 if squared else slack)
    assert lowest * (1 - 1e-6) <= primal <= lowest * (1 + 2e-4)
    np.testing.assert_allclose(machine.margins, sign * (features @ machine.coef), atol=1e-4)


@given(sizes, any_loss)
def test_objectives_are_those_of_the_twin(size, loss):
    features, sign, bound = problem(*size)
    alpha = np.random.default_rng(size[0]).uniform(0, 1, len(sign)) * bound
    primal, dual = reference.machine_objectives(features, sign, bound, loss is SQUARED, alpha)
    problem_ = _svm.Problem(features, sign, bound, loss, ALONE)
    coef = problem_.combine(alpha)
    assert problem_.primal(coef, problem_.project(coef)) == pytest.approx(primal, rel=1e-12)
    assert problem_.dual(alpha, coef) == pytest.approx(dual, rel=1e-12, abs=1e-12)


@given(sizes, st.sampled_from(DTYPES), any_loss)
def test_an_epoch_raises_the_dual_and_stays_feasible(size, dtype, loss):
    features, sign, bound = problem(*size, dtype)
    curvature = (features.astype(np.float64) ** 2).sum(axis=1)
    alpha, coef, active = np.zeros(len(sign)), np.zeros(features.shape[1], dtype), np.arange(len(sign))
    state, duals = np.array([7], np.uint64), [0.0]
    for _ in range(5):
        done = pbrff.descend_dual(features, sign, bound, curvature, loss.is_squared, 0.0, 1, alpha, coef, active,
                                  state)
        assert done == 1
        assert (alpha >= 0).all()
        assert loss is SQUARED or (alpha <= bound).all()
        assert sorted(active) == list(range(len(sign)))
        duals.append(reference.machine_objectives(features.astype(np.float64), sign, bound, loss is SQUARED,
                                                  alpha)[1])
    assert (np.diff(duals) >= -1e-5 * np.abs(duals[1:])).all()
    np.testing.assert_allclose(coef, features.T.astype(np.float64) @ (alpha * sign), atol=2e-4)


@losses
@pytest.mark.parametrize("C", [0.1, 1e3, 1e6])
def test_converged_not_capped_for_any_C(C, loss):
    """Overlapping classes and a large C are what coordinate descent crawls on."""
    features, sign, bound = problem(3, 3000, 20)
    machine = solve(features, sign, C * bound, loss, 1e-6)
    assert machine.gap <= 1e-6
    assert machine.n_passes < 1500
    assert np.mean(machine.margins > 0) > 0.6


@pytest.mark.parametrize(("loss", "expected"), [(HINGE, 1.0), (SQUARED, 0.8)])
def test_two_rows_by_hand(loss, expected):
    """x = +-1, no constant: w minimises w^2 / 2 + 2 max(0, 1 - w) -> 1; squared: w + 4 (w - 1) = 0 -> 0.8."""
    features = np.zeros((2, 16))
    features[:, 0] = 1, -1
    for method in (solve, second_order):
        machine = method(features, np.array([1, -1], np.int8), np.ones(2), loss, 1e-12)
        assert machine.coef[0] == pytest.approx(expected, abs=1e-5)


def test_single_precision_goes_on_in_double(monkeypatch):
    """Where it ends before the gap is reached."""
    precisions, newton = [], _svm._newton

    def ending_early(problem, machine, tol):
        precisions.append(problem.is_double)
        return newton(problem, machine, tol) if problem.is_double else machine

    monkeypatch.setattr(_svm, "_newton", ending_early)
    features, sign, bound = problem(5, 300, 15, np.float32)
    start = _svm.Machine(np.zeros(features.shape[1]), np.zeros(300), 0, 1.0, np.zeros(300))
    machine = SQUARED.finish(_svm.Problem(features, sign, bound, SQUARED, ALONE), start, 1e-9)
    assert precisions == [False, True]
    assert machine.gap <= 1e-9


@losses
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("n_samples", [150, 1500])
def test_wide_problems_converge(n_samples, C, loss, monkeypatch):
    """Noisy labels and a large C, with more columns than rows and with fewer, beyond the columns of small systems."""
    monkeypatch.setattr(_svm, "_WIDEST", 100)
    features, sign, bound = problem(5, n_samples, 300 if n_samples < 300 else 120, np.float32, overlap=5.0)
    machine = solve(features, sign, C * bound, loss, 1e-6)
    assert machine.gap <= 1e-6
    slack = np.maximum(0, 1 - sign * (features.astype(np.float64) @ machine.coef))
    primal = 0.5 * machine.coef @ machine.coef + C * bound @ (slack**2 if loss is SQUARED else slack)
    monkeypatch.undo()
    best = second_order(features, sign, C * bound, loss, 1e-8)
    lowest = 0.5 * best.coef @ best.coef + loss.losses(np.maximum(0, 1 - best.margins), C * bound).sum()
    assert lowest * (1 - 1e-7) <= primal <= lowest * (1 + 2e-6)


@losses
def test_wide_problems_end(loss):
    """A gap beyond rounding is given up, with what was reached."""
    features, sign, bound = problem(5, 200, 1100, np.float32)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "rounding keeps the support vector machine from the relative gap")
        assert abs(solve(features, sign, bound, loss, 1e-18).gap) < 1e-8


def kinds_of_rows():
    """Rows with which systems are singular: (name, features, sign, bound)."""
    features, sign, bound = problem(6, 260, 1100, overlap=3.0)
    one = np.where(np.arange(260) == 7, 1, -1).astype(np.int8)
    alike, flat, low = features[np.arange(260) % 40], features.copy(), features.copy()
    flat[:, :1000] = 0.5
    low[:, 5:1099] = features[:, :5] @ np.ones((5, 1094))
    none = np.zeros_like(features)
    none[:, 1100] = 1
    uneven = bound * 10.0 ** (np.arange(260) % 7)
    return [("one row of a class", features, one, bound), ("rows that repeat", alike, sign, bound),
            ("constant columns", flat, sign, bound), ("columns of low rank", low, sign, bound),
            ("the constant alone", none, sign, bound), ("weights", features, sign, uneven)]


@losses
@pytest.mark.parametrize("kind", kinds_of_rows(), ids=lambda kind: kind[0])
def test_degenerate_rows_converge(kind, loss):
    _, features, sign, bound = kind
    for C in (1e-3, 100.0, 1e5):
        assert solve(features, sign, C * bound, loss, 1e-6).gap <= 1e-6


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_more_than_a_thousand_landmarks(name):
    """Coordinate descent alone gives up here: it warns, which is an error in tests."""
    X = np.random.default_rng(0).standard_normal((400, 3))
    y = (X[:, 1] * X[:, 2] > 0) ^ (np.random.default_rng(1).random(400) < 0.25)
    model = PBRFFClassifier(1100, n_components=3, C=1e4, loss=name, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("C", [1e-2, 0.3, 10.0])
@losses
def test_objectives_are_those_of_other_programs(C, loss):
    """libsvm's intercept is free: rows with their mirror images, which make it 0, take it away."""
    svm = pytest.importorskip("sklearn.svm", reason="needs scikit-learn")
    features, sign, _ = problem(11, 120, 15, overlap=3.0)
    if loss is HINGE:
        other = svm.SVC(kernel="linear", C=C / 2, tol=1e-8)
        other.fit(np.vstack([features, -features]), np.concatenate([sign, -sign]))
    else:
        other = svm.LinearSVC(C=C, tol=1e-8, dual=False, fit_intercept=False, max_iter=10**5).fit(features, sign)

    def primal(coef):
        slack = np.maximum(0, 1 - sign * (features @ coef))
        return 0.5 * coef @ coef + loss.losses(slack, np.full(120, C)).sum()

    for method in (solve, second_order):
        machine = method(features, sign, np.full(120, C), loss, 1e-8)
        assert primal(machine.coef) == pytest.approx(primal(other.coef_[0]), rel=1e-6)


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_few_rows_of_a_large_C_take_few_steps(C):
    """Newton's method alone takes 140 steps for 500 rows: every row that a step passes stops it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    sign = np.where((X[:, 1] * X[:, 2] > 0) ^ (rng.random(300) < 0.25), 1, -1).astype(np.int8)
    features = np.zeros((300, 1024))
    features[:] = np.cos(X @ rng.standard_normal((3, 1024)) + rng.uniform(0, 6.28, 1024))
    machine = second_order(features, sign, np.full(300, C), SQUARED, 1e-6)
    assert machine.gap <= 1e-6
    assert machine.n_passes <= 50


def smooth(n_samples, width):
    """Cosines of three columns, of which some hundred make up all others, and labels of which a quarter are wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 3))
    sign = np.where((X[:, 1] * X[:, 2] > 0) ^ (rng.random(n_samples) < 0.25), 1, -1).astype(np.int8)
    return np.cos(X @ rng.standard_normal((3, width)) + rng.uniform(0, 6.28, width)), sign


@losses
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_a_large_C_and_a_small_tol_on_smooth_features(C, loss):
    """Newton's systems are nearly singular: their solutions need mending to come to this gap."""
    features, sign = smooth(400, 608)
    assert solve(features, sign, np.full(400, C), loss, 1e-7).gap <= 1e-7


def test_a_start_near_a_machine_saves_steps(monkeypatch):
    """And comes to the same end."""
    features, sign = smooth(500, 304)
    problem_ = _svm.Problem(features, sign, np.ones(500), HINGE, ALONE)
    start = _svm._descend(problem_, 1e-2, 1)
    near = HINGE.finish(problem_, start, 1e-6)
    monkeypatch.setattr(interior_point, "_start_near", interior_point._start_far)
    far = HINGE.finish(problem_, start, 1e-6)
    assert max(near.gap, far.gap) <= 1e-6
    assert near.n_passes - start.n_passes < 0.7 * (far.n_passes - start.n_passes)


def test_a_long_machine_tells_how_it_goes_on(monkeypatch):
    monkeypatch.setattr(_svm, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(blocked_factors, "SECONDS_BETWEEN", 0.0)
    features, sign = smooth(300, 1024)
    told = []
    with listening(lambda *step: told.append(step)):
        machines = _svm.fit_machines(features, [sign, -sign], np.full(300, 1e3), np.array([1, 2]),
                                     _svm.MachineSettings(HINGE, 1e-4, ALONE))
    assert {work for work, _, _, _ in told} == {"passes of machine 1 of 2", "passes of machine 2 of 2",
                                                "columns of products of rows"}
    passes, gaps = zip(*[(done, float(note.split()[1])) for work, done, _, note in told if "2 of 2" in work],
                       strict=True)
    assert list(passes) == sorted(passes)
    assert passes[-1] < machines.n_passes
    assert gaps[-1] <= 1e-4 < gaps[0]
    assert [done for work, done, of, _ in told if work.startswith("columns") and of == 1024][:4] == [0, 256, 512, 768]


def test_coordinate_descent_ends_where_it_would_come_too_late(monkeypatch):
    """The gap is seen to fall too slowly long before all passes are made; an easy problem has them all."""
    monkeypatch.setattr(_svm, "_WORK_BETWEEN_CHECKS", 1e6)
    features, sign, bound = problem(3, 1000, 120, np.float32, overlap=5.0)
    at_most = HINGE.n_epochs(*features.shape)
    slow = _svm._descend(_svm.Problem(features, sign, 1e3 * bound, HINGE, ALONE), 1e-4, 1)
    assert slow.n_passes < 0.2 * at_most
    assert slow.gap > 1e-4
    assert _svm._descend(_svm.Problem(features, sign, 1e-2 * bound, HINGE, ALONE), 1e-4, 1).gap <= 1e-4


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_several_classes_of_more_landmarks_than_rows(name):
    X = np.random.default_rng(0).standard_normal((300, 2))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3]) + 5
    model = PBRFFClassifier(1100, n_components=3, C=1e4, loss=name, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (300, 3)
    assert model.score(X, y) > 0.9


def test_newton_does_not_believe_margins_of_lower_precision():
    """They come with rounding errors, which a large C turns into a loss below the lowest, that no step can reach."""
    features, sign, bound = problem(8, 42, 200)
    best = second_order(features, sign, 1e3 * bound, SQUARED, 1e-10)
    start = best._replace(coef=best.coef * 0.999, margins=best.margins + 1e-3)
    assert _svm._newton(_svm.Problem(features, sign, 1e3 * bound, SQUARED, ALONE), start, 1e-6).gap <= 1e-6


@pytest.mark.parametrize("C", [1.0, 1e4, 1e5])
@losses
def test_a_gap_beyond_rounding_ends_finite(C, loss):
    """Where rounding puts a row on its barrier the best point so far is returned, not nan."""
    for seed in range(6):
        features, sign, bound = problem(seed, 128, 20, overlap=5.0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "rounding keeps the support vector machine from the relative gap")
            machine = solve(features, sign, C * bound, loss, 1e-12)
        assert np.isfinite(machine.coef).all()
        assert machine.gap < 1e-6


def test_machines_of_several_signs_are_those_of_each_alone():
    features, sign, bound = problem(4, 300, 15)
    other = np.where(features[:, 1] > 0, 1, -1).astype(np.int8)
    settings = _svm.MachineSettings(SQUARED, 1e-5, ALONE)
    both = _svm.fit_machines(features, [sign, other], bound, np.array([3, 4]), settings)
    single = [solve(features, s, bound, SQUARED, 1e-5, seed) for s, seed in ((sign, 3), (other, 4))]
    np.testing.assert_array_equal(both.coef, np.column_stack([machine.coef for machine in single]))
    np.testing.assert_array_equal(both.margins, np.column_stack([machine.margins for machine in single]))
    assert both.n_passes == sum(machine.n_passes for machine in single)


def test_the_warning_points_at_the_caller_of_fit(monkeypatch):
    monkeypatch.setattr(interior_point, "MAX_STEPS", 1)
    X, y = np.random.default_rng(0).standard_normal((60, 2)), np.arange(60) % 2
    with pytest.warns(RuntimeWarning, match="rounding keeps the support vector machine") as caught:
        PBRFFClassifier(5, C=1e6, loss="hinge", tol=1e-9, random_state=0).fit(X, y)
    assert caught[0].filename == __file__


@losses
def test_losses_by_hand(loss):
    """Slack 3 of bound 2: 6 or 18; the squared loss adds 1 / (2 U) to the diagonal of the dual."""
    squared = loss is SQUARED
    assert loss.losses(np.array([3.0, 0.0]), np.array([2.0, 5.0])).tolist() == [18.0 if squared else 6.0, 0.0]
    assert loss.diagonal(np.array([2.0])).tolist() == [0.25 if squared else 0.0]
    assert loss.is_squared == squared


def test_the_order_of_rows_is_the_seed_s(rng):
    features, sign, bound = problem(9, 400, 15)
    first, again, other = (solve(features, sign, bound, SQUARED, 1e-3, seed) for seed in (1, 1, 2))
    assert first.coef.tobytes() == again.coef.tobytes() != other.coef.tobytes()


@losses
def test_bits_do_not_depend_on_threads(loss):
    features, sign, bound = problem(2, 5000, 20)
    for C in (0.1, 1e3):  # by coordinate descent, and beyond it
        coefs = [solve(features, sign, C * bound, loss, 1e-4, n_threads=n).coef.tobytes() for n in (1, 2, 3)]
        assert coefs[0] == coefs[1] == coefs[2]


def test_weighted_gram(rng):
    for dtype, width in ((np.float64, 32), (np.float32, 144), (np.float64, 272)):
        features, scale = rng.standard_normal((1500, width)).astype(dtype), rng.uniform(-1, 2, 1500).clip(0)
        partial = np.full((8, width, width), np.nan)
        scratch = np.zeros((2, pbrff.gram_scratch(width)), dtype)
        pbrff.weighted_gram(features, scale, partial, scratch, 2)
        wide = features.astype(np.float64)
        np.testing.assert_allclose(np.tril(partial[0]), np.tril((wide.T * scale) @ wide),
                                   atol=1e-3 if dtype is np.float32 else 1e-10)


def test_probability_slope_by_hand():
    """n rows of margin 1, all right: P(right) = (n + 1) / (n + 2), so the slope is ln(n + 1)."""
    signs = np.repeat([[1], [-1]], 50, axis=0).astype(np.int8)
    alike = np.ones(100)
    assert _svm.probability_slope(np.ones((100, 1)), signs, alike) == pytest.approx(np.log(51), rel=1e-6)
    assert _svm.probability_slope(np.ones((100, 1)), signs, 2 * alike) == pytest.approx(np.log(101), rel=1e-6)
    huge = _svm.probability_slope(1e200 * np.ones((100, 1)), signs, alike)
    assert huge == pytest.approx(1e-200 * np.log(51), rel=1e-6)
    useless = _svm.probability_slope(np.where(np.arange(100) % 2, 1.0, -1.0)[:, None], signs, alike)
    assert 0 < useless < 0.1
    assert _svm.probability_slope(np.zeros((100, 1)), signs, alike) == 1
    weighted = _svm.probability_slope(np.array([[1.0], [-1.0]]), np.array([[1], [-1]], np.int8), np.array([3.0, 1.0]))
    assert weighted > 0
