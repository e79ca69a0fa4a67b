"""A database server for the tests of this folder."""

import pathlib
import tempfile

import pytest
from helpers.engines import lacking, postgresql


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    if lacking("postgresql"):
        pytest.skip(f"{', '.join(lacking('postgresql'))} not found")
    with tempfile.TemporaryDirectory() as name:  # whose path is short enough for a socket
        pathlib.Path(name).chmod(0o755)
        with postgresql(pathlib.Path(name, "server")) as run:
            yield run
