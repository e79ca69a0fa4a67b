"""Names of array types, for the stubs of the kernels."""

import numpy as np
from numpy.typing import NDArray

Double = NDArray[np.float64]
Real = NDArray[np.float32] | NDArray[np.float64]
