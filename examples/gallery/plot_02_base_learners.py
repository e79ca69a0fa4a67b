"""
What each base learner is good for
==================================

A wave, a step and a slope. Fourier terms alone ripple at the step, trees alone make stairs of the wave, and a line sees
the slope only. Together they leave each part to whom it suits, which no one has to say.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 3, 300))
truth = np.where(x < 1, np.sin(9 * x), 1.0) + np.where(x > 2, 2 * (x - 2) - 2, 0)
y = truth + rng.normal(0, 0.2, len(x))

axes = plt.subplots(2, 2, sharex=True, sharey=True)[1].flat
for ax, learners in zip(axes, [("fourier",), ("tree",), ("linear",), ("fourier", "tree", "linear")], strict=True):
    model = rffkern.FourierBoostingRegressor(base_learners=learners, kernel_ridge=False, random_state=0)
    ax.scatter(x, y, s=3, color="#bbbbbb")
    ax.plot(x, model.fit(x[:, None], y).predict(x[:, None]), lw=2)
    ax.set_title(" + ".join(learners))
plt.show()
