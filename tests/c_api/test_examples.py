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
    """A folder with librffscore.a."""
    need("cc", "ar")
    folder = tmp_path_factory.mktemp("library")
    run("cc", "-O2", "-c", f"-I{INCLUDE}", "-o", folder / "rffscore.o", INCLUDE / "rffscore.c")
    run("ar", "rcs", folder / "librffscore.a", folder / "rffscore.o")
    return folder


def check(printed, expected):
    np.testing.assert_allclose(np.array(printed.split(), float), expected, rtol=1e-14)


def test_cython(model, expected, tmp_path):
    """The extension is built by a stranger's commands, and scores in several threads without the interpreter."""
    need("cc")
    pytest.importorskip("Cython")
    run(sys.executable, EXAMPLES / "build.py", tmp_path)
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


def test_c(model, tmp_path):
    need("cc")
    program = tmp_path / "scorer"
    run("cc", "-std=c99", "-O2", "-Wall", "-Werror", "-Wno-unknown-pragmas", f"-I{INCLUDE}", "-DSCORER_MAIN", "-o",
        program, EXAMPLES / "scorer.c", INCLUDE / "rffscore.c", "-lm")
    assert run(program, model, *ROW).split() == load(model).predict([ROW]).tolist()
    assert subprocess.run([program, "none.npz", "1"], check=False).returncode == 1


def test_cells_in_c(tmp_path):
    """A row of a CSV file with words, dates and gaps, by the names of its columns; a cell that is refused is named."""
    need("cc")
    rng = np.random.default_rng(0)
    city, mass = rng.choice(["Bern", "Z\u00fcrich", 'a "b", c'], 200), rng.uniform(1, 2000, 200)
    table = {"city": [None if k % 9 == 0 else str(each) for k, each in enumerate(city)],
             "since": [f"{k % 28 + 1} March {2000 + k % 20}" for k in range(200)],
             "mass": [f"{each:,.1f} kg" for each in mass]}
    labels = np.where((city == "Bern") ^ (mass > 900), "yes", "no")
    model = rffkern.GBRFF2Classifier(6, random_state=0).fit(table, labels)
    save(model, tmp_path / "model.npz")
    program = tmp_path / "cells"
    run("cc", "-std=c99", "-O2", "-Wall", "-Werror", "-Wno-unknown-pragmas", f"-I{INCLUDE}", "-o", program,
        EXAMPLES / "cells.c", INCLUDE / "rffscore.c", "-lm")
    for line, row in (('"1,250.5 kg",x,"Bern",3 March 2024', ("Bern", "3 March 2024", "1,250.5 kg")),
                      ('7 kg,,"a ""b"", c",2024-03-03', ('a "b", c', "2024-03-03", "7 kg")),
                      (",,Basel,", ("Basel", None, None)), ("n/a,,NULL", (None, None, None))):
        one = {name: [value] for name, value in zip(table, row, strict=True)}
        label, score = run(program, tmp_path / "model.npz", "mass,other,city,since", line).split()
        assert (label, float(score)) == (model.predict(one)[0], model.decision_function(one)[0])
    done = subprocess.run([program, tmp_path / "model.npz", "since,mass", "3 March 2024,5 lb"], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "mass: a cell is no value of its column\n")


def test_cpp(library, tmp_path):
    """The header is one of C++ too."""
    need("c++")
    (tmp_path / "program.cpp").write_text('#include "rffkern.h"\nint main() { return rff_abi_version() - 1; }\n')
    run("c++", "-Wall", "-Werror", f"-I{INCLUDE}", "-o", tmp_path / "program", tmp_path / "program.cpp",
        library / "librffscore.a", "-lm")
    run(tmp_path / "program")


def test_go(model, expected, library):
    need("go")
    environment = os.environ | {"CGO_CFLAGS": f"-I{INCLUDE}", "CGO_LDFLAGS": f"-L{library} -lrffscore -lm",
                                "GO111MODULE": "off"}
    check(run("go", "run", EXAMPLES / "scorer.go", model, *ROW, env=environment), expected)


def test_rust(model, expected, library, tmp_path):
    need("rustc")
    program = tmp_path / "scorer"
    run("rustc", "-O", "-L", library, "-lstatic=rffscore", "-lm", "-o", program, EXAMPLES / "scorer.rs")
    check(run(program, model, 3, *ROW), expected)


def test_javascript(model, expected, tmp_path):
    need("node")
    if subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no ziglang here: pip install ziglang")
    wasm = tmp_path / "rffscore.wasm"
    exported = ["malloc", "rff_load_memory", "rff_score", "rff_scratch_size", "rff_describe"]
    run(sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-Oz", "-s",
        f"-I{INCLUDE}", "-o", wasm, INCLUDE / "rffscore.c", "-Wl," + ",".join(f"--export={name}" for name in exported))
    check(run("node", EXAMPLES / "scorer.mjs", wasm, model, 3, *ROW), expected)
