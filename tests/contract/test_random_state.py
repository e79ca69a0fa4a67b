"""`random_state` of every family: a legacy RandomState, as scikit-learn's tools hand it on."""

import numpy as np
import pytest
from helpers.families import fit

from rffkern import dumps, loads

pytestmark = pytest.mark.slow


def test_a_random_state_is_a_seed_that_is_drawn_from_it_once(family):
    given = np.random.RandomState(0)
    model = fit(family, random_state=given)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    assert dumps(model.set_params(random_state=None)) == dumps(fit(family, random_state=seed).set_params(
        random_state=None))
    same = np.random.RandomState(0)
    same.randint(2**31 - 1)
    assert given.randint(2**31 - 1) == same.randint(2**31 - 1)


def test_a_model_with_a_random_state_is_saved_without_it(family):
    model = fit(family, random_state=np.random.RandomState(0))
    assert loads(dumps(model)).random_state is None
