"""`rffkern fit --workers` and `--dask`: train on files that are read partition by partition on a Dask cluster."""

import argparse
import codecs
import contextlib
import gzip
import logging
import os
import re
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import CATEGORY, NUMERIC, Reading, infer_reading, is_missing, is_number
from .._column_map.column_map import ColumnMap
from .._estimator.monitor import listening
from .._estimator.registry import AUTOMATIC
from .._files.model_files import save
from .._native.array_types import NDArray
from .._training.distributed.partition import partition_named
from ..errors import ColumnWarning, InvalidInputError
from .binary_table import check_has_columns
from .csv_text import SEPARATOR_LINE
from .open_table import ending, input_files, is_empty, open_table, same_columns
from .output import DASH, Progress, UsageError, output_path, printable, say
from .table import (
    UNKNOWN,
    ColumnType,
    Selection,
    Table,
    column_indices,
    csv_format,
    read_targets,
    refuse_dates_as_numbers,
    target_format,
)
from .training_table import (
    MAX_DISTINCT,
    column_roles,
    distinct_words,
    example_of_marks,
    refuse_dates,
    report_dropped,
    task_of,
    to_labels,
    with_categories,
)

# Options of `fit` that need all rows in one process.
_REFUSED = ("eval", "holdout", "cv", "checkpoint", "time", "groups", "reject", "missing")

# Bytes of .csv in a partition, about: not by the memory of the machine, as Dask has it.
_BLOCK_BYTES = 1 << 26

# The first cell of a row behind a block, which is read as one only if the block ends with a whole row.
_END_OF_BLOCK = "end of a block of rows"

_EXTRA = "--workers and --dask need dask and pandas: pip install 'rffkern[dask]' pandas pyarrow"


def fit_on_cluster(arguments: argparse.Namespace, models: dict[bool, Any], categorical: Sequence[str]) -> None:
    """Train on a cluster one of the models, which are given by whether they classify, and save it."""
    for name in _REFUSED:
        if getattr(arguments, name):
            raise UsageError(f"--{name} needs all rows in one process: leave it out, or --workers and --dask")
    if arguments.decimal != ".":
        raise UsageError("--decimal needs all rows in one process: leave it out if cells such as 1,5 show the decimal "
                         "comma, which is then found, or leave out --workers and --dask")
    require_dask()
    from .. import dask as on_dask

    classes: dict[bool, Any] = {has_labels: vars(on_dask).get(f"Dask{type(model).__name__}")
                                for has_labels, model in models.items()}
    if None in classes.values():
        raise UsageError(f"--model {arguments.model} cannot be trained on a cluster: choose fourier_boosting, gbrff, "
                         "kernel_ridge or a variant of these")
    table, frame, files = _open(arguments)
    names = frame.columns.tolist()
    roles = column_roles(table, arguments)
    with open_cluster(arguments) as (client, n_workers), _file_named(arguments.data, files):
        target, name = frame[names[roles.target]], f"column {names[roles.target]!r}"
        kind = _target_of(client, target, name, None if len(models) > 1 else next(iter(models)))
        local = models[kind.has_labels]
        params = local.get_params(deep=False)
        chosen = [names[j] for j in column_indices(table, categorical)]
        params["columns"] = with_categories(local, local.columns, chosen)
        if arguments.dates is not None and params["columns"] not in (None, "search"):
            columns = local._default_map() if params["columns"] == "auto" else params["columns"]
            params["columns"] = ColumnMap(**{**columns.get_params(), "dates": arguments.dates})
        model = classes[kind.has_labels](client=client, **params)
        X = frame[[names[j] for j in roles.features]]
        y = target.map_partitions(_converted, kind, name, meta=(names[roles.target], kind.dtype))
        weights = None
        if roles.weight is not None:
            weight = names[roles.weight]
            weights = frame[weight].map_partitions(_numbers, f"column {weight!r}", meta=(weight, np.float64))
        started = time.perf_counter()
        _remark_columns(table, roles.features, column_indices(table, categorical))
        with _words_said(), Progress("training", None) as bar, listening(bar.show):
            model.fit(X, y, weights)
        seconds = time.perf_counter() - started
    shown = "standard output" if arguments.output == DASH else arguments.output
    given = {"target": str(names[roles.target]), "target_format": kind.format or None, "rows": kind.n_rows,
             "note": arguments.note, "date": arguments.date}
    trained = model.to_local()
    save(trained, output_path(arguments.output), metadata={
        key: value for key, value in given.items() if value is not None})
    say(printable(f"trained {type(local).__name__} on {kind.n_rows} rows of {len(roles.features)} columns in "
                  f"{frame.npartitions} partitions on {n_workers} workers in {seconds:.2f} s: {shown}"))
    report_dropped(trained)


def _remark_columns(table: Table, features: Sequence[int], categorical: Sequence[int]) -> None:
    """Say of the columns what `fit` says of rows in one process, which the first of them show."""
    types = [ColumnType(CATEGORY if j in categorical else UNKNOWN, nullable=True) for j in features]
    raw_blocks, parse = table.read(Selection(features, types=types, reject=True))
    with contextlib.suppress(InvalidInputError, StopIteration):  # which training says, or takes otherwise
        parse(next(raw_blocks))


@contextlib.contextmanager
def _words_said() -> Iterator[None]:
    """Say which cells of numbers and dates count as missing; what else Python is warned of is said by itself."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def say_words(message: Warning | str, category: type[Warning], *others: Any) -> None:
            text = str(message)
            if not issubclass(category, ColumnWarning):
                show(message, category, *others)
            elif "they count as missing" in text:
                say(text.replace("name it in categorical_features", "list it in --categorical"))

        warnings.simplefilter("always", ColumnWarning)
        warnings.showwarning = say_words  # type: ignore[assignment]
        yield


def _open(arguments: argparse.Namespace) -> tuple[Table, Any, list[str]]:
    """The first of the files, for its columns, all of them as a data frame of Dask, and the file of each partition.

    Cells of .csv stay text.  No file is named for partitions of Parquet files, of which several may be joined.
    """
    try:
        from dask import dataframe
    except ImportError as error:
        raise UsageError(_EXTRA) from error
    files = input_files(arguments.data)
    endings = {ending(file) for file in files}
    if endings == {".parquet"}:
        _check_schemas(files)
        first = open_table(files[0], csv_format(arguments))
        return first, dataframe.read_parquet(files, index=False)[first.columns], []
    if not endings <= {".csv", ".csv.gz"}:
        raise UsageError(f"--workers and --dask read .parquet or .csv files, got {', '.join(sorted(endings))}")
    files = [file for file in files if not is_empty(file)] or files
    table, headers = same_columns(files, csv_format(arguments))
    names: list[Any] = list(table.columns or range(table.n_columns))
    blocks = [(file, header, k) for file, header in zip(files, headers, strict=True)
              for k in _blocks(file, arguments.encoding)]
    from_map: Any = dataframe.from_map
    frame = from_map(_read_block, blocks, columns=names, delimiter=getattr(table, "delimiter", ","),
                     encoding=arguments.encoding, n_bytes=_BLOCK_BYTES, meta=_cells(b"", names, names, ","))
    return table, frame, [file for file, *_ in blocks]


def _check_schemas(files: Sequence[str]) -> None:
    """Refuse a Parquet file without a column of the first, or where it is text in one of them and not in the other."""
    from pyarrow import ArrowException, parquet, types

    def kinds_of(file: str) -> dict[str, Any]:
        """Whether columns are text, and None for those of which nothing is known, by name."""
        try:
            schema = parquet.read_schema(file)
        except (ArrowException, OSError) as error:
            raise InvalidInputError(f"{file}: not a table that pyarrow can read: {error}") from error
        plain = [kind.value_type if types.is_dictionary(kind) else kind for kind in schema.types]
        return {name: None if types.is_null(kind) else types.is_string(kind) or types.is_large_string(kind)
                for name, kind in zip(schema.names, plain, strict=True)}

    first = kinds_of(files[0])
    for file in files[1:]:
        found = kinds_of(file)
        check_has_columns(file, found, first, files[0])
        for name, is_text in first.items():
            if {is_text, found[name]} == {True, False}:
                raise InvalidInputError(f"{file}: expected {'text' if is_text else 'no text'} in the column {name!r}, "
                                        f"as in {files[0]}, got {'text' if found[name] else 'another type'}")


@contextlib.contextmanager
def _file_named(data: str, files: Sequence[str]) -> Iterator[None]:
    """Say which file has the partition that an error is about, or what DATA is where that is not known."""
    try:
        yield
    except InvalidInputError as error:
        if error.partition is None:
            raise
        raise InvalidInputError(f"{files[error.partition] if files else data}: {error}") from error


@contextlib.contextmanager
def open_cluster(arguments: argparse.Namespace) -> Iterator[tuple[Any, int]]:
    """A client of the cluster at an address, or of one of processes here, which ends with it; and its size."""
    workers = require_dask()
    import distributed
    from dask import config

    connect: Any = distributed.Client
    start: Any = distributed.LocalCluster
    with contextlib.ExitStack() as stack:
        address = arguments.dask
        if address is None:
            # Or Dask gives up a worker that is lost again while it starts, so long after the first loss.
            stack.enter_context(config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
            with _interrupts_held():
                address = stack.enter_context(start(
                    n_workers=arguments.workers, threads_per_worker=arguments.threads or 1, dashboard_address=":0",
                    silence_logs=logging.CRITICAL))  # says it twice
        try:
            client = stack.enter_context(connect(address, set_as_default=False))
        except (OSError, ValueError) as error:
            raise UsageError(f"--dask: no scheduler answers at {address!r} ({error})") from error
        with workers.losses_named(client, "a file of DATA"), _no_log_of_interrupts():
            yield client, workers.check_workers(client)


@contextlib.contextmanager
def _no_log_of_interrupts() -> Iterator[None]:
    """From Ctrl-C on nothing is logged, as threads of Dask do of what they could not finish; the process says one line.

    They may do so before the exception has left the block, which cancels tasks on its way.
    """
    def interrupt(*_: Any) -> None:
        logging.disable()
        raise KeyboardInterrupt

    is_ours = threading.current_thread() is threading.main_thread()  # no other may set it
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # which may be ignored
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, and is for this process: those that are started in it do not see it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # whose start would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def require_dask() -> Any:
    """What talks to workers, or an error that says what to install."""
    try:
        from .._training.distributed import dask_workers
    except ImportError as error:
        raise UsageError(_EXTRA) from error
    return dask_workers


class _Target(NamedTuple):
    """What the targets of all partitions are, and how they are read."""

    n_rows: int
    has_labels: bool
    dtype: Any  # as the model takes them
    format: str  # of numbers in text, as in `Reading`


def _target_of(client: Any, target: Any, name: str, has_labels: bool | None) -> _Target:
    """How targets are read, by all partitions and by the rules of `fit` for rows in one process; None: they decide."""
    described = client.compute(target.map_partitions(_describe, meta=(None, object)))
    found: list[_Described] = list(require_dask().gather(client, [described])[0])
    blocks, n_rows = [each.distinct for each in found if len(each.distinct)], sum(each.n_rows for each in found)
    read_as, chosen = "", has_labels is None
    if has_labels is None:
        has_labels, read_as = task_of(blocks, n_rows) if blocks else (True, "")
    for number, each in enumerate(found):
        n_missing = each.n_empty if has_labels else each.n_missing
        with partition_named(number):
            if n_missing:
                raise InvalidInputError(f"{name}: expected a target in each row, got {n_missing} rows without one")
    if not blocks:
        raise InvalidInputError(f"{name}: expected a target in each row, got no rows")
    cells = np.concatenate(blocks)
    if has_labels:
        labels = to_labels(blocks, name)
        if chosen:
            refuse_dates(distinct_words(labels), n_rows, name)
        return _Target(n_rows, True, np.dtype(object) if labels.dtype.kind == "U" else labels.dtype, "")
    format_ = target_format(cells)
    if cells.dtype.kind == "U":
        refuse_dates_as_numbers(cells.tolist(), infer_reading(cells.tolist()), name)
        read_as = read_as or example_of_marks(blocks)
    reading = Reading(NUMERIC, format_)
    for number, each in enumerate(found):
        with partition_named(number):
            _targets(each.distinct, reading, name)
    if chosen or read_as:
        say(f"{name} has numbers: regression{read_as}")
    return _Target(n_rows, False, np.dtype(np.float64), format_)


def _blocks(file: str, encoding: str) -> Sequence[int | None]:
    """The blocks of bytes of a .csv file, or None for a whole one, also where its line breaks are no single byte."""
    n_blocks = -(-os.path.getsize(file) // _BLOCK_BYTES)
    is_whole = n_blocks < 2 or file.lower().endswith(".gz") or "\n".encode(encoding) != b"\n"
    return [None] if is_whole else range(n_blocks)


# On the workers.


def _read_block(block: tuple[str, list[str] | None, int | None], columns: list[Any], delimiter: str,
                encoding: str, n_bytes: int) -> Any:
    """Columns of text of a .csv file, or of its rows that begin in one of its blocks of bytes."""
    file, header, k = block
    with (gzip.open if file.lower().endswith(".gz") else open)(file, "rb") as source:
        data = source.read() if k is None else _lines_of_block(source, k, n_bytes)
    try:
        if codecs.lookup(encoding).name != "utf-8":
            data = data.decode(encoding).encode()
        if not k:
            data = re.sub(f"\\A(?:\ufeff)?{SEPARATOR_LINE}".encode(), b"", data, flags=re.IGNORECASE)
        return _cells(data, header or columns, columns, delimiter, has_header=header is not None and not k)
    except ValueError as error:
        place = "" if k is None else \
            f" in the rows behind byte {k * n_bytes}, where a block of rows begins: if cells have line breaks, write " \
            f"this as .parquet, or as files of at most {n_bytes} bytes, which are read whole"
        raise InvalidInputError(f"{file}: {error}{place}") from error


def _lines_of_block(source: Any, k: int, n_bytes: int) -> bytes:
    """The lines of a file that begin in its k-th block of bytes."""
    if k:
        source.seek(k * n_bytes - 1)
        source.readline()
    start = source.tell()
    data: bytes = source.read(max(0, (k + 1) * n_bytes - start))
    return data + source.readline() if data and data[-1:] != b"\n" else data


def _cells(data: bytes, names: Sequence[Any], columns: list[Any], delimiter: str, has_header: bool = False) -> Any:
    """Some of the named columns of the text of whole rows, as a data frame of text; ValueError names what is wrong."""
    import pyarrow
    from pyarrow import compute, csv

    places = [str(j) for j in range(len(names))]
    last = delimiter.join([_END_OF_BLOCK] + [""] * (len(names) - 1)) + "\n"
    data = data.lstrip(b"\r\n") + f"\n{last}".encode()
    table = csv.read_csv(
        pyarrow.py_buffer(data),
        csv.ReadOptions(use_threads=False, block_size=min(len(data), (1 << 31) - 1), column_names=places,
                        skip_rows_after_names=int(has_header)),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(column_types=dict.fromkeys(places, pyarrow.string()), strings_can_be_null=False))
    if not len(table) or table[0][-1].as_py() != _END_OF_BLOCK:
        raise ValueError("expected rows that end with their lines, got a quote that is not closed")
    if b' "' in data and any(compute.any(compute.match_substring_regex(cells, '^ +"')).as_py() for cells in table):
        raise ValueError("expected quoted cells without blanks before the quote, got some: remove the blanks")
    frame = table.slice(0, len(table) - 1).to_pandas()
    frame.columns = list(names)
    return frame[columns]


class _Described(NamedTuple):
    """What the targets of a partition are."""

    n_rows: int
    n_empty: int
    n_missing: int  # with words such as NA, which may be labels
    distinct: NDArray[Any]  # text, numbers or booleans; some of them, if there are many


def _values_of(target: Any) -> NDArray[Any]:
    """The targets of a partition: numbers, booleans, or text without blanks around it; nan or "" where missing."""
    from pandas.api import types

    missing = target.isna().to_numpy(dtype=bool)
    if types.is_numeric_dtype(target.dtype) and not missing.all():
        exact = np.bool_ if types.is_bool_dtype(target.dtype) else np.uint64 if types.is_unsigned_integer_dtype(
            target.dtype) else np.int64 if types.is_integer_dtype(target.dtype) else np.float64
        values: NDArray[Any] = target.to_numpy(dtype=np.float64, na_value=np.nan) if missing.any() \
            else target.to_numpy(dtype=exact)
        return values
    texts = target.astype(str).str.strip().to_numpy(dtype=object)
    texts[missing] = ""
    return texts.astype(np.str_)


def _describe(target: Any) -> Any:
    """What the targets of a partition are, as a series of one."""
    import pandas as pd

    values = _values_of(target)
    if values.dtype.kind == "U":
        counts = Counter(values.tolist())
        n_empty = counts.pop("", 0)
        n_missing = n_empty + sum(count for text, count in counts.items() if is_missing(text))
        distinct = np.array(list(counts)[:MAX_DISTINCT], dtype=np.str_)
    else:
        gone = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
        n_empty = n_missing = int(gone.sum())
        distinct = np.unique(values[~gone])[:MAX_DISTINCT]
    return pd.Series([_Described(len(values), n_empty, n_missing, distinct)])


def _targets(values: NDArray[Any], reading: Reading, name: str) -> NDArray[Any]:
    """Targets of a regression as numbers."""
    targets, odd = read_targets(values, reading)
    if odd:
        raise InvalidInputError(f"{name}: expected numbers as targets, got {odd[0]!r}: correct it or leave out its "
                                f"row, or, if these are labels, train --model {AUTOMATIC[0]}")
    return targets


def _converted(target: Any, kind: _Target, name: str, partition_info: Any = None) -> Any:
    """The targets of a partition, whose number Dask gives, as labels of text, integers or numbers."""
    import pandas as pd

    values = _values_of(target)
    with partition_named(partition_info["number"]):
        if not kind.has_labels:
            values = _targets(values, Reading(NUMERIC, kind.format), name)
        elif kind.dtype.kind in "iuf" and values.dtype.kind == "U":
            cells, values = values, to_labels([values], name)
            if values.dtype.kind == "U":
                odd = [cell for cell in cells.tolist() if not is_number(cell)] or cells.tolist()
                raise InvalidInputError(f"{name}: expected numbers as labels, as in most rows, got {odd[0]!r}")
    return pd.Series(values.astype(kind.dtype), index=target.index, name=target.name)


def _numbers(weights: Any, name: str, partition_info: Any = None) -> Any:
    """The weights of a partition, whose number Dask gives, as numbers."""
    import pandas as pd

    numbers = pd.to_numeric(weights, errors="coerce")
    with partition_named(partition_info["number"]):
        if numbers.isna().any():
            raise InvalidInputError(f"{name}: expected a number as weight in each row, got "
                                    f"{weights[numbers.isna()].iloc[0]!r}")
    return numbers.astype(np.float64)
