"""Tables in .npy, .npz, Parquet and Arrow files."""

import datetime
import decimal
import sys

import numpy as np
import pytest
from helpers.command_line import blocks_of

from rffkern import InvalidInputError
from rffkern._cli import binary_table
from rffkern._cli.binary_table import ArrayTable
from rffkern._cli.open_table import open_table
from rffkern._cli.output import UsageError
from rffkern._cli.table import UNKNOWN, ColumnType


@pytest.fixture
def arrays(tmp_path):
    """A function that saves arrays and opens them as a table: one array as .npy, named ones as .npz."""
    def save(array=None, **arrays):
        path = tmp_path / ("t.npy" if array is not None else "t.npz")
        np.save(path, array) if array is not None else np.savez(path, **arrays)
        return ArrayTable(str(path))

    return save


def test_a_mapped_array(arrays, rng, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 4)
    X = rng.standard_normal((10, 3))
    found = arrays(X)
    assert isinstance(found.X, np.memmap)
    assert (found.columns, found.n_columns, found.has_labels, found.total) == (None, 3, False, X.nbytes)
    blocks = blocks_of(found, [2, 0], 1)
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X[:, [2, 0]])
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), X[:, 1])
    assert [block.done for block in blocks] == [96, 192, X.nbytes]
    assert all(block.X.flags.c_contiguous for block in blocks)
    assert [block.labels for block in blocks_of(found, [0])] == [None] * 3


def test_an_archive(arrays, rng, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 4)
    X, y = rng.standard_normal((6, 2)), np.array(list("aababb"))
    found = arrays(X=X, y=y, feature_names=np.array(["p", "q"]))
    assert found.columns == ["p", "q"]
    assert found.has_labels
    assert [block.labels.tolist() for block in blocks_of(found, [0, 1])] == [list("aaba"), list("bb")]
    np.testing.assert_array_equal(blocks_of(found, [0], 1)[0].labels, X[:4, 1])  # a column takes the place of y


@pytest.mark.parametrize(("dtype", "kept"), [
    (np.float32, np.float32), (np.float64, np.float64), (np.int16, np.float64), (bool, np.float64),
])
def test_dtypes(arrays, dtype, kept):
    X = np.array([[0, 1], [1, 0]], dtype)
    (block,) = blocks_of(arrays(X), [0, 1])
    assert block.X.dtype == kept
    np.testing.assert_array_equal(block.X, X)


def test_targets(arrays):
    X = np.zeros((3, 2))
    assert arrays(X=X, y=np.zeros((3, 1))).y.shape == (3,)
    assert arrays(X=X, y=np.zeros((3, 2))).y.shape == (3, 2)
    for wrong in (np.zeros(2), np.zeros((3, 1, 1)), np.float64(1)):
        with pytest.raises(InvalidInputError, match=r"expected y of shape \(3,\), or a column for each target"):
            arrays(X=X, y=wrong)


def test_names_that_do_not_fit_are_ignored(arrays):
    assert arrays(X=np.zeros((3, 2)), feature_names=np.array(["a"])).columns is None
    with pytest.raises(InvalidInputError, match="column names must be distinct"):
        arrays(X=np.zeros((3, 2)), feature_names=np.array(["a", "a"]))


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), np.array([["a"]]), np.zeros((2, 2), complex)])
def test_other_arrays(arrays, array):
    with pytest.raises(InvalidInputError, match="expected a 2-D numeric array, got dtype"):
        arrays(array)


def test_other_files(arrays, tmp_path):
    with pytest.raises(InvalidInputError, match=r"expected an array named X, got \['a'\]"):
        arrays(a=np.zeros(3))
    for name, content in (("bad.npy", b"nonsense"), ("none.npy", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError, match="not a NumPy file of plain arrays"):
            ArrayTable(str(tmp_path / name))
    np.save(tmp_path / "o.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="not a NumPy file of plain arrays"):
        ArrayTable(str(tmp_path / "o.npy"))


def test_infinite_numbers_are_located(arrays, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 4)
    X = np.zeros((10, 3))
    X[6, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"t\.npy: data row 7, column 1 \(the first is 0\): .* got nan"):
        blocks_of(arrays(X), [0, 1, 2])
    assert len(blocks_of(arrays(X), [0, 2])) == 3  # a column that is not asked for is not checked


@pytest.fixture
def pyarrow():
    """The module, where it is installed."""
    pytest.importorskip("pyarrow.parquet")
    import pyarrow

    return pyarrow


WRITERS = ["t.parquet", "t.feather", "t.arrow", "stream.arrow"]


@pytest.fixture
def saved(tmp_path, pyarrow):
    """A function that writes columns to a file and opens it as a table."""
    def save(columns, name="t.parquet", rows_together=7):
        table = columns if isinstance(columns, pyarrow.Table) else pyarrow.table(columns)
        path = str(tmp_path / name)
        if name.endswith(".parquet"):
            pyarrow.parquet.write_table(table, path, row_group_size=rows_together)
        else:
            opened = pyarrow.ipc.new_stream if name == "stream.arrow" else pyarrow.ipc.new_file
            with opened(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=rows_together)
        return open_table(path)

    return save


def test_the_index_of_pandas(command, folder, rng, pyarrow):
    """It is no column where it has no name, as that of shuffled rows, and else the first, as in .csv."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": rng.standard_normal(40), "b": rng.standard_normal(40)})
    frame["y"] = np.where(frame["a"] > 0, "yes", "no")
    shuffled = frame.sample(frac=1, random_state=0)
    shuffled.to_parquet(folder / "shuffled.parquet")
    shuffled.to_csv(folder / "shuffled.csv", index=False)
    named = shuffled.rename_axis("id")
    named.to_parquet(folder / "named.parquet")
    named.to_csv(folder / "named.csv")
    for name, columns in (("shuffled", ["a", "b", "y"]), ("named", ["id", "a", "b", "y"])):
        assert open_table(str(folder / f"{name}.parquet")).columns == columns
        for ending in ("csv", "parquet"):
            code, _, errors = command("fit", f"{name}.{ending}", "-o", f"{ending}.npz", "--set", "n_estimators=5")
            assert code == 0, errors
        assert (folder / "csv.npz").read_bytes() == (folder / "parquet.npz").read_bytes()
        assert command("predict", "csv.npz", f"{name}.parquet", "-o", "o.csv", "--keep", "y")[0] == 0
        assert (folder / "o.csv").read_text().split("\n")[1].startswith(f"{shuffled['y'].iloc[0]},")


@pytest.mark.parametrize("name", WRITERS)
def test_all_kinds_of_files(saved, rng, name, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 3)
    X = rng.standard_normal((20, 2))
    labels = [f"l{i % 3}" for i in range(20)]
    table = saved({"a": X[:, 0], "label": labels, "b": X[:, 1]}, name)
    assert (table.columns, table.n_columns, table.has_labels) == (["a", "label", "b"], 3, False)
    for _ in range(2):  # a table can be read again
        blocks = blocks_of(table, [2, 0], 1, kept=[1, 0])
        assert max(len(block.X) for block in blocks) <= 3
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X[:, ::-1])
        assert [label for block in blocks for label in block.labels.tolist()] == labels
        assert [word for block in blocks for word in block.kept[0]] == labels
        assert [word for block in blocks for word in block.kept[1]] == list(map(str, X[:, 0].tolist()))
        assert blocks[-1].done == 20


def test_types_of_numbers(saved, pyarrow):
    columns = {"i": pyarrow.array([1, 2], pyarrow.int8()), "u": pyarrow.array([2**63, 1], pyarrow.uint64()),
               "f": pyarrow.array([0.5, 2], pyarrow.float32()), "b": [True, False],
               "d": [decimal.Decimal("1.25"), decimal.Decimal("-2")],
               "c": pyarrow.array([7, 8]).dictionary_encode()}
    (block,) = blocks_of(saved(columns), range(6))
    assert block.X.tolist() == [[1, 2**63, 0.5, 1, 1.25, 7], [2, 1, 2, 0, -2, 8]]


@pytest.mark.parametrize(("labels", "kind"), [([1, 2], "i"), ([True, False], "b"), (["a", "b"], "U"), ([0.5, 1], "f"),
                                              ([datetime.date(2020, 1, 2), datetime.date(2021, 1, 2)], "U")])
def test_types_of_labels(saved, labels, kind):
    (block,) = blocks_of(saved({"a": [1.0, 2.0], "y": labels}), [0], 1)
    assert block.labels.dtype.kind == kind
    assert block.labels.tolist() == (labels if kind != "U" else list(map(str, labels)))


def test_labels_have_no_blanks_around_them_as_in_csv(saved, arrays):
    columns = {"a": [1.0, 2.0, 3.0], "y": ["u ", " ", "\tu"]}
    (block,) = blocks_of(saved(columns), [0], 1, reject=True)
    assert (block.X.tolist(), block.labels.tolist()) == ([[1.0], [3.0]], ["u", "u"])
    with pytest.raises(InvalidInputError, match=r"data row 2, column 1 \(y\): expected a label or target, got none: "
                                                r"fill it in, or skip such rows with --reject FILE"):
        blocks_of(saved(columns), [0], 1)
    (block,) = blocks_of(arrays(X=np.zeros((2, 1)), y=np.array(["u", "u "])), [0])
    assert block.labels.tolist() == ["u", "u"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_day_are_seconds(saved, pyarrow, unit):
    times = pyarrow.array([datetime.time(1, 30), None, datetime.time(0, 0, 2)], pyarrow.time64("us")).cast(
        pyarrow.time32(unit) if unit in ("s", "ms") else pyarrow.time64(unit))
    (block,) = blocks_of(saved({"a": times}), [0], types=[ColumnType(UNKNOWN, nullable=True)])
    np.testing.assert_array_equal(block.X[:, 0], [5400, np.nan, 2])


def test_categories_are_words(saved, pyarrow):
    (block,) = blocks_of(saved({"a": [1, 2, 3], "y": pyarrow.array(["u", "v", "u"]).dictionary_encode()}), [0], 1)
    assert block.labels.tolist() == ["u", "v", "u"]


def test_rows_that_cannot_be_used(saved, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 2)
    columns = {"a": [1.0, None, 3.0, float("inf"), 5.0], "y": ["u", "v", None, None, "u"]}
    with pytest.raises(InvalidInputError, match=r"data row 2, column 0 \(a\): expected a finite number, got nan"):
        blocks_of(saved(columns), [0], 1)
    blocks = blocks_of(saved(columns), [0], 1, kept=[1], reject=True)
    assert [block.X.tolist() for block in blocks] == [[[1.0]], [], [[5.0]]]
    assert [block.labels.tolist() for block in blocks] == [["u"], [], ["u"]]
    assert [block.kept for block in blocks] == [[["u"]], [[]], [["u"]]]
    faults = [fault for block in blocks for fault in block.rejected]
    assert [(fault.row, fault.column) for fault in faults] == [(2, "0 (a)"), (3, "1 (y)"), (4, "1 (y)")]
    (block,) = blocks_of(saved({"a": [1.0, 2.0], "y": [1, None]}), [0], 1, needs_labels=False)
    np.testing.assert_array_equal(block.labels, [1, np.nan])
    with pytest.raises(InvalidInputError, match=r"data row 1, column 1 \(y\): expected a column of numbers, got 'u' in"
                                                r" one of type string: save it as numbers, or train without it"):
        blocks_of(saved(columns), [1])


def test_repeated_names(saved, pyarrow):
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    with pytest.raises(InvalidInputError, match="column names must be distinct, got 'a'"):
        saved(table)


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files(saved, tmp_path, name):
    saved({"a": np.arange(1000.0), "b": ["x"] * 1000}, name)
    content = (tmp_path / name).read_bytes()
    refused = 0
    for damaged in (b"", b"nonsense", content[:6], content[: len(content) // 2], content[:-9],
                    content[:40] + b"\xff" * 60 + content[100:]):
        (tmp_path / name).write_bytes(damaged)
        try:
            blocks_of(open_table(str(tmp_path / name)), [0])
        except InvalidInputError as error:
            refused += name in str(error)
    assert refused >= 4  # bytes of numbers carry no sum by which a change could be found


def test_without_pyarrow(tmp_path, monkeypatch):
    for name in WRITERS:
        (tmp_path / name).write_bytes(b"PAR1")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(UsageError, match=r"need pyarrow, which is not installed: pip install 'rffkern\[arrow\]'"):
            open_table(str(tmp_path / name))


def test_the_same_model_and_predictions_as_from_csv(command, folder, table, pyarrow):
    X, y = table
    columns = {"depth": X[:, 2], "answer": y, "length": X[:, 0], "id": [f"no. {i}" for i in range(300)],
               "width": X[:, 1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "all.parquet")
    names = ["length", "width", "depth", "answer"]
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(pyarrow.table({name: columns[name][:200] for name in names}), str(folder / "t.feather"))
    assert command("fit", "t.feather", "-o", "a.npz")[0] == 0
    assert (folder / "a.npz").read_bytes() == (folder / "m.npz").read_bytes()
    code, out, errors = command("predict", "a.npz", "all.parquet", "--target", "answer", "--keep", "id", "--jobs", 2)
    assert code == 0
    assert "accuracy on 300 rows" in errors
    test = command("predict", "m.npz", "test.csv")[1].splitlines()
    assert out.splitlines()[201:] == [f"no. {200 + i},{label}" for i, label in enumerate(test[1:])]
    assert command("predict", "a.npz", "nowhere.parquet")[0] == 66
