"""A small model, and files that are refused in Python and in C."""

import atexit
import functools
import tempfile

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
