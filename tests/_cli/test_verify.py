"""`rffkern export --verify` and `rffkern verify`: receipts of exported files."""

import hashlib
import json
import shutil

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
                                   "target": "numpy", "options": {}, "explain": False}
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
