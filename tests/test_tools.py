"""Tools that call what is not public: they fail here, not when they are needed, if that changes."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

pytestmark = pytest.mark.slow

TOOLS = pathlib.Path(__file__).parent.parent / "tools"


@pytest.mark.parametrize("call", ["omega_evaluation(3, 'float64', 300, 1)", "landmark_evaluation(2, 300, 1)",
                                  "landmark_evaluation(20, 300, 1)"])
def test_evaluations_of_kernels(call):
    program = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from gbrff import evaluations; evaluations.{call}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=TOOLS.parent / "tests")
    assert done.returncode == 0, done.stderr
    assert "ns per row" in done.stdout


@pytest.mark.parametrize("tool", [
    "amalgamate", "bench", "bits", "boosting/ablation", "boosting/compare", "boosting/times", "c_bits", "c_reader_fuzz",
    "check_wheel", "cold_start", "columns/gaps", "columns/sketch", "draw_boundary", "export_errors", "file_changes",
    "import_cost", "latency", "make_fixtures", "mutate", "release", "releasing/pack", "releasing/score_files",
    "reproduce", "runtime", "soak"])
def test_help(tool):
    done = subprocess.run([sys.executable, TOOLS / f"{tool}.py", "--help"], capture_output=True, text=True,
                          cwd=TOOLS.parent / "tests")
    if "ModuleNotFoundError" in done.stderr and "rffkern" not in done.stderr.splitlines()[-1]:
        pytest.skip(done.stderr.splitlines()[-1])  # a library that only benchmarks need
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


@pytest.mark.parametrize(("arguments", "message"), [
    (["covtype", "--data", ".", "--plot", "c.png"], "covtype has no use for --plot; it reads --seeds"),
    (["ecml", "--data", ".", "--plot", "c.png"], "ecml has no use for --plot"),
    (["sparse", "--data", ".", "--model", "pbrff"], "sparse has no use for --model"),
    (["sparse", "--data", "."], "sarcos_test.npz: no such data set; the folder has none"),
    (["ecml", "--data", "nowhere"], "--data must name the folder of the data sets"),
])
def test_experiments_refuse_what_they_do_not_read(arguments, message, tmp_path):
    done = subprocess.run([sys.executable, TOOLS / "reproduce.py", *arguments], capture_output=True, text=True,
                          cwd=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


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
    files = {"b/__init__.py": b"x = 1\n" * 1000, "a.dist-info/RECORD": b"", "b/\u00e4.so": bytes(range(256)) * 40}
    for number, names in enumerate((sorted(files), sorted(files, reverse=True))):
        with zipfile.ZipFile(tmp_path / f"{number}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                info = zipfile.ZipInfo(name, date_time=(2000 + number, 1, 1, 0, 0, 0))
                info.external_attr = 0o100755 << 16
                archive.writestr(info, files[name], zipfile.ZIP_DEFLATED)
        before = (tmp_path / f"{number}.whl").stat().st_size
        subprocess.run([sys.executable, TOOLS / "releasing" / "pack.py", tmp_path / f"{number}.whl"], check=True,
                       env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
        assert (tmp_path / f"{number}.whl").stat().st_size < before
    assert (tmp_path / "0.whl").read_bytes() == (tmp_path / "1.whl").read_bytes()
    with zipfile.ZipFile(tmp_path / "0.whl") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files
        assert archive.namelist()[-1] == "a.dist-info/RECORD"
        assert archive.infolist()[0].external_attr == 0o100755 << 16
        assert archive.infolist()[0].date_time == (2023, 11, 14, 22, 13, 20)


def test_mutants_are_listed_as_differences():
    """A drawn change of a source is one line, and the same ones come with the same seed."""
    command = [sys.executable, TOOLS / "mutate.py", "--python", "6", "--cython", "2", "--seed", "1", "--list"]
    first, second = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    assert first == second
    assert first.count("\n@@ ") == 8
