"""`rffkern predict --explain`: the strongest columns of each row, and what they contribute."""

import csv

import numpy as np
import pytest
from helpers.command_line import write_csv

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor, GBRFF2Classifier, save


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.fixture
def rows(folder, table):
    """The table without its labels."""
    write_csv(folder / "rows.csv", table[0])
    return table[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_strongest_columns(command, folder, table, rows, n_classes):
    y = np.digitize(rows[:, 0] + rows[:, 1] ** 2, [0.3, 1.2][: n_classes - 1])
    model = FourierBoostingClassifier(n_estimators=20, n_bags=2, random_state=0).fit(table[0], y)
    save(model, folder / "m.npz")
    options = ("--explain", "2", "--proba", "--jobs", "2")
    assert command("predict", "m.npz", "rows.csv", "-o", "o.csv", *options)[0] == 0
    names, *lines = read(folder / "o.csv")
    to = " to 1" if n_classes == 2 else ""  # of two classes always the second, whichever is predicted
    assert names[-4:] == ["reason 1", f"contribution 1{to}", "reason 2", f"contribution 2{to}"]
    found = model.explain(rows)
    values = found.values
    if n_classes == 3:
        values = values[np.arange(len(rows)), :, model.predict(rows)]
    for line, each in zip(lines, values, strict=True):
        order = np.argsort(-np.abs(each), kind="stable")[:2]
        assert line[-4::2] == [str(found.feature_names[j]) for j in order]
        np.testing.assert_array_equal(np.array(line[-3::2], dtype=float), each[order])


def test_numbers_without_a_map_and_identifiers(command, folder, table, rows):
    model = GBRFF2Classifier(10, random_state=0).fit(rows, table[1])
    save(model, folder / "g.npz")
    options = ("--explain", "1", "--names", "identifiers", "--round", "3")
    assert command("predict", "g.npz", "rows.csv", "-o", "o.csv", *options)[0] == 0
    names, *lines = read(folder / "o.csv")
    assert names == ["prediction", "reason_1", "contribution_1_to_yes"]
    values = model.explain(rows).values
    np.testing.assert_array_equal([int(line[1]) for line in lines], np.abs(values).argmax(axis=1))
    np.testing.assert_allclose([float(line[2]) for line in lines], values[np.arange(len(rows)),
                               np.abs(values).argmax(axis=1)].round(3))


def test_what_is_refused(command, folder, table, rows):
    save(FourierBoostingRegressor(n_estimators=5, n_bags=2, random_state=0).fit(rows, rows[:, :2]), folder / "two.npz")
    save(GBRFF2Classifier(10, random_state=0).fit(rows, table[1]), folder / "g.npz")
    for arguments, message in [
            (("two.npz", "--explain", "1"), "--explain needs a model of one output, two.npz has 2"),
            (("g.npz", "--explain", "99"), "--explain must be at most"),
            (("g.npz", "--explain", "1", "-o", "o.npy"), "--explain needs a table as OUT")]:
        code, _, errors = command("predict", arguments[0], "rows.csv", *arguments[1:])
        assert code == 2
        assert message in errors
