"""What theory says of trained models: posteriors, PAC-Bayes bounds, and the bound of the exponential loss."""

import math

import numpy as np
import pytest

import rffkern
from rffkern._training.posterior import pac_bayes_bound

LANDMARK_FAMILIES = [rffkern.GBRFF1Classifier, rffkern.GBRFFClassifier, rffkern.PBRFFClassifier]


def rows(n, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n), np.linspace(-0.5, 0.5, n_classes - 1))


@pytest.mark.parametrize("family", LANDMARK_FAMILIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_posteriors_are_distributions_and_are_in_files(family, n_classes):
    model = family(7, n_components=5, random_state=0).fit(*rows(200, n_classes=n_classes))
    outputs = (3,) if n_classes == 3 and family is not rffkern.PBRFFClassifier else ()
    assert model.posterior_.shape == (7, *outputs, 5)
    np.testing.assert_allclose(model.posterior_.sum(axis=-1), 1, rtol=1e-14)
    np.testing.assert_array_equal(rffkern.loads(rffkern.dumps(model)).posterior_, model.posterior_)


def test_the_posterior_is_that_of_the_paper():
    """q_lj is proportional to exp(-beta sqrt(n) loss_lj), here from the landmarks and omegas of the model."""
    X, y = rows(120)
    model = rffkern.PBRFFTransformer(6, n_components=8, beta=2.0, standardize=False, precision="double",
                                     random_state=0).fit(X, y)
    omegas = model.expansion_.fourier.omegas.reshape(6, 8, 4)
    sign = 2.0 * y - 1
    losses = np.empty((6, 8))
    for k, landmark in enumerate(model.landmarks_):
        own = np.flatnonzero(np.abs(X - landmark).max(axis=1) < 1e-12)[0]
        products = sign[own] * sign[:, None] * np.cos((landmark - X) @ omegas[k].T)
        losses[k] = 0.5 - 0.5 * np.delete(products, own, axis=0).mean(axis=0)
    expected = np.exp(-2 * math.sqrt(120) * losses)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.posterior_, expected, rtol=1e-10)
    np.testing.assert_allclose(model.landmark_loss_, (expected * losses).sum(axis=1), rtol=1e-10)
    divergence = (expected * np.log(expected * 8)).sum(axis=1)
    s = 2 * math.sqrt(120)
    np.testing.assert_allclose(model.pac_bayes_bound(0.1), model.landmark_loss_
                               + (divergence + s**2 / (2 * 119) + math.log(10)) / s, rtol=1e-12)


def test_the_bound_holds_on_new_rows():
    """Of 40 fits, 20 landmarks each, the loss on 20,000 new rows is above the bound of 5 % nowhere: it is loose."""
    X_new, y_new = rows(20_000, seed=99)
    n_above = 0
    for seed in range(40):
        X, y = rows(300, seed)
        model = rffkern.PBRFFTransformer(20, standardize=False, random_state=seed).fit(X, y)
        owners = np.argmin(((model.landmarks_[:, None] - X) ** 2).sum(axis=2), axis=1)
        agreement = (2.0 * y_new - 1)[:, None] * (2.0 * y[owners] - 1)
        losses = (0.5 - 0.5 * agreement * model.transform(X_new)).mean(axis=0)
        n_above += (losses > model.pac_bayes_bound()).sum()
        assert (losses < 0.5).any()
    assert n_above == 0


def test_a_posterior_equal_to_the_prior_costs_nothing():
    uniform = np.full((1, 4), 0.25)
    np.testing.assert_allclose(pac_bayes_bound(np.array([0.3]), uniform, 10.0, 51.0, 1.0), 0.3 + 10 / 100)
    certain = np.array([[1.0, 0, 0, 0]])
    np.testing.assert_allclose(pac_bayes_bound(np.array([0.3]), certain, 10.0, 51.0, 1.0),
                               0.3 + 10 / 100 + math.log(4) / 10)


def test_where_the_theorem_does_not_apply():
    X, y = rows(100)
    with pytest.raises(rffkern.NotFittedError):
        rffkern.PBRFFClassifier().pac_bayes_bound()
    with pytest.raises(rffkern.InvalidInputError, match='landmarks must be "random"'):
        rffkern.PBRFFClassifier(5, landmarks="kmeans", random_state=0).fit(X, y).pac_bayes_bound()
    with pytest.raises(rffkern.InvalidInputError, match="beta must be > 0"):
        rffkern.PBRFFClassifier(5, beta=0.0, random_state=0).fit(X, y).pac_bayes_bound()
    model = rffkern.PBRFFClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(rffkern.InvalidInputError, match="delta must be"):
        model.pac_bayes_bound(0.0)
    with pytest.raises(rffkern.TrainingStateError, match="not kept in model files"):
        rffkern.loads(rffkern.dumps(model)).pac_bayes_bound()


def test_weights_count_as_effective_rows():
    X, y = rows(100)
    weight = np.where(np.arange(100) < 50, 1.0, 0.0)
    model = rffkern.PBRFFClassifier(5, random_state=0).fit(X, y, weight)
    assert model.n_effective_ == pytest.approx(50)
    assert rffkern.PBRFFClassifier(5, random_state=0).fit(X, y).n_effective_ == pytest.approx(100)


@pytest.mark.parametrize("model", [
    rffkern.GBRFF2Classifier(60, random_state=0), rffkern.GBRFF2Classifier(60, learning_rate=0.3, random_state=0),
    rffkern.GBRFF1Classifier(40, random_state=0), rffkern.GBRFF1Classifier(40, n_components=1, random_state=0)],
    ids=["gbrff2", "gbrff2-slow", "gbrff1", "gbrff1-one"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("precision", "rounding"), [("single", 5e-7), ("double", 1e-14)])
def test_the_loss_stays_below_its_bound(model, n_classes, precision, rounding):
    """Up to the rounding of exponentials of single rows, by which a loss of constants is off as a whole."""
    X, y = rows(400, n_classes=n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2, 400)
    model.set_params(precision=precision).fit(X, y, weight)
    bound, loss = model.convergence_bound_, model.train_loss_
    assert bound.shape == loss.shape
    assert bound[0] == pytest.approx(loss[0], rel=rounding)
    assert (loss <= bound * (1 + rounding)).all()
    assert (np.diff(bound) <= 0).all()
    assert bound[-1] < 0.95 * bound[0]
    wrong = [np.average(model.predict(X) != y, weights=weight)] if n_classes == 2 else []
    assert all(share <= loss[-1] for share in wrong)


def test_exact_steps_have_no_bound():
    assert rffkern.GBRFF1Classifier(5, step="exact", random_state=0).fit(*rows(60)).convergence_bound_.size == 0
