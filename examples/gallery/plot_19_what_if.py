"""
What would have to change?
==========================

The nearest change of a row with another answer. Only columns that may change do, and no row within the certified
distance of the start is answered otherwise.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 2))
y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "yes", "no")
model = rffkern.FourierBoostingClassifier(n_bags=1, random_state=0, kernel_ridge=False).fit(X, y)
ax = rffkern.plot.decision_boundary(model, X, y)
for row in [(-1.5, 0.0), (-0.3, -0.4)]:
    found = model.what_if(row, "yes")
    ax.annotate("", np.asarray(found.row, float).ravel(), row, arrowprops={"arrowstyle": "->", "lw": 2, "color": "w"})
plt.show()
