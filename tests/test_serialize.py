"""What stands in model files, and what is refused of it."""

import copy
import functools
import json
import subprocess
import sys

import numpy as np
import pytest
from helpers.model_files import archive, assert_refused, members_of, small_model

from rffkern import FourierExpansion, GBRFF2Classifier, InvalidInputError, NotFittedError, load, save
from rffkern._system.archive import FORMAT_VERSION, decode, encode, npy_prefix


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.npz"
    save(model, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def parts(content):
    return decode(content)


@pytest.fixture
def refuse(tmp_path):
    """Assert that some bytes are refused as a model file."""
    return functools.partial(assert_refused, tmp_path / "bad.npz")


def with_header(parts, drop=(), **changes):
    header, arrays = parts
    header = {key: value for key, value in (header | changes).items() if key not in drop}
    return encode(header, arrays)


def test_bare_expansion(tmp_path, rng):
    expansion = FourierExpansion(rng.standard_normal((5, 2)), np.zeros(5), np.ones((5, 3)), np.zeros(3), np.ones(2))
    save(expansion, tmp_path / "e.npz")
    loaded = load(tmp_path / "e.npz")
    X = rng.standard_normal((10, 2))
    np.testing.assert_array_equal(loaded.score(X), expansion.score(X))


@pytest.mark.parametrize("labels", [
    [0, 1], [True, False], [-1.0, 1.0], ["é", "z"], np.array([2, 200], np.uint8), np.array(["a", "b"], object),
    [2**53 + 1, 2**53 + 2], [0.1, 0.2], np.array([3, 4], object), np.array(["a", "b"], "<U9"),
], ids=str)
def test_labels_survive(tmp_path, labels):
    labels = np.asarray(labels)
    X = np.arange(20.0)[:, None]
    y = labels[(X[:, 0] > 9).astype(int)]
    if labels.dtype.kind == "f" and (labels % 1).any():
        with pytest.raises(InvalidInputError, match="continuous"):
            GBRFF2Classifier().fit(X, y)
        return
    model = GBRFF2Classifier(3, random_state=0).fit(X, y)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_cannot_be_stored_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(GBRFF2Classifier(), tmp_path / "m")
    with pytest.raises(InvalidInputError, match="model must be a fitted estimator"):
        save({"a": 1}, tmp_path / "m")
    X = np.arange(20.0)[:, None]
    fitted = GBRFF2Classifier(3, random_state=0).fit(X, np.where(X[:, 0] > 9, b"x", b"y"))
    with pytest.raises(InvalidInputError, match="classes_ must be booleans, numbers or strings"):
        save(fitted, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_generator_is_stored_as_none(tmp_path):
    X = np.arange(20.0)[:, None]
    save(GBRFF2Classifier(3, random_state=np.random.default_rng(0)).fit(X, X[:, 0] > 9), tmp_path / "m")
    assert load(tmp_path / "m").random_state is None


def test_numpy_scalars_as_parameters(tmp_path):
    X = np.arange(20.0)[:, None]
    model = GBRFF2Classifier(np.int64(3), gamma=np.float32(0.5), random_state=np.int32(0)).fit(X, X[:, 0] > 9)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").get_params()["gamma"] == 0.5


@pytest.mark.parametrize(("changes", "match"), [
    ({"format": "other"}, "not a model file of this package"), ({"version": FORMAT_VERSION + 1}, "newer than rffkern"),
    ({"version": 0}, "version is malformed"), ({"version": "1"}, "version is malformed"),
    ({"version": True}, "version is malformed"), ({"surprise": 1}, "header must have keys"),
    ({"family": "gbrff9"}, "family 'gbrff9' is not known"), ({"family": []}, r"family \[\] is not known"),
    ({"class": "FourierExpansion"}, "class and family do not agree"), ({"params": {}}, "parameters are not"),
    ({"params": None}, "parameters are malformed"), ({"classes": None}, "classes must have"),
    ({"classes": {"dtype": "<U1", "values": ["a"]}}, "classes are malformed"),
    ({"classes": {"dtype": "<U1", "values": ["a", "a"]}}, "distinct and sorted"),
    ({"classes": {"dtype": "<U1", "values": ["b", "a"]}}, "distinct and sorted"),
    ({"classes": {"dtype": "<U1", "values": ["a", "b", "c"]}}, "do not agree in number"),
    ({"classes": {"dtype": "<U1", "values": ["a", "bb"]}}, "do not fit"),
    ({"classes": {"dtype": "<i8", "values": ["a", "b"]}}, "labels must be of dtype"),
    ({"classes": {"dtype": "<i8", "values": [1, 2**70]}}, "not a valid model"),
    ({"classes": {"dtype": "<M8[s]", "values": [1, 2]}}, "labels of dtype"),
    ({"classes": {"dtype": "<U100000000", "values": ["a", "b"]}}, "wider than the longest"),
    ({"classes": {"dtype": "<f16", "values": [1.0, 2.0]}}, "labels of dtype"),
    ({"classes": {"dtype": "O", "values": [[1], [2]]}}, "classes are malformed"),
    ({"classes": {"dtype": "O", "values": [1, "a"]}}, "labels must be of dtype"),
    ({"classes": {"dtype": "?" * 99, "values": [1, 2]}}, "classes are malformed"),
    ({"feature_names": ["a"]}, "feature names are malformed"), ({"feature_names": [1, 2, 3]}, "feature names are"),
    ({"arrays": {}}, "list of arrays is malformed"), ({"arrays": [["omegas", [-1]]]}, "list of arrays is malformed"),
    ({"arrays": [["omegas", [6.0, 3]]]}, "list of arrays is malformed"), ({"arrays": []}, "members must be"),
], ids=str)
def test_altered_headers(content, parts, refuse, changes, match):
    header = json.dumps(parts[0] | changes).encode()
    members = dict(members_of(content)) | {"header.npy": npy_prefix("|u1", (len(header),)) + header}
    refuse(archive(members.items()), match)


@pytest.mark.parametrize("param", [{"n_estimators": -5}, {"gamma": "x"}, {"random_state": [1]}, {"n_threads": 1e9}])
def test_altered_parameters(parts, refuse, param):
    refuse(with_header(parts, params=parts[0]["params"] | param), "must be")


@pytest.mark.parametrize(("name", "shape"), [("train_loss_", (0,)), ("train_loss_", (3, 2)), ("train_loss_", (6,)),
                                             ("eval_loss_", (3,)), ("eval_loss_", (7, 1))])
def test_curves_that_do_not_fit(parts, refuse, name, shape):
    header, arrays = parts
    entries = [[key, list(shape) if key == name else own] for key, own in header["arrays"]]
    refuse(encode(header | {"arrays": entries}, arrays | {name: np.ones(shape)}), "curves do not agree|not a valid")


def test_what_load_would_refuse_is_not_saved(model, tmp_path):
    with pytest.raises(InvalidInputError, match="gamma must be"):
        save(copy.copy(model).set_params(gamma=-1.0), tmp_path / "m")
    X = np.arange(20.0)[:, None]
    for labels in (np.array([1, 2], np.longdouble), np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")):
        with pytest.raises(InvalidInputError, match="classes_ must be"):
            save(GBRFF2Classifier(2).fit(X, labels[(X[:, 0] > 9).astype(int)]), tmp_path / "m")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        save(GBRFF2Classifier(2).fit(X, np.where(X[:, 0] > 9, "\ud800", "a")), tmp_path / "m")


def test_missing_keys(parts, refuse):
    for key in parts[0].keys() - {"arrays"}:
        refuse(with_header(parts, drop=(key,)))


def test_a_missing_folder_is_an_os_error(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "nowhere" / "m.npz")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.npz")


def test_killed_while_saving(model, tmp_path):
    """kill -9 at random points of a process that saves again and again: the file is whole at every moment."""
    path = tmp_path / "m.npz"
    save(model, path)
    program = "import sys, rffkern; m = rffkern.load(sys.argv[1])\nwhile True: rffkern.save(m, sys.argv[1])"
    for delay in np.linspace(0.0, 0.05, 10):
        process = subprocess.Popen([sys.executable, "-c", program, str(path)], cwd=tmp_path)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.4 + delay)
        finally:
            process.kill()
            process.wait()
        assert isinstance(load(path), GBRFF2Classifier)
