"""A table of awkward columns gives one model file, byte for byte, whatever holds it."""

import csv
import io
import warnings

import numpy as np
import pytest
from helpers.awkward_columns import ROWS, columns

from rffkern import ColumnMap, GBRFF2Classifier, dumps, load
from rffkern.errors import ColumnWarning

CHOSEN = {column.name: column.cells for column in columns()
          if len(column.cells) == ROWS and (not column.remark or "zeros" in column.remark)}
CHOSEN = {f"c{k}": CHOSEN[name] for k, name in enumerate([*CHOSEN][::9])}
LABELS = ["yes" if k % 3 else "no" for k in range(ROWS)]
MAP = ColumnMap(("standard",), min_level_rows=2)


def written(path):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[*CHOSEN, "y"], *zip(*CHOSEN.values(), LABELS, strict=True)])
    path.write_text(text.getvalue(), encoding="utf-8")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_one_table_gives_one_file(command, folder, name):
    """What holds the cells in Python does not matter by `_column_map/test_cells.py`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        model = GBRFF2Classifier(8, columns=MAP, random_state=0).fit(CHOSEN, np.array(LABELS))
    assert {row["kind"] for row in model.column_map_.describe()} == {"numeric", "date", "category"}
    if name == "t.csv":
        written(folder / name)
    else:
        feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")
        whole = pytest.importorskip("pyarrow").table(CHOSEN | {"y": LABELS})
        if name == "t.feather":
            feather.write_feather(whole, folder / name)
        else:
            parquet.write_table(whole, folder / name, row_group_size=17)
    code, _, errors = command("fit", name, "-o", "from.npz", "--set", "n_estimators=8", "--columns",
                              '{"numeric": ["standard"], "min_level_rows": 2}', "--model", "gbrff2")
    assert code == 0, errors
    assert (folder / "from.npz").read_bytes() == dumps(model, metadata={"target": "y", "rows": ROWS})
    code, out, errors = command("predict", "from.npz", name, "--proba")
    assert (code, errors) == (0, "")
    rows = [line.rsplit(",", 2)[1:] for line in out.splitlines()[1:]]
    np.testing.assert_array_equal(np.array(rows, dtype=float), model.predict_proba(CHOSEN))


def test_ambiguous_dates_are_settled_by_an_option(command, folder):
    (folder / "d.csv").write_text("when,y\n" + "".join(f"{1 + k % 12}/{1 + k % 11}/2024,{'ab'[k % 2]}\n"
                                                         for k in range(60)))
    code, _, errors = command("fit", "d.csv", "-o", "m.npz", "--model", "gbrff2")
    assert code == 0
    assert "d.csv: column 0 (when) has dates such as '1/1/2024', in which day and month could be exchanged: they are " \
           "read with the month first; --dates dmy or --dates mdy settles it" in errors
    code, _, errors = command("fit", "d.csv", "-o", "d.npz", "--model", "gbrff2", "--dates", "dmy")
    assert (code, "exchanged" in errors) == (0, False)
    (folder / "one.csv").write_text("when\n3/4/2024\n")
    answers = [command("predict", name, "one.csv", "--proba")[1] for name in ("m.npz", "d.npz")]
    assert answers[0] != answers[1]
    frame = {"when": np.array(["2024-04-03"], "M8[D]")}
    assert [float(cell) for cell in answers[1].splitlines()[1].split(",")[1:]] == \
        load(folder / "d.npz").predict_proba(frame)[0].tolist()


def test_columns_that_are_not_used_are_named(command, folder):
    """In Python once a fit, on the command line and in info."""
    rows = [f"{k / 7},same,,id {k},this is the text of row {k},{'ab'[k % 2]}" for k in range(60)]
    (folder / "t.csv").write_text("\n".join(["x,one,none,id,text,y", *rows]) + "\n")
    table = {"x": [k / 7 for k in range(60)], "one": ["same"] * 60, "none": [""] * 60,
             "id": [f"id{k}" for k in range(60)], "text": [f"this is the text of row {k}" for k in range(60)]}
    expected = ["one' (constant: leave the column out)", "none' (all values are missing: leave the column out)",
                "id' (a different value in each row, as identifiers have: leave the column out, or split it into parts "
                "that rows have in common)", "text' (a different text in each row, by whose words and letters "
                "the target is not predicted: leave "]
    with pytest.warns(ColumnWarning, match="columns that are not used: ") as caught:
        GBRFF2Classifier(3, random_state=0).fit(table, ["ab"[k % 2] for k in range(60)])
    assert len(caught) == 1
    assert all(f"'{each}" in str(caught[0].message) for each in expected)
    with pytest.warns(ColumnWarning) as caught:
        GBRFF2Classifier(3, columns="search", random_state=0).fit(table, ["ab"[k % 2] for k in range(60)])
    assert len(caught) == 1
    code, _, errors = command("fit", "t.csv", "-o", "m.npz", "--model", "gbrff2")
    assert code == 0
    line = next(line for line in errors.splitlines() if line.startswith("columns not used: "))
    assert all(each.replace("'", "") in line for each in expected)
    shown = command("info", "m.npz")[1]
    assert "column id      category, dropped, reason a different value in each row, as identifiers have" in shown
