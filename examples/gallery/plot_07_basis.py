"""
A sparse kernel machine and its basis
=====================================

Of 1,000 rows a few become centers of kernels. Each step looks for the rows with the largest residuals, so that basis
vectors lie where the function bends and not where rows are many.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
x = np.sort(rng.normal(0, 2, 1000))
y = np.where(x < 0, np.sin(x / 2), np.sin(5 * x)) + rng.normal(0, 0.1, 1000)
for ax, n_estimators in zip(plt.subplots(1, 3, sharey=True)[1], [5, 15, 60], strict=True):
    model = rffkern.SparseKernelRegressor(n_estimators, basis_size=1, random_state=0).fit(x[:, None], y)
    centers = model.expansion_.kernels.centers
    ax.scatter(x, y, s=2, color="#bbbbbb")
    ax.plot(x, model.predict(x[:, None]), lw=1.5)
    ax.plot(centers, np.full(len(centers), -1.6), "|", ms=10, color="C1")
    ax.set_title(f"{len(centers)} basis vectors")
plt.show()
