"""
A prediction that only rises
============================

That a larger house is not cheaper is known before. With few rows and much noise a free model finds exceptions; with
`monotone_constraints` there are none, for any two rows, to the last bit.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(1)
X = rng.uniform(40, 200, (150, 1))
price = 4 * np.minimum(X[:, 0], 120) + rng.normal(0, 80, 150)
area = np.linspace(40, 200, 400)[:, None]
plt.scatter(X, price, s=6, color="#bbbbbb")
for constraints, label, style in [(None, "free", "--"), ([1], "only rising", "-")]:
    model = rffkern.FourierBoostingRegressor(monotone_constraints=constraints, random_state=0).fit(X, price)
    plt.plot(area, model.predict(area), style, label=label)
plt.legend()
plt.show()
