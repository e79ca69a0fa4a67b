"""Whether one thread is all that a fit takes: `python run_times.py` prints the names of families of which it is not.

A program, because libraries read their numbers of threads when they are loaded.
"""

import os
import time

import numpy as np

from helpers.families import known, quick
from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Regressor

N_ROWS, N_COLUMNS = 12_000, 40  # for fewer BLAS takes one thread by itself


def run_times():
    """Nanoseconds that each other thread of this process has run, as Linux counts them."""
    times = {}
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
                times[thread] = file.read().split()[0]
    return times


def at_rest():
    """The same once no thread runs any more: those of BLAS wait in a loop for a while before they sleep."""
    before = None
    while (now := run_times()) != before:
        before = now
        time.sleep(0.2)
    return now


def main():
    """Print `control` where BLAS tells nothing, for it has no threads, or takes them for as little as the systems of
    twenty unknowns that the landmarks of GBRFF solve; then the families whose fits wake a thread."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    target = X[:, 0] * X[:, 1] + rng.standard_normal(N_ROWS)
    before, matrix = at_rest(), rng.standard_normal((500, 500))
    matrix @ matrix
    after = at_rest()
    np.linalg.solve(matrix[:20, :20], matrix[:20, :1])
    if after == before or run_times() != after:
        print("control")
    for name, entry in FAMILIES.items():
        family = entry.load()
        few = known(family, n_estimators=5, n_landmarks=50, n_components=20, max_epochs=1, kernel_ridge=True, n_jobs=1)
        y = target if issubclass(family, Regressor) else target > 0
        weights = {} if entry.task == "transformer" else {"sample_weight": rng.uniform(0.5, 2, N_ROWS)}
        model = family(**quick(family) | few)
        before = at_rest()
        model.fit(X, y, **weights)
        if run_times() != before:
            print(name)


if __name__ == "__main__":
    main()
