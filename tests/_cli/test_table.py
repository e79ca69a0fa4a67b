"""Which reader a file needs, and which column a text names."""

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._cli.binary_table import ArrayTable
from rffkern._cli.csv_table import CsvFormat, CsvTable
from rffkern._cli.open_table import open_table
from rffkern._cli.table import column_index
from rffkern._rows.validation import NamedRows, feature_names


def test_the_ending_tells(tmp_path):
    (tmp_path / "t.CSV").write_text("a;b\n1;2\n")
    found = open_table(str(tmp_path / "t.CSV"), CsvFormat("yes", ";"))
    assert isinstance(found, CsvTable)
    assert found.columns == ["a", "b"]
    np.save(tmp_path / "t.npy", np.zeros((2, 2)))
    assert isinstance(open_table(str(tmp_path / "t.npy")), ArrayTable)
    (tmp_path / "t.xml").touch()
    with pytest.raises(InvalidInputError, match=r"t\.xml: the name must end in \.csv, \.tsv, \.txt, \.csv\.gz, \.npy"):
        open_table(str(tmp_path / "t.xml"))
    for name in ("nowhere.csv", "nowhere"):
        with pytest.raises(FileNotFoundError):
            open_table(str(tmp_path / name))


@pytest.mark.parametrize(("text", "index"), [("b", 1), ("0", 0), ("-1", 3), ("-4", 0), ("1", 2), ("3", 3), (" 3", 3)])
def test_columns(tmp_path, text, index):
    """A name comes before a number: column 2 is called 1."""
    (tmp_path / "t.csv").write_text("a,b,1,c\n1,2,3,4\n")
    assert column_index(open_table(str(tmp_path / "t.csv"), CsvFormat("yes")), text) == index


@pytest.mark.parametrize("text", ["4", "-5", "d", "", "1.0"])
def test_columns_that_are_not_there(tmp_path, text):
    (tmp_path / "t.csv").write_text("a,b,c,d2\n1,2,3,4\n")
    with pytest.raises(InvalidInputError, match=r"no column '.*': expected one of 'a', 'b', 'c', 'd2'"):
        column_index(open_table(str(tmp_path / "t.csv")), text)
    np.save(tmp_path / "t.npy", np.zeros((2, 4)))
    with pytest.raises(InvalidInputError, match=r"no column '.*': expected an index from 0 to 3"):
        column_index(open_table(str(tmp_path / "t.npy")), text)


def test_named_rows_are_read_as_a_data_frame():
    rows = NamedRows(np.eye(2), ["a", "b"])
    assert feature_names(rows).tolist() == ["a", "b"]
    np.testing.assert_array_equal(np.asarray(rows), np.eye(2))
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32


def test_many_columns_are_not_all_listed(tmp_path):
    (tmp_path / "t.csv").write_text(",".join(f"c{j}" for j in range(5000)) + "\n" + ",".join("1" * 5000) + "\n")
    with pytest.raises(InvalidInputError, match=r"expected one of 'c0', .*'c11' and 4988 more$"):
        column_index(open_table(str(tmp_path / "t.csv")), "d")
    (tmp_path / "t.csv").write_text(",".join(["c"] * 5000) + "\n" + ",".join("1" * 5000) + "\n")
    with pytest.raises(InvalidInputError, match=r"must be distinct, got 'c' more than once; if row 1 is data, "):
        open_table(str(tmp_path / "t.csv"))
