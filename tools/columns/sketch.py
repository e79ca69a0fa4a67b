"""Time, memory and error of a `ColumnMap` that is fitted on many rows in blocks.

    python tools/columns/sketch.py --rows 10000000 --columns 20

The blocks are drawn anew in each pass, so that the rows are never held; one column is drawn once more for its exact
ranks.
"""

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np

from rffkern import ColumnMap, RowBlocks

BLOCK = 100_000


def blocks(n_rows: int, n_columns: int) -> Iterator[np.ndarray]:
    """Rows whose columns are normal, lognormal, growing, and rounded, in turn."""
    for start in range(0, n_rows, BLOCK):
        rng = np.random.default_rng(start)
        rows = rng.standard_normal((min(BLOCK, n_rows - start), n_columns))
        rows[:, 1::4] = np.exp(3 * rows[:, 1::4])
        rows[:, 2::4] += 10 * start / n_rows
        rows[:, 3::4] = np.round(rows[:, 3::4], 1)
        yield rows


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--columns", type=int, default=20)
    options = parser.parse_args()
    n_rows, n_columns = options.rows, options.columns
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in blocks(n_rows, n_columns):
        pass
    drawing = time.process_time() - started
    started = time.process_time()
    found = ColumnMap(("rank",), n_knots=10_000).fit(RowBlocks(lambda: blocks(n_rows, n_columns)))
    seconds = time.process_time() - started - drawing
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{n_rows} rows x {n_columns}: {seconds:.1f} s of CPU beside drawing them, "
          f"{(peak - before) / 1024:.0f} MiB beside those before, {BLOCK * n_columns * 8 / 2**20:.0f} MiB in a block")
    bound = (2 + np.log2(max(1, n_rows / 4096))) / 4096
    for j in range(min(4, n_columns)):
        values = np.sort(np.concatenate([rows[:, j] for rows in blocks(n_rows, n_columns)]))
        form = found._frozen.columns[j].forms[0]
        lower, upper = (np.searchsorted(values, form.knots, side) / n_rows for side in ("left", "right"))
        exact = (lower + upper) / 2 - 0.5
        center, scale = np.polynomial.polynomial.polyfit(exact, form.ranks, 1)  # ranks are in units of their spread
        print(f"column {j}: largest error of a rank {np.abs((form.ranks - center) / scale - exact).max():.5f}, "
              f"of at most {bound:.5f}")


if __name__ == "__main__":
    main()
