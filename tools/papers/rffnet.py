"""The experiments on RFFNet (Otto and Izbicki, 2022), for `reproduce.py`: one process, one thread."""

from typing import NamedTuple

import numpy as np
from common.data import load, permuted_split, standardised
from common.measure import cpu
from papers.sparse import RIDGE_ROWS, ridge_parameters


class Synthetic(NamedTuple):
    """An experiment of the paper on normal columns, a few of which determine the target."""

    n_features: int
    relevant: tuple
    function: object  # from rows to the target without noise
    paper: float  # its test MSE, trained on 50,000 rows

    def draw(self, n_samples, rng):
        X = rng.standard_normal((n_samples, self.n_features))
        return X, self.function(X) + NOISE * rng.standard_normal(n_samples)


NOISE = 0.1
SYNTHETIC = {
    "SE1": Synthetic(18, (0, 2, 6, 7, 8),
                     lambda X: np.sin((X[:, 0] + X[:, 2]) ** 2) * np.sin(X[:, 6] * X[:, 7] * X[:, 8]), 0.071),
    "SE2": Synthetic(100, (10, 11, 12, 13, 14), lambda X: np.log(X[:, 10:15].sum(axis=1) ** 2), 1.2),
}
SIZES = [1000, 5000, 10_000, 50_000]
TEST_ROWS = 10_000

REGRESSION = {"ailerons": (2.7e-8, 2.4e-8), "cpu_act": (10, 9)}  # test MSE in the paper of RFFNet, of kernel ridge
CLASSIFICATION = ["higgs_11k", "bankmarketing"]
HIGGS_PAPER = "logistic 0.64 0.69 0.68, XGBoost 0.73 0.75 0.81, RFFNet 0.72 0.74 0.79"


def train(model, X, y, X_test):
    """What a fitted model predicts, and the CPU seconds of both."""
    return cpu(lambda: model.fit(X, y).predict(X_test))


def rffnet_regressor(seed):
    from rffkern import RFFNetRegressor

    return RFFNetRegressor(random_state=seed, n_jobs=1)


def hits(model, relevant):
    """How many of the relevant columns are among the same number of columns of largest relevance."""
    return np.isin(model.select_top_k(len(relevant)), relevant).sum()


def run_synthetic(experiment, n_samples, seed):
    """Test MSE, relevant columns found, best epoch and CPU seconds of one training; the importances it learns."""
    rng = np.random.default_rng(seed)
    X, y = experiment.draw(n_samples, rng)
    X_test, y_test = experiment.draw(TEST_ROWS, rng)
    model = rffnet_regressor(seed)
    predicted, seconds = train(model, X, y, X_test)
    figures = np.mean((predicted - y_test) ** 2), hits(model, experiment.relevant), model.best_epoch_, seconds
    return figures, model.feature_importances_


def se(arguments):
    """Table 2 and Figures 2 and 3: error and relevances as the number of rows grows."""
    for name in arguments.sets or list(SYNTHETIC):
        experiment, importances = SYNTHETIC[name], {}
        variance = experiment.draw(200_000, np.random.default_rng(0))[1].var()
        print(f"{name}: {experiment.n_features} columns, the target depends on {len(experiment.relevant)}; noise "
              f"{NOISE**2:.2g}, variance {variance:.3g}; the paper's MSE at n = 50,000 is {experiment.paper}\n"
              f"{'n':>7}{'test MSE':>10}{'found':>8}{'best epoch':>12}{'CPU s':>8}   each seed: MSE (found)")
        for n_samples in arguments.sizes or SIZES:
            runs = [run_synthetic(experiment, n_samples, seed) for seed in arguments.seeds]
            table = np.array([figures for figures, _ in runs])
            importances[n_samples] = np.mean([found for _, found in runs], axis=0)
            print("{:>7}{:10.4f}{:8.1f}{:12.0f}{:8.1f}   ".format(n_samples, *table.mean(axis=0))
                  + ", ".join(f"{mse:.4f} ({found:.0f})" for mse, found, *_ in table), flush=True)
        for n_samples, found in importances.items():
            print(f"relevances at n = {n_samples}: " + ", ".join(
                f"column {j} {found[j]:.2f}" for j in np.argsort(-found)[: 2 * len(experiment.relevant)]))


def rffnet(arguments):
    """Tables 1 and 2 on real data."""
    names = arguments.sets or [*REGRESSION, *CLASSIFICATION]
    regression = [name for name in names if name in REGRESSION]
    first, last = arguments.seeds[0], arguments.seeds[-1]
    print(f"Mean of seeds {first}-{last}, a fifth of the rows for testing; CPU seconds of fit and prediction")
    if regression:
        print(f"Test MSE.  KernelRidge: at most {RIDGE_ROWS} rows, gamma and alpha searched on fewer in the seconds "
              f"of the last column\n{'data set':<11}{'training':>9}{'paper':>9}{'paper KRR':>11}{'RFFNet':>10}{'+-':>9}"
              f"{'s':>7}{'KernelRidge':>13}{'s':>7}{'HistGB':>10}{'s':>6}{'search s':>10}", flush=True)
    for name in regression:
        rows = np.array([run_regression(arguments.data, name, seed) for seed in arguments.seeds])
        n_train, mse, seconds, ridge, ridge_seconds, trees, tree_seconds, searched = rows.mean(axis=0)
        paper, paper_ridge = REGRESSION[name]
        print(f"{name:<11}{n_train:9.0f}{paper:9.3g}{paper_ridge:11.3g}{mse:10.4g}{rows[:, 1].std():9.2g}"
              f"{seconds:7.1f}{ridge:13.4g}{ridge_seconds:7.1f}{trees:10.4g}{tree_seconds:6.1f}{searched:10.1f}",
              flush=True)
    for name in names:
        if name not in REGRESSION:
            compare_classifiers(arguments, name)


def run_regression(folder, name, seed):
    """Training rows; MSE and CPU seconds of RFFNet, kernel ridge and trees; seconds of the search for the second."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.kernel_ridge import KernelRidge

    X, y = load(folder, name)
    X, X_test, y, y_test = permuted_split(X, np.asarray(y, float), seed, len(y) // 5)
    predicted, seconds = train(rffnet_regressor(seed), X, y, X_test)
    figures = [len(y), np.mean((predicted - y_test) ** 2), seconds]
    (X, X_test), (y, y_test), variance = standardised(X, X_test), standardised(y, y_test), y.var()
    best, searched = cpu(ridge_parameters, X, y, seed)
    few = np.random.default_rng(seed).permutation(len(y))[:RIDGE_ROWS]
    for model, rows in ((KernelRidge(kernel="rbf", **best), few),
                        (HistGradientBoostingRegressor(random_state=seed), slice(None))):
        predicted, seconds = train(model, X[rows], y[rows], X_test)
        figures += [variance * np.mean((predicted - y_test) ** 2), seconds]
    return [*figures, searched]


def compare_classifiers(arguments, name):
    """Accuracy, F1, AUC and CPU seconds of four classifiers."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score, roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from xgboost import XGBClassifier

    from rffkern import RFFNetClassifier

    found = {}
    for seed in arguments.seeds:
        X, y = load(arguments.data, name)
        X, X_test, y, y_test = permuted_split(X, (y > 0).astype(int), seed, len(y) // 5)
        for label, model in {"RFFNet": RFFNetClassifier(random_state=seed, n_jobs=1),
                             "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
                             "XGBoost": XGBClassifier(n_jobs=1, random_state=seed),
                             "HistGB": HistGradientBoostingClassifier(random_state=seed)}.items():
            scores, seconds = cpu(lambda model=model, X=X, y=y, rows=X_test: model.fit(X, y).predict_proba(rows)[:, 1])
            found.setdefault(label, []).append((np.mean((scores > 0.5) == y_test), f1_score(y_test, scores > 0.5),
                                                roc_auc_score(y_test, scores), seconds))
    print(f"\n{name:<14}{'accuracy':>9}{'+-':>8}{'F1':>8}{'AUC':>8}{'CPU s':>8}")
    for label, runs in found.items():
        accuracy, f1, auc, seconds = np.mean(runs, axis=0)
        spread = np.std([first for first, *_ in runs])
        print(f"{label:<14}{accuracy:9.4f}{spread:8.4f}{f1:8.4f}{auc:8.4f}{seconds:8.2f}", flush=True)
    if name == "higgs_11k":
        print(f"in the paper, 700,000 rows: {HIGGS_PAPER}")


COMMANDS = {"se": se, "rffnet": rffnet}
