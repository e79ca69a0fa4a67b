"""The scikit-learn protocol, where that library is installed."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from helpers.families import known

import rffkern
from rffkern._estimator.registry import FAMILIES

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

pytestmark = pytest.mark.slow

# Parameters of small models; a check of scikit-learn trains some fifty of them.
SMALL = {"n_estimators": 10, "n_bags": 2, "n_components": 8, "max_epochs": 15, "n_restarts": 1, "n_landmarks": 20,
         "basis_size": 10, "length_scale": 2.0, "cache_size": 8, "kernel_ridge": False}
OF_FAMILIES = {
    "kernel_ridge": {"reg_lambda": 0.1}, "kernel_ridge_regressor": {"reg_lambda": 0.1},
    "rffnet_regressor": {"learning_rate": 0.1, "n_components": 40, "max_epochs": 30},
    "sparse_kernel": {"kernel": {"length_scale": 2.0}, "reg_lambda": 0.1},
    "sparse_kernel_regressor": {"kernel": {"length_scale": 2.0}, "reg_lambda": 0.1},
}

# Compare to 1e-7, which no training in single precision reaches.
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
DRAWN = "rows are drawn by weight; the tests of the family compare selections among all rows"
STEPS = "a step on a batch is not two steps on halves of it"
MEMBERS = "each member holds rows out, and learns in single precision"
FOLDS = "rows are drawn for folds, landmarks and length scales; the tests of the family compare one system"
IN_ORDER = "landmarks are drawn from shuffled rows"
NOT_EXPECTED_TO_PASS = {  # in double precision either
    "fourier_boosting": MEMBERS, "fourier_boosting_regressor": MEMBERS, "kernel_ridge": FOLDS,
    "kernel_ridge_regressor": FOLDS, "pbrff": IN_ORDER, "pbrff_transformer": IN_ORDER, "rffnet": STEPS,
    "rffnet_regressor": STEPS, "sparse_kernel": DRAWN, "sparse_kernel_regressor": DRAWN,
}


def small(family, **params):
    """An untrained model of a family, which trains fast."""
    cls = FAMILIES[family].load()
    return cls(random_state=0, **known(cls, **SMALL) | OF_FAMILIES.get(family, {}) | known(cls, **params))


def failures(model, expected=None):
    """Exceptions of the public checks that fail, of which the weights may, for a reason; more than 40 must pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=dict.fromkeys(WEIGHTS if expected else (), expected),
                                  on_fail=None)
    assert sum(result["status"] == "passed" for result in results) > 40
    return {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_public_estimator_checks(family):
    """In single precision, with the columns that are the default, which "auto" leaves as they are in most families."""
    assert failures(small(family), NOT_EXPECTED_TO_PASS.get(family, "single precision")) == {}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_public_estimator_checks_with_a_map(family):
    model = small(family, columns=rffkern.ColumnMap(("standard", "rank")), precision="double")
    assert failures(model, NOT_EXPECTED_TO_PASS.get(family)) == {}
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_public_checks_of_the_map():
    for numeric in (("standard",), ("raw", "standard", "bounded", "rank", "bins")):
        assert failures(rffkern.ColumnMap(numeric)) == {}
    assert rffkern.ColumnMap().__sklearn_tags__().input_tags.allow_nan


@pytest.fixture(params=sorted(name for name, family in FAMILIES.items() if family.task == "classifier"))
def model(request):
    sizes = {"n_landmarks": 100, "n_components": 10, "max_epochs": 60, "n_estimators": 20, "basis_size": 50}
    return small(request.param, **sizes)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((240, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "p", "q")


def kernels(model):
    """Values of the parameter that sets the kernel, or what comes nearest to one."""
    if hasattr(model, "base_learners"):
        return {"base_learners": [("tree",), ("fourier", "tree")]}
    if hasattr(model, "gamma"):
        return {"gamma": [0.1, 1.0]}
    if hasattr(model, "cache_size"):
        return {"kernel": ["gaussian", "exponential"]}
    if hasattr(model, "max_epochs"):
        return {"kernel": ["gaussian", "matern52"]}
    return {"kernel": ["likelihood", {"length_scale": [1.0] * 4}]}


def test_composition(model, data):
    X, y = data
    assert is_classifier(model)
    copied = clone(model.set_params(**{name: values[1] for name, values in kernels(model).items()}))
    assert copied.get_params() == model.get_params()
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean() > 0.75
    search = GridSearchCV(model, kernels(model) | known(model, standardize=[True, False]), cv=2).fit(X, y)
    assert search.best_score_ > 0.75
    assert BaggingClassifier(model, 3, random_state=0).fit(X, y).score(X, y) > 0.8
    assert CalibratedClassifierCV(model, cv=2).fit(X, y).predict_proba(X).shape == (240, 2)


def test_regressors_and_transformers_compose(data):
    X, y = data
    target = X[:, 0] * X[:, 1]
    regressor = rffkern.GBRFFRegressor(100, n_components=20, random_state=0)
    assert is_regressor(regressor)
    assert cross_val_score(make_pipeline(StandardScaler(), regressor), X, target, cv=3).mean() > 0.4
    both = regressor.fit(X, np.column_stack([target, X[:, 2]])).predict(X)
    assert both.shape == (240, 2)
    features = rffkern.PBRFFTransformer(60, random_state=0)
    pipeline = make_pipeline(features, LogisticRegression(C=100, max_iter=1000))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.75
    assert features.fit(X, y).get_feature_names_out()[[0, -1]].tolist() == ["pbrfftransformer0", "pbrfftransformer59"]


def test_weights_reach_the_search(model, data):
    X, y = data
    GridSearchCV(model, kernels(model), cv=2).fit(X, y, sample_weight=np.linspace(0.5, 1.5, 240))


def test_not_fitted_is_theirs_too(model, data):
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    with pytest.raises(NotFittedError):
        model.predict(data[0])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(*data))


def test_no_import_of_sklearn_by_us(tmp_path):
    program = ("import sys, numpy as np, rffkern; m = rffkern.GBRFF2Classifier(2).fit(np.eye(4), [0, 1, 0, 1]);"
               "m.predict(np.eye(4)); sys.exit('sklearn' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False).returncode == 0
