"""The examples, built and run with the installed package as a stranger would; without a toolchain they are skipped."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import rffkern
from rffkern import GBRFF1Classifier, load, save

pytestmark = pytest.mark.slow

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
INCLUDE = pathlib.Path(rffkern.get_include())
ROW = [0.3, -1.25, 2.5]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The path of a model of three classes."""
    path = tmp_path_factory.mktemp("model") / "model.npz"
    X = np.random.default_rng(0).standard_normal((200, 3))
    save(GBRFF1Classifier(6, random_state=0).fit(X, np.array(["no", "perhaps", "yes"])[(X > 0).sum(axis=1) % 3]), path)
    return path


@pytest.fixture(scope="module")
def expected(model):
    return load(model).decision_function([ROW])[0]


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with librffscore.a, which has the same bits however it is optimised."""
    need("cc", "ar")
    folder = tmp_path_factory.mktemp("library")
    run("cc", "-std=c99", "-O0", "-Wall", "-Werror", "-Wno-unknown-pragmas", "-c", f"-I{INCLUDE}", "-o",
        folder / "rffscore.o", INCLUDE / "rffscore.c")
    run("ar", "rcs", folder / "librffscore.a", folder / "rffscore.o")
    return folder


def test_cython(model, expected, tmp_path):
    """The extension is built by a stranger's commands, and scores in several threads without the interpreter."""
    need("cc")
    pytest.importorskip("Cython")
    run(sys.executable, EXAMPLES / "build.py", tmp_path, env=os.environ | {"CFLAGS": "-O0"})
    sys.path.insert(0, str(tmp_path))
    try:
        import capsules
        from scorer import Scorer
    finally:
        sys.path.remove(str(tmp_path))
    rows = np.tile(ROW, (1000, 1))
    answers = [np.zeros((1000, 3)) for _ in range(4)]
    scorer = Scorer(str(model))
    threads = [threading.Thread(target=scorer.score, args=(rows, out)) for out in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in answers:
        np.testing.assert_array_equal(out, np.tile(load(model).decision_function(rows[:1]), (1000, 1)))
    np.testing.assert_array_equal(answers[0][0], expected)
    capsules.score(load(model), rows, answers[1])
    np.testing.assert_array_equal(answers[1], answers[0])
    with pytest.raises(ValueError, match="shapes do not agree"):
        scorer.score(rows, np.zeros((1000, 2)))
    with pytest.raises(ValueError, match="the file cannot be read"):
        Scorer(str(tmp_path / "none.npz"))
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match="nan"):
        scorer.score(rows, answers[0])


def test_c(model, library, tmp_path):
    program = tmp_path / "scorer"
    run("cc", "-std=c99", "-Wall", "-Werror", f"-I{INCLUDE}", "-DSCORER_MAIN", "-o", program, EXAMPLES / "scorer.c",
        library / "librffscore.a", "-lm")
    assert run(program, model, *ROW).split() == load(model).predict([ROW]).tolist()
    assert subprocess.run([program, "none.npz", "1"], check=False).returncode == 1


# Rows of a CSV file with words, dates and gaps, in columns that are not all of the model, and as Python takes them.
NAMES = "mass,other,city,since"
LINES = {'"1,250.5 kg",x,"Bern",3 March 2024': ("Bern", "3 March 2024", "1,250.5 kg"),
         '7 kg,,"a ""b"", c",2024-03-03': ('a "b", c', "2024-03-03", "7 kg"),
         ",,Basel,": ("Basel", None, None), "n/a,,,NULL": (None, None, None)}


@pytest.fixture(scope="module")
def of_words(tmp_path_factory):
    """A model of such rows, and the path of its file."""
    rng = np.random.default_rng(0)
    city, mass = rng.choice(["Bern", "Z\u00fcrich", 'a "b", c'], 200), rng.uniform(1, 2000, 200)
    table = {"city": [None if k % 9 == 0 else str(each) for k, each in enumerate(city)],
             "since": [f"{k % 28 + 1} March {2000 + k % 20}" for k in range(200)],
             "mass": [f"{each:,.1f} kg" for each in mass]}
    labels = np.where((city == "Bern") ^ (mass > 900), "yes", "no")
    model = rffkern.GBRFF2Classifier(6, random_state=0).fit(table, labels)
    path = tmp_path_factory.mktemp("words") / "model.npz"
    save(model, path)
    return model, path


def check_words(of_words, *command, rtol=0.0, **options):
    """A program that gets a model, names and a line prints the label and the score that Python gives."""
    model, path = of_words
    for line, row in LINES.items():
        one = {name: [value] for name, value in zip(("city", "since", "mass"), row, strict=True)}
        label, score = run(*command, path, NAMES, line, **options).split()
        assert label == model.predict(one)[0]
        assert float(score) == pytest.approx(model.decision_function(one)[0], rel=rtol, abs=0)


def test_cells_in_c(of_words, library, tmp_path):
    """A cell that is refused is named."""
    program = tmp_path / "cells"
    run("cc", "-std=c99", "-Wall", "-Werror", f"-I{INCLUDE}", "-o", program, EXAMPLES / "cells.c",
        library / "librffscore.a", "-lm")
    check_words(of_words, program)
    done = subprocess.run([program, of_words[1], "since,mass", "3 March 2024,5 lb"], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "mass: a cell is no value of its column\n")


def test_cpp(of_words, library, tmp_path):
    need("c++")
    program = tmp_path / "scorer"
    run("c++", "-std=c++17", "-Wall", "-Werror", f"-I{INCLUDE}", "-o", program, EXAMPLES / "scorer.cpp",
        library / "librffscore.a", "-lm")
    check_words(of_words, program)


def test_go(of_words, library):
    need("go")
    environment = os.environ | {"CGO_CFLAGS": f"-I{INCLUDE}", "CGO_LDFLAGS": f"-L{library} -lrffscore -lm",
                                "GO111MODULE": "off"}
    check_words(of_words, "go", "run", EXAMPLES / "scorer.go", env=environment)


def test_rust(of_words, library, tmp_path):
    need("rustc")
    program = tmp_path / "scorer"
    run("rustc", "-O", "-L", library, "-lstatic=rffscore", "-lm", "-o", program, EXAMPLES / "scorer.rs")
    check_words(of_words, program)


def test_javascript(of_words, tmp_path):
    """WebAssembly has a C library of its own, whose sines may differ in the last place."""
    need("node")
    if subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no ziglang here: pip install ziglang")
    wasm = tmp_path / "rffscore.wasm"
    exported = ["malloc", "rff_load_memory", "rff_find_column", "rff_score_cells", "rff_predict_cells",
                "rff_scratch_size", "rff_get_label", "rff_describe"]
    run(sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-Oz", "-s",
        f"-I{INCLUDE}", "-o", wasm, INCLUDE / "rffscore.c", "-Wl," + ",".join(f"--export={name}" for name in exported))
    check_words(of_words, "node", EXAMPLES / "scorer.mjs", wasm, rtol=1e-12)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "onnx"])
def test_databases_and_onnx(engine, tmp_path):
    """Words, numbers and gaps; the label first, then probabilities and scores."""
    package = {"sqlite": "sqlite3", "duckdb": "duckdb", "onnx": "onnxruntime"}[engine]
    pytest.importorskip(package)
    rng = np.random.default_rng(0)
    city, mass = rng.choice(["Bern", "Z\u00fcrich", 'a "b", c'], 200), rng.uniform(1, 2000, 200)
    labels = np.where((city == "Bern") ^ (mass > 900), "yes", "no")
    model = rffkern.GBRFF2Classifier(6, random_state=0).fit(
        {"city": [None if k % 9 == 0 else str(each) for k, each in enumerate(city)],
         "mass": np.where(rng.random(200) < 0.1, np.nan, mass)}, labels)
    to = "onnx" if engine == "onnx" else "sql"
    rffkern.export(model, tmp_path / "model", to=to)
    command = [sys.executable, EXAMPLES / f"scorer_{to}.py", *([] if to == "onnx" else [engine]), tmp_path / "model"]
    for line, row in {'"a ""b"", c",1250.5': ('a "b", c', 1250.5), "Basel,": ("Basel", np.nan),
                      ",7": (None, 7.0)}.items():
        one = {"city": [row[0]], "mass": np.array([row[1]])}
        label, *numbers = run(*command, "city,mass", line).split()
        assert label == model.predict(one)[0]
        expected = [*model.predict_proba(one)[0], *model.decision_function(one)]
        np.testing.assert_allclose(np.array(numbers, float), expected, rtol=1e-12)
