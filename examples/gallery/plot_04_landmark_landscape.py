"""
GBRFF1: a landmark and its landscape
====================================

GBRFF1 draws ten frequencies and looks for a landmark, the point whose similarity by these cosines tells the classes
apart best. The loss over all landmarks is a landscape of hills and valleys; the descent begins in the middle of the
rows (circle) and ends at the star. Circles without fill are the landmarks of later rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(1)
angle, y = rng.uniform(0, np.pi, 400), np.repeat([1, -1], 200)
moons = np.stack([np.cos(angle) * y + (y < 0), np.sin(angle) * y + 0.5 * (y < 0)], axis=1)
X = moons + rng.normal(0, 0.15, moons.shape)
X = (X - X.mean(axis=0)) / X.std(axis=0)

model = rffkern.GBRFF1Classifier(8, standardize=False, gamma=1.0, random_state=0).fit(X, y)
omegas = model.expansion_.fourier.omegas[:10]  # of the first round
axis = np.linspace(-2.5, 2.5, 60)
points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
similarity = np.cos((points @ omegas.T)[:, None] - (X @ omegas.T)[None]).mean(axis=2)
loss = np.exp(-y * similarity).mean(axis=1)

plt.contourf(axis, axis, loss.reshape(60, 60), levels=30)
plt.colorbar(label="mean exponential loss of the first round")
for label, style in ((1, "k."), (-1, "kx")):
    plt.plot(*X[y == label].T, style, ms=3, mew=0.7)
plt.plot(0, 0, "wo")
plt.plot(*model.landmarks_[0], "w*", ms=14)
plt.scatter(*model.landmarks_[1:].T, edgecolors="w", facecolors="none")
plt.axis((-2.5, 2.5, -2.5, 2.5))
plt.show()
