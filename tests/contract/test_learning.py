"""What every family learns and keeps, whatever it learns."""

import copy
import pickle

import numpy as np
import pytest
from helpers.families import X, Y, answers, fit, known, same_state, target_of

import rffkern
from rffkern import (
    ColumnMap,
    GBRFF1Classifier,
    GBRFFClassifier,
    GBRFFRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    PBRFFClassifier,
    RFFNetClassifier,
    RFFNetRegressor,
    SparseKernelClassifier,
    SparseKernelRegressor,
)
from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Regressor
from rffkern.errors import DataConversionWarning


def test_learns(family, fitted):
    if hasattr(family, "transform"):
        features = np.column_stack([fitted.transform(X), np.ones(len(X))])
        signs = np.where(Y == "up", 1, -1)
        assert np.mean(np.sign(features @ np.linalg.lstsq(features, signs, rcond=1e-6)[0]) == signs) > 0.9
    else:
        assert fitted.score(X, target_of(family)) > 0.9


def test_same_seed_same_state(family, fitted):
    assert same_state(fitted, fit(family))
    assert same_state(fitted, fit(family, random_state=np.random.default_rng(0)))
    # Fewer landmarks than rows; in single precision few rows are solved without any.
    few = known(family, n_landmarks=15, precision="double")
    assert not same_state(fit(family, **few), fit(family, random_state=1, **few))


@pytest.mark.parametrize("name", ["sparse_kernel", "sparse_kernel_regressor"])
def test_same_seed_same_learned_kernel(name):
    family = FAMILIES[name].load()
    first = fit(family, kernel="auto", n_estimators=2)
    assert same_state(first, fit(family, X.tolist(), kernel="auto", n_estimators=2))
    assert not same_state(first, fit(family, kernel="auto", n_estimators=2, random_state=1))


@pytest.mark.slow
def test_refit_forgets(family, fitted):
    other = fit(family, X[:, :3])
    assert same_state(fitted, other.fit(X, target_of(family)))
    assert other.n_features_in_ == 6


def test_the_state_is_immutable(fitted):
    with pytest.raises(AttributeError, match="immutable"):
        fitted.expansion_.intercept = np.zeros(1)
    with pytest.raises(AttributeError, match="immutable"):
        del fitted.expansion_.intercept
    for array in fitted.expansion_.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_parameters(family):
    model = family(random_state=3)
    params = model.get_params()
    assert params["random_state"] == 3
    assert family(**params).get_params() == params
    assert model.set_params(random_state=4) is model
    assert repr(model) == f"{family.__name__}(random_state=4)"
    assert repr(family()) == f"{family.__name__}()"


def test_copies(fitted):
    for copied in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(answers(copied, X), answers(fitted, X))


def test_not_fitted(family):
    with pytest.raises(rffkern.NotFittedError, match=family.__name__):
        answers(family(), X)
    for ask in ("gradient", "explain", "drift"):
        if hasattr(family, ask):
            with pytest.raises(rffkern.NotFittedError, match=family.__name__):
                getattr(family(), ask)(X)
    with pytest.raises(rffkern.NotFittedError, match=family.__name__):
        rffkern.save(family(), "nowhere")


@pytest.mark.slow
@pytest.mark.parametrize("cls", [KernelRidgeRegressor, KernelRidgeClassifier, GBRFFRegressor, GBRFFClassifier,
                                 GBRFF1Classifier, PBRFFClassifier, RFFNetRegressor, RFFNetClassifier,
                                 SparseKernelRegressor, SparseKernelClassifier])
def test_a_few_rows_far_out_are_told_and_do_not_spoil_the_others(rng, cls):
    X = rng.standard_normal((600, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    y = y if issubclass(cls, Regressor) else y > 0
    learned, test = X[:320].copy(), slice(320, 600)
    learned[[3, 50, 319], 0] = [1e9, 1e12, -1e10]
    ordinary = cls(random_state=0).fit(X[:320], y[:320]).score(X[test], y[test])
    with pytest.warns(DataConversionWarning, match="column 0 of X has a few rows so far out"):
        model = cls(random_state=0).fit(learned, y[:320])
    assert model.score(X[test], y[test]) > ordinary - 0.15


def test_forms_that_a_few_rows_far_out_spoil_are_told(rng):
    X = rng.standard_normal((500, 2))
    X[[3, 50], 0] = [1e9, -1e12]
    with pytest.warns(DataConversionWarning, match="column 0 of X has a few rows so far out"):
        ColumnMap().fit(X)
    ColumnMap(("standard", "rank")).fit(X)
