"""`rffkern fit` and `predict` with `--workers` or `--dask`: files that processes of a cluster read."""

import argparse
import contextlib
import gzip
import json
import logging
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers.processes import started, wait_until

import rffkern
from rffkern import InvalidInputError
from rffkern._cli.main import main
from rffkern._cli.parts import _whole_folder

distributed = pytest.importorskip("distributed")
pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")
cluster = pytest.importorskip("rffkern._cli.cluster")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # those of the cluster are its own


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None,
               "local_directory": str(tmp_path_factory.mktemp("workers"))}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def frame(rng):
    n_rows = 400
    size, colour = rng.standard_normal(n_rows), rng.choice(["red", "green"], n_rows)
    day = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(np.arange(n_rows), unit="D")
    frame = pandas.DataFrame({"size": np.where(rng.random(n_rows) < 0.1, np.nan, size), "colour": colour, "day": day})
    return frame.assign(buys=np.where(size + (colour == "red") > 0.5, "yes", "no"),
                        price=np.exp(size / 2) + (colour == "red"))


def write(frame, folder, ending):
    folder.mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        rows, path = frame.iloc[part], folder / f"part-{k}.{ending}"
        if ending == "csv":
            rows.to_csv(path, index=False)
        else:
            rows.to_parquet(path, index=False)
    return str(folder)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_of_words_dates_and_gaps(address, frame, tmp_path, capsys, ending):
    folder, output = write(frame, tmp_path / "rows", ending), str(tmp_path / "m.npz")
    arguments = ["fit", folder, "-o", output, "--dask", address, "--target", "buys", "--drop", "price", "--set",
                 "n_estimators=60", "--set", "n_bags=2", "--note", "here"]
    assert main(arguments) == 0
    assert "on 400 rows of 3 columns in 3 partitions on 1 workers" in capsys.readouterr().err
    model = rffkern.load(output)
    assert model.score(frame.drop(columns=["buys", "price"]), frame["buys"]) > 0.9
    assert [row["kind"] for row in model.column_map_.describe()][-1] == "date"
    with open(output, "rb") as file:
        before = file.read()
    assert main(arguments) == 0
    with open(output, "rb") as file:
        assert file.read() == before


@pytest.mark.parametrize(("options", "name"), [
    (["--set", "n_estimators=60", "--set", "n_bags=2"], "FourierBoostingRegressor"),
    (["--model", "kernel_ridge_regressor"], "KernelRidgeRegressor")])
def test_numbers_are_a_regression(address, frame, tmp_path, options, name):
    folder, output = write(frame, tmp_path / "rows", "csv"), str(tmp_path / "m.npz")
    assert main(["fit", folder, "-o", output, "--dask", address, "--target", "price", "--features", "size,colour",
                 *options]) == 0
    model = rffkern.load(output)
    assert type(model).__name__ == name
    assert model.score(frame[["size", "colour"]], frame["price"]) > 0.5


@pytest.mark.parametrize("form", ["{:.1f} €", "{:,.1f}", "1.{:03.0f},5", "{:.0f} %", "{:.0f} kg", "{:.2f}", "{:03.0f}",
                                  "{:.0f}", "low{:.0f} "])
def test_targets_are_read_as_by_one_process(address, tmp_path, capsys, form):
    """Which are labels, and which number or label a text means; both models say the same of both."""
    few = form in ("{:.0f}", "low{:.0f} ", "{:.0f} kg", "{:03.0f}")
    values = [(7.0 * k) % (5 if few else 97) + 901.25 * (not few) for k in range(300)]
    cells = [form.format(value % 1000 if form[0] == "1" else 3 * value).strip(" " * (k % 2))
             for k, value in enumerate(values)]
    rows = pandas.DataFrame({"x": values, "y": cells})
    folder, models = write(rows, tmp_path / "rows", "csv"), []
    for options in (["--dask", address], ["--cv", "0"]):
        assert main(["fit", folder, "-o", str(tmp_path / "m.npz"), "--seed", "0", "--set", "n_estimators=200", "--set",
                     "n_bags=2", *options]) == 0
        models.append(rffkern.load(tmp_path / "m.npz"))
    here, there = models
    assert type(here) is type(there)
    assert here.metadata_ | {"rows": 300} == there.metadata_
    expected = here.predict(rows[["x"]])
    if few:
        assert here.classes_.dtype == there.classes_.dtype
        assert here.classes_.tolist() == there.classes_.tolist()
        assert (expected == there.predict(rows[["x"]])).mean() > 0.9
    else:
        np.testing.assert_allclose(expected, there.predict(rows[["x"]]), rtol=0.03)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_said_of_columns(address, frame, tmp_path, capsys, ending):
    """Codes, dates of two orders, words that count as missing, and what is not used, with what the shell takes."""
    n = len(frame)
    size = frame["size"].round(3).astype(str).where(np.arange(n) % 50 != 7, "unknown")
    folder = write(frame.assign(size=size, country="US", zip=[f"{k:05d}" for k in range(n)],
                                day=[f"{1 + k % 12}/{1 + k % 11}/2024" for k in range(n)]), tmp_path / "rows", ending)
    assert main(["fit", folder, "-o", str(tmp_path / "m.npz"), "--dask", address, "--target", "buys", "--set",
                 "n_estimators=5", "--set", "n_bags=2"]) == 0
    said = capsys.readouterr().err
    for text in ("columns not used: country (constant: leave the column out)\n", "codes, pass --categorical zip\n",
                 "with the month first; --dates dmy or --dates mdy settles it\n", "such as 'unknown': they count as "
                 "missing; if the column has categories, list it in --categorical\n"):
        assert said.count(text) == 1, said


@pytest.mark.parametrize("name", [None, "number"])
def test_the_index_of_pandas(address, frame, tmp_path, capsys, name):
    """It is no column where it has no name, and else the first: not the target."""
    folder = tmp_path / "rows"
    folder.mkdir()
    frame.drop(columns="price").sample(frac=1, random_state=0).rename_axis(name).to_parquet(folder / "part-0.parquet")
    output = str(tmp_path / "m.npz")
    arguments = ["fit", str(folder), "-o", output, "--dask", address, "--set", "n_estimators=5", "--set", "n_bags=2"]
    assert main(arguments) == 0
    names = rffkern.load(output).feature_names_in_.tolist()
    assert names == ["number"] * (name is not None) + ["size", "colour", "day"]
    capsys.readouterr()


def test_processes_here(frame, tmp_path):
    folder, output = write(frame, tmp_path / "rows", "parquet"), str(tmp_path / "m.npz")
    assert main(["fit", folder, "-o", output, "--workers", "1", "--target", "buys", "--model", "gbrff2"]) == 0
    assert type(rffkern.load(output)) is rffkern.GBRFF2Classifier


@pytest.mark.parametrize(("options", "code", "expected"), [
    (["--holdout", "0.2"], 2, "--holdout needs all rows in one process"),
    (["--model", "rffnet"], 2, "cluster: choose fourier_boosting, gbrff, kernel_ridge or a"),
    (["--target", "empty"], 65, "part-0.csv: column 'empty': expected a target in each row, got 5 rows without one"),
    (["--target", "colour", "--model", "fourier_boosting_regressor"], 65,
     "part-0.csv: column 'colour': expected numbers as targets, got '"),
    (["--target", "day"], 65, "column 'day' has 400 different dates, such as '2024-01-01': write them as numbers"),
    (["--target", "day", "--model", "fourier_boosting_regressor"], 65, "expected numbers, got dates such as '2024-"),
    (["--target", "price", "--decimal", ","], 2, "--decimal needs all rows in one process")])
def test_what_is_refused(address, frame, tmp_path, capsys, options, code, expected):
    folder = write(frame.assign(empty=[""] * 5 + ["a"] * 395), tmp_path / "rows", "csv")
    assert main(["fit", folder, "-o", str(tmp_path / "m.npz"), "--dask", address, *options]) == code
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "m.npz").exists()


def test_columns_in_another_order_and_an_empty_file(address, frame, tmp_path):
    """The same model as of files that agree; programs write parts without rows as empty files."""
    X, output = frame.drop(columns=["day", "price"]), str(tmp_path / "m.npz")
    arguments = ["-o", output, "--dask", address, "--target", "buys", "--set", "n_estimators=20", "--set", "n_bags=2"]
    assert main(["fit", write(X, tmp_path / "rows", "csv"), *arguments]) == 0
    with open(output, "rb") as file:
        expected = file.read()
    part = tmp_path / "rows" / "part-1.csv"
    pandas.read_csv(part, dtype=str, keep_default_na=False)[["buys", "colour", "size"]].to_csv(part, index=False)
    (tmp_path / "rows" / "part-0a.csv").touch()
    assert main(["fit", str(tmp_path / "rows"), *arguments]) == 0
    with open(output, "rb") as file:
        assert file.read() == expected


@pytest.mark.parametrize(("ending", "change", "expected"), [
    ("csv", lambda part: part.drop(columns="colour"), "part-1.csv: expected 4 columns, as"),
    ("csv", lambda part: part.rename(columns={"colour": "color"}), "part-1.csv: no column 'colour'"),
    ("parquet", lambda part: part.drop(columns="colour"), "part-1.parquet: expected the column 'colour', which"),
    ("parquet", lambda part: part.assign(size="large"), "part-1.parquet: expected no text in the column 'size'"),
    ("csv", lambda part: part.assign(price="dear"), "part-1.csv: column 'price': expected a number as weight in each"),
    ("parquet", lambda part: part.assign(price=np.nan), "rows: column 'price': expected a number as weight in each"),
    ("csv", lambda part: part.assign(price=-1.0), "part-1.csv: sample_weight of partition 1 must not be negative")])
def test_a_file_that_differs_is_named(address, frame, tmp_path, capsys, ending, change, expected):
    X = frame.drop(columns="day")
    folder = write(X, tmp_path / "rows", ending)
    part = change(X.iloc[134:267])
    if ending == "csv":
        part.to_csv(tmp_path / "rows" / "part-1.csv", index=False)
    else:
        part.to_parquet(tmp_path / "rows" / "part-1.parquet", index=False)
    assert main(["fit", folder, "-o", str(tmp_path / "m.npz"), "--dask", address, "--target", "buys", "--weight",
                 "price", "--set", "n_estimators=20"]) == 65
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "m.npz").exists()


def opened(path, encoding="utf-8"):
    """The data frame of Dask that `fit` reads."""
    return cluster._open(argparse.Namespace(data=str(path), header="auto", delimiter=None, encoding=encoding,
                                            decimal=".", dates=None, missing=()))[1]


@pytest.mark.parametrize(("name", "text"), [
    ("a.csv", "size,note\n1,a\n2\n"), ("a.csv", "size,note\n1,a\n2,b,c\n"), ("a.csv", 'size,note\n1,a\n2,"b\n'),
    ("a.csv.gz", "size,note\n1,a\n2,b,c\n"), ("a.csv", 'size,note\n1,a\n2, "b"\n')])
def test_rows_that_would_be_read_otherwise_are_refused(tmp_path, name, text):
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "wb") as file:
        file.write(text.encode())
    with pytest.raises(InvalidInputError, match=f"{name}: "):
        opened(tmp_path / name).compute(scheduler="synchronous")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("mark", ["", "sep=,\r\n"])
def test_cells_of_whole_files_are_text(tmp_path, encoding, has_header, mark):
    """Words with quotes, line breaks and letters, and empty cells; empty lines count for nothing."""
    text = "\n\nsize,7\n" * has_header + '7,3\n,"say ""é"""\r\n\n9,"two\nlines"\n-1.50,'
    (tmp_path / "a.csv").write_bytes((mark + text).encode(encoding))
    frame = opened(tmp_path / "a.csv", encoding)
    assert frame.columns.tolist() == (["size", "7"] if has_header else [0, 1])
    assert frame.compute(scheduler="synchronous").to_numpy().tolist() == [
        ["7", "3"], ["", 'say "é"'], ["9", "two\nlines"], ["-1.50", ""]]


def test_line_breaks_in_cells_of_a_file_that_is_read_in_blocks(tmp_path, monkeypatch):
    """The rows are right, or the error names the file and says what to do: as blocks begin in cells or not."""
    expected = pandas.DataFrame({"size": [str(k) for k in range(60)],
                                 "note": ["one\nmore, or 7,8\n" if k % 3 == 0 else f"word {k}" for k in range(60)]})
    expected.to_csv(tmp_path / "a.csv", index=False)
    refused, n_right = [], 0
    for n_bytes in (1 << 26, *range(30, 800, 7)):
        monkeypatch.setattr(cluster, "_BLOCK_BYTES", n_bytes)
        frame = opened(tmp_path / "a.csv")
        assert (frame.npartitions > 1) == (n_bytes < 1000)
        try:
            rows = frame.compute(scheduler="synchronous")
        except InvalidInputError as error:
            refused.append((n_bytes, str(error)))
        else:
            assert rows.to_numpy().tolist() == expected.to_numpy().tolist()
            n_right += 1
    assert min(len(refused), n_right) > 5
    assert max(refused)[0] < 1000
    assert all("a.csv: " in message and "if cells have line breaks, write this as .parquet" in message
               for _, message in refused)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_are_cut_behind_line_breaks(tmp_path, monkeypatch, end):
    (tmp_path / "a.csv").write_bytes(("size,note" + end + "".join(f"{k},w{k}{end}" for k in range(30))).encode())
    for n_bytes in (2, 10, 11, 50, 200):
        monkeypatch.setattr(cluster, "_BLOCK_BYTES", n_bytes)
        found = opened(tmp_path / "a.csv").compute(scheduler="synchronous")
        assert found.to_numpy().tolist() == [[str(k), f"w{k}"] for k in range(30)]


def test_a_worker_here_that_is_lost_starts_again():
    """Dask would give it up if it is not back in time, or is lost once more so long after the first time."""
    import dask

    options = argparse.Namespace(dask=None, workers=1, threads=None)
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), \
            cluster.open_cluster(options) as (client, _):
        (first,) = client.run(os.getpid).values()
        os.kill(first, signal.SIGKILL)
        assert wait_until(lambda: list(client.run(os.getpid, on_error="ignore").values()) not in ([], [first]))


@pytest.mark.skipif(os.name != "posix", reason="groups of processes and terminals")
@pytest.mark.parametrize("where", ["--workers", "--dask"])
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_ctrl_c_leaves_nothing_behind(address, frame, model, tmp_path, command, where):
    """No process, no file, no task on a cluster that goes on, and one line that says so."""
    folder = write(frame.iloc[:30], tmp_path / "rows", "csv")
    pandas.concat([frame] * 500).to_csv(tmp_path / "rows" / "part-3.csv", index=False)
    given = ["fit", folder, "--target", "buys"] if command == "fit" else ["predict", model, folder]
    given += ["-o", str(tmp_path / "out.npz"), where, "2" if where == "--workers" else address]
    before = sorted(os.listdir(tmp_path))
    terminal, end = os.openpty()
    with started([sys.executable, "-m", "rffkern", *given], stderr=end, cwd=tmp_path) as process:
        os.close(end)
        shown = b""
        while not re.search(rb"\r[^\n]", shown):  # the bar, once rows are counted or a part is scored
            shown += os.read(terminal, 1000)
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(OSError):  # at the end
            while more := os.read(terminal, 1000):
                shown += more
        os.close(terminal)
        assert process.wait() == 130
        assert wait_until(lambda: not is_alive(process.pid))
    assert shown.decode().splitlines()[-1].endswith("rffkern: error: interrupted [rffkern help E130]"), shown.decode()
    assert b"Traceback" not in shown
    assert sorted(os.listdir(tmp_path)) == before
    with distributed.Client(address, set_as_default=False) as client:
        assert wait_until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_nothing_is_logged_from_ctrl_c_on(caplog):
    """Dask logs an error of its own where a task is interrupted before it has started."""
    @cluster._no_log_of_interrupts()
    def work():
        try:
            logging.error("before")
            signal.raise_signal(signal.SIGINT)
        finally:
            logging.error("while tasks are cancelled")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which processes of tests ignore
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        logging.disable(logging.NOTSET)
    # Schedulers of other tests may say later that a client has gone.
    assert [record.message for record in caplog.records if record.name == "root"] == ["before"]


def is_alive(group):
    """Whether a group has processes, but for those that have ended and wait for their parent."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return any(line.split()[0] == str(group) and "Z" not in line for line in listed.splitlines())


@pytest.fixture
def model(frame, tmp_path):
    """The path of a small model of words, dates and gaps."""
    fitted = rffkern.FourierBoostingClassifier(8, n_bags=1, kernel_ridge=False, random_state=0)
    rffkern.save(fitted.fit(frame.drop(columns=["buys", "price"]), frame["buys"]), tmp_path / "m.npz")
    return str(tmp_path / "m.npz")


@pytest.mark.parametrize(("ending", "last"), [("csv", ""), ("parquet", ""), ("csv", ".parquet")])
def test_parts_are_what_one_process_writes(address, frame, model, tmp_path, capsys, ending, last):
    """For each file, in folders such as year=2024 too; accuracy and drift are those of all rows."""
    folder, output = write(frame, tmp_path / "rows", ending), str(tmp_path / f"out{last}")
    (tmp_path / "rows" / "year=2024").mkdir()
    os.rename(f"{folder}/part-2.{ending}", f"{folder}/year=2024/part-2.{ending}")
    options = ["--target", "buys", "--proba", "--keep", "colour", "--names", "identifiers", "--round", "6"]
    assert main(["predict", model, folder, "-o", output, "--dask", address, "--check", str(tmp_path / "c.json"),
                 *options]) == 0
    found = capsys.readouterr().err.splitlines()
    assert found[0].startswith("400 rows of 3 files scored on 1 workers in ")
    assert main(["predict", model, folder, "-o", str(tmp_path / "all.csv"), "--check", str(tmp_path / "d.json"),
                 *options]) == 0
    assert found[1:] == capsys.readouterr().err.splitlines()
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "d.json").read_bytes()
    for name in ("part-0", "part-1", "year=2024/part-2"):
        part = f"{output}/{name}.{ending}{last}"
        one = str(tmp_path / f"one.{last[1:] or ending}")
        assert main(["predict", model, f"{folder}/{name}.{ending}", "-o", one, *options]) == 0
        with open(part, "rb") as file, open(one, "rb") as other:
            assert file.read() == other.read()
    assert sorted(os.listdir(output)) == [f"part-{k}.{ending}{last}" for k in (0, 1)] + ["year=2024"]


def test_what_a_killed_worker_was_writing_is_removed(tmp_path):
    with _whole_folder(str(tmp_path / "out")) as folder:
        for name in ("part-0.csv", ".part-0.csv.0123456789abcdef.rffkern.tmp"):
            with open(f"{folder}/{name}", "w"):
                pass
    assert os.listdir(tmp_path / "out") == ["part-0.csv"]
    assert os.listdir(tmp_path) == ["out"]


def test_scores_of_numbers_here(frame, tmp_path, capsys):
    """R^2 of all files, by processes that end with the command."""
    X = frame.assign(size=frame["size"].fillna(0.0))[["size", "price"]]
    rffkern.save(rffkern.GBRFFRegressor(4, random_state=0).fit(X[["size"]], X["price"]), tmp_path / "m.npz")
    folder = write(X, tmp_path / "rows", "csv")
    assert main(["predict", str(tmp_path / "m.npz"), folder, "-o", str(tmp_path / "out.npy"), "--workers", "1",
                 "--target", "price", "--log", "json"]) == 0
    found = capsys.readouterr().err
    assert found.count('"event": "part"') == 3
    assert main(["predict", str(tmp_path / "m.npz"), folder, "-o", str(tmp_path / "one.npy"), "--target", "price"]) == 0
    score = next(json.loads(line)["value"] for line in found.splitlines() if '"score"' in line)
    assert capsys.readouterr().err.split()[-1] == f"{score:.4f}"
    parts = [np.load(tmp_path / "out.npy" / f"part-{k}.csv.npy") for k in range(3)]
    np.testing.assert_array_equal(np.concatenate(parts), np.load(tmp_path / "one.npy"))


@pytest.mark.parametrize(("ending", "change", "expected"), [
    ("csv", lambda part: part.drop(columns="colour"), "part-1.csv: expected 4 columns, as"),
    ("csv", lambda part: part.rename(columns={"colour": "color"}), "part-1.csv: no column 'colour'"),
    ("csv", lambda part: part.assign(size="large"), "part-1.csv: data row 1 (line 2), column 0 (size): expected a"),
    ("parquet", lambda part: part.drop(columns="colour"), "part-1.parquet: expected the column 'colour', which"),
    ("parquet", lambda part: part.rename(columns={"colour": "color"}), "part-1.parquet: expected the column 'colour'"),
    ("parquet", lambda part: part.assign(size="large"), "part-1.parquet: ")])
def test_a_file_that_differs_is_not_scored(address, frame, model, tmp_path, capsys, ending, change, expected):
    folder = write(frame.drop(columns="price"), tmp_path / "rows", ending)
    part = change(frame.drop(columns="price").iloc[134:267])
    (part.to_csv if ending == "csv" else part.to_parquet)(tmp_path / "rows" / f"part-1.{ending}", index=False)
    assert main(["predict", model, folder, "-o", str(tmp_path / "out"), "--dask", address]) == 65
    assert expected in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["m.npz", "rows"]


@pytest.mark.parametrize(("options", "code", "expected"), [
    (["--jobs", "2"], 2, "--jobs is for one process here"),
    (["--reject", "r.csv"], 2, "--reject is for one process here"),
    (["-o", "-"], 2, "write a folder with a part for each file of DATA"),
    (["-o", "rows/out"], 2, "the output must not be in a folder that is read"),
    (["-o", "rows"], 2, "OUT must be the name of a new folder"),
    (["-o", "out.npy", "--proba", "--keep", "size"], 2, "--keep needs a table as OUT"),
    (["--dask", "tcp://127.0.0.1:1"], 2, "no scheduler answers"),
    ([], 65, "part-1.csv: data row 1 (line 2), column 0 (size): expected a finite number, got 'many'")])
def test_what_is_not_scored(address, frame, model, tmp_path, monkeypatch, capsys, options, code, expected):
    """Nothing is left, also where the worker finds a bad cell in a file in the middle."""
    monkeypatch.chdir(tmp_path)
    folder = write(frame, tmp_path / "rows", "csv")
    lines = (tmp_path / "rows/part-1.csv").read_text().splitlines()
    lines[1] = "many" + lines[1][lines[1].index(",") :]
    (tmp_path / "rows/part-1.csv").write_text("\n".join(lines))
    before = sorted(os.listdir())
    with dask_timeout("2s"):
        assert main(["predict", model, "rows", "-o", "out", "--dask", address, *options]) == code
    assert expected in capsys.readouterr().err
    assert sorted(os.listdir()) == before
    assert sorted(os.listdir(folder)) == [f"part-{k}.csv" for k in range(3)]


def dask_timeout(text):
    import dask

    return dask.config.set({"distributed.comm.timeouts.connect": text})
