"""What a round of GBRFF2 on a cluster costs: a model fitted to 1, 2 and 4 worker processes here, and what it foretells.

python tools/dask_costs.py --measure costs.json      processor time of rounds here, and the model that follows
python tools/dask_costs.py --foretell costs.json     rounds on clusters of other sizes

The model is of processor time, which other work on the machine hardly changes.  A round takes

    rows (a + b columns) / (machines x threads) + c partitions / machines + f     on the workers, side by side
    + d + e partitions + g columns                                                on the client and the scheduler
    + bytes / bandwidth + questions x latency                                     on the wire

and what precedes the first round h for each number.  All of them come from least squares, and none is below 0; bytes
and questions are those that docs/dask.md counts.  Rows are in the memory of the workers before that.
"""

import argparse
import json
import time
from types import SimpleNamespace
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from rffkern.dask import DaskGBRFF2Classifier

MAX_SAMPLES, QUESTIONS, PROTOCOL_BYTES = 16384, 2, 1000
THREADS, BANDWIDTH, LATENCY = 16, 1.25e9, 5e-4  # of a machine; bytes a second at the client; seconds there and back
FIRST, LAST = 4, 44  # rounds that are measured


class Case(NamedTuple):
    """What rounds were measured on, and their seconds of processor time."""

    n_workers: int
    n_rows: int
    n_columns: int
    n_partitions: int
    on_workers: float = 0.0
    on_client: float = 0.0
    start: float = 0.0  # on workers, before the first round


class Costs(NamedTuple):
    """Seconds of processor time; see above."""

    a: float
    b: float
    c: float
    f: float
    d: float
    e: float
    g: float
    h: float


class Cluster(NamedTuple):
    """What is assumed of a cluster."""

    n_machines: int
    n_threads: int  # of each machine
    partitions: int  # of each machine
    bandwidth: float  # bytes per second at the client
    latency: float  # seconds there and back


def bytes_of_round(n_columns, n_partitions, max_samples=MAX_SAMPLES):
    """A term to each partition and sums back, for each question, and the sample of the round."""
    return QUESTIONS * n_partitions * (8 * (n_columns + 2) + PROTOCOL_BYTES) + max_samples * 4 * (n_columns + 1)


def measured(client, case):
    """A case with the seconds of its rounds."""
    X = da.random.default_rng(0).standard_normal((case.n_rows, case.n_columns), dtype=np.float32,
                                                 chunks=(case.n_rows // case.n_partitions, case.n_columns))
    X, y = dask.persist(X, (X[:, 0] * X[:, 1] > 0).astype(np.int8))
    marks = {}

    def mark(info):
        if info.n_rounds in (0, FIRST, LAST):
            here = time.process_time()
            marks[info.n_rounds] = np.array([sum(client.run(time.process_time).values()), here])

    mark(SimpleNamespace(n_rounds=0))
    DaskGBRFF2Classifier(LAST, random_state=0, n_jobs=1, client=client).fit(X, y, callback=mark)
    workers, here = (marks[LAST] - marks[FIRST]) / (LAST - FIRST)
    start = marks[FIRST][0] - marks[0][0] - FIRST * workers
    return case._replace(on_workers=float(workers), on_client=float(here), start=float(start))


def measure(path):
    """Measure all cases, and write them."""
    cases = []
    for n_workers in (1, 2, 4):
        with LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as workers, \
                Client(workers) as client:
            for n_rows, n_columns, n_partitions in ((200_000, 10, 4), (1_600_000, 10, 4), (1_600_000, 40, 4),
                                                    (200_000, 10, 32), (200_000, 10, 128), (200_000, 40, 4)):
                cases.append(measured(client, Case(n_workers, n_rows, n_columns, n_partitions)))
                print(cases[-1], flush=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(cases, file)


def least_squares(columns, found):
    """Costs of at least 0 that explain what was found best, in shares of it, and the median error in percent."""
    relative = np.array(columns, dtype=float) / np.array(found)[:, None]  # so that short rounds count as long ones do
    costs, used = np.zeros(relative.shape[1]), np.ones(relative.shape[1], dtype=bool)
    while True:
        costs[used] = np.linalg.lstsq(relative[:, used], np.ones(len(found)), rcond=None)[0]
        if (costs >= 0).all():
            return costs.tolist(), 100 * float(np.median(np.abs(relative @ costs - 1)))
        used[np.argmin(costs)] = False
        costs[~used] = 0


def fitted(cases):
    """The costs, and the errors in percent of workers, client and start."""
    workers, at_workers = least_squares([(c.n_rows, c.n_rows * c.n_columns, c.n_partitions, c.n_workers)
                                         for c in cases], [c.on_workers for c in cases])
    client, at_client = least_squares([(1, c.n_partitions, c.n_columns) for c in cases], [c.on_client for c in cases])
    many = [c for c in cases if c.n_rows > 10**6]  # in which rows take most of the time
    start, at_start = least_squares([(c.n_rows * c.n_columns,) for c in many], [c.start for c in many])
    return Costs(*workers, *client, *start), (at_workers, at_client, at_start)


def parts_of_round(costs, n_rows, n_columns, cluster):
    """Seconds of a round: of the workers, of client and scheduler, of the wire."""
    n_partitions = cluster.n_machines * cluster.partitions
    workers = (n_rows * (costs.a + costs.b * n_columns) / (cluster.n_machines * cluster.n_threads)
               + costs.c * cluster.partitions + costs.f)
    wire = bytes_of_round(n_columns, n_partitions) / cluster.bandwidth + QUESTIONS * cluster.latency
    return workers, costs.d + costs.e * n_partitions + costs.g * n_columns, wire


def foretell(path):
    """Print the model, and a table of fits elsewhere."""
    with open(path, encoding="utf-8") as file:
        cases = [Case(*case) for case in json.load(file)]
    costs, errors = fitted(cases)
    print("workers: a {:.1f} ns a row, b {:.2f} ns a number, c {:.2f} ms a partition, f {:.1f} ms; client and "
          "scheduler: d {:.1f} ms, e {:.3f} ms a partition, g {:.2f} ms a column; start: h {:.1f} ns a number"
          .format(*np.array(costs) * (1e9, 1e9, 1e3, 1e3, 1e3, 1e3, 1e3, 1e9)))
    print("median error: {:.0f} % on the workers, {:.0f} % on the client, {:.0f} % of the start".format(*errors))
    print("| rows | columns | machines x threads | partitions | workers | client, scheduler | wire | round | "
          "200 rounds and start | memory speed |\n" + "|---" * 10 + "|")
    for n_rows, n_columns, n_machines, partitions in (
            (10**8, 20, 10, 1), (10**9, 20, 10, 1), (10**9, 20, 100, 1), (10**10, 20, 100, 1), (10**10, 20, 100, 16),
            (10**10, 100, 100, 1), (10**9, 20, 1000, 1)):
        cluster = Cluster(n_machines, THREADS, partitions, BANDWIDTH, LATENCY)
        seconds = parts_of_round(costs, n_rows, n_columns, cluster)
        start = costs.h * n_rows * n_columns / (n_machines * THREADS)
        speed = n_rows * 4 * n_columns / n_machines / seconds[0]
        print(f"| {n_rows:,} | {n_columns} | {n_machines} x {THREADS} | {n_machines * partitions} | "
              + " | ".join(f"{1e3 * each:,.0f} ms" for each in (*seconds, sum(seconds)))
              + f" | {200 * sum(seconds) + start:,.0f} s | {speed / 1e9:.0f} GB/s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", metavar="FILE")
    parser.add_argument("--foretell", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
    if arguments.foretell or arguments.measure:
        foretell(arguments.foretell or arguments.measure)


if __name__ == "__main__":
    main()
