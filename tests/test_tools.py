"""Tools that call what is not public: they fail here, not when they are needed, if that changes."""

import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).parent.parent / "tools"


@pytest.mark.parametrize("call", ["omega_evaluation(3, 'float64', 300, 1)", "landmark_evaluation(2, 300, 1)",
                                  "landmark_evaluation(20, 300, 1)"])
def test_evaluations_of_kernels(call):
    program = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from gbrff import evaluations; evaluations.{call}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=TOOLS.parent / "tests")
    assert done.returncode == 0, done.stderr
    assert "ns per row" in done.stdout


@pytest.mark.parametrize("tool", ["bench", "bits", "check_wheel", "draw_boundary", "file_changes", "import_cost",
                                  "make_fixtures", "reproduce"])
def test_help(tool):
    done = subprocess.run([sys.executable, TOOLS / f"{tool}.py", "--help"], capture_output=True, text=True,
                          cwd=TOOLS.parent / "tests")
    if "ModuleNotFoundError" in done.stderr and "rffkern" not in done.stderr.splitlines()[-1]:
        pytest.skip(done.stderr.splitlines()[-1])  # a library that only benchmarks need
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")
