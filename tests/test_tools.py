"""Tools: each says what it does, refuses what it does not read, and does the smallest of its work."""

import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree
import zipfile

import numpy as np
import pytest
from helpers.processes import PATIENCE, started, wait_until

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parent.parent
TOOLS = ROOT / "tools"


def run(tool, *arguments, code=0, **options):
    """What a tool prints; the test is skipped where a library is missing that only benchmarks need."""
    done = subprocess.run([sys.executable, TOOLS / f"{tool}.py", *map(str, arguments)], capture_output=True, text=True,
                          cwd=ROOT / "tests", check=False, **options)
    if "ModuleNotFoundError" in done.stderr and "rffkern" not in done.stderr.splitlines()[-1]:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr * (code != 0)


@pytest.mark.parametrize("tool", ["amalgamate", "bench", "bits", "compare", "coverage", "data", "fixtures", "fuzz",
                                  "losses", "release", "reproduce", "soak"])
def test_help(tool):
    assert run(tool, "--help").startswith("usage: ")


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="tables are those of Unicode 14")
def test_letters_are_those_of_python():
    assert run("unicode_tables") == (ROOT / "rffkern" / "include" / "rff_unicode.h").read_text()


@pytest.mark.parametrize("command", ["fit", "families", "rows", "cost", "reach", "sparse", "threads", "predict",
                                     "drift", "exports", "one-row", "start", "compare"])
def test_help_of_the_bench(command):
    assert run("bench", command, "--help").startswith(f"usage: bench.py {command}")


def test_experiments_go_on_where_they_were_interrupted(tmp_path):
    """A killed run keeps its cells, a line that is cut off is measured again; the table has all figures."""
    call = ["reproduce", "rffnet-figures-2-3", "--data", tmp_path, "-o", tmp_path, "--quick", "--jobs", 1]
    log = tmp_path / "rffnet-figures-2-3.jsonl"
    run("reproduce", "--help")  # skips the test where a library is missing
    with started([sys.executable, TOOLS / "reproduce.py", *call[1:]], stderr=subprocess.DEVNULL) as process:
        assert wait_until(lambda: (log.exists() and log.read_text().count("\n")) or process.poll() is not None)
    before = log.read_text().splitlines()[0]  # the run is killed by now
    table = run(*call)
    assert log.read_text().splitlines()[0] == before
    first, last = map(json.loads, log.read_text().splitlines())
    assert f"SE1, MSE | {first['figures']['mse']:.3f} |" in table
    log.write_text(json.dumps(first) + "\n" + json.dumps(last)[:40])
    run(*call)
    again = [json.loads(line) for line in log.read_text().splitlines()]
    assert again[0] == first
    assert again[1]["figures"]["mse"] == last["figures"]["mse"]
    assert "seeds 1; a quick run, whose figures mean nothing" in run("reproduce", "page", "-o", tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a group of processes")
def test_experiments_that_are_stopped_say_so_in_one_line(tmp_path):
    """Ctrl-C reaches all processes of a shell's job."""
    run("reproduce", "--help")  # skips the test where a library is missing
    log = tmp_path / "rffnet-figures-2-3.jsonl"
    command = [sys.executable, TOOLS / "reproduce.py", log.stem, "--data", tmp_path, "-o", tmp_path, "--seeds", "1-50",
               "--jobs", "1"]
    with started(command, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(log.exists)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 1
    assert said.splitlines()[-1] == "stopped: the same command goes on from here"
    assert "Traceback" not in said


def test_a_cell_of_two_experiments_is_measured_once(tmp_path):
    cell = {"set": "newthyroid", "method": "PBRFF", "seed": 1, "quick": True}
    line = json.dumps({"cell": cell, "figures": {"curve": [12.5] * 6}}, separators=(",", ":")) + "\n"
    (tmp_path / "2019-figure-1.jsonl").write_text(line)
    run("reproduce", "2019-table-2", "--data", tmp_path, "-o", tmp_path, "--quick", "--methods", "PBRFF")
    assert (tmp_path / "2019-table-2.jsonl").read_text() == line


def test_figures_of_the_papers_are_drawn(tmp_path):
    """A line for each method that the log has; the same log makes the same bytes."""
    log = tmp_path / "ecml-figure-3.jsonl"
    with log.open("w") as file:
        for method in ("K = 1", "K = 20"):
            for seed in (1, 2):
                cell = {"set": "wine", "method": method, "seed": seed}
                print(json.dumps({"cell": cell, "figures": {"curve": [90 + seed / 50] * 6}}), file=file)
    page = run("reproduce", "page", "-o", tmp_path, "--plot")
    assert "| K = 20 | 90.03 ± 0.01 |" in page
    assert f"]({tmp_path.name}/ecml-figure-3.svg)" in page
    drawing = (tmp_path / "ecml-figure-3.svg").read_bytes()
    assert b"K = 20" in drawing
    assert b">90.0350<" in drawing  # a label, which is not rounded as coordinates are
    run("reproduce", "page", "-o", tmp_path, "--plot")
    assert (tmp_path / "ecml-figure-3.svg").read_bytes() == drawing


def test_experiments_say_what_they_lack(tmp_path):
    done = subprocess.run([sys.executable, TOOLS / "reproduce.py", "ecml-table-2", "--data", tmp_path, "-o", tmp_path,
                           "--quick"], capture_output=True, text=True, check=True)
    assert "left out: wine.npz is not in" in done.stderr
    assert "Traceback" not in done.stderr
    assert "--data must name the folder" in run("reproduce", "all", "-o", tmp_path, code=2)


@pytest.mark.parametrize("arguments", [
    ("compare", "--log", "log.jsonl", "--sets", "boston", "--models", "fourier"),
    ("bench", "reach", "--sets", "boston"), ("bench", "rows", "--set", "boston"), ("coverage",), ("losses",)],
    ids=" ".join)
def test_a_missing_data_set_is_named_in_one_line(tmp_path, arguments):
    tool, *others = arguments
    others = [tmp_path / each if each.endswith(".jsonl") else each for each in others]
    line = f"{tmp_path / 'boston.npz'}: no such data set; python tools/data.py list says where to get it\n"
    assert run(tool, *others, "--data", tmp_path, code=1) == line


@pytest.mark.parametrize(("name", "labels", "text", "expected"), [
    ("heart", "class 2,3 (ill) = +1; 1 = -1", "1.5 2 3.0\n-1e-3 4 1\n", [[1.5, 2, 1], [-1e-3, 4, -1]]),
    ("balance", "L = +1; B,R = -1", "% a comment\nL,1,2\nB,3,4\n", [[1, 2, 1], [3, 4, -1]]),
    ("german", "2 (bad) = +1; 1 = -1", "9 1 2 2\n9 3 4 1\n", [[1, 2, 1], [3, 4, -1]]),
    ("naval", "decay", "1 2 0.5 7\n3 4 0.25 8\n", [[1, 2, 0.5], [3, 4, 0.25]]),
    ("sleep", "codes", "a\tb\ttarget\n1\t2\t5\n3\t4\t0\n", [[1, 2, 5], [3, 4, 0]])])
def test_data_sets_are_read_from_clones(tmp_path, monkeypatch, name, labels, text, expected):
    monkeypatch.syspath_prepend(TOOLS)
    from_clone = importlib.import_module("data").from_clone
    row = {"name": name, "origin": "github.com/an/origin at 0123abc: some/data.txt (blob 1)", "columns": "2",
           "labels": labels, "task": "binary" if "= +1" in labels else "regression"}
    assert from_clone(row, tmp_path) is None
    (tmp_path / "origin" / "some").mkdir(parents=True)
    (tmp_path / "origin" / "some" / "data.txt").write_text(text)
    X, y = from_clone(row, tmp_path)
    np.testing.assert_array_equal(np.column_stack([X, y]), expected)


@pytest.mark.parametrize("loss", ["quantile", "absolute_error", "poisson", "gamma"])
def test_losses_are_compared(tmp_path, loss):
    pytest.importorskip("lightgbm")
    pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    np.savez(tmp_path / "line.npz", X=X, y=X[:, 0] + 0.3 * rng.standard_normal(90))
    printed = run("losses", "--data", tmp_path, "--sets", "line", "--seeds", 1, "--loss", loss)
    models = ["fourier", "lightgbm", *["catboost"] * (loss != "gamma"), *["forest"] * (loss == "quantile")]
    assert re.findall(r"^(\w+): mean of 1 sets", printed, re.MULTILINE) == models


def test_calibration_is_measured(tmp_path):
    """Probabilities that are too sure have an error, and a temperature above 1; a line for each model."""
    code = ("import numpy as np, losses; y = np.repeat([0, 1], [80, 20])\n"
            "for sure in 0.8, 0.99: print(*losses.calibration(np.tile([sure, 1 - sure], (100, 1)), y)[1:3])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=TOOLS, check=True)
    figures = np.array(done.stdout.split(), dtype=float)
    np.testing.assert_allclose(figures, [0, 1, 0.19, np.log(99) / np.log(4)], atol=0.02)
    for library in ("lightgbm", "catboost", "sklearn"):
        pytest.importorskip(library)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    np.savez(tmp_path / "side.npz", X=X, y=(X[:, 0] > 0).astype(int))
    printed = run("losses", "--data", tmp_path, "--sets", "side", "--seeds", 1, "--loss", "log_loss")
    assert re.findall(r"^([\w-]+): mean of 1 sets", printed, re.MULTILINE) == [
        "fourier", "lightgbm", "catboost", "random-forest"]


def test_cases_are_printed_with_errors(tmp_path):
    """Of figures that a log has nothing but the model itself is measured."""
    names = ("needle 300x100 values", "needle 300x300 values", "needle 300x500 values", "line 300x300 values",
             "linear 60x300 values", "maximum 500x20 values", "ratio 500x6 values", "parity 500x3 2 classes signs",
             "parity 500x10 2 classes signs", "few_slopes 300x10 2 classes flipped",
             "additive 400x10 2 classes oversampled", "additive 400x10 2 classes balanced")
    others = {other: [50.0, 0.5, 0.1] for other in ("linear", "lightgbm", "catboost")}
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"world": f"{name} seed 1", **others}) + "\n" for name in names))
    printed = run("worlds", "--cases", 1, "--log", log, "--params", '{"n_estimators": 5, "n_bags": 1}')
    assert re.findall(r"^(.*?) +fourier [-\d.]+ \+- 0.0, [\d.]+  linear 50.0 \+- 0.0, 0.500", printed,
                      re.MULTILINE) == [*names]
    assert log.read_text().count("\n") == len(names)


def test_data_sets_are_known_by_their_rows(tmp_path):
    """Built from a package of scikit-learn's data, and recognised in any order; other rows are told."""
    pytest.importorskip("sklearn")
    assert "wine: same rows\n" in run("data", "build", "--data", tmp_path)
    with np.load(tmp_path / "wine.npz") as archive:
        X, y = archive["X"], archive["y"]
    np.savez(tmp_path / "wine.npz", X=X[::-1], y=y[::-1])
    np.savez(tmp_path / "sonar.npz", X=X, y=y)
    found = run("data", "check", "--data", tmp_path, code=1)
    assert "wine: same rows in another order\n" in found
    assert "sonar: OTHER ROWS\n" in found
    assert "kin40k: missing\n" in found
    listed = run("data", "list")
    assert "kin40k: regression, 40000 rows, 8 columns" in listed
    assert listed.count("SHA-256") == listed.count("licence:") == found.count("\n")
    assert "Not found in public repositories: OUTAOUAIS" in listed


def test_measurements_are_logged_and_compared(tmp_path):
    log, other = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    run("bench", "families", "--sizes", 60, "--repeat", 1, "--only", "GBRFF2", "--log", log)
    record = json.loads(log.read_text())
    assert record["what"] == "GBRFF2Classifier"
    assert record["n"] == 60
    other.write_text(json.dumps(record | {"seconds": {name: 2 * value for name, value in record["seconds"].items()}}))
    assert run("bench", "compare", log, other).count("(0.50x faster)") == len(record["seconds"]) == 3


def test_a_comparison_goes_on_where_its_log_ends(tmp_path):
    rng, log = np.random.default_rng(0), tmp_path / "log.jsonl"
    X = rng.standard_normal((80, 3))
    np.savez(tmp_path / "sums.npz", X=X, y=X.sum(axis=1))
    call = ["compare", "--data", tmp_path, "--log", log, "--models", "gbrff;sparse:{\"n_estimators\": 3}"]
    run(*call, "--seeds", 1)
    first = log.read_text()
    table = run(*call, "--seeds", "1-2", "--each")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert log.read_text().startswith(first)
    assert [record["seed"] for record in records] == [1, 1, 2, 2]
    assert {record["rows"] for record in records} == {56}
    assert 'gbrff less sparse:{"n_estimators": 3}' in table
    assert "expected --data DIR or --sets to measure" in run("compare", "--log", log, code=2)
    assert "--models must be among" in run("compare", "--data", tmp_path, "--log", log, "--models", "trees", code=2)


@pytest.mark.parametrize("name", ["benchmarks", "words", "results", "results_6000"])
def test_pages_of_benchmarks_are_what_their_logs_say(tmp_path, name):
    log, page = ROOT / "docs" / f"{name}.jsonl", tmp_path / f"{name}.md"
    run("compare", "--log", log, "--page", page)
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 160
    assert log.stat().st_size <= {"results": 375_000, "results_6000": 185_000}.get(name, 100_000)


def test_the_page_of_the_papers_is_what_its_logs_say():
    folder, page = ROOT / "docs" / "papers", (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert run("reproduce", "page", "-o", folder) == page
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 900_000


def test_costs_on_a_cluster_are_what_their_log_says():
    page = (ROOT / "docs" / "dask.md").read_text(encoding="utf-8").splitlines()
    found = run("benchmarks/clusters", "--cost-model", ROOT / "docs" / "dask.jsonl").splitlines()
    lines = [line for line in found if line.startswith("|")]
    assert [line for line in lines if line not in page] == []
    assert len(lines) > 15


def test_a_fit_on_a_cluster_is_measured(tmp_path):
    """Its line is one that the model of costs reads."""
    pytest.importorskip("distributed")
    if shutil.which("ss") is None:
        pytest.skip("ss counts bytes")
    small = ("--columns", 5, "--partitions", 2, "--workers", 1)
    lines = [run("benchmarks/clusters", "--model", "gbrff2", "--rows", rows, *small) for rows in (400, 800)]
    assert {"cpu_of_workers", "memory_mb", "sent_mb", "accuracy"} < json.loads(lines[0]).keys()
    (tmp_path / "log").write_text("".join(lines))
    assert "1,000" in run("benchmarks/clusters", "--cost-model", tmp_path / "log", "--model", "gbrff2")


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


def test_frozen_files_have_the_stored_bits(tmp_path):
    """Those that every wheel must give, wherever it was built."""
    copy = tmp_path / "data"
    shutil.copytree(ROOT / "tests" / "data", copy)
    assert "have the stored scores to the last bit" in run("fixtures", "check", copy)
    stored = json.loads((copy / "scores.json").read_text())
    (copy / "scores.json").write_text(json.dumps(dict.fromkeys(stored, "0")))
    assert "expected 0" in run("fixtures", "check", copy, code=1)


def test_frozen_files_that_exist_are_not_written_again(tmp_path):
    version = max((ROOT / "tests" / "data").glob("*/"), key=lambda folder: int(folder.name))
    copy = tmp_path / version.name
    shutil.copytree(version, copy)
    (copy / "gbrff2.npz").unlink()
    assert run("fixtures", "write", tmp_path).splitlines() == [str(copy / "gbrff2.npz")]
    for path in version.iterdir():  # training has other bits with another instruction set
        assert path.stem == "gbrff2" or (copy / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_recipe_needs_what_the_package_needs():
    build, project, recipe = ((ROOT / name).read_text(encoding="utf-8") for name in (
        "meson.build", "pyproject.toml", "tools/releasing/recipe.yaml"))
    assert re.search(r"version: '(.+?)'", build)[1] == re.search(r'version: "(.+?)"', recipe)[1]
    for requirements in re.findall(r"^(?:requires|dependencies) = \[(.*)\]", project, re.M):
        for requirement in re.findall(r'"(.+?)"', requirements):
            assert f"    - {requirement.replace('>=', ' >=')}\n" in recipe


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
        run("release", "--pack", tmp_path / f"{number}.whl", env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
        assert (tmp_path / f"{number}.whl").stat().st_size < before
    assert (tmp_path / "0.whl").read_bytes() == (tmp_path / "1.whl").read_bytes()
    with zipfile.ZipFile(tmp_path / "0.whl") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files
        assert archive.namelist()[-1] == "a.dist-info/RECORD"
        assert archive.infolist()[0].external_attr == 0o100755 << 16
        assert archive.infolist()[0].date_time == (2023, 11, 14, 22, 13, 20)


@pytest.mark.parametrize(("files", "message"), [
    ({"a.dist-info/METADATA": "Requires-Dist: scipy"}, "requires ['Requires-Dist: scipy']"),
    ({"a.dist-info/METADATA": "Requires-Dist: numpy>=1.26", "a.so": "libgomp"}, "['a.so'] need libgomp"),
])
def test_a_wheel_that_asks_for_more_is_refused(files, message, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    assert message in run("release", "--check", tmp_path / "a.whl", code=1)


def test_the_page_of_costs(tmp_path):
    """A log by a power law gives its powers, and nothing in it is measured again."""
    log, page = tmp_path / "cost.jsonl", tmp_path / "cost.md"
    cases = ([(n, 20, 2, 1) for n in (1000, 4000, 16_000)] + [(4000, d, 2, 1) for d in (5, 80)]
             + [(4000, 20, k, 1) for k in (5, 20)] + [(4000, 20, 2, 2)])
    with log.open("w") as file:
        for rows, columns, classes, threads in cases:
            seconds = 2.0 * (rows / 1000) ** 1.5 * (columns / 20) ** 0.5 * (classes / 2)
            print(json.dumps({"cost": "GBRFF2", "rows": rows, "columns": columns, "classes": classes,
                              "threads": threads, "seconds": seconds, "wall": seconds / threads, "MB": 10.0,
                              "score": 90.0, "log_loss": 0.25}), file=file)
    before = log.read_bytes()
    run("bench", "cost", "--log", log, "--page", page, "--axes")
    text = page.read_text()
    assert "| GBRFF2 | 2 | 1.50 | 0.50 | 1.00 | 1.0 x |" in text
    assert "| GBRFF2 | 16 s | 16 s |" in text
    run("bench", "cost", "--log", log, "--axes", "columns", "classes", "threads", "--models", "GBRFF2")
    assert log.read_bytes() == before
    drawing = xml.etree.ElementTree.parse(tmp_path / "cost.svg").getroot()
    assert len(drawing.findall(".//{*}path[@fill='none']")) == 6


def test_the_page_of_costs_is_what_its_log_says(tmp_path):
    run("bench", "cost", "--log", ROOT / "docs" / "cost.jsonl", "--page", tmp_path / "cost.md", "--axes")
    for name in ("cost.md", "cost.svg"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_a_cost_is_measured(tmp_path):
    run("bench", "cost", "--log", tmp_path / "log", "--axes", "rows", "--sizes", 300, "--models", "GBRFF2")
    record = json.loads((tmp_path / "log").read_text())
    assert (record["cost"], record["rows"], record["columns"]) == ("GBRFF2", 300, 20)
    assert record["seconds"] > 0
    assert record["score"] > 60


def test_the_recipe_for_conda_is_one_that_rattler_build_renders():
    rattler_build = pytest.importorskip("rattler_build")
    recipe = rattler_build.Stage0Recipe.from_file(str(TOOLS / "releasing" / "recipe.yaml"))
    rendered, = recipe.render(rattler_build.VariantConfig.from_yaml("c_stdlib: [sysroot]"))
    needs = rendered.recipe.requirements.to_dict()
    assert needs["run"] == ["python", "numpy >=1.26"]
    assert needs["host"] == ["python", "pip", "meson-python >=0.17", "cython >=3.1"]
