"""The boosting loop on a toy loss and a toy search."""

import pytest

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
