"""Tools that call what is not public: they fail here, not when they are needed, if that changes."""

import pathlib
import subprocess
import sys

import numpy as np
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
                                  "make_fixtures", "reproduce", "boosting/ablation", "boosting/compare",
                                  "boosting/times", "columns/gaps", "columns/sketch"])
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
