"""Kernel-side form of plain rows, for tests that compare kernels with their twins."""

import numpy as np
from hypothesis import strategies as st

from rffkern._data.scaling import Scaling
from rffkern._gbrff.loss_states import CosineSum, Margins, Residuals
from rffkern._gbrff.packed_rows import Rows
from rffkern._kernels import lbfgs

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-11}
DTYPES = (np.float32, np.float64)

# Around the edges of a tile (128 rows) and of a block of tiles (2048), and none of these.
SIZES = (1, 2, 3, 127, 128, 129, 300, 2047, 2048, 2049, 4500)


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
        scaling = Scaling(np.zeros(n_features), np.ones(n_features), 1.0)
        self.rows = Rows(self.X, scaling, self.weight if weighted else None, dtype, None,
                         n_components=n_components)
        self.use_threads(n_threads)
        self.margins = Margins(self.rows, self.y, 0.0)
        self.margins.raw_prediction.reshape(-1)[:n_samples] = self.raw_prediction
        self.rows.h[:] = 0
        self.margins.boost(0.0)
        self.residuals = Residuals(self.rows, self.raw_prediction, 0.0)
        self.omegas = rng.standard_normal((n_components, n_features)) * np.sqrt(2 / n_features)
        self.phases = rng.uniform(-np.pi, np.pi, n_components)
        self.posterior = rng.dirichlet(np.ones(n_components))
        self.search = lbfgs.LBFGS(n_features, 10, 2e-9, 1e-5, 1e-6 if dtype is np.float32 else 1e-14)

    def use_threads(self, n_threads):
        """Have the kernels use this many, however small the rows."""
        self.rows.n_threads = n_threads
        self.rows.lanes = np.zeros((n_threads, self.rows.lanes.shape[1]), self.rows.dtype)

    def flat(self, tiled):
        """Values of the rows alone, without padding."""
        return np.asarray(tiled, dtype=np.float64).reshape(-1)[: len(self.y)]

    @property
    def cosine(self):
        """The weak learner of one cosine, of `omega` and `phase`."""
        return CosineSum(self.omega[None], np.array([self.phase]), np.ones(1))

    @property
    def cosines(self):
        """The weak learner of all components."""
        return CosineSum(self.omegas, self.phases, self.posterior)

    @property
    def y_tilde(self):
        """The residuals as the kernels hold them."""
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
