"""Files that are either whole or not there."""

import os
import stat

import pytest

from rffkern._system.atomic_file import atomic_write


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
