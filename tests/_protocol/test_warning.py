"""Warnings point at the line of the caller, however deep the code is that warns."""

import warnings

import numpy as np
import pytest

from rffkern import (
    ColumnMap,
    ColumnWarning,
    DataConversionWarning,
    FourierBoostingClassifier,
    GBRFF2Classifier,
    KernelRidgeClassifier,
)

X = np.arange(40.0).reshape(20, 2)
LABELS = ["a", "b"] * 10
CALLS = [
    (ColumnWarning, lambda: ColumnMap().fit({"x": X[:, 0], "one": [1] * 20})),
    (ColumnWarning, lambda: GBRFF2Classifier(1, random_state=0).fit({"x": X[:, 0], "one": ["same"] * 20}, LABELS)),
    (ColumnWarning, lambda: ColumnMap().fit({"day": ["3/4/2024"] * 10 + ["5/4/2024"] * 10})),
    (DataConversionWarning, lambda: GBRFF2Classifier(1, random_state=0).fit(X, np.array(LABELS)[:, None])),
    (DataConversionWarning, lambda: ColumnMap().fit({"x": [0.0, 1.0] * 500 + [1e9]})),
]


@pytest.mark.parametrize(("category", "call"), CALLS)
def test_the_line_is_that_of_the_caller(category, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert {(each.category.__name__, each.filename) for each in caught} == {(category.__name__, __file__)}


@pytest.mark.parametrize("cls", [FourierBoostingClassifier, GBRFF2Classifier, KernelRidgeClassifier])
@pytest.mark.parametrize("what", ["integers", "weights"])
def test_a_fit_says_the_same_once_and_the_next_one_again(cls, what):
    """Though the map of columns, the search for copies and the check read the same table."""
    rng = np.random.default_rng(0)
    table = {"code": rng.integers(2**60, 2**60 + 10**6, 40) if what == "integers" else rng.random(40),
             "x": rng.random(40)}
    weights = np.ones((40, 1)) if what == "weights" else None
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cls(random_state=0).fit(table, np.arange(40) % 2, weights)
        assert [each.category.__name__ for each in caught] == ["DataConversionWarning"]
        assert caught[0].filename == __file__
