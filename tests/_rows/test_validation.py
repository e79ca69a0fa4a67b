"""Bad input: every argument names itself in the message, through the public classes and in the single checks."""

import re
from decimal import Decimal

import numpy as np
import pytest
from helpers.expansions import fourier_expansion

from rffkern import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    NotFittedError,
)
from rffkern._rows.validation import (
    LARGEST_FLOAT32,
    LARGEST_FLOAT64,
    as_column,
    as_numeric,
    check_array,
    check_known_labels,
    check_labels,
    check_names,
    check_targets,
    feature_names,
)

X = np.random.default_rng(0).standard_normal((40, 3))
y = np.where(X[:, 0] > 0, 1, -1)


def test_the_largest_numbers_are_those_of_numpy():
    assert (np.finfo(np.float32).max, np.finfo(np.float64).max) == (LARGEST_FLOAT32, LARGEST_FLOAT64)


def with_value(value):
    changed = X.copy()
    changed[7, 2] = value
    return changed


BAD_ROWS = {
    "nan": (with_value(np.nan), r"X must be finite.*got NaN at row 7, column 2"),
    "inf": (with_value(np.inf), r"X must be finite.*got infinity at row 7, column 2"),
    "too large": (with_value(1.5e308), r"X must be finite.*got 1.5e\+308 at row 7, column 2"),
    "1-D": (X[:, 0], r"Expected 2D array, got 1D array.*Reshape your data"),
    "records": (np.zeros(40, [("a", float), ("b", float)]), r"got dtype \[.*Make a table of its fields by pandas.Data"),
    "3-D": (X[None], r"Expected 2D array, got 3D array"),
    "no rows": (X[:0], r"^X: Found array with 0 sample\(s\)"),
    "one row": (X[:1], r"Found array with 1 sample\(s\).*minimum of 2 is required to train on: add rows"),
    "no columns": (X[:, :0], r"0 feature\(s\) \(shape=\(40, 0\)\)"),
    "text": (X.astype(str), r"X must be numeric, got dtype <U"),
    "objects": (np.where(X > 99, X, "a").astype(object), r"X must be numeric, got an object array"),
    "complex": (X + 1j, r"Complex data not supported"),
    "ragged": ([[1.0, 2.0], [3.0]], r"X must be a rectangular array"),
    "dates": (np.full((40, 3), np.datetime64("2020-01-01")), r"X must be numeric, got dtype datetime64"),
    "None": (None, r"X must be"),
}


@pytest.mark.parametrize("number", [3.0, np.nan, None])
def test_a_number_is_no_table(number):
    model = GBRFF2Classifier(1, columns=None).fit(X, y)
    for call in (model.predict, model.explain):
        with pytest.raises(InvalidInputError, match="X must be"):
            call(number)


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case):
    rows, message = BAD_ROWS[case]
    with pytest.raises(InvalidInputError, match=message):
        GBRFF2Classifier(columns=None).fit(rows, y[: len(rows)] if rows is not None else y)


BAD_LABELS = {
    "None": (None, r"target y is None"),
    "short": (y[:-1], r"y must have one entry per row of X \(40\), got 39"),
    "2-D": (np.stack([y, y], axis=1), r"y must be a 1d array.*: take one column$"),
    "no columns": (np.zeros((40, 0)), r"y must be a 1d array.*, got shape \(40, 0\): see how y is selected$"),
    "one class": (np.ones(40), r"at least two classes, got 1 class"),
    "continuous": (X[:, 0], r"Unknown label type: continuous"),
    "one fraction": (np.r_[np.arange(39) % 2, 0.5], r"values such as 0\.5: .* (gbrff|fourier_boosting)_regressor$"),
    "nan": (np.where(y > 0, np.nan, 1), r"y must be finite"),
    "missing": (np.array([None, "a"] * 20, dtype=object), r"y must have no empty entries, got a missing value"),
    "mixed": (np.array([1, "a"] * 20, dtype=object), "Unknown label type: int and str, such as '1': convert"),
    "ragged": ([[1, 2], [3]] * 20, "y must be a rectangular array"),
    "records": (np.zeros(40, dtype="i4,i4"), r"Unknown label type"),
    "dates": (np.array(["2020-01-01", "NaT"] * 20, dtype="M8[D]"),
              r"datetime64\[D\], such as '2020-01-01': convert them to text or n"),
    "spans": (np.array([1, 2] * 20, dtype="m8[ns]"), r"Unknown label type: timedelta64\[ns\]"),
    "bytes": (np.array([b"a", b"b"] * 20), "Unknown label type: bytes, such as \"b'a'\""),
    "decimals": ([Decimal(1), Decimal(2)] * 20, "Decimal"),
    "two types": (np.array([1, 2.0] * 20, dtype=object), "all of one type"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case):
    labels, message = BAD_LABELS[case]
    for model in (GBRFF2Classifier(), FourierBoostingClassifier()):  # without a map of columns and with one
        with pytest.raises(InvalidInputError, match=message):
            model.fit(X, labels)


BAD_WEIGHTS = {
    "negative": (np.where(y > 0, -1.0, 1.0), r"sample_weight must not be negative, got -1"),
    "all zero": (np.zeros(40), r"sample_weight must hold a positive weight"),
    "nan": (np.full(40, np.nan), r"sample_weight must be finite"),
    "short": (np.ones(39), r"sample_weight must have one entry per row of X \(40\), got 39"),
    "2-D": (np.ones((40, 2)), r"sample_weight must be a 1d array"),
    "text": (np.full(40, "a"), r"sample_weight must be numeric"),
    "hides a class": ((y > 0).astype(float), r"two classes.*positive weight"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(case):
    weights, message = BAD_WEIGHTS[case]
    with pytest.raises(InvalidInputError, match=message):
        GBRFF2Classifier().fit(X, y, weights)


BAD_PARAMETERS = [
    ("n_estimators", 0), ("n_estimators", 1.5), ("n_estimators", True), ("n_estimators", "10"),
    ("gamma", 0), ("gamma", -1.0), ("gamma", np.nan), ("gamma", "auto"), ("gamma", None),
    ("reg_lambda", -1e-9), ("reg_lambda", np.inf), ("learning_rate", 0), ("learning_rate", 1.1), ("max_iter", -1),
    ("n_estimators", 10**400), ("gamma", 10**400), ("gamma", 1e101), ("max_iter", 10**9), ("n_jobs", 2000),
    ("standardize", 1), ("standardize", "yes"), ("early_stopping_rounds", 0), ("precision", "half"),
    ("random_state", -1), ("random_state", 1.5), ("random_state", "0"), ("n_jobs", 0),
    ("n_jobs", 1.0), ("verbose", -1),
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS, ids=lambda item: re.sub(r"\W+", "_", str(item))[:20])
def test_bad_parameters_are_refused_by_fit_alone(name, value):
    model = GBRFF2Classifier(**{name: value})
    with pytest.raises(InvalidInputError, match=f"^{name} must be"):
        model.fit(X, y)


@pytest.mark.parametrize(("eval_set", "message"), [
    (X, "eval_set must be a tuple"), ((X,), "eval_set must be a tuple"), ((X[:, :2], y), "eval_set X must have 3"),
    ((X, y[:-1]), "eval_set y must have one entry"), ((X, np.full(40, 5)), "eval_set y must hold labels"),
    ((with_value(np.nan), y), "eval_set X must be finite"), ((X, y, -np.ones(40)), "eval_set sample_weight"),
])
def test_bad_eval_set(eval_set, message):
    with pytest.raises(InvalidInputError, match=message):
        GBRFF2Classifier().fit(X, y, eval_set=eval_set)


def test_gamma_too_large_for_the_unit_of_a_column():
    with pytest.raises(InvalidInputError, match="gamma must be smaller for columns of such small spread"):
        GBRFF2Classifier(gamma=1e30).fit(X * 1e-300, y)


def test_eval_set_with_other_column_names():
    class Frame:
        def __init__(self, columns):
            self.columns = columns

        def __array__(self, dtype=None, copy=None):
            return X

    with pytest.raises(InvalidInputError, match="same order"):
        GBRFF2Classifier().fit(Frame(list("abc")), y, eval_set=(Frame(list("cba")), y))


def test_missing_labels_of_pandas():
    pandas = pytest.importorskip("pandas")
    for labels in (pandas.Series(["a", pandas.NA] * 20, dtype="string"), pandas.Series(["a", None] * 20)):
        with pytest.raises(InvalidInputError, match="missing value"):
            GBRFF2Classifier().fit(X, labels)


def test_score_of_labels_of_another_kind():
    model = GBRFF2Classifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"y must hold labels of the model, such as -1, got '1'$"):
        model.score(X, y.astype(str))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_is_not_a_wrong_prediction(missing):
    X, y = np.arange(40.0)[:, None], np.repeat(np.array(["a", "b"], dtype=object), 20)
    model = GBRFF2Classifier(n_estimators=10, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    y[7] = missing
    with pytest.raises(InvalidInputError, match=r"y must have no empty entries, got a missing value"):
        model.score(X, y)
    codes = np.repeat([0.0, 1.0], 20)
    model.fit(X, codes)
    codes[7] = np.nan
    with pytest.raises(InvalidInputError, match=r"y must be finite, got NaN at row 7: leave out such rows"):
        model.score(X, codes)



def test_numpy_scalars_are_good_parameters():
    GBRFF2Classifier(np.int32(2), gamma=np.float32(1), standardize=np.True_, precision=np.str_("double")).fit(X, y)


def test_bad_callback():
    with pytest.raises(InvalidInputError, match="callback must be callable"):
        GBRFF2Classifier().fit(X, y, callback=3)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError, match="this GBRFF2Classifier instance is not fitted yet"):
        getattr(GBRFF2Classifier(), method)(X)


def test_wrong_number_of_columns():
    model = GBRFF2Classifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="X has 2 features, but GBRFF2Classifier is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(InvalidInputError, match="X must have 3 features, got 2"):
        model.expansion_.score(X[:, :2])


def test_unknown_parameter():
    with pytest.raises(InvalidInputError, match="Invalid parameter 'depth' for estimator GBRFF2Classifier"):
        GBRFF2Classifier().set_params(depth=3)


@pytest.mark.parametrize("change", [
    {"omegas": [["a", "b"]]}, {"omegas": [[1.0], [1.0, 2.0]]}, {"omegas": [[np.nan, 1.0]]},
    {"phases": [0.0, 1.0]}, {"amplitudes": [1.0]}, {"center": [0.0]}, {"intercept": []},
])
def test_bad_expansion(change):
    parts = {"omegas": [[1.0, 2.0]], "phases": [0.0], "amplitudes": [[1.0]], "intercept": [0.0], "center": [0.0, 0.0]}
    with pytest.raises(InvalidInputError):
        fourier_expansion(**(parts | change))


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = GBRFF2Classifier(n_estimators=5, random_state=0).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(InvalidInputError):
        model.fit(with_value(np.inf), y)
    np.testing.assert_array_equal(model.decision_function(X), before)


# --- the single checks

def test_good_rows_are_kept_as_they_are():
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        assert check_array(rows) is rows
    read_only = X.copy()
    read_only.flags.writeable = False
    assert check_array(read_only) is read_only
    assert check_array(X[:, ::2]).flags.c_contiguous


@pytest.mark.parametrize("given", [
    X.astype(int), X > 0, X.astype(np.float16), X.astype(object), X.astype(np.longdouble), X.astype(">f8"), X.tolist()])
def test_other_numbers_become_double(given):
    found = check_array(given)
    assert found.dtype == np.float64
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, np.asarray(given, dtype=np.float64))


def test_single_precision_of_another_byte_order_stays_single():
    assert as_numeric(X.astype(">f4"), "X").dtype == np.dtype("=f4")


@pytest.mark.parametrize("columns", [None, "auto"])
def test_queries_of_polars_are_to_be_collected(columns):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    y = X[:, 0] > np.median(X[:, 0])
    model = GBRFF2Classifier(2, columns=columns)
    for call in (lambda: model.fit(table.lazy(), y), lambda: model.fit(table, y).predict(table.lazy())):
        with pytest.raises(InvalidInputError, match=r"in memory, got a LazyFrame: call its collect\(\)"):
            call()
    model.fit(table.lazy().collect(), y)


def test_sparse_targets_say_how_to_convert_them():
    class Sparse:
        nnz = 1

        def toarray(self):
            return X

    with pytest.raises(InvalidInputError, match=r"y must be a dense array, got a sparse Sparse: call its toarray"):
        as_numeric(Sparse(), "y")


def test_columns_are_flattened_with_a_warning():
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        assert as_column(np.ones((3, 1)), "y", 3).shape == (3,)


class Table:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class ArrowTable(Table):
    column_names = ("a", "b")


def test_names_of_columns():
    assert feature_names(X) is None
    assert feature_names(Table(columns=["a", "b"])).tolist() == ["a", "b"]
    assert feature_names(Table(columns=["a", 3])).tolist() == ["a", "3"]
    assert feature_names(Table(columns=[0, 1])) is None
    assert feature_names(Table(columns=[0, 1]), ["1", "0"]).tolist() == ["0", "1"]
    assert feature_names(ArrowTable(columns=[[1], [2]])).tolist() == ["a", "b"]
    assert feature_names(Table(columns=["a", "b"], column_names=[1.0, 2.0])).tolist() == ["a", "b"]  # of pandas
    assert feature_names(Table(columns=lambda: ["a"])) is None


@pytest.mark.parametrize(("names", "message"), [
    (["b", "a"], "must be in the same order"), (["a", "x"], "unseen at fit time:\n- x\n.*now missing:\n- b"),
    (["a"], "now missing:\n- b"),
])
def test_names_that_are_not_those_of_fit(names, message):
    with pytest.raises(InvalidInputError, match=f"(?s){message}"):
        check_names(names, ["a", "b"])
    check_names(["a", "b"], np.array(["a", "b"], dtype=object))
    check_names(None, ["a", "b"])
    check_names(names, None)


@pytest.mark.parametrize("labels", [
    ["b", "a", "b"], [2.0, 1.0, 2.0], [1, -5, 1], [True, False, True],
    np.array([250, 3, 250], np.uint8), np.array([np.int64(5), np.int64(3), np.int64(5)], object),
    np.array(["why", "x", "why"], object)[[1, 0, 1]], np.array([2**62, 1, 2**62], object)], ids=str)
def test_labels_are_sorted_and_coded(labels):
    """Text gets a dtype of NumPy, and so do objects; others keep theirs."""
    labels = np.asarray(labels)
    classes, codes = check_labels(labels, 3)
    assert codes.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(classes[codes], labels)
    assert classes.dtype == np.array(classes.tolist(), None if labels.dtype.kind in "UO" else labels.dtype).dtype


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_labels_of_rare_floats_are_doubles(dtype):
    assert check_labels(np.array([2, 1], dtype), 2)[0].dtype == np.float64


def test_known_labels_have_their_codes():
    classes = np.array(["a", "b", "c"])
    assert check_known_labels(["c", "a", "c"], classes, 3, "y").tolist() == [2, 0, 2]
    with pytest.raises(InvalidInputError, match=r"y must hold labels of the training, such as .*, got 'd'"):
        check_known_labels(["c", "d"], classes, 2, "y")


def test_targets_are_columns_of_doubles():
    assert check_targets([1, 2, 3], 3).tolist() == [[1.0], [2.0], [3.0]]
    assert check_targets(X.astype(np.float32), 40).dtype == np.float64
    for given, message in ((None, "target y is None"), (X[None], "1-D or 2-D"), (X[:, :0], "1-D or 2-D"),
                           (X[:9], r"one entry per row of X \(40\), got 9"), (with_value(np.inf), "got infinity")):
        with pytest.raises(InvalidInputError, match=message):
            check_targets(given, 40)


@pytest.mark.parametrize("X", [
    np.ma.array([[1.0, 2.0]], mask=[[True, False]]), [np.ma.array([1.0, 2.0], mask=[True, False]), [3.0, 4.0]],
    np.array([[1.0, np.ma.masked]], dtype=object), np.ma.array([[1, 2]], mask=True, dtype=object),
], ids=["array", "list of arrays", "object array", "masked object array"])
def test_masked_values_are_refused(X):
    with pytest.raises(InvalidInputError, match="X must have no masked values: remove them, or fill them in by f"):
        check_array(X)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_relatives_of_arrays():
    plain = check_array(np.asmatrix([[1.0, 2.0]]))
    assert type(plain) is np.ndarray
    assert check_array(np.ma.array([[1.0, 2.0]])).tolist() == [[1.0, 2.0]]
    with pytest.raises(InvalidInputError, match="X must be numeric, got dtype"):
        check_array(np.zeros((2, 2), dtype=[("a", float), ("b", float)]))


@pytest.mark.parametrize(("y", "message"), [
    ("left", "y must have one entry per row of X, got 'left': take the column itself, not its name"),
    (np.array("left"), "y must have one entry per row of X, got 'left'"),
    (["yes", "no", "no"], "y must be numeric, got dtype <U3; for labels take a classifier, such as Fourier"),
    (["2.883,44", "1,0", "5,0"], "got dtype <U8; make numbers of text such as '2.883,44', as pandas.read_csv does with "
                                 "decimal and thousands; for labels take a classifier"),
    (np.array([None, "1,5", "2"], dtype=object), "make numbers of text such as '1,5', as pandas"),
    (np.array(["2024-01-01", "2024-01-02", "2024-01-04"], "M8[D]"),
     r'y must be numeric, got dtype datetime64\[D\]: pass a number of days, \(y - y.min\(\)\) / numpy.timedelta64\(1'),
    (np.array([1, 2, 4], "m8[h]"), r'timedelta64\[h\]: pass a number of days, y / numpy.timedelta64\(1, "D"\)')])
def test_what_a_regressor_refuses_of_y(y, message):
    with pytest.raises(InvalidInputError, match=message):
        FourierBoostingRegressor().fit({"a": [1.0, 2.0, 4.0], "left": [3.0, 2.0, 1.0]}, y)


@pytest.mark.parametrize(("value", "found"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_row_of_a_label_that_is_missing_is_named(value, found):
    with pytest.raises(InvalidInputError, match=f"y must be finite, got {found} at row 2: leave out such rows"):
        check_labels([0.0, 1.0, value, 1.0], 4)
