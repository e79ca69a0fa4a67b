"""Numbers of plain text, rounded as Python rounds them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rffkern._native.scoring import read_numbers


def read(text, n_rows, places, delimiter=",", n_columns=None):
    """What the kernel reads, or None where it does not."""
    columns = [place for place in places if place >= 0]
    out = np.full((n_rows, len(columns) if n_columns is None else n_columns), -7.0)
    return out if read_numbers(text.encode(), ord(delimiter), np.array(places, dtype=np.intp), out) else None


def assert_rounded(cell):
    """A cell is read as `float` reads it, to the bit, or not at all."""
    found = read(f"{cell}\n", 1, [0])
    if found is not None:
        assert found.tobytes() == np.array([[float(cell)]]).tobytes()
    return found is not None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_as_python_writes_them(value):
    read_it = assert_rounded(repr(value))
    assert read_it or not 1e-9 <= abs(value) < 1e16  # so that what most tables hold is read


@given(st.integers(0, 10**22), st.integers(-30, 30), st.sampled_from(["", "-", "+"]))
@example(2**64, 0, "")  # which wraps around to 0
@example(5 * 2**64, -3, "-")
@example(2**53 + 1, 0, "")
@example(2**53 + 1, -1, "")  # of the largest quotients
@example(2**64 - 1, -19, "")
@example(1, -27, "-")
@example(10**19 - 1, -27, "")
@example(10**19 - 1, -1, "")
@example(9007199254740993, -3, "")
@example(5, -1, "")
@example(2**54 + 2, -1, "")
@example(0, 5, "-")
def test_numbers_of_many_digits(digits, exponent, sign):
    assert_rounded(f"{sign}{digits}e{exponent}")
    assert_rounded(f"{sign}{digits}E{exponent:+d}")
    if exponent < 0:
        text = f"{digits:0{-exponent + 1}d}"
        assert_rounded(f" {sign}{text[:exponent]}.{text[exponent:]} ")


@given(st.integers(2**52, 2**53 - 1), st.integers(1, 27), st.integers(-2, 2))
def test_numbers_next_to_ties(mantissa, places, away):
    """Halfway between two doubles, and a little beside it."""
    for shift in range(11):
        halfway = (2 * mantissa + 1) << shift >> 1
        digits = (halfway + away) % 10**19
        assert_rounded(f"{digits}e-{places}")


@given(st.text("0123456789+-.eEx_ \"na,;\t", max_size=8))
def test_texts_that_may_be_no_numbers(cell):
    try:
        expected = float(cell)
    except ValueError:
        expected = None
    found = read(f"{cell}\n", 1, [0], delimiter="|")
    if found is not None:
        assert expected is not None
        assert found[0, 0] == expected


@pytest.mark.parametrize("cell", ["", " ", "-", ".", "1.2.3", "1e", "1e+", "--1", "1 2", "nan", "inf", "0x1", "1_0",
                                  "1" * 20, str(2**64), f"{2**64}.5", "1e99999", "1e400", "1e-400", "\t1",
                                  "1\x00", "٣"])
def test_what_is_left_to_others(cell):
    assert read(f"{cell}\n", 1, [0]) is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_and_columns(end, rng):
    X = rng.standard_normal((50, 4))
    lines = [f"{a!r},word {k},{b!r},{c!r},{d!r}" for k, (a, b, c, d) in enumerate(X.tolist())]
    for text in (end.join(lines), end.join(lines) + end):
        np.testing.assert_array_equal(read(text, 50, [0, -1, 1, 2, 3]), X)
        np.testing.assert_array_equal(read(text, 50, [2, -1, -1, 0, 1])[:, [2, 0, 1]], X[:, [0, 2, 3]])
        assert read(text, 50, [0, 1, 2, 3, -1]) is None  # a word
        assert read(text, 49, [0, -1, 1, 2, 3]) is None  # another number of rows or cells
        assert read(text, 51, [0, -1, 1, 2, 3]) is None
        assert read(text, 50, [0, -1, 1, 2]) is None
        assert read(text, 50, [0, -1, 1, 2, 3, -1]) is None
    assert read("", 0, [0]).shape == (0, 1)
    assert read("\n1\n", 2, [0]) is None


def test_arguments_are_checked():
    for delimiter in "0+-.eE \r\n\xe9":
        with pytest.raises(ValueError, match="delimiter"):
            read("1\n", 1, [0], delimiter)
    for place in (-2, 1, -1):  # the last leaves a column of `out` without numbers
        with pytest.raises(ValueError, match="places"):
            read("1\n", 1, [place], n_columns=1)
