"""What a fitted model is, in a few words: the head of a report, and what a notebook shows."""

import html
from collections.abc import Mapping
from typing import Any

from .evaluation import SHARES, metric_name, with_error
from .links import quantiles_of

KEPT = {"held_out": "held-out rows", "cross_validation": "rows in cross-validation", "eval": "evaluation rows",
         "out_of_fold": "rows held out in training"}
_MOST_NAMED = 4


def task_of(model: Any) -> str:
    """What a model predicts, in words."""
    classes = getattr(model, "classes_", None)
    if classes is not None:
        names = ", ".join(map(str, classes[:_MOST_NAMED].tolist()))
        return f"{len(classes)} classes ({names}{', ...' if len(classes) > _MOST_NAMED else ''})"
    quantiles = quantiles_of(model)
    if quantiles is not None:
        return f"quantiles {', '.join(f'{quantile:g}' for quantile in quantiles)} of a number"
    n_outputs = model.expansion_.n_outputs if hasattr(model, "predict") else 0
    return "features" if not n_outputs else "a number" if n_outputs == 1 else f"{n_outputs} numbers"


def terms_of(model: Any) -> dict[str, int]:
    """How many terms of each kind the function of a model has."""
    return {part.kind: part.n_terms for part in model.expansion_.parts if part.n_terms}


def kept_figures(model: Any) -> dict[str, Mapping[str, Any]]:
    """Figures of the training that a model keeps, by what they were measured on."""
    record = vars(model).get("_out_of_fold") or {}
    known = {**(getattr(model, "metadata_", None) or {}), "out_of_fold": record.get("figures")}
    return {which: known[which] for which in KEPT if isinstance(known.get(which), Mapping)}


def n_training_rows(model: Any) -> int | None:
    """The number of training rows, if the model keeps it."""
    metadata = getattr(model, "metadata_", None) or {}
    if isinstance(metadata.get("rows"), int):
        return metadata["rows"]
    reference = getattr(getattr(model, "column_map_", None), "_reference", None)
    n_rows = reference.get("rows") if isinstance(reference, Mapping) else None
    return n_rows if isinstance(n_rows, int) else None


def head_html(model: Any) -> str:
    """The head of a fitted model as a short list."""
    target, rows = (getattr(model, "metadata_", None) or {}).get("target"), n_training_rows(model)
    entries = {"predicts": task_of(model), "target": str(target or ""), "columns": f"{model.n_features_in_:,}",
               "training rows": "" if rows is None else f"{rows:,}",
               "terms": ", ".join(f"{count:,} {kind}" for kind, count in terms_of(model).items())}
    for which, found in kept_figures(model).items():
        judged = found.get("judged_by", "accuracy")
        name = SHARES.get(judged, judged)
        if isinstance(found.get(name), float):
            errors, constant = found.get("standard_errors", {}), found.get("constant", {})
            guess = f", of a guess {constant[name]:.4g}" if name in constant else ""
            entries[f"{metric_name(name)} on {found.get('rows', 0):,} {KEPT[which]}"] = \
                f"{with_error(found[name], errors.get(name))}{guess}"
    cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(text)}</td></tr>"
                    for name, text in entries.items() if text)
    return f"<table>{cells}</table>"
