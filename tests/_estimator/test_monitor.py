"""Loss curves, early stopping and progress."""

import pytest

from rffkern import InvalidInputError
from rffkern._estimator import monitor
from rffkern._estimator.monitor import Monitor, RoundInfo, Steps, listening, printing, report_progress


def run(monitor, train, held_out=None):
    """Record losses until the monitor says to stop; return how many were taken."""
    for n, loss in enumerate(train):
        if not monitor.record(loss, {} if held_out is None else {"valid_0": held_out[n]}):
            return n + 1
    return len(train)


def test_all_rounds_without_held_out_rows():
    monitor = Monitor(3, early_stopping_rounds=1)
    assert run(monitor, [1.0, 0.9, 2.0, 3.0, 4.0]) == 4  # before any round, and after each of three
    assert monitor.best_round == 3
    assert monitor.train_loss == [1.0, 0.9, 2.0, 3.0]
    assert monitor.eval_loss == []


def test_nobody_has_asked_to_stop_before_the_first_round():
    monitor = Monitor(3, callback=lambda info: True)
    assert not monitor.asked_to_stop
    assert monitor.record(1.0, {})
    assert not monitor.asked_to_stop
    assert not monitor.record(0.9, {})
    assert monitor.asked_to_stop


def test_early_stopping():
    monitor = Monitor(100, early_stopping_rounds=2)
    assert run(monitor, [1.0] * 9, [5.0, 4.0, 3.0, 3.5, 3.0, 1.0]) == 5  # the same loss again is no improvement
    assert monitor.best_round == 2


def test_no_early_stopping():
    monitor = Monitor(5, early_stopping_rounds=None)
    assert run(monitor, [1.0] * 9, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == 6
    assert monitor.best_round == 0


def test_rows_that_are_fitted():
    monitor = Monitor(100)
    assert run(monitor, [1.0, 1e-31, 1e-32]) == 2
    assert not monitor.asked_to_stop
    assert Monitor(100).record(1e-31, {}), "before the first round nothing is finished"


def test_callback():
    seen = []
    monitor = Monitor(10, callback=lambda info: seen.append(info) or info.n_rounds == 2)
    assert run(monitor, [3.0, 2.0, 1.0, 0.5], [6.0, 5.0, 4.0, 3.0]) == 3
    assert monitor.asked_to_stop
    assert [info[:4] for info in seen] == [(1, 10, 2.0, 5.0), (2, 10, 1.0, 4.0)]
    assert all(isinstance(info, RoundInfo) and info.seconds >= 0 for info in seen)
    with pytest.raises(InvalidInputError, match=r"^callback must be callable or None, got str$"):
        Monitor(10, callback="print")


@pytest.mark.parametrize(("verbose", "shown"), [(0, []), (1, [1, 2, 3, 4, 5]), (2, [2, 4, 5]), (9, [5])])
def test_verbose(capsys, verbose, shown):
    run(Monitor(5, verbose=verbose, unit="epoch"), [1.0] * 6)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split()[:2] for line in err.splitlines()] == [["epoch", f"{n}/5"] for n in shown]


def test_a_line_of_progress(capsys):
    monitor = Monitor(4, verbose=1)
    run(monitor, [1.0, 0.25], [1.0, 0.5])
    line = capsys.readouterr().err
    assert line.startswith("round 1/4  train loss 0.25  eval loss 0.5  ")
    assert line.endswith(" s left\n")


def test_the_first_of_equally_good_rounds_is_kept():
    monitor = Monitor(4)
    assert run(monitor, [1.0] * 5, [3.0, 2.0, 2.5, 2.0, 2.0]) == 5
    assert monitor.best_round == 1  # fewer rounds that are as good


def test_steps_are_told_within_the_context_only(capsys):
    told = []
    steps = Steps("search", 2)
    with listening(lambda *step: told.append(step)):
        for _ in range(3):
            steps.step("note")
    steps.step()
    assert told == [("search", 1, 2, "note"), ("search", 2, 2, "note"), ("search", 3, 2, "note")]
    assert capsys.readouterr().err == ""


def test_lines_about_long_work(capsys, monkeypatch):
    """At most one a second; more than was thought to be needed, and what has no known end, is told as a number."""
    now = [100.0]
    monkeypatch.setattr(monitor.time, "perf_counter", lambda: now[0])
    told = []
    with listening(lambda *step: told.append(step)), printing(1):
        for value in range(9):
            report_progress("search", value, 6, f"value {value}")
            now[0] += 0.4
        report_progress("passes", 70, None)
    report_progress("search", 1, 6)
    assert len(told) == 10, "who listened outside hears all"
    assert capsys.readouterr().err.splitlines() == [
        "search 3/6  value 3  1.2 s", "search 6/6  value 6  2.4 s", "passes 70  3.6 s"]


def test_more_steps_than_were_thought_to_be_needed(capsys, monkeypatch):
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN", 0.0)
    with printing(1):
        report_progress("search", 7, 6)
    assert capsys.readouterr().err.startswith("search 7  ")
