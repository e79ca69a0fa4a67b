"""Rebuild the papers' tables and figures, and the experiments behind the defaults, from the datasets in a folder.

    python tools/reproduce.py ecml --data DIR --seeds 1-5                  Table 2 of the ECML paper, by its protocol
    python tools/reproduce.py ecml --data DIR --model gbrff1               also gbrff2 (the default) and pbrff
    python tools/reproduce.py ecml --data DIR --seeds 1-5 --untuned        the same splits, default parameters
    python tools/reproduce.py few --data DIR --plot few.png                its Figure 2: accuracy with few landmarks
    python tools/reproduce.py components --data DIR --plot k.png           its Figure 3: GBRFF1 with K = 1, 5, 10, 20
    python tools/reproduce.py squares --data DIR --seeds 1-5               Table 2 and Figure 2 of the 2019 paper
    python tools/reproduce.py sampling --data DIR --seeds 1-5              descents on samples against all rows
    python tools/reproduce.py kin40k --data DIR --plot kin40k.png          Figure 2, Tables IV and V of Sun and Yao
    python tools/reproduce.py kin40k --data DIR --kernel likelihood        the same with the paper's way to a kernel
    python tools/reproduce.py sparse --data DIR --seeds 1-3                sparse kernel regression beside scikit-learn
    python tools/reproduce.py covtype --data DIR --budget 600              classification by blocks of learners
    python tools/reproduce.py se --plot se.png --seeds 1-3                 Figures 2 and 3, Table 2 of the RFFNet paper
    python tools/reproduce.py rffnet --data DIR --plot higgs.png           its Tables 1 and 2 on real data, and Figure 5

Splits are drawn as the authors drew theirs, from NumPy's global generator; --splits seeded draws others.  Parameters
are chosen by five-fold cross-validation on the training rows, for each number of landmarks.  Those from kin40k on,
which report CPU seconds, run in one process on one thread; their splits are permutations.

Needs scikit-learn for the splits, xgboost for rffnet, and matplotlib where --plot is given.
"""

import argparse
import multiprocessing
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  (reads the variables set above)
import rffnet_protocols  # noqa: E402
import sparse_protocols  # noqa: E402
from protocols import CONTENDERS, load, split  # noqa: E402


def published(names, **rows):
    """Test accuracy in a paper, mean of 20 splits: {model: {data set: accuracy}}."""
    return {model: dict(zip(names.split(), map(float, row.split()), strict=True)) for model, row in rows.items()}


ECML = published(
    "wine sonar newthyroid heart bupa iono wdbc balance australian pima vehicle german splice spambase occupancy",
    gbrff2="98.5 83.0 96.9 83.1 71.2 89.2 97.3 97.7 86.9 77.1 97.1 74.0 92.4 92.8 98.9",
    gbrff1="98.3 81.8 95.3 83.6 70.3 88.2 96.8 97.7 86.7 76.5 96.3 73.7 83.9 90.7 98.8",
    pbrff="98.1 76.7 96.5 85.4 69.0 94.2 96.5 98.9 84.6 76.1 96.5 72.4 83.5 91.6 98.9")
SQUARES = published(  # glass without its id column, which gives the label away
    "wine sonar glass_noid newthyroid heart bupa iono wdbc balance australian pima german splice spambase",
    gbrff_2019="96.80 76.10 75.70 93.18 82.54 67.58 85.55 96.40 94.77 85.72 75.66 72.36 88.16 92.33",
    pbrff_2019="97.92 75.82 77.27 95.89 83.02 65.48 93.21 95.99 96.12 85.66 75.36 71.79 85.27 91.60")
FEW = [1, 2, 3, 5, 10, 15, 20, 25, 50]
FEW_2019 = [1, 3, 5, 10, 25, 200]
ALL_COMPONENTS = [20, 40, 60, 100, 200, 500, 1000]  # numbers of cosines, T K

SAMPLING_SETS = ["occupancy", "bankmarketing", "covtype_a", "covtype8_107k", "electricity", "sleep", "eeg_eye_state",
                 "pendigits", "higgs_11k", "blobs2_60k", "blobs8_60k", "blobs8_300k", "waves_30k", "waves_120k"]
SAMPLE_SIZES = [16384, 8192, 4096, 2048, 1024]


def run_tuned(job):
    """Test accuracy per number of landmarks of one (folder, data set, seed, contender, sizes, options)."""
    folder, name, seed, contender, sizes, (scheme, untuned, test_size) = job
    X, y = load(folder, name)
    if test_size == 0.7:  # the 2019 paper standardises all rows together
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    data = X_train, X_test, y_train, y_test = split(X, y, seed, scheme, test_size)
    if untuned:
        curve = CONTENDERS[contender].curve({"random_state": seed}, X_train, y_train, X_test, y_test, sizes)
        return name, [accuracy for accuracy, _ in curve]
    return name, CONTENDERS[contender].tuned_curve(data, sizes, seed if scheme == "seeded" else None)


def tuned(arguments, contender, sizes, names, test_size=0.3):
    """Accuracy in %, {data set: array (seeds, sizes)}."""
    options = arguments.splits, arguments.untuned, test_size
    jobs = [(arguments.data, name, seed, contender, sizes, options) for name in reversed(names)
            for seed in arguments.seeds]
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        results = pool.map(run_tuned, jobs, chunksize=1)
    return {name: 100 * np.array([curve for found, curve in results if found == name]) for name in names}


def print_table(paper, found):
    print(f"{'data set':<12} {'paper':>6} {'ours':>6} {'+-':>5}")
    for name, scores in found.items():
        print(f"{name:<12} {paper[name]:6.1f} {scores[:, -1].mean():6.2f} {scores[:, -1].std():5.2f}")
    print(f"{f'mean of {len(found)}':<12} {np.mean([paper[name] for name in found]):6.2f} "
          f"{np.mean([scores[:, -1].mean() for scores in found.values()]):6.2f}", flush=True)


def mean_curve(found):
    return np.mean([scores.mean(axis=0) for scores in found.values()], axis=0)


def print_curves(label, sizes, curves):
    width = max(map(len, curves))
    print(f"{label:<{width}} " + "".join(f"{size:>8}" for size in sizes))
    for name, curve in curves.items():
        print(f"{name:<{width}} " + "".join(f"{accuracy:8.2f}" for accuracy in curve), flush=True)


def draw(path, label, curves):
    """Curves as {name: (x, y)}."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, (x, y) in curves.items():
        axes.semilogx(x, y, marker="o", label=name)
    ticks = sorted({value for x, _ in curves.values() for value in x})
    axes.set(xlabel=label, ylabel="mean test accuracy in %", xticks=ticks, xticklabels=ticks)
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def ecml(arguments):
    paper = ECML[arguments.model]
    print_table(paper, tuned(arguments, arguments.model, [100], arguments.sets or list(paper)))


def few(arguments):
    names = arguments.sets or list(ECML["gbrff2"])[:12]
    curves = {model: mean_curve(tuned(arguments, model, FEW, names))
              for model in ("gbrff2", "gbrff1", "gbrff1_exact", "pbrff")}
    print(f"Mean test accuracy over {len(names)} sets, seeds {arguments.seeds[0]}-{arguments.seeds[-1]}")
    print_curves("landmarks", FEW, curves)
    if arguments.plot:
        draw(arguments.plot, "landmarks", {name: (FEW, curve) for name, curve in curves.items()})


def components(arguments):
    names = arguments.sets or list(ECML["gbrff2"])[:12]
    curves = {}
    for n_components in (1, 5, 10, 20):
        sizes = [total // n_components for total in ALL_COMPONENTS]
        curves[f"K = {n_components}"] = mean_curve(tuned(arguments, f"gbrff1_k{n_components}", sizes, names))
    print(f"GBRFF1, mean test accuracy over {len(names)} sets, seeds {arguments.seeds[0]}-{arguments.seeds[-1]}")
    print_curves("T K", ALL_COMPONENTS, curves)
    if arguments.plot:
        draw(arguments.plot, "cosines in the model, T K", {name: (ALL_COMPONENTS, y) for name, y in curves.items()})


def squares(arguments):
    curves = {}
    for contender, paper in SQUARES.items():
        found = tuned(arguments, contender, FEW_2019, arguments.sets or list(paper), test_size=0.7)
        print(f"{contender}, 200 landmarks")
        print_table(paper, found)
        curves[contender] = mean_curve(found)
    print_curves("landmarks", FEW_2019, curves | {"difference": np.subtract(*curves.values())})
    if arguments.plot:
        draw(arguments.plot, "landmarks", {name: (FEW_2019, curve) for name, curve in curves.items()})


def run_sampling(job):
    """Per sample size (None: all rows): test error in %, exponential test loss and CPU seconds of the fit."""
    folder, name, seed, sizes = job
    from rffkern import GBRFF2Classifier

    X_train, X_test, y_train, y_test = split(*load(folder, name), seed, "seeded")
    figures = []
    for size in [None, *sizes]:
        started = time.process_time()
        model = GBRFF2Classifier(max_samples=size, random_state=seed, n_threads=1).fit(X_train, y_train)
        seconds = time.process_time() - started
        scores = model.decision_function(X_test)
        signs = np.where(y_test.reshape(-1, 1) == model.classes_[-scores.reshape(len(scores), -1).shape[1]:], 1, -1)
        figures.append((100 - 100 * model.score(X_test, y_test), np.exp(-signs * scores.reshape(signs.shape)).mean(),
                        seconds))
    return name, len(y_train), figures


def sampling(arguments):
    sizes, names = arguments.sizes or SAMPLE_SIZES, arguments.sets or SAMPLING_SETS
    jobs = [(arguments.data, name, seed, sizes) for name in names for seed in arguments.seeds]
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        results = pool.map(run_sampling, jobs, chunksize=1)
    print("With all rows: test error in %, exponential loss on test rows, CPU seconds of a fit.  Then per size of a\n"
          "round's sample the paired change of error and of loss in %, each +- its standard error, and the speed-up.")
    print(f"{'data set':<15}{'training':>9}{'error':>8}{'loss':>7}{'s':>7} "
          + "".join(f"{size:>31} " for size in sizes))
    pooled = []
    for name in names:
        n_train = next(n for found, n, _ in results if found == name)
        table = np.array([figures for found, _, figures in results if found == name])  # (seeds, 1 + sizes, 3)
        error = table[:, 1:, 0] - table[:, :1, 0]
        loss = 100 * (table[:, 1:, 1] / table[:, :1, 1] - 1)
        pooled.append((error.mean(axis=0), loss.mean(axis=0)))
        spread = np.sqrt(max(1, len(table) - 1))
        print(f"{name:<15}{n_train:>9}" + "{:8.2f}{:7.3f}{:7.2f} ".format(*table[:, 0].mean(axis=0)) + "".join(
            f"{e:+8.2f} +-{es:4.2f}{x:+8.1f} +-{xs:3.1f}{ratio:5.1f}x" for e, es, x, xs, ratio in zip(
                error.mean(axis=0), error.std(axis=0) / spread, loss.mean(axis=0), loss.std(axis=0) / spread,
                (table[:, :1, 2] / table[:, 1:, 2]).mean(axis=0), strict=True)))
    print(f"{'mean':<46} " + "".join(f"{e:+8.2f}{'':7}{x:+8.1f}{'':8}" for e, x in
                                     zip(*np.mean(pooled, axis=0), strict=True)))


def parse_seeds(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


TIMED = {**sparse_protocols.COMMANDS, **rffnet_protocols.COMMANDS}
COMMANDS = {"ecml": ecml, "few": few, "components": components, "squares": squares, "sampling": sampling, **TIMED}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(COMMANDS))
    parser.add_argument("--data", help="folder of NAME.npz files, which all but se need")
    parser.add_argument("--seeds", type=parse_seeds, help="FIRST-LAST, default 1-5, or 1-3 from kin40k on")
    parser.add_argument("--splits", choices=["authors", "seeded"], default="authors", help="how to draw the splits")
    parser.add_argument("--model", choices=list(ECML), default="gbrff2", help="for ecml (default: gbrff2)")
    parser.add_argument("--untuned", action="store_true", help="default parameters instead of cross-validation")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="data sets, of those of the experiment")
    parser.add_argument("--sizes", type=int, nargs="+", help="of a sample for sampling, numbers of rows for se")
    parser.add_argument("--kernel", choices=["auto", "likelihood"], default="auto", help="for kin40k")
    parser.add_argument("--budget", type=float, default=600, help="CPU seconds of a fit for covtype, about")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    arguments = parser.parse_args()
    if arguments.data is None and arguments.what != "se":
        parser.error("--data must name the folder of the data sets")
    arguments.seeds = arguments.seeds or parse_seeds("1-3" if arguments.what in TIMED else "1-5")
    started = time.perf_counter()
    COMMANDS[arguments.what](arguments)
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
