"""Kernels with a length scale per column: the Gaussian one, (33) of Sun and Yao (2010), and the exponential one.

k(x, z) = amplitude exp(-1/2 r^2) + bias, or amplitude exp(-r) + bias, with r^2 the sum over columns l of
((x_l - z_l) / length_scale_l)^2.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._native.array_types import Double
from ..._native.sparse import SHAPES, UNITS
from ..._protocol.arguments import Check, check_scalar
from ..._rows.scaling import Scaling
from ..._rows.weights import RowWeights
from ...errors import InvalidInputError
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


def _check_kernel(name: str, value: Any) -> None:
    """`given_kernel` checks the number of length scales against the columns."""
    if isinstance(value, str) and value in ("auto", "likelihood"):
        return
    if not isinstance(value, dict) or not value.keys() <= {"length_scale", "amplitude", "bias", "shape"} or (
            "length_scale" not in value):
        raise InvalidInputError(f"{name} must be 'auto', 'likelihood' or a dict with length_scale and optionally "
                                f"amplitude, bias and shape, got {value!r}")
    length_scale = np.asarray(value["length_scale"], dtype=object)
    if length_scale.ndim > 1 or not length_scale.size:
        raise InvalidInputError(f"{name} length_scale must be a number, or one for each column, got shape "
                                f"{length_scale.shape}")
    for length in length_scale.ravel():
        check_scalar(f"{name} length_scale", length, float, low=1e-100, high=1e100)
    check_scalar(f"{name} amplitude", value.get("amplitude", 1.0), float, low=1e-100, high=1e100)
    check_scalar(f"{name} bias", value.get("bias", 0.0), float, low=0, high=1e100)
    if value.get("shape", "gaussian") not in tuple(SHAPES):
        raise InvalidInputError(f"{name} shape must be 'gaussian' or 'exponential', got {value['shape']!r}")


KERNEL_PARAMETER = Check('"auto", "likelihood" or dict', _check_kernel)


def given_kernel(kernel: Mapping[str, Any], n_features: int) -> Kernel:
    """The kernel of a dict."""
    length_scale = np.asarray(kernel["length_scale"], dtype=np.float64)
    if length_scale.ndim and length_scale.shape != (n_features,):
        raise InvalidInputError(f"kernel length_scale must be a number or {n_features} numbers, one for each column, "
                                f"got shape {length_scale.shape}")
    return Kernel(np.broadcast_to(length_scale, n_features).copy(), float(kernel.get("amplitude", 1.0)),
                  float(kernel.get("bias", 0.0)), str(kernel.get("shape", "gaussian")))
