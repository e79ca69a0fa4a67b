"""What GBRFF2 loses and gains when each round searches a subset of the rows, for `reproduce.py`."""

import time

import numpy as np
from common.protocols import load, split
from common.tuning import in_processes

SETS = ["occupancy", "bankmarketing", "covtype_a", "covtype8_107k", "electricity", "sleep", "eeg_eye_state",
        "pendigits", "higgs_11k", "blobs2_60k", "blobs8_60k", "blobs8_300k", "waves_30k", "waves_120k"]
SIZES = [16384, 8192, 4096, 2048, 1024]


def run_subsets(job):
    """Per subset size (None: all rows): test error in %, exponential test loss and CPU seconds of the fit."""
    folder, name, seed, sizes = job
    from rffkern import GBRFF2Classifier

    X_train, X_test, y_train, y_test = split(*load(folder, name), seed, "seeded")
    figures = []
    for size in [None, *sizes]:
        started = time.process_time()
        model = GBRFF2Classifier(max_samples=size, random_state=seed, n_jobs=1).fit(X_train, y_train)
        seconds = time.process_time() - started
        scores = model.decision_function(X_test)
        scores = scores.reshape(len(scores), -1)
        signs = np.where(y_test.reshape(-1, 1) == model.classes_[-scores.shape[1]:], 1, -1)
        figures.append((100 - 100 * model.score(X_test, y_test), np.exp(-signs * scores).mean(), seconds))
    return name, len(y_train), figures


def subsets(arguments):
    """Subsets of several sizes against all rows."""
    sizes, names = arguments.sizes or SIZES, arguments.sets or SETS
    jobs = [(arguments.data, name, seed, sizes) for name in names for seed in arguments.seeds]
    results = in_processes(run_subsets, jobs, arguments.jobs)
    print("With all rows: test error in %, exponential loss on test rows, CPU seconds of a fit.  Then for each size\n"
          "of a subset the paired change of error and of loss in %, each +- its standard error, and the speed-up.")
    print(f"{'data set':<15}{'training':>9}{'error':>8}{'loss':>7}{'s':>7} "
          + "".join(f"{size:>31} " for size in sizes))
    changes = []
    for name in names:
        runs = [(n_train, figures) for found, n_train, figures in results if found == name]
        changes.append(print_changes(name, runs[0][0], np.array([figures for _, figures in runs])))
    print(f"{'mean':<46} " + "".join(f"{error:+8.2f}{'':7}{loss:+8.1f}{'':8}"
                                     for error, loss in np.mean(changes, axis=0).T))


def print_changes(name, n_train, table):
    """Print the row of a data set, whose table is (seeds, 1 + sizes, 3); return mean changes of error and of loss."""
    error = table[:, 1:, 0] - table[:, :1, 0]
    loss = 100 * (table[:, 1:, 1] / table[:, :1, 1] - 1)
    faster = (table[:, :1, 2] / table[:, 1:, 2]).mean(axis=0)
    root = np.sqrt(max(1, len(table) - 1))
    columns = zip(error.mean(axis=0), error.std(axis=0) / root, loss.mean(axis=0), loss.std(axis=0) / root, faster,
                  strict=True)
    print(f"{name:<15}{n_train:>9}" + "{:8.2f}{:7.3f}{:7.2f} ".format(*table[:, 0].mean(axis=0)) + "".join(
        f"{e:+8.2f} +-{es:4.2f}{x:+8.1f} +-{xs:3.1f}{ratio:5.1f}x" for e, es, x, xs, ratio in columns))
    return error.mean(axis=0), loss.mean(axis=0)
