"""Model files: `.npz` archives that are checked from the first byte to the last before anything is built from them.

Layout: stored (not compressed) members, each a `.npy` of fixed little-endian dtype; the first, `header.npy`, holds
UTF-8 JSON; the others are the arrays it lists, in its order.  The comment that ends the archive is "sha256:" and the
digest of every byte before it.  `numpy.load(path, allow_pickle=False)` reads such a file too.  A new parameter of a
family makes a new format version; `params_since` of the family tells what it stands at in older files.

Modules that only files need (zipfile, hashlib, json) are imported in the functions that use them: together they would
cost twice as much at start-up as the rest of the package.
"""

import io
import itertools
import math
import os

import numpy as np

from ._estimator.base import Fitted
from ._estimator.registry import FAMILIES, family_of
from ._system.atomic_file import atomic_write
from ._version import __version__
from .errors import FormatError, InvalidInputError
from .expansion import EXPANSIONS

FORMAT = "rffkern"
FORMAT_VERSION = 2

_MAX_HEADER = 1 << 24
_DIGEST_MARK = b"sha256:"
_DIGEST_SIZE = len(_DIGEST_MARK) + 64
_HEADER_KEYS = {"format", "version", "package", "family", "class", "params", "classes", "feature_names", "arrays"}
_INT_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
_LABEL_DTYPES = {"|b1": bool, "<f4": float, "<f8": float, "O": object, **dict.fromkeys(_INT_DTYPES, int)}


def save(model, path):
    """Write a fitted model or an expansion to `path`, whole or not at all.

    Parameters
    ----------
    model : fitted estimator of this package, FourierExpansion or KernelExpansion
    path : str or os.PathLike; the name given is the name written

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If it is no model of this package, or its labels cannot be stored.
    OSError
        If the file cannot be written; what stood at `path` before still does.
    """
    header, arrays = _describe(model)
    content = _encode(header, arrays)
    with atomic_write(path) as file:
        file.write(content)


def load(path, *, max_bytes=1 << 30):
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or os.PathLike
    max_bytes : int, larger files are refused before they are read

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
    import zipfile

    content = _read(path, max_bytes)
    try:
        header, arrays = _decode(content)
        return _build(header, arrays)
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from error
    except (zipfile.BadZipFile, ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError,
            NotImplementedError, EOFError) as error:
        raise FormatError(f"{os.fspath(path)}: not a valid model: {error}") from error


def _describe(model):
    """Header and arrays of a model."""
    if type(model) in EXPANSIONS.values():
        family, params, classes, names, curves, expansion = model.kind, {}, None, None, {}, model
    elif family_of(type(model)) is not None:
        model._check_params()
        model._check_fitted()
        family, expansion = model.family, model.expansion_
        params = {name: _plain(name, value) for name, value in model.get_params().items()}
        classes = _labels_to_json(model.classes_) if hasattr(model, "classes_") else None
        names = list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None
        curves = {name: getattr(model, name) for name in model.fitted_curves}
        try:
            model._restored(expansion, curves, getattr(model, "classes_", None))  # as `load` will
        except ValueError as error:
            raise InvalidInputError(f"the parameters of the model must be those it was fitted with: {error}") from error
    else:
        raise InvalidInputError("model must be a fitted estimator or an expansion of this package, "
                                f"got {type(model).__name__}")
    arrays = {name: np.ascontiguousarray(array, dtype="<f8") for name, array in (expansion.arrays() | curves).items()}
    header = {
        "format": FORMAT, "version": FORMAT_VERSION, "package": __version__, "family": family,
        "class": type(model).__name__, "params": params, "classes": classes, "feature_names": names,
        "arrays": [[name, list(array.shape)] for name, array in arrays.items()],
    }
    return header, arrays


def _plain(name, value):
    """A parameter as JSON has it; a Generator is kept as None, for its state belongs to the fit that used it."""
    if isinstance(value, np.random.Generator):
        return None
    if isinstance(value, dict):
        return {key: _plain(name, entry) for key, entry in value.items()}
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(value, (list, tuple)):
        return [_plain(name, entry) for entry in value]
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise InvalidInputError(f"parameter {name} cannot be stored, got {type(value).__name__}")
    return value


def _labels_to_json(classes):
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


def _label_width(labels):
    """Characters that a fixed-width string dtype may have; a file must not ask for a needless gigabyte."""
    return max(256, *map(len, labels))


def _labels_from_json(entry):
    _require(isinstance(entry, dict) and set(entry) == {"dtype", "values"}, "classes must have a dtype and values")
    dtype, values = entry["dtype"], entry["values"]
    _require(isinstance(dtype, str) and len(dtype) < 16 and isinstance(values, list) and len(values) >= 2
             and type(values[0]) in (bool, int, float, str), "classes are malformed")
    text = dtype[:2] == "<U" and dtype[2:].isdecimal()
    _require(text or dtype in _LABEL_DTYPES, f"labels of dtype {dtype!r} are not known")
    wanted = str if text else type(values[0]) if dtype == "O" else _LABEL_DTYPES[dtype]
    _require(all(type(value) is wanted for value in values), f"labels must be of dtype {dtype!r}")
    _require(not text or int(dtype[2:]) <= _label_width(values), f"labels of dtype {dtype!r} are needlessly wide")
    classes = np.array(values, dtype=object if dtype == "O" else np.dtype(dtype).newbyteorder("="))
    _require(classes.tolist() == values, f"labels do not fit dtype {dtype!r}")
    _require(all(a < b for a, b in itertools.pairwise(values)),
             "labels must be distinct and sorted")
    return classes


def _npy_prefix(dtype, shape):
    """The bytes before the data in a version 1.0 `.npy`, written here so that they are the same for ever."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    length = -(-(10 + len(text) + 1) // 64) * 64 - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


def _encode(header, arrays):
    import hashlib
    import json
    import zipfile

    text = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    try:
        header_bytes = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"labels and column names must be storable as UTF-8: {error}") from error
    if len(header_bytes) > _MAX_HEADER:
        raise InvalidInputError(f"the labels and names of the model must take at most {_MAX_HEADER} bytes, "
                                f"got {len(header_bytes)}")
    members = {"header": _npy_prefix("|u1", (len(header_bytes),)) + header_bytes}
    members |= {name: _npy_prefix("<f8", array.shape) + array.tobytes() for name, array in arrays.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), data)
        archive.comment = _DIGEST_MARK + b"0" * 64
    content = buffer.getvalue()[:-64]
    return content + hashlib.sha256(content).hexdigest().encode("ascii")


def _read(path, max_bytes):
    """The bytes of a file, by pieces: asking for max_bytes at once would allocate them."""
    content = bytearray()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            content += piece
            if len(content) > max_bytes:
                raise FormatError(f"{os.fspath(path)}: larger than max_bytes = {max_bytes}")
    return bytes(content)


def _require(condition, message):
    if not condition:
        raise FormatError(message)


def _decode(content):
    """Header and arrays of a file, each byte of which is covered by the digest."""
    import hashlib
    import zipfile

    _require(content[:4] == b"PK\x03\x04", "not a model file: it does not begin as a .npz archive")
    _require(content[-_DIGEST_SIZE:-64] == _DIGEST_MARK, "damaged, cut off or not a model file: no checksum at its end")
    digest = hashlib.sha256(content[:-64]).hexdigest().encode("ascii")
    _require(digest == content[-64:], "damaged: the checksum differs")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        _require(all(item.compress_type == zipfile.ZIP_STORED and item.file_size == item.compress_size
                     and not item.flag_bits & 1 for item in members), "members must be stored, not compressed")
        _require(sum(item.file_size for item in members) <= len(content), "members overlap")
        names = [item.filename for item in members]
        _require(names[:1] == ["header.npy"] and len(set(names)) == len(names), "members are missing or repeated")
        header = _parse_header(archive.read(members[0]))
        expected = ["header.npy"] + [f"{name}.npy" for name, _ in header["arrays"]]
        _require(names == expected, f"members must be {expected}, got {names}")
        arrays = {name: _parse_array(archive.read(f"{name}.npy"), name, shape) for name, shape in header["arrays"]}
    return header, arrays


def _parse_header(data):
    import json

    size = len(data) - 10 - int.from_bytes(data[8:10], "little")  # what the .npy says is left for its data
    prefix = _npy_prefix("|u1", (size,))
    _require(data.startswith(prefix) and size <= _MAX_HEADER, "the header is malformed")
    text = data[len(prefix):].decode("utf-8")
    header = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    _require(isinstance(header, dict) and header.get("format") == FORMAT, "not a model file of this package")
    version = header.get("version")
    _require(type(version) is int and version >= 1, "the format version is malformed")
    _require(version <= FORMAT_VERSION,
             f"format version {version} is newer than rffkern {__version__} can read; upgrade it")
    _require(set(header) == _HEADER_KEYS, f"the header must have keys {sorted(_HEADER_KEYS)}")
    entries = header["arrays"]
    _require(isinstance(entries, list) and all(
        isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], list)
        and all(type(n) is int and n >= 0 for n in entry[1]) for entry in entries), "the list of arrays is malformed")
    return header


def _unique(pairs):
    _require(len({key for key, _ in pairs}) == len(pairs), "a key of the header is repeated")
    return dict(pairs)


def _refuse_constant(name):
    raise FormatError(f"the header holds {name}")


def _parse_array(data, name, shape):
    prefix = _npy_prefix("<f8", shape)
    _require(len(shape) <= 2 and data.startswith(prefix) and len(data) - len(prefix) == 8 * math.prod(shape),
             f"array {name} does not have the declared shape {shape}")
    array = np.frombuffer(data, dtype="<f8", offset=len(prefix)).astype(np.float64).reshape(shape)
    _require(np.isfinite(array).all(), f"array {name} holds nan or inf")
    return array


def _build(header, arrays):
    bare = EXPANSIONS.get(header["family"]) if isinstance(header["family"], str) else None
    family = FAMILIES.get(header["family"]) if isinstance(header["family"], str) else None
    _require(bare or family, f"the family {header['family']!r} is not known")
    _require(header["class"] == (bare.__name__ if bare else family.class_name), "class and family do not agree")
    cls = bare or family.load()
    form = bare or cls.expansion_form
    curves = () if bare else cls.fitted_curves
    expected = form.array_names + curves
    _require(tuple(arrays) == expected, f"the family must have arrays {expected}, got {tuple(arrays)}")
    expansion = form(*(arrays[name] for name in form.array_names))
    if bare:
        return expansion
    model = cls(**_current_params(cls, header["params"], header["version"]))
    model._check_params()
    model._keep(_fitted(model, header, expansion, {name: arrays[name] for name in curves}))
    return model


def _current_params(cls, params, version):
    """Parameters of a file of some version by the names, and as many, as they have now."""
    _require(isinstance(params, dict), "the parameters are malformed")
    for since, convert in sorted(cls.params_before.items()):
        if version < since:
            params = convert(params)
    _require(set(params) == set(cls._param_names()), "the parameters are not the class's")
    return params


def _fitted(model, header, expansion, curves):
    """The fitted attributes, checked against the shapes of the expansion."""
    names = header["feature_names"]
    _require(names is None or (isinstance(names, list) and len(names) == expansion.n_features
                               and all(isinstance(name, str) for name in names)), "the feature names are malformed")
    classes = None
    if hasattr(type(model), "predict_proba"):
        classes = _labels_from_json(header["classes"])
    else:
        _require(header["classes"] is None, "a model without classes holds some")
    attributes = curves | model._restored(expansion, curves, classes)
    return Fitted(None if names is None else np.array(names, dtype=object), classes, expansion, attributes)
