"""Checks of plain arguments, and what they say of the values that they accept."""

import math

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._protocol.arguments import (
    check_choice,
    check_random_state,
    check_rng,
    check_scalar,
    choice,
    distinct,
    number,
    of_class,
)

FRACTION = number(float, 0, 1, open_low=True)


@pytest.mark.parametrize(("check", "domain"), [
    (FRACTION, "float in (0, 1]"), (number(int, 1, 10), "int in [1, 10]"), (number(float, 0), "float >= 0"),
    (number(float, 0, open_low=True), "float > 0"), (number(float), "float"),
    (number(int, 1, optional=True), "int >= 1 or None"), (number(int, 1, 10**8), "int >= 1"),
    (number(float, 0, 1e100, open_low=True, word="scale"), '"scale" or float > 0'),
    (choice("single", "double"), '"single" or "double"'), (choice("a", "b", "c"), '"a", "b" or "c"'),
    (choice("auto", True, False), '"auto", True or False'),
    (choice(True, False), "bool"), (distinct("colours", ("red", "blue")), 'tuple of "red", "blue"'),
    (of_class("Map", "auto"), '"auto", Map or None'),
])
def test_domains_in_words(check, domain):
    assert check.domain == domain


@pytest.mark.parametrize(("check", "values"), [
    (FRACTION, [1, 0.5, 1e-300, np.float32(0.5), np.int8(1)]), (number(int, 1, optional=True), [None, 1, np.int64(7)]),
    (number(float, 0, word="scale"), ["scale", 0, 2.5]), (choice("a", "b"), ["a", np.str_("b")]),
    (choice(True, False), [True, np.False_]),
    (check_random_state, [None, 0, np.uint8(3), np.random.default_rng(0), np.random.RandomState(0)]),
])
def test_good_values(check, values):
    for value in values:
        check("name", value)


@pytest.mark.parametrize(("check", "value", "message"), [
    (FRACTION, 0, "rate must be a finite number > 0 and <= 1, got 0"), (FRACTION, 1.1, "<= 1, got 1.1"),
    (FRACTION, math.nan, "got nan"), (FRACTION, "a", "got 'a'"), (FRACTION, None, "got None"),
    (FRACTION, True, "got True"), (number(int, 1), 1.0, "rate must be an integer >= 1, got 1.0"),
    (number(float), math.inf, "rate must be a finite number, got inf"),
    (number(float), 10**400, "got an integer beyond 1e20"), (number(float), "a" * 200, r"got 'a{96}\.\.\.$"),
    (number(float, 0, open_low=True, word="scale"), "auto", "rate must be 'scale' or a finite number > 0, got 'auto'"),
    (number(float, 0, 1, word="auto"), 5, "rate must be 'auto' or a finite number >= 0 and <= 1, got 5"),
    (number(int, 1, 10**9, optional=True), 0, "rate must be None or an integer >= 1 and <= 1000000000, got 0"),
    (choice("a", "b"), "c", "rate must be one of 'a', 'b', got 'c'"), (choice(True, False), 1, "got 1"),
    (check_random_state, -1,
     "rate must be an integer >= 0, a numpy.random.Generator, a numpy.random.RandomState or None, got -1"),
    (check_random_state, True, "got True"), (check_random_state, np.random, "got <module"),
])
def test_bad_values_are_named(check, value, message):
    with pytest.raises(InvalidInputError, match=message):
        check("rate", value)


def test_numbers_are_returned_as_their_kind():
    assert type(check_scalar("n", np.int32(3), int, 1)) is int
    assert type(check_scalar("x", 3, float)) is float
    assert check_choice("s", np.str_("a"), ("a", "b")) == "a"


def test_a_random_state_gives_a_seed_in_one_draw():
    given, same = np.random.RandomState(5), np.random.RandomState(5)
    expected = np.random.default_rng(same.randint(2**31 - 1))
    assert check_rng(given).random() == expected.random()
    assert given.random_sample() == same.random_sample()


def test_generators():
    rng = np.random.default_rng(3)
    assert check_rng(rng) is rng
    assert check_rng(5).random() == np.random.default_rng(5).random()
    assert check_rng(None).random() != check_rng(None).random()
    with pytest.raises(InvalidInputError, match="random_state must be an integer >= 0"):
        check_rng(1.5)
