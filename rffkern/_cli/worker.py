"""A process of `--jobs`: it reads parts of a table from its standard input and writes their answers."""

import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO


def serve() -> None:
    """Answer parts until there are no more; nothing but answers may be written on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that has started this one ends it
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    scorer, parse = pickle.load(source)
    parts: queue.Queue[list[Any]] = queue.Queue(1)
    threading.Thread(target=_read_ahead, args=(source, parts), daemon=True).start()
    while part := parts.get():
        try:
            answer = pickle.dumps(scorer.answer(parse(*part)), protocol=5)
        except Exception as error:
            answer = pickle.dumps(error)
        try:
            sink.write(answer)
            sink.flush()
        except BrokenPipeError:
            os._exit(1)  # nobody is left to read it


def _read_ahead(source: BinaryIO, parts: "queue.Queue[list[Any]]") -> None:
    """Put each part into a list by itself, and at last an empty list: the next part comes while one is answered."""
    while True:
        try:
            part = [pickle.load(source)]
        except (EOFError, pickle.UnpicklingError):  # the sender is done, or was killed
            part = []
        parts.put(part)
        if not part:
            return
