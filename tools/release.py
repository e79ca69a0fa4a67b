"""Build what is released, and check it: python tools/release.py --out dist

The source archive; from it a wheel for each machine that this one has a compiler for, twice, in other folders;
`auditwheel` says which systems take it and adds the libraries that it needs; its files are compressed again.  Both
builds must have the same bytes, pass `twine check --strict`, `abi3audit --strict` and the gate of size, and give the
stored bits of the scores of all frozen model files in an empty environment.  `pip install --group release` has the
tools.

    --python PATH         tests wheels with another Python, too; may repeat
    --emulated PATH       a Python of another machine that runs here (tools/releasing/debian_python.sh makes one)
    --only x86_64         builds for some machines alone; may repeat
    --once                builds once, and does not compare
    --fast                leaves the compression as it is

    python tools/release.py --pack dist/*.whl                  compresses wheels again, and does no more
    python tools/release.py --check dist/*.whl dist/*.tar.gz   looks at sizes and contents alone
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from typing import NamedTuple

from releasing.wheels import EARLIEST, check_sdist, check_wheel, pack

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCORES = ROOT / "tools" / "fixtures.py", "check", ROOT / "tests" / "data"


CROSS_FILE = """[binaries]
c = '{compiler}'
ar = '{archiver}'
cython = 'cython'
[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{family}'
endian = 'little'
[properties]
needs_exe_wrapper = true
"""

ABI3 = "-Csetup-args=-Dpython.allow_limited_api=true"


class Target(NamedTuple):
    """How a wheel is built for a machine."""

    name: str
    family: str = ""  # of processors, where another compiler builds for them
    compiler: str = ""
    archiver: str = ""
    libraries: str = ""  # folder of those of the compiler

    def missing(self) -> str:
        """Why it cannot be built here, or an empty string."""
        absent = [program for program in (self.compiler, self.archiver) if program and not shutil.which(program)]
        return f"no {absent[0]} here" if absent else ""

    def build(self, source: pathlib.Path, folder: pathlib.Path, environment: dict) -> pathlib.Path:
        """A wheel, built from a folder of sources with the build tools of this environment."""
        folder.mkdir(parents=True)
        options, environment = [ABI3], dict(environment)
        if self.compiler:
            cross = folder / "cross.ini"
            cross.write_text(CROSS_FILE.format(compiler=self.compiler, archiver=self.archiver, family=self.family))
            options.append(f"-Csetup-args=--cross-file={cross}")
            environment |= {"_PYTHON_HOST_PLATFORM": f"linux-{self.family}"}
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", *options,
                   "--wheel-dir", str(folder), str(source)]
        scripts = os.path.dirname(sys.executable)
        environment["PATH"] = f"{scripts}{os.pathsep}{environment['PATH']}"
        subprocess.run(command, check=True, env=environment)
        return next(folder.glob("*.whl"))


TARGETS = [
    Target("x86_64"),
    Target("aarch64", "aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-ar", "/usr/aarch64-linux-gnu/lib"),
]


def run(*command: object, **options) -> str:
    """What a command prints; it ends this one where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def source_archive(folder: pathlib.Path) -> pathlib.Path:
    """The archive of the last commit."""
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.tar.gz"))


def unpacked(archive: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The folder of sources of an archive."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return next(folder.iterdir())


def release_wheel(target, archive, folder, environment, zopfli) -> pathlib.Path:
    """A wheel of an archive as it is published."""
    built = target.build(unpacked(archive, folder / "source"), folder / "built", environment)
    repaired = folder / "repaired"
    libraries = ["--ldpaths", target.libraries] if target.libraries else []
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", *libraries, "--wheel-dir", repaired, built,
        env=environment)
    wheel = next(repaired.glob("*.whl"))
    if zopfli:
        pack(wheel, int(environment["SOURCE_DATE_EPOCH"]))
    return wheel


def inspect(path: pathlib.Path) -> None:
    """What tools say of an archive or wheel."""
    run(sys.executable, "-m", "twine", "check", "--strict", path)
    if path.suffix == ".whl":
        run(sys.executable, "-m", "abi3audit", "--strict", path)
    check_file(path)


def check_file(path: pathlib.Path) -> None:
    """What this project asks of an archive or wheel."""
    (check_wheel if path.suffix == ".whl" else check_sdist)(str(path))


def machine_of(python: str) -> tuple:
    """The machine, and the version of Python, of an interpreter."""
    return tuple(json.loads(run(python, "-c", "import json, platform; "
                                "print(json.dumps([platform.machine(), platform.libc_ver()[0]]))")))


def try_installed(wheel: pathlib.Path, python: str, folder: pathlib.Path) -> None:
    """Install a wheel in an empty environment, and score."""
    if machine_of(python)[0] == platform.machine():
        if python == sys.executable:
            venv.create(folder, with_pip=True, symlinks=True)
        else:
            run(python, "-m", "venv", folder)
        inside = folder / "bin" / "python"
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        print(f"  {run(inside, *SCORES, cwd=folder)}")
        run(inside, "-m", "rffkern", "demo", cwd=folder)
    else:  # an emulated one, with numpy and without pip
        run(sys.executable, "-m", "zipfile", "-e", wheel, folder)
        environment = os.environ | {"PYTHONPATH": str(folder)}
        print(f"  {run(python, *SCORES, cwd=folder, env=environment)}")


def tried(wheel: pathlib.Path, target, pythons: list) -> None:
    """Try a wheel with each Python of its machine."""
    family = target.family or platform.machine()
    fitting = [python for python in pythons if machine_of(python)[0] == family]
    for python in fitting:
        with tempfile.TemporaryDirectory() as folder:
            try_installed(wheel, python, pathlib.Path(folder))
    if not fitting:
        print(f"  not run: no Python for {family} here")


def chosen_targets(only: list) -> list:
    """Those that are asked for, or all that can be built here."""
    unknown = set(only) - {target.name for target in TARGETS}
    if unknown:
        sys.exit(f"unknown machines {sorted(unknown)}; known are {[target.name for target in TARGETS]}")
    found = []
    for target in TARGETS:
        if target.name in only and target.missing():
            sys.exit(f"{target.name}: {target.missing()}")
        if target.missing():
            print(f"{target.name}: not built: {target.missing()}")
        elif not only or target.name in only:
            found.append(target)
    return found


def main() -> None:
    """Build, check and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("dist"), metavar="FOLDER")
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    parser.add_argument("--emulated", action="append", default=[], metavar="PATH")
    parser.add_argument("--only", action="append", default=[], metavar="MACHINE")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--pack", nargs="+", type=pathlib.Path, metavar="WHEEL")
    parser.add_argument("--check", nargs="+", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.pack or arguments.check:
        for wheel in arguments.pack or []:
            before, epoch = wheel.stat().st_size, int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST))
            print(f"{wheel}: {before} -> {pack(wheel, epoch)} bytes")
        for path in arguments.check or []:
            check_file(path)
        return
    pythons = [sys.executable, *arguments.python, *arguments.emulated]
    epoch = run("git", "-C", ROOT, "log", "-1", "--format=%ct")
    os.environ["SOURCE_DATE_EPOCH"] = epoch
    arguments.out.mkdir(parents=True, exist_ok=True)
    times = 1 if arguments.once else 2
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        archives = [source_archive(work / f"sdist{i}") for i in range(times)]
        inspect(archives[0])
        kept = [archives]
        for target in chosen_targets(arguments.only):
            wheels = [release_wheel(target, archives[0], work / f"{target.name}{i}", dict(os.environ),
                                    not arguments.fast) for i in range(times)]
            inspect(wheels[0])
            tried(wheels[0], target, pythons)
            kept.append(wheels)
        for builds in kept:
            if len({build.read_bytes() for build in builds}) != 1:
                sys.exit(f"{builds[0].name}: two builds differ")
            shutil.copy(builds[0], arguments.out)
            print(f"{arguments.out / builds[0].name}" + ("" if arguments.once else ": two builds have the same bytes"))


if __name__ == "__main__":
    main()
