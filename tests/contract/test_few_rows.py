"""One row after another: what a model accepts, refuses and answers does not depend on what it was asked before."""

import pickle

import numpy as np
import pytest
from helpers.families import X, answers, fit

from rffkern import InvalidInputError
from rffkern._estimator.registry import FAMILIES

pytestmark = pytest.mark.slow

ROW = X[:1]
GOOD = {"row": ROW, "rows": X[:5], "single": ROW.astype(np.float32), "list": ROW.tolist(), "order": X[:6:2],
        "columns first": np.asfortranarray(X[:3]), "whole numbers": np.array([[1, 1900, 0, 2, 3, 4]]),
        "other byte order": ROW.astype(">f8"), "far": ROW * 1e6, "far single": (ROW * 1e6).astype(np.float32),
        "masked, none of it": np.ma.array(ROW, mask=False), "a kind of array": ROW.view(np.matrix), "many": X[:9]}
BAD = {"nan": ROW * [1, 1, np.nan, 1, 1, 1], "inf": ROW * [np.inf, 1, 1, 1, 1, 1],
       "single nan": np.float32([[0, 0, 0, 0, 0, np.nan]]), "too large": np.full((1, 6), 1e308),
       "columns": ROW[:, :5], "one more": np.hstack([ROW, ROW[:, :1]]), "vector": ROW[0], "cube": ROW[None],
       "none": X[:0], "complex": ROW.astype(complex), "text": np.array([["a"] * 6]), "objects": np.array([[None] * 6]),
       "masked": np.ma.array(ROW, mask=[[True] + 5 * [False]])}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_answers_do_not_depend_on_those_before(name):
    model = fit(FAMILIES[name].load())
    fresh = pickle.dumps(model)
    for dtype in (np.float64, np.float32):
        answers(model, X[:2].astype(dtype))
    for form, rows in GOOD.items():
        expected = answers(pickle.loads(fresh), rows)
        assert np.asarray(answers(model, rows)).tobytes() == np.asarray(expected).tobytes(), form
    for form, rows in BAD.items():
        with pytest.raises((InvalidInputError, TypeError)) as cold:
            answers(pickle.loads(fresh), rows)
        with pytest.raises((InvalidInputError, TypeError)) as warm:
            answers(model, rows)
        assert str(warm.value) == str(cold.value), form
