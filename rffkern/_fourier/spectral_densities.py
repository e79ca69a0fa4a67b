"""Omegas drawn from the spectral densities of shift-invariant kernels of unit length (Bochner's theorem)."""

import numpy as np


def _gaussian(rng, shape):
    """Of exp(-1/2 |x - z|^2)."""
    return rng.standard_normal(shape)


def _laplace(rng, shape):
    """Of exp(-sum of |x_j - z_j|): a Cauchy density for each column."""
    return rng.standard_cauchy(shape)


def _matern(degrees):
    """Of the Matern kernel of smoothness degrees / 2: Student's t density of so many degrees of freedom."""
    def draw(rng, shape):
        normal = rng.standard_normal(shape)
        return normal / np.sqrt(rng.chisquare(degrees, (shape[0], 1)) / degrees)
    return draw


SPECTRAL_DENSITIES = {"gaussian": _gaussian, "laplace": _laplace, "matern32": _matern(3), "matern52": _matern(5)}
