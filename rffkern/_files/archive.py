"""The bytes of a model file: a `.npz` archive that is checked from the first byte to the last.

Layout: stored (not compressed) members, each a `.npy` of fixed little-endian dtype; the first, `header.npy`, holds
UTF-8 JSON; the others are the arrays it lists, in its order, of double precision or of single.  The
comment that ends the archive is "sha256:" and the digest of every byte before it.
`numpy.load(path, allow_pickle=False)` reads such a file too.

Modules that only files need (zipfile, hashlib, json) are imported in the functions that use them: together they would
cost twice as much at start-up as the rest of the package.  Reading needs no zipfile: a model has nothing that archives
may have beside stored members, and all of it is compared with the list at its end.
"""

import contextlib
import importlib
import io
import math
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._native.array_types import Double, Real
from .._protocol.arguments import truncated
from .._protocol.warning import warn
from .._version import __version__
from ..errors import ColumnWarning, FormatError, InvalidInputError

Header = Mapping[str, Any]
Contents = tuple[Header, dict[str, Double]]  # of a file

FORMAT = "rffkern"
FORMAT_VERSION = 1

_MAX_HEADER = 1 << 24
_MAX_DIRECTORY = 1 << 16  # bytes of the list of members, of which a model has some ten
_FREE_MEMORY = 1 << 25  # bytes that a file of any size may ask for
_MAX_SHOWN = 200  # characters of a file in a message
_LOCAL_MARK, _LOCAL = b"PK\x03\x04", struct.Struct("<4s2x2H4x3L2H")  # what stands before a member
_ENTRY_MARK, _ENTRY = b"PK\x01\x02", struct.Struct("<6x3H4x3L3H8xL")  # of the list of members
_END_MARK, _END = b"PK\x05\x06", struct.Struct("<4x4H2LH")  # of the end of an archive, before its comment
_NEWEST = 45  # the version of the format of archives that members may need: that of large ones
_LARGE_MARK, _LARGE_SIZE, _LARGE_END_SIZE = b"PK\x06\x07", 1 << 31, 76  # of what only archives of 2 GiB have before it
_IN_EXTRA = 0xFFFFFFFF  # for a size that does not fit
_DIGEST_MARK = b"sha256:"
_DIGEST_SIZE = len(_DIGEST_MARK) + 64
_MUCH = 1 << 22  # bytes for which OpenSSL is worth loading
CHECKPOINT_MARK = b"rffkern training state "  # what files of `checkpoint` begin with
_HEADER_KEYS = {"format", "version", "package", "family", "class", "params", "classes", "feature_names", "columns",
                "arrays"}
_OPTIONAL_KEYS = {"metadata", "out_of_fold", "reference"}  # that only headers with some have


class _Member(NamedTuple):
    """What an archive says of a member."""

    name: str
    flags: int
    method: int
    crc: int
    size: int
    packed_size: int
    offset: int


def require(condition: object, message: str) -> None:
    """Raise FormatError with a message unless a condition holds."""
    if not condition:
        raise FormatError(message)


def shown(value: Any) -> str:
    """What stands in a file, as a message may show it: escaped and short."""
    return truncated(repr(value), _MAX_SHOWN)


def check_memory(n_asked: int, n_bytes: int, what: str) -> None:
    """Refuse what would take far more memory than the file has bytes."""
    require(n_asked <= _FREE_MEMORY + 2 * n_bytes, f"{what} would take {n_asked} bytes, of a file of {n_bytes}")


def make_header(family: str, class_name: str, arrays: Mapping[str, Real], *,
                params: Mapping[str, Any] | None = None, classes: Mapping[str, Any] | None = None,
                feature_names: Sequence[str] | None = None, columns: Mapping[str, Any] | None = None) -> Header:
    """The header of a file of the current version, without metadata."""
    return {
        "format": FORMAT, "version": FORMAT_VERSION, "package": __version__, "family": family, "class": class_name,
        "params": params or {}, "classes": classes, "feature_names": feature_names, "columns": columns,
        "arrays": [[name, list(array.shape)] for name, array in arrays.items()],
    }


def _digest(content: bytes) -> bytes:
    """The checksum of a file, in hexadecimal digits.

    `hashlib` loads OpenSSL, which is faster by a millisecond for each megabyte or two, and takes several to load.
    """
    if len(content) < _MUCH:
        with contextlib.suppress(ImportError):
            return _built_in_sha256()(content).hexdigest().encode("ascii")
    import hashlib

    return hashlib.sha256(content).hexdigest().encode("ascii")


def _built_in_sha256() -> Any:
    """The function that Python has without OpenSSL; ImportError where it was built without it."""
    module = importlib.import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    return module.sha256


def encode(header: Header, arrays: Mapping[str, Real]) -> bytes:
    """The bytes of a file; the same contents give the same bytes."""
    import zipfile

    members = {"header": b""}
    for name, array in arrays.items():
        stored = _narrowed(array)
        members[name] = npy_prefix(stored.dtype.str, array.shape) + stored.tobytes()
    n_bytes = sum(map(len, members.values()))
    header_bytes = _header_bytes(header)
    excess = _excess(header_bytes, n_bytes)
    if excess and "reference" in header:
        header_bytes = _header_bytes({key: value for key, value in header.items() if key != "reference"})
        warn(f"the file is written without its reference of the training table, with which its header {excess}: the "
             "model that is loaded has no drift, and explains rows beside a background", ColumnWarning)
        excess = _excess(header_bytes, n_bytes)
    if excess:
        raise InvalidInputError(f"the header of the file, with the labels and columns of the model, {excess}: train "
                                "on fewer columns, or on fewer levels or labels")
    members["header"] = npy_prefix("|u1", (len(header_bytes),)) + header_bytes
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), data)
        archive.comment = _DIGEST_MARK + b"0" * 64
    content = buffer.getvalue()[:-64]
    return content + _digest(content)


def _header_bytes(header: Header) -> bytes:
    import json

    text = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"labels and column names must be storable as UTF-8: {error}") from error


def _excess(header_bytes: bytes, n_bytes: int) -> str:
    """What `decode` would refuse in a header beside arrays of so many bytes; empty where it would not."""
    if len(header_bytes) > _MAX_HEADER:
        return f"would be {len(header_bytes):,} bytes, more than {_MAX_HEADER:,}"
    asked, most = _parsed_size(header_bytes), _FREE_MEMORY + 2 * (n_bytes + len(header_bytes))
    return f"would take {asked:,} bytes of memory, more than the {most:,} of so small a file" if asked > most else ""


def decode(content: bytes) -> Contents:
    """Header and arrays of a file.

    A fault raises FormatError, or the ValueError, TypeError, KeyError, OverflowError, RecursionError or MemoryError in
    which reading ends.  Sizes are compared with the number of bytes before an array is made, so that a small file
    cannot ask for much memory.
    """
    require(not content.startswith(CHECKPOINT_MARK), "a checkpoint of a training, not a model: the command or program "
            "that wrote it goes on from it, and writes the model")
    require(not content.startswith(b"\x1f\x8b"), "compressed by gzip: unpack it first, by gunzip")
    require(content[:4] == _LOCAL_MARK, "not a model file: it does not begin as a .npz archive")
    require(content[-_DIGEST_SIZE:-64] == _DIGEST_MARK, "damaged, cut off or not a model file: no checksum at its end")
    require(_digest(content[:-64]) == content[-64:], "damaged: the checksum differs")
    start, end = _directory_place(content)
    members = _read_directory(content[start:end])
    require(all(member.method == member.flags == 0 and member.size == member.packed_size for member in members),
            "members must be stored, not compressed")
    require(sum(member.size for member in members) <= len(content), "members overlap")
    names = [member.name for member in members]
    require(names[:1] == ["header.npy"] and len(set(names)) == len(names), "members are missing or repeated")
    places = _member_places(content, members, start)
    header = _parse_header(content[places[0]], len(content))
    expected = ["header.npy"] + [f"{name}.npy" for name, _ in header["arrays"]]
    require(names == expected, f"members must be {shown(expected)}, got {shown(names)}")
    return (header, {name: _parse_array(content[place], name, shape)
                     for (name, shape), place in zip(header["arrays"], places[1:], strict=True)})


def _directory_place(content: bytes) -> tuple[int, int]:
    """Where the list of members begins and ends; one of more than some is refused."""
    end = len(content) - _DIGEST_SIZE - _END.size
    require(end > 0 and content.rfind(_END_MARK) == end, "not a valid model: the archive does not end at its checksum")
    large = content[max(end - 20, 0) : end - 16] == _LARGE_MARK
    require(len(content) >= _LARGE_SIZE or not large, "not a valid model: the archive is of the large kind, but small")
    disk, other_disk, *counts, size, offset, n_comment = _END.unpack_from(content, end)
    require(size <= _MAX_DIRECTORY, f"members must be few, got a list of {size} bytes")
    end -= _LARGE_END_SIZE if large else 0
    require(size <= end, "not a valid model: the list of members is cut off")
    require(offset == (_IN_EXTRA if large and end - size >= _IN_EXTRA else end - size) and disk == other_disk == 0
            and counts[0] == counts[1] and n_comment == _DIGEST_SIZE,
            "not a valid model: the end of the archive is malformed")
    return end - size, end


def _read_directory(data: bytes) -> list[_Member]:
    """The members of an archive, as the list at its end has them."""
    members, at = [], 0
    while at < len(data):
        require(data[at : at + 4] == _ENTRY_MARK and at + _ENTRY.size <= len(data),
                "not a valid model: the list of members is malformed")
        needed, flags, method, crc, packed, size, n_name, n_extra, n_comment, offset = _ENTRY.unpack_from(data, at)
        require(needed <= _NEWEST, f"not a valid model: a member needs version {needed} of the format of archives")
        at += _ENTRY.size
        name, extra = data[at : at + n_name], data[at + n_name : at + n_name + n_extra]
        at += n_name + n_extra + n_comment
        members.append(_Member(name.decode("utf-8"), flags, method, crc, *_wide((size, packed, offset), extra)))
    require(at == len(data), "not a valid model: the list of members is cut off")
    return members


def _member_places(content: bytes, members: Sequence[_Member], end: int) -> list[slice]:
    """Where the bytes of each member are: one follows another, from the first byte to `end`."""
    places, at = [], 0
    for member in members:
        require(member.offset == at and at + _LOCAL.size <= end, "members overlap, or have gaps between them")
        mark, flags, method, crc, packed, size, n_name, n_extra = _LOCAL.unpack_from(content, at)
        at += _LOCAL.size
        name, extra = content[at : at + n_name], content[at + n_name : at + n_name + n_extra]
        at += n_name + n_extra
        size, packed = _wide((size, packed), extra)
        found = _Member(name.decode("utf-8", "replace"), flags, method, crc, size, packed, member.offset)
        require(mark == _LOCAL_MARK and found == member,
                f"not a valid model: member {shown(member.name)} is not what the list says")
        places.append(slice(at, at + member.size))
        at += member.size
        require(at <= end, "members overlap")
        require(zlib.crc32(memoryview(content)[places[-1]]) == crc,
                f"not a valid model: the checksum of member {shown(member.name)} differs")
    require(at == end, "not a valid model: the list of members is not where they end")
    return places


def _wide(numbers: Iterable[int], extra: bytes) -> list[int]:
    """Numbers of four bytes; those that need more have all bits set, and stand in the extra bytes in their order."""
    found, at = [], 4
    for number in numbers:
        if number == _IN_EXTRA:
            require(extra[:2] == b"\x01\x00" and at + 8 <= len(extra),
                    "not a valid model: the size of a member is missing")
            number, at = int.from_bytes(extra[at : at + 8], "little"), at + 8
        found.append(number)
    return found


_PRECISIONS = ("<f2", "<f4", "<f8")


def _narrowed(array: Real) -> Real:
    """An array in the least precision that holds its numbers as they are, in the byte order of files.

    The largest number of a precision stands for that of double precision, the threshold that splits nothing.
    """
    are_largest = array == np.finfo(np.float64).max
    for dtype in _PRECISIONS:
        with np.errstate(over="ignore", under="ignore"):  # what a precision does not hold becomes infinite or 0 in it
            stored = array.astype(dtype, order="C")
        stored[are_largest] = np.finfo(dtype).max
        if np.array_equal(_widened(stored), array, equal_nan=True):
            return stored
    raise AssertionError("double precision holds all numbers")


def _widened(stored: Real) -> Double:
    """The numbers that are stored in some precision."""
    array = stored.astype(np.float64)
    array[stored == np.finfo(stored.dtype).max] = np.finfo(np.float64).max
    return array


def npy_prefix(dtype: str, shape: Iterable[int]) -> bytes:
    """The bytes before the data in a `.npy` of version 1.0, written here so that they never change."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    length = -(-(10 + len(text) + 1) // 64) * 64 - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


def _parse_header(data: bytes, n_bytes: int) -> Header:
    size = len(data) - 10 - int.from_bytes(data[8:10], "little")  # what the .npy says is left for its data
    prefix = npy_prefix("|u1", (size,))
    require(data.startswith(prefix) and size <= _MAX_HEADER, "the header is malformed")
    check_memory(_parsed_size(data), n_bytes, "the header")
    text = data[len(prefix):].decode("utf-8")
    header = parse_json(text)
    require(isinstance(header, dict) and header.get("format") == FORMAT, "not a model file of this package")
    version = header.get("version")
    require(type(version) is int and version >= 1, f"the format version {shown(version)} is not known")
    require(version <= FORMAT_VERSION, f"written by a newer rffkern, in format version {shown(version)}; rffkern "
            f"{__version__} reads version {FORMAT_VERSION}: upgrade rffkern")
    require(set(header) - _OPTIONAL_KEYS == _HEADER_KEYS, f"the header must have keys {sorted(_HEADER_KEYS)}")
    for key in _OPTIONAL_KEYS:
        require(isinstance(header.get(key, {}), dict), f"the {key} is malformed")
    entries = header["arrays"]
    require(isinstance(entries, list) and all(
        isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], list)
        and len(entry[1]) <= 2 and all(type(n) is int and 0 <= n < 1 << 62 for n in entry[1])
        for entry in entries), "the list of arrays is malformed")
    return header


def parse_json(text: str) -> Any:
    """The value of a JSON text, in which no key is repeated and numbers are finite.

    `json` compiles six patterns when it is loaded, which takes longer than the rest of reading a model; its parser is a
    module of its own, where Python has it.
    """
    with contextlib.suppress(ImportError, AttributeError, TypeError, StopIteration):
        scan = importlib.import_module("_json").make_scanner(_PARSE_OPTIONS)
        value, end = scan(text, 0)
        if end == len(text):
            return value
    import json  # also where the text is at fault, for its message

    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _parsed_size(data: bytes) -> int:
    """About how many bytes the values of some JSON take, each counted by the mark before it."""
    return 64 * (data.count(b",") + data.count(b"[")) + 256 * data.count(b"{")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len({key for key, _ in pairs}) == len(pairs), "a key of the JSON text is repeated")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise FormatError(f"the JSON text holds {name}")


# What the parser of JSON in Python's `_json` asks of its caller.
_PARSE_OPTIONS = SimpleNamespace(strict=True, object_hook=None, object_pairs_hook=_unique, parse_float=float,
                                 parse_int=int, parse_constant=_refuse_constant)


def _parse_array(data: bytes, name: str, shape: list[int]) -> Double:
    """An array of the declared shape, of half, single or double precision."""
    name = name if name.isidentifier() else shown(name)
    for dtype in _PRECISIONS:
        prefix = npy_prefix(dtype, shape)
        if data.startswith(prefix) and len(data) - len(prefix) == int(dtype[2:]) * math.prod(shape):
            array = _widened(np.frombuffer(data, dtype=dtype, offset=len(prefix))).reshape(shape)
            require(np.isfinite(array).all(), f"array {name} holds nan or inf")
            return array
    raise FormatError(f"array {name} does not have the declared shape {shape}")
