"""Accuracy by number of landmarks, with parameters chosen by cross-validation: the protocol of the landmark papers."""

import multiprocessing
from typing import NamedTuple

import numpy as np

from common.protocols import load, split, standardised

GAMMA_FACTORS = [2.0**k for k in range(-2, 3)]  # times 1 / n_features


def gamma_grid(n_features):
    return [factor / n_features for factor in GAMMA_FACTORS]


# Omegas of variance 1 / n_features give projections of variance 1.  With omegas of variance 1, which the 2019 paper
# prints, models on 60 columns learn nothing (55 % on sonar); with these, the figures of its table are reproduced.
def gamma_2019(n_features):
    return 0.5 / n_features


def judge(scores, positive):
    """Accuracy, and minus the mean squared error of scores clipped to [-1, 1]."""
    return np.mean((scores > 0) == positive), -np.mean((np.clip(scores, -1, 1) - np.where(positive, 1, -1)) ** 2)


class Contender:
    """A class of models, its fixed parameters, and the grid of those that are chosen."""

    def __init__(self, class_name, grid, **params):
        self.class_name, self.grid, self.params = class_name, grid, params

    def curve(self, params, X, y, X_test, y_test, sizes):
        """What `judge` says of the test rows for each number of landmarks in ascending order."""
        import rffkern

        make = getattr(rffkern, self.class_name)
        params = self.params | params | {"n_jobs": 1}
        if "n_estimators" not in make().get_params():
            models = [make(size, **params).fit(X, y) for size in sizes]
            return [judge(model.decision_function(X_test), y_test == model.classes_[1]) for model in models]
        model = make(sizes[-1], **params).fit(X, y)
        return [judge(scores, y_test == model.classes_[1])
                for scores in partial_scores(model.expansion_, model.n_components_, X_test, sizes)]

    def tuned_curve(self, data, sizes, fold_seed, random_state=1):
        """Test accuracy per size, each with the parameters of best mean accuracy over five stratified folds.

        Ties, of which small sets have many, are decided by the smaller squared error of the scores.
        """
        from sklearn.model_selection import StratifiedKFold

        X, X_test, y, y_test = data
        folds = list(StratifiedKFold(5, shuffle=True, random_state=fold_seed).split(X, y))
        grid = [params | {"random_state": random_state} for params in self.grid(X.shape[1])]
        found = np.array([np.mean([self.curve(params, X[a], y[a], X[b], y[b], sizes) for a, b in folds], axis=0)
                          for params in grid])  # (parameters, sizes, 2)
        best = [max(range(len(grid)), key=lambda k, size=size: tuple(found[k, size].round(12)))
                for size in range(len(sizes))]
        curves = {choice: self.curve(grid[choice], X, y, X_test, y_test, sizes) for choice in set(best)}
        return [curves[choice][k][0] for k, choice in enumerate(best)]


def partial_scores(expansion, per_round, X, sizes):
    """Scores of the terms of the first rounds, for several numbers of rounds."""
    from rffkern import FourierExpansion

    scores, found = 0.0, []
    for start, stop in zip([0, *sizes], sizes, strict=False):
        terms = slice(start * per_round, stop * per_round)
        added = FourierExpansion(expansion.omegas[terms], expansion.phases[terms], expansion.amplitudes[terms],
                                 expansion.intercept * (start == 0), expansion.center)
        scores = scores + added.score(X, n_jobs=1)[:, 0]
        found.append(scores)
    return found


class Job(NamedTuple):
    """One split of one data set."""

    folder: str
    name: str
    seed: int
    contender: Contender
    sizes: list
    splits: str  # "authors" or "seeded"
    untuned: bool  # default parameters instead of cross-validation
    by_2019: bool  # the protocol of the 2019 paper


def run_job(job):
    """Test accuracy per number of landmarks."""
    X, y = load(job.folder, job.name)
    if job.by_2019:  # which standardises all rows together
        (X,) = standardised(X)
    data = X_train, X_test, y_train, y_test = split(X, y, job.seed, job.splits, 0.7 if job.by_2019 else 0.3)
    if job.untuned:
        curve = job.contender.curve({"random_state": job.seed}, X_train, y_train, X_test, y_test, job.sizes)
        return job.name, [accuracy for accuracy, _ in curve]
    return job.name, job.contender.tuned_curve(data, job.sizes, job.seed if job.splits == "seeded" else None)


def in_processes(function, jobs, n_processes):
    """The results of a function, each computed in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
        return pool.map(function, jobs, chunksize=1)


def tuned(arguments, contender, sizes, names, by_2019=False):
    """Accuracy in %, {data set: array (seeds, sizes)}."""
    jobs = [Job(arguments.data, name, seed, contender, sizes, arguments.splits, arguments.untuned, by_2019)
            for name in reversed(names) for seed in arguments.seeds]
    results = in_processes(run_job, jobs, arguments.jobs)
    return {name: 100 * np.array([curve for found, curve in results if found == name]) for name in names}


def mean_curve(found):
    """Mean over data sets and seeds of what `tuned` returns."""
    return np.mean([scores.mean(axis=0) for scores in found.values()], axis=0)


def print_table(paper, found):
    """Accuracy in %; a set that the paper's table has no figure for, as of bankmarketing, gets a dash."""
    def figure(values):
        return "-" if None in values else f"{np.mean(values):.2f}"

    print(f"{'data set':<12} {'paper':>6} {'ours':>6} {'+-':>5}")
    for name, scores in found.items():
        spread = f"{scores[:, -1].std():.2f}" if len(scores) > 1 else "-"
        print(f"{name:<12} {figure([paper.get(name)]):>6} {scores[:, -1].mean():6.2f} {spread:>5}")
    print(f"{f'mean of {len(found)}':<12} {figure([paper.get(name) for name in found]):>6} "
          f"{np.mean([scores[:, -1].mean() for scores in found.values()]):6.2f}", flush=True)


def print_curves(label, sizes, curves):
    width = max(map(len, [label, *curves]))
    print(f"{label:<{width}} " + "".join(f"{size:>8}" for size in sizes))
    for name, curve in curves.items():
        print(f"{name:<{width}} " + "".join(f"{accuracy:8.2f}" for accuracy in curve), flush=True)


def draw_curves(path, label, sizes, curves):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, curve in curves.items():
        axes.semilogx(sizes, curve, marker="o", label=name)
    axes.set(xlabel=label, ylabel="mean test accuracy in %", xticks=sizes, xticklabels=sizes)
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
