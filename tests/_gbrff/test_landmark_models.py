"""GBRFF1 and GBRFF by least squares: against their plain twins, and what their parameters promise."""

import tracemalloc

import numpy as np
import pytest
import reference

from rffkern import GBRFF1Classifier, GBRFFClassifier, GBRFFRegressor, InvalidInputError, save
from rffkern._kernels.lbfgs import minimize

CLASSIFIERS = [GBRFF1Classifier, GBRFFClassifier]
BOOSTED = [*CLASSIFIERS, GBRFFRegressor]


def waves(rng, n_samples=500, n_features=4):
    X = rng.standard_normal((n_samples, n_features))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n_samples) > 0, 1, -1)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def learners_of(model, n_components):
    """Phases, posterior and step of each landmark, taken from the expansion."""
    amplitudes = model.expansion_.amplitudes[:, 0].reshape(-1, n_components)
    steps = amplitudes.sum(axis=1)
    return list(zip(model.expansion_.phases.reshape(-1, n_components), amplitudes / steps[:, None], steps, strict=True))


@pytest.mark.parametrize("n_components", [3, 9])
@pytest.mark.parametrize(("make", "kind"), [
    (lambda **p: GBRFF1Classifier(12, beta=2.0, **p), "exponential"),
    (lambda **p: GBRFFClassifier(12, c=8.0, learning_rate=0.5, **p), "squared"),
    (lambda **p: GBRFFClassifier(12, c=8.0, learning_rate=0.5, scale_residuals=False, **p), "squared as printed"),
], ids=["GBRFF1", "GBRFF", "GBRFF as printed"])
def test_follows_the_algorithm(rng, make, kind, n_components):
    """Every round in double precision is that of the twin, by landmarks (9 cosines) and by phases (3 of 4 columns)."""
    X, y = waves(rng)
    model = make(n_components=n_components, precision="double", random_state=3).fit(X, y)
    draws = np.sqrt(2 / 4) * np.random.default_rng(3).standard_normal((12, 1, n_components, 4))[:, 0]
    np.testing.assert_allclose(model.expansion_.omegas * X.std(axis=0), draws.reshape(-1, 4), rtol=1e-12)

    def descend(function):
        end = minimize(function, np.zeros(min(4, n_components)), 10, loss_tolerance=2e-9, gradient_tolerance=1e-5,
                       noise=1e-14, first_length=np.sqrt(2) if n_components > 4 else np.sqrt(n_components))[0]
        return function(end)[0]

    temperature, rate = (2.0 * np.sqrt(500), 1.0) if kind == "exponential" else (8.0, 0.5)
    rounds = reference.replay_landmarks(kind.split()[0], standardised(X), y, draws, temperature, rate, descend,
                                        learners_of(model, n_components), kind == "squared")
    for t, (lowest, reached, posterior, step, loss) in enumerate(rounds):
        _, given_posterior, given_step = learners_of(model, n_components)[t]
        assert reached == pytest.approx(lowest, rel=1e-4)
        np.testing.assert_allclose(given_posterior, posterior, atol=1e-9)
        assert given_step == pytest.approx(step, rel=1e-6)
        assert model.train_loss_[t + 1] == pytest.approx(loss, rel=1e-9)
    assert t == 11


def test_one_cosine_learns_its_phase_globally(rng):
    """Figure 1 of the ECML paper: with K = 1 the landmark is one phase."""
    X, y = waves(rng)
    model = GBRFF1Classifier(5, n_components=1, precision="double", random_state=3).fit(X, y)
    H = np.full(500, 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    omegas = model.expansion_.omegas * X.std(axis=0)
    for omega, phase, step in zip(omegas, model.expansion_.phases, model.expansion_.amplitudes[:, 0], strict=True):
        best = reference.best_phase(standardised(X), reference.residuals(H, y), np.ones(500), omega)
        assert np.cos(phase - best) == pytest.approx(1, abs=1e-10)
        H = H + step * np.cos(standardised(X) @ omega - phase)


def test_one_cosine_of_least_squares_finds_the_lower_valley(rng):
    X, y = waves(rng)
    model = GBRFFRegressor(1, n_components=1, precision="double", max_iter=50, random_state=5).fit(X, y)
    theta = standardised(X) @ (model.expansion_.omegas[0] * X.std(axis=0))
    r = standardised(y[:, None].astype(float))[:, 0]
    grid = np.linspace(-np.pi, np.pi, 4001)
    losses = ((r[:, None] - np.cos(theta[:, None] - grid)) ** 2).mean(axis=0)
    assert np.cos(model.expansion_.phases[0] - grid[losses.argmin()]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("make", BOOSTED)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_loss_never_rises(rng, make, precision):
    X, y = waves(rng, 2000)
    model = make(40, precision=precision, random_state=0).fit(X, y)
    assert (np.diff(model.train_loss_) <= 1e-6 * model.train_loss_[:-1]).all()
    assert model.train_loss_[-1] < 0.8 * model.train_loss_[0]


def test_train_loss_is_that_of_the_expansion(rng):
    X, y = waves(rng)
    assert GBRFF1Classifier(30, random_state=0).fit(X, y).train_loss_[-1] == pytest.approx(
        np.exp(-y * GBRFF1Classifier(30, random_state=0).fit(X, y).decision_function(X)).mean(), rel=1e-5)
    model = GBRFFClassifier(30, random_state=0).fit(X, y)
    assert model.train_loss_[-1] == pytest.approx(((y - model.decision_function(X)) ** 2).mean(), rel=1e-5)
    target = 1e6 + 1e3 * (X[:, 0] + np.sin(X[:, 1]))
    model = GBRFFRegressor(30, random_state=0).fit(X, target)
    assert model.train_loss_[0] == pytest.approx(1)
    assert model.train_loss_[-1] == pytest.approx(1 - model.score(X, target), rel=1e-4)


def test_exact_steps_go_further(rng):
    X, y = waves(rng, 2000)
    closed, exact = (GBRFF1Classifier(8, step=step, random_state=0).fit(X[:1000], y[:1000])
                     for step in ("closed", "exact"))
    assert exact.train_loss_[-1] < closed.train_loss_[-1] - 0.02
    assert exact.score(X[1000:], y[1000:]) > closed.score(X[1000:], y[1000:])
    assert (np.diff(exact.train_loss_) <= 1e-6 * exact.train_loss_[:-1]).all()


@pytest.mark.parametrize("make", BOOSTED)
@pytest.mark.parametrize("n_components", [3, 9])
def test_landmarks_are_where_the_phases_say(rng, make, n_components):
    """omega . (x - landmark) is omega . (x - center) - phase, up to whole turns, for learned and for drawn
    landmarks."""
    X, y = waves(rng)
    X = X * [1, 100, 1e-3, 5] + [0, 1900, 0, -3]
    for landmarks in ("learn", "random"):
        model = make(6, n_components=n_components, landmarks=landmarks, random_state=1).fit(X, y)
        assert model.landmarks_.shape == (6, 4)
        expansion = model.expansion_
        angles = np.einsum("tkd,td->tk", expansion.omegas.reshape(6, n_components, 4),
                           model.landmarks_ - expansion.center)
        np.testing.assert_allclose(np.cos(angles.ravel() - expansion.phases), 1, atol=1e-8)
        if landmarks == "random":
            assert all((np.abs(X - landmark) < 1e-8).all(axis=1).any() for landmark in model.landmarks_)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_more_classes_and_their_landmarks(rng, make):
    X = rng.standard_normal((600, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])]
    model = make(40, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.landmarks_.shape == (40, 3, 3)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("make", BOOSTED)
def test_integer_weights_are_repetition(rng, make):
    """For a few rounds: later ones make small differences large, as descents do that stop before their end."""
    X, y = waves(rng, 200)
    repeats = rng.integers(0, 4, 200)
    params = {"n_components": 7, "precision": "double", "random_state": 0}
    weighted = make(5, **params).fit(X, y, repeats)
    repeated = make(5, **params).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weighted.expansion_.amplitudes, repeated.expansion_.amplitudes, atol=1e-7)
    weighted, repeated = make(3, landmarks="random", **params).fit(X, y, repeats), make(
        3, landmarks="random", **params).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weighted.landmarks_, repeated.landmarks_, atol=1e-12)


def test_sums_of_cosines_beyond_one_by_rounding(rng):
    """All rows equal and one class of no weight in single precision: the agreement may exceed the total by a bit."""
    y = np.where(np.arange(300) % 2, 1, -1)
    for n_components in (10, 20, 30):
        model = GBRFF1Classifier(20, n_components=n_components, random_state=0)
        model.fit(np.ones((300, 10)), y, np.where(y == 1, 1, 1e-46))
        assert np.isfinite(model.train_loss_).all()


@pytest.mark.parametrize("make", BOOSTED)
def test_parameters_changed_after_fit(rng, tmp_path, make):
    X, y = waves(rng, 200)
    model = make(6, n_components=4, random_state=0).fit(X, y)
    stages = getattr(model, "staged_decision_function", None) or model.staged_predict
    expected = list(stages(X))
    model.set_params(n_components=2)
    assert len(list(stages(X))) == len(expected) == 6
    with pytest.raises(InvalidInputError, match="must be those it was fitted with"):
        save(model, tmp_path / "m.npz")


@pytest.mark.parametrize("gamma", [5e-324, 1e-310, 1e-20])
@pytest.mark.parametrize("n_components", [1, 3, 9])
def test_landmarks_of_nearly_constant_kernels_are_finite(rng, gamma, n_components):
    X, y = waves(rng, 100)
    for unit in (1, 1e300):
        model = GBRFFRegressor(4, n_components=n_components, gamma=gamma, random_state=0).fit(unit * X, y)
        assert np.isfinite(model.landmarks_).all()


@pytest.mark.parametrize("make", BOOSTED)
def test_inverse_temperature_zero_weighs_alike(rng, make):
    X, y = waves(rng)
    name = "beta" if make is GBRFF1Classifier else "c"
    alike = make(3, n_components=5, random_state=0, **{name: 0.0}).fit(X, y).expansion_.amplitudes.reshape(3, 5)
    np.testing.assert_allclose(alike, alike[:, :1].repeat(5, axis=1), rtol=1e-12)
    cold = make(3, n_components=5, random_state=0, **{name: 1e9}).fit(X, y).expansion_.amplitudes.reshape(3, 5)
    assert ((np.abs(cold) > 1e-12 * np.abs(cold).max(axis=1, keepdims=True)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("make", BOOSTED)
def test_samples_of_the_rows_do_as_well(rng, make):
    X, y = waves(rng, 6000)
    scores = [np.mean([make(60, n_components=10, max_samples=size, random_state=seed).fit(X[:4000], y[:4000])
                       .score(X[4000:], y[4000:]) for seed in range(3)]) for size in (None, 1024)]
    assert scores[1] > scores[0] - 0.03


def test_several_targets_in_any_unit(rng):
    X, _ = waves(rng, 800)
    targets = np.column_stack([np.sin(X[:, 0]), 1e8 + 1e3 * X[:, 1], 1e-100 * X[:, 2], np.full(800, 7.0)])
    model = GBRFFRegressor(100, random_state=0).fit(X[:600], targets[:600])
    predicted = model.predict(X)
    assert predicted.shape == (800, 4)
    for k in range(3):
        missed, spread = predicted[600:, k] - targets[600:, k], targets[600:, k].std()
        assert (missed / spread).std() < 0.3
    np.testing.assert_array_equal(predicted[:, 3], 7)
    assert 0.9 < model.score(X[600:], targets[600:]) < 1
    single = GBRFFRegressor(100, random_state=0).fit(X[:600], targets[:600, :1])
    assert single.predict(X).shape == (800,)
    stages = list(single.staged_predict(X[:5]))
    assert stages[0].shape == (5,)


def test_score_is_the_weighted_share_of_the_variance(rng):
    X, _ = waves(rng, 200)
    y = X[:, 0] + 0.5 * rng.standard_normal(200)
    model, weight = GBRFFRegressor(20, random_state=0).fit(X, y), rng.integers(0, 3, 200)
    missed = weight @ (y - model.predict(X)) ** 2
    spread = weight @ (y - np.average(y, weights=weight)) ** 2
    assert model.score(X, y, weight) == pytest.approx(1 - missed / spread)
    assert model.score(X, 1e200 * y, weight) == pytest.approx(
        1 - weight @ (y - 1e-200 * model.predict(X)) ** 2 / spread)


@pytest.mark.parametrize("bad", [None, "words", [[1, 2]] * 3, np.full(200, np.nan), np.ones((200, 0)),
                                 np.ones((200, 2, 2)), np.ones(199)])
def test_bad_targets_are_named(rng, bad):
    X, _ = waves(rng, 200)
    with pytest.raises(InvalidInputError, match=r"^y "):
        GBRFFRegressor().fit(X, bad)


def test_targets_without_weight_decide_nothing(rng):
    X, y = waves(rng, 300)
    weight, spoiled = np.ones(300), y.astype(float)
    weight[:50], spoiled[:50] = 0, 1e300
    models = [GBRFFRegressor(5, random_state=0).fit(X, target, weight, eval_set=(X, target, weight))
              for target in (y, spoiled)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_bad_eval_targets_are_named(rng):
    X, y = waves(rng, 200)
    with pytest.raises(InvalidInputError, match="eval_set y must have 1 targets, got 2"):
        GBRFFRegressor().fit(X, y, eval_set=(X, np.column_stack([y, y])))
    with pytest.raises(InvalidInputError, match=r"eval_set y must lie within 1e\+15 standard deviations"):
        GBRFFRegressor().fit(X, y, eval_set=(X, 1e20 * y))


@pytest.mark.parametrize(("make", "params", "message"), [
    (GBRFF1Classifier, {"n_components": 0}, "n_components must be an integer >= 1"),
    (GBRFF1Classifier, {"beta": -1}, "beta must be a finite number >= 0"),
    (GBRFF1Classifier, {"landmarks": "kmeans"}, "landmarks must be one of 'learn', 'random', got 'kmeans'"),
    (GBRFFClassifier, {"c": np.nan}, "c must be a finite number >= 0"),
    (GBRFFRegressor, {"scale_residuals": 1}, "scale_residuals must be one of True, False"),
    (GBRFFRegressor, {"learning_rate": 0}, "learning_rate must be a finite number > 0"),
])
def test_bad_parameters_are_named(rng, make, params, message):
    X, y = waves(rng, 50)
    with pytest.raises(InvalidInputError, match=message):
        make(**params).fit(X, y)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("max_samples", [None, 4096])
def test_memory_is_what_the_docstring_says(make, max_samples):
    n, d, n_components, unit = 60_000, 20, 20, 4
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    y, peaks = X[:, 0] * X[:, 1] > 0, []
    model = make(3, n_components=n_components, max_samples=max_samples, random_state=0, n_threads=1)
    model.fit(X[:1000], y[:1000])  # what is imported late

    def watch(_):
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()

    tracemalloc.start()
    model.fit(X, y, callback=watch)
    tracemalloc.stop()
    m = n if max_samples is None else max_samples
    state = 8 + 3 * unit if make is GBRFF1Classifier else 8 + 2 * unit
    rows = n * (unit * d + state + (0 if max_samples is None else 8))
    assert rows + 2 * unit * n_components * (m - 200) < max(peaks[1:])
    assert max(peaks[1:]) < rows + unit * m * (2 * n_components + 3) + 600_000


def mean_score(make, X, y, n_train, n_splits=6):
    """Mean over splits of their own, for on one the last bit of a loss decides over points of accuracy."""
    scores = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:]
        scores.append(make(random_state=seed).fit(X[train], y[train]).score(X[test], y[test]))
    return np.mean(scores)


@pytest.mark.parametrize(("name", "least"), [("pima", 0.72), ("newthyroid", 0.89)])
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_real_labels(real_data, make, name, least):
    """Untuned, near what the papers report tuned: 76.5 and 75.7 on pima, 95.3 and 93.2 on newthyroid."""
    X, y = real_data(name)
    assert mean_score(make, X, y, int(0.7 * len(y))) > least


def test_real_targets(real_data):
    assert mean_score(GBRFFRegressor, *real_data("energy"), 500, 2) > 0.93
