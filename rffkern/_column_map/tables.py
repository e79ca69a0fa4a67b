"""Tables of any kind as raw columns: arrays, lists, dicts of arrays, and the tables of pandas, polars and pyarrow.

None of these packages is imported: a table is known by the methods that it has.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .._rows.pieces import row_pieces
from .._rows.row_blocks import RowBlocks
from .._rows.validation import (
    as_numeric,
    is_of_tables,
    refuse_masked,
    refuse_sparse_and_lazy,
    texts_of_names,
    to_array,
)
from ..errors import InvalidInputError, InvalidTypeError
from .raw import (
    NUMERIC,
    RawColumn,
    category,
    category_of_numbers,
    category_of_objects,
    of_array,
    of_numbers,
    warn_of_large_integers,
)

Categorical = Sequence[Any] | None


class RawTable(NamedTuple):
    """The columns of a table, and their names where all of them have one."""

    names: tuple[str, ...] | None
    columns: list[RawColumn]
    n_rows: int
    title: str = "X"  # what messages call it


def read_table(X: Any, name: str = "X", *, categorical: Categorical = None, wanted: tuple[str, ...] | None = None,
               expected: Container[int] = ()) -> RawTable:
    """Return the columns of a table.

    `categorical` has names or indices of columns of numbers that are categories.  Where the table has names, `wanted`
    are those of the columns to return, in this order; others are not looked at.  `expected` has indices of columns that
    were categories in training: there, integers are categories too.  A RawTable gets the name alone.
    """
    if isinstance(X, RawTable):
        return X._replace(title=name)
    given, columns = _named_columns(X, name)
    names = None if given is None else texts_of_names(given, wanted)
    if not columns:
        raise InvalidInputError(f"{name}: Found array with 0 feature(s) (shape=({_length(X)}, 0)) while a minimum of 1 "
                                "is required.")
    if names is not None and len(set(names)) < len(names):
        twice = next(each for j, each in enumerate(names) if each in names[:j])
        raise InvalidInputError(f"{name} must have columns of distinct names, got {twice!r} twice")
    if names is not None and wanted is not None:
        names, columns = wanted, _selected(names, columns, wanted)
    shown = [column_name(names, j, name) for j in range(len(columns))]
    marked = _marked(names, len(columns), categorical)
    found = []
    for j, (column, text) in enumerate(zip(columns, shown, strict=True)):
        integers = _category_of_integers(column, text) if j in marked or j in expected else None
        raw = _raw_column(column, text) if integers is None else integers
        found.append(category_of_numbers(raw) if j in marked else raw)
    lengths = {len(column.values) for column in found}
    if len(lengths) > 1:
        raise InvalidInputError(f"{name} must have columns of one length, got {sorted(lengths)}")
    return RawTable(names, found, lengths.pop(), name)


def is_complete_numeric(X: Any) -> bool:
    """Whether a table, or all blocks of RowBlocks, holds numbers alone: no missing value, text, boolean or date.

    Infinite values are numbers here: training refuses them, with or without a map.
    """
    if isinstance(X, RowBlocks):
        return all(_is_complete_block(block) for block in X.given_blocks())
    if isinstance(X, np.ndarray) and X.dtype.kind in "iufc":  # of any shape, which training refuses
        return not has_nan(X)
    table = read_table(X)
    return (all(column.kind == NUMERIC and not np.isnan(column.values).any() for column in table.columns)
            and is_numeric(X))


def _is_complete_block(block: Any) -> bool:
    try:
        return is_complete_numeric(block)
    except InvalidInputError:  # training says in which block
        return False


def needs_map(X: Any) -> bool:
    """Whether a column map takes rows that are refused without one; False for what is no table either."""
    try:
        return not is_complete_numeric(X)
    except InvalidInputError:
        return False


def has_missing(X: Any) -> bool:
    """Whether rows are numbers, some of which are missing."""
    return is_numeric(X) and has_nan(as_numeric(X, "X"))


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
        return X.dtype.kind in "fc" and any(
            bool(np.isnan(np.asarray(X[rows]).min(initial=0))) for rows in row_pieces(X.shape))


def column_name(names: tuple[str, ...] | None, index: int, table: str = "X") -> str:
    """What messages call a column."""
    return f"column {index} of {table}" if names is None else f"column {names[index]!r} of {table}"


def _selected(names: tuple[str, ...], columns: list[Any], wanted: tuple[str, ...]) -> list[Any]:
    """Columns by name."""
    index = {each: j for j, each in enumerate(names)}
    missing = [each for each in wanted if each not in index]
    if missing:
        raise InvalidInputError("The feature names should match those that were passed during fit.\nFeature names seen "
                                "at fit time, yet now missing:\n" + "".join(f"- {each}\n" for each in missing[:5]))
    return [columns[index[each]] for each in wanted]


def check_table(table: RawTable, name: str, min_samples: int) -> RawTable:
    """Refuse a table of too few rows."""
    if table.n_rows < min_samples:
        raise InvalidInputError(f"{name}: Found array with {table.n_rows} sample(s) (shape=({table.n_rows}, "
                                f"{len(table.columns)})) while a minimum of {min_samples} is required.")
    return table


def _length(X: Any) -> int:
    try:
        return len(X)
    except TypeError:
        return 0


def _marked(names: tuple[str, ...] | None, n_columns: int, categorical: Categorical) -> set[int]:
    """Indices of the columns that the user names as categories."""
    marked = set()
    for item in categorical or ():
        if isinstance(item, str):
            if names is None or item not in names:
                raise InvalidInputError("categorical_features must be names or indices of columns, got "
                                        f"{item!r}, {'and the table has no names' if names is None else 'no column'}")
            marked.add(names.index(item))
        elif 0 <= item < n_columns:
            marked.add(int(item))
        else:
            raise InvalidInputError(f"categorical_features must be names or indices of columns, got {item} with "
                                    f"{n_columns} columns")
    return marked


def _named_columns(X: Any, name: str) -> tuple[Iterable[Any] | None, list[Any]]:
    """Names and columns of a table, each in the form that the table gives it."""
    refuse_sparse_and_lazy(X, name)
    if isinstance(X, Mapping):
        return X.keys(), list(X.values())
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return X.columns, [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns") and hasattr(X, "columns"):  # polars
        return X.columns, list(X.get_columns())
    if hasattr(X, "column_names") and hasattr(X, "column"):  # pyarrow
        return X.column_names, [X.column(j) for j in range(len(X.column_names))]
    names = getattr(X, "columns", None)
    array = _two_dimensional(X, name)
    return None if names is None or callable(names) else names, list(array.T)


def _with_text_as_objects(values: Any) -> NDArray[Any]:
    """An array of what is given; a list with text, among which NumPy would make text of numbers, as objects."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.array(values, dtype=object)
    return array


def _two_dimensional(X: Any, name: str) -> NDArray[Any]:
    """An array of the rows, of objects where a list mixes text and numbers."""
    refuse_masked(X, name)
    try:
        array = _with_text_as_objects(X)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must be a rectangular table: {error}") from error
    if array.ndim != 2:
        hint = (". Reshape your data with .reshape(-1, 1) if it has one feature or .reshape(1, -1) if it is one sample"
                if array.ndim == 1 else "")
        raise InvalidInputError(f"{name} must be a table or a 2D array (n_samples, n_features): Expected 2D array, got "
                                f"{array.ndim}D array of shape {array.shape}{hint}")
    return array


def _raw_column(values: Any, name: str) -> RawColumn:
    try:
        if hasattr(values, "to_physical") and hasattr(values, "dtype"):
            return _of_polars(values, name)
        if hasattr(values, "null_count") and hasattr(values, "type"):
            return _of_arrow(values, name)
    except Exception as error:
        if not is_of_tables(error):
            raise
        raise InvalidTypeError(f"{name} must hold numbers, text, booleans or dates, got type "
                               f"{getattr(values, 'type', getattr(values, 'dtype', None))}: {error}") from error
    if hasattr(values, "to_numpy") and hasattr(values, "array"):
        return _of_pandas(values, name)
    return of_array(_array_of(values, name), name)


def _array_of(values: Any, name: str) -> NDArray[Any]:
    """A column as a 1-D array, of objects where a list has text."""
    refuse_masked(values, name)
    try:
        array = _with_text_as_objects(values)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must have one value for each row: {error}") from error
    if array.ndim != 1:
        raise InvalidInputError(f"{name} must have one value for each row, got shape {array.shape}")
    return array


def _category_of_integers(values: Any, name: str) -> RawColumn | None:
    """Integers as they are, which float64 may not tell apart, as a category; None for a column of anything else."""
    if hasattr(values, "to_pylist"):  # pyarrow
        return category_of_objects(values.to_pylist()) if str(values.type).startswith(("int", "uint")) else None
    if hasattr(values, "to_physical"):  # polars
        return category_of_objects(values.to_list()) if values.dtype.is_integer() else None
    dtype = getattr(values, "dtype", np.dtype(object))
    if getattr(dtype, "kind", "") not in ("iuO" if isinstance(dtype, np.dtype) else "iu"):
        return None
    array = _array_of(values, name) if isinstance(dtype, np.dtype) else values.to_numpy(dtype=object)
    if array.dtype.kind in "iu":
        levels, codes = np.unique(array, return_inverse=True)
        return category(codes, levels.tolist())
    return category_of_objects(array.tolist()) if array.dtype.kind == "O" else None


def _of_polars(series: Any, name: str) -> RawColumn:
    if str(series.dtype).startswith(("Categorical", "Enum")):
        levels = series.unique().drop_nulls()
        code_of = {code: index for index, code in enumerate(levels.to_physical().to_list())}
        codes = [code_of.get(code, -1) for code in series.to_physical().to_list()]
        return category(np.array(codes, dtype=np.float64), levels.to_list())
    values = to_array(series, name) if "128" in str(series.dtype) else series.to_numpy()
    return _of_converted(values, name, series.dtype.is_integer())


def _of_arrow(values: Any, name: str) -> RawColumn:
    if hasattr(values, "combine_chunks"):  # a chunked array
        values = (values.unify_dictionaries() if hasattr(values.type, "value_type") else values).combine_chunks()
    if hasattr(values, "dictionary"):
        return category(values.indices.to_numpy(zero_copy_only=False), values.dictionary.to_pylist())
    return _of_converted(values.to_numpy(zero_copy_only=False), name, str(values.type).startswith(("int", "uint")))


def _of_converted(values: NDArray[Any], name: str, are_integers: bool) -> RawColumn:
    """A column of an array in which integers may have become floats, for the sake of missing ones."""
    column = of_array(_array_of(values, name), name)
    if are_integers and values.dtype.kind == "f" and column.kind == NUMERIC:
        warn_of_large_integers(column.values, name)
    return column


def _of_pandas(series: Any, name: str) -> RawColumn:
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
