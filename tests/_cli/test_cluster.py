"""`rffkern fit --workers` and `--dask`: files of a folder, trained on where processes of a cluster read them."""

import numpy as np
import pytest

import rffkern
from rffkern._cli.main import main

distributed = pytest.importorskip("distributed")
pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")

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
                 "n_estimators=60", "--note", "here"]
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


def test_numbers_are_a_regression(address, frame, tmp_path):
    folder, output = write(frame, tmp_path / "rows", "csv"), str(tmp_path / "m.npz")
    assert main(["fit", folder, "-o", output, "--dask", address, "--target", "price", "--features", "size,colour",
                 "--set", "n_estimators=60"]) == 0
    model = rffkern.load(output)
    assert type(model) is rffkern.FourierBoostingRegressor
    assert model.score(frame[["size", "colour"]], frame["price"]) > 0.5


def test_processes_here(frame, tmp_path):
    folder, output = write(frame, tmp_path / "rows", "parquet"), str(tmp_path / "m.npz")
    assert main(["fit", folder, "-o", output, "--workers", "1", "--target", "buys", "--model", "gbrff2"]) == 0
    assert type(rffkern.load(output)) is rffkern.GBRFF2Classifier


@pytest.mark.parametrize(("options", "code", "expected"), [
    (["--holdout", "0.2"], 2, "--holdout needs all rows in one process"),
    (["--model", "rffnet"], 2, "--model rffnet cannot be trained on a cluster"),
    (["--target", "empty"], 65, "expected a target in each row, got 5 rows without one"),
    (["--target", "colour", "--model", "fourier_boosting_regressor"], 65, "holds text that is no number")])
def test_what_is_refused(address, frame, tmp_path, capsys, options, code, expected):
    folder = write(frame.assign(empty=[""] * 5 + ["a"] * 395), tmp_path / "rows", "csv")
    assert main(["fit", folder, "-o", str(tmp_path / "m.npz"), "--dask", address, *options]) == code
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "m.npz").exists()
