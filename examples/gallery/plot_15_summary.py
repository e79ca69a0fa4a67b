"""
What all rows owe to each column
================================

A point for each of 200 rows: how far right it lies says what the column adds to its score, and the colour how high its
value is. Columns at the top matter most.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
table = {name: rng.normal(size=700) for name in ("age", "dose", "weight", "height", "pulse", "noise")}
score = 3 * table["weight"] - 2 * table["pulse"] ** 2 + 2 * table["age"] * (table["dose"] > 0)
y = rng.random(700) < 1 / (1 + np.exp(-score))
model = rffkern.FourierBoostingClassifier(random_state=0, kernel_ridge=False).fit(table, y)
rffkern.plot.summary(model, table)
plt.show()
