"""What an experiment is, and the tables that its records make."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Experiment(NamedTuple):
    """A table or figure of a paper: cells that are measured one by one, each in a process of its own."""

    title: str
    cells: Callable  # (seeds, quick) -> cells, dicts of what is measured; "set" is a data set that it needs
    run: Callable  # (folder, cell) -> figures, a dict; a random seed is that of the cell
    report: Callable  # (records, each a cell with its figures) -> Markdown
    draw: Callable | None = None  # (records) -> a figure of matplotlib


def cells(seeds, **axes):
    """All combinations of the values on some axes, and the seeds; those of a quick run are marked."""
    found = [{}]
    for name, values in axes.items():
        found = [cell | {name: value} for cell in found for value in values]
    return [cell | {"seed": seed} for cell in found for seed in seeds]


def values_of(records, figure, **chosen):
    """A figure of the records that agree with what is chosen, one row a record."""
    return np.array([record[figure] for record in records
                     if all(record.get(name) == value for name, value in chosen.items())], dtype=float)


def names_of(records, axis):
    """The values on an axis, in the order in which they come."""
    return list(dict.fromkeys(record[axis] for record in records))


def spread(values, form=".1f"):
    """Mean +- standard deviation over seeds, as papers print it."""
    if not len(values):
        return "-"
    deviation = f" ± {format(np.std(values, ddof=1), form)}" if len(values) > 1 else ""
    return f"{format(np.mean(values), form)}{deviation}"


def table(header, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines) + "\n"


def means_of_seeds(records, figure="curve"):
    """A figure, its mean over data sets, one row for each seed that has as many as any has; and how many these are."""
    by_seed = {seed: {record.get("set"): record[figure] for record in records if record["seed"] == seed}
               for seed in names_of(records, "seed")}
    n_sets = max(map(len, by_seed.values()))
    return np.array([np.mean(list(each.values()), axis=0) for each in by_seed.values() if len(each) == n_sets]), n_sets


def error_of(values):
    """Standard error of the mean along the first axis; none of a single row."""
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0 * values[0]


def curves(records, sizes, label, series="method", figure="curve"):
    """Mean over sets of curves, with standard errors over seeds, one row for each series."""
    rows = []
    for name in names_of(records, series):
        found, n_sets = means_of_seeds([record for record in records if record[series] == name], figure)
        rows.append([name, *(f"{mean:.2f}" + f" ± {error:.2f}" * (len(found) > 1)
                             for mean, error in zip(found.mean(axis=0), error_of(found), strict=True)),
                     n_sets, len(found)])
    return table([label, *sizes, "sets", "seeds"], rows)
