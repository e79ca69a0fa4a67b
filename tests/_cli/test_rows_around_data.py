"""Rows that are no data: totals below a table, column names in its middle, and cells that all rows end with."""

import pytest

ROWS = [f"{k / 8},{k * k % 61},{'red' if k % 2 else 'blue'},{k % 7 + k / 100}" for k in range(60)]
FIT = ["fit", "t.csv", "-o", "t.npz", "--model", "gbrff_regressor"]


def written(folder, *rows, names="a,b,colour,y"):
    (folder / "t.csv").write_text("\n".join([names, *rows, ""]))


def test_totals_are_not_said_to_be_missing_values_alone(command, folder):
    """--missing=Total would train on the sum of all targets."""
    written(folder, *ROWS, "Total,,,195.7")
    code, _, errors = command(*FIT)
    assert (code, "if it is a row of totals, remove or skip it" in errors) == (65, True)
    code, _, errors = command(*FIT, "--reject", "r.csv", "--cv", "0")
    assert (code, "1 of 61 rows rejected: r.csv" in errors) == (0, True)
    assert "row of totals" in command("evaluate", "t.npz", "t.csv")[2]
    written(folder, *ROWS, "unknown,5,red,3")
    assert "totals" not in command(*FIT)[2]


def test_column_names_in_the_middle(command, folder):
    written(folder, *ROWS[:30], "a,b,colour,y", *ROWS[30:])
    code, _, errors = command(*FIT)
    assert (code, errors) == (65, "rffkern: error: t.csv: data row 31 (line 32): the row has the column names again: "
                                  "remove it, or skip such rows with --reject FILE [rffkern help E65]\n")
    assert command(*FIT, "--reject", "r.csv", "--cv", "0")[0] == 0


def test_a_delimiter_at_the_end_of_all_rows_but_the_first(command, folder):
    written(folder, *(f"{row}," for row in ROWS))
    code, _, errors = command(*FIT)
    assert (code, "end the column names with ',', too," in errors) == (65, True)
    written(folder, *(f"{row}," for row in ROWS), names="a,b,colour,y,")
    assert command(*FIT, "--cv", "0", "--target", "y")[0] == 0
    written(folder, *(f"{row},7" for row in ROWS))
    assert "end the column" not in command(*FIT)[2]


@pytest.mark.parametrize("words", ["#DIV/0!", "#REF!,#DIV/0!"])
def test_errors_of_spreadsheets_may_be_missing_values(command, folder, words):
    first, *others = words.split(",")
    written(folder, f"{first},5,red,3", *ROWS, *(f"{word},5,red,4" for word in others))
    code, _, errors = command(*FIT)
    assert (code, f"pass --missing='{words}' if" in errors) == (65, True), errors
    assert command(*FIT, f"--missing={words}")[0] == 0


def test_groups_of_which_there_is_one(command, folder):
    written(folder, *(f"{row},A" for row in ROWS), names="a,b,colour,y,g")
    code, _, errors = command(*FIT, "--target", "y", "--groups", "g", "--holdout", "0.2")
    assert (code, errors.splitlines()[-1]) == (
        65, "rffkern: error: t.csv: --holdout 0.2 of 60 rows holds out none, as all are of one group: name another "
            "column by --groups [rffkern help E65]")


def test_targets_with_marks_beside_many_words(command, folder):
    """The words are errors, and do not decide how the others are read."""
    rows = [f"{k / 8};{k * k % 61};{f'{k % 7},{k:03d}' if k % 5 else '-'}" for k in range(60)]
    written(folder, *rows, names="a;b;y")
    code, _, errors = command(*FIT, "--reject", "r.csv")
    assert (code, "12 of 60 rows rejected: r.csv" in errors) == (0, True)
    assert "target 2 (y): '1,001' is read as 1.001\n" in errors


def test_a_last_column_without_cells_is_not_the_target(command, folder):
    """To skip such rows leaves none: the target has to be named."""
    written(folder, *(f"{row}," for row in ROWS), names="a,b,colour,y,remarks")
    code, _, errors = command(*FIT[:4])
    assert (code, "or name another column by --target [rffkern help E65]" in errors) == (65, True)
    assert command(*FIT, "--target", "y")[0] == 0


def test_words_among_numbers_of_a_parquet_file_can_be_skipped(command, folder):
    """The advice was to skip such rows, which ended with the same error."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [f"{k / 8} kg" if k % 20 else "?!" for k in range(60)], "b": [k * k % 61 for k in range(60)],
                      "y": [None if k == 7 else f"{k % 7}.{k} EUR" if k % 9 else "-" for k in range(60)]})
    parquet.write_table(table, folder / "t.parquet")
    fit = ["fit", "t.parquet", *FIT[2:]]
    code, _, errors = command(*fit)
    assert (code, "data row 1, column 0 (a): expected a finite number, alone or with 'kg', got '?!'" in errors) == (
        65, True), errors
    code, _, errors = command(*fit, "--reject", "r.csv")
    assert (code, "10 of 60 rows rejected: r.csv" in errors) == (0, True), errors
    assert (folder / "r.csv").read_text().count("got '-'") == 6
    code, out, errors = command("predict", "t.npz", "t.parquet", "--reject", "r.csv")
    assert (code, len(out.split()), "3 of 60 rows rejected: r.csv" in errors) == (0, 58, True), errors
