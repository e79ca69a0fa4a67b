"""Compare the reader in C with that in Python on damaged and crafted files: the same ones must be accepted.

    python tools/fuzz.py --files 100000                 counts, and every file on which they differ
    python tools/fuzz.py --files 1000 --keep FOLDER     keep these files

The files are those of the soak (`tests/helpers/damaged_files.py`), and others whose archive is sound and whose contents
are not.  The reader in C is built with AddressSanitizer and UndefinedBehaviorSanitizer.  Parameters of training, such
as a learning rate, have ranges that only Python knows: a file that C accepts and Python refuses counts as "parameters"
if Python accepts it with the parameters of the file that it was made from.  Every other difference is a fault; exit
code 1 if there is one.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import struct
import sys
import tempfile
import time
import zlib

import numpy as np

import rffkern
import rffkern._column_map.text
from rffkern import Expansion, FormatError, FourierTerms, KernelTerms, LinearTerms, TreeTerms

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))  # what this shares with the tests is in tests/helpers
from helpers import damaged_files
from helpers.c_reader import ACCEPTED, SANITIZERS, UNSUPPORTED, CReader, build

TESTS = pathlib.Path(__file__).parents[1] / "tests"

# Parameters that the reader in C looks at, as arrays depend on them; `columns` of all families.
READ = {"gbrff": ("n_components",), "gbrff1": ("n_components",), "gbrff_regressor": ("n_components",),
        "pbrff": ("n_components", "n_landmarks"), "pbrff_transformer": ("n_components", "n_landmarks"),
        "sparse_kernel": ("n_estimators", "basis_size"),
        "sparse_kernel_regressor": ("n_estimators", "basis_size"),
        "fourier_boosting_regressor": ("loss", "quantile")}
WORDS = [b",", b":", b"[", b"]", b"{", b"}", b'"', b"\\", b"0", b"-", b".", b"e9", b" ", b"null", b"true", b"\\u0000",
         b"\\ud800", b"\\u00e9", b"\xc3\xa9", b"\xff", b"\x00", b"1.0", b"1e2", b'""', b"[]", b"{}", b"\n",
         b"\xef\xbb\xbf"]


def damaged_member(rng, content):
    """Other bits in the data of a member, under right checksums."""
    members = damaged_files.members_of(content)
    member = members[rng.integers(len(members)) if rng.random() < 0.5 else 0]
    if member[1]:
        member[1] = damaged_files.flipped_bits(rng, member[1])
    return damaged_files.archive(members)


def other_text(rng, content):
    """Words of JSON put in, taken out or replaced at places of the header."""
    members = damaged_files.members_of(content)
    text = members[0][1][members[0][1].index(b"\n") + 1 :]
    for _ in range(rng.integers(1, 4)):
        place, length = int(rng.integers(len(text) + 1)), int(rng.choice([0, 0, 1, 1, 2, 9]))
        text = text[:place] + WORDS[rng.integers(len(WORDS))] * int(rng.integers(2)) + text[place + length :]
    return damaged_files.with_header(members, text)


def other_value(rng, content):
    """A number or word of the header replaced by one that is near it, or by another of the header."""
    members = damaged_files.members_of(content)
    header, places = damaged_files.places_of_header(members)
    node, key = places[rng.integers(len(places))]
    value = node[key]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.7:
        node[key] = [value + 1, value - 1, -value, float(value), 2 * value, str(value)][rng.integers(6)]
    elif isinstance(value, list) and rng.random() < 0.7:
        node[key] = [value[::-1], value[:-1], value + value[-1:], sorted(value, key=str), []][rng.integers(5)]
    else:
        other, name = places[rng.integers(len(places))]
        node[key] = other[name]
    try:
        return damaged_files.with_header(members, json.dumps(header).encode())
    except (RecursionError, ValueError):  # a list that was put into itself
        return content


DTYPES = ["|b1", "|i1", "<i4", "<i8", "|u1", "<u2", "<u8", "<f4", "<f8", "O", "<U1", "<U9", "<U300", "<U0", "<U07",
          "<U", ">i8", "f8", "<f2"]
LABELS = [[False, True], [True, False], [0, 1], [-1, 1], [1, 1], [2**7 - 1, 2**7], [-2**31, 2**31], [2**63 - 1, 2**63],
          [-2**63, 0], [-2**63 - 1, 0], [0, 2**64 - 1], [0, 2**64], [-10**40, 10**40], [10**40, 10**40 + 1], [0.0, 1.0],
          [-0.0, 0.0], [0.1, 0.5], [0.5, 1e300], [1e-45, 3.4e38], ["a", "b"], ["b", "a"], ["", "a"], ["a", "long" * 70],
          ["\u00e9", "\u2603", "\U0001f600"], ["a", "\x7f"], ["a\tb", "a\nb"], ["a", 1], [1, 1.0], [True, 2], [None, 1]]


def other_labels(rng, content):
    """Labels and dtypes of many kinds, as many as the model has or another number."""
    members = damaged_files.members_of(content)
    header = json.loads(members[0][1][members[0][1].index(b"\n") + 1 :])
    values = list(LABELS[rng.integers(len(LABELS))])
    if rng.random() < 0.6 and header["classes"]:
        values = [*values, *header["classes"]["values"]][: len(header["classes"]["values"])]
        values = sorted(values, key=str) if rng.random() < 0.3 else values
    header["classes"] = {"dtype": DTYPES[rng.integers(len(DTYPES))], "values": values}
    return damaged_files.with_header(members, json.dumps(header, ensure_ascii=rng.random() < 0.5).encode())


def other_shape(rng, content):
    """An array of another length or shape, in header and data alike."""
    members = damaged_files.members_of(content)
    header = json.loads(members[0][1][members[0][1].index(b"\n") + 1 :])
    number = int(rng.integers(1, len(members)))
    shape = list(header["arrays"][number - 1][1])
    if shape:
        shape[rng.integers(len(shape))] += int(rng.choice([-1, 1]))
    if rng.random() < 0.2:
        shape = [[1, *shape], shape[::-1], [int(np.prod(shape))]][rng.integers(3)]
    if any(n < 0 for n in shape):
        return content
    data = members[number][1]
    numbers = np.frombuffer(data, "<f8", offset=data.index(b"\n") + 1, count=len(data[data.index(b"\n") + 1 :]) // 8)
    values = np.resize(numbers, shape) if numbers.size else np.ones(shape)
    dtype = rng.choice(["<f8", "<f8", "<f4"])
    header["arrays"][number - 1][1] = shape
    with np.errstate(over="ignore"):
        members[number][1] = damaged_files.npy(dtype, shape, values.astype(dtype).tobytes())
    return damaged_files.with_header(members, json.dumps(header).encode())


def _wide(numbers, rng):
    """Numbers of four bytes, some of them in the extra bytes instead, as in archives of 4 GiB; and these bytes."""
    chosen = [bool(rng.random() < 0.5) for _ in numbers]
    extra = b"".join(struct.pack("<Q", number) for number, is_wide in zip(numbers, chosen, strict=True) if is_wide)
    extra = struct.pack("<HH", 1, len(extra)) + extra if extra else b""
    if rng.random() < 0.05:
        extra = [extra[:-1], b"\2" + extra[1:], extra + b"more"][rng.integers(3)]
    return [0xFFFFFFFF if is_wide else number for number, is_wide in zip(numbers, chosen, strict=True)], extra


def wide_numbers(rng, content):
    """The same members, with sizes and places of eight bytes, and now and then a wrong one."""
    body, entries = b"", b""
    members = damaged_files.members_of(content)
    for name, data in members:
        crc, size = zlib.crc32(data), len(data) + int(rng.random() < 0.01)
        (own, packed), extra = _wide([size, size], rng)
        local = struct.pack("<4s5H3L2H", b"PK\3\4", 45, 0, 0, 0, 33, crc, packed, own, len(name), len(extra))
        (own, packed, place), more = _wide([size, size, len(body)], rng)
        entries += struct.pack("<4s6H3L5H2L", b"PK\1\2", 45, 45, 0, 0, 0, 33, crc, packed, own, len(name), len(more), 0,
                               0, 0, 0, place) + name.encode() + more
        body += local + name.encode() + extra + data
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(members), len(members), len(entries), len(body), 71)
    return damaged_files.sign(body + entries + end + b"sha256:" + bytes(64))


MUTATIONS = [*damaged_files.MUTATIONS, damaged_member, other_text, other_value, other_labels, other_shape,
             wide_numbers]


def originals(folder):
    """The files that are changed: those of the tests, and some of forms that these lack."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X @ np.array([[1, 0.9, 0], [0, 0.5, 0], [0, 0, 1]]))
    holes[:, 2] = np.where(rng.random(300) < 0.5, np.nan, np.sign(X[:, 0]))
    table = {"a": holes[:, 0], "b \u00e9": holes[:, 1], "c": holes[:, 2]}
    forms = rffkern.ColumnMap(("raw", "standard", "bounded", "rank", "bins"), n_knots=8, n_bins=4)
    labels = np.where(X[:, 0] > 0, 2, -1) + 5 * (X[:, 1] > 1)
    words = ["bright", "gloomy", "Stra\u00dfe", "\u65e5\u672c", "\u03a3\u03a3", "\u0130x"]
    texts = [" ".join(words[j] for j in (int(label > 0), *rng.integers(2, 6, 5))) + f" no {k}"
             for k, label in enumerate(labels)]
    start = np.datetime64("2021-03-01") + rng.integers(0, 900, 300)
    spans = {"start": start, "text": texts, "end": start + rng.integers(0, 90, 300), "x": X[:, 2]}
    rffkern._column_map.text._MOST_BITS = 10  # so that files are small
    small = {"n_estimators": 3, "random_state": 0}
    boosted = {**small, "n_bags": 2, "columns": forms}
    models = [
        Expansion([0.0, 1.0], [0.0, 0.0], FourierTerms([[1.0, 2.0]], [0.5], [[1.0, -1.0]])),
        Expansion([0.0], [0.0, 0.0], FourierTerms([[0.0, 2.0], [0.0, 0.0], [0.1, 0.0]], [0, 1, 2], [[1], [2], [3.0]])),
        *(Expansion([0.0], [0.0, 0.0], KernelTerms([[1.0, 2.0], [0.0, 1.0]], [[1.0], [2.0]], [1.0, 0.0], *more))
          for more in ((), ([1.0],), ([1.0], [0, 1, 0], [0.5, 1.5, -0.5], [0, 1, 1, 2, 2]))),
        rffkern.SparseKernelClassifier(3, random_state=0).fit(X, labels),
        Expansion([1.0], [0.0], LinearTerms([[0.5]]), TreeTerms(
            [[0, 0], [0, 0]], [[0.5, 0.7], [0.1, rffkern._model.tree_layout.UNREACHED]],
            [[2.0], [3.0], [4.0], [5.0], [6.0]]), lower=[-1.0], upper=[2.0]),
        rffkern.FourierBoostingRegressor(kernel_ridge=True, **boosted).fit(holes, X[:, 0] ** 2),
        forms.fit(table), rffkern.ColumnMap(("standard",)).fit(np.column_stack([X, np.full(300, np.nan)])),
        rffkern.ColumnMap(("raw", "rank")).fit(np.full((3, 2), np.nan)),  # a column without values that has a form
        rffkern.ColumnMap(("bins",), n_bins=200).fit(X),
        rffkern.ColumnMap(max_levels=2, min_level_rows=2).fit({"text": [f"word {k}" for k in labels]}, labels),
        rffkern.ColumnMap(date_parts="differences").fit(spans, labels),
        rffkern.FourierBoostingClassifier(**{**boosted, "columns": rffkern.ColumnMap(date_parts="differences")}).fit(
            spans, labels),
        rffkern.GBRFF2Classifier(columns=rffkern.ColumnMap(date_parts=True), **small).fit(
            {"day": [f"{k % 28 + 1}/{k % 12 + 1}/20{k % 30:02d} {k % 24}:05" for k in range(300)],
             "mass": [f"{x:.1f} kg" if x < 1 else "none" for x in X[:, 0]],
             "time": [f"{k % 24}:30" for k in range(300)], "yes": ["ja", "nein"] * 150}, labels),
        rffkern.GBRFF2Classifier(columns=forms, **small).fit(holes, labels),
        rffkern.FourierBoostingClassifier(**boosted).fit(table, labels > 0),
        rffkern.FourierBoostingRegressor(loss="quantile", quantile=[0.1, 0.5], **boosted).fit(holes, X[:, 0]),
        rffkern.FourierBoostingRegressor(loss="poisson", **{**boosted, "columns": None}).fit(X, labels + 1),
        rffkern.GBRFFClassifier(n_components=2, **small).fit(X, labels.astype(np.float32)),
        rffkern.GBRFF1Classifier(n_components=2, **small).fit(X, labels.astype(np.int8)),
        rffkern.GBRFF2Classifier(**small).fit(X, np.where(labels > 0, "a", "\U0001f600").astype(object)),
    ]
    path = folder / "original.npz"
    found = [fixture.read_bytes() for fixture in sorted(TESTS.glob("data/*/*.npz"))]
    for model in models:
        rffkern.save(model, path)
        found.append(path.read_bytes())
    return found


def repaired(content, original):
    """A file with the parameters of training of the one that it was made from, but for those that C looks at."""
    members = damaged_files.members_of(content)
    header, before = (json.loads(data[data.index(b"\n") + 1 :])
                      for (_, data), *_ in (members, damaged_files.members_of(original)))
    params, trained = header["params"], before["params"]
    if isinstance(params, dict) and isinstance(trained, dict):
        read = {name: params[name] for name in READ.get(header["family"], ()) if name in params}
        if "columns" in params:
            is_map = isinstance(params["columns"], dict) and trained["columns"] is not None
            read["columns"] = trained["columns"] if is_map else params["columns"]
        header["params"] = {**trained, **read}
    if isinstance(header.get("columns"), dict) and isinstance(before.get("columns"), dict):
        header["columns"] = {**header["columns"], "params": before["columns"]["params"]}
    text = json.dumps(header).replace("Infinity", "1e999")  # a number so large is one in a file
    return damaged_files.with_header(members, text.encode())


def digest(content):
    """A short name for the bytes of a file."""
    return hashlib.sha256(content).hexdigest()[:16]


def python_accepts(content, path):
    """Whether `rffkern.load` takes a file."""
    path.write_bytes(content)
    try:
        rffkern.load(path)
    except FormatError:
        return False
    return True


def judge(content, original, reader, path):
    """(How the two readers agree, what C says)."""
    code, why = reader.verdict(content)
    in_c, in_python = code in (ACCEPTED, UNSUPPORTED), python_accepts(content, path)
    if in_c == in_python:
        return ("accepted" if in_c else "refused"), f"{code} {why}"
    if in_c and python_accepts(repaired(content, original), path):
        return "parameters", f"{code} {why}"
    return ("only C accepts" if in_c else "only Python accepts"), f"{code} {why}"


def compare(n_files, seed, reader, folder, keep):
    """Counts by mutation and verdict, and names of files on which the readers differ."""
    base, path = originals(folder), folder / "model.npz"
    counts, faults = collections.Counter(), []
    for number in range(n_files):
        rng = np.random.default_rng([seed, number])
        original = base[rng.integers(len(base))]
        mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
        content = mutation(rng, original)
        verdict, why = judge(content, original, reader, path)
        counts[mutation.__name__, verdict] += 1
        if verdict.startswith("only"):
            faults.append(f"file {number}, {mutation.__name__}, {digest(content)}: {verdict}: {why}")
            print(faults[-1], flush=True)
            if keep:
                (keep / f"{digest(content)}.npz").write_bytes(content)
    return counts, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where to put files on which they differ")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # a file that is written over again is slow on disks
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        program = build(folder, ("-O0", *SANITIZERS))
        with CReader(program) as reader:
            counts, faults = compare(arguments.files, arguments.seed, reader, pathlib.Path(folder), arguments.keep)
    verdicts = ["accepted", "refused", "parameters", "only C accepts", "only Python accepts"]
    print(f"{'mutation':<18}" + "".join(f"{verdict:>21}" for verdict in verdicts))
    for mutation in [each.__name__ for each in MUTATIONS]:
        print(f"{mutation:<18}" + "".join(f"{counts[mutation, verdict]:>21}" for verdict in verdicts))
    print(f"{'all':<18}" + "".join(
        f"{sum(n for (_, each), n in counts.items() if each == verdict):>21}" for verdict in verdicts))
    print(f"{arguments.files} files in {time.monotonic() - started:.0f} s, {len(faults)} differences")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
