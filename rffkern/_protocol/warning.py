"""Warnings about what a caller has passed."""

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_PACKAGE = __name__.partition(".")[0]

# Which messages are passed on here; all of them by default.
_passes: ContextVar[Callable[[str], bool]] = ContextVar("_passes", default=lambda _: True)


@contextlib.contextmanager
def _passing(passes: Callable[[str], bool]) -> Iterator[None]:
    token = _passes.set(passes)
    try:
        yield
    finally:
        _passes.reset(token)


def quietly() -> contextlib.AbstractContextManager[None]:
    """Warn of nothing within, where a later step reads the same table and will say it."""
    return _passing(lambda _: False)


def each_once() -> contextlib.AbstractContextManager[None]:
    """Warn of the same only once within, where several steps read the same table."""
    said = set[str]()

    def is_new(message: str) -> bool:
        known = message in said
        said.add(message)
        return not known

    return _passing(is_new)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of the package that led here."""
    if not _passes.get()(message):
        return
    frame, level = sys._getframe().f_back, 2
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
