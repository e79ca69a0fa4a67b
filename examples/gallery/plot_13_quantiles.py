"""
Quantiles that do not cross
===========================

One model learns several quantiles. They share all terms, are put in order where estimates cross, and are moved so that
rows that were held out lie below each as often as they should.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 600))
y = np.sin(x) + (0.2 + x / 6) * rng.exponential(0.6, 600)
quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
model = rffkern.FourierBoostingRegressor(loss="quantile", quantile=quantiles, random_state=0).fit(x[:, None], y)
plt.scatter(x, y, s=4, color="#bbbbbb")
for q, curve, style in zip(quantiles, model.predict_quantiles(x[:, None]).T, (":", "--", "-", "-.", ":"), strict=True):
    plt.plot(x, curve, style, label=f"{q:.0%}")
plt.legend()
plt.show()
