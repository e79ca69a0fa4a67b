"""Memory that training takes, each figure measured in a process of its own, and training on rows that stay on disk."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from common.measure import memory

from gbrff.contenders import CONTENDERS, N_FEATURES, make_data, rffkern_model
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


def memmap(arguments):
    """Training on rows that stay in a file: seconds, and memory beyond that of an idle process."""
    for n_samples in arguments.sizes or [12729685]:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            write_rows(folder, n_samples)
            print(f"n = {n_samples}: {n_samples * N_FEATURES * 4e-6:.0f} MB of rows, "
                  + run_bench("streamed", "--folder", folder), end="", flush=True)


def write_rows(folder, n_samples):
    X = np.lib.format.open_memmap(os.path.join(folder, "X.npy"), "w+", np.float32, (n_samples, N_FEATURES))
    y = np.empty(n_samples, dtype=bool)
    for start in range(0, n_samples, 1 << 20):
        stop = min(start + (1 << 20), n_samples)
        X[start:stop] = np.random.default_rng(start).standard_normal((stop - start, N_FEATURES), np.float32)
        y[start:stop] = X[start:stop, 0] * X[start:stop, 1] + X[start:stop, 2] > 0
    X.flush()
    np.save(os.path.join(folder, "y.npy"), y)


def streamed(arguments):
    """Train on the rows that `memmap` has written to a folder, and print seconds and memory."""
    if arguments.folder is None:
        sys.exit("streamed needs --folder, with the rows that memmap writes: run memmap instead")
    X = np.load(os.path.join(arguments.folder, "X.npy"), mmap_mode="r")
    y = np.load(os.path.join(arguments.folder, "y.npy"))
    before = memory("RssAnon")
    peaks = []
    started = time.process_time()
    model = rffkern_model(max_samples=8192).fit(X, y, callback=lambda _: peaks.append(memory("RssAnon")))
    print(f"{time.process_time() - started:.1f} CPU s, {max(peaks) - before:.0f} MB of memory, "
          f"accuracy {model.score(X[:10000], y[:10000]):.3f}")
