"""Every family in turn."""

import pytest
from helpers.families import BOOSTED, fit

from rffkern._estimator.registry import FAMILIES


@pytest.fixture(params=sorted(FAMILIES))
def family(request):
    """The class of a family."""
    return FAMILIES[request.param].load()


@pytest.fixture
def fitted(family):
    """A trained model of it."""
    return fit(family)


@pytest.fixture(params=BOOSTED)
def boosted(request):
    """The class of a family that learns in rounds."""
    return FAMILIES[request.param].load()
