"""`rffkern export`."""

import json

import numpy as np
import pytest
from helpers.command_line import run, run_process
from helpers.expansions import kernel_expansion
from helpers.exported import smooth_kernels

import rffkern
from rffkern import save
from rffkern._export import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_the_file_is_that_of_the_function(command, folder, target):
    assert command("export", "m.npz", "--to", target, "-o", "out") == (0, "", "")
    rffkern.export(rffkern.load(folder / "m.npz"), folder / "same", to=target)
    assert (folder / "out").read_bytes() == (folder / "same").read_bytes()


def test_options(command, folder):
    assert command("export", "m.npz", "--to", "sql", "-o", "out.sql", "--table", "t", "--key", "k")[0] == 0
    text = (folder / "out.sql").read_text()
    assert 'FROM "t" t' in text
    assert 't."length"' in text
    assert text.count('"k"') == 2
    assert command("export", "m.npz", "--to", "c", "-o", "out.c", "--name", "ring")[0] == 0
    assert "ring_class(" in (folder / "out.c").read_text()
    assert command("export", "m.npz", "--to", "onnx", "-o", "out.onnx", "--precision", "single")[0] == 0


def test_stdout(folder):
    done = run_process("export", "m.npz", "--to", "numpy", "-o", "-", cwd=folder)
    space = {}
    exec(done.stdout, space)
    X = np.zeros((1, 3))
    assert space["predict"](X) == rffkern.load(folder / "m.npz").predict(X)


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["m.npz", "--to", "rust", "-o", "out"], 2, ["--to", "'rust'"]),
    (["m.npz", "--to", "c"], 2, ["--output"]),
    (["m.npz", "--to", "c", "-o", "out", "--table", "t"], 2, ["--table is not an option of the target 'c'", "--help"]),
    (["m.npz", "--to", "c", "-o", "m.npz"], 2, ["the output must not be an input"]),
    (["none.npz", "--to", "c", "-o", "out"], 66, ["none.npz: No such file"]),
    (["train.csv", "--to", "c", "-o", "out"], 65, ["train.csv: "]),
    (["m.npz", "--to", "c", "-o", "nowhere/out"], 74, ["nowhere/out: the folder of the output does not exist"]),
    (["k.npz", "--to", "onnx", "-o", "out", "--precision", "single"], 65, ["k.npz: the model needs double precision"])])
def test_failures_are_one_clear_line(folder, arguments, code, words):
    save(smooth_kernels(), folder / "k.npz")
    done = run("export", *arguments, cwd=folder, expect=code)
    assert all(word in done.stderr for word in words)
    assert not (folder / "out").exists()


def test_info_tells_the_conditioning(command, folder):
    save(kernel_expansion([[0.0], [0.0]], [[3.0], [-1.0]], [5.0], [1.0]), folder / "k.npz")
    facts = json.loads(command("info", "k.npz", "--json")[1])
    assert (facts["conditioning"], facts["single precision"]) == (2.0, "enough")
    save(smooth_kernels(), folder / "k.npz")
    facts = json.loads(command("info", "k.npz", "--json")[1])
    assert facts["conditioning"] > 1e4
    assert facts["single precision"] == "not enough"
    assert "conditioning" not in command("info", "m.npz")[1]
