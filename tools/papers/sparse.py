"""The experiments on sparse kernel machines (Sun and Yao, 2010), for `reproduce.py`: one process, one thread."""

import time
from typing import NamedTuple

import numpy as np
from common.data import load, permuted_split, standardised
from common.measure import cpu

ALONE = {"basis_size": 1, "max_samples": None, "n_estimators": 1000}  # basis vectors one by one, from all rows
METHODS = {"ensemble": {"basis_size": 50, "max_samples": 500, "n_estimators": 500},
           **{rule: {"selection": rule, **ALONE} for rule in ("max-res", "random", "mp", "ald", "ran")}}
LEVEL = 0.03  # of Table V
TIMES = [1, 2, 5, 10, 20, 30, 50, 100]
STAGES = [10, 20, 50, 100, 200, 300, 400, 500, 700, 1000]
GROUPS = {"n_estimators": STAGES[-1], "update": "active", "max_samples": 2000, "selection": "mp"}
COVTYPE_KERNEL = {"kernel": {"length_scale": 5000**0.5}, "reg_lambda": 1e-4}  # beta = 10,000, of raw columns
# The grid of scikit-learn's kernel ridge regression, gammas times 1 / n_features, and the rows it is searched on.
GAMMAS, ALPHAS, SEARCH_ROWS = [0.1, 0.3, 1.0, 3.0, 10.0], [0.001, 0.01, 0.1, 1.0], 2000
RIDGE_ROWS = 8000  # that it is trained on


def ridge_parameters(X, y, seed):
    """Gamma and alpha of kernel ridge regression by three-fold cross-validation on some of the rows."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    few = np.random.default_rng(seed).permutation(len(y))[:SEARCH_ROWS]
    grid = {"gamma": [gamma / X.shape[1] for gamma in GAMMAS], "alpha": ALPHAS}
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, scoring="neg_mean_squared_error", refit=False)
    return search.fit(X[few], y[few]).best_params_


class Curve(NamedTuple):
    """CPU seconds and test NMSE after each round, index 0 before any; basis vectors when the NMSE is first at LEVEL."""

    seconds: np.ndarray
    nmse: np.ndarray
    n_basis: float  # nan if it never is

    def at(self, seconds):
        """NMSE at a time; nan beyond the last round."""
        return np.interp(seconds, self.seconds, self.nmse, right=np.nan)

    def reach(self, level):
        """CPU seconds when the NMSE is first as low; nan if it never is."""
        after = first_at(self.nmse, level)
        if after is None:
            return np.nan
        return np.interp(-level, -self.nmse[after - 1 : after + 1], self.seconds[after - 1 : after + 1])


def first_at(nmse, level):
    """The first round whose NMSE is at most the level, or None."""
    low = np.flatnonzero(nmse <= level)
    return low[0] if low.size else None


def learned_kernel(model, X, y):
    """The kernel and lambda that a model learns, as parameters, and the CPU seconds of learning them."""
    _, seconds = cpu(lambda: model.fit(X, y, callback=lambda _: True))
    return {"kernel": model.kernel_, "reg_lambda": model.reg_lambda_}, seconds


def learning_curve(params, X, X_test, y, y_test):
    """The curve of a fit; as in the paper, its time is that of training and of testing."""
    from rffkern import SparseKernelRegressor

    started, seconds = time.process_time(), [0.0]
    model = SparseKernelRegressor(**params, early_stopping_rounds=None, n_jobs=1).fit(
        X, y, eval_set=(X_test, y_test), callback=lambda _: seconds.append(time.process_time() - started))
    n_rounds = first_at(model.eval_loss_, LEVEL)
    n_basis = np.nan
    if n_rounds is not None:  # a fit of so many rounds draws the same subsets
        few = params | {"n_estimators": int(n_rounds)}
        n_basis = SparseKernelRegressor(**few, n_jobs=1).fit(X, y).expansion_.n_terms
    return Curve(np.array(seconds), model.eval_loss_, n_basis)


def cell(values, form):
    values = np.asarray(values)
    return "-" if np.isnan(values).any() else format(values.mean(), form)


def kin40k(arguments):
    """Figure 2 and Tables IV and V."""
    from rffkern import SparseKernelRegressor

    curves = {name: [] for name in METHODS}
    for seed in arguments.seeds:
        X, X_test, y, y_test = permuted_split(*load(arguments.data, "kin40k"), seed, 4000)
        kernel, seconds = learned_kernel(
            SparseKernelRegressor(kernel=arguments.kernel, random_state=seed, n_jobs=1), X, y)
        lengths = np.array(kernel["kernel"]["length_scale"])
        print(f"seed {seed}: kernel '{arguments.kernel}' learned in {seconds:.1f} CPU s, not counted below; lambda = "
              f"{kernel['reg_lambda']:.3g}, length_scale {lengths.min():.2f} to {lengths.max():.2f}", flush=True)
        for name, params in METHODS.items():
            curve = learning_curve(params | kernel | {"random_state": seed}, X, X_test, y, y_test)
            curves[name].append(curve)
            print(f"  {name:<9} {len(curve.nmse) - 1:5} learners, {curve.seconds[-1]:6.1f} s, NMSE "
                  f"{100 * curve.nmse[-1]:.3f} %", flush=True)
    show_curves(curves)


def show_curves(curves):
    """The tables, each figure the mean of the seeds; '-' where one of them has none."""
    print("\nTest NMSE in % at CPU seconds of training and testing (Table IV), and at the end")
    print(f"{'':<10}" + "".join(f"{seconds:>8}" for seconds in TIMES) + f"{'end':>8}{'s':>8}{'learners':>10}")
    for name, found in curves.items():
        print(f"{name:<10}" + "".join(
            f"{cell([100 * curve.at(seconds) for curve in found], '.3f'):>8}" for seconds in TIMES)
            + f"{cell([100 * curve.nmse[-1] for curve in found], '.3f'):>8}"
            + f"{cell([curve.seconds[-1] for curve in found], '.1f'):>8}"
            + f"{cell([len(curve.nmse) - 1 for curve in found], '.0f'):>10}")
    print(f"\nCPU seconds (and basis vectors) when NMSE first is {100 * LEVEL:g} % (Table V)")
    for name, found in curves.items():
        print(f"{name:<10}{cell([curve.reach(LEVEL) for curve in found], '.2f'):>8} "
              f"({cell([curve.n_basis for curve in found], '.0f')})")
    for label, level in ((f"{100 * LEVEL:g} %", lambda _: LEVEL), ("the NMSE max-res ends at", lambda c: c.nmse[-1])):
        pairs = [(one.reach(level(one)), many.reach(level(one)))
                 for one, many in zip(curves["max-res"], curves["ensemble"], strict=True)]
        print(f"max-res : ensemble in time to {label}: {cell([one / many for one, many in pairs], '.2f')}")


def error(model, X, y):
    return 100 * np.mean(model.predict(X) != y)


def show_stages(params, data, budget):
    """Error in % on the test rows at some stages of a classifier that is stopped when its CPU seconds are used up."""
    from rffkern import SparseKernelClassifier

    X, X_test, y, y_test = data
    started, times = time.process_time(), []

    def watch(_):
        times.append(time.process_time() - started)
        return times[-1] > budget

    model = SparseKernelClassifier(**params).fit(X, y, callback=watch)
    for n_learners, scores in enumerate(model.staged_decision_function(X_test), 1):
        if n_learners in STAGES or n_learners == model.n_estimators_:
            missed = 100 * np.mean((scores > 0) != (y_test == model.classes_[1]))
            print(f"{n_learners:5} learners {missed:6.2f} %  {times[n_learners - 1]:7.1f} s", flush=True)
    print(f"{model.expansion_.n_terms:5} basis vectors")


def covtype(arguments):
    """Errors of groups of learners against CPU time, beside support vectors and trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from rffkern import ColumnMap

    seed = arguments.seeds[0]
    raw = COVTYPE_KERNEL | {"columns": ColumnMap(("raw",))}
    X, y = load(arguments.data, "covtype_a")
    data = X, X_test, y, y_test = permuted_split(X.astype(np.float64), y, seed, len(y) // 10)
    print(f"covtype_a, {len(y)} training and {len(y_test)} test rows, seed {seed}; CPU seconds of training")
    for label, params in (("as in the paper: its kernel, groups that leave out fitted rows", GROUPS | raw),
                          ("the same, groups on all rows", GROUPS | raw | {"update": "group"}),
                          ("the same, all coefficients", raw),
                          ("default parameters, with learning the kernel", {})):
        print(label)
        show_stages(params | {"random_state": seed, "n_jobs": 1}, data, arguments.budget)
    X, X_test = standardised(X, X_test)
    run_support_vectors(X, X_test, y, y_test, seed, arguments.budget)
    for n_trees in (100, 500):
        trees, seconds = cpu(HistGradientBoostingClassifier(max_iter=n_trees, early_stopping=False).fit, X, y)
        print(f"HistGradientBoosting, {n_trees} trees: {error(trees, X_test, y_test):.2f} %  {seconds:.1f} s",
              flush=True)


def run_support_vectors(X, X_test, y, y_test, seed, budget):
    """SVC on as many rows as the budget is likely to allow."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    order = np.random.default_rng(seed).permutation(len(y))
    few = order[: 2 * SEARCH_ROWS]
    grid = {"gamma": [gamma / X.shape[1] for gamma in [*GAMMAS, 30.0]]}
    search, seconds = cpu(GridSearchCV(SVC(C=10), grid, cv=3).fit, X[few], y[few])
    gamma = search.best_params_["gamma"]
    print(f"SVC: gamma = {gamma * X.shape[1]:g} / n_features found on {len(few)} rows in {seconds:.1f} s", flush=True)
    _, trial = cpu(SVC(C=10, gamma=gamma, cache_size=1000).fit, X[few], y[few])
    n_rows = min(len(y), int(len(few) * np.sqrt(budget / trial)))  # time grows like the square of the rows
    for rows in sorted({min(n_rows, 10_000), n_rows}):
        sample = order[:rows]
        machine, seconds = cpu(SVC(C=10, gamma=gamma, cache_size=1000).fit, X[sample], y[sample])
        print(f"SVC on {'all' if rows == len(y) else rows} rows: {error(machine, X_test, y_test):.2f} %  "
              f"{seconds:.1f} s, {machine.n_support_.sum()} support vectors", flush=True)


COMMANDS = {"kin40k": kin40k, "covtype": covtype}
