"""Predictions as .csv and .npy files."""

import csv
import io
import pickle

import numpy as np
import pytest

from rffkern._cli.predict import CsvRows, NpyRows


def test_csv():
    form = CsvRows(["id", "prediction", "probability of a", "probability of b, c"])
    assert form.head().decode() == 'id,prediction,probability of a,"probability of b, c"\n'
    rows = form.rows(np.array(["a", 'b "c"']), np.array([[0.75, 0.25], [0.1, 0.9]]), [["1", "two\nlines"]])
    assert rows.decode() == '1,a,0.75,0.25\n"two\nlines","b ""c""",0.1,0.9\n'
    assert form.rows(np.array(["é,"]), np.array([[1 / 3, 2 / 3]]), [["x"]]).decode() == \
        'x,"é,",0.3333333333333333,0.6666666666666666\n'


def test_csv_of_several_targets():
    form = CsvRows(["prediction 0", "prediction 1"])
    assert form.rows(np.array([[1.5, 2.0], [-1e-9, 1e300]]), None, []) == b"1.5,2.0\n-1e-09,1e+300\n"


@pytest.mark.parametrize("values", [[1, -2], [True, False], [0.1, 1e22], ["", "a"], ["a,b", 'c"', "\r", "\n", " d "],
                                    ["é", "\x1b"]])
@pytest.mark.parametrize("words", [[], ["", "a,b", "\r\n", 'q"', " ", "x"]])
def test_pythons_csv_reads_what_was_written(values, words):
    words = [words[: len(values)]] if words else []
    text = CsvRows([]).rows(np.array(values), None, words).decode()
    expected = [list(map(str, row)) for row in zip(*words, values, strict=True)]
    assert list(csv.reader(io.StringIO(text, newline=""))) == expected


@pytest.mark.parametrize("blocks", [
    [np.array([1, 2]), np.array([3])], [np.array(["ab", "c"])], [np.array([[0.5, 1.0]]), np.zeros((3, 2))],
    [np.array([True, False])], [np.zeros(0)],
], ids=str)
def test_npy(blocks):
    form = pickle.loads(pickle.dumps(NpyRows(blocks[0].dtype, blocks[0].shape[1:])))
    file = io.BytesIO(form.head() + b"".join(form.rows(block, None, []) for block in blocks))
    form.finish(file, sum(map(len, blocks)))
    file.seek(0)
    found = np.load(file, allow_pickle=False)
    np.testing.assert_array_equal(found, np.concatenate(blocks))
    assert found.dtype == blocks[0].dtype


def test_npy_of_probabilities_holds_nothing_else():
    form = NpyRows(np.dtype(np.float64), (2,))
    file = io.BytesIO(form.head() + form.rows(np.array(["a", "b"]), np.array([[0.75, 0.25], [0.5, 0.5]]), []))
    form.finish(file, 2)
    file.seek(0)
    assert np.load(file).tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_the_header_of_many_rows_fits():
    file = io.BytesIO()
    NpyRows(np.dtype("<U1000000"), (10**9,)).finish(file, 10**15)
    assert len(file.getvalue()) == 128
