"""The progress bar, by a false clock and a false terminal."""

import io
import sys
import time

import pytest

from rffkern._cli.output import Progress


class Stream(io.StringIO):
    """Text that may be a terminal's."""

    def __init__(self, is_terminal):
        super().__init__()
        self.isatty = lambda: is_terminal


@pytest.fixture
def clock(monkeypatch):
    """A list whose one entry is the time."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_it_is_drawn_ten_times_a_second(monkeypatch, clock):
    """The first and the last update draw, and between them those a tenth of a second later."""
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("scoring", 100) as bar:
        for done in range(1, 101):
            clock[0] = done / 32
            bar.update(done)
    drawn = stream.getvalue().split("\r")[1:-1]
    assert [piece.split("]")[1].split("%")[0].strip() for piece in drawn][:3] == ["1", "5", "9"]
    assert len(drawn) == 26
    assert "100 %" in drawn[-1]


def test_a_line(monkeypatch, clock):
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("training", 8) as bar:
        clock[0] = 3.0
        bar.update(2, note="train loss 0.5")
    assert stream.getvalue() == ("\rtraining [######                  ]  25 %     9 s left  train loss 0.5\x1b[K"
                                 "\r\x1b[K")


def test_nothing_is_drawn_elsewhere(monkeypatch):
    stream = Stream(False)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("scoring", 10) as bar:
        bar.update(10)
    assert stream.getvalue() == ""


def test_an_empty_table_and_more_than_all(monkeypatch, clock):
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("scoring", 0) as bar:
        bar.update(0)
        bar.update(5)
    assert stream.getvalue().count("100 %") == 1


def test_a_total_that_nobody_knows(monkeypatch, clock):
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("scoring", None) as bar:
        clock[0] = 3.0
        bar.update(100, note="7 rows")
        bar.update(200, note="8 rows")  # not yet a tenth of a second later
    assert stream.getvalue() == "\rscoring    3 s  7 rows\x1b[K\r\x1b[K"


def test_other_work_before(monkeypatch, clock):
    """It has a bar of its own, also where the same work comes again, and no part in the time that rounds take."""
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("training", 10) as bar:
        for seconds, done in ((2.0, 1), (4.0, 2), (8.0, 4), (10.0, 1), (11.0, 2)):
            clock[0] = seconds
            bar.show("length scales", done, 4, "")
        clock[0] = 12.0
        bar.update(1)
    drawn = [piece.removesuffix("\x1b[K").rstrip() for piece in stream.getvalue().split("\r")[1:-1]]
    assert [line.split("]")[1] for line in drawn] == [
        "  25 %     0 s left", "  50 %     2 s left", " 100 %     0 s left",
        "  25 %     0 s left", "  50 %     1 s left", "  10 %     9 s left"]
    assert [line.split(" [")[0] for line in drawn] == ["length scales"] * 5 + ["training"]
