"""A process of `--jobs`: it reads parts of a table from its standard input and writes their answers."""

import os
import pickle
import signal
import sys


def serve() -> None:
    """Answer parts until there are no more; nothing but answers may be written on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that has started this one ends it
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    scorer, parse = pickle.load(source)
    while True:
        try:
            part = pickle.load(source)
        except EOFError:
            return
        try:
            answer = pickle.dumps(scorer.answer(parse(part)), protocol=5)
        except Exception as error:
            answer = pickle.dumps(error)
        try:
            sink.write(answer)
            sink.flush()
        except BrokenPipeError:
            os._exit(1)  # nobody is left to read it
