"""Mathematics of random Fourier features that several families share: spectral densities, bandwidth, landmarks."""

import math
from collections.abc import Callable

import numpy as np

from .._native.array_types import Double
from .._native.scoring import LARGEST_SINGLE_ANGLE
from .._rows.row_blocks import draw_in_slices
from .._rows.scaling import Scaling
from ..errors import InvalidInputError

Shape = tuple[int, int]  # (n_omegas, n_features)
SpectralDensity = Callable[["np.random.Generator", Shape], Double]

# Without standardisation, the spread of the rows must lie between 1 over this number and this number.
_LARGEST_SPREAD = 1e100

# Largest scale of omegas in the unit of X: a descent may make them some times larger before they overflow, and
# densities with heavy tails draw some that are much larger.
_LARGEST_OMEGA, _LARGEST_HEAVY_OMEGA = 1e306, 1e290


# Omegas are drawn from the spectral densities of shift-invariant kernels of length scale 1 (Bochner's theorem).

def _gaussian(rng: "np.random.Generator", shape: Shape) -> Double:
    """Of exp(-1/2 |x - z|^2)."""
    return draw_in_slices(rng.standard_normal, shape)


def _laplace(rng: "np.random.Generator", shape: Shape) -> Double:
    """Of exp(-sum of |x_j - z_j|): a Cauchy density for each column."""
    return draw_in_slices(rng.standard_cauchy, shape)


def _matern(degrees: int) -> SpectralDensity:
    """Of the Matern kernel of smoothness degrees / 2: Student's t density with this number of degrees of freedom."""
    def draw(rng: "np.random.Generator", shape: Shape) -> Double:
        normal = draw_in_slices(rng.standard_normal, shape)
        return normal / np.sqrt(rng.chisquare(degrees, (shape[0], 1)) / degrees)
    return draw


SPECTRAL_DENSITIES: dict[str, SpectralDensity] = {
    "gaussian": _gaussian, "laplace": _laplace, "matern32": _matern(3), "matern52": _matern(5),
}

# What |omega_j| exceeds in 0.27 % of the draws: three standard deviations of the normal density.
_USUAL_SIZES = {"gaussian": 3.0, "laplace": 236.0, "matern32": 9.2, "matern52": 5.5}


def draw_omegas(kernel: str, gamma: float, rng: "np.random.Generator", shape: tuple[int, ...]) -> Double:
    """Omegas (n_rounds or n_landmarks, ..., n_features) for a kernel of length scale 1 / sqrt(2 gamma).

    The omegas of a round do not depend on how many rounds follow, so that more of them continue a fit.
    """
    if kernel == "gaussian":
        omegas = draw_in_slices(rng.standard_normal, shape)
    else:
        omegas = np.empty(shape)
        for each in omegas:
            each[...] = SPECTRAL_DENSITIES[kernel](rng, (each.size // shape[-1], shape[-1])).reshape(each.shape)
    omegas *= math.sqrt(2 * gamma)
    return omegas


def rows_variance(standardize: bool, scaling: Scaling) -> float:
    """Mean variance of the columns that a model learns from, refused where it would over- or underflow."""
    if not standardize and scaling.inverse_scale.any():
        spread = math.sqrt(scaling.mean_variance)
        if not 1 / _LARGEST_SPREAD < spread < _LARGEST_SPREAD:
            raise InvalidInputError(f"X must have a spread between {1 / _LARGEST_SPREAD:g} and {_LARGEST_SPREAD:g} "
                                    f"where standardize is False, got {spread:.3g}")
    return 1.0 if standardize or scaling.mean_variance == 0 else scaling.mean_variance


def resolved_gamma(gamma: str | float, kernel: str, standardize: bool, scaling: Scaling) -> float:
    """Gamma in the units learning takes place in, refused where omegas in the units of X would overflow."""
    variance = rows_variance(standardize, scaling)
    found = 1 / (scaling.center.size * variance) if isinstance(gamma, str) else float(gamma)
    largest = _LARGEST_OMEGA if kernel == "gaussian" else _LARGEST_HEAVY_OMEGA
    if math.sqrt(found) > largest / max(1.0, scaling.inverse_scale.max()):
        raise InvalidInputError(f"gamma must be smaller for columns of such small spread, got {gamma!r}")
    return found


def largest_single_length(gamma: float, kernel: str) -> float:
    """Length of a row up to which single precision resolves its angles, but for those of unusually large omegas."""
    return LARGEST_SINGLE_ANGLE / (_USUAL_SIZES[kernel] * math.sqrt(2 * gamma))


def feature_units(points: Double, scaling: Scaling) -> Double:
    """Standardised points in the units of the features, held finite; constant columns stand at their value."""
    varies = scaling.inverse_scale > 0
    with np.errstate(over="ignore"):
        points = scaling.center + points * np.where(varies, 1 / np.where(varies, scaling.inverse_scale, 1.0), 0.0)
    return np.nan_to_num(points)
