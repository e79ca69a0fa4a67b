"""The solver of linear support vector machines: against other programs, problems worked by hand and its own proofs."""

import warnings

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from rffkern import PBRFFClassifier
from rffkern._estimator.monitor import listening
from rffkern._native import pbrff, solvers
from rffkern._training.pbrff import linear_svm as _svm

DTYPES = (np.float32, np.float64)
LOSSES = ("hinge", "squared_hinge")

losses = pytest.mark.parametrize("loss", LOSSES)
any_loss = st.sampled_from(LOSSES)


def problem(seed, n_samples, n_features, dtype=np.float64, overlap=1.0):
    """Features padded to whole vectors with a constant column, signs and uneven bounds."""
    rng = np.random.default_rng(seed)
    width = -(-(n_features + 1) // 16) * 16
    features = np.zeros((n_samples, width), dtype)
    features[:, :n_features] = rng.standard_normal((n_samples, n_features)) / np.sqrt(n_features)
    features[:, n_features] = 1
    score = features[:, 0] * 3 + overlap * rng.standard_normal(n_samples)
    return features, np.where(score > 0, 1, -1).astype(np.int8), rng.uniform(0.5, 2, n_samples)


def solve(features, sign, bound, loss, tol=1e-6, n_threads=1):
    return _svm.solve_linear_svm(_svm.FeatureRows(features, n_threads, n_threads), sign, bound, loss, tol)


def primal_objective(features, sign, bound, loss, coef):
    slack = np.maximum(0, 1 - sign * (features.astype(np.float64) @ coef))
    return 0.5 * coef @ coef + bound @ (slack**2 if loss == "squared_hinge" else slack)


sizes = st.tuples(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 17, 200, 2100]), st.sampled_from([1, 3, 15, 40]))


@given(sizes, st.sampled_from(DTYPES), any_loss, st.sampled_from([0.01, 1.0, 30.0]))
def test_the_gap_is_reached_and_true(size, dtype, loss, C):
    """The objective is within tol of that of a machine of a much smaller tol."""
    features, sign, bound = problem(*size, dtype)
    machine = solve(features, sign, C * bound, loss, 1e-4)
    best = solve(features, sign, C * bound, loss, 1e-9)
    assert machine.gap <= 1e-4
    assert best.gap <= 1e-9
    found, lowest = (primal_objective(features, sign, C * bound, loss, one.coef) for one in (machine, best))
    assert lowest * (1 - 1e-8) <= found <= lowest * (1 + 1e-4)
    np.testing.assert_allclose(machine.margins, sign * (features.astype(np.float64) @ machine.coef), atol=1e-10)


@losses
@pytest.mark.parametrize("n_samples", [40, 400])
def test_the_dual_is_that_of_the_twin(loss, n_samples):
    """The gap that ends the method is the one of the twin's objectives, at the alpha of the best machine."""
    features, sign, bound = problem(1, n_samples, 20)
    machine, alpha = solve(features, sign, bound, loss, 1e-12), None
    slack = 1 - machine.margins
    if loss == "squared_hinge":
        alpha = 2 * bound * np.maximum(0, slack)
    else:  # the rows off the margin know their alpha, those on it make up w
        alpha = np.where(slack > 1e-6, bound, 0.0)
        on = np.abs(slack) <= 1e-6
        rest = machine.coef - features.T @ (alpha * sign)
        alpha[on] = np.linalg.lstsq(features[on].T * sign[on], rest, rcond=None)[0]
        assert (alpha > -1e-6).all()
        assert (alpha < bound + 1e-6).all()
    np.testing.assert_allclose(features.T @ (alpha * sign), machine.coef, atol=1e-5)
    primal, dual = reference.machine_objectives(features, sign, bound, loss == "squared_hinge", alpha)
    assert primal == pytest.approx(primal_objective(features, sign, bound, loss, machine.coef), rel=1e-6)
    assert dual == pytest.approx(primal, rel=1e-6)


@pytest.mark.parametrize(("loss", "expected"), [("hinge", 1.0), ("squared_hinge", 0.8)])
def test_two_rows_by_hand(loss, expected):
    """x = +-1, no constant: w minimises w^2 / 2 + 2 max(0, 1 - w) -> 1; squared: w + 4 (w - 1) = 0 -> 0.8."""
    features = np.zeros((2, 16))
    features[:, 0] = 1, -1
    machine = solve(features, np.array([1, -1], np.int8), np.ones(2), loss, 1e-12)
    assert machine.coef[0] == pytest.approx(expected, abs=1e-6)


@losses
def test_one_class(loss):
    """The constant gives all rows a margin of nearly 1."""
    features, _, bound = problem(3, 300, 15)
    machine = solve(features, np.ones(300, np.int8), bound, loss, 1e-8)
    assert machine.gap <= 1e-8
    assert machine.margins.min() > 0.9


@losses
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize(("n_samples", "width"), [(150, 300), (1500, 120), (300, 120)])
def test_all_systems_converge(n_samples, width, C, loss, monkeypatch):
    """Systems of rows whose products are kept or not, of few columns and of many, of noisy labels."""
    monkeypatch.setattr(_svm, "_WIDEST_SHARED", 100 if n_samples < 1500 else 1000)
    features, sign, bound = problem(5, n_samples, width, np.float32, overlap=5.0)
    machine = solve(features, sign, C * bound, loss, 1e-6)
    assert machine.gap <= 1e-6
    assert np.isfinite(machine.coef).all()


def test_systems_of_rows_and_of_columns_agree(rng, monkeypatch):
    """And with numpy, whether they take part of the rows or all, in both precisions."""
    for dtype in DTYPES:
        for n_samples, n_used in ((20, 20), (60, 40), (300, 20), (300, 300)):
            features = rng.standard_normal((n_samples, 32)).astype(dtype)
            scale = np.where(np.arange(n_samples) < n_used, rng.uniform(0.5, 2, n_samples), 0)
            wide, right = features.astype(np.float64), rng.standard_normal(32)
            expected = np.linalg.solve(np.eye(32) + (wide.T * scale) @ wide, right)
            rows = _svm.FeatureRows(features, 1, 1)
            for widest in (10, 1000):
                monkeypatch.setattr(_svm, "_WIDEST_SHARED", widest)
                for found in (rows.factorise(scale), rows._factorise_columns(scale),
                              rows._factorise_rows(np.flatnonzero(scale), scale)):
                    np.testing.assert_allclose(found(right), expected, atol=1e-9)


def test_a_matrix_that_rounding_makes_indefinite_has_no_factor():
    """Conjugate gradients then go on without one, and the method ends."""
    features, sign, bound = problem(7, 300, 20)
    features[:, 1:5] = 0.1 * features[:, :1]
    rows = _svm.FeatureRows(features, 1, 1)
    assert rows._factorise_columns(np.where(np.arange(300) % 2, 1e30, 0)) is None
    rows.factorise = lambda scale: None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _svm.solve_linear_svm(rows, sign, 10 * bound, "squared_hinge", 1e-4).gap <= 1e-4


@pytest.mark.parametrize("C", [1.0, 1e4, 1e5])
@losses
def test_a_gap_beyond_rounding_ends_finite(C, loss):
    for seed in range(6):
        features, sign, bound = problem(seed, 128, 20, overlap=5.0)
        machine = solve(features, sign, C * bound, loss, 1e-18)
        assert np.isfinite(machine.coef).all()
        assert machine.gap < 1e-8
        assert machine.n_steps < _svm._MOST_STEPS


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
        assert solve(features, sign, np.minimum(C * bound, 1e8), loss, 1e-6).gap <= 1e-6  # clipped as `fit` does


@pytest.mark.parametrize("C", [1e-2, 0.3, 10.0])
@losses
def test_objectives_are_those_of_other_programs(C, loss):
    """libsvm's intercept is free: rows with their mirror images, which make it 0, take it away."""
    svm = pytest.importorskip("sklearn.svm", reason="needs scikit-learn")
    features, sign, _ = problem(11, 120, 15, overlap=3.0)
    if loss == "hinge":
        other = svm.SVC(kernel="linear", C=C / 2, tol=1e-8)
        other.fit(np.vstack([features, -features]), np.concatenate([sign, -sign]))
    else:
        other = svm.LinearSVC(C=C, tol=1e-8, dual=False, fit_intercept=False, max_iter=10**5).fit(features, sign)
    bound = np.full(120, C)
    ours, theirs = (primal_objective(features, sign, bound, loss, coef)
                    for coef in (solve(features, sign, bound, loss, 1e-8).coef, other.coef_[0]))
    assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_several_classes_of_more_landmarks_than_rows(name):
    X = np.random.default_rng(0).standard_normal((300, 2))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3]) + 5
    model = PBRFFClassifier(1100, n_components=3, C=1e4, loss=name, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (300, 3)
    assert model.score(X, y) > 0.9


def smooth(n_samples, width, seed=0):
    """Cosines of three columns, of which some hundred make up all others, and labels of which a quarter are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3))
    sign = np.where((X[:, 1] * X[:, 2] > 0) ^ (rng.random(n_samples) < 0.25), 1, -1).astype(np.int8)
    return np.cos(X @ rng.standard_normal((3, width)) + rng.uniform(0, 6.28, width)), sign


@pytest.mark.slow
@losses
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4, 1e6, 1e7])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nearly_singular_systems(C, loss, dtype):
    """Smooth features, of which some hundred make up all others."""
    features, sign = smooth(400, 608, seed=1)
    machine = solve(features.astype(dtype), sign, np.full(400, C), loss, 1e-7)
    assert machine.gap <= 1e-7
    assert machine.n_steps < 150


def test_a_long_machine_tells_how_it_goes_on(monkeypatch):
    monkeypatch.setattr(_svm, "SECONDS_BETWEEN", 0.0)
    features, sign = smooth(300, 1024)
    told = []
    with listening(lambda *step: told.append(step)):
        *_, n_steps = _svm.fit_linear_svms(features, [sign, -sign], np.full(300, 1e3), "hinge", 1e-4, 1, 1)
    assert {work for work, _, _, _ in told} == {
        "Newton steps of linear SVM 1 of 2", "Newton steps of linear SVM 2 of 2", "columns of products of rows",
        "columns of a factor"}
    steps, gaps = zip(*[(done, float(note.split()[1])) for work, done, _, note in told if "2 of 2" in work],
                      strict=True)
    assert list(steps) == sorted(steps)
    assert 0 < steps[-1] < n_steps
    assert gaps[-1] <= 1e-4
    products = [done for work, done, of, _ in told if work == "columns of products of rows"]
    assert products == [0, 256, 512, 768]  # once for both machines


def test_machines_of_several_signs_are_those_of_each_alone():
    features, sign, bound = problem(4, 300, 15)
    other = np.where(features[:, 1] > 0, 1, -1).astype(np.int8)
    coef, margins, n_steps = _svm.fit_linear_svms(features, [sign, other], bound, "squared_hinge", 1e-5, 1, 1)
    single = [solve(features, s, bound, "squared_hinge", 1e-5) for s in (sign, other)]
    np.testing.assert_array_equal(coef, np.column_stack([machine.coef for machine in single]))
    np.testing.assert_array_equal(margins, np.column_stack([machine.margins for machine in single]))
    assert n_steps == sum(machine.n_steps for machine in single)


def test_the_warning_points_at_the_caller_of_fit(monkeypatch):
    monkeypatch.setattr(_svm, "_MOST_STEPS", 1)
    X, y = np.random.default_rng(0).standard_normal((60, 2)), np.arange(60) % 2
    with pytest.warns(RuntimeWarning, match="rounding keeps the support vector machine") as caught:
        PBRFFClassifier(5, C=1e6, loss="hinge", tol=1e-9, random_state=0).fit(X, y)
    assert caught[0].filename == __file__


@losses
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_samples", "n_features"), [(5000, 20), (500, 300),
                                                       pytest.param(1200, 1010, marks=pytest.mark.slow)])
def test_bits_do_not_depend_on_threads(loss, dtype, n_samples, n_features):
    """By conjugate gradients alone, and with factors of rows, of few columns and of many."""
    features, sign, bound = problem(2, n_samples, n_features, dtype)
    for C in (0.01, 1e3):
        coefs = [solve(features, sign, C * bound, loss, 1e-3, n_threads=n).coef.tobytes() for n in (1, 2, 3)]
        assert coefs[0] == coefs[1] == coefs[2]


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 4, 6, 2047, 2050, 4100]), st.sampled_from([16, 48]),
       st.sampled_from(DTYPES))
def test_sums_over_rows(seed, n_samples, width, dtype):
    """In double precision from features in either; rows of factor 0 are passed over."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_samples, width)).astype(dtype)
    factor = rng.standard_normal(n_samples) * (rng.random(n_samples) < 0.3)
    rows, coef = _svm.FeatureRows(features, 2, 1), rng.standard_normal(width)
    np.testing.assert_allclose(rows.combine(factor), factor @ features.astype(np.float64), atol=1e-11)
    np.testing.assert_allclose(rows.project(coef), features.astype(np.float64) @ coef, atol=1e-12)


def test_weighted_gram(rng):
    for dtype, width in ((np.float64, 32), (np.float32, 144), (np.float64, 272)):
        features, scale = rng.standard_normal((1500, width)).astype(dtype), rng.uniform(-1, 2, 1500).clip(0)
        partial = np.full((8, width, width), np.nan)
        scratch = np.zeros((2, pbrff.gram_scratch(width)))
        pbrff.weighted_gram(features, scale, partial, scratch, 2)
        wide = features.astype(np.float64)
        np.testing.assert_allclose(np.tril(partial[0]), np.tril((wide.T * scale) @ wide),
                                   atol=1e-10)


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


# --- factors of large matrices

def definite(rng, size):
    root = rng.standard_normal((size, size + 2))
    return root @ root.T / size + 0.1 * np.eye(size)


@pytest.mark.parametrize(("size", "n_below"), [(1, 0), (255, 0), (257, 0), (700, 0), (16, 3), (512, 40), (528, 5)])
def test_factors(rng, size, n_below):
    matrix, below = definite(rng, size), rng.standard_normal((n_below, size))
    both = np.vstack([np.tril(matrix), below])
    assert _svm.factorise(both, 2)
    factor = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(np.tril(both[:size]), factor, atol=1e-12)
    np.testing.assert_allclose(both[size:], np.linalg.solve(factor, below.T).T, atol=1e-9)


def test_pieces_are_short_and_change_nothing(rng, monkeypatch):
    """No call does more than the limit, but for the fewest rows, so that an interrupt is noticed between calls."""
    matrix = definite(rng, 700)
    whole, works, add_products = np.tril(matrix), [], solvers.add_products

    def measured(rows, first, last, *rest):
        works.append((last - first) * rows.size)
        add_products(rows, first, last, *rest)

    assert _svm.factorise(whole, 1)
    monkeypatch.setattr(_svm, "_LARGEST_CALL", 2.5e7)
    monkeypatch.setattr(solvers, "add_products", measured)
    pieces = np.tril(matrix)
    assert _svm.factorise(pieces, 3)
    assert len(works) > 3
    assert max(works) <= 2.5e7
    assert whole.tobytes() == pieces.tobytes()


def test_products_of_parts(rng):
    rows, matrix = rng.standard_normal((150, 600)), np.zeros((150, 150))
    depth = _svm.PANEL_COLUMNS
    parts = [np.ascontiguousarray(rows[:, start : start + depth]) for start in range(0, rows.shape[1], depth)]
    _svm.add_products(parts, 3.0, matrix, 0, 2)
    np.testing.assert_allclose(matrix, 3 * np.tril(rows @ rows.T), atol=1e-10)
