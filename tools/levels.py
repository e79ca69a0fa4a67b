"""Measure how far training is reproducible between instruction-set levels, and between machines at one level.

    RFFKERN_DATA=DIR python tools/levels.py                     the table of docs/reproducibility.md
    python tools/levels.py --seeds 1 --only GBRFF2Classifier    fewer trainings; on made-up rows without RFFKERN_DATA

Each level trains every family in a process of its own.  numpy and its BLAS choose their code by the processor too, so
another process trains with x86-64-v3 "fixed": with what docs/reproducibility.md sets for numpy and OpenBLAS beside.  It
does what a machine without AVX-512 does, which --older "qemu-x86_64 -cpu Haswell" shows by training there as well, with
`--rounds 3` in minutes.  Every process also scores the models that the first one trained.  Times are CPU times on one
thread.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import rffkern
from rffkern._kernels import simd

CLASSIFIERS = ["GBRFF2Classifier", "GBRFF1Classifier", "GBRFFClassifier", "PBRFFClassifier", "RFFNetClassifier",
               "SparseKernelClassifier", "FourierBoostingClassifier", "KernelRidgeClassifier"]
REGRESSORS = ["GBRFFRegressor", "RFFNetRegressor", "SparseKernelRegressor", "FourierBoostingRegressor",
              "KernelRidgeRegressor"]
CLASS_SETS = ["pima", "wdbc", "phoneme", "german"]
REAL_SETS = ["concrete", "energy", "kin8nm", "cpu_small"]
N_ROWS = 1000  # of each set, half of them held out

FIXED = "x86-64-v3"


def fixed_environment():
    """What makes machines with AVX2 train the same bits: numpy runs as without AVX-512, OpenBLAS as on Haswell."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    names = [name for name in __cpu_dispatch__ if "AVX512" in name or name == "X86_V4"]
    return {"RFFKERN_SIMD": FIXED, "OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(names)}


def processes(older):
    """(command before Python, environment) of each process by name."""
    found = {level: ([], {"RFFKERN_SIMD": level}) for level in simd.LEVELS}
    if FIXED in simd.LEVELS:
        found["fixed"] = [], fixed_environment()
        if older:
            found["fixed, older machine"] = older.split(), fixed_environment()
    return found


def table(name, regression):
    """Rows and targets of a data set, or made-up ones where there are none."""
    folder = os.environ.get("RFFKERN_DATA")
    if folder:
        with np.load(pathlib.Path(folder) / f"{name}.npz") as data:
            X, y = data["X"], data["y"]
    else:
        rng = np.random.default_rng(sum(name.encode()))
        X = rng.standard_normal((1000, 8))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(1000)
        y = y if regression else y > 0
    rows = np.random.default_rng(0).permutation(len(X))[:N_ROWS]
    return X[rows].astype(np.float64), y[rows]


def precisions(name):
    """Those that a family lets choose; one without a choice learns in single precision."""
    return ("single", "double") if "precision" in getattr(rffkern, name)().get_params() else ("single",)


def cases(only, n_seeds):
    """Yield (class, precision, data set, seed)."""
    for name in CLASSIFIERS + REGRESSORS:
        if name.startswith(only):
            for precision in precisions(name):
                for data in REAL_SETS if name in REGRESSORS else CLASS_SETS:
                    for seed in range(n_seeds):
                        yield name, precision, data, seed


def scores_of(model, X):
    return np.asarray(getattr(model, "decision_function", model.predict)(X)).reshape(len(X), -1)


def trained(name, X, y, rounds, **params):
    """A model with default parameters, but for the number of rounds where one is given."""
    made = getattr(rffkern, name)(n_jobs=1, **params)
    if rounds:
        known = made.get_params()
        made.set_params(**{key: rounds for key in ("n_estimators", "max_epochs") if key in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.fit(X, y)


def child(folder, first, only, n_seeds, rounds):
    """Train every case, keep its scores on held-out rows, and score the models of the first process."""
    folder.mkdir()
    found, seconds = {}, {}
    for name, precision, data, seed in cases(only, n_seeds):
        X, y = table(data, name in REGRESSORS)
        half, key = len(X) // 2, f"{name} {precision} {data} {seed}"
        started = time.process_time()
        chosen = {"precision": precision} if len(precisions(name)) > 1 else {}
        model = trained(name, X[:half], y[:half], rounds, random_state=seed, **chosen)
        seconds[key] = time.process_time() - started
        rffkern.save(model, folder / f"{key}.npz")
        known = rffkern.load(first / f"{key}.npz")
        found |= {f"trained {key}": scores_of(model, X[half:]), f"scored {key}": scores_of(known, X[half:]),
                  f"scored in single {key}": scores_of(known, X[half:].astype(np.float32))}
        if name not in REGRESSORS:
            found[f"right {key}"] = np.array([model.score(X[half:], y[half:])])
    np.savez(folder / "found.npz", **found)
    (folder / "seconds.json").write_text(json.dumps(seconds))


def measure(folder, args):
    """(found arrays, seconds) of each process."""
    answers = {}
    for index, (name, (before, environment)) in enumerate(processes(args.older).items()):
        print(f"# {name}", file=sys.stderr, flush=True)
        mine = folder / str(index)
        subprocess.run([*before, sys.executable, "-P", __file__, "--child", str(mine), str(folder / "0"),
                        "--only", args.only, "--seeds", str(args.seeds), "--rounds", str(args.rounds)],
                       env=os.environ | environment, check=True)
        with np.load(mine / "found.npz") as found:
            answers[name] = dict(found), json.loads((mine / "seconds.json").read_text())
    return answers


def labels(scores):
    return scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)


def compared(a, b, begin, only_class):
    """How far the answers of two processes are apart: over all cases that begin so."""
    same, gaps, changed, accuracy = 0, [], [], []
    keys = [key for key in a if key.startswith(begin)]
    for key in keys:
        same += np.array_equal(a[key], b[key])
        gaps.append(np.abs(a[key] - b[key]) / np.sqrt((a[key] ** 2).mean(axis=0)))
        if only_class:
            changed.append((labels(a[key]) != labels(b[key])).mean())
            right = "right " + key.split(" ", 1)[1]
            accuracy.append(float(abs(a[right] - b[right])[0]))
    gap = np.concatenate([part.reshape(-1) for part in gaps])
    return same, len(keys), np.median(gap), gap.max(), changed, accuracy


def print_trained(answers, names, pairs):
    """A line for each family and precision and pair of processes."""
    print("| family | precision | levels | same bits | median | largest | labels changed | accuracy |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        for precision in precisions(name):
            for one, other in pairs:
                same, n_cases, median, largest, changed, accuracy = compared(
                    answers[one][0], answers[other][0], f"trained {name} {precision}", name not in REGRESSORS)
                labelled = f"{100 * np.mean(changed):.2f} % | {100 * max(accuracy):.2f} %" if changed else "| "
                print(f"| {name} | {precision} | {one} / {other} | {same} of {n_cases} | {median:.1e} | {largest:.1e} "
                      f"| {labelled} |")


def print_scored(answers, names):
    """Whether one model gives the same bits in every process, and how far scores are apart otherwise."""
    first, *others = answers
    print("\n| scores of one model | rows in | same bits | largest |\n|---|---|---|---|")
    for other in others:
        for begin, rows in (("scored ", "double"), ("scored in single ", "single")):
            found = [compared(answers[first][0], answers[other][0], begin + name, False) for name in names]
            print(f"| {first} / {other} | {rows} | {sum(f[0] for f in found)} of {sum(f[1] for f in found)} "
                  f"| {max(f[3] for f in found):.1e} |")


def print_times(answers, names):
    """CPU time of all fits of a family over that of the highest level."""
    highest = simd.LEVELS[-1]
    print("\n| time of fits | " + " | ".join(simd.LEVELS) + " |\n|---|" + "---|" * len(simd.LEVELS))
    for name in names:
        totals = {level: sum(s for key, s in answers[level][1].items() if key.startswith(name))
                  for level in simd.LEVELS}
        print(f"| {name} | " + " | ".join(f"{totals[level] / totals[highest]:.2f}" for level in simd.LEVELS) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="trainings on each data set (default: 2)")
    parser.add_argument("--only", default="", metavar="BEGIN", help="classes whose names begin so")
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="rounds or epochs (default: the class's)")
    parser.add_argument("--older", metavar="COMMAND", help="an emulator of a machine without AVX-512")
    parser.add_argument("--child", nargs=2, type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child, args.only, args.seeds, args.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        answers = measure(pathlib.Path(folder), args)
    names = [name for name in CLASSIFIERS + REGRESSORS if name.startswith(args.only)]
    beside = (FIXED, "fixed"), ("fixed", "fixed, older machine")
    pairs = [*itertools.pairwise(simd.LEVELS), *(pair for pair in beside if pair[1] in answers)]
    print_trained(answers, names, pairs)
    print_scored(answers, names)
    print_times(answers, names)


if __name__ == "__main__":
    main()
