"""Rounds of one bag, and what listeners hear of them."""

import threading
import time

import numpy as np
import pytest
from helpers.processes import PATIENCE

from rffkern._estimator.monitor import listening
from rffkern._training.fourier_boosting.bags import ProgressReporter, run_in_threads
from rffkern._training.fourier_boosting.base_learners import BaseLearner
from rffkern._training.fourier_boosting.boosting import BagState, _sample_learner, boost_bag
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS
from rffkern._training.fourier_boosting.training_rows import Losses


class StubState:
    """Losses from a list instead of rows."""

    has_unit_hessian = False
    halves, half_sums = None, (0.0, 0.0)

    def __init__(self, held_out, learned=1.0):
        self.rest = list(held_out)
        self.train = learned
        self.losses = Losses(learned, self.rest.pop(0))
        self.steps, self.scores, self.resumed, self.pointed = [], "scores", [], []

    def restore(self, scores):
        self.resumed.append(scores)

    def set_direction(self, term):
        self.pointed.append(term)

    def best_step(self):
        return 3.0

    def validation_scores(self):
        return np.float32([[self.losses.validation]])

    def add_step(self, step):
        self.steps.append(step)
        self.losses = Losses(self.train, self.rest.pop(0))
        return self.losses


class StubKind(BaseLearner):
    """A kind that counts what is asked of it."""

    def __init__(self, name, takes_best_step=True, rate=0.5, term="term", rate_growth=1.0):
        super().__init__(2, rate, rate_growth)
        self.name, self.term = name, term
        self.facts = BASE_LEARNERS["fourier"]._replace(takes_best_step=takes_best_step)
        self.relevances = np.array([1.0, 3.0])
        self.n_fits, self.taken = 0, []

    def restore(self, history):
        own, self.taken = history
        super().restore(own)

    def history(self):
        return super().history(), list(self.taken)

    def fit(self, state, rng):
        self.n_fits += 1
        return self.term

    def record_term(self, term, step):
        self.taken.append(step)


def train(state, kinds, n_rounds, patience=3, go_on=lambda *_: True):
    return boost_bag(state, [], kinds, n_rounds, patience, BagState(np.random.default_rng(0)), go_on)


def test_rounds_up_to_the_lowest_loss_are_kept():
    kind = StubKind("fourier")
    member = train(StubState([5, 4, 3, 3.5, 3.2, 3.1, 2, 1]), [kind], 7)
    assert (kind.n_fits, len(member.steps)) == (5, 2)
    assert [losses.validation for losses in member.losses] == [5, 4, 3]
    assert member.validation_scores == 3


def test_without_patience_all_are_kept():
    member = train(StubState([5, 4, 6, 7, 8, 9]), [StubKind("fourier")], 5, patience=None)
    assert len(member.steps) == 5
    assert member.validation_scores == 9


class HalvedState(StubState):
    """Losses of four validation rows, of which two are a half; scores count the rounds."""

    halves = np.array([False, True, True, False])

    def __init__(self, sums):
        self.sums = [*sums]
        self.half_sums = self.sums[0]
        super().__init__(map(sum, sums))

    def validation_scores(self):
        return np.full((1, 4), len(self.steps), np.float32)

    def add_step(self, step):
        self.half_sums = self.sums[len(self.steps) + 1]
        return super().add_step(step)


def test_rows_have_scores_after_the_rounds_that_the_other_half_chooses():
    sums = [(3, 3), (1, 4), (2, 2), (2, 1), (1, 1), (5, 0.5), (5, 5), (5, 5)]
    member = train(HalvedState(sums), [StubKind("fourier")], 7)
    assert (len(member.steps), member.validation_scores.tolist()) == (4, [[4, 4, 4, 4]])
    assert member.unseen_scores.tolist() == [[5, 1, 1, 5]]
    assert train(HalvedState(sums), [StubKind("fourier")], 7, patience=None).unseen_scores is None


def test_rounds_that_follow_go_on_with_the_halves():
    sums = [(3, 3), (1, 4), (2, 2), (2, 1), (0.5, 1), (5, 0.5), (5, 5), (5, 5), (5, 5)]
    before = train(HalvedState(sums), [StubKind("fourier")], 3).state
    state = HalvedState(sums)
    state.steps, state.rest = [0, 0, 0], [sum(each) for each in sums[4:]]
    member = boost_bag(state, [], [StubKind("fourier")], 20, 3, before, lambda *_: True)
    assert (len(member.steps), before.unseen.scores.tolist()) == (4, [[3, 1, 1, 3]])
    assert member.unseen_scores.tolist() == [[5, 4, 4, 5]]


def test_a_loss_that_falls_by_too_little_ends_a_bag():
    """In three rounds, of the first loss; and no sooner where a part of the rounds was in another call."""
    losses = [10, 5, 4.5, 4.2, 4.1, 4.05, 4.02, 4.01, 4.0, 3.9]
    member = boost_bag(StubState(losses), [], [StubKind("fourier")], 9, 3, BagState(np.random.default_rng(0)),
                       lambda *_: True, least_fall=0.02)
    assert [len(member.steps), member.is_complete] == [6, True]  # 4.2 - 4.02 < 0.2
    assert member.validation_scores == 4.02
    before = train(StubState(losses[:6]), [StubKind("fourier")], 5).state
    more = boost_bag(StubState(losses[5:]), [], [StubKind("fourier")], 9, 3, before, lambda *_: True, least_fall=0.02)
    assert [len(more.steps), more.is_complete] == [6, True]
    assert len(train(StubState(losses), [StubKind("fourier")], 9).steps) == 9


def test_a_member_that_never_gains_keeps_nothing():
    member = train(StubState([1, 2, 2, 2, 2]), [StubKind("fourier")], 4)
    assert (member.steps, len(member.losses)) == ([], 1)


def test_rounds_that_follow():
    """They count from the first, and a lower loss than before is needed to be kept."""
    before = train(StubState([5, 4, 3, 3.5]), [StubKind("fourier")], 3).state
    assert (len(before.steps), before.best_round, before.validation_scores, before.scores) == (3, 2, 3, "scores")
    kind, state = StubKind("fourier"), StubState([3.5, 3.2, 2, 2.5, 2.6, 2.7, 1])
    member = boost_bag(state, [], [kind], 20, 3, before, lambda *_: True)
    assert (state.resumed, kind.n_fits, len(kind.taken)) == (["scores"], 5, 8)
    assert [losses.validation for losses in member.losses] == [5, 4, 3, 3.5, 3.2, 2]
    assert (len(before.steps), len(member.state.steps)) == (3, 8)
    again = boost_bag(StubState([2.7]), [], [StubKind("fourier")], 20, 3, member.state, lambda *_: True)
    assert again[:2] == member[:2]
    assert again.validation_scores == member.validation_scores


def test_an_exact_fit_ends():
    kind = StubKind("fourier")
    train(StubState(range(100, 0, -1), learned=1e-14), [kind], 50)
    assert kind.n_fits == 1


def test_who_is_asked_to_stop_stops():
    kind = StubKind("fourier")
    member = train(StubState(range(100, 0, -1)), [kind], 50, go_on=lambda n, *_: n < 4)
    assert len(member.steps) == kind.n_fits == 4


@pytest.mark.parametrize(("searches", "expected"), [(True, 1.5), (False, 0.5)])
def test_steps_are_shares_of_the_best(searches, expected):
    kind, state = StubKind("fourier", searches), StubState([3, 2])
    train(state, [kind], 1)
    assert state.steps == kind.taken == [expected]


def test_a_round_without_a_term_changes_nothing():
    state, kind = StubState([3, 3, 3]), StubKind("fourier", term=None)
    member = train(state, [kind], 2, patience=None)
    assert (state.steps, kind.taken, member.steps) == ([0.0, 0.0], [], [(None, 0.0), (None, 0.0)])


def test_the_kind_that_gains_is_asked_more():
    """After the turns at the start, in which Fourier terms come twice as often."""
    fourier, trees = StubKind("fourier"), StubKind("tree", takes_best_step=False)

    class Judging(StubState):
        def add_step(self, step):
            gain = 1.0 if step == 0.5 else 0.01  # trees do not search
            self.losses = Losses(1.0, self.losses.validation - gain)
            return self.losses

    train(Judging([0.0]), [fourier, trees], 30)
    assert (fourier.n_fits, trees.n_fits) == (20, 10)
    member = train(Judging([0.0]), [fourier, trees], 330)
    assert trees.n_fits - 10 > 10 * 0.8 + (fourier.n_fits - 20) * 3
    assert member.gain_shares["tree"] > 0.9
    assert sum(member.gain_shares.values()) == pytest.approx(1)
    np.testing.assert_allclose(member.relevances["fourier"], [0.25, 0.75])


def asked(learners, n_rounds=4000):
    """How often each base learner is asked."""
    rng = np.random.default_rng(0)
    found = [_sample_learner(learners, 30, rng) for _ in range(n_rounds)]
    return [found.count(learner) / n_rounds for learner in learners]


@pytest.mark.parametrize(("costs", "misses", "expected"), [
    ((0, 0), (0, 0), (0.5, 0.5)), ((0, 3 * 64_000), (0, 0), (0.8, 0.2)), ((0, 0), (5, 20), (5 / 7, 2 / 7)),
    ((64_000, 0), (0, 5), (0.5, 0.5))])
def test_a_base_learner_that_gains_nothing_is_asked_by_cost_and_misses(costs, misses, expected):
    learners = [BaseLearner(2, 0.1, 1.0) for _ in costs]
    for learner, cost, n_misses in zip(learners, costs, misses, strict=True):
        learner._cost = cost
        for gain in [1.0] + [-1e9] * n_misses if n_misses else [-1.0, 1e-9]:
            learner.record_gain(gain)
        learner.mean_gain = 0.0
        assert learner.n_misses == n_misses
    np.testing.assert_allclose(asked(learners), expected, atol=0.03)


def test_watched_rows_follow_all_rounds():
    """Also those that go on, and not where a round has found no term."""
    kind, watched = StubKind("fourier"), StubState([9, 8, 7, 6])
    start = BagState(np.random.default_rng(0))
    member = boost_bag(StubState([5, 4, 3, 3.5]), [watched], [kind], 3, 3, start, lambda *_: True)
    assert [losses.evaluation for losses in member.losses] == [(9,), (8,), (7,)]
    assert (watched.pointed, watched.steps) == (["term"] * 3, [1.5, 1.5, 1.5])
    again, kind.term = StubState([6]), None
    more = boost_bag(StubState([3.5, 3.5]), [again], [kind], 4, None, member.state, lambda *_: True)
    assert again.resumed == ["scores"]
    assert [losses.evaluation for losses in more.losses] == [(9,), (8,), (7,), (6,), (6,)]
    assert again.steps == again.pointed == []


class SteepState(StubState):
    """The learned loss is 1 at the steps' sum 0, and rises by its square beyond 1; held-out losses are the same."""

    has_unit_hessian = True

    def __init__(self):
        super().__init__([1.0])
        self.place = 0.0

    def add_step(self, step):
        self.steps.append(step)
        self.place += step
        loss = 1.0 - 0.1 * self.place if self.place <= 1 else self.place**2
        self.losses = Losses(loss, loss)
        return self.losses


def test_a_step_without_a_search_is_halved_until_the_loss_rises_little():
    """Of a table that goes too far, as Newton's method may."""
    state, kind = SteepState(), StubKind("tree", False, 4.0)
    member = boost_bag(state, [], [kind], 1, None, BagState(np.random.default_rng(0)), lambda *_: True)
    assert state.steps == [4.0, -2.0, -1.0]
    assert member.steps[0][1] == state.place == 1.0
    assert member.losses[-1].train == pytest.approx(0.9)
    near = SteepState()
    boost_bag(near, [], [StubKind("tree", False, 0.5)], 1, None, BagState(np.random.default_rng(0)),
                 lambda *_: True)
    assert near.steps == [0.5]


# --- how far members are, as it is told to who listens


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


# --- bags side by side


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


def test_a_rate_grows_with_the_terms_of_its_learner():
    learner, found = StubKind("grows", rate=0.2, rate_growth=4.0), []
    for learner._n_terms in (0, 75, 150, 450, 10_000):
        found.append(learner.rate)
    assert found == pytest.approx([0.2, 0.3, 0.4, 0.8, 0.8])
    assert StubKind("whole", rate=1.0, rate_growth=4.0).rate == 1.0
