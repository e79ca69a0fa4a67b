"""`rffkern report`: a page about a model on the rows of a table, and its numbers as JSON."""

import argparse
import hashlib
import json
import os

from .._files.atomic_file import atomic_write, is_stream
from .._report.facts import Source, report_facts
from .._report.labelled_rows import LabelledRows
from .._report.page import report_page
from ..errors import InvalidInputError
from .model_rows import load_predictor, open_for, read_labelled, target_column
from .open_table import input_files
from .output import DASH, UsageError, check_outputs, say
from .table import Table, column_indices

_NO_TARGET = "the table has no column of labels or targets"


def run(arguments: argparse.Namespace) -> None:
    """Read all rows, and write the page, its numbers, or both."""
    _check_outputs(arguments)
    model = load_predictor(arguments)
    table = open_for(model, arguments)
    target = target_column(table, arguments.target, model, column_indices(table, arguments.drop), needed=False)
    if target is None and not table.has_labels:
        say(f"{table.path}: {_NO_TARGET}, so the report says nothing of how good the model is; "
            "--target names one")
    X, y, n_unlabelled, n_rejected = read_labelled(model, table, target, arguments)
    try:
        rows = LabelledRows(model, X, y)
    except InvalidInputError as error:
        raise InvalidInputError(f"{table.path}: {error}") from error
    is_read_once = arguments.data == DASH or is_stream(arguments.data)
    data = table.path if is_read_once else os.path.basename(os.path.normpath(arguments.data))  # without folders above
    source = Source(os.path.basename(arguments.model), _sha256([arguments.model]), data,
                    "" if is_read_once else _sha256(input_files(arguments.data)),
                    _name_of(table, target), n_rejected, n_unlabelled, arguments.date or "", _NO_TARGET)
    facts = report_facts(rows, source)
    if arguments.json is not None:
        _write(arguments.json, json.dumps(facts, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    if arguments.output is not None:
        _write(arguments.output, report_page(facts))


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that are missing, the same, inputs, or cannot be written."""
    if arguments.output is None and arguments.json is None:
        raise UsageError("expected -o PAGE, --json FILE, or both")
    if arguments.output == arguments.json == DASH:
        raise UsageError("PAGE and --json must be two files, got '-' for both")
    check_outputs({"PAGE": arguments.output, "--json": arguments.json, "--reject": arguments.reject}, arguments.data,
                  arguments.model)


def _name_of(table: Table, target: int | None) -> str:
    if target is None:
        return "y" if table.has_labels else ""
    return table.columns[target] if table.columns else f"column {target}"


def _sha256(paths: list[str]) -> str:
    """The digest of the bytes of some files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def _write(path: str, text: str) -> None:
    if path == DASH:
        print(text, end="")
        return
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
