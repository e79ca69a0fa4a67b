"""The command line as a whole: help, exit codes, pipes, closed streams, interrupts, and advice that is followed."""

import io
import os
import re
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run, shell, write_csv
from helpers.processes import PATIENCE, started, wait_until

import rffkern
from rffkern._cli import output
from rffkern._cli.output import printable, say


def test_help_and_version(tmp_path):
    for command in ((), ("fit",), ("predict",), ("info",), ("demo",)):
        text = run(*command, "--help", cwd=tmp_path).stdout
        assert text.startswith("usage: rffkern")
        assert "65 invalid data" in " ".join(text.split())
    assert run("--version", cwd=tmp_path).stdout.startswith("rffkern ")


@pytest.mark.parametrize("arguments", [("fit", "bad.csv", "-o", "new.npz", "--columns", "none"),
                                       ("predict", "m.npz", "bad.csv", "-o", "new.csv", "--target", "answer")])
def test_a_bad_cell_leaves_one_line_and_no_file(folder, arguments):
    lines = (folder / "train.csv").read_text().splitlines()
    (folder / "bad.csv").write_text("\n".join([*lines[:6], "1,x,3,yes", *lines[7:]]))
    done = run(*arguments, cwd=folder, expect=65)
    assert "bad.csv: data row 6 (line 7), column 1 (width): expected a finite number, got 'x'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [item for item in folder.iterdir() if "new" in item.name]


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
    assert done.stderr == "rffkern: error: no/such/folder/m.npz: the folder of the output does not exist " \
        "[rffkern help E74]\n"
    before = (folder / "train.csv").read_bytes()
    assert "must not be an input" in run("fit", "train.csv", "-o", "./train.csv", cwd=folder, expect=2).stderr
    assert (folder / "train.csv").read_bytes() == before
    for arguments in (("--threads", "0"), ("--threads", "9999"), ("--delimiter", ""), ("--delimiter", "ab")):
        run("predict", "m.npz", "test.csv", *arguments, cwd=folder, expect=2)


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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_tables_from_pipes(folder):
    expected = run("predict", "m.npz", "test.csv", cwd=folder).stdout
    for line in ("cat test.csv | rffkern predict m.npz /dev/stdin", "rffkern predict m.npz <(cat test.csv)",
                 "rffkern predict m.npz /dev/stdin < test.csv"):
        assert shell(line, folder).stdout == expected
    assert shell("rffkern fit <(cat train.csv) -o p.npz --model gbrff2", folder).stdout == ""
    assert (folder / "p.npz").read_bytes() == (folder / "m.npz").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_arrays_from_pipes(folder, table):
    np.save(folder / "X.npy", table[0])
    os.mkfifo(folder / "pipe.npy")
    done = shell("cat X.npy > pipe.npy & rffkern predict m.npz pipe.npy", folder)
    assert done.stdout == run("predict", "m.npz", "X.npy", cwd=folder).stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_closed_streams(folder):
    for line in ("rffkern info m.npz >&-", "rffkern predict m.npz test.csv >&-", "rffkern --help >&-"):
        assert shell(line, folder, expect=74).stderr == ("rffkern: error: input or output failed: Bad file descriptor "
                                                         "[rffkern help E74]\n")
    for closed in (">&- 2>&-", "2> /dev/full"):
        shell(f"rffkern fit train.csv -o c.npz --model gbrff2 {closed}", folder)
        assert (folder / "c.npz").read_bytes() == (folder / "m.npz").read_bytes()
        (folder / "c.npz").unlink()
    shell("rffkern fit nowhere.csv -o c.npz 2>&-", folder, expect=66)
    shell("set -o pipefail; rffkern fit nowhere.csv -o c.npz 2>&1 >/dev/null | sleep 0", folder, expect=66)
    shell("rffkern info m.npz 0>&- >&-", folder, expect=74)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_bad_row_after_rows_that_are_written(folder, table):
    rows = "\n".join(",".join(map(str, row)) for row in table[0].tolist())
    (folder / "big.csv").write_text("length,width,depth\n" + f"{rows}\n" * 60 + "1,2,x\n")
    done = run("predict", "m.npz", "big.csv", cwd=folder, expect=65)
    assert done.stderr == ("rffkern: error: big.csv: data row 18001 (line 18002), column 2 (depth): expected a "
                           "finite number, got 'x': correct it, or skip such rows with --reject FILE; "
                           "the predictions of the 16384 rows before this block were written "
                           "[rffkern help E65]\n")
    assert len(done.stdout.splitlines()) == 16385
    assert "were written" not in run("predict", "m.npz", "big.csv", "-o", "o.csv", cwd=folder, expect=65).stderr
    assert not (folder / "o.csv").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_outputs_that_cannot_be_written_fail_before_training(folder):
    """A table that would be refused later shows that no row has been read."""
    (folder / "bad.csv").write_text("a,b\nx,y\n")
    for name, message in (("x" * 256, "File name too long"), ("m.npz/n.npz", "Not a directory"),
                          (".", "Is a directory"), ("new/", "Is a directory")):
        done = run("fit", "bad.csv", "-o", name, cwd=folder, expect=74)
        assert done.stderr == f"rffkern: error: {name}: {message} [rffkern help E74]\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_escapes_in_a_file_do_not_reach_the_terminal(folder, rng):
    X = rng.standard_normal((60, 1))
    labels = np.where(X[:, 0] > 0, "re\nd", "b\tlue")  # other control characters are refused when a model is saved
    rffkern.save(rffkern.GBRFF2Classifier(3, random_state=0).fit(X, labels), folder / "e.npz")
    shown = run("info", "e.npz", cwd=folder).stdout
    assert "classes        b\\tlue, re\\nd" in shown
    (folder / "e.csv").write_text("\x1b[31ma,b\n1,2\nx,3\n")
    assert "\x1b" not in run("fit", "e.csv", "-o", "n.npz", cwd=folder, expect=65).stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_printable():
    assert printable("é, ü 1") == "é, ü 1"
    assert printable("\x1b[0m\n\u202e\ud800") == "\\x1b[0m\\n\\u202e\\ud800"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_remark_that_nobody_reads(monkeypatch):
    class Broken(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    abandoned = []
    stream = Broken()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "discard", abandoned.append)
    say("done")
    assert abandoned == [stream]


FEW = ("--model", "fourier_boosting", "--set", "n_estimators=3", "--set", "kernel_ridge=false")
AUTO = ("--model", "auto", "--set", "n_estimators=3", "--set", "kernel_ridge=false")


@pytest.fixture
def small_table():
    X = np.random.default_rng(0).standard_normal((80, 3)).round(3)
    return X, np.where(X[:, 0] > 0, "yes", "no")


def said(folder, *arguments, expect=0):
    return run(*arguments, cwd=folder, expect=expect).stderr


@pytest.mark.parametrize("place", [0, 1, 4])
def test_columns_are_counted_as_options_count_them(tmp_path, small_table, place):
    """Also where the target stands before the columns that are learned from."""
    X, y = small_table
    columns = [np.arange(80), *X.T]
    columns.insert(place, (y == "yes").astype(int))
    write_csv(tmp_path / "t.csv", np.column_stack(columns), header=None)
    fit = ("fit", "t.csv", "-o", "m.npz", *AUTO, *(("--target", str(place)) if place < 4 else ()))
    errors = said(tmp_path, *fit)
    assert f"target column {place} (the first is 0) has 2 distinct numbers: classification" in errors
    index = re.search(r"has a different number in each row, like an identifier; .* pass --drop '(\d+)'", errors)[1]
    errors = said(tmp_path, *fit, "--drop", index)
    assert "trained FourierBoostingClassifier on 80 rows of 3 columns" in errors
    assert "like an identifier" not in errors


def test_numbers_that_can_be_classes_are_offered_as_such(tmp_path, small_table):
    X, _ = small_table
    for y, offered in ((X[:, 0], False), (np.arange(80) % 40, True)):
        write_csv(tmp_path / "t.csv", X, y)
        errors = said(tmp_path, "fit", "t.csv", "-o", "m.npz", *AUTO)
        assert "distinct numbers: regression" in errors
        assert ("for classification, pass --model fourier_boosting" in errors) == offered
    assert "trained FourierBoostingClassifier" in said(tmp_path, "fit", "t.csv", "-o", "m.npz", *FEW)


@pytest.mark.parametrize(("name", "advised"), [("x.pkl", "x.npz"), ("m.npz", None), ("model", None)])
def test_a_model_file_is_named_for_what_it_is(tmp_path, small_table, name, advised):
    write_csv(tmp_path / "t.csv", *small_table)
    errors = said(tmp_path, "fit", "t.csv", "-o", name, *FEW)
    told = f"{name}: model files are .npz archives; a better name is {advised}\n"
    assert errors.startswith(told) if advised else ".npz archive" not in errors
    assert run("predict", name, "t.csv", cwd=tmp_path).stdout.startswith("prediction\n")
