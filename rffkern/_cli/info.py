"""`rffkern info`: describe a model file."""

import argparse
import json
import os
from typing import Any

from ..serialize import load
from .streams import printable

_MOST_SHOWN = 12


def run_info(arguments: argparse.Namespace) -> None:
    """Print what a file holds, as lines or as one JSON object."""
    facts = _facts(load(arguments.model), os.path.getsize(arguments.model))
    if arguments.json:
        print(json.dumps(facts))
        return
    for key, value in facts.items():
        print(f"{key:<14} {printable(_shown(value))}")


def _facts(model: Any, n_bytes: int) -> dict[str, Any]:
    expansion = getattr(model, "expansion_", model)  # a file may hold an expansion alone
    facts = {"class": type(model).__name__, "terms": expansion.n_terms, "features": expansion.n_features,
             "outputs": expansion.n_outputs, "bytes": n_bytes}
    if hasattr(model, "classes_"):
        facts["classes"] = model.classes_.tolist()
    if hasattr(model, "feature_names_in_"):
        facts["feature names"] = model.feature_names_in_.tolist()
    for name in getattr(model, "_fitted_curves", ()):
        values, fact = getattr(model, name), name.strip("_").replace("_", " ")
        if not name.endswith("loss_"):
            facts[fact] = [float(f"{value:.6g}") for value in values]
        elif values.size:
            facts[fact] = f"{values[0]:.6g} before training, {values[-1]:.6g} at the end"
    if hasattr(model, "select_top_k"):
        columns = facts.get("feature names", range(expansion.n_features))
        facts["most relevant"] = [columns[j] for j in model.select_top_k(expansion.n_features)]
    if hasattr(model, "get_params"):
        facts["parameters"] = model.get_params()
    return facts


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={setting!r}" for name, setting in value.items())
    if isinstance(value, list):
        more = f", ... ({len(value)} in all)" if len(value) > _MOST_SHOWN else ""
        return ", ".join(map(str, value[:_MOST_SHOWN])) + more
    return str(value)
