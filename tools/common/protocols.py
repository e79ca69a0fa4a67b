"""Data sets, splits and scaling that the experiments share."""

import os

import numpy as np


def load(folder, name):
    """Rows and targets: generated ones, whose names end in thousands of rows, or those of a file NAME.npz."""
    kind, _, thousands = name.rpartition("_")
    if kind in ("blobs2", "blobs8"):  # normal clusters in 2 or 8 informative columns of 20
        from sklearn.datasets import make_classification

        return make_classification(1000 * int(thousands[:-1]), 20, n_informative=int(kind[-1]), random_state=0)
    if kind == "waves":
        rng = np.random.default_rng(0)
        X = rng.standard_normal((1000 * int(thousands[:-1]), 5))
        return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X)) > 0
    path = os.path.join(folder, f"{name}.npz")
    if not os.path.exists(path):
        known = sorted(each[:-4] for each in os.listdir(folder) if each.endswith(".npz"))
        raise FileNotFoundError(f"{path}: no such data set; the folder has {', '.join(known) or 'none'}")
    with np.load(path, allow_pickle=False) as archive:
        return archive["X"], archive["y"]


def feature_names(folder, name):
    """Names of the columns of a data set."""
    with np.load(os.path.join(folder, f"{name}.npz"), allow_pickle=False) as archive:
        return archive["feature_names"].tolist()


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


def standardised(X, *others):
    """All arrays minus the mean of the columns of the first, divided by its standard deviation."""
    spread = X.std(axis=0)
    return [(array - X.mean(axis=0)) / np.where(spread > 0, spread, 1) for array in (X, *others)]
