"""Write the frozen model files of the current format version, once per version and family.

    python tools/make_fixtures.py tests/data

Files that exist are left alone: they stand for releases that cannot be changed any more.
"""

import json
import pathlib
import sys

import numpy as np

from rffkern import save
from rffkern._base import FAMILIES
from rffkern.serialize import FORMAT_VERSION


class Frame:
    """Rows with column names."""

    columns = ("length", "width", "größe")

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def main():
    folder = pathlib.Path(sys.argv[1], str(FORMAT_VERSION))
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 3)) * [1, 100, 0.01]
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 1] / 100, [-0.7, 0.7])]
    for family, cls in FAMILIES.items():
        path = folder / f"{family}.npz"
        if path.exists():
            continue
        model = cls(n_estimators=8, random_state=0).fit(Frame(X), y, eval_set=(X[:50], y[:50]))
        save(model, path)
        rows = X[:20]
        path.with_suffix(".json").write_text(json.dumps({
            "rows": rows.tolist(), "scores": np.ravel(model.decision_function(rows)).tolist(),
            "labels": model.predict(rows).tolist(),
        }))


if __name__ == "__main__":
    main()
