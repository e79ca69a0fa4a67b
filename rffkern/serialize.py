"""Model files: what stands in them, and how a model is rebuilt; `_system/archive.py` has the bytes.

A file holds the family, the parameters, the labels and column names of a model, the arrays of its expansion and its
loss curves.  Where a parameter is new, or has another name or another set of values than before, the format has a new
version, and `params_before` of the family says how the parameters of older files become those of today.
"""

import itertools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._estimator.base import Fitted, Model
from ._estimator.registry import FAMILIES, Family, family_of
from ._system.archive import FORMAT_VERSION as FORMAT_VERSION
from ._system.archive import Contents, Header, decode, encode, make_header, read_bytes, require
from ._system.atomic_file import atomic_write
from .errors import FormatError, InvalidInputError
from .expansion import EXPANSIONS, Expansion

Double = NDArray[np.float64]
Labels = NDArray[Any]

_INT_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
_LABEL_DTYPES: dict[str, type] = {"|b1": bool, "<f4": float, "<f8": float, "O": object,
                                  **dict.fromkeys(_INT_DTYPES, int)}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model or an expansion to `path`, whole or not at all; a pipe or device is written through.

    Parameters
    ----------
    model : fitted estimator of this package, FourierExpansion or KernelExpansion
    path : str or os.PathLike
        The name of the file; nothing is appended to it.  A symbolic link is followed.  A file that is replaced hands on
        its permissions and, where that is allowed, its owner.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If it is no model of this package, or its labels cannot be stored.
    OSError
        If the file cannot be written; a file that was at `path` before is then unchanged.
    """
    content = encode(*_describe(model))
    with atomic_write(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str], *, max_bytes: int = 1 << 30) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    max_bytes : int, default 1073741824
        A larger file is refused before all of it is read.

    Returns
    -------
    estimator or expansion of the class that was saved; its predictions are the same to the last bit

    Raises
    ------
    FormatError
        If the file is damaged, truncated, too large, of another format or of a newer version.
    OSError
        If the file cannot be read.
    """
    content = read_bytes(path, max_bytes)
    try:
        return _build(decode(content))
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from error
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise FormatError(f"{os.fspath(path)}: not a valid model: {error}") from error


def _describe(model: Any) -> Contents:
    """Header and arrays of a model or an expansion."""
    if isinstance(model, Expansion) and type(model) in EXPANSIONS.values():
        arrays = model.arrays()
        header = make_header(model.kind, type(model).__name__, params={}, classes=None, feature_names=None,
                             arrays=arrays)
        return Contents(header, arrays)
    if isinstance(model, Model) and family_of(type(model)) is not None:
        return _describe_model(model)
    raise InvalidInputError("model must be a fitted estimator or an expansion of this package, "
                            f"got {type(model).__name__}")


def _describe_model(model: Model) -> Contents:
    model._check_params()
    model._check_fitted()
    classes = getattr(model, "classes_", None)
    names = getattr(model, "feature_names_in_", None)
    curves = {name: getattr(model, name) for name in model.fitted_curves}
    params = {name: _plain(name, value) for name, value in model.get_params().items()}
    stored_classes = None if classes is None else _labels_to_json(classes)
    try:
        model._restored(model.expansion_, curves, classes)  # as `load` will
    except ValueError as error:
        raise InvalidInputError(f"the parameters of the model must be those it was fitted with: {error}") from error
    arrays = model.expansion_.arrays() | curves
    header = make_header(model.family, type(model).__name__, params=params, classes=stored_classes,
                         feature_names=None if names is None else list(names), arrays=arrays)
    return Contents(header, arrays)


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON has it; a Generator is kept as None, for its state belongs to the fit that used it."""
    if isinstance(value, np.random.Generator):
        return None
    if isinstance(value, dict):
        return {key: _plain(name, entry) for key, entry in value.items()}
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(value, (list, tuple)):
        return [_plain(name, entry) for entry in value]
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise InvalidInputError(f"parameter {name} cannot be stored: it must be a number, a string, None, or a list or "
                                f"dict of these, got {type(value).__name__}")
    return value


def _labels_to_json(classes: Labels) -> dict[str, Any]:
    """Labels and their dtype, one of the fixed list that `_labels_from_json` knows."""
    labels = classes.tolist()
    dtype = classes.dtype.newbyteorder("<").str if classes.dtype.kind != "O" else "O"
    if dtype[1:2] == "U" and classes.dtype.itemsize > 4 * _label_width(labels):
        dtype = f"<U{_label_width(labels)}"
    kinds = {type(label) for label in labels}
    if not (dtype in _LABEL_DTYPES or dtype[1:2] == "U") or len(kinds) != 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInputError("classes_ must be booleans, numbers or strings to be stored, got "
                                f"{classes[0]!r} of dtype {classes.dtype}")
    return {"dtype": dtype, "values": labels}


def _label_width(labels: list[str]) -> int:
    """Characters that a fixed-width string dtype may have; a file must not ask for a needless gigabyte."""
    return max(256, *map(len, labels))


def _labels_from_json(entry: Any) -> Labels:
    require(isinstance(entry, dict) and set(entry) == {"dtype", "values"}, "classes must have a dtype and values")
    dtype, values = entry["dtype"], entry["values"]
    require(isinstance(dtype, str) and len(dtype) < 16 and isinstance(values, list) and len(values) >= 2
            and type(values[0]) in (bool, int, float, str), "classes are malformed")
    text = dtype[:2] == "<U" and dtype[2:].isdecimal()
    require(text or dtype in _LABEL_DTYPES, f"labels of dtype {dtype!r} are not known")
    wanted = str if text else type(values[0]) if dtype == "O" else _LABEL_DTYPES[dtype]
    require(all(type(value) is wanted for value in values), f"labels must be of dtype {dtype!r}")
    require(not text or int(dtype[2:]) <= _label_width(values),
            f"labels of dtype {dtype!r} are wider than the longest of them")
    classes = np.array(values, dtype=object if dtype == "O" else np.dtype(dtype).newbyteorder("="))
    require(classes.tolist() == values, f"labels do not fit dtype {dtype!r}")
    require(all(a < b for a, b in itertools.pairwise(values)), "labels must be distinct and sorted")
    return classes


def _build(contents: Contents) -> Any:
    """The model or expansion that a file holds."""
    header, arrays = contents
    name = header["family"] if isinstance(header["family"], str) else None
    if name in EXPANSIONS:
        form = EXPANSIONS[name]
        require(header["class"] == form.__name__, "class and family do not agree")
        return _build_expansion(form, arrays)
    require(name in FAMILIES, f"the family {header['family']!r} is not known")
    return _build_model(FAMILIES[str(name)], header, arrays)


def _build_expansion(form: type[Expansion], arrays: Mapping[str, Double], curves: tuple[str, ...] = ()) -> Expansion:
    expected = form.array_names + curves
    require(tuple(arrays) == expected, f"the family must have arrays {expected}, got {tuple(arrays)}")
    return form(*(arrays[name] for name in form.array_names))


def _build_model(family: Family, header: Header, arrays: Mapping[str, Double]) -> Model:
    require(header["class"] == family.class_name, "class and family do not agree")
    cls = family.load()
    expansion = _build_expansion(cls.expansion_form, arrays, cls.fitted_curves)
    model = cls(**_current_params(cls, header["params"], header["version"]))
    model._check_params()
    model._keep(_fitted(model, header, expansion, {name: arrays[name] for name in cls.fitted_curves}))
    return model


def _current_params(cls: type[Model], params: Any, version: int) -> dict[str, Any]:
    """The parameters of a file of some version, with the names and values that they have now."""
    require(isinstance(params, dict), "the parameters are malformed")
    for since, convert in sorted(cls.params_before.items()):
        if version < since:
            params = convert(params)
    require(set(params) == set(cls._param_names()), "the parameters are not the class's")
    current: dict[str, Any] = params
    return current


def _fitted(model: Model, header: Header, expansion: Expansion, curves: Mapping[str, Double]) -> Fitted:
    """The fitted attributes, checked against the shapes of the expansion."""
    names = header["feature_names"]
    require(names is None or (isinstance(names, list) and len(names) == expansion.n_features
                              and all(isinstance(name, str) for name in names)), "the feature names are malformed")
    classes = None
    if hasattr(type(model), "predict_proba"):
        classes = _labels_from_json(header["classes"])
    else:
        require(header["classes"] is None, "the class has no labels, but the file does")
    attributes = {**curves, **model._restored(expansion, curves, classes)}
    return Fitted(None if names is None else np.array(names, dtype=object), classes, expansion, attributes)
