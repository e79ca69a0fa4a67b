"""Model files: what stands in them, and how a model is rebuilt; `_files/archive.py` has the bytes.

A file holds the family, the parameters, the labels and column names of a model, the arrays of its expansion and its
loss curves.
"""

import io
import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np

from .._estimator.base import Fitted, Model
from .._estimator.registry import FAMILIES, Family
from .._model.expansion import Expansion
from .._model.parts import PARTS
from .._native.array_types import Double, NDArray
from .._protocol.arguments import check_scalar
from .._protocol.parameters import Parametrised
from .._rows.validation import is_printable
from ..errors import FormatError, InvalidInputError, InvalidTypeError
from .archive import Contents, Header, check_memory, decode, encode, make_header, require, shown
from .atomic_file import atomic_write

if TYPE_CHECKING:
    from .._column_map.column_map import ColumnMap

Saved: TypeAlias = "Model | ColumnMap | Expansion"
T = TypeVar("T", bound=Saved)
Labels = NDArray[Any]
FileOrPath = str | bytes | os.PathLike[Any] | IO[bytes]
Buffer = bytes | bytearray | memoryview

_MAP_FAMILY, _MAP_CLASS = "column_map", "ColumnMap"
_EXPANSION_FAMILY, _EXPANSION_CLASS = "expansion", "Expansion"
_OF_MACHINE = {"n_jobs", "max_seconds"}  # parameters that a file does not hold
_BY_TABLE = ("auto", "search")  # of the parameter columns: whether there is a map depends on the table


def save(model: Any, path: FileOrPath, *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model or an expansion to `path`, whole or not at all; a pipe or device is written through.

    Parameters
    ----------
    model : fitted estimator of this package, ColumnMap, or an expansion
    path : str, bytes or os.PathLike, or open binary file
        The name of the file; nothing is appended to it.  A symbolic link is followed.  A file that is replaced hands on
        its permissions and, where that is allowed, its owner.  An open file is written from where it stands, in as many
        pieces as it takes, and stays open.
    metadata : dict or None, default None
        Facts to keep in the file of an estimator, such as the name of the target: keys of text, and numbers, text,
        True, False, None, lists or dicts of these.  `load` gives them back as `metadata_`.  None: those that the model
        has as `metadata_`; {}: none.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If it is no model of this package, or its labels cannot be stored.
    OSError
        If the file cannot be written; a file that was at `path` before is then unchanged.
    """
    if hasattr(path, "write"):
        write_all(path, dumps(model, metadata=metadata))
        return
    name = _file_name(path)
    content = dumps(model, metadata=metadata)
    with atomic_write(name) as file:
        file.write(content)


def dumps(model: Any, *, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Return the bytes of the file that `save` writes.

    Parameters
    ----------
    model : fitted estimator of this package, ColumnMap, or an expansion
    metadata : dict or None, default None
        Facts to keep, with the meaning that `save` gives them.

    Returns
    -------
    bytes; the same model and metadata give the same

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If it is no model of this package, or its labels cannot be stored.
    """
    if metadata is None:
        metadata = vars(model).get("metadata_") if isinstance(model, Model) else None
    elif not isinstance(metadata, Mapping) or not isinstance(model, Model):
        raise InvalidInputError("metadata must be a dict for an estimator, or None, got "
                                f"{type(metadata).__name__} for a {type(model).__name__}")
    header, arrays = _describe(model)
    try:
        return encode({**header, "metadata": _metadata_to_json(metadata)} if metadata else header, arrays)
    except RecursionError as error:
        raise InvalidInputError("metadata must be nested some hundred deep at most, and not contain itself") from error


def _metadata_to_json(value: Any) -> Any:
    """Metadata as JSON has them."""
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise InvalidInputError(f"metadata must have keys of text, got {next(iter(value))!r}")
        _check_texts(value, "keys of metadata")
        return {key: _metadata_to_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_metadata_to_json(entry) for entry in value]
    _check_texts([value], "texts of metadata")
    finite = not isinstance(value, float) or abs(value) < float("inf")
    if not finite or not (value is None or isinstance(value, (bool, int, float, str))):
        raise InvalidInputError("metadata must be finite numbers, text, True, False, None, lists or dicts of these, "
                                f"got {value!r}")
    return value


@overload
def load(path: FileOrPath, model_class: type[T], *, max_bytes: int = 1 << 30) -> T: ...
@overload
def load(path: FileOrPath, model_class: None = None, *, max_bytes: int = 1 << 30) -> Saved: ...
def load(path: FileOrPath, model_class: type[T] | None = None, *, max_bytes: int = 1 << 30) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str, bytes or os.PathLike, or open binary file
        The name of the file.  An open file is read from where it stands to its end, and stays open; it may be a pipe.
    model_class : class or None, default None
        The class that the file must hold, such as `FourierBoostingClassifier`, which type checkers then know as that of
        the result; None for any.
    max_bytes : int >= 0, default 1073741824
        A larger file is refused before all of it is read.

    Returns
    -------
    estimator, ColumnMap or expansion of the class that was saved; its answers are the same to the last bit

    Raises
    ------
    FormatError
        If the file is damaged, truncated, too large, of another format or of a newer version, or holds another class.
    OSError
        If the file cannot be read.
    """
    check_scalar("max_bytes", max_bytes, int, 0)
    if hasattr(path, "read"):
        name = f"{getattr(path, 'name', type(path).__name__)}"
        content = read_all(path, name, max_bytes)
    else:
        name = _file_name(path)
        with open(name, "rb") as file:
            content = read_all(file, name, max_bytes)
    return _model_of(content, model_class, f"{name}: ")


@overload
def loads(content: Buffer, model_class: type[T]) -> T: ...
@overload
def loads(content: Buffer, model_class: None = None) -> Saved: ...
def loads(content: Buffer, model_class: type[T] | None = None) -> Any:
    """Return the model whose bytes `dumps` returned or `save` wrote.

    Parameters
    ----------
    content : bytes, bytearray or memoryview
    model_class : class or None, default None
        The class that the bytes must hold; None for any.

    Returns
    -------
    estimator, ColumnMap or expansion of the class that was saved; its answers are the same to the last bit

    Raises
    ------
    FormatError
        If the bytes are damaged, truncated, of another format or of a newer version, or hold another class.
    """
    try:
        given = memoryview(content)
    except TypeError as error:
        raise InvalidTypeError("content must be the bytes of a model (bytes, bytearray or memoryview), got "
                               f"{type(content).__name__}") from error
    return _model_of(bytes(given), model_class, "")


def _model_of(content: bytes, model_class: Any, where: str) -> Any:
    """The model of some bytes, if it is of the class that is asked for; errors begin with where they come from."""
    try:
        model = _build(decode(content), len(content))
    except FormatError as error:
        raise FormatError(f"{where}{error}") from error
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise FormatError(f"{where}not a valid model: {error}") from error
    if model_class is None:
        return model
    if not isinstance(model_class, type):
        raise InvalidTypeError(f"model_class must be a class or None, got {model_class!r}")
    if not isinstance(model, model_class):
        raise FormatError(f"{where}holds a {type(model).__name__}, expected a {model_class.__name__}; load it without "
                          "model_class, or with its own class")
    return model


def _file_name(path: Any) -> str:
    try:
        name = os.fsdecode(path)
    except TypeError as error:
        raise InvalidTypeError("path must be the name of a file (str, bytes or os.PathLike) or an open binary file, "
                               f"got {type(path).__name__}") from error
    if "\0" in name:
        raise InvalidInputError(f"path must be the name of a file, got {type(path).__name__} with the character 0: the "
                                "bytes of a model are for rffkern.loads")
    return name


def _is_bounded(expansion: Expansion) -> bool:
    """Whether the score of every row is finite."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(2 * expansion._bound()).all())


def _check_texts(texts: Iterable[Any], what: str) -> None:
    odd = [text for text in texts if isinstance(text, str) and not is_printable(text)]
    if odd:
        raise InvalidInputError(f"{what} must be storable as UTF-8 and have no control characters but tabs and line "
                                f"feeds, got {odd[0]!r}: replace them")


def _describe(model: Any) -> Contents:
    """Header and arrays of a model or an expansion; what `load` would refuse is refused."""
    if isinstance(model, Expansion):
        arrays = _arrays_of(model)
        return make_header(_EXPANSION_FAMILY, _EXPANSION_CLASS, arrays), arrays
    if isinstance(model, Model) and "family" in vars(type(model)):
        return _describe_model(model)
    if type(model).__name__ == _MAP_CLASS and isinstance(model, Parametrised):
        return _describe_map(model)
    raise InvalidInputError("model must be a fitted estimator or an expansion of this package, "
                            f"got {type(model).__name__}")


_MOST_NUMBERS = 1 << 25  # of an array that a file may have without its zeros, so that a small one asks for 256 MiB


def _arrays_of(expansion: Expansion) -> dict[str, Double]:
    """The arrays of an expansion as a file has them: where most omegas are 0, all others and the gaps between them.

    InvalidInputError for a function whose scores may be infinite.  With the omegas one after the other, row by row, a
    gap is the distance from the one before that is not 0, and of the first from the place before all.
    """
    if not _is_bounded(expansion):
        raise InvalidInputError("the sum of the amplitudes of the model must be a finite number")
    arrays = expansion.arrays()
    omegas = arrays.get("omegas")
    if omegas is None or omegas.size > _MOST_NUMBERS:
        return arrays
    numbers = omegas.reshape(-1)
    places = np.flatnonzero(numbers.view(np.int64))  # not of -0.0, which has a bit
    if 2 * len(places) > len(numbers):
        return arrays
    found = {}
    for name, array in arrays.items():
        found[name] = array if name != "omegas" else numbers[places]
        if name == "omegas":
            found["omega_gaps"] = np.diff(places, prepend=-1).astype(np.float64)
    return found


def _with_zeros(arrays: Mapping[str, Double]) -> dict[str, Double]:
    """The arrays of an expansion from those of a file."""
    gaps, omegas = arrays["omega_gaps"], arrays["omegas"]
    shape = len(arrays["phases"]), len(arrays["center"])
    require(omegas.ndim == 1 and omegas.shape == gaps.shape and math.prod(shape) <= _MOST_NUMBERS
            and ((gaps >= 1) & (gaps == np.floor(gaps)) & (gaps <= math.prod(shape))).all()
            and gaps.sum() <= math.prod(shape), "omegas and their gaps do not agree")
    numbers = np.zeros(math.prod(shape))
    numbers[np.cumsum(gaps).astype(np.intp) - 1] = omegas
    return {**arrays, "omegas": numbers.reshape(shape)}


def _describe_map(column_map: Any) -> Contents:
    """Header and arrays of a ColumnMap."""
    frozen = column_map._fitted_map()
    arrays = {"columns": frozen.numbers()}
    header = make_header(_MAP_FAMILY, _MAP_CLASS, arrays, columns=_columns_to_json(column_map),
                         feature_names=None if frozen.names is None else list(frozen.names))
    return _with_reference(header, column_map), arrays


def _with_reference(header: Header, owner: Any) -> Header:
    """A header with what is kept of the columns of the training rows, where a map, or a model without one, has that."""
    reference = vars(owner).get("_reference")
    return header if reference is None else {**header, "reference": reference}


def _columns_to_json(column_map: Any) -> dict[str, Any]:
    """Parameters and columns of a ColumnMap; the numbers of its forms are an array."""
    fitted_map = column_map._fitted_map()
    _check_texts(fitted_map.names or (), "column names")
    for name, column in zip(fitted_map.column_names(), fitted_map.columns, strict=True):
        _check_texts(column.kept_texts, f"the texts of column {name!r}")
    column_map._check_params()
    return {"params": _plain("columns", column_map), "columns": fitted_map.header()}


def _map_from_params(entry: Any) -> Any:
    """A ColumnMap that is not fitted."""
    from .._column_map.column_map import ColumnMap

    require(isinstance(entry, dict) and set(entry) == set(ColumnMap._param_names()),
            "the parameters are not those of a ColumnMap")
    params: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    column_map = ColumnMap(**params)
    column_map._check_params()
    return column_map


def _map_of_file(header: Header, arrays: Mapping[str, Double]) -> Any:
    """A fitted ColumnMap."""
    from .._column_map.fitted_map import FittedMap

    entry = header["columns"]
    require(isinstance(entry, dict) and set(entry) == {"params", "columns"} and isinstance(entry["columns"], list),
            "the columns are malformed")
    names = _names_from_json(header["feature_names"], len(entry["columns"]))
    column_map = _map_from_params(entry["params"])
    frozen = FittedMap.from_header(None if names is None else tuple(names), entry["columns"], arrays["columns"])
    require(all(is_printable(text) for column in frozen.columns for text in column.kept_texts),
            "levels have control characters")
    column_map._keep(frozen, header.get("reference"))
    return column_map


def _describe_model(model: Model) -> Contents:
    model = model._snapshot()
    model._check_params()
    model._check_fitted()
    classes = getattr(model, "classes_", None)
    names = getattr(model, "feature_names_in_", None)
    curves = {name: getattr(model, name) for name in model._fitted_curves}
    given = model._params_for_file(model.get_params(deep=False))
    params = {name: _plain(name, value) for name, value in given.items() if name not in _OF_MACHINE}
    column_map = getattr(model, "column_map_", None)
    if not _agree(model.columns, column_map):
        raise InvalidInputError("the parameter columns of the model must be that it was fitted with")
    stored_classes = None if classes is None else labels_to_json(classes)
    function = _arrays_of(model.expansion_)
    _check_texts([] if classes is None else classes.tolist(), "labels")
    _check_texts([] if names is None else names, "column names")
    try:
        _restored(model, model.expansion_, curves, classes)  # as `load` will
    except ValueError as error:
        raise InvalidInputError(f"the parameters of the model must be those it was fitted with: {error}") from error
    arrays, columns = function | curves, None
    if column_map is not None:
        columns, arrays = _columns_to_json(column_map), arrays | {"columns": column_map._fitted_map().numbers()}
    header = make_header(model.family, type(model).__name__, arrays, params=params, classes=stored_classes,
                         feature_names=None if names is None else list(names), columns=columns)
    if vars(model).get("_out_of_fold") is not None:
        header = {**header, "out_of_fold": vars(model)["_out_of_fold"]}
    return _with_reference(header, model if column_map is None else column_map), arrays


def _restored(model: Any, expansion: Expansion, curves: Mapping[str, Double], classes: Labels | None) -> dict[str, Any]:
    """Fitted attributes beyond the expansion and curves; ValueError if what a file has contradicts itself."""
    n_classes = 0 if classes is None else len(classes)
    if hasattr(model, "predict_proba") and expansion.n_outputs != (1 if n_classes == 2 else n_classes):
        raise ValueError("labels and outputs do not agree in number")
    return model._restored(expansion, curves)


def _agree(columns: Any, column_map: Any) -> bool:
    """Whether the parameter columns of a model may have led to its map."""
    return columns in _BY_TABLE or (columns is None) == (column_map is None)


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON has it; a Generator is kept as None, for its state belongs to the fit that used it."""
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return None
    if isinstance(value, Parametrised):
        return {key: _plain(key, entry) for key, entry in value.get_params().items()}
    if isinstance(value, dict):
        return {key: _plain(name, entry) for key, entry in value.items()}
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(value, (list, tuple)):
        return [_plain(name, entry) for entry in value]
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise InvalidInputError(f"parameter {name} cannot be stored: it must be a number, a string, None, or a list or "
                                f"dict of these, got {type(value).__name__}")
    return value


def _build(contents: Contents, n_bytes: int) -> Any:
    """The model or expansion that a file holds."""
    header, arrays = contents
    name = header["family"] if isinstance(header["family"], str) else None
    if name == _EXPANSION_FAMILY:
        require(header["class"] == _EXPANSION_CLASS, "class and family do not agree")
        return _build_expansion(arrays)
    if name == _MAP_FAMILY:
        require(header["class"] == _MAP_CLASS, "class and family do not agree")
        require(tuple(arrays) == ("columns",) and header["params"] == {} and header["classes"] is None,
                "a ColumnMap has columns alone")
        return _map_of_file(header, arrays)
    require(name in FAMILIES, f"the family {shown(header['family'])} is not known")
    return _build_model(FAMILIES[str(name)], header, arrays, n_bytes)


def _build_expansion(arrays: Mapping[str, Double], kinds: Sequence[str] = (), more: tuple[str, ...] = ()) -> Expansion:
    """The expansion of a file's arrays, which has parts of these kinds, or of any, and `more` other arrays."""
    parts = [part for part in PARTS if part.array_names[0] in arrays]
    names = [name for part in parts for name in part.array_names]
    if "omega_gaps" in arrays and "omegas" in names:
        names.insert(1, "omega_gaps")
    expected = ("intercept", "center", *(("lower", "upper") if "lower" in arrays else ()), *names, *more)
    require(tuple(arrays) == expected, f"the family must have arrays {expected}, got {shown(tuple(arrays))}")
    found = [part.kind for part in parts]
    require(not kinds or found == [*kinds],
            f"the family must have the parts {', '.join(kinds)}, got {', '.join(found)}")
    expansion = Expansion._of_arrays(_with_zeros(arrays) if "omega_gaps" in arrays else arrays)
    require(_is_bounded(expansion), "the amplitudes are too large for finite scores")
    return expansion


def _build_model(family: Family, header: Header, arrays: Mapping[str, Double], n_bytes: int) -> Model:
    require(header["class"] == family.class_name, "class and family do not agree")
    cls = family.load()
    column_map = None
    if header["columns"] is not None:
        require("columns" in arrays, "the numbers of the columns are missing")
        column_map = _map_of_file(header, arrays)
    expansion = _build_expansion(arrays, cls._parts,
                                 (*cls._fitted_curves, *(["columns"] if column_map is not None else [])))
    params = header["params"]
    require(isinstance(params, dict), "the parameters are malformed")
    require({*params} == {*cls._param_names()} - _OF_MACHINE, "the parameters are not the class's")
    columns = params["columns"]
    if columns is not None and columns not in _BY_TABLE:
        columns = _map_from_params(columns)
    model = cls(**{**cls._params_of_file(params), "columns": columns})
    model._check_params()
    require(_agree(model.columns, column_map), "the parameter columns and the columns do not agree")
    classes = None
    if hasattr(cls, "predict_proba"):
        classes = labels_from_json(header["classes"], n_bytes)
    else:
        require(header["classes"] is None, "a model without classes holds some")
    curves = {name: arrays[name] for name in cls._fitted_curves}
    n_columns = expansion.n_features if column_map is None else column_map.n_features_in_
    names = _names_from_json(header["feature_names"], n_columns)
    importances = curves.get("feature_importances_")
    require(importances is None or importances.shape == (n_columns,),
            "columns and importances do not agree in number")
    attributes = {**curves, **_restored(model, expansion, curves, classes)}
    require(column_map is None or len(column_map.sources_) == expansion.n_features,
            "columns and expansion do not agree in number")
    model._keep(Fitted(None if names is None else np.array(names, dtype=object), classes, expansion, attributes,
                       column_map=column_map, reference=header.get("reference") if column_map is None else None))
    if "metadata" in header:
        vars(model)["metadata_"] = header["metadata"]
    if "out_of_fold" in header:
        from .._estimator.conformal import check_record

        check_record(header["out_of_fold"], None if classes is not None else expansion.n_outputs)
        vars(model)["_out_of_fold"] = header["out_of_fold"]
    return model


def _names_from_json(names: Any, n_features: int) -> list[str] | None:
    require(names is None or (isinstance(names, list) and len(names) == n_features
                              and all(isinstance(name, str) and is_printable(name) for name in names)),
            "the feature names are malformed")
    return list(names) if names is not None else None


_LARGEST_TABLE = 1 << 25  # bytes; what `load` takes of a file of any size

_INT_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
_LABEL_DTYPES: dict[str, type] = {"|b1": bool, "<f4": float, "<f8": float, "O": object,
                                  **dict.fromkeys(_INT_DTYPES, int)}


def labels_to_json(classes: Labels) -> dict[str, Any]:
    """Labels and their dtype, one of the fixed list that `labels_from_json` knows."""
    labels = classes.tolist()
    dtype = classes.dtype.newbyteorder("<").str if classes.dtype.kind != "O" else "O"
    if dtype[1:2] == "U" and classes.dtype.itemsize > 4 * _label_width(labels):
        dtype = f"<U{_label_width(labels)}"
    kinds = {type(label) for label in labels}
    if not (dtype in _LABEL_DTYPES or dtype[1:2] == "U") or len(kinds) != 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInputError("classes_ must be booleans, numbers or strings to be stored, got "
                                f"{classes[0]!r} of dtype {classes.dtype}")
    if dtype[1:2] == "U" and _table_size(dtype, labels) > sum(map(len, labels)) + _LARGEST_TABLE:
        raise InvalidInputError(f"labels of dtype {dtype} are too wide to be stored: use an object array of strings")
    return {"dtype": dtype, "values": labels}


def _table_size(dtype: str, labels: list[str]) -> int:
    """Bytes of an array of labels of one width."""
    return 4 * int(dtype[2:]) * len(labels)


def _label_width(labels: list[str]) -> int:
    """Characters that a fixed-width string dtype may have; a file must not ask for a needless gigabyte."""
    return max(256, *map(len, labels))


def labels_from_json(entry: Any, n_bytes: int) -> Labels:
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
    require(all(is_printable(value) for value in values if wanted is str), "labels have control characters")
    if text:
        check_memory(_table_size(dtype, values), n_bytes, "labels")
    with np.errstate(over="ignore"):  # of numbers that do not fit, which the next line finds
        classes = np.array(values, dtype=object if dtype == "O" else np.dtype(dtype).newbyteorder("="))
    require(classes.tolist() == values, f"labels do not fit dtype {dtype!r}")
    require(all(a < b for a, b in itertools.pairwise(values)), "labels must be distinct and sorted")
    return classes


_PIECE = 1 << 20


def read_all(file: Any, name: str, max_bytes: int) -> bytes:
    """The bytes up to the end of a file, read in pieces: to ask for max_bytes at once would allocate them."""
    content = bytearray()
    while True:
        piece = file.read(_PIECE)
        if piece is None:
            raise BlockingIOError(f"{name}: nothing to read yet: path must be a file that waits for its bytes")
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise InvalidTypeError(f"path must be a file opened in binary mode, got one that reads "
                                   f"{type(piece).__name__}")
        if not len(piece):
            return bytes(content)
        content += piece
        if len(content) > max_bytes:
            raise FormatError(f"{name}: larger than max_bytes = {max_bytes}")


def write_all(file: Any, content: bytes) -> None:
    """Write all bytes to a file that may take only some of them at a time."""
    if isinstance(file, io.TextIOBase):
        raise InvalidTypeError(f"path must be a file opened in binary mode, got {type(file).__name__}")
    start = 0
    while start < len(content):
        written = file.write(content[start:])
        if written is None and not isinstance(file, io.RawIOBase):
            return  # of an object that does not count, and takes all
        if not written:
            raise BlockingIOError("path must be a file that waits until it can be written, got one that took "
                                  f"{start} of {len(content)} bytes")
        start += written
