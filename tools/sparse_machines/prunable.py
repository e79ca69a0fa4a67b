"""How many basis vectors of sparse kernel machines could be left out within an error of the scores.

    python tools/sparse_machines/prunable.py --data DIR

A kernel is at most 1, so that to leave out basis vectors changes a score by at most the sum of the magnitudes of their
weights.  For each data set, on 1,500 rows: the number of basis vectors, and how many of least weight have together at
most 1e-4, 1e-3 and 1e-2 of the spread of the target (for classes 1, half of the distance of labels).
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common.one_thread  # noqa: F401  (before numpy)
import numpy as np

import rffkern

SETS = "phoneme", "california", "kin8nm", "spambase"
ERRORS = 1e-4, 1e-3, 1e-2
MOST_CLASSES = 20


def main():
    """Print a line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", required=True, help="folder of NAME.npz files")
    folder = parser.parse_args().data
    print(f"{'set':12s}{'vectors':>9s}" + "".join(f"{error:>9g}" for error in ERRORS))
    for name in SETS:
        with np.load(os.path.join(folder, f"{name}.npz"), allow_pickle=False) as archive:
            X, y = archive["X"], archive["y"]
        rows = np.random.default_rng(61).permutation(len(X))[:1500]
        is_class = len(np.unique(y)) < MOST_CLASSES
        kind = rffkern.SparseKernelClassifier if is_class else rffkern.SparseKernelRegressor
        expansion = kind(200, random_state=0).fit(X[rows], y[rows]).expansion_
        largest = np.sort(np.abs(expansion.weights).max(axis=1)) / (1 if is_class else y[rows].std())
        found = [int((np.cumsum(largest) <= error).sum()) for error in ERRORS]
        print(f"{name:12s}{len(largest):9d}" + "".join(f"{count:9d}" for count in found), flush=True)


if __name__ == "__main__":
    main()
