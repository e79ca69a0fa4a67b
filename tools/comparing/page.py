"""The page of benchmarks, written from a log of measurements: docs/benchmarks.md from docs/benchmarks.jsonl.

A line of the log is a measurement of `compare.py` ("model" and "set"), one of `bench.py` ("what", "rows" or "start"),
the commit that these were made at ("measured"), or a record that was entered by hand: text and a table of a section,
with the command and the commit that measured it, where it is too costly to measure again or its tool is gone.
"""

import textwrap

import numpy as np
from comparing.tables import by_model, differences, mean_difference, mean_of, mean_ranks

REFERENCE = "fourier"
NAMES = {"fourier": "Fourier boosting", "fourier-terms": "its terms alone, `kernel_ridge=False`",
         "kernel-ridge": "`KernelRidge...`", "sparse": "`SparseKernel...`", "rffnet": "`RFFNet...`",
         "gbrff2": "`GBRFF2Classifier`, `GBRFFRegressor`", "gbrff": "`GBRFF...`", "lightgbm": "LightGBM",
         "lightgbm-tuned": "LightGBM, tuned", "catboost": "CatBoost", "xgboost": "XGBoost",
         "hist-boosting": "scikit-learn, histogram boosting", "svm-nine": "scikit-learn, SVC and SVR, tuned",
         "kernel-ridge-sklearn": "scikit-learn, kernel ridge, tuned",
         'lightgbm:{"num_leaves": 63, "n_estimators": 1000}': "LightGBM, 63 leaves, 1,000 rounds"}
IN_TABLE = {"fourier": "Fourier boosting", "lightgbm": "LightGBM", "lightgbm-tuned": "tuned", "catboost": "CatBoost",
            "kernel-ridge": "kernel ridge", "sparse": "sparse machines", "rffnet": "RFFNet", "gbrff2": "GBRFF2",
            "svm-nine": "SVM, tuned"}
HEAD = """\
`python tools/compare.py --log docs/benchmarks.jsonl --page docs/benchmarks.md` writes this page from its log: measure
again or edit the log, not the page. `DIR` is a folder of `NAME.npz` files with arrays `X` and `y`, one for each data
set; `pip install --group bench` installs the other libraries. Times are CPU seconds on one thread, of a machine that
others used too: compare them within one table. Tables below a command were measured at commit {commit}; what is too
costly to measure each time has the command and the commit that measured it, whose `tools/` may have other names than
those of today.
"""


def write_page(path, records):
    """Write it."""
    commit = next(record["measured"] for record in records if "measured" in record)
    parts = ["# Benchmarks\n", wrapped(HEAD.format(commit=commit))]
    for title, make in SECTIONS.items():
        parts += [f"## {title}\n", *make(records)]
        entered = [record for record in records if record.get("section") == title]
        parts += [recorded(record) for record in entered if "table" in record]
        parts.append("".join(recorded(record) for record in entered if "table" not in record))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(part for part in parts if part))


def recorded(record):
    """Text, table, command and commit of a record that was entered by hand: one of a list if it has no table."""
    text = f"{record['text']} (`{record['command']}`, commit {record['commit']})"
    if "table" in record:
        return f"{wrapped(text + ':')}\n{table(*record['table'])}"
    return wrapped(f"- {text}.", subsequent_indent="  ")


def wrapped(text, **indents):
    """A paragraph."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False, **indents) + "\n"


def table(header, *rows):
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [header, ["---"] * len(header), *rows]) + "\n"


def code(*commands):
    return "\n".join(f"    {command}" for command in commands) + "\n"


def accuracy(records):
    """Scores of each set, then ranks, paired differences and seconds of each model."""
    records = [record for record in records if "set" in record]
    found = by_model(records, REFERENCE)
    names, seeds = list(dict.fromkeys(record["set"] for record in records)), {record["seed"] for record in records}
    most_rows = max(record["rows"] for record in records)
    yield code(f"python tools/compare.py --data DIR --log docs/benchmarks.jsonl --sets page --rows {most_rows} "
               f"--seeds {min(seeds)}-{max(seeds)} --models ...")
    yield wrapped(f"Default parameters; \"tuned\" is by cross-validation (LightGBM: leaves, rate and rounds; support "
                  f"vector machines: 9 pairs; kernel ridge regression: 25). At most {most_rows:,} training rows, means "
                  f"of {len(seeds)} splits by which nothing was chosen. Accuracy, or R2 of targets, in %; the best of "
                  "a row in bold:")
    rows = []
    for name in names:
        means = {model: mean_of(found[model], name, "score") for model in IN_TABLE if model in found}
        best = max(round(mean, 1) for mean in means.values() if mean is not None)
        n_rows = next(record["rows"] for record in records if record["set"] == name)
        rows.append([f"{name}, {n_rows:,}", *("" if mean is None else f"**{mean:.1f}**" if round(mean, 1) == best
                                              else f"{mean:.1f}" for mean in means.values())])
    yield table(["set, training rows", *(IN_TABLE[model] for model in means)], *rows)
    yield wrapped("Mean rank over the sets; what Fourier boosting has more, paired, with standard errors (log loss: "
                  "less is better); CPU seconds of all fits and predictions:")
    rows = []
    for model, rank in mean_ranks(found, REFERENCE, names)[0].items():
        more = [difference(found, model, key, form) for key, form in (("score", ".2f"), ("log_loss", ".3f"))]
        rows.append([NAMES[model], f"{rank:.1f}", *more, *(f"{sum(run[key] for run in found[model].values()):.0f}"
                                                           for key in ("fit", "predict"))])
    yield table(["", "rank", "accuracy or R2", "log loss", "s, fits", "s, predictions"], *rows)


def difference(found, model, key, form):
    by_set = differences(found[REFERENCE], found[model], key)
    if model == REFERENCE or not by_set:
        return ""
    mean, error = mean_difference(by_set)
    return f"{mean:+{form}} +- {error:{form}}"


def growth(records):
    """Models as rows grow."""
    records = [record for record in records if record.get("rows") == "clusters"]
    sizes, models = (list(dict.fromkeys(record[key] for record in records)) for key in ("n", "model"))
    yield code(f"python tools/bench.py rows --sizes {' '.join(map(str, sizes))} --log docs/benchmarks.jsonl --models "
               "...")
    yield wrapped("Clusters of 20 columns in two classes: seconds of a fit and of 20,000 predictions, log loss, and MB "
                  "that the fit adds at its peak:")
    cells = {(record["model"], record["n"]): f"{record['fit']:.3g} s, {record['predict']:.2g} s, "
             f"{record.get('log_loss', np.nan):.3f}, {record['MB']:.0f}" for record in records}
    yield table(["", *(f"{size:,} rows" for size in sizes)],
                *([NAMES.get(model, model), *(cells.get((model, size), "") for size in sizes)] for model in models))


def training(records):
    """GBRFF2 beside others, then every class."""
    yield code("python tools/bench.py fit --log docs/benchmarks.jsonl",
               "python tools/bench.py families --sizes 2000 --log docs/benchmarks.jsonl")
    yield wrapped("`GBRFF2Classifier`, 100 rounds with searches on all rows of 20 columns: seconds, and how many times "
                  "as long its method takes in NumPy/SciPy (\"twin\"), and others for 100 trees of depth 5:")
    fits = [record for record in records if record.get("what") == "GBRFF2 fit"]
    others = list(dict.fromkeys(name for record in fits for name in list(record["seconds"])[1:]))
    yield table(["rows", "rffkern", *others], *(
        [f"{record['n']:,}", f"{record['seconds']['rffkern']:.3g} s", *(
            f"{record['seconds'][name] / record['seconds']['rffkern']:.2g}" if name in record["seconds"] else ""
            for name in others)] for record in fits))
    yield wrapped("Every class with its defaults, 2,000 rows of 20 columns:")
    yield table(["", "fit, s", "20,000 rows, s", "one row, us", "file, kB"], *(
        [f"`{record['what']}`", f"{record['seconds']['fit']:.2g}", f"{record['seconds']['20,000 rows']:.2g}",
         f"{1e6 * record['seconds']['one row']:.1f}", f"{record['bytes'] / 1e3:.0f}"]
        for record in records if "bytes" in record))


def scoring(records):
    """Many rows, files, one row."""
    yield code("python tools/bench.py predict --log docs/benchmarks.jsonl",
               "python tools/bench.py one-row --log docs/benchmarks.jsonl")
    yield wrapped("Nanoseconds of a row of 20 columns, in memory and by `rffkern predict` from file to file, beside "
                  "what a program cannot do without; microseconds of a single row, for 100 terms or trees:")
    rows = [[f"{record['what']}, {record['n']:,} rows", ", ".join(
        f"{name} {1e9 * seconds / record['n']:.0f} ns" for name, seconds in record["seconds"].items())]
        for record in records if record.get("what", "").startswith(("scores", "rffkern predict"))]
    calls = {}
    for record in records:
        for name, seconds in record["seconds"].items() if record.get("what") == "one row" else ():
            model, _, call = name.partition(": ")
            calls.setdefault(model, []).append(f"{call if ' ' in call else f'`{call}`'} {1e6 * seconds:.1f}")
    rows += [[f"one row, {model}", f"{', '.join(found)} us"] for model, found in calls.items()]
    yield table(["", "time"], *rows)


def starts(records):
    """A new process."""
    yield code("python tools/bench.py start --log docs/benchmarks.jsonl")
    yield wrapped("A new process that loads a model of 100 trees or terms and scores one row: CPU time of the whole "
                  "process, the peak of its memory, and the size of the library with what it requires:")
    yield table(["", "CPU ms", "x `import numpy`", "peak MB", "installed MB"], *(
        [record["start"], record["ms"], f"{record['ratio']:.2f}", record["MB"], record["installed"]]
        for record in records if "start" in record))


def nothing(records):
    """A section of records that were entered alone."""
    return []


SECTIONS = {"Accuracy": accuracy, "Fourier boosting": growth, "The papers": nothing, "Kernel ridge regression": nothing,
            "Sparse kernel machines": nothing, "Speed of training": training, "Speed of scoring": scoring,
            "Start of a process": starts, "Column maps": nothing, "Threads": nothing}
