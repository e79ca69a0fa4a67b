"""The boosting loop on a toy loss and a toy search, and what all four classes keep of it."""

import numpy as np
import pytest
from helpers.boosted import waves

from rffkern import GBRFF1Classifier, GBRFF2Classifier, GBRFFClassifier, GBRFFRegressor
from rffkern._estimator.monitor import Monitor
from rffkern._training.gbrff.boosting import run_rounds


class Number:
    """Training rows of one number that is to become 0; weak learners are numbers to add to it."""

    def __init__(self, value):
        self.value, self.loss, self.log = value, value**2, []

    def set_direction(self, learner):
        self.log.append("set_direction")
        self.direction = learner

    def best_step(self):
        self.log.append("best_step")
        return -self.value / self.direction

    def add_step(self, step):
        self.log.append("add_step")
        self.value += step * self.direction
        self.loss = self.value**2


class Samples:
    """The sample of a round is its number."""

    def sample(self, t):
        return t


class Search:
    """Weak learners by round and output."""

    def __init__(self):
        self.asked = []

    def fit(self, sample, rows, t, output):
        assert sample == t
        self.asked.append((t, output, rows.value))
        return 2.0


def boost(outputs, evaluation, search, learning_rate, monitor):
    rounds, numbers = [], []
    run_rounds(rounds, outputs, evaluation, Samples(), search, learning_rate, monitor,
               lambda: numbers.append(len(rounds)))
    assert numbers == list(range(1, len(rounds) + 1))  # where a checkpoint can be written
    return rounds


def test_each_output_gets_the_learner_for_its_rows():
    outputs, search = [Number(8.0), Number(-4.0)], Search()
    rounds = boost(outputs, {}, search, 0.5, Monitor(3))
    assert search.asked == [(0, 0, 8.0), (0, 1, -4.0), (1, 0, 4.0), (1, 1, -2.0), (2, 0, 2.0), (2, 1, -1.0)]
    assert rounds == [[(2.0, -2.0), (2.0, 1.0)], [(2.0, -1.0), (2.0, 0.5)], [(2.0, -0.5), (2.0, 0.25)]]
    assert outputs[0].log == ["set_direction", "best_step", "add_step"] * 3


def test_evaluation_rows_take_the_steps_of_training():
    evaluation = [Number(3.0), Number(0.0)]
    boost([Number(8.0), Number(-4.0)], {"a": evaluation}, Search(), 1.0, Monitor(1))
    assert [rows.value for rows in evaluation] == [3.0 - 8.0, 4.0]
    assert evaluation[0].log == ["set_direction", "add_step"]  # no step of its own


@pytest.mark.parametrize("held_out", [False, True])
def test_mean_losses_are_recorded_before_the_first_round_and_after_each(held_out):
    monitor = Monitor(2)
    boost([Number(8.0), Number(-4.0)], {"a": [Number(2.0), Number(4.0)]} if held_out else {}, Search(), 0.5, monitor)
    assert monitor.train_loss == [40.0, 10.0, 2.5]
    assert monitor.eval_loss == ([10.0, (2.0**2 + 6.0**2) / 2, (4.0**2 + 7.0**2) / 2] if held_out else [])


def test_the_callback_ends_the_rounds():
    monitor = Monitor(100, callback=lambda info: info.n_rounds == 4)
    assert len(boost([Number(8.0)], {}, Search(), 0.1, monitor)) == 4


CLASSIFIERS = [GBRFF2Classifier, GBRFF1Classifier, GBRFFClassifier]
CLASSES = [*CLASSIFIERS, GBRFFRegressor]


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_losses_are_those_of_the_expansion(rng, make):
    """After each round, of the rows of training and of others, whose weights count."""
    X, y = waves(rng)
    X_new, y_new = waves(rng, 300)
    weights = {"train_loss_": np.ones(500), "eval_loss_": np.linspace(0, 1, 300)}
    model = make(12, early_stopping_rounds=None, random_state=0)
    model.fit(X, y, eval_set=(X_new, y_new, weights["eval_loss_"]))
    for (name, weight), rows, labels in zip(weights.items(), (X, X_new), (y, y_new), strict=True):
        expected = [np.average((labels - H) ** 2 if make is GBRFFClassifier else np.exp(-labels * H), weights=weight)
                    for H in model.staged_decision_function(rows)]
        np.testing.assert_allclose(getattr(model, name)[1 : len(expected) + 1], expected, rtol=1e-5)
        assert len(getattr(model, name)) == 13
    assert model.n_estimators_ == model.eval_loss_.argmin()


@pytest.mark.parametrize(("make", "learning_rate"), [(GBRFF2Classifier, 0.3), *((make, 1.0) for make in CLASSES)])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_loss_never_rises(rng, make, learning_rate, precision):
    """The closed-form step minimises an upper bound of the loss that touches it at step 0."""
    X, y = waves(rng, 2000)
    model = make(40, precision=precision, learning_rate=learning_rate, random_state=0).fit(X, y)
    assert (np.diff(model.train_loss_) <= 1e-6 * model.train_loss_[:-1]).all()
    assert model.train_loss_[-1] < 0.8 * model.train_loss_[0]


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_more_classes(rng, make):
    X = rng.standard_normal((600, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])]
    model = make(40, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert make is GBRFF2Classifier or model.landmarks_.shape == (40, 3, 3)
    assert model.expansion_.n_terms == 120 * model.n_components_
    proba = model.predict_proba(X)
    assert proba.shape == (600, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("make", CLASSES)
def test_integer_weights_are_repetition(rng, make):
    """For a few rounds: later ones make small differences large, as descents do that stop before their end."""
    X, y = waves(rng, 200)
    repeats = rng.integers(0, 4, 200)
    params = {"precision": "double", "random_state": 0} | ({} if make is GBRFF2Classifier else {"n_components": 7})
    for drawn in ({},) if make is GBRFF2Classifier else ({}, {"landmarks": "random"}):
        weighted = make(5, **params, **drawn).fit(X, y, repeats)
        repeated = make(5, **params, **drawn).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
        np.testing.assert_allclose(weighted.expansion_.fourier.amplitudes, repeated.expansion_.fourier.amplitudes,
                                   atol=1e-7)
        if drawn:
            np.testing.assert_allclose(weighted.landmarks_, repeated.landmarks_, atol=1e-12)
