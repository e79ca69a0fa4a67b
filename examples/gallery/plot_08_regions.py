"""
Kernel ridge regression in regions
==================================

Kernel ridge regression takes time in proportion to the square of the rows. Where there are many, rows are divided by
thresholds, and each region learns from its own rows and the nearest ones beyond its border.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 2))
y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + rng.normal(0, 0.1, len(X))
model = rffkern.KernelRidgeRegressor(length_scale=0.8, reg_lambda=0.1, region_size=300, random_state=0).fit(X, y)

regions = model.expansion_.kernels.regions.of_rows(X)
left, right = plt.subplots(1, 2, sharex=True, sharey=True)[1]
left.scatter(*X.T, c=regions, cmap="tab20", s=4)
left.set_title(f"{regions.max() + 1} regions")
right.scatter(*X.T, c=model.predict(X), cmap="viridis", s=4)
right.set_title("prediction")
plt.show()
