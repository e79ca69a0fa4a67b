"""What an installation computes with, and where its C sources are."""

import os
import sys
from typing import Any

import numpy as np

from ._native import simd
from ._protocol.arguments import check_choice
from ._rows.threads import available_cpus
from ._version import __version__


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Show the versions, the instruction set, whose threads kernels run on, and their default number.

    Parameters
    ----------
    mode : "stdout" or "dicts", default "stdout"
        Print, or return the same as a dict.

    Returns
    -------
    dict or None

    Raises
    ------
    InvalidInputError
        For another mode.

    Examples
    --------
    >>> from rffkern import show_config
    >>> sorted(show_config("dicts"))
    ['numpy', 'openmp', 'own_threads', 'python', 'rffkern', 'simd', 'simd_available', 'threads']
    """
    check_choice("mode", mode, ("stdout", "dicts"))
    config = {
        "rffkern": __version__,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "simd": simd.selected(),
        "simd_available": list(simd.LEVELS),
        "openmp": simd.HAS_OPENMP,
        "own_threads": simd.OWN_THREADS,
        "threads": available_cpus() if simd.HAS_OPENMP else 1,
    }
    if mode == "dicts":
        return config
    available = ", ".join(simd.LEVELS)
    print(f"rffkern {config['rffkern']}, numpy {config['numpy']}, Python {config['python']}")
    print(f"instruction set: {config['simd']} (this machine has {available}; the environment variable "
          "RFFKERN_SIMD chooses)")
    source = "their own" if config["own_threads"] else "the compiler's OpenMP" if config["openmp"] else "none"
    print(f"threads of kernels: {source}; {config['threads']} by default")
    return None


def get_include() -> str:
    """Return the folder of `rffkern.h` and `rffscore.c`, by which C programs read model files and score rows.

    Returns
    -------
    str
        For the option -I of a C compiler.

    Examples
    --------
    >>> import os, rffkern
    >>> sorted({"rffkern.h", "rffscore.c"} & {*os.listdir(rffkern.get_include())})
    ['rffkern.h', 'rffscore.c']
    """
    # Beside compiled modules, which an editable installation has elsewhere.
    return os.path.join(os.path.dirname(os.path.dirname(simd.__file__)), "include")
