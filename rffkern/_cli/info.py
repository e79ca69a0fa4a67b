"""`rffkern info`: describe a model file."""

import argparse
import json
from typing import Any

from .._column_map.cells import DATE, date_text
from .._estimator.evaluation import metric_name, names_of_metrics, with_error
from .._files.archive import decode
from .._files.model_files import loads
from ..errors import FormatError
from .output import printable

_MOST_SHOWN = 12

# Fitted curves that are not shown: with an entry for each bag or term, or shown as text by another fact.
_NOT_SHOWN = ("bag_counts_", "term_rounds_", "_kernel_ridge_report")


def run(arguments: argparse.Namespace) -> None:
    """Print the contents of a model file, as lines or as one JSON object."""
    with open(arguments.model, "rb") as file:
        content = file.read()
    model: Any = _loaded(content, arguments.model)
    n_bytes = len(content)
    facts = _describe_map(model, n_bytes) if hasattr(model, "describe") else _describe_model(model, n_bytes)
    if arguments.json:
        print(json.dumps(facts | _numbers(model, content)))
        return
    if "held-out rows" in facts:
        facts["held-out rows"] = _figures(facts["held-out rows"])
    metadata = facts.get("metadata", {})
    judged = {key: each for key, each in metadata.items() if isinstance(each, dict) and "standard_errors" in each}
    if judged:
        facts["metadata"] = {key: each for key, each in metadata.items() if key not in judged}
        facts |= {key.replace("_", " "): _figures(each) for key, each in judged.items()}
    for key, value in facts.items():
        separator = "; " if key.startswith("column ") else ", "  # the forms of a column contain commas
        print(f"{key:<14} {printable(_text(value, separator))}")


def _figures(judged: dict[str, Any]) -> str:
    """Metrics in a line."""
    return f"{judged['rows']} rows, " + ", ".join(
        f"{metric_name(name)} {with_error(judged[name], judged['standard_errors'].get(name))}"
        for name in names_of_metrics(judged))


def _loaded(content: bytes, path: str) -> Any:
    """The model of some bytes; the error names the file."""
    try:
        return loads(content)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def _describe_map(column_map: Any, n_bytes: int) -> dict[str, Any]:
    """The facts about a ColumnMap without a model."""
    return {"class": type(column_map).__name__, "columns of table": column_map.n_features_in_, "bytes": n_bytes,
            "mapped features": len(column_map.sources_), **_describe_columns(column_map),
            "parameters": _parameters(column_map)}


def _describe_model(model: Any, n_bytes: int) -> dict[str, Any]:
    """The facts about a model, or about an expansion without one."""
    expansion = getattr(model, "expansion_", model)
    facts = {"class": type(model).__name__, "terms": expansion.n_terms,
             "columns of table": getattr(model, "n_features_in_", expansion.n_features),
             "mapped features": expansion.n_features, "outputs": expansion.n_outputs, "bytes": n_bytes}
    if hasattr(model, "classes_"):
        facts["classes"] = model.classes_.tolist()
    if hasattr(model, "feature_names_in_"):
        facts["feature names"] = model.feature_names_in_.tolist()
    if hasattr(model, "n_bags_"):
        facts |= {"bags": model.n_bags_, "rounds": model.n_estimators_}
    for part in expansion.parts:
        if part.n_terms:
            facts[part.noun or part.kind] = part.n_terms
    if expansion.kernels is not None:
        from .._export.conditioning import conditioning  # which loads code of other families

        facts["conditioning"] = float(f"{conditioning(expansion.kernels):.3g}")
        facts["single precision"] = "enough" if expansion._scorer.fits[1] else "not enough"
    if hasattr(model, "kernel_ridge_report_"):
        facts["kernel ridge"] = model.kernel_ridge_report_.reason
    if getattr(model, "interaction_constraints", None) is not None:
        facts["interactions"] = [f"{first} x {second}" for first, second in model.interaction_pairs_] or "none"
    facts |= _describe_curves(model, facts.get("feature names"))
    if hasattr(model, "select_top_k"):
        columns = facts.get("feature names", range(model.n_features_in_))
        facts["most relevant"] = [columns[j] for j in model.select_top_k(model.n_features_in_)]
    if getattr(model, "columns", None) in ("auto", "search"):
        facts["chosen columns"] = "as they are" if model.column_map_ is None else ", ".join(model.column_map_.numeric)
    if getattr(model, "column_map_", None) is not None:
        facts |= _describe_columns(model.column_map_)
    if hasattr(model, "get_params"):
        facts["parameters"] = _parameters(model)
    record = vars(model).get("_out_of_fold") if hasattr(model, "family") else None
    if record is not None:
        facts["intervals"] = f"from {record['rows']} rows: {record['source']}"
        if "figures" in record:
            facts["held-out rows"] = record["figures"]
    if getattr(model, "metadata_", None):
        facts["metadata"] = model.metadata_
    return facts


def _describe_curves(model: Any, names: list[str] | None) -> dict[str, Any]:
    """Fitted arrays of a model: importances by column, the largest first, both ends of losses, others as they are."""
    facts: dict[str, Any] = {}
    for name in getattr(model, "_fitted_curves", ()):
        values = getattr(model, name)
        if name == "feature_importances_":
            ranks = sorted(range(len(values)), key=lambda j: -values[j])
            facts[_fact(name)] = {names[j] if names else str(j): float(f"{values[j]:.4g}") for j in ranks}
        elif name.endswith("loss_"):
            if values.size:
                facts[_fact(name)] = f"{values[0]:.6g} before training, {values[-1]:.6g} at the end"
        elif name not in _NOT_SHOWN:
            facts[_fact(name)] = [float(f"{value:.6g}") for value in values]
    return facts


def _numbers(model: Any, content: bytes) -> dict[str, Any]:
    """What JSON has as numbers, lists and dicts, beside texts or in their place."""
    header, _ = decode(content)
    facts: dict[str, Any] = {"versions": {"rffkern": header["package"], "format": header["version"]}}
    for name in getattr(model, "_fitted_curves", ()):
        if name.endswith("loss_") and len(values := getattr(model, name)):
            facts[_fact(name)] = {"before training": float(values[0]), "at the end": float(
                values[-1]), "rounds": len(values) - 1, "lowest": float(values.min())}
    if hasattr(model, "kernel_ridge_report_"):
        facts["kernel ridge"] = model.kernel_ridge_report_._asdict()
    column_map = model if hasattr(model, "describe") else getattr(model, "column_map_", None)
    if column_map is not None:
        facts["columns"] = column_map.describe()
    return facts


def _fact(name: str) -> str:
    """What a fitted curve is called."""
    return "validation loss" if name == "eval_loss_" else name.strip("_").replace("_", " ")


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON, and others as Python shows them."""
    return {name: value if value is None or isinstance(value, (bool, int, float, str, dict, list, tuple))
            else repr(value) for name, value in model.get_params(deep=False).items()}


def _describe_columns(column_map: Any) -> dict[str, Any]:
    """What a map makes of each column: a text for each of its forms."""
    facts: dict[str, Any] = {}
    for row in column_map.describe():
        column, kind, form, *rest = row.items()
        facts.setdefault(f"column {column[1]}", []).append(
            f"{kind[1]}, {form[1]}" + "".join(
                f", {name} {_of_date(name, form[1], value) if kind[1] == DATE else _short(value)}"
                for name, value in rest))
    return facts


def _of_date(name: str, form: str, seconds: Any) -> str:
    """A number that describes a column of dates: a date, or days."""
    if name in ("deviation", "width") or (name, form) == ("mean", "difference"):
        return f"{seconds / 86400:.4g} days"
    return date_text(seconds)[:10] if name in ("mean", "median", "missing_as", "low", "high") else _short(seconds)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return " ".join(f"{name}={_short(entry)}" for name, entry in [*value.items()][:_MOST_SHOWN])
    return " ".join(map(_short, value[:_MOST_SHOWN])) if isinstance(value, list) else str(value)


def _text(value: Any, separator: str) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={entry!r}" for name, entry in value.items())
    if isinstance(value, list):
        more = f", ... ({len(value)} in all)" if len(value) > _MOST_SHOWN else ""
        return separator.join(map(str, value[:_MOST_SHOWN])) + more
    return str(value)
