"""Columns of cells as numbers, dates and words, whichever way a block is read."""

import numpy as np
import pytest
from helpers.command_line import blocks_of

from rffkern._cli.csv_table import Cells, CsvFormat, CsvTable, column_of, found_cells
from rffkern._cli.table import UNKNOWN

NUMBERS = [f"{i}.5" for i in range(50)]


@pytest.mark.parametrize(("texts", "kind"), [
    (["1", "", "x"], "category"), ([*NUMBERS, "x"], "numeric"), ([*NUMBERS, *"abcde"], "numeric"),
    ([*NUMBERS, *"abcdef"], "category"), ([*NUMBERS[:32] * 3, "x"], "numeric"), ([*NUMBERS[:31] * 3, "x"], "category"),
    ([*NUMBERS[:31], "x"], "numeric"),
    (["1", "2", "3+"] * 2, "category"), (["1", "2", "3", "x"], "category"), (["NA", " ?", ""], None), ([], None),
    (["true", "FALSE", ""], "category"), (["2024-01-01", "NaT"], "date"), (["2024-01-01", "3"], "category"),
    (["1,5", "2,5"], "numeric"), (["inf", "1"], "numeric"), (["007"], "numeric"), (["1_0"], "category"),
    ([f"2024-01-{i:02d}" for i in range(1, 31)] + ["soon"], "date"),
])
def test_what_a_column_is(texts, kind):
    found = found_cells(texts, ".")
    assert (found and found.kind) == kind


@pytest.mark.parametrize(("text", "seconds"), [
    ("1970-01-01", 0), ("1970-01-02T00:00:01Z", 86401), ("1969-12-31 23:59:59.25", -0.75),
    ("1970-01-01 02:00+02:00", 0), ("1970-01-01 00:00 -0130", 5400), ("2024-02-29", 1709164800),
    ("1970-01-01 00:00:00.000000001", 1e-9), ("0001-01-01", -62135596800), ("1970-01-01T01:00-01", 7200),
])
def test_dates(text, seconds):
    assert column_of([text, "NA"], Cells("date", gaps=True), ".").values.tolist()[0] == seconds
    assert column_of([text, "1"], Cells("date", gaps=True), ".") is None
    assert column_of([text, "NA"], Cells("date"), ".") is None


@pytest.mark.parametrize(("levels", "cell", "expected"), [
    (["a", " b"], " b", " b"), (["a", " b"], "b", " b"), (["1", "10"], "1.0", "1"), (["1", "10"], "1e1", "10"),
    (["False", "True"], "TRUE", "True"), (["False", "True"], "0", "False"), (["None", "x"], "None", "None"),
    (["x"], "None", None), (["x"], "y", "y"), (["0", "1"], "true", "true"), (["12345678901234567890"],
                                                                           "12345678901234567890",
                                                                           "12345678901234567890"),
])
def test_levels_of_a_model(levels, cell, expected):
    known = {level.strip(): level for level in levels}
    column = column_of([cell, cell], Cells("category", gaps=True, levels=known), ".")
    assert column.levels == (() if expected is None else (expected,))
    np.testing.assert_array_equal(column.values, [np.nan if expected is None else 0] * 2)


@pytest.mark.parametrize("decimal", [".", ","])
def test_all_ways_of_reading_a_block_agree(tmp_path, rng, decimal):
    """Plain, in simple quotes, by Python's csv, and with a row to reject: the same numbers, gaps, dates and words."""
    n = 200
    missing = ["", "NA", "nan", " NaN ", "n/a", "NULL", "?"]
    columns = [[f"{value:.3f}".replace(".", decimal) for value in rng.standard_normal(n)] for _ in range(3)]
    columns.append(rng.choice(["red", "na\u00efve", "1_000", "7", "0" + decimal + "5"], n).tolist())
    columns.append(np.datetime_as_string(np.datetime64("2020-01-01T00:00") + rng.integers(0, 10**6, n)).tolist())
    columns += [["1"] * n, ["a"] * n]
    for column in (columns[1], columns[3], columns[4]):
        for i in range(0, n, 3):
            column[i] = missing[i % len(missing)]
    columns[2][-1] = ""
    rows = list(zip(*columns, strict=True))
    texts = ["\n".join(";".join(row) for row in rows),
             "\r\n".join(";".join(f'"{cell}"' for cell in row) for row in rows),
             "\r".join(";".join([*row[:-1], f'"{row[-1]};"']) for row in rows),
             "\n".join([*(";".join(f" {cell} " for cell in row) for row in rows), "1;2"])]
    found = []
    for text in texts:
        (tmp_path / "t.csv").write_bytes(text.encode())
        table = CsvTable(str(tmp_path / "t.csv"), CsvFormat("no", ";", "utf-8", decimal))
        (block,) = blocks_of(table, range(5), 6, words=[3], reject=True, cells=[Cells(UNKNOWN, gaps=True)] * 5)
        found.append(block)
        assert [cells.kind for cells in block.cells] == ["numeric"] * 3 + ["category", "date"]
        assert len(block.rejected) == (text is texts[3])
        np.testing.assert_array_equal(block.X, found[0].X)
        assert (block.levels, block.words) == (found[0].levels, found[0].words)
    gone = np.arange(n) % 3 == 0
    assert np.isnan(found[0].X[:, [1, 3, 4]]).tolist() == np.repeat(gone[:, None], 3, axis=1).tolist()
    numbers = [float(cell.replace(",", ".")) for cell in columns[0]]
    assert found[0].X[:, 0].tolist() == numbers
    assert [found[0].levels[3][int(code)] for code in found[0].X[~gone, 3]] == [
        cell for cell, missing in zip(columns[3], gone, strict=True) if not missing]
