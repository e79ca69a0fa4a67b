"""Several processes that answer the parts of a table, whose answers come in the order of the parts."""

import collections
import contextlib
import itertools
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, Self

from .predict import Answer, Scorer
from .table import Reading

# The path is that of this process, so that the same packages are found, and none in the current folder.
_START = "import sys; sys.path[:] = {path!r}; from rffkern._cli.jobs import serve; serve()"


class Jobs:
    """Processes that are started as parts come, and are gone when the `with` block ends, however it ends.

    They are in groups of their own, so that Ctrl-C reaches this process alone, which ends them.  If it is killed, they
    find the end of their input and end too.
    """

    def __init__(self, n_jobs: int, scorer: Scorer) -> None:
        self._n_jobs, self._scorer = n_jobs, scorer
        self._workers: list[_Worker] = []

    def answers(self, reading: Reading) -> Iterator[Answer]:
        """Answers of all parts, in their order; an error comes in the place where one process would have raised it."""
        parts, raised = _until_an_error(reading.parts)
        some = list(itertools.islice(parts, self._n_jobs))
        # All start before the first is sent anything, which it takes only once it has loaded what it needs.
        self._workers += [_Worker() for _ in some]
        setup = pickle.dumps((self._scorer, reading.parse))
        for worker, part in zip(self._workers, some, strict=True):
            worker.send(setup, part)
        waiting = collections.deque(self._workers)  # of each part that is not answered yet
        free = collections.deque(self._workers)  # to read another part while they answer one
        for part in parts:
            answer = None
            if not free:
                free.append(waiting.popleft())
                answer = free[0].receive()
            free[0].send(b"", part)
            waiting.append(free.popleft())
            if answer is not None:
                yield answer
        for worker in waiting:
            yield worker.receive()
        if raised:
            raise raised[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()


def _until_an_error(parts: Iterator[Any]) -> tuple[Iterator[Any], list[Exception]]:
    """The parts that come before an error, and a list into which this is put: it waits for the answers of the parts."""
    raised: list[Exception] = []

    def those() -> Iterator[Any]:
        try:
            yield from parts
        except Exception as error:
            raised.append(error)

    return those(), raised


class _Worker:
    """A process that is sent a part and then sends its answer."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _START.format(path=sys.path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, process_group=0 if os.name == "posix" else None)

    def send(self, setup: bytes, part: Any) -> None:
        """Send a part, the first after what answers it; at most one of those before may be without an answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(setup)
            self._process.stdin.write(pickle.dumps(part, protocol=5))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def receive(self) -> Answer:
        """The answer of the part that was sent, or the exception that it raised."""
        assert self._process.stdout is not None
        try:
            answer = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            raise self._ended() from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _ended(self) -> OSError:
        code = self._process.wait()
        return OSError(f"one of the processes of --jobs ended ({f'signal {-code}' if code < 0 else f'code {code}'}) "
                       "before its rows were predicted; if the memory was full, take fewer jobs")

    def end(self) -> None:
        """Kill the process, which has nothing that would have to be kept."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()


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
