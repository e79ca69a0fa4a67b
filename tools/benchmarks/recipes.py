"""Processor time and memory of the recipes of docs/batch.md, with all that starts counted in.

    python tools/benchmarks/recipes.py --only Ray Spark

200,000 rows of 13 columns, words and a date among them, in 20 files, are scored by a small model with two processes,
where the recipe says how many.  Prints a line of a table for each command; a recipe whose engine is not installed is
left out.  Memory is the proportional share (PSS) of all processes together, looked at four times a second.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import psutil

import rffkern

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests"))  # recipes are read as tests read them
from helpers.recipes import MODULES, commands_of

N_ROWS, N_FILES = 200_000, 20


def write_rows(folder):
    """The files of rows, and a model of a part of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": np.arange(N_ROWS)} | {f"x{j}": rng.standard_normal(N_ROWS) for j in range(10)})
    frame["colour"] = rng.choice(["red", "green", "blue"], N_ROWS)
    frame["town"] = rng.choice([f"town {k}" for k in range(30)], N_ROWS)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, N_ROWS), unit="D")
    y = np.where(np.sin(2 * frame["x0"]) + frame["x1"] + (frame["colour"] == "red") > 0.5, "yes", "no")
    model = rffkern.GBRFF2Classifier(20, random_state=0).fit(frame[:5000].drop(columns="key"), y[:5000])
    rffkern.save(model, folder / "model.npz")
    (folder / "rows").mkdir()
    for k, part in enumerate(np.array_split(np.arange(N_ROWS), N_FILES)):
        frame.iloc[part].to_parquet(folder / "rows" / f"part-{k:02}.parquet", index=False)


def measure(command, folder):
    """Seconds of processors of a command and all that it starts, and the most bytes that they have together."""
    seconds, peak, before = {}, 0, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    with (folder / "errors").open("wb") as errors, subprocess.Popen(
            command, cwd=folder, stdout=errors, stderr=errors,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable}) as process:
        while process.poll() is None:
            total = 0
            try:
                for each in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
                    total += each.memory_full_info().pss
                    seconds[each.pid, each.create_time()] = sum(each.cpu_times()[:2])
            except psutil.NoSuchProcess:
                pass  # one has ended while this looked
            peak = max(peak, total)
            time.sleep(0.25)
    if process.returncode:
        raise RuntimeError((folder / "errors").read_text(errors="replace")[-2000:])
    waited_for = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before  # of daemons nothing
    return max(waited_for, sum(seconds.values())), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="recipes whose titles begin so")
    options = parser.parse_args()
    print("| | seconds of processors | rows a second of a processor | memory of all processes |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_rows(folder)
        for title, module in MODULES.items():
            if not title.startswith(tuple(options.only)) or importlib.util.find_spec(module) is None:
                continue
            found = [(command, *measure(command, folder)) for command in commands_of(title, folder, 2)]
            if title != "The command line":  # the commands of others are steps of one
                found = [(title, sum(seconds for _, seconds, _ in found), max(peak for *_, peak in found))]
            for command, seconds, peak in found:
                what = title if command is title else re.sub(".* -m rffkern", "rffkern", command[-1])
                print(f"| {what} | {seconds:.1f} | {N_ROWS / seconds:,.0f} | {peak / 1e9:.2f} GB |", flush=True)
            shutil.rmtree(folder / "scores", ignore_errors=True)
            (folder / "scores.parquet").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
