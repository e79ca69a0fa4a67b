"""Partitions on the workers of a Dask cluster; only `rffkern.dask` loads this."""

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any

import dask
import distributed
import numpy as np
from dask.delayed import delayed
from distributed.comm.core import CommClosedError

from ..._estimator.monitor import report_progress
from ..._native import simd
from ..._version import __version__
from ...errors import InvalidInputError, TrainingStateError
from .partition import Partition, Request

# How long a cluster may have no worker, as when new machines start, or only idle ones, and how long a result may be on
# its way: as long as Dask waits for a silent worker.
SECONDS_WITHOUT_WORK = 300.0

# Queries in a row during which a worker may die.
_MOST_DEATHS = 10

# Arguments for each thread of a worker that are sent before results come.
_N_AHEAD = 3


def check_workers(client: Any) -> int:
    """The number of workers; refuse those whose results may differ: by another version or instruction set."""
    here, found = _versions(), client.run(_versions, on_error="return")
    for address, there in found.items():
        if isinstance(there, Exception) and not isinstance(there, OSError):
            raise InvalidInputError(f"client: the worker {address} must have rffkern {__version__}, got "
                                    f"{type(there).__name__}: {there}")
        for name, version in here.items():
            if isinstance(there, dict) and there[name] != version:  # a worker that has just died tells nothing
                raise InvalidInputError(f"client: the worker {address} has {name} {there[name]}, and this process "
                                        f"{version}; install one version everywhere"
                                        f"{', or set RFFKERN_SIMD to one level' if name == 'simd' else ''}")
    return len(found)


def _versions() -> dict[str, Any]:
    return {"rffkern": __version__, "numpy": np.__version__, "simd": simd.selected()}


@contextlib.contextmanager
def losses_named(client: Any, what: str) -> Iterator[None]:
    """Say in our words that workers were lost with each that had `what`, or that the scheduler was."""
    try:
        yield
    except distributed.KilledWorker as error:
        raise TrainingStateError(f"{what} was lost with each worker that held it: give workers more memory, or make "
                                 f"partitions smaller ({error})") from error
    except (CancelledError, CommClosedError, TimeoutError) as error:
        raise TrainingStateError(f"the scheduler {client.scheduler.address} was lost, and with it what its workers "
                                 f"held: start a cluster, and run this again ({type(error).__name__})") from error


def gather(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The results of futures; TrainingStateError where nothing happens for long, for which Dask waits without end."""
    wait: Any = distributed.wait
    limit, scheduler = SECONDS_WITHOUT_WORK, f"the scheduler {client.scheduler.address}"
    last, n_done = time.monotonic(), 0
    while True:
        try:
            with client.as_current():  # which `wait` asks
                wait(futures, timeout=min(5.0, limit))
            break
        except TimeoutError:
            if any(future.status == "error" for future in futures):
                break  # others may wait for workers that never come
            workers = client.sync(client.scheduler.identity)["workers"].values()
            counts = [worker["metrics"].get("task_counts", {}) for worker in workers]  # by the state of the tasks
            is_working = any(each.get(state) for each in counts for state in ("executing", "long-running", "flight"))
            n_before, n_done = n_done, sum(future.done() for future in futures)
            if is_working or n_done > n_before:
                last = time.monotonic()
            elif time.monotonic() - last > limit:
                raise TrainingStateError(
                    f"{scheduler} has had no worker for {limit} s: start some, and run this again" if not counts else
                    f"{scheduler} has {len(counts)} workers that have worked on nothing for {limit} s: give those "
                    "that are paused more memory, or start the cluster anew, and run this again") from None
    try:
        found: list[Any] = client.sync(lambda: client.gather(futures, asynchronous=True), callback_timeout=limit)
    except TimeoutError:
        raise TrainingStateError(f"{scheduler} has sent no results of workers for {limit} s: make partitions smaller, "
                                 "or start the cluster anew, and run this again") from None
    return found


def submit(client: Any, function: Any, *arguments: Any) -> Any:
    """A future of a call, whose arguments may be large: the scheduler keeps them, whatever workers are lost."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        return client.submit(function, *arguments, pure=False)


def map_on_workers(client: Any, function: Any, work: str, arguments: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    """The results of a function, in order; some arguments for each thread of a worker are on their way at once."""
    pending: deque[Any] = deque()
    n_done = 0
    try:
        for argument in itertools.chain(arguments, itertools.repeat(None)):
            if argument is not None:
                pending.append(submit(client, function, *argument))
                if len(pending) <= _N_AHEAD * sum(client.nthreads().values()):
                    continue
            if not pending:
                return
            found = gather(client, [pending[0]])[0]
            client.cancel([pending.popleft()])  # the frames of an exception that was caught may still refer to it
            yield found
            n_done += 1
            report_progress(work, n_done, None)
    finally:
        client.cancel(list(pending))


def solve_on_workers(client: Any, learners: Iterator[Any]) -> Iterator[Any]:
    """What `solve` of learners of kernel ridge regressions gives, in their order."""
    return map_on_workers(client, _solve, "regions", ((each,) for each in learners))


def _solve(learner: Any) -> Any:
    """The regression of a region, on a worker."""
    solver = learner.solver
    return learner._replace(solver=solver._replace(n_jobs=threads_of_worker(solver.n_jobs))).solve()


class DaskWorkers:
    """Partitions on the workers of a cluster."""

    def __init__(self, client: Any, pieces: Sequence[Any], what: str, has_labels: bool, n_threads: int | None) -> None:
        self._client, self._what = client, what
        self._futures: list[Any] = client.compute([
            delayed(_open_on_worker, pure=False)(number, what, has_labels, n_threads, *piece)
            for number, piece in enumerate(pieces)])
        self._n_deaths = 0  # queries in a row during which a worker has died

    def __len__(self) -> int:
        return len(self._futures)

    def run(self, request: Request, which: Sequence[int]) -> list[Any]:
        """The answers of some of the partitions, in their order; the scheduler opens those anew that were lost."""
        answers = self._run_on_workers(request, which)
        rest = [k for k in which if k not in answers]
        answers |= zip(rest, self._run_as_tasks(request, rest), strict=True)
        return [answers[k] for k in which]

    def _run_on_workers(self, request: Request, which: Sequence[int]) -> dict[int, Any]:
        """Answers of partitions that are in memory: one call of each worker, in a tenth of the time that tasks take.

        Tasks ask those that do not answer, because the scheduler can repeat a task elsewhere; what a partition had done
        of the request is not done twice.
        """
        holders = self._client.who_has([self._futures[k] for k in which])
        places: dict[str, dict[str, int]] = {}  # of the partitions of each worker, by their keys
        for k in which:
            for address in sorted(holders.get(self._futures[k].key, ()))[:1]:
                places.setdefault(address, {})[self._futures[k].key] = k
        if not places:
            return {}
        keys = {address: list(held) for address, held in places.items()}
        found = self._client.run(_answers, keys, request, workers=list(keys), on_error="return")
        self._n_deaths = self._n_deaths + 1 if any(isinstance(each, OSError) for each in found.values()) else 0
        if self._n_deaths > _MOST_DEATHS:
            raise TrainingStateError(f"workers have died during {self._n_deaths} queries in a row: give them more "
                                     "memory, or make partitions smaller")
        return {places[address][key]: answer for address, answers in found.items() if isinstance(answers, dict)
                for key, answer in answers.items()}

    def _run_as_tasks(self, request: Request, which: Sequence[int]) -> list[Any]:
        """Answers of partitions wherever they are, or are opened anew."""
        if not which:
            return []
        tasks = [self._client.submit(Partition.answer, self._futures[k], *request, pure=False) for k in which]
        try:
            return gather(self._client, tasks)
        except distributed.KilledWorker as error:
            died = [k for k, task in zip(which, tasks, strict=True) if task.status == "error"]
            with losses_named(self._client, f"partition {(died or which)[0]} of {self._what}X"):
                raise error
        finally:  # the frames of an exception that was caught may still refer to them
            self._client.cancel(tasks)

    def solve(self, learners: Iterator[Any]) -> Iterator[Any]:
        """What `solve` of learners gives, in their order, each on a worker."""
        return solve_on_workers(self._client, learners)

    @property
    def memory(self) -> float:
        """Bytes that this process may have."""
        return float(distributed.system.MEMORY_LIMIT)

    def close(self) -> None:
        """Release all partitions."""
        self._client.cancel(self._futures)


async def _answers(keys: Mapping[str, Sequence[str]], request: Request, dask_worker: Any) -> dict[str, Any]:
    """Answers of those partitions of these keys that a worker still holds, side by side on its threads."""
    loop, threads = asyncio.get_running_loop(), dask_worker.executors["default"]
    held = {key: dask_worker.data[key] for key in keys[dask_worker.address] if key in dask_worker.data}
    found = await asyncio.gather(*(loop.run_in_executor(threads, partition.answer, *request)
                                   for partition in held.values()))
    return dict(zip(held, found, strict=True))


def _open_on_worker(number: int, what: str, has_labels: bool, n_threads: int | None, *piece: Any) -> Partition:
    """A partition, opened on a worker, whose threads it uses where no number is given."""
    return Partition(number, what, has_labels, threads_of_worker(n_threads), *piece)


def threads_of_worker(n_threads: int | None) -> int:
    """Those of the worker that this runs on, where no number is given."""
    return int(distributed.get_worker().state.nthreads) if n_threads in (None, -1) else n_threads
