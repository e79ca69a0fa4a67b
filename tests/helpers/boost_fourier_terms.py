"""Fourier terms of boosting: problems, calls of the kernels, and their twins in plain NumPy."""

import numpy as np
from hypothesis import strategies as st

from rffkern._native import boosting, solvers

TILE = 128


def objective(X, gradient, weight, omega, reg_lambda, mu):
    """Value, its gradient and amplitudes (2, n_outputs) at omega, in double precision."""
    rows = weight > 0
    X, G, w = X[rows].astype(float), gradient[:, rows].astype(float), weight[rows].astype(float)
    W = w.sum()
    C, S = np.cos(X @ omega), np.sin(X @ omega)
    centred_c, centred_s = C - w @ C / W, S - w @ S / W
    centred = np.array([centred_c, centred_s])
    matrix = (w * centred) @ centred.T
    residual = G - w * (G.sum(axis=1, keepdims=True) / W)
    products = np.array([residual @ centred_c, residual @ centred_s])
    amplitudes = np.linalg.solve(matrix + mu * W * np.eye(2), products)
    total = np.sum(residual**2 / w)
    fitted = amplitudes[0][:, None] * centred_c + amplitudes[1][:, None] * centred_s
    along = np.sum((residual - w * fitted) * (amplitudes[1][:, None] * C - amplitudes[0][:, None] * S), axis=0)
    value = 1 - np.sum(amplitudes * products) / total + reg_lambda * omega @ omega
    return value, -2 / total * (X.T @ along) + 2 * reg_lambda * omega, amplitudes


class TermProblem:
    """Rows of boosting with padding, and a Fourier term on some of their columns."""

    def __init__(self, seed, n_rows, n_columns, n_outputs=1, weighted=True, size=None):
        rng = np.random.default_rng(seed)
        self.n_tiles = (n_rows + TILE - 1) // TILE
        n = TILE * self.n_tiles
        self.columns = np.ascontiguousarray(rng.standard_normal((n_columns, n)), np.float32)
        self.weight = np.zeros(n, np.float32)
        self.weight[:n_rows] = rng.uniform(0.2, 3, n_rows) if weighted else 1
        self.subset = rng.permutation(n_columns)[: size or max(1, n_columns // 2)].astype(np.intp)
        self.omega = rng.standard_normal(self.subset.size) / np.sqrt(self.subset.size)
        signal = np.cos(self.columns[self.subset].T @ (1.1 * self.omega) - 1)
        gradient = rng.standard_normal((n_outputs, 1)) * signal + 0.5 * rng.standard_normal((n_outputs, n)) + 0.3
        self.gradient = (gradient * self.weight).astype(np.float32)
        self.first_tile, self.mu, self.reg_lambda = 0, 0.01, 0.01
        self.search = solvers.LBFGS(self.subset.size, 10, 1e-9, 1e-5, 1e-6)

    @property
    def n_outputs(self):
        return len(self.gradient)

    @property
    def rows(self):
        return slice(TILE * self.first_tile, TILE * (self.first_tile + self.n_tiles))

    def twin(self, omega=None):
        omega = self.omega if omega is None else omega
        return objective(self.columns[self.subset][:, self.rows].T, self.gradient[:, self.rows], self.weight[self.rows],
                         omega, self.reg_lambda, self.mu)

    def memory(self):
        """Scratch arrays, filled with what no function may read."""
        return (np.full(boosting.scratch_size(self.subset.size, self.n_tiles), np.nan, np.float32),
                np.full(boosting.sums_size(self.subset.size, self.n_outputs), np.nan))

    def objective(self, omega=None):
        gradient, amplitudes = np.empty(self.subset.size), np.empty((2, self.n_outputs))
        omega = self.omega if omega is None else omega
        value = boosting.term_objective(self.columns, self.gradient, self.weight, self.subset, omega,
                                        self.reg_lambda, self.mu, self.first_tile, self.n_tiles, gradient, amplitudes,
                                        *self.memory())
        return value, gradient, amplitudes

    def descend(self):
        omega, amplitudes = self.omega.copy(), np.empty((2, self.n_outputs))
        value = boosting.descend_term(self.search, self.columns, self.gradient, self.weight, self.subset, omega,
                                      self.reg_lambda, self.mu, self.first_tile, self.n_tiles, 0.1, amplitudes,
                                      *self.memory())
        return value, omega, amplitudes

    def choose(self, omegas, reg_lambdas):
        values, n_columns = np.empty(len(omegas)), len(self.columns)
        best = boosting.choose_term(self.columns, self.gradient, self.weight, omegas, reg_lambdas, self.mu,
                                    self.first_tile, self.n_tiles, values, np.empty(n_columns, np.intp),
                                    np.full(boosting.sums_size(n_columns, self.n_outputs), np.nan))
        return best, values

    def evaluate(self, amplitudes, n_threads=1):
        out = np.empty((self.n_outputs, self.columns.shape[1]), np.float32)
        boosting.evaluate_term(self.columns, self.subset, self.omega, amplitudes, out, n_threads)
        return out


def term_problems(**fixed):
    """Few rows and many, around the edges of tiles and of blocks of four tiles."""
    choices = {"seed": st.integers(0, 999), "n_rows": st.sampled_from([5, 127, 128, 129, 511, 512, 513, 1300]),
               "n_columns": st.integers(1, 9), "n_outputs": st.sampled_from([1, 1, 2, 5]), "weighted": st.booleans()}
    return st.builds(TermProblem, **choices | {name: st.just(value) for name, value in fixed.items()})
