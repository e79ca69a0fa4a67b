"""Forked children with limits, so that a crash, a hang or a greedy allocation ends a case and not the soak."""

import faulthandler
import os
import pickle
import resource
import select
import signal
import struct
import sys
import time
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """How a child ended: "done", "raised", "signal" or "time limit"."""

    how: str
    value: Any  # what the function returned, the text of the exception, or the number of the signal


def memory(name):
    """Bytes of this process by their name in /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{name}:"))


def reset_peak():
    """Set VmHWM back to VmRSS, and return it."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return memory("VmRSS")


def limit_memory(n_bytes):
    """Let this process take so many bytes of address space more."""
    limit = memory("VmSize") + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def in_child(function, seconds=None, n_bytes=None):
    """Call a function in a forked child, with limits of wall time and memory where they are given."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _run(function, writer, n_bytes)
    os.close(writer)
    message = _read(reader, None if seconds is None else time.monotonic() + seconds)
    os.close(reader)
    if message is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if message is None:
        return Ended("time limit", seconds)
    if os.WIFSIGNALED(status) or not message:
        return Ended("signal", os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status))
    return Ended(*pickle.loads(message))


def _run(function, writer, n_bytes):
    faulthandler.disable()  # the parent reports what happened
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        if n_bytes is not None:
            limit_memory(n_bytes)
        message = pickle.dumps(("done", function()))
    except BaseException as error:  # also SystemExit, which must not end the parent's work a second time
        message = pickle.dumps(("raised", f"{type(error).__name__}: {error}"))
    message = struct.pack("<q", len(message)) + message
    while message:
        message = message[os.write(writer, message) :]
    os._exit(0)


def _read(reader, deadline):
    """What a child has written before its end, b"" where that is not whole, or None where it takes too long."""
    content = bytearray()
    while True:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([reader], [], [], wait)
        if not ready:
            return None
        piece = os.read(reader, 1 << 16)
        content += piece
        if not piece:
            break
    whole = len(content) >= 8 and struct.unpack("<q", content[:8])[0] == len(content) - 8
    return bytes(content[8:]) if whole else b""
