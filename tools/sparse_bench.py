"""What `bench.py` measures of sparse kernel boosting, against a NumPy/SciPy twin on BLAS."""

from functools import partial

import numpy as np
from measure import cpu_seconds, show
from twins import SparseTwin

N_SAMPLES, N_FEATURES, N_ESTIMATORS, LEARNER_SIZE, SUBSET_SIZE = 36_000, 8, 500, 50, 500
KERNEL = {"lengthscales": np.full(N_FEATURES, 2.0), "amplitude": 1.0, "bias": 0.1}
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
                                 n_threads=1)


def twin_machine():
    return SparseTwin(N_ESTIMATORS, LEARNER_SIZE, SUBSET_SIZE, KERNEL, REG_LAMBDA)


def whole_fits(X, y, repetitions):
    """Seconds of whole fits; the twin must end where ours do."""
    models = {"rffkern": machine(), "rffkern single": machine(precision="single"), "twin": twin_machine()}
    seconds = cpu_seconds({name: partial(model.fit, X, y) for name, model in models.items()}, repetitions)
    losses = [models["rffkern"].train_loss_[-1], models["rffkern single"].train_loss_[-1], models["twin"].train_loss]
    print("training losses: " + ", ".join(f"{name} {loss:.6f}" for name, loss in zip(models, losses, strict=True)))
    if max(losses) > 1.03 * min(losses):
        raise RuntimeError("the twin does not learn what rffkern learns")
    return {"what": f"sparse fit M = {N_ESTIMATORS}", "n": len(y), "seconds": seconds}


class Parts:
    """The steps of a round with half of the learners in place, in one precision."""

    def __init__(self, X, y, dtype):
        from rffkern._sparse.kernel import given_kernel
        from rffkern._sparse.packed_rows import KernelRows
        from rffkern._data.scaling import Scaling
        from rffkern._data.tiles import aligned, tiled

        kernel = given_kernel(KERNEL, N_FEATURES)
        scaling = kernel.scaling(Scaling(X.mean(axis=0), np.ones(N_FEATURES), 1.0))
        self.rows, self.kernel = KernelRows(X, scaling, None, np.dtype(dtype), 1), kernel
        self.residual = tiled(y, np.dtype(np.float64))
        self.columns = aligned((N_ESTIMATORS // 2, *self.residual.shape), self.rows.dtype)
        self.columns[:] = np.random.default_rng(0).standard_normal(self.residual.shape)
        self.partial = np.empty((self.rows.n_blocks, 2 * len(self.columns)))
        self.products, self.steps = np.empty((len(self.columns), 2)), np.full(len(self.columns), 1e-9)

    def kernels(self, chosen, weights):
        """What a learner asks of its kernels: u, and f."""
        centers = self.rows.at(chosen)
        self.rows.correlate(self.residual, centers)
        self.rows.fill(self.columns[0], centers, weights, 0.1)

    def passes(self):
        from rffkern._kernels import _kernel_columns

        rows = self.rows
        sparse_columns.multiply_columns(self.columns, len(self.columns), rows.weight, self.residual, self.partial,
                                         np.empty((1, sparse_columns.PRODUCT_SCRATCH)), self.products, 1)
        sparse_columns.shift_residual(self.columns, self.steps, rows.weight, self.residual, self.partial, 1)

    def selection(self, subset, target):
        from rffkern._sparse.basis import BasisSelection

        rule = BasisSelection("max-res", self.kernel, REG_LAMBDA, LEARNER_SIZE, N_ESTIMATORS, 60)
        return rule.choose(self.rows, subset, target, np.zeros(len(subset)))


def measure_parts(X, y, repetitions):
    """Seconds of the steps of a round: ours computes the kernels twice, the twin keeps them."""
    y = (y - y.mean()) / y.std()
    ours = {"rffkern": Parts(X, y, np.float64), "rffkern single": Parts(X, y, np.float32)}
    twin = twin_machine().prepare(X)
    rng = np.random.default_rng(1)
    subset, weights = rng.choice(len(y), SUBSET_SIZE, replace=False), rng.standard_normal(LEARNER_SIZE)
    chosen = subset[:LEARNER_SIZE]
    F = np.asfortranarray(rng.standard_normal((len(y), N_ESTIMATORS // 2)))

    def twin_kernels():
        K = twin.kernels(chosen)
        return y @ K, K @ weights

    def twin_passes():
        return F[:, -1] @ F, y - F @ ours["rffkern"].steps

    calls = {
        f"kernels S = {LEARNER_SIZE}": ({name: partial(part.kernels, chosen, weights) for name, part in ours.items()},
                                        twin_kernels),
        f"passes over m = {N_ESTIMATORS // 2}": ({name: part.passes for name, part in ours.items()}, twin_passes),
        f"selection T = {SUBSET_SIZE}": ({name: partial(part.selection, subset, y[subset])
                                          for name, part in ours.items()}, partial(twin.choose, subset, y[subset])),
    }
    same = np.intersect1d(ours["rffkern"].selection(subset, y[subset]), twin.choose(subset, y[subset])).size
    print(f"rows that both select: {same} of {LEARNER_SIZE}")
    return [{"what": what, "n": len(y), "seconds": cpu_seconds(functions | {"twin": other}, repetitions)}
            for what, (functions, other) in calls.items()]


def growth(repetitions):
    """Time against n and M, and the power of each that fits."""
    for what, values, functions in (
            ("n", GROWTH_N, {n: partial(machine(200).fit, *make_rows(n)) for n in GROWTH_N}),
            ("M", GROWTH_M, {M: partial(machine(M).fit, *make_rows(18000)) for M in GROWTH_M})):
        seconds = cpu_seconds(functions, repetitions)
        print(", ".join(f"{what} = {value}: {seconds[value]:.3g} s" for value in values) + f"; {what}^"
              f"{np.polyfit(np.log(values), np.log(list(seconds.values())), 1)[0]:.2f}", flush=True)


def run_sparse(repetitions):
    X, y = make_rows(N_SAMPLES)
    results = [show(result) for result in [whole_fits(X, y, repetitions), *measure_parts(X, y, repetitions)]]
    growth(repetitions)
    return results
