"""
Do intervals hold what they promise?
====================================

How often intervals contain the target of new rows, over the share that was asked for. A model whose line lies on the
diagonal may be taken by its word.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 3))
y = X[:, 0] + np.sin(2 * X[:, 1]) + rng.standard_t(4, 1500) * 0.5
model = rffkern.FourierBoostingRegressor(random_state=0).fit(X[:500], y[:500])
rffkern.plot.interval_coverage(model, X[500:], y[500:])
plt.show()
