"""Time of training sparse kernel machines, against a twin in NumPy/SciPy on BLAS."""

from functools import partial

import numpy as np
from common.measure import cpu_seconds, result, show, show_power

from sparse_machines.twin import SparseTwin

N_SAMPLES, N_FEATURES, N_ESTIMATORS, LEARNER_SIZE, SUBSET_SIZE = 36_000, 8, 500, 50, 500
KERNEL = {"length_scale": np.full(N_FEATURES, 2.0), "amplitude": 1.0, "bias": 0.1}
REG_LAMBDA = 0.01
GROWTH_N = [4500, 9000, 18000, 36000]
GROWTH_M = [62, 125, 250, 500]


def make_rows(n_samples):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, N_FEATURES))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3] + X[:, 4]) + 0.1 * rng.standard_normal(n_samples)


def machine(n_estimators=N_ESTIMATORS, precision="double"):
    from rffkern import SparseKernelRegressor

    return SparseKernelRegressor(n_estimators, learner_size=LEARNER_SIZE, subset_size=SUBSET_SIZE, kernel=KERNEL,
                                 reg_lambda=REG_LAMBDA, standardize=False, precision=precision, random_state=0,
                                 n_jobs=1)


def twin_machine():
    return SparseTwin(N_ESTIMATORS, LEARNER_SIZE, SUBSET_SIZE, KERNEL, REG_LAMBDA)


def whole_fits(X, y, repetitions):
    """Seconds of whole fits; the twin must reach the training loss of rffkern."""
    models = {"rffkern": machine(), "rffkern single": machine(precision="single"), "twin": twin_machine()}
    seconds = cpu_seconds({name: partial(model.fit, X, y) for name, model in models.items()}, repetitions)
    losses = [models["rffkern"].train_loss_[-1], models["rffkern single"].train_loss_[-1], models["twin"].train_loss]
    print("training losses: " + ", ".join(f"{name} {loss:.6f}" for name, loss in zip(models, losses, strict=True)))
    if max(losses) > 1.03 * min(losses):
        raise RuntimeError("the twin does not learn what rffkern learns")
    return result(f"sparse fit M = {N_ESTIMATORS}", len(y), seconds)


class Steps:
    """Two steps of a round when half of the learners are in place, in one precision.

    The third step, the selection of basis vectors, is what these leave of the time of a whole fit.
    """

    def __init__(self, X, y, dtype):
        from rffkern._data.scaling import Scaling
        from rffkern._data.tiles import aligned, tiled
        from rffkern._data.weights import RowWeights
        from rffkern._sparse.least_squares import Targets
        from rffkern._sparse.packed_rows import KernelRows

        unit = np.sqrt(2 * np.log(2)) * KERNEL["length_scale"]  # in which the kernel is 2^-|x - z|^2
        rows = KernelRows(X, Scaling(X.mean(axis=0), 1 / unit, 1.0), RowWeights(len(y)), np.dtype(dtype), 1)
        self.rows, self.residual = rows, tiled(y, np.dtype(np.float64))[None]
        columns = aligned((N_ESTIMATORS // 2, rows.n_tiles, 128), rows.dtype)
        columns[:] = np.random.default_rng(0).standard_normal(columns.shape[1:])
        self.targets = Targets(rows, self.residual, columns)
        self.steps = np.full(len(columns), 1e-9)

    def kernels(self, chosen, weights):
        """The two sums over the kernels of a learner: u and f."""
        from rffkern._sparse.packed_rows import Kernels

        kernels = Kernels(self.rows, self.rows.centers(chosen))
        kernels.correlate(self.residual)
        kernels.combine(weights[None], np.full(1, 0.1), self.targets.columns[:1])

    def passes(self):
        """Products of the columns with the newest one, and its part that is orthogonal to the others."""
        columns = self.targets.columns
        self.targets.products(columns, len(columns), columns[-1:].astype(np.float64))
        self.targets.combined(self.steps[None])


def measure_steps(X, y, repetitions):
    """Seconds of the steps of a round: rffkern computes the kernels twice, the twin keeps them."""
    y = (y - y.mean()) / y.std()
    steps = {"rffkern": Steps(X, y, np.float64), "rffkern single": Steps(X, y, np.float32)}
    twin = twin_machine().prepare(X)
    rng = np.random.default_rng(1)
    chosen, weights = rng.choice(len(y), LEARNER_SIZE, replace=False), rng.standard_normal(LEARNER_SIZE)
    F = np.asfortranarray(rng.standard_normal((len(y), N_ESTIMATORS // 2)))

    def twin_kernels():
        K = twin.kernels(chosen)
        return y @ K, K @ weights

    def twin_passes():
        return F[:, -1] @ F, y - F @ steps["rffkern"].steps

    kernels = {name: partial(of_precision.kernels, chosen, weights) for name, of_precision in steps.items()}
    passes = {name: of_precision.passes for name, of_precision in steps.items()}
    return [result(f"kernels S = {LEARNER_SIZE}", len(y), cpu_seconds(kernels | {"twin": twin_kernels}, repetitions)),
            result(f"passes over m = {N_ESTIMATORS // 2}", len(y),
                   cpu_seconds(passes | {"twin": twin_passes}, repetitions))]


def growth(repetitions):
    """Time against n and M, and the power of each that fits."""
    for what, functions in (
            ("n", {n: partial(machine(200).fit, *make_rows(n)) for n in GROWTH_N}),
            ("M", {M: partial(machine(M).fit, *make_rows(18000)) for M in GROWTH_M})):
        show_power(what, cpu_seconds(functions, repetitions))


def sparse(arguments):
    """Whole fits, the steps of a round, and growth with rows and learners."""
    X, y = make_rows(N_SAMPLES)
    results = [show(whole_fits(X, y, arguments.repeat)), *map(show, measure_steps(X, y, arguments.repeat))]
    growth(arguments.repeat)
    return results


COMMANDS = {"sparse": sparse}
