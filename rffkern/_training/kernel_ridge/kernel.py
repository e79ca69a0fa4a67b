"""Kernels with a length scale per column: the Gaussian one, (33) of Sun and Yao (2010), and the exponential one.

k(x, z) = amplitude exp(-1/2 r^2) + bias, or amplitude exp(-r) + bias, with r^2 the sum over columns l of
((x_l - z_l) / length_scale_l)^2.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._native.array_types import Double
from ..._native.sparse import SHAPES, UNITS
from ..._rows.scaling import Scaling
from ..._rows.weights import RowWeights
from .parameters import LARGEST_INVERSE

# The largest lambda; the model is then constant in practice.
_LARGEST_LAMBDA = 1e200


class Kernel(NamedTuple):
    """Parameters of k, in units of the columns that learning takes place in, and the regulariser beside it."""

    length_scale: Double  # (n_features,)
    amplitude: float
    bias: float
    shape: str = "gaussian"  # or "exponential"
    reg_lambda: float = math.nan  # its weight, nan until it is chosen

    @property
    def number(self) -> int:
        """The shape as kernels take it."""
        return SHAPES[self.shape]

    @property
    def at_zero(self) -> float:
        """k(x, x)."""
        return self.amplitude + self.bias

    def normalised(self, weights: RowWeights) -> "Kernel":
        """The kernel with k(x, x) = 1, which makes the same functions, for weights of mean 1.

        Lambda is converted from k and the weights as they were given.  Values do not overflow in single precision then.
        """
        reg_lambda = min(self.reg_lambda * (weights.n_positive / weights.given_total), _LARGEST_LAMBDA)
        return self._replace(amplitude=self.amplitude / self.at_zero, bias=self.bias / self.at_zero,
                             reg_lambda=reg_lambda / self.at_zero)

    def inverse_lengths(self, scaling: Scaling) -> Double:
        """1 / length scale, per unit of a raw column."""
        with np.errstate(over="ignore"):
            return np.minimum(scaling.inverse_scale / self.length_scale, LARGEST_INVERSE)

    def scaling(self, scaling: Scaling) -> Scaling:
        """From raw rows to units in which k is amplitude 2^-|x - z|^2 + bias, or amplitude 2^-|x - z| + bias."""
        return scaling._replace(inverse_scale=UNITS[SHAPES[self.shape]] * self.inverse_lengths(scaling))
