"""Build the extension modules of scorer.pyx and capsules.pyx into a folder, with rffkern as it is installed.

python examples/build.py FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import rffkern


def build(name: str, folder: pathlib.Path, *sources: pathlib.Path) -> pathlib.Path:
    """The path of the module that is made of a file here and other sources."""
    source = folder.resolve() / f"{name}.pyx"
    shutil.copy(pathlib.Path(__file__).with_name(source.name), source)
    package = pathlib.Path(rffkern.__file__).parents[1]  # which cython looks for on sys.path alone
    subprocess.run([sys.executable, "-m", "cython", "-3", "-I", package, source], check=True, cwd=source.parent)
    module = source.with_name(name + sysconfig.get_config_var("EXT_SUFFIX"))
    options = os.environ.get("CFLAGS", "-O2").split()
    subprocess.run(["cc", *options, "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}",
                    f"-I{rffkern.get_include()}", "-o", module, source.with_suffix(".c"), *sources, "-lm"], check=True)
    return module


if __name__ == "__main__":
    to = pathlib.Path(sys.argv[1])
    print(build("scorer", to, pathlib.Path(rffkern.get_include(), "rffscore.c")))
    print(build("capsules", to))
