"""What a round of GBRFF2 on a cluster costs: a model fitted to 1, 2 and 4 worker processes here, and what it foretells.

python tools/dask_costs.py --measure costs.json      processor time of rounds here, and the model that follows
python tools/dask_costs.py --foretell costs.json     rounds on clusters of other sizes

The model is of processor time, which other work on the machine hardly changes.  A round takes

    (rows x (a + b columns)) / (machines x threads) + c partitions / machines    on the workers, side by side
    + d + e partitions                                                            on the client and the scheduler
    + bytes / bandwidth + questions x latency                                     on the wire

a to e come from least squares; bytes and questions are those that docs/dask.md counts.
"""

import argparse
import json
import time
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from rffkern.dask import DaskGBRFF2Classifier

MAX_SAMPLES, QUESTIONS, PROTOCOL_BYTES = 16384, 2, 1000
FIRST, LAST = 4, 16  # rounds that are measured


class Case(NamedTuple):
    """What a round was measured on, and its seconds of processor time."""

    n_workers: int
    n_rows: int
    n_columns: int
    n_partitions: int
    on_workers: float = 0.0
    on_client: float = 0.0


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
        if info.n_rounds in (FIRST, LAST):
            here = time.process_time()
            marks[info.n_rounds] = sum(client.run(time.process_time).values()), here

    DaskGBRFF2Classifier(LAST, random_state=0, n_threads=1, client=client).fit(X, y, callback=mark)
    workers, here = np.subtract(marks[LAST], marks[FIRST]) / (LAST - FIRST)
    return case._replace(on_workers=float(workers), on_client=float(here))


def measure(path):
    """Measure all cases, and write them."""
    cases = []
    for n_workers in (1, 2, 4):
        with LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as workers, \
                Client(workers) as client:
            for n_rows, n_columns, n_partitions in ((200_000, 10, 4), (800_000, 10, 4), (800_000, 40, 4),
                                                    (200_000, 10, 32)):
                cases.append(measured(client, Case(n_workers, n_rows, n_columns, n_partitions)))
                print(cases[-1], flush=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(cases, file)


def fitted(cases):
    """The costs a to e, in seconds, and the median error of the model in percent."""
    workers = np.array([(c.n_rows, c.n_rows * c.n_columns, c.n_partitions) for c in cases], dtype=float)
    client = np.array([(1, c.n_partitions) for c in cases], dtype=float)
    costs, errors = [], []
    for columns, found in ((workers, [c.on_workers for c in cases]), (client, [c.on_client for c in cases])):
        relative = columns / np.array(found)[:, None]  # so that short rounds count as long ones do
        solution = np.linalg.lstsq(relative, np.ones(len(cases)), rcond=None)[0]
        costs += solution.tolist()
        errors.append(100 * float(np.median(np.abs(relative @ solution - 1))))
    return costs, errors


def parts_of_round(costs, n_rows, n_columns, cluster):
    """Seconds of a round: of the workers, of client and scheduler, of the wire."""
    a, b, c, d, e = costs
    n_partitions = cluster.n_machines * cluster.partitions
    workers = n_rows * (a + b * n_columns) / (cluster.n_machines * cluster.n_threads) + c * cluster.partitions
    wire = bytes_of_round(n_columns, n_partitions) / cluster.bandwidth + QUESTIONS * cluster.latency
    return workers, d + e * n_partitions, wire


def foretell(path):
    """Print the model, and a table of rounds elsewhere."""
    with open(path, encoding="utf-8") as file:
        cases = [Case(*case) for case in json.load(file)]
    costs, errors = fitted(cases)
    print("a {:.2f} ns a row, b {:.3f} ns a number, c {:.2f} ms a partition; d {:.1f} ms, e {:.2f} ms a partition"
          .format(*np.array(costs) * (1e9, 1e9, 1e3, 1e3, 1e3)))
    print("median error: {:.0f} % on the workers, {:.0f} % on the client".format(*errors))
    print("| rows | columns | machines x threads | partitions | workers | client, scheduler | wire | round | "
          "200 rounds |")
    for n_rows, n_machines, partitions in ((10**8, 10, 1), (10**9, 10, 1), (10**9, 100, 1), (10**10, 100, 1),
                                           (10**10, 100, 16)):
        cluster = Cluster(n_machines, 16, partitions, 1.25e9, 5e-4)
        seconds = parts_of_round(costs, n_rows, 20, cluster)
        total = sum(seconds)
        print(f"| {n_rows:,} | 20 | {n_machines} x 16 | {n_machines * partitions} | "
              + " | ".join(f"{1e3 * each:,.0f} ms" for each in (*seconds, total)) + f" | {200 * total / 60:.1f} min |")


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
