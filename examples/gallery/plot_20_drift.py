"""
Are new rows like those of training?
====================================

A model with a column map keeps a small reference of the training rows and compares new ones with it, column by column.
Here prices have risen and a new level has come; 0.1 is usually called a small shift, 0.25 a large one.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)


def rows(n, rise, levels):
    """A table of three columns."""
    return {"price": rng.lognormal(rise, 0.3, n), "weight": rng.normal(size=n), "kind": rng.choice(levels, n)}


table = rows(500, 0.0, ["a", "b"])
model = rffkern.FourierBoostingRegressor(random_state=0).fit(table, table["price"] + table["weight"])
found = model.drift(rows(500, 0.2, ["a", "b", "b", "c"]))
plt.barh([column["column"] for column in found["columns"]], [column["shift"] for column in found["columns"]])
for limit in (0.1, 0.25):
    plt.axvline(limit, color="#808080", ls=":")
plt.xlabel("shift (population stability index)")
plt.show()
