"""Usage errors that argparse cannot know of."""

import errno
import os


class UsageError(Exception):
    """The arguments of a command contradict each other or what they name; it ends as argparse's own errors do."""


def check_output(path: str, *inputs: str) -> None:
    """Refuse, before any work, an output that is an input or whose folder is not there."""
    if any(os.path.exists(path) and os.path.samefile(path, given) for given in inputs if os.path.exists(given)):
        raise UsageError(f"the output must not be an input, got {path!r} for both")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.access(folder, os.W_OK):
        raise OSError(errno.ENOENT, "cannot write to the folder of the output", path)
