"""The command line through a subprocess, as a person or a script would use it."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rffkern
from rffkern import GBRFF2Classifier, load, save
from rffkern._cli.main import main

COLUMNS = ["length", "width", "depth"]


def run(*arguments, cwd, expect=0):
    done = subprocess.run([sys.executable, "-m", "rffkern", *map(str, arguments)], cwd=cwd, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def table(rng):
    X = rng.standard_normal((300, 3)).round(4)
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


def write_csv(path, X, y=None, header=COLUMNS, target="answer"):
    with open(path, "w", encoding="utf-8") as file:
        if header:
            print(*header, *([target] if y is not None else []), sep=",", file=file)
        for i, row in enumerate(X):
            print(*row, *([y[i]] if y is not None else []), sep=",", file=file)


@pytest.fixture
def folder(tmp_path, table):
    """A folder with train.csv, test.csv and a model trained on the first."""
    X, y = table
    write_csv(tmp_path / "train.csv", X[:200], y[:200])
    write_csv(tmp_path / "test.csv", X[200:], y[200:])
    run("fit", "train.csv", "-o", "m.npz", cwd=tmp_path)
    return tmp_path


def test_fit_and_predict(folder, table):
    X, y = table
    model = load(folder / "m.npz")
    assert model.feature_names_in_.tolist() == COLUMNS
    assert model.classes_.tolist() == ["no", "yes"]
    done = run("predict", "m.npz", "test.csv", "-o", "out.csv", "--target", "answer", cwd=folder)
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "prediction"
    assert lines[1:] == model.predict(X[200:]).tolist()
    assert done.stdout == ""
    assert done.stderr == f"accuracy on 100 rows: {100 * np.mean(np.array(lines[1:]) == y[200:]):.2f} %\n"
    assert sorted(item.name for item in folder.iterdir()) == ["m.npz", "out.csv", "test.csv", "train.csv"]


def test_holdout(folder):
    done = run("fit", "train.csv", "-o", "n.npz", "--holdout", "0.25", "--set", "n_estimators=50", cwd=folder)
    assert "trained GBRFF2Classifier on 150 rows of 3 columns" in done.stderr
    assert float(done.stderr.split("held-out rows: ")[1].split(" %")[0]) > 80


def test_same_seed_same_file(folder):
    for name in ("a", "b"):
        run("fit", "train.csv", "-o", f"{name}.npz", "--seed", "5", cwd=folder)
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()


def test_stdout_and_probabilities(folder, table):
    done = run("predict", "m.npz", "test.csv", "--proba", cwd=folder)
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert lines[0] == ["prediction", "probability of no", "probability of yes"]
    proba = load(folder / "m.npz").predict_proba(table[0][200:])
    np.testing.assert_array_equal(np.array([line[1:] for line in lines[1:]], dtype=float), proba)


def test_npy_in_and_out(folder, table):
    X, _ = table
    np.save(folder / "X.npy", X)
    run("predict", "m.npz", "X.npy", "-o", "labels.npy", cwd=folder)
    run("predict", "m.npz", "X.npy", "-o", "proba.npy", "--proba", cwd=folder)
    model = load(folder / "m.npz")
    np.testing.assert_array_equal(np.load(folder / "labels.npy", allow_pickle=False), model.predict(X))
    np.testing.assert_array_equal(np.load(folder / "proba.npy", allow_pickle=False), model.predict_proba(X))


def test_npz_with_labels(tmp_path, table):
    X, y = table
    np.savez(tmp_path / "t.npz", X=X.astype(np.float32), y=np.where(y == "yes", 1, -1), feature_names=np.array(COLUMNS))
    run("fit", "t.npz", "-o", "m.npz", cwd=tmp_path)
    model = load(tmp_path / "m.npz")
    assert model.classes_.tolist() == [-1, 1]
    assert model.feature_names_in_.tolist() == COLUMNS
    done = run("predict", "m.npz", "t.npz", "-o", "o.npy", cwd=tmp_path)
    assert "accuracy on 300 rows" in done.stderr


def test_columns_are_found_by_name(folder, table):
    X, y = table
    write_csv(folder / "shuffled.csv", np.column_stack([X[200:, 2], np.arange(100), X[200:, 0], X[200:, 1]]), y[200:],
              header=["depth", "id", "length", "width"])
    done = run("predict", "m.npz", "shuffled.csv", cwd=folder)
    assert done.stdout == run("predict", "m.npz", "test.csv", cwd=folder).stdout


@pytest.mark.parametrize("target", ["0", "-3", "first"])
def test_target_by_index_or_name(tmp_path, table, target):
    X, y = table
    with open(tmp_path / "t.csv", "w", encoding="utf-8") as file:
        print("first,a,b", file=file)
        for row, label in zip(X, y, strict=True):
            print(label, *row[:2], sep=",", file=file)
    run("fit", "t.csv", "-o", "m.npz", "--target", target, cwd=tmp_path)
    assert load(tmp_path / "m.npz").feature_names_in_.tolist() == ["a", "b"]


def test_a_table_without_header_quotes_blank_lines_and_crlf(tmp_path, table):
    X, y = table
    text = "\r\n".join(f'"{a}", {b},{c},"{label}"\r\n' for (a, b, c), label in zip(X, y, strict=True))
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    run("fit", "t.csv", "-o", "m.npz", cwd=tmp_path)
    model = load(tmp_path / "m.npz")
    assert model.classes_.tolist() == ["no", "yes"]
    assert not hasattr(model, "feature_names_in_")
    done = run("predict", "m.npz", "t.csv", "--target", "3", cwd=tmp_path)
    assert done.stdout.splitlines()[1:] == model.predict(X).tolist()


@pytest.mark.parametrize(("labels", "classes"), [
    (["1", "2"], [1, 2]), (["0.5", "1.5"], None), (["1.0", "2.0"], [1, 2]), (["1", "b"], ["1", "b"]),
    (["9007199254740993", "9007199254740992"], ["9007199254740992", "9007199254740993"]),
    (["True", "False"], ["False", "True"]),
])
def test_label_types(tmp_path, table, labels, classes):
    X, y = table
    write_csv(tmp_path / "t.csv", X, [labels[label == "yes"] for label in y])
    done = run("fit", "t.csv", "-o", "m.npz", cwd=tmp_path, expect=0 if classes else 65)
    if not classes:
        assert "y must hold class labels" in done.stderr
        return
    assert load(tmp_path / "m.npz").classes_.tolist() == classes
    assert "accuracy on 300 rows: 9" in run("predict", "m.npz", "t.csv", "-o", "o.csv", "--target", "answer",
                                            cwd=tmp_path).stderr


# --- faults

@pytest.mark.parametrize(("line", "message"), [
    ("1,x,3,yes", "bad.csv: row 7, column 2 (width): expected a finite number, got 'x'"),
    ("1,,3,yes", "bad.csv: row 7, column 2 (width): expected a finite number, got ''"),
    ("1,2,nan,yes", "bad.csv: row 7, column 3 (depth): expected a finite number, got 'nan'"),
    ("inf,2,3,yes", "bad.csv: row 7, column 1 (length): expected a finite number, got 'inf'"),
    ("1,2,yes", "bad.csv: row 7: expected 4 columns, got 3"),
    ("1,2,3,4,yes", "bad.csv: row 7: expected 4 columns, got 5"),
    ('1,2,3,"yes', "bad.csv: row "),
])
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_bad_cells_are_located(folder, command, line, message):
    lines = (folder / "train.csv").read_text().splitlines()
    lines[6] = line
    (folder / "bad.csv").write_text("\n".join(lines))
    arguments = ("fit", "bad.csv", "-o", "new.npz") if command == "fit" else (
        "predict", "m.npz", "bad.csv", "-o", "new.csv", "--target", "answer")
    done = run(*arguments, cwd=folder, expect=65)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [item for item in folder.iterdir() if "new" in item.name], "nothing half written is left"


def test_bad_data_files(folder):
    for name, content, match in [
        ("empty.csv", b"", "holds no rows"), ("header.csv", b"a,b,c\n", "no rows below its header"),
        ("binary.csv", b"\xff\xfe\x00\x01\n", "not a text file in UTF-8"), ("twice.csv", b"a,a\n1,2\n", "distinct"),
        ("nolabel.csv", b"1,2,a\n3,4,\n5,6,b\n", "row 2, column 3: expected a label or target, got an empty cell"),
        ("years.csv", b"2019,2020,label\n1,2,a\n3,4,b\n5,6,a\n", "row 1 may hold column names"),
        ("long.csv", b'1,2,"' + b"x" * 200_000 + b'"\n', "row 1 or after"),
        ("one.csv", b"1\n2\n", "at least one column besides"), ("odd.txt", b"1,2\n", "must end in .csv, .npy or .npz"),
        ("bad.npy", b"nonsense", "not a NumPy file"), ("bad.npz", b"PK\x03\x04nonsense", "not a NumPy file"),
    ]:
        (folder / name).write_bytes(content)
        done = run("fit", name, "-o", "new.npz", cwd=folder, expect=65)
        assert match in done.stderr, name
    np.save(folder / "cube.npy", np.zeros((2, 2, 2)))
    assert "2-D numeric array" in run("fit", "cube.npy", "-o", "n.npz", cwd=folder, expect=65).stderr
    np.savez(folder / "other.npz", a=np.zeros(3))
    assert "an array named X" in run("fit", "other.npz", "-o", "n.npz", cwd=folder, expect=65).stderr
    pickled = folder / "pickled.npy"
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    assert "plain arrays" in run("predict", "m.npz", "pickled.npy", cwd=folder, expect=65).stderr


def test_repeated_column_names(folder, table):
    X, y = table
    np.savez(folder / "t.npz", X=X, y=y, feature_names=np.array(["a", "a", "b"]))
    assert "column names must be distinct" in run("fit", "t.npz", "-o", "n.npz", cwd=folder, expect=65).stderr


@pytest.mark.parametrize("header", [True, False])
def test_labels_are_the_same_in_every_block(tmp_path, rng, header):
    """Blanks and quotes round labels, and a number only Python reads, in a table of several blocks."""
    X = rng.standard_normal((9000, 2)).round(3)
    labels = np.where(X[:, 0] > 0, ' "yes"', " no ")
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X, labels, strict=True)]
    lines[8500] = f"1_0,{X[8500, 1]}, yes"
    (tmp_path / "t.csv").write_text("\n".join(["2019,2020,label"] * header + lines))
    run("fit", "t.csv", "-o", "m.npz", *(["--header", "yes"] if header else []), cwd=tmp_path)
    assert load(tmp_path / "m.npz").classes_.tolist() == ["no", "yes"]


def test_object_labels_into_npy(tmp_path, rng):
    """Labels of different lengths in different blocks: none is cut to the width of the first."""
    X = np.sort(rng.standard_normal((9000, 1)), axis=0)
    y = np.where(X[:, 0] > 1.4, "longer", "a").astype(object)
    save(GBRFF2Classifier(30, random_state=0).fit(X, y), tmp_path / "m.npz")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "none.npy", X[:0])
    run("predict", "m.npz", "X.npy", "-o", "o.npy", cwd=tmp_path)
    assert sorted(set(np.load(tmp_path / "o.npy").tolist())) == ["a", "longer"]
    run("predict", "m.npz", "none.npy", "-o", "o.npy", cwd=tmp_path)
    assert np.load(tmp_path / "o.npy").dtype == "<U6"


def test_a_bare_expansion_has_no_labels(folder):
    save(load(folder / "m.npz").expansion_, folder / "e.npz")
    done = run("predict", "e.npz", "test.csv", cwd=folder, expect=65)
    assert "holds a FourierExpansion, which has nothing to predict" in done.stderr
    assert "terms" in run("info", "e.npz", cwd=folder).stdout


def test_seed(folder):
    for arguments, seed in (((), 0), (("--seed", "3"), 3), (("--set", "random_state=4"), 4)):
        run("fit", "train.csv", "-o", "s.npz", *arguments, cwd=folder)
        assert load(folder / "s.npz").random_state == seed


@pytest.mark.parametrize("delimiter", [";", "\\t"])
def test_delimiter(tmp_path, table, delimiter):
    write_csv(tmp_path / "t.csv", *table)
    text = (tmp_path / "t.csv").read_text().replace(",", delimiter.replace("\\t", "\t"))
    (tmp_path / "t.csv").write_text(text)
    run("fit", "t.csv", "-o", "m.npz", "--delimiter", delimiter, cwd=tmp_path)


def test_columns_that_do_not_fit(folder, table):
    write_csv(folder / "two.csv", table[0][:, :2], header=COLUMNS[:2])
    assert "column 'depth' of the model is missing" in run("predict", "m.npz", "two.csv", cwd=folder, expect=65).stderr
    np.save(folder / "two.npy", table[0][:, :2])
    assert "expected 3 columns" in run("predict", "m.npz", "two.npy", cwd=folder, expect=65).stderr
    assert "no column 'other'" in run("fit", "train.csv", "-o", "n.npz", "--target", "other", cwd=folder,
                                      expect=65).stderr


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
    run("fit", "train.csv", "-o", "no/such/folder/m.npz", cwd=folder, expect=74)
    before = (folder / "train.csv").read_bytes()
    assert "must not be an input" in run("fit", "train.csv", "-o", "./train.csv", cwd=folder, expect=2).stderr
    assert (folder / "train.csv").read_bytes() == before
    for arguments in (("--threads", "0"), ("--threads", "9999"), ("--delimiter", ""), ("--delimiter", "ab")):
        run("predict", "m.npz", "test.csv", *arguments, cwd=folder, expect=2)
    for target in ("\u00b2", "--1", "9"):
        assert "no column" in run("fit", "train.csv", "-o", "n.npz", f"--target={target}", cwd=folder, expect=65).stderr


def test_one_class(folder):
    write_csv(folder / "one.csv", np.eye(3), ["a", "a", "a"])
    assert "at least two classes" in run("fit", "one.csv", "-o", "n.npz", cwd=folder, expect=65).stderr


def test_info(folder):
    text = run("info", "m.npz", cwd=folder).stdout
    assert "GBRFF2Classifier" in text
    assert "length, width, depth" in text
    facts = json.loads(run("info", "m.npz", "--json", cwd=folder).stdout)
    assert facts["classes"] == ["no", "yes"]
    assert facts["parameters"]["n_estimators"] == 100


def test_info_of_a_kernel_machine(folder, table):
    kernel = {"lengthscales": [1.0, 2.0, 3.0], "bias": 0.5}
    model = rffkern.SparseKernelClassifier(5, kernel=kernel, reg_lambda=0.25, random_state=0)
    save(model.fit(*table), folder / "k.npz")
    facts = json.loads(run("info", "k.npz", "--json", cwd=folder).stdout)
    assert facts["kernel parameters"] == [0.25, 1.0, 0.5, 1.0, 2.0, 3.0]
    assert facts["parameters"]["kernel"] == kernel
    text = run("info", "k.npz", cwd=folder).stdout
    assert "kernel parameters 0.25, 1.0, 0.5, 1.0, 2.0, 3.0" in text
    assert "kernel={'bias': 0.5, 'lengthscales': [1.0, 2.0, 3.0]}" in text


def test_kernel_machines_from_the_command_line(folder, table):
    """A parameter that is a dict is given as JSON."""
    write_csv(folder / "t.csv", table[0], table[0][:, 0] * 2, target="size")
    run("fit", "t.csv", "-o", "k.npz", "--model", "sparse_kernel_regressor", "--target", "size", "--set",
        'kernel={"lengthscales": 2.0}', "--set", "n_estimators=10", cwd=folder)
    run("predict", "k.npz", "t.csv", "-o", "o.npy", "--target", "size", cwd=folder)
    np.testing.assert_allclose(np.load(folder / "o.npy"), load(folder / "k.npz").predict(table[0]))
    assert load(folder / "k.npz").kernel == {"lengthscales": 2.0}


def test_demo(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert "after 200 rounds" in done.stdout
    assert "rffkern fit" in done.stdout.split("Next")[1]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_help_and_version(tmp_path):
    for command in ((), ("fit",), ("predict",), ("info",), ("demo",)):
        assert run(*command, "--help", cwd=tmp_path).stdout.startswith("usage: rffkern")
    assert run("--version", cwd=tmp_path).stdout.startswith("rffkern ")


def test_a_reader_that_leaves_early(folder, table):
    np.save(folder / "X.npy", np.tile(table[0], (300, 1)))
    command = f"{sys.executable} -m rffkern predict m.npz X.npy | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "prediction\n"
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(folder, table):
    """A bar is drawn and taken away, also where the scoring ends in an error."""
    import pty

    text = "\n".join(",".join(map(str, row)) for row in table[0].tolist()) + "\n"
    (folder / "big.csv").write_text(",".join(COLUMNS) + "\n" + text * 600 + "1,2,x\n")
    control, terminal = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "rffkern", "predict", "m.npz", "big.csv", "-o", "o.csv"],
                               cwd=folder, stderr=terminal)
    os.close(terminal)
    shown = b""
    with open(control, "rb", buffering=0) as reader:
        try:
            while piece := reader.read(4096):
                shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
    assert process.wait() == 65
    drawn = shown.decode().split("\r")
    assert "scoring [" in drawn[1]  # the first chunk draws, however fast the machine
    assert "% " in drawn[1]
    assert drawn[-2].startswith("\x1b[Krffkern: error: big.csv: row 180002")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_interrupt_and_kill_leave_nothing_behind(folder, table, number, code):
    text = "\n".join(",".join(map(str, row)) for row in table[0].tolist()) + "\n"
    (folder / "big.csv").write_text(text * 4000)
    # A test run in the background of a shell ignores SIGINT, and so would what it starts.
    process = subprocess.Popen([sys.executable, "-m", "rffkern", "predict", "m.npz", "big.csv", "-o", "o.csv",
                                "--header", "no"], cwd=folder, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    for _ in range(600):
        if any(item.name.startswith(".o.csv") for item in folder.iterdir()):
            break
        time.sleep(0.05)
    process.send_signal(getattr(signal, number))
    _, errors = process.communicate(timeout=60)
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


MEASURE = """
import sys
from rffkern._cli.main import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:
    print(*(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of a process's memory")
def test_memory_does_not_grow_with_the_rows(tmp_path, rng):
    X = rng.standard_normal((300, 60)).round(3)
    np.savez(tmp_path / "t.npz", X=X, y=X[:, 0] > 0)
    run("fit", "t.npz", "-o", "m.npz", "--set", "n_estimators=5", cwd=tmp_path)
    block = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"
    peaks = []
    for n in (40, 240):
        (tmp_path / "big.csv").write_text(block * n)
        done = subprocess.run([sys.executable, "-c", MEASURE, "predict", "m.npz", "big.csv", "-o", "o.npy"],
                              cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True,
                              env=os.environ | {"OMP_NUM_THREADS": "1"})
        peaks.append(int(done.stderr.split()[-1]))
        assert len(np.load(tmp_path / "o.npy", mmap_mode="r")) == 300 * n
    assert peaks[1] - peaks[0] < 10_000, "KiB, for 29 MB more of numbers"


def test_real_tables(real_data, tmp_path):
    X, y = real_data("spambase")
    order = np.random.default_rng(0).permutation(len(y))
    for name, rows in (("train.csv", order[:3000]), ("test.csv", order[3000:])):
        write_csv(tmp_path / name, X[rows], np.where(y[rows] > 0, "spam", "mail"),
                  header=[f"c{j}" for j in range(X.shape[1])])
    run("fit", "train.csv", "-o", "m.npz", cwd=tmp_path)
    done = run("predict", "m.npz", "test.csv", "-o", "out.csv", "--target", "answer", cwd=tmp_path)
    assert float(done.stderr.split("rows: ")[1].split(" %")[0]) > 91


def test_regression(tmp_path, table):
    X, _ = table
    y = (np.sin(X[:, 0]) + X[:, 1]).round(4)
    write_csv(tmp_path / "train.csv", X[:200], y[:200])
    write_csv(tmp_path / "test.csv", X[200:], y[200:])
    done = run("fit", "train.csv", "-o", "m.npz", "--model", "gbrff_regressor", "--holdout", "0.2", cwd=tmp_path)
    assert float(done.stderr.split("R^2 on 40 held-out rows: ")[1]) > 0.8
    done = run("predict", "m.npz", "test.csv", "-o", "out.csv", "--target", "answer", cwd=tmp_path)
    model = load(tmp_path / "m.npz")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "prediction"
    np.testing.assert_array_equal(np.array(lines[1:], float), model.predict(X[200:]))
    assert done.stderr == f"R^2 on 100 rows: {model.score(X[200:], y[200:]):.4f}\n"
    run("predict", "m.npz", "test.csv", "--target", "answer", "-o", "out.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict(X[200:]))
    assert "--proba needs a classifier" in run("predict", "m.npz", "test.csv", "--proba", "--target", "answer",
                                               cwd=tmp_path, expect=2).stderr
    assert "train loss" in run("info", "m.npz", cwd=tmp_path).stdout
    write_csv(tmp_path / "words.csv", X, np.where(X[:, 0] > 0, "1.5", "much"))
    done = run("fit", "words.csv", "-o", "n.npz", "--model", "gbrff_regressor", cwd=tmp_path, expect=65)
    assert "words.csv: expected a finite number as the target of data row" in done.stderr


def test_several_targets_from_an_archive(tmp_path, table):
    X, _ = table
    np.savez(tmp_path / "d.npz", X=X, y=np.column_stack([X[:, 0], X[:, 1] - X[:, 2]]))
    run("fit", "d.npz", "-o", "m.npz", "--model", "gbrff_regressor", cwd=tmp_path)
    done = run("predict", "m.npz", "d.npz", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "prediction 0,prediction 1"
    run("predict", "m.npz", "d.npz", "-o", "out.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), load(tmp_path / "m.npz").predict(X))
    X, y = table[0], np.column_stack([table[0][:, 0], 1000 + table[0][:, 1] - table[0][:, 2]])
    np.savez(tmp_path / "w.npz", X=X, y=y.astype(str))
    run("fit", "w.npz", "-o", "w_model.npz", "--model", "gbrff_regressor", "--set", "n_estimators=3", cwd=tmp_path)
    done = run("predict", "w_model.npz", "w.npz", "-o", "out.npy", cwd=tmp_path)
    assert done.stderr == f"R^2 on 300 rows: {load(tmp_path / 'w_model.npz').score(X, y):.4f}\n"
    np.savez(tmp_path / "huge.npz", X=X, y=1e200 * y)
    run("fit", "huge.npz", "-o", "h_model.npz", "--model", "gbrff_regressor", "--set", "n_estimators=3", cwd=tmp_path)
    done = run("predict", "h_model.npz", "huge.npz", "-o", "out.npy", cwd=tmp_path)
    assert done.stderr == f"R^2 on 300 rows: {load(tmp_path / 'h_model.npz').score(X, 1e200 * y):.4f}\n"
    assert "y must be a 1d array" in run("fit", "d.npz", "-o", "n.npz", cwd=tmp_path, expect=65).stderr
    np.savez(tmp_path / "e.npz", X=X, y=X[:, 0])
    done = run("predict", "m.npz", "e.npz", cwd=tmp_path, expect=65)
    assert "expected 2 target(s) for each row, got 1" in done.stderr


def test_relevances_from_the_command_line(folder, table):
    write_csv(folder / "t.csv", table[0], np.sin(table[0][:, 2]), target="size")
    run("fit", "t.csv", "-o", "r.npz", "--model", "rffnet_regressor", "--target", "size", cwd=folder)
    facts = json.loads(run("info", "r.npz", "--json", cwd=folder).stdout)
    assert facts["most relevant"][0] == "depth"
    assert facts["relevances"][2] == max(facts["relevances"])
    assert "most relevant  depth, " in run("info", "r.npz", cwd=folder).stdout
    np.savez(folder / "t.npz", X=table[0], y=table[0][:, 1])
    run("fit", "t.npz", "-o", "n.npz", "--model", "rffnet_regressor", "--set", "max_epochs=20", cwd=folder)
    assert json.loads(run("info", "n.npz", "--json", cwd=folder).stdout)["most relevant"][0] == 1


def test_progress_of_training_tells_the_validation_loss(folder, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    arguments = ["fit", str(folder / "train.csv"), "-o", str(folder / "n.npz"), "--set", "max_epochs=3"]
    assert main([*arguments, "--model", "rffnet"]) == 0
    drawn = stream.getvalue().split("\r")[1]
    assert drawn.startswith("training [")
    assert "s left  train loss" in drawn
    assert "validation loss" in drawn


@pytest.mark.parametrize("family", ["gbrff", "gbrff1", "pbrff", "rffnet"])
def test_other_families(folder, family):
    run("fit", "train.csv", "-o", "n.npz", "--model", family, "--seed", "3", cwd=folder)
    lines = run("predict", "n.npz", "test.csv", "--proba", cwd=folder).stdout.splitlines()
    assert lines[0] == "prediction,probability of no,probability of yes"
    assert load(folder / "n.npz").family in run("info", "n.npz", "--json", cwd=folder).stdout.lower()


def test_features_cannot_be_predicted(folder, table):
    X, y = table
    save(rffkern.PBRFFTransformer(5, random_state=0).fit(X, y), folder / "t.npz")
    done = run("predict", "t.npz", "test.csv", cwd=folder, expect=65)
    assert "PBRFFTransformer, which has nothing to predict; its transform method gives numbers" in done.stderr
    assert "invalid choice" in run("fit", "train.csv", "-o", "t.npz", "--model", "pbrff_transformer", cwd=folder,
                                   expect=2).stderr
