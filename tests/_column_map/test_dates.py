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
        np.testing.assert_allclose((part_angles(np.array([1e9, -3e8, 1e300, np.nan]), part) ** 2).sum(axis=0), 1)
