"""Model files that are damaged or crafted: refused with FormatError, or read exactly as they are."""

import hashlib
import io
import json
import mmap
import pathlib
import re
import struct
import time
import zipfile

import numpy as np

import rffkern
from rffkern import FormatError
from soaking.children import in_child, memory, reset_peak

FIXTURES = sorted(pathlib.Path(__file__).parents[2].glob("tests/data/*/*.npz"))
FILES_PER_CASE = 50
MAX_SECONDS = 1.0  # of CPU, per file
CASE_SECONDS = 300  # of a clock, on a machine that others use
NASTY = [None, True, -1, 0, 1, 2, 10**6, 10**9, 10**30, -(10**30), 1e308, 0.5, "", "x", "\u0000", "auto", "<f8", "O",
         "<U999999999", [], [[]], [0], [1, 2], ["a"], ["a", "b"], {}, {"dtype": "O", "values": [1, 2]}, "a" * 20000]
NUMBERS = [b"NaN", b"Infinity", b"1e999", b"-1e400", b"9" * 5000]


def sign(content):
    """Bytes with a right checksum, as a hostile writer would make it."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [[name, file.read(name)] for name in file.namelist()]


def _archive(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data)
        file.comment = b"sha256:" + b"0" * 64
    return sign(buffer.getvalue())


def _npy(descr, shape, data):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    return buffer.getvalue() + data


def _with_header(members, text):
    return _archive([["header.npy", _npy("|u1", (len(text),), text)], *members[1:]])


def flipped_bits(rng, content):
    changed = np.frombuffer(content, np.uint8).copy()
    for place in rng.integers(0, len(changed), rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return changed.tobytes()


def other_lengths(rng, content):
    place, length = rng.integers(0, len(content)), int(rng.integers(1, 200))
    return [content[:place], content[:place] + content[place + length :],
            content[:place] + rng.bytes(length) + content[place:], content[:place] + bytes(length) + content[
                place + length :], content + rng.bytes(length)][rng.integers(5)]


def signed_damage(rng, content):
    """Damage under a right checksum: bits, and the lengths and offsets of the archive's own records."""
    if rng.random() < 0.5:
        return sign(flipped_bits(rng, content[:-64]) + content[-64:])
    changed = bytearray(content)
    records = [found.start() for found in re.finditer(rb"PK\x01\x02|PK\x03\x04|PK\x05\x06", content)]
    place = records[rng.integers(len(records))] + int(rng.integers(4, 46))
    value = int(rng.choice([0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, rng.integers(1 << 32)]))
    changed[place : place + 4] = struct.pack("<I", value)
    return sign(bytes(changed[: len(content)]))


def other_members(rng, content):
    members = _members(content)
    one, other = rng.choice(len(members), 2, replace=False)
    change = rng.integers(5)
    if change == 0:
        members[one], members[other] = members[other], members[one]
    elif change == 1:
        members[one][1], members[other][1] = members[other][1], members[one][1]
    elif change == 2:
        del members[one]
    elif change == 3:
        members.append([f"more{rng.integers(9)}.npy", members[one][1]])
    else:
        data = members[one][1]
        members[one][1] = data[: rng.integers(len(data))] if rng.random() < 0.5 else data + rng.bytes(8)
    return _archive(members)


def other_numbers(rng, content):
    """Other numbers in an array, under a right checksum: a model like any other, or refused."""
    members = _members(content)
    member = members[rng.integers(1, len(members))]
    start = member[1].index(b"\n") + 1
    values = np.frombuffer(member[1], "<f4" if b"<f4" in member[1][:start] else "<f8", offset=start).copy()
    if values.size:
        with np.errstate(over="ignore"):
            values[rng.integers(values.size)] = rng.choice(
                [0.0, -0.0, 1e-320, 1e-40, 1e30, 1e300, -1e308, np.nan, np.inf, 3.0])
    member[1] = member[1][:start] + values.tobytes()
    return _archive(members)


def places_of_header(members):
    """The JSON header of a file, and all places in it: pairs of a dict or list and a key or index."""
    header = json.loads(members[0][1][members[0][1].index(b"\n") + 1 :])
    places = [(header, key) for key in header]
    for node, key in places:
        inner = node[key]
        if isinstance(inner, dict | list):
            places += [(inner, k) for k in (inner if isinstance(inner, dict) else range(len(inner)))]
    return header, places


def crafted_header(rng, content):
    """A value of the JSON header, at any depth, replaced by one of the nasty ones."""
    members = _members(content)
    header, places = places_of_header(members)
    node, key = places[rng.integers(len(places))]
    change = rng.integers(6)
    if change == 0 and isinstance(node, dict):
        del node[key]
    elif change == 1:
        node[key] = json.loads("[" * 900 + "]" * 900)
    else:
        node[key] = NASTY[rng.integers(len(NASTY))]
    text = json.dumps(header).encode()
    if change == 2:
        text = re.sub(rb"(?<=:)-?\d+(?=[,}\]])", lambda _: NUMBERS[rng.integers(len(NUMBERS))], text, count=1)
    elif change == 3:
        text = text.replace(b"{", b'{"format": "rffkern",', 1)
    return _with_header(members, text)


def many_labels(rng, content):
    """Labels of which few are long: together they would take the product of their number and the longest."""
    members = _members(content)
    header = json.loads(members[0][1][members[0][1].index(b"\n") + 1 :])
    count, width = (int(10 ** rng.uniform(0.5, 4)) for _ in range(2))
    labels = sorted({f"{i:05d}" for i in range(count)} | {"z" * width})
    header["classes"] = {"dtype": rng.choice([f"<U{width}", "O", f"<U{10 * width}"]), "values": labels}
    return _with_header(members, json.dumps(header).encode())


MUTATIONS = [flipped_bits, other_lengths, signed_damage, other_members, other_numbers, crafted_header, many_labels]


def _agree(name, stored, array):
    """Whether an array is that of a file; values of tables are rounded."""
    if stored.shape != array.shape:
        return False
    if name != "table_values":
        return stored.tobytes() == array.tobytes()
    return np.allclose(array, stored, rtol=1e-6, atol=1e-40 + 1e-40 * np.abs(stored).max(initial=0.0))


def judge(path, content, original):
    """What is wrong with how a file is read, or None."""
    before, started = reset_peak(), time.process_time()
    try:
        model = rffkern.load(path)
    except FormatError as error:
        model = None
        if isinstance(error.__cause__, MemoryError):
            return "asked for more memory than there was"
    seconds, peak = time.process_time() - started, memory("VmHWM") - before
    if seconds > MAX_SECONDS:
        return f"took {seconds:.1f} s"
    if peak > 50e6 + 4 * len(content):
        return f"took {peak / 1e6:.0f} MB for {len(content)} bytes"
    if model is None or content == original:
        return None if model is None or content == original else "refused"
    if content != sign(content):
        return "was accepted with a wrong checksum"
    if isinstance(model, rffkern.ColumnMap):
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            if archive["columns"].tobytes() != model._frozen.numbers().tobytes():
                return "was accepted with other numbers in the columns"
        found = model.transform({name: [None, 1.0] for name in model._frozen.column_names()}
                                if all(column.kind == "numeric" for column in model._frozen.columns) else
                                [[None] * model.n_features_in_] * 2)
        return None if np.isfinite(found).all() else "gave nan or inf"
    expansion = getattr(model, "expansion_", model)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        for name, array in expansion.arrays().items():
            if not _agree(name, archive[name], array):
                return f"was accepted with other numbers in {name}"
    expansion.score(np.zeros((3, expansion.n_features)))
    return None


def damaged_files(rng, folder):
    """Files that are mutated in a child with limits, each judged on its own."""
    path = folder / "model.npz"
    progress = mmap.mmap(-1, mmap.PAGESIZE)  # a file that is written over again is slow on disks

    def work():
        for number in range(FILES_PER_CASE):
            original = FIXTURES[rng.integers(len(FIXTURES))].read_bytes()
            mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
            content = mutation(rng, original)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            progress[:80] = f"file {number}, {mutation.__name__}".ljust(80).encode()
            wrong = judge(path, content, original)
            if wrong:
                return f"file {number}, {mutation.__name__}: {wrong}"
        return None

    ended = in_child(work, seconds=CASE_SECONDS, n_bytes=1 << 31)
    if ended.how == "done":
        return ended.value
    return f"{progress[:80].decode().strip(chr(0) + ' ') or 'at once'}: {ended.how} {ended.value}"
