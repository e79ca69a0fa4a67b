"""Time of single evaluations of the objectives in the kernels of GBRFF2 and GBRFF1.

The only benchmarks that call kernels; their arguments are laid out here as training lays them out.
"""

import math

import numpy as np
from common.measure import cpu_seconds, result, show

INTERCEPT = 0.1


class Arguments:
    """Standardised rows in tiles, their residuals and equal weights, for kernels on one thread."""

    def __init__(self, n_samples, n_features, dtype):
        from rffkern._data.scaling import no_scaling
        from rffkern._data.tiles import TILE, pack, tiled
        from rffkern._kernels import scoring

        X = np.random.default_rng(0).standard_normal((n_samples, n_features), dtype=np.float32)
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        self.n_samples, self.dtype = n_samples, np.dtype(dtype)
        self.tiles, _ = pack(X, no_scaling(n_features), self.dtype, 1)
        self.residual = tiled(math.log2(math.e) * y * np.exp(-INTERCEPT * y), self.dtype)
        self.weight = tiled(np.ones(n_samples), self.dtype)[[0, -1]]  # of a full tile and of the last one
        self.n_strips = -(-n_samples // scoring.STRIP_ROWS)
        self.lane_count, self.tile_size = scoring.LANE_COUNT, TILE

    def lanes(self, n_sums):
        from rffkern._data.tiles import aligned

        lanes = aligned((1, n_sums * self.lane_count), self.dtype)
        lanes[:] = 0
        return lanes


def omega_evaluation(n_features, dtype, n_samples, repetitions):
    """One evaluation of GBRFF2's objective and gradient, against reading the packed rows once."""
    from rffkern._kernels import gbrff

    rows = Arguments(n_samples, n_features, dtype)
    omega, gradient = np.full(n_features, 0.1), np.empty(n_features)
    scaled, lanes = np.zeros(n_features, rows.dtype), rows.lanes(n_features)
    partial = np.zeros((rows.n_strips, -(-max(64, n_features + 1) // 8) * 8))
    seconds = cpu_seconds({
        "evaluation": lambda: gbrff.omega_objective(
            rows.tiles, rows.residual, rows.weight, omega, 0.3, 0.0, float(n_samples), gradient, scaled, lanes,
            partial, 1),
        "reading": rows.tiles.reshape(-1).view(np.int64).sum,  # the fastest way to read all of it
    }, max(repetitions, 9))
    print(f"{seconds['evaluation'] / n_samples * 1e9:.2f} ns per row, "
          f"{seconds['reading'] / seconds['evaluation']:.2f} of the speed of reading")
    return result(f"evaluation d = {n_features} {rows.dtype}", n_samples, seconds)


def omega_evaluations(sizes, repetitions):
    """Evaluations on rows that fit in cache, and on rows that do not."""
    shapes = [(d, dtype, n) for dtype in (np.float32, np.float64) for d, large in ((5, 1_000_000), (20, 1_000_000),
                                                                                   (60, 400_000))
              for n in sizes or [43520, large]]
    return [show(omega_evaluation(*shape, repetitions)) for shape in shapes]


def landmark_evaluation(n_features, n_samples, repetitions, n_components=10):
    """One evaluation of a landmark's loss and gradient, whose cost does not depend on the number of columns."""
    from rffkern._data.tiles import aligned
    from rffkern._kernels import gbrff, scoring

    rows = Arguments(n_samples, n_features, np.float32)
    omegas = np.random.default_rng(1).standard_normal((n_components, n_features)) / math.sqrt(n_features)
    n_terms = -(-n_components // scoring.TERM_MULTIPLES[0]) * scoring.TERM_MULTIPLES[0]
    waves = aligned((len(rows.tiles), 2 * n_components, rows.tile_size), rows.dtype)
    gbrff.make_waves(rows.tiles, omegas, waves, np.zeros((n_terms, n_features), rows.dtype), 1)
    over_phases = n_components <= n_features
    phases = np.zeros(-(-n_components // rows.lane_count) * rows.lane_count)
    basis = np.zeros((0 if over_phases else n_features, phases.size))
    if not over_phases:
        basis[:, :n_components] = omegas.T
    x = np.full(n_components if over_phases else n_features, 0.1)
    gradient, direction = np.empty(x.size), np.zeros(2 * n_components, rows.dtype)
    lanes, partial = rows.lanes(2 * n_components), np.zeros((rows.n_strips, 1 + 2 * n_components))
    is_squared = False
    seconds = cpu_seconds({"evaluation": lambda: gbrff.landmark_objective(
        is_squared, waves, rows.residual, rows.weight, basis, x, float(n_samples), gradient, phases, direction, lanes,
        partial, 1)}, repetitions)
    print(f"{seconds['evaluation'] / n_samples * 1e9:.2f} ns per row")
    return result(f"landmark evaluation K = {n_components} d = {n_features}", n_samples, seconds)


def landmark_evaluations(repetitions):
    return [show(landmark_evaluation(d, 43520, repetitions)) for d in (5, 20, 60, 200)]
