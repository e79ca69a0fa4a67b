"""`rffkern demo`."""

import re

from helpers.command_line import run


def test_demo(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert "after 200 rounds" in done.stdout
    shown = [float(percent) for percent in re.findall(r"rounds: +([\d.]+) % right", done.stdout)]
    assert len(shown) == 4
    assert "No classifier can be right on more than 95 %" in done.stdout
    assert 85 < shown[-1] < 95
    assert shown[1] < shown[2] < shown[3]
    assert "model file 15 KiB" in done.stdout  # as the README says
    assert "loads back bit for bit" in done.stdout
    assert "rffkern fit" in done.stdout.split("Next")[1]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
