"""`rffkern verify`: whether an exported file is that of a receipt, and gives what its model gives."""

import argparse
import os
from collections.abc import Mapping
from typing import Any

from .._export.engines import Results, Rows, joined, results_of, rows_of
from .._export.receipts import checked, described, digest, mismatches, run_engines
from .._files.archive import parse_json
from ..errors import InvalidInputError
from .csv_table import CsvTable
from .model_rows import ModelRows, load_predictor, open_for
from .output import Finding, UsageError, say
from .table import column_indices


def run(arguments: argparse.Namespace) -> None:
    """Compare digests, and scores where the model and rows are given."""
    if (arguments.model is None) != (arguments.data is None):
        raise UsageError("MODEL and ROWS must be given together")
    with open(arguments.receipt, "rb") as file:
        try:
            found = parse_json(file.read().decode())
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{arguments.receipt}: is no JSON: {error}") from error
    receipt = checked(found, arguments.receipt)
    artefact = receipt["artefact"]
    wrong = [f"{path} is not the {what} of the receipt: its SHA-256 is {digest(path)}, not {receipt[what]['sha256']}"
             for what, path in (("artefact", arguments.artefact), ("model", arguments.model), ("rows", arguments.data))
             if path is not None and digest(path) != receipt[what]["sha256"]]
    if wrong:
        raise Finding(4, "\n".join(wrong))
    if arguments.model is not None:  # a file is run only if it is that of the receipt
        rows, expected = read_rows(arguments, load_predictor(arguments), artefact["target"], artefact["explain"],
                                   artefact["interval"])
        judge(run_engines(arguments.artefact, artefact["target"], artefact["options"], rows, expected),
              receipt["tolerance"])
    say(f"{arguments.artefact}: as {arguments.receipt} says")


def judge(engines: Mapping[str, Mapping[str, Any]], tolerance: float) -> None:
    """Say what each engine gave; Finding where it is not what the model gives, or where there is none."""
    for line in described(engines):
        say(line)
    wrong = mismatches(engines, tolerance)
    if wrong:
        raise Finding(4, "\n".join(wrong))
    if all("not run" in result for result in engines.values()):
        raise Finding(5, "no program that runs the file is here, so that its scores are not compared with the model's: "
                      f"install {' or '.join(engines)}")


def read_rows(arguments: argparse.Namespace, model: Any, to: str, explain: bool,
              interval: float | None) -> tuple[Rows, Results]:
    """The rows of the table that is given as data, and what the model gives for them, with what else is asked for.

    Programs get the cells of a file of text as they stand there, as far as they read text.
    """
    path = arguments.data
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"ROWS must be one file, whose digest a receipt has, got {path!r}")
    table = open_for(model, arguments)
    of_model = ModelRows(model, table, None, column_indices(table, arguments.drop))
    is_text = isinstance(table, CsvTable) and of_model.fitted_map is not None
    as_text = is_text and to != "onnx" and arguments.decimal == "."
    raw_blocks, parse = table.read(of_model.selection(None, of_model.features if as_text else ()))
    blocks = [(of_model.of(block), block.kept if as_text else None) for block in map(parse, raw_blocks) if len(block.X)]
    if not blocks:
        raise InvalidInputError(f"{path}: the table has no rows")
    if is_text and not as_text:
        why = "inputs of a graph are numbers and levels, and dates seconds since 1970" if to == "onnx" else \
            "--decimal , is for the table alone"
        say(f"{path}: the cells are converted for the exported file: {why}")
    return joined([(rows_of(model, X)._replace(texts=texts), results_of(model, X, explain, interval))
                   for X, texts in blocks])
