"""Number of threads that a call may use."""

import math
import os
from contextlib import ExitStack

from .._native.simd import OWN_THREADS
from .._protocol.arguments import check_jobs

# Waking a thread takes some ten microseconds; each must have many times that to do.
ELEMENTS_PER_THREAD = 1 << 18

_CGROUP_V2 = "/sys/fs/cgroup/cpu.max"
_CGROUP_V1 = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"

_import_pid = os.getpid()

_chosen: int | None = None  # by `set_num_threads`


def _choose(n_jobs: int | None) -> None:
    global _chosen
    _chosen = n_jobs


def set_num_threads(n_jobs: int | None) -> ExitStack:
    """Set how many threads are used where `n_jobs` is None or -1.

    Parameters
    ----------
    n_jobs : int in [1, 1024], -1 or None
        The number, in this process and all of its threads; it is held to the CPUs that are there.  None or -1 for the
        CPUs that this process may use, which is also the number before any call.

    Returns
    -------
    context manager
        At the end of a `with` block the number is what it was before the call.

    Raises
    ------
    InvalidInputError
        If n_jobs is out of range.

    Examples
    --------
    >>> from rffkern import set_num_threads, show_config
    >>> with set_num_threads(1):
    ...     show_config("dicts")["threads"]
    1
    """
    at_end = ExitStack()
    at_end.callback(_choose, _chosen)
    _choose(check_jobs("n_jobs", n_jobs))
    return at_end


def _read_words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def _quota() -> int | None:
    """Number of CPUs that the quota of the container amounts to, rounded up, or None where there is no quota."""
    words = _read_words(_CGROUP_V2) or [word for path in _CGROUP_V1 for word in _read_words(path)]
    if len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words):
        return math.ceil(int(words[0]) / int(words[1]))
    return None


def machine_cpus() -> int:
    """Number of CPUs that are there for this process: the smaller of its CPU set and its container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(count, _quota() or count)


def available_cpus() -> int:
    """Number of CPUs to use where none is asked for: those that are there, or fewer where fewer are set.

    `set_num_threads` sets them, or else OMP_NUM_THREADS.
    """
    count = machine_cpus()
    if _chosen is not None:
        return min(count, _chosen)
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(count, int(limit)) if limit.isdigit() and int(limit) > 0 else count


def check_n_threads(n_jobs: int | None, n_elements: int) -> int:
    """Number of threads for a kernel over `n_elements` numbers.

    None and -1 mean the CPUs this process may use, and a number is held to those that are there: more threads are never
    faster.  The threads of an OpenMP library do not survive a fork, and a child would wait for them: it gets one there.
    """
    n_jobs = check_jobs("n_jobs", n_jobs)
    if n_elements < 2 * ELEMENTS_PER_THREAD or not (OWN_THREADS or os.getpid() == _import_pid):
        return 1
    wanted = available_cpus() if n_jobs is None else min(n_jobs, machine_cpus())
    return min(wanted, n_elements // ELEMENTS_PER_THREAD)
