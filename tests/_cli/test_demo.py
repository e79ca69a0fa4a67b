"""`rffkern demo`."""

import re

import pytest
from helpers.command_line import run


@pytest.mark.slow  # the first command of the README runs it
def test_demo(tmp_path):
    done = run("demo", cwd=tmp_path)
    shown = [float(percent) for percent in re.findall(r"rounds: +([\d.]+) %", done.stdout)]
    assert len(shown) == 4
    assert shown == sorted(shown)
    assert "The best possible accuracy is 95 %" in done.stdout
    rows = re.findall(r"^(\w+) +([\d.]+) % .* (\d+) KiB$", done.stdout, flags=re.M)
    accuracies = {name: float(percent) for name, percent, _ in rows}
    assert accuracies["FourierBoostingClassifier"] == shown[-1] > 93  # what is recommended comes first
    assert 85 < accuracies["GBRFF2Classifier"] < 90
    assert {name: size for name, _, size in rows}["GBRFF2Classifier"] == "25"
    assert "give the same scores, bit for bit" in done.stdout
    assert "rffkern fit" in done.stdout.split("Next")[1]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
