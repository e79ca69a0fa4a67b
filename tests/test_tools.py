"""Tools that call what is not public: they fail here, not when they are needed, if that changes."""

import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

TOOLS = pathlib.Path(__file__).parent.parent / "tools"


@pytest.fixture(autouse=True)
def threads_of_other_tests(monkeypatch):
    """Tools that are imported restrict the process to one thread by its environment: put back afterwards."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")


@pytest.mark.parametrize("call", ["omega_evaluation(3, 'float64', 300, 1)", "landmark_evaluation(2, 300, 1)",
                                  "landmark_evaluation(20, 300, 1)"])
def test_evaluations_of_kernels(call):
    program = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from gbrff import evaluations; evaluations.{call}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=TOOLS.parent / "tests")
    assert done.returncode == 0, done.stderr
    assert "ns per row" in done.stdout


@pytest.mark.parametrize("tool", ["amalgamate", "bench", "bits", "c_bits", "c_reader_fuzz", "check_wheel",
                                  "cold_start",
                                  "draw_boundary", "file_changes", "import_cost", "latency", "make_fixtures",
                                  "release", "releasing/pack", "releasing/score_files",
                                  "reproduce", "runtime", "boosting/ablation", "boosting/compare", "boosting/times",
                                  "columns/gaps", "columns/sketch"])
def test_help(tool):
    done = subprocess.run([sys.executable, TOOLS / f"{tool}.py", "--help"], capture_output=True, text=True,
                          cwd=TOOLS.parent / "tests")
    if "ModuleNotFoundError" in done.stderr and "rffkern" not in done.stderr.splitlines()[-1]:
        pytest.skip(done.stderr.splitlines()[-1])  # a library that only benchmarks need
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_gaps_follow_their_rules(rng):
    from columns.dressed import GAPS, dressed, missing_cells, with_gaps

    X = np.column_stack([rng.standard_normal((1000, 5)), rng.integers(0, 3, 1000)])
    cells = {gaps: missing_cells(X, gaps, rng) for gaps in GAPS}
    shares = [cells[gaps].mean() for gaps in ("none", "random10", "random30", "other30")]
    np.testing.assert_allclose(shares, [0, 0.1, 0.3, 0.3], atol=0.02)
    assert cells["own30"].any()
    for j in np.flatnonzero(cells["own30"].any(axis=0)):
        missing = cells["own30"][:, j]
        assert X[missing, j].min() >= X[~missing, j].max()
    for j in range(6):
        missing = cells["other30"][:, j]
        assert any(X[missing, k].min() >= X[~missing, k].max() for k in range(6) if k != j)
    table = with_gaps(dressed(X, rng), cells["random30"])
    lacking = [[value is None or value != value for value in column.tolist()] for column in table.values()]
    np.testing.assert_array_equal(np.array(lacking).T, cells["random30"])


def test_sources_for_users_keep_their_strings_and_lose_their_comments(tmp_path):
    """What is included twice is put there once, if a guard says so; if not, it stays a file."""
    texts = {
        "main.c": '/* one */\n#include <math.h>\n#include "a.h"\n#include "twice.h"\nint x; /* y\n z */ int y;\n'
                  '#include "twice.h"\n  #include "a.h"\nconst char *s = "/* \\" */";\n#include "rffkern.h"\n',
        "a.h": '#ifndef A\n#define A\n#include "b.h"\n    int a;\n#endif\n', "b.h": "int b;\n",
        "twice.h": "int T;\n", "rffkern.h": "/* kept */\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "out").mkdir()
    out, sources = tmp_path / "out", [tmp_path / name for name in texts]
    subprocess.run([sys.executable, TOOLS / "amalgamate.py", out, *sources], check=True)
    found = {path.name: path.read_text() for path in out.iterdir()}
    assert sorted(found) == ["main.c", "rffkern.h", "twice.h"]
    first, rest = found["main.c"].split("\n", 1)
    assert first.startswith("/* Part of rffkern")
    assert rest == ('#include <math.h>\n#ifndef A\n#define A\nint b;\nint a;\n#endif\n#include "twice.h"\n'
                    'int x;   int y;\n#include "twice.h"\nconst char *s = "/* \\" */";\n#include "rffkern.h"\n')
    assert found["rffkern.h"] == texts["rffkern.h"]


def test_constants_that_the_ablation_replaces_are_there():
    program = (f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from importlib import import_module\n"
               "from boosting.ablation import variants\n"
               "names = [name for _, constants in variants().values() for name in constants]\n"
               "found = [getattr(import_module('rffkern._boosting.' + module), constant)\n"
               "         for module, _, constant in (name.partition('.') for name in names)]\n"
               "print(len(found))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=TOOLS.parent / "tests")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3


def test_ranks_share_ties():
    from boosting.compare import ranks

    np.testing.assert_array_equal(ranks(np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 1.0], [4.0, 4.0, 4.0]])),
                                  [[1, 3, 2], [1.5, 1.5, 3], [2, 2, 2]])


def test_mean_ranks_are_of_models_with_all_sets_and_of_seeds_in_common():
    from boosting.compare import mean_ranks, of_models

    scores = {"a": {("x", 1): 50, ("x", 2): 10, ("y", 1): 50}, "b": {("x", 1): 40, ("y", 1): 60, ("z", 1): 99},
              "c": {("x", 1): 90}}
    records = [{"model": model, "set": name, "seed": seed, "score": score} for model, each in scores.items()
               for (name, seed), score in each.items()]
    found = of_models(records, "a")
    assert mean_ranks(found, "a", ["x", "y", "z"]) == ({"a": 1.5, "b": 1.5}, ["x", "y"], 2)
    assert mean_ranks(found, "a", ["x"]) == ({"a": 2, "b": 3, "c": 1}, ["x"], 1)
    assert mean_ranks(found, "a", ["z"]) is None


def test_sets_that_are_behind_by_two_standard_errors_are_named(capsys):
    from boosting.compare import print_each

    scores = {"level": [1, -1, 1], "behind": [-1, -1.1, -0.9], "ahead": [1, 1.1, 0.9], "once": [-1]}
    first = {(name, seed): {"score": 10.0 + one} for name, found in scores.items() for seed, one in enumerate(found)}
    other = {key: {"score": 10.0} for key in first}
    print_each(first, other, "score", 1)
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines][1] == ["behind", "-1.0000", "+-", "0.0577", "of", "3", "splits"]
    assert last.endswith("standard errors: behind, once")
    print_each(first, other, "score", -1)
    assert capsys.readouterr().out.splitlines()[-1].endswith("standard errors: ahead")


def test_standard_error_of_sets_with_several_seeds():
    from boosting.compare import paired

    first = {("x", 1): {"score": 3.0}, ("x", 2): {"score": 5.0}, ("y", 1): {"score": 1.0}}
    other = {key: {"score": 0.0} for key in first}
    assert paired(first, other, "score") == ({"x": 4, "y": 1}, 2.5, 1.0)
    assert np.isnan(paired(first, {("y", 1): {"score": 0.0}}, "score")[2])


def test_log_loss_of_probabilities_alone(monkeypatch):
    from boosting import compare

    for name, predict in {"classes": lambda X: (X[:, 1] < 0.25).astype(int),
                          "probabilities": lambda X: np.full((len(X), 2), 0.5)}.items():
        monkeypatch.setitem(compare.RIVALS, name,
                            lambda X, y, X_test, is_class, seed, predict=predict: lambda: predict(X_test))
    assert "log_loss" not in (record := compare.measure(None, "classes", "moons", 1))
    assert record["score"] > 75
    assert compare.measure(None, "probabilities", "moons", 1)["log_loss"] == pytest.approx(np.log(2))


def test_parameters_by_folds(rng):
    pytest.importorskip("sklearn")
    from boosting.rivals import best_of, best_rounds

    X, y = rng.standard_normal((60, 1)), rng.integers(0, 2, 60)

    def shares(X, y, X_test, is_class, seed, share):  # errors are the same: squares decide
        return lambda: np.tile([1 - share, share], (len(X_test), 1))

    assert best_of([{"share": share} for share in (0.9, 0.6, 0.99)], shares, X, y, True, 0) == {"share": 0.6}

    def values(X, y, X_test, is_class, seed, value):
        return lambda: np.full(len(X_test), value)

    assert best_of([{"value": 3.0}, {"value": 1.0}], values, X, np.ones(60), False, 0) == {"value": 1.0}
    found = best_rounds([{"depth": 2}, {"depth": 4}], lambda params, *rows: (1 / params["depth"], 7), X, y, True)
    assert found == {"depth": 4, "n_estimators": 7}


@pytest.mark.parametrize("name", ["gbrff2", "gbrff", "rffnet", "sparse"])
def test_rivals_of_this_package(rng, name):
    from boosting.rivals import RIVALS

    X = rng.standard_normal((200, 3))
    y = X[:, 0] * X[:, 1]
    assert np.mean((RIVALS[name](X, y, X, False, 0)() - y) ** 2) < np.var(y)
    probabilities = RIVALS[name](X, (y > 0).astype(int), X, True, 0)()
    assert np.mean(probabilities.argmax(axis=1) == (y > 0)) > 0.7


def test_rivals_for_targets_or_classes_alone(rng):
    from boosting.rivals import RIVALS

    X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    with pytest.raises(SystemExit, match="for classes alone"):
        RIVALS["gbrff2-tuned"](X, y, X, False, 0)
    with pytest.raises(SystemExit, match="for targets of at most"):
        RIVALS["kernel-ridge"](X, (y > 0).astype(int), X, True, 0)


@pytest.mark.parametrize(("name", "library", "kinds"), [
    ("gbrff2-tuned", "sklearn", "classes"), ("svm-tuned", "sklearn", "both"), ("kernel-ridge", "sklearn", "targets"),
    ("hist-boosting", "sklearn", "both"), ("catboost", "catboost", "both"), ("xrfm", "xrfm", "both")])
def test_rivals_learn(rng, monkeypatch, name, library, kinds):
    pytest.importorskip(library)
    from boosting import rivals
    from boosting.rivals import RIVALS

    for grid, fewer in {"GAMMA_FACTORS": (0.5, 2.0), "SVC_C": (1.0, 10.0), "GBRFF2_LAMBDAS": (0.0, 0.1),
                        "XRFM_GRID": rivals.XRFM_GRID | {"diag": [True], "reg": [1e-3]}}.items():
        monkeypatch.setattr(rivals, grid, fewer)
    X = 3 + 5 * rng.standard_normal((120, 2))
    y = 100 + np.abs(X[:, 0] - 3)
    train, test = slice(90), slice(90, None)
    if kinds != "classes":
        predicted = RIVALS[name](X[train], y[train], X[test], False, 0)()
        assert predicted.shape == (30,)
        assert np.mean((predicted - y[test]) ** 2) < 0.3 * np.var(y)
    if kinds != "targets":
        classes = (y > np.median(y)).astype(int)
        predicted = RIVALS[name](X[train], classes[train], X[test], True, 0)()
        predicted = predicted if name == "svm-tuned" else predicted.argmax(axis=1)
        assert np.mean(predicted == classes[test]) >= 0.8


def test_rounds_of_equal_loss(rng):
    library = pytest.importorskip("lightgbm")
    from boosting.rivals import rounds_to

    X = rng.standard_normal((2000, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(2000) > 0).astype(int)
    rows = X[:1500], y[:1500], X[1500:], y[1500:]
    model = library.LGBMClassifier(num_leaves=63, n_estimators=30, n_jobs=1, verbose=-1).fit(*rows[:2])
    staged = (model.predict_proba(rows[2], num_iteration=k) for k in range(1, 31))
    losses = np.array([-np.log(probabilities[np.arange(500), rows[3]]).mean() for probabilities in staged])
    assert rounds_to(losses[5] + 1e-9, 63, *rows, 60) == (1 + np.argmax(losses <= losses[5] + 1e-9), True)
    assert rounds_to(0.0, 63, *rows, 60) == (1 + np.argmin(losses), False)


def test_frozen_files_have_the_stored_bits(tmp_path):
    """Those that every wheel must give, wherever it was built."""
    command = [sys.executable, TOOLS / "releasing" / "score_files.py"]
    data = TOOLS.parent / "tests" / "data"
    done = subprocess.run([*command, data], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    stored = json.loads((copy / "scores.json").read_text())
    (copy / "scores.json").write_text(json.dumps(dict.fromkeys(stored, "0")))
    done = subprocess.run([*command, copy], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "expected 0" in done.stderr


def test_wheels_are_packed_into_the_same_bytes(tmp_path):
    pytest.importorskip("zopfli", reason="needs zopfli")
    from releasing.pack import pack

    files = {"b/__init__.py": b"x = 1\n" * 1000, "a.dist-info/RECORD": b"", "b/\u00e4.so": bytes(range(256)) * 40}
    for number, names in enumerate((sorted(files), sorted(files, reverse=True))):
        with zipfile.ZipFile(tmp_path / f"{number}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                info = zipfile.ZipInfo(name, date_time=(2000 + number, 1, 1, 0, 0, 0))
                info.external_attr = 0o100755 << 16
                archive.writestr(info, files[name], zipfile.ZIP_DEFLATED)
        before = (tmp_path / f"{number}.whl").stat().st_size
        assert pack(tmp_path / f"{number}.whl", 1_700_000_000) < before
    assert (tmp_path / "0.whl").read_bytes() == (tmp_path / "1.whl").read_bytes()
    with zipfile.ZipFile(tmp_path / "0.whl") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files
        assert archive.namelist()[-1] == "a.dist-info/RECORD"
        assert archive.infolist()[0].external_attr == 0o100755 << 16
        assert archive.infolist()[0].date_time == (2023, 11, 14, 22, 13, 20)
