"""Column maps in files: every field that is altered is refused, or read as it stands."""

import copy
import functools

import numpy as np
import pytest
from helpers.model_files import assert_refused

from rffkern import ColumnMap, save
from rffkern._column_map.fitted_map import FittedMap
from rffkern._files.archive import decode, encode


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(60)
    X = {"a": np.where(rng.random(60) < 0.2, np.nan, a), "c": rng.choice(["x", "y", "z"], 60),
         "d": np.datetime64("2024-01-01") + rng.integers(0, 999, 60), "one": np.ones(60),
         "near": a + 0.1 * rng.standard_normal(60)}  # which tells missing values of a
    found = ColumnMap(("raw", "standard", "bounded", "rank", "bins"), date_parts=True, n_knots=9, n_bins=3).fit(X)
    path = tmp_path_factory.mktemp("map") / "m.npz"
    save(found, path)
    return path.read_bytes()


@pytest.fixture
def refuse(tmp_path, content):
    """Assert that the file is refused after a change of its header or of its numbers."""
    def check(change, match=None, numbers=None, in_c=True):
        header, arrays = copy.deepcopy(decode(content))
        change(header)
        if numbers is not None:
            arrays = {"columns": numbers(arrays["columns"])}
            header["arrays"] = [["columns", list(arrays["columns"].shape)]]
        assert_refused(tmp_path / "bad.npz", encode(header, arrays), match, in_c=in_c)

    return check


def at(*path, value):
    """A change that sets what a path of keys leads to."""
    def change(header):
        *inner, last = path
        functools.reduce(lambda node, key: node[key], inner, header)[last] = value

    return change


COLUMN = ("columns", "columns")


@pytest.mark.parametrize(("change", "match"), [
    (at("columns", value=None), "columns are malformed"),
    (at("columns", value={"params": {}}), "columns are malformed"),
    (at("columns", "columns", value=[]), "malformed"),
    (at("columns", "columns", value={}), "malformed"),
    (at("columns", "columns", value=[7] * 5), "malformed"),
    (at("class", value="GBRFF2Classifier"), "do not agree"),
    (at("params", value={"a": 1}), "columns alone"),
    (at("feature_names", value=["a"]), "feature names are malformed"),
    (at("feature_names", value=["a"] * 5), "columns and names"),
    (at("feature_names", value=["a", "c", "d", "e", "\x1b"]), "names"),
    (at(*COLUMN, 0, "kind", value="number"), "kind of a column"),
    (at(*COLUMN, 0, "kind", value=[]), "kind of a column"),
    (at(*COLUMN, 0, "has_rare", value=1), "kind of a column"),
    (at(*COLUMN, 0, "has_rare", value=True), "levels of a column"),
    (at(*COLUMN, 0, "kind", value="category"), "not known"),
    (at(*COLUMN, 0, "levels", value=["x"]), "levels of a column"),
    (at(*COLUMN, 0, "dropped", value="x"), "forms of a column"),
    (at(*COLUMN, 3, "dropped", value=""), "forms of a column"),
    (at(*COLUMN, 3, "dropped", value=3), "kind of a column"),
    (at(*COLUMN, 3, "dropped", value="\x1b"), "control"),
    (at(*COLUMN, 0, "forms", value={}), "forms of a column"),
    (at(*COLUMN, 0, "forms", value=[["raw", -1]]), "forms of a"),
    (at(*COLUMN, 0, "forms", 0, value=["raw", 10**18]), "differ in number"),
    (at(*COLUMN, 0, "forms", 0, value=["raw", True]), "forms of a column"),
    (at(*COLUMN, 0, "forms", 0, value=["log", 1]), "not known"),
    (at(*COLUMN, 0, "forms", 1, value=["raw", 2]), "has 1"),
    (at(*COLUMN, 0, "forms", 0, value=["levels", 1]), "not known"),
    (at(*COLUMN, 0, "forms", 0, value=["hour", 1]), "known"),
    (at(*COLUMN, 2, "forms", 0, value=["yearday", 1]), "no numbers"),
    (at(*COLUMN, 0, "imputations", value=None), "an imputation is malformed"),
    (at(*COLUMN, 0, "imputations", 0, value=[0]), "an imputation is malformed"),
    (at(*COLUMN, 0, "imputations", 0, 1, 0, value=True), "an imputation is malformed"),
    (at(*COLUMN, 0, "imputations", 0, 1, 0, value=-1), "an imputation is malformed"),
    (at(*COLUMN, 0, "imputations", 0, 1, 0, value=0), "imputed from its own column"),
    (at(*COLUMN, 0, "imputations", 0, 1, 0, value=10**6), "imputed from its own column"),
    (at(*COLUMN, 0, "imputations", 0, 1, value=[]), "differ in number"),
    (at(*COLUMN, 0, "imputations", 0, 0, value=1), "an output of another column"),
    (at(*COLUMN, 0, "imputations", 0, 0, value=10**6), "an output of another column"),
    (at(*COLUMN, 0, "imputations", value=[]), "differ in number"),
    (at(*COLUMN, 4, "imputations", value=[[20, []]]), "differ in number"),
    (at(*COLUMN, 1, "levels", value=["x", "y"]), "differ in number"),
    (at(*COLUMN, 1, "has_rare", value=True), "differ in"),
    (at(*COLUMN, 1, "levels", value=["x", "z", "y"]), "distinct, sorted"),
    (at(*COLUMN, 1, "levels", value=["x", "x", "z"]), "distinct, sorted"),
    (at(*COLUMN, 1, "levels", value=["x", "y", "z\x1b"]), "control"),
    (at(*COLUMN, 1, "levels", value=["x", "y", 3]), "distinct, sorted"),
], ids=lambda value: "change" if callable(value) else value)  # a function has another address in each process
def test_headers_that_no_map_has_are_refused(refuse, change, match):
    refuse(change, match)


@pytest.mark.parametrize(("change", "match"), [
    (at("columns", "params", "numeric", value="rank"), "numeric must be"),
    (at("columns", "params", "n_knots", value=10**9), "n_knots must be"),
    (at("columns", "params", value={"numeric": ["raw"]}), "not those of a ColumnMap"),
    (at("columns", "params", "categorical_features", value=[[1]]), "categorical_features must be"),
], ids=["numeric", "n_knots", "keys", "categorical_features"])
def test_parameters_that_no_map_has_are_refused(refuse, change, match):
    """The reader in C does not look at them: they say how a map is learned."""
    refuse(change, match, in_c=False)


def test_numbers_that_no_map_has_are_refused(refuse):
    nothing = lambda header: None
    refuse(nothing, "differ in number", lambda numbers: numbers[:-1])
    refuse(nothing, "differ in number", lambda numbers: np.append(numbers, 0.0))
    refuse(nothing, "differ in number", lambda numbers: numbers[None])
    refuse(nothing, None, lambda numbers: numbers[::-1])
    refuse(nothing, "not positive", lambda numbers: np.where(np.arange(numbers.size) == 2, -1.0, numbers))


def test_repeated_forms_and_maps_of_nothing_are_refused():
    column = {"kind": "numeric", "levels": [], "has_rare": False, "dropped": "", "forms": [["raw", 1], ["raw", 1]],
              "imputations": [], "format": "", "words": []}
    with pytest.raises(ValueError, match="forms of a column"):
        FittedMap.from_header(None, [column], np.zeros(2))
    with pytest.raises(ValueError, match="all columns are dropped"):
        FittedMap.from_header(None, [column | {"forms": [], "dropped": "constant"}], np.zeros(0))


def test_a_model_without_a_map_holds_no_columns(tmp_path, content):
    from helpers.model_files import small_model

    save(small_model(), tmp_path / "m.npz")
    header, arrays = decode((tmp_path / "m.npz").read_bytes())
    with_columns = {**header, "columns": decode(content)[0]["columns"]}
    assert_refused(tmp_path / "m.npz", encode(with_columns, arrays), "columns")
