"""`rffkern predict --jobs`: several processes with the result of one."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run
from helpers.processes import PATIENCE, started, wait_until

from rffkern._cli import jobs as jobs_module

pytestmark = pytest.mark.slow


@pytest.fixture
def big(folder, table):
    """A table of 5 blocks."""
    rows = [",".join(map(str, row)) for row in table[0].tolist()] * 120
    labels = table[1].tolist() * 120
    lines = [",".join([*COLUMNS, "answer"]), *(f"{row},{label}" for row, label in zip(rows, labels, strict=True))]
    (folder / "big.csv").write_text("\n".join(lines))
    np.save(folder / "big.npy", np.tile(table[0], (120, 1)))
    return lines


@pytest.mark.parametrize(("table_name", "options"), [
    ("big.csv", ("--proba", "--keep", "0")), ("big.csv", ("-o", "o.npy")), ("big.npy", ("--proba", "--keep", "0")),
    ("test.csv", ("-o", "o.npy")),
], ids=str)
def test_the_same_bytes_for_any_number(command, folder, big, table_name, options):
    target = () if table_name == "big.npy" else ("--target", "answer")
    results = []
    for n in (1, 3):
        done = command("predict", "m.npz", table_name, *options, *target, "--jobs", n)
        assert done[0] == 0
        results.append((done, (folder / "o.npy").read_bytes() if "-o" in options else b""))
    assert results[0] == results[1]
    assert ("accuracy on" in results[0][0][2]) == bool(target)


@pytest.mark.parametrize("line", [9_000, 30_001])
def test_a_bad_row_ends_as_with_one_process(command, folder, big, line):
    big[line] = "1,2,x,yes"
    (folder / "bad.csv").write_text("\n".join(big))
    expected = command("predict", "m.npz", "bad.csv")
    assert expected[0] == 65
    assert f"data row {line} (line {line + 1}), column 2 (depth)" in expected[2]
    assert command("predict", "m.npz", "bad.csv", "--jobs", "3") == expected


def test_a_damaged_file_ends_as_with_one_process(command, folder, big):
    import gzip

    packed = gzip.compress("\n".join(big).encode())
    (folder / "cut.csv.gz").write_bytes(packed[: 4 * len(packed) // 5])
    expected = command("predict", "m.npz", "cut.csv.gz")
    assert expected[0] == 65
    assert "rows before this block were written" in expected[2]
    assert command("predict", "m.npz", "cut.csv.gz", "--jobs", "2") == expected


def test_a_process_that_is_killed(command, folder, big, monkeypatch):
    sent = jobs_module._Worker.send

    def send_and_kill(worker, setup, part):
        sent(worker, setup, part)
        os.kill(worker._process.pid, signal.SIGKILL)

    monkeypatch.setattr(jobs_module._Worker, "send", send_and_kill)
    code, _, errors = command("predict", "m.npz", "big.csv", "-o", "o.csv", "--jobs", "2")
    assert code == 74
    assert "a process of --jobs ended (signal 9) before its rows were predicted" in errors
    assert not [item for item in folder.iterdir() if "o.csv" in item.name]


def test_processes_are_started_as_parts_come(command, folder, big, monkeypatch):
    started, made = [], jobs_module._Worker
    monkeypatch.setattr(jobs_module, "_Worker", lambda: started.append(0) or made())
    assert command("predict", "m.npz", "test.csv", "--jobs", "9")[0] == 0
    assert len(started) == 1
    assert command("predict", "m.npz", "big.csv", "-o", "o.csv", "--jobs", "9")[0] == 0
    assert len(started) == 1 + 5


def test_all_processes_are_gone_at_the_end(command, folder, big, monkeypatch):
    workers = []
    kill = jobs_module._Worker.kill
    monkeypatch.setattr(jobs_module._Worker, "kill", lambda worker: workers.append(worker) or kill(worker))
    assert command("predict", "m.npz", "big.csv", "-o", "o.csv", "--jobs", "3")[0] == 0
    assert [worker._process.returncode for worker in workers] == [-signal.SIGKILL] * 3


def children(pid):
    """Processes whose parent is a process."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(name))
        except OSError:  # it has just ended
            pass
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs Linux's account of processes")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_no_process_outlives_the_command(folder, big, number, code):
    """Also where the command has no time to end them."""
    os.mkfifo(folder / "pipe")
    command = [sys.executable, "-m", "rffkern", "predict", "m.npz", "pipe", "-o", "o.csv", "--jobs", "2"]
    with (started(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process,
          open(folder / "pipe", "w", encoding="utf-8") as pipe):  # which stays open: the command waits for more
        pipe.write("\n".join(big) + "\n")
        pipe.flush()
        assert wait_until(lambda: len(children(process.pid)) == 2)
        workers = children(process.pid)
        process.send_signal(getattr(signal, number))
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert wait_until(lambda: not any(map(is_alive, workers)))
    left = [item.name for item in folder.iterdir() if "o.csv" in item.name]
    assert len(left) == (number == "SIGKILL")  # the temporary file, which the next command would remove


def test_no_code_of_the_current_folder_is_run(folder, big):
    (folder / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    command = "import sys; sys.path.remove('')\nfrom rffkern._cli.main import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", command, "predict", "m.npz", "big.csv", "-o", "o.csv", "--jobs", "2"],
                          cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", ["0", "257", "-1", "two", "1.5", ""])
def test_numbers_of_jobs_that_make_no_sense(tmp_path, text):
    assert "expected a number from 1 to 256" in run("predict", "m.npz", "t.csv", f"--jobs={text}", cwd=tmp_path,
                                                    expect=2).stderr
