"""Fourier boosting on a Dask cluster of this machine: beside LightGBM and XGBoost, and beside one process.

    python tools/benchmarks/clusters.py --model lightgbm --workers 2 --rows 400000
    python tools/benchmarks/clusters.py --model rffkern --workers 2 --kill 6        kills a worker after 6 seconds

Prints a line of JSON: seconds, those of the processors of workers and client, rounds, the largest memory of a worker,
what both sent by TCP (by `ss`, which must be installed), and accuracy and log loss on 40,000 other rows.

    python tools/benchmarks/clusters.py --cost-model LOG

fits the costs of a round of Fourier boosting, or of --model gbrff2, to the lines of such a log, as least squares of
relative errors, and prints what rounds of 10 billion rows of 50 columns would take on 10, 100 and 1,000 machines.

    python tools/benchmarks/clusters.py --mixed                words, dates and gaps, in 1, 4 and 13 partitions
    python tools/benchmarks/clusters.py --sets NAME,NAME --data DIR     data sets of numbers, in 4 partitions
    python tools/benchmarks/clusters.py --one-partition --rows 10000    how far one partition is from the ordinary class

compare models on Dask with those of the same rows in one process.  --mixed trains each on one and two workers, and
again while 20 workers are killed; it ends with exit code 1 where equal partitions give other bits, where one partition
has another column map than one process, or where the accuracy of a split is more than .3 points lower.
"""

import argparse
import itertools
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # the table and the kills are those of tools/soaking

CLUSTER = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}


def rows(seed, n_rows, n_columns=20):
    """Rows of normal columns, and labels with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)).astype(np.float32)
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + np.abs(X[:, 4]) - 0.8
    return X, (score + 0.5 * rng.logistic(size=n_rows) > 0.5).astype(np.int64)


def partitions(options):
    """The same as Dask arrays that workers make."""
    import dask.array as da
    from dask.delayed import delayed

    shape = (options.rows // options.partitions, options.columns)
    parts = [delayed(rows, nout=2)(1000 * options.seed + k, *shape) for k in range(options.partitions)]
    return (da.concatenate([da.from_delayed(X, shape, np.float32) for X, _ in parts]),
            da.concatenate([da.from_delayed(y, shape[:1], np.int64) for _, y in parts]))


def fitted(options, client, X, y, count):
    """A function that gives probabilities of label 1, by default parameters."""
    if options.model in ("rffkern", "gbrff2"):
        from rffkern.dask import DaskFourierBoostingClassifier, DaskGBRFF2Classifier

        make = DaskFourierBoostingClassifier if options.model == "rffkern" else DaskGBRFF2Classifier
        model = make(random_state=options.seed, columns=None, client=client)
        model = model.fit(X, y, callback=lambda info: count.append(1) and None).to_local()
        return lambda X: model.predict_proba(X)[:, 1]
    if options.model == "lightgbm":
        import lightgbm

        model = lightgbm.DaskLGBMClassifier(client=client, verbosity=-1).fit(X, y).to_local()
        return lambda X: model.predict_proba(X)[:, 1]
    import xgboost.dask

    model = xgboost.dask.DaskXGBClassifier()
    model.client = client
    return model.fit(X, y).get_booster().inplace_predict


def compare_one_partition(n_rows):
    """Print accuracy of one partition and of another seed, and how far probabilities are from the ordinary classes."""
    import dask.array as da
    import distributed

    import rffkern
    import rffkern.dask

    X, y = rows(0, n_rows)
    others, labels = rows(99, 40_000)
    with distributed.LocalCluster(n_workers=1, processes=False, **CLUSTER) as cluster, \
            distributed.Client(cluster) as client:
        for name, params in (("FourierBoostingClassifier", {"max_samples": 1 << 14, "kernel_ridge": False}),
                             ("GBRFF2Classifier", {})):
            models = [getattr(rffkern, name)(random_state=seed, **params).fit(X, y) for seed in (0, 1)]
            one = getattr(rffkern.dask, f"Dask{name}")(random_state=0, client=client, **params)
            models.append(one.fit(da.from_array(X, chunks=X.shape), da.from_array(y, chunks=y.shape)).to_local())
            here, other, one = (model.predict_proba(others)[:, 1] for model in models)
            print(json.dumps({"model": name, "rows": n_rows} | {
                f"accuracy_{key}": round(float(((each > 0.5) == labels).mean()), 4)
                for key, each in (("here", here), ("other_seed", other), ("one_partition", one))} | {
                key: [float(f"{apart:.2g}") for apart in (np.abs(each - here).mean(), np.abs(each - here).max())]
                for key, each in (("other_seed", other), ("one_partition", one))}))


def bytes_sent(pids):
    """What open TCP connections of processes have sent."""
    lines = subprocess.run(["ss", "-tinpH"], capture_output=True, text=True).stdout.replace("\n\t", " ").splitlines()
    found = [(re.search(r"pid=(\d+)", line), re.search(r"bytes_sent:(\d+)", line)) for line in lines]
    return sum(int(sent[1]) for pid, sent in found if pid and sent and int(pid[1]) in pids)


def seconds_of(process):
    """Seconds of processors."""
    return sum(process.cpu_times()[:2])


def measure(options):
    """Seconds, memory, bytes and accuracy of one fit."""
    import distributed
    import psutil

    with distributed.LocalCluster(n_workers=options.workers, **CLUSTER) as cluster, \
            distributed.Client(cluster) as client:
        X, y = partitions(options)
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
        probabilities = fitted(options, client, X, y, count)
        seconds = time.perf_counter() - started
        ended.set()
        X, y = rows(1000 * options.seed + 99, 40_000, options.columns)
        found = probabilities(X).astype(np.float64)
        given = ("model", "workers", "rows", "columns", "partitions", "seed", "kill")
        return {name: getattr(options, name) for name in given} | {
            "seconds": round(seconds, 1), "rounds": len(count), "memory_mb": round(peak[0] / 1e6),
            "cpu_of_workers": round(sum(seconds_of(each) for each in workers if each.is_running()) - before[0], 1),
            "cpu_of_client": round(seconds_of(here) - before[1], 1), "sent_mb": round((max(sent) - sent[0]) / 1e6, 1),
            "accuracy": round(float(((found > 0.5) == y).mean()), 4),
            "log_loss": round(float(-np.log(np.where(y == 1, found, 1 - found)).mean()), 4)}


# What a round, or a worker's memory, is a sum of: name, and its size in a logged fit of so many rows, columns,
# partitions and workers.
PARTS = {
    "ms of all workers": {"a worker": lambda n, d, p, w: w, "a partition": lambda n, d, p, w: p,
                          "a million numbers": lambda n, d, p, w: n * d / 1e6},
    "ms of the client": {"a round": lambda n, d, p, w: 1, "a column": lambda n, d, p, w: d,
                         "a partition": lambda n, d, p, w: p},
    "kB sent": {"a round": lambda n, d, p, w: 1, "a column": lambda n, d, p, w: d,
                "a partition": lambda n, d, p, w: p},
    "MB of a worker": {"a worker": lambda n, d, p, w: 1, "a million rows": lambda n, d, p, w: n / w / 1e6,
                       "a million numbers": lambda n, d, p, w: n * d / w / 1e6},
}


def shown(number):
    """With three digits, or as a whole number."""
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def cost_model(log, model, n_rows=10_000_000_000, n_columns=50, n_rounds=500, threads=16, gb_per_second=1.25):
    """Fit the costs of a round to a log, and print them and what they say of a large table on many machines.

    A machine has one worker of so many threads, each as fast as one here, and one partition.
    """
    with open(log, encoding="utf-8") as file:
        found = [json.loads(line) for line in file if line.startswith("{")]
    found = [each for each in found if each["model"] == model and not each["kill"]]
    places = [(each["rows"], each["columns"], each["partitions"], each["workers"]) for each in found]
    measured = {"ms of all workers": [1000 * each["cpu_of_workers"] / each["rounds"] for each in found],
                "ms of the client": [1000 * each["cpu_of_client"] / each["rounds"] for each in found],
                "kB sent": [1000 * each["sent_mb"] / each["rounds"] for each in found],
                "MB of a worker": [each["memory_mb"] for each in found]}
    costs, fits = {}, {}
    for name, parts in PARTS.items():
        sizes = np.array([[size(*place) for size in parts.values()] for place in places], dtype=float)
        goal = np.maximum(measured[name], 1e-3)  # where a clock saw nothing of a tiny fit
        # Relative errors, so that small fits count as much as large ones.
        costs[name] = np.linalg.lstsq(sizes / goal[:, None], np.ones(len(goal)))[0]
        fits[name] = sizes @ costs[name]
    print("| of a round | " + " | ".join(PARTS) + " |\n|---|" + "---|" * len(PARTS))
    for part in dict.fromkeys(part for parts in PARTS.values() for part in parts):
        found_costs = [dict(zip(PARTS[name], costs[name], strict=True)) for name in PARTS]
        print(f"| {part} | {' | '.join(shown(each[part]) if part in each else '' for each in found_costs)} |")
    print("\nMeasured, and by the model:\n\n| rows | columns | partitions | workers | rounds | "
          + " | ".join(PARTS) + " |\n|---|---|---|---|---|" + "---|" * len(PARTS))
    for k, (place, each) in enumerate(zip(places, found, strict=True)):
        cells = [f"{shown(measured[name][k])} ({shown(fits[name][k])})" for name in PARTS]
        print(f"| {' | '.join(f'{size:,}' for size in place)} | {each['rounds']} | {' | '.join(cells)} |")
    print(f"\n{n_rows:,} rows of {n_columns} columns:\n\n| machines | memory of each | workers | client | wire | "
          f"round | {n_rounds} rounds |\n|---|---|---|---|---|---|---|")
    for machines in (10, 100, 1000):
        numbers = n_rows * n_columns / machines / 1e6
        worker, partition, number = costs["ms of all workers"]
        client, sent = (costs[name] @ [1, n_columns, machines] for name in ("ms of the client", "kB sent"))
        times = [(worker + partition + number * numbers / threads) / 1000, client / 1000, sent / gb_per_second / 1e6]
        memory = costs["MB of a worker"] @ [1, numbers / n_columns, numbers] / 1000
        print(f"| {machines:,} | {memory:.3g} GB | {' | '.join(f'{each:.2g} s' for each in times)} | "
              f"{sum(times):.2g} s | {n_rounds * sum(times) / 60:.2g} minutes |")


def accuracy(model, others, labels):
    """Per cent of the labels that are right."""
    return round(100 * float((model.predict(others) == labels).mean()), 2)


def compare_mixed(options):
    """Print what models of words, dates and gaps are like on Dask and here; return what is wrong with them."""
    import distributed
    from dask import config, dataframe
    from soaking.clusters import PATIENT, killer, table

    import rffkern
    from rffkern.dask import DaskFourierBoostingClassifier

    splits, here, models, killed, wrong = {}, {}, {}, 0, []
    for seed in options.seeds:
        X, y = table(np.random.default_rng(seed), options.rows + 40_000)
        splits[seed] = X[: options.rows], (y > 0)[: options.rows], X[options.rows :], (y > 0)[options.rows :]
        here[seed] = rffkern.FourierBoostingClassifier(random_state=seed).fit(*splits[seed][:2])
    best = [accuracy(here[seed], *splits[seed][2:]) for seed in options.seeds]

    def show(*cells, found, maps="", bits=""):
        lower = [round(a - b, 2) for a, b in zip(best, found, strict=True)]
        cells += tuple(", ".join(f"{each:.2f}" for each in column) for column in (found, lower))
        print(f"| {' | '.join(map(str, (*cells, maps, bits)))} |", flush=True)
        return max(lower) > 0.3

    def train(cluster, client, seed, n_partitions, n_kills=0):
        X, y = (dataframe.from_pandas(each, npartitions=n_partitions) for each in splits[seed][:2])
        pids, callback = killer(cluster, np.random.default_rng([seed, n_partitions]), n_kills)
        model = DaskFourierBoostingClassifier(random_state=seed, client=client).fit(X, y, callback=callback).to_local()
        return model, len(pids)

    print(f"Accuracy of seeds {', '.join(map(str, options.seeds))}, and by how much it is lower than here:\n\n"
          "| partitions | workers | kills | accuracy | lower by | column map | bits |\n|---|---|---|---|---|---|---|")
    show("here", "", "", found=best)
    show("here, other seeds of the model", "", "", found=[
        accuracy(rffkern.FourierBoostingClassifier(random_state=seed + 1000).fit(X, y), others, labels)
        for seed, (X, y, others, labels) in splits.items()])
    for n_workers in (1, 2):
        with config.set(PATIENT), distributed.LocalCluster(n_workers=n_workers, **CLUSTER) as cluster, \
                distributed.Client(cluster) as client:
            for n_partitions in (1, 4, 13):
                found = {seed: train(cluster, client, seed, n_partitions)[0] for seed in splits}
                apart = [0.0 if rffkern.dumps(found[seed].column_map_) == rffkern.dumps(here[seed].column_map_) else
                         float(np.abs(found[seed].column_map_.transform(X) - here[seed].column_map_.transform(X)).max())
                         for seed, (_, _, X, _) in splits.items()]
                maps = "that of here" if not any(apart) else f"within {max(apart):.2g}"
                bits = {seed: rffkern.dumps(model) for seed, model in found.items()}
                same = models.setdefault(n_partitions, bits) == bits
                if show(n_partitions, n_workers, 0, maps=maps, bits="same" if same else "OTHER",
                        found=[accuracy(found[seed], *splits[seed][2:]) for seed in splits]):
                    wrong.append(f"{n_partitions} partitions: lower accuracy than here")
                if not same:
                    wrong.append(f"{n_partitions} partitions, {n_workers} workers: other bits")
                if n_partitions == 1 and any(apart):
                    wrong.append("one partition has another column map than here")
            for seed, n_partitions in itertools.cycle(itertools.product(splits, (4, 13))) if n_workers == 2 else ():
                model, n_kills = train(cluster, client, seed, n_partitions, 4)
                killed += n_kills
                same = rffkern.dumps(model) == models[n_partitions][seed]
                print(f"seed {seed}, {n_partitions} partitions, {n_kills} kills: {'same' if same else 'OTHER'} bits",
                      flush=True)
                if not same:
                    wrong.append(f"{n_partitions} partitions, seed {seed}: other bits after {n_kills} kills")
                if killed >= options.kills:
                    break
    print(f"{killed} kills; {'; '.join(wrong) or 'nothing is wrong'}")
    return wrong


def compare_sets(options):
    """Print accuracies of data sets in 4 partitions and here, of random splits whose test rows are a quarter."""
    import dask.array as da
    import distributed
    from common.data import load, permuted_split

    from rffkern import FourierBoostingClassifier
    from rffkern.dask import DaskFourierBoostingClassifier

    params = {"columns": None, "kernel_ridge": False}
    print(f"| seeds {', '.join(map(str, options.seeds))} | in 4 partitions | here |\n|---|---|---|")
    with distributed.LocalCluster(n_workers=1, processes=False, **CLUSTER) as cluster, \
            distributed.Client(cluster) as client:
        for name in options.sets.split(","):
            X, y = load(options.data, name)
            columns = [], []
            for seed in options.seeds:
                train, test, labels, expected = permuted_split(X, y, seed, len(y) // 4)
                size = -(-len(train) // 4)
                model = DaskFourierBoostingClassifier(random_state=seed, client=client, **params)
                model.fit(da.from_array(train, chunks=(size, -1)), da.from_array(labels, chunks=size))
                columns[0].append(accuracy(model.to_local(), test, expected))
                here = FourierBoostingClassifier(random_state=seed, **params).fit(train, labels)
                columns[1].append(accuracy(here, test, expected))
            print(f"| {name} | {' | '.join(', '.join(f'{each:.2f}' for each in column) for column in columns)} |",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["rffkern", "gbrff2", "lightgbm", "xgboost"], default="rffkern",
                        help="rffkern is Fourier boosting")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, help="400,000 by default, and 6,000 of --mixed")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kill", type=float, metavar="SECONDS", help="kill a worker so long after the fit begins")
    parser.add_argument("--cost-model", metavar="LOG", help="fit the costs of a round to a log, and measure nothing")
    parser.add_argument("--one-partition", action="store_true", help="compare one partition with the ordinary classes")
    parser.add_argument("--mixed", action="store_true", help="compare models of words, dates and gaps")
    parser.add_argument("--kills", type=int, default=20, help="of workers, for --mixed")
    parser.add_argument("--sets", metavar="NAME,NAME", help="compare models of data sets")
    parser.add_argument("--data", metavar="DIR", default=os.environ.get("RFFKERN_DATA"), help="of NAME.npz files")
    parser.add_argument("--seeds", metavar="FIRST-LAST", default="1-3", help="of --mixed and --sets")
    options = parser.parse_args()
    if options.cost_model:
        cost_model(options.cost_model, options.model)
        return
    from common.data import numbers_of

    options.seeds = numbers_of(options.seeds)
    options.rows = options.rows or (6_000 if options.mixed else 400_000)
    if options.mixed:
        sys.exit(bool(compare_mixed(options)))
    elif options.sets:
        compare_sets(options)
    elif options.one_partition:
        compare_one_partition(options.rows)
    else:
        print(json.dumps(measure(options)))


if __name__ == "__main__":
    main()
