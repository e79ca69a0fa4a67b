"""Models in bytes and in open files: whole ones, pipes, and files that take or give some bytes at a time."""

import io
import os
import tempfile
import threading
from functools import partial

import numpy as np
import pytest
from helpers.expansions import fourier_expansion
from helpers.families import X, answers

from rffkern import FormatError, InvalidInputError, NotFittedError, dumps, load, loads, save
from rffkern.errors import InvalidTypeError


class Slow(io.RawIOBase):
    """A raw file that takes and gives a few bytes at a time."""

    def __init__(self, content=b""):
        self.content, self.at = bytearray(content), 0

    def readable(self):
        return True

    def writable(self):
        return True

    def write(self, data):
        self.content += bytes(data[:97])
        return min(len(data), 97)

    def read(self, size=-1):
        self.at += 89
        return bytes(self.content[self.at - 89 : self.at])


class Uncounted:
    """An object that has `write` alone, and does not say how much it took."""

    def __init__(self):
        self.content = b""

    def write(self, data):
        self.content += data


def same(loaded, model):
    return (answers(loaded, X[:, :3]) == answers(model, X[:, :3])).all() and dumps(loaded) == dumps(model)


def test_bytes(model, content, tmp_path):
    assert type(content) is bytes
    for form in (bytes, bytearray, memoryview):
        assert same(loads(form(content)), model)
    save(model, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == content
    (tmp_path / "m").write_bytes(content)
    assert same(load(tmp_path / "m"), model)


def test_open_files(model, content, tmp_path):
    paths = iter([tmp_path / "a", tmp_path / "b"])
    for opened in (io.BytesIO, lambda: next(paths).open("w+b"), lambda: next(paths).open("w+b", buffering=0),
                   partial(tempfile.SpooledTemporaryFile, 16)):
        with opened() as file:
            file.write(b"before")
            save(model, file)
            assert not file.closed
            file.seek(6)
            assert file.read() == content
            file.seek(6)
            assert same(load(file), model)
            assert not file.closed


def test_some_bytes_at_a_time(model, content):
    slow, uncounted = Slow(), Uncounted()
    save(model, slow)
    save(model, uncounted)
    assert bytes(slow.content) == uncounted.content == content
    assert same(load(Slow(content)), model)


def test_large_models_through_pipes():
    """Which cannot seek, and hold less at a time than such a model has."""
    omegas = np.random.default_rng(0).standard_normal((9000, 9))  # which no lower precision holds
    expansion = fourier_expansion(omegas, np.zeros(9000), np.ones((9000, 1)), [0.0], np.zeros(9))
    assert len(dumps(expansion)) > 1 << 19
    reading, writing = os.pipe()
    with open(reading, "rb") as source:
        def write():
            with open(writing, "wb", buffering=0) as target:
                save(expansion, target)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        assert load(source).n_terms == 9000
        thread.join()


def test_what_is_too_large_is_refused_before_it_is_read(content):
    slow = Slow(content * 50)
    with pytest.raises(FormatError, match=r"Slow: larger than max_bytes = 1000$"):
        load(slow, max_bytes=1000)
    assert slow.at < 1200
    assert load(Slow(content), max_bytes=len(content)) is not None
    for wrong in (-1, "many", 1.5, None):
        with pytest.raises(InvalidInputError, match="max_bytes must be an integer >= 0"):
            load(io.BytesIO(content), max_bytes=wrong)


@pytest.mark.parametrize("wrong", [io.StringIO("text"), io.StringIO()])
def test_text_files_are_refused(model, wrong):
    with pytest.raises(InvalidTypeError, match="path must be a file opened in binary mode"):
        load(wrong)
    with pytest.raises(InvalidTypeError, match="path must be a file opened in binary mode"):
        save(model, wrong)


def test_files_that_do_not_wait(model, content):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    with open(reading, "rb", buffering=0) as source, open(writing, "wb", buffering=0) as target:
        with pytest.raises(BlockingIOError, match="nothing to read yet"):
            load(source)
        while target.write(b"." * 4096):
            pass
        with pytest.raises(BlockingIOError, match=f"took 0 of {len(content)} bytes"):
            save(model, target)


def test_damage_is_told_with_the_name_of_the_file(content, tmp_path):
    damaged = content[:500] + b"!" + content[501:]
    with pytest.raises(FormatError, match=r"^damaged: the checksum differs"):
        loads(damaged)
    with pytest.raises(FormatError, match=r"^BytesIO: damaged"):
        load(io.BytesIO(damaged))
    (tmp_path / "m").write_bytes(damaged)
    with open(tmp_path / "m", "rb") as file, pytest.raises(FormatError) as caught:
        load(file)
    assert str(caught.value).startswith(str(tmp_path / "m"))
    for n in (0, 3, len(content) - 1):
        with pytest.raises(FormatError):
            loads(content[:n])
    with pytest.raises(FormatError):
        loads(content + b".")


@pytest.mark.parametrize("wrong", ["text", 3, None, ["list"]])
def test_what_is_no_bytes_is_refused(wrong):
    with pytest.raises(InvalidTypeError, match="content must be the bytes of a model"):
        loads(wrong)


def test_nothing_is_written_of_what_is_no_model(model):
    file = io.BytesIO()
    with pytest.raises(NotFittedError):
        save(type(model)(), file)
    with pytest.raises(InvalidInputError, match="model must be"):
        save({}, file)
    assert file.getvalue() == b""
    with pytest.raises(InvalidInputError, match="model must be"):
        dumps({})
