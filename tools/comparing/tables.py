"""Tables of the measurements of a log: means of each set, paired differences with standard errors, ranks, seconds."""

import collections

import numpy as np
from common.data import GROUPS
from common.measure import average_ranks


def by_model(records, reference):
    """{model: {(set, seed): record}}, the reference first."""
    found = {reference: {}}
    for record in records:
        found.setdefault(record["model"], {})[record["set"], record["seed"]] = record
    return found


def differences(first, other, key):
    """{set: differences of the seeds that both have measured}."""
    found = collections.defaultdict(list)
    for (name, seed), record in first.items():
        if key in record and key in other.get((name, seed), {}):
            found[name].append(record[key] - other[name, seed][key])
    return dict(found)


def mean_difference(found):
    """Mean over sets of the mean differences, and its standard error, of sets with several seeds."""
    variances = [np.var(each, ddof=1) / len(each) for each in found.values() if len(each) > 1]
    error = np.sqrt(np.sum(variances)) / len(variances) if variances else np.nan
    return float(np.mean([np.mean(each) for each in found.values()])), float(error)


def mean_of(runs, name, key):
    """Mean over the seeds of a set, or None."""
    values = [record[key] for (of, _), record in runs.items() if of == name and key in record]
    return float(np.mean(values)) if values else None


def mean_ranks(found, reference, names):
    """Mean ranks, 1 the best, of the models that have all of these sets that the reference has; the sets.

    They are ranks of the mean score over the seeds that all of these models have measured; ties are shared.
    """
    names = [name for name in names if any(of == name for of, _ in found[reference])]
    models = [model for model, runs in found.items() if set(names) <= {name for name, _ in runs}]
    seeds = {name: set.intersection(*({seed for of, seed in found[model] if of == name} for model in models))
             for name in names}
    names = [name for name in names if seeds[name]]
    if len(models) < 2 or not names:
        return {}, []
    scores = np.array([[np.mean([found[model][name, seed]["score"] for seed in seeds[name]]) for model in models]
                       for name in names]).round(9)
    return dict(sorted(zip(models, map(float, average_ranks(scores)), strict=True), key=lambda each: each[1])), names


def print_table(records, reference, each_set=False):
    """Print all of it."""
    found = by_model(records, reference)
    models, names = list(found), list(dict.fromkeys(record["set"] for record in records))
    for key, sign in (("score", 1), ("log_loss", -1)):
        print(f"\n{key:<18}" + "".join(f"{model[:24]:>26}" for model in models))
        for name in names:
            shown = [mean_of(found[model], name, key) for model in models]
            if shown[0] is not None:
                print(f"{name:<18}" + "".join(f"{'' if mean is None else format(mean, '.4f'):>26}" for mean in shown))
        for model in models if key == "score" else ():
            gaps = [record["claimed"] - record["score"] for record in found[model].values() if "claimed" in record]
            if gaps:
                print(f"{model}: rows that were held out say {np.mean(gaps):+.1f} more than test rows, "
                      f"{np.median(np.abs(gaps)):.1f} apart in the median of {len(gaps)} splits")
        for model in models[1:]:
            by_set = differences(found[reference], found[model], key)
            if by_set:
                mean, error = mean_difference(by_set)
                behind = [name for name, each in by_set.items() if sign * np.mean(each) < 0]
                print(f"{reference} less {model}: {mean:+.4f} +- {error:.4f} over {len(by_set)} sets; behind on "
                      f"{len(behind)}: {', '.join(behind)}")
                if each_set:
                    print_each(by_set, sign)
    for group, members in {"all": names, **GROUPS}.items():
        ranks, ranked = mean_ranks(found, reference, members)
        if ranks:
            print(f"mean rank, {group} ({len(ranked)} sets): "
                  + ", ".join(f"{model} {rank:.2f}" for model, rank in ranks.items()))
    for model, runs in found.items():
        print(f"{model}: {sum(run['fit'] for run in runs.values()):.1f} s of fits, "
              f"{sum(run['predict'] for run in runs.values()):.2f} s of predictions, {len(runs)} splits")


def print_each(by_set, sign):
    """Differences of each set with their standard errors, and the sets that are behind by two of them."""
    behind = []
    for name, each in by_set.items():
        mean, error = np.mean(each), np.std(each, ddof=1) / len(each) ** 0.5 if len(each) > 1 else np.nan
        print(f"  {name:<18}{mean:+9.4f} +- {error:.4f} of {len(each)} splits")
        if sign * mean < 0 and not sign * mean >= -2 * error:
            behind.append(name)
    print(f"  behind by two standard errors: {', '.join(behind) or 'none'}")
