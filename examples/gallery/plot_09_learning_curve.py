"""
Learning curves
===============

The training loss falls for as long as rounds are added. The loss of the rows that each bag holds out says when to stop,
and the rounds up to its lowest point are kept.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 5))
y = X[:, 0] * X[:, 1] + rng.normal(0, 1, 500) > 0
model = rffkern.FourierBoostingClassifier(random_state=0).fit(X, y)
rffkern.plot.learning_curve(model)
plt.show()
