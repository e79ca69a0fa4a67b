"""Trained models for other extension modules, which score them without the interpreter."""

from typing import Any

from ._estimator.base import Model, fitted_map_of
from ._estimator.links import LinearLink, SoftmaxLink
from ._estimator.tasks import Classifier, Regressor
from ._model.expansion import Expansion
from ._native import scoring
from .errors import InvalidInputError

# What kernels call the rules by which targets follow from scores.
_PREDICTIONS = {"scores": "scores", "means": "exponentiated", "least": "smallest"}


def c_functions() -> Any:
    """Return a capsule named "rffkern.functions", which points to a struct `rff_functions` of `rffkern.h`.

    Returns
    -------
    PyCapsule
        Its functions take models of `c_model`, and need neither the interpreter nor its lock.
    """
    return scoring.functions()


def c_model(model: Any) -> Any:
    """Return a capsule named "rffkern.model", which points to an `rff_model` of `rffkern.h`.

    Parameters
    ----------
    model : fitted estimator of this package, or an expansion
        What it is now is copied: later fits do not change the capsule.

    Returns
    -------
    PyCapsule
        It owns the model: keep it for as long as the pointer is used.  Scores have the bits of `decision_function`;
        where a column has categories or dates, `score_cells` and its like give them.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If it is no model of this package.
    """
    if isinstance(model, Expansion):
        return scoring.make_model(_arrays(model), {}, "function", 0, "none", 0.0, "scores")
    if not isinstance(model, Model):
        raise InvalidInputError("model must be a fitted estimator or an expansion of this package, "
                                f"got {type(model).__name__}")
    model = model._snapshot()
    model._check_fitted()
    expansion = model.expansion_
    arrays = _arrays(expansion), _columns(model)
    if isinstance(model, Classifier):
        return scoring.make_model(*arrays, "classifier", len(model.classes_), *_link(model), "scores")
    kind = "regressor" if isinstance(model, Regressor) else "transformer"
    return scoring.make_model(*arrays, kind, 0, "none", 0.0, _PREDICTIONS[model._target_rule()])


def _arrays(expansion: Expansion) -> dict[str, Any]:
    """The arrays of an expansion that C knows."""
    for part in expansion.parts:
        if part._add_to:
            raise InvalidInputError(f"model must have terms that C knows, got those of kind {part.kind!r}")
    return expansion.arrays()


def _columns(model: Model) -> dict[str, Any]:
    """What is known of the column map of a model, if there is one."""
    fitted = fitted_map_of(model)
    if fitted is None:
        return {}
    from ._column_map.compiled import FormArrays, Values  # which few need

    return {"forms": FormArrays.of(fitted.columns), "values": Values.of(fitted.columns), "neutral": fitted.neutral(),
            "columns": fitted.columns, "names": fitted.names}


def _link(model: Classifier) -> tuple[str, float]:
    """The name of the link of a classifier, and its slope."""
    link: Any = model._link()
    if isinstance(link, LinearLink):
        return "linear", 0.0
    return "softmax" if isinstance(link, SoftmaxLink) else "logistic", float(link.slope)
