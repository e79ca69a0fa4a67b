"""Penalties and steps of a training, by losses alone."""

from types import SimpleNamespace

import pytest

from rffkern import RFFNetClassifier, RFFNetRegressor
from rffkern._training.rffnet.losses import classification_loss, regression_loss
from rffkern._training.rffnet.training import Schedule, Stage, stages_of


class Values:
    """A network of one number, which changes with every step."""

    def __init__(self, n_steps=2000):
        self.value, self.n_steps, self.restored = 0, n_steps, []

    def values(self):
        return self.value

    def restore(self, values):
        self.value = values
        self.restored.append(values)

    def judged(self, schedule, loss):
        self.value += 1
        return schedule.judge(loss)


def parameters(reg_lambda="auto", early_stopping_rounds=4):
    return SimpleNamespace(learning_rate=0.1, reg_lambda=reg_lambda, early_stopping_rounds=early_stopping_rounds)


def stages(*n_validations):
    return [Stage(0.1, k, n) for k, n in enumerate(n_validations)]


def test_stages_of_a_training():
    found = stages_of(parameters(), 0.02, 100, continues=False)
    assert [stage.patience for stage in found] == [3, 3, 3, 6, 6, 4]
    assert [stage.mu for stage in found] == pytest.approx([1e-2, 1e-3, 1e-4, 1e-5, 1e-5, 1e-5])
    assert [stage.eta for stage in found] == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.03, 0.009])


def test_training_that_goes_on_has_the_last_penalty():
    assert stages_of(parameters(), 1.0, 100, continues=True) == stages_of(parameters(), 1.0, 100, continues=False)[3:]


@pytest.mark.parametrize("continues", [False, True])
def test_a_given_penalty_stays(continues):
    found = stages_of(parameters(0), 0.02, 100, continues)
    assert [stage.mu for stage in found] == [0.0] * 3
    assert [stage.patience for stage in found] == [6, 6, 4]


def test_a_stage_ends_after_validations_without_improvement():
    network = Values()
    schedule = Schedule(network, stages(2, 3, 1), 10.0)
    # Two without improvement, though not in a row: an improvement in between begins the count anew.
    for loss in (9.0, 9.5, 8.0, 8.5):
        assert network.judged(schedule, loss)
        assert schedule.stage.mu == 0
    assert network.judged(schedule, 8.0)  # as low is not lower
    assert (schedule.stage.mu, network.value, schedule.lowest) == (1, 3, 8.0)
    for _ in range(2):
        assert network.judged(schedule, 9.0)
        assert schedule.stage.mu == 1
    assert network.judged(schedule, 9.0)
    assert (schedule.stage.mu, network.restored) == (2, [3, 3])
    assert network.judged(schedule, 7.0)
    assert not network.judged(schedule, 7.5)
    assert (schedule.best, schedule.lowest) == (4, 7.0)
    assert network.value == 5  # which training restores


def test_the_last_stage_may_have_no_end():
    network = Values()
    schedule = Schedule(network, stages(1, None), 10.0)
    assert all(network.judged(schedule, 11.0) for _ in range(100))
    assert schedule.stage.mu == 1
    assert network.restored == [0]


def test_the_first_values_may_be_the_best():
    network = Values()
    schedule = Schedule(network, stages(1), 10.0)
    assert not network.judged(schedule, 10.0)
    assert (schedule.best, schedule.lowest) == (0, 10.0)


def test_validations_count_once_the_loss_has_fallen():
    network = Values(n_steps=1999)
    schedule = Schedule(network, stages(1), 10.0)
    assert network.judged(schedule, 11.0)
    assert network.judged(schedule, 9.81)  # a fall of less than 2 %
    assert network.judged(schedule, 11.0)
    assert network.judged(schedule, 9.79)
    assert not network.judged(schedule, 9.8)


def test_validations_count_after_many_steps():
    network = Values(n_steps=1999)
    schedule = Schedule(network, stages(1), 10.0)
    assert network.judged(schedule, 11.0)
    network.n_steps = 2000
    assert not network.judged(schedule, 11.0)


@pytest.mark.parametrize(("family", "loss"), [
    (RFFNetRegressor, regression_loss("squared_error", 1.35, 0.5)), (RFFNetClassifier, classification_loss(1)),
    (RFFNetClassifier, classification_loss(3)),
])
def test_penalties_are_those_of_the_documentation(family, loss):
    first, *_, last = (stage.mu for stage in stages_of(parameters(), loss.penalty_factor, 1, continues=False))
    text = " ".join(family.__doc__.split())
    assert f'"auto" falls from {first:g} / n to {last:g} / n for n rows' in text
    assert f"training uses {last:g} / n" in text
