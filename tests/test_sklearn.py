"""The scikit-learn protocol, where that library is installed."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from rffkern._base import FAMILIES

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

SINGLE_PRECISION = {
    "check_sample_weight_equivalence_on_dense_data":
        "compares to 1e-7, which descents in single precision do not reproduce; the double-precision run passes it",
}


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("precision", ["single", "double"])
def test_public_estimator_checks(family, precision):
    expected = SINGLE_PRECISION if precision == "single" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(FAMILIES[family](precision=precision, random_state=0),
                                  expected_failed_checks=expected, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert sum(result["status"] == "passed" for result in results) > 50


@pytest.fixture(params=sorted(FAMILIES))
def model(request):
    return FAMILIES[request.param](n_estimators=20, random_state=0)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((240, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "p", "q")


def test_composition(model, data):
    X, y = data
    assert is_classifier(model)
    copied = clone(model.set_params(gamma=0.5))
    assert copied.get_params() == model.get_params()
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean() > 0.75
    search = GridSearchCV(model, {"gamma": [0.1, 1.0], "reg_lambda": [0.0, 0.1]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.75
    assert BaggingClassifier(model, 3, random_state=0).fit(X, y).score(X, y) > 0.8
    assert CalibratedClassifierCV(model, cv=2).fit(X, y).predict_proba(X).shape == (240, 2)


def test_weights_reach_the_search(model, data):
    X, y = data
    GridSearchCV(model, {"gamma": [0.1, 1.0]}, cv=2).fit(X, y, sample_weight=np.linspace(0.5, 1.5, 240))


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
