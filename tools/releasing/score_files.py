"""Scores of the frozen model files by an installed package, against stored hashes of their bits.

    python tools/releasing/score_files.py tests/data
    python tools/releasing/score_files.py tests/data --write     # after a new version of the format

It needs numpy and rffkern alone, so that it runs in the environment of a user, on any machine.  One hash is of the
bits at the levels that round products and sums together (x86-64-v3, x86-64-v4, aarch64), one of those at the others.
"""

import argparse
import hashlib
import json
import pathlib
import platform
import struct
import sys

import numpy as np

import rffkern
from rffkern._kernels import simd

FUSING = ("x86-64-v3", "x86-64-v4")
WITH_WORDS = ("column_map", "column_map_filled", "gbrff2_with_columns", "gbrff2_with_choice")
KINDS = {True: "fused", False: "plain"}


def scores_of(model, rows):
    """Scores of a classifier or function, predictions of a regressor, features, and labels where there are any."""
    name = next(name for name in ("decision_function", "predict", "transform", "score") if hasattr(model, name))
    labels = model.predict(rows).tolist() if hasattr(model, "classes_") else None
    return np.asarray(getattr(model, name)(rows)), labels


def check_file(path):
    """The bits of the scores of one file; ValueError where they are not those that were stored when it was written."""
    stored = json.loads(path.with_suffix(".json").read_text())
    scores, labels = scores_of(rffkern.load(path), np.array(stored["rows"]))
    if labels is not None and labels != stored["labels"]:
        raise ValueError(f"{path}: labels {labels}, expected {stored['labels']}")
    if not np.allclose(scores.ravel(), np.ravel(stored["answers"]), rtol=0, atol=1e-12):
        raise ValueError(f"{path}: scores {scores}, expected {stored['answers']}")
    return scores.tobytes() if sys.byteorder == "little" else struct.pack(f"<{scores.size}d", *scores.ravel().tolist())


def hash_of(paths):
    """A hash over the scores of files, at the level that is selected."""
    found = hashlib.sha256()
    for path in paths:
        found.update(check_file(path))
    return found.hexdigest()


def numeric_files(folder):
    """Files of models in a fixed order, without those that take words."""
    paths = sorted(folder.glob("*/*.npz"), key=lambda path: (int(path.parent.name), path.stem))
    return [path for path in paths if path.stem not in WITH_WORDS]


def hashes(paths):
    """One hash for each kind of level that this machine and build have; ValueError where levels of a kind differ."""
    found = {}
    for level in simd.LEVELS:
        simd.select(level)
        kind = KINDS[level in FUSING or platform.machine().lower() in ("aarch64", "arm64")]
        value = hash_of(paths)
        if found.setdefault(kind, value) != value:
            raise ValueError(f"scores at {level} differ from those of other levels of its kind")
    return found


def main():
    """Compare or write, and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="of model files, in a folder for each version of the format")
    parser.add_argument("--write", action="store_true", help="store the hashes, on a machine that has both kinds")
    arguments = parser.parse_args()
    paths = numeric_files(arguments.folder)
    found = hashes(paths)
    stored = arguments.folder / "scores.json"
    if arguments.write:
        if len(found) < len(KINDS):
            sys.exit(f"this machine or build has {sorted(found)} alone")
        stored.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    expected = json.loads(stored.read_text())
    for kind, value in found.items():
        if value != expected[kind]:
            sys.exit(f"{kind}: scores of {len(paths)} files have the hash {value}, expected {expected[kind]}")
    print(f"{len(paths)} files have the stored scores to the last bit: rffkern {rffkern.__version__}, levels "
          f"{', '.join(simd.LEVELS)}, Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}")


if __name__ == "__main__":
    main()
