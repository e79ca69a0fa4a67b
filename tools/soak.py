"""Try to break the installed package for some minutes; exit code 1 if anything gave way.

    python tools/soak.py --minutes 60 --log soak.jsonl           go on where the log ends
    python tools/soak.py --job damaged_files --case 17           one case again, as it was

    python tools/soak.py --sanitizers --minutes 60 --log soak.jsonl     also builds that look for faults in memory
    python tools/soak.py --summary soak.jsonl            what a log has so far

Cases are drawn with the seed, the job and their number, so that a failure can be repeated.  Jobs take turns such that
each has its share of the time.  Linux only: limits and peaks of memory are those of its /proc.  Builds with sanitizers
are kept in ~/.cache/rffkern-sanitized, or in the folder that RFFKERN_SANITIZED names.
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the parent forks, so that it must have no threads

import numpy as np
from soaking import calls, clusters, files, interrupts, sanitizers, saving, training

JOBS = {  # name: (function, share of the time, unit, number of units in a case)
    "damaged_files": (files.damaged_files, 5, "files", files.FILES_PER_CASE),
    "killed_saves": (saving.killed_saves, 2, "kills", saving.N_KILLS),
    "killed_predictions": (saving.killed_predictions, 2, "kills", saving.N_PREDICTION_KILLS),
    "killed_trainings": (saving.killed_trainings, 2, "kills", saving.N_TRAINING_KILLS),
    "failing_saves": (saving.failing_saves, 1, "saves", 1),
    "random_fits": (training.random_fits, 5, "fits", 2),
    "public_calls": (calls.public_calls, 3, "tables", 1),
    "forks": (training.forks, 2, "forks", training.N_FORKS),
    "memory_formulas": (training.memory_formulas, 2, "fits", 1),
    "interrupts": (interrupts.interrupts, 2, "calls", 1),
}
USUAL = list(JOBS)
# These take packages that the package does not need, or minutes to build, and run if they are asked for.
JOBS |= {"lost_workers": (clusters.lost_workers, 1, "kills", clusters.N_KILLS)} | sanitizers.JOBS


def run_case(name, seed, number):
    """What went wrong in a case, or None, and the seconds it took."""
    rng = np.random.default_rng([seed, *name.encode(), number])
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        wrong = JOBS[name][0](rng, pathlib.Path(folder))
    return wrong, time.monotonic() - started


def read_log(path, seed):
    """The cases of a log that had the same seed."""
    if path is None or not path.exists():
        return []
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [entry for entry in entries if entry["seed"] == seed]


def soak(names, minutes, seed, log=None):
    """Run cases until the time is over; return all of them, with those of the log."""
    entries = read_log(log, seed)
    counts = collections.Counter(entry["job"] for entry in entries)
    spent = collections.Counter()
    for entry in entries:
        spent[entry["job"]] += entry["seconds"]
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline:
        name = min(names, key=lambda name: spent[name] / JOBS[name][1])
        wrong, seconds = run_case(name, seed, counts[name])
        entries.append({"seed": seed, "job": name, "case": counts[name], "seconds": round(seconds, 3), "wrong": wrong})
        counts[name] += 1
        spent[name] += seconds
        if log:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entries[-1]) + "\n")
        if wrong:
            print(f"{name}, case {entries[-1]['case']}: {wrong}", flush=True)
    return entries


def show(entries):
    """Print a table of jobs; return the number of failures."""
    print(f"{'job':<22}{'cases':>8}{'units':>9} {'':<11}{'failures':>8}{'seconds':>10}{'longest':>10}")
    for name, (_, _, unit, per_case) in JOBS.items():
        found = [entry for entry in entries if entry["job"] == name]
        if found:
            seconds = [entry["seconds"] for entry in found]
            print(f"{name:<22}{len(found):>8}{per_case * len(found):>9} {unit:<11}"
                  f"{sum(entry['wrong'] is not None for entry in found):>8}{sum(seconds):>10.1f}{max(seconds):>10.1f}")
    return sum(entry["wrong"] is not None for entry in entries)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--job", action="append", choices=list(JOBS), help="only this one; repeatable")
    parser.add_argument("--case", type=int, help="only the case of this number, of one --job")
    parser.add_argument("--sanitizers", action="store_true", help="the jobs of builds with sanitizers too")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--summary", type=pathlib.Path, metavar="LOG", help="show the table of a log, and run nothing")
    arguments = parser.parse_args()
    if arguments.summary:
        sys.exit(show(read_log(arguments.summary, arguments.seed)) > 0)
    names = arguments.job or USUAL + arguments.sanitizers * list(sanitizers.JOBS)
    for kind in sorted({sanitizers.kind_of(name) for name in names if name in sanitizers.JOBS}):
        sanitizers.build(kind)  # before the time begins
    if arguments.case is not None:
        wrong, seconds = run_case(names[0], arguments.seed, arguments.case)
        print(f"{names[0]}, case {arguments.case}, {seconds:.1f} s: {wrong or 'nothing wrong'}")
        sys.exit(wrong is not None)
    sys.exit(show(soak(names, arguments.minutes, arguments.seed, arguments.log)) > 0)


if __name__ == "__main__":
    main()
