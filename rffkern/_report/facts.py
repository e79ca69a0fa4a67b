"""What a report says, as numbers: one section after the other, in the order of the page.

A section that a model or its rows cannot give is left out with the reason.  The result is what `--json` writes, and all
that the page shows.
"""

import math
import platform
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import CATEGORY
from .._column_map.drift import summary
from .._column_map.learning import advice_on
from .._estimator import inspection
from .._estimator.head import kept_figures, n_training_rows, task_of, terms_of
from .._estimator.metrics import confusion, error_of_share, is_of_second, reliability
from .._native.array_types import Double
from .._rows.row_blocks import evenly_spaced
from .._version import __version__
from ..errors import InvalidInputError, TrainingStateError
from .contributions import (
    background_of,
    contributions,
    main_output,
    ranks,
    reasons,
    strengths,
    summary_of,
    takes_minutes,
)
from .effects import dependence, importance_metric, pair_dependence, permutation_importance
from .labelled_rows import BINARY, LabelledRows, coverages, value_text
from .slices import worst_rows, worst_slices

Facts = dict[str, Any]

N_STRONGEST = 8  # columns whose dependence is shown
_N_PAIRS, _N_WORST = 3, 8
_MOST_RESPONSES = 6  # of which dependence is shown
_N_BINS = 20  # of histograms
_MOST_POINTS = 400  # rows of a scatter plot
_MOST_CLASSES = 20  # of a confusion table
_MOST_LEVELS = 6  # that are named
_MOST_SUMMARISED = 10  # columns whose Shapley values are shown row by row


class LeftOut(Exception):
    """Why a section is left out."""


class Source(NamedTuple):
    """Where model and rows come from."""

    model: str = ""  # path
    model_sha256: str = ""
    data: str = ""
    data_sha256: str = ""
    target: str = ""
    n_rejected: int = 0
    n_unlabelled: int = 0  # rows that are left out
    date: str = ""
    no_target: str = ""  # why there are no labels


@np.errstate(over="ignore", invalid="ignore")  # what is not finite, of targets of 1e155, is left out
def report_facts(rows: LabelledRows, source: Source) -> Facts:
    """All sections by their names; those left out are in "left_out", with the reasons."""
    facts: Facts = {"head": head(rows, source), "data": data(rows, source)}
    left_out = {}
    for name, section in SECTIONS.items():
        try:
            if name in _OF_TARGETS and (rows.classes or section is not confusion_table):
                _need_targets(rows, source)
            facts[name] = section(rows, facts)
        except LeftOut as reason:
            left_out[name] = str(reason)
    return _plain({**facts, "receipt": receipt(rows, source), "left_out": left_out})


def _plain(value: Any) -> Any:
    """The same in what JSON has; numbers that are not finite are None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _need_targets(rows: LabelledRows, source: Source) -> None:
    if not rows.has_targets:
        raise LeftOut(source.no_target or "the rows have no labels or targets")
    if not np.isfinite(rows.losses.sum()):
        raise LeftOut("the errors of the rows are too large to be added up")


# --- head and data

def head(rows: LabelledRows, source: Source) -> Facts:
    """What the model is and what the report is about."""
    model = rows.model
    where = f"{len(rows):,} rows of {source.data}" if source.data else f"{len(rows):,} rows"
    sentence = rows.evaluation.sentence(where) if rows.has_targets else ""
    return {
        "sentence": sentence, "class": type(model).__name__, "family": model.family, "task": rows.task,
        "target": source.target, "classes": rows.classes, "rows": len(rows), "columns": len(rows.names),
        "model": source.model, "data": source.data,
        "predicts": task_of(model), "terms": terms_of(model), "training_rows": n_training_rows(model),
        "date": source.date, "loss": getattr(model, "loss", None)}


def data(rows: LabelledRows, source: Source) -> Facts:
    """The columns of the rows, and what the model makes of them."""
    column_map = vars(rows.model).get("column_map_")
    described: dict[str, list[Facts]] = {}
    for row in () if column_map is None else column_map.describe():
        described.setdefault(str(row["column"]), []).append(row)
    columns = []
    for raw, name in zip(rows.raw.columns, rows.names, strict=True):
        forms = described.get(name, [])
        entry: Facts = {"column": name, "kind": forms[0]["kind"] if forms else raw.kind}
        if forms and forms[0]["form"] == "dropped":  # its values were not read
            reason = str(forms[0]["reason"])
            entry |= {"dropped": reason, "advice": advice_on(reason)}
        else:
            entry |= {"missing": float(np.isnan(raw.values).mean()), **_values(raw)}
            entry["forms"] = [str(form["form"]) for form in forms] or ["as it is"]
            imputed = [each for form in forms for each in form.get("imputed_from", ())]
            entry |= {"imputed_from": imputed} if imputed else {}
        columns.append(entry)
    return {"rows": len(rows), "rejected": source.n_rejected, "unlabelled": source.n_unlabelled,
            "columns": columns, "target": _target(rows)}


def _values(raw: Any) -> Facts:
    """Range and histogram of a column, or its most frequent levels."""
    present = raw.values[~np.isnan(raw.values)]
    if not len(present):
        return {}
    if raw.kind == CATEGORY:
        counts = np.bincount(present.astype(np.intp), minlength=len(raw.levels))
        order = np.argsort(-counts, kind="stable")
        levels = {raw.levels[k]: int(counts[k]) for k in order[:_MOST_LEVELS].tolist()}
        return {"levels": levels, "n_levels": int((counts > 0).sum())}
    low, median, high = (float(each) for each in np.quantile(present, [0, 0.5, 1]))
    return {"range": [value_text(raw, low), value_text(raw, high)], "median": value_text(raw, median),
            "histogram": _histogram(present)}


def _histogram(values: Double) -> Facts:
    """Counts between quantiles 0.5 % and 99.5 %; values beyond are in the first or last bin."""
    low, high = np.quantile(values, [0.005, 0.995], method="inverted_cdf")
    if low == high:
        low, high = values.min(), values.max()
    edges = np.linspace(low, high, _N_BINS + 1) if low < high else np.array([low, low])
    place = np.searchsorted(edges, values, side="right").clip(1, len(edges) - 1) - 1
    return {"edges": [float(low), float(high)], "counts": np.bincount(place, minlength=len(edges) - 1).tolist()}


def _target(rows: LabelledRows) -> Facts:
    if not rows.has_targets:
        return {}
    if rows.classes:
        counts = np.bincount(rows.codes[rows.codes >= 0], minlength=len(rows.classes)).tolist()
        unknown = sorted({label for label, code in zip(rows.labels, rows.codes.tolist(), strict=True) if code < 0})
        return {"classes": dict(zip(rows.classes, counts, strict=True)),
                "unknown": {"rows": int((rows.codes < 0).sum()), "labels": unknown[:_MOST_LEVELS]}}
    return {"targets": [{"mean": float(y.mean()), "standard_deviation": float(y.std()),
                         "range": [float(y.min()), float(y.max())], "histogram": _histogram(y)}
                        for y in rows.targets.T]}


# --- how good

def validation(rows: LabelledRows, facts: Facts) -> Facts:
    """Metrics with standard errors, beside those of the best constant."""
    found = rows.evaluation.figures()
    kept = kept_figures(rows.model)
    positive = rows.evaluation.predictions.judged_class()
    return found | ({} if positive is None else {"positive": positive}) | ({"in_the_model_file": kept} if kept else {})


def calibration(rows: LabelledRows, facts: Facts) -> Facts:
    """Predicted probabilities beside observed shares; or predictions beside targets, and residuals."""
    if rows.classes:
        is_of_label = is_of_second(rows.codes, len(rows.classes))
        probability = rows.predictions[:, 1] if is_of_label else rows.predictions.max(axis=1)
        counts, _ = np.histogram(probability, bins=_N_BINS, range=(0, 1))
        bins = [{**each, "standard_error": float(error_of_share(each["share"], each["rows"]))} for each in reliability(
            rows.codes, rows.predictions)]
        return {"of": rows.responses[0] if is_of_label else "probability of the most likely class",
                "bins": bins, "histogram": counts.tolist()}
    y = rows.targets[:, 0]
    predicted = rows.predictions[:, len(rows.quantiles) // 2]
    chosen = evenly_spaced(len(y), _MOST_POINTS)
    found: Facts = {"points": [[float(a), float(b)] for a, b in zip(predicted[chosen], y[chosen], strict=True)],
                    "predicted": "prediction" if not rows.quantiles else rows.responses[len(rows.quantiles) // 2],
                    "bins": _residual_bins(predicted, y - predicted)}
    if rows.quantiles:
        below = {name: metric for name, metric in rows.evaluation.metrics.items() if name.startswith("below_")}
        found["below"] = [{"quantile": quantile, "share": metric.value, "standard_error": metric.standard_error}
                          for quantile, metric in zip(rows.quantiles, below.values(), strict=True)]
    else:
        found["residuals"] = _histogram(y - predicted)
    return found


def _residual_bins(predicted: Double, residuals: Double) -> list[Facts]:
    """Mean and spread of residuals in ten bins of equal numbers of rows by prediction."""
    edges = np.unique(np.quantile(predicted, np.arange(1, 10) / 10, method="inverted_cdf"))
    place = np.searchsorted(edges, predicted, side="left")
    bins = []
    for k in np.unique(place):
        own = residuals[place == k]
        bins.append({"prediction": float(predicted[place == k].mean()), "rows": len(own), "mean": float(own.mean()),
                     "standard_error": float(own.std(ddof=1) / math.sqrt(len(own))) if len(own) > 1 else None,
                     "quantiles": np.quantile(own, [0.1, 0.9]).tolist()})
    return bins


def confusion_table(rows: LabelledRows, facts: Facts) -> Facts:
    """Rows by their class and by the most likely one."""
    if not rows.classes:
        raise LeftOut("the model predicts numbers")
    counts = confusion(rows.codes, rows.predictions)
    known = counts[:-1]
    order = np.argsort(-known.sum(axis=1), kind="stable")
    shown = sorted(order[:_MOST_CLASSES].tolist())
    rest = sorted(order[_MOST_CLASSES:].tolist())
    table = known[np.ix_(shown, shown)].tolist()
    names = [rows.classes[k] for k in shown]
    if rest:
        table = [[*line, float(known[k][rest].sum())] for k, line in zip(shown, table, strict=True)]
        table.append([*known[np.ix_(rest, shown)].sum(axis=0).tolist(), float(known[np.ix_(rest, rest)].sum())])
        names.append(f"{len(rest)} other classes")
    return {"classes": names, "counts": table, "unknown": float(counts[-1].sum())}


def learning_curve(rows: LabelledRows, facts: Facts) -> Facts:
    """Loss before training and after each round."""
    curves = {name: getattr(rows.model, f"{name}_loss_", None) for name in ("train", "eval")}
    found = {name: [float(each) for each in values] for name, values in curves.items()
             if values is not None and len(values) > 1}
    if not found:
        raise LeftOut("the model was not trained in rounds whose losses are kept")
    return found


# --- why

def importances(rows: LabelledRows, facts: Facts) -> Facts:
    """Permutation importance on the rows, beside what training found."""
    trained = getattr(rows.model, "feature_importances_", None)
    if not rows.has_targets and trained is None:
        raise LeftOut("the rows have no labels or targets, and this family keeps no importances of training")
    found: dict[int, Facts] = {} if trained is None else {j: {"trained": float(each)} for j, each in enumerate(trained)}
    if rows.has_targets:
        for column, each in permutation_importance(rows).items():
            found.setdefault(column, {}).update(each)
    unmeasured = -math.inf if rows.has_targets else 0.0
    ranked = sorted(found, key=lambda j: (-found[j].get("importance", unmeasured), -found[j].get("trained", 0.0)))
    return {"metric": importance_metric(rows) if rows.has_targets else None,
            "columns": [{"column": rows.names[j], **found[j]} for j in ranked]}


def shapley(rows: LabelledRows, facts: Facts) -> Facts:
    """Shapley values of some rows: mean absolute contributions of the columns, and those of each row."""
    if takes_minutes(rows):
        raise LeftOut("Shapley values of so many kernel functions of so many columns take minutes; explain has them")
    background = background_of(rows)
    found, output = summary_of(rows, background), main_output(rows)
    columns = []
    for k, (column, mean, error) in enumerate(strengths(found, output)):
        entry: Facts = {"column": rows.names[column], "mean_absolute": mean, "standard_error": error}
        if k < _MOST_SUMMARISED:
            entry |= {"values": found.values[:, column, output], "ranks": ranks(found.rows, column)}
        columns.append(entry)
    return {"rows": len(found.rows), "background": "marginals" if background is None else f"{len(background)} rows",
            "base_value": float(found.base_values[output]),
            "of": rows.classes[1 if rows.task == BINARY else output] if rows.classes else
            rows.responses[output] if len(rows.responses) > 1 else "", "columns": columns}


def strongest(rows: LabelledRows, facts: Facts) -> list[int]:
    """Indices of the columns that matter most, from the section of importances."""
    if "importances" not in facts:
        return np.unique(rows.sources).tolist()[:N_STRONGEST]
    index = {name: j for j, name in enumerate(rows.names)}
    ranked = [index[each["column"]] for each in facts["importances"]["columns"]
              if each.get("importance", each.get("trained", 0.0)) > 0 or each.get("trained", 0.0) > 0]
    return ranked[:N_STRONGEST]


def dependences(rows: LabelledRows, facts: Facts) -> Facts:
    """Mean responses as functions of the strongest columns."""
    found = [dependence(rows, column) for column in strongest(rows, facts)]
    if not found:
        raise LeftOut("no column matters to the model")
    return {"responses": rows.responses, "shown": rows.ranked_responses[:_MOST_RESPONSES], "columns": found}


def interactions(rows: LabelledRows, facts: Facts) -> Facts:
    """Pairs of columns whose joint effect is no sum, and mean responses as functions of the strongest of them."""
    importances = np.zeros(len(rows.names))
    chosen = strongest(rows, facts)
    importances[chosen] = np.arange(len(chosen), 0, -1)
    few = rows.some(500)
    table = inspection.MappedTable(rows.model.expansion_, few.mapped, rows.sources, len(rows.names), rows.model.n_jobs)
    pairs = [each for each in inspection.interactions(table, importances) if each[3] > 0][:10]
    if not pairs:
        raise LeftOut("no two of the strongest columns interact")
    return {"pairs": [{"first": rows.names[first], "second": rows.names[second], "strength": strength, "size": size}
                      for first, second, strength, size in pairs],
            "response": rows.responses[rows.ranked_responses[0]],
            "dependence": [pair_dependence(rows, pair[:2]) for pair in pairs[:_N_PAIRS]]}


# --- where it fails

def slices(rows: LabelledRows, facts: Facts) -> Facts:
    """Slices of the rows in which the model is worst."""
    found, n_compared = worst_slices(rows)
    if not n_compared:
        raise LeftOut(f"no slice of the {len(rows)} rows has 20 or more")
    return {"loss": rows.loss_name, "mean": float(rows.losses.mean()), "compared": n_compared, "slices": found}


def rows_most_wrong(rows: LabelledRows, facts: Facts) -> Facts:
    """The rows that the model is most wrong about."""
    chosen = worst_rows(rows, _N_WORST)
    explained = None if takes_minutes(rows) else contributions(rows.take(chosen), background_of(rows))
    found = []
    for k, i in enumerate(chosen.tolist()):
        values = {name: rows.text(j, i) for j, name in enumerate(rows.names)}
        entry: Facts = {"row": i + 1, "values": values, "reasons": [] if explained is None else reasons(explained, k)}
        if rows.classes:
            code = int(rows.codes[i])
            entry |= {"label": rows.labels[i], "predicted": rows.classes[int(rows.predicted_codes[i])],
                      "probability_of_label": float(rows.predictions[i, code]) if code >= 0 else 0.0}
        else:
            entry |= {"target": rows.targets[i].tolist(), "predicted": rows.predictions[i].tolist(),
                      "loss": float(rows.losses[i])}
        found.append(entry)
    return {"rows": found}


def intervals(rows: LabelledRows, facts: Facts) -> Facts:
    """How often intervals or label sets contain the truth, and how large they are."""
    try:
        found = coverages(rows)
    except (InvalidInputError, TrainingStateError) as error:
        raise LeftOut(str(error)) from error
    return {"of": "label sets" if rows.classes else "intervals", "coverages": found}


def drift(rows: LabelledRows, facts: Facts) -> Facts:
    """How the rows differ from the training rows."""
    try:
        found = rows.model.drift(rows.X)
    except InvalidInputError as error:
        raise LeftOut(str(error).partition(": ")[0]) from error
    return {**found, "summary": summary(found)}


def receipt(rows: LabelledRows, source: Source) -> Facts:
    """By what the report can be made again, and checked."""
    params = rows.model.get_params(deep=False)
    return {"model": source.model, "model_sha256": source.model_sha256, "data": source.data,
            "data_sha256": source.data_sha256, "rows": len(rows), "rejected": source.n_rejected, "rffkern": __version__,
            "numpy": np.__version__, "python": platform.python_version(),
            "random_state": repr(params.get("random_state")),
            "parameters": {name: repr(value) for name, value in params.items()}, "seed_of_the_report": 0,
            "metadata": getattr(rows.model, "metadata_", None) or {}}


SECTIONS: dict[str, Callable[[LabelledRows, Facts], Facts]] = {
    "validation": validation, "calibration": calibration, "confusion": confusion_table,
    "learning_curve": learning_curve, "importances": importances, "shapley": shapley,
    "dependence": dependences, "interactions": interactions, "slices": slices, "worst_rows": rows_most_wrong,
    "intervals": intervals, "drift": drift}
_OF_TARGETS = "validation", "calibration", "confusion", "slices", "worst_rows", "intervals"
