"""The bandwidth parameter gamma of the kernel whose random features are drawn, and the precision its angles need."""

import math

from .._data.angles import LARGEST_SINGLE_ANGLE
from .._data.scaling import Scaling
from ..errors import InvalidInputError

# Without standardisation, the spread of the rows must lie between 1 over this number and this number.
_LARGEST_SPREAD = 1e100

# Largest scale of omegas in the unit of X; a descent may make them some times larger before they overflow.
_LARGEST_OMEGA = 1e306


def rows_variance(standardize: bool, scaling: Scaling) -> float:
    """Mean variance of the columns that a model learns from, refused where it would over- or underflow."""
    if not standardize and scaling.inverse_scale.any():
        spread = math.sqrt(scaling.mean_variance)
        if not 1 / _LARGEST_SPREAD < spread < _LARGEST_SPREAD:
            raise InvalidInputError(f"X must have a spread between {1 / _LARGEST_SPREAD:g} and {_LARGEST_SPREAD:g} "
                                    f"where standardize is False, got {spread:.3g}")
    return 1.0 if standardize or scaling.mean_variance == 0 else scaling.mean_variance


def resolved_gamma(gamma: str | float, standardize: bool, scaling: Scaling) -> float:
    """Gamma in the units learning takes place in, refused where omegas in the units of X would overflow."""
    variance = rows_variance(standardize, scaling)
    found = 1 / (scaling.center.size * variance) if isinstance(gamma, str) else float(gamma)
    if math.sqrt(found) > _LARGEST_OMEGA / max(1.0, scaling.inverse_scale.max()):
        raise InvalidInputError(f"gamma must be smaller for columns of such small spread, got {gamma!r}")
    return found


def needs_double(gamma: float, largest_length: float) -> bool:
    """Whether angles may exceed what single precision resolves."""
    return largest_length > largest_single_length(gamma)


def largest_single_length(gamma: float) -> float:
    """Length of a row up to which single precision resolves its angles."""
    return LARGEST_SINGLE_ANGLE / (3 * math.sqrt(2 * gamma))
