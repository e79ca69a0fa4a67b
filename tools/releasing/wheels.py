"""Archives and wheels that are shipped: checks of their contents, and wheels with the same files in fewer bytes."""

import os
import pathlib
import struct
import sys
import tarfile
import time
import zipfile
import zlib

# Bytes, a budget: what tools/release.py --fast makes has 1,115,000, a twenty-fifth less once it is compressed again.
LARGEST_WHEEL, LARGEST_INSTALLED = 1_600_000, 4_000_000
EARLIEST = 315532800  # 1980, where the dates of zip files begin


def check(condition: object, message: str) -> None:
    """End with a message unless a condition holds."""
    if not condition:
        sys.exit(message)


def check_sdist(path: str) -> None:
    """A source archive holds the sources and nothing that was built."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = {"LICENSE", "README.md", "meson.options", "rffkern/meson.build", "tests/conftest.py"} - names
    check(not missing, f"{path}: {sorted(missing)} are missing")
    check(any(name.endswith(".pyx") for name in names), f"{path}: has no Cython sources")
    check(not any(name.endswith((".so", ".pyx.c")) for name in names), f"{path}: holds built files")
    print(f"{path}: {len(names)} members")


def check_wheel(path: str) -> None:
    """A wheel is small, complete, needs numpy alone and holds no sources but those for users."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
        needing = [name for name in names if name.endswith(".so") and b"libgomp" in archive.read(name)]
        size = sum(len(archive.read(name)) for name in names)
    with open(path, "rb") as file:
        packed = len(file.read())
    check(packed <= LARGEST_WHEEL, f"{path}: {packed} bytes, more than {LARGEST_WHEEL}")
    check(size <= LARGEST_INSTALLED, f"{path}: {size} bytes installed, more than {LARGEST_INSTALLED}")
    requirements = [line for line in metadata.splitlines()
                    if line.startswith("Requires-Dist") and "; extra ==" not in line]
    check(requirements == ["Requires-Dist: numpy>=1.26"], f"{path}: requires {requirements}")
    check(not needing, f"{path}: {needing} need libgomp, which -Dopenmp=own does without")
    check("License-Expression: BSD-3-Clause" in metadata, f"{path}: no licence expression")
    check(any(name.endswith("py.typed") for name in names), f"{path}: py.typed is missing")
    modules = {name.removeprefix("rffkern/") for name in names}
    missing = {"__init__.py", "__init__.pyi", "__main__.py", "include/rffkern.h", "include/rffscore.c"} - modules
    check(not missing, f"{path}: {sorted(missing)} are missing")
    stray = [name for name in names if not name.startswith("rffkern/include/")
             and (name.startswith("tests") or name.endswith((".pyx", ".c", ".build", ".in")))]
    check(not stray, f"{path}: holds {stray}")
    print(f"{path}: {packed} bytes, {size} installed")


def pack(path: pathlib.Path, epoch: int) -> int:
    """Rewrite a zip file in place; the number of bytes that it has then.

    Files are compressed by Zopfli, which takes a minute for what zlib does in a tenth of a second, in the format that
    every zip reader knows.  Names are in order, dates those of SOURCE_DATE_EPOCH: the same files give the same bytes.
    """
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: (archive.read(info), info.external_attr) for info in archive.infolist()}
    # What installers look for first stands last, as the format of wheels recommends.
    names = sorted(files, key=lambda name: (".dist-info/" in name, name.endswith("RECORD"), name))
    content, entries = bytearray(), bytearray()
    date = _dos_date(epoch)
    for name in names:
        data, attributes = files[name]
        packed = _deflated(data)
        # Of both headers: version, flags (names in UTF-8), deflate, time and day, checksum, sizes, length of the name.
        shared = struct.pack("<HHHIIIIHH", 20, 0x800, zipfile.ZIP_DEFLATED, date, zlib.crc32(data), len(packed),
                             len(data), len(name.encode()), 0)
        entries += (b"PK\x01\x02" + struct.pack("<H", 3 << 8 | 20) + shared
                    + struct.pack("<HHHII", 0, 0, 0, attributes, len(content)) + name.encode())
        content += b"PK\x03\x04" + shared + name.encode() + packed
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(names), len(names), len(entries), len(content), 0)
    written = path.with_suffix(".packed")
    written.write_bytes(content + entries + end)
    with zipfile.ZipFile(written) as archive:  # which checks each file
        if {name: archive.read(name) for name in archive.namelist()} != {name: files[name][0] for name in names}:
            raise ValueError(f"{written}: not what {path} has")
    os.replace(written, path)
    return path.stat().st_size


def _deflated(data: bytes) -> bytes:
    """Data in the fewest bytes, without the header and the checksum of zlib."""
    from zopfli.zlib import compress

    return compress(data)[2:-4]


def _dos_date(epoch: int) -> int:
    year, month, day, hour, minute, second = time.gmtime(max(epoch, EARLIEST))[:6]
    return (year - 1980) << 25 | month << 21 | day << 16 | hour << 11 | minute << 5 | second // 2
