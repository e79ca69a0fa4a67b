"""Several processes that answer the parts of a table, whose answers come in the order of the parts."""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Self

from .answers import Answer, Scorer
from .table import Reading

# The path is that of this process, so that the same packages are found, and none in the current folder.
_START = "import sys; sys.path[:] = {path!r}; from rffkern._cli.worker import serve; serve()"


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
        setup = pickle.dumps((self._scorer, reading.parse))
        n_parts, error = 0, None
        parts = iter(reading.parts)
        while True:
            try:
                part = next(parts)
            except StopIteration:
                break
            except Exception as raised:  # which has to wait for the answers of the parts before
                error = raised
                break
            k = n_parts % self._n_jobs
            if n_parts < self._n_jobs:
                self._workers.append(_Worker(setup))
            else:
                yield self._workers[k].receive()
            self._workers[k].send(part)
            n_parts += 1
        for i in range(max(0, n_parts - self._n_jobs), n_parts):
            yield self._workers[i % self._n_jobs].receive()
        if error is not None:
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process that is sent a part and then sends its answer."""

    def __init__(self, setup: bytes) -> None:
        command = [sys.executable, "-P", "-c", _START.format(path=sys.path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, process_group=0 if os.name == "posix" else None)
        self._write(setup)

    def send(self, part: Any) -> None:
        """Send a part; the answer of the one before must have been received."""
        self._write(pickle.dumps(part, protocol=5))

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
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
