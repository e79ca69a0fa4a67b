"""The command line, in this process or through another one, as a person or a script would use it."""

import contextlib
import io
import signal
import subprocess
import sys
from unittest import mock

from helpers.processes import PATIENCE
from rffkern._cli.main import main
from rffkern._cli.table import Selection

COLUMNS = ["length", "width", "depth"]


def with_model(arguments):
    """The arguments of a command; `fit` gets a fast model with `--model gbrff2` where none is named, and no `--cv`."""
    arguments = [*map(str, arguments)]
    if arguments[:1] == ["fit"] and not {"--model", "--help"} & {*arguments}:
        arguments += ["--model", "gbrff2"]
    if arguments[:1] == ["fit"] and not {"--cv", "--holdout", "--help"} & {*arguments}:
        arguments += ["--cv", "0"]
    return arguments


def run(*arguments, cwd, expect=0):
    """Run `rffkern` in this process, in a folder; its exit code must be `expect`."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for name in ("stdout", "stderr")}
    handler = signal.getsignal(signal.SIGTERM)
    with (contextlib.chdir(cwd), mock.patch.multiple(sys, stdin=io.TextIOWrapper(io.BytesIO()), **streams),
          mock.patch("rffkern._cli.main.discard")):
        try:
            code = main(with_model(arguments))
        except SystemExit as ended:
            code = ended.code
        finally:
            signal.signal(signal.SIGTERM, handler)
    texts = {name: stream.buffer.getvalue().decode() for name, stream in streams.items()}
    assert code == expect, texts["stderr"]
    return subprocess.CompletedProcess(arguments, code, **texts)


def run_process(*arguments, cwd, expect=0):
    """Run `rffkern` in a process of its own; its exit code must be `expect`, and no traceback may be shown."""
    done = subprocess.run([sys.executable, "-m", "rffkern", *with_model(arguments)], cwd=cwd, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def shell(command, cwd, expect=0):
    """Run a line of bash in which `rffkern` is the command; it must end by itself and show no traceback.

    No model is cross-validated, which takes time.
    """
    command = command.replace("rffkern fit ", "rffkern fit --cv 0 ")
    command = command.replace("rffkern ", f"{sys.executable} -m rffkern ")
    done = subprocess.run(["bash", "-c", command], cwd=cwd,
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


def write_csv(path, X, y=None, header=COLUMNS, target="answer"):
    """Write rows, and labels where there are some, under column names where there are some."""
    with open(path, "w", encoding="utf-8") as file:
        if header:
            print(*header, *([target] if y is not None else []), sep=",", file=file)
        for i, row in enumerate(X):
            print(*row, *([y[i]] if y is not None else []), sep=",", file=file)


def blocks_of(table, features, target=None, **wanted):
    """All blocks of a table."""
    raw_blocks, parse = table.read(Selection(features, target, **wanted))
    return list(map(parse, raw_blocks))
