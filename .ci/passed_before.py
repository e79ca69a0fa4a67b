"""A plugin of pytest, by which the last step of .ci/run does not repeat what the first has shown.

The first step runs the tests with nothing but NumPy and pytest, and writes the names of those that have passed into
the file `PASSED_BEFORE`, which is not there yet.  The last step, of the same build with every optional package, leaves
them out, but not those in files that name such a package.  The others cannot end otherwise: the package imports an
optional package only where it cannot do without and raises ImportError (`git grep ImportError rffkern`), except
`rffkern compare`, which looks what is there, and two exceptions, which are scikit-learn's too where that is loaded;
files of tests of these name what they are about.  The closing line counts what was left out.
"""

import os
import pathlib
import re

import pytest

FILE = pathlib.Path(os.environ["PASSED_BEFORE"])
OPTIONAL = re.compile(r"importorskip|lacking|sklearn|pandas|polars|pyarrow|\bdask\b|duckdb|onnx|matplotlib|lightgbm|"
                      r"pyinstaller|ziglang|\bshap\b", re.IGNORECASE)
passed_before = set(FILE.read_text(encoding="utf-8").splitlines()) if FILE.exists() else set()
passed, left_out = [], []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    names_optional = {path: OPTIONAL.search(path.read_text(encoding="utf-8")) for path in {item.path for item in items}}
    left_out[:] = [item for item in items if item.nodeid in passed_before and not names_optional[item.path]]
    names = {item.nodeid for item in left_out}
    items[:] = [item for item in items if item.nodeid not in names]


def pytest_runtest_logreport(report):
    if report.when == "call" and report.outcome == "passed" and not hasattr(report, "wasxfail"):
        passed.append(report.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """What a process that runs tests has left out, which is the same in each."""
    left_out[:] = [None] * node.workeroutput["left_out"]


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = len(left_out)
    elif not passed_before:
        FILE.write_text("".join(f"{name}\n" for name in passed), encoding="utf-8")


def pytest_terminal_summary(terminalreporter):
    if left_out:
        terminalreporter.stats["passed in the first step"] = left_out
