"""`rffkern shrink`: a smaller model, and the curve of its loss."""

import os

from rffkern import load


def test_a_smaller_model_and_its_curve(command, folder):
    assert command("fit", "train.csv", "-o", "f.npz", "--model", "fourier_boosting", "--set", "n_estimators=30",
                   "--set", "kernel_ridge=false")[0] == 0
    code, out, errors = command("shrink", "f.npz", "test.csv", "-o", "s.npz", "--bytes", "10k")
    assert code == 0, errors
    assert os.path.getsize("s.npz") <= 10_000
    lines = out.splitlines()
    assert lines[0].split() == ["bytes", "terms", "log", "loss", "change"]
    assert lines[1].split()[0] == str(os.path.getsize("f.npz"))
    assert [line.split()[1] for line in lines if line.startswith(">")] == [str(os.path.getsize("s.npz"))]
    assert lines[-1].startswith(f"{os.path.getsize('f.npz')} bytes became {os.path.getsize('s.npz')};")
    assert load("s.npz").expansion_.n_terms < load("f.npz").expansion_.n_terms
    code, _, errors = command("shrink", "f.npz", "test.csv", "-o", "t.npz", "--max-loss", "0.1")
    assert code == 0, errors
    assert command("evaluate", "t.npz", "test.csv")[0] == 0


def test_what_is_refused(command, folder):
    for arguments, code, message in (
            (("--bytes", "9x"), 2, "20k"), ((), 2, "--bytes"), (("--bytes", "9", "--max-loss", "1"), 2, "not allowed"),
            (("--max-loss", "0.1"), 65, "number of terms is free"),
            (("--max-loss", "0.1", "--reject", "test.csv"), 2, "must not be an input, got 'test.csv'"),
            (("--max-loss", "0.1", "--reject", "s.npz"), 2, "SMALL and --reject must be two files")):
        got, _, errors = command("shrink", "m.npz", "test.csv", "-o", "s.npz", *arguments)
        assert (got, message in errors) == (code, True), errors
    assert not os.path.exists("s.npz")
