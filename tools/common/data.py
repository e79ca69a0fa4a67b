"""Data sets, splits and scaling that the comparisons and experiments share."""

import os
import sys

import numpy as np

from common.tables import TABLE_GROUPS, TABLES, first_and_next, rows_of_table

MOST_TEST_ROWS = 20_000

# Groups of data sets: those of the ECML paper, larger ones of two classes, regressions, several classes, those of the
# page of benchmarks, and all with more than 2,000 training rows.
GROUPS = {
    "small": ["wine", "sonar", "newthyroid", "heart", "bupa", "iono", "wdbc", "balance", "australian", "pima",
              "vehicle", "german", "splice", "spambase", "occupancy"],
    "large": ["phoneme", "ringnorm", "eeg_eye_state", "electricity", "covtype_a", "higgs_11k", "spambase",
              "bankmarketing", "occupancy", "splice"],
    "targets": ["boston", "concrete", "energy", "kin8nm", "naval", "power_plant", "protein", "wine_quality_red",
                "yacht", "california", "cpu_act", "cpu_small", "ailerons", "kin40k", "sarcos_test"],
    "classes": ["pendigits", "sleep", "digits"],
    "page": ["heart", "pima", "german", "spambase", "phoneme", "ringnorm", "eeg_eye_state", "electricity", "covtype_a",
             "higgs_11k", "pendigits", "digits", "concrete", "energy", "kin8nm", "protein", "california", "cpu_act"],
    "many": ["ailerons", "bankmarketing", "california", "covtype8_107k", "covtype_a", "cpu_act", "cpu_small",
             "eeg_eye_state", "electricity", "higgs_11k", "kin40k", "kin8nm", "naval", "occupancy", "pendigits",
             "phoneme", "power_plant", "protein", "ringnorm", "sarcos_test", "sleep", "spambase", "splice"],
}


def load(folder, name):
    """Rows and targets of a file NAME.npz, of scikit-learn's digits, or generated: `blobs_30k` has 30,000 rows."""
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    if name.startswith("blobs_"):  # normal clusters of two classes in 8 informative columns of 20
        from sklearn.datasets import make_classification

        return make_classification(1000 * int(name[6:-1]), 20, n_informative=8, random_state=0)
    if folder is None:
        sys.exit(f"--data must be the folder of {name}.npz; python tools/data.py list says where to get it")
    path = os.path.join(folder, f"{name}.npz")
    if not os.path.exists(path):
        sys.exit(f"{path}: no such data set; python tools/data.py list says where to get it")
    with np.load(path, allow_pickle=False) as archive:
        return archive["X"], archive["y"]


def names_of(text):
    """Data sets of a comma-separated list of names and groups, each once."""
    return list(dict.fromkeys(name for part in text.split(",")
                              for name in (GROUPS | TABLE_GROUPS).get(part, [part])))


def numbers_of(text):
    """The whole numbers of FIRST-LAST, or one alone."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def split(X, y, seed, scheme="authors", test_size=0.3):
    """A stratified split: by the authors' protocol, in which NumPy's global generator serves split and folds."""
    from sklearn.model_selection import train_test_split

    if scheme == "seeded":
        return train_test_split(X, y, test_size=test_size, stratify=y, random_state=seed)
    np.random.seed(seed)  # noqa: NPY002  (that is the protocol)
    return train_test_split(X, y, test_size=test_size, stratify=y)


def permuted_split(X, y, seed, n_test):
    """Training rows, test rows and the targets of both, by a permutation."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[:n_test], order[n_test:]
    return X[train], X[test], y[train], y[test]


def rows_of(folder, name, seed, most_rows):
    """Training rows, test rows and the targets of both, classes as 0, 1, ...; 70 % of the rows are for training.

    Of NAME:lastN the first N per cent, and the next 20 % are test rows: for files whose rows are in order of time.
    """
    if name.partition(":")[0] in TABLES:
        return rows_of_table(name, seed, most_rows)
    name, _, variant = name.partition(":")
    X, y = load(folder, name)
    if variant:  # rows in order of time
        y = y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]
        train, test = first_and_next(np.arange(min(len(y), most_rows)), variant)
        return X[train], X[test], y[train], y[test]
    if y.dtype.kind == "f":
        X, X_test, y, y_test = permuted_split(X, y, seed, len(y) - min(most_rows, int(0.7 * len(y))))
    else:
        y = np.unique(y, return_inverse=True)[1]
        if len(y) > 1.5 * most_rows:
            some = np.random.default_rng(seed).permutation(len(y))[: int(most_rows / 0.7) + MOST_TEST_ROWS]
            some.sort()
            X, X_test, y, y_test = split(X[some], y[some], seed, "seeded", 1 - most_rows / len(some))
        else:
            X, X_test, y, y_test = split(X, y, seed, "seeded")
    return X, X_test[:MOST_TEST_ROWS], y, y_test[:MOST_TEST_ROWS]


def standardised(X, *others):
    """All arrays minus the mean of the columns of the first, divided by its standard deviation."""
    spread = X.std(axis=0)
    return [(array - X.mean(axis=0)) / np.where(spread > 0, spread, 1) for array in (X, *others)]
