"""`rffkern export`: write a model as source code or a graph that runs without rffkern."""

import argparse

from .._export.export import export, options_for
from .._files.model_files import load
from ..errors import InvalidInputError
from .output import STDIN, UsageError, check_output


def run(arguments: argparse.Namespace) -> None:
    """Check the options, load the model and write the file."""
    options = {name: getattr(arguments, name) for name in ("name", "precision", "table", "key")}
    try:
        options_for(arguments.to, **options)
    except InvalidInputError as error:
        raise UsageError(f"--{error}") from error
    if arguments.output != STDIN:
        check_output(arguments.output, arguments.model)
    model = load(arguments.model)
    try:
        export(model, "/dev/stdout" if arguments.output == STDIN else arguments.output, to=arguments.to, **options)
    except InvalidInputError as error:
        raise InvalidInputError(f"{arguments.model}: {error}") from error
