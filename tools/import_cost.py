"""Time that importing takes, and the modules that it loads, each measured in fresh interpreters.

    python tools/import_cost.py tests/data/1/gbrff2.npz
    python tools/import_cost.py tests/data/1/gbrff2.npz --python /path/to/another/bin/python

With --python, an interpreter with another build of the package is measured in turn with this one, so that both meet the
same load of the machine.  Times are medians of all repetitions, in milliseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

# What is timed, by name: statements that run before the clock, and those that run under it.
CASES = {
    "import numpy": ("", "import numpy"),
    "import rffkern, over numpy": ("import numpy", "import rffkern"),
    "load and predict, over numpy": (
        "import numpy", "import rffkern; rffkern.load(PATH).predict(numpy.zeros((1, N_FEATURES)))"),
    "GBRFF2Classifier, over numpy": ("import numpy", "import rffkern; rffkern.GBRFF2Classifier"),
}

PROGRAM = """
import sys, time
PATH, N_FEATURES = {path!r}, {n_features}
{before}
started = time.perf_counter()
{timed}
seconds = time.perf_counter() - started
import json
print(json.dumps([seconds, sorted(name for name in sys.modules if name.split(".")[0] == "rffkern")]))
"""


def measure(python: str, case: tuple[str, str], path: str, n_features: int) -> tuple[float, list[str]]:
    """Seconds of one run in a fresh interpreter, and the modules of the package that it ends with."""
    before, timed = case
    program = PROGRAM.format(before=before, timed=timed, path=path, n_features=n_features)
    # The first, uncounted run writes the compiled modules that all later ones read.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:  # away from any source tree
        done = subprocess.run([python, "-c", program], cwd=folder, env=env, check=True, capture_output=True,
                              text=True)
    seconds, modules = json.loads(done.stdout)
    return seconds, modules


def features_of(path: str) -> int:
    """Number of columns of the model in a file, read without the package."""
    import numpy as np

    with np.load(path, allow_pickle=False) as archive:
        return len(archive["center"])


def main() -> None:
    """Measure all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="model file of GBRFF2Classifier")
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="another interpreter; may repeat")
    parser.add_argument("--repetitions", type=int, default=15, metavar="N")
    parser.add_argument("--modules", action="store_true", help="list the modules of the package, too")
    arguments = parser.parse_args()
    path, n_features = os.path.abspath(arguments.model), features_of(arguments.model)
    pythons = [sys.executable, *arguments.python]
    for name, case in CASES.items():
        found: dict[str, list[Any]] = {python: [] for python in pythons}
        for repetition in range(arguments.repetitions + 1):
            for python in pythons:
                run = measure(python, case, path, n_features)
                if repetition:  # the first only warms the cache of files
                    found[python].append(run)
        for python, runs in found.items():
            median = 1000 * statistics.median(seconds for seconds, _ in runs)
            fastest = 1000 * min(seconds for seconds, _ in runs)
            print(f"{name:<30} {median:7.2f} ms (fastest {fastest:7.2f})  {len(runs[0][1]):3d} modules  {python}")
            if arguments.modules:
                print("    " + " ".join(runs[0][1]))


if __name__ == "__main__":
    main()
