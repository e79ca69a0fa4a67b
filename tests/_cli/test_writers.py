"""Predictions into .csv and .npy files."""

import io

import numpy as np
import pytest

from rffkern._cli.writers import CsvWriter, NpyWriter


def test_csv():
    file = io.BytesIO()
    writer = CsvWriter(file, ["prediction", "probability of a", "probability of b, c"])
    writer.add(np.array(["a", 'b "c"']), np.array([[0.75, 0.25], [0.1, 0.9]]))
    writer.add(np.array(["é,"]), np.array([[1 / 3, 2 / 3]]))
    writer.close()
    assert file.getvalue().decode() == (
        'prediction,probability of a,"probability of b, c"\na,0.75,0.25\n"b ""c""",0.1,0.9\n'
        '"é,",0.3333333333333333,0.6666666666666666\n')


def test_csv_of_several_targets():
    file = io.BytesIO()
    writer = CsvWriter(file, ["prediction 0", "prediction 1"])
    writer.add(np.array([[1.5, 2.0], [-1e-9, 1e300]]), None)
    assert file.getvalue() == b"prediction 0,prediction 1\n1.5,2.0\n-1e-09,1e+300\n"


def test_csv_is_written_block_by_block():
    file = io.BytesIO()
    writer = CsvWriter(file, ["prediction"])
    assert file.getvalue() == b"prediction\n"
    writer.add(np.array([1, 2]), None)
    assert file.getvalue() == b"prediction\n1\n2\n"


@pytest.mark.parametrize("blocks", [
    [np.array([1, 2]), np.array([3])], [np.array(["ab", "c"])], [np.array([[0.5, 1.0]]), np.zeros((3, 2))],
    [np.array([True, False])], [np.zeros(0)],
], ids=str)
def test_npy(blocks):
    file = io.BytesIO()
    writer = NpyWriter(file, blocks[0].dtype, blocks[0].shape[1:])
    for block in blocks:
        writer.add(block, None)
    writer.close()
    file.seek(0)
    found = np.load(file, allow_pickle=False)
    np.testing.assert_array_equal(found, np.concatenate(blocks))
    assert found.dtype == blocks[0].dtype


def test_npy_of_probabilities_holds_nothing_else():
    file = io.BytesIO()
    writer = NpyWriter(file, np.dtype(np.float64), (2,))
    writer.add(np.array(["a", "b"]), np.array([[0.75, 0.25], [0.5, 0.5]]))
    writer.close()
    file.seek(0)
    assert np.load(file).tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_the_header_of_many_rows_fits():
    file = io.BytesIO()
    writer = NpyWriter(file, np.dtype("<U1000000"), (10**9,))
    writer._n_rows = 10**15
    writer.close()
    assert len(file.getvalue()) == 128
