"""Pipes, devices and closed streams, as a shell hands them to the command."""

import io
import os
import stat
import sys

import numpy as np
import pytest
from helpers.command_line import run, shell

import rffkern
from rffkern._cli import output
from rffkern._cli.output import printable, say

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")]


def test_tables_from_pipes(folder):
    expected = run("predict", "m.npz", "test.csv", cwd=folder).stdout
    for line in ("cat test.csv | rffkern predict m.npz /dev/stdin", "rffkern predict m.npz <(cat test.csv)",
                 "rffkern predict m.npz /dev/stdin < test.csv"):
        assert shell(line, folder).stdout == expected
    assert shell("rffkern fit <(cat train.csv) -o p.npz --model gbrff2", folder).stdout == ""
    assert (folder / "p.npz").read_bytes() == (folder / "m.npz").read_bytes()


def test_arrays_from_pipes(folder, table):
    np.save(folder / "X.npy", table[0])
    os.mkfifo(folder / "pipe.npy")
    done = shell("cat X.npy > pipe.npy & rffkern predict m.npz pipe.npy", folder)
    assert done.stdout == run("predict", "m.npz", "X.npy", cwd=folder).stdout


def test_output_into_pipes_and_devices(folder):
    expected = run("predict", "m.npz", "test.csv", cwd=folder).stdout
    shell("rffkern predict m.npz test.csv -o >(cat > got.csv; mv got.csv all.csv); while [ ! -e all.csv ]; do "
          "sleep 0.1; done", folder)
    assert (folder / "all.csv").read_text() == expected
    assert shell("rffkern predict m.npz test.csv -o /dev/stdout | cat", folder).stdout == expected
    shell("echo kept > log; rffkern predict m.npz test.csv -o /dev/stdout >> log", folder)
    assert (folder / "log").read_text() == "kept\n" + expected
    os.mkfifo(folder / "pipe")
    shell("cat pipe > copy.npz & rffkern fit train.csv -o pipe --model gbrff2; wait", folder)
    assert (folder / "copy.npz").read_bytes() == (folder / "m.npz").read_bytes()
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)
    os.mkfifo(folder / "pipe.npy")
    assert "is a pipe or a device" in shell("rffkern predict m.npz test.csv -o pipe.npy", folder, expect=2).stderr


def test_closed_streams(folder):
    for line in ("rffkern info m.npz >&-", "rffkern predict m.npz test.csv >&-", "rffkern --help >&-"):
        assert shell(line, folder, expect=74).stderr == "rffkern: error: input or output failed: Bad file descriptor\n"
    for closed in (">&- 2>&-", "2> /dev/full"):
        shell(f"rffkern fit train.csv -o c.npz --model gbrff2 {closed}", folder)
        assert (folder / "c.npz").read_bytes() == (folder / "m.npz").read_bytes()
        (folder / "c.npz").unlink()
    shell("rffkern fit nowhere.csv -o c.npz 2>&-", folder, expect=66)
    shell("set -o pipefail; rffkern fit nowhere.csv -o c.npz 2>&1 >/dev/null | sleep 0", folder, expect=66)
    shell("rffkern info m.npz 0>&- >&-", folder, expect=74)


def test_a_bad_row_after_rows_that_are_written(folder, table):
    rows = "\n".join(",".join(map(str, row)) for row in table[0].tolist())
    (folder / "big.csv").write_text("length,width,depth\n" + f"{rows}\n" * 60 + "1,2,x\n")
    done = run("predict", "m.npz", "big.csv", cwd=folder, expect=65)
    assert done.stderr == ("rffkern: error: big.csv: data row 18001 (line 18002), column 2 (depth): expected a "
                           "finite number, got 'x'; the predictions of the 16384 rows before this block were written\n")
    assert len(done.stdout.splitlines()) == 16385
    assert "were written" not in run("predict", "m.npz", "big.csv", "-o", "o.csv", cwd=folder, expect=65).stderr
    assert not (folder / "o.csv").exists()


def test_outputs_that_cannot_be_written_fail_before_training(folder):
    """A table that would be refused later shows that no row has been read."""
    (folder / "bad.csv").write_text("a,b\nx,y\n")
    for name, message in (("x" * 256, "File name too long"), ("m.npz/n.npz", "Not a directory"),
                          (".", "Is a directory"), ("new/", "Is a directory")):
        done = run("fit", "bad.csv", "-o", name, cwd=folder, expect=74)
        assert done.stderr == f"rffkern: error: {name}: {message}\n"


def test_escapes_in_a_file_do_not_reach_the_terminal(folder, rng):
    X = rng.standard_normal((60, 1))
    labels = np.where(X[:, 0] > 0, "re\nd", "b\tlue")  # other control characters are refused when a model is saved
    rffkern.save(rffkern.GBRFF2Classifier(3, random_state=0).fit(X, labels), folder / "e.npz")
    shown = run("info", "e.npz", cwd=folder).stdout
    assert "classes        b\\tlue, re\\nd" in shown
    (folder / "e.csv").write_text("\x1b[31ma,b\n1,2\nx,3\n")
    assert "\x1b" not in run("fit", "e.csv", "-o", "n.npz", cwd=folder, expect=65).stderr


def test_printable():
    assert printable("é, ü 1") == "é, ü 1"
    assert printable("\x1b[0m\n\u202e\ud800") == "\\x1b[0m\\n\\u202e\\ud800"


def test_a_remark_that_nobody_reads(monkeypatch):
    class Broken(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    abandoned = []
    stream = Broken()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "abandon", abandoned.append)
    say("done")
    assert abandoned == [stream]
