"""What papers name as next, each measured once: greedy kernel learning, and a penalty for landmarks that are alike.

Neither is in the package: the figures say why.
"""

import numpy as np
from common.data import standardised
from papers import figures
from papers.experiment import Experiment, cells, curves
from papers.landmarks import (
    FEW,
    FEW_2019,
    FEW_SETS,
    QUICK_SETS,
    SQUARES,
    gamma_2019,
    gamma_grid,
    run_ecml,
    split_2019,
)
from papers.peers import judge

# --- greedy kernel learning

N_CANDIDATES = 2000  # frequencies that the posterior is over


class DrawnFrequencies:
    """A linear SVM on sines and cosines of frequencies that are drawn from one pseudo-posterior.

    The second method of Letarte, Morvant and Germain (2019): candidates from the spectral density have the loss 1/2 -
    1/2 mean of y_i y_k cos(omega . (x_i - x_k)) over pairs of rows, which is that of two squared sums, and are drawn
    with a chance proportional to exp(-beta sqrt(n) loss).  With beta = 0 they are random Fourier features.
    """

    def __init__(self, betas):
        self.betas = betas

    def grid(self, n_features):
        return [{"gamma": gamma, "beta": beta, "C": 10.0**k} for gamma in gamma_grid(n_features)
                for beta in self.betas for k in (-1, 0, 1)]

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of frequencies."""
        from sklearn.svm import LinearSVC

        X, X_test = standardised(X, X_test)
        (n, d), positive, rng = X.shape, np.unique(y)[1], np.random.default_rng(1)
        signs, omegas = np.where(y == positive, 1.0, -1.0), rng.standard_normal((N_CANDIDATES, d))
        omegas *= np.sqrt(2 * params["gamma"])
        angles = X @ omegas.T
        alignment = ((signs @ np.cos(angles)) ** 2 + (signs @ np.sin(angles)) ** 2 - n) / (n * (n - 1))
        chances = np.exp(0.5 * params["beta"] * np.sqrt(n) * (alignment - alignment.max()))
        drawn = rng.choice(N_CANDIDATES, sizes[-1], p=chances / chances.sum())
        found = []
        for size in sizes:
            some = omegas[drawn[:size]].T
            features, test = (np.hstack([np.cos(rows @ some), np.sin(rows @ some)]) for rows in (X, X_test))
            machine = LinearSVC(C=params["C"], dual=False).fit(features, signs)
            found.append(judge(machine.decision_function(test), y_test == positive))
        return found


DRAWN = {"random": DrawnFrequencies([0.0]), "greedy": DrawnFrequencies([1.0, 10.0, 100.0])}


# --- diverse landmarks

FEW_LANDMARKS = FEW_2019[:-1]
N_FREQUENCIES, BETA, RATE = 100, 16.0, 0.5  # of a landmark; the others are the package's


def fit_diverse(X, y, penalty, rng):
    """GBRFF of 2019 with a penalty on landmarks that are like earlier ones: its constant, and frequencies, landmark and
    amplitudes of each round.

    A landmark x minimises the mean of (r_i - k(x_i, x))^2 plus `penalty` times the mean of k(z, x) over the landmarks z
    before it, with k the mean of the cosines that were drawn.
    """
    from scipy.optimize import minimize

    (n, d), before, rounds = X.shape, [], []
    H = np.full(n, y.mean())
    for _ in range(FEW_LANDMARKS[-1]):
        omegas = np.sqrt(2 * gamma_2019(d)) * rng.standard_normal((N_FREQUENCIES, d))
        r = y - H
        r /= np.sqrt((r**2).mean())

        def objective(x, r=r, omegas=omegas):
            angles = (x - X) @ omegas.T
            z, slopes = np.cos(angles).mean(axis=1), -np.sin(angles) @ omegas / N_FREQUENCIES
            value, gradient = ((r - z) ** 2).mean(), -2 * (r - z) @ slopes / n
            if before and penalty:
                angles = (x - np.array(before)) @ omegas.T
                value += penalty * np.cos(angles).mean()
                gradient = gradient - penalty * (np.sin(angles) @ omegas).mean(axis=0) / N_FREQUENCIES
            return value, gradient

        landmark = minimize(objective, X[rng.integers(n)], jac=True, method="L-BFGS-B", options={"maxiter": 30}).x
        before.append(landmark)
        cosines = np.cos((X - landmark) @ omegas.T)
        losses = ((r[:, None] - cosines) ** 2).mean(axis=0)
        q = np.exp(-BETA * (losses - losses.min()))
        h = cosines @ q / q.sum()
        step = RATE * ((y - H) @ h) / (h @ h)
        H = H + step * h
        rounds.append((omegas, landmark, step * q / q.sum()))
    return y.mean(), rounds


def run_diverse(folder, cell):
    X, X_test, y, y_test = split_2019(folder, cell)
    positive = np.unique(y)[1]
    H, rounds = fit_diverse(X, np.where(y == positive, 1.0, -1.0), float(cell["method"].split()[1]),
                            np.random.default_rng(cell["seed"]))
    found = []
    for omegas, landmark, amplitudes in rounds:
        H = H + np.cos((X_test - landmark) @ omegas.T) @ amplitudes
        found.append(100 * float(np.mean((H > 0) == (y_test == positive))))
    return {"curve": [found[size - 1] for size in FEW_LANDMARKS]}


EXPERIMENTS = {
    "greedy-kernels": Experiment(
        "Greedy kernel learning: accuracy with few frequencies",
        lambda seeds, quick: cells(seeds, set=QUICK_SETS[:1] if quick else FEW_SETS, method=list(DRAWN)),
        lambda folder, cell: run_ecml(folder, cell, FEW, DRAWN), lambda records: curves(records, FEW, "frequencies"),
        draw=lambda records: figures.curves(records, FEW, "frequencies")),
    "diverse-landmarks": Experiment(
        "GBRFF of 2019 with a penalty for landmarks like earlier ones: accuracy",
        lambda seeds, quick: cells(seeds, set=QUICK_SETS[:1] if quick else list(SQUARES["GBRFF"]),
                                   method=[f"penalty {value}" for value in (0, 0.1, 1, 10)]),
        run_diverse, lambda records: curves(records, FEW_LANDMARKS, "landmarks"),
        draw=lambda records: figures.curves(records, FEW_LANDMARKS, "landmarks")),
}
