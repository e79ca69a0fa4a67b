"""Start of a new process that loads a model and scores one row, beside other libraries, in one run."""

import importlib.metadata
import importlib.util
import os
import pathlib
import pickle
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

import rffkern

# Prints the peak of memory: that which the system reports begins with that of the parent.
PEAK = "import atexit; atexit.register(lambda: print(open('/proc/self/status').read()))\n"
ALONE = ("import sys; sys.modules.update(dict.fromkeys(('sklearn', 'pandas', 'pyarrow', 'polars', 'dask', "
         "'matplotlib', 'datatable', 'cffi'), None))\n")
ROW = "numpy.zeros((1, 20), numpy.float32)"


class Case(NamedTuple):
    """A program, in which PATH is the folder of models."""

    title: str
    distribution: str
    module: str
    program: str


CASES = [
    Case("Python alone", "", "sys", ""),
    Case("import numpy", "numpy", "numpy", "import numpy"),
    Case("rffkern, GBRFF2", "rffkern", "rffkern",
         f"import rffkern, numpy; rffkern.load(PATH + '/gbrff2.npz').predict({ROW})"),
    Case("rffkern, Fourier boosting", "rffkern", "rffkern",
         f"import rffkern, numpy; rffkern.load(PATH + '/fourier.npz').predict({ROW})"),
    Case("rffkern predict, a row of CSV", "rffkern", "rffkern",
         "import sys, runpy; sys.argv = ['rffkern', 'predict', 'gbrff2.npz', 'row.csv', '-o', 'out.csv']\n"
         "runpy.run_module('rffkern', run_name='__main__')"),
    Case("XGBoost", "xgboost", "xgboost", f"{ALONE}import xgboost, numpy\n"
         f"xgboost.Booster(model_file=PATH + '/xgboost.ubj').inplace_predict({ROW})"),
    Case("LightGBM", "lightgbm", "lightgbm", f"{ALONE}import lightgbm, numpy\n"
         f"lightgbm.Booster(model_file=PATH + '/lightgbm.txt').predict({ROW})"),
    Case("scikit-learn, HistGradientBoosting", "scikit-learn", "sklearn", "import pickle, numpy\n"
         f"pickle.load(open(PATH + '/sklearn.pkl', 'rb')).predict({ROW})"),
    Case("ONNX Runtime, GBRFF2", "onnxruntime", "onnxruntime", "import onnxruntime, numpy\n"
         "run = onnxruntime.InferenceSession(PATH + '/gbrff2.onnx', providers=['CPUExecutionProvider'])\n"
         f"run.run(None, {{run.get_inputs()[0].name: {ROW}}})"),
]


def write_models(folder):
    """A file of each library that is installed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    gbrff2 = rffkern.GBRFF2Classifier(100, random_state=0).fit(X, y)
    rffkern.save(gbrff2, folder / "gbrff2.npz")
    rffkern.export(gbrff2, folder / "gbrff2.onnx", to="onnx", precision="single")
    boosting = rffkern.FourierBoostingClassifier(n_estimators=100, kernel_ridge=False, random_state=0)
    rffkern.save(boosting.fit(X, y), folder / "fourier.npz")
    (folder / "row.csv").write_text(",".join("0.5" for _ in range(20)) + "\n")
    if importlib.util.find_spec("xgboost"):
        import xgboost

        xgboost.XGBClassifier(n_estimators=100).fit(X, y).get_booster().save_model(folder / "xgboost.ubj")
    if importlib.util.find_spec("lightgbm"):
        import lightgbm

        lightgbm.LGBMClassifier(verbose=-1).fit(X, y).booster_.save_model(folder / "lightgbm.txt")
    if importlib.util.find_spec("sklearn"):
        from sklearn.ensemble import HistGradientBoostingClassifier

        (folder / "sklearn.pkl").write_bytes(pickle.dumps(HistGradientBoostingClassifier(max_iter=100).fit(X, y)))


def cost(program, folder):
    """CPU seconds, seconds, and the largest number of bytes of a process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", f"PATH = {str(folder)!r}\n{PEAK}{program}"], cwd=folder,
                          stdout=subprocess.PIPE, text=True, check=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, seconds, 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", done.stdout)[1])


def instructions(program, folder):
    """Instructions of a process outside the system, the same in each run whatever else the machine does."""
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run([*counter, sys.executable, "-c", f"PATH = {str(folder)!r}\n{program}"], cwd=folder,
                          env=os.environ | {"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True)
    return int(re.search(r"I +refs: +([\d,]+)", done.stderr)[1].replace(",", ""))


def installed(name, seen):
    """Bytes of the files of a distribution and of all that it requires."""
    if not name or name.lower() in seen:
        return 0
    seen.add(name.lower())
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:  # for another system
        return 0
    files = [path for path in map(pathlib.Path, map(found.locate_file, found.files or [])) if path.suffix != ".pyc"]
    needs = [line for line in found.requires or [] if "extra ==" not in line]
    return sum(path.stat().st_size for path in files if path.exists()) + sum(
        installed(re.match(r"[\w.-]+", line)[0], seen) for line in needs)


def start(arguments):
    """A new process that loads a model of 100 trees or terms and scores one row of 20 columns, beside other libraries.

    CPU time of the whole process with the interpreter, median of the repetitions, the peak of memory, and the size of
    the library with what it requires.  XGBoost and LightGBM find no library that they do not require, for they load
    such as are there.
    """
    if "_rffkern_editable_loader" in sys.modules:
        print("rffkern is an editable install, which looks for changed sources at each start: install the wheel")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_models(folder)
        if arguments.count:
            counted = {case.title: instructions(case.program, folder) for case in CASES
                       if case.distribution in ("", "numpy", "rffkern")}
            for title, number in counted.items():
                print(f"{title:36}{number / 1e6:8.1f} million instructions"
                      f"{number / counted['import numpy']:9.3f} x import numpy")
            return
        runs = {case: [] for case in CASES if importlib.util.find_spec(case.module)}
        for repetition in range(arguments.repeat + 1):
            for case, measured in runs.items():
                found = cost(case.program, folder)
                if repetition:  # the first only warms the cache of files
                    measured.append(found)
    base = next(statistics.median(cpu for cpu, _, _ in measured) for case, measured in runs.items()
                if case.title == "import numpy")
    print(f"{'':36}{'CPU ms':>8}{'numpy x':>9}{'ms':>8}{'peak MB':>9}{'installed MB':>14}")
    for case, measured in runs.items():
        cpu, seconds, memory = map(statistics.median, zip(*measured, strict=True))
        size = installed(case.distribution, set()) / 1e6
        print(f"{case.title:36}{1000 * cpu:8.0f}{cpu / base:9.2f}{1000 * seconds:8.0f}{memory / 1e6:9.1f}{size:14.1f}")
        yield {"start": case.title, "ms": round(1000 * cpu), "ratio": round(cpu / base, 2),
               "MB": round(memory / 1e6), "installed": round(size)}
