"""
Intervals that follow the noise
===============================

The interval of a row comes from residuals of rows that the model was not trained on, scaled by their size near the
prediction. Nine of ten new rows lie within, and where targets spread more it is wider.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
x = rng.uniform(0, 4, 900)
y = x**2 * (1 + rng.normal(0, 0.2, 900))
model = rffkern.FourierBoostingRegressor(random_state=0).fit(x[:500, None], y[:500])
x_new, y_new = x[500:], y[500:]
low, high = model.predict_interval(x_new[:, None], 0.9).T
outside = (y_new < low) | (y_new > high)

order = np.argsort(x_new)
plt.fill_between(x_new[order], low[order], high[order], alpha=0.3)
plt.scatter(x_new, y_new, s=6, c=np.where(outside, "C3", "#888888"))
plt.title(f"{1 - outside.mean():.0%} of new rows within; 90 % asked for")
plt.show()
