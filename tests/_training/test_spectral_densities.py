"""Mean cosines of drawn omegas are the kernels whose densities they are drawn from."""

import numpy as np
import pytest
from helpers.families import same_state

import rffkern
from rffkern._training.spectral import SPECTRAL_DENSITIES

KERNELS = {
    "gaussian": lambda d: np.exp(-0.5 * (d**2).sum()),
    "laplace": lambda d: np.exp(-np.abs(d).sum()),
    "matern32": lambda d: (1 + np.sqrt(3) * np.linalg.norm(d)) * np.exp(-np.sqrt(3) * np.linalg.norm(d)),
    "matern52": lambda d: (1 + np.sqrt(5) * np.linalg.norm(d) + 5 / 3 * (d**2).sum())
    * np.exp(-np.sqrt(5) * np.linalg.norm(d)),
}


def test_every_kernel_has_a_density():
    assert set(KERNELS) == set(SPECTRAL_DENSITIES)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("difference", [(0.0, 0.0), (0.5, 0.0), (0.3, -0.4), (1.5, 1.0)])
def test_mean_cosine_is_the_kernel(name, difference):
    omegas = SPECTRAL_DENSITIES[name](np.random.default_rng(3), (100_000, 2))
    assert omegas.shape == (100_000, 2)
    difference = np.array(difference)
    # Four standard errors of a mean of cosines.
    assert np.cos(omegas @ difference).mean() == pytest.approx(KERNELS[name](difference), abs=4 / np.sqrt(2e5))


MEDIANS = {"gaussian": 0.6745, "laplace": 1.0, "matern32": 0.7649, "matern52": 0.7267}  # of |omega_j|
MODELS = [rffkern.GBRFF2Classifier(5000, max_iter=0, learning_rate=1e-3),
          rffkern.GBRFF1Classifier(50, n_components=100), rffkern.GBRFFClassifier(50), rffkern.GBRFFRegressor(50),
          rffkern.PBRFFClassifier(50, n_components=100), rffkern.PBRFFTransformer(50, n_components=100)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kernel", KERNELS)
def test_models_draw_from_the_density_of_their_kernel(model, kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * (1, 10, 100, 0.1)
    model = type(model)(**model.get_params() | {"kernel": kernel, "gamma": 2.0, "random_state": 1})
    model.fit(X, rng.permutation([0, 1] * 30))
    omegas = model.expansion_.fourier.omegas * X.std(axis=0)
    assert omegas.size == 20_000
    assert np.median(np.abs(omegas)) / 2 == pytest.approx(MEDIANS[kernel], abs=0.02)


def test_a_continued_fit_draws_what_a_longer_one_does():
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = rffkern.GBRFF2Classifier(5, kernel="matern32", warm_start=True, random_state=3).fit(X, X[:, 0] > 0)
    model.n_estimators = 9
    longer = rffkern.GBRFF2Classifier(9, kernel="matern32", warm_start=True, random_state=3).fit(X, X[:, 0] > 0)
    assert same_state(model.fit(X, X[:, 0] > 0), longer)
    with pytest.raises(rffkern.InvalidInputError, match="kernel must be 'matern32', as in"):
        model.set_params(kernel="laplace").fit(X, X[:, 0] > 0)
