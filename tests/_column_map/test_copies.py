"""Copies of rows, whose target no other fold may tell."""

import warnings

import numpy as np
import pytest

from rffkern import ColumnMap, FourierBoostingClassifier, RowBlocks
from rffkern._column_map.copies import copies_as_groups
from rffkern._column_map.tables import table_blocks
from rffkern.errors import ColumnWarning


def named_rows(rng, n):
    """Names of two letters and two numbers, one with missing values, of which no label depends."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    table = {"name": np.char.add(rng.choice(letters, n), rng.choice(letters, n)), "a": rng.standard_normal(n),
             "b": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n))}
    return table, rng.integers(2, size=n)


def taken(table, rows):
    return {name: values[rows] for name, values in table.items()}


def groups_of(X, y, weights):
    kinds = {0: "category", 1: "numeric", 2: "numeric"}
    return copies_as_groups(lambda: table_blocks(X, None), kinds, np.asarray(y, dtype=float)[:, None], weights)


def test_copies_are_equal_in_columns_and_targets(rng):
    table, y = named_rows(rng, 100)
    rows, weights = rng.integers(100, size=300), np.ones(300)
    X, targets = taken(table, rows), y[rows]
    X["a"][rows == rows[0]] *= 0.0
    X["a"][0] = -0.0  # no other number than 0
    expected = np.array([np.flatnonzero(rows == row)[0] for row in rows])
    np.testing.assert_array_equal(groups_of(X, targets, weights), expected)
    blocks = RowBlocks(lambda: (taken(X, slice(start, start + 70)) for start in range(0, 300, 70)))
    np.testing.assert_array_equal(groups_of(blocks, targets, weights), expected)
    last = np.flatnonzero(rows == rows[1])[-1]
    assert last > 1
    targets[last] = 1 - targets[last]
    weights[2] = 0
    found = groups_of(X, targets, weights)
    assert (found[1], found[last], found[2]) == (1, last, 2)
    assert groups_of(taken(X, slice(40)), targets[:40], weights[:40]) is None or len(np.unique(rows[:40])) < 36
    few = {"name": X["name"], "a": np.round(X["a"]), "b": np.zeros(300)}  # equal by chance
    assert groups_of(few, targets, weights) is None
    assert groups_of(table, y, np.ones(100)) is None


def test_copies_tell_no_targets(rng):
    """Names without meaning tell nothing although a copy of each row has the same."""
    table, y = named_rows(rng, 150)
    rows = np.repeat(np.arange(150), 3)[rng.permutation(450)]
    X, targets = taken(table, rows), y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        found = ColumnMap().fit(X, targets)
        mapped = ColumnMap().fit_transform(X, targets)
    told = {each["form"] for each in found.describe()} & {"target", "text"}
    for j, form in enumerate(found.forms_):
        if form in ("target", "text"):
            assert abs(np.corrcoef(mapped[:, j], targets)[0, 1]) < 0.2
    assert "text" not in told


@pytest.mark.slow
def test_a_model_of_copies_says_how_good_it_is_on_new_rows(rng):
    table, y = named_rows(rng, 150)
    rows = rng.integers(150, size=450)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        model = FourierBoostingClassifier(200, random_state=0).fit(taken(table, rows), y[rows])
    other, labels = named_rows(rng, 1000)
    p = np.clip(model.predict_proba(other)[np.arange(1000), labels], 1e-7, 1)
    assert -np.log(p).mean() < 0.75  # 0.693 says nothing
