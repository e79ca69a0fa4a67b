"""What the package says of itself."""

import os
import subprocess
import sys

import pytest

from rffkern import InvalidInputError, show_config
from rffkern._native import simd


def test_show_config(capsys):
    config = show_config("dicts")
    assert config["simd"] == simd.selected()
    assert config["openmp"] is simd.HAS_OPENMP
    assert config["own_threads"] is simd.OWN_THREADS
    assert config["threads"] >= 1
    assert show_config() is None
    assert config["rffkern"] in capsys.readouterr().out
    with pytest.raises(InvalidInputError, match="mode must be one of 'stdout', 'dicts', got 'json'"):
        show_config("json")


@pytest.mark.parametrize("level", simd.LEVELS)
def test_the_level_that_the_environment_chooses(tmp_path, level):
    done = subprocess.run([sys.executable, "-c", "import rffkern; rffkern.show_config()"], cwd=tmp_path,
                          env=os.environ | {"RFFKERN_SIMD": level}, capture_output=True, text=True, check=False)
    assert f"instruction set: {level} " in done.stdout
