"""Rows of which few columns matter, and a model trained on them."""

import pytest
from helpers.networks import wavy

from rffkern import RFFNetRegressor


@pytest.fixture(scope="session")
def few_columns():
    """Rows to train on and their targets, and others to test on: two of eight columns matter."""
    X, y = wavy(3000)
    return X[:2000], y[:2000], X[2000:], y[2000:]


@pytest.fixture(scope="session")
def rffnet(few_columns):
    """A model trained on the first of them, for tests that do not change it."""
    return RFFNetRegressor(random_state=0).fit(*few_columns[:2])
