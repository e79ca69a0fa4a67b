"""Model files: damaged, foreign and hostile ones give FormatError and nothing else."""

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from rffkern import FormatError, FourierExpansion, GBRFF2Classifier, InvalidInputError, NotFittedError, load, save
from rffkern.serialize import FORMAT_VERSION, _decode, _encode, _npy_prefix

N_DAMAGED = int(os.environ.get("RFFKERN_DAMAGED", "2000"))


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    return GBRFF2Classifier(6, random_state=0).fit(X, np.where(X[:, 0] > 0, "b", "a"))


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.npz"
    save(model, path)
    return path.read_bytes()


@pytest.fixture
def refuse(tmp_path):
    """Assert that some bytes are refused as a model file, and return the message."""
    path = tmp_path / "bad.npz"

    def check(data, match=None):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=match) as caught:
            load(path)
        assert str(path) in str(caught.value)

    return check


def sign(data):
    """Give altered bytes a right digest, as a hostile writer would."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def test_numpy_reads_the_file(model, tmp_path):
    save(model, tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["omegas"], model.expansion_.omegas)
        assert json.loads(archive["header"].tobytes())["class"] == "GBRFF2Classifier"


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


# --- damage

def damaged(content, rng):
    """A copy with one random injury: bytes changed, removed, inserted, moved or cut off."""
    data, kind = bytearray(content), rng.integers(7)
    where = int(rng.integers(len(data)))
    length = int(rng.integers(1, 40))
    if kind == 0:
        data[where] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        data[where : where + length] = rng.bytes(len(data[where : where + length]))
    elif kind == 2:
        del data[where:]
    elif kind == 3:
        del data[where : where + length]
    elif kind == 4:
        data[where:where] = rng.bytes(length)
    elif kind == 5:
        data[where:where] = data[where : where + length]
    else:
        data[where : where + length] = bytes(len(data[where : where + length]))
    return bytes(data)


def test_damaged_files(content, tmp_path):
    rng, path, n_checked = np.random.default_rng(1), tmp_path / "m.npz", 0
    while n_checked < N_DAMAGED:
        data = damaged(content, rng)
        if data == content:
            continue
        path.write_bytes(data)
        with pytest.raises(FormatError):
            load(path)
        n_checked += 1


def test_damaged_files_with_a_right_checksum(content, tmp_path):
    """A hostile writer signs what he wrote: whatever loads must be a model in working order."""
    rng, path, n_loaded = np.random.default_rng(2), tmp_path / "m.npz", 0
    for _ in range(N_DAMAGED):
        path.write_bytes(sign(damaged(content, rng)))
        try:
            model = load(path)
        except FormatError:
            continue
        n_loaded += 1
        assert np.isfinite(model.decision_function(np.ones((2, model.n_features_in_)))).all()
    assert n_loaded < N_DAMAGED


@pytest.mark.parametrize("size", [0, 1, 3, 4, 50, 71, 72, 200])
def test_truncated(content, refuse, size):
    refuse(content[:size])
    refuse(content[: len(content) - size - 1])


def test_foreign_files(refuse, tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    refuse((tmp_path / "other.npz").read_bytes(), "no checksum")
    refuse(b"tree\nversion=v4\n", "does not begin as a .npz")
    refuse(pickle.dumps({"a": 1}), "does not begin as a .npz")
    refuse(b"PK\x03\x04" + b"sha256:".rjust(100) + b"0" * 64, "checksum differs")
    refuse(sign(b"PK\x03\x04" + b"sha256:".rjust(100) + b"0" * 64), "not a valid model")


# --- hostile archives, rightly signed

def archive(members, *, compression=zipfile.ZIP_STORED, comment=b"sha256:" + b"0" * 64):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
        file.comment = comment
    return sign(buffer.getvalue())


@pytest.fixture(scope="module")
def parts(content):
    return _decode(content)


def with_header(parts, drop=(), **changes):
    header, arrays = parts
    header = {key: value for key, value in (header | changes).items() if key not in drop}
    return _encode(header, arrays)


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def test_the_reference_archive_is_accepted(content, parts, tmp_path):
    """The tools of the tests below make good files where nothing is changed."""
    for data in (_encode(*parts), archive(members_of(content))):
        (tmp_path / "m").write_bytes(data)
        load(tmp_path / "m")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_member_lists(content, refuse):
    members = members_of(content)
    refuse(archive(members + members[1:2]), "missing or repeated")
    refuse(archive(members[:-1]), "members must be")
    refuse(archive([*members, ("extra.npy", members[1][1])]), "members must be")
    refuse(archive(members[1:] + members[:1]), "missing or repeated")
    refuse(archive([*members[:1], *members[2:], members[1]]), "members must be")
    refuse(archive([]), "not a valid model|missing or repeated|does not begin")
    refuse(archive(members, compression=zipfile.ZIP_DEFLATED), "stored, not compressed")
    refuse(archive([(name.replace("omegas", "../omegas"), data) for name, data in members]), "members must be")


def test_pickled_members(content, refuse):
    class Bomb:
        def __reduce__(self):
            return os._exit, (66,)

    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    members = dict(members_of(content))
    refuse(archive((members | {"omegas.npy": buffer.getvalue()}).items()), "omegas does not have the declared shape")
    refuse(archive((members | {"header.npy": buffer.getvalue()}).items()), "header is malformed")


@pytest.mark.parametrize("shape", [(2**40, 2**20), (2**62,), (0, 2**63), (10**30,), (6, 4), (3, 6), (18,), (6, 3, 1)])
def test_giant_and_wrong_shapes_allocate_nothing(content, parts, refuse, shape):
    header, _ = parts
    entries = [["omegas", list(shape)] if name == "omegas" else [name, own] for name, own in header["arrays"]]
    members = dict(members_of(content))
    altered = json.dumps(header | {"arrays": entries}).encode()
    members["header.npy"] = _npy_prefix("|u1", (len(altered),)) + altered
    members["omegas.npy"] = _npy_prefix("<f8", shape) + members["omegas.npy"][128:]
    tracemalloc.start()
    refuse(archive(members.items()))
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_file_over_the_limit_is_not_read(content, tmp_path):
    with open(tmp_path / "big", "wb") as file:
        file.write(content)
        file.truncate(1 << 34)  # 16 GiB, sparse
    with pytest.raises(FormatError, match="larger than max_bytes"):
        load(tmp_path / "big", max_bytes=1 << 20)


@pytest.mark.parametrize(("changes", "match"), [
    ({"format": "other"}, "not a model file of this package"), ({"version": FORMAT_VERSION + 1}, "newer than rffkern"),
    ({"version": 0}, "version is malformed"), ({"version": "1"}, "version is malformed"),
    ({"version": True}, "version is malformed"), ({"surprise": 1}, "header must have keys"),
    ({"family": "gbrff9"}, "family 'gbrff9' is not known"), ({"family": []}, "not a valid model"),
    ({"class": "FourierExpansion"}, "class and family do not agree"), ({"params": {}}, "parameters are not"),
    ({"params": None}, "parameters are not"), ({"classes": None}, "classes must have"),
    ({"classes": {"dtype": "<U1", "values": ["a"]}}, "classes are malformed"),
    ({"classes": {"dtype": "<U1", "values": ["a", "a"]}}, "distinct and sorted"),
    ({"classes": {"dtype": "<U1", "values": ["b", "a"]}}, "distinct and sorted"),
    ({"classes": {"dtype": "<U1", "values": ["a", "b", "c"]}}, "do not agree in number"),
    ({"classes": {"dtype": "<U1", "values": ["a", "bb"]}}, "do not fit"),
    ({"classes": {"dtype": "<i8", "values": ["a", "b"]}}, "labels must be of dtype"),
    ({"classes": {"dtype": "<i8", "values": [1, 2**70]}}, "not a valid model"),
    ({"classes": {"dtype": "<M8[s]", "values": [1, 2]}}, "labels of dtype"),
    ({"classes": {"dtype": "<U100000000", "values": ["a", "b"]}}, "needlessly wide"),
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
    members = dict(members_of(content)) | {"header.npy": _npy_prefix("|u1", (len(header),)) + header}
    refuse(archive(members.items()), match)


@pytest.mark.parametrize("param", [{"n_estimators": -5}, {"gamma": "x"}, {"random_state": [1]}, {"n_threads": 1e9}])
def test_altered_parameters(parts, refuse, param):
    refuse(with_header(parts, params=parts[0]["params"] | param), "must be")


@pytest.mark.parametrize(("name", "shape"), [("train_loss_", (0,)), ("train_loss_", (3, 2)), ("train_loss_", (6,)),
                                             ("eval_loss_", (3,)), ("eval_loss_", (7, 1))])
def test_curves_that_do_not_fit(parts, refuse, name, shape):
    header, arrays = parts
    entries = [[key, list(shape) if key == name else own] for key, own in header["arrays"]]
    refuse(_encode(header | {"arrays": entries}, arrays | {name: np.ones(shape)}), "curves do not agree|not a valid")


def test_members_that_overlap(content, refuse):
    """Two entries of the directory that share their bytes: more is declared than is there."""
    data = bytearray(content)
    entries = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    for entry in entries[1:]:
        data[entry + 20 : entry + 28] = (len(content) // 2).to_bytes(4, "little") * 2
    refuse(sign(bytes(data)))


def test_what_load_would_refuse_is_not_saved(model, tmp_path):
    import copy

    with pytest.raises(InvalidInputError, match="gamma must be"):
        save(copy.copy(model).set_params(gamma=-1.0), tmp_path / "m")
    X = np.arange(20.0)[:, None]
    for labels in (np.array([1, 2], np.longdouble), np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")):
        with pytest.raises(InvalidInputError, match="classes_ must be"):
            save(GBRFF2Classifier(2).fit(X, labels[(X[:, 0] > 9).astype(int)]), tmp_path / "m")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        save(GBRFF2Classifier(2).fit(X, np.where(X[:, 0] > 9, "\ud800", "a")), tmp_path / "m")


def test_a_link_is_followed(model, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    save(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(load(tmp_path / "target"), GBRFF2Classifier)


def test_missing_keys(parts, refuse):
    for key in parts[0].keys() - {"arrays"}:
        refuse(with_header(parts, drop=(key,)))


@pytest.mark.parametrize("text", [
    b"", b"null", b"[1, 2]", b"{", b"\xff\xfe", b'{"format": "rffkern", "format": "rffkern"}', b"[" * 100_000,
    b'{"format": "rffkern", "version": NaN}', b'{"format": "rffkern", "version": 1' + b"0" * 5000 + b"}",
], ids=lambda text: repr(text[:20]))
def test_malformed_json(content, refuse, text):
    members = dict(members_of(content)) | {"header.npy": _npy_prefix("|u1", (len(text),)) + text}
    refuse(archive(members.items()))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["omegas", "phases", "amplitudes", "intercept", "center", "train_loss_"])
def test_nan_and_inf(parts, refuse, name, value):
    header, arrays = parts
    altered = arrays[name].copy()
    altered.flat[0] = value
    refuse(_encode(header, arrays | {name: altered}), f"array {name} holds nan or inf")


# --- writing

def test_a_failed_write_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        save(model, path)
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["m.npz"]


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


def test_the_prefix_is_what_numpy_writes():
    for dtype, shape in (("<f8", (5, 3)), ("<f8", (7,)), ("|u1", (12345,)), ("<f8", (0,))):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.zeros(shape, dtype), version=(1, 0))
        assert buffer.getvalue().startswith(_npy_prefix(dtype, shape)[:8])
        buffer.seek(0)
        assert np.lib.format.read_magic(buffer) == (1, 0)
        ours = io.BytesIO(_npy_prefix(dtype, shape))
        np.lib.format.read_magic(ours)
        assert np.lib.format.read_array_header_1_0(ours) == (shape, False, np.dtype(dtype))


