"""From checked rows to a fitted model: sizes, folds, what is kept of members, and who is told."""

import itertools
import threading

import numpy as np
import pytest

from rffkern import ColumnMap, FourierBoostingClassifier, FourierBoostingRegressor, InvalidInputError
from rffkern._rows.scaling import no_scaling
from rffkern._training.fourier_boosting.base_learners import LEARNERS, TreeLearner
from rffkern._training.fourier_boosting.binning import bin_columns
from rffkern._training.fourier_boosting.boosting import Bag
from rffkern._training.fourier_boosting.fit import mean_of_bags
from rffkern._training.fourier_boosting.terms import FourierTerm, TreeTerm
from rffkern._training.fourier_boosting.training_rows import Columns

RNG = np.random.default_rng(4)
X = RNG.standard_normal((400, 5))
Y = np.sin(2 * X[:, 1]) + 0.5 * (X[:, 3] > 0) + 0.1 * RNG.standard_normal(400)
SHORT = {"n_estimators": 30, "n_bags": 2, "random_state": 0, "kernel_ridge": False}


def test_bags_of_trees_learn_sharp_steps_among_many_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (1100, 40)) + 0.1 * rng.random((1100, 40))
    y = np.sign(X[:, 0] * X[:, 1]) + 0.2 * rng.standard_normal(1100)
    params = {"n_bags": 4, "validation_fraction": 0.5, "kernel_ridge": False, "random_state": 0}
    scores = [FourierBoostingRegressor(300, base_learners=names, **params).fit(X[:300], y[:300]).score(X[300:], y[300:])
              for names in (("fourier", "tree", "linear"), ("tree",), ("fourier", "linear"))]
    assert scores[0] > 0.5 * scores[1] > scores[2]


def test_bags_of_trees_hold_out_rows_of_the_other_bags_in_turn():
    model = FourierBoostingRegressor(n_estimators=2, n_bags=9, kernel_ridge=False, random_state=0,
                                     warm_start=True).fit(X, Y)
    held = [order.validation_rows() for order in model._training_state.orders]
    for own, other in zip(held[5:], held, strict=False):
        np.testing.assert_array_equal(own, other)
    assert len(np.unique(np.concatenate(held[:5]))) == sum(map(len, held[:5])) == 400


def test_members_hold_out_the_share_that_is_asked():
    y = np.repeat([0, 1], [300, 100])
    model = FourierBoostingClassifier(n_estimators=2, n_bags=5, kernel_ridge=False, validation_fraction=0.3,
                                      random_state=0, warm_start=True).fit(X, y)
    held = [order.rows[order.n_train :][order.used[order.n_train :]] for order in model._training_state.orders]
    assert all(abs(len(rows) - 120) <= 1 and abs(y[rows].sum() - 30) <= 1 for rows in held)
    assert len(np.unique(np.concatenate(held[:3]))) == sum(map(len, held[:3]))  # then all rows are drawn from anew


def test_copies_of_rows_do_not_praise_the_model(rng):
    """A minority that is drawn again and again: no copy of a held-out row is learned from."""
    X = rng.standard_normal((1300, 5))
    y = (rng.random(1300) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(int)
    few = np.flatnonzero(y[:300])
    rows = np.r_[:300, rng.choice(few, 300 - 2 * len(few))]
    model = FourierBoostingClassifier(300, n_bags=5, random_state=0).fit(X[rows], y[rows])
    new = np.r_[300:1300, rng.choice(300 + np.flatnonzero(y[300:]), 1000 - 2 * y[300:].sum())]
    loss = -np.log(model.predict_proba(X[new])[np.arange(len(new)), y[new]]).mean()
    assert loss < 0.8  # 0.60 to 0.64; it is 1.9 to 3.3 where copies are judged by
    last = FourierBoostingClassifier(5, n_bags=1, validation="last", kernel_ridge=False, warm_start=True)
    assert last.fit(X[rows], y[rows])._training_state.orders[0].used.sum() == len(rows)  # rows in order of time stay


def test_many_rows_on_threads(rng):
    """Threads that no bag takes share the rows of each: the bits are the same."""
    X = rng.standard_normal((60_000, 12))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    one, others = (FourierBoostingRegressor(4, n_bags=1, columns=None, kernel_ridge=False, random_state=0,
                                            n_jobs=n_jobs).fit(X, y) for n_jobs in (1, None))
    np.testing.assert_array_equal(one.predict(X), others.predict(X))


def test_the_callback_sees_every_round_of_every_member():
    seen = []
    model = FourierBoostingRegressor(**SHORT, early_stopping_rounds=4).fit(X, Y, callback=seen.append)
    assert [info.n_rounds for info in seen].count(1) == 2
    assert all(info.n_estimators == 30 for info in seen)
    assert sorted(info.bag for info in seen) == [info.bag for info in seen]  # one member after the other
    assert [info.bag for info in seen if info.n_rounds == 1] == [0, 1]
    starts = [k for k, info in enumerate(seen) if info.n_rounds == 1] + [len(seen)]
    best = []
    for start, stop in itertools.pairwise(starts):
        losses = [info.eval_loss for info in seen[start:stop]]
        best.append(np.argmin(losses) + 1)
        assert len(losses) == 30 or len(losses) - 1 - np.argmin(losses) == 4
    assert model.bag_counts_.tolist() == [sum(size >= t for size in best) for t in range(max(best) + 1)]


def test_a_callback_ends_the_fit():
    seen = []
    model = FourierBoostingRegressor(**SHORT, early_stopping_rounds=None)
    model.fit(X, Y, callback=lambda info: seen.append(info) or len(seen) == 5)
    assert model.bag_counts_.tolist() == [2, 2, 1, 1, 1, 1]
    with pytest.raises(InvalidInputError, match="callback must be callable"):
        model.fit(X, Y, callback=3)


def test_what_fails_in_a_member_leaves_the_model(monkeypatch):
    model = FourierBoostingRegressor(**SHORT).fit(X, Y)
    before, n_threads = dict(vars(model)), threading.active_count()
    monkeypatch.setattr("rffkern._training.fourier_boosting.bags.boost_bag", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(X[:300], Y[:300])
    assert vars(model) == before
    assert threading.active_count() <= n_threads + 2


def test_verbose_tells_of_rounds(capsys):
    FourierBoostingRegressor(**SHORT, verbose=10, early_stopping_rounds=None, n_jobs=1).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("bag 1/2  round 10/30  train loss ")


def test_importances_are_of_the_columns_of_the_table():
    """Also where a map makes several columns of one, or leaves one out."""
    table = np.column_stack([X[:, 0], np.ones(400), X[:, 1], X[:, 3], X[:, 0]])
    for columns in (None, "auto", ColumnMap(("standard", "rank", "bins"))):
        model = FourierBoostingRegressor(**SHORT | {"random_state": 2}, columns=columns).fit(table, Y)
        importances = model.feature_importances_
        assert importances.shape == (5,)
        assert importances.sum() == pytest.approx(1)
        assert importances[2] + importances[3] > 0.8
        assert importances[1] < 0.05
    assert FourierBoostingRegressor(**SHORT).fit(X, np.ones(400)).feature_importances_.tolist() == [0] * 5


def test_curves_are_means_over_members():
    model = FourierBoostingRegressor(**SHORT, early_stopping_rounds=None).fit(X, Y)
    assert len(model.train_loss_) == len(model.eval_loss_) == 31
    assert model.train_loss_[-1] < 0.5 * model.train_loss_[0]
    assert model.n_bags_ == 2
    assert model.n_estimators_ == 30
    assert model.bag_counts_.tolist() == [2] * 31


def test_held_out_rows_have_no_part_in_terms():
    """With an eval_set, rows of other values change rounds only where they stop."""
    held_out = X[:50] + 0.01, Y[:50]
    models = [FourierBoostingRegressor(**SHORT, early_stopping_rounds=None, base_learners=("fourier",)).fit(
        X, Y, eval_set=(scale * held_out[0], held_out[1])) for scale in (1, 100)]
    np.testing.assert_array_equal(models[0].expansion_.fourier.omegas, models[1].expansion_.fourier.omegas)
    np.testing.assert_array_equal(models[0].expansion_.fourier.amplitudes, models[1].expansion_.fourier.amplitudes)


def test_a_class_that_a_fold_does_not_show():
    labels = np.where(np.arange(400) == 7, "rare", np.where(X[:, 1] > 0, "a", "b"))
    model = FourierBoostingClassifier(**SHORT).fit(X, labels)
    assert model.classes_.tolist() == ["a", "b", "rare"]
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, labels) > 0.9


SETS = {"first": (X[:100], Y[:100]), "second": (X[100:220], Y[100:220], np.linspace(0, 2, 120))}


@pytest.mark.parametrize(("kind", "loss", "of_rows"), [
    ("fourier", "squared_error", lambda y, scores: (y - scores) ** 2 / 2),
    ("tree", "poisson", lambda y, scores: np.exp(scores) - y * scores - y + y * np.log(np.maximum(y, 1e-300)))])
def test_watched_losses_are_those_of_the_rounds(kind, loss, of_rows):
    """Of one member, which is the model."""
    target = Y if loss == "squared_error" else np.round(3 * np.exp(Y))
    sets = {name: (each[0], target[k : k + len(each[0])], *each[2:])
            for (name, each), k in zip(SETS.items(), (0, 100), strict=True)}
    model = FourierBoostingRegressor(25, n_bags=1, base_learners=(kind,), columns=None, loss=loss, kernel_ridge=False,
                                     random_state=0).fit(X, target, eval_set=sets)
    for name, (rows, y, *weight) in sets.items():
        predicted = np.stack(list(model.staged_predict(rows)))
        scores = predicted if loss == "squared_error" else np.log(predicted)
        expected = np.average(of_rows(y, scores), axis=1, weights=weight[0] if weight else None)
        unit = target.var() if loss == "squared_error" else target.mean()
        np.testing.assert_allclose(model.eval_losses_[name][1:], expected / unit, rtol=1e-4)
    np.testing.assert_array_equal(model.eval_losses_["first"], model.eval_loss_)


def test_watched_losses_of_classes_are_means_over_members(monkeypatch):
    monkeypatch.setattr("rffkern._training.fourier_boosting.calibration.inverse_temperature", lambda *_: 1.0)
    labels, sets = Y > 0, {name: (each[0], each[1] > 0, *each[2:]) for name, each in SETS.items()}
    model = FourierBoostingClassifier(**SHORT, early_stopping_rounds=None).fit(X, labels, eval_set=sets)
    rows, y, weight = sets["second"]
    alone = []
    for member in range(2):  # one of which each keeps its terms
        monkeypatch.setattr("rffkern._training.fourier_boosting.fit.mean_of_bags",
                            lambda members, shares, *rest, k=member: mean_of_bags(members[k : k + 1], np.ones(1),
                                                                                  *rest))
        one = FourierBoostingClassifier(**SHORT, early_stopping_rounds=None).fit(X, labels, eval_set=sets)
        assert one.eval_losses_["second"].tolist() == model.eval_losses_["second"].tolist()
        probabilities = np.stack(list(one.staged_predict_proba(rows)))[:, np.arange(120), y.astype(int)]
        alone.append(np.average(-np.log(probabilities), axis=1, weights=weight))
    np.testing.assert_allclose(model.eval_losses_["second"][1:], np.mean(alone, axis=0), rtol=1e-5)
    assert np.abs(alone[0] - alone[1]).max() > 1e-3


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("name_of_trees", ["tree", "another learner of trees"])
@pytest.mark.parametrize("order", [1, -1])
def test_the_mean_of_bags_in_raw_units(monkeypatch, n_outputs, name_of_trees, order):
    """Rounds of terms are in the order of these, whatever that of the base learners is."""
    learners = [*(LEARNERS | {name_of_trees: TreeLearner}).items()]
    monkeypatch.setattr("rffkern._training.fourier_boosting.fit.LEARNERS", dict(learners[::order]))
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((200, 3)) * [2, 1, 50] + [1, 0, 9]
    scaling = no_scaling(3)._replace(center=np.array([1.0, 0.0, 9.0]), inverse_scale=np.array([0.5, 1.0, 0.02]))
    rows = (raw - scaling.center) * scaling.inverse_scale
    values = np.ascontiguousarray(rows.T.astype(np.float32))
    binned = np.array([0, 2])
    columns = Columns(values, np.arange(3), binned, *bin_columns(values, binned), raw.min(axis=0), raw.max(axis=0))
    pairs = [FourierTerm(np.array([0, 2]), rng.standard_normal(2), rng.standard_normal((2, n_outputs)))
             for _ in range(3)]
    tables = [TreeTerm(rng.integers(0, 2, 2), rng.integers(0, 100, 2), rng.standard_normal((4, n_outputs)))
              for _ in range(3)]
    tables[1] = tables[1]._replace(columns=np.array([1, 1]), threshold_bins=np.array([80, 20]))  # one column twice
    tables[0] = tables[0]._replace(threshold_bins=np.array([255, 7]))  # a depth that splits nothing
    bags = [Bag([(pairs[0], 0.5), (None, 0.0), (tables[0], 2.0)], [], {}, {}, None),
            Bag([(tables[1], 1.0), (pairs[1], 1.0), (pairs[2], -1.0)], [], {}, {}, None)]
    scale = rng.uniform(1, 2, n_outputs)
    bags.append(bags[0])  # which has no share
    shares = np.array([0.25, 0.75, 0.0])
    expansion, rounds = mean_of_bags(bags, shares, columns, scaling, np.arange(float(n_outputs)), scale)

    expected = np.tile(np.arange(float(n_outputs)), (200, 1))
    for bag, share in zip(bags, shares, strict=True):
        for term, step in bag.steps:
            if term is None:
                continue
            if isinstance(term, FourierTerm):
                angle = rows[:, term.columns] @ term.omega
                value = np.cos(angle)[:, None] * term.amplitudes[0] + np.sin(angle)[:, None] * term.amplitudes[1]
                expected += share * step * scale * value
            else:
                leaves = sum((columns.bins[j] > b).astype(int) << level
                             for level, (j, b) in enumerate(zip(term.columns, term.threshold_bins, strict=True)))
                expected += (share * step * scale * term.values[leaves]).astype(np.float32)
    np.testing.assert_allclose(expansion.score(raw), expected, atol=1e-10)
    assert rounds.tolist() == [*np.repeat([1, 2, 3], 1 if n_outputs == 1 else 2), 3, 1]
