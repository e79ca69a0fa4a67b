"""Where descents end, and the relative rounding error of a loss evaluated in each precision."""

from ..._rows.tiles import DOUBLE, SINGLE

LOSS_TOLERANCE = 2e-9
GRADIENT_TOLERANCE = 1e-5
NOISE = {SINGLE: 1e-6, DOUBLE: 1e-14}
