"""Whether the terms of an expansion cancel, which costs digits."""

from typing import Any

import numpy as np

from .._model.centers import probes
from .._model.expansion import Expansion
from .._model.kernel_expansion import KernelExpansion
from .._model.sum_expansion import SumExpansion
from ..errors import InvalidInputError


def conditioning(expansion: KernelExpansion) -> float:
    """By how much rounding errors of the terms are larger beside the scores: their sum without signs over that with.

    It is the largest of all outputs, measured at some of the centers, and at most 1e300.
    """
    rows = probes(expansion.centers)
    if not len(rows):
        return 1.0
    arrays: dict[str, Any] = {**expansion.arrays(), "intercept": np.zeros(expansion.n_outputs)}
    together, apart = (np.abs(KernelExpansion(**arrays | {"weights": weights}).score(rows)).max(axis=0)
                       for weights in (expansion.weights, np.abs(expansion.weights)))
    some = apart > 0
    return float(np.max(apart[some] / np.maximum(together[some], 1e-300 * apart[some]), initial=1.0))


def check_single(expansion: Expansion) -> None:
    """InvalidInputError if single precision would spoil the scores, with the reason."""
    if expansion.fits_single():
        return
    if isinstance(expansion, SumExpansion):
        return check_single(expansion.kernels if expansion.terms.fits_single() else expansion.terms)
    if isinstance(expansion, KernelExpansion):
        reason = (f"the weights of the terms cancel: without their signs they would add up to "
                  f"{conditioning(expansion):.2g} times the scores")
    else:
        reason = "its numbers are too large, or its phases too far from 0"
    raise InvalidInputError(f"the model needs double precision, as {reason}; export it with precision='double'")
