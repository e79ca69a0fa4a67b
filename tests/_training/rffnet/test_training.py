"""How RFFNet trains: epochs, penalties and steps, restarts, rows held out, rows streamed, threads."""

import copy
import math

import numpy as np
import pytest
import reference
from helpers.expansions import fourier_expansion
from helpers.networks import wavy

from rffkern import InvalidInputError, RFFNetClassifier, RFFNetRegressor, RowBlocks
from rffkern._rows import row_blocks
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.rffnet import training
from rffkern._training.rffnet.losses import regression_loss
from rffkern._training.rffnet.network import Objective


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
                              model.reg_lambda / size, model.reg_l1)
        n_steps += -(-len(order) // model.batch_size)
    cosines = np.cos((rows * relevances[0]) @ omegas.T + offsets)
    return y.mean() + y.std() * (cosines @ coefficients[0, 0, :-1] + coefficients[0, 0, -1])


def test_epochs_are_those_of_the_twin():
    X, y = wavy(700, n_features=6)
    model = RFFNetRegressor(40, precision="double", random_state=3, max_epochs=4, batch_size=16, reg_lambda=1e-3,
                            reg_l1=1e-3, n_restarts=1).fit(X, y)
    assert model.best_epoch_ == 4
    np.testing.assert_allclose(model.predict(X), replay(X, y, model, 4), rtol=1e-8, atol=1e-8)


def test_the_best_epoch_is_kept(few_columns):
    X, y, X_new, y_new = few_columns
    model = RFFNetRegressor(random_state=0).fit(X, y, eval_set=(X_new, y_new))
    assert model.best_epoch_ == model.eval_loss_.argmin() < model.n_epochs_ == len(model.eval_loss_) - 1
    loss = np.mean((model.predict(X_new) - y_new) ** 2) / np.var(y)
    assert model.eval_loss_.min() == pytest.approx(loss, rel=1e-4)
    assert model.eval_loss_[0] == pytest.approx(np.mean((y_new - y.mean()) ** 2) / np.var(y), rel=1e-5)


def test_watched_losses_are_those_of_the_kept_values(few_columns):
    X, y, X_new, y_new = few_columns
    weight = np.linspace(0, 1, len(y_new))
    model = RFFNetRegressor(random_state=0).fit(X[200:], y[200:], eval_set={
        "first": (X[:200], y[:200]), "new": (X_new, y_new, weight)})
    loss = np.average((model.predict(X_new) - y_new) ** 2, weights=weight) / np.var(y[200:])
    assert model.eval_losses_["new"][model.best_epoch_] == pytest.approx(loss, rel=1e-4)
    assert model.best_epoch_ == model.eval_losses_["first"].argmin() < model.n_epochs_
    assert model.partial_fit(X, y).eval_losses_ == {}


def test_early_stopping_and_callbacks(few_columns):
    X, y = few_columns[:2]
    steady = RFFNetRegressor(50, random_state=0, early_stopping_rounds=None, max_epochs=60).fit(X, y)
    assert steady.n_epochs_ == 60
    seen = []
    model = RFFNetRegressor(50, random_state=0)
    model.fit(X, y, callback=lambda info: seen.append((info.n_rounds, info.n_estimators)) or len(seen) == 3)
    assert seen == [(1, 300), (2, 300), (3, 300)]
    assert model.n_epochs_ == 3


def test_progress_is_printed(few_columns, capsys):
    RFFNetRegressor(50, random_state=0, verbose=2, max_epochs=4, n_restarts=2).fit(*few_columns[:2])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"restart {k}, epoch {n}/4" for k in (1, 2) for n in (2, 4)]
    assert all("train loss" in line and "eval loss" in line and "s left" in line for line in lines)


def test_the_best_restart_is_kept(few_columns):
    lowest = []
    for n_restarts in (1, 2, 4):
        model = RFFNetRegressor(20, random_state=1, n_restarts=n_restarts, max_epochs=20).fit(*few_columns[:2])
        lowest.append(model.eval_loss_.min())
    assert lowest[0] >= lowest[1] >= lowest[2]
    assert lowest[0] > lowest[2]


def test_warm_start_goes_on(few_columns):
    X, y = few_columns[:2]
    model = RFFNetRegressor(random_state=0, warm_start=True, max_epochs=5).fit(X, y)
    lowest, first, steps = model.eval_loss_.min(), model.predict(X), model._training_state.network.n_steps
    model.fit(X, y)
    assert model.eval_loss_[0] == lowest
    assert model.eval_loss_.min() <= lowest
    assert model._training_state.network.n_steps == 2 * steps
    fresh = RFFNetRegressor(random_state=0, max_epochs=5).fit(X, y)
    np.testing.assert_array_equal(fresh.predict(X), first)
    score = model.score(*few_columns[2:])
    model.fit(X[:1500], y[:1500])  # another number of rows, whose targets have another spread
    assert model.score(*few_columns[2:]) > score


def test_partial_fit_learns_from_some_rows_after_others(few_columns):
    X, y, X_new, y_new = few_columns
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


def test_partial_fit_after_fit_starts_there(rffnet, few_columns):
    model = copy.deepcopy(rffnet).partial_fit(*few_columns[:2])
    assert model._training_state.network.n_steps == rffnet._training_state.network.n_steps + 63
    assert model.score(*few_columns[2:]) > 0.95


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
    assert model._training_state.network.n_steps == 58  # 29 steps for 900 rows, twice to make 32


class TestStreams:
    """Rows that are read block by block."""

    @pytest.fixture(autouse=True)
    def small_chunks(self, monkeypatch):
        monkeypatch.setattr(row_blocks, "BLOCK_ELEMENTS", 1)  # blocks of 2048 rows

    @pytest.fixture
    def mapped(self, tmp_path):
        X, y = wavy(7000)
        np.save(tmp_path / "X.npy", X)
        return np.load(tmp_path / "X.npy", mmap_mode="r"), y

    @pytest.mark.slow
    def test_streams_learn(self, mapped):
        X, y = mapped
        X_new, y_new = wavy(1000, seed=1)
        for rows in (X, RowBlocks([np.asarray(X[:3000]), np.asarray(X[3000:])])):
            model = RFFNetRegressor(random_state=0, max_epochs=30).fit(rows, y)
            assert model.score(X_new, y_new) > 0.95
            assert model.score(rows, y) > 0.95

    def test_validation_rows_are_not_learned(self, mapped, monkeypatch):
        X, y = mapped
        seen, epoch = [], training.shuffled_epoch
        monkeypatch.setattr(training, "shuffled_epoch",
                            lambda *arguments: seen.append(arguments[1]) or epoch(*arguments))
        model = RFFNetRegressor(random_state=0, max_epochs=2).fit(X, y)
        held_out = model._training_state.validation_rows
        assert len(held_out) == 700
        assert len(seen) == 3 * 2  # restarts of epochs
        assert all(np.array_equal(members, np.setdiff1d(np.arange(7000), held_out)) for members in seen)

    def test_an_eval_set_is_streamed(self, mapped):
        X, y = mapped
        X_new, y_new = wavy(5000, seed=1)
        blocks = RowBlocks([X_new[:2999], X_new[2999:]])
        models = [RFFNetRegressor(random_state=0, max_epochs=5).fit(X, y, eval_set=(held_out, y_new))
                  for held_out in (X_new, blocks)]
        np.testing.assert_array_equal(models[0].eval_loss_, models[1].eval_loss_)

    def test_weightless_rows_do_not_count(self, mapped):
        X, y = mapped
        weight = (np.arange(7000) < 2000).astype(float)
        streamed = RFFNetRegressor(random_state=0, max_epochs=2).fit(X, y, weight)
        assert streamed.n_components_ == int(math.sqrt(2000) * math.log(2000))
        assert streamed._training_state.validation_rows.size == 200


@pytest.mark.parametrize(("n_samples", "expected"), [(100, 3), (10_001, 1)])
def test_number_of_restarts(n_samples, expected):
    X, y = wavy(n_samples)
    epochs = []
    RFFNetRegressor(10, max_epochs=2, batch_size=100).fit(X, y, callback=lambda info: epochs.append(info.n_rounds))
    assert epochs == expected * [1, 2]


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
@pytest.mark.parametrize("reg_lambda", ["auto", 1e-4])
def test_penalty_and_steps_fall_before_early_stopping_counts(rounds, reg_lambda, few_columns, monkeypatch):
    """Each of the penalties, then each of the steps, has had its epochs; no penalty comes twice."""
    seen, descend = [], Objective.descend

    def spy(self, rows, orders, eta, mu, rho):
        seen.append((round(eta / 0.03, 3), mu))
        return descend(self, rows, orders, eta, mu, rho)

    monkeypatch.setattr(Objective, "descend", spy)
    model = RFFNetRegressor(30, random_state=0, early_stopping_rounds=rounds, n_restarts=1, reg_lambda=reg_lambda)
    model.fit(*few_columns[:2])
    phases = list(dict.fromkeys(seen))
    ridges = [50 / 1800, 5 / 1800, 0.5 / 1800, 0.05 / 1800] if reg_lambda == "auto" else [1e-4]
    expected = [(1.0, ridge) for ridge in ridges] + [(0.3, ridges[-1]), (0.09, ridges[-1])]
    np.testing.assert_allclose(phases, expected, rtol=1e-3)
    assert all(seen.count(phase) >= 3 for phase in phases[:-1])
    assert model.n_epochs_ - model.best_epoch_ >= rounds


@pytest.mark.slow
def test_sorted_rows_train_without_validation():
    X, y = wavy(9000)
    order = np.argsort(y)
    model = RFFNetRegressor(random_state=0, validation_fraction=0, max_epochs=20).fit(X[order], y[order])
    assert model.eval_loss_.size == 0
    assert model.best_epoch_ > 5
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("order", ["first", "later"])
def test_rows_far_out_do_no_harm(order, few_columns):
    X, y = few_columns[:2]
    far = X.copy()
    far[::50, 2] = 1e300
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        model = RFFNetRegressor(100, random_state=0, max_epochs=40)
        if order == "later":
            model.fit(X, y).partial_fit(far, y)
        weight = np.where(np.arange(2000) % 50, 1, 1e-80)
        model.fit(far, y, weight, eval_set=(far, y, weight)).partial_fit(X, y)
    assert np.isfinite(model.relevances_).all()
    assert np.isfinite(model.eval_loss_).all()


@pytest.mark.parametrize("n_samples", [1, 5])
def test_the_first_call_must_have_spread(n_samples):
    model = RFFNetClassifier(10)
    with pytest.raises(InvalidInputError, match=rf"X must have rows that differ.*got {n_samples} row\(s\)"):
        model.partial_fit(np.ones((n_samples, 2)), np.zeros(n_samples), classes=[0, 1])
    assert not hasattr(model, "expansion_")


def test_calls_with_few_rows_do_not_undo_what_was_learned(rffnet, few_columns):
    X, y, X_new, y_new = few_columns
    model = copy.deepcopy(rffnet)
    for start in range(0, 2000, 20):
        model.partial_fit(X[start : start + 20], y[start : start + 20])
    assert model.score(X_new, y_new) > 0.95
    assert model._training_state.n_seen == 4000
    model.partial_fit(X[:1], y[:1])  # one row will do


def test_classes_that_are_stated(few_columns):
    X = few_columns[0][:6]
    for classes in (5, np.array(3), iter([0, 1])):
        with pytest.raises(InvalidInputError, match="classes must"):
            RFFNetClassifier(10).partial_fit(X, [0, 1] * 3, classes=classes)
    model = RFFNetClassifier(10).partial_fit(X, [0, 1] * 3, classes=[1, 0])
    with pytest.raises(InvalidInputError, match=r"classes must be those .* \[0, 1\], got \[0, 1, 2\]"):
        model.partial_fit(X, [0, 1] * 3, classes=[0, 1, 2])
    weight = np.array([1, 1, 1, 1, 1, 0])
    model.partial_fit(X, [0, 1, 0, 1, 0, 7], sample_weight=weight)


def test_warm_start_holds_other_rows_out_where_asked(few_columns):
    X, y = few_columns[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=2, warm_start=True).fit(X, y)
    held_out = model._training_state.validation_rows
    assert model.fit(X, y)._training_state.validation_rows is held_out
    assert model.set_params(validation_fraction=0.3).fit(X, y)._training_state.validation_rows.size == 600
    assert model.set_params(validation_fraction=0).fit(X, y).eval_loss_.size == 0
    model.set_params(validation_fraction=0.1).fit(X, y, eval_set=(X, y))
    assert model._training_state.validation_rows.size == 0
    assert model.fit(X, y)._training_state.validation_rows.size == 200


@pytest.mark.parametrize("continues", [False, True])
def test_an_interrupt_leaves_the_old_model(continues, few_columns):
    X, y = few_columns[:2]
    model = RFFNetRegressor(20, random_state=0, max_epochs=3, warm_start=continues).fit(X, y)
    before, steps = model.predict(X), model._training_state.network.n_steps

    def interrupt(info):
        if info.n_rounds == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callback=interrupt)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model._training_state.network.n_steps == steps


def test_whole_weights_are_repetitions():
    """In one batch of all rows, and with the same rows to validate on."""
    X, y = wavy(60)
    weight = np.arange(60) % 3 + 1.0
    common = {"random_state": 0, "max_epochs": 3, "batch_size": 200, "precision": "double", "n_components": 20,
              "reg_lambda": 1e-3, "n_restarts": 1}
    held_out = wavy(30, seed=1)
    heavy = RFFNetRegressor(**common).fit(X, y, weight, eval_set=held_out)
    repeated = np.repeat(np.arange(60), weight.astype(int))
    many = RFFNetRegressor(**common).fit(X[repeated], y[repeated], eval_set=held_out)
    np.testing.assert_allclose(heavy.train_loss_[1:], many.train_loss_[1:], rtol=1e-6)


@pytest.mark.parametrize("streamed", [False, True])
def test_long_epochs_are_validated_in_parts(streamed, monkeypatch):
    """Of 5401 steps, in 11 parts; what has the lowest loss is kept, wherever in an epoch it was."""
    X, y = wavy(6001, n_features=8)
    monkeypatch.setattr(row_blocks, "BLOCK_ELEMENTS", 1)
    losses, mean_loss = [], Objective.mean_loss

    def spy(*arguments):
        losses.append(mean_loss(*arguments))
        return losses[-1]

    monkeypatch.setattr(Objective, "mean_loss", spy)
    model = RFFNetRegressor(20, random_state=0, batch_size=1, max_epochs=3, n_restarts=1)
    model.fit(RowBlocks(X) if streamed else X, y)
    state = model._training_state
    assert state.network.n_steps == 3 * 5401
    validations = losses[1:]  # but for the training loss before any step
    per_epoch = (len(validations) - 1) // 3
    assert 8 <= per_epoch <= 11 if streamed else per_epoch == 11
    assert model.eval_loss_[0] == validations[0]
    np.testing.assert_array_equal(model.eval_loss_[1:], np.min(np.reshape(validations[1:], (3, per_epoch)), axis=1))
    rows, targets = X[state.validation_rows], ((y - y.mean()) / y.std())[state.validation_rows, None]
    objective = Objective(state.network, regression_loss("squared_error", 1.35, 0.5), state.scaling, 1, 1)
    found = mean_loss(objective, TargetRows(rows, targets, RowWeights(600)))
    assert found == pytest.approx(min(validations), rel=1e-6)


def test_what_follows_from_a_file():
    expansion = fourier_expansion(np.zeros((4, 2)), np.zeros(4), np.zeros((4, 1)), [0.0], np.zeros(2))
    model = RFFNetRegressor()
    curves = dict(zip(model._fitted_curves, map(np.array, ([3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [0.0, 5.0])), strict=True))
    found = {"n_components_": 4, "n_epochs_": 2, "best_epoch_": 1}
    assert model._restored(expansion, curves) == found
    assert model._restored(expansion, curves | {"eval_loss_": np.empty(0)}) == found | {"best_epoch_": 2}
    for wrong in ({"train_loss_": np.ones((3, 1))}, {"eval_loss_": np.ones((3, 1))}, {"eval_loss_": np.ones(2)},
                  {"relevances_": np.ones(3)}, {"relevances_": np.array([0.0, -1e-300])}):
        with pytest.raises(ValueError, match=r"do not agree|malformed"):
            model._restored(expansion, curves | wrong)


def test_nothing_is_drawn_for_validation_with_an_eval_set(few_columns):
    """The first draw is that of the omegas: they differ from the model's by the factor of each column."""
    X, y, X_new, y_new = few_columns
    model = RFFNetRegressor(20, random_state=3, max_epochs=1, n_restarts=1).fit(X, y, eval_set=(X_new, y_new))
    ratio = model.expansion_.fourier.omegas / np.random.default_rng(3).standard_normal((20, 8))
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-4)
