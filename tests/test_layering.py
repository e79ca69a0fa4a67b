"""Who may import whom, read from the sources, and what `import rffkern` loads."""

import ast
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import rffkern

PACKAGE = pathlib.Path(rffkern.__file__).parent

# From the top down; a module imports only what stands after it.
LAYERS = ["__main__", "cli", "demo", "_tables", "__init__", "_config", "serialize", "models", "_sparse_training",
          "_rffnet_training", "_network", "_relevance_selection", "_score_losses", "_spectral_densities",
          "_sparse_ensemble", "_basis_selection", "_gaussian_kernel", "_kernel_rows", "_representation",
          "_landmark_learner", "_boosted", "_boosting_loop", "_losses", "_rows", "_tiles", "_svm", "_kmeans", "_base",
          "_links", "expansion", "_scaling", "_row_blocks", "_threads", "_validation", "_files", "errors", "_version",
          "_kernels"]


def layer(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_layers(path):
    """Layers of this package that a module imports, at any depth of its code."""
    depth = len(path.relative_to(PACKAGE).parts) - 1
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            inside = depth - node.level + 1
            if inside < 0 or (inside > 0 and node.module is None):
                continue
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            if inside == 0:
                yield from (name if name in LAYERS else "__init__" for name in names)


SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path):
    own = LAYERS.index(layer(path))
    for name in imported_layers(path):
        assert LAYERS.index(name) > own, f"{layer(path)} imports {name}"


def test_every_module_has_a_layer():
    assert {layer(path) for path in SOURCES} <= set(LAYERS)


def test_models_do_not_import_each_other():
    for path in (PACKAGE / "models").glob("[!_]*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level == 1), path


def test_import_loads_numpy_and_the_standard_library_alone(tmp_path):
    program = "import sys, rffkern; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    out = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
                         check=True).stdout
    foreign = set(out.split()) - set(sys.stdlib_module_names) - {"rffkern", "numpy"}
    # Start-up hooks of the environment and Cython's shared types are no packages anyone installs.
    assert not {name for name in foreign if not name.startswith(("_", "cython_runtime", "sitecustomize"))
                and not name.endswith("_virtualenv")}


@pytest.mark.parametrize("name", ["_boosting", "_cholesky", "_descent", "_dual", "_features", "_kernel_columns",
                                  "_landmarks", "_lbfgs", "_loss_functions", "_marginal", "_phase", "_posterior",
                                  "_rffnet", "_selection", "_vecmath"])
def test_stub_names_what_the_module_has(name):
    module = __import__(f"rffkern._kernels.{name}", fromlist=[name]).__dict__
    stub = ast.parse((PACKAGE / "_kernels" / f"{name}.pyi").read_text(encoding="utf-8"))
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            stated = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
            # Fused functions carry their signature in the docstring alone.
            first_line = module[node.name].__doc__.splitlines()[0]
            assert re.findall(r"(\w+)(?=\s*[,=)])", first_line.split("(", 1)[1].split(" -> ")[0])[: len(stated)] \
                == stated or list(inspect.signature(module[node.name]).parameters) == stated
        elif isinstance(node, ast.AnnAssign) and node.target.id not in ("Real", "Double"):
            assert node.target.id in module
