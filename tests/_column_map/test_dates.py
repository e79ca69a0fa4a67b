"""Parts of dates."""

import datetime

import numpy as np
import pytest

from rffkern._column_map.transforms import PARTS, date_parts, part_angles


@pytest.mark.parametrize("moment", ["1969-12-31T23:59:00", "2024-02-29T12:30:00", "1582-10-15T00:00:00",
                                    "2000-12-31T06:00:00"])
def test_parts_are_those_of_the_calendar(moment):
    date = datetime.datetime.fromisoformat(moment)
    seconds = np.array([(date - datetime.datetime(1970, 1, 1)).total_seconds()])
    values = {part: value[0] for part, (value, _) in date_parts(seconds).items()}
    assert values == {"hour": date.hour + date.minute / 60, "weekday": date.weekday(), "month": date.month - 1}


def test_angles_close_the_circle():
    midnight = part_angles(np.array([-1e-3, 0.0, 86400.0]), "hour")
    np.testing.assert_allclose(midnight, [[0, 0, 0], [1, 1, 1]], atol=1e-6)
    for part in PARTS:
        np.testing.assert_allclose((part_angles(np.array([1e9, -3e8, 1e300]), part) ** 2).sum(axis=0), 1)


@pytest.mark.parametrize("part", PARTS)
def test_angles_are_those_of_the_parts(part, rng):
    """Compiled, at instants of a few centuries, and at the limit of the calendar."""
    seconds = np.concatenate([rng.uniform(-1e10, 1e10, 500), rng.integers(-10**6, 10**6, 500) * 86400.0,
                              [-0.5, 0.0, 1e11, -1e11, 1e300, -1e300, np.nan]])
    values, period = date_parts(seconds[:-1])[part]
    angles = 2 * np.pi * values / period
    found = part_angles(seconds, part)
    np.testing.assert_allclose(found[:, :-1], [np.sin(angles), np.cos(angles)], rtol=0, atol=3e-15)
    assert np.isnan(found[:, -1]).all()
