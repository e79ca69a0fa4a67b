"""
Why this prediction?
====================

From the mean score of the training rows, column by column, to the score of one row. Contributions are exact Shapley
values; they add up.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
table = {"area": rng.uniform(40, 200, 600), "floor": rng.integers(0, 9, 600), "built": rng.integers(1900, 2024, 600),
         "noise": rng.normal(size=600), "city": rng.choice(["Bern", "Chur"], 600)}
price = table["area"] * np.where(table["city"] == "Bern", 9, 6) + 10 * table["floor"] + (table["built"] - 1900) / 2
model = rffkern.FourierBoostingRegressor(random_state=0, kernel_ridge=False).fit(table, price + rng.normal(0, 30, 600))
rffkern.plot.waterfall(model, table, row=3)
plt.show()
