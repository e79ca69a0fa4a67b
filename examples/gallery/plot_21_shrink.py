"""
How small may a model be?
=========================

`shrink` leaves out terms and fits the others again. The loss on rows that were held out, over the bytes of the file,
says what the last kilobytes are worth.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(1600, 4))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(0, 0.3, 1600)
model = rffkern.FourierBoostingRegressor(random_state=0, n_bags=2, kernel_ridge=False).fit(X[:800], y[:800])
small = rffkern.shrink(model, X[800:], y[800:], max_loss=0.02)
plt.plot([each.n_bytes / 1000 for each in small.curve], [each.loss for each in small.curve], "o-", ms=3)
plt.axvline(small.size / 1000, color="#808080", ls=":", label="at most 2 % worse")
plt.xscale("log")
plt.ylim(0.35, 0.6)
plt.xlabel("kB of the file")
plt.ylabel(small.loss)
plt.legend()
plt.show()
