"""The page: HTML that parses, loads nothing, and shows names and levels as text whatever they are."""

import html.parser
import re

import numpy as np
import pytest

import rffkern
from rffkern._estimator.head import kept_figures
from rffkern._report.facts import Source, report_facts
from rffkern._report.labelled_rows import LabelledRows
from rffkern._report.page import report_page
from rffkern._report.svg import Plot, escape, padded, ticks

VOID = {"meta", "br"}
EVIL = ['<script>alert("x")</script>', "</title><img src=x onerror=alert(1)>", "'\"><svg onload=alert(2)>",
        "javascript:alert(3)", "{{7*7}}", "a\u202eb\x00c", "&lt;b&gt;"]


class Checker(html.parser.HTMLParser):
    """Counts elements, and refuses those that do not close."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def checked(page):
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


@pytest.fixture(scope="module")
def evil():
    """A page on a table whose names, levels and labels try to be HTML."""
    rng = np.random.default_rng(0)
    n_rows = 300
    table = {EVIL[0]: rng.standard_normal(n_rows), EVIL[1]: rng.choice(EVIL[:3], n_rows),
             EVIL[2]: rng.choice(EVIL[3:], n_rows), EVIL[5]: rng.integers(0, 4, n_rows),
             "long " * 60: rng.standard_normal(n_rows)}
    y = np.array(EVIL[:3])[(table[EVIL[0]] > 0).astype(int) + (rng.random(n_rows) < 0.1)]
    model = rffkern.FourierBoostingClassifier(20, n_bags=2, random_state=0).fit(table, y)
    source = Source(EVIL[1], "0" * 64, EVIL[0], "1" * 64, EVIL[2])
    return report_page(report_facts(LabelledRows(model, table, y), source))


def test_hostile_names_stay_text(evil):
    found = checked(evil)
    assert not {*found.tags} & {"script", "img", "iframe", "object", "link", "base", "form"}
    assert [name for name, _ in found.attributes if name.startswith("on")] == []
    assert any(EVIL[0] in text for text in found.text)
    assert "\u202e" not in evil
    assert "\x00" not in evil
    assert "a\\u202eb\\x00c" in "".join(found.text)


def test_nothing_is_loaded(evil):
    found = checked(evil)
    assert not re.search(r"url\(|@import|https?://", evil)
    assert {name for name, _ in found.attributes} & {"src", "srcset", "data", "action", "xlink:href"} == set()
    assert all(value.startswith("#") for name, value in found.attributes if name == "href")
    anchors = {value for name, value in found.attributes if name == "id"}
    assert {value[1:] for name, value in found.attributes if name == "href"} <= anchors
    assert "default-src 'none'" in evil
    assert len(evil.encode()) < 500_000


def test_pictures_have_titles_and_finite_places(evil):
    found = checked(evil)
    assert found.tags.count("svg") > 20
    assert not re.search(r"\b(nan|inf)\b[^<]*\"", "".join(re.findall(r'(?: d| x| y|width|height)="[^"]*"', evil)))
    labels = [value for name, value in found.attributes if name == "aria-label"]
    assert all(labels)


def test_the_same_rows_give_the_same_page():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    model = rffkern.GBRFF2Classifier(5, random_state=0).fit(X, y)
    one, other = (report_page(report_facts(LabelledRows(model, X, y), Source())) for _ in range(2))
    assert one == other


def test_the_first_line_has_what_rows_held_out_in_training_say():
    """Of the rows of training a report alone would flatter."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    model = rffkern.FourierBoostingClassifier(20, n_bags=2, random_state=0).fit(X, y)
    found = kept_figures(model)["out_of_fold"]
    lead = re.search('<p class="lead">(.*?)</p>', report_page(report_facts(LabelledRows(model, X, y), Source())))[1]
    assert lead.endswith(" rows held out in training.")
    assert f"in the model file: accuracy {found['accuracy']:.3f} \N{PLUS-MINUS SIGN} " in lead


def test_large_numbers_have_no_exponent():
    """Prices of houses are read by people; 1.2e+06 is not what they write."""
    rng = np.random.default_rng(0)
    X = {"area": rng.uniform(5e4, 3e6, 200).round(), "rooms": rng.integers(1, 9, 200)}
    y = 2 * X["area"] + 1e5 * X["rooms"]
    model = rffkern.FourierBoostingRegressor(20, n_bags=1, kernel_ridge=False, random_state=0).fit(X, y)
    page = report_page(report_facts(LabelledRows(model, X, y), Source()))
    assert re.findall(r"[0-9.]+e\+0[0-6]", page) == []
    assert f"to {y.max():.0f}" in page


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 17), (1e-9, 3e-9), (1e12, 1e12 + 5), (-1e300, 1e300), (2, 2)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 9
    assert all(low - 1e-9 * abs(low) <= each <= high + 1e-9 * abs(high) for each in found)


def test_places_of_values():
    plot = Plot((0, 10), (0, 1), width=120, height=110, left=10, right=10, top=5, bottom=5)
    assert (plot.x(0), plot.x(5), plot.x(10), plot.x(11)) == (10, 60, 110, 110)
    assert (plot.y(0), plot.y(1), plot.y(2), plot.y(2, inside=False)) == (105, 5, 5, -95)
    assert padded([1.0, 1.0, None, float("nan")]) == (0.95, 1.05)
    assert padded([]) == (0.0, 1.0)
    assert escape("<a&b>" + "x" * 50, 10) == "&lt;a&amp;b&gt;xxxx\u2026"
