"""Checks of what is shipped: sizes, contents, requirements."""

import sys
import tarfile
import zipfile

# Bytes, a budget: what tools/release.py --fast makes has 1,115,000, a twenty-fifth less once it is compressed again.
LARGEST_WHEEL, LARGEST_INSTALLED = 1_600_000, 4_000_000


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

