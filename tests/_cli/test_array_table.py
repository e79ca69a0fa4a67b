"""Tables in .npy and .npz files."""

import numpy as np
import pytest
from helpers.command_line import blocks_of

from rffkern import InvalidInputError
from rffkern._cli import binary_table
from rffkern._cli.binary_table import ArrayTable


@pytest.fixture
def table(tmp_path):
    """A function that saves arrays and opens them as a table: one array as .npy, named ones as .npz."""
    def save(array=None, **arrays):
        path = tmp_path / ("t.npy" if array is not None else "t.npz")
        np.save(path, array) if array is not None else np.savez(path, **arrays)
        return ArrayTable(str(path))

    return save


def test_a_mapped_array(table, rng, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 4)
    X = rng.standard_normal((10, 3))
    found = table(X)
    assert isinstance(found.X, np.memmap)
    assert (found.columns, found.n_columns, found.has_labels, found.total) == (None, 3, False, X.nbytes)
    blocks = blocks_of(found, [2, 0], 1)
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X[:, [2, 0]])
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), X[:, 1])
    assert [block.done for block in blocks] == [96, 192, X.nbytes]
    assert all(block.X.flags.c_contiguous for block in blocks)
    assert [block.labels for block in blocks_of(found, [0])] == [None] * 3


def test_an_archive(table, rng, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 4)
    X, y = rng.standard_normal((6, 2)), np.array(list("aababb"))
    found = table(X=X, y=y, feature_names=np.array(["p", "q"]))
    assert found.columns == ["p", "q"]
    assert found.has_labels
    assert [block.labels.tolist() for block in blocks_of(found, [0, 1])] == [list("aaba"), list("bb")]
    np.testing.assert_array_equal(blocks_of(found, [0], 1)[0].labels, X[:4, 1])  # a column takes the place of y


@pytest.mark.parametrize(("dtype", "kept"), [
    (np.float32, np.float32), (np.float64, np.float64), (np.int16, np.float64), (bool, np.float64),
])
def test_dtypes(table, dtype, kept):
    X = np.array([[0, 1], [1, 0]], dtype)
    (block,) = blocks_of(table(X), [0, 1])
    assert block.X.dtype == kept
    np.testing.assert_array_equal(block.X, X)


def test_targets(table):
    X = np.zeros((3, 2))
    assert table(X=X, y=np.zeros((3, 1))).y.shape == (3,)
    assert table(X=X, y=np.zeros((3, 2))).y.shape == (3, 2)
    for wrong in (np.zeros(2), np.zeros((3, 1, 1)), np.float64(1)):
        with pytest.raises(InvalidInputError, match=r"expected y of shape \(3,\), or a column for each target"):
            table(X=X, y=wrong)


def test_names_that_do_not_fit_are_ignored(table):
    assert table(X=np.zeros((3, 2)), feature_names=np.array(["a"])).columns is None
    with pytest.raises(InvalidInputError, match="column names must be distinct"):
        table(X=np.zeros((3, 2)), feature_names=np.array(["a", "a"]))


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), np.array([["a"]]), np.zeros((2, 2), complex)])
def test_other_arrays(table, array):
    with pytest.raises(InvalidInputError, match="expected a 2-D numeric array, got dtype"):
        table(array)


def test_other_files(table, tmp_path):
    with pytest.raises(InvalidInputError, match=r"expected an array named X, got \['a'\]"):
        table(a=np.zeros(3))
    for name, content in (("bad.npy", b"nonsense"), ("none.npy", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError, match="not a NumPy file of plain arrays"):
            ArrayTable(str(tmp_path / name))
    np.save(tmp_path / "o.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="not a NumPy file of plain arrays"):
        ArrayTable(str(tmp_path / "o.npy"))


def test_infinite_numbers_are_located(table, monkeypatch):
    monkeypatch.setattr(binary_table, "BLOCK_ROWS", 4)
    X = np.zeros((10, 3))
    X[6, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"t\.npy: data row 7, column 1 \(the first is 0\): .* got nan"):
        blocks_of(table(X), [0, 1, 2])
    assert len(blocks_of(table(X), [0, 2])) == 3  # a column that is not asked for is not checked
