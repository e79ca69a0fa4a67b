"""Trained models for other extension modules, which score them without the interpreter."""

from typing import Any

from ._estimator.base import Model
from ._estimator.links import LinearLink, SoftmaxLink
from ._estimator.tasks import Classifier, Regressor
from ._kernels import embedding
from .errors import InvalidInputError
from .expansion import Expansion
from .term_expansion import TermExpansion


def c_functions() -> Any:
    """Return a capsule named "rffkern.functions", which points to a struct `rff_functions` of `rffkern.h`.

    Returns
    -------
    PyCapsule
        Its functions take models of `c_model`, and need neither the interpreter nor its lock.
    """
    return embedding.functions()


def c_model(model: Any) -> Any:
    """Return a capsule named "rffkern.model", which points to an `rff_model` of `rffkern.h`.

    Parameters
    ----------
    model : fitted estimator of this package without a column map, or an expansion
        What it is now is copied: later fits do not change the capsule.

    Returns
    -------
    PyCapsule
        It owns the model: keep it for as long as the pointer is used.  Scores have the bits of `decision_function`.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If it is no model of this package, or has a column map.
    """
    if isinstance(model, Expansion):
        return embedding.make_model(model.arrays(), _tables(model), "function", 0, "none", 0.0, "scores")
    if not isinstance(model, Model):
        raise InvalidInputError("model must be a fitted estimator or an expansion of this package, "
                                f"got {type(model).__name__}")
    model = model._snapshot()
    model._check_fitted()
    if vars(model).get("column_map_") is not None:
        raise InvalidInputError("model must have no column map: save it, and read the file in C")
    expansion = model.expansion_
    arrays, tables = expansion.arrays(), _tables(expansion)
    if isinstance(model, Classifier):
        return embedding.make_model(arrays, tables, "classifier", len(model.classes_), *_link(model), "scores")
    kind = "regressor" if isinstance(model, Regressor) else "transformer"
    return embedding.make_model(arrays, tables, kind, 0, "none", 0.0, _prediction(model))


def _tables(expansion: Expansion) -> dict[str, Any]:
    """What is known of the tables of an expansion, if it may have some."""
    if not isinstance(expansion, TermExpansion):
        return {}
    values, unit = expansion._values_in_units()
    return {"has_slopes": expansion._has_slopes, "unit": unit, "steps": expansion._layout.steps,
            "starts": expansion.table_starts, "values": values}


def _link(model: Classifier) -> tuple[str, float]:
    """The name of the link of a classifier, and its slope."""
    link: Any = model._link()
    if isinstance(link, LinearLink):
        return "linear", 0.0
    return "softmax" if isinstance(link, SoftmaxLink) else "logistic", float(link.slope)


def _prediction(model: Any) -> str:
    """What a regressor makes of scores: the losses of Fourier boosting alone make something else of them."""
    loss = getattr(model, "loss", None)
    if loss == "poisson":
        return "exponentiated"
    return "smallest" if loss == "quantile" and model.expansion_.n_outputs == len(model._quantiles()) > 1 else "scores"
