"""Files that are either whole or not there; pipes and devices, which cannot be that, are written through.

A symbolic link is followed: what it points to is written, and the link stays.
"""

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

_SUFFIX = ".rffkern.tmp"
_SECONDS_TO_KEEP = 86_400  # a temporary file that is older than a day is no longer being written
# Names of files that are open already: a new file in their place would not be what the opener reads.
_OPEN_FILES = ("/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/")


@contextlib.contextmanager
def atomic_write(path: str | bytes | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for binary writing; the file appears, or changes, once the block ends without an exception.

    A file that is replaced hands on its permissions and, where that is allowed, its owner.  A pipe or device is
    written through as it is.
    """
    path = os.fsdecode(path)
    if is_stream(path):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
            yield file
        return
    check_writable(path)  # whose error names the file, not the temporary one
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    _remove_abandoned(folder, name)
    temporary = os.path.join(folder, f".{_stem(name)}.{os.urandom(8).hex()}{_SUFFIX}")
    try:
        with open(temporary, "xb", opener=_opener(path)) as file:
            _hand_on_permissions(path, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def is_stream(path: str) -> bool:
    """Whether a name is that of a pipe or device, or of a file that is open already, such as /dev/stdout."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or os.path.abspath(path).startswith(_OPEN_FILES)


def check_writable(path: str) -> None:
    """Raise the OSError in which writing to `path` would end, as far as that can be known before."""
    if is_stream(path):
        _require(os.access(path, os.W_OK), errno.EACCES, path)
        return
    _require(not os.path.isdir(path) and path[-1:] not in ("/", os.sep), errno.EISDIR, path)
    with contextlib.suppress(FileNotFoundError):
        os.stat(path)  # a name that is too long, a file in the place of a folder, links in a circle
    folder = os.path.dirname(os.path.realpath(path))
    _require(path != "" and os.path.isdir(folder), errno.ENOENT, path, "the folder of the output does not exist")
    _require(os.access(folder, os.W_OK | os.X_OK), errno.EACCES, path, "cannot write to the folder of the output")


def _require(condition: bool, number: int, path: str, text: str = "") -> None:
    if not condition:
        raise OSError(number, text or os.strerror(number), path)


def _opener(path: str) -> Callable[[str, int], int]:
    """Open a new file so that nobody else can read it, if it is to replace one that may be private."""
    private = os.path.exists(path)
    return lambda name, flags: os.open(name, flags, 0o600 if private else 0o666)


def _hand_on_permissions(path: str, handle: int) -> None:
    """Give a new file the permissions and the owner of the file that it will replace."""
    if not hasattr(os, "fchown"):
        return
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    with contextlib.suppress(OSError):  # only root may give a file away
        os.fchown(handle, old.st_uid, -1)
    try:
        os.fchown(handle, -1, old.st_gid)
    except OSError:
        mode &= ~0o070 | (mode & 0o007) << 3  # another group gets no more than everybody has
    os.fchmod(handle, mode)


def _stem(name: str) -> str:
    """What stands for a name in its temporary files, short enough for any file system that takes the name."""
    encoded = os.fsencode(name)
    if len(encoded) <= 200:
        return name
    import hashlib  # slow to load, and seldom needed

    return hashlib.sha256(encoded).hexdigest()


def _remove_abandoned(folder: str, name: str) -> None:
    """Remove temporary files that writers of this name left when they were killed: our own, older than a day."""
    pattern = re.compile(re.escape(f".{_stem(name)}.") + "[0-9a-f]{16}" + re.escape(_SUFFIX))
    user = os.geteuid() if hasattr(os, "geteuid") else None
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and user in (None, status.st_uid) \
                        and time.time() - status.st_mtime > _SECONDS_TO_KEEP:
                    with contextlib.suppress(OSError):
                        os.unlink(entry.path)


def _sync_folder(folder: str) -> None:
    """Write the new name to the disk too, so that it survives a power cut; not every system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
