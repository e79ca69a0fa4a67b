"""Names of array types, without `numpy.typing`: it takes half a millisecond to load, in each program that scores."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import DTypeLike as DTypeLike
    from numpy.typing import NDArray as NDArray
else:
    ArrayLike = DTypeLike = Any
    NDArray = np.ndarray

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Real = NDArray[np.float32] | NDArray[np.float64]
