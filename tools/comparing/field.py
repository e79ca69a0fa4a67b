"""The page of the field, docs/results.md, from docs/results.jsonl: all models on all shared sets, without a choice.

Errors are those of TabArena: 1 - area under the ROC curve of two classes, log loss of more, root mean squared error of
targets.  Elo, improvability and ranks are of the mean error of each set over the splits that all models have measured.
"""

import pathlib

import numpy as np
from common.measure import average_ranks
from comparing.tables import by_model, differences

ELO_OF, ELO_RATIO = ("random-forest", 1000.0), 400 / np.log(10)
CLEARLY = 0.05  # of an error
# 95 % quantiles of the studentised range, divided by sqrt(2), of 2 to 20 models (Demsar, 2006).
NEMENYI = (1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313, 3.354, 3.391, 3.426,
           3.458, 3.489, 3.517, 3.544)


def error_of(record):
    """What TabArena ranks by; that of targets is in units of their standard deviation."""
    if "auc" in record:
        return 1 - record["auc"] / 100
    return record["log_loss"] if "log_loss" in record else np.sqrt(max(0.0, 1 - record["score"] / 100))


def whole_splits(found):
    """Of each model the seeds of the splits on which it has all sets of the log."""
    names = {name for runs in found.values() for name, _ in runs}
    return {model: {seed for _, seed in runs if all((name, seed) in runs for name in names)}
            for model, runs in found.items()}


def mean_errors(found):
    """{model: errors of each set}, means over splits, and the sets, of models that have the same cells."""
    cells = next(iter(found.values()))
    names = sorted({name for name, _ in cells})
    means = {model: [np.mean([error_of(runs[cell]) for cell in cells if cell[0] == name]) for name in names]
             for model, runs in found.items()}
    return {model: np.array(each).round(9) for model, each in means.items()}, names  # what differs by rounding is equal


def wins_of(stacked):
    """Share of the sets on which the model of a row has the lower error than that of a column; ties count half."""
    return np.mean((stacked[:, None] < stacked[None]) + 0.5 * (stacked[:, None] == stacked[None]), axis=2)


def elo_of(wins, n_sets, models):
    """Ratings of the Bradley-Terry model by its fixed point; a random forest has 1,000.

    Half a win of either is added to each pair, without which a model that wins always would have no rating.
    """
    wins = (wins * n_sets + 0.5) * (1 - np.eye(len(wins)))
    strength = np.ones(len(wins))
    for _ in range(5000):
        games = (wins + wins.T) / (strength[:, None] + strength[None])
        strength = wins.sum(axis=1) / games.sum(axis=1)
        strength /= np.exp(np.mean(np.log(strength)))
    elo = ELO_RATIO * np.log(strength)
    return elo - elo[models.index(ELO_OF[0])] + ELO_OF[1] if ELO_OF[0] in models else elo


def critical_difference(n_models, n_sets):
    """How far mean ranks must be apart by the test of Nemenyi, 5 %."""
    return NEMENYI[n_models - 2] * np.sqrt(n_models * (n_models + 1) / 6 / n_sets)


def field(records, reference, names, table, wrapped, drawing):
    """Paragraphs and tables of the page; drawings of mean ranks and of wins are written to files."""
    of_all_splits = by_model([record for record in records if "set" in record], reference)
    splits = whole_splits(of_all_splits)
    fewest = min(2, max(map(len, splits.values())))  # splits of the models that are compared on all sets
    seeds = set.intersection(*(each for each in splits.values() if len(each) >= fewest))
    found = {model: {cell: run for cell, run in runs.items() if cell[1] in seeds}
             for model, runs in of_all_splits.items()}
    errors, sets = mean_errors({model: runs for model, runs in found.items() if len(splits[model]) >= fewest})
    models = list(errors)
    stacked = np.array(list(errors.values())).round(9)  # errors of each model on each set
    ranks, wins = average_ranks(-stacked.T), wins_of(stacked)
    elo = elo_of(wins, len(sets), models)
    improvable = 100 * np.mean(1 - stacked.min(axis=0) / np.maximum(stacked, 1e-12), axis=1)
    order = np.argsort(ranks)
    distance = critical_difference(len(models), len(sets))
    ranked = [names[models[k]].replace("`", "") for k in order]
    drawing, of_wins = pathlib.Path(drawing), pathlib.Path(drawing).with_suffix(".wins.svg")
    drawing.write_text(draw_ranks(ranked, ranks[order], distance), encoding="utf-8")
    of_wins.write_text(draw_wins(ranked, 100 * wins[np.ix_(order, order)]), encoding="utf-8")
    yield "## All sets\n"
    yield wrapped(
        f"{len(sets)} sets, {len(models)} models, {len(seeds)} splits. Mean rank by the errors of TabArena; its Elo, "
        "of which a random forest has 1,000, and its improvability, by how many per cent the best model of a set has a "
        "lower error, in the mean; share of sets that Fourier boosting wins against it; what Fourier boosting has more "
        "in accuracy or R2, in log loss (less is better) and, of two classes, in the area under the ROC curve, with "
        "standard errors over sets; CPU seconds of all fits; kB of a pickled model, the median over sets. Mean ranks "
        f"that are {distance:.2f} apart differ by the test of Nemenyi (5 %).")
    yield (f"![Mean ranks and critical difference]({drawing.name}) "
           f"![Share of sets that each model wins against each other]({of_wins.name})\n")
    place = models.index(reference)
    rows = []
    for k in order:
        model, more = models[k], ["", "", ""]
        if k != place:
            for column, (key, form) in enumerate((("score", ".2f"), ("log_loss", ".3f"), ("auc", ".2f"))):
                means = [np.mean(each) for each in differences(found[reference], found[model], key).values()]
                error = np.std(means, ddof=1) / np.sqrt(len(means))
                more[column] = f"{np.mean(means):+{form}} +- {error:{form}}"
        seconds = sum(run["fit"] for run in found[model].values())
        sizes = [run["bytes"] / 1e3 for run in found[model].values() if "bytes" in run]
        rows.append([names[model], f"{ranks[k]:.2f}", f"{elo[k]:.0f}", f"{improvable[k]:.1f}",
                     "" if k == place else f"{100 * wins[place, k]:.0f} %", *more, f"{seconds:,.0f}",
                     f"{np.median(sizes):,.0f}" if sizes else ""])
    yield table(["", "rank", "Elo", "improvable, %", "won", "accuracy or R2", "log loss", "AUC, %", "s", "kB"], *rows)
    yield from more_splits(of_all_splits, splits, sets, reference, names, table, wrapped)
    yield from other_models(found, errors, reference, names, table, wrapped)
    yield from losses(errors, sets, reference, names, table, wrapped)
    yield "## Scores\n"
    yield wrapped("Accuracy, or R2, in %, means of the splits.")
    yield table(["", *(names[models[k]] for k in order)], *(
        [name, *(f"{np.mean([run['score'] for (of, _), run in found[models[k]].items() if of == name]):.1f}"
                 for k in order)] for name in sets))


def more_splits(found, splits, sets, reference, names, table, wrapped):
    """The models that have been measured on all sets of as many splits as Fourier boosting."""
    models, seeds = [model for model in splits if splits[model] == splits[reference]], sorted(splits[reference])
    if len(models) < 2 or len(seeds) < 2:
        return
    errors, scores = (np.array([[[value(found[model][name, seed]) for name in sets] for seed in seeds]
                                for model in models])  # (models, splits, sets)
                      for value in (error_of, lambda run: run["score"]))
    means, place = errors.mean(axis=1).round(9), models.index(reference)
    ranks = average_ranks(-means.T)
    by_split = np.array([average_ranks(-of_split.T.round(9)) for of_split in errors.transpose(1, 0, 2)])
    more, less = scores[place] - scores, errors - errors[place]
    clear = [2 * each.std(axis=1, ddof=1) / np.sqrt(len(seeds)) for each in (more, less)]  # two errors over splits
    rows = []
    for k in np.argsort(ranks):
        of_sets, of_errors = more[k].mean(axis=0), less[k].mean(axis=0)
        behind = [[f"{name} {-of_sets[i]:.2f}" for i, name in enumerate(sets) if of_sets[i] < -clear[0][k, i]],
                  [f"{name} {100 * of_errors[i] / means[place, i]:.0f} %" for i, name in enumerate(sets)
                   if of_errors[i] < -clear[1][k, i]]]
        rows.append([names[models[k]], f"{ranks[k]:.2f}", ", ".join(f"{rank:.2f}" for rank in by_split[:, k]),
                     *([""] * 4 if k == place else [
                         f"{100 * wins_of(means)[place, k]:.0f} %",
                         f"{of_sets.mean():+.2f} +- {of_sets.std(ddof=1) / np.sqrt(len(sets)):.2f}",
                         *map(", ".join, behind)])])
    yield f"## {len(models)} models on {len(seeds)} splits\n"
    yield wrapped(
        f"Seeds {seeds[0]} to {seeds[-1]}, default parameters or tuned as above: mean rank by the mean errors, and by "
        "those of each split; share of sets that Fourier boosting wins; what it has more in accuracy or R2; sets where "
        "it has less by two standard errors over the splits or more, and by how much; sets where the error of the "
        "other is as clearly lower, and by how much.")
    yield table(["", "rank", "of each split", "won", "accuracy or R2", "behind", "error lower"], *rows)


def other_models(found, complete, reference, names, table, wrapped):
    """Models that have been measured on some of the sets or on one split: beside Fourier boosting on these."""
    rows = []
    for model, runs in found.items():
        if model in complete:
            continue
        cells = set(runs) & set(found[reference])
        pairs = differences({cell: {"error": error_of(found[reference][cell])} for cell in cells},
                            {cell: {"error": error_of(runs[cell])} for cell in cells}, "error")
        won = 0.5 - 0.5 * np.mean([np.sign(np.mean(each).round(9)) for each in pairs.values()])  # ties are half
        by_set = differences(found[reference], runs, "score")
        rows.append([names[model], len(pairs), len({seed for _, seed in cells}), f"{100 * won:.0f} %",
                     f"{np.mean([np.mean(each) for each in by_set.values()]):+.2f}",
                     f"{sum(run['fit'] for run in runs.values()):,.0f}",
                     f"{sum(found[reference][cell]['fit'] for cell in cells):,.0f}"])
    if rows:
        yield "## Models that were measured on some of the sets, or on one split\n"
        yield wrapped("For classes alone, or too dear for all: share of sets that Fourier boosting wins by the errors "
                      "of TabArena, what it has more in accuracy or R2, CPU seconds of both.")
        yield table(["", "sets", "splits", "won", "accuracy or R2", "s", "s, Fourier boosting"], *rows)


def losses(errors, sets, reference, names, table, wrapped):
    """Sets on which another model has a clearly lower error, the largest distance first."""
    rows = []
    for k, name in enumerate(sets):
        own, (best, model) = errors[reference][k], min((each[k], model) for model, each in errors.items())
        if best < (1 - CLEARLY) * own:
            change = best / own - 1
            rows.append((change, [name, names[model], f"{own:.4g}", f"{best:.4g}", f"{100 * change:.0f} %"]))
    yield "## Where Fourier boosting loses\n"
    yield wrapped(
        f"Sets on which the best of the others has an error that is lower by more than {100 * CLEARLY:.0f} %: 1 - area "
        "under the ROC curve of two classes, log loss of more, root mean squared error of targets in standard "
        "deviations. The best of so many is often best by chance.")
    yield table(["set", "ahead", "Fourier boosting", "error there", ""], *(row for _, row in sorted(rows)))


INK, PAPER, LINE = "#26323d", "#fbfaf7", "#d9d5cc"


def draw_ranks(models, ranks, distance):
    """Mean ranks, from the best down; models whose lines do not overlap differ."""
    left, width, step, top = 250, 620, 24, 44
    most = ranks[-1] + distance / 2
    height = top + step * len(models) + 16

    def at(rank):
        return left + width * (rank - 1) / (most - 1)

    parts = []
    for rank in range(1, int(most) + 1):
        parts += [f'<path d="M{at(rank):.1f} {top - 12}V{height - 12}" stroke="{LINE}"/>',
                  text(at(rank), top - 20, rank, "middle")]
    for k, (name, rank) in enumerate(zip(models, ranks, strict=True)):
        y = top + step * k + 4
        parts.append(f'{text(left - 14, y + 4, name)}<path d="M{at(max(1, rank - distance / 2)):.1f} {y}'
                     f'H{at(rank + distance / 2):.1f}" stroke="{INK}" stroke-width="{3 if k == 0 else 1.5}"/>'
                     f'<circle cx="{at(rank):.1f}" cy="{y}" r="4.5"/>')
    return drawing_of("Mean ranks with their critical difference", parts, height)


def draw_wins(models, wins):
    """Per cent of the sets on which the model of a row has the lower error than that of a column; ties are half."""
    left, width, step, top = 250, 640 // len(models), 24, 44
    parts = []
    for k, name in enumerate(models):
        y = top + step * k
        parts += [text(left - 14, y + 8, f"{name} {k + 1}"), text(left + width * (k + 0.5), top - 20, k + 1, "middle")]
        for j, share in enumerate(wins[k]):
            if j != k:
                x = left + width * j
                parts += [f'<path d="M{x} {y - 8}h{width}v{step}h-{width}" opacity="{share / 250:.2f}"/>',
                          text(x + width / 2, y + 8, f"{share:.0f}", "middle")]
    return drawing_of("Share of sets that each model wins against each other, per cent", parts,
                      top + step * len(models) + 8)


def text(x, y, words, anchor="end"):
    """A text of a drawing."""
    return f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}">{words}</text>'


def drawing_of(title, parts, height):
    """A drawing with a title and a background."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" width="900" height="{height}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}" role="img">'
            f'<title>{title}</title>'
            f'<rect width="900" height="{height}" rx="10" fill="{PAPER}"/>{"".join(parts)}</svg>\n')
