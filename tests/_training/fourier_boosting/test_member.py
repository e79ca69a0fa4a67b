"""Rounds of one member."""

import numpy as np
import pytest

from rffkern._training.fourier_boosting.member import Standing, train_member
from rffkern._training.fourier_boosting.state import Losses


class StubState:
    """Losses from a list instead of rows."""

    searches_steps = True

    def __init__(self, held_out, learned=1.0):
        self.rest = list(held_out)
        self.learned = learned
        self.losses = Losses(learned, self.rest.pop(0))
        self.steps, self.scores, self.resumed, self.pointed = [], "scores", [], []

    def resume(self, scores):
        self.resumed.append(scores)

    def point(self, term):
        self.pointed.append(term)

    def best_step(self):
        return 3.0

    def held_scores(self):
        return np.float32([[self.losses.held_out]])

    def move(self, step):
        self.steps.append(step)
        self.losses = Losses(self.learned, self.rest.pop(0))
        return self.losses


class StubKind:
    """A kind that counts what is asked of it."""

    def __init__(self, name, searches_steps=True, rate=0.5, term="term"):
        self.name, self.searches_steps, self.rate, self.term = name, searches_steps, rate, term
        self.relevances = np.array([1.0, 3.0])
        self.n_fits, self.taken = 0, []

    def recall(self, memory):
        self.taken = memory

    @property
    def memory(self):
        return list(self.taken)

    def fit(self, state, rng):
        self.n_fits += 1
        return self.term

    def take(self, term, step):
        self.taken.append(step)


def train(state, kinds, n_rounds, patience=3, go_on=lambda *_: True):
    return train_member(state, [], kinds, n_rounds, patience, Standing(np.random.default_rng(0)), go_on)


def test_rounds_up_to_the_lowest_loss_are_kept():
    kind = StubKind("fourier")
    member = train(StubState([5, 4, 3, 3.5, 3.2, 3.1, 2, 1]), [kind], 7)
    assert (kind.n_fits, len(member.taken)) == (5, 2)
    assert [losses.held_out for losses in member.curve] == [5, 4, 3]
    assert member.held == 3


def test_without_patience_all_are_kept():
    member = train(StubState([5, 4, 6, 7, 8, 9]), [StubKind("fourier")], 5, patience=None)
    assert len(member.taken) == 5
    assert member.held == 9


def test_a_member_that_never_gains_keeps_nothing():
    member = train(StubState([1, 2, 2, 2, 2]), [StubKind("fourier")], 4)
    assert (member.taken, len(member.curve)) == ([], 1)


def test_rounds_that_follow():
    """They count from the first, and a lower loss than before is needed to be kept."""
    before = train(StubState([5, 4, 3, 3.5]), [StubKind("fourier")], 3).standing
    assert (len(before.taken), before.best, before.held, before.scores) == (3, 2, 3, "scores")
    kind, state = StubKind("fourier"), StubState([3.5, 3.2, 2, 2.5, 2.6, 2.7, 1])
    member = train_member(state, [], [kind], 20, 3, before, lambda *_: True)
    assert (state.resumed, kind.n_fits, len(kind.taken)) == (["scores"], 5, 8)
    assert [losses.held_out for losses in member.curve] == [5, 4, 3, 3.5, 3.2, 2]
    assert (len(before.taken), len(member.standing.taken)) == (3, 8)
    again = train_member(StubState([2.7]), [], [StubKind("fourier")], 20, 3, member.standing, lambda *_: True)
    assert (again.taken, again.curve, again.held) == (member.taken, member.curve, member.held)


def test_an_exact_fit_ends():
    kind = StubKind("fourier")
    train(StubState(range(100, 0, -1), learned=1e-14), [kind], 50)
    assert kind.n_fits == 1


def test_who_is_asked_to_stop_stops():
    kind = StubKind("fourier")
    member = train(StubState(range(100, 0, -1)), [kind], 50, go_on=lambda n, losses: n < 4)
    assert len(member.taken) == kind.n_fits == 4


@pytest.mark.parametrize(("searches", "expected"), [(True, 1.5), (False, 0.5)])
def test_steps_are_shares_of_the_best(searches, expected):
    kind, state = StubKind("fourier", searches), StubState([3, 2])
    train(state, [kind], 1)
    assert state.steps == kind.taken == [expected]


def test_a_round_without_a_term_changes_nothing():
    state, kind = StubState([3, 3, 3]), StubKind("fourier", term=None)
    member = train(state, [kind], 2, patience=None)
    assert (state.steps, kind.taken, member.taken) == ([0.0, 0.0], [], [(None, 0.0), (None, 0.0)])


def test_the_kind_that_gains_is_asked_more():
    """After the turns at the start, in which waves come twice as often."""
    waves, tables = StubKind("fourier"), StubKind("tree", searches_steps=False)

    class Judging(StubState):
        def move(self, step):
            gain = 1.0 if step == 0.5 else 0.01  # tables do not search
            self.losses = Losses(1.0, self.losses.held_out - gain)
            return self.losses

    train(Judging([0.0]), [waves, tables], 30)
    assert (waves.n_fits, tables.n_fits) == (20, 10)
    member = train(Judging([0.0]), [waves, tables], 330)
    assert tables.n_fits - 10 > 10 * 0.8 + (waves.n_fits - 20) * 3
    assert member.shares["tree"] > 0.9
    assert sum(member.shares.values()) == pytest.approx(1)
    np.testing.assert_allclose(member.relevances["fourier"], [0.25, 0.75])


def test_watched_rows_follow_all_rounds():
    """Also those that go on, and not where a round has found no term."""
    kind, watched = StubKind("fourier"), StubState([9, 8, 7, 6])
    start = Standing(np.random.default_rng(0))
    member = train_member(StubState([5, 4, 3, 3.5]), [watched], [kind], 3, 3, start, lambda *_: True)
    assert [losses.watched for losses in member.curve] == [(9,), (8,), (7,)]
    assert (watched.pointed, watched.steps) == (["term"] * 3, [1.5, 1.5, 1.5])
    again, kind.term = StubState([6]), None
    more = train_member(StubState([3.5, 3.5]), [again], [kind], 4, None, member.standing, lambda *_: True)
    assert again.resumed == ["scores"]
    assert [losses.watched for losses in more.curve] == [(9,), (8,), (7,), (6,), (6,)]
    assert again.steps == again.pointed == []


class SteepState(StubState):
    """The learned loss is 1 at the steps' sum 0, and rises by its square beyond 1; held-out losses are the same."""

    searches_steps = False

    def __init__(self):
        super().__init__([1.0])
        self.place = 0.0

    def move(self, step):
        self.steps.append(step)
        self.place += step
        loss = 1.0 - 0.1 * self.place if self.place <= 1 else self.place**2
        self.losses = Losses(loss, loss)
        return self.losses


def test_a_step_without_a_search_is_halved_until_the_loss_rises_little():
    """Of a table that goes too far, as Newton's method may."""
    state, kind = SteepState(), StubKind("tree", False, 4.0)
    member = train_member(state, [], [kind], 1, None, Standing(np.random.default_rng(0)), lambda *_: True)
    assert state.steps == [4.0, -2.0, -1.0]
    assert member.taken[0].step == state.place == 1.0
    assert member.curve[-1].learned == pytest.approx(0.9)
    near = SteepState()
    train_member(near, [], [StubKind("tree", False, 0.5)], 1, None, Standing(np.random.default_rng(0)),
                 lambda *_: True)
    assert near.steps == [0.5]
