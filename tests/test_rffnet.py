"""RFFNet as its users meet it."""

import copy
import math

import numpy as np
import pytest
import reference

from rffkern import InvalidInputError, NotFittedError, RFFNetClassifier, RFFNetRegressor, RowBlocks, load, save
from rffkern import _row_blocks as row_blocks
from rffkern import _spectral_densities as densities
from rffkern._rffnet_training import Problem


def wavy(n_samples, seed=0, n_features=8):
    """Rows of which columns 2 and 5 alone matter, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.sin(2 * X[:, 2]) + X[:, 5] ** 2 + 0.1 * rng.standard_normal(n_samples)


@pytest.fixture(scope="module")
def problem():
    X, y = wavy(3000)
    return X[:2000], y[:2000], X[2000:], y[2000:]


@pytest.fixture(scope="module")
def fitted(problem):
    return RFFNetRegressor(random_state=0).fit(*problem[:2])


def test_finds_the_columns_that_matter(fitted, problem):
    assert fitted.score(*problem[2:]) > 0.97
    assert sorted(fitted.select_top_k(2).tolist()) == [2, 5]
    assert fitted.feature_importances_.max() == 1
    assert np.sort(fitted.feature_importances_)[-3] < 0.2
    np.testing.assert_allclose(fitted.feature_importances_, fitted.relevances_ / fitted.relevances_.max())


def test_selection_path(fitted, problem):
    path = fitted.selection_path(*problem[2:])
    assert path.sizes.tolist() == list(range(1, 9))
    np.testing.assert_array_equal(path.columns, np.argsort(-fitted.relevances_, kind="stable"))
    assert path.scores[0] < 0.8 < path.scores[1]
    assert path.scores[-1] == fitted.score(*problem[2:])
    few = fitted.selection_path(*problem[2:], sizes=[0, 2])
    assert few.scores[0] < 0.1
    assert few.scores[1] == path.scores[1]
    np.testing.assert_array_equal(fitted.select_top_k(3), path.columns[:3])


@pytest.mark.parametrize(("call", "message"), [
    (lambda model: model.select_top_k(0), "k must be an integer >= 1 and <= 8, got 0"),
    (lambda model: model.select_top_k(2.5), "k must be an integer"),
    (lambda model: model.selection_path(np.eye(8), np.ones(8), sizes=[9]), "sizes must be an integer >= 0 and <= 8"),
    (lambda model: model.selection_path(np.eye(8), np.ones(8), sizes=3), "sizes must be an iterable"),
])
def test_bad_selections(fitted, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(fitted)


@pytest.mark.parametrize(("n_samples", "expected"), [(50, 100), (2000, int(math.sqrt(2000) * math.log(2000)))])
def test_number_of_terms(n_samples, expected):
    model = RFFNetClassifier(max_epochs=1).fit(*(wavy(n_samples)[0], np.arange(n_samples) % 2))
    assert model.n_components_ == model.expansion_.n_terms == expected


def test_most_terms():
    X = np.random.default_rng(0).standard_normal((140_000, 1)).astype(np.float32)
    assert RFFNetRegressor(max_epochs=1, batch_size=8192).fit(X, X[:, 0]).n_components_ == 4096


KERNELS = {
    "gaussian": lambda x: np.exp(-0.5 * (x**2).sum(axis=1)),
    "laplace": lambda x: np.exp(-np.abs(x).sum(axis=1)),
    "matern32": lambda x: (1 + np.sqrt(3 * (x**2).sum(axis=1))) * np.exp(-np.sqrt(3 * (x**2).sum(axis=1))),
    "matern52": lambda x: (1 + np.sqrt(5 * (x**2).sum(axis=1)) + 5 / 3 * (x**2).sum(axis=1))
    * np.exp(-np.sqrt(5 * (x**2).sum(axis=1))),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_omegas_are_of_the_spectral_density(kernel, rng):
    omegas = densities.SPECTRAL_DENSITIES[kernel](rng, (200_000, 3))
    x = rng.standard_normal((20, 3)) * rng.uniform(0.1, 2, (20, 1))
    np.testing.assert_allclose(np.cos(x @ omegas.T).mean(axis=1), KERNELS[kernel](x), atol=5 / math.sqrt(200_000))


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_learns_with_every_kernel(kernel, precision, problem):
    model = RFFNetRegressor(kernel=kernel, precision=precision, random_state=0).fit(*problem[:2])
    assert model.score(*problem[2:]) > 0.9


def replay(X, y, model, n_epochs):
    """What epochs make of documented draws, for targets in units of their spread: expansion values at X."""
    rng = np.random.default_rng(model.random_state)
    held_out = np.sort(rng.permutation(len(X))[: int(0.1 * len(X))])
    members = np.delete(np.arange(len(X)), held_out)
    n_terms, n_features = model.n_components, X.shape[1]
    omegas, offsets = rng.standard_normal((n_terms, n_features)), rng.uniform(0, 2 * np.pi, n_terms)
    coefficients, relevances = np.zeros((3, 1, n_terms + 1)), np.zeros((3, n_features))
    relevances[0] = 1 / math.sqrt(n_features)
    step = 23 * model.learning_rate / n_terms
    rates = step, step / math.sqrt(2 / n_terms), model.learning_rate / math.sqrt(n_features)
    rows, target, size = (X - X.mean(axis=0)) / X.std(axis=0), ((y - y.mean()) / y.std())[:, None], 2 / n_terms
    n_steps = 0
    for _ in range(n_epochs):
        order = members[rng.permutation(len(members))]
        reference.rffnet_pass(rows[order], target[order], np.ones(len(order)), omegas, offsets, coefficients,
                              relevances, lambda f, y: 2 * (f - y), model.batch_size, n_steps, rates,
                              model.reg_lambda / size, model.reg_l1, model.solver == "joint")
        n_steps += -(-len(order) // model.batch_size)
    waves = np.cos((rows * relevances[0]) @ omegas.T + offsets)
    return y.mean() + y.std() * (waves @ coefficients[0, 0, :-1] + coefficients[0, 0, -1])


@pytest.mark.parametrize("solver", ["alternating", "joint"])
def test_epochs_are_those_of_the_twin(solver):
    X, y = wavy(700, n_features=6)
    model = RFFNetRegressor(40, solver=solver, precision="double", random_state=3, max_epochs=4, batch_size=16,
                            reg_lambda=1e-3, reg_l1=1e-3, n_restarts=1).fit(X, y)
    assert model.best_epoch_ == 4
    np.testing.assert_allclose(model.predict(X), replay(X, y, model, 4), rtol=1e-8, atol=1e-8)


def test_solvers_differ(problem):
    models = [RFFNetRegressor(solver=solver, random_state=0, max_epochs=3).fit(*problem[:2])
              for solver in ("alternating", "joint")]
    assert models[0].predict(problem[2][:1]) != models[1].predict(problem[2][:1])
    assert RFFNetRegressor(solver="joint", random_state=0).fit(*problem[:2]).score(*problem[2:]) > 0.97


def test_the_best_epoch_is_kept(problem):
    X, y, X_new, y_new = problem
    model = RFFNetRegressor(random_state=0).fit(X, y, eval_set=(X_new, y_new))
    assert model.best_epoch_ == model.eval_loss_.argmin() < model.n_epochs_ == len(model.eval_loss_) - 1
    loss = np.mean((model.predict(X_new) - y_new) ** 2) / np.var(y)
    assert model.eval_loss_.min() == pytest.approx(loss, rel=1e-4)
    assert model.eval_loss_[0] == pytest.approx(np.mean((y_new - y.mean()) ** 2) / np.var(y), rel=1e-5)


def test_patience_and_callbacks(problem):
    X, y = problem[:2]
    patient = RFFNetRegressor(50, random_state=0, patience=None, max_epochs=60).fit(X, y)
    assert patient.n_epochs_ == 60
    seen = []
    model = RFFNetRegressor(50, random_state=0)
    model.fit(X, y, callback=lambda info: seen.append((info.n_rounds, info.n_estimators)) or len(seen) == 3)
    assert seen == [(1, 300), (2, 300), (3, 300)]
    assert model.n_epochs_ == 3


def test_progress_is_printed(problem, capsys):
    RFFNetRegressor(50, random_state=0, verbose=2, max_epochs=4, n_restarts=2).fit(*problem[:2])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"restart {k}, epoch {n}/4" for k in (1, 2) for n in (2, 4)]
    assert all("train loss" in line and "eval loss" in line and "s left" in line for line in lines)


def test_the_best_restart_is_kept(problem):
    lowest = []
    for n_restarts in (1, 2, 4):
        model = RFFNetRegressor(20, random_state=1, n_restarts=n_restarts, max_epochs=20).fit(*problem[:2])
        lowest.append(model.eval_loss_.min())
    assert lowest[0] >= lowest[1] >= lowest[2]
    assert lowest[0] > lowest[2]


def test_l1_penalty_makes_relevances_zero(problem):
    model = RFFNetRegressor(random_state=0, reg_l1=0.02).fit(*problem[:2])
    assert np.flatnonzero(model.relevances_).tolist() == [2, 5]


def test_huber_loss_resists_outliers(problem):
    X, y, X_new, y_new = problem
    spoiled = y.copy()
    spoiled[::10] += 50
    errors = {}
    for loss in ("squared", "huber"):
        model = RFFNetRegressor(loss=loss, delta=0.1, random_state=0).fit(X, spoiled)
        errors[loss] = np.median(np.abs(model.predict(X_new) - y_new))
    assert errors["huber"] < 0.25 < 2 * errors["huber"] < errors["squared"]


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_pinball_loss_estimates_quantiles(quantile, rng):
    X = rng.standard_normal((13_000, 3))
    y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.standard_normal(13_000)
    model = RFFNetRegressor(loss="pinball", quantile=quantile, random_state=0).fit(X[:3000], y[:3000])

    def loss(predicted):
        return np.mean(np.maximum(quantile * (y[3000:] - predicted), (quantile - 1) * (y[3000:] - predicted)))

    predicted = model.predict(X[3000:])
    assert np.mean(y[3000:] < predicted) == pytest.approx(quantile, abs=0.07)
    assert loss(predicted) < 0.8 * loss(np.quantile(y[:3000], quantile))


def test_several_targets_share_relevances(problem):
    X, y, X_new, y_new = problem
    both = RFFNetRegressor(random_state=0).fit(X, np.column_stack([y, 1000 * X[:, 2] + 7]))
    assert both.score(X_new, np.column_stack([y_new, 1000 * X_new[:, 2] + 7])) > 0.95
    assert both.relevances_.shape == (8,)


def test_several_classes(problem):
    X, y, X_new, y_new = problem
    edges = np.quantile(y, [0.25, 0.5, 0.75])
    labels, labels_new = (np.array(["a", "b", "c", "d"])[np.digitize(values, edges)] for values in (y, y_new))
    model = RFFNetClassifier(random_state=0).fit(X, labels)
    assert model.score(X_new, labels_new) > 0.85
    scores, proba = model.decision_function(X_new), model.predict_proba(X_new)
    np.testing.assert_allclose(proba, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), rtol=1e-12)
    assert sorted(model.select_top_k(2).tolist()) == [2, 5]
    loss = -np.mean(np.log(proba[np.arange(1000), np.searchsorted(model.classes_, labels_new)]))
    assert loss < 0.5


def test_two_classes(problem):
    X, y, X_new, y_new = problem
    model = RFFNetClassifier(random_state=0).fit(X, y > 1)
    scores = model.decision_function(X_new)
    np.testing.assert_allclose(model.predict_proba(X_new)[:, 1], 1 / (1 + np.exp(-scores)), rtol=0, atol=1e-12)
    assert model.score(X_new, y_new > 1) > 0.9


def test_weights_decide_between_contradictions(problem):
    X = problem[0]
    rows, labels = np.vstack([X, X]), np.repeat([0, 1], 2000)
    weight = np.where(np.concatenate([X[:, 0] > 0, X[:, 0] <= 0]), 20.0, 1.0)
    model = RFFNetClassifier(random_state=0).fit(rows, labels, weight)
    assert model.score(X, X[:, 0] <= 0) > 0.95


def test_warm_start_goes_on(problem):
    X, y = problem[:2]
    model = RFFNetRegressor(random_state=0, warm_start=True, max_epochs=5).fit(X, y)
    lowest, first, steps = model.eval_loss_.min(), model.predict(X), model._state.network.n_steps
    model.fit(X, y)
    assert model.eval_loss_[0] == lowest
    assert model.eval_loss_.min() <= lowest
    assert model._state.network.n_steps == 2 * steps
    fresh = RFFNetRegressor(random_state=0, max_epochs=5).fit(X, y)
    np.testing.assert_array_equal(fresh.predict(X), first)
    score = model.score(*problem[2:])
    model.fit(X[:1500], y[:1500])  # another number of rows, whose targets have another spread
    assert model.score(*problem[2:]) > score


def test_partial_fit_learns_from_pieces(problem):
    X, y, X_new, y_new = problem
    model = RFFNetRegressor(200, random_state=0)
    for _ in range(30):
        for rows in np.split(np.arange(2000), 4):
            model.partial_fit(X[rows], y[rows])
    assert model.score(X_new, y_new) > 0.9
    assert model.train_loss_.size == model.eval_loss_.size == 0
    classifier = RFFNetClassifier(200, random_state=0).partial_fit(X[:100], ["no"] * 100, classes=["no", "yes"])
    for _ in range(30):
        classifier.partial_fit(X, np.where(y > 1, "yes", "no"))
    assert classifier.score(X_new, np.where(y_new > 1, "yes", "no")) > 0.85


def test_partial_fit_after_fit_starts_there(fitted, problem):
    model = copy.deepcopy(fitted).partial_fit(*problem[:2])
    assert model._state.network.n_steps == fitted._state.network.n_steps + 63
    assert model.score(*problem[2:]) > 0.95


@pytest.mark.parametrize(("change", "message"), [
    (lambda m, X, y: m.partial_fit(X[:, :3], y), "X has 3 features, but RFFNetRegressor is expecting 8 features"),
    (lambda m, X, y: m.set_params(n_components=7).partial_fit(X, y), "n_components must be 332 or None .*, got 7"),
    (lambda m, X, y: m.partial_fit(X, np.column_stack([y, y])), "y must have the targets or classes"),
    (lambda m, X, y: m.set_params(precision="double").partial_fit(X, y), "precision must be that of the training"),
])
def test_training_that_cannot_go_on(problem, change, message):
    X, y = problem[:2]
    model = RFFNetRegressor(random_state=0, max_epochs=1, n_components=332).fit(X, y)
    before = model.predict(X)
    with pytest.raises(InvalidInputError, match=message):
        change(model.set_params(n_components=None), X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_labels_that_cannot_come(problem):
    X = problem[0]
    with pytest.raises(InvalidInputError, match="at least two classes"):
        RFFNetClassifier().partial_fit(X[:5], [1] * 5)
    model = RFFNetClassifier(20, random_state=0).partial_fit(X[:4], [0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match="y must hold labels seen in y, got 2"):
        model.partial_fit(X[:2], [2, 0])


def test_a_model_from_a_file_cannot_go_on(fitted, problem, tmp_path):
    save(fitted, tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.relevances_, fitted.relevances_)
    assert (loaded.best_epoch_, loaded.n_epochs_) == (fitted.best_epoch_, fitted.n_epochs_)
    with pytest.raises(NotFittedError, match="was read from a file"):
        loaded.partial_fit(*problem[:2])
    with pytest.raises(NotFittedError, match="was read from a file"):
        loaded.set_params(warm_start=True).fit(*problem[:2])
    assert loaded.set_params(warm_start=False).fit(*problem[:2]).score(*problem[2:]) > 0.9


@pytest.mark.parametrize("n_samples", [2, 3, 9, 10, 31])
@pytest.mark.parametrize("batch_size", [1, 32, 5000])
def test_few_rows_train(n_samples, batch_size):
    X, y = wavy(n_samples)
    model = RFFNetRegressor(random_state=0, batch_size=batch_size, max_epochs=20).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.train_loss_.min() < model.train_loss_[0]


def test_the_last_batch_is_used():
    X, y = wavy(1000)
    model = RFFNetRegressor(random_state=0, max_epochs=1, batch_size=32).fit(X, y)
    assert model._state.network.n_steps in (0, 58)  # 29 steps for 900 rows, twice to make 32


def test_no_epoch_is_worse_than_a_constant(rng):
    X, y = rng.standard_normal((500, 20)), rng.standard_normal(500)
    model = RFFNetRegressor(random_state=0).fit(X, y)
    assert model.eval_loss_.min() <= model.eval_loss_[0]


@pytest.mark.parametrize("params", [{"learning_rate": 1.0}, {"reg_lambda": 0.0}, {"reg_lambda": 1e10},
                                    {"reg_l1": 1e10}, {"kernel": "laplace"}])
def test_extremes_are_finite(params, problem):
    X, y = problem[0].copy(), problem[1] * 1e20
    X[0, 0] = 1e6  # an outlier: the cosines of a column that begins at its range would alias
    model = RFFNetRegressor(random_state=0, max_epochs=10, **params).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.eval_loss_).all()
    assert np.isfinite(model.train_loss_).all()


def test_columns_that_do_not_vary_do_not_matter(problem):
    X, y = problem[:2]
    X = np.column_stack([X, np.full(2000, 7.0)])
    model = RFFNetRegressor(random_state=0, max_epochs=5).fit(X, y)
    assert model.relevances_[8] == 0
    assert model.feature_importances_[8] == 0


@pytest.mark.parametrize("standardize", [True, False])
def test_ratios_of_spreads_are_kept_without_standardisation(standardize, problem):
    X, y, X_new, y_new = problem
    unit = np.array([1, 1, 3, 1, 1, 3, 1, 1]) * 1000.0
    model = RFFNetRegressor(random_state=0, standardize=standardize).fit(X * unit, y)
    assert model.score(X_new * unit, y_new) > 0.9


class TestStreams:
    """Rows that are read chunk by chunk."""

    @pytest.fixture(autouse=True)
    def small_chunks(self, monkeypatch):
        monkeypatch.setattr(row_blocks, "BLOCK_ELEMENTS", 1)  # chunks of one block of 2048 rows

    @pytest.fixture
    def mapped(self, tmp_path):
        X, y = wavy(7000)
        np.save(tmp_path / "X.npy", X)
        return np.load(tmp_path / "X.npy", mmap_mode="r"), y

    def test_every_row_is_visited_once_in_random_order(self, mapped, rng):
        rows, _ = row_blocks.check_rows(mapped[0])
        members = np.flatnonzero(rng.random(7000) < 0.6)
        targets, weight = np.arange(7000.0)[:, None], rng.random(7000)
        visits = list(Problem(rows, targets, weight, 1).visits(members, rng))
        assert len(visits) == 4
        found = np.concatenate([visit_targets[order, 0] for _, order, visit_targets, _ in visits]).astype(int)
        np.testing.assert_array_equal(np.sort(found), members)
        assert not (np.diff(found) > 0).all()
        for X, order, visit_targets, visit_weight in visits:
            places = visit_targets[order, 0].astype(int)
            np.testing.assert_array_equal(X[order], mapped[0][places])
            np.testing.assert_array_equal(visit_weight[order], weight[places])
        firsts = {tuple(visit[2][0, 0] for visit in Problem(rows, targets, None, 1).visits(members, rng))
                  for _ in range(20)}
        assert len(firsts) > 5  # chunks come in random order

    def test_streams_learn(self, mapped):
        X, y = mapped
        X_new, y_new = wavy(1000, seed=1)
        for rows in (X, RowBlocks([np.asarray(X[:3000]), np.asarray(X[3000:])])):
            model = RFFNetRegressor(random_state=0, max_epochs=30).fit(rows, y)
            assert model.score(X_new, y_new) > 0.95
            assert model.score(rows, y) > 0.95

    def test_validation_rows_are_not_learned(self, mapped, monkeypatch):
        X, y = mapped
        seen = []
        visits = Problem.visits

        def spy(self, members, rng):
            seen.append(members)
            return visits(self, members, rng)

        monkeypatch.setattr(Problem, "visits", spy)
        RFFNetRegressor(random_state=0, max_epochs=2).fit(X, y)
        assert all(len(members) == 6300 for members in seen)


@pytest.mark.parametrize(("params", "message"), [
    ({"n_components": 0}, "n_components must be an integer >= 1"),
    ({"kernel": "rbf"}, "kernel must be one of 'gaussian', 'laplace', 'matern32', 'matern52', got 'rbf'"),
    ({"loss": "absolute"}, "loss must be one of 'squared', 'huber', 'pinball', got 'absolute'"),
    ({"delta": 0}, "delta must be a finite number > 0"),
    ({"quantile": 1}, "quantile must be a finite number"),
    ({"solver": "adam"}, "solver must be one of 'alternating', 'joint', got 'adam'"),
    ({"learning_rate": 0}, "learning_rate must be a finite number > 0 and <= 1, got 0"),
    ({"reg_lambda": -1}, "reg_lambda must be a finite number >= 0"),
    ({"reg_lambda": "scale"}, "reg_lambda must be 'auto' or a number >= 0, got 'scale'"),
    ({"reg_l1": -1}, "reg_l1 must be a finite number >= 0"),
    ({"batch_size": 0}, "batch_size must be an integer >= 1"),
    ({"max_epochs": 0}, "max_epochs must be an integer >= 1"),
    ({"patience": 0}, "patience must be an integer >= 1"),
    ({"validation_fraction": 1}, "validation_fraction must be a finite number >= 0 and <= 0.9, got 1"),
    ({"n_restarts": 0}, "n_restarts must be an integer >= 1"),
    ({"warm_start": 1}, "warm_start must be one of True, False, got 1"),
])
def test_bad_parameters(params, message, problem):
    with pytest.raises(InvalidInputError, match=message):
        RFFNetRegressor(**params).fit(*problem[:2])


def test_names_are_kept_by_rows_without_any(problem):
    pd = pytest.importorskip("pandas")
    X, y = problem[:2]
    names = [f"f{j}" for j in range(8)]
    model = RFFNetRegressor(20, random_state=0).partial_fit(pd.DataFrame(X, columns=names), y).partial_fit(X, y)
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(InvalidInputError, match="same order"):
        model.partial_fit(pd.DataFrame(X, columns=names[::-1]), y)


@pytest.mark.parametrize(("n_samples", "expected"), [(100, 3), (10_001, 1)])
def test_number_of_restarts(n_samples, expected):
    X, y = wavy(n_samples)
    epochs = []
    RFFNetRegressor(10, max_epochs=2, batch_size=100).fit(X, y, callback=lambda info: epochs.append(info.n_rounds))
    assert epochs == expected * [1, 2]


def test_targets_of_another_scale_are_refused_where_training_goes_on(problem):
    X, y = problem[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=1).fit(X, 1e-300 * y)
    with pytest.raises(InvalidInputError, match="y must lie within 1e\\+15 standard deviations"):
        model.partial_fit(X, 1e300 * y)


def test_rows_are_held_out_where_an_eval_set_was_before(problem):
    X, y = problem[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=2, warm_start=True).fit(X, y, eval_set=(X, y))
    assert model._state.held_out.size == 0
    assert model.fit(X, y).eval_loss_.size == 3
    assert model._state.held_out.size == 200
