"""What a fit costs: CPU seconds and peak memory against rows, columns, classes and threads, and the page of it.

A record of the log is one fit, in a process of its own.  The page has a formula for each model: the powers of rows,
columns and classes by least squares of the logarithm of the seconds.
"""

import collections
import ctypes
import json
import math
import os
import pathlib
import statistics
import sys
import textwrap
import time
from functools import partial
from importlib import import_module
from typing import NamedTuple

import numpy as np
from common.data import GROUPS
from common.measure import memory_peak
from common.rivals import lightgbm_stopped, quality

from .reach import table_of
from .training import in_process

N_TEST = 5000


class Case(NamedTuple):
    """A table, and the threads of a fit."""

    rows: int = 4000
    columns: int = 20
    classes: int = 2
    threads: int = 1


BASE = Case()
AXES = {axis: [BASE._replace(**{axis: value}) for value in values] for axis, values in {
    "rows": (1000, 4000, 16_000, 64_000), "columns": (5, 20, 80), "classes": (2, 5, 20), "threads": (1, 2)}.items()}
AXES["shapes"] = [Case(500, 10), Case(10_000, 100), Case(300, 8, 50), Case(600, 8, 100), Case(1200, 8, 200),
                  Case(20_000, 8, 18), Case(20_000, 8, 100)]


def own(name, **params):
    """A class of the package with its defaults."""

    def fitted(X, y, X_test, is_class, seed, n_jobs):
        model = getattr(import_module("rffkern"), name)(random_state=seed, n_jobs=n_jobs, **params).fit(X, y)
        return lambda: model.predict_proba(X_test)

    return fitted


def catboost(X, y, X_test, is_class, seed, n_jobs):
    model = import_module("catboost").CatBoostClassifier(thread_count=n_jobs, verbose=False, random_state=seed,
                                                         allow_writing_files=False).fit(X, y)
    return lambda: model.predict_proba(X_test)


MODELS = {
    "Fourier boosting": own("FourierBoostingClassifier"),
    "its terms alone": own("FourierBoostingClassifier", kernel_ridge=False),
    "LightGBM": lightgbm_stopped, "CatBoost": catboost,
    "GBRFF2": own("GBRFF2Classifier"), "GBRFF1": own("GBRFF1Classifier"), "GBRFF": own("GBRFFClassifier"),
    "PBRFF": own("PBRFFClassifier"), "RFFNet": own("RFFNetClassifier"), "sparse machine": own("SparseKernelClassifier"),
    "kernel ridge": own("KernelRidgeClassifier")}
COLOURS = ("#c2410c", "#f59e0b", "#15803d", "#0f766e", "#1d4ed8", "#60a5fa", "#7c3aed", "#c084fc", "#db2777",
           "#64748b", "#26323d")


def table(case):
    """Rows of normal clusters with noise, of which at most eight columns say something, and test rows."""
    from sklearn.datasets import make_classification
    from sklearn.model_selection import train_test_split

    X, y = make_classification(case.rows + N_TEST, case.columns, n_informative=min(case.columns, 8), n_redundant=0,
                               n_classes=case.classes, n_clusters_per_class=1 if case.classes > 20 else 2, flip_y=0.05,
                               random_state=0)
    if case.rows < 100 * case.classes:  # of few rows each class has its share
        X, X_test, y, y_test = train_test_split(X, y, train_size=case.rows, stratify=y, random_state=0)
        return X, y, X_test, y_test
    return X[N_TEST:], y[N_TEST:], X[:N_TEST], y[:N_TEST]


def one_fit(model, case):
    """Figures of one fit."""
    X, y, X_test, y_test = table(case)
    few = np.linspace(0, len(y) - 1, min(len(y), 200)).astype(int)
    MODELS[model](X[few], y[few] % 2, X_test[:1], True, 0, 1)  # what is loaded at the first fit is no cost of a fit
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # else a fit would take, unseen, what making the table has left
    started, wall = time.process_time(), time.perf_counter()
    peak, predict = memory_peak(partial(MODELS[model], X, y, X_test, True, 0, case.threads))
    figures = {"seconds": time.process_time() - started, "wall": time.perf_counter() - wall, "MB": peak}
    return figures | quality(predict(), y_test, True)


def cost(arguments):
    """Every class of classifiers beside LightGBM and CatBoost: seconds and memory of a fit as one size grows.

    The other sizes are those of a table of 4,000 rows, 20 columns and two classes on one thread.  A fit is left out if
    it would take more than --limit seconds by the one before, but tables of other shapes are all measured.  What the
    log has already is not measured again; what it lacks is, also for --page, unless --axes names no axis.
    """
    known, of_sets, reached = {}, [], []
    commit = "unknown"  # unless the log has a record of it, {"measured": "1234abc"}
    if arguments.log and os.path.exists(arguments.log):
        with open(arguments.log, encoding="utf-8") as file:
            records = list(map(json.loads, file))
        known = {key_of(record): record for record in records if "cost" in record}
        reached = [record for record in records if "reach" in record]
        of_sets = [record for record in records if "set" in record and "model" in record]
        commit = next((record["measured"] for record in records if "measured" in record), commit)
    for axis in arguments.axes:
        cases = AXES[axis]
        if axis == "rows" and arguments.sizes:
            cases = [BASE._replace(rows=n_rows) for n_rows in arguments.sizes]
        for model in arguments.models or MODELS:
            last = None
            for case in cases:
                size = case.rows * case.columns * case.classes
                if (model, *case) in known:
                    last = size, known[model, *case]["seconds"]
                    continue
                if axis != "shapes" and last is not None and last[1] * size / last[0] > arguments.limit:
                    print(f"left out: {model} {case}", file=sys.stderr)
                    continue
                try:
                    runs = [in_process(partial(one_fit, model, case)) for _ in range(arguments.repeat)]
                except EOFError:  # the process has said why
                    break
                figures = {name: float(f"{statistics.median(each[name] for each in runs):.4g}") for name in runs[0]}
                record = known[model, *case] = {"cost": model} | case._asdict() | figures
                last = size, figures["seconds"]
                print(f"{model} {case}: {figures}", flush=True)
                yield record
    if arguments.page:
        write_page(arguments.page, list(known.values()), of_sets, reached, commit)


def key_of(record):
    return (record["cost"], *(record[name] for name in Case._fields))


# --- the page

HEAD = """\
`python tools/bench.py cost --axes --log docs/cost.jsonl --page docs/cost.md` writes this page and its drawing from the
log: to change it, measure again. CPU seconds and megabytes at the peak beside the table, of classifiers with their
defaults; LightGBM with 63 leaves and early stopping on a fifth of the rows (50 rounds, at most 2,000), CatBoost with
its defaults, 1,000 rounds. Rows of normal clusters, eight columns of which say something, 5 % of the labels at random;
where one size grows, the others are 4,000 rows, 20 columns, two classes, and one thread. The machine was used by others
too: compare ratios in a row. Measured at commit {commit}. A dash is a fit that was left out for its time."""

THREADS = """\
CPU seconds of the same fit with one thread and with two: what a second thread adds in work. What it gains on the clock
is not said here, because others used both cores; the log has it (`wall`). Bits are the same for any number."""

SHAPES = """\
Tables of other shapes, of the same rows: few rows, many columns, and classes of which there are up to 200, of six rows
each in the first three tables."""

FORMULA = """\
CPU seconds of a fit on one thread are about s (n / 1,000)^a (d / 20)^b (k / 2)^c, for n rows of d columns in k classes,
by least squares of the logarithms of the figures above. The last column is by how much these are above or below it at
most. Rounds end by themselves, on hard tables later than on easy ones: another table of the same size may well take
half of it or twice as much. Within 1,000 to 64,000 rows, 5 to 80 columns and 2 to 20 classes; a machine that is faster
or slower has another s, which one fit tells."""


SETS = """\
`python tools/compare.py --log docs/cost.jsonl --data DIR --models fourier,lightgbm-stopped,catboost --rows 6000 --seeds
61` adds real tables to the log: up to 6,000 training rows of each, one split, one thread. CPU seconds of all fits of a
group of sets together, the geometric mean of the ratios to those of Fourier boosting, the mean accuracy or R2 in %, and
the mean log loss where there is one. A set may be in two groups."""
REACHED = """\
`python tools/bench.py reach --data DIR --log docs/cost.jsonl`: CPU seconds, on one thread, at which fits first have the
lowest log loss that LightGBM has after any of its rounds, on test rows; Fourier boosting without kernel ridge
regression, all of its bags together. The geometric mean is of the ratios to LightGBM, where that loss is reached."""
SET_MODELS = {"fourier": "Fourier boosting", "lightgbm-stopped": "LightGBM", "catboost": "CatBoost"}


def write_page(path, records, of_sets, reached, commit):
    """Write the page, and beside it the drawing."""
    found = collections.defaultdict(dict)
    for record in records:
        found[record["cost"]][Case(*(record[name] for name in Case._fields))] = record
    models = [model for model in MODELS if model in found]
    drawing = pathlib.Path(path).with_suffix(".svg")
    drawing.write_text(draw(found, models), encoding="utf-8")
    parts = ["# What a fit costs\n", textwrap.fill(HEAD.format(commit=commit), 120) + "\n",
             f"![CPU seconds and memory of a fit against rows, columns and classes]({drawing.name})\n"]
    for axis, title in (("rows", "Rows"), ("columns", "Columns"), ("classes", "Classes")):
        parts += [f"## {title}\n", by_axis(found, models, axis)]
    parts += ["## Shapes\n", textwrap.fill(SHAPES, 120) + "\n", by_shape(found, models)]
    parts += ["## Threads\n", textwrap.fill(THREADS, 120) + "\n", by_threads(found, models)]
    parts += ["## A formula\n", textwrap.fill(FORMULA, 120) + "\n", formulas(found, models),
              textwrap.fill("Memory: each class has a formula in its notes, `help(rffkern.FourierBoostingClassifier)`; "
                            "`max_seconds` ends a fit in time.", 120)]
    if of_sets:
        parts += ["", "## Data sets\n", textwrap.fill(SETS, 120) + "\n", by_group(of_sets)]
    if reached:
        parts += ["## Time to the log loss of LightGBM\n", textwrap.fill(REACHED, 120) + "\n",
                  markdown(table_of(reached))]
    pathlib.Path(path).write_text("\n".join(parts) + "\n", encoding="utf-8")


def markdown(rows):
    """A table, its first row the titles."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]) + "\n"


def by_axis(found, models, axis):
    """Seconds, MB and quality along an axis."""
    cases = sorted({case for model in models for case in found[model]
                    if case == BASE._replace(**{axis: getattr(case, axis)})})
    return by_case(found, models, cases, [f"{getattr(case, axis):,}" for case in cases])


def by_shape(found, models):
    """Seconds, MB and quality of tables of other shapes."""
    cases = AXES["shapes"]
    return by_case(found, [model for model in models if not found[model].keys().isdisjoint(cases)], cases,
                   [f"{case.rows:,} x {case.columns}, {case.classes} classes" for case in cases])


def by_case(found, models, cases, titles):
    """Seconds, MB and quality, a column for each case."""
    rows = [["s; MB; accuracy, log loss", *titles]]
    for model in models:
        cells = []
        for case in cases:
            record = found[model].get(case)
            cells.append("-" if record is None else f"{figure(record['seconds'])} s; {record['MB']:.0f}; "
                         f"{record['score']:.1f}, {record['log_loss']:.3f}")
        rows.append([model, *cells])
    return markdown(rows)


def by_threads(found, models):
    """CPU seconds on one thread and on more."""
    cases = AXES["threads"]
    rows = [["", *(f"{case.threads} thread{'s' * (case.threads > 1)}" for case in cases)]]
    for model in models:
        records = [found[model].get(case) for case in cases]
        if all(records):
            rows.append([model, *(f"{figure(each['seconds'])} s" for each in records)])
    return markdown(rows)


def by_group(records):
    """Seconds and quality on the sets of each group that all models have measured."""
    by_model = {model: {record["set"]: record for record in records if record["model"] == model}
                for model in SET_MODELS}
    common = set.intersection(*map(set, by_model.values()))
    rows = [["group, sets", "", "s", "ratio", "accuracy or R2", "log loss"]]
    for group in ("small", "large", "targets", "classes"):
        names = [name for name in GROUPS[group] if name in common]
        for model, title in SET_MODELS.items() if names else ():
            found = [by_model[model][name] for name in names]
            ratios = [each["fit"] / by_model["fourier"][each["set"]]["fit"] for each in found]
            losses = [each["log_loss"] for each in found if "log_loss" in each]
            rows.append([f"{group}, {len(names)}" if model == "fourier" else "", title,
                         figure(sum(each["fit"] for each in found)), f"{math.exp(np.mean(np.log(ratios))):.2f}",
                         f"{np.mean([each['score'] for each in found]):.2f}",
                         f"{np.mean(losses):.4f}" if losses else ""])
    return markdown(rows)


def figure(value):
    """Two digits."""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def power_law(records):
    """Factor, powers of rows, columns and classes, and the largest ratio of a figure to them; of one thread."""
    records = [record for record in records if record["threads"] == 1]
    logs = np.array([[1.0, math.log(record["rows"] / 1000), math.log(record["columns"] / 20),
                      math.log(record["classes"] / 2)] for record in records])
    seconds = np.log([record["seconds"] for record in records])
    solution = np.linalg.lstsq(logs, seconds, rcond=None)[0]
    return math.exp(solution[0]), solution[1:], float(np.exp(np.abs(logs @ solution - seconds).max()))


def formulas(found, models):
    """The power law of each model that has been measured along each axis."""
    rows = [["", "s", "a, rows", "b, columns", "c, classes", "within"]]
    for model in models:
        records = [record for case, record in found[model].items() if case not in AXES["shapes"]]
        if all(len({record[axis] for record in records}) > 1 for axis in ("rows", "columns", "classes")):
            factor, powers, ratio = power_law(records)
            rows.append([model, f"{factor:.2g}", *(f"{power:.2f}" for power in powers), f"{ratio:.1f} x"])
    return markdown(rows)


# --- the drawing

WIDTH, HEIGHT, LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, GAP = 976, 620, 54, 44, 210, 220, 48
INK, PALE = "#26323d", "#d9d5cc"


def draw(found, models):
    """Seconds, and below them megabytes, against rows, columns and classes, on logarithmic scales."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img"><title>CPU seconds and memory '
             f'of a fit against rows, columns and classes</title><rect width="{WIDTH}" height="{HEIGHT}" rx="10" '
             'fill="#fbfaf7"/>']
    for line, (key, unit) in enumerate((("seconds", "CPU seconds"), ("MB", "MB at the peak"))):
        for place, axis in enumerate(("rows", "columns", "classes")):
            curves = {model: sorted((getattr(case, axis), max(record[key], 0.1 if key == "MB" else 1e-3))
                                    for case, record in found[model].items()
                                    if case == BASE._replace(**{axis: getattr(case, axis)})) for model in models}
            parts.append(panel(curves, LEFT + place * (PANEL_WIDTH + GAP), TOP + line * (PANEL_HEIGHT + 2 * GAP - 20),
                               f"{unit} by {axis}"))
    left = LEFT + 3 * (PANEL_WIDTH + GAP) - 24
    for k, model in enumerate(models):
        y = TOP + 18 + 24 * k
        parts.append(f'<path d="M{left} {y}h22" stroke="{colour(model)}" stroke-width="{width(model)}"/>'
                     f'<text x="{left + 30}" y="{y + 4}" font-size="12" fill="{INK}">{model}</text>')
    return "".join(parts) + "</svg>\n"


def colour(model):
    return COLOURS[list(MODELS).index(model)]


def width(model):
    return 3 if model == "Fourier boosting" else 1.6


def panel(curves, left, top, title):
    """Lines of all models, with powers of ten as marks."""
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return ""
    low, high = (np.log10([pick(each[k] for each in points) for k in (0, 1)]) for pick in (min, max))
    low[1], high[1] = math.floor(low[1]), math.ceil(high[1] + 1e-9)
    span = np.maximum(high - low, 1e-9)

    def at(x, y):
        share = (np.log10([x, y]) - low) / span
        return f"{left + PANEL_WIDTH * share[0]:.1f} {top + PANEL_HEIGHT * (1 - share[1]):.1f}"

    parts = [f'<text x="{left}" y="{top - 12}" font-size="12.5" fill="{INK}">{title}</text>']
    for power in range(int(low[1]), int(high[1]) + 1):
        y = top + PANEL_HEIGHT * (1 - (power - low[1]) / span[1])
        parts.append(f'<path d="M{left} {y:.1f}h{PANEL_WIDTH}" stroke="{PALE}"/><text x="{left - 6}" y="{y + 4:.1f}" '
                     f'font-size="11" fill="#5d6b78" text-anchor="end">{10.0**power:g}</text>')
    for x in sorted({point[0] for point in points}):
        place = left + PANEL_WIDTH * (math.log10(x) - low[0]) / span[0]
        parts.append(f'<text x="{place:.1f}" y="{top + PANEL_HEIGHT + 16}" font-size="11" fill="#5d6b78" '
                     f'text-anchor="middle">{x:,}</text>')
    for model, curve in curves.items():
        line = "L".join(at(*point) for point in curve)
        if curve:
            parts.append(f'<path d="M{line}" fill="none" stroke="{colour(model)}" stroke-width="{width(model)}" '
                         'stroke-linecap="round" stroke-linejoin="round"/>')
    return "".join(parts)
