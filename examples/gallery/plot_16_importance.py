"""
Which columns matter on new rows?
=================================

Permutation importance: by how much the model is worse where the values of a column are exchanged among new rows, with
two standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 6))
y = np.sin(2 * X[:, 1]) + X[:, 3] * X[:, 4] + rng.normal(0, 0.3, 900)
model = rffkern.FourierBoostingRegressor(random_state=0, kernel_ridge=False).fit(X[:500], y[:500])
rffkern.plot.importance(model, X[500:], y[500:])
plt.show()
