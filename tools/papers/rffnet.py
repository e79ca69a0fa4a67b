"""The experiments on RFFNet (Otto and Izbicki, 2022): one thread, CPU seconds of fit and prediction."""

from typing import NamedTuple

import numpy as np
from common.data import load, permuted_split
from common.measure import cpu
from papers import figures
from papers.experiment import Experiment, cells, names_of, spread, table, values_of
from papers.peers import SRFF


class Synthetic(NamedTuple):
    """An experiment of the paper on normal columns, a few of which determine the target."""

    n_features: int
    relevant: tuple
    function: object  # from rows to the target without noise

    def draw(self, n_samples, rng):
        X = rng.standard_normal((n_samples, self.n_features))
        return X, self.function(X) + NOISE * rng.standard_normal(n_samples)


NOISE = 0.1
SYNTHETIC = {
    "SE1": Synthetic(18, (0, 2, 5, 6, 7),
                     lambda X: np.sin((X[:, 0] + X[:, 2]) ** 2) * np.sin(X[:, 5] * X[:, 6] * X[:, 7])),
    "SE2": Synthetic(100, (10, 11, 12, 13, 14), lambda X: np.log(X[:, 10:15].sum(axis=1) ** 2)),
}
SIZES = [1000, 5000, 10_000, 50_000]
TEST_ROWS, RIDGE_ROWS, N_TRIALS = 10_000, 4000, 50
REAL = ["ailerons", "cpu_act"]
PAPER = {  # test MSE of Table 2
    "ailerons": {"KRR": "2.4e-8", "BARD": "3.0e-8", "SRFF": "8e-5", "RFFNet": "2.7e-8"},
    "cpu_act": {"KRR": "9", "BARD": "120", "SRFF": "2500", "RFFNet": "10"},
    "SE1": {"KRR": "-", "BARD": "0.088", "SRFF": "0.085", "RFFNet": "0.071"},
    "SE2": {"KRR": "-", "BARD": "4.9", "SRFF": "5.0", "RFFNet": "1.2"}}
PAPER_HIGGS = {"logistic": (0.64, 0.69, 0.68), "XGBoost": (0.73, 0.75, 0.81), "RFFNet": (0.72, 0.74, 0.79)}


def rows_of(folder, cell):
    """Training rows, test rows, and their targets."""
    name, seed = cell["set"], cell["seed"]
    if name not in SYNTHETIC:
        X, y = load(folder, name)
        return permuted_split(X, np.asarray(y, float), seed, len(y) // 5)
    rng = np.random.default_rng(seed)
    X, y = SYNTHETIC[name].draw(cell["rows"], rng)
    X_test, y_test = SYNTHETIC[name].draw(TEST_ROWS, rng)
    return X, X_test, y, y_test


def run_regression(folder, cell):
    """Test MSE and CPU seconds; of RFFNet on synthetic rows also how many relevant columns are found."""
    X, X_test, y, y_test = rows_of(folder, cell)
    if cell.get("quick"):
        X, y = X[:1000], y[:1000]
    model, seconds = cpu(REGRESSORS[cell["method"]], X, y, cell["seed"])
    predicted, more = cpu(model.predict, X_test)
    figures = {"mse": float(np.mean((predicted - y_test) ** 2)), "seconds": round(seconds + more, 2)}
    if cell["method"] == "RFFNet" and cell["set"] in SYNTHETIC:
        relevant = SYNTHETIC[cell["set"]].relevant
        figures["found"] = int(np.isin(model.select_top_k(len(relevant)), relevant).sum())
        figures["relevances"] = np.round(model.relevances_ / model.relevances_.max(), 4).tolist()
    return figures


def searched(model, grid, scoring, X, y, refit=True):
    """The grid search by a fifth of the rows, on models of the others; the best one learns from all."""
    from sklearn.model_selection import GridSearchCV

    rows = np.arange(len(y))
    split = rows[: len(y) - len(y) // 5], rows[len(y) - len(y) // 5:]
    return GridSearchCV(model, grid, scoring=scoring, cv=[split], refit=refit).fit(X, y)


def in_units(model):
    """A regression of standardised columns on a standardised target."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(Pipeline([("scaler", StandardScaler()), ("model", model)]),
                                      transformer=StandardScaler())


def rffnet(X, y, seed):
    from rffkern import RFFNetRegressor

    return RFFNetRegressor(random_state=seed, n_jobs=1).fit(X, y)


def bard(X, y, seed):
    """Standardised: precisions from 10,000 on, which a target as small as that of ailerons has, remove a column."""
    from sklearn.linear_model import ARDRegression

    rates = [10.0**k for k in range(-8, -3)]
    grid = {"regressor__model__lambda_1": rates, "regressor__model__lambda_2": rates}
    return searched(in_units(ARDRegression()), grid, "neg_mean_squared_error", X, y)


def krr(X, y, seed):
    """Kernel ridge regression; gamma and alpha are chosen on fewer rows where there are many."""
    from sklearn.kernel_ridge import KernelRidge

    grid = {"regressor__model__gamma": [10.0**k for k in range(-7, 0)],
            "regressor__model__alpha": [10.0**k for k in range(-5, 0)]}
    few, model = np.random.default_rng(seed).permutation(len(y))[:RIDGE_ROWS], in_units(KernelRidge(kernel="rbf"))
    search = searched(model, grid, "neg_mean_squared_error", X[few], y[few], refit=False)
    return model.set_params(**search.best_params_).fit(X, y)


def srff(X, y, seed):
    return SRFF(seed).fit(X, y)


REGRESSORS = {"KRR": krr, "BARD": bard, "SRFF": srff, "RFFNet": rffnet}


def logistic(X, y, seed):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return searched(make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
                    {"logisticregression__C": [10.0**k for k in range(-5, 3)]}, "roc_auc", X, y)


def xgboost(X, y, seed):
    """Of some random settings."""
    from xgboost import XGBClassifier

    rng = np.random.default_rng(seed)
    trials = [{"max_depth": [int(rng.integers(3, 21))], "learning_rate": [rng.random()],
               "gamma": [rng.uniform(1e-5, 100)], "min_child_weight": [int(rng.integers(0, 11))]}
              for _ in range(N_TRIALS)]
    return searched(XGBClassifier(n_jobs=1), trials, "roc_auc", X, y)


def rffnet_of_classes(X, y, seed):
    from rffkern import RFFNetClassifier

    return RFFNetClassifier(random_state=seed, n_jobs=1).fit(X, y)


CLASSIFIERS = {"logistic": logistic, "XGBoost": xgboost, "RFFNet": rffnet_of_classes}


def run_classification(folder, cell):
    """Accuracy, F1, AUC and CPU seconds; of RFFNet also the importances of columns, and those of XGBoost."""
    from scipy.stats import spearmanr
    from sklearn.metrics import f1_score, roc_auc_score

    X, y = load(folder, cell["set"])
    X, X_test, y, y_test = permuted_split(X, (y > 0).astype(int), cell["seed"], len(y) // 5)
    if cell.get("quick"):
        X, y = X[:1000], y[:1000]
    model, seconds = cpu(CLASSIFIERS[cell["method"]], X, y, cell["seed"])
    scores, more = cpu(model.predict_proba, X_test)
    found = {"accuracy": float(np.mean((scores[:, 1] > 0.5) == y_test)),
             "f1": float(f1_score(y_test, scores[:, 1] > 0.5)), "auc": float(roc_auc_score(y_test, scores[:, 1])),
             "seconds": round(seconds + more, 2)}
    if cell["method"] == "RFFNet":
        theirs = xgboost(X, y, cell["seed"]).best_estimator_.feature_importances_
        found["rank_correlation"] = float(spearmanr(model.feature_importances_, theirs).statistic)
        found["relevances"] = np.round(model.relevances_ / model.relevances_.max(), 4).tolist()
        found["XGBoost"] = np.round(theirs / theirs.max(), 4).tolist()
    return found


def report_regression(records):
    """Test MSE of Table 2."""
    methods = names_of(records, "method")
    return table(["paper / ours", *methods], [
        [name, *(f"{PAPER[name][method]} / {spread(values_of(records, 'mse', set=name, method=method), '.3g')}"
                 for method in methods)] for name in names_of(records, "set")])


def report_relevances(records):
    """Test MSE, and relevant columns among the five of largest relevance."""
    sizes = sorted(names_of(records, "rows"))
    figures = ("MSE", "mse", ".3f"), ("found", "found", ".1f")
    return table(["rows", *sizes], [
        [f"{name}, {label}", *(spread(values_of(records, figure, set=name, rows=size), form) for size in sizes)]
        for name in names_of(records, "set") for label, figure, form in figures])


def report_higgs(records):
    """Accuracy, F1 and AUC of Table 1, of 11,000 of its 700,000 rows; agreement of importances (Figure 5)."""
    rows = [[method, *(f"{paper} / {spread(values_of(records, figure, method=method), '.3f')}" for paper, figure in zip(
        PAPER_HIGGS[method], ("accuracy", "f1", "auc"), strict=True))] for method in names_of(records, "method")]
    agreement = spread(values_of(records, "rank_correlation", method="RFFNet"), ".2f")
    return table(["paper / ours", "accuracy", "F1", "AUC"], rows) + "\nFigure 5: rank correlation of the importances " \
        f"of RFFNet and XGBoost {agreement}.\n"


EXPERIMENTS = {
    "rffnet-table-1": Experiment(
        "RFFNet 2022, Table 1 and Figure 5: Higgs",
        lambda seeds, quick: cells(seeds, set=["higgs_11k"], method=["logistic", "XGBoost", "RFFNet"]),
        run_classification, report_higgs, draw=figures.importances),
    "rffnet-table-2": Experiment(
        "RFFNet 2022, Table 2: mean squared error",
        lambda seeds, quick: [*cells(seeds, set=REAL, method=list(REGRESSORS)),
                              *cells(seeds, set=[] if quick else list(SYNTHETIC), method=["BARD", "SRFF", "RFFNet"],
                                     rows=[SIZES[-1]])],
        run_regression, report_regression),
    "rffnet-figures-2-3": Experiment(
        "RFFNet 2022, Figures 2 and 3: relevant columns found",
        lambda seeds, quick: cells(seeds, set=list(SYNTHETIC), method=["RFFNet"], rows=SIZES[:1] if quick else SIZES),
        run_regression, report_relevances,
        draw=lambda records: figures.relevances(records, {name: each.relevant for name, each in SYNTHETIC.items()})),
}
