"""`rffkern.export`: a trained model as a program of another language."""

import os
from importlib import import_module
from typing import Any

from .._files.atomic_file import atomic_write
from .._protocol.arguments import Precision, check_choice
from .._protocol.docstrings import Attribute, filled
from ..errors import InvalidInputError, InvalidTypeError
from . import EXPLAINED, PRECISIONS, TARGETS, Target, listed
from .conditioning import check_single
from .function import function_of


def export(model: Any, path: str | bytes | os.PathLike[Any], *, to: Target, name: str | None = None,
           precision: Precision | None = None, table: str | None = None, key: str | None = None,
           compiler: str | None = None, interval: float | None = None, explain: bool = False) -> None:
    """Write a trained model as a file that needs neither this package nor, but for "numpy", Python.

    What the file computes is the function of `decision_function`, `predict_proba` and `predict` in double precision, up
    to rounding; docs/export.md has the errors, measured, and what the cells of a row may be in each target.

    Parameters
    ----------
    model : fitted estimator of this package, or an expansion
        A target that cannot compute it refuses it, with the name of the column.
    path : str, bytes or os.PathLike
        The name of the file, which is written whole or not at all.
    {to}
    name : str, default "model"
        What the names of C functions begin with.
    precision : {"double", "single"}, default "double"
        Precision of an ONNX graph and its rows.
    table, key : str, default "rows" and "id"
        The table that the SELECT reads, and its column that identifies rows.
    compiler : str or None
        For "html": a command that compiles C to WebAssembly, such as "zig cc" or "clang", which is run; the page scores
        by what it makes, and without one by JavaScript.
    interval : float above 0 and below 1 or None
        Of a regressor, write the ends of intervals of this coverage too, those of `predict_interval`.
    {explain}

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TrainingStateError
        If intervals are asked for, and the model has no residuals of rows that it was not trained on.
    InvalidInputError
        If the target cannot express the model, if single precision would spoil it, or for bad arguments.
    OSError
        If the file cannot be written.
    """
    try:
        target = os.fsdecode(path)
    except TypeError as error:
        raise InvalidTypeError(f"path must be the name of a file (str, bytes or os.PathLike), got "
                               f"{type(path).__name__}") from error
    content = content_of(model, to, interval, explain, name=name, precision=precision, table=table, key=key,
                         compiler=compiler)
    with atomic_write(target) as file:
        file.write(content)


def content_of(model: Any, to: str, interval: float | None, explain: bool, **given: str | None) -> bytes:
    """What `export` writes."""
    options = options_for(to, **given)
    check_choice("explain", explain, (True, False))
    if explain and to not in EXPLAINED:
        raise InvalidInputError(f"explain is an option of the targets {', '.join(map(repr, EXPLAINED))}, got to={to!r}")
    program = function_of(model, interval, explain)
    if options.get("precision") == "single":
        check_single(getattr(model, "expansion_", model))
    content = getattr(import_module(f"{__package__}.{TARGETS[to].module}"), f"{to}_file")(program, **options)
    return content.encode() if isinstance(content, str) else bytes(content)


if export.__doc__:  # `python -OO` takes it away
    _QUOTED = {f'"{name}"': target for name, target in TARGETS.items()}
    _OF = listed([name for name, target in _QUOTED.items() if target.explains], "and")
    export.__doc__ = filled(export.__doc__, {
        "to": Attribute("to", f"{{{', '.join(_QUOTED)}}}", "What is written: " + "; ".join(
            f"{name}, {target.text}" for name, target in _QUOTED.items()) + ".").entry,
        "explain": Attribute("explain", "bool, default False",
                             f"For {_OF}: write the contributions of columns to the scores of a row too, the Shapley "
                             "values of `explain` with its marginals.").entry})


def options_for(to: str, **given: str | None) -> dict[str, str]:
    """The options of a target, with its defaults where None is given; InvalidInputError for others."""
    if not isinstance(to, str) or to not in TARGETS:
        raise InvalidInputError(f"to must be one of {', '.join(map(repr, TARGETS))}, got {to!r}")
    options = TARGETS[to].options
    for option, value in given.items():
        if value is not None and option not in options:
            raise InvalidInputError(f"{option} is not an option of the target {to!r}, got {value!r}")
        if value is not None and not (isinstance(value, str) and value and value.isprintable()):
            raise InvalidInputError(f"{option} must be a word, got {value!r}")
    options = options | {option: value for option, value in given.items() if value is not None}
    if options.get("precision", "double") not in PRECISIONS:
        raise InvalidInputError(f"precision must be one of {', '.join(map(repr, PRECISIONS))}, got "
                                f"{options['precision']!r}")
    return options
