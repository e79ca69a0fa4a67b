"""Every family in turn."""

import copy
import functools

import pytest
from helpers.families import BOOSTED, CHOOSING, STAGED, fit

from rffkern._estimator.registry import FAMILIES


@pytest.fixture(params=sorted(FAMILIES))
def family(request):
    """The class of a family."""
    return FAMILIES[request.param].load()


@pytest.fixture(params=sorted(name for name, entry in FAMILIES.items() if entry.task != "transformer"))
def predictor(request):
    """The class of a family that predicts."""
    return FAMILIES[request.param].load()


@functools.cache
def _fitted(family):
    return fit(family)


@pytest.fixture
def fitted(family):
    """A trained model of it, which a test may change."""
    return copy.deepcopy(_fitted(family))


@pytest.fixture(params=BOOSTED)
def boosted(request):
    """The class of a family that learns in rounds."""
    return FAMILIES[request.param].load()


@pytest.fixture(params=STAGED)
def staged(request):
    """The class of a family that answers as it did after each round."""
    return FAMILIES[request.param].load()


@pytest.fixture(params=CHOOSING)
def choosing(request):
    """The class of a family that chooses among maps, of which none is one."""
    return FAMILIES[request.param].load()
