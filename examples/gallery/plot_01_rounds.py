"""
The boundary, round by round
============================

Rings, one label of twenty wrong. The first rounds of Fourier boosting place a few waves and steps; the later ones bend
the boundary round, as long as rows that are held out say that it helps. One hundred cosines of GBRFF2 beside it.
Per cent are of right labels of new rows.
`python examples/gallery/plot_01_rounds.py docs/boundary.png` draws the picture of the README.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (2000, 2))
ring = abs(np.hypot(*X.T) - 0.6) < 0.25
y = ring ^ (rng.random(2000) < 0.05)
model = rffkern.FourierBoostingClassifier(random_state=0, kernel_ridge=False).fit(X[:600], y[:600])
small = rffkern.GBRFF2Classifier(gamma=4.0, reg_lambda=0.0, random_state=0).fit(X[:600], y[:600])

axis = np.linspace(-1, 1, 60)
rows = np.concatenate([np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), X[600:]])
shown = 5, 25, model.n_estimators_
panels = {f"{t} rounds": p for t, p in enumerate(model.staged_predict_proba(rows), start=1) if t in shown}
panels["GBRFF2"] = small.predict_proba(rows)

axes = plt.subplots(1, 5, figsize=(9.6, 2.1), layout="constrained")[1]
for label, color, style in ((True, "#2f6690", "."), (False, "#c8553d", "x")):
    axes[0].plot(*X[:400][y[:400] == label].T, style, color=color, ms=3, mew=0.7)
axes[0].set_title("5 % wrong labels", fontsize="medium")
for ax, (name, p) in zip(axes[1:], panels.items(), strict=True):
    ax.contourf(axis, axis, p[:3600, 1].reshape(60, 60), levels=[0, 0.5, 1], colors=["#c8553d", "#2f6690"])
    ax.set_title(f"{name}: {100 * np.mean((p[3600:, 1] > 0.5) == ring[600:]):.1f} %", fontsize="medium")
for ax in axes:
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-1, 1), ylim=(-1, 1))
plt.savefig(sys.argv[1], facecolor="w", dpi=150) if sys.argv[1:] else plt.show()
