"""How far members are, as it is told to who listens."""

import threading
import time

import pytest

from rffkern._estimator.monitor import listening
from rffkern._training.fourier_boosting.boosting import ProgressReporter
from rffkern._training.fourier_boosting.training_rows import Losses


@pytest.fixture
def clock(monkeypatch):
    """A list whose one entry is the time."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_members_that_have_ended_say_how_long_others_take(clock):
    heard = []
    with listening(lambda *what: heard.append(what)):
        progress = ProgressReporter(2, 1000)
    progress.round_done(0, 100, Losses(0.5, 0.75))
    progress.round_done(0, 200, Losses(0.4, 0.75))  # too soon
    clock[0] += 0.2
    progress.round_done(1, 100, Losses(0.3, 0.7))
    progress.bag_done(0)
    clock[0] += 0.2
    thread = threading.Thread(target=progress.round_done, args=(1, 150, Losses(0.2, 0.6)))
    thread.start()
    thread.join()
    assert [(done, total) for _, done, total, _ in heard] == [(50, 1000), (150, 1000), (875, 1000)]
    assert heard[0][3] == "0 of 2 bags  train loss 0.5  validation loss 0.75"
    assert heard[2][3] == "1 of 2 bags  train loss 0.2  validation loss 0.6"


def test_what_is_told_never_falls(clock):
    """A member that takes longer than those before would make the share smaller."""
    heard = []
    with listening(lambda work, done, total, note: heard.append(done)):
        progress = ProgressReporter(3, 1000)
    for member, n_rounds in ((0, 100), (1, 90), (1, 500), (2, 10)):
        clock[0] += 1
        progress.round_done(member, n_rounds, Losses(1.0, 1.0))
        if (member, n_rounds) in ((0, 100), (1, 500)):
            progress.bag_done(member)
    assert heard == sorted(heard)
    assert heard[-1] > 0


def test_nobody_listens():
    ProgressReporter(1, 10).round_done(0, 1, Losses(1.0, 1.0))
