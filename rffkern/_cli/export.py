"""`rffkern export`: write a model as source code or a graph that runs without rffkern."""

import argparse
import json
import os

from .._estimator.base import fitted_map_of
from .._export import TARGETS
from .._export.engines import Results, Rows
from .._export.export import content_of, options_for
from .._export.receipts import receipt
from .._export.sql_file import cells_read
from .._files.atomic_file import atomic_write, is_stream
from .._files.model_files import load
from ..errors import InvalidInputError, TrainingStateError
from .model_rows import load_predictor
from .output import DASH, UsageError, check_outputs, output_path, say
from .verify import judge, read_rows


def run(arguments: argparse.Namespace) -> None:
    """Check the options, load the model and write the file."""
    options = {name: getattr(arguments, name) for name in ("name", "precision", "table", "key", "compiler")}
    try:
        options_for(arguments.to, **options)
    except InvalidInputError as error:
        raise UsageError(f"--{error}") from error
    if arguments.data is not None and (arguments.output == DASH or is_stream(arguments.output)):
        raise UsageError(f"--verify needs a file as OUT, got {arguments.output!r}")
    check_outputs({"OUT": arguments.output}, arguments.model, arguments.data)
    stem, suffix = os.path.splitext(arguments.output)
    suffixes = TARGETS[arguments.to].suffixes
    if suffix.lower() not in ("", *suffixes) and not is_stream(arguments.output):
        say(f"{arguments.output}: the file has the format {arguments.to}; a better name is {stem}{suffixes[0]}")
    model = load(arguments.model) if arguments.data is None else load_predictor(arguments)
    try:  # before the rows are read, which may take long
        content = content_of(model, arguments.to, arguments.interval, arguments.explain, **options)
    except (InvalidInputError, TrainingStateError) as error:
        raise InvalidInputError(f"{arguments.model}: {error}") from error
    rows_and_results = None if arguments.data is None else read_rows(
        arguments, model, arguments.to, arguments.explain, arguments.interval)
    with atomic_write(output_path(arguments.output)) as file:
        file.write(content)
    if arguments.to == "sql" and (fitted := fitted_map_of(model)) is not None:
        for note in cells_read(zip(fitted.column_names(), fitted.columns, strict=True)):
            say(f"{arguments.output}: reads {note}")
    if rows_and_results is not None:
        _verify(arguments, {**options_for(arguments.to, **options)}, *rows_and_results)


def _verify(arguments: argparse.Namespace, options: dict[str, str], rows: Rows, expected: Results) -> None:
    """Write the receipt, and judge what it has."""
    found = receipt(arguments.output, arguments.to, options, arguments.interval, arguments.model, arguments.data,
                    rows, expected)
    with atomic_write(f"{arguments.output}.receipt.json") as file:
        file.write((json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
    judge(found["engines"], found["tolerance"])
