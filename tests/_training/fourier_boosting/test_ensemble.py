"""Members side by side."""

import threading
import time

import numpy as np
import pytest
from helpers.processes import PATIENCE

from rffkern._rows.scaling import Scaling
from rffkern._training.fourier_boosting.base_learners import BASE_LEARNERS, TreeLearner
from rffkern._training.fourier_boosting.boosting import Bag, run_in_threads
from rffkern._training.fourier_boosting.fit import mean_of_bags
from rffkern._training.fourier_boosting.terms import FourierTerm, TreeTerm
from rffkern._training.fourier_boosting.training_rows import Columns, bin_columns


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_order(n_threads):
    jobs = [lambda k=k: (time.sleep(0.01 * (3 - k)), k)[1] for k in range(4)]
    assert run_in_threads(jobs, n_threads, threading.Event()) == [0, 1, 2, 3]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_failure_stops_the_others(n_threads):
    stop = threading.Event()

    def fails():
        raise ValueError("this one")

    def waits():
        assert stop.wait(PATIENCE)

    with pytest.raises(ValueError, match="this one"):
        run_in_threads([fails, waits, waits], n_threads, stop)


@pytest.mark.parametrize("n_started", [0, 1, 2])
def test_threads_that_cannot_be_started(monkeypatch, n_started):
    starts, start = [], threading.Thread.start

    def start_some(thread):
        if len(starts) == n_started:
            raise RuntimeError("can't start new thread")
        starts.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    done_by = run_in_threads([threading.get_ident] * 8, 4, threading.Event())
    assert set(done_by) <= {thread.ident for thread in starts or [threading.current_thread()]}


@pytest.mark.parametrize("last", [1, 2])
def test_a_signal_while_threads_are_started_stops_the_members(monkeypatch, last):
    starts, start, stop = [], threading.Thread.start, threading.Event()

    def interrupted(thread):
        start(thread)
        starts.append(thread)
        if len(starts) == last:
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_in_threads([lambda: stop.wait(PATIENCE)] * 4, 2, stop)
    assert stop.is_set()
    for thread in starts:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("name_of_trees", ["tree", "another learner of trees"])
def test_the_mean_of_bags_in_raw_units(monkeypatch, n_outputs, name_of_trees):
    monkeypatch.setitem(BASE_LEARNERS, name_of_trees, TreeLearner)
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((200, 3)) * [2, 1, 50] + [1, 0, 9]
    scaling = Scaling(np.array([1.0, 0.0, 9.0]), np.array([0.5, 1.0, 0.02]), 1.0)
    rows = (raw - scaling.center) * scaling.inverse_scale
    values = np.ascontiguousarray(rows.T.astype(np.float32))
    columns = Columns(values, np.arange(3), *bin_columns(values, np.array([0, 2])), raw.min(axis=0), raw.max(axis=0))
    pairs = [FourierTerm(np.array([0, 2]), rng.standard_normal(2), rng.standard_normal((2, n_outputs)))
             for _ in range(3)]
    tables = [TreeTerm(rng.integers(0, 2, 2), rng.integers(0, 100, 2), rng.standard_normal((4, n_outputs)))
              for _ in range(3)]
    tables[1] = tables[1]._replace(columns=np.array([1, 1]), threshold_bins=np.array([80, 20]))  # one column twice
    tables[0] = tables[0]._replace(threshold_bins=np.array([255, 7]))  # a depth that splits nothing
    bags = [Bag([(pairs[0], 0.5), (None, 0.0), (tables[0], 2.0)], [], {}, {}, None),
            Bag([(tables[1], 1.0), (pairs[1], 1.0), (pairs[2], -1.0)], [], {}, {}, None)]
    scale = rng.uniform(1, 2, n_outputs)
    bags.append(bags[0])  # which has no share
    shares = np.array([0.25, 0.75, 0.0])
    expansion, rounds = mean_of_bags(bags, shares, columns, scaling, np.arange(float(n_outputs)), scale)

    expected = np.tile(np.arange(float(n_outputs)), (200, 1))
    for bag, share in zip(bags, shares, strict=True):
        for term, step in bag.steps:
            if term is None:
                continue
            if isinstance(term, FourierTerm):
                angle = rows[:, term.columns] @ term.omega
                value = np.cos(angle)[:, None] * term.amplitudes[0] + np.sin(angle)[:, None] * term.amplitudes[1]
                expected += share * step * scale * value
            else:
                leaves = sum((columns.bins[j] > b).astype(int) << level
                             for level, (j, b) in enumerate(zip(term.columns, term.threshold_bins, strict=True)))
                expected += (share * step * scale * term.values[leaves]).astype(np.float32)
    np.testing.assert_allclose(expansion.score(raw), expected, atol=1e-10)
    assert rounds.tolist() == [*np.repeat([1, 2, 3], 1 if n_outputs == 1 else 2), 3, 1]
