"""`rffkern export --verify` and `rffkern verify`: receipts of exported files."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from rffkern._export import TARGETS
from rffkern._export.engines import ENGINES


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def exported(command, folder):
    """The folder with m.py and its receipt."""
    assert command("export", "m.npz", "--to", "numpy", "-o", "m.py", "--verify", "test.csv")[0] == 0
    return folder


def test_what_a_receipt_has(exported):
    receipt = json.loads((exported / "m.py.receipt.json").read_text())
    assert receipt["artefact"] == {"sha256": sha256(exported / "m.py"), "bytes": (exported / "m.py").stat().st_size,
                                   "target": "numpy", "options": {}, "explain": False, "interval": None}
    assert receipt["model"] == {"sha256": sha256(exported / "m.npz")}
    assert receipt["rows"] == {"sha256": sha256(exported / "test.csv"), "n_rows": 100}
    assert receipt["engines"]["numpy"]["largest_difference"] < 1e-14
    assert receipt["engines"]["numpy"]["same_labels"] == 1.0


def test_the_same_receipt_again(exported, command):
    first = (exported / "m.py.receipt.json").read_bytes()
    assert command("export", "m.npz", "--to", "numpy", "-o", "m.py", "--verify", "test.csv")[0] == 0
    assert (exported / "m.py.receipt.json").read_bytes() == first


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
def test_contributions_are_compared(command, folder):
    args = ("export", "m.npz", "--to", "js", "--explain", "-o", "m.mjs", "--verify", "test.csv", "--drop", "answer")
    code, _, said = command(*args)
    assert (code, ", of a contribution " in said) == (0, True)
    receipt = json.loads((folder / "m.mjs.receipt.json").read_text())
    assert receipt["engines"]["node"]["largest_difference_of_contributions"] < 1e-13
    path = folder / "m.mjs"
    text = path.read_text()
    assert text.count("fill_contributions(numbers_of(x), out);") == 1
    path.write_text(text.replace("fill_contributions(numbers_of(x), out);", "out.fill(9);"))
    receipt["artefact"]["sha256"] = sha256(path)
    (folder / "m.mjs.receipt.json").write_text(json.dumps(receipt))
    code, _, said = command("verify", "m.mjs", "m.mjs.receipt.json", "m.npz", "test.csv", "--drop", "answer")
    assert (code, "node gives a contribution that differs by" in said) == (4, True)


def test_intervals_are_compared(command, written):
    assert command("fit", "w.csv", "-o", "i.npz", "--holdout", "0.3", "--model", "kernel_ridge_regressor")[0] == 0
    code, _, said = command("export", "i.npz", "--to", "numpy", "-o", "i.py", "--interval", ".8", "--verify", "w.csv")
    assert (code, ", of an interval " in said) == (0, True)
    receipt = json.loads((written / "i.py.receipt.json").read_text())
    assert receipt["engines"]["numpy"]["largest_difference_of_intervals"] < 1e-12
    with (written / "i.py").open("a") as file:
        file.write("\n\n_ends = predict_interval\n\n\ndef predict_interval(X):\n    return 1.01 * _ends(X)\n")
    for changed, code, message in (({}, 4, "gives an interval that differs"), ({"interval": "x"}, 65, "malformed")):
        receipt["artefact"] |= {"sha256": sha256(written / "i.py"), **changed}
        (written / "i.py.receipt.json").write_text(json.dumps(receipt))
        found, _, said = command("verify", "i.py", "i.py.receipt.json", "i.npz", "w.csv")
        assert (found, message in said) == (code, True), said


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "numpy"])
def test_engines_that_are_not_here_are_named(target, command, folder, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    code, _, said = command("export", "m.npz", "--to", target, "-o", "out", "--verify", "test.csv", "--drop", "answer")
    of_target = {name: engine for name, engine in ENGINES.items() if engine.target == target}
    runs_here = not all(engine.lacking() for engine in of_target.values())
    assert code == (0 if runs_here else 5)
    engines = json.loads((folder / "out.receipt.json").read_text())["engines"]
    assert {*engines} == {*of_target}
    if all(engine.programs for engine in of_target.values()):
        ((name, engine),) = of_target.items()
        (program,) = engine.programs
        assert engines[name] == {"not run": f"{program} not found"}
        assert f"{name}: not run, {program} not found" in said
        code, _, said = command("verify", "out", "out.receipt.json", "m.npz", "test.csv", "--drop", "answer")
        assert (code, f"install {name} [" in said) == (5, True)


@pytest.fixture
def written(command, folder, rng):
    """The folder with a table as people write it, and a model of it."""
    days = np.datetime64("2021-03-01") + rng.integers(0, 900, 200)
    rows = [f"{day.day}/{day.month}/{day.year},{day:%b} {day.day} {day.year},\"{1000 * x:,.2f}\",{p}%,{day.year}"
            for day, x, p in zip(days.astype(object), 9 + rng.random(200) * 9, rng.integers(0, 30, 200), strict=True)]
    (folder / "w.csv").write_text("since,named,balance,discount,left\n" + "\n".join(rows) + "\n")
    assert command("fit", "w.csv", "-o", "w.npz", "--cv", "0", "--drop", "named", "--columns", "map")[0] == 0
    assert command("fit", "w.csv", "-o", "named.npz", "--cv", "0", "--drop", "since", "--columns", "map")[0] == 0
    return folder


@pytest.mark.parametrize("target", [pytest.param(target, marks=[] if target in ("sql", "numpy") else pytest.mark.slow)
                                    for target in TARGETS])
def test_files_are_run_on_the_text_of_a_table(target, command, written):
    code, _, said = command("export", "w.npz", "--to", target, "-o", "out", "--verify", "w.csv", "--drop", "named,left")
    if code == 5:
        pytest.skip("no engine")
    assert code == 0, said
    assert ("converted" in said) == (target == "onnx")
    if target == "sql":
        assert "out: reads 'since': dates as DATE, TIMESTAMP, ISO text, 2024/3/31 or 31.3.2024 (day first); " in said
        assert (written / "out").read_text().splitlines()[1].startswith('-- It reads "since": dates as DATE')


def test_text_that_sql_does_not_read_is_found(command, written):
    """Names of months count as missing in SQL, and are dates of the model."""
    code, _, said = command("export", "named.npz", "--to", "sql", "-o", "out.sql", "--verify", "w.csv", "--drop",
                            "since,left")
    assert (code, "sqlite3 gives a score that differs by" in said) == (4, True)
    assert "out.sql: reads 'named': dates as DATE, TIMESTAMP, ISO text or 2024/3/31; other text counts as" in said


def test_verify(exported, command):
    assert command("verify", "m.py", "m.py.receipt.json")[::2] == (0, "m.py: as m.py.receipt.json says\n")
    code, _, said = command("verify", "m.py", "m.py.receipt.json", "m.npz", "test.csv")
    assert code == 0
    assert "numpy: largest difference of a score" in said


@pytest.mark.parametrize(("changed", "what"), [("m.py", "artefact"), ("m.npz", "model"), ("test.csv", "rows")])
def test_what_was_changed(changed, what, exported, command):
    """Nothing is run."""
    with (exported / changed).open("ab") as file:
        file.write(b"\nraise SystemExit\n")
    code, _, said = command("verify", "m.py", "m.py.receipt.json", "m.npz", "test.csv")
    assert code == 4
    assert f"{changed} is not the {what} of the receipt" in said
    assert "largest difference" not in said


def test_scores_that_differ(exported, command):
    receipt = json.loads((exported / "m.py.receipt.json").read_text())
    zeros = "\n\ndef scores(X):\n    return np.zeros((len(X), 1))\n"
    for content, messages in (((exported / "m.py").read_text() + zeros, ["numpy gives a score that differs by",
                                                                         "numpy gives other labels for"]),
                              ("1 / 0\n", ["numpy failed: ZeroDivisionError"])):
        (exported / "m.py").write_text(content)
        receipt["artefact"]["sha256"] = sha256(exported / "m.py")
        (exported / "forged.json").write_text(json.dumps(receipt))
        code, _, said = command("verify", "m.py", "forged.json", "m.npz", "test.csv")
        assert code == 4
        assert all(message in said for message in messages)


@pytest.mark.parametrize(("old", "new", "words"), [
    ("1e-09", "NaN", "NaN"), ("1e-09", "0.5", "tolerance is 0.5"), ("1e-09", "1e-9, \"tolerance\": 1e-9", "repeated"),
    ('"numpy",\n', '"none",\n', "no receipt"), ('"options": {}', '"options": {"name": "x"}', "options")])
def test_receipts_that_none_wrote(old, new, words, exported, command):
    text = (exported / "m.py.receipt.json").read_text()
    (exported / "forged.json").write_text(text.replace(old, new, 1))
    assert old in text
    code, _, said = command("verify", "m.py", "forged.json")
    assert (code, words in said) == (65, True), said


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["verify", "m.py", "null.json"], 65,
     "null.json: is no receipt of rffkern export --verify: its fields are none of"),
    (["verify", "m.py", "m.py.receipt.json", "m.npz"], 2, "MODEL and ROWS must be given together"),
    (["verify", "m.py", "none.json"], 66, "none.json: No such file"),
    (["verify", "none.py", "m.py.receipt.json"], 66, "none.py: No such file"),
    (["verify", "m.py", "test.csv"], 65, "test.csv: is no JSON"),
    (["verify", "m.py", "other.json"], 65, "other.json: is no receipt of rffkern export --verify"),
    (["verify", "m.py", "m.py.receipt.json", "m.npz", "."], 66, "."),
    (["export", "m.npz", "--to", "numpy", "-o", "-", "--verify", "test.csv"], 2, "--verify needs a file as OUT"),
    (["export", "m.npz", "--to", "numpy", "-o", "m.py", "--verify", "none.csv"], 66, "none.csv: No such file")])
def test_failures_are_one_clear_line(arguments, code, words, exported, command):
    (exported / "other.json").write_text('{"a": [1]}')
    (exported / "null.json").write_text("null")
    found, _, said = command(*arguments)
    assert found == code
    assert words in said


def test_what_cannot_be_exported_is_said_before_rows_are_read(command, folder, monkeypatch):
    def read(*arguments):
        raise AssertionError("rows were read")

    monkeypatch.setattr("rffkern._cli.export.read_rows", read)
    monkeypatch.setattr("rffkern._export.sql_file._MOST_COLUMNS", 2)
    code, _, errors = command("export", "m.npz", "-o", "m.sql", "--to", "sql", "--verify", "test.csv")
    assert code == 65
    assert "m.npz: a SELECT would need more than 2 columns for a model of 3 features" in errors
    assert not (folder / "m.sql").exists()
