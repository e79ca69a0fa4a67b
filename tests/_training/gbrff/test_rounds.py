"""The boosting loop on a toy loss and a toy search."""

import numpy as np
import pytest

from rffkern._estimator.monitor import Monitor
from rffkern._training.gbrff.loss_states import Evaluation
from rffkern._training.gbrff.rounds import boost


class Number:
    """Loss state of one number that is to become 0; weak learners are numbers to add to it."""

    def __init__(self, value):
        self.value, self.loss, self.log = value, value**2, []

    def evaluate(self, learner):
        self.log.append("evaluate")
        return Evaluation(np.array([learner]), (self.value, learner))

    def step(self, evaluation):
        self.log.append("step")
        value, learner = evaluation.products
        return -value / learner

    def update(self, evaluation, step):
        self.log.append("update")
        self.value += step * evaluation.h[0]
        self.loss = self.value**2


class Search:
    """Weak learners by round and output."""

    n_iterations = 0

    def __init__(self):
        self.asked = []

    def __call__(self, state, round_index, output):
        self.asked.append((round_index, output, state.value))
        return 2.0


def test_each_output_gets_the_learner_for_its_state():
    outputs, search = [Number(8.0), Number(-4.0)], Search()
    rounds = boost(outputs, {}, search, 0.5, Monitor(3))
    assert search.asked == [(0, 0, 8.0), (0, 1, -4.0), (1, 0, 4.0), (1, 1, -2.0), (2, 0, 2.0), (2, 1, -1.0)]
    assert [[addition.step for addition in additions] for additions in rounds] == [
        [-2.0, 1.0], [-1.0, 0.5], [-0.5, 0.25]]
    assert all(addition.learner == 2.0 for additions in rounds for addition in additions)
    assert outputs[0].log == ["evaluate", "step", "update"] * 3


def test_held_out_states_take_the_steps_of_training():
    held_out = [Number(3.0), Number(0.0)]
    boost([Number(8.0), Number(-4.0)], {"a": held_out}, Search(), 1.0, Monitor(1))
    assert [state.value for state in held_out] == [3.0 - 8.0, 4.0]
    assert held_out[0].log == ["evaluate", "update"]  # no step of its own


@pytest.mark.parametrize("held_out", [False, True])
def test_mean_losses_are_recorded_before_the_first_round_and_after_each(held_out):
    monitor = Monitor(2)
    boost([Number(8.0), Number(-4.0)], {"a": [Number(2.0), Number(4.0)]} if held_out else {}, Search(), 0.5, monitor)
    assert monitor.train_loss == [40.0, 10.0, 2.5]
    assert monitor.eval_loss == ([10.0, (2.0**2 + 6.0**2) / 2, (4.0**2 + 7.0**2) / 2] if held_out else [])


def test_the_callback_ends_the_rounds():
    monitor = Monitor(100, callback=lambda info: info.n_rounds == 4)
    assert len(boost([Number(8.0)], {}, Search(), 0.1, monitor)) == 4
