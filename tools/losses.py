"""Losses beside the squared error: Fourier boosting, LightGBM, CatBoost and quantile forests over data sets.

    python tools/losses.py --data DIR                                quantiles .1, .5 and .9
    python tools/losses.py --data DIR --loss poisson --sets kin8nm,california,protein
    python tools/losses.py --data DIR --loss log_loss --sets small,classes    calibration of probabilities

Of quantiles: the pinball loss in standard deviations of the target, the share of test rows between the first and the
last, and the share where they cross.  "absolute_error": its mean in the same unit.  "poisson", "gamma": the mean
deviance; targets are drawn, with the exponential of the standardised target of the set as their mean.  "log_loss", of
classes: it, the expected calibration error, the temperature that is best for the test rows, 1 for probabilities that
are neither too sure nor too careful, and by how much the log loss falls by it.  All models have default parameters and
one thread.
"""

import argparse
import time

import common  # noqa: F401  (one thread, before numpy)
import numpy as np
from common.data import load, names_of, numbers_of, permuted_split
from common.data import rows_of as rows_of_set
from common.rivals import RIVALS

from rffkern import FourierBoostingRegressor

N_BINS, TEMPERATURES = 15, np.geomspace(0.25, 4, 161)
QUANTILES, MOST_TEST, GAMMA_SHAPE = (0.1, 0.5, 0.9), 2000, 2.0
IN_LIGHTGBM = {"absolute_error": "l1", "poisson": "poisson", "gamma": "gamma"}
IN_CATBOOST = {"absolute_error": "MAE", "poisson": "Poisson"}


def rows_of(folder, name, seed, most_rows, loss):
    """Training rows, test rows and the targets of both."""
    if loss == "log_loss":
        return rows_of_set(folder, name, seed, most_rows)
    X, y = load(folder, name)
    y = (y - y.mean()) / y.std()
    rng = np.random.default_rng(seed)
    if loss in ("poisson", "gamma"):
        means = np.exp(np.clip(y, -4, 4))
        y = rng.poisson(means) * 1.0 if loss == "poisson" else rng.gamma(GAMMA_SHAPE, means / GAMMA_SHAPE)
    n_train = min(most_rows, int(0.7 * len(y)))
    X, X_test, y, y_test = permuted_split(X.astype(float), y, seed, len(y) - n_train)
    return X, X_test[:MOST_TEST], y, y_test[:MOST_TEST]


def probabilities(model):
    """A function of training rows and test rows that returns probabilities of a model of RIVALS."""
    return lambda X, y, X_test, loss, seed: RIVALS[model](X, y, X_test, True, seed)()


def fourier(X, y, X_test, loss, seed):
    """Predictions, or quantiles as columns."""
    quantile = QUANTILES if loss == "quantile" else 0.5
    model = FourierBoostingRegressor(loss=loss, quantile=quantile, random_state=seed, n_jobs=1).fit(X, y)
    return model.predict_quantiles(X_test) if loss == "quantile" else model.predict(X_test)


def lightgbm(X, y, X_test, loss, seed):
    """The same; a model for each quantile."""
    from lightgbm import LGBMRegressor

    fixed = {"random_state": seed, "n_jobs": 1, "verbose": -1}
    if loss == "quantile":
        return np.column_stack([LGBMRegressor(objective="quantile", alpha=q, **fixed).fit(X, y).predict(X_test)
                                for q in QUANTILES])
    return LGBMRegressor(objective=IN_LIGHTGBM[loss], **fixed).fit(X, y).predict(X_test)


def catboost(X, y, X_test, loss, seed):
    """The same; None for a loss that it does not have."""
    from catboost import CatBoostRegressor

    name = f"MultiQuantile:alpha={','.join(map(str, QUANTILES))}" if loss == "quantile" else IN_CATBOOST.get(loss)
    if name is None:
        return None
    model = CatBoostRegressor(loss_function=name, random_seed=seed, thread_count=1, verbose=False,
                              allow_writing_files=False).fit(X, y)
    return model.predict(X_test, prediction_type="Exponent") if loss == "poisson" else model.predict(X_test)


def forest(X, y, X_test, loss, seed):
    """Quantiles of the training rows that share leaves with a row (Meinshausen, 2006); None for other losses."""
    from sklearn.ensemble import RandomForestRegressor

    if loss != "quantile":
        return None
    model = RandomForestRegressor(min_samples_leaf=5, random_state=seed, n_jobs=1).fit(X, y)
    leaves, order = model.apply(X), np.argsort(y)
    sizes = np.array([np.bincount(column)[column] for column in leaves.T]).T
    found = []
    for of_row in model.apply(X_test):
        reached = ((leaves == of_row) / sizes).mean(axis=1)[order].cumsum()
        found.append(y[order][np.minimum(np.searchsorted(reached, QUANTILES), len(y) - 1)])
    return np.array(found)


def calibration(proba, y):
    """Log loss, expected calibration error (Guo, Pleiss, Sun and Weinberger, 2017), best temperature, what it gains."""
    logs = np.log(np.clip(proba, 1e-7, 1))
    chosen, confidence = proba.argmax(axis=1), proba.max(axis=1)
    bins = np.minimum((N_BINS * confidence).astype(int), N_BINS - 1)
    error = np.abs(np.bincount(bins, (chosen == y) - confidence)).sum() / len(y)
    losses = []
    for temperature in TEMPERATURES:
        scores = logs / temperature
        losses.append(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]))
    loss = -logs[np.arange(len(y)), y].mean()
    return [loss, error, TEMPERATURES[np.argmin(losses)], loss - min(losses)]


def figures_of(predicted, y, loss):
    """The loss; of quantiles also what lies between the outer ones and what crosses, of probabilities calibration."""
    if loss == "log_loss":
        return calibration(predicted, y)
    if loss == "absolute_error":
        return [np.abs(y - predicted).mean()]
    if loss == "poisson":
        return [2 * np.mean(predicted - y + y * np.log(np.maximum(y, 1e-300) / predicted))]
    if loss == "gamma":
        return [2 * np.mean(y / predicted - 1 - np.log(y / predicted))]
    errors = y[:, None] - predicted
    return [np.maximum(np.multiply(QUANTILES, errors), np.multiply(QUANTILES, errors) - errors).mean(),
            np.mean((errors[:, 0] >= 0) & (errors[:, -1] <= 0)), np.mean((np.diff(predicted) < 0).any(axis=1))]


def main():
    """Print a line for each set, and means over sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="DIR", help="folder of NAME.npz files with arrays X and y")
    parser.add_argument("--sets", default="targets", help="names or groups of data sets; %(default)s by default")
    parser.add_argument("--seeds", type=numbers_of, default="61-62", metavar="FIRST-LAST",
                        help="%(default)s by default")
    parser.add_argument("--rows", type=int, default=2000, help="training rows at most; %(default)s by default")
    parser.add_argument("--loss", default="quantile",
                        choices=["quantile", "absolute_error", "poisson", "gamma", "log_loss"])
    options = parser.parse_args()
    models = {model.__name__: model for model in (fourier, lightgbm, catboost, forest)}
    if options.loss == "log_loss":
        models = {model: probabilities(model) for model in ("fourier", "lightgbm", "catboost", "random-forest")}
    found, seconds = {}, dict.fromkeys(models, 0.0)
    for name in names_of(options.sets):
        for seed in options.seeds:
            X, X_test, y, y_test = rows_of(options.data, name, seed, options.rows, options.loss)
            for model, predict in models.items():
                started = time.process_time()
                predicted = predict(X, y, X_test, options.loss, seed)
                if predicted is not None:
                    seconds[model] += time.process_time() - started
                    found.setdefault(model, {}).setdefault(name, []).append(
                        figures_of(predicted, y_test, options.loss))
        print(f"{name:18s}", "  ".join(f"{model} " + " ".join(f"{value:.4f}" for value in np.mean(sets[name], axis=0))
                                     for model, sets in found.items()), flush=True)
    means = {model: np.array([np.mean(each, axis=0) for each in sets.values()]) for model, sets in found.items()}
    for model, of_sets in means.items():
        ratios = np.log(of_sets[:, 0] / means["fourier"][:, 0])
        error = ratios.std(ddof=1) / len(ratios) ** 0.5 if len(ratios) > 1 else np.nan
        print(f"{model}: mean of {len(of_sets)} sets", " ".join(f"{value:.4f}" for value in of_sets.mean(axis=0)),
              f"loss {np.exp(ratios.mean()):.3f} +- {error:.3f} times that of fourier, which is ahead on "
              f"{(ratios > 0).sum()}; {seconds[model]:.0f} s")


if __name__ == "__main__":
    main()
