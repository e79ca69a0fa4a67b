"""The penalties and step sizes of a training, one after the other as validation asks for them.

With a large penalty on the squared coefficients, training finds the relevant columns; with a small one, it fits the
function of these columns.  Training therefore passes through stages: each penalty in turn, then shorter steps.  A stage
ends after a number of validations without a lower loss.  The next one starts from the best values so far.
"""

from typing import NamedTuple, Protocol

from ..._protocol.arguments import Auto
from .network import Network, StepSettings, Values

# Penalties on the squared coefficients, times the number of rows.
_RIDGES, _VALIDATIONS_PER_RIDGE = (50.0, 5.0, 0.5, 0.05), 3

# With the last penalty, training shortens its steps this many times, each time by this factor.
_STEP_FACTOR, _N_STEP_CUTS, _VALIDATIONS_PER_STEP = 0.3, 2, 6

# Validations count from this number of steps on, or once the loss has fallen by this share.
_FIRST_STEPS = 2000
_FIRST_FALL = 0.02


class ScheduleSettings(Protocol):
    """The parameters that a schedule reads."""

    learning_rate: float
    reg_lambda: float | Auto
    reg_l1: float
    early_stopping_rounds: int | None


class Stage(NamedTuple):
    """Step settings, and after how many validations without a lower loss they end; None for never."""

    settings: StepSettings
    n_validations: int | None


def stages_from_start(parameters: ScheduleSettings, ridge_scale: float, n_samples: int) -> list[Stage]:
    """Return the stages of a new training on `n_samples` rows: the penalties in turn, then shorter steps."""
    *heavier, _ = _ridges(parameters, ridge_scale, n_samples)
    first = [Stage(StepSettings(parameters.learning_rate, ridge, parameters.reg_l1), _VALIDATIONS_PER_RIDGE)
             for ridge in heavier]
    return first + stages_to_continue(parameters, ridge_scale, n_samples)


def stages_to_continue(parameters: ScheduleSettings, ridge_scale: float, n_samples: int) -> list[Stage]:
    """Return the stages of a training that continues: the last penalty, with shorter and shorter steps."""
    rate, ridge = parameters.learning_rate, _ridges(parameters, ridge_scale, n_samples)[-1]
    n_validations = [_VALIDATIONS_PER_STEP] * _N_STEP_CUTS + [parameters.early_stopping_rounds]
    factor, stages = 1.0, []
    for n_allowed in n_validations:
        stages.append(Stage(StepSettings(rate * factor, ridge, parameters.reg_l1), n_allowed))
        factor *= _STEP_FACTOR
    return stages


def _ridges(parameters: ScheduleSettings, ridge_scale: float, n_samples: int) -> list[float]:
    """The penalties on the squared coefficients, in their order."""
    if isinstance(parameters.reg_lambda, str):
        return [ridge_scale * ridge / n_samples for ridge in _RIDGES]
    return [float(parameters.reg_lambda)]


class Schedule:
    """The stage that training is in, and the best values of the network so far."""

    def __init__(self, network: Network, stages: list[Stage], first_loss: float) -> None:
        self._network, self._stages = network, stages
        self._first_loss = self.lowest = first_loss
        self.best: Values = network.values()
        self._stage = self._n_without_improvement = 0
        self.settings = stages[0].settings

    def judge(self, loss: float) -> bool:
        """Record the loss of a validation; return whether to continue.

        The network gets its best values back when a stage ends.
        """
        if loss < self.lowest:
            self.lowest, self.best, self._n_without_improvement = loss, self._network.values(), 0
        elif self._network.n_steps >= _FIRST_STEPS or self.lowest < (1 - _FIRST_FALL) * self._first_loss:
            self._n_without_improvement += 1
        allowed = self._stages[self._stage].n_validations
        if allowed is None or self._n_without_improvement < allowed:
            return True
        if self._stage == len(self._stages) - 1:
            return False
        self._stage += 1
        self.settings = self._stages[self._stage].settings
        self._network.restore(self.best)
        self._n_without_improvement = 0
        return True
