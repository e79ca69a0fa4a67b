"""`rffkern export`: write a model as source code or a graph that runs without rffkern."""

import argparse
import os

from .._export.export import export, options_for
from .._files.atomic_file import is_stream
from .._files.model_files import load
from ..errors import InvalidInputError
from .output import STDIN, UsageError, check_output, printable, say

_ENDINGS = {"c": (".c", ".h"), "js": (".js", ".mjs"), "numpy": (".py",), "onnx": (".onnx",), "sql": (".sql",)}


def run(arguments: argparse.Namespace) -> None:
    """Check the options, load the model and write the file."""
    options = {name: getattr(arguments, name) for name in ("name", "precision", "table", "key")}
    try:
        options_for(arguments.to, **options)
    except InvalidInputError as error:
        raise UsageError(f"--{error}") from error
    if arguments.output != STDIN:
        check_output(arguments.output, arguments.model)
        stem, ending = os.path.splitext(arguments.output)
        if ending.lower() not in ("", *_ENDINGS[arguments.to]) and not is_stream(arguments.output):
            say(printable(f"{arguments.output}: the file has the format {arguments.to}; a better name is "
                          f"{stem}{_ENDINGS[arguments.to][0]}"))
    model = load(arguments.model)
    try:
        export(model, "/dev/stdout" if arguments.output == STDIN else arguments.output, to=arguments.to, **options)
    except InvalidInputError as error:
        raise InvalidInputError(f"{arguments.model}: {error}") from error
