"""The command line as a whole: help, exit codes, faults in the data, interrupts and full disks."""

import os
import signal
import subprocess
import sys

import pytest
from helpers.command_line import COLUMNS, run
from helpers.processes import PATIENCE, started, wait_until


def test_help_and_version(tmp_path):
    for command in ((), ("fit",), ("predict",), ("info",), ("demo",)):
        assert run(*command, "--help", cwd=tmp_path).stdout.startswith("usage: rffkern")
    assert run("--version", cwd=tmp_path).stdout.startswith("rffkern ")


@pytest.mark.slow
@pytest.mark.parametrize(("line", "message"), [
    ("1,x,3,yes", "bad.csv: data row 6 (line 7), column 1 (width): expected a finite number, got 'x'"),
    ("1,,3,yes", "bad.csv: data row 6 (line 7), column 1 (width): expected a finite number, got ''"),
    ("1,2,nan,yes", "bad.csv: data row 6 (line 7), column 2 (depth): expected a finite number, got 'nan'"),
    ("inf,2,3,yes", "bad.csv: data row 6 (line 7), column 0 (length): expected a finite number, got 'inf'"),
    ("1,2,yes", "bad.csv: data row 6 (line 7): expected 4 columns, got 3"),
    ("1,2,3,4,yes", "bad.csv: data row 6 (line 7): expected 4 columns, got 5"),
    ('1,2,3,"yes', "bad.csv: data row 6 (line 7): a quoted cell is not closed"),
])
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_bad_cells_are_located(folder, command, line, message):
    lines = (folder / "train.csv").read_text().splitlines()
    lines[6] = line
    (folder / "bad.csv").write_text("\n".join(lines))
    arguments = ("fit", "bad.csv", "-o", "new.npz", "--columns", "none") if command == "fit" else (
        "predict", "m.npz", "bad.csv", "-o", "new.csv", "--target", "answer")
    done = run(*arguments, cwd=folder, expect=65)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [item for item in folder.iterdir() if "new" in item.name], "nothing half written is left"


def test_exit_codes(folder):
    assert run(cwd=folder, expect=2).stdout == ""
    run("fit", "train.csv", cwd=folder, expect=2)
    run("fit", "train.csv", "-o", "n.npz", "--model", "nothing", cwd=folder, expect=2)
    for setting in ("n_estimators=0", "n_estimators", "colour=1", "gamma=[1]"):
        assert "error" in run("fit", "train.csv", "-o", "n.npz", "--set", setting, cwd=folder, expect=2).stderr
    run("fit", "train.csv", "-o", "n.npz", "--holdout", "1.5", cwd=folder, expect=2)
    run("predict", "m.npz", "test.csv", "-o", "out.txt", cwd=folder, expect=2)
    assert "nowhere.csv" in run("fit", "nowhere.csv", "-o", "n.npz", cwd=folder, expect=66).stderr
    run("predict", "nowhere.npz", "test.csv", cwd=folder, expect=66)
    run("info", "nowhere.npz", cwd=folder, expect=66)
    (folder / "broken.npz").write_bytes((folder / "m.npz").read_bytes()[:-5])
    assert "damaged" in run("info", "broken.npz", cwd=folder, expect=65).stderr
    done = run("fit", "train.csv", "-o", "no/such/folder/m.npz", cwd=folder, expect=74)
    assert done.stderr == "rffkern: error: no/such/folder/m.npz: the folder of the output does not exist\n"
    before = (folder / "train.csv").read_bytes()
    assert "must not be an input" in run("fit", "train.csv", "-o", "./train.csv", cwd=folder, expect=2).stderr
    assert (folder / "train.csv").read_bytes() == before
    for arguments in (("--threads", "0"), ("--threads", "9999"), ("--delimiter", ""), ("--delimiter", "ab")):
        run("predict", "m.npz", "test.csv", *arguments, cwd=folder, expect=2)
    for target in ("\u00b2", "--1", "9"):
        assert "no column" in run("fit", "train.csv", "-o", "n.npz", f"--target={target}", cwd=folder, expect=65).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(folder, table):
    """A bar is drawn and taken away, also where the scoring ends in an error."""
    import pty

    text = "\n".join(",".join(map(str, row)) for row in table[0].tolist()) + "\n"
    (folder / "big.csv").write_text(",".join(COLUMNS) + "\n" + text * 600 + "1,2,x\n")
    control, terminal = pty.openpty()
    command = [sys.executable, "-m", "rffkern", "predict", "m.npz", "big.csv", "-o", "o.csv"]
    with started(command, cwd=folder, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        with open(control, "rb", buffering=0) as reader:
            try:
                while piece := reader.read(4096):
                    shown += piece
            except OSError:  # how Linux says that the other end is closed
                pass
        assert process.wait(PATIENCE) == 65
    drawn = shown.decode().split("\r")
    assert "scoring [" in drawn[1]  # the first block draws, however fast the machine
    assert "% " in drawn[1]
    assert drawn[-2].startswith("\x1b[Krffkern: error: big.csv: data row 180001 (line 180002)")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_interrupt_and_kill_leave_nothing_behind(folder, table, number, code):
    text = "\n".join(",".join(map(str, row)) for row in table[0].tolist()) + "\n"
    (folder / "big.csv").write_text(text * 4000)
    command = [sys.executable, "-m", "rffkern", "predict", "m.npz", "big.csv", "-o", "o.csv", "--header", "no"]
    with started(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: any(item.name.startswith(".o.csv") for item in folder.iterdir()))
        process.send_signal(getattr(signal, number))
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert not [item.name for item in folder.iterdir() if "o.csv" in item.name]


def test_a_full_disk_is_an_error(folder):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m rffkern info m.npz > /dev/full"], cwd=folder, env=env,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 74
    assert len(done.stderr.splitlines()) == 1
