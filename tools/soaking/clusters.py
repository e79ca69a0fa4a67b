"""A cluster of Dask whose workers are killed at random moments of a training: the model has the same bits.

The table has words, dates and missing values; a new worker starts in the place of each that is killed, and opens its
partitions anew.  The job needs dask, distributed and pandas, and takes some ten seconds of processor time a case.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import rffkern

N_KILLS, CALL_SECONDS = 5, 900
N_ROWS, _FIRST_ROUNDS = 800, 25

# A cluster of this machine would give up a worker that is killed again while it starts, so long after the first time.
PATIENT = {"distributed.deploy.lost-worker-timeout": "1 day"}


def lost_workers(rng, folder):
    """A fit during which workers are killed gives the bits of one without, and leaves nothing on the cluster."""
    command = [sys.executable, __file__, str(rng.integers(1 << 30)), str(folder)]  # a fork cannot start a cluster
    try:
        done = subprocess.run(command, timeout=CALL_SECONDS, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return f"seed {command[2]}: no end after {CALL_SECONDS} s"
    return None if done.returncode == 0 else f"seed {command[2]}: {(done.stdout + done.stderr)[-2000:]}"


def _train(seed, folder):
    """What is wrong with trainings without and with kills, or None."""
    import distributed
    from dask import config, dataframe

    from rffkern import dask as on_dask

    rng = np.random.default_rng(seed)
    frame, y = table(rng, N_ROWS)
    name = rng.choice(["DaskFourierBoostingClassifier", "DaskFourierBoostingRegressor"])
    X, y = (dataframe.from_pandas(each, npartitions=5) for each in (frame, y > 0 if "Classifier" in name else y))
    models = []
    with config.set(PATIENT), distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder) as cluster, \
            distributed.Client(cluster) as client:
        for n_kills in (0, N_KILLS):
            killed, callback = killer(cluster, rng, n_kills)
            model = getattr(on_dask, name)(60, n_bags=2, max_samples=256, random_state=0, client=client)
            models.append(rffkern.dumps(model.fit(X, y, callback=callback).to_local()))
            print(f"{len(killed)} kills")
            deadline = time.monotonic() + 60
            while client.futures and time.monotonic() < deadline:  # which the client releases in its own time
                time.sleep(0.1)
            if client.futures or (n_kills and not killed):
                return f"{len(client.futures)} futures are left after {len(killed)} kills"
    return None if models[0] == models[1] else f"other bits after {N_KILLS} kills"


def killer(cluster, rng, n_kills):
    """The processes that were killed, and a callback that kills: one soon, others in random rounds."""
    killed, n_calls, rounds = [], [0], rng.choice(_FIRST_ROUNDS, max(0, n_kills - 1), replace=False)

    def kill():
        # A nanny gives up a worker that dies while it starts.
        pids = [nanny.pid for nanny in cluster.workers.values()
                if nanny.process is not None and nanny.process.status.name == "running"]
        if pids:
            killed.append(int(rng.choice(pids)))
            os.kill(killed[-1], signal.SIGKILL)

    def callback(info):
        if n_calls[0] in rounds:
            kill()
        n_calls[0] += 1

    if n_kills:
        threading.Timer(rng.uniform(0, 2), kill).start()  # while columns are counted
    return killed, callback


def table(rng, n_rows):
    """Rows of numbers, words and dates, with gaps, and their targets."""
    import pandas as pd

    size, colour = rng.standard_normal(n_rows), rng.choice(["red", "green", "blue"], n_rows)
    frame = pd.DataFrame({
        "size": np.where(rng.random(n_rows) < 0.1, np.nan, size),
        "colour": np.where(rng.random(n_rows) < 0.1, None, colour),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")})
    return frame, pd.Series(size + (colour == "red") + 0.3 * rng.standard_normal(n_rows), name="y")


if __name__ == "__main__":
    sys.exit(_train(int(sys.argv[1]), sys.argv[2]))
