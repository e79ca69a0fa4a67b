"""`--set columns=auto`, and what `info` says of the choice."""

import numpy as np

from rffkern import load


def test_a_table_with_names_gets_a_map(command, folder):
    code, _, errors = command("fit", "train.csv", "-o", "a.npz", "--set", "columns=auto", "--holdout", "0.2")
    assert (code, "accuracy on 40 held-out rows" in errors) == (0, True)
    model = load(folder / "a.npz")
    assert model.columns == "auto"
    assert model.column_map_.n_features_in_ == 3
    shown = command("info", "a.npz")[1]
    assert f"chosen columns {', '.join(model.column_map_.numeric)}\n" in shown
    assert "column length  numeric, standard, " in shown
    code, out, _ = command("predict", "a.npz", "test.csv")
    assert (code, len(out.splitlines())) == (0, 101)


def test_rows_without_names_may_stay(command, folder, table):
    np.savez(folder / "t.npz", X=table[0][:50], y=table[1][:50])  # too few rows to compare maps by
    assert command("fit", "t.npz", "-o", "a.npz", "--set", "columns=auto")[0] == 0
    assert load(folder / "a.npz").column_map_ is None
    assert "chosen columns as they are\n" in command("info", "a.npz")[1]
    assert command("predict", "a.npz", "t.npz", "-o", "o.npy")[0] == 0
    assert command("fit", "t.npz", "-o", "a.npz", "--set", "columns=all")[0] == 2
