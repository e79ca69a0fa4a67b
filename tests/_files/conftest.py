"""A small model, its file, and what refuses other bytes."""

import functools

import pytest
from helpers.model_files import assert_refused, small_model

from rffkern import save
from rffkern._files.archive import decode


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.npz"
    save(model, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def parts(content):
    return decode(content)


@pytest.fixture
def refuse(tmp_path):
    """Assert that some bytes are refused as a model file."""
    return functools.partial(assert_refused, tmp_path / "bad.npz")
