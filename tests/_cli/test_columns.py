"""Columns that are kept, dropped, matched by name or by place, or that a table lacks."""

import numpy as np
import pytest
from helpers.command_line import write_csv

from rffkern import load


@pytest.fixture
def with_ids(folder, table):
    """The test rows behind an identifier, with columns in another order."""
    X, y = table
    lines = ["depth,id,length,answer,width"]
    lines += [f'{c},"no. {i}, ""x""",{a},{label},{b}' for i, ((a, b, c), label) in enumerate(zip(X, y, strict=True))]
    (folder / "ids.csv").write_text("\n".join(lines))
    return lines


def test_kept_columns_stand_before_the_predictions(command, with_ids, folder):
    code, out, errors = command("predict", "m.npz", "ids.csv", "--keep", "id,answer", "--proba", "--keep", "id")
    plain = command("predict", "m.npz", "train.csv", "--proba")[1].splitlines()
    lines = out.splitlines()
    assert (code, errors) == (0, "")
    assert lines[0] == "id,answer,prediction,probability of no,probability of yes"
    assert lines[1].startswith('"no. 0, ""x""",')
    assert [line.split(",", 3)[3] for line in lines[1:201]] == plain[1:]


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["--keep", "other"], 65, "no column 'other': expected one of ['depth', 'id',"),
    (["--keep", "id", "-o", "o.npy"], 2, "--keep needs a .csv as OUT, got 'o.npy'"),
    (["--drop", "width"], 65, "column 'width' of the model is missing; got ['depth', 'id', 'length', 'answer']"),
    (["--drop", "5"], 65, "no column '5'"),
])
def test_columns_that_cannot_be_kept_or_dropped(command, with_ids, arguments, code, message):
    done = command("predict", "m.npz", "ids.csv", *arguments)
    assert done[0] == code
    assert message in done[2]


def test_a_kept_column_must_not_be_called_prediction(command, folder, table):
    write_csv(folder / "p.csv", table[0], table[1], target="prediction")
    code, _, errors = command("predict", "m.npz", "p.csv", "--keep", "3")
    assert code == 2
    assert "the output would have two columns named 'prediction'" in errors


def test_dropped_columns_are_not_learned(command, with_ids, folder):
    assert command("fit", "ids.csv", "-o", "d.npz", "--drop", "id,answer", "--drop", "depth", "--model",
                   "gbrff_regressor")[0] == 0
    assert load(folder / "d.npz").feature_names_in_.tolist() == ["length"]  # the last column left is the target
    code, _, errors = command("fit", "ids.csv", "-o", "d.npz", "--drop", "id,answer", "--target", "answer")
    assert code == 2
    assert "--target and --drop must name different columns" in errors
    assert command("fit", "ids.csv", "-o", "d.npz", "--drop", "0,1,2,3")[0] == 65


def test_without_names_places_and_number_must_agree(command, folder, table):
    np.savez(folder / "t.npz", X=table[0], y=table[1])
    assert command("fit", "t.npz", "-o", "nameless.npz")[0] == 0
    code, _, errors = command("predict", "nameless.npz", "train.csv")
    assert code == 65
    assert "expected 3 columns besides any --target and --drop, got 4; columns are told by their places, because the " \
        "model has no column names" in errors
    dropped = command("predict", "nameless.npz", "train.csv", "--drop", "answer")
    assert dropped[0] == 0
    assert dropped[1] == command("predict", "nameless.npz", "train.csv", "--target", "answer")[1]


def test_labels_may_be_absent(command, folder, table):
    """One command line serves tables with labels, with some, and without."""
    X, y = table
    write_csv(folder / "bare.csv", X)
    write_csv(folder / "some.csv", X, [label if i % 2 else "" for i, label in enumerate(y)])
    bare = command("predict", "m.npz", "bare.csv", "--target", "answer")
    some = command("predict", "m.npz", "some.csv", "--target", "answer")
    assert bare[:2] == (0, some[1])
    assert bare[2] == "bare.csv: no column 'answer', so the predictions get no score\n"
    right = np.mean(load(folder / "m.npz").predict(X[1::2]) == y[1::2])
    assert some[2] == f"accuracy on 150 rows: {100 * right:.2f} %\n"
    code, _, errors = command("fit", "some.csv", "-o", "n.npz")
    assert code == 65
    assert "data row 1 (line 2), column 3 (answer): expected a label or target, got an empty cell" in errors


def test_words_of_arrays(command, folder, table):
    np.save(folder / "X.npy", table[0])
    code, out, _ = command("predict", "m.npz", "X.npy", "--keep", "2,0")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "column 2,column 0,prediction"
    assert [line.split(",")[:2] for line in lines[1:]] == [[str(c), str(a)] for a, _, c in table[0].tolist()]
