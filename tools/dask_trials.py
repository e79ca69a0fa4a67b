"""Training on a cluster of this machine, beside training here.

python tools/dask_trials.py --kills 20           workers killed in random rounds: the bits of the model
python tools/dask_trials.py --rounds 2000000     seconds and bytes of a round of two workers, beside two threads
python tools/dask_trials.py --family boosting    the same of Fourier boosting, of one member
python tools/dask_trials.py --accuracy DIR       Fourier boosting on three splits of four sets, beside that here
"""

import argparse
import os
import pickle
import signal
import statistics
import time

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from rffkern import FourierBoostingClassifier, GBRFF2Classifier
from rffkern.dask import DaskFourierBoostingClassifier, DaskGBRFF2Classifier

# Of each family the class here, that on Dask, and what both are trained with.
FAMILIES = {"gbrff2": (GBRFF2Classifier, DaskGBRFF2Classifier, {"random_state": 0}),
            "boosting": (FourierBoostingClassifier, DaskFourierBoostingClassifier,
                         {"random_state": 0, "n_bags": 1, "columns": None, "kernel_ridge": False})}

SETS = "higgs_11k", "electricity", "bankmarketing", "covtype8_107k"


def made_table(n_rows, n_features=20, seed=0):
    """Rows in single precision and labels of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    return X, (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(np.int8)


def on_cluster(X, y, n_parts):
    """Dask arrays that their workers can compute again."""
    size = -(-len(X) // n_parts)
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


def cluster(n_workers):
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)


def kill_trials(n_kills, seed, family):
    """Fits that lose a worker in a random round, and fits on 1, 2 and 4 workers, told apart by their bits."""
    rng, (X, y) = np.random.default_rng(seed), made_table(40000)
    models, (_, make, params) = {}, FAMILIES[family]
    for n_workers in (1, 2, 4):
        with cluster(n_workers) as workers, Client(workers) as client:
            fitted = make(30, client=client, **params).fit(*on_cluster(X, y, 8))
            models[f"{n_workers} workers"] = pickle.dumps(fitted.to_local().expansion_)
    first = models["1 workers"]
    for trial in range(n_kills):  # on a cluster each: a nanny gives up on a worker that is slow to start again
        when, which = int(rng.integers(1, 30)), int(rng.integers(2))

        def kill(info, when=when, which=which):
            if info.n_rounds == when:
                os.kill(sorted(client.run(os.getpid).values())[which], signal.SIGKILL)

        with cluster(2) as workers, Client(workers) as client:
            fitted = make(30, client=client, **params)
            fitted.fit(*on_cluster(X, y, 8), callback=kill)
        content = models[f"kill {trial}"] = pickle.dumps(fitted.to_local().expansion_)
        print(f"a worker killed after round {when}: {'the same' if content == first else 'OTHER'} bits", flush=True)
    equal = sum(content == first for content in models.values())
    print(f"fits on 1, 2 and 4 workers, and {n_kills} that lost one: {equal} of {len(models)} have the same bits")
    return equal == len(models)


def seconds_of_rounds(fit, n_rounds):
    """Median seconds of a round, told by a callback."""
    marks = []
    fit(lambda info: marks.append(time.perf_counter()))
    return statistics.median(np.diff(marks[: n_rounds]))


def round_trials(n_rows, family, n_rounds=30):
    """A round of two workers of one thread, beside one of two threads here."""
    X, y = made_table(n_rows)
    make_here, make, params = FAMILIES[family]
    here = make_here(n_rounds, n_jobs=2, **params)
    with cluster(2) as workers, Client(workers) as client:
        columns = dask.persist(*on_cluster(X, y, 4))
        there = make(n_rounds, client=client, **params)
        for _ in range(3):
            one = seconds_of_rounds(lambda callback: here.fit(X, y, callback=callback), n_rounds)
            other = seconds_of_rounds(lambda callback: there.fit(*columns, callback=callback), n_rounds)
            print(f"{n_rows} rows: {1000 * one:.1f} ms a round here, {1000 * other:.1f} ms on two workers; "
                  f"1.3 x + 20 ms would be {1300 * one + 20:.1f}", flush=True)


def accuracy_trials(folder):
    """Accuracy in percent on a quarter of the rows, in four partitions and here, split by split."""
    params = {"columns": None, "kernel_ridge": False}
    with cluster(2) as workers, Client(workers) as client:
        for name in SETS:
            with np.load(os.path.join(folder, f"{name}.npz"), allow_pickle=False) as archive:
                X, y = archive["X"].astype(np.float32), archive["y"]
            found = []
            for seed in range(3):
                test, train = np.split(np.random.default_rng(seed).permutation(len(X)), [len(X) // 4])
                models = (DaskFourierBoostingClassifier(client=client, random_state=seed, **params)
                          .fit(*on_cluster(X[train], y[train], 4)).to_local(),
                          FourierBoostingClassifier(random_state=seed, **params).fit(X[train], y[train]))
                found.append([100 * model.score(X[test], y[test]) for model in models])
            there, here = (", ".join(f"{score:.2f}" for score in scores) for scores in zip(*found, strict=True))
            print(f"| {name} | {there} | {here} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--rounds", type=int, metavar="ROWS")
    parser.add_argument("--accuracy", metavar="DIR", help="a folder of NAME.npz with X and y")
    parser.add_argument("--family", choices=FAMILIES, default="gbrff2")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    passed = arguments.kills is None or kill_trials(arguments.kills, arguments.seed, arguments.family)
    if arguments.rounds is not None:
        round_trials(arguments.rounds, arguments.family)
    if arguments.accuracy is not None:
        accuracy_trials(arguments.accuracy)
    raise SystemExit(not passed)


if __name__ == "__main__":
    main()
