"""A small table, and a folder with it and a model trained on it."""

import io
import sys

import numpy as np
import pytest
from helpers.command_line import with_model, write_csv

from rffkern._cli.main import main


@pytest.fixture
def table(rng):
    """Rows of three columns and their labels."""
    X = rng.standard_normal((300, 3)).round(4)
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@pytest.fixture(scope="session")
def first_models():
    """Models of tables, both as the bytes of their files: most tests take the same."""
    return {}


@pytest.fixture
def folder(tmp_path, table, first_models):
    """A folder with train.csv, test.csv and a model trained on the first."""
    X, y = table
    write_csv(tmp_path / "train.csv", X[:200], y[:200])
    write_csv(tmp_path / "test.csv", X[200:], y[200:])
    rows, model = (tmp_path / "train.csv").read_bytes(), tmp_path / "m.npz"
    if rows in first_models:
        model.write_bytes(first_models[rows])
    else:
        assert main(with_model(["fit", tmp_path / "train.csv", "-o", model])) == 0
        first_models[rows] = model.read_bytes()
    return tmp_path


@pytest.fixture
def command(folder, capsysbinary, monkeypatch):
    """A function that runs `rffkern` in this process, in the folder; it gives (exit code, stdout, stderr)."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("rffkern._cli.main.discard", lambda stream: None)  # which would close pytest's own

    def run_here(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(with_model(arguments))
        except SystemExit as ended:  # which is how argparse ends
            code = ended.code
        out, errors = capsysbinary.readouterr()
        return code, out.decode(), errors.decode()

    return run_here
