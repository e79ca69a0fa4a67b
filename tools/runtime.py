"""Threads of two builds of the package side by side: regions, fits and scores, forks, threads that cannot be started.

    pip install --no-deps --target FOLDER . -Csetup-args=-Dopenmp=system
    python tools/runtime.py --beside FOLDER [--repeat 15] [--threads 1 2] [--only regions fits forks refused]

The first build is the one that is installed.  Both take turns, call by call, in two processes that wait for each other;
shown are medians of each, and the median of the ratios of calls that follow each other, of wall and of CPU time.
Regions are those of tests/helpers/regions.c, which GCC compiles with each runtime.  OMP_WAIT_POLICY is passive, unless
it is set: GNU OpenMP takes several times as long on a busy machine where its threads spin.
"""

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))  # what this shares with the tests is in tests/helpers
from helpers.regions import REFUSED, compile_regions

HERE = pathlib.Path(__file__).resolve().parent
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
ROWS, COLUMNS = 100_000, 12
FITS = {
    "GBRFF2Classifier": {"n_estimators": 10},
    "GBRFF1Classifier": {"n_estimators": 5},
    "GBRFFClassifier": {"n_estimators": 5},
    "GBRFFRegressor": {"n_estimators": 5},
    "PBRFFClassifier": {"n_landmarks": 40, "n_components": 10},
    "RFFNetClassifier": {"max_epochs": 1, "n_components": 200},
    "RFFNetRegressor": {"max_epochs": 1, "n_components": 200, "batch_size": 512},
    "SparseKernelClassifier": {"n_estimators": 20, "learner_size": 5, "kernel": {"length_scale": 3.0},
                               "reg_lambda": 0.1},
    "SparseKernelRegressor": {"n_estimators": 20, "learner_size": 5, "kernel": {"length_scale": 3.0},
                              "reg_lambda": 0.1},
    "KernelRidgeClassifier": {"length_scale": 3.0, "reg_lambda": 0.1, "max_iter": 1},
    "KernelRidgeRegressor": {"length_scale": 3.0, "reg_lambda": 0.1, "max_iter": 1},
    "FourierBoostingClassifier": {"n_estimators": 10, "n_bags": 1, "kernel_ridge": False},
    "FourierBoostingRegressor": {"n_estimators": 10, "n_bags": 1, "kernel_ridge": False},
}
FORKS = """
import os, sys
import numpy as np
from rffkern import GBRFF2Classifier
rng = np.random.default_rng(0)
X = rng.standard_normal((70_000, 8)); y = X[:, 0] * X[:, 1] > 0
def answer():
    return GBRFF2Classifier(1, max_iter=2, random_state=0, n_jobs=2).fit(X, y).decision_function(X).tobytes()
expected, failed = answer(), 0
import signal
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(answer() != expected)
    failed += os.waitpid(child, 0)[1] != 0
print(failed)
"""


def answer_requests():
    """Fit and score as the other process asks, one line for each."""
    import numpy as np

    import rffkern

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    models = {}
    for line in sys.stdin:
        name, threads, what = line.split()
        y = X[:, 0] * X[:, 1] + 0.1 * np.sin(3 * X[:, 2])
        y = y > 0 if name.endswith("Classifier") else y
        wall, cpu = time.perf_counter(), time.process_time()
        if what == "fit":
            params = FITS[name] | {"random_state": 0, "n_jobs": int(threads)}
            models[name] = getattr(rffkern, name)(**params).fit(X, y)
            bits = rffkern.dumps(models[name].set_params(n_jobs=None))
        else:
            bits = models[name].set_params(n_jobs=int(threads)).predict(X).tobytes()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"wall": wall, "cpu": cpu, "bits": hashlib.sha256(bits).hexdigest()}), flush=True)


class Build:
    """An installation of the package: that of this interpreter, or one in a folder."""

    def __init__(self, name, folder=None):
        self.name = name
        self.environment = PASSIVE | os.environ | ({"PYTHONPATH": str(folder)} if folder else {})

    def python(self, *arguments):
        """Run Python with this build."""
        return subprocess.run([sys.executable, *map(str, arguments)], env=self.environment, check=False,
                              capture_output=True, text=True)

    def start(self):
        """Start a process that answers requests."""
        self._process = subprocess.Popen([sys.executable, HERE / "runtime.py", "--answer"], env=self.environment,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        """The answer to a request."""
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def show(what, pairs):
    """Print medians of wall time of both builds, and of the ratios of wall and CPU times."""
    walls = [statistics.median(pair[side]["wall"] for pair in pairs) for side in (0, 1)]
    ratios = {clock: statistics.median(pair[0][clock] / pair[1][clock] for pair in pairs) for clock in ("wall", "cpu")}
    print(f"{what:<44}{1e3 * walls[0]:10.4f} ms {1e3 * walls[1]:10.4f} ms   wall {ratios['wall']:.3f}   "
          f"CPU {ratios['cpu']:.3f}", flush=True)
    return ratios


def regions(builds, repetitions, numbers):
    """Loops of 8 chunks: of nothing, and of some microseconds to milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        programs = [compile_regions(folder, "own", "-O2", "-DRFF_OWN_TEAM"), compile_regions(folder, "other", "-O2")]
        for n_threads in numbers:
            found = {}
            for _ in range(repetitions):
                runs = [subprocess.run([program, "time", str(n_threads)], check=True, capture_output=True, text=True,
                                       env=PASSIVE | os.environ).stdout.split("\n")
                        for program in programs]
                for own, other in zip(*(map(str.split, filter(None, run)) for run in runs), strict=True):
                    pair = [{"wall": float(words[1]) / 1e6, "cpu": float(words[2]) / 1e6} for words in (own, other)]
                    found.setdefault(own[0], []).append(pair)
            for length, pairs in found.items():
                show(f"region of 8 chunks of {length} divisions, {n_threads} threads", pairs)


def fits(builds, repetitions, numbers):
    """Fits and scores of all families, on one and on two threads."""
    for build in builds:
        build.start()
    ratios = {}
    for name in FITS:
        for n_threads in numbers:
            for what in ("fit", "score"):
                pairs = [[build.ask(name, n_threads, what) for build in builds] for _ in range(repetitions + 1)][1:]
                same = len({answer["bits"] for pair in pairs for answer in pair}) == 1
                ratios[name, n_threads, what] = show(
                    f"{what} {name}, {n_threads} threads" + ("" if same else " OTHER BITS"), pairs)
    for n_threads in numbers:
        for what in ("fit", "score"):
            some = [value for key, value in ratios.items() if key[1:] == (n_threads, what)]
            print(f"median of all, {what}, {n_threads} threads: " + ", ".join(
                f"{clock} {statistics.median(ratio[clock] for ratio in some):.3f}" for clock in ("wall", "cpu")))
    for build in builds:
        build.stop()


def forks(builds, repetitions, numbers):
    """Children of a process with a team, that train and score."""
    for build in builds:
        done = build.python("-P", "-W", "ignore", "-c", FORKS, 1000)
        print(f"{build.name}: {done.stdout.strip()} of 1000 forked children failed or hung {done.stderr[-300:]}")


def refused(builds, repetitions, numbers):
    """Fits on 32 threads for which none can be started, as a user whom the limit of processes binds."""
    for build in builds:
        done = build.python("-P", "-c", REFUSED)
        print(f"{build.name}: exit code {done.returncode}: {done.stdout.strip()} {done.stderr.strip()[-200:]}")


def main():
    """Compare two builds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {part.__name__: part for part in (regions, fits, forks, refused)}
    parser.add_argument("--beside", metavar="FOLDER", help="where the other build is")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        answer_requests()
        return
    if not given.beside:
        parser.error("--beside FOLDER must be given")
    builds = [Build("installed"), Build("beside", given.beside)]
    for name in given.only:
        print(f"\n{name}: {parts[name].__doc__}  Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs.", flush=True)
        parts[name](builds, given.repeat, given.threads)


if __name__ == "__main__":
    main()
