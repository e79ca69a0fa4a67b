"""The progress bar, by a false clock and a false terminal; and the file of rejected rows."""

import csv
import io
import sys
import time

import numpy as np
import pytest
from helpers.command_line import write_csv

from rffkern import load
from rffkern._cli.output import Progress


class Stream(io.StringIO):
    """Text that may be a terminal's."""

    def __init__(self, is_terminal):
        super().__init__()
        self.isatty = lambda: is_terminal


def terminal(monkeypatch):
    """What is written to a false terminal."""
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.fixture
def clock(monkeypatch):
    """A list whose one entry is the time."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_it_is_drawn_ten_times_a_second(monkeypatch, clock):
    """The first and the last update draw, and between them those a tenth of a second later."""
    stream = terminal(monkeypatch)
    with Progress("scoring", 100) as bar:
        for done in range(1, 101):
            clock[0] = done / 32
            bar.update(done)
    drawn = stream.getvalue().split("\r")[1:-1]
    assert [piece.split("]")[1].split("%")[0].strip() for piece in drawn][:3] == ["1", "5", "9"]
    assert len(drawn) == 26
    assert "100 %" in drawn[-1]


def test_a_line(monkeypatch, clock):
    stream = terminal(monkeypatch)
    with Progress("training", 8) as bar:
        clock[0] = 3.0
        bar.update(2, note="train loss 0.5")
    assert stream.getvalue() == ("\rtraining [######                  ]  25 %     9 s left  train loss 0.5\x1b[K"
                                 "\r\x1b[K")


def test_nothing_is_drawn_elsewhere(monkeypatch):
    stream = Stream(False)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("scoring", 10) as bar:
        bar.update(10)
    assert stream.getvalue() == ""


def test_an_empty_table_and_more_than_all(monkeypatch, clock):
    stream = terminal(monkeypatch)
    with Progress("scoring", 0) as bar:
        bar.update(0)
        bar.update(5)
    assert stream.getvalue().count("100 %") == 1


def test_a_total_that_nobody_knows(monkeypatch, clock):
    stream = terminal(monkeypatch)
    with Progress("scoring", None) as bar:
        clock[0] = 3.0
        bar.update(100, note="7 rows")
        bar.update(200, note="8 rows")  # not yet a tenth of a second later
    assert stream.getvalue() == "\rscoring    3 s  7 rows\x1b[K\r\x1b[K"


def test_other_work_before(monkeypatch, clock):
    """It has a bar of its own, also where the same work comes again, and no part in the time that rounds take."""
    stream = terminal(monkeypatch)
    with Progress("training", 10) as bar:
        for seconds, done in ((2.0, 1), (4.0, 2), (8.0, 4), (10.0, 1), (11.0, 2)):
            clock[0] = seconds
            bar.show("length scales", done, 4, "")
        clock[0] = 12.0
        bar.update(1)
    drawn = [piece.removesuffix("\x1b[K").rstrip() for piece in stream.getvalue().split("\r")[1:-1]]
    assert [line.split("]")[1] for line in drawn] == [
        "  25 %     0 s left", "  50 %     2 s left", " 100 %     0 s left",
        "  25 %     0 s left", "  50 %     1 s left", "  10 %     9 s left"]
    assert [line.split(" [")[0] for line in drawn] == ["length scales"] * 5 + ["training"]


BAD = {5: "1,x,3,yes", 17: "1,2", 18: '1,"2\n",,no', 40: "1,NA,3,no", 41: "1,2,3,", 60: "1,2,\0,no", 99: "1,1e999,2,no"}


@pytest.fixture
def with_faults(folder):
    """The training rows with faults in some; line n + 2 of the file is data row n + 1 as far as row 18."""
    lines = (folder / "train.csv").read_text().splitlines()
    for i, line in BAD.items():
        lines[i + 1] = line
    lines[80] = "1,2,3,\udce9"  # a byte that is no UTF-8
    (folder / "bad.csv").write_text("\n".join(lines) + '\n1,2,"3,yes', errors="surrogateescape")
    return lines


def rejected_rows(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return list(csv.DictReader(file))


def test_fit_leaves_rejected_rows_out(command, with_faults, folder, table):
    X, y = table
    code, _, errors = command("fit", "bad.csv", "-o", "r.npz", "--reject", "r.csv", "--columns", "none")
    assert code == 0
    assert errors.startswith("9 of 201 rows rejected: r.csv\ntrained GBRFF2Classifier on 192 rows of 3 columns")
    rows = rejected_rows(folder / "r.csv")
    assert [int(row["row"]) for row in rows] == [6, 18, 19, 41, 42, 61, 80, 100, 201]
    assert [int(row["line"]) for row in rows] == [7, 19, 20, 43, 44, 63, 82, 102, 203]
    assert [row["column"] for row in rows] == ["1 (width)", "", "2 (depth)", "1 (width)", "3 (answer)", "2 (depth)",
                                               "3 (answer)", "1 (width)", ""]
    assert [row["text"] for row in rows] == [*list(BAD.values())[:6], with_faults[80], BAD[99], '1,2,"3,yes']
    assert rows[3]["reason"].startswith("expected a finite number, got 'NA': the value is missing; fill it in")
    kept = np.setdiff1d(np.arange(200), [*BAD, 79])
    write_csv(folder / "clean.csv", X[kept], y[kept])
    assert command("fit", "clean.csv", "-o", "c.npz", "--columns", "none")[0] == 0
    assert (folder / "r.npz").read_bytes() == (folder / "c.npz").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_predictions_line_up_by_kept_columns(command, folder, table, jobs):
    X, _ = table
    rows = [f"{i},{a},{b},{c if i % 7 else 'x'}" for i, (a, b, c) in enumerate(X.tolist() * 60)]
    (folder / "big.csv").write_text("\n".join(["id,length,width,depth", *rows]))
    code, out, errors = command("predict", "m.npz", "big.csv", "--keep", "id", "--reject", "r.csv", "--jobs", jobs)
    assert code == 0
    assert errors == "2572 of 18000 rows rejected: r.csv\n"
    found = dict(line.split(",") for line in out.splitlines()[1:])
    assert [int(i) for i in found] == [i for i in range(18_000) if i % 7]
    predicted = load(folder / "m.npz").predict(X).tolist() * 60
    assert all(found[str(i)] == predicted[i] for i in range(18_000) if i % 7)
    assert [row["text"].split(",")[0] for row in rejected_rows(folder / "r.csv")] == [str(7 * i) for i in range(2572)]


def test_targets_that_are_no_numbers_are_rejected(command, folder, table):
    X, _ = table
    write_csv(folder / "t.csv", X, ["much" if i == 3 else str(i / 8) for i in range(300)])
    arguments = "fit", "t.csv", "-o", "n.npz", "--model", "gbrff_regressor"
    code, _, errors = command(*arguments)
    assert code == 65
    assert "t.csv: data row 4 (line 5), column 3 (answer): expected a finite number, got 'much'" in errors
    code, _, errors = command(*arguments, "--reject", "r.csv")
    assert code == 0
    assert "1 of 300 rows rejected" in errors


def test_rows_of_arrays_are_rejected_too(command, folder, table):
    X, y = table[0].copy(), table[1]
    X[7, 1], X[250, 0] = np.nan, 1e308
    np.savez(folder / "t.npz", X=X, y=y)
    assert command("fit", "t.npz", "-o", "n.npz", "--reject", "r.csv", "--columns", "none")[0] == 0
    rows = rejected_rows(folder / "r.csv")
    assert [(row["row"], row["line"], row["column"]) for row in rows] == [
        ("8", "", "1 (the first is 0)"), ("251", "", "0 (the first is 0)")]
    assert rows[0]["text"] == ",".join(map(str, X[7].tolist()))
    np.save(folder / "X.npy", X)
    code, out, errors = command("predict", "m.npz", "X.npy", "--reject", "r.csv")
    assert (code, errors) == (0, "2 of 300 rows rejected: r.csv\n")
    assert out.splitlines()[1:] == load(folder / "m.npz").predict(np.delete(X, [7, 250], axis=0)).tolist()


def test_no_row_that_can_be_used(command, folder):
    (folder / "t.csv").write_text("a,b\nx,1\ny,2\n")
    code, _, errors = command("fit", "t.csv", "-o", "n.npz", "--reject", "r.csv", "--columns", "none")
    assert code == 65
    assert "t.csv: the file contains no rows that can be used; 2 are rejected" in errors
    assert not (folder / "r.csv").exists()  # which is complete or not written


@pytest.mark.parametrize("arguments", [
    ("predict", "m.npz", "test.csv", "-o", "o.csv", "--reject", "./o.csv"),
    ("predict", "m.npz", "test.csv", "--reject", "test.csv"), ("predict", "m.npz", "test.csv", "--reject", "m.npz"),
    ("fit", "train.csv", "-o", "n.npz", "--reject", "n.npz"), ("fit", "train.csv", "-o", "n.npz", "--reject",
                                                               "train.csv"),
])
def test_rejected_rows_need_a_file_of_their_own(command, folder, arguments):
    before = {item.name: item.read_bytes() for item in folder.iterdir()}
    assert command(*arguments)[0] == 2
    assert {item.name: item.read_bytes() for item in folder.iterdir()} == before


def test_all_rows_may_be_good(command, folder):
    code, _, errors = command("predict", "m.npz", "test.csv", "-o", "o.csv", "--reject", "r.csv")
    assert (code, errors) == (0, "0 of 100 rows rejected: r.csv\n")
    assert (folder / "r.csv").read_text() == "row,line,column,reason,text\n"
