"""
RFFNet: which columns are relevant
==================================

Twenty columns, three of which make the target. RFFNet learns a factor on each column inside its cosines, and
the factors of columns of noise go to zero; a model of the best three is as good as one of all.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 20))
y = np.sin(X[:, 3]) + X[:, 8] * np.cos(X[:, 15]) + rng.normal(0, 0.1, len(X))
model = rffkern.RFFNetRegressor(200, max_epochs=40, n_restarts=1, random_state=0).fit(X, y)

plt.bar(range(20), abs(model.relevances_), color=np.where(np.isin(np.arange(20), [3, 8, 15]), "C1", "C0"))
plt.xlabel("column")
plt.ylabel("relevance")
plt.xticks(range(0, 20, 5))
plt.show()
