"""Formulas of exported models are those that the package computes."""

import numpy as np
import pytest

from rffkern._column_map import transforms
from rffkern._column_map.compiled import mapped_values
from rffkern._column_map.fitted_column import FittedColumn
from rffkern._estimator.links import LARGEST_LOG, TAIL, LinearLink, LogisticLink, SoftmaxLink
from rffkern._export.c_program import hexadecimal
from rffkern._export.cells import c_text
from rffkern._export.formulas import FORMS, KERNELS, write
from rffkern._export.function import _LOG_ODDS, _POSITIVE, _TARGETS
from rffkern._export.numpy_file import _WRITER
from rffkern._export.sql_file import _exact, _number, _search, _sum

SCORES = np.concatenate([np.linspace(-3, 3, 61), [-1e3, -50.0, -1 - 1e-9, 1e-300, 50.0, 1e3]])


def value_of(formula, **names):
    """What a formula is for numbers, by its NumPy text."""
    return eval(write(formula, _WRITER, **{name: name for name in names}), {"np": np}, names)


@pytest.mark.parametrize("link", [LogisticLink(2.0), LogisticLink(0.3), SoftmaxLink(), LinearLink()])
def test_links(link):
    names = {"h": SCORES, "slope": getattr(link, "slope", 1.0), "tail": TAIL}
    cls = type(link)
    positive = value_of(_POSITIVE[cls if cls in _POSITIVE else LogisticLink], **names)
    np.testing.assert_allclose(positive, link.positive(SCORES), rtol=1e-15)
    np.testing.assert_allclose(value_of(_LOG_ODDS[cls], **names), link.log_positive(SCORES), rtol=1e-14, atol=1e-15)


def test_kernels():
    r = np.linspace(0, 30, 61)
    np.testing.assert_allclose(value_of(KERNELS["gaussian"], q=r * r), np.exp(-0.5 * r * r), rtol=1e-15)
    np.testing.assert_allclose(value_of(KERNELS["exponential"], q=r * r), np.exp(-r), rtol=1e-14)


def test_targets():
    assert value_of(_TARGETS["scores"], h=SCORES) is SCORES
    np.testing.assert_array_equal(value_of(_TARGETS["means"], h=SCORES, largest=LARGEST_LOG),
                                  np.exp(np.minimum(SCORES, LARGEST_LOG)))


@pytest.mark.parametrize(("name", "numbers"), [
    ("standard", [0.3, 1.7]), ("standard", [0.0, 1e300]), ("bounded", [0.1, 2.0, 0.2, 1.3]),
    ("bounded", [0.0, 1e300, 0.0, 1.0]), ("missing", [0.25]), ("bins", [-1.0, 0.5, 0.2, 0.5, 0.3])])
def test_forms_to_the_bit(name, numbers):
    form = getattr(transforms, name)(np.array(numbers))
    mapped = mapped_values([FittedColumn("numeric", (form,))], [np.array([SCORES])])
    for (kind, _, *abcd), expected in zip(form.entries, mapped, strict=True):
        found = value_of(FORMS[kind], x=SCORES, **dict(zip("abcd", abcd, strict=True)))
        np.testing.assert_array_equal(np.broadcast_to(found, SCORES.shape), expected)


# --- numbers and texts of languages

NUMBERS = [0.0, 1.0, -2.5, 1 / 3, 1e300, 5e-324, -1.7976931348623157e308, 2.0**70, 12345678.9, 0.1, 1e22]


@pytest.mark.parametrize("value", NUMBERS)
def test_texts_of_numbers_read_back(value):
    assert float.fromhex(hexadecimal(value)) == value
    assert float(_number(value)) == value
    assert "e" in _number(value)  # without it DuckDB would take it for a decimal fraction
    above, _, below = _exact(value).replace("CAST(", "").replace(" AS double precision)", "").partition(" / ")
    assert float(above) / float(below or 1) == value


def test_numbers_of_many_digits_are_quotients_of_whole_numbers():
    """SQLite rounds some of them wrongly, and a threshold must be exact."""
    assert _exact(0.5) == "0.5e0"
    assert _exact(1 / 3) == "CAST(6004799503160661e0 AS double precision) / 18014398509481984e0"


def test_sums_and_searches_are_not_deep():
    text = _sum([f"x{j}" for j in range(1000)])
    assert max(text[:i].count("(") - text[:i].count(")") for i in range(0, len(text), 7)) <= 11
    assert eval(_sum([str(j) for j in range(1000)])) == 499500
    leaves = [f"leaf{i}" for i in range(9)]
    assert _search("x", [], leaves) == "leaf0"
    assert _search("x", ["1", "2"], leaves[:3]) == ("CASE WHEN x >= 2 THEN leaf2 ELSE CASE WHEN x >= 1 THEN leaf1 "
                                                    "ELSE leaf0 END END")


def test_c_texts_have_no_escape_that_goes_on():
    assert c_text('a"b\\?7ü') == r'"a\042b\134\0777\303\274"'
