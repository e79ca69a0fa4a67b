"""The boosting loop of all families that boost: rounds, step sizes, curves, early stopping, progress (Algorithm 1)."""

import sys
import time
from typing import NamedTuple

from .errors import InvalidInputError

# Mean loss below which every row is fitted beyond any doubt, and more rounds would fit rounding errors.
_LOSS_FLOOR = 1e-30


class RoundInfo(NamedTuple):
    """What a callback is told after each round; returning anything true ends the fit."""

    n_rounds: int
    n_estimators: int
    train_loss: float
    eval_loss: float | None
    seconds: float


class Monitor:
    """Loss curves, the best round, and whether to go on."""

    def __init__(self, n_estimators, patience=None, callback=None, verbose=0, unit="round"):
        if callback is not None and not callable(callback):
            raise InvalidInputError(f"callback must be callable or None, got {type(callback).__name__}")
        self.n_estimators, self.patience, self.callback, self.verbose = n_estimators, patience, callback, verbose
        self.unit = unit  # what a line of progress begins with
        self.train_loss, self.eval_loss, self.asked_to_stop = [], [], False
        self.started = time.perf_counter()

    @property
    def best_round(self):
        """Number of rounds to keep: those up to the lowest evaluation loss, or all."""
        return self.eval_loss.index(min(self.eval_loss)) if self.eval_loss else len(self.train_loss) - 1

    def record(self, train_loss, eval_loss):
        """Take the losses after a round (the first call: before any); say whether to go on."""
        self.train_loss.append(train_loss)
        if eval_loss is not None:
            self.eval_loss.append(eval_loss)
        n_rounds = len(self.train_loss) - 1
        if n_rounds == 0:
            return True
        info = RoundInfo(n_rounds, self.n_estimators, train_loss, eval_loss, time.perf_counter() - self.started)
        out_of_patience = bool(self.eval_loss and self.patience and n_rounds - self.best_round >= self.patience)
        finished = train_loss < _LOSS_FLOOR or out_of_patience or n_rounds == self.n_estimators
        if self.verbose and (n_rounds % self.verbose == 0 or finished):
            print(_progress_line(info, self.unit), file=sys.stderr)
        self.asked_to_stop = self.callback is not None and bool(self.callback(info))
        return not (finished or self.asked_to_stop)


def _progress_line(info, unit):
    left = info.seconds / info.n_rounds * (info.n_estimators - info.n_rounds)
    eval_loss = "" if info.eval_loss is None else f"  eval loss {info.eval_loss:.6g}"
    return f"{unit} {info.n_rounds}/{info.n_estimators}  train loss {info.train_loss:.6g}{eval_loss}  {left:.1f} s left"


def boost(outputs, eval_outputs, fit_learner, learning_rate, monitor):
    """Boost all outputs round by round.

    Parameters
    ----------
    outputs, eval_outputs : lists of loss states, one per output; eval_outputs may be empty
    fit_learner : callable (state, round index, output index) -> CosineSum
    learning_rate : factor on each step
    monitor : Monitor

    Returns
    -------
    list over rounds of a list over outputs of (CosineSum, step)
    """
    rounds = []
    go_on = monitor.record(_mean_loss(outputs), _mean_loss(eval_outputs))
    while go_on:
        this_round = []
        for k, state in enumerate(outputs):
            learner = fit_learner(state, len(rounds), k)
            step = learning_rate * state.best_step(learner)
            state.boost(step)
            for held_out in eval_outputs[k : k + 1]:
                held_out.agreement(learner)
                held_out.boost(step)
            this_round.append((learner, step))
        rounds.append(this_round)
        go_on = monitor.record(_mean_loss(outputs), _mean_loss(eval_outputs))
    return rounds


def _mean_loss(outputs):
    return sum(state.loss for state in outputs) / len(outputs) if outputs else None
