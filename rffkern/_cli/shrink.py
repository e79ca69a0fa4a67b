"""`rffkern shrink`: a smaller model, and what its loss is on rows that the model was not trained on."""

import argparse

from .._estimator.evaluation import aligned, metric_name, with_error
from .._files.model_files import save
from .._files.shrink import shrink
from ..errors import InvalidInputError
from .model_rows import load_predictor, open_for, read_labelled, target_column
from .output import DASH, UsageError, check_outputs, output_path, printable, say
from .table import column_indices

_MOST_LINES = 20


def run(arguments: argparse.Namespace) -> None:
    """Write the model, and print the curve of its loss against its bytes."""
    check_outputs({"SMALL": arguments.output, "--reject": arguments.reject}, arguments.data, arguments.model)
    model = load_predictor(arguments)
    table = open_for(model, arguments)
    target = target_column(table, arguments.target, model, column_indices(table, arguments.drop))
    X, y, *_ = read_labelled(model, table, target, arguments)
    if y is None:
        raise UsageError(f"{table.path}: expected --target COLUMN, of labels or targets")
    try:
        found = shrink(model, X, y, bytes=arguments.bytes, max_loss=arguments.max_loss)
    except InvalidInputError as error:
        raise InvalidInputError(f"{table.path}: {error}") from error
    save(found.model, output_path(arguments.output))
    sizes = [step.n_bytes for step in found.curve]
    size = found.size
    every = max(1, -(-len(sizes) // _MOST_LINES))
    shown = [step for k, step in enumerate(found.curve)
             if k in (0, len(sizes) - 1) or (len(sizes) - 1 - k) % every == 0 or step.n_bytes == size]
    rows = [["", "bytes", "terms", metric_name(found.loss), "change"]]
    rows += [[">" if step.n_bytes == size else "", str(step.n_bytes), str(step.n_terms), f"{step.loss:.6g}",
              with_error(step.change, step.change_error)] for step in shown]
    show = say if arguments.output == DASH else print
    for line in [*aligned(rows), f"{sizes[0]} bytes became {size}; losses are of half of the {len(y)} rows, +- one "
                                 "standard error of the change"]:
        show(printable(line))
