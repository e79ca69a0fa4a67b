"""Labels and targets out of the words of a file."""

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._cli.table import as_numbers, is_number, to_labels, to_targets


@pytest.mark.parametrize(("text", "expected"), [("1", True), (" 1e-3 ", True), ("nan", True), ("", False),
                                                ("1,5", False), (".5", True), ("5.", True), (".", False),
                                                ("-Infinity", True), ("1_000", False), ("0x10", False),
                                                ("\uff11\uff12", False), ("\u0661", False), ("+-1", False)])
def test_is_number(text, expected):
    assert is_number(text) is expected


@pytest.mark.parametrize(("words", "expected"), [
    (["1", "2", "1"], [1, 2, 1]), (["1.0", "2"], [1, 2]), (["0.5", "2"], [0.5, 2.0]), (["1", "b"], ["1", "b"]),
    (["1", "1.0"], ["1", "1.0"]), (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
    (["5", "18446744073709551615"], np.array([5, 2**64 - 1], np.uint64)), (["-1", "18446744073709551615"],) * 2,
    (["9007199254740993", "1e3"], [9007199254740993, 1000]),
    (["1e300", "2"], [1e300, 2.0]), (["True", "False"], ["True", "False"]), (["nan", "yes"], ["nan", "yes"]),
    (["007", "8"], ["007", "8"]), (["-01", "1"], ["-01", "1"]), (["+1", "-1"], [1, -1]), (["0", "0.5"], [0.0, 0.5]),
    (["1_000", "2"], ["1_000", "2"]), (["\uff11", "2"], ["\uff11", "2"]), (["0x10", "2"], ["0x10", "2"]),
])
def test_words(words, expected):
    found = to_labels([np.array(words[:1]), np.array(words[1:])], "t.csv")
    np.testing.assert_array_equal(found, np.array(expected))
    assert found.dtype.kind == np.array(expected).dtype.kind


def test_the_type_is_that_of_all_blocks():
    assert to_labels([np.array(["1"]), np.array(["2", "x"])], "t.csv").tolist() == ["1", "2", "x"]


def test_labels_of_an_array_are_kept():
    for labels in (np.array([3, 1], np.uint8), np.array([True, False]), np.array([["1", "2"]])):
        found = to_labels([labels], "t.npz")
        assert found.dtype == labels.dtype
        np.testing.assert_array_equal(found, labels)


def test_as_numbers():
    np.testing.assert_array_equal(as_numbers(np.array([["1", "x"], ["-2.5", ""]])), [[1, np.nan], [-2.5, np.nan]])
    np.testing.assert_array_equal(as_numbers(np.array([b"1", b"x"])), [1, np.nan])
    assert as_numbers(np.array([1, 2], np.int8)).dtype == np.float64


def test_targets():
    found = to_targets([np.array(["1", "2.5"]), np.array(["-3"])], "t.csv")
    assert found.tolist() == [1, 2.5, -3]
    with pytest.raises(InvalidInputError, match=r"t\.csv: expected a finite number .* of data row 3, got 'x'"):
        to_targets([np.array(["1", "2"]), np.array(["x"])], "t.csv")
    with pytest.raises(InvalidInputError, match=r"target of data row 2, got \[2\.0, nan\]"):
        to_targets([np.array([[1.0, 2.0], [2.0, np.nan]])], "t.npz")


@pytest.mark.parametrize("word", ["nan", "inf", "-Infinity", "1e400"])
def test_numbers_that_are_no_labels(word):
    with pytest.raises(InvalidInputError, match=rf"t\.csv: .* number as the label of data row 3, got '{word}'"):
        to_labels([np.array(["1", "2"]), np.array([word, "1"])], "t.csv")
    with pytest.raises(InvalidInputError, match=r"t\.npz: .* as the label of data row 2, got nan"):
        to_labels([np.array([1.0, np.nan])], "t.npz")
