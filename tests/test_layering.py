"""The layers of the package, read from its sources."""

import ast
import functools
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # of sources, not of a build

TESTS = pathlib.Path(__file__).parent
PACKAGE = TESTS.parent / "rffkern"

# Rooms from the top down: each imports only those below it.  A family imports no other family, but that kernel ridge
# regression, which Fourier boosting stacks, lies below the others.
NAMES = "__init__"  # the table of public names, which loads what it names when asked
FAMILIES = {f"_training.{family}" for family in ("fourier_boosting", "gbrff", "pbrff", "rffnet", "sparse_kernel")}
GROUPS = [{"__main__"}, {"_pyinstaller"}, {"_cli"}, {"_export"}, {NAMES},
          {"_installation", "embedding", "dask", "plot"}, {"_report"},
          {"_files"}, FAMILIES, {"_training.kernel_ridge"}, {"_training.distributed"},
          {"_training.posterior", "_training.spectral"},
          {"_estimator"}, {"_model"}, {"_column_map"}, {"_rows"},
          {"_protocol"}, {"_native"}, {"errors", "_version"}]
RANK = {layer: rank for rank, layers in enumerate(GROUPS) for layer in layers}

SOURCES = sorted(PACKAGE.rglob("*.py"))


@functools.cache
def tree(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def room(parts):
    """The room of a module of these names: its folder, or its own name where it lies beside the folders."""
    return f"{parts[0]}.{parts[1]}" if parts[0] == "_training" and len(parts) > 1 else parts[0]


def layer(path):
    """The room that a file is in."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return None if parts == ("_training", "__init__") else room(parts)


def imports(path):
    """Full names of what a module imports at any depth of its code, as ["rffkern", "_data", "tiles", "pack"]."""
    folder = ["rffkern", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = folder[: len(folder) + 1 - node.level] if node.level else []
            yield from ([*start, *(node.module or "").split("."), alias.name] if node.module else [*start, alias.name]
                        for alias in node.names)


def layers_imported(path):
    """Layers of the package that a module imports; a public name comes from the table of names."""
    found = {room(name[1:]) for name in imports(path) if name[0] == "rffkern" and len(name) > 1}
    return {layer if layer in RANK else NAMES for layer in found}


def test_arrows_point_down():
    for path in SOURCES:
        own = layer(path)
        if own is None:
            continue
        assert {other for other in layers_imported(path) - {own} if RANK[other] <= RANK[own]} == set(), name_of(path)


def test_no_circles():
    """Files import each other in one direction, also inside functions and for types alone."""
    names = {".".join(["rffkern", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): path
             for path in SOURCES}
    left = {module: {".".join(found[:k]) for found in imports(path) for k in (len(found), len(found) - 1)} & {*names}
            - {module} for module, path in names.items()}
    while free := {module for module, needed in left.items() if not needed & {*left}}:
        left = {module: needed for module, needed in left.items() if module not in free}
    assert sorted(left) == []


def test_every_module_belongs_to_a_layer():
    assert {layer(path) for path in SOURCES} - {None} <= set(RANK)


def test_the_table_of_names_imports_no_family():
    assert layers_imported(PACKAGE / "__init__.py") <= {"_version", "errors", "_estimator"}


def test_kernels_import_kernels_alone():
    """Typed sources; `test_arrows_point_down` reads the others."""
    cimports = {(path.suffix, line.split()[1]) for path in PACKAGE.rglob("*.p[xy][xd]")
                for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(("from .", "import ."))}
    assert (".pyx", ".core.tiles") in cimports
    # Sources are included by modules beside the folders; declarations are modules of their folders.
    assert {module for suffix, module in cimports if module.startswith("..." if suffix == ".pxd" else "..")} == set()


def test_sources_of_a_module_share_no_private_name():
    """Cython takes the last of several functions of one name and signature, without a word."""
    kernels = PACKAGE / "_native"
    modules = {path.stem: re.findall(r'^include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
               for path in kernels.glob("*.pyx")}
    assert sorted(modules["solvers"]) == ["linear_algebra/lbfgs.pyx", "linear_algebra/linalg.pyx"]
    for name, sources in modules.items():
        found = [defined for source in sources for defined in re.findall(
            r"^(?:cdef|def|ctypedef fused)\b.*?(\w+)(?: =.*|\(.*|:)$", (kernels / source).read_text(encoding="utf-8"),
            re.MULTILINE) if defined not in ("enum", "nogil")]
        assert {each: name for each in found if found.count(each) > 1} == {}


LOADED = "import sys, rffkern; rffkern.GBRFF2Classifier, rffkern.load; print(*sys.modules)"


def test_import_loads_numpy_and_the_standard_library_alone(tmp_path):
    out = subprocess.run([sys.executable, "-c", LOADED], cwd=tmp_path, capture_output=True, text=True, check=True)
    foreign = {name.split(".")[0] for name in out.stdout.split()} - {*sys.stdlib_module_names, "rffkern", "numpy"}
    # Start-up hooks of the environment and Cython's shared types are no packages anyone installs.
    assert not {name for name in foreign if not name.startswith(("_", "cython_runtime", "sitecustomize"))
                and not name.endswith("_virtualenv")}


def test_no_test_module_imports_another():
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            origin = [getattr(node, "module", None) or ""]
            assert not any(part.startswith("test_") for name in names + origin for part in name.split(".")), path


def test_no_test_imports_a_tool():
    """What tests and tools share is in tests/helpers; tests run a tool as its users do, in a process of its own."""
    tools = {path.stem for path in (TESTS.parent / "tools").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {"soak", "soaking"} <= tools
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            assert {name.split(".")[0] for name in names} & (tools | {"tools"}) == set(), path
