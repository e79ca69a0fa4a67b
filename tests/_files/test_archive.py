"""The bytes of model files: damaged, foreign and hostile ones give FormatError and nothing else."""

import gzip
import hashlib
import io
import json
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from helpers.damaged_files import archive, flipped_bits, members_of, other_lengths, sign
from helpers.damaged_files import with_header as archive_with_header

import rffkern
from rffkern import FormatError, load, save
from rffkern._files import archive as archive_module
from rffkern._files.archive import check_memory, encode, npy_prefix

N_DAMAGED = int(os.environ.get("RFFKERN_DAMAGED", "2000"))


@pytest.mark.parametrize("size", [0, 1, archive_module._MUCH - 1, archive_module._MUCH])
@pytest.mark.parametrize("built_in", [True, False])
def test_the_digest_is_that_of_hashlib(monkeypatch, size, built_in):
    if not built_in:
        def missing():
            raise ImportError
        monkeypatch.setattr(archive_module, "_built_in_sha256", missing)
    content = bytes(range(256)) * (size // 256 + 1)
    assert archive_module._digest(content[:size]) == hashlib.sha256(content[:size]).hexdigest().encode()


def test_numpy_reads_the_file(model, tmp_path):
    save(model, tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["omegas"], model.expansion_.fourier.omegas)
        assert json.loads(archive["header"].tobytes())["class"] == "GBRFF2Classifier"


def test_the_prefix_is_what_numpy_writes():
    for dtype, shape in (("<f8", (5, 3)), ("<f8", (7,)), ("|u1", (12345,)), ("<f8", (0,))):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.zeros(shape, dtype), version=(1, 0))
        assert buffer.getvalue().startswith(npy_prefix(dtype, shape)[:8])
        buffer.seek(0)
        assert np.lib.format.read_magic(buffer) == (1, 0)
        ours = io.BytesIO(npy_prefix(dtype, shape))
        np.lib.format.read_magic(ours)
        assert np.lib.format.read_array_header_1_0(ours) == (shape, False, np.dtype(dtype))
        assert len(ours.getvalue()) == ours.tell()
        assert len(ours.getvalue()) % 64 == 0  # as the format asks for, so that data can be mapped


# --- damage

def damaged(content, rng):
    """A copy with some bits changed, or bytes cut off, removed, inserted or set to 0."""
    return (flipped_bits, other_lengths)[rng.integers(2)](rng, content)


def test_damaged_files(content, tmp_path):
    rng, path, n_checked = np.random.default_rng(1), tmp_path / "m.npz", 0
    while n_checked < N_DAMAGED:
        data = damaged(content, rng)
        if data == content:
            continue
        path.write_bytes(data)
        with pytest.raises(FormatError):
            load(path)
        n_checked += 1


def test_damaged_files_with_a_right_checksum(content, tmp_path):
    """A hostile writer signs what he wrote: whatever loads must be a model in working order."""
    rng, path, n_loaded = np.random.default_rng(2), tmp_path / "m.npz", 0
    for _ in range(N_DAMAGED):
        path.write_bytes(sign(damaged(content, rng)))
        try:
            model = load(path)
        except FormatError:
            continue
        n_loaded += 1
        assert np.isfinite(model.decision_function(np.ones((2, model.n_features_in_)))).all()
    assert n_loaded < N_DAMAGED


@pytest.mark.parametrize("size", [0, 1, 3, 4, 50, 71, 72, 200])
def test_truncated(content, refuse, size):
    refuse(content[:size])
    refuse(content[: len(content) - size - 1])


def test_foreign_files(refuse, tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    refuse((tmp_path / "other.npz").read_bytes(), "no checksum")
    refuse(b"tree\nversion=v4\n", "does not begin as a .npz")
    refuse(pickle.dumps({"a": 1}), "does not begin as a .npz")
    refuse(gzip.compress(b"PK"), "compressed by gzip: unpack it first, by gunzip")
    refuse(b"PK\x03\x04" + b"sha256:".rjust(100) + b"0" * 64, "checksum differs")
    refuse(sign(b"PK\x03\x04" + b"sha256:".rjust(100) + b"0" * 64), "not a valid model")


# --- hostile archives, rightly signed

def test_the_reference_archive_is_accepted(content, parts, tmp_path):
    """The tools of the tests below make good files where nothing is changed."""
    for data in (encode(*parts), archive(members_of(content))):
        (tmp_path / "m").write_bytes(data)
        load(tmp_path / "m")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_member_lists(content, refuse):
    members = members_of(content)
    refuse(archive(members + members[1:2]), "missing or repeated")
    refuse(archive(members[:-1]), "members must be")
    refuse(archive([*members, ("extra.npy", members[1][1])]), "members must be")
    refuse(archive(members[1:] + members[:1]), "missing or repeated")
    refuse(archive([*members[:1], *members[2:], members[1]]), "members must be")
    refuse(archive([]), "not a valid model|missing or repeated|does not begin")
    refuse(archive(members, compression=zipfile.ZIP_DEFLATED), "stored, not compressed")
    refuse(archive([(name.replace("omegas", "../omegas"), data) for name, data in members]), "members must be")


def test_pickled_members(content, refuse):
    class Bomb:
        def __reduce__(self):
            return os._exit, (66,)

    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    members = dict(members_of(content))
    refuse(archive((members | {"omegas.npy": buffer.getvalue()}).items()), "omegas does not have the declared shape")
    refuse(archive((members | {"header.npy": buffer.getvalue()}).items()), "header is malformed")


@pytest.mark.parametrize("shape", [(2**40, 2**20), (2**62,), (0, 2**63), (10**30,), (6, 4), (3, 6), (18,), (6, 3, 1)])
def test_giant_and_wrong_shapes_allocate_nothing(content, parts, refuse, shape):
    header, _ = parts
    entries = [["omegas", list(shape)] if name == "omegas" else [name, own] for name, own in header["arrays"]]
    members = dict(members_of(content))
    altered = json.dumps(header | {"arrays": entries}).encode()
    members["header.npy"] = npy_prefix("|u1", (len(altered),)) + altered
    members["omegas.npy"] = npy_prefix("<f8", shape) + members["omegas.npy"][128:]
    tracemalloc.start()
    refuse(archive(members.items()))
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_file_over_the_limit_is_not_read(content, tmp_path):
    with open(tmp_path / "big", "wb") as file:
        file.write(content)
        file.truncate(1 << 34)  # 16 GiB, sparse
    with pytest.raises(FormatError, match="larger than max_bytes"):
        load(tmp_path / "big", max_bytes=1 << 20)


def test_max_bytes_is_the_largest_size_that_is_read(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    load(tmp_path / "m", max_bytes=len(content))
    with pytest.raises(FormatError, match="larger than max_bytes"):
        load(tmp_path / "m", max_bytes=len(content) - 1)


def test_memory_is_32_MiB_and_twice_the_size_of_the_file_at_most():
    check_memory(2**25 + 2 * 1000, 1000, "this")
    with pytest.raises(FormatError, match="this would take 33556433 bytes, of a file of 1000"):
        check_memory(2**25 + 2 * 1000 + 1, 1000, "this")


def test_many_members_are_refused_before_they_are_listed(content, refuse):
    members = members_of(content) + [(f"{i:x}", b"") for i in range(20_000)]
    data = archive(members)
    tracemalloc.start()
    refuse(data, "members must be few")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000 + 4 * len(data)
    tracemalloc.stop()


def test_an_end_of_the_large_kind_is_refused(content, refuse):
    end = content.rindex(b"PK\x05\x06")
    refuse(sign(content[:end] + b"PK\x06\x07" + bytes(16) + content[end:]), "of the large kind")
    refuse(sign(content[:end] + b"PK\x05\x06" + content[end + 4 : -80] + content[-72:]), "not a valid model")


def test_sizes_of_eight_bytes(content, parts, refuse, tmp_path, monkeypatch):
    """Archives of 2 GiB have them, and an end of another kind: here those of a small file are written so."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    data = encode(*parts)
    assert len(data) > len(content) + 8 * len(members_of(content))
    refuse(data, "of the large kind, but small")
    monkeypatch.setattr(rffkern._files.archive, "_LARGE_SIZE", 1000)
    (tmp_path / "m").write_bytes(data)
    load(tmp_path / "m")
    entry = data.index(b"PK\x01\x02")
    extra = data.index(b"\x01\x00", entry + 46)
    refuse(sign(data[:extra] + b"\x02" + data[extra + 1 :]), "the size of a member is missing")


@pytest.mark.parametrize(("where", "match"), [
    (14, "member 'header.npy' is not what the list says"), (6, "is not what the list says"),
    (30, "is not what the list says"), (0x80, "checksum of member 'header.npy' differs")])
def test_members_unlike_the_list(content, refuse, where, match):
    data = bytearray(content)
    data[where] ^= 1
    refuse(sign(bytes(data)), match)


def with_gap(content, place):
    """The content with bytes of no member, and with the place where its list of members begins then."""
    data = bytearray(content[:place] + b"gap!" + content[place:])
    end = data.rindex(b"PK\x05\x06")
    data[end + 16 : end + 20] = data.index(b"PK\x01\x02").to_bytes(4, "little")
    return sign(bytes(data))


def test_gaps_between_members(content, refuse):
    """Bytes that no member has, before the second and before the list."""
    second, entries = content.index(b"PK\x03\x04", 4), content.index(b"PK\x01\x02")
    refuse(with_gap(content, second), "is not what the list says")
    refuse(with_gap(content, entries), "not where they end")


@pytest.mark.parametrize("where", [4, 6, 8, 10, 16])
def test_ends_that_are_wrong(content, refuse, where):
    """Numbers of disks and of members, and where the list begins."""
    data = bytearray(content)
    data[data.rindex(b"PK\x05\x06") + where] ^= 1
    refuse(sign(bytes(data)), "end of the archive is malformed")


@pytest.mark.parametrize(("where", "value", "match"), [
    (0, 0, "list of members is malformed"), (28, 200, "not a valid model"),
    (10, 8, "stored, not compressed"), (8, 1, "stored, not compressed"), (42, 1, "gaps between them"),
    (16, 1, "is not what the list says"), (6, 46, "needs version 46"), (8, 64, "stored, not compressed")])
def test_lists_that_are_wrong(content, refuse, where, value, match):
    """A mark, the length of a name, a method, encryption, a place, a checksum, a version, and a flag."""
    data = bytearray(content)
    data[data.index(b"PK\x01\x02") + where] = value
    refuse(sign(bytes(data)), match)


def test_members_that_overlap(content, refuse):
    """Two entries of the directory that share their bytes: more is declared than is there."""
    data = bytearray(content)
    entries = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    for entry in entries[1:]:
        data[entry + 20 : entry + 28] = (len(content) // 2).to_bytes(4, "little") * 2
    refuse(sign(bytes(data)), "members overlap")


@pytest.mark.parametrize("text", [
    b"", b"null", b"[1, 2]", b"{", b"\xff\xfe", b'{"format": "rffkern", "format": "rffkern"}', b"[" * 100_000,
    b'{"format": "rffkern", "version": NaN}', b'{"format": "rffkern", "version": 1' + b"0" * 5000 + b"}",
], ids=lambda text: repr(text[:20]))
def test_malformed_json(content, refuse, text):
    refuse(archive_with_header(members_of(content), text))


@pytest.mark.parametrize("entry", [b"0", b"[]", b"{}"])
def test_a_header_of_many_values(content, refuse, entry):
    """Python takes some hundred bytes for each, of a file that has a few."""
    text = b'{"format": [' + b",".join([entry] * (1 << 20)) + b"]}"
    tracemalloc.start()
    refuse(archive_with_header(members_of(content), text), "the header would take [0-9]{8,} bytes")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000 + 10 * len(text)
    tracemalloc.stop()


def test_a_header_of_few_objects(content, refuse):
    """Half of what is too much are marks between values, half are values that have others."""
    text = b'{"format": [' + b",".join([b"{}"] * 120_000) + b"]}"
    refuse(archive_with_header(members_of(content), text), "the header would take")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["omegas", "phases", "amplitudes", "intercept", "center", "train_loss_"])
def test_nan_and_inf(parts, refuse, name, value):
    header, arrays = parts
    altered = arrays[name].copy()
    altered.flat[0] = value
    refuse(encode(header, arrays | {name: altered}), f"array {name} holds nan or inf")
