"""Typed kernels; they import nothing of the package but each other.

The environment variable RFFKERN_SIMD names the instruction set to use instead of the highest of this machine.
"""

import os

from . import simd


def _use_level_of_the_environment() -> None:
    level = os.environ.get("RFFKERN_SIMD")
    if level:
        try:
            simd.select(level)
        except ValueError as error:
            raise ImportError(f"the environment variable RFFKERN_SIMD: {error}") from error


_use_level_of_the_environment()
