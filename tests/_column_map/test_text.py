"""Columns of free text: their n-grams, the regression on these, and what a model makes of them."""

import contextlib
import itertools
import math
import re
import warnings
from collections import Counter

import numpy as np
import pytest

from rffkern import ColumnMap, FourierBoostingClassifier, RowBlocks, export, load, save
from rffkern._column_map.learning import N_FOLDS
from rffkern._column_map.text import Grams, learn_text, text_form
from rffkern._export import TARGETS
from rffkern.errors import ColumnWarning, InvalidInputError

GOOD, BAD = ["bright", "happy", "lovely", "warm", "splendid"], ["gloomy", "awful", "cold", "broken", "wretched"]
OTHER = ["the", "a", "house", "street", "walk", "went", "of", "on", "morning", "table", "seven", "green", "paper"]


def texts_of(rng, n, share=0.5):
    """Texts of 8 words, some of which depend on the label, and the labels."""
    y = rng.random(n) < 0.5
    return [" ".join(rng.choice(GOOD if good else BAD) if rng.random() < share / 2 else rng.choice(OTHER)
                     for _ in range(8)) + f" no {k}" for k, good in enumerate(y.tolist())], y


def grams_of(text):
    """The n-grams of a text, by plain loops."""
    words = re.findall(r"[^\W_]+", text.lower())
    found = [("word", word) for word in words] + [("pair", *pair) for pair in itertools.pairwise(words)]
    for word in words:
        padded = f" {word} "
        found += [("letters", padded[k : k + n]) for n in (3, 4) for k in range(len(padded) - n + 1)]
    return Counter(found)


def test_n_grams_are_those_of_plain_loops():
    texts = ["Hello, WORLD_hello  world!", "", "a", "!!", "Ünïcode ünïcode 日本語 x", "one two three one two"]
    grams = Grams.of(texts, 16)
    for k, text in enumerate(texts):
        counts = grams.counts[grams.starts[k] : grams.starts[k + 1]]
        assert sorted(counts.tolist()) == sorted(grams_of(text).values()), text  # no two share a bucket here
    for k, text in enumerate(texts):  # alone as among others
        alone = Grams.of([text], 16)
        span = slice(grams.starts[k], grams.starts[k + 1])
        np.testing.assert_array_equal(alone.buckets, grams.buckets[span])
    same = Grams.of(["world hello", "hello world"], 16)
    a, b = ({*same.buckets[same.starts[k] : same.starts[k + 1]].tolist()} for k in (0, 1))
    assert len(a - b) == len(b - a) == 1  # the pairs alone differ


def statistics_of(texts, y, n_folds=N_FOLDS):
    weights, targets = np.zeros((len(texts), n_folds)), np.zeros((len(texts), n_folds, 1))
    rows = np.arange(len(texts))
    weights[rows, rows % n_folds] = 1
    targets[rows, rows % n_folds, 0] = y
    return weights, targets


@pytest.mark.slow
def test_the_regression_is_that_of_its_definition(rng):
    """Solved anew with dense matrices: tf-idf of a few texts, ridge regression, folds left out."""
    texts, y = texts_of(rng, 60, 0.9)
    weights, targets = statistics_of(texts, y)
    form, folds = learn_text(texts, weights, targets, 1.0)
    grams = Grams.of(texts, 16)
    x = np.zeros((60, 1 << 16))
    for k in range(60):
        span = slice(grams.starts[k], grams.starts[k + 1])
        df = (np.array([grams.buckets[grams.starts[i] : grams.starts[i + 1]].tolist().count(b) for b in
                        grams.buckets[span] for i in range(60)]).reshape(-1, 60) > 0).sum(axis=1)
        x[k, grams.buckets[span]] = (1 + np.log(grams.counts[span])) * (1 + np.log(61 / (1 + df)))
        x[k] /= math.sqrt(x[k] @ x[k])
    gram = x @ x.T

    def scores(rows, penalty):
        """beta . x of all texts, from the regression on some."""
        return gram[:, rows] @ np.linalg.solve(gram[np.ix_(rows, rows)] + penalty * np.eye(len(rows)),
                                               y[rows] - y.mean())

    fold_of, errors = np.arange(60) % N_FOLDS, []
    for penalty in (0.5, 2.0, 8.0, 32.0):
        errors.append(((y - y.mean() - scores(np.flatnonzero(fold_of != 0), penalty))[fold_of == 0] ** 2).sum())
    penalty = (0.5, 2.0, 8.0, 32.0)[int(np.argmin(errors))]
    expected = np.array([scores(np.flatnonzero(fold_of != fold), penalty) for fold in range(N_FOLDS)]).T
    held_out = expected[np.arange(60), fold_of]
    center, spread = held_out.mean(), held_out.std()
    np.testing.assert_allclose(folds[..., 0], (expected - center) / spread, atol=0.02)
    np.testing.assert_allclose(form.of_texts(texts)[0], (scores(np.arange(60), penalty) - center) / spread, atol=0.02)


def test_text_without_meaning_is_not_used(rng):
    """Random words, with which nothing is learned, neither by the map nor by a model."""
    texts, _ = texts_of(rng, 600, 0)
    y = rng.integers(0, 2, 600)
    assert learn_text(texts, *statistics_of(texts, y), 1.0) is None
    with pytest.warns(ColumnWarning, match="by whose words and letters the target is not predicted"):
        ColumnMap().fit({"text": texts, "a": rng.standard_normal(600)}, y)
    assert learn_text(["same"] * 20, *statistics_of(["same"] * 20, y[:20]), 1.0) is None
    assert learn_text(["!"] * 20, *statistics_of(["!"] * 20, y[:20]), 1.0) is None  # without any word


def test_a_model_reads_text(rng, tmp_path):
    texts, y = texts_of(rng, 900)
    table = {"text": texts, "a": rng.standard_normal(900)}
    train, test = ({name: values[part] for name, values in table.items()} for part in (slice(600), slice(600, None)))
    model = FourierBoostingClassifier(30, kernel_ridge=False, random_state=0).fit(train, y[:600])
    assert model.score(test, y[600:]) > 0.85
    assert model.feature_importances_[0] > 0.8
    assert model.column_map_.forms_.tolist().count("text") == 1
    proba = model.predict_proba(test)
    one = {name: values[3:4] for name, values in test.items()}
    np.testing.assert_array_equal(model.predict_proba(one)[0], proba[3])
    save(model, tmp_path / "m.npz")
    np.testing.assert_array_equal(load(tmp_path / "m.npz").predict_proba(test), proba)
    missing = model.predict_proba({"text": [None, "", "NA"], "a": [0.0, 0.0, 0.0]})
    assert (missing == missing[0]).all()
    # Neither blocks of rows nor rows of weight 0 change a bit of what is learned.
    blocks = RowBlocks(lambda: ({name: values[start : start + 250] for name, values in train.items()}
                                for start in range(0, 600, 250)))
    again = FourierBoostingClassifier(30, kernel_ridge=False, random_state=0).fit(blocks, y[:600])
    np.testing.assert_array_equal(again.predict_proba(test), proba)
    weights = np.repeat([1.0, 0.0], [600, 300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        mapped = ColumnMap().fit_transform(table, y, weights)[600:]
    np.testing.assert_array_equal(mapped, ColumnMap().fit(table, y, weights).transform(test))


def test_texts_of_several_targets(rng):
    texts, y = texts_of(rng, 400, 0.9)
    other = np.array([len(text) for text in texts]) / 10.0
    found = ColumnMap().fit({"text": texts}, np.column_stack([y, other]))
    assert found.get_feature_names_out().tolist() == ["text_text0", "text_text1"]
    assert abs(np.corrcoef(found.transform({"text": texts})[:, 0], y)[0, 1]) > 0.8


@pytest.mark.parametrize(("numbers", "message"), [
    ([], "number of buckets"), ([1000.0, 0], "number of buckets"), ([1024.5, 0], "number of buckets"),
    ([1024.0] + [0.0] * 1025, "differ in number"), ([1024.0] + [0.0] * 2048, "differ in number"),
    ([1024.0] + [0.0] * 2048 + [1e300], "too large"), ([1024.0] + [0.0] * 2048 + [math.nan], "too large")])
def test_numbers_that_no_form_has_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        text_form(np.array(numbers))
    assert text_form(np.array([1024.0] + [0.0] * 2049)).outputs == ("text",)


def test_a_model_of_text_is_explained_and_exported_where_words_are_counted(rng, tmp_path):
    texts, y = texts_of(rng, 300, 0.9)
    table = {"text": [None, *texts[1:]], "a": rng.standard_normal(300)}
    model = FourierBoostingClassifier(10, kernel_ridge=False, random_state=0).fit(table, y)
    explanation = model.explain(table)
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, model.decision_function(table),
                               atol=1e-6)
    assert np.abs(explanation.values[:, 0]).mean() > np.abs(explanation.values[:, 1]).mean()
    for to, target in TARGETS.items():
        refused = pytest.raises(InvalidInputError, match=r"column 'text' .* free text, .* to 'c', 'js', .* or '")
        with contextlib.nullcontext() if target.reads_text else refused:
            export(model, tmp_path / "m", to=to)
    assert model.drift({"text": texts[:9], "a": np.zeros(9)})["columns"][0]["column"] == "text"
