"""`rffkern predict --jobs`: several processes that parse and score blocks; their results come in order."""

import contextlib
import itertools
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, BinaryIO

# The path is that of this process, so that the same packages are found, and none in the current folder.
_START = "import sys; sys.path[:] = {path!r}; from rffkern._cli.jobs import serve; serve()"


def map_in_processes(score: Callable[[Any], Any], parse: Callable[[Any], Any], raw_blocks: Iterator[Any],
                     n_jobs: int) -> Generator[Any, None, None]:
    """`score(parse(raw))` of all raw blocks; an error comes where one process would have raised it.

    Processes are started as blocks come, and killed when the iterator is closed or exhausted.  They are in groups of
    their own, so that Ctrl-C reaches this process alone, which kills them.  If it is killed itself, they read the end
    of their input and exit too.
    """
    error: list[Exception] = []

    def until_error() -> Iterator[Any]:
        try:
            yield from raw_blocks
        except Exception as raised:  # the results of the blocks before it come first
            error.append(raised)

    blocks = until_error()
    first = list(itertools.islice(blocks, n_jobs))
    workers: list[_Worker] = []
    n_sent = 0
    try:
        # All are started before the first is sent anything, which it reads only after its imports.
        for _ in first:
            workers.append(_Worker())
        setup = pickle.dumps((score, parse))
        for n_sent, block in enumerate(itertools.chain(first, blocks), 1):
            round_number, k = divmod(n_sent - 1, len(workers))
            # A worker reads a second block while it scores the first.
            result = workers[k].receive() if round_number >= 2 else None
            workers[k].send(b"" if round_number else setup, block)
            if result is not None:
                yield result
        for number in range(max(0, n_sent - 2 * len(workers)), n_sent):
            yield workers[number % len(workers)].receive()
        if error:
            raise error[0]
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """A process that reads blocks and writes their results."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _START.format(path=sys.path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, process_group=0 if os.name == "posix" else None)

    def send(self, setup: bytes, block: Any) -> None:
        """Send a block, the first after the functions to apply."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(setup)
            self._process.stdin.write(pickle.dumps(block, protocol=5))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def receive(self) -> Any:
        """The result of the oldest block without one; its exception is raised."""
        assert self._process.stdout is not None
        try:
            result = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            raise self._ended() from None
        if isinstance(result, BaseException):
            raise result
        return result

    def _ended(self) -> OSError:
        code = self._process.wait()
        return OSError(f"a process of --jobs ended ({f'signal {-code}' if code < 0 else f'code {code}'}) before its "
                       "rows were predicted; if memory ran out, use fewer jobs")

    def kill(self) -> None:
        """Kill the process, which has nothing to save."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()


def serve() -> None:
    """Answer blocks from standard input until it ends; standard output is for results alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one kills it
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    score, parse = pickle.load(source)
    blocks: queue.Queue[list[Any]] = queue.Queue(1)
    threading.Thread(target=_read_ahead, args=(source, blocks), daemon=True).start()
    while block := blocks.get():
        try:
            result = pickle.dumps(score(parse(*block)), protocol=5)
        except Exception as error:
            result = pickle.dumps(error)
        try:
            sink.write(result)
            sink.flush()
        except BrokenPipeError:
            os._exit(1)  # nobody is left to read it


def _read_ahead(source: BinaryIO, blocks: "queue.Queue[list[Any]]") -> None:
    """Queue each block as a list of one, and an empty list at the end."""
    while True:
        try:
            block = [pickle.load(source)]
        except (EOFError, pickle.UnpicklingError):  # the sender is done, or was killed
            block = []
        blocks.put(block)
        if not block:
            return
