"""What follows from the number of rows: one rule for each size, without breaks from a hundred rows to ten million."""

import math
from typing import NamedTuple


class Rules(NamedTuple):
    """Sizes and rates of a fit."""

    n_bags: int
    n_folds: float  # 1 / the share of the rows that a member holds out; any number from 2 on
    patience: int | None  # rounds without a lower loss on held-out rows, after which a member ends
    depth: int  # of tables
    pair_rate: float  # share of the best step that a pair of waves takes
    table_rate: float
    reg_lambda: float  # weight of |omega|^2 for a wave of scale 1
    size: float  # 0 on up to 1,000 rows, 1 from 30,000 on


class Pace(NamedTuple):
    """Factors of a loss on the rates of waves and of tables, and the ridge of the amplitudes of waves.

    Where a loss is far from its least, as with several classes, few rows bear large steps; many do not: of 30,000 rows
    in four classes a rate of tables of 0.96 had 0.16 more log loss than one of 0.12.
    """

    few: tuple[float, float]  # on up to 1,000 rows
    many: tuple[float, float]  # from 30,000 on
    ridge: float

    def factors(self, size: float) -> tuple[float, float]:
        """Those of a table by its `size`."""
        waves, tables = (few * (many / few) ** size for few, many in zip(self.few, self.many, strict=True))
        return waves, tables


def _between(low: float, high: float, share: float) -> float:
    """The value at a share of the way from one to the other, on a logarithmic scale."""
    return low * (high / low) ** min(max(share, 0.0), 1.0)


def rules(n_rows: int) -> Rules:
    """What a fit on so many rows takes where parameters leave it open.

    More rows take larger steps, because rounds are what costs time, hold out a smaller share, and need fewer members.
    """
    small = math.log(n_rows / 1000) / math.log(3)  # 0 at 1,000 rows, 1 at 3,000
    large = math.log(n_rows / 3000) / math.log(10)  # 0 at 3,000 rows, 1 at 30,000
    rising = math.log(n_rows / 1000) / math.log(30)  # 0 at 1,000 rows, 1 at 30,000
    members = _between(10, 5, small)
    members *= _between(1, 0.4, math.log(n_rows / 5000) / math.log(6))  # 2 at 30,000 rows
    members *= _between(1, 0.5, large - 1)  # 1 from 300,000 on
    return Rules(
        n_bags=round(members),
        n_folds=round(_between(5, 10, large)),
        patience=round(_between(100, 200, small)),
        depth=round(min(max(7.2 + 1.5 * math.log2(n_rows / 6000), 3), 12)),
        pair_rate=_between(0.15, 0.2, rising),
        table_rate=_between(0.025, 0.12, rising),
        reg_lambda=0.6 / n_rows,
        size=min(max(rising, 0.0), 1.0),
    )
