"""Ctrl-C ends every long call soon, and leaves the model as it was.

Each call would take many seconds and was once one call of a kernel, which nothing ended.  The bound is on processor
time of all threads, several times what a piece of work takes.
"""

import sys

import numpy as np
import pytest
from helpers.expansions import boosted_expansion, fourier_expansion, kernel_expansion
from helpers.interrupting import seconds_after_interrupt

import rffkern
from rffkern import (
    FourierBoostingClassifier,
    PBRFFTransformer,
    RFFNetRegressor,
)

AFTER, BOUND = 0.6, 1.5

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(sys.platform != "linux", reason="reads the clock of another process")]


def rows(n_samples, n_features):
    return np.random.default_rng(0).standard_normal((n_samples, n_features), np.float32)


def cosines(n_threads):
    omegas = np.random.default_rng(0).standard_normal((6000, 20))
    expansion = fourier_expansion(omegas, np.zeros(6000), np.ones((6000, 1)), [0.0], np.zeros(20))
    X = rows(2_000_000, 20)
    return lambda: expansion.score(X, n_jobs=n_threads)


def cosines_of_wide_rows(n_threads):
    """16 rows are a tile here, and one piece of work some of the terms of some tiles."""
    omegas = rows(6000, 2000)
    expansion = fourier_expansion(omegas, np.zeros(6000), np.ones((6000, 1)), [0.0], np.zeros(2000))
    X = np.broadcast_to(rows(100, 2000), (200, 100, 2000)).reshape(-1, 2000)
    expansion.score(X[:100], n_jobs=n_threads)  # packs the terms, which is not what is to be interrupted
    return lambda: expansion.score(X, n_jobs=n_threads)


def kernels(n_threads):
    expansion = kernel_expansion(rows(20_000, 20), np.ones((20_000, 1)), [0.0], np.full(20, 0.1))
    X = rows(400_000, 20)
    return lambda: expansion.score(X, n_jobs=n_threads)


def features(n_threads):
    X = rows(500_000, 50)
    model = PBRFFTransformer(1000, random_state=0, n_jobs=n_threads).fit(X[:300], X[:300, 0] > 0)
    return lambda: model.transform(X)


def networks(n_threads):
    X = rows(8000, 2000)
    model = RFFNetRegressor(4096, batch_size=8000, max_epochs=3, n_restarts=1, random_state=0, n_jobs=n_threads)
    return lambda: model.fit(X, X[:, 0])


def tables(n_threads):
    rng = np.random.default_rng(0)
    columns = rng.permuted(np.tile(np.arange(20), (20_000, 1)), axis=1)[:, :8]
    thresholds = rng.standard_normal((20_000, 8))
    no_cosines = np.zeros((0, 20)), np.zeros(0), np.zeros((0, 1)), [0.0], np.zeros(20)
    expansion = boosted_expansion(*no_cosines, coefficients=np.ones((20, 1)), tree_columns=columns,
                                  tree_thresholds=thresholds, tree_values=np.ones((20_000 << 8, 1)))
    X = rows(2_000_000, 20)
    expansion.score(X[:100], n_jobs=n_threads)  # packs the tables
    return lambda: expansion.score(X, n_jobs=n_threads)


def members(n_threads):
    """Side by side; with one thread one after the other."""
    X = rows(300_000, 20)
    model = FourierBoostingClassifier(columns=None, n_bags=3, random_state=0, n_jobs=n_threads)
    return lambda: model.fit(X, X[:, 0] * X[:, 1] > 0)


CALLS = {"cosines": cosines, "cosines of wide rows": cosines_of_wide_rows, "kernels": kernels, "features": features,
         "networks": networks, "members": members, "tables": tables}


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("make", CALLS.values(), ids=CALLS)
def test_long_calls_end_soon(make, n_threads):
    seconds = seconds_after_interrupt(make(n_threads), AFTER)
    assert seconds is not None, "the call must be longer, so that the signal comes before its end"
    assert seconds < BOUND * n_threads


def test_a_later_fit_gives_the_same_bits():
    """An interrupted fit changes nothing, and a fit after it is not disturbed."""
    X = rows(60_000, 20)
    y = X[:, 0] * X[:, 1] > 0
    model = rffkern.GBRFF2Classifier(random_state=0, n_estimators=5).fit(X, y)
    scores, state = model.decision_function(X), dict(vars(model))
    model.set_params(n_estimators=2000)
    assert seconds_after_interrupt(lambda: model.fit(X, y), 0.3) < BOUND * 2
    model.set_params(n_estimators=5)
    assert all(vars(model)[name] is value for name, value in state.items() if name.endswith("_"))
    assert np.array_equal(model.decision_function(X), scores)
    assert np.array_equal(model.fit(X, y).decision_function(X), scores)
