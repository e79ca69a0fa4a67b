"""Loss curves, early stopping, limits of time and progress of training in rounds or epochs."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidInputError

# Mean loss below which more rounds would fit rounding errors.
_LOSS_FLOOR = 1e-30


# Gets the progress of long work outside of rounds: its name, steps done, steps in all (None if that is not known), and
# a note.
Listener = Callable[[str, int, int | None, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

_clock = time.monotonic

# Shortest time between two lines about such work.
SECONDS_BETWEEN = 1.0


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the progress of long work in this context to a function."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextlib.contextmanager
def printing(verbose: int) -> Iterator[None]:
    """If verbose, print the progress of long work on stderr, at most once a second, beside an outer listener."""
    if not verbose:
        yield
        return
    outer, started = _listener.get(), time.perf_counter()
    due = started + SECONDS_BETWEEN

    def show(work: str, done: int, total: int | None, note: str) -> None:
        nonlocal due
        if outer is not None:
            outer(work, done, total, note)
        now = time.perf_counter()
        if now >= due:
            due = now + SECONDS_BETWEEN
            # A line search takes as many steps as it needs.
            of = "" if total is None or done > total else f"/{total}"
            print(f"{work} {done}{of}  {note}{'  ' if note else ''}{now - started:.1f} s", file=sys.stderr)

    with listening(show):
        yield


def report_progress(work: str, done: int, total: int | None, note: str = "") -> None:
    """Report the progress of long work to the listener of this context."""
    listener = _listener.get()
    if listener is not None:
        listener(work, done, total, note)


def current_listener() -> Listener | None:
    """The listener of this context, for threads that this one starts: they have contexts of their own."""
    return _listener.get()


class Steps:
    """Steps of work before the first round, or of a family without rounds."""

    def __init__(self, work: str, total: int) -> None:
        self._work, self._total, self._done = work, total, 0

    def step(self, note: str = "") -> None:
        """Count a step and report it."""
        self._done += 1
        report_progress(self._work, self._done, self._total, note)


class OutOfTime(Exception):
    """Work has been given up because its time is over."""


class TimeLimit:
    """The end of the time that training may take, so many seconds after this is made; None for none."""

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else _clock() + seconds

    def is_over(self) -> bool:
        """Whether no time is left."""
        return self._end <= _clock()

    def share(self, n_shares: int) -> "TimeLimit":
        """The end of the first of so many equal parts of the time that is left."""
        return self if math.isinf(self._end) else TimeLimit(max(0.0, self._end - _clock()) / n_shares)

    @contextlib.contextmanager
    def ending_steps(self) -> Iterator[None]:
        """Raise OutOfTime from the first step of work in this context that is reported when no time is left."""
        outer = _listener.get()

        def listen(work: str, done: int, total: int | None, note: str) -> None:
            if outer is not None:
                outer(work, done, total, note)
            if self.is_over():
                raise OutOfTime

        with listening(listen):
            yield


class RoundInfo(NamedTuple):
    """The argument of a callback after each round; a callback that returns a true value ends the fit."""

    n_rounds: int  # of this bag
    n_estimators: int
    train_loss: float
    eval_loss: float | None
    seconds: float
    bag: int = 0  # the index of the model that is trained, of several whose mean is the model


def check_callback(callback: Any) -> None:
    """InvalidInputError unless it is callable or None."""
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable or None, got {type(callback).__name__}")


class Monitor:
    """Loss curves, the best round, and whether to go on."""

    def __init__(self, n_estimators: int, early_stopping_rounds: int | None = None,
                 callback: Callable[[RoundInfo], Any] | None = None, verbose: int = 0, unit: str = "round",
                 limit: TimeLimit | None = None) -> None:
        check_callback(callback)
        self.n_estimators, self.early_stopping_rounds = n_estimators, early_stopping_rounds
        self.callback, self.verbose = callback, verbose
        self.unit = unit  # what a line of progress begins with
        self._limit = TimeLimit(None) if limit is None else limit
        self.train_loss: list[float] = []
        self.eval_losses: dict[str, list[float]] = {}  # on the sets of an eval_set, by name
        self.asked_to_stop = self.timed_out = False
        self.started = time.perf_counter()

    @property
    def eval_loss(self) -> list[float]:
        """The losses on the first set of an eval_set, which decides."""
        return next(iter(self.eval_losses.values()), [])

    @property
    def best_round(self) -> int:
        """Number of rounds to keep: those up to the lowest evaluation loss, or all."""
        return self.eval_loss.index(min(self.eval_loss)) if self.eval_loss else len(self.train_loss) - 1

    def record(self, train_loss: float, eval_losses: Mapping[str, float]) -> bool:
        """Record the losses after a round (the first call: before any); return whether to continue."""
        eval_loss = next(iter(eval_losses.values()), None)
        for name, loss in eval_losses.items():
            self.eval_losses.setdefault(name, []).append(loss)
        self.train_loss.append(train_loss)
        n_rounds = len(self.train_loss) - 1
        if n_rounds == 0:
            return True
        info = RoundInfo(n_rounds, self.n_estimators, train_loss, eval_loss, time.perf_counter() - self.started)
        finished = self.has_finished()
        if self.verbose and (n_rounds % self.verbose == 0 or finished):
            left = info.seconds / n_rounds * (self.n_estimators - n_rounds)
            shown = "" if eval_loss is None else f"  eval loss {eval_loss:.6g}"
            print(f"{self.unit} {n_rounds}/{self.n_estimators}  train loss {train_loss:.6g}{shown}  {left:.1f} s left",
                  file=sys.stderr)
        self.asked_to_stop = self.callback is not None and bool(self.callback(info))
        self.timed_out = not (finished or self.asked_to_stop) and self._limit.is_over()
        if self.verbose and self.timed_out:
            print(f"max_seconds has ended training after {self.unit} {n_rounds}", file=sys.stderr)
        return not (finished or self.asked_to_stop or self.timed_out)

    @property
    def losses(self) -> tuple[list[float], dict[str, list[float]]]:
        """The losses so far, as `resume` takes them."""
        return self.train_loss, self.eval_losses

    def resume(self, train_loss: Sequence[float], eval_losses: Mapping[str, Sequence[float]]) -> None:
        """Record the losses of earlier rounds."""
        self.train_loss = [*train_loss]
        self.eval_losses = {name: [*losses] for name, losses in eval_losses.items()}

    def curves(self) -> dict[str, Any]:
        """Fitted attributes: the losses before the first round and after each, and whether time ended training."""
        return {"train_loss_": np.array(self.train_loss), "eval_loss_": np.array(self.eval_loss),
                "eval_losses_": {name: np.array(losses) for name, losses in self.eval_losses.items()},
                "timed_out_": self.timed_out}

    def has_finished(self) -> bool:
        """Whether training ends with the rounds recorded so far."""
        n_rounds = len(self.train_loss) - 1
        has_stalled = bool(self.eval_loss and self.early_stopping_rounds
                           and n_rounds - self.best_round >= self.early_stopping_rounds)
        return self.train_loss[-1] < _LOSS_FLOOR or has_stalled or n_rounds == self.n_estimators
