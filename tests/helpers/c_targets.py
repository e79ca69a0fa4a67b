"""Compilers of programs in C, and what runs the programs they make."""

import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

import rffkern

HERE = pathlib.Path(__file__).parent

# Runs a program of wasm32-wasi with files: node has the interface built in.  Node 20 dies where it calls a function of
# it after memory has grown, but for functions that call it.
NODE = """
const { WASI } = require("node:wasi"), fs = require("node:fs");
const wasi = new WASI({ version: "preview1", args: process.argv.slice(1), preopens: { "/": "/" } });
const imports = wasi.getImportObject(), table = imports.wasi_snapshot_preview1;
for (const [name, call] of Object.entries(table)) table[name] = (...given) => call(...given);
const program = new WebAssembly.Module(fs.readFileSync(process.argv[1]));
process.exitCode = wasi.start(new WebAssembly.Instance(program, imports));
"""


class Target(NamedTuple):
    """How rffscore.c is compiled for a machine, and run here."""

    name: str
    fuses: bool  # whether products and sums are rounded once
    compiler: list
    options: list = []
    runner: list = []
    cpu_flag: str = ""  # that this machine must have

    def missing(self):
        """Why it cannot be built or run here, or an empty string."""
        for program in (self.compiler[0], *self.runner[:1]):
            if shutil.which(program) is None:
                return f"no {program} here"
        if self.compiler[1:3] == ["-m", "ziglang"] and subprocess.run(
                [*self.compiler[:3], "version"], capture_output=True, check=False).returncode:
            return "no ziglang here: pip install ziglang"
        info = pathlib.Path("/proc/cpuinfo")
        if self.cpu_flag and self.cpu_flag not in (info.read_text().split() if info.exists() else []):
            return f"this machine has no {self.cpu_flag}"
        return ""

    def build(self, folder, source=HERE / "score_rows.c", options=("-O2", "-s")):
        """The path of the program, of a source of one's own and rffscore.c of the installed package."""
        program = pathlib.Path(folder, f"{source.stem}_{self.name.replace(' ', '_')}")
        include = pathlib.Path(rffkern.get_include())
        subprocess.run([*self.compiler, *options, *self.options, f"-I{include}", "-o", program, source,
                        include / "rffscore.c", "-lm"], check=True)
        return program

    def run(self, program, *arguments):
        """What the program prints; CalledProcessError where it fails."""
        done = subprocess.run([*self.runner, program, *map(str, arguments)], check=True, capture_output=True, text=True)
        return done.stdout


def _zig(triple):
    return [sys.executable, "-m", "ziglang", "cc", "-target", triple]


TARGETS = [
    Target("x86-64 baseline gcc", False, ["gcc"], ["-DRFF_MOST_LEVEL=1"]),
    Target("x86-64-v2 gcc", False, ["gcc"], ["-DRFF_MOST_LEVEL=1", "-march=x86-64-v2"], cpu_flag="sse4_2"),
    Target("x86-64-v3 gcc", True, ["gcc"], ["-DRFF_MOST_LEVEL=3"], cpu_flag="avx2"),
    Target("x86-64-v3 gcc -O0", True, ["gcc"], ["-DRFF_MOST_LEVEL=3", "-O0", "-std=c99"], cpu_flag="avx2"),
    Target("x86-64-v3 clang", True, ["clang"], ["-DRFF_MOST_LEVEL=3"], cpu_flag="avx2"),
    Target("x86-64-v3 zig musl", True, _zig("x86_64-linux-musl"), ["-DRFF_MOST_LEVEL=3"], cpu_flag="avx2"),
    Target("x86-64-v4 gcc", True, ["gcc"], cpu_flag="avx512vl"),
    Target("aarch64 zig qemu", True, _zig("aarch64-linux-musl"), runner=["qemu-aarch64"]),
    Target("wasm32 zig node", False, _zig("wasm32-wasi"), runner=["node", "--no-warnings", "-e", NODE]),
]
