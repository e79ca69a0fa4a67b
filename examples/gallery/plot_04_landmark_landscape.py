"""
GBRFF1: a landmark and its landscape
====================================

GBRFF1 looks for landmarks: points whose similarity by drawn frequencies tells the classes apart best. Above, as in
Figure 1 of the paper, with one frequency a round: the loss over all landmarks, lowest in the middle of dark stripes
along which it does not change, the landmark of the round (star), and below it the boundary after so many rounds. The
paper has 100 % after ten; on these rows ten draws have 93 % in the mean. In the second picture, with ten frequencies,
the landscape of the first round has hills and valleys; the descent begins in the middle of the rows (circle) and ends
at the star. Circles without fill are the landmarks of later rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(1)
angle, y = rng.uniform(0, np.pi, 400), np.repeat([1, -1], 200)
moons = np.stack([np.cos(angle) * y + (y < 0), np.sin(angle) * y + 0.5 * (y < 0)], axis=1)
X = moons + rng.normal(0, 0.15, moons.shape)
X = (X - X.mean(axis=0)) / X.std(axis=0)
axis = np.linspace(-2.5, 2.5, 60)
points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def losses(omegas, residuals):
    """Mean exponential loss of the cosines around each point."""
    similarity = np.cos((points @ omegas.T)[:, None] - (X @ omegas.T)[None]).mean(axis=2)
    return np.exp(-residuals * similarity).mean(axis=1).reshape(60, 60)


def draw_rows(ax):
    """The training rows, without axes."""
    for label, style in ((1, "k."), (-1, "kx")):
        ax.plot(*X[y == label].T, style, ms=2, mew=0.5)
    ax.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), xticks=[], yticks=[])


model = rffkern.GBRFF1Classifier(10, n_components=1, standardize=False, gamma=1.0, random_state=9).fit(X, y)
scores = [np.zeros(400), *model.staged_decision_function(X)]
boundaries = list(model.staged_decision_function(points))
for column, k in zip(plt.subplots(2, 3, figsize=(7.5, 5), layout="constrained")[1].T, (0, 4, 9), strict=True):
    column[0].contourf(axis, axis, losses(model.expansion_.fourier.omegas[k:k + 1], y * np.exp(-y * scores[k])),
                       levels=30)
    column[0].plot(*model.landmarks_[k], "w*", ms=14, mec="k")
    column[0].set_title(f"loss of round {k + 1}")
    column[1].contourf(axis, axis, boundaries[k].reshape(60, 60), levels=[-99, 0, 99], colors=["#c8553d", "#2f6690"],
                       alpha=0.5)
    column[1].set_title(f"after round {k + 1}: {100 * np.mean(scores[k + 1] * y > 0):.1f} %")
    for ax in column:
        draw_rows(ax)

model = rffkern.GBRFF1Classifier(8, standardize=False, gamma=1.0, random_state=0).fit(X, y)
plt.figure(layout="constrained")
plt.contourf(axis, axis, losses(model.expansion_.fourier.omegas[:10], y), levels=30)
plt.colorbar(label="mean exponential loss of the first round")
draw_rows(plt.gca())
plt.plot(0, 0, "wo", mec="k")
plt.plot(*model.landmarks_[0], "w*", ms=14, mec="k")
plt.scatter(*model.landmarks_[1:].T, edgecolors="w", facecolors="none")
plt.show()
