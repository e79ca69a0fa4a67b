"""`rffkern demo`."""

from helpers.command_line import run


def test_demo(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert "after 200 rounds" in done.stdout
    assert "rffkern fit" in done.stdout.split("Next")[1]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
