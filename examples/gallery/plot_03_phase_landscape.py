"""
GBRFF2: the loss over frequency and phase
=========================================

The first round on two moons. Left, the loss of cos(omega . x - b) over all frequencies omega, each with its best phase
b: many valleys. The search begins at a drawn omega (circle), takes the best of all phases, right, and descends
(star). Other rounds begin elsewhere: randomness finds the valley, the descent its ground.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
angle, y = rng.uniform(0, np.pi, 400), np.repeat([1, -1], 200)
moons = np.stack([np.cos(angle) * y + (y < 0), np.sin(angle) * y + 0.5 * (y < 0)], axis=1)
X = moons + rng.normal(0, 0.15, moons.shape)
X = (X - X.mean(axis=0)) / X.std(axis=0)

model = rffkern.GBRFF2Classifier(1, standardize=False, reg_lambda=0.0, random_state=5).fit(X, y)
drawn = rffkern.GBRFF2Classifier(1, standardize=False, max_iter=0, random_state=5).fit(X, y)
start, end = (m.expansion_.fourier.omegas[0] for m in (drawn, model))


def loss(omega, b):
    """Mean exponential loss of one cosine, at many phases."""
    return np.exp(-y * np.cos(X @ omega - b[:, None])).mean(axis=1)


phases = np.linspace(-np.pi, np.pi, 60)
axis = np.linspace(-4, 4, 50)
losses = [[loss(np.array([u, v]), phases).min() for u in axis] for v in axis]
left, right = plt.subplots(1, 2)[1]
left.contourf(axis, axis, losses, levels=30)
left.plot(*np.stack([start, end]).T, "w-")
left.plot(*start, "wo", mfc="none")
left.plot(*end, "w*", ms=10)
left.set(xlabel="omega 1", ylabel="omega 2", title="loss at the best phase")
right.plot(phases, loss(start, phases), "--", label="drawn omega")
right.plot(phases, loss(end, phases), label="after the descent")
right.set(xlabel="phase b", title="loss over the phase")
right.legend()
plt.show()
