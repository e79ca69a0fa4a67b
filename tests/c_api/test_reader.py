"""The reader of model files in C: what it tells of sound files, and with which code it refuses others."""

import ctypes
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from helpers import damaged_files
from helpers.c_cells import Cell, ColumnInfo, Info
from helpers.c_reader import ACCEPTED, SANITIZERS, STRICT, CReader, build, compiler
from helpers.compressed import Compressed
from helpers.damaged_files import members_of, sign
from helpers.expansions import fourier_expansion
from helpers.model_files import small_model

import rffkern
from rffkern import ColumnMap, FourierBoostingRegressor, GBRFF2Classifier, load, save
from rffkern._files.archive import FORMAT_VERSION

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler: set CC")

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data"
FROZEN = [path for path in sorted(DATA.glob("*/*.npz")) if not path.stem.endswith("_expansion")]
HEADER = pathlib.Path(rffkern.get_include(), "rffkern.h").read_text()
CODES = {name: int(number) for name, number in re.findall(r"RFF_(E_\w+|OK) = (\d+)", HEADER)}
DECLARED = set(re.findall(r"^RFF_API [\w *]*?(rff_\w+)\(", HEADER, re.MULTILINE))
KINDS = "function", "classifier", "regressor", "transformer", "column map"


class Label(ctypes.Structure):
    """rff_label."""

    _fields_ = [("kind", ctypes.c_int32), ("integer", ctypes.c_int64), ("whole", ctypes.c_uint64),
                ("real", ctypes.c_double), ("text", ctypes.c_char_p), ("length", ctypes.c_size_t)]

    def value(self):
        """The label in Python."""
        return [None, bool(self.integer), self.integer, self.whole, self.real,
                self.text.decode() if self.text is not None else None][self.kind]


@pytest.fixture
def read(library):
    """A function from bytes or a path to (code, why, description), each model being released."""
    def from_file(source, max_bytes=0):
        model, why = ctypes.c_void_p(1), ctypes.c_char_p(b"nothing")
        if isinstance(source, bytes):
            code = library.rff_load_memory(source, ctypes.c_size_t(len(source)), ctypes.byref(model), ctypes.byref(why))
        else:
            code = library.rff_load(str(source).encode(), ctypes.c_size_t(max_bytes), ctypes.byref(model),
                                    ctypes.byref(why))
        assert (code == CODES["OK"]) == bool(model) == (why.value is None)
        described = describe(library, model) if model else None
        library.rff_free(model)
        return code, (why.value or b"").decode(), described

    return from_file


def describe(library, model):
    """What the interface tells of a model."""
    info, label = Info(), Label()
    assert library.rff_describe(model, ctypes.byref(info), ctypes.c_size_t(ctypes.sizeof(info))) == CODES["OK"]
    labels = []
    for k in range(info.n_classes):
        assert library.rff_get_label(model, ctypes.c_size_t(k), ctypes.byref(label)) == CODES["OK"]
        assert label.kind == info.label_kind
        labels.append(label.value())
    names = [library.rff_feature_name(model, ctypes.c_size_t(k)) for k in range(info.n_features + 1)]
    assert names[-1] is None
    assert library.rff_get_label(model, ctypes.c_size_t(info.n_classes), ctypes.byref(label)) == CODES[
        "E_ARGUMENT" if info.n_classes else "E_NO_LABELS"]
    found = {name: getattr(info, name) for name, _ in Info._fields_}
    return found | {"labels": labels, "names": [name.decode() for name in names[:-1]] if names[0] is not None else None}


def content_of(model, tmp_path):
    save(model, tmp_path / "m.npz")
    return (tmp_path / "m.npz").read_bytes()


def with_header(content, change):
    """A file whose header is what a function makes of it."""
    members = members_of(content)
    header, _ = damaged_files.places_of_header(members)
    return damaged_files.with_header(members, json.dumps(change(header)).encode())


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    return content_of(small_model(), tmp_path_factory.mktemp("model"))


# --- sound files

@pytest.mark.parametrize("path", FROZEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_frozen_files(read, path):
    """The facts are those that Python tells."""
    code, why, found = read(path)
    model = load(path)
    assert code == CODES["OK"], why
    has_words = path.stem.startswith("column_map") or "_with_" in path.stem
    assert (found["takes_words"] is not None) == has_words
    if path.stem.startswith(("column_map", "expansion_")):
        return
    expansion = model.expansion_
    expected = {
        "format_version": int(path.parent.name), "family": model.family.encode(),
        "class_name": type(model).__name__.encode(), "n_features": model.n_features_in_,
        "n_mapped": expansion.n_features, "n_terms": expansion.n_terms, "n_outputs": expansion.n_outputs,
        "takes_missing": int(getattr(model, "column_map_", None) is not None),
        "labels": model.classes_.tolist() if hasattr(model, "classes_") else [],
        "names": model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None,
        "n_predictions": 1 if hasattr(model, "classes_") else expansion.n_outputs}
    assert {name: found[name] for name in expected} == expected
    task = "classifier" if hasattr(model, "classes_") else "transformer" if hasattr(model, "transform") else "regressor"
    assert KINDS[found["kind"]] == task
    assert read(path.read_bytes())[2] == found


def test_expansions_and_maps(read, tmp_path):
    """Files of a function alone, and of a map of numbers alone."""
    function = fourier_expansion([[1.0, 2.0]], [0.5], [[1.0, -1.0]], [0.0, 1.0], [0.0, 0.0])
    code, _, found = read(content_of(function, tmp_path))
    assert (code, KINDS[found["kind"]], found["n_features"], found["n_outputs"]) == (0, "function", 2, 2)
    omegas = np.zeros((24, 1 << 18))  # six million, of which a file has 3,168
    omegas[:, ::2000] = 1.0
    wide = fourier_expansion(omegas, np.zeros(24), np.ones((24, 1)), [0.0], omegas[0])
    code, _, found = read(content_of(wide, tmp_path))
    assert (code, found["n_terms"]) == (0, 24)
    X = np.array([[1.0, np.nan, 5.0], [2.0, 3.0, 5.0], [4.0, 1.0, 5.0]])
    mapped = ColumnMap(("raw", "standard", "bounded", "rank", "bins")).fit(X)
    code, _, found = read(content_of(mapped, tmp_path))
    assert (code, KINDS[found["kind"]], found["n_features"], found["takes_missing"]) == (0, "column map", 3, 1)
    assert found["n_outputs"] == found["n_mapped"] == found["n_predictions"] == mapped.transform(X).shape[1]


@pytest.mark.parametrize(("quantile", "n_predictions"), [(0.5, 1), ([0.1, 0.5, 0.9], 1)])
def test_several_quantiles_have_one_prediction(read, tmp_path, quantile, n_predictions):
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = FourierBoostingRegressor(3, loss="quantile", quantile=quantile, n_bags=1, random_state=0).fit(X, X[:, 0])
    code, _, found = read(content_of(model, tmp_path))
    assert (code, found["n_outputs"], found["n_predictions"]) == (0, np.size(quantile), n_predictions)


def test_models_of_sparse_rows_are_read(read, tmp_path):
    """Their report on kernel ridge has a reason of its own."""
    X = np.where(np.random.default_rng(0).random((80, 600)) < 0.01, 1.0, 0.0)
    model = FourierBoostingRegressor(3, n_bags=1, random_state=0).fit(Compressed.of(X), X.sum(axis=1))
    assert model.column_map_ is None
    code, why, found = read(content_of(model, tmp_path))
    assert code == CODES["OK"], why
    assert found["n_features"] == 600


@pytest.mark.parametrize("labels", [
    [False, True], np.array([-3, 4], np.int8), np.array([-2**63, 2**63 - 1]), np.array([2**63, 2**64 - 1], np.uint64),
    np.array([7, 9], np.uint8), np.array([-1.0, 2.0], np.float32), [-3e15, 0.0], ["a", "\u00e9\U0001f600\t"],
    np.array(["", "long" * 100], object), np.array([-2**63, 5], object), np.array([0.0, 2.5], object),
    np.array([False, True], object), np.array(["a", "b"], "<U9")], ids=repr)
def test_labels(read, tmp_path, labels):
    """Labels of all types that a file may hold."""
    labels = np.asarray(labels)
    X = np.arange(20.0)[:, None]
    model = GBRFF2Classifier(2, random_state=0).fit(X, labels[(X[:, 0] > 9).astype(int)])
    code, _, found = read(content_of(model, tmp_path))
    assert code == CODES["OK"]
    assert found["labels"] == labels.tolist()
    assert [type(label) for label in found["labels"]] == [type(label) for label in labels.tolist()]


def test_names_beyond_ascii(read, content):
    names = ["gr\u00f6\u00dfe", "\u2603\U0001f600", "a\tb\\\"/"]
    changed = with_header(content, lambda header: header | {"feature_names": names})
    assert read(changed)[2]["names"] == names


@pytest.mark.parametrize(("dtype", "values"), [("<f8", [-1e300, 2.5e-308, 0.1, 1.7976931348623157e308]),
                                               ("<f4", [-0.125, 1e-45, 3.4028234663852886e38]), ("O", [0.1, 1e22])])
def test_real_labels_are_rounded_as_in_python(read, tmp_path, dtype, values):
    values = [float(np.float32(value)) if dtype == "<f4" else value for value in values]
    X, y = np.arange(40.0)[:, None], np.arange(40) % len(values)
    other = content_of(GBRFF2Classifier(2, random_state=0).fit(X, y), tmp_path)
    changed = with_header(other, lambda header: header | {"classes": {"dtype": dtype, "values": values}})
    assert read(changed)[2]["labels"] == values


_COMMA = """
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in a locale whose decimal point is a comma. */
static int print_comma(char *text, size_t size, const char *format, ...)
{
    char *point;
    int n;
    va_list given;
    va_start(given, format);
    n = vsnprintf(text, size, format, given);
    va_end(given);
    if (strchr(format, 'f') && (point = strchr(text, '.')) != NULL) *point = ',';
    return n;
}

static double read_comma(const char *text, char **end)
{
    char copy[64], *point;
    if (strlen(text) >= sizeof copy || strchr(text, '.')) return 77;
    point = strchr(strcpy(copy, text), ',');
    if (point) *point = '.';
    return strtod(copy, end);
}

#define snprintf print_comma
#define strtod read_comma
#include "rffscore.c"

int main(int argc, char **argv)
{
    rff_model *model;
    rff_label label;
    if (argc != 2 || rff_load(argv[1], 0, &model, NULL) || rff_get_label(model, 1, &label)) return 1;
    rff_free(model);
    return label.real != 1.125;
}
"""


@pytest.mark.slow
def test_numbers_are_read_in_any_locale(tmp_path, content):
    """A decimal comma is no matter of the file."""
    changed = with_header(content, lambda header: header | {"classes": {"dtype": "<f8", "values": [1e-3, 1.125]}})
    (tmp_path / "m.npz").write_bytes(changed)
    (tmp_path / "comma.c").write_text(_COMMA)
    subprocess.run([build(tmp_path, ("-DRFF_MOST_LEVEL=1",), tmp_path / "comma.c"), tmp_path / "m.npz"], check=True)


# --- refusals

def test_files_that_are_not_there_or_too_large(read, tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    assert read(tmp_path / "nothing")[0] == CODES["E_FILE"]
    assert read(tmp_path)[0] == CODES["E_FILE"]  # a folder
    assert read(tmp_path / "m", len(content))[0] == CODES["OK"]
    assert read(tmp_path / "m", len(content) - 1)[0] == CODES["E_LARGE"]


@pytest.mark.parametrize(("change", "code", "why"), [
    (lambda data: b"", "E_FORMAT", "does not begin"),
    (lambda data: b"tree\n", "E_FORMAT", "does not begin"),
    (lambda data: data[:-1], "E_FORMAT", "no checksum"),
    (lambda data: data[:500] + bytes([data[500] ^ 1]) + data[501:], "E_CHECKSUM", "checksum differs"),
    (lambda data: sign(data[:900] + bytes([data[900] ^ 1]) + data[901:]), "E_FORMAT", "checksum of a member"),
    (lambda data: with_header(data, lambda header: header | {"format": "other"}), "E_FORMAT", "not a model file of"),
    (lambda data: with_header(data, lambda header: header | {"version": FORMAT_VERSION + 1}), "E_NEWER", "newer"),
    (lambda data: with_header(data, lambda header: header | {"version": 10**40}), "E_NEWER", "newer"),
    (lambda data: with_header(data, lambda header: header | {"version": 0}), "E_INVALID", "version is not known"),
    (lambda data: with_header(data, lambda header: header | {"family": "forest"}), "E_INVALID", "not known"),
    (lambda data: with_header(data, lambda header: header | {"classes": {"dtype": "O", "values": [1, 10**30]}}),
     "E_UNSUPPORTED", "64 bits"),
], ids=["empty", "other", "cut", "bits", "member", "format", "newer", "far newer", "no version", "family", "labels"])
def test_codes_of_refusals(read, content, change, code, why):
    """What else is refused is what `helpers.model_files.assert_refused` is asked about, by all tests of files."""
    found = read(change(content))
    assert found[0] == CODES[code]
    assert re.search(why, found[1])


def test_arguments(library, content):
    model = ctypes.c_void_p()
    assert library.rff_load_memory(None, ctypes.c_size_t(5), ctypes.byref(model), None) == CODES["E_ARGUMENT"]
    assert library.rff_load_memory(content, ctypes.c_size_t(len(content)), None, None) == CODES["E_ARGUMENT"]
    assert library.rff_load(None, ctypes.c_size_t(0), ctypes.byref(model), None) == CODES["E_ARGUMENT"]
    assert library.rff_describe(None, None, ctypes.c_size_t(0)) == CODES["E_ARGUMENT"]
    assert library.rff_get_label(None, ctypes.c_size_t(0), None) == CODES["E_ARGUMENT"]
    assert library.rff_feature_name(None, ctypes.c_size_t(0)) is None
    library.rff_free(None)
    assert library.rff_load_memory(content, ctypes.c_size_t(len(content)), ctypes.byref(model), None) == CODES["OK"]
    small = (ctypes.c_int32 * 2)(-1, -1)  # an older caller, whose struct ends sooner
    assert library.rff_describe(model, small, ctypes.c_size_t(4)) == CODES["OK"]
    assert list(small) == [KINDS.index("classifier"), -1]
    library.rff_free(model)


def test_every_code_has_a_text(library):
    texts = [library.rff_error_text(code).decode() for code in CODES.values()]
    assert len(set(texts)) == len(texts) == 17
    assert library.rff_error_text(-1) == library.rff_error_text(99) == b"an unknown error"
    assert library.rff_abi_version() == int(re.search(r"RFF_ABI_VERSION (\d+)", HEADER).group(1))


@pytest.mark.slow
def test_damaged_files_as_in_python(tmp_path):
    """A small part of what `tools/fuzz.py` compares, under sanitizers."""
    tool = HERE.parents[1] / "tools" / "fuzz.py"
    done = subprocess.run([sys.executable, tool, "--files", "150", "--seed", "1"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    total, last = done.stdout.splitlines()[-2:]
    assert min(map(int, total.split()[1:3])) > 0  # accepted and refused
    assert last.endswith(" 0 differences")


def labels_and_keys(n):
    """A change of a header: many labels, and an object of many keys where any value may stand."""
    many = {"dtype": "O", "values": [f"{k:05x}" for k in range(n)]}
    return lambda header: header | {"classes": many, "package": {f"{k:05x}": 0 for k in range(n)}}


@pytest.mark.slow
def test_files_cannot_ask_for_much_memory(tmp_path, content):
    """At most 64 MiB and three times the size of a file, of many values or with a giant shape."""
    n = (1 << 25) // 64 // 2 - 100  # as many values as Python reads
    values = b'{"format": [' + b",".join([b"[]"] * (1 << 20)) + b"]}"
    hostile = [
        with_header(content, labels_and_keys(n)), damaged_files.many_labels(np.random.default_rng(3), content),
        damaged_files.with_header(members_of(content), values),
        with_header(content, lambda header: header | {"arrays": [["omegas", [2**58, 2**58]], *header["arrays"][1:]]})]
    with CReader(build(tmp_path, ("-DRFF_MOST_LEVEL=1",))) as reader:
        refusals = [reader.verdict(data) for data in hostile]
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{reader.pid}/status").read_text())
    assert [why for _, why in refusals] == [
        "labels and outputs do not agree in number", "labels and outputs do not agree in number",
        "the header would take too much memory", "an array is larger than the file"]
    assert int(peak.group(1)) * 1024 < (1 << 26) + 3 * max(map(len, hostile))


@pytest.mark.slow
def test_memory_that_runs_out(tmp_path):
    """At whichever request: RFF_E_MEMORY, and all that was there is released."""
    program = build(tmp_path, ("-DRFF_MOST_LEVEL=1", *SANITIZERS), HERE / "failing_memory.c")
    for name in ("fourier_boosting", "fourier_boosting_regions", "sparse_kernel", "gbrff"):
        done = subprocess.run([program, DATA / "1" / f"{name}.npz"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)
        assert int(done.stdout) > 10


# --- the library

def test_only_functions_of_the_header_are_visible(library):
    """Nothing of it can clash with names of a program."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    listed = subprocess.run(["nm", "--defined-only", "--dynamic", library._name], check=True, capture_output=True,
                            text=True)
    found = {line.split()[-1] for line in listed.stdout.splitlines() if line.split()[-2] in "TDBR"}
    assert found - {"_init", "_fini"} <= DECLARED
    assert len(DECLARED) == 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_compilers_have_nothing_to_say(name, tmp_path, monkeypatch):
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    monkeypatch.setenv("CC", name)
    build(tmp_path, ("-O2", "-shared", "-fPIC", *STRICT, "-Wconversion", "-DRFF_READER_ONLY"),
          pathlib.Path(rffkern.get_include(), "rffscore.c"))


def test_the_reader_alone_is_a_whole_library(tmp_path):
    """Without what scores, all functions that describe a model are there."""
    content = (DATA / "1" / "gbrff2.npz").read_bytes()
    with CReader(build(tmp_path, ("-DRFF_READER_ONLY",))) as reader:
        assert reader.verdict(content) == (ACCEPTED, "")
        assert not reader.accepts(content[:-1])


def test_the_documentation_has_all_codes_and_functions_and_programs(tmp_path):
    text = (HERE.parent.parent / "docs" / "c.md").read_text()
    assert {name: int(code) for code, name in re.findall(r"^\| (\d+) `RFF_(\w+)` \|", text, re.MULTILINE)} == CODES
    assert set(re.findall(r"^\| `(rff_\w+)\(", text, re.MULTILINE)) == DECLARED
    for program in re.findall(r"```c\n(.*?)```", text, re.DOTALL):
        (tmp_path / "program.c").write_text(program)
        build(tmp_path, ("-fsyntax-only", *STRICT), tmp_path / "program.c")


def test_the_header_is_one_of_cpp_too(tmp_path):
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "m.cpp").write_text('#include "rffkern.h"\nint main() { return RFF_OK; }\n')
    subprocess.run(["c++", *STRICT, "-I", rffkern.get_include(), tmp_path / "m.cpp", "-o", tmp_path / "m"], check=True)


def test_structs_are_those_of_these_tests(tmp_path):
    """The interface does not change by accident: sizes and places of members."""
    (tmp_path / "sizes.c").write_text(
        '#include <stddef.h>\n#include <stdio.h>\n#include "rffkern.h"\n'
        'int main(void) {\nprintf("%zu %zu %zu %zu\\n", sizeof(rff_info), offsetof(rff_info, class_name), '
        "sizeof(rff_label), offsetof(rff_label, length));\n"
        'printf("%zu %zu %zu %zu\\n", sizeof(rff_cell), offsetof(rff_cell, length), sizeof(rff_column_info), '
        "offsetof(rff_column_info, dropped));\nreturn 0; }\n")
    done = subprocess.run([build(tmp_path, source=tmp_path / "sizes.c")], check=True, capture_output=True, text=True)
    assert [*map(int, done.stdout.split())] == [ctypes.sizeof(Info), Info.class_name.offset, ctypes.sizeof(Label),
                                                Label.length.offset, ctypes.sizeof(Cell), Cell.length.offset,
                                                ctypes.sizeof(ColumnInfo), ColumnInfo.dropped.offset]
    assert struct.calcsize("P") == ctypes.sizeof(ctypes.c_size_t)
