"""Model files that a test makes, alters and has refused."""

import atexit
import functools
import hashlib
import io
import tempfile
import zipfile

import numpy as np
import pytest

from helpers.c_reader import SANITIZERS, CReader, build, compiler
from rffkern import FormatError, GBRFF2Classifier, load


def small_model():
    """A trained model of two classes and three columns."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    return GBRFF2Classifier(6, random_state=0).fit(X, np.where(X[:, 0] > 0, "b", "a"))


@functools.cache
def c_reader():
    """The reader in C under sanitizers, one for all tests of a process; None where nothing can build it."""
    if compiler() is None:
        return None
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return CReader(build(folder.name, SANITIZERS))


def assert_refused(path, data, match=None, *, in_c=True):
    """Assert that some bytes are refused as a model file, by a message that names the file, and unless told otherwise
    by the reader in C too.
    """
    path.write_bytes(data)
    with pytest.raises(FormatError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)
    if in_c and c_reader() is not None:
        assert not c_reader().accepts(data)


def sign(data):
    """Give altered bytes a right digest, as a hostile writer would."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def archive(members, *, compression=zipfile.ZIP_STORED, comment=b"sha256:" + b"0" * 64):
    """The bytes of an archive of some (name, data), with a right digest."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
        file.comment = comment
    return sign(buffer.getvalue())


def members_of(content):
    """Names and data of the members of an archive, in their order."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [(name, file.read(name)) for name in file.namelist()]
