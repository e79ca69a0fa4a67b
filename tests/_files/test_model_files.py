"""What stands in model files, and what is refused of it."""

import copy
import io
import json
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from helpers.damaged_files import members_of
from helpers.damaged_files import with_header as archive_with_header
from helpers.expansions import fourier_expansion, kernel_expansion
from helpers.model_files import c_reader
from helpers.processes import started, wait_until

from rffkern import (
    Expansion,
    FormatError,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    NotFittedError,
    SparseKernelRegressor,
    TreeTerms,
    dumps,
    load,
    loads,
    save,
)
from rffkern._files import archive
from rffkern._files.archive import FORMAT_VERSION, decode, encode, make_header
from rffkern._model.tree_layout import UNREACHED
from rffkern._training.fourier_boosting.parameters import Reason, report_numbers
from rffkern.errors import ColumnWarning, InvalidTypeError


def with_header(parts, drop=(), **changes):
    header, arrays = parts
    header = {key: value for key, value in (header | changes).items() if key not in drop}
    return encode(header, arrays)


def test_bare_expansion(tmp_path, rng):
    expansion = fourier_expansion(rng.standard_normal((5, 2)), np.zeros(5), np.ones((5, 3)), np.zeros(3), np.ones(2))
    save(expansion, tmp_path / "e.npz")
    loaded = load(tmp_path / "e.npz")
    X = rng.standard_normal((10, 2))
    np.testing.assert_array_equal(loaded.score(X), expansion.score(X))


def test_arrays_take_the_least_precision_that_holds_them(refuse):
    """Half for whole numbers and zeros of either sign, single for what it holds; the bits are those that were saved."""
    omegas = np.array([[1.0, -0.0], [2.0**-24, 65472.0], [2048.0, -3.5]])
    for numbers, dtype in ((omegas, "<f2"), (omegas * 2049, "<f4"), (omegas / 3, "<f8"), (omegas * 1e300, "<f8")):
        expansion = fourier_expansion(numbers, np.full(3, 0.1), np.ones((3, 1)), np.zeros(1), np.zeros(2))
        content = dumps(expansion)
        with np.load(io.BytesIO(content)) as archive:
            assert archive["omegas"].dtype == dtype
            assert archive["phases"].dtype == "<f8"
        assert loads(content).fourier.omegas.tobytes() == numbers.tobytes()
    header, arrays = decode(content)
    refuse(encode(header, {**arrays, "phases": np.array([0.1, np.nan, 0.2])}), "nan or inf")


@pytest.mark.parametrize(("threshold", "dtype"), [(0.5, "<f2"), (65504.0, "<f4"), (0.1, "<f8"),
                                                  (float(np.float32(0.1)), "<f4"), (float(np.finfo("<f4").max), "<f8")])
def test_thresholds_that_split_nothing_are_the_largest_of_any_precision(threshold, dtype):
    trees = TreeTerms([[0, 0], [0, 0]], [[threshold, UNREACHED], [-threshold, UNREACHED]], [[2.0], [3.0], [4.0], [5.0]])
    content = dumps(Expansion([0.0], [0.0], trees))
    with np.load(io.BytesIO(content)) as archive:
        assert archive["tree_thresholds"].dtype == dtype
    np.testing.assert_array_equal(loads(content).trees.tree_thresholds, trees.tree_thresholds)


def test_omegas_that_are_mostly_zero_are_kept_without_zeros(refuse):
    omegas = np.zeros((4, 5))
    omegas[0, 3], omegas[2, :2], omegas[3, 4] = 0.3, (-0.0, 5.0), -1.0
    expansion = fourier_expansion(omegas, np.zeros(4), np.ones((4, 1)), np.zeros(1), np.zeros(5))
    content = dumps(expansion)
    header, arrays = decode(content)
    assert arrays["omegas"].tolist() == [0.3, -0.0, 5.0, -1.0]
    assert arrays["omega_gaps"].tolist() == [4, 7, 1, 8]
    assert loads(content).fourier.omegas.tobytes() == omegas.tobytes()
    assert dumps(loads(content)) == content
    for gaps in ([4, 7, 1, 9], [4, 0, 1, 8], [4, -7, 1, 8], [4.5, 7, 1, 7], [1e300, 7, 1, 8]):
        refuse(encode(header, {**arrays, "omega_gaps": np.array(gaps, float)}), "omegas and their gaps")
    few = encode({**header, "arrays": [[n, [3] if n == "omega_gaps" else s] for n, s in header["arrays"]]},
                 {**arrays, "omega_gaps": arrays["omega_gaps"][:3]})
    refuse(few, "omegas and their gaps")
    many = 1 << 24  # of which a file of some hundred bytes may not ask for 512 MiB
    giant = {**arrays, "center": np.zeros(many), "phases": np.zeros(4)}
    refuse(encode({**header, "arrays": [[name, list(array.shape)] for name, array in giant.items()]}, giant),
           "omegas and their gaps")


def test_omegas_of_many_columns_are_kept_without_zeros():
    """Those of 2,000 columns would be files of a hundred megabytes."""
    omegas = np.zeros((24, 1 << 18))
    omegas[:, ::2000] = 1.5
    expansion = fourier_expansion(omegas, np.zeros(24), np.ones((24, 1)), np.zeros(1), np.zeros(1 << 18))
    content = dumps(expansion)
    assert len(content) < 1.2 * (1 << 19)  # the center, in half precision
    assert (loads(content).fourier.omegas == omegas).all()


@pytest.fixture(scope="module")
def boosted(tmp_path_factory):
    """Header and arrays of a small model of Fourier boosting."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = FourierBoostingRegressor(12, n_bags=2, base_learners=("tree", "fourier"), columns=None, random_state=0)
    path = tmp_path_factory.mktemp("boosted") / "m.npz"
    save(model.fit(X, np.sin(2 * X[:, 0])), path)
    return decode(path.read_bytes())


@pytest.mark.parametrize(("name", "change"), [
    ("tree_columns", lambda a: a + 3), ("tree_columns", lambda a: a - 0.5), ("tree_columns", lambda a: a[:, :0]),
    ("tree_columns", lambda a: np.zeros((len(a), 40))), ("tree_values", lambda a: np.full_like(a, 1.7e308)),
    ("tree_values", lambda a: np.full_like(a, np.nan)), ("tree_thresholds", lambda a: a * np.inf),
    ("feature_importances_", lambda a: a[:-1]), ("feature_importances_", lambda a: a[:0]),
    ("bag_counts_", lambda a: a[:0]), ("bag_counts_", lambda a: a - 2), ("bag_counts_", lambda a: -a),
    ("bag_counts_", lambda a: a + 0.5), ("bag_counts_", lambda a: a[:1]), ("eval_loss_", lambda a: a[:-1]),
    ("bag_counts_", lambda a: a + np.arange(len(a))), ("bag_counts_", lambda a: a * 1e15),
    ("term_rounds_", lambda a: a + 1e9),
])
def test_tables_and_members_that_disagree_are_refused(boosted, refuse, name, change):
    header, arrays = boosted
    with np.errstate(all="ignore"):
        changed = np.ascontiguousarray(change(arrays[name]))
    entries = [[key, list((changed if key == name else value).shape)] for key, value in arrays.items()]
    refuse(encode({**header, "arrays": entries}, {**arrays, name: changed}))


@pytest.mark.parametrize("kernel", [False, True])
def test_both_readers_know_why_there_are_kernels_or_none(refuse, kernel):
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = FourierBoostingRegressor(3, n_bags=1, kernel_ridge=kernel, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    assert ("kernels" in [part.kind for part in model.expansion_.parts]) == kernel
    header, arrays = decode(dumps(model))
    for reason in Reason:
        data = encode(header, {**arrays, "_kernel_ridge_report": report_numbers(reason)})
        if kernel != (reason in (Reason.GAINS, Reason.ASKED)):
            refuse(data, "report on kernel ridge is malformed")
        else:
            assert loads(data).kernel_ridge_report_.kept == (kernel or reason == Reason.FEATURES)
            assert c_reader() is None or c_reader().accepts(data)


@pytest.mark.parametrize("wrong", [{"base_learners": []}, {"base_learners": [["fourier"]]}, {"base_learners": 3},
                                   {"base_learners": "fourier"},
                                   {"learning_rate": "fast"}, {"n_bags": 0}])
def test_wrong_parameters_of_fourier_boosting_are_refused(boosted, refuse, wrong):
    header, arrays = boosted
    refuse(encode({**header, "params": header["params"] | wrong}, arrays), in_c=False)


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
    fitted = GBRFF2Classifier(3, random_state=0).fit(X, X[:, 0] > 9)
    fitted.classes_ = np.array([b"x", b"y"])
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
    ({"format": "other"}, "not a model file of this package"),
    ({"version": FORMAT_VERSION + 1}, "written by a newer rffkern, in"),
    ({"version": 0}, "version 0 is not known"), ({"version": "1"}, "version .1. is not known"),
    ({"version": 1.0}, "version 1.0 is not known"), ({"version": True}, "version True is not known"),
    ({"surprise": 1}, "header must have keys"), ({"metadata": None}, "metadata is malformed"),
    ({"metadata": ["note"]}, "metadata is malformed"), ({"reference": 1}, "reference is malformed"),
    ({"family": "gbrff9"}, "family 'gbrff9' is not known"), ({"family": []}, r"family \[\] is not known"),
    ({"class": "Expansion"}, "class and family do not agree"), ({"params": {}}, "parameters are not"),
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
    refuse(archive_with_header(members_of(content), header), match)


@pytest.mark.parametrize("param", [{"n_estimators": -5}, {"gamma": "x"}, {"random_state": [1]}])
def test_altered_parameters(parts, refuse, param):
    refuse(with_header(parts, params=parts[0]["params"] | param), "must be", in_c=False)


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
    with pytest.raises(InvalidInputError, match="UTF-8"):
        save(GBRFF2Classifier(2).fit(X, np.where(X[:, 0] > 9, "\ud800", "a")), tmp_path / "m")


def test_threads_do_not_travel(model, parts, refuse, tmp_path):
    save(copy.copy(model).set_params(n_jobs=64), tmp_path / "m")
    assert "n_jobs" not in decode((tmp_path / "m").read_bytes())[0]["params"]
    assert load(tmp_path / "m").n_jobs is None
    refuse(with_header(parts, params=parts[0]["params"] | {"n_jobs": 64}), "parameters are not", in_c=False)


@pytest.mark.parametrize("text", ["a\x1b[31m", "b\x00", "c\x7f", "d\x9b", "e\ud800", "f\r"])
def test_control_characters_are_refused(model, parts, refuse, content, tmp_path, text):
    for changes in ({"classes": {"dtype": "O", "values": ["A", text]}}, {"feature_names": ["A", "B", text]}):
        header = json.dumps(parts[0] | changes).encode()
        refuse(archive_with_header(members_of(content), header), "control characters|feature names are malformed")
    other = copy.copy(model)
    other.classes_ = np.array(["A", text], dtype=object)
    with pytest.raises(InvalidInputError, match="no control characters"):
        save(other, tmp_path / "m")


def test_what_has_a_control_character_is_named(tmp_path):
    words = np.array(["a\rc", "b"] * 20, dtype=object)
    fitted = GBRFF2Classifier(2, random_state=0).fit({"size": np.arange(40.0), "word": words}, words == "b")
    with pytest.raises(InvalidInputError, match=r"the texts of column 'word' must be .*, got 'a\\rc': replace them"):
        save(fitted, tmp_path / "m")


def test_tabs_and_line_ends_are_kept(model, tmp_path):
    other = copy.copy(model)
    other.classes_ = np.array(["a\tb", "a\xe9\nb"], dtype=object)
    save(other, tmp_path / "m")
    assert load(tmp_path / "m").classes_.tolist() == other.classes_.tolist()


@pytest.mark.parametrize("expansion", [
    fourier_expansion([[1.0]], [0.0], [[1.7e308]], [1.7e308], [0.0]),
    fourier_expansion([[1.0]] * 2, [0.0] * 2, [[1.7e308], [-1.7e308]], [0.0], [0.0]),
    kernel_expansion([[0.0]], [[1.7e308]], [1.7e308], [1.0]),
])
def test_amplitudes_whose_scores_overflow(expansion, refuse, tmp_path):
    arrays = expansion.arrays()
    header = make_header("expansion", "Expansion", params={}, classes=None, feature_names=None,
                         arrays=arrays)
    refuse(encode(header, arrays), "amplitudes are too large")
    with pytest.raises(InvalidInputError, match="sum of the amplitudes"):
        save(expansion, tmp_path / "m")


def test_names_of_files(model, tmp_path):
    save(model, os.fsencode(tmp_path / "m"))
    assert isinstance(load(os.fsencode(tmp_path / "m")), GBRFF2Classifier)
    for path in (0, None, [b""]):
        with pytest.raises(InvalidTypeError, match="path must be the name of a file"):
            save(model, path)
        with pytest.raises(InvalidTypeError, match="path must be the name of a file"):
            load(path)
    with pytest.raises(InvalidInputError, match=r"got bytes with the character 0.* for rffkern\.loads"):
        load(dumps(model))


def test_metadata_that_contain_themselves(model, tmp_path):
    metadata = {}
    metadata["self"] = metadata
    with pytest.raises(InvalidInputError, match="metadata must be nested some hundred deep at most"):
        save(model, tmp_path / "m", metadata=metadata)


def wide_labels(parts):
    """A header with twenty thousand short labels and a long one, in an array of 1.6 GB."""
    labels = [f"{i:05}" for i in range(20_000)] + ["a" * 20_000]
    return {"classes": {"dtype": "<U20000", "values": labels}}


def nested(value, n):
    return json.loads("[" * n + value + "]" * n)


HUNGRY = {
    "labels": lambda parts: wide_labels(parts),
    "empty lists": lambda parts: {"params": [[]] * 4_000_000},
    "empty dicts": lambda parts: {"params": [{}] * 4_000_000},
    "numbers": lambda parts: {"params": [1.5] * 3_000_000},
    "names": lambda parts: {"feature_names": ["ab"] * 2_500_000},
    "short labels": lambda parts: {"classes": {"dtype": "O", "values": [f"{i:x}" for i in range(1_500_000)]}},
    "arrays": lambda parts: {"arrays": [["a", [1]]] * 1_000_000},
    "dimensions": lambda parts: {"arrays": [["a", [1] * 5_000_000]]},
    "long name": lambda parts: {"family": "x" * 10_000_000},
    "depth": lambda parts: {"params": nested("1", 900)},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HUNGRY)
def test_a_file_takes_memory_in_proportion(content, parts, tmp_path, kind):
    """At most 50 MB and four times the size of the file."""
    header = json.dumps(parts[0] | HUNGRY[kind](parts), separators=(",", ":")).encode()
    (tmp_path / "m").write_bytes(archive_with_header(members_of(content), header))
    n_bytes = (tmp_path / "m").stat().st_size
    tracemalloc.start()
    with pytest.raises(FormatError) as caught:
        load(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6 + 4 * n_bytes
    assert len(str(caught.value)) < 2000


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are as Linux has them")
def test_wide_labels_are_refused_under_a_limit_of_memory(content, parts, tmp_path):
    header = json.dumps(parts[0] | wide_labels(parts)).encode()
    (tmp_path / "m").write_bytes(archive_with_header(members_of(content), header))
    program = ("import resource, sys, rffkern; rffkern.GBRFF2Classifier\n"
               "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
               "resource.setrlimit(resource.RLIMIT_AS, (now + 100_000_000,) * 2)\n"
               "try: rffkern.load(sys.argv[1])\n"
               "except rffkern.FormatError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "m")], cwd=tmp_path, capture_output=True,
                          text=True, check=True)
    assert "labels would take 1600080000 bytes" in done.stdout


def test_labels_too_wide_to_store(model, tmp_path):
    other = copy.copy(model)
    other.classes_ = np.array([f"{i:05}" for i in range(2000)] + ["a" * 5000])  # 40 MB
    with pytest.raises(InvalidInputError, match="use an object array"):
        save(other, tmp_path / "m")


def test_missing_keys(parts, refuse):
    """All but the arrays, of which others judge, and the distributions of columns, which a model may lack."""
    for key in parts[0].keys() - {"arrays", "reference"}:
        refuse(with_header(parts, drop=(key,)))


def test_a_missing_folder_is_an_os_error(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "nowhere" / "m.npz")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.npz")


@pytest.mark.slow
def test_killed_while_saving(model, tmp_path):
    """kill -9 at random points of a process that saves again and again: the file is whole at every moment."""
    path = tmp_path / "m.npz"
    save(model, path)
    program = "import sys, rffkern; m = rffkern.load(sys.argv[1])\nwhile True: rffkern.save(m, sys.argv[1])"
    for delay in np.linspace(0.0, 0.05, 10):
        first = path.stat().st_ino
        with started([sys.executable, "-c", program, path], cwd=tmp_path) as process:
            assert wait_until(lambda first=first: path.stat().st_ino != first)  # it saves
            time.sleep(delay)
            assert process.poll() is None
        assert isinstance(load(path), GBRFF2Classifier)


def test_parameters_that_hold_numbers_come_back(tmp_path):
    """Lists, tuples and arrays within a dict as lists of numbers."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    for lengths in ([1.0, 2.5], (1.0, 2.5), np.array([1.0, 2.5])):
        kernel = {"length_scale": lengths, "amplitude": np.float64(0.5), "bias": 0.0}
        fitted = SparseKernelRegressor(2, kernel=kernel, reg_lambda=0.1, random_state=0).fit(X, X[:, 0])
        save(fitted, tmp_path / "m")
        assert load(tmp_path / "m").kernel == {"length_scale": [1.0, 2.5], "amplitude": 0.5, "bias": 0.0}


@pytest.mark.parametrize(("share", "bounded"), [(0.499, True), (0.501, False)])
def test_half_of_what_double_precision_holds_is_the_largest_score(share, bounded, tmp_path):
    """So that no sum on the way to it overflows."""
    largest = share * np.finfo(float).max
    for intercept, amplitudes in (([0.0], [[largest]]), ([-largest / 2], [[largest / 4], [-largest / 4]])):
        n = len(amplitudes)
        expansion = fourier_expansion(np.zeros((n, 1)), np.zeros(n), amplitudes, intercept, np.zeros(1))
        if bounded:
            save(expansion, tmp_path / "m")
            assert np.isfinite(load(tmp_path / "m").score(np.zeros((1, 1)))).all()
        else:
            with pytest.raises(InvalidInputError, match="sum of the amplitudes"):
                save(expansion, tmp_path / "m")


def test_a_header_that_is_too_large_is_written_without_its_reference(monkeypatch):
    X = np.random.default_rng(0).standard_normal((40, 60))
    model = FourierBoostingRegressor(1, n_bags=1, kernel_ridge=False).fit(X, X[:, 0])
    monkeypatch.setattr(archive, "_FREE_MEMORY", 1000)
    with pytest.warns(ColumnWarning, match=r"without its reference .* would take [\d,]+ bytes of memory, more than"):
        again = loads(dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(InvalidInputError, match="keeps no reference"):
        again.drift(X)
    assert again.explain(X[:2], background=X).values.any()
    monkeypatch.setattr(archive, "_MAX_HEADER", 1000)
    with pytest.warns(ColumnWarning), pytest.raises(InvalidInputError, match=r"would be [\d,]+ bytes, more than 1,000"):
        dumps(model)
