"""Memory that training takes, each figure measured in a process of its own."""

import pathlib
import subprocess
import sys

from common.measure import memory

from gbrff.contenders import CONTENDERS, make_data
from gbrff.twin import PhaseTwin

BENCH = str(pathlib.Path(__file__).parent.parent / "bench.py")


def run_bench(*arguments):
    """What bench.py prints in another process."""
    return subprocess.run([sys.executable, BENCH, *arguments], capture_output=True, text=True, check=True).stdout


def memory_peak(name, n_samples):
    """MB that training adds at its peak to the memory of a process that holds the data."""
    return float(run_bench("peak", "--only", name, "--sizes", str(n_samples)))


def peak(arguments):
    """Print what `memory_peak` returns, for this process and the first of --only and --sizes."""
    X, y = make_data(arguments.sizes[0])
    name = arguments.only[0]
    make = CONTENDERS[name]
    make().fit(X[:200], y[:200])  # loads what the libraries load late
    model = PhaseTwin(2) if name == "twin" else make()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # sets VmHWM back to VmRSS
    before = memory("VmRSS")
    model.fit(X, y)
    print(memory("VmHWM") - before)
