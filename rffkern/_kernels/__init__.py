"""Typed kernels; they import nothing of the package but each other.

The environment variable RFFKERN_SIMD names the instruction-set level to use instead of the highest of this machine.
"""

import os

# GNU OpenMP lets threads that wait for others spin for milliseconds.  On a busy machine they take the very CPU that the
# others need: a fit of one second was measured to take thirty.  The policy has no function to set it; the runtime reads
# it from the environment once, when it is loaded.  So it stands there for that moment, unless the user has set it.
_policy_is_theirs = "OMP_WAIT_POLICY" in os.environ
if not _policy_is_theirs:
    os.environ["OMP_WAIT_POLICY"] = "passive"
try:
    from . import simd  # loads the OpenMP runtime
finally:
    if not _policy_is_theirs:
        del os.environ["OMP_WAIT_POLICY"]


def _use_level_of_the_environment() -> None:
    level = os.environ.get("RFFKERN_SIMD")
    if level:
        try:
            simd.select(level)
        except ValueError as error:
            raise ImportError(f"the environment variable RFFKERN_SIMD: {error}") from error


_use_level_of_the_environment()
