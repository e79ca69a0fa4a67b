"""The installed sources as a library of this process, compiled once."""

import ctypes
import pathlib

import pytest
from helpers.c_reader import STRICT, build

import rffkern


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    built = build(tmp_path_factory.mktemp("library"), ("-shared", "-fPIC", *STRICT, "-Wno-unknown-pragmas"),
                  pathlib.Path(rffkern.get_include(), "rffscore.c"))
    found = ctypes.CDLL(str(built))
    found.rff_error_text.restype = found.rff_feature_name.restype = ctypes.c_char_p
    found.rff_free.restype = None
    return found
