"""Generated sets of two classes, each with 500 rows to learn from."""

import numpy as np

N_TRAIN, N_TEST = 500, 10_000


def moons(rng, n):
    """Two half circles with noise."""
    y = rng.integers(0, 2, n)
    angle = np.pi * rng.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] = [1, 0.5] - X[y == 1]
    return X + 0.25 * rng.standard_normal((n, 2)), y


def spirals(rng, n):
    """Two arms of two turns."""
    y = rng.integers(0, 2, n)
    turn = np.sqrt(rng.uniform(0.01, 1, n))
    angle = 4 * np.pi * turn + np.pi * y
    return np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) + 0.01 * rng.standard_normal((n, 2)), y


def board(rng, n, n_noise=0):
    """A 4 x 4 checkerboard, and columns of noise."""
    X = rng.uniform(0, 4, (n, 2 + n_noise))
    return X, np.floor(X[:, :2]).sum(axis=1).astype(int) % 2


TOYS = {"moons": moons, "spirals": spirals, "board": board, "board-noise": lambda rng, n: board(rng, n, 3)}


def toy(name, seed):
    """Training rows, test rows and the classes of both."""
    rng = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = (TOYS[name](rng, n) for n in (N_TRAIN, N_TEST))
    return X, X_test, y, y_test
