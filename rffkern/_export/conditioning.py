"""Whether the terms of an expansion cancel, which costs digits."""

import numpy as np

from .._model.expansion import Expansion
from .._model.parts import KernelTerms
from ..errors import InvalidInputError

_N_PROBES = 200  # centers at which a sum is judged, about


def conditioning(kernels: KernelTerms) -> float:
    """By how much rounding errors of the terms are larger beside the scores: their sum without signs over that with.

    It is the largest of all outputs, measured at some of the centers, and at most 1e300.
    """
    rows = np.ascontiguousarray(kernels.centers[:: len(kernels.centers) // _N_PROBES + 1])
    if not len(rows):
        return 1.0
    together, apart = (np.abs(Expansion(
        np.zeros(kernels.n_outputs), np.zeros(rows.shape[1]), KernelTerms(**kernels.arrays() | {"weights": weights}),
    ).score(rows)).max(axis=0) for weights in (kernels.weights, np.abs(kernels.weights)))
    some = apart > 0
    return float(np.max(apart[some] / np.maximum(together[some], 1e-300 * apart[some]), initial=1.0))


def check_single(expansion: Expansion) -> None:
    """InvalidInputError if single precision would spoil the scores, with the reason."""
    cosines_fit, kernels_fit = expansion._scorer.fits
    if cosines_fit and kernels_fit:
        return
    if expansion.kernels is not None and cosines_fit:
        reason = (f"the weights of the terms cancel: without their signs they would add up to "
                  f"{conditioning(expansion.kernels):.2g} times the scores")
    else:
        reason = "its numbers are too large, or its phases too far from 0"
    raise InvalidInputError(f"the model needs double precision, as {reason}; export it with precision='double'")
