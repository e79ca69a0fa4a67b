"""Kernel-side form of plain rows, made by NumPy alone, for tests that compare kernels with their twins."""

import numpy as np
from hypothesis import strategies as st

from rffkern._native import gbrff, scoring, solvers

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-11}
DTYPES = (np.float32, np.float64)
TILE = scoring.TILE_ROWS

# Around the edges of a tile (128 rows) and of the rows whose sums are added together (2048), and none of these.
SIZES = (1, 2, 3, 127, 128, 129, 300, 2047, 2048, 2049, 4500)


def padded_size(size, multiple):
    """The next multiple."""
    return -(-size // multiple) * multiple


def tiled(values, dtype=np.float64):
    """A value per row in tiles, padded with 0."""
    flat = np.zeros(padded_size(len(values), TILE), dtype)
    flat[: len(values)] = values
    return flat.reshape(-1, TILE)


def packed(X, dtype=np.float64):
    """Rows in tiles of shape (n_tiles, n_features, 128), padded with 0."""
    flat = np.zeros((padded_size(len(X), TILE), X.shape[1]), dtype)
    flat[: len(X)] = X
    return np.ascontiguousarray(flat.reshape(-1, TILE, X.shape[1]).transpose(0, 2, 1))


class PackedRows:
    """Rows and weights in tiles, and the scratch of the kernels of boosting."""

    def __init__(self, X, weight, dtype, n_components):
        self.n_samples, self.n_features = X.shape
        self.dtype = np.dtype(dtype)
        self.tiles = packed(X, dtype)
        self.n_tiles = len(self.tiles)
        self.total_weight = float(len(X) if weight is None else weight.sum())
        if weight is None:  # equal weights need the full tile and the last one
            self.weight = np.ones((2, TILE), dtype)
            self.weight[1] = tiled(np.ones(len(X)), dtype)[-1]
        else:
            self.weight = tiled(weight, dtype)
        self.partial = np.zeros((padded_size(len(X), scoring.STRIP_ROWS) // scoring.STRIP_ROWS,
                                 max(64, self.n_features + 1)))
        self.scaled = np.zeros(self.n_features, dtype)
        self.terms = np.zeros(gbrff.terms_size(n_components, self.n_features), dtype)
        self.circle = np.zeros((2, 32), dtype)
        self.h, self.cosine, self.sine = np.zeros((3, self.n_tiles, TILE), dtype)
        self.use_threads(1)

    def use_threads(self, n_threads):
        """Have the kernels use this many, however small the rows."""
        self.n_threads = n_threads
        self.lanes = np.zeros((n_threads, self.n_features * scoring.LANE_COUNT), self.dtype)


class ExponentialRows:
    """Predictions and pseudo-residuals of the exponential loss, as the kernels update them."""

    def __init__(self, rows, sign, raw_prediction):
        self.rows, self.y = rows, tiled(sign, rows.dtype)
        self.raw_prediction = tiled(raw_prediction)
        self.r = np.zeros((rows.n_tiles, TILE), rows.dtype)  # log2(e) times the pseudo-residuals
        self.boost(0.0)

    def apply(self, learner):
        """Evaluate a weak learner; return the sums of w and of w y h."""
        rows = self.rows
        bounded = self.largest_residual >= gbrff.LARGEST_RESIDUAL
        return gbrff.apply_exponential(rows.tiles, self.raw_prediction, self.y, self.r, rows.weight, *learner,
                                       bounded, rows.h, rows.terms, rows.partial, rows.n_threads)

    def boost(self, step):
        """Add step times the learner evaluated last."""
        rows = self.rows
        loss, self.largest_residual = gbrff.boost_rows(self.raw_prediction, self.y, rows.weight, rows.h, step,
                                                       self.r, rows.partial, rows.n_threads)
        self.loss = loss / rows.total_weight


class SquaredRows:
    """Residuals of the squared loss, as the kernels update them."""

    def __init__(self, rows, target):
        self.rows, self.residual = rows, tiled(target)
        self.r = np.zeros((rows.n_tiles, TILE), rows.dtype)
        self.boost(0.0)

    def apply(self, learner):
        """Evaluate a weak learner; return the sums of weight r h and of weight h^2."""
        rows = self.rows
        return gbrff.apply_squared(rows.tiles, self.r, rows.weight, *learner, rows.h, rows.terms, rows.partial,
                                   rows.n_threads)

    def boost(self, step):
        """Add step times the learner evaluated last."""
        rows = self.rows
        self.loss = gbrff.shrink_rows(self.residual, rows.weight, rows.h, step, self.r, rows.partial,
                                      rows.n_threads) / rows.total_weight


class Problem:
    """Random rows, labels, weights and predictions, in both forms."""

    def __init__(self, seed, n_samples, n_features, dtype, weighted, spread=1.0, n_threads=1, n_components=1):
        rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((n_samples, n_features)).astype(dtype).astype(np.float64)
        self.y = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
        weight = rng.uniform(0.1, 2, n_samples) if weighted else np.ones(n_samples)
        self.weight = weight.astype(dtype).astype(np.float64)
        self.raw_prediction = spread * rng.standard_normal(n_samples)
        self.omega = rng.standard_normal(n_features) * np.sqrt(2 / n_features)
        self.phase = rng.uniform(-np.pi, np.pi)
        self.rows = PackedRows(self.X, self.weight if weighted else None, dtype, n_components)
        self.rows.use_threads(n_threads)
        self.margins = ExponentialRows(self.rows, self.y, self.raw_prediction)
        self.residuals = SquaredRows(self.rows, self.raw_prediction)
        self.omegas = rng.standard_normal((n_components, n_features)) * np.sqrt(2 / n_features)
        self.phases = rng.uniform(-np.pi, np.pi, n_components)
        self.posterior = rng.dirichlet(np.ones(n_components))
        self.search = solvers.LBFGS(n_features, 10, 2e-9, 1e-5, 1e-6 if dtype is np.float32 else 1e-14)

    def flat(self, values):
        """Values of the rows alone, without padding."""
        return np.asarray(values, dtype=np.float64).reshape(-1)[: len(self.y)]

    @property
    def cosine(self):
        """Omegas, phases and posterior of one cosine, of `omega` and `phase`."""
        return self.omega[None], np.array([self.phase]), np.ones(1)

    @property
    def cosines(self):
        """Those of all components: h(x) = sum over j of posterior[j] cos(omegas[j] . x - phases[j])."""
        return self.omegas, self.phases, self.posterior

    @property
    def y_tilde(self):
        """The pseudo-residuals as the kernels hold them."""
        return self.flat(self.margins.r) * np.log(2)


def problems(**fixed):
    """Hypothesis strategy for `Problem`."""
    choices = {
        "n_components": st.just(1),
        "seed": st.integers(0, 2**32 - 1), "n_samples": st.sampled_from(SIZES), "n_features": st.integers(1, 23),
        "dtype": st.sampled_from(DTYPES), "weighted": st.booleans(), "spread": st.sampled_from([1e-3, 0.5, 2.0, 6.0]),
    }
    return st.builds(Problem, **{name: _fixed(fixed[name]) if name in fixed else strategy
                                 for name, strategy in choices.items()})


def _fixed(value):
    return value if isinstance(value, st.SearchStrategy) else st.just(value)
