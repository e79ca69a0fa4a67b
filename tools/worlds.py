"""Small tables of known functions, to find those on which Fourier boosting is worse than simple models and rivals.

    python tools/worlds.py                              all worlds, beside the figures of others in worlds.jsonl
    python tools/worlds.py --every 10 --worst           a sample; fails where the model is worst of four by far
    python tools/worlds.py --only parity --params '{"n_bags": 20}'
    python tools/worlds.py --cases 61-65 --log FILE     functions that were once learned badly, means of seeds
    python tools/worlds.py --log FILE --seed 61         other worlds of the same kinds, rivals measured into FILE

World i has function i mod 21, and a number of rows, a number of columns and a twist by a generator of its own: noise,
wrong labels, heavy tails, correlated columns, copies of rows, missing values, columns of few values, a rare class, or
test rows that have moved.  The log has score, loss and seconds of ridge or logistic regression, LightGBM, and CatBoost
of 200 rounds and 32 bins; worlds that it lacks are added, which needs scikit-learn, pandas, LightGBM and CatBoost.

Cases are a threshold on one of many columns, a line among 300, a linear function of more columns than rows, a
maximum, a ratio, the parity of three columns, labels of which 30 % are flipped, and a minority whose rows are repeated
in training rows alone or in test rows too.

Points are per cent of accuracy or R^2 on 2,000 test rows, the loss is log loss or 1 - R^2.  Worlds are listed where the
model is worst of four by more than 5 points or a tenth of the loss, or behind the best of the others by more than 5
points or a quarter of the loss.
"""

import argparse
import json
import os
import sys
import warnings

import common  # noqa: F401  (one thread, before numpy)
import numpy as np
from common.data import numbers_of
from common.rivals import run

OTHERS = {"linear": "linear", "lightgbm": "lightgbm", "catboost": 'catboost:{"iterations": 200, "border_count": 32}'}
FEWEST_ROWS, MOST_ROWS, MOST_COLUMNS, MOST_NUMBERS, N_TEST = 30, 5000, 600, 20_000, 2000
WORST_POINTS, WORST_SHARE, BEHIND_POINTS, BEHIND_SHARE = 5.0, 0.1, 5.0, 0.25
LEAST_LOSS = 0.01  # of which shares are taken at least, for none is far behind at .001

# Functions of X, (n_rows, n_columns) of mean 0 and variance 1, that read the first columns; which are shuffled later.


def linear(X, rng):
    return X @ rng.standard_normal(X.shape[1])


def few_slopes(X, rng):
    return X[:, :3] @ np.array([1.0, -1.0, 0.5])


def additive(X, rng):
    return np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + 0.3 * X[:, 2] ** 2 + np.tanh(3 * X[:, 3])


def products(X, rng):
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]


def rank_one(X, rng):
    return np.prod(1 + 0.5 * np.tanh(X[:, :6]), axis=1)


def maximum(X, rng):
    return X[:, :20].max(axis=1)


def ratio(X, rng):
    return (1.1 + np.tanh(X[:, 0])) / (1.1 + np.tanh(X[:, 1]))


def parity(X, rng):
    return np.sign(X[:, :3]).prod(axis=1)


def either_or(X, rng):
    return np.sign(X[:, 0] * X[:, 1])


def steps(X, rng):
    return (X[:, :4] > np.array([0, 0.5, -0.5, 1])) @ np.array([1.0, -1.5, 1.0, 2.0])


def boxes(X, rng):
    return sum((X[:, j] > 0.3) * (X[:, j + 1] < 0.2) * (1.0 + j) for j in range(3))


def waves(X, rng):
    return np.sin(3 * X[:, 0] + 2 * X[:, 1]) + np.cos(4 * X[:, 2])


def radial(X, rng):
    return np.exp(-0.3 * (X[:, :5] ** 2).sum(axis=1))


def distance(X, rng):
    return np.sqrt(((X[:, None, :3] - rng.standard_normal((8, 3))) ** 2).sum(axis=2)).min(axis=1)


def line(X, rng):
    return X[:, 0]


def needle(X, rng):
    return (X[:, 0] > 0.7) * 1.0


def line_and_waves(X, rng):
    return 3 * X[:, 0] + np.sin(5 * X[:, 1]) + (X[:, 2] > 0) * X[:, 3]


def network(X, rng):
    return np.tanh(X[:, :10] @ rng.standard_normal((X[:, :10].shape[1], 8))) @ rng.standard_normal(8)


def friedman(X, rng):
    U = 0.5 + 0.5 * np.tanh(X[:, :5])
    return np.sin(np.pi * U[:, 0] * U[:, 1]) + 2 * (U[:, 2] - 0.5) ** 2 + U[:, 3] + 0.5 * U[:, 4]


def growth(X, rng):
    return np.exp(X[:, 0] + 0.5 * X[:, 1])


def levels(X, rng):
    """Effects of 12 and 5 levels, which are words, and a slope that differs by level."""
    first, second = level_of(X[:, 0], 12), level_of(X[:, 1], 5)
    return rng.standard_normal(12)[first] + rng.standard_normal(5)[second] * X[:, 2]


def many_levels(X, rng):
    return rng.standard_normal(60)[level_of(X[:, 0], 60)] + 0.5 * X[:, 1]


FUNCTIONS = (linear, few_slopes, additive, products, rank_one, maximum, ratio, parity, either_or, steps, boxes, waves,
             radial, distance, needle, line_and_waves, network, friedman, growth, levels, many_levels)
CASES = ((needle, 300, 100, 0, ""), (needle, 300, 300, 0, ""), (needle, 300, 500, 0, ""), (line, 300, 300, 0, ""),
         (linear, 60, 300, 0, ""), (maximum, 500, 20, 0, ""), (ratio, 500, 6, 0, ""), (parity, 500, 3, 2, "signs"),
         (parity, 500, 10, 2, "signs"), (few_slopes, 300, 10, 2, "flipped"), (additive, 400, 10, 2, "oversampled"),
         (additive, 400, 10, 2, "balanced"))
N_WORDS = {levels: (12, 5), many_levels: (60,)}
TWISTS = ("", "", "", "noise", "wrong", "heavy", "correlated", "copies", "missing", "coarse", "rare", "moved")


def level_of(column, n_levels):
    """A level of a normal value, the middle ones more often."""
    return np.clip(((0.5 + 0.5 * np.tanh(column)) * n_levels).astype(int), 0, n_levels - 1)


def world(index, seed):
    """Name, training rows, test rows and the targets of both of a world."""
    rng, function = np.random.default_rng((seed, index)), FUNCTIONS[index % len(FUNCTIONS)]
    n = int(np.exp(rng.uniform(np.log(FEWEST_ROWS), np.log(MOST_ROWS))))
    d = min(int(np.exp(rng.uniform(0, np.log(MOST_COLUMNS)))), MOST_NUMBERS // n)
    twist, n_classes = TWISTS[rng.integers(len(TWISTS))], (0, 0, 2, 2, 3)[rng.integers(5)]
    twist = "noise" if twist in ("wrong", "rare") and not n_classes else twist
    d = max(d, 1 if function in (linear, needle, maximum) else 6)
    name = f"{index:03d} {title_of(function, n, d, n_classes, twist)}"
    return name, *rows_of_world(rng, function, n, d, n_classes, twist)


def title_of(function, n, d, n_classes, twist):
    return f"{function.__name__} {n}x{d} {f'{n_classes} classes' if n_classes else 'values'} {twist}".strip()


def rows_of_world(rng, function, n, d, n_classes, twist):
    """Training rows, test rows and the targets of both."""
    X = rng.standard_normal((n + N_TEST, d))
    if twist == "heavy":
        X = np.clip(rng.standard_t(2, X.shape), -50, 50)
    if twist == "correlated":
        X = X @ rng.standard_normal((d, d)) / np.sqrt(d) * 0.7 + 0.7 * rng.standard_normal((len(X), 1))
    if twist == "coarse":
        X = np.round(X)
    if twist == "moved":
        X[n:] += 0.5 * rng.standard_normal(d)
    y = function(X, rng).astype(float)
    y = (y - y[:n].mean()) / max(y[:n].std(), 1e-9)
    y += {"noise": 1.0}.get(twist, 0.2) * rng.standard_normal(len(y))
    if n_classes:
        rare = {"rare": 0.93, "oversampled": 0.88, "balanced": 0.88}
        shares = [rare[twist]] if twist in rare else np.arange(1, n_classes) / n_classes
        y = np.searchsorted([0.0] if twist == "signs" else np.quantile(y[:n], shares), y)
        if twist == "wrong":
            wrong = rng.random(len(y)) < 0.3
            y[wrong] = rng.integers(0, y.max() + 1, wrong.sum())
        if twist == "flipped":
            y = np.where(rng.random(len(y)) < 0.3, 1 - y, y)
        if len(np.unique(y[:n])) < y.max() + 1:
            y = np.minimum(y, 1)
    X, words = X.astype(object if function in N_WORDS else float), N_WORDS.get(function, ())
    for j, n_levels in enumerate(words):
        X[:, j] = [f"level {level}" for level in level_of(X[:, j].astype(float), n_levels)]
    if twist == "missing":
        gone = rng.random(X.shape) < 0.15
        gone[:, : len(words)] = False
        X[gone] = np.nan
    X = X[:, rng.permutation(d)]
    X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
    if twist == "copies":  # a third of the rows several times
        again = rng.integers(n // 3 + 1, size=n)
        X, y = X[again], y[again]
    if twist in ("oversampled", "balanced"):
        X, y = oversampled(X, y, rng)
    if twist == "balanced":
        X_test, y_test = oversampled(X_test, y_test, rng)
    return X, X_test, y, y_test


def oversampled(X, y, rng):
    """Rows, of the second class again until they are half of all."""
    again = rng.choice(np.flatnonzero(y), (y == 0).sum() - y.sum())
    return np.concatenate([X, X[again]]), np.concatenate([y, y[again]])


def read_log(path):
    """{world: {model: [score, loss, seconds]}}."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {record.pop("world"): record for record in map(json.loads, file)}


def measure(model, X, X_test, y, y_test):
    """Score, loss and seconds of a model on a world."""
    if X.dtype == object and not model.startswith("fourier"):
        import pandas as pd

        X, X_test = pd.DataFrame(X).infer_objects(), pd.DataFrame(X_test).infer_objects()
        X.columns = X_test.columns = [f"x{j}" for j in range(X.shape[1])]
    figures, _ = run(model, X, X_test, y, y_test, 0)
    loss = figures.get("log_loss", 1 - figures["score"] / 100)
    return [round(figures["score"], 2), round(loss, 4), round(figures["fit"], 2)]


def judgement(own, others):
    """How a model stands beside others: "worst", "behind" or ""; points and share of the loss behind the best."""
    points, losses, _ = zip(*others, strict=True)
    scale = max(min(losses), LEAST_LOSS)
    behind, share = max(points) - own[0], (own[1] - min(losses)) / scale
    is_worst = min(points) - own[0] > WORST_POINTS or own[1] - max(losses) > WORST_SHARE * scale
    return "worst" if is_worst else "behind" if behind > BEHIND_POINTS or share > BEHIND_SHARE else "", behind, share


def print_cases(seeds, model, path):
    """Means over seeds of score and loss of the model and the others, a line for each case; others go to the log."""
    log = read_log(path)
    for case in CASES:
        (_, n, d, *_), name, found = case, title_of(*case), []
        for seed in seeds:
            rows = rows_of_world(np.random.default_rng((seed, n, d)), *case)
            others = log_others(log, path, f"{name} seed {seed}", rows)
            found.append([measure(model, *rows)[:2], *(others[other][:2] for other in OTHERS)])
        means, spread = np.mean(found, axis=0), np.std(found, axis=0) / max(len(found) - 1, 1) ** 0.5
        figures = zip(("fourier", *OTHERS), means, spread, strict=True)
        print(f"{name:36s}", "  ".join(f"{each} {score:.1f} +- {error:.1f}, {loss:.3f}"
                                       for each, (score, loss), (error, _) in figures), flush=True)


def log_others(log, path, name, rows):
    """Figures of the others on a world, measured if the log lacks them."""
    if name not in log:
        log[name] = {other: measure(of, *rows) for other, of in OTHERS.items()}
        with open(path, "a", encoding="utf-8") as file:
            print(json.dumps({"world": name} | log[name]), file=file)
    return log[name]


def print_means(found):
    """Mean ranks by loss, the share of worlds where the first model has the lower loss, and seconds."""
    figures = np.array([list(each.values()) for each in found])  # (n_worlds, n_models, 3)
    losses = figures[:, :, 1]
    ranks = (1 + (losses[:, None, :] < losses[:, :, None]).sum(axis=2)).mean(axis=0)
    for k, model in enumerate(found[0]):
        print(f"{model:10s} mean rank {ranks[k]:.2f}  median loss {np.median(losses[:, k]):.3f}  beaten on "
              f"{100 * np.mean(losses[:, 0] < losses[:, k]):.0f} %  {figures[:, k, 2].sum():.0f} s")


def main():
    """Measure the model, and the others where the log lacks them, and list the worlds where it is behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", default=os.path.join(os.path.dirname(__file__), "worlds.jsonl"),
                        help="file of the figures of the others, to which missing ones are added")
    parser.add_argument("--seed", type=int, default=1, help="of the worlds; %(default)s by default")
    parser.add_argument("--count", type=int, default=210, help="number of worlds; %(default)s by default")
    parser.add_argument("--every", type=int, default=1, help="take every so many-th world")
    parser.add_argument("--only", default="", help="take worlds with this in their name")
    parser.add_argument("--params", default="", help="parameters of the model, as JSON")
    parser.add_argument("--worst", action="store_true", help="fail where the model is worst of all by far")
    parser.add_argument("--cases", type=numbers_of, metavar="FIRST-LAST", help="seeds of the cases, which take "
                        "the place of worlds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    model = f"fourier:{options.params}" if options.params else "fourier"
    if options.cases:
        print_cases(options.cases, model, options.log)
        return
    log, found, n_worst = read_log(options.log), [], 0
    for index in range(0, options.count, options.every):
        name, *rows = world(index, options.seed)
        if options.only not in name:
            continue
        measured = log_others(log, options.log, name, rows)
        others = {other: measured[other] for other in OTHERS}
        found.append({"fourier": measure(model, *rows)} | others)
        word, behind, share = judgement(found[-1]["fourier"], others.values())
        n_worst += word == "worst"
        if word:
            figures = "  ".join(f"{each} {score:.1f} {loss:.3f}" for each, (score, loss, _) in found[-1].items())
            print(f"{word:6s} {behind:5.1f} points {100 * share:4.0f} %  {name:42s} {figures}", flush=True)
    if found:
        print_means(found)
    print(f"worst of four on {n_worst} of {len(found)} worlds")
    sys.exit(options.worst and n_worst > 0)


if __name__ == "__main__":
    main()
