"""What gaps in tables of text, numbers and dates cost models with a `ColumnMap`, and what they cost LightGBM.

    python tools/columns/gaps.py --data DIR --seeds 61-65 --log gaps.jsonl

Each data set becomes a table like that of a census, see `dressed.py`, and loses cells in several ways.  LightGBM takes
categories and missing values as such.  Each fit adds a line to the log; a second call goes on where the log ends.
"""

import argparse
import json
import os
import pathlib
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common.protocols import load

from columns.dressed import GAPS, Rows, Table, dressed, missing_cells, part, some_rows, with_gaps
from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    GBRFFRegressor,
    RFFNetClassifier,
    RFFNetRegressor,
    SparseKernelClassifier,
    SparseKernelRegressor,
)

CLASSES = ("heart", "australian", "german", "pima", "vehicle", "phoneme", "spambase", "electricity", "covtype_a")
TARGETS = ("concrete", "california", "cpu_small", "energy", "wine_quality_red", "protein")
MODELS = ("fourier-rank", "gbrff2", "gbrff2-rank", "gbrff", "gbrff-slow", "rffnet", "rffnet-rank", "sparse", "lightgbm",
          "lightgbm-tuned")

LEAVES, RATES = (4, 8, 16, 31), (0.05, 0.1)  # of the tuned LightGBM; rounds by a fifth of the rows


class Job(NamedTuple):
    """One fit."""

    name: str
    seed: int
    gaps: str
    model: str


def model_of(name: str, classes: bool) -> Any:
    """An estimator of this package with a map; None where the family has no such task."""
    form, _, variant = name.partition("-")
    columns = ColumnMap(("standard", "rank") if variant == "rank" else ("standard",))
    settings: dict[str, Any] = {"learning_rate": 0.1} if variant == "slow" else {}  # a fifth of the default
    if form == "fourier":
        settings["kernel"] = False  # terms alone
    makers: dict[tuple[str, bool], Callable[..., Any]] = {
        ("fourier", True): FourierBoostingClassifier, ("fourier", False): FourierBoostingRegressor,
        ("gbrff2", True): GBRFF2Classifier, ("gbrff", False): GBRFFRegressor,
        ("rffnet", True): RFFNetClassifier, ("rffnet", False): RFFNetRegressor,
        ("sparse", True): SparseKernelClassifier, ("sparse", False): SparseKernelRegressor}
    maker = makers.get((form, classes))
    return None if maker is None else maker(columns=columns, random_state=0, n_jobs=1, **settings)


def frames_of(train: Table, test: Table) -> tuple[Any, Any]:
    """Both tables as LightGBM has them: text and booleans as categories of the training rows, dates as seconds."""
    import pandas

    frames = pandas.DataFrame(index=range(len(next(iter(train.values()))))), pandas.DataFrame(
        index=range(len(next(iter(test.values())))))
    for name, column in train.items():
        for frame, values in zip(frames, (column, test[name]), strict=True):
            if column.dtype == object:
                levels = sorted({str(value) for value in column.tolist() if value is not None})
                texts = [None if value is None else str(value) for value in values.tolist()]
                frame[name] = pandas.Categorical([text if text in levels else None for text in texts], levels)
            elif column.dtype.kind == "M":
                frame[name] = np.where(np.isnat(values), np.nan, values.astype("M8[s]").astype(float))
            else:
                frame[name] = values
    return frames


def lightgbm_answers(train: Table, y: np.ndarray, test: Table, tuned: bool, classes: bool) -> np.ndarray:
    """Predictions of LightGBM for the test rows."""
    import lightgbm

    X, X_test = frames_of(train, test)
    make = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    params: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "force_col_wise": True, "random_state": 0}
    if tuned:
        held, best = len(y) // 5, np.inf
        for leaves in LEAVES:
            for rate in RATES:
                model = make(n_estimators=1000, num_leaves=leaves, learning_rate=rate, **params)
                model.fit(X[held:], y[held:], eval_set=[(X[:held], y[:held])],
                          callbacks=[lightgbm.early_stopping(50, verbose=False)])
                loss = min(next(iter(model.evals_result_["valid_0"].values())))
                if loss < best:
                    best, chosen = loss, {"num_leaves": leaves, "learning_rate": rate,
                                          "n_estimators": max(1, round(1.25 * model.best_iteration_))}
        params |= chosen
    return make(**params).fit(X, y).predict(X_test)


def tables_of(rows: Rows, job: Job) -> tuple[Table, Table, np.ndarray, np.ndarray]:
    """Training and test tables and their targets; the table is the same for all gaps, and the cells for all models."""
    key = zlib.crc32(job.name.encode())
    table = dressed(rows.X, np.random.default_rng([job.seed, key, 1]))
    missing = missing_cells(rows.X, job.gaps, np.random.default_rng([job.seed, key, 2]))
    table = with_gaps(table, missing)
    n_train = 2 * len(rows.y) // 3
    return (part(table, slice(n_train)), part(table, slice(n_train, None)), rows.y[:n_train], rows.y[n_train:])


def run(job: Job, rows: Rows) -> float | None:
    """Accuracy or R2, in %, on a third of the rows."""
    classes = job.name in CLASSES
    train, test, y, y_test = tables_of(rows, job)
    if not classes:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    if job.model.startswith("lightgbm"):
        answers = lightgbm_answers(train, y, test, job.model.endswith("tuned"), classes)
    else:
        model = model_of(job.model, classes)
        if model is None:
            return None
        answers = model.fit(train, y).predict(test)
    if classes:
        return 100 * float(np.mean(answers == y_test))
    return 100 * float(1 - np.mean((answers - y_test) ** 2) / np.var(y_test))


def jobs_of(options: argparse.Namespace) -> Iterator[tuple[Job, Rows]]:
    """All fits, those of a table one after the other."""
    for seed in options.seeds:
        for name in options.sets:
            X, y = load(options.data, name)
            rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
            rows = some_rows(X, y, options.rows, rng)
            for gaps in options.gaps:
                for model in options.models:
                    yield Job(name, seed, gaps, model), rows


def read_log(path: str) -> dict[Job, float]:
    """Scores so far."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    return {Job(*entry["job"]): entry["score"] for entry in entries}


def mean_of(values: list[float]) -> str:
    """Mean and standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):7.2f} +-{error:5.2f}"


def show(scores: dict[Job, float], sets: tuple[str, ...], title: str) -> None:
    """Score of each model with each kind of gaps, what these cost, and how much less they cost than LightGBM."""
    tables: dict[str, dict[tuple[str, int], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for job, score in scores.items():
        if job.name in sets:
            tables[job.model][job.name, job.seed][job.gaps] = score
    if not tables:
        return
    print(f"\n{title}\n{'model':<15} {'gaps':<9} {'score':>15} {'cost of gaps':>15} {'score - tuned':>15} "
          f"{'cost - default':>15} {'cost - tuned':>15}  (n)")
    for model, found in tables.items():
        for gaps in GAPS:
            places = [place for place, by_gaps in found.items() if gaps in by_gaps and "none" in by_gaps]
            if not places:
                continue
            cells = [mean_of([found[place][gaps] for place in places]),
                     mean_of([found[place]["none"] - found[place][gaps] for place in places])]
            for other, less in (("lightgbm-tuned", False), ("lightgbm", True), ("lightgbm-tuned", True)):
                beside = tables.get(other, {})
                pairs = [place for place in places if {gaps, "none"} <= {*beside.get(place, ())}]
                gain = [found[place][gaps] - beside[place][gaps] for place in pairs]
                cost = [found[place]["none"] - beside[place]["none"] - gained
                        for place, gained in zip(pairs, gain, strict=True)]
                cells.append(mean_of(cost if less else gain) if pairs else "")
            print(f"{model:<15} {gaps:<9} " + " ".join(f"{cell:>15}" for cell in cells) + f"  ({len(places)})")


def seeds_of(text: str) -> list[int]:
    """"61-65" or "61,63"."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(seed) for seed in text.split(",")]


def main() -> None:
    """Fit what the log lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of NAME.npz files")
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("61-65"))
    parser.add_argument("--sets", type=lambda text: text.split(","), default=[*CLASSES, *TARGETS])
    parser.add_argument("--gaps", type=lambda text: text.split(","), default=list(GAPS))
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--rows", type=int, default=3000, help="of each set at most; two thirds of them for training")
    parser.add_argument("--log", default="gaps.jsonl")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="lightgbm")  # names of arguments, which differ between versions
    scores = read_log(options.log)
    with open(options.log, "a", encoding="utf-8") as log:
        for job, rows in jobs_of(options):
            if job not in scores:
                started = time.process_time()
                score = run(job, rows)
                if score is not None:
                    scores[job] = score
                    log.write(json.dumps({"job": job, "score": score, "cpu": time.process_time() - started}) + "\n")
                    log.flush()
    asked = {job: score for job, score in scores.items() if job.seed in options.seeds and job.model in options.models}
    show(asked, CLASSES, "accuracy, %")
    show(asked, TARGETS, "R2, %")


if __name__ == "__main__":
    main()
