"""`rffkern info`: describe a model file."""

import argparse
import json
import os
from typing import Any

from .._files.model_files import load
from .output import printable

_MOST_SHOWN = 12

# Curves with an entry for each round or term.
_OF_ROUNDS = ("bag_counts_", "term_rounds_")

# Numbers that another fact tells in words.
_IN_WORDS = ("_kernel_ridge_report",)


def run_info(arguments: argparse.Namespace) -> None:
    """Print what a file holds, as lines or as one JSON object."""
    facts = _facts(load(arguments.model), os.path.getsize(arguments.model))
    if arguments.json:
        print(json.dumps(facts))
        return
    for key, value in facts.items():
        between = "; " if key.startswith("column ") else ", "  # the forms of a column hold commas
        print(f"{key:<14} {printable(_shown(value, between))}")


def _facts(model: Any, n_bytes: int) -> dict[str, Any]:
    if hasattr(model, "describe"):  # a ColumnMap alone
        return {"class": type(model).__name__, "features": model.n_features_in_, "bytes": n_bytes,
                "outputs": len(model.sources_), **_of_map(model), "parameters": _plain_params(model)}
    expansion = getattr(model, "expansion_", model)  # a file may hold an expansion alone
    facts = {"class": type(model).__name__, "terms": expansion.n_terms, "features": expansion.n_features,
             "outputs": expansion.n_outputs, "bytes": n_bytes}
    if hasattr(model, "classes_"):
        facts["classes"] = model.classes_.tolist()
    if hasattr(model, "feature_names_in_"):
        facts["feature names"] = model.feature_names_in_.tolist()
    if "table_columns" in expansion.arrays():
        facts |= _of_terms(expansion, model)
    if "inverse_length_scales" in expansion.arrays():
        facts |= _of_kernels(getattr(expansion, "kernels", expansion))
    if hasattr(model, "kernel_ridge_report_"):
        facts["kernel ridge"] = model.kernel_ridge_report_.reason
    for name in getattr(model, "_fitted_curves", ()):
        values, fact = getattr(model, name), name.strip("_").replace("_", " ")
        if name == "feature_importances_":
            facts[fact] = _ranked(values, facts.get("feature names"))
        elif name in (*_OF_ROUNDS, *_IN_WORDS):
            continue
        elif not name.endswith("loss_"):
            facts[fact] = [float(f"{value:.6g}") for value in values]
        elif values.size:
            facts[fact] = f"{values[0]:.6g} before training, {values[-1]:.6g} at the end"
    if hasattr(model, "select_top_k"):
        columns = facts.get("feature names", range(model.n_features_in_))
        facts["most relevant"] = [columns[j] for j in model.select_top_k(model.n_features_in_)]
    if getattr(model, "columns", None) == "auto":
        facts["chosen columns"] = "as they are" if model.column_map_ is None else ", ".join(model.column_map_.numeric)
    if getattr(model, "column_map_", None) is not None:
        facts |= _of_map(model.column_map_)
    if hasattr(model, "get_params"):
        facts["parameters"] = _plain_params(model)
    return facts


def _of_terms(expansion: Any, model: Any) -> dict[str, int]:
    """How many terms of each kind there are, and bags and rounds, unless the model is the expansion alone."""
    facts = {"cosines": len(expansion.omegas), "tables": len(expansion.table_columns)}
    if "centers" in expansion.arrays():
        facts["kernels"] = len(expansion.centers)
    return facts if model is expansion else {"bags": model.n_bags_, "rounds": model.n_estimators_, **facts}


def _of_kernels(expansion: Any) -> dict[str, Any]:
    """By how much the sum of all terms without their signs is larger than the scores, and what follows from it."""
    from .._export.conditioning import conditioning  # here, as most models have none

    return {"conditioning": float(f"{conditioning(expansion):.3g}"),
            "single precision": "enough" if expansion.fits_single() else "not enough"}


def _ranked(importances: Any, names: list[str] | None) -> dict[str, float]:
    """Importances by the names or numbers of columns, the largest first."""
    ranks = sorted(range(len(importances)), key=lambda j: -importances[j])
    return {str(j) if names is None else names[j]: float(f"{importances[j]:.4g}") for j in ranks}


def _plain_params(model: Any) -> dict[str, Any]:
    """Parameters as JSON has them; those of a map stand beside it."""
    return {name: value if value is None or isinstance(value, (bool, int, float, str, dict, list, tuple))
            else repr(value) for name, value in model.get_params(deep=False).items()}


def _of_map(column_map: Any) -> dict[str, Any]:
    """What became of each column, a line for each of its forms."""
    facts: dict[str, Any] = {}
    for row in column_map.describe():
        column, kind, form, *rest = row.items()
        facts.setdefault(f"column {column[1]}", []).append(
            f"{kind[1]}, {form[1]}" + "".join(f", {name} {_short(value)}" for name, value in rest))
    return facts


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return " ".join(f"{name}={_short(entry)}" for name, entry in [*value.items()][:_MOST_SHOWN])
    return " ".join(map(_short, value[:_MOST_SHOWN])) if isinstance(value, list) else str(value)


def _shown(value: Any, between: str = ", ") -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={setting!r}" for name, setting in value.items())
    if isinstance(value, list):
        more = f", ... ({len(value)} in all)" if len(value) > _MOST_SHOWN else ""
        return between.join(map(str, value[:_MOST_SHOWN])) + more
    return str(value)
