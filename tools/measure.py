"""How `bench.py` measures time and memory, and shows what it found."""

import json
import statistics
import time


def cpu_seconds(functions, repetitions, clock=time.process_time, budget=30.0):
    """Median time of each function, all called in turn after a first round; short ones several times in a row.

    A contender that has used up its budget of seconds is not called again.
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


def show(result):
    base = result["seconds"].get("rffkern") or next(iter(result["seconds"].values()), None)
    cells = (f"{name} {value:.4g} s" + (f" ({value / base:.2f}x)" if value != base else "")
             for name, value in result["seconds"].items())
    print(f"{result['what']} n = {result['n']}: " + ", ".join(cells), flush=True)
    return result


def compare(old_path, new_path):
    tables = []
    for path in (old_path, new_path):
        with open(path, encoding="utf-8") as file:
            tables.append({(row["what"], row["n"]): row["seconds"] for row in json.load(file)})
    for key in tables[0].keys() & tables[1].keys():
        for name in tables[0][key].keys() & tables[1][key].keys():
            old, new = tables[0][key][name], tables[1][key][name]
            print(f"{key[0]:<8} n = {key[1]:<8} {name:<16} {old:.4g} s -> {new:.4g} s  ({old / new:.2f}x faster)")


def memory(field):
    """A field of the process's status in MB: RssAnon counts no pages of files, VmHWM is the peak of VmRSS."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith(field))
