"""Build the extension module of scorer.pyx into a folder, with rffkern as it is installed.

python examples/build.py FOLDER
"""

import pathlib
import shutil
import subprocess
import sys
import sysconfig

import rffkern


def build(folder: pathlib.Path, compiler: str = "cc") -> pathlib.Path:
    """The path of the module."""
    folder = folder.resolve()
    include, source = pathlib.Path(rffkern.get_include()), folder / "scorer.pyx"
    shutil.copy(pathlib.Path(__file__).with_name("scorer.pyx"), source)
    subprocess.run([sys.executable, "-m", "cython", "-3", source], check=True, cwd=folder)  # where no rffkern is
    module = folder / f"scorer{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", f"-I{include}",
                    "-o", module, source.with_suffix(".c"), include / "rffscore.c", "-lm"], check=True)
    return module


if __name__ == "__main__":
    print(build(pathlib.Path(sys.argv[1])))
