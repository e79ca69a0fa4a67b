"""
Are probabilities true?
=======================

Of the rows to which a model gives 30 %, 30 % should come true. The factor on the scores of Fourier boosting is fitted
to rows that its bags hold out, so that probabilities can be used for decisions by cost.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.normal(size=(2400, 4))
y = np.where(rng.random(2400) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1] * X[:, 2])), "yes", "no")
model = rffkern.FourierBoostingClassifier(random_state=0).fit(X[:800], y[:800])
rffkern.plot.calibration(model, X[800:], y[800:])
plt.show()
