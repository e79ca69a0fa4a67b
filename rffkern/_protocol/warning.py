"""Warnings about what a caller has passed."""

import contextlib
import sys
import warnings
from collections.abc import Iterator
from contextvars import ContextVar

_PACKAGE = __name__.partition(".")[0]

# What has been warned of where each warning comes once; None where all come.
_said: ContextVar[set[str] | None] = ContextVar("_said", default=None)
_is_quiet: ContextVar[bool] = ContextVar("_is_quiet", default=False)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Warn of nothing within, where a later step reads the same table and will say it."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


@contextlib.contextmanager
def each_once() -> Iterator[None]:
    """Warn of the same only once within, where several steps read the same table."""
    token = _said.set(set())
    try:
        yield
    finally:
        _said.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of the package that led here."""
    said = _said.get()
    if _is_quiet.get():
        return
    if said is not None:
        if message in said:
            return
        said.add(message)
    frame, level = sys._getframe().f_back, 2
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
