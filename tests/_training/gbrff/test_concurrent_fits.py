"""Fits at the same time, of sizes that start a team of threads each, give the bits of fits alone."""

import concurrent.futures

import numpy as np
import pytest

from rffkern import GBRFF1Classifier, GBRFF2Classifier, GBRFFRegressor

N_SAMPLES, N_FEATURES = 80_000, 8  # 640,000 numbers: two threads each


@pytest.mark.slow
@pytest.mark.parametrize("make", [GBRFF2Classifier, GBRFF1Classifier, GBRFFRegressor])
def test_concurrent_fits(rng, make):
    X = rng.standard_normal((N_SAMPLES, N_FEATURES), dtype=np.float32)
    targets = [X[:, 0] * X[:, 1] > 0, X[:, 2] + X[:, 3] ** 2 > 1]

    def fit(y):
        return make(3, max_samples=None, max_iter=2, random_state=0, n_jobs=2).fit(X, y)

    alone = [fit(y) for y in targets]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        together = list(pool.map(fit, targets))
    for one, other in zip(alone, together, strict=True):
        for name in ("omegas", "phases", "amplitudes"):
            np.testing.assert_array_equal(one.expansion_.arrays()[name], other.expansion_.arrays()[name])
        np.testing.assert_array_equal(one.train_loss_, other.train_loss_)
    assert not np.array_equal(alone[0].expansion_.fourier.amplitudes, alone[1].expansion_.fourier.amplitudes)
