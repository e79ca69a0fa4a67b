"""How many test rows intervals and label sets of Fourier boosting contain, and how wide they are, over data sets.

With --mapie, intervals of split conformal regression around LightGBM (a fifth of the rows calibrates, as MAPIE does it)
stand beside them; with --gaussian-process normal ones by the standard deviations of kernel ridge regression.  Means
have a standard error over seeds.

With --generated, the rows are drawn: functions of six kinds, with noise, of which so many rows train a model.  Beside
coverage stands by how much the log loss that a model claims for new rows is above that of new rows.
"""

import argparse
from statistics import NormalDist

import numpy as np
from common.data import load, names_of, numbers_of

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor, KernelRidgeRegressor

MOST_TRAINING, MOST_TEST = 2000, 8000


def split(X, y, seed):
    """At most 2,000 rows, and two thirds of them, to train on; at most 8,000 others."""
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(MOST_TRAINING, int(0.67 * len(y)))
    training, test = order[:n_train], order[n_train : n_train + MOST_TEST]
    return X[training], y[training], X[test], y[test]


def of_targets(X, y, X_test, y_test, coverages, seed):
    """Coverage and mean width, in standard deviations of the target, for each coverage."""
    model = FourierBoostingRegressor(random_state=seed).fit(X, y)
    ends = [model.predict_interval(X_test, coverage) for coverage in coverages]
    return [((y_test >= each[:, 0]) & (y_test <= each[:, 1]), np.diff(each).mean() / y_test.std()) for each in ends]


def of_labels(X, y, X_test, y_test, coverages, seed):
    """Coverage and mean number of labels, for each coverage that the rows suffice for."""
    model = FourierBoostingClassifier(random_state=seed).fit(X, y)
    sets = [model.predict_set(X_test, coverage) for coverage in coverages]
    return [(each[np.arange(len(each)), np.searchsorted(model.classes_, y_test)], each.sum(axis=1).mean())
            for each in sets]


def of_mapie(X, y, X_test, y_test, coverages, seed):
    """The same of split conformal regression around LightGBM."""
    from lightgbm import LGBMRegressor
    from mapie.regression import SplitConformalRegressor

    n_fit, found = int(0.8 * len(y)), []
    for coverage in coverages:
        model = SplitConformalRegressor(LGBMRegressor(verbose=-1, random_state=seed), confidence_level=coverage,
                                        prefit=False)
        model.fit(X[:n_fit], y[:n_fit]).conformalize(X[n_fit:], y[n_fit:])
        _, ends = model.predict_interval(X_test)
        found.append(((y_test >= ends[:, 0, 0]) & (y_test <= ends[:, 1, 0]),
                      (ends[:, 1, 0] - ends[:, 0, 0]).mean() / y_test.std()))
    return found


def of_gaussian_process(X, y, X_test, y_test, coverages, seed):
    """The same of kernel ridge regression of at most 1,500 rows, by its standard deviations."""
    model = KernelRidgeRegressor(random_state=seed).fit(X[:1500], y[:1500])
    predicted, std = model.predict(X_test, return_std=True)
    halves = [NormalDist().inv_cdf((1 + coverage) / 2) * std for coverage in coverages]
    return [(np.abs(y_test - predicted) <= half, 2 * half.mean() / y_test.std()) for half in halves]


KINDS = [lambda x: x[0] + x[1], lambda x: 3 * np.sin(2 * x[0]) * x[1], lambda x: 0 * x[0],
         lambda x: 2.0 * (x[0] > 0) + 2 * (x[1] * x[2] > 0), lambda x: 0.7 * x[:5].sum(axis=0),
         lambda x: 2 * np.abs(x[0]) + x[3] ** 2]


def on_generated(n_rows, seeds, coverage):
    """Print the coverage of intervals and of sets, means over kinds and seeds, and what models claim."""
    covered, contained, claimed = [], [], []
    for kind, function in enumerate(KINDS):
        for seed in seeds:
            rng = np.random.default_rng([kind, seed])
            X = rng.standard_normal((n_rows + 1000, 6))
            f, train, test = function(X.T), slice(n_rows), slice(n_rows, None)
            y = f + rng.standard_normal(len(X))
            labels = rng.random(len(X)) < 1 / (1 + np.exp(-2 * (f - f.mean())))
            model = FourierBoostingRegressor(random_state=seed).fit(X[train], y[train])
            low, high = model.predict_interval(X[test], coverage).T
            covered.append(np.mean((low <= y[test]) & (y[test] <= high)))
            if np.bincount(labels[train], minlength=2).min() < 5:
                continue
            model = FourierBoostingClassifier(random_state=seed).fit(X[train], labels[train])
            places = np.arange(1000), labels[test].astype(int)
            contained.append(model.predict_set(X[test], coverage)[places].mean())
            claim = vars(model)["_out_of_fold"]["figures"]["log_loss"]
            claimed.append(claim + np.log(model.predict_proba(X[test])[places]).mean())
    print(f"{n_rows} rows, {coverage:g}:", ", ".join(
        f"{name} {np.mean(each):.3f} +- {np.std(each, ddof=1) / len(each)**0.5:.3f}" for name, each in (
            ("intervals", covered), ("sets", contained), ("claimed less true log loss", claimed))), flush=True)


def main():
    """Print a line for each set, and means over sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of NAME.npz files with arrays X and y")
    parser.add_argument("--generated", type=int, nargs="+", metavar="ROWS", help="draw rows, so many to train on")
    parser.add_argument("--sets", default="targets", help="names or groups of data sets (default: targets)")
    parser.add_argument("--seeds", default="0-2", help="FIRST-LAST (default: 0-2)")
    parser.add_argument("--coverages", type=float, nargs="+", default=[0.8, 0.9, 0.95])
    parser.add_argument("--gaussian-process", action="store_true", help="also kernel ridge regression, return_std=True")
    parser.add_argument("--mapie", action="store_true", help="also LightGBM in MAPIE")
    arguments = parser.parse_args()
    for n_rows in arguments.generated or ():
        on_generated(n_rows, numbers_of(arguments.seeds), arguments.coverages[0])
    if arguments.generated:
        return
    if not arguments.data:
        parser.error("--data must name the folder of the data sets, or --generated some numbers of rows")
    rows = []
    for name in names_of(arguments.sets):
        X, y = load(arguments.data, name)
        X, is_number = X.astype(np.float64), y.dtype.kind == "f"
        others = {"MAPIE": of_mapie} if arguments.mapie else {}
        others |= {"Gaussian process": of_gaussian_process} if arguments.gaussian_process else {}
        methods = [of_targets, *others.values()] if is_number else [of_labels]
        runs = [[method(*split(X, y, seed), arguments.coverages, seed) for method in methods]
                for seed in numbers_of(arguments.seeds)]
        rows.append([[[(inside.mean(), width) for inside, width in method] for method in run] for run in runs])
        print(f"{name:18s}", "  ".join(" ".join(f"{covered:.3f} {width:6.3f}" for covered, width in method)
                                     for method in np.mean(rows[-1], axis=0)), flush=True)
    found = np.array(rows)  # (n_sets, n_seeds, n_methods, n_coverages, 2)
    n_worst, n_seeds = max(1, len(found) // 10), found.shape[1]
    for k, coverage in enumerate(arguments.coverages):
        for m, method in enumerate(["rffkern", *others]):
            covered, widths = found[:, :, m, k, 0], found[:, :, m, k, 1].mean(axis=1)
            error = f" +- {covered.mean(axis=0).std(ddof=1) / n_seeds**0.5:.4f}" if n_seeds > 1 else ""
            ratio = np.exp(np.log(widths / found[:, :, 0, k, 1].mean(axis=1)).mean())
            print(f"{coverage:g} {method}: mean {covered.mean():.4f}{error}, worst tenth of the sets "
                  f"{np.sort(covered.mean(axis=1))[:n_worst].mean():.4f}, width {widths.mean():.3f}, ratio of widths "
                  f"{ratio:.3f}")


if __name__ == "__main__":
    main()
