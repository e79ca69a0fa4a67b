"""Training on more rows than memory should hold, beside LightGBM: seconds, and memory that is not a file's.

python tools/many_rows.py --folder DIR --rows 64000000              rows in a .npy file, in sixteen, and in memory
python tools/many_rows.py --folder DIR --rows 8000000 --csv         the same rows in a .csv file

Each contender runs in a process of its own, 100 rounds or trees with default settings, one after the other.  Rows are
20 columns in single precision.  Two rounds of loading are LightGBM's: one for its bins, one for the rows.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

N_FEATURES, N_FILES, ROUNDS = 20, 16, 100
BLOCK = 1 << 18

CONTENDERS = {
    "rffkern, .npy on disk": "model.fit(open_rows('r'), y)",
    "rffkern, 16 files on disk": "model.fit(RowBlocks(files), y)",
    "rffkern, in memory": "model.fit(open_rows(None), y)",
    "LightGBM, Sequence on disk": "train(Dataset(Rows(), y))",
    "LightGBM, in memory": "train(Dataset(open_rows(None), y))",
}
CSV_CONTENDERS = {
    "rffkern fit, .csv": None,
    "LightGBM, .csv, two_round": "train(Dataset('rows.csv', params={'two_round': True, 'header': True,"
                                 " 'label_column': 'name:label'}))",
}
PROGRAM = """
import numpy as np
from numpy import load
y = load("y.npy")
files = lambda: (load(f"X{index}.npy", mmap_mode="r") for index in range(%(files)d))
open_rows = lambda mode: load("X.npy", mmap_mode=mode)
if %(ours)r:
    from rffkern import GBRFF2Classifier, RowBlocks
    model = GBRFF2Classifier(%(rounds)d, random_state=0, n_jobs=%(threads)d)
    score = lambda: model.score(load("X_new.npy"), load("y_new.npy"))
else:
    import lightgbm
    from lightgbm import Dataset, Sequence
    class Rows(Sequence):
        batch_size = 65536
        rows = open_rows("r") if %(sequence)r else None
        def __getitem__(self, index):
            return np.asarray(self.rows[index], dtype=np.float64)
        def __len__(self):
            return len(self.rows)
    settings = {"objective": "binary", "num_threads": %(threads)d, "verbose": -1}
    def train(data):
        data.params = (data.params or {}) | settings
        global booster
        booster = lightgbm.train(settings, data, %(rounds)d)
    score = lambda: np.mean((booster.predict(load("X_new.npy")) > 0.5) == load("y_new.npy"))
%(statement)s
print(score())
"""


def made_rows(seed, n_rows):
    """Rows, and labels that are a product of two columns and a third."""
    X = np.random.default_rng(seed).standard_normal((n_rows, N_FEATURES), np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2] > 0


def write_rows(folder, n_rows, csv):
    """X.npy and y.npy with the rows, and either the .csv file of them, or sixteen files."""
    X = np.lib.format.open_memmap(os.path.join(folder, "X.npy"), "w+", np.float32, (n_rows, N_FEATURES))
    y = np.empty(n_rows, dtype=bool)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        X[start:stop], y[start:stop] = made_rows(start, stop - start)
    X.flush()
    np.save(os.path.join(folder, "y.npy"), y)
    for name, values in zip(("X_new", "y_new"), made_rows(n_rows + 1, 100_000), strict=True):
        np.save(os.path.join(folder, name + ".npy"), values)
    if csv:
        write_csv(os.path.join(folder, "rows.csv"), X, y)
        return
    for index, part in enumerate(np.array_split(X, N_FILES)):
        np.save(os.path.join(folder, f"X{index}.npy"), part)


def write_csv(path, X, y):
    """Rows with six decimals, below a header, the label last."""
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(f"x{index}" for index in range(N_FEATURES)) + ",label\n")
        form = ",".join(["%.6f"] * N_FEATURES) + ",%d\n"
        for start in range(0, len(X), BLOCK):
            block = np.column_stack([X[start:start + BLOCK], y[start:start + BLOCK]])
            file.write("".join(form % tuple(row) for row in block.tolist()))


def command(name, threads):
    """What runs a contender."""
    if name == "rffkern fit, .csv":
        return ["rffkern", "fit", "rows.csv", "--target", "label", "--model", "gbrff2", "-o", "model.npz",
                "--set", f"n_estimators={ROUNDS}", "--threads", str(threads)]
    statement = (CONTENDERS | CSV_CONTENDERS)[name]
    return [sys.executable, "-c", PROGRAM % {
        "files": N_FILES, "rounds": ROUNDS, "threads": threads, "statement": statement,
        "ours": name.startswith("rffkern"), "sequence": "Sequence" in name}]


def anonymous_memory(process):
    """MB of a process that are no pages of files, 0 after its end."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) / 1000 for line in file if line.startswith("RssAnon")), 0.0)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def measured(name, folder, threads):
    """Seconds, processor seconds and peak memory of a contender, and what it printed last."""
    before = os.times()
    started, peak = time.perf_counter(), 0.0
    with subprocess.Popen(command(name, threads), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_memory(process.pid))
            time.sleep(0.02)
        printed = process.stdout.read().split("\n")
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    if process.returncode:
        return f"| {name} | ended with status {process.returncode} after {time.perf_counter() - started:.0f} s |"
    accuracy = f"{100 * float(printed[-2]):.1f} %" if name in CONTENDERS or "two_round" in name else ""
    return f"| {name} | {time.perf_counter() - started:.0f} | {spent:.0f} | {peak:.0f} | {accuracy} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where the rows may be written, 160 bytes each; 260 more with --csv")
    parser.add_argument("--rows", type=int, default=64_000_000)
    parser.add_argument("--csv", action="store_true", help="compare what reads text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=[*CONTENDERS, *CSV_CONTENDERS])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        write_rows(folder, arguments.rows, arguments.csv)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).glob("X.npy")) / 1e9
        print(f"{arguments.rows:,} rows, {size:.1f} GB, {arguments.threads} threads\n"
              "| what | seconds | processor seconds | peak memory, MB | accuracy |\n|---|---|---|---|---|", flush=True)
        for name in arguments.only or (CSV_CONTENDERS if arguments.csv else CONTENDERS):
            print(measured(name, folder, arguments.threads), flush=True)


if __name__ == "__main__":
    main()
