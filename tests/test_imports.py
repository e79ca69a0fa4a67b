"""Which modules are loaded when, and the lazy names of the package; each case in a fresh interpreter."""

import pathlib
import pickle
import subprocess
import sys

import pytest

import rffkern

MODEL = pathlib.Path(__file__).parent / "data" / "1" / "gbrff2.npz"

# Prints the modules of the package by their names below it, and those of others that take long to import.
REPORT = """
import sys
SLOW = ["numpy", "pandas", "polars", "pyarrow", "sklearn", "dask", "matplotlib", "multiprocessing",
        "concurrent.futures"]
if not getattr(sys.modules.get("numpy"), "__version__", "2").startswith("1."):  # which loads it by itself
    SLOW.append("hashlib")
print(*sorted(name.partition(".")[2] for name in sys.modules if name.partition(".")[0] == "rffkern"), sep=",")
print(*sorted(name for name in SLOW if name in sys.modules), sep=",")
"""

NAMES = {"", "_estimator", "_estimator.registry", "_version"}  # what `import rffkern` loads


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


def rooms(modules):
    """The folders of modules, and of `_training` the folders in it."""
    return {".".join(name.split(".")[: 2 if name.startswith("_training.") else 1]) for name in modules}


def assert_gbrff2_only(modules):
    """Of all families, only the code of GBRFF2 is there."""
    assert {room for room in rooms(modules) if room.startswith("_training.")} <= {
        "_training.gbrff", "_training.posterior", "_training.spectral"}
    assert "_training.gbrff.estimators" in modules
    assert not modules & {"_native.pbrff", "_native.rffnet", "_native.sparse"}


def test_import_loads_names_alone():
    assert loaded("import rffkern") == (NAMES, set())


def test_scoring_a_model_from_a_file_loads_its_family_alone():
    modules, others = loaded("import sys, rffkern; rffkern.load(sys.argv[1]).predict([[0.0, 0.0, 0.0]])", MODEL)
    assert_gbrff2_only(modules)
    assert not rooms(modules) & {"_cli", "_export", "dask", "embedding"}
    assert others == {"numpy"}


def test_scoring_a_boosted_model_loads_no_training():
    modules, others = loaded("import sys, rffkern; rffkern.load(sys.argv[1]).predict([[0.0, 0.0, 0.0]])",
                             MODEL.with_name("fourier_boosting.npz"))
    assert "_training.fourier_boosting.estimators" in modules
    assert not modules & {"_training.fourier_boosting.fit", "_training.fourier_boosting.boosting", "_native.boosting",
                          "_column_map.learning"}
    assert others == {"numpy"}


def test_scoring_an_expansion_loads_no_family():
    modules, others = loaded("from rffkern import Expansion, FourierTerms\n"
                             "Expansion([1], [0], FourierTerms([[1]], [0], [[1]])).score([[1]])")
    assert not rooms(modules) & {"_training", "_files", "_cli", "_export"}
    assert others == {"numpy"}


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["predict", "-h"], ["--version"]], ids=" ".join)
def test_help_needs_neither_numpy_nor_a_family(arguments):
    modules, others = loaded(command(*arguments))
    assert not rooms(modules) & {"_training", "_model", "_rows", "_column_map", "_native"}
    assert others == set()


def test_info_loads_no_table_and_one_family():
    modules, others = loaded(command("info", MODEL))
    assert_gbrff2_only(modules)
    assert not modules & {"_cli.table", "_cli.fit", "_cli.predict", "_cli.demo"}
    assert others == {"numpy"}


def test_predict_loads_one_family_and_no_other_command(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,3\n4,5,6\n")
    modules, others = loaded(command("predict", MODEL, tmp_path / "t.csv", "-o", tmp_path / "out.csv"))
    assert_gbrff2_only(modules)
    assert not modules & {"_cli.fit", "_cli.info", "_cli.demo"}
    assert others == {"numpy"}


# --- lazy names

def test_every_name_exists():
    assert sorted(rffkern.__all__) == rffkern.__all__
    for name in rffkern.__all__:
        assert getattr(rffkern, name) is not None
    assert {*rffkern.__all__, "errors", "plot"} == {*dir(rffkern)}


def test_import_of_all_names():
    space = {}
    exec("from rffkern import *", space)
    assert set(rffkern.__all__) == set(space) - {"__builtins__"}


def test_submodules_are_found_without_an_import_of_their_own():
    loaded("import rffkern; rffkern.errors.FormatError")
    assert loaded("import rffkern; rffkern.plot.importance")[1] == {"numpy"}


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
