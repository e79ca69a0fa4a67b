"""The frozen model files of the tests: write those of a format version, and compare their scores with stored hashes.

    python tools/fixtures.py write tests/data       write the files of this format version that are not there yet
    python tools/fixtures.py check tests/data       scores of all files against the hashes of their bits in scores.json
    python tools/fixtures.py hash tests/data        write the hashes, on a machine that has both classes

Files that exist are not changed: they are what a release has written.  Each model has a file NAME.npz and, in
NAME.json, rows with the answers that it gives for them.  `tests/contract/test_files.py` has a digest of the files of
each version.

`check` needs numpy and rffkern alone, so that it runs in the environment of a user, on any machine.  One hash is of the
bits at the instruction sets that round products and sums together (x86-64-v3, x86-64-v4, aarch64), one of those at the
others.
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import platform
import struct
import subprocess
import sys

import numpy as np

import rffkern

FUSING = ("x86-64-v3", "x86-64-v4")
WITH_WORDS = ("column_map", "column_map_filled", "gbrff2_with_columns", "gbrff2_with_choice")
KINDS = {True: "fused", False: "plain"}
SMALL = {"n_estimators": 8, "n_bags": 2, "n_landmarks": 8, "n_components": 3}  # of a file of some kilobytes


class Frame:
    """Rows with column names."""

    columns = ("length", "width", "größe")

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def answers(model, rows):
    """Scores of a classifier or function, predictions of a regressor, features."""
    name = next(name for name in ("decision_function", "predict", "transform", "score") if hasattr(model, name))
    return np.asarray(getattr(model, name)(rows))


def table_of(rows):
    """A table with missing values, a category and a date, which the rows determine."""
    first = np.where(rows[:, 0] > 1, np.nan, rows[:, 0])
    words = np.array(["red", "grün", "blue"])[np.digitize(rows[:, 1], [-50, 50])]
    days = np.datetime64("2024-02-28", "s") + np.round(rows[:, 2] * 1e9).astype("m8[s]")
    return {"length": first, "colour": words, "day": days, "width": rows[:, 1]}


def fitted_models(folder):
    """Name, trained model, rows and what stands for them as a model takes them, for each file that is not there yet."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 3)) * [1, 100, 0.01]
    value = X[:, 0] + X[:, 1] / 100
    y = np.array(["low", "middle", "high"])[np.digitize(value, [-0.7, 0.7])]
    rows, missing = X[:20], lambda name: not (folder / f"{name}.npz").exists()

    for cls in (getattr(rffkern, name) for name in rffkern.__all__):
        if hasattr(cls, "family") and missing(cls.family):
            known = cls().get_params()
            params = {name: value for name, value in SMALL.items() if name in known}
            if "kernel_ridge" in known:
                params["kernel_ridge"] = False
            elif "kernel" in known:  # with the default, weights of basis vectors are large and cancel
                params["reg_lambda"] = 0.1
            target = value if cls.__name__.endswith("Regressor") else y
            held_out = {"eval_set": (X[:50], target[:50])} if "n_estimators" in known else {}
            yield cls.family, cls(random_state=0, **params).fit(Frame(X), target, **held_out), rows, rows

    forms, ranks = ("raw", "standard", "bounded", "rank", "bins"), rffkern.ColumnMap(("standard", "rank"), n_knots=9)
    for name, model in {
            "column_map": rffkern.ColumnMap(forms, n_knots=9, n_bins=3, date_parts=True),
            "gbrff2_with_columns": rffkern.GBRFF2Classifier(8, columns=ranks, random_state=0),
            "gbrff2_with_choice": rffkern.GBRFF2Classifier(8, columns="auto", random_state=0),
            "column_map_filled": rffkern.ColumnMap(forms, n_knots=9, n_bins=3)}.items():
        if missing(name):  # the last has a column from which missing values follow
            near = {"near": X[:, 0]} if name.endswith("filled") else {}
            some = {key: values[:20] for key, values in near.items()}
            yield name, model.fit(table_of(X) | near, y), rows, table_of(rows) | some

    for name, region in (("fourier_boosting_kernels", None), ("fourier_boosting_regions", 10)):
        if missing(name):
            yield name, stacked(region).fit(X[20:60], value[20:60]), rows, rows

    owners = {"expansion_fourier": "gbrff2", "expansion_kernels": "kernel_ridge",
              "expansion_boosted": "fourier_boosting", "expansion_regions": "fourier_boosting_regions"}
    for name, owner in owners.items():
        if missing(name):  # those of Fourier boosting take mapped columns
            expansion = rffkern.load(folder / f"{owner}.npz").expansion_
            taken = np.resize(rows, (len(rows), expansion.n_features))
            yield name, expansion, taken, taken


def stacked(region):
    """Fourier boosting with kernel ridge regression, in regions of so many rows, which otherwise have thousands."""
    from rffkern._training.fourier_boosting import stacking

    if region:
        stacking.MOST_ROWS, stacking.LARGEST_REGION = 2 * region, region
    return rffkern.FourierBoostingRegressor(8, n_bags=2, kernel_ridge=True, random_state=0)


def write(folder):
    """Write what is missing."""
    small = rffkern.GBRFF2Classifier(1).fit([[0.0], [1.0]], [0, 1])
    with np.load(io.BytesIO(rffkern.dumps(small)), allow_pickle=False) as archive:
        version = json.loads(bytes(archive["header"]))["version"]
    folder = folder / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, rows, taken in fitted_models(folder):
        path = folder / f"{name}.npz"
        rffkern.save(model, path)
        if not np.array_equal(answers(rffkern.load(path), taken), answers(model, taken)):
            sys.exit(f"{path}: the model in the file gives other answers than the one that was trained")
        expected = {"rows": rows.tolist(), "answers": np.ravel(answers(model, taken)).tolist()}
        if hasattr(model, "classes_") and taken is rows:
            expected["labels"] = model.predict(rows).tolist()
        path.with_suffix(".json").write_text(json.dumps(expected))
        print(path)


def bits_of(path):
    """The bits of the scores of one file; ends where they are not near those that were stored when it was written."""
    stored = json.loads(path.with_suffix(".json").read_text())
    model, rows = rffkern.load(path), np.array(stored["rows"])
    scores = answers(model, rows)
    if hasattr(model, "classes_") and model.predict(rows).tolist() != stored["labels"]:
        sys.exit(f"{path}: labels {model.predict(rows).tolist()}, expected {stored['labels']}")
    if not np.allclose(scores.ravel(), np.ravel(stored["answers"]), rtol=0, atol=1e-12):
        sys.exit(f"{path}: scores {scores}, expected {stored['answers']}")
    return scores.tobytes() if sys.byteorder == "little" else struct.pack(f"<{scores.size}d", *scores.ravel().tolist())


def hash_here(paths):
    """A hash of the scores of all files, at the instruction set of this process."""
    found = hashlib.sha256()
    for path in paths:
        found.update(bits_of(path))
    return found.hexdigest()


def hashes(folder, paths):
    """One hash for each class of instruction sets that this machine and build have."""
    config, found = rffkern.show_config(mode="dicts"), {}
    for name in config["simd_available"]:
        if name == config["simd"]:
            value = hash_here(paths)
        else:  # which is chosen once in a process
            done = subprocess.run([sys.executable, __file__, "here", str(folder)], env=os.environ | {
                "RFFKERN_SIMD": name}, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr}")
            value = done.stdout.strip()
        kind = KINDS[name in FUSING or platform.machine().lower() in ("aarch64", "arm64")]
        if found.setdefault(kind, value) != value:
            sys.exit(f"scores at {name} differ from those at other instruction sets of its class")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["write", "check", "hash", "here"],
                        help="`here` prints the hash at the instruction set of this process")
    parser.add_argument("folder", type=pathlib.Path, help="of model files, in a folder for each version of the format")
    arguments = parser.parse_args()
    if arguments.command == "write":
        write(arguments.folder)
        return
    paths = sorted(arguments.folder.glob("*/*.npz"), key=lambda path: (int(path.parent.name), path.stem))
    paths = [path for path in paths if path.stem not in WITH_WORDS]
    if arguments.command == "here":
        print(hash_here(paths))
        return
    found, stored = hashes(arguments.folder, paths), arguments.folder / "scores.json"
    if arguments.command == "hash":
        if len(found) < len(KINDS):
            sys.exit(f"this machine or build has {sorted(found)} alone")
        stored.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    expected = json.loads(stored.read_text())
    for kind, value in found.items():
        if value != expected[kind]:
            sys.exit(f"{kind}: scores of {len(paths)} files have the hash {value}, expected {expected[kind]}")
    config = rffkern.show_config(mode="dicts")
    print(f"{len(paths)} files have the stored scores to the last bit: rffkern {rffkern.__version__}, "
          f"{', '.join(config['simd_available'])}, Python {config['python']}, numpy {np.__version__}, "
          f"{platform.machine()}")


if __name__ == "__main__":
    main()
