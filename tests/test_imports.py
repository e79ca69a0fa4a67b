"""Which modules are loaded when, and the lazy names of the package; each case in a fresh interpreter."""

import pathlib
import pickle
import subprocess
import sys

import pytest

import rffkern

FILES = pathlib.Path(__file__).parent / "data"
MODEL = FILES / "1" / "gbrff2.npz"
RANDOM = set()  # numpy.random and what it needs, where numpy alone loads it: before 2.3
if "True" in subprocess.run([sys.executable, "-c", "import numpy, sys; print('numpy.random' in sys.modules)"],
                            capture_output=True, text=True, check=True).stdout:
    RANDOM = {"numpy.random", "_hashlib"}

# Prints the modules of the package by their names below it, once what stands before has run.
REPORT = """
import sys
SLOW = ("numpy", "numpy.random", "zipfile", "csv", "gzip", "pyarrow", "multiprocessing", "subprocess", "decimal",
        "_hashlib", "concurrent.futures", "json", "numpy.typing", "shutil")
print(*sorted(name.partition(".")[2] for name in sys.modules if name.partition(".")[0] == "rffkern"), sep=",")
print(*sorted(name for name in SLOW if name in sys.modules), sep=",")
"""

NAMES = {"", "_estimator", "_estimator.registry", "_version", "errors"}  # what `import rffkern` loads
SCORING = NAMES | {  # what any model from a file needs to score rows, beside its family
    "_data", "_data.angles", "_data.arguments", "_data.cosines", "_data.pieces", "_data.protocol",
    "_data.routing", "_data.row_blocks", "_data.threads", "_data.validation",
    "_estimator.base", "_estimator.class_weights", "_estimator.links", "_estimator.parameters",
    "_estimator.staged", "_estimator.tasks", "_kernels", "_kernels._shared", "_kernels.array_types",
    "_kernels.scoring", "_kernels.simd", "_system", "_system.archive", "_system.atomic_file", "_system.labels",
    "_system.open_files", "expansion", "serialize",
}
COMMAND = {"__main__", "_cli", "_cli.main", "_cli.streams", "_cli.usage", "_export", "_system", "_system.atomic_file"}
TABLES = {"_cli.cells", "_cli.csv_parser", "_cli.csv_records", "_cli.csv_table", "_cli.labels", "_cli.progress",
          "_cli.readers", "_cli.rejects", "_cli.table", "_cli.text_source", "_columns", "_columns.raw"}

# What a model that scores can do without.
TRAINING = {"_data.scaling", "_data.tiles", "_data.training_rows", "_gbrff.fit", "_gbrff.recipe", "_kernels.gbrff",
            "_kernels.solvers"}

# Where a family may live; what it loads of these is its own affair.
OF_FAMILIES = ("_gbrff", "_pbrff", "_rffnet", "_sparse", "_fourier", "_kernels", "_data.tiles", "_estimator.held_out",
               "_estimator.monitor", "_estimator.warm_start")


def loaded(program, *arguments):
    """Modules of the package, and some others, that are loaded after a program has run."""
    done = subprocess.run([sys.executable, "-c", program + REPORT, *map(str, arguments)], check=True,
                          cwd=MODEL.parent, capture_output=True, text=True)
    ours, others = done.stdout.splitlines()[-2:]
    return set(ours.split(",")), set(filter(None, others.split(",")))


def command(*arguments):
    """A program that runs a command of the command line."""
    return (f"import sys, runpy\nsys.argv = ['rffkern', *{[*map(str, arguments)]!r}]\n"
            "try:\n    runpy.run_module('rffkern', run_name='__main__')\nexcept SystemExit as error:\n"
            "    assert not error.code\n")


def assert_gbrff2_only(modules):
    """Of all families, only the code of GBRFF2 is there."""
    assert {name.split(".")[0] for name in modules} & {"_gbrff", "_pbrff", "_rffnet", "_sparse"} == {"_gbrff"}
    assert "_gbrff.gbrff2" in modules
    assert not modules & {"_gbrff.gbrff1", "_gbrff.least_squares"}
    assert not modules & TRAINING
    kernels = {name.split(".")[1] for name in modules if name.startswith("_kernels.")}
    assert not {name for name in kernels if name in ("boosting", "pbrff", "rffnet", "sparse")}


def without_families(modules):
    return {name for name in modules if name in SCORING or not name.startswith(OF_FAMILIES)}


def test_import_loads_names_alone():
    assert loaded("import rffkern") == (NAMES, set())


def test_scoring_a_model_from_a_file_loads_its_family_alone():
    modules, others = loaded("import sys, rffkern; rffkern.load(sys.argv[1]).predict([[0.0, 0.0, 0.0]])", MODEL)
    assert without_families(modules) == SCORING
    assert_gbrff2_only(modules)
    assert others == {"numpy"} | RANDOM


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((FILES / "1").glob("*.npz")), ids=lambda path: path.stem)
def test_no_file_needs_an_archive_reader_or_a_generator(path):
    _, others = loaded("import sys, rffkern\nmodel = rffkern.load(sys.argv[1])\n"
                       "if hasattr(model, 'predict') and getattr(model, 'column_map_', None) is None:\n"
                       "    model.predict([[0.0] * model.n_features_in_])", path)
    assert others <= {"numpy"} | RANDOM


def test_scoring_an_expansion_loads_no_family():
    modules, _ = loaded("import rffkern\nrffkern.FourierExpansion([[1]], [0], [[1]], [0], [0]).score([[1]])")
    assert modules == NAMES | {"_data", "_data.angles", "_data.arguments", "_data.cosines",
                               "_data.pieces", "_data.threads", "_data.validation", "_kernels", "_kernels._shared",
                               "_kernels.array_types", "_kernels.scoring", "_kernels.simd",
                               "expansion"}


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["predict", "-h"], ["--version"]], ids=" ".join)
def test_help_loads_nothing_but_the_parser(arguments):
    modules, others = loaded(command(*arguments))
    assert modules == NAMES | COMMAND - {"__main__"}
    assert others == set()


def test_info_loads_no_table_and_one_family():
    modules, others = loaded(command("info", MODEL))
    assert without_families(modules) == SCORING | COMMAND - {"__main__"} | {"_cli.info"}
    assert_gbrff2_only(modules)
    assert "csv" not in others


def test_predict_loads_one_family_and_no_other_command(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,3\n4,5,6\n")
    modules, others = loaded(command("predict", MODEL, tmp_path / "t.csv", "-o", tmp_path / "out.csv"))
    assert without_families(modules) == SCORING | COMMAND - {"__main__"} | TABLES | {
        "_cli.answers", "_cli.predict", "_cli.scores", "_cli.writers"}
    assert others == {"numpy"} | RANDOM
    assert_gbrff2_only(modules)


# --- lazy names

def test_every_name_exists():
    assert sorted(rffkern.__all__) == rffkern.__all__
    for name in rffkern.__all__:
        assert getattr(rffkern, name) is not None
    assert set(rffkern.__all__) | {"errors", "expansion", "serialize"} <= set(dir(rffkern))


def test_import_of_all_names():
    space = {}
    exec("from rffkern import *", space)
    assert set(rffkern.__all__) == set(space) - {"__builtins__"}


def test_submodules_are_found_without_an_import_of_their_own():
    program = "import rffkern; rffkern.serialize.load; rffkern.expansion.FourierExpansion; rffkern.errors.FormatError"
    loaded(program)


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="module 'rffkern' has no attribute 'GBRFF3Classifier'"):
        rffkern.GBRFF3Classifier  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        from rffkern import Nothing  # noqa: F401
    assert not hasattr(rffkern, "_no_such_name")


def test_pickles_find_their_class():
    """A pickle that is read before the class has been asked for by name."""
    pickled = pickle.dumps(rffkern.load(MODEL))
    program = "import sys, pickle; pickle.loads(bytes.fromhex(sys.argv[1])).predict([[0.0, 0.0, 0.0]])"
    modules, _ = loaded(program, pickled.hex())
    assert_gbrff2_only(modules)


def test_help_shows_every_public_name():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(rffkern))
    for name in rffkern.__all__:
        assert name in text or name == "__version__"  # which stands under VERSION
    assert rffkern.__version__ in text


def test_the_stub_names_what_the_package_has():
    import ast

    stub = ast.parse((pathlib.Path(rffkern.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(rffkern.__all__) - {"__version__"} <= imported
    (names,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(names) == rffkern.__all__
