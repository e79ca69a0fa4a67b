"""Processes of tests: waited for as long as the whole suite may take, and ended with the test that started them."""

import contextlib
import os
import signal
import subprocess
import time

PATIENCE = 3600  # seconds; only what never ends takes longer, also on a machine that is busy with other work


@contextlib.contextmanager
def started(command, **options):
    """A process that is killed, with those it has started, if the test ends before it.

    A test run in the background of a shell ignores SIGINT; the process does not.
    """
    if os.name == "posix":
        options |= {"start_new_session": True, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen([*map(str, command)], **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()


def wait_until(condition):
    """Whether a condition comes true, which is asked for again and again."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found
