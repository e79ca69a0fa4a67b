"""Standard output and standard error, which may be closed, full, or a pipe that nobody reads."""

import os
import sys
from typing import TextIO


def replace_closed_streams() -> None:
    """Make a closed stderr swallow what is written, and a closed stdout fail as a broken file does."""
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def abandon(stream: TextIO) -> None:
    """Write nothing more to a stream, not even what the interpreter would flush when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text: str, end: str = "\n") -> None:
    """Write a remark on stderr; that nobody can read it is no reason to fail."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        abandon(sys.stderr)


def printable(text: str) -> str:
    """A text from a file with its control characters escaped, so that it cannot steer a terminal."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
                   for character in text)
