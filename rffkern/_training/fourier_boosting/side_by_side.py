"""Members side by side on threads."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from .member import Member

# Seconds after which the main thread looks at signals while members are trained beside it, and seconds that it waits
# for them to end after one.  A thread ends after its round, which may take longer on many rows.
_LOOK, _FAREWELL = 0.1, 0.2

_Jobs = deque[tuple[int, Callable[[], Member]]]  # with their places
_Done = SimpleQueue[tuple[int, Member | BaseException]]  # what became of the jobs of these places


def in_threads(jobs: Sequence[Callable[[], Member]], n_threads: int, stop: threading.Event) -> list[Member]:
    """Results of the jobs, in their order.  Where one fails, or a signal comes, `stop` tells the others to end.

    On fewer threads where the system lets no more be started.
    """
    if n_threads == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    waiting, done, members = _Jobs(enumerate(jobs)), _Done(), dict[int, Member]()
    threads: list[threading.Thread] = []
    try:
        _start(partial(_work_off, waiting, done), n_threads, threads)
        if not threads:
            return [job() for job in jobs]
        while len(members) < len(jobs):
            members |= _those_done(done)
        return [members[k] for k in range(len(jobs))]
    except BaseException:
        stop.set()
        waiting.clear()
        latest = time.monotonic() + _FAREWELL
        for thread in threads:
            thread.join(max(0.0, latest - time.monotonic()))
        raise


def _start(work: Callable[[], None], n_threads: int, threads: list[threading.Thread]) -> None:
    """Start threads, and append those that could be."""
    for _ in range(n_threads):
        thread = threading.Thread(target=work)
        try:
            thread.start()
        except RuntimeError:
            return
        threads.append(thread)


def _those_done(done: _Done) -> dict[int, Member]:
    """The next result, or none where there is none for a while; raises where the job has."""
    try:
        place, found = done.get(timeout=_LOOK)
    except Empty:
        return {}
    if isinstance(found, BaseException):
        try:
            raise found
        finally:
            del found  # it knows of this frame
    return {place: found}


def _work_off(waiting: _Jobs, done: _Done) -> None:
    """Do jobs until none is left."""
    while True:
        try:
            place, job = waiting.popleft()
        except IndexError:
            return
        try:
            done.put((place, job()))
        except BaseException as error:
            done.put((place, error))
