"""Usage errors that argparse cannot know of."""

import os

from .._files.atomic_file import check_writable


class UsageError(Exception):
    """The arguments of a command contradict each other or what they name; it ends as argparse's own errors do."""


def check_output(path: str, *inputs: str) -> None:
    """Refuse, before any work, an output that is an input or that cannot be written."""
    files = [given for given in inputs if given != "-" and os.path.exists(given)]
    if os.path.isfile(path) and any(os.path.samefile(path, given) for given in files):
        raise UsageError(f"the output must not be an input, got {path!r} for both")
    check_writable(path)
