"""
How a prediction depends on columns
===================================

The mean prediction where all rows get the same value of a column, with some single rows; and over two columns, whose
joint effect here is no sum.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
table = {"hour": rng.uniform(0, 24, 800), "warm": rng.normal(15, 8, 800)}
sold = 10 + 5 * np.sin(table["hour"] / 4) + 0.02 * table["warm"] ** 2 * (table["hour"] > 12) + rng.normal(0, 1, 800)
model = rffkern.FourierBoostingRegressor(random_state=0, kernel_ridge=False).fit(table, sold)
rffkern.plot.dependence(model, table, "hour")
rffkern.plot.dependence(model, table, ("hour", "warm"))
plt.show()
