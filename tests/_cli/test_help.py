"""`rffkern help`, `rffkern completion` and `--quiet`."""

import contextlib
import io
import shlex
import shutil
import subprocess

import numpy as np
import pytest

from rffkern._cli.completion import commands_of
from rffkern._cli.help import RECIPES
from rffkern._cli.main import main, make_parser
from rffkern._cli.output import EXIT_CODES, Finding
from rffkern.errors import FormatError, InvalidInputError, TrainingStateError


@pytest.mark.parametrize("topic", RECIPES)
def test_recipes_are_commands(topic, capsys):
    assert main(["help", topic]) == 0
    text = capsys.readouterr().out
    commands = [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines()[2:]]
    assert commands
    for name, *arguments in commands:
        assert name == "rffkern"
        make_parser().parse_args(arguments)


@pytest.mark.parametrize(("name", "remedy"), [("explain", "predict --explain N"), ("drift", "predict --check FILE"),
                                              ("train", "fit"), ("score", "evaluate")])
def test_a_command_that_has_another_name_is_shown(name, remedy, capsys):
    with pytest.raises(SystemExit):
        main([name, "m.npz"])
    assert f"; for that there is rffkern {remedy} [rffkern help E2]" in capsys.readouterr().err
    assert remedy.split()[0] in commands_of(make_parser())


def test_topics_are_listed_and_a_wrong_one_is_corrected(capsys):
    assert main(["help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {topic} " in text for topic in RECIPES)
    assert main(["help", "exprot"]) == 2
    assert "did you mean 'export'?" in capsys.readouterr().err


def test_no_command_lists_them(capsys):
    assert main([]) == 2
    assert "    fit       train a model" in capsys.readouterr().err


@pytest.mark.parametrize("code", EXIT_CODES)
def test_exit_codes_are_explained(code, capsys):
    meaning, advice = EXIT_CODES[code]
    shown = set()
    for topic in (f"{code}", f"E{code}", f"e{code}"):
        assert main(["help", topic]) == 0
        shown.add(capsys.readouterr().out)
    (text,) = shown
    assert text.startswith(f"exit code {code}: {meaning}\n")
    assert advice in " ".join(text.split())
    assert (f"docs/messages.md#e{code}\n" in text) == bool(advice)


# What ends a command, and its exit code; a wrong option is refused by the parser, and a wrong topic by the command.
ENDS = [(["help", "E64"], 2), (["fit", "--pairs", "x"], 2), (["info", "none.npz"], 66), (OSError("no"), 74),
        (InvalidInputError("no"), 65), (FormatError("no"), 65), (TrainingStateError("no"), 74), (MemoryError("no"), 74),
        (KeyboardInterrupt(), 130), (Finding(3, "two\nlines"), 3), (Finding(4, "no"), 4), (Finding(5, "no"), 5)]


@pytest.mark.parametrize(("end", "code"), ENDS, ids=repr)
def test_every_error_ends_with_its_code(end, code, capsys, monkeypatch, tmp_path):
    """Which is one that `rffkern help` and docs/messages.md explain."""
    def ended(_):
        raise end

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rffkern._cli.main.discard", lambda stream: None)  # which would close pytest's own
    if isinstance(end, BaseException):
        monkeypatch.setattr("rffkern._cli.help.run", ended)
    try:
        found = main(end if isinstance(end, list) else ["help"])
    except SystemExit as error:  # of argparse
        found = error.code
    assert found == code
    errors = capsys.readouterr().err
    assert errors.endswith(f" [rffkern help E{code}]\n")
    assert errors.count("[rffkern help") == 1
    assert EXIT_CODES[code][1]


def completed(script, *words):
    """What bash completes the last of some words with."""
    line = f"{script}\nCOMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _rffkern; " \
           'printf "%s\\n" "${COMPREPLY[@]}"'
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_commands_options_and_choices(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, "rffkern", "f") == ["fit"]
    assert completed(script, "rffkern", "export", "--pre") == ["--precision"]
    assert completed(script, "rffkern", "export", "--to", "o") == ["onnx"]
    assert completed(script, "rffkern", "completion", "z") == ["zsh"]
    assert completed(script, "rffkern", "fit", "trai") == []  # files


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_all_commands_and_options(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for name, parser in commands_of(make_parser()).items():
        assert name in text
        for action in parser._actions:
            assert all(option.lstrip("-") in text for option in action.option_strings if option.startswith("--"))


def test_quiet_leaves_errors_alone(tmp_path, rng):
    X = rng.standard_normal((30, 2))
    np.savez(tmp_path / "rows.npz", X=X, y=X[:, 0] > 0)
    for options, code, expected in ((["--quiet"], 0, ""), (["-q", "--target", "3"], 65, "rffkern: error: ")):
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            assert main(["fit", str(tmp_path / "rows.npz"), "-o", str(tmp_path / "m.npz"), "--set", "n_estimators=5",
                         *options]) == code
        assert stderr.getvalue().startswith(expected)
        assert bool(stderr.getvalue()) == bool(expected)
