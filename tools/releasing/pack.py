"""A wheel with the same files in fewer bytes.

Files are compressed by Zopfli, which takes a minute for what zlib does in a tenth of a second, in the format that
every zip reader knows.  Names are in order, dates those of SOURCE_DATE_EPOCH: the same files give the same bytes.
"""

import os
import pathlib
import struct
import time
import zipfile
import zlib

EARLIEST = 315532800  # 1980, where the dates of zip files begin


def pack(path: pathlib.Path, epoch: int) -> int:
    """Rewrite a zip file in place; the number of bytes that it has then."""
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

