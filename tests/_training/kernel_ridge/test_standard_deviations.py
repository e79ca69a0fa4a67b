"""Standard deviations of kernel ridge regression as a Gaussian process."""

import numpy as np
import pytest

import rffkern
from rffkern import InvalidInputError, KernelRidgeRegressor, TrainingStateError

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3)) * [1, 10, 1] + [0, 1900, 0]
Y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(60)
GIVEN = {"length_scale": [1.0, 2.0, 3.0], "reg_lambda": 0.2, "standardize": False, "random_state": 0}
NEW = np.vstack([X[:3], X[:5] + 0.3, X[:1] + 1e6, X[:1] * 1e100])


def expected(y, kernel):
    """By the definition, in plain NumPy."""
    def k(a, b):
        r = np.sqrt((((a[:, None] - b) / GIVEN["length_scale"]) ** 2).sum(axis=2))
        return np.exp(-r if kernel == "exponential" else -(r**2) / 2)

    inverse = np.linalg.inv(k(X, X) + 0.2 * np.eye(60))
    variance = ((inverse @ (y - y.mean(axis=0))) ** 2 / np.diag(inverse)[:, None]).mean(axis=0)
    explained = np.einsum("nm,mk,kn->n", k(NEW, X), inverse, k(X, NEW))
    return np.sqrt(variance * (1.2 - explained)[:, None]), variance


@pytest.mark.parametrize("kernel", ["exponential", "gaussian"])
def test_they_are_those_of_the_definition(kernel):
    y = np.column_stack([Y, 50 * Y + rng.standard_normal(60)])
    model = KernelRidgeRegressor(kernel, **GIVEN).fit(X, y)
    predicted, std = model.predict(NEW, return_std=True)
    np.testing.assert_array_equal(predicted, model.predict(NEW))
    np.testing.assert_allclose(std, expected(y, kernel)[0], rtol=2e-3)  # the model is solved in single precision
    np.testing.assert_array_equal(std, rffkern.loads(rffkern.dumps(model)).predict(NEW, return_std=True)[1])
    np.testing.assert_allclose(KernelRidgeRegressor(kernel, **GIVEN).fit(X, Y).predict(NEW, return_std=True)[1],
                               expected(Y[:, None], kernel)[0][:, 0], rtol=2e-3)


def test_as_scikit_learn():
    process = pytest.importorskip("sklearn.gaussian_process")
    kernels = process.kernels
    s2 = float(expected(Y[:, None], "exponential")[1][0])
    kernel = s2 * kernels.Matern(GIVEN["length_scale"], nu=0.5) + kernels.WhiteKernel(0.2 * s2)
    theirs = process.GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, Y - Y.mean())
    ours = KernelRidgeRegressor(**GIVEN).fit(X, Y).predict(NEW, return_std=True)
    mean, std = theirs.predict(NEW, return_std=True)
    np.testing.assert_allclose(ours[0], mean + Y.mean(), atol=2e-3)
    np.testing.assert_allclose(ours[1], std, rtol=2e-3)


def test_constant_targets_do_not_vary():
    predicted, std = KernelRidgeRegressor(**GIVEN).fit(X, np.full(60, 3.0)).predict(X, return_std=True)
    assert (predicted == 3).all()
    assert not std.any()


def test_models_that_have_none():
    model = KernelRidgeRegressor(**GIVEN)
    for fitted in (model.fit(X, Y, np.linspace(1, 2, 60)),
                   KernelRidgeRegressor(**GIVEN, region_size=20).fit(X, Y),
                   KernelRidgeRegressor(**GIVEN).fit(X, Y).conformalize(X, Y)):
        with pytest.raises(TrainingStateError, match="return_std needs a model that was trained on 1,500 rows"):
            fitted.predict(X, return_std=True)
    with pytest.raises(InvalidInputError, match="return_std must be"):
        model.predict(X, return_std=2)


def test_variances_that_are_beyond_all_bounds_are_not_kept():
    model = rffkern.loads(rffkern.dumps(KernelRidgeRegressor(**GIVEN).fit(X, 1e160 * Y)))
    with pytest.raises(TrainingStateError, match="return_std"):
        model.predict(X, return_std=True)
