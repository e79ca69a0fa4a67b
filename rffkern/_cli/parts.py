"""`rffkern predict --workers` and `--dask`: processes of a cluster score a file each, and write it to a part."""

import argparse
import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from typing import Any

from .._files.atomic_file import atomic_write
from ..errors import InvalidInputError
from .binary_table import ARROW_ENDINGS
from .open_table import ending, input_files, open_files
from .output import JsonLog, Progress, UsageError, say
from .table import CsvFormat, Selection, Table, csv_format


def ending_of_parts(output: str, files: Sequence[str]) -> str:
    """The end of the names of parts, which says their format: that of OUT if it has one, else that of DATA."""
    ends = (ending(name) for name in (output, files[0]))
    return next((end for end in ends if end in (".csv", ".npy", *ARROW_ENDINGS)), ".csv")


def check_folder(arguments: argparse.Namespace) -> list[str]:
    """Refuse, before any work, what cannot be scored on a cluster, and a folder that is there; the files of DATA."""
    for option in ("jobs", "reject"):
        if getattr(arguments, option) not in (None, 1):
            raise UsageError(f"--{option} is for one process here: leave it out, or --workers and --dask")
    if arguments.output is None:
        raise UsageError("--workers and --dask write a folder with a part for each file of DATA: name it by -o OUT")
    arguments.output = arguments.output.rstrip(os.sep) or os.sep
    if os.path.lexists(arguments.output):
        raise UsageError("OUT must be the name of a new folder where --workers or --dask is given, got "
                         f"{arguments.output!r}, which exists")
    files = input_files(arguments.data)
    others = [file for file in files if os.path.exists(file) and not os.path.isfile(file)]
    if others or arguments.data == "-":
        raise UsageError(f"--workers and --dask read files, got {(others or ['standard input'])[0]!r}")
    return files


# What all workers need of a table: its name, files, form, the names of the model's columns, what is read, and a scorer.
_Setup = tuple[str, Sequence[str], CsvFormat, Sequence[str], Selection, Any]


def score_on_cluster(arguments: argparse.Namespace, files: Sequence[str], table: Table, selection: Selection,
                     scorer: Any, log: JsonLog | None) -> Any:
    """Score the files of a table side by side, each into a part of the same name, and add up what is known of rows."""
    from .cluster import open_cluster, require_dask  # which loads training

    workers = require_dask()
    scorer.model.set_params(n_jobs=1)  # files are scored side by side on the threads of a worker
    last = ending_of_parts(arguments.output, files)
    path, files = os.path.abspath(arguments.data), [*map(os.path.abspath, files)]
    form = csv_format(arguments)._replace(delimiter=getattr(table, "delimiter", None))
    names = list(getattr(scorer.model, "feature_names_in_", ()))
    setup, totals = (path, files, form, names, selection, scorer), scorer.totals()
    base = path if os.path.isdir(path) else os.path.commonpath([os.path.dirname(file) for file in files])
    parts = [part if part.lower().endswith(last) else part + last
             for part in (os.path.relpath(file, base) for file in files)]
    sizes, started = [*map(os.path.getsize, files)], time.monotonic()
    with _whole_folder(arguments.output) as folder, open_cluster(arguments) as (client, n_workers):
        for part in parts:
            os.makedirs(os.path.dirname(os.path.join(folder, part)), exist_ok=True)
        tasks = [(file, os.path.join(folder, part)) for file, part in zip(files, parts, strict=True)]
        with Progress("scoring", sum(sizes)) as bar:
            shared = workers.submit(client, _given, setup)
            scored_parts = workers.map_on_workers(client, _score_part, "parts", ((shared, *task) for task in tasks))
            with contextlib.closing(scored_parts) as results:  # before the client, which it tells what is not needed
                for file, done, scored in zip(files, itertools.accumulate(sizes), results, strict=True):
                    totals.merge(scored)
                    bar.update(done, totals.n_rows)
                    if log is not None:
                        log.add(event="part", file=file, part_rows=scored.n_rows, rows=totals.n_rows,
                                done=round(done / max(1, sum(sizes)), 4), seconds=round(time.monotonic() - started, 3))
    say(f"{totals.n_rows} rows of {len(files)} files scored on {n_workers} workers in "
        f"{time.monotonic() - started:.2f} s: {arguments.output}")
    return totals


@contextlib.contextmanager
def _whole_folder(path: str) -> Iterator[str]:
    """A folder that takes its name once the block ends without an exception, and is removed otherwise."""
    path = os.path.abspath(path)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(8).hex()}.rffkern.tmp")
    os.mkdir(temporary)
    try:
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                if name.endswith(".rffkern.tmp"):  # of a worker that was killed while it wrote
                    os.unlink(os.path.join(folder, name))
        os.rename(temporary, path)
    except BaseException:
        for _ in range(100):  # a worker that has not ended may open one more file
            shutil.rmtree(temporary, ignore_errors=True)
            if not os.path.exists(temporary):
                break
            time.sleep(0.1)
        raise


# On the workers.


def _given(setup: _Setup) -> _Setup:
    """What all tasks need: sent to the cluster once, and anew if it is lost."""
    return setup


def _score_part(setup: _Setup, file: str, output: str) -> Any:
    """Score the rows of a file into a part; return the totals of its rows."""
    path, files, form, names, selection, scorer = setup
    totals = scorer.totals()
    try:
        raw_blocks, parse = open_files(path, files, form, names, only=file).read(selection)

        def blocks() -> Iterator[bytes]:
            for raw in raw_blocks:
                block = scorer.score(parse(raw))
                totals.merge(block.totals)
                yield block.data

        with atomic_write(output) as part:
            scorer.writer.write(part, blocks())
    except InvalidInputError as error:
        if file in str(error):
            raise
        raise InvalidInputError(f"{file}: {error}") from error
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, f"{error.strerror} on a worker: all must see the files and the folder of "
                                "OUT under the same names", error.filename) from error
    return totals
