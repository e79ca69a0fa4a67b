"""`rffkern what-if`: changes of rows that reach a label or a number."""

import json

import numpy as np
import pytest

from rffkern import load

SMALL = ("--model", "auto", "--set", "n_estimators=30", "--set", "n_bags=1", "--set", "kernel_ridge=false", "--cv", "0")


@pytest.fixture
def loans(command, folder, rng):
    """A table of words and numbers with a gap, and a model of each task."""
    age, town = rng.integers(18, 80, 200), rng.choice(["north", "south"], 200)
    paid = np.where(age + 20 * (town == "south") > 55, "good", "bad")
    lines = [f"{a},{t},{p}" for a, t, p in zip(age, town, paid, strict=True)]
    (folder / "loans.csv").write_text("\n".join(["age,town,paid", *lines]))
    (folder / "rows.csv").write_text("town,age,id\nnorth,30,7\nsouth,70,8\nnorth,,9\n")
    for target, name in (("paid", "words.npz"), ("age", "numbers.npz")):
        assert command("fit", "loans.csv", "-o", name, "--target", target, *SMALL)[0] == 0


@pytest.mark.slow
def test_labels(command, folder, loans):
    model = load(folder / "words.npz")
    code, out, errors = command("what-if", "words.npz", "rows.csv", "--target", "good", "--json", "--change", "age",
                                "--step", "age=1", "--limit", "age=18:")
    assert code == 0, errors
    changed, same, failed = map(json.loads, out.splitlines())
    expected = model.what_if({"age": 30, "town": "north"}, "good", change=["age"], steps={"age": 1},
                             limits={"age": (18, None)})
    assert changed == {"row": 1, "predicted": "bad", "prediction": "good", "probability": expected.probability,
                       "changes": {"age": [*expected.changes["age"]]}, "distance": expected.distance,
                       "lower_bound": expected.lower_bound}
    assert same["changes"] == {}
    assert failed["row"] == 3
    assert "got 'age'" in failed["error"]
    code, out, _ = command("what-if", "words.npz", "rows.csv", "--target", "good", "--probability", "0.7")
    assert code == 0
    assert out.startswith("row 1: predicts bad; would predict good (probability of good: 0.")
    assert "row 2: predicts good, which is the target already" in out
    assert "  distance " in out


def test_numbers(command, folder, loans):
    (folder / "one.csv").write_text("town,paid\nnorth,bad\n")
    low, high = load(folder / "numbers.npz").predict({"town": ["north", "north"], "paid": ["bad", "good"]})
    code, out, errors = command("what-if", "numbers.npz", "one.csv", "--target", f"{high - 1}:{high + 1}")
    assert code == 0, errors
    assert out.splitlines() == [f"row 1: predicts {low:.6g}; would predict {high:.6g} with", "  paid  bad  ->  good",
                                "  distance 1; no change within 1 does"]


def test_what_is_refused(command, folder, loans):
    for arguments, code, message in (
            (("words.npz", "--target", "maybe"), 2, "must be a label of the model, such as 'bad', got 'maybe'"),
            (("numbers.npz", "--target", "3:x"), 2, "must be a number, or LOW:HIGH"),
            (("words.npz", "--target", "good", "--change", "aeg"), 2, "such as 'age', got 'aeg'"),
            (("words.npz", "--target", "good", "--reject", "rows.csv"), 2, "must not be an input, got 'rows.csv'"),
            (("words.npz", "--target", "good", "--change", "age", "--limit", "age=1:2"), 65,
             "with a value in the row, got 'age': leave it out of change")):
        model, *options = arguments
        got, _, errors = command("what-if", model, "rows.csv" if model == "words.npz" else "loans.csv", *options)
        assert got == code
        assert message in errors
    for option, value in (("--limit", "age=3"), ("--limit", "age=a:b"), ("--limit", "age=5:4"), ("--step", "age=0"),
                          ("--step", "1")):
        assert command("what-if", "words.npz", "rows.csv", "--target", "good", option, value)[0] == 2


def test_what_no_row_can_have_is_refused_once(command, folder, loans):
    (folder / "two.csv").write_text("town,paid\nnorth,bad\nsouth,good\n")
    words, numbers = ("words.npz", "rows.csv", "--target", "good"), ("numbers.npz", "two.csv", "--target")
    for arguments, message in (
            ((*words, "--limit", "town=0:1"), "a column of limits must be one of numbers, got 'town'"),
            ((*words, "--step", "town=1"), "a column of steps must be one of numbers, got 'town'"),
            ((*words, "--change", "town", "--limit", "age=18:"), "a column of limits must be one of change, got 'age'"),
            ((*words, "--limit", "age=18:", "--limit", "0=20:"), "--limit gives 'age' two values"),
            ((*words, "--step", "age=1", "--step", "age=2"), "--step gives 'age' two values"),
            ((*numbers, "5:4"), "a pair (low, high), low <= high, got (5.0, 4.0)"),
            ((*numbers, "nan"), "a finite number"),
            ((*numbers, "5", "--probability", ".5"), "probability must be None for a regressor")):
        code, out, errors = command("what-if", *arguments)
        assert (code, out, errors.count(message)) == (2, "", 1), errors
