"""Files that are either whole or not there."""

import errno
import os
import stat
import threading
import time

import pytest

from rffkern._files.atomic_file import atomic_write, check_writable


def names(folder):
    return sorted(item.name for item in folder.iterdir())


def test_the_file_is_there_once_it_is_whole(tmp_path):
    with atomic_write(tmp_path / "f") as file:
        file.write(b"new")
        assert not (tmp_path / "f").exists()
    assert (tmp_path / "f").read_bytes() == b"new"
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_in_the_block_leaves_the_old_file(tmp_path, error):
    (tmp_path / "f").write_bytes(b"old")

    def write():
        with atomic_write(tmp_path / "f") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write()
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_a_failed_move_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"), atomic_write(tmp_path / "f") as file:
        file.write(b"new")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "nowhere" / "f"):
        pass
    assert names(tmp_path) == []


@pytest.fixture
def umask():
    """A umask of 0022 while a test runs."""
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o400])
def test_a_file_that_is_replaced_hands_on_its_permissions(tmp_path, umask, mode):
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(mode)
    before = (tmp_path / "f").stat()
    with atomic_write(tmp_path / "f") as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # from the first byte
        file.write(b"new")
    after = (tmp_path / "f").stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (mode, before.st_uid, before.st_gid)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_that_is_replaced_hands_on_its_owner(tmp_path):
    (tmp_path / "f").write_bytes(b"old")
    os.chown(tmp_path / "f", 1234, 5678)
    with atomic_write(tmp_path / "f") as file:
        file.write(b"new")
    assert ((tmp_path / "f").stat().st_uid, (tmp_path / "f").stat().st_gid) == (1234, 5678)


def test_another_group_gets_no_more_than_everybody(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(0o664)
    monkeypatch.setattr(os, "fchown", lambda *_: (_ for _ in ()).throw(PermissionError()))
    with atomic_write(tmp_path / "f"):
        pass
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644


def test_a_name_in_bytes(tmp_path):
    with atomic_write(os.fsencode(tmp_path / "f")) as file:
        file.write(b"new")
    assert (tmp_path / "f").read_bytes() == b"new"


def test_a_new_file_has_the_mode_of_the_umask(tmp_path, umask):
    with atomic_write(tmp_path / "f"):
        pass
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_through(tmp_path):
    os.mkfifo(tmp_path / "f")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "f").read_bytes()), daemon=True)
    reader.start()
    with atomic_write(tmp_path / "f") as file:
        file.write(b"new")
    reader.join()
    assert found == [b"new"]
    assert stat.S_ISFIFO((tmp_path / "f").stat().st_mode)
    assert names(tmp_path) == ["f"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_is_written_through(tmp_path):
    """By a link as well; the test would replace a link of its own, never the device."""
    (tmp_path / "link").symlink_to("/dev/full")
    try:
        with atomic_write(tmp_path / "link") as file:
            file.write(b"new")
    except OSError as error:
        assert error.errno == errno.ENOSPC  # noqa: PT017, only the device itself ends so
    else:
        pytest.fail("a full device took the bytes")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    assert names(tmp_path) == ["link"]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_a_file_that_is_open_already_is_written_through(tmp_path):
    """As /dev/stdout is, where the shell has it open for appending."""
    with open(tmp_path / "f", "ab") as log:
        log.write(b"old ")
        log.flush()
        with atomic_write(f"/dev/fd/{log.fileno()}") as file:
            file.write(b"new")
    assert (tmp_path / "f").read_bytes() == b"old new"


def test_links(tmp_path):
    """A link is followed, through other links, to a file that need not be there; the folder of that file is used."""
    (tmp_path / "far").mkdir()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("far/f")
    for content in (b"first", b"second"):
        with atomic_write(tmp_path / "a") as file:
            file.write(content)
            assert len(names(tmp_path / "far")) == 1 + (content == b"second")
        assert (tmp_path / "far" / "f").read_bytes() == content
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "b").is_symlink()
    assert names(tmp_path) == ["a", "b", "far"]


def test_what_killed_writers_left_is_removed(tmp_path):
    """Own files of the same name that are older than a day; nothing else."""
    stamp = "0123456789abcdef"
    old = [f".f.{stamp}.rffkern.tmp"]
    others = [f".g.{stamp}.rffkern.tmp", f".f.{stamp}.tmp", f"f.{stamp}.rffkern.tmp", ".f.short.rffkern.tmp",
              f".f.{stamp[::-1]}.rffkern.tmp"]
    for name in old + others:
        (tmp_path / name).write_bytes(b"half")
        if name != others[-1]:  # which may still be in use
            os.utime(tmp_path / name, (time.time() - 90_000,) * 2)
    (tmp_path / f".f.{'1' * 16}.rffkern.tmp").mkdir()
    os.utime(tmp_path / f".f.{'1' * 16}.rffkern.tmp", (0, 0))
    with atomic_write(tmp_path / "f"):
        pass
    assert names(tmp_path) == sorted(["f", f".f.{'1' * 16}.rffkern.tmp", *others])


def test_the_longest_name(tmp_path):
    name = "x" * 255
    with atomic_write(tmp_path / name) as file:
        file.write(b"new")
    assert names(tmp_path) == [name]


def test_names_that_cannot_be_written_are_known_before(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "round").symlink_to("round")
    for name, number in (("x" * 256, errno.ENAMETOOLONG), ("file/f", errno.ENOTDIR), ("nowhere/f", errno.ENOENT),
                         (".", errno.EISDIR), ("new/", errno.EISDIR), ("round", errno.ELOOP)):
        with pytest.raises(OSError, match=r"\S") as caught:
            check_writable(f"{tmp_path}/{name}")
        assert caught.value.errno == number, name
    with pytest.raises(FileNotFoundError, match="the folder of the output does not exist"):
        check_writable("")
    with pytest.raises(IsADirectoryError, match=os.strerror(errno.EISDIR)):
        check_writable(str(tmp_path))
    for name in ("file", "new", "x" * 255):
        check_writable(f"{tmp_path}/{name}")
    check_writable("/dev/null")
    assert names(tmp_path) == ["file", "round"]


def test_file_and_folder_reach_the_disk(tmp_path, monkeypatch):
    """The file before it is moved, the folder after."""
    steps, fsync, replace = [], os.fsync, os.replace

    def noted_fsync(handle):
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else os.fstat(handle).st_size)
        fsync(handle)

    def noted_replace(*names):
        steps.append("move")
        replace(*names)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with atomic_write(tmp_path / "f") as file:
        file.write(b"new")
    assert steps == [3, "move", "folder"]


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder of the output does not exist: .*nowhere/m\.npz'"), \
            atomic_write(str(tmp_path / "nowhere" / "m.npz")):
        pass
