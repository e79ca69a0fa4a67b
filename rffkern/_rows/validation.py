"""Checks of everything that enters from outside.  Each says which argument, what was expected and what came."""

import math
import numbers
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._native import scoring
from .._native.array_types import Double, Indices, NDArray
from .._protocol.arguments import has_members
from .._protocol.warning import warn
from ..errors import DataConversionWarning, InvalidInputError, InvalidTypeError
from .sparse_rows import SparseRows, dense_rows, is_sparse

# Twice this is a finite double, so that the difference of any two accepted values is finite.
LARGEST_VALUE = 2.0**1022
# np.finfo would make tables of every kind of number first.
LARGEST_FLOAT64, LARGEST_FLOAT32 = sys.float_info.max, (2 - 2.0**-23) * 2.0**127

_SORTED_AT_ONCE = 1 << 20  # labels that are sorted at once

_WIDEST_LABEL = 256  # characters of a label in an array of text

_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))

# What to do with X of one dimension, in words that scikit-learn's checks look for.
ONE_DIMENSIONAL = (". Reshape your data with np.reshape(X, (1, -1)) if it is one row, and with np.reshape(X, (-1, 1)) "
                   "if it is one column")

# And with a structured array, whose rows have fields.
OF_RECORDS = ". Make a table of its fields by pandas.DataFrame(X), or by {name: X[name] for name in X.dtype.names}"


def texts_of_names(given: Iterable[Any], expected: Iterable[str] | None = None) -> tuple[str, ...] | None:
    """Column names as text; None where there are none, or where they number the columns from 0.

    Such numbers, which data frames have by default, count as names where those that are `expected` are numbers too.
    """
    names = list(given)
    are_places = all(isinstance(name, numbers.Integral) and not isinstance(name, bool) and name == place
                     for place, name in enumerate(names))
    if are_places and (expected is None or not all(name.isdecimal() for name in expected)):
        return None
    return tuple(map(str, names))


def is_printable(text: str) -> bool:
    """Whether a text that a model file keeps has no lone surrogate, nor control characters but tabs and line feeds."""
    return not any((ch < " " and ch not in "\t\n") or "\x7f" <= ch <= "\x9f" or "\ud800" <= ch <= "\udfff"
                   for ch in text)


def shown_names(names: Iterable[Any] | None, n_columns: int) -> list[str]:
    """Names of columns as text, x0 and so on where they have none."""
    return [f"x{j}" for j in range(n_columns)] if names is None else [*map(str, names)]


class NamedRows:
    """An array with column names, which is read as a data frame is."""

    def __init__(self, array: NDArray[Any], columns: list[str]) -> None:
        self.array, self.columns = array, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.array, dtype=dtype)


def checked_place(what: str, place: int, names: Sequence[str] | None) -> int:
    """The place of a column; InvalidInputError where another column has this number for its name."""
    if names is not None and f"{place}" in names and names[place] != f"{place}":
        raise InvalidInputError(f"{what} must be names as text where columns are named by numbers, got {place}, which "
                                f"is the name of one column and the place of {names[place]!r}: write '{place}' or "
                                f"{names[place]!r}")
    return place


def feature_names(X: Any, expected: Iterable[str] | None = None) -> NDArray[np.object_] | None:
    """Column names of a data frame, by `texts_of_names`, as an object array."""
    if is_query(X):
        return None  # a query of polars, which would warn that it is run to find them
    # In pyarrow `columns` are the data and `column_names` the names.
    names = X.column_names if has_members(X, "column_names") else getattr(X, "columns", None)
    if names is None or callable(names):
        return None
    texts = texts_of_names(names, expected)
    return None if texts is None else np.array(texts, dtype=object)


def warn_of_order(X: Any, y: Any) -> None:
    """Warn where X and y are of pandas and have the same index in different orders, which nothing else would show."""
    if has_members(X, "iloc") and has_members(y, "iloc") and len(X) == len(y) and not X.index.equals(y.index) and (
            X.index.is_unique and X.index.nlevels == y.index.nlevels and X.index.isin(y.index).all()):
        warn("X and y have the same index in different orders: rows are matched by position, as everywhere in "
             "scikit-learn; y.loc[X.index] is in the order of X", DataConversionWarning)


def refuse_masked(data: Any, name: str) -> None:
    """Refuse masked values, alone, in an array or in a list of arrays: NumPy would take what stands under the mask."""
    if isinstance(data, (list, tuple)):
        parts = list(data)
    elif isinstance(data, np.ndarray):
        parts = [data, *np.asarray(data).ravel()] if data.dtype == object else [data]
    else:
        return
    if any(isinstance(part, np.ndarray) and type(part) is not np.ndarray and np.ma.is_masked(part) for part in parts):
        raise InvalidInputError(f"{name} must have no masked values: remove them, or fill them in by "
                                "filled(value)")


def to_array(data: Any, name: str) -> NDArray[Any]:
    """What NumPy makes of data; integers of 128 bits, which it has not, are objects."""
    try:
        return np.asarray(data)
    except Exception as error:
        if not is_of_tables(error):
            if isinstance(error, (ValueError, TypeError)):
                raise InvalidInputError(f"{name} must be a rectangular array: {error}") from error
            raise
        if has_members(data, "get_columns"):  # a data frame of polars
            return np.column_stack([to_array(column, name) for column in data.get_columns()])
        if "128" in str(getattr(data, "dtype", "")):
            return np.array(data.to_list(), dtype=object)
        raise InvalidTypeError(f"{name} must be of a type that NumPy has: {error}") from error


def is_query(data: Any) -> bool:
    """Whether data are a query of polars that has not been run."""
    return has_members(data, "collect_schema") and not has_members(data, "get_columns")


def is_of_tables(error: Exception) -> bool:
    """Whether an error is one of the own of polars or pyarrow, which no user of NumPy expects."""
    return type(error).__module__.partition(".")[0] in ("polars", "pyarrow")


def refuse_sparse_and_lazy(data: Any, name: str) -> None:
    """Refuse sparse data and queries of polars that have not been run, saying how to give them."""
    if is_sparse(data):
        raise InvalidTypeError(f"{name} must be a dense array, got a sparse {type(data).__name__}: call its toarray()")
    if is_query(data):
        raise InvalidTypeError(f"{name} must be a table in memory, got a {type(data).__name__}: call its collect()")


def as_numeric(data: Any, name: str, hint: str = "") -> NDArray[Any]:
    """Return real numbers as an array of float32 or float64 in native byte order, of any shape; text gets a hint."""
    refuse_masked(data, name)
    refuse_sparse_and_lazy(data, name)
    array = to_array(data, name)
    if array.dtype.kind == "c":
        raise InvalidInputError(f"{name} must be real. Complex data not supported, got dtype {array.dtype}")
    if array.dtype.kind in "biu" or (array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)):
        array = array.astype(np.float64)
    elif array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
            text = next((each for each in array.ravel().tolist() if isinstance(each, str)), "")
            raise kind(f"{name} must be numeric, got an object array: {error}{_of_numbers(text, hint)}") from error
    elif array.dtype.kind != "f":
        if array.dtype.kind in "Mm":
            spans = f"({name} - {name}.min())" if array.dtype.kind == "M" else name
            hint = f': pass a number of days, {spans} / numpy.timedelta64(1, "D")'
        elif array.dtype.kind in "UT" and array.size:
            hint = _of_numbers(str(array.flat[0]), hint)
        hint = hint if array.dtype.names is None else OF_RECORDS
        raise InvalidInputError(f"{name} must be numeric, got dtype {array.dtype}{hint}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _of_numbers(text: str, hint: str) -> str:
    """What to do with text in place of numbers, where there is a hint for words."""
    if not hint or not any(map(str.isdecimal, text)):
        return hint
    return f"; make numbers of text such as {text!r}, as pandas.read_csv does with decimal and thousands{hint}"


def check_finite(array: NDArray[Any], name: str) -> None:
    """Refuse a C-contiguous 2-D array with nan, inf or magnitudes whose differences overflow; name the first."""
    limit = LARGEST_VALUE if array.itemsize == 8 else LARGEST_FLOAT32
    index = scoring.find_unbounded(array.ravel(), limit)
    if index >= 0:
        i, j = divmod(index, array.shape[1])
        raise not_finite(name, array[i, j], i, j)


def not_finite(name: str, value: float, row: int, column: int) -> InvalidInputError:
    """The error that says where a value stands that is too large or not finite."""
    found = "NaN" if math.isnan(value) else "infinity" if math.isinf(value) else f"{value:.3g}"
    return InvalidInputError(f"{name} must be finite (below {LARGEST_VALUE:.2g} in magnitude), "
                             f"got {found} at row {row}, column {column}")


def too_few_samples(name: str, found: str, least: int) -> InvalidInputError:
    """Of rows to predict, of which one is enough, or to train on, in the words of scikit-learn."""
    to_train = " to train on: add rows" if least > 1 else ""
    return InvalidInputError(f"{name}: Found {found} while a minimum of {least} is required{to_train}.")


def check_array(X: Any, name: str = "X", min_samples: int = 1) -> NDArray[Any]:
    """Return X as a finite C-contiguous float32 or float64 array of shape (n_samples, n_features).

    Sparse rows are made dense, within the bound of `dense_rows`.
    """
    # A fast way for plain arrays: checking one row must not cost more than scoring it.
    if type(X) is np.ndarray and X.dtype in _PLAIN:
        array = X
    else:
        array = as_numeric(dense_rows(X, name) if is_sparse(X) else X, name)
    if array.ndim != 2:
        hint = ONE_DIMENSIONAL if array.ndim == 1 else ""
        raise InvalidInputError(f"{name} must be a 2D array (n_samples, n_features): "
                                f"Expected 2D array, got {array.ndim}D array of shape {array.shape}{hint}")
    n_samples, n_features = array.shape
    if n_samples < min_samples:
        raise too_few_samples(name, f"array with {n_samples} sample(s)", min_samples)
    if n_features < 1:
        raise InvalidInputError(f"{name}: Found array with 0 feature(s) (shape={array.shape}) "
                                "while a minimum of 1 is required.")
    array = np.ascontiguousarray(array)
    check_finite(array, name)
    return array


def check_sparse_rows(rows: SparseRows, name: str, min_samples: int = 1) -> SparseRows:
    """Return SparseRows of numbers; refuse those that `check_array` would refuse if they were dense."""
    if rows.dtype == np.bool_:
        rows = SparseRows(rows.indptr, rows.indices, rows.data.astype(np.float64), rows.n_columns, rows.columns)
    bad = scoring.find_unbounded(rows.data, LARGEST_VALUE if rows.data.itemsize == 8 else LARGEST_FLOAT32)
    if bad >= 0:
        row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
        raise not_finite(name, float(rows.data[bad]), row, int(rows.indices[bad]))
    if len(rows) < min_samples:
        check_array(rows.rows(0, len(rows)).toarray(), name, min_samples)
    return rows


def as_column(values: Any, name: str, n_samples: int) -> NDArray[Any]:
    """Return one value per row as a 1-D array; warn where it is given as a column of a 2-D array."""
    refuse_masked(values, name)
    array = to_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        module = sys.modules.get("sklearn.exceptions")
        warn(f"A column-vector {name} was passed when a 1d array was expected; "
             f"use {name}.ravel() to avoid this warning",
             module.DataConversionWarning if module else DataConversionWarning)
        array = array.ravel()
    if array.ndim == 0:
        raise _no_column(name, array.item())
    if array.ndim != 1:
        raise InvalidInputError(f"{name} must be a 1d array of shape ({n_samples},), got shape {array.shape}: "
                                f"{'take one column' if array.size else f'see how {name} is selected'}")
    if array.shape[0] != n_samples:
        raise InvalidInputError(f"{name} must have one entry per row of X ({n_samples}), got {array.shape[0]}")
    return array


def _no_column(name: str, value: Any) -> InvalidInputError:
    return InvalidInputError(f"{name} must have one entry per row of X, got {value!r}: take the column itself, not its "
                             "name")


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or like pandas' NA: equal to itself is then neither true nor false."""
    same = label == label
    return label is None or not (isinstance(same, (bool, np.bool_)) and same)


def _distinct(array: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct labels; many are sorted in slices, because `np.unique` sorts a copy."""
    if array.dtype.kind not in "biuUS" or len(array) <= _SORTED_AT_ONCE:
        return np.unique(array)
    parts = [np.unique(array[start : start + _SORTED_AT_ONCE]) for start in range(0, len(array), _SORTED_AT_ONCE)]
    return np.unique(np.concatenate(parts))


def _positions(array: NDArray[Any], classes: NDArray[Any]) -> Indices:
    """Index of each label among the sorted distinct ones; `np.unique` would take four times the memory for it."""
    if array.dtype.kind == "T":  # whose strings NumPy does not search
        return np.unique(array, return_inverse=True)[1]
    return np.searchsorted(classes, array)


def _settled_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Distinct labels in the dtype that depends on them alone where they are text, or come as Python objects.

    Text is as wide as the longest label, so that a data frame, a list and a CSV file make the same model; labels of
    more than `_WIDEST_LABEL` characters are objects, for predictions have the width of the longest in each row.
    """
    labels = classes.tolist()
    if classes.dtype.kind in "UT" or (classes.dtype.kind == "O" and all(isinstance(label, str) for label in labels)):
        labels = [str(label) for label in labels]  # of a subclass of str
        return np.array(labels, dtype=object if max(map(len, labels), default=0) > _WIDEST_LABEL else np.str_)
    if classes.dtype.kind == "f" and classes.dtype not in _PLAIN:
        doubles = classes.astype(np.float64)
        return doubles if (doubles == classes).all() else classes
    if classes.dtype.kind != "O" or not labels:
        return classes
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = {*map(type, labels)}
    if kinds in ({bool}, {float}):
        return np.array(labels)
    if kinds == {int}:
        dtype = integer_dtype(labels[0], labels[-1])
        return classes if dtype is None else np.array(labels, dtype=dtype)
    return classes


def integer_dtype(least: int, largest: int) -> "np.dtype[Any] | None":
    """The dtype of 64 bits that has both integers; None where none does."""
    if least >= -(2**63) and largest < 2**63:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if least >= 0 and largest < 2**64 else None


class ContinuousLabelsError(InvalidInputError):
    """Labels are numbers that a regressor would learn, whose name a classifier adds."""


def check_labels(y: Any, n_samples: int, name: str = "y") -> tuple[NDArray[Any], Indices]:
    """Return (classes, codes): the sorted distinct labels and, per row, the index of its label."""
    if y is None:
        raise InvalidInputError(f"{name} must hold one label per row: the estimator requires y to be passed, "
                                f"but the target {name} is None")
    array = as_column(y, name, n_samples)
    refuse_missing_labels(array, name)
    if array.dtype.kind == "f" and (array != np.round(array)).any():
        raise ContinuousLabelsError(
            f"{name} must hold class labels. Unknown label type: continuous values such as "
            f"{array[array != np.round(array)][0]}: numbers are for a regressor")
    try:
        classes = _distinct(array)
    except TypeError:  # they cannot be sorted
        raise _unknown_label_type(array, name) from None
    settled = _settled_labels(classes)
    kinds = {*map(type, settled.tolist())}
    if array.dtype.kind not in "fbiuUTO" or len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        raise _unknown_label_type(settled, name)
    return settled, _positions(array, classes)


def _unknown_label_type(labels: NDArray[Any], name: str) -> InvalidInputError:
    """Of labels that no model file has, such as bytes, dates and what is of several types."""
    kinds = {str(labels.dtype)} if labels.dtype.kind in "mM" else {type(label).__name__ for label in labels.tolist()}
    return InvalidInputError(f"{name} must hold class labels: text, numbers or truth values, all of one type. Unknown "
                             f"label type: {' and '.join(sorted(kinds))}, such as {str(labels[0])!r}: convert them to "
                             "text or numbers")


def refuse_missing_labels(array: NDArray[Any], name: str) -> None:
    """Raise an error if a label is missing, NaN or infinite."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.isfinite(array).argmin())
        found = "NaN" if np.isnan(array[row]) else "infinity"
        raise InvalidInputError(f"{name} must be finite, got {found} at row {row}: leave out such rows")
    if array.dtype.kind == "O" and any(map(_is_missing, array)):
        raise InvalidInputError(f"{name} must have no empty entries, got a missing value: leave out its rows")


def check_targets(y: Any, n_samples: int, name: str = "y") -> Double:
    """Return real targets as a float64 array of shape (n_samples, n_targets)."""
    if y is None:
        raise InvalidInputError(f"{name} must hold one number or more per row: the estimator requires y to be passed, "
                                f"but the target {name} is None")
    if isinstance(y, str) or (isinstance(y, np.ndarray) and y.shape == () and y.dtype.kind == "U"):
        raise _no_column(name, str(y))
    array = as_numeric(y, name, "; for labels take a classifier, such as FourierBoostingClassifier")
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise InvalidInputError(f"{name} must be a 1-D or 2-D array (n_samples,) or (n_samples, n_targets), "
                                f"got shape {array.shape}{'' if array.size else f': see how {name} is selected'}")
    if array.shape[0] != n_samples:
        raise InvalidInputError(f"{name} must have one entry per row of X ({n_samples}), got {array.shape[0]}")
    array = np.ascontiguousarray(array.reshape(n_samples, -1), dtype=np.float64)
    try:
        check_finite(array, name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}: correct it, or leave out such rows") from error
    return array


def check_known_labels(y: Any, classes: NDArray[Any], n_samples: int, name: str) -> Indices:
    """Return the index into `classes` of each label in y; refuse labels that are not there."""
    labels, codes = check_labels(y, n_samples, name)
    position = {label: index for index, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in position]
    if unknown:
        raise InvalidInputError(f"{name} must hold labels of the training, such as {classes.tolist()[0]!r}, got "
                                f"{unknown[0]!r}")
    return np.array([position[label] for label in labels.tolist()], dtype=np.intp)[codes]


def written_otherwise(name: str, names: Iterable[str]) -> str:
    """For a message on a missing name: the name that differs in case, blanks and signs alone, if there is one."""
    letters = _letters(name)
    alike = next((each for each in names if letters and _letters(each) == letters), None)
    return "" if alike is None else f" (got {alike!r}: rename it)"


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def check_names(names: Any, expected: Any) -> None:
    """Refuse a data frame whose columns are not those of `fit` in the same order.

    Where `fit` saw none, columns that are numbered from 0 must stand in that order.
    """
    if names is None:
        return
    if expected is None:
        expected = [str(place) for place in range(len(names))]
        if set(names) != set(expected):
            return
    if list(names) == list(expected):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(expected)), sorted(set(expected) - set(names))
    if unseen:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in unseen[:5])
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {name}\n" for name in missing[:5])
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise InvalidInputError(message)
