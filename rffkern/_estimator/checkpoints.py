"""States of a training in progress, kept where another process finds them: who keeps them, and how often."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

# The next state is written when training has taken so many times as long as writing the last one did.
_PAUSE = 20.0


# What keeps the states of the training of one model: `_files.checkpoint.CheckpointFile`.
_store: ContextVar[Any] = ContextVar("store", default=None)


@contextlib.contextmanager
def keeping(store: Any) -> Iterator[None]:
    """Let the fits of its model in this context be kept in a store."""
    token = _store.set(store)
    try:
        yield
    finally:
        _store.reset(token)


def current_store() -> Any:
    """The store of this context, or None."""
    return _store.get()


def kept_state(model: Any, types: Sequence[type]) -> Any:
    """The state of the training of a model that a store keeps, or None."""
    store = _store.get()
    return None if store is None or store.model is not model else store.read(types)


class CheckpointWriter:
    """Hands states to the store of the context in which it is made, if that keeps this model; from any thread."""

    def __init__(self, model: Any, types: Sequence[type]) -> None:
        store = _store.get()
        self._store = store if store is not None and store.model is model else None
        self._types, self._due, self._lock = types, 0.0, threading.Lock()

    def offer(self, make_state: Callable[[], Any], is_last: bool = False) -> None:
        """Write the state that a function makes: the first, the last, and others that come when it is time."""
        if self._store is None or not (is_last or time.monotonic() >= self._due):
            return
        with self._lock:
            started = time.monotonic()
            if is_last or started >= self._due:
                self._store.write(make_state(), self._types)
                ended = time.monotonic()
                self._due = ended + _PAUSE * (ended - started)
