"""Kinds of weak learners."""

import numpy as np
import pytest

from rffkern._native import boosting
from rffkern._training.fourier_boosting import kinds
from rffkern._training.fourier_boosting.bins import make_bins
from rffkern._training.fourier_boosting.kinds import Lines, Tables, Waves
from rffkern._training.fourier_boosting.losses import ValueLoss
from rffkern._training.fourier_boosting.rows import Bounds, Columns, Layout
from rffkern._training.fourier_boosting.rules import rules
from rffkern._training.fourier_boosting.state import MemberRows, State

RULES = rules(500)


def problem(target, n_columns=4, n=500):
    """Columns, and the state of a squared loss of a function of them."""
    values = np.random.default_rng(0).standard_normal((n_columns, n)).astype(np.float32)
    columns = Columns(values, np.arange(n_columns), make_bins(values, np.arange(n_columns)),
                      Bounds(values.min(axis=1), values.max(axis=1)))
    layout = Layout.of(np.arange(n * 4 // 5), np.arange(n * 4 // 5, n), np.random.default_rng(0))
    targets = np.atleast_2d(target(values.astype(float)))
    weights = np.ones(n)
    loss = ValueLoss(boosting.SQUARED).problem(targets, weights)
    return columns, State(MemberRows.of(columns, loss, weights, layout), loss)


def kind_of(name, columns, state):
    if name == "linear":
        return Lines(columns, state, 0.3)
    return Waves(columns, RULES, 0.3, 0.05, 16384) if name == "fourier" else Tables(columns, RULES, 0.3)


@pytest.mark.parametrize(("name", "target"), [
    ("fourier", lambda x: np.sin(2 * x[1])), ("tree", lambda x: np.where(x[1] > 0.3, 1.0, -1.0)),
    ("linear", lambda x: 3 * x[1])])
def test_terms_lower_the_loss_of_both_parts(name, target):
    columns, state = problem(target)
    kind, rng, first = kind_of(name, columns, state), np.random.default_rng(0), state.losses
    for _ in range(60):
        term = kind.fit(state, rng)
        if term is not None:
            kind.take(term, kind.rate)
            state.move(kind.rate)
    assert state.losses.learned < 0.3 * first.learned
    assert state.losses.held_out < 0.4 * first.held_out
    assert kind.relevances.argmax() == 1
    assert kind.relevances[1] > 0.5 * kind.relevances.sum()


@pytest.mark.parametrize("name", ["fourier", "tree", "linear"])
def test_directions_are_what_a_term_gives(name):
    columns, state = problem(lambda x: np.array([x[1] + np.sin(x[2]), x[0] * x[3]]))
    term = kind_of(name, columns, state).fit(state, np.random.default_rng(1))
    x = state.columns.astype(float)
    if name == "linear":
        expected = term.slopes.T @ x
    elif name == "fourier":
        angle = term.omega @ x[term.columns]
        expected = np.outer(term.amplitudes[0], np.cos(angle)) + np.outer(term.amplitudes[1], np.sin(angle))
    else:
        cells = sum((state.codes[j] > cut).astype(int) << level
                    for level, (j, cut) in enumerate(zip(term.columns, term.cuts, strict=True)))
        expected = term.values[cells].T
    np.testing.assert_allclose(state.directions, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["tree", "linear"])
def test_a_constant_target_has_nothing_to_learn(name):
    columns, state = problem(lambda x: np.ones(x.shape[1]))
    term = kind_of(name, columns, state).fit(state, np.random.default_rng(0))
    assert term is None or not state.directions.any()


def test_columns_are_drawn_by_what_they_were_good_for():
    chances = kinds._Chances(50)
    rng = np.random.default_rng(0)
    even = chances.draw(rng, 4000)
    assert even.any(axis=1).all()
    assert np.ptp(even.mean(axis=0)) < 0.1
    for _ in range(kinds._TERMS_BEFORE):
        chances.count(np.array([7, 7]), np.array([1.0, 2.0]))
    drawn = chances.draw(rng, 1000).mean(axis=0)
    assert drawn[7] > 0.7 > 0.4 > np.delete(drawn, 7).max()
    assert chances.relevances[7] == 3 * kinds._TERMS_BEFORE


def test_no_set_is_filled_up_with_columns_that_were_good_for_nothing():
    """Two columns that were good are drawn together, mostly without the other three; before, all come alike."""
    chances, rng = kinds._Chances(5), np.random.default_rng(0)
    before = chances.draw(rng, 4000)
    assert before.sum(axis=1).min() == 1
    assert before.all(axis=1).mean() > 0.05
    for _ in range(kinds._TERMS_BEFORE):
        chances.count(np.array([1, 4]), np.array([1.0, 1.0]))
    drawn = chances.draw(rng, 4000)
    both = drawn[drawn[:, [1, 4]].all(axis=1)]
    assert len(both) > 0.5 * len(drawn)
    assert both[:, [0, 2, 3]].any(axis=1).mean() < 0.3
    assert drawn.any(axis=1).all()


@pytest.mark.slow
def test_lines_of_wide_tables_read_the_columns_that_tell_most():
    columns, state = problem(lambda x: x[700], n_columns=900, n=300)
    line = Lines(columns, state, 0.3).fit(state, None)
    read = np.flatnonzero(line.slopes[:, 0])
    assert len(read) == kinds._MOST_COLUMNS
    assert np.abs(line.slopes[:, 0]).argmax() == 700
