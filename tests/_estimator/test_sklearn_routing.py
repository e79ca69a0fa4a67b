"""Routing of weights and other arguments by scikit-learn, and data frames from transformers, with the real library."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from helpers.families import known, quick

import rffkern
from rffkern._estimator.registry import FAMILIES
from rffkern.errors import InvalidInputError, InvalidTypeError

pytest.importorskip("sklearn")

import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

pytestmark = pytest.mark.slow

SMALL = {"n_estimators": 5, "max_epochs": 3, "n_restarts": 1, "n_landmarks": 10, "n_components": 4}
ESTIMATORS = sorted(name for name, family in FAMILIES.items() if family.task != "transformer")
TRANSFORMERS = ["ColumnMap", "PBRFFTransformer"]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data(rng):
    X = rng.standard_normal((120, 3))
    return X, X[:, 0] * X[:, 1], rng.uniform(0.1, 3, 120)


def made(name, **params):
    """A model of a family that trains fast, and targets for it."""
    cls = FAMILIES[name].load()
    return cls(**{"random_state": 0} | quick(cls) | known(cls, **SMALL) | params)


def targets(name, y):
    return y if FAMILIES[name].task == "regressor" else np.where(y > 0, "p", "q")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_through_pipeline_search_and_validation(name, data, routing):
    X, y, weight = data
    y = targets(name, y)
    model = made(name).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    alone = made(name).fit(scaled, y, weight)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    others = y[::-1]  # for a kernel machine may have y by heart
    assert pipeline.score(X, others, sample_weight=weight) == alone.score(scaled, others, weight)
    assert pipeline.score(X, others, sample_weight=weight) != alone.score(scaled, others)
    search = GridSearchCV(model, {"random_state": [0, 1]}, cv=2).fit(X, y, sample_weight=weight)
    folds = [(np.arange(120) < 60), (np.arange(120) >= 60)]
    for fold, test in enumerate(folds if FAMILIES[name].task == "regressor" else []):  # others are stratified
        by_hand = made(name).fit(X[~test], y[~test], weight[~test]).score(X[test], y[test], weight[test])
        assert search.cv_results_[f"split{fold}_test_score"][0] == by_hand
    found = cross_validate(model, X, y, cv=2, params={"sample_weight": weight})
    np.testing.assert_array_equal(found["test_score"],
                                  [search.cv_results_[f"split{fold}_test_score"][0] for fold in range(2)])


@pytest.mark.parametrize("name", sorted(name for name in ESTIMATORS if "early_stopping_rounds" in
                                        FAMILIES[name].load()._param_names()))
def test_an_eval_set_through_a_search_and_a_pipeline(name, data, routing):
    X, y, _ = data
    y = targets(name, y)
    model = made(name).set_fit_request(eval_set=True)
    given = X[:30], y[:30]
    pipeline = make_pipeline(model).fit(X, y, eval_set=given)
    search = GridSearchCV(model, {"random_state": [0]}, cv=2).fit(X, y, eval_set=given)
    for fitted in (pipeline[-1], search.best_estimator_):
        np.testing.assert_array_equal(fitted.eval_loss_, made(name).fit(X, y, eval_set=given).eval_loss_)


def test_what_is_not_asked_for_is_refused_or_left_out(data, routing):
    X, y, weight = data
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        make_pipeline(made("gbrff_regressor")).fit(X, y, sample_weight=weight)
    left_out = made("gbrff_regressor").set_fit_request(sample_weight=False)
    with pytest.raises(TypeError):
        make_pipeline(left_out).fit(X, y, sample_weight=weight)
    both = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), left_out).fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit(X, sample_weight=weight).transform(X)
    np.testing.assert_array_equal(both[-1].predict(scaled), made("gbrff_regressor").fit(scaled, y).predict(scaled))


def test_aliases(data, routing):
    X, y, weight = data
    model = made("gbrff_regressor").set_fit_request(sample_weight="how_often")
    fitted = make_pipeline(model).fit(X, y, how_often=weight)
    np.testing.assert_array_equal(fitted.predict(X), made("gbrff_regressor").fit(X, y, weight).predict(X))


def test_maps_take_weights_in_a_pipeline(data, routing):
    X, y, weight = data
    column_map = rffkern.ColumnMap(("rank",)).set_fit_request(sample_weight=True)
    model = made("gbrff_regressor").set_fit_request(sample_weight=True)
    fitted = make_pipeline(column_map, model).fit(X, y, sample_weight=weight)
    mapped = rffkern.ColumnMap(("rank",)).fit_transform(X, y, weight)
    np.testing.assert_array_equal(fitted.predict(X), made("gbrff_regressor").fit(mapped, y, weight).predict(mapped))


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_requests_are_those_that_their_own_estimators_would_have(name, routing):
    from sklearn.base import BaseEstimator

    cls = FAMILIES[name].load()
    ours = {method: getattr(cls(), method) for method in dir(cls) if method.endswith("_request")}
    methods = {method: getattr(cls, method) for method in ("fit", "partial_fit", "score") if hasattr(cls, method)}
    theirs = type("Theirs", (BaseEstimator,), methods)()
    assert set(ours) == {method for method in dir(theirs) if method.endswith("_request") and method[0] != "_"}
    assert str(cls().get_metadata_routing()) == str(theirs.get_metadata_routing())
    for method, ours_bound in ours.items():
        their_names = set(inspect.signature(getattr(theirs, method)).parameters) - {"self"}
        assert set(inspect.signature(ours_bound).parameters) == their_names
        for model in (cls(), theirs):
            getattr(model, method)(**dict.fromkeys(their_names, True))
            assert str(clone(model).get_metadata_routing()) == str(model.get_metadata_routing())


def test_wrong_requests():
    model = made("gbrff2")
    with pytest.raises(InvalidTypeError, match="set_fit_request takes sample_weight, eval_set, callback, got weights"):
        model.set_fit_request(weights=True)
    for wrong in (1, "a name", [True]):
        with pytest.raises(InvalidInputError, match="sample_weight must be True, False, None or the name"):
            model.set_fit_request(sample_weight=wrong)
    assert model.set_score_request(sample_weight=True).set_score_request() is model
    assert "'score': {'sample_weight': True}" in str(model.get_metadata_routing())
    assert "'score': {'sample_weight': True}" not in str(made("gbrff2").get_metadata_routing())


def test_requests_and_output_need_no_sklearn(tmp_path):
    program = ("import sys, numpy as np, rffkern\n"
               "m = rffkern.PBRFFTransformer(3).set_fit_request(sample_weight=True).set_output(transform='default')\n"
               "m.fit(np.eye(4), [0, 1, 0, 1]).transform(np.eye(4))\nsys.exit('sklearn' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False).returncode == 0


# --- set_output

def transformer(name):
    return rffkern.ColumnMap() if name == "ColumnMap" else rffkern.PBRFFTransformer(4, random_state=0)


@pytest.mark.parametrize("check", ["check_set_output_transform", "check_set_output_transform_pandas",
                                   "check_global_output_transform_pandas", "check_set_output_transform_polars",
                                   "check_global_set_output_transform_polars",
                                   "check_transformer_get_feature_names_out",
                                   "check_transformer_get_feature_names_out_pandas"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_public_checks_of_output(name, check):
    library = check.rpartition("_")[2]
    if library in ("pandas", "polars"):
        pytest.importorskip(library)
    getattr(estimator_checks, check)(name, transformer(name))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_frames(name, library, data):
    frames = pytest.importorskip(library)
    X, y, _ = data
    y = y > 0
    table = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    if library == "pandas":
        table.index = np.arange(120)[::-1] + 7
    plain = transformer(name).fit(table, y)
    model = transformer(name).set_output(transform=library)
    for found, expected in ((model.fit_transform(table, y), transformer(name).fit_transform(table, y)),
                            (model.transform(table), plain.transform(table))):
        assert type(found) is frames.DataFrame
        assert list(found.columns) == plain.get_feature_names_out().tolist()
        np.testing.assert_array_equal(found.to_numpy(), expected)
        if library == "pandas":
            assert (found.index == table.index).all()
    assert type(model.set_output(transform="default").transform(table)) is np.ndarray
    assert type(clone(transformer(name).set_output(transform=library)).fit_transform(table, y)) is frames.DataFrame


def test_a_setting_for_all_leaves_the_maps_of_models_alone(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    rows = np.exp(3 * np.vstack([X] * 3))
    table, y = pd.DataFrame(rows, columns=["a", "b", "c"]), np.tile(y > 0, 3)
    for columns in ("auto", rffkern.ColumnMap(("standard", "rank"))):
        expected = made("gbrff2", columns=columns).fit(table, y).decision_function(table)
        with sklearn.config_context(transform_output="pandas"):
            found = made("gbrff2", columns=columns).fit(table, y).decision_function(table)
        np.testing.assert_array_equal(found, expected)


def test_frames_in_compositions(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    union = make_union(rffkern.ColumnMap(), rffkern.PBRFFTransformer(4, random_state=0))
    pipeline = make_pipeline(union, LogisticRegression()).set_output(transform="pandas").fit(table, y > 0)
    assert pipeline[:-1].transform(table).shape == (120, 7)
    assert pipeline[-1].feature_names_in_[-1] == "pbrfftransformer__pbrfftransformer3"
    parts = ColumnTransformer([("ranks", rffkern.ColumnMap(("rank",)), ["a", "b"])], remainder="passthrough")
    assert list(parts.set_output(transform="pandas").fit_transform(table).columns) == [
        "ranks__a_rank", "ranks__b_rank", "remainder__c"]


def test_wrong_outputs(monkeypatch, data):
    with pytest.raises(InvalidInputError, match="transform must be one of 'default', 'pandas', 'polars', got 'excel'"):
        rffkern.ColumnMap().set_output(transform="excel")
    monkeypatch.setitem(sys.modules, "polars", None)
    column_map = rffkern.ColumnMap().fit(data[0]).set_output(transform="polars").set_output(transform=None)
    with pytest.raises(ImportError, match=r'set_output\(transform="polars"\) needs polars, which is not installed'):
        column_map.transform(data[0])
