"""Parts of dates as angles."""

import numpy as np

from .._native.array_types import NDArray

Double = NDArray[np.float64]

PARTS = ("hour", "weekday", "month")

_DAY = 86400.0
_SECOND_LIMIT = 1e11  # seconds from 1970 up to which months are told apart: some 3000 years


def date_parts(seconds: Double) -> dict[str, tuple[Double, float]]:
    """(Values, period) of each part of dates in seconds since 1970: the time of day, the day of the week, the month."""
    held = np.clip(np.where(np.isnan(seconds), 0.0, seconds), -_SECOND_LIMIT, _SECOND_LIMIT)
    days = np.floor(held / _DAY)
    months = held.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    return {
        "hour": ((held - days * _DAY) / 3600, 24.0),
        "weekday": ((days + 3) % 7, 7.0),  # 1 January 1970 was a Thursday; Monday is 0
        "month": ((months % 12).astype(np.float64), 12.0),
    }


def part_angles(seconds: Double, part: str) -> Double:
    """Sine and cosine of a part, shape (2, n_rows)."""
    values, period = date_parts(seconds)[part]
    angle = 2 * np.pi * values / period
    return np.array([np.sin(angle), np.cos(angle)])
