"""Measure time and memory, print the figures, compare two files of them."""

import json
import statistics
import time


def average_ranks(means):
    """Average ranks over data sets of an array (sets, models) in which more is better; ties share their ranks."""
    means = means.round(9)  # what differs by rounding is equal
    above = (means[:, None, :] > means[:, :, None]).sum(axis=2)
    level = (means[:, None, :] == means[:, :, None]).sum(axis=2)
    return (above + (level + 1) / 2).mean(axis=0)


def cpu(function, *arguments):
    """What a function returns, and its CPU seconds."""
    started = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - started


def cpu_seconds(functions, repetitions, clock=time.process_time, budget=30.0):
    """Median time of each function: {name: seconds}.

    All functions are called in turn after a first round that warms up.  Short ones are called several times in a row.
    A function that has used up its budget of seconds is not called again.
    """
    inner, times = {}, {name: [] for name in functions}
    for name, function in functions.items():
        started = clock()
        function()
        first = max(clock() - started, 1e-6)
        inner[name] = max(1, min(10000, int(0.1 / first)))
        if first > 1:
            times[name].append(first)
    for _ in range(repetitions):
        for name, function in functions.items():
            if len(times[name]) < repetitions and sum(times[name]) < budget:
                started = clock()
                for _ in range(inner[name]):
                    function()
                times[name].append((clock() - started) / inner[name])
    return {name: statistics.median(values) for name, values in times.items()}


def result(what, n_samples, seconds):
    """One measurement: what was done on how many rows, and {contender: seconds}."""
    return {"what": what, "n": n_samples, "seconds": {name: float(f"{value:.4g}") for name, value in seconds.items()}}


def show(measured):
    """Print a measurement, with each contender's time over that of the first, and return it."""
    seconds = measured["seconds"]
    base = next(iter(seconds.values()), None)
    cells = (f"{name} {value:.4g} s" + (f" ({value / base:.2f}x)" if value != base else "")
             for name, value in seconds.items())
    print(f"{measured['what']} n = {measured['n']}: " + ", ".join(cells), flush=True)
    return measured


def compare(old_path, new_path):
    """Print every figure that two files of measurements, one a line, have in common."""
    tables = []
    for path in (old_path, new_path):
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        tables.append({(row["what"], row["n"], name): value for row in records if "what" in row
                       for name, value in row["seconds"].items()})
    for key in (key for key in tables[0] if key in tables[1]):
        old, new = tables[0][key], tables[1][key]
        print(f"{key[0]} n = {key[1]}, {key[2]}: {old:.4g} s -> {new:.4g} s  ({old / new:.2f}x faster)")


def memory(field):
    """A field of the process's status in MB: RssAnon counts no pages of files, VmHWM is the peak of VmRSS."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith(field))


def memory_peak(function):
    """MB that a function adds at its peak to the memory of this process, and what it returns."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # sets VmHWM back to VmRSS
    before = memory("VmRSS")
    found = function()
    return memory("VmHWM") - before, found
