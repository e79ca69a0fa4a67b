"""Fourier boosting with target statistics of pairs of categories, as further columns of numbers.

The statistic of a pair of levels is the mean target of its rows, shrunk towards the sum of the effects of both levels;
training rows get that of the other four of five folds.  The two pairs are taken whose squared error on held-out folds
is the farthest below that of the sum of effects, by 2 % or more.
"""

import itertools
from importlib import import_module

import numpy as np

N_FOLDS, MOST_PAIRS, LEAST_GAIN, MOST_COLUMNS = 5, 2, 0.02, 10
SHRINKAGES = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0])  # rows


class Statistics:
    """Of codes 0, 1, ... of training rows: shrunk mean targets of all rows, and of those of other folds."""

    def __init__(self, codes, size, targets, prior=None, prior_of_all=None):
        cells = codes * N_FOLDS + np.arange(len(codes)) % N_FOLDS
        weights = np.bincount(cells, minlength=size * N_FOLDS).reshape(size, N_FOLDS, 1)
        sums = np.stack([np.bincount(cells, t, size * N_FOLDS).reshape(size, N_FOLDS) for t in targets.T], axis=-1)
        rest, rest_sums = weights.sum(1, keepdims=True) - weights, sums.sum(1, keepdims=True) - sums
        self.mean, self.mean_of_all = rest_sums.sum(0) / rest.sum(0), sums.sum((0, 1)) / len(codes)
        prior, prior_of_all = (self.mean, self.mean_of_all) if prior is None else (prior, prior_of_all)
        tried = [(rest_sums + m * prior) / (rest + m) for m in SHRINKAGES]
        errors = [(weights * p * p - 2 * p * sums).sum((0, 1)) for p in tried]
        best = np.argmin(errors, axis=0)
        self.error = np.min(errors, axis=0).sum() + (targets**2).sum()
        self.by_fold = np.stack([tried[m][..., k] for k, m in enumerate(best)], axis=-1)
        self.of_all = (sums.sum(1) + SHRINKAGES[best] * prior_of_all) / (weights.sum(1) + SHRINKAGES[best])


def pairs_of(codes, sizes, targets):
    """(Gain, first column, second, statistics) of pairs that gain; code pairs are of all levels of both."""
    single = {j: Statistics(codes[j], sizes[j], targets) for j in codes}
    found = []
    for a, b in itertools.combinations(sorted(sorted(codes, key=lambda j: single[j].error)[:MOST_COLUMNS]), 2):
        if sizes[a] * sizes[b] > 1 << 17:
            continue
        in_a, in_b = np.divmod(np.arange(sizes[a] * sizes[b]), sizes[b])
        prior = single[a].by_fold[in_a] + single[b].by_fold[in_b] - single[a].mean
        prior_of_all = single[a].of_all[in_a] + single[b].of_all[in_b] - single[a].mean_of_all
        place = codes[a] * sizes[b] + codes[b]
        both = Statistics(place, len(in_a), targets, prior, prior_of_all)
        added = ((targets - prior[place, np.arange(len(place)) % N_FOLDS]) ** 2).sum()
        least = min(added, single[a].error, single[b].error)
        found.append(((least - both.error) / least, a, b, both))
    return sorted((each for each in found if each[0] >= LEAST_GAIN), key=lambda each: -each[0])[:MOST_PAIRS]


def fourier_pairs(X, y, X_test, is_class, seed):
    """The model with the columns of its pairs."""
    library = import_module("rffkern")
    if not hasattr(X, "columns"):
        raise SystemExit("fourier-pairs is for tables with words")
    targets = (y[:, None] == np.arange(y.max() + 1)) * 1.0 if is_class else y[:, None] / np.abs(y).max()
    targets = targets[:, 1:] if targets.shape[1] == 2 else targets
    fitted = library.ColumnMap().fit(X, y.astype(str) if is_class else y)._fitted_map()
    codes, sizes = [{}, {}], {}
    for j, column in enumerate(fitted.columns):
        if column.kind == "category" and column.forms and column.text is None:
            sizes[j] = len(column.levels) + 2  # rare levels and missing ones
            for of_rows, rows in zip(codes, (X, X_test), strict=True):
                (values,) = column.values_of(fitted.read(rows, "fourier-pairs").columns[j], X.columns[j])
                of_rows[j] = np.where(np.isnan(values), sizes[j] - 1, values).astype(int)
    tables = [X.copy(), X_test.copy()]
    for _, a, b, both in pairs_of(codes[0], sizes, targets):
        train, test = (of_rows[a] * sizes[b] + of_rows[b] for of_rows in codes)
        for k in range(targets.shape[1]):
            tables[0][f"pair {a} {b} {k}"] = both.by_fold[train, np.arange(len(train)) % N_FOLDS, k]
            tables[1][f"pair {a} {b} {k}"] = both.of_all[test, k]
    make = library.FourierBoostingClassifier if is_class else library.FourierBoostingRegressor
    model = make(random_state=seed, n_jobs=1).fit(tables[0], y)
    return lambda: model.predict_proba(tables[1]) if is_class else model.predict(tables[1])
