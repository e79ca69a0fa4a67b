"""What a machine with Debian builds wheels for: compilers, tags, and what runs them."""

import os
import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

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
    options: tuple = ()
    untested: str = ""  # why nothing here runs it

    def missing(self) -> str:
        """Why it cannot be built here, or an empty string."""
        absent = [program for program in (self.compiler, self.archiver) if program and not shutil.which(program)]
        return f"no {absent[0]} here" if absent else ""

    def build(self, source: pathlib.Path, folder: pathlib.Path, environment: dict) -> pathlib.Path:
        """A wheel, built from a folder of sources with the build tools of this environment."""
        folder.mkdir(parents=True)
        options, environment = [ABI3, *self.options], dict(environment)
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
    Target("x86_64-musl", "x86_64", "musl-gcc", "ar", "/usr/lib/x86_64-linux-musl",
           ("-Csetup-args=-Dopenmp=disabled",), untested="no Python with musl here"),
]
