"""Fourier boosting on a Dask cluster of this machine beside LightGBM and XGBoost, on the same partitions.

    python tools/benchmarks/clusters.py --model lightgbm --workers 2 --rows 400000
    python tools/benchmarks/clusters.py --model rffkern --workers 2 --kill 6        kills a worker after 6 seconds
    python tools/benchmarks/clusters.py --one-partition --rows 10000   how far it is from the same rows without Dask

Prints a line of JSON: seconds, those of the processors of workers and client, rounds, the largest memory of a worker,
what both sent by TCP (by `ss`, which must be installed), and the accuracy on 40,000 other rows.  With --one-partition,
accuracy of a model of one partition, of the ordinary class, and of this with another seed, and by how much their
probabilities of these rows differ, in the mean and at most.
"""

import argparse
import json
import logging
import os
import re
import signal
import subprocess
import threading
import time

import numpy as np

N_PARTITIONS, N_COLUMNS = 8, 20


def rows(seed, n_rows):
    """Rows of normal columns, and labels with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, N_COLUMNS)).astype(np.float32)
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + np.abs(X[:, 4]) - 0.8
    return X, (score + 0.5 * rng.logistic(size=n_rows) > 0.5).astype(np.int64)


def partitions(n_rows):
    """The same as Dask arrays that workers make."""
    import dask.array as da
    from dask.delayed import delayed

    parts = [delayed(rows, nout=2)(k, n_rows // N_PARTITIONS) for k in range(N_PARTITIONS)]
    shape = (n_rows // N_PARTITIONS, N_COLUMNS)
    return (da.concatenate([da.from_delayed(X, shape, np.float32) for X, _ in parts]),
            da.concatenate([da.from_delayed(y, shape[:1], np.int64) for _, y in parts]))


def fitted(name, client, X, y, count):
    """A function that predicts labels, by default parameters."""
    if name == "rffkern":
        from rffkern.dask import DaskFourierBoostingClassifier

        model = DaskFourierBoostingClassifier(random_state=0, columns=None, client=client)
        return model.fit(X, y, callback=lambda info: count.append(1) and None).to_local().predict
    if name == "lightgbm":
        import lightgbm

        return lightgbm.DaskLGBMClassifier(client=client, verbosity=-1).fit(X, y).to_local().predict
    import xgboost.dask

    model = xgboost.dask.DaskXGBClassifier()
    model.client = client
    booster = model.fit(X, y).get_booster()
    return lambda X: booster.inplace_predict(X) > 0.5


def compare_one_partition(name, params, on_dask, client, n_rows):
    """Accuracies, and differences of probabilities, of one partition and of another seed from the ordinary class."""
    import dask.array as da

    import rffkern

    X, y = rows(0, n_rows)
    others, labels = rows(99, 40_000)
    models = [getattr(rffkern, name)(random_state=seed, **params).fit(X, y) for seed in (0, 1)]
    one = getattr(on_dask, f"Dask{name}")(random_state=0, client=client, **params)
    models.append(one.fit(da.from_array(X, chunks=X.shape), da.from_array(y, chunks=y.shape)).to_local())
    here, other, one = (model.predict_proba(others)[:, 1] for model in models)
    return {"model": name, "rows": n_rows} | {
        f"accuracy_{key}": round(float(((each > 0.5) == labels).mean()), 4)
        for key, each in (("here", here), ("other_seed", other), ("one_partition", one))} | {
        key: [float(f"{apart:.2g}") for apart in (np.abs(each - here).mean(), np.abs(each - here).max())]
        for key, each in (("other_seed", other), ("one_partition", one))}


def bytes_sent(pids):
    """What open TCP connections of processes have sent."""
    lines = subprocess.run(["ss", "-tinpH"], capture_output=True, text=True).stdout.replace("\n\t", " ").splitlines()
    found = [(re.search(r"pid=(\d+)", line), re.search(r"bytes_sent:(\d+)", line)) for line in lines]
    return sum(int(sent[1]) for pid, sent in found if pid and sent and int(pid[1]) in pids)


def seconds_of(process):
    """Seconds of processors."""
    return sum(process.cpu_times()[:2])


def main():
    import distributed
    import psutil

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["rffkern", "lightgbm", "xgboost"], default="rffkern")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--kill", type=float, metavar="SECONDS", help="kill a worker so long after the fit begins")
    parser.add_argument("--one-partition", action="store_true", help="compare one partition with the ordinary classes")
    options = parser.parse_args()
    if options.one_partition:
        import rffkern.dask

        with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client:
            for name, params in (("FourierBoostingClassifier", {"max_samples": 1 << 14, "kernel_ridge": False}),
                                 ("GBRFF2Classifier", {})):
                print(json.dumps(compare_one_partition(name, params, rffkern.dask, client, options.rows)))
        return
    with distributed.LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None,
                                  silence_logs=logging.CRITICAL) as cluster, distributed.Client(cluster) as client:
        X, y = partitions(options.rows)
        here, pids = psutil.Process(), list(client.run(os.getpid).values())
        workers, count, ended = [psutil.Process(pid) for pid in pids], [], threading.Event()
        before, started = (sum(map(seconds_of, workers)), seconds_of(here)), time.perf_counter()
        peak, sent = [0], [bytes_sent({*pids, here.pid})]

        def watch():
            while not ended.wait(1):
                peak[0] = max([peak[0], *(each.memory_info().rss for each in workers if each.is_running())])
                sent.append(bytes_sent({*pids, here.pid}))

        threading.Thread(target=watch, daemon=True).start()
        if options.kill:
            threading.Timer(options.kill, os.kill, (pids[0], signal.SIGKILL)).start()
        predict = fitted(options.model, client, X, y, count)
        seconds = time.perf_counter() - started
        ended.set()
        X, y = rows(99, 40_000)
        print(json.dumps(vars(options) | {
            "seconds": round(seconds, 1), "rounds": len(count), "memory_mb": round(peak[0] / 1e6),
            "cpu_of_workers": round(sum(seconds_of(each) for each in workers if each.is_running()) - before[0], 1),
            "cpu_of_client": round(seconds_of(here) - before[1], 1), "sent_mb": round((max(sent) - sent[0]) / 1e6, 1),
            "accuracy": round(float((predict(X) == y).mean()), 4)}))


if __name__ == "__main__":
    main()
