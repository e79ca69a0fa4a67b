"""`rffkern export`: a model file as a program of another language."""

import argparse

from .._export.export import export, options_for
from .._files.model_files import load
from ..errors import InvalidInputError
from .output import STDIN, UsageError, check_output


def run_export(arguments: argparse.Namespace) -> None:
    """Check the options, read the model and write the file."""
    given = {option: getattr(arguments, option) for option in ("name", "precision", "table", "key")}
    try:
        options_for(arguments.to, **given)
    except InvalidInputError as error:
        raise UsageError(f"--{error}") from error
    if arguments.output != STDIN:
        check_output(arguments.output, arguments.model)
    model = load(arguments.model)
    try:
        export(model, "/dev/stdout" if arguments.output == STDIN else arguments.output, to=arguments.to, **given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{arguments.model}: {error}") from error
