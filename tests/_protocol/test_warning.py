"""Warnings point at the line of the caller, however deep the code is that warns."""

import warnings

import numpy as np
import pytest

from rffkern import ColumnMap, ColumnWarning, DataConversionWarning, GBRFF2Classifier

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
