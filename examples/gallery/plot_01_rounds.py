"""
The boundary, round by round
============================

A ring within a square, one label of twenty wrong. The first rounds of Fourier boosting place a few waves and steps; the
later ones bend the boundary round, as long as rows that are held out say that it helps.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (600, 2))
y = (abs(np.hypot(*X.T) - 0.6) < 0.25) ^ (rng.random(600) < 0.05)
model = rffkern.FourierBoostingClassifier(random_state=0, kernel_ridge=False).fit(X, y)

axis = np.linspace(-1, 1, 80)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
stages = list(model.staged_predict_proba(grid))
axes = plt.subplots(2, 2)[1].flat
axes[0].scatter(*X.T, c=y, cmap="RdBu", s=4)
axes[0].set(title="data")
for ax, n_rounds in zip(axes[1:], [5, 25, model.n_estimators_], strict=True):
    ax.contourf(axis, axis, stages[n_rounds - 1][:, 1].reshape(80, 80), levels=np.linspace(0, 1, 21), cmap="RdBu")
    ax.set(title=f"{n_rounds} rounds")
for ax in axes:
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()
