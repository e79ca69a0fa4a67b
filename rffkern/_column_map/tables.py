"""Tables of any kind as raw columns: numbers, categories or dates; columns of text are read by `cells`.

Arrays, lists, dicts of arrays, and the tables of pandas, polars and pyarrow are read.  None of these packages is
imported: a table is recognised by the methods that it has.  The same content gives the same bits: integers and floats
of any width are float64, every missing value is nan or the code -1, categories are text in sorted order without those
that do not occur, and dates are seconds since 1970.
"""

import datetime
import math
import numbers
import operator
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray
from .._protocol.arguments import has_members
from .._protocol.warning import warn
from .._rows.row_blocks import RowBlocks, row_slices
from .._rows.sparse_rows import SparseRows, dense_rows, is_sparse
from .._rows.validation import (
    LARGEST_VALUE,
    OF_RECORDS,
    ONE_DIMENSIONAL,
    as_numeric,
    checked_place,
    is_of_tables,
    refuse_masked,
    refuse_sparse_and_lazy,
    texts_of_names,
    to_array,
    too_few_samples,
    written_otherwise,
)
from ..errors import ColumnWarning, DataConversionWarning, InvalidInputError, InvalidTypeError
from .cells import (
    CATEGORY,
    DATE,
    EMPTY,
    NUMERIC,
    Reading,
    doubts,
    infer_reading,
    is_integer,
    is_unbounded,
    level_text,
    levels_of_texts,
    read_column,
    settled,
)

# The first integer whose neighbour is not a double.
LARGEST_INTEGER = 2.0**53

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class RawColumn(NamedTuple):
    """One column: numbers, seconds, or indices into levels; EMPTY where all values are missing."""

    kind: str
    values: Double  # (n_rows,) nan where missing; of a category the index of the level
    levels: tuple[str, ...] = ()  # of a category, sorted
    reading: Reading | None = None  # of a column of text


Cells: TypeAlias = list[str]  # a column of text that is not read yet; missing cells are empty


def text_cells(values: Iterable[Any]) -> Cells:
    """The cells of a column of text."""
    return [value if isinstance(value, str) else "" for value in values]


def category(codes: NDArray[Any], levels: Iterable[Any]) -> RawColumn:
    """A category from codes, negative or nan where missing, and their levels, in any order."""
    codes = np.nan_to_num(np.asarray(codes, dtype=np.float64), nan=-1.0).astype(np.int64)
    given_levels = list(levels)
    names = [level_text(level) for level in given_levels]
    is_missing = np.array([_group(type(level)) == "missing" or level != level for level in given_levels], dtype=bool)
    if is_missing.any():
        codes = np.where(np.append(is_missing, False)[np.maximum(codes, -1)], -1, codes)
    present = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(names)))
    kept = sorted({names[code] for code in present.tolist()})
    position = {name: index for index, name in enumerate(kept)}
    table = np.full(len(names) + 1, np.nan)  # the last is what -1 finds
    table[present] = [position[names[code]] for code in present.tolist()]
    values = table[np.maximum(codes, -1)]
    return RawColumn(CATEGORY, values, tuple(kept)) if kept else _empty(len(codes))


def recoded(codes: Double, table: Double) -> Double:
    """The entry of a table for each code; its last one is that of missing values, whose code is nan."""
    return table[np.where(np.isnan(codes), -1, codes).astype(np.intp)]


def category_of_numbers(column: RawColumn) -> RawColumn:
    """A column of numbers as one of categories."""
    if column.kind != NUMERIC:
        return column
    levels, codes = np.unique(column.values, return_inverse=True)  # nan comes last
    codes = np.where(np.isnan(column.values), -1, codes)
    return category(codes, levels[~np.isnan(levels)].tolist())


def category_of_objects(values: list[Any]) -> RawColumn | None:
    """A category of Python integers, some of them missing; None if there is anything else."""
    first = next((value for value in values if not _is_missing(value)), None)
    if not _is_integer(first):  # most often text
        return None
    index: dict[int, int] = {}
    codes = [index.setdefault(int(value), len(index)) if _is_integer(value) else -1 for value in values]
    if any(code < 0 and not _is_missing(value) for code, value in zip(codes, values, strict=True)):
        return None
    return category(np.array(codes), index)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def _is_missing(value: Any) -> bool:
    group = _group(type(value))
    return group == "missing" or (group == "numbers" and _is_nan(value))


def of_texts(cells: Sequence[str], reading: Reading | None, name: str) -> RawColumn:
    """A column from its cells, as they are to be read; None where all are missing."""
    if reading is None or reading.kind == EMPTY:
        return _empty(len(cells))
    if reading.kind == CATEGORY:
        index = {cell: code for code, cell in enumerate(dict.fromkeys(cells))}
        codes = np.fromiter(map(index.__getitem__, cells), dtype=np.int64, count=len(cells))
        levels = levels_of_texts([*map(str.strip, index)], reading)
        return category(codes, levels)._replace(reading=reading)
    values, odd = read_column(cells, reading)
    if odd:
        if is_unbounded(odd[0]):
            raise InvalidInputError(f"{name} must be finite (below {LARGEST_VALUE:.2g} in magnitude) or missing, got "
                                    f"{odd[0]!r}")
        row = next(k for k, cell in enumerate(cells) if cell.strip() == odd[0].strip())
        how = f"alone or with {reading.unit!r}" if reading.unit else reading.date_order
        expected = f"{reading.kind} values {how}".rstrip()
        raise InvalidInputError(f"{name} must hold {expected}, as in training, got text such as {odd[0]!r} at row "
                                f"{row}: None in its place counts as missing")
    if np.isnan(values).all():
        return _empty(len(cells))
    if reading.kind == NUMERIC and has_large_integers(values) and any(is_integer(cell.strip()) for cell in cells):
        warn_of_large_integers(values, name)
    return RawColumn(reading.kind, values + 0.0, reading=reading)


def _empty(n_rows: int) -> RawColumn:
    return RawColumn(EMPTY, np.full(n_rows, np.nan))


def of_numbers(values: NDArray[Any], name: str) -> RawColumn:
    """Numbers; refuse infinite ones and warn of integers that float64 cannot distinguish."""
    with np.errstate(over="ignore", invalid="ignore"):  # nan of any bits
        found = values.astype(np.float64) + 0.0  # no -0.0, whose bits differ from those of 0.0
    missing = np.isnan(found)
    found[missing] = np.nan
    if missing.all():
        return _empty(len(found))
    outside = np.abs(found) > LARGEST_VALUE
    if outside.any():
        row = int(outside.argmax())
        shown = "infinity" if math.isinf(found[row]) else f"{found[row]:.3g}"
        raise InvalidInputError(f"{name} must be finite (below {LARGEST_VALUE:.2g} in magnitude) or missing, got "
                                f"{shown} at row {row}")
    return RawColumn(NUMERIC, found)


def has_large_integers(values: Double) -> bool:
    """Whether some integers, as float64, have neighbours that are no doubles; nan is none."""
    return bool((values >= LARGEST_INTEGER).any() or (values <= -LARGEST_INTEGER).any())


def warn_of_large_integers(values: Double, name: str) -> None:
    """Warn of integers, as float64, from 2^53 on."""
    if has_large_integers(values):
        warn(f"{name} has integers of 2^53 or more, which float64 rounds: if they are identifiers, leave the "
             "column out or name it in categorical_features", DataConversionWarning)


def _seconds(values: NDArray[Any]) -> Double:
    """Seconds of datetime64 or timedelta64, the same for every unit that holds them."""
    unit, count = np.datetime_data(values.dtype)
    if unit not in _UNITS or count != 1:
        finer = unit in ("ps", "fs", "as") or unit in _UNITS
        unit = "ns" if finer else "s"
        values = values.astype(f"{values.dtype.kind}8[{unit}]")
    whole, rest = np.divmod(values.astype(np.int64), _UNITS[unit])
    return np.where(np.isnat(values), np.nan, whole + rest / _UNITS[unit])


def of_array(values: NDArray[Any], name: str) -> RawColumn | Cells:
    """A column from a 1-D array of any dtype that means something."""
    kind = values.dtype.kind
    if kind == "b":
        return category(values, (False, True))
    if kind in "iuf":
        column = of_numbers(values, name)
        if kind in "iu":
            warn_of_large_integers(column.values, name)
        return column
    if kind == "m":
        return of_numbers(_seconds(values), name)
    if kind == "M":
        seconds = _seconds(values)
        return _empty(len(values)) if np.isnan(seconds).all() else RawColumn(DATE, seconds)
    if kind in "UT":
        return text_cells(values.astype(object).tolist())
    if kind == "O":
        return _of_objects(values.tolist(), name)
    if kind == "c":
        raise InvalidInputError(f"{name} must be real. Complex data not supported, got dtype {values.dtype}")
    raise InvalidTypeError(f"{name} must hold numbers, text, booleans or dates, got dtype {values.dtype}")


def _group(kind: type) -> str:
    """What values of a type are."""
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, (bool, np.bool_)):
        return "booleans"
    if issubclass(kind, (numbers.Real, *_decimals())):
        return "numbers"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (datetime.date, np.datetime64)):
        return "dates"
    if issubclass(kind, datetime.time):
        return "times of day"
    return "intervals" if issubclass(kind, (datetime.timedelta, np.timedelta64)) else ""


def _decimals() -> tuple[Any, ...]:
    """The type of decimal numbers, where somebody has imported it: it is slow to load."""
    found = getattr(sys.modules.get("decimal"), "Decimal", None)  # which another thread may be importing now
    return () if found is None else (found,)


def _is_nan(value: Any) -> bool:
    """Whether a number is nan; to compare a signaling decimal number is an error."""
    return value.is_nan() if type(value) is not float and isinstance(value, _decimals()) else bool(value != value)


def _of_objects(values: list[Any], name: str) -> RawColumn | Cells:
    """A column from Python objects of one kind, None, nan, NaT or pandas' NA where missing."""
    groups = {kind: _group(kind) for kind in {*map(type, values), type(None)}}
    if "" in groups.values():
        odd = next(kind.__name__ for kind, group in groups.items() if not group)
        raise InvalidTypeError(f"{name}: argument must be a string or a number, a boolean, a date or missing, got "
                               f"{odd}")
    found = {*groups.values()} - {"missing"}
    if "numbers" in found and len(found) > 1:  # nan is a number, which stands for a missing value of any kind
        values = [None if groups[type(value)] == "numbers" and _is_nan(value) else value for value in values]
        if not any(groups[type(value)] == "numbers" for value in values):
            found -= {"numbers"}
    if len(found) > 1:
        raise InvalidInputError(f"{name} must hold values of one kind, got {' and '.join(sorted(found))}: make text of "
                                "all, which is read cell by cell, as frame[column].astype(str) does")
    missing = np.array([groups[type(value)] == "missing" for value in values], dtype=bool)
    if not found:
        return _empty(len(values))
    if found == {"text"}:
        return text_cells(values)
    if found == {"booleans"}:
        return category(np.array([-1 if value is None or gone else int(value)
                                  for value, gone in zip(values, missing, strict=True)]), (False, True))
    present = [value for value, gone in zip(values, missing, strict=True) if not gone]
    if found == {"numbers"}:
        return _numbers_of_objects(present, missing, name)
    kind = DATE if found == {"dates"} else NUMERIC
    return RawColumn(kind, _spread([_moment(value) for value in present], missing))


def _spread(present: list[float], missing: Mask) -> Double:
    values = np.full(len(missing), np.nan)
    values[~missing] = present
    return values


def _numbers_of_objects(present: list[Any], missing: Mask, name: str) -> RawColumn:
    def as_float(value: Any) -> float:
        try:
            return math.nan if _is_nan(value) else float(value)
        except OverflowError:
            return math.inf  # which is refused, with its row

    column = of_numbers(_spread([as_float(value) for value in present], missing), name)
    if all(isinstance(value, numbers.Integral) for value in present):
        warn_of_large_integers(column.values, name)
    return column


def _moment(value: Any) -> float:
    """Seconds of one date, time of day or interval; a date without a time zone counts as one of UTC."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if hasattr(value, "to_datetime64"):
        value = value.to_datetime64()  # with the nanoseconds of pandas
    if isinstance(value, datetime.time):
        return 3600.0 * value.hour + 60 * value.minute + value.second + value.microsecond / 1e6
    if isinstance(value, datetime.timedelta):
        return float(_seconds(np.array([value], dtype="m8[us]"))[0])
    return float(_seconds(np.array([value], dtype=None if isinstance(value, np.generic) else "M8[us]"))[0])


Categorical = Sequence[Any] | None


class RawTable(NamedTuple):
    """The columns of a table, and their names where all of them have one."""

    names: tuple[str, ...] | None
    columns: list[RawColumn]
    n_rows: int
    title: str = "X"  # what messages call it


def read_table(X: Any, name: str = "X", *, categorical: Categorical = None, wanted: tuple[str, ...] | None = None,
               readings: Mapping[int, Reading] | None = None, dates: str | None = None) -> RawTable:
    """Return the columns of a table.

    `categorical` has names or indices of columns of numbers that are categories.  Where the table has names, `wanted`
    are those of the columns to return, in this order; others are not looked at.  `readings` has how columns are read if
    they are text; integers of those that were categories in training are categories too.  Other columns of text are
    read as their cells suggest, with `dates` the order of day and month where both would do, and with a warning where
    that is not certain.  A RawTable gets the name alone.
    """
    if isinstance(X, RawTable):
        return X._replace(title=name)
    given, columns = _named_columns(X, name)
    names = None if given is None else texts_of_names(given, wanted)
    if not columns:
        raise InvalidInputError(f"{name}: Found array with 0 feature(s) (shape=({operator.length_hint(X)}, 0)) while a "
                                "minimum of 1 is required.")
    if names is not None and len(set(names)) < len(names):
        twice = next(each for j, each in enumerate(names) if each in names[:j])
        raise InvalidInputError(f"{name} must have columns of distinct names, got {twice!r} twice")
    if names is not None and wanted is not None:
        names, columns = wanted, _selected(names, columns, wanted)
    shown = [column_name(names, j, name) for j in range(len(columns))]
    categorical = () if categorical is None else categorical
    marked = set(column_places("categorical_features", categorical, names, len(columns)))
    known = readings or {}
    raw: list[RawColumn | Cells] = []
    for j, (column, text) in enumerate(zip(columns, shown, strict=True)):
        as_category = j in marked or (j in known and known[j].kind == CATEGORY)
        integers = _category_of_integers(column, text) if as_category else None
        raw.append(_raw_column(column, text) if integers is None else integers)
    inferred = _readings_of(raw, marked, known, dates)
    found = []
    for j, (each, reading, text) in enumerate(zip(raw, inferred, shown, strict=True)):
        if isinstance(each, list):
            if j not in known and reading is not None:
                report_reading(reading, text, each)
            each = of_texts(each, reading, text)
        found.append(category_of_numbers(each) if j in marked else each)
    lengths = {len(column.values) for column in found}
    if len(lengths) > 1:
        raise InvalidInputError(f"{name} must have columns of one length, got {sorted(lengths)}")
    return RawTable(names, found, lengths.pop(), name)


def _readings_of(columns: Sequence[RawColumn | Cells], marked: Container[int], known: Mapping[int, Reading],
                 dates: str | None) -> list[Reading | None]:
    """How each column of text is read; None for other columns, and where all cells are missing."""
    found: list[Reading | None] = []
    for j, column in enumerate(columns):
        if isinstance(column, RawColumn):
            found.append(None)
        elif j in known:
            found.append(known[j])
        else:
            found.append(Reading(CATEGORY, "levels") if j in marked else infer_reading(column, dates))
    return settled(found)


# How a doubt of `cells.doubts` is settled in Python.
_SETTLED_BY = {"": "", "dates": 'ColumnMap(dates="dmy") or ColumnMap(dates="mdy") settles it',
               "missing": "write None in place of it; else name the column in categorical_features",
               "codes": "name the column in categorical_features, or make it a category, as "
                        'frame[column].astype("category") does'}


def report_reading(reading: Reading, name: str, cells: Sequence[str] = ()) -> None:
    """Warn where a column of text could be read in another way."""
    for said, key, _ in doubts(cells, reading):
        warn(f"{name} {said}{_SETTLED_BY[key]}", ColumnWarning)
    if reading.words:
        shown = ", ".join(map(repr, reading.words[:3]))
        what = "dates" if reading.kind == DATE else "numbers"
        warn(f"{name} has cells that are no {what}, such as {shown}: they count as missing; if the column has "
             "categories, name it in categorical_features", ColumnWarning)


def is_complete_numeric(X: Any) -> bool:
    """Whether a table, or all blocks of RowBlocks, holds numbers alone: no missing value, text, boolean or date.

    Infinite values are numbers here: training refuses them, with or without a map.
    """
    if isinstance(X, RowBlocks):
        try:
            return all(map(is_complete_numeric, X._raw_blocks()))
        except InvalidInputError:  # training says in which block
            return False
    if isinstance(X, np.ndarray) and X.dtype.kind in "iufc":  # of any shape, which training refuses
        return not has_nan(X)
    if is_sparse(X):
        rows = SparseRows.of(X)
        return rows.dtype != np.bool_ and not has_nan(rows.data)
    table = read_table(X)
    return (all(column.kind == NUMERIC and not np.isnan(column.values).any()
                and (column.reading is None or column.reading == Reading(NUMERIC)) for column in table.columns)
            and (isinstance(X, RawTable) or is_numeric(X)))



def needs_map(X: Any) -> bool:
    """Whether a column map takes rows that are refused without one; False for what is no table either."""
    try:
        return not is_complete_numeric(X)
    except InvalidInputError:
        return False


def has_missing(X: Any) -> bool:
    """Whether rows are numbers, some of which are missing."""
    return has_nan(SparseRows.of(X).data) if is_sparse(X) else is_numeric(X) and has_nan(as_numeric(X, "X"))


def is_numeric(X: Any) -> bool:
    """Whether NumPy makes an array of numbers of a table: of a dict or of time intervals it does not."""
    try:
        as_numeric(X, "X")
    except InvalidInputError:
        return False
    return True


def has_nan(X: NDArray[Any]) -> bool:
    """Whether an array of numbers has a value that is not a number."""
    with np.errstate(invalid="ignore"):
        return X.ndim > 0 and X.dtype.kind in "fc" and any(
            bool(np.isnan(np.asarray(X[rows]).min(initial=0))) for rows in row_slices(X.shape))


def column_name(names: tuple[str, ...] | None, index: int, table: str = "X") -> str:
    """What messages call a column."""
    return f"column {index} of {table}" if names is None else f"column {names[index]!r} of {table}"


def _selected(names: tuple[str, ...], columns: list[Any], wanted: tuple[str, ...]) -> list[Any]:
    """Columns by name."""
    index = {each: j for j, each in enumerate(names)}
    missing = [each for each in wanted if each not in index]
    if missing:
        raise InvalidInputError("The feature names should match those that were passed during fit.\nFeature names seen "
                                "at fit time, yet now missing:\n" + "".join(
                                    f"- {each}{written_otherwise(each, names)}\n" for each in missing[:5]))
    return [columns[index[each]] for each in wanted]


def check_table(table: RawTable, name: str) -> RawTable:
    """Refuse a table without rows."""
    if not table.n_rows:
        raise too_few_samples(name, f"array with 0 sample(s) (shape=(0, {len(table.columns)}))", 1)
    return table



def column_places(parameter: str, items: Iterable[Any], names: tuple[str, ...] | None, n_columns: int) -> list[int]:
    """Indices of the columns that a parameter has by name or index."""
    places = []
    for item in items:
        if isinstance(item, str):
            if names is None or item not in names:
                raise InvalidInputError(f"{parameter} must be names or indices of columns, got {item!r}, "
                                        f"{'and the table has no names' if names is None else 'no column'}")
            places.append(names.index(item))
        elif 0 <= item < n_columns:
            places.append(checked_place(parameter, int(item), names))
        else:
            raise InvalidInputError(f"{parameter} must be names or indices of columns, got {item} with {n_columns} "
                                    "columns")
    return places


def _named_columns(X: Any, name: str) -> tuple[Iterable[Any] | None, list[Any]]:
    """Names and columns of a table, each in the form that the table gives it."""
    if is_sparse(X):
        return getattr(X, "columns", None), list(dense_rows(X, name).T)
    refuse_sparse_and_lazy(X, name)
    if isinstance(X, Mapping):
        return X.keys(), list(X.values())
    if has_members(X, "iloc") and hasattr(X, "columns"):  # pandas
        return X.columns, [X.iloc[:, j] for j in range(X.shape[1])]
    if has_members(X, "get_columns", "columns"):  # polars
        return X.columns, list(X.get_columns())
    if has_members(X, "column_names", "column"):  # pyarrow
        return X.column_names, [X.column(j) for j in range(len(X.column_names))]
    names = getattr(X, "columns", None)
    array = _two_dimensional(X, name)
    return None if names is None or callable(names) else names, list(array.T)


def _with_text_as_objects(values: Any, name: str, wanted: str) -> NDArray[Any]:
    """An array of the values; an array of objects for a list with text, as NumPy would turn its numbers into text."""
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must {wanted}: {error}") from error
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.array(values, dtype=object)
    return array


def _two_dimensional(X: Any, name: str) -> NDArray[Any]:
    """An array of the rows."""
    array = _with_text_as_objects(X, name, "be a rectangular table")
    if array.ndim != 2:
        hint = ""
        if array.ndim == 1 and len(array) and isinstance(array[0], Mapping):
            hint = ". Make a table of rows that are dicts by pandas.DataFrame(X), or give a dict of columns"
        elif has_members(X, "iloc"):
            hint = ". Take a row of a data frame as frame.iloc[[i]], and a column as frame[[name]]"
        elif array.dtype.names is not None:
            hint = OF_RECORDS
        elif array.ndim == 1:
            hint = ONE_DIMENSIONAL
        raise InvalidInputError(f"{name} must be a table or a 2D array (n_samples, n_features): Expected 2D array, got "
                                f"{array.ndim}D array of shape {array.shape}{hint}")
    return array


def _raw_column(values: Any, name: str) -> RawColumn | Cells:
    try:
        if has_members(values, "to_physical", "dtype"):
            return _of_polars(values, name)
        if has_members(values, "null_count", "type"):
            return _of_arrow(values, name)
    except Exception as error:
        if not is_of_tables(error):
            raise
        raise InvalidTypeError(f"{name} must hold numbers, text, booleans or dates, got type "
                               f"{getattr(values, 'type', getattr(values, 'dtype', None))}: {error}") from error
    if has_members(values, "to_numpy", "array"):
        return _of_pandas(values, name)
    return of_array(_array_of(values, name), name)


def _array_of(values: Any, name: str) -> NDArray[Any]:
    """A column as a 1-D array."""
    array = _with_text_as_objects(values, name, "have one value for each row")
    if array.ndim != 1:
        hint = "" if array.ndim else ": a list of one value is a table of one row"
        raise InvalidInputError(f"{name} must have one value for each row, got shape {array.shape}{hint}")
    return array


def _category_of_integers(values: Any, name: str) -> RawColumn | None:
    """Integers as they are, which float64 may not distinguish, as a category; None for a column of anything else."""
    if has_members(values, "to_pylist"):  # pyarrow
        return category_of_objects(values.to_pylist()) if str(values.type).startswith(("int", "uint")) else None
    if has_members(values, "to_physical"):  # polars
        return category_of_objects(values.to_list()) if values.dtype.is_integer() else None
    dtype = getattr(values, "dtype", np.dtype(object))
    if getattr(dtype, "kind", "") not in ("iuO" if isinstance(dtype, np.dtype) else "iu"):
        return None
    array = _array_of(values, name) if isinstance(dtype, np.dtype) else values.to_numpy(dtype=object)
    if array.dtype.kind in "iu":
        levels, codes = np.unique(array, return_inverse=True)
        return category(codes, levels.tolist())
    return category_of_objects(array.tolist()) if array.dtype.kind == "O" else None


def _of_polars(series: Any, name: str) -> RawColumn | Cells:
    if str(series.dtype).startswith(("Categorical", "Enum")):
        levels = series.unique().drop_nulls()
        code_of = {code: index for index, code in enumerate(levels.to_physical().to_list())}
        codes = [code_of.get(code, -1) for code in series.to_physical().to_list()]
        return category(np.array(codes, dtype=np.float64), levels.to_list())
    values = to_array(series, name) if "128" in str(series.dtype) else series.to_numpy()
    return _of_converted(values, name, series.dtype.is_integer())


def _of_arrow(values: Any, name: str) -> RawColumn | Cells:
    if hasattr(values, "combine_chunks"):  # a chunked array
        values = (values.unify_dictionaries() if hasattr(values.type, "value_type") else values).combine_chunks()
    if hasattr(values, "dictionary"):
        return category(values.indices.to_numpy(zero_copy_only=False), values.dictionary.to_pylist())
    return _of_converted(values.to_numpy(zero_copy_only=False), name, str(values.type).startswith(("int", "uint")))


def _of_converted(values: NDArray[Any], name: str, are_integers: bool) -> RawColumn | Cells:
    """A column of an array in which integers may have become floats, for the sake of missing ones."""
    column = of_array(_array_of(values, name), name)
    if are_integers and values.dtype.kind == "f" and isinstance(column, RawColumn) and column.kind == NUMERIC:
        warn_of_large_integers(column.values, name)
    return column


def _of_pandas(series: Any, name: str) -> RawColumn | Cells:
    dtype = series.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(series.array.__arrow_array__(), name)
    if hasattr(dtype, "categories"):
        return category(series.cat.codes.to_numpy(), series.cat.categories.tolist())
    if getattr(dtype, "tz", None) is not None:
        series = series.dt.tz_convert(None)
    elif type(dtype).__name__ == "PeriodDtype":
        series = series.dt.to_timestamp()
    elif not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iuf":
        column = of_numbers(series.to_numpy(dtype=np.float64, na_value=np.nan), name)
        if dtype.kind in "iu":
            warn_of_large_integers(column.values, name)
        return column
    elif not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "bO":
        return of_array(series.to_numpy(dtype=object), name)
    return of_array(np.asarray(series), name)


def in_blocks(X: Any) -> Any:
    """A memory map as RowBlocks; all else as it is."""
    return RowBlocks(X) if isinstance(X, np.memmap) and X.ndim == 2 else X


def table_blocks(X: Any, categorical: Any, dates: str | None = None) -> Iterator[tuple[RawTable, int]]:
    """Yield (table, index of its first row) of the blocks of training rows; their columns agree."""
    X = in_blocks(X)
    if not isinstance(X, RowBlocks):
        yield check_table(read_table(X, categorical=categorical, dates=dates), "X"), 0
        return
    start = 0
    first: RawTable | None = None
    readings: dict[int, Reading] = {}  # of the first block in which a column has values
    for given in X._raw_blocks():
        try:
            table = read_table(given, categorical=categorical, readings=readings, dates=dates)
            if first is not None and first.names and table.names and table.names != first.names:
                if {*table.names} != {*first.names}:
                    raise InvalidInputError(f"X must be blocks of the same columns, got {first.names}, then "
                                            f"{table.names}")
                table = read_table(given, categorical=categorical, wanted=first.names, readings=readings, dates=dates)
            if first is not None and len(first.columns) != len(table.columns):
                raise InvalidInputError(f"X must be blocks of equally many columns, got {len(first.columns)}, then "
                                        f"{len(table.columns)}")
        except InvalidInputError as error:
            raise type(error)(f"{error} (in the block from row {start})") from error
        first = first or table
        for j, column in enumerate(table.columns):
            if column.reading is not None:
                readings.setdefault(j, column.reading)
        yield table, start
        start += table.n_rows


def sampled(X: Any, rows: Indices, n_samples: int) -> RawTable:
    """Take rows, whose indices are sorted, of a table or of RowBlocks, in one pass over all of them.

    Raises InvalidInputError for what is no table, and unless it has n_samples rows.
    """
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = RowBlocks(X)  # of which only a block is copied
    parts, n_read = [], 0
    for table, start in table_blocks(X, None):
        n_read = start + table.n_rows
        wanted = rows[np.searchsorted(rows, start) : np.searchsorted(rows, n_read)] - start
        parts.append(rows_of(table, wanted))
    if n_read != n_samples:
        raise InvalidInputError(f"y must have one entry per row of X ({n_read}), got {n_samples}")
    return concatenated(parts)


def rows_of(table: RawTable, rows: Indices | Mask) -> RawTable:
    """Some rows of a table."""
    columns = [column._replace(values=column.values[rows]) for column in table.columns]
    return table._replace(columns=columns, n_rows=len(columns[0].values))


def concatenated(parts: list[RawTable]) -> RawTable:
    """Tables of the same columns, one below the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = [_concatenated_column([part.columns[j] for part in parts]) for j in range(len(first.columns))]
    return first._replace(columns=columns, n_rows=sum(part.n_rows for part in parts))


def _concatenated_column(parts: list[RawColumn]) -> RawColumn:
    """Pieces of one kind, or without any value."""
    kinds = {part.kind for part in parts} - {EMPTY}
    if len(kinds) > 1:
        raise InvalidInputError(f"a column must hold values of one kind, got {' and '.join(sorted(kinds))}")
    if kinds != {CATEGORY}:
        return RawColumn(kinds.pop() if kinds else EMPTY, np.concatenate([part.values for part in parts]))
    levels = sorted({level for part in parts for level in part.levels})
    position = {level: float(index) for index, level in enumerate(levels)}
    coded = [recoded(part.values, np.array([*map(position.__getitem__, part.levels), np.nan])) for part in parts]
    return RawColumn(CATEGORY, np.concatenate(coded), tuple(levels))


def as_given(column: RawColumn, rows: Indices) -> NDArray[Any]:
    """Values of a raw column at some rows: text of categories, None where it is missing, dates in UTC, or numbers."""
    values = column.values[rows]
    if column.kind == CATEGORY:
        return np.array([None if np.isnan(code) else column.levels[int(code)] for code in values], dtype=object)
    if column.kind == DATE:
        return (values * 1000).round().astype("datetime64[ms]")
    return values
