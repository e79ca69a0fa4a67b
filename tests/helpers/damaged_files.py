"""Model files that are damaged or crafted, drawn from sound ones."""

import hashlib
import io
import json
import re
import struct
import zipfile

import numpy as np

NASTY = [None, True, -1, 0, 1, 2, 10**6, 10**9, 10**30, -(10**30), 1e308, 0.5, "", "x", "\u0000", "auto", "<f8", "O",
         "<U999999999", [], [[]], [0], [1, 2], ["a"], ["a", "b"], {}, {"dtype": "O", "values": [1, 2]}, "a" * 20000]
NUMBERS = [b"NaN", b"Infinity", b"1e999", b"-1e400", b"9" * 5000]


def sign(content):
    """Bytes with a right checksum, as a hostile writer would make it."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def members_of(content):
    """[name, data] of the members of an archive, in their order."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [[name, file.read(name)] for name in file.namelist()]


def archive(members, *, compression=zipfile.ZIP_STORED, comment=b"sha256:" + b"0" * 64):
    """The bytes of an archive of some (name, data), with a right checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
        file.comment = comment
    return sign(buffer.getvalue())


def npy(descr, shape, data):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    return buffer.getvalue() + data


def with_header(members, text):
    """The bytes of an archive with another JSON header."""
    return archive([["header.npy", npy("|u1", (len(text),), text)], *members[1:]])


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
    members = members_of(content)
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
    return archive(members)


def other_numbers(rng, content):
    """Other numbers in an array, under a right checksum: a model like any other, or refused."""
    members = members_of(content)
    member = members[rng.integers(1, len(members))]
    start = member[1].index(b"\n") + 1
    dtype = next(dtype for dtype in ("<f2", "<f4", "<f8") if dtype.encode() in member[1][:start])
    values = np.frombuffer(member[1], dtype, offset=start).copy()
    if values.size:
        with np.errstate(over="ignore"):
            values[rng.integers(values.size)] = rng.choice(
                [0.0, -0.0, 1e-320, 1e-40, 1e30, 1e300, -1e308, np.nan, np.inf, 3.0])
    member[1] = member[1][:start] + values.tobytes()
    return archive(members)


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
    members = members_of(content)
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
    return with_header(members, text)


def many_labels(rng, content):
    """Labels of which few are long: together they would take the product of their number and the longest."""
    members = members_of(content)
    header = json.loads(members[0][1][members[0][1].index(b"\n") + 1 :])
    count, width = (int(10 ** rng.uniform(0.5, 4)) for _ in range(2))
    labels = sorted({f"{i:05d}" for i in range(count)} | {"z" * width})
    header["classes"] = {"dtype": rng.choice([f"<U{width}", "O", f"<U{10 * width}"]), "values": labels}
    return with_header(members, json.dumps(header).encode())


MUTATIONS = [flipped_bits, other_lengths, signed_damage, other_members, other_numbers, crafted_header, many_labels]
